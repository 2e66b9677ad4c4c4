// SPDX-License-Identifier: Apache-2.0
//
// Acts change the server's modules while it runs. An act begins because of a client, a
// signal, the start, changed files, or crashes of a new file. (Loading on demand,
// unloading for room and the sums of --trust change modules without an act.) An act that
// loads lists the PATHs again and loads modules beside those that serve. It ends when
// each file that it began is served or has failed; if a file fails, the module that
// serves is not changed. UNLOAD needs no files and ends at once. PROMOTE and ROLLBACK of
// a client need no files either, and end at once or when their decision is saved. An act
// logs one line when it ends: who asked, the outcome, and for one module its digests
// before and after. The start logs no such line; an act that follows files logs one only
// if it loaded or unloaded a module, or something failed. Loop thread.
//
// A new kind needs a row of kKinds, a branch in act.c or decide.c (without one it loads
// like RELOAD), a case in kind_of of dialect/admin.c, and a row of route.def with
// FC_ROUTE_ACT.
#ifndef FARCALL_SERVER_MODULES_ACT_H_
#define FARCALL_SERVER_MODULES_ACT_H_

#include "modules/modules.h"

typedef enum fc_act_kind_t {
  FC_ACT_START,       // loads what the PATHs name, for the first time
  FC_ACT_RELOAD_ALL,  // loads what is new or was written to, unloads what is gone
  FC_ACT_LOAD,        // serves a module as its file is now
  FC_ACT_RELOAD,      // does what LOAD does, even if the file has not changed
  FC_ACT_UNLOAD,
  FC_ACT_PROMOTE,  // makes a name, or an alias of it, lead to a version
  // Makes a name or alias lead to its earlier version, or rolls back after crashes
  // (rollback.h).
  FC_ACT_ROLLBACK,
} fc_act_kind_t;

struct fc_act_t {
  // The next act in one of the lists `acts` and `waiting` of fc_modules_t.
  struct fc_act_t *next;
  uint64_t serial;  // counts acts, from 1; 0: not begun, and not waiting
  uint8_t kind;     // fc_act_kind_t
  bool ended;
  // The act was not requested: it began because files may have changed (--watch,
  // --watch-interval). It skips files that are still being written, and refused files
  // until they change (must_wait in decide.c). A PATH that could not be listed before,
  // and still cannot, is no failure of this act.
  bool follows;
  // The act also loads a file whose changed signatures may break callers of the replaced
  // module (fc_module_check_replaces).
  bool forced;
  uint32_t scans;  // PATHs whose listings it waits for
  // The number of files that the act waits for. Plus 1 each: while its decision is being
  // saved, while rollback.c prepares it, and while decide.c has files left to check.
  uint32_t pending;
  fc_load_t *listings;  // of the PATHs that could be listed, in their order
  fc_load_t **last_listing;
  // The progress of decide.c: the step, and the file or generation that is next.
  uint8_t step;
  const fc_load_t *load;
  size_t at;
  // The outcome: FC_OK, or the first failure.
  fc_status_t status;
  fc_error_t error;
  uint32_t loaded;
  // Modules that were entered as DESCRIBED, and are loaded on request.
  uint32_t described;
  uint32_t unchanged;
  uint32_t unloaded;  // of a ROLLBACK: 1 if it unloads `previous`
  uint32_t failed;
  uint32_t told;  // how many failures `error` names, for an act on all modules
  // Only for PROMOTE and ROLLBACK:
  char alias[FC_ALIAS_MAX + 1];  // "": the name alone
  // The version that the name or alias is to lead to; "" for a PROMOTE means the highest.
  char version[24];
  char previous[24];  // the version that it led to before
  bool persistent;    // the decision was saved, so a restart keeps it
  bool saving;        // the loader is writing the decision
  // The decision takes effect even if it cannot be saved. The failed saving is a failure
  // of the act nevertheless.
  bool holds;
  // For LOAD and RELOAD: the mark of the refused file that was loaded; `version` has its
  // version. 0: there is none, or the decision to stop refusing it has begun.
  uint64_t lifted;
  // All decisions as they will be after fc_acts_apply; NULL: the act has made none.
  fc_decision_t *decisions;
  char before[65];  // digest of the module, "" if none or not known
  char after[65];   // the same, when the act has ended
  // Called once when the act ends, unless it ended within fc_modules_act. NULL: nobody
  // waits, and the act is freed when it ends.
  void (*on_ended)(void *context, fc_act_t *act);
  void *context;
  fc_str_t name;  // of the module, or NAME@VERSION; "": all modules
  fc_str_t by;    // who asked for the act, for the log
  char text[];
};

// `name` is "" for all modules. NULL: there is no memory.
fc_act_t *fc_act_create(fc_modules_t *modules, fc_act_kind_t kind,
                        fc_str_t name, fc_str_t by);
// Begins the act. It first waits if the act in progress only follows files, if other acts
// wait, or if it is a decision while another decision is being saved: a decision is saved
// together with all in force. After FC_OK the caller gets the act back when `ended` is
// set: at once, or in on_ended. After any other result the act was not begun:
// FC_CODE_MODULE_NOT_FOUND, FC_CODE_VERSION_NOT_FOUND, FC_CODE_RELOAD_IN_PROGRESS,
// FC_CODE_NOT_READY before the start is over, FC_CODE_SHUTTING_DOWN,
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_modules_act(fc_modules_t *modules, fc_act_t *act,
                           fc_error_t *err) FC_MUST_CHECK;
// Call it when the caller no longer waits for the act. An act that has ended or was not
// begun is freed at once; another goes on, and is freed when it ends. NULL is allowed.
void fc_act_release(fc_modules_t *modules, fc_act_t *take_act);

// Is an act in progress or waiting, or a reload requested?
static inline bool fc_modules_is_acting(const fc_modules_t *modules) {
  return modules->acts || modules->waiting || modules->again;
}

// Begins RELOAD_ALL as soon as no other act is in progress. Several requests for it that
// wait are one act. `by` says who asks; it must be static.
void fc_modules_reload(fc_modules_t *modules, const char *by);
// Does the same because files may have changed: the act has `follows` set. Does nothing
// if a reload waits already.
void fc_modules_follow(fc_modules_t *modules);

// ---------------------------------------------------------------------------
// Functions that the module files call among themselves

// Handles the listing of a PATH, also a failed one; takes ownership of the load. NULL: no
// PATH was listed. This ends the start if it waits for nothing, for example without
// PATHs.
void fc_acts_on_scanned(fc_modules_t *modules, fc_load_t *take_load);
// Called when the loader has saved an act's decision, or failed to (load->status). This
// may end the act.
void fc_acts_on_saved(fc_modules_t *modules, const fc_load_t *load);
// Called when a file that the act waits for is served as `generation`. This may end and
// free the act, and the next act may remove any generation. (For a failed file:
// fc_acts_settle.)
void fc_acts_on_loaded(fc_modules_t *modules, fc_act_t *act,
                       const fc_generation_t *generation);
// Ends all acts, because nothing more is loaded. If nothing failed before, their outcome
// is FC_CODE_SHUTTING_DOWN. Also forgets the files that were put away.
void fc_acts_stop(fc_modules_t *modules);

// Notes a failure of the act. The first failure is the outcome. For an act on all
// modules, the outcome also names `module` ("": none), and each further failure is added
// as long as there is room.
void fc_act_note_failure(fc_act_t *act, fc_str_t module,
                         const fc_error_t *error);
// Appends the counts to the message of a failed act on all modules.
void fc_act_add_counts(fc_act_t *act);
void fc_act_note_digest(char out[65], const fc_generation_t *generation);
// promote.c: decides a PROMOTE or ROLLBACK. If the decision must be saved, `saving` is
// set, and the decision takes effect when it was saved; otherwise now.
fc_status_t fc_acts_promote(fc_modules_t *modules, fc_act_t *act,
                            fc_error_t *err);
// Returns the highest version below `head` of the same name that can be called or waited
// for; NULL: none.
fc_generation_t *fc_acts_find_lower(fc_generation_t *head);
// Decides that a file is refused, or is no longer refused. With --state-dir the decision
// is saved, and takes effect when that has succeeded or failed; otherwise now.
fc_status_t fc_acts_refuse(fc_modules_t *modules, fc_act_t *act,
                           const fc_decision_t *refusal, fc_error_t *err);
// Makes the act's decision take effect. Unloads the version that it refuses.
void fc_acts_apply(fc_modules_t *modules, fc_act_t *act);
// Begins an act that was not requested. The caller counts in `pending` what the act waits
// for, and adds 1 for itself while it prepares the act.
void fc_acts_enter(fc_modules_t *modules, fc_act_t *act);
// Subtracts 1 from `pending`, and ends the act if it is 0.
void fc_acts_settle(fc_modules_t *modules, fc_act_t *act);
// decide.c: begins the act's work when all its listings have come. An act on all modules
// checks many files, so it goes on in later turns by fc_acts_go_on, which does nothing if
// no act has files left, and can end the act.
void fc_acts_decide(fc_modules_t *modules, fc_act_t *act);
void fc_acts_go_on(fc_modules_t *modules);
// fc_acts_put_away remembers the file of a module that was unloaded by request, so that
// an act that follows files does not load it again. fc_acts_bring_back forgets the entry
// *at; it does nothing if *at is NULL.
void fc_acts_put_away(fc_modules_t *modules, const fc_generation_t *generation);
void fc_acts_bring_back(fc_modules_t *modules, fc_put_away_t **at);
// modules.c: begins to load a file. If a generation of its version exists, a second one
// is made beside it.
fc_status_t fc_modules_begin(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_act_t *act, fc_error_t *err);
// Enters a file as DESCRIBED, to be loaded on request.
fc_status_t fc_modules_describe(fc_modules_t *modules, const fc_listed_t *file,
                                uint32_t origin, const fc_act_t *act,
                                fc_error_t *err);
// Enters the file as failed, because `other` already has its name and version. *out_why
// is that reason.
fc_status_t fc_modules_enter_twin(fc_modules_t *modules,
                                  const fc_listed_t *file, uint32_t origin,
                                  const fc_generation_t *other,
                                  fc_error_t *out_why, fc_error_t *err);
// Enters a file as failed because it was rolled back. `why` is the error that says
// this.
fc_status_t fc_modules_enter_refused(fc_modules_t *modules,
                                     const fc_listed_t *file, uint32_t origin,
                                     const fc_act_t *act, const fc_error_t *why,
                                     fc_error_t *err);
// Counts a PATH as failed and logs the error. The PATH cannot be listed or, at the start,
// one of its files could not be entered. Does nothing if the PATH is counted already.
void fc_modules_fail_path(fc_modules_t *modules, uint32_t position,
                          const fc_error_t *error);

#endif  // FARCALL_SERVER_MODULES_ACT_H_
