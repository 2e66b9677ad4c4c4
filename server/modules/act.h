// SPDX-License-Identifier: Apache-2.0
//
// Acts change the modules a server has while it runs. A client, a signal or the start
// asks for one, files have changed, or a new file crashes. (Loading on demand, unloading
// for room and the sums of --trust change modules without an act.) An act that loads
// lists the PATHs again, loads modules beside those that serve, and ends when each file
// it began is served or has failed; a file that fails leaves the module that serves as it
// is. UNLOAD needs no files and ends at once. PROMOTE and ROLLBACK of a client need none
// either, and end at once or when their decision is saved. An act logs one line when it
// ends: who asked, the outcome, and for one module its digests before and after. The
// start logs none; an act that follows files logs one only if it loaded or unloaded a
// module, or something failed. The loop's thread.
//
// To add a kind: a row of kKinds, a branch in act.c or decide.c (without one it
// loads as RELOAD does), a case in kind_of of dialect/admin.c, and a row of
// route.def with FC_ROUTE_ACT.
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
  // Makes a name or alias lead to where it led before, or goes back after crashes
  // (rollback.h).
  FC_ACT_ROLLBACK,
} fc_act_kind_t;

struct fc_act_t {
  // The next act in progress, or the next that waits.
  struct fc_act_t *next;
  uint64_t serial;  // counts acts, from 1; 0: not begun, and not waiting
  uint8_t kind;     // fc_act_kind_t
  bool ended;
  // Nobody asked for this act: it was begun because files may have changed
  // (--watch, --watch-interval). It leaves alone files that are still being written, and
  // those that were refused until they change (must_wait in decide.c). A PATH that could
  // not be listed before is no failure of this act if it cannot be listed again.
  bool follows;
  // Also loads a file that changes signatures so that callers of the module it replaces
  // may fail (fc_module_check_replaces).
  bool forced;
  uint32_t scans;  // PATHs whose listings it waits for
  // Files that it waits for, 1 more while its decision is being saved, 1 more while
  // rollback.c prepares it, and 1 more while decide.c has yet to look at some.
  uint32_t pending;
  fc_load_t *listings;  // of the PATHs that could be listed, in their order
  fc_load_t **last_listing;
  // How far decide.c has come: what it does to each file or generation, and which is next.
  uint8_t step;
  const fc_load_t *load;
  size_t at;
  // The outcome: FC_OK, or the first failure.
  fc_status_t status;
  fc_error_t error;
  uint32_t loaded;
  // Modules entered as DESCRIBED, to be loaded when they are asked for.
  uint32_t described;
  uint32_t unchanged;
  uint32_t unloaded;  // of ROLLBACK 1 if it unloads `previous`
  uint32_t failed;
  uint32_t told;  // failures that `error` tells of, of an act on all modules
  // Of PROMOTE and ROLLBACK:
  char alias[FC_ALIAS_MAX + 1];  // "": the name alone
  // The version that the name or alias is to lead to; "" of a PROMOTE: the highest.
  char version[24];
  char previous[24];  // the version that it led to before
  bool persistent;    // the decision was saved, so a restart keeps it
  bool saving;        // the loader is writing the decision
  // The decision counts even if it cannot be saved; that it cannot be is a failure of
  // the act nevertheless.
  bool holds;
  // Of LOAD and RELOAD: the mark of the refused file that it has loaded, whose version
  // is in `version`; 0: there is none, or the decision to refuse it no more has begun.
  uint64_t lifted;
  // All decisions, as they will be from fc_acts_apply on; NULL: the act has made none.
  fc_decision_t *decisions;
  char before[65];  // digest of the module, "" if none or not known
  char after[65];   // the same, when the act has ended
  // Called once when the act ends, unless it ended within fc_modules_act. NULL:
  // nobody waits, and the act is freed when it ends.
  void (*on_ended)(void *context, fc_act_t *act);
  void *context;
  fc_str_t name;  // of the module, or NAME@VERSION; "": all modules
  fc_str_t by;    // who asks, for the log
  char text[];
};

// `name` is "" for all. NULL: there is no memory.
fc_act_t *fc_act_create(fc_modules_t *modules, fc_act_kind_t kind,
                        fc_str_t name, fc_str_t by);
// Begins the act. It waits first if the act in progress only follows files, if other
// acts wait, or if it is a decision while another one is being saved: a decision is
// saved together with all that hold by then. On FC_OK the act is the caller's again
// when `ended` is set: at once, or in on_ended. Otherwise it was not begun:
// FC_CODE_MODULE_NOT_FOUND, FC_CODE_VERSION_NOT_FOUND, FC_CODE_RELOAD_IN_PROGRESS,
// FC_CODE_NOT_READY before the start is over, FC_CODE_SHUTTING_DOWN,
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_modules_act(fc_modules_t *modules, fc_act_t *act,
                           fc_error_t *err) FC_MUST_CHECK;
// The caller no longer waits for the act. The act is freed at once if it has ended
// or was not begun; otherwise it goes on, and is freed when it ends. NULL is
// allowed.
void fc_act_release(fc_modules_t *modules, fc_act_t *take_act);

// Is an act in progress, or waiting, or a reload still to begin?
static inline bool fc_modules_is_acting(const fc_modules_t *modules) {
  return modules->acts || modules->waiting || modules->again;
}

// Begins RELOAD_ALL as soon as no other act is in progress; of several that wait for
// that, only one is begun. `by` says who asks and is kept: it must be static.
void fc_modules_reload(fc_modules_t *modules, const char *by);
// Does the same because files may have changed: the act has `follows` set. Does nothing
// if a reload waits already.
void fc_modules_follow(fc_modules_t *modules);

// ---------------------------------------------------------------------------
// Between the files of modules

// A PATH was listed, or cannot be; takes the load over. NULL: no PATH was; ends the start
// if it waits for nothing, as it does without PATHs.
void fc_acts_on_scanned(fc_modules_t *modules, fc_load_t *take_load);
// The loader has saved what an act decided, or could not (load->status). This may
// end the act.
void fc_acts_on_saved(fc_modules_t *modules, const fc_load_t *load);
// A file that the act waits for is served as `generation`. This may end the act and free
// it, and the next act may remove any generation. (If the file failed: fc_acts_settle.)
void fc_acts_on_loaded(fc_modules_t *modules, fc_act_t *act,
                       const fc_generation_t *generation);
// Ends all acts, as failures with FC_CODE_SHUTTING_DOWN if nothing failed before, because
// nothing more is loaded. Also forgets which files were put away.
void fc_acts_stop(fc_modules_t *modules);

// The act has met a failure. The first one is its outcome; that of an act on all modules
// also names `module` ("": none), and tells of each further failure that there is room for.
void fc_act_note_failure(fc_act_t *act, fc_str_t module,
                         const fc_error_t *error);
// Ends the message of a failed act on all modules by its counts.
void fc_act_add_counts(fc_act_t *act);
void fc_act_note_digest(char out[65], const fc_generation_t *generation);
// promote.c: decides a PROMOTE or ROLLBACK. If the decision is to be saved, `saving`
// is set, and the decision counts when that is done; else it counts now.
fc_status_t fc_acts_promote(fc_modules_t *modules, fc_act_t *act,
                            fc_error_t *err);
// The highest version below `head` of the same name that can be called or waited for;
// NULL: none.
fc_generation_t *fc_acts_find_lower(fc_generation_t *head);
// Decides that a file is refused, or is refused no more. With --state-dir the decision
// is saved, and counts when that has succeeded or failed; else it counts now.
fc_status_t fc_acts_refuse(fc_modules_t *modules, fc_act_t *act,
                           const fc_decision_t *refusal, fc_error_t *err);
// The act's decision counts from now on. Unloads the version that it has refused.
void fc_acts_apply(fc_modules_t *modules, fc_act_t *act);
// Begins an act that nobody asked for. The caller counts what the act waits for in
// `pending`, and adds 1 for itself while it prepares the act.
void fc_acts_enter(fc_modules_t *modules, fc_act_t *act);
// Counts `pending` down by 1, and ends the act if it waits for nothing more.
void fc_acts_settle(fc_modules_t *modules, fc_act_t *act);
// decide.c: begins what the act has to do, once all its listings are there. An act on all
// modules looks at many files: it goes on in the turns that follow, by fc_acts_go_on,
// which does nothing while no act has more to decide, and can end the act.
void fc_acts_decide(fc_modules_t *modules, fc_act_t *act);
void fc_acts_go_on(fc_modules_t *modules);
// Remembers the file of a module that was unloaded by request, so that an act
// that follows files does not load it again. fc_acts_bring_back forgets the entry *at,
// and does nothing if *at is NULL.
void fc_acts_put_away(fc_modules_t *modules, const fc_generation_t *generation);
void fc_acts_bring_back(fc_modules_t *modules, fc_put_away_t **at);
// modules.c: begins to load a file, beside the generation of its version, if there is
// one.
fc_status_t fc_modules_begin(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_act_t *act, fc_error_t *err);
// Enters a file as DESCRIBED, to be loaded when it is asked for.
fc_status_t fc_modules_describe(fc_modules_t *modules, const fc_listed_t *file,
                                uint32_t origin, const fc_act_t *act,
                                fc_error_t *err);
// Enters the file as failed, because `other` already has its name and version;
// *out_why is that reason.
fc_status_t fc_modules_enter_twin(fc_modules_t *modules,
                                  const fc_listed_t *file, uint32_t origin,
                                  const fc_generation_t *other,
                                  fc_error_t *out_why, fc_error_t *err);
// Enters a file as failed for the reason `why`: it was rolled back.
fc_status_t fc_modules_enter_refused(fc_modules_t *modules,
                                     const fc_listed_t *file, uint32_t origin,
                                     const fc_act_t *act, const fc_error_t *why,
                                     fc_error_t *err);
// Counts a PATH as failed and logs the error, because the PATH cannot be listed or, at
// the start, one of its files could not be entered. Does neither if the PATH is counted
// already.
void fc_modules_fail_path(fc_modules_t *modules, uint32_t position,
                          const fc_error_t *error);

#endif  // FARCALL_SERVER_MODULES_ACT_H_
