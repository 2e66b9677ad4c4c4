// SPDX-License-Identifier: Apache-2.0
//
// Acts: what changes the modules a server has while it runs. Somebody asks: a
// client, a signal, the start. An act lists the PATHs again, loads its modules
// beside those that serve, and ends when each file it began is served or has
// failed. UNLOAD needs no files and ends at once. A failure leaves what serves as it
// is. Each act ends with one line of the log that says who, what, and the digests
// before and after. The loop's thread.
//
// To add a kind: its row of kKinds and its branch in act.c or decide.c, which else load, and in
// kind_of of dialect/admin.c; a row of route.def with FC_ROUTE_ACT.
#ifndef FARCALL_SERVER_MODULES_ACT_H_
#define FARCALL_SERVER_MODULES_ACT_H_

#include "modules/modules.h"

typedef enum fc_act_kind_t {
  FC_ACT_START,       // loads what the PATHs name, for the first time
  FC_ACT_RELOAD_ALL,  // loads what is new or was written to, unloads what is gone
  FC_ACT_LOAD,        // serves a module as its file is now
  FC_ACT_RELOAD,      // the same, also if the file has not changed
  FC_ACT_UNLOAD,
  FC_ACT_PROMOTE,   // has a name, or an alias of it, lead to a version
  FC_ACT_ROLLBACK,  // has it lead to where it led before
} fc_act_kind_t;

struct fc_act_t {
  struct fc_act_t *next;  // of those that have not ended
  uint64_t serial;        // counts acts, from 1
  uint8_t kind;           // fc_act_kind_t
  bool ended;
  // Nobody asked: files may be half written, and what was refused once need not
  // be tried or told again.
  bool follows;
  bool forced;       // also a file that some callers of the old one cannot use
  uint32_t scans;    // PATHs it waits for
  uint32_t pending;  // files it waits for
  fc_load_t *listings;  // in the order of the PATHs; the last is NULL
  fc_load_t **last_listing;
  // The outcome: FC_OK, or the first failure.
  fc_status_t status;
  fc_error_t error;
  uint32_t loaded;
  uint32_t described;  // entered, to be loaded when they are asked for
  uint32_t unchanged;
  uint32_t unloaded;
  uint32_t failed;
  // Of PROMOTE and ROLLBACK:
  char alias[FC_ALIAS_MAX + 1];  // "": the name alone
  char version[24];              // to which it leads now, "": to the highest
  char previous[24];             // to which it led
  bool persistent;               // a restart does not forget it
  fc_decision_t *decisions;      // what will be decided once it is saved
  char before[65];  // digest of the module, "" if none or not known
  char after[65];   // the same, when the act has ended
  // Called once, when the act ends after fc_modules_act has returned. NULL:
  // nobody waits, and the act is freed.
  void (*on_ended)(void *context, fc_act_t *act);
  void *context;
  fc_str_t name;  // of the module; "": all
  fc_str_t by;    // who asks, for the log
  char text[];
};

// `name` is "" for all. NULL: there is no memory.
fc_act_t *fc_act_create(fc_modules_t *modules, fc_act_kind_t kind,
                        fc_str_t name, fc_str_t by);
// Begins the act. On FC_OK it is the caller's again when `ended` is set, at once
// or in on_ended. Otherwise it was not begun: FC_CODE_MODULE_NOT_FOUND,
// FC_CODE_RELOAD_IN_PROGRESS (an act that only follows files is waited for
// instead), FC_CODE_NOT_READY before the start is over,
// FC_CODE_SHUTTING_DOWN, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_modules_act(fc_modules_t *modules, fc_act_t *act,
                           fc_error_t *err) FC_MUST_CHECK;
// Nobody waits for the act any more. If it has not ended it goes on, and is then
// freed. NULL is allowed.
void fc_act_release(fc_modules_t *modules, fc_act_t *take_act);

// Does somebody wait for modules to change?
static inline bool fc_modules_is_acting(const fc_modules_t *modules) {
  return modules->acts || modules->waiting || modules->again;
}

// Reloads all as soon as no other act is in progress; `by` is static.
void fc_modules_reload(fc_modules_t *modules, const char *by);
// Files may have changed: the same for those that can be read and were not refused
// as they are.
void fc_modules_follow(fc_modules_t *modules);

// ---------------------------------------------------------------------------
// Between the files of modules

// A PATH was listed; takes the load over.
void fc_acts_on_scanned(fc_modules_t *modules, fc_load_t *take_load);
// What was decided is saved, or cannot be.
void fc_acts_on_saved(fc_modules_t *modules, const fc_load_t *load);
// A generation is served, or one has failed with `error` (then it is not looked at). It may be gone afterwards.
void fc_acts_on_loaded(fc_modules_t *modules, fc_act_t *act,
                       const fc_generation_t *generation,
                       const fc_error_t *error);
// Ends all acts: nothing more is loaded.
void fc_acts_stop(fc_modules_t *modules);

// The act has met a failure; the first one is its outcome.
void fc_act_note_failure(fc_act_t *act, const fc_error_t *error);
void fc_act_note_digest(char out[65], const fc_generation_t *generation);
// promote.c: begins PROMOTE or ROLLBACK; *out_saves: it ends when it is saved.
fc_status_t fc_acts_promote(fc_modules_t *modules, fc_act_t *act,
                            bool *out_saves, fc_error_t *err);
// What the act has decided counts from now on.
void fc_acts_apply(fc_modules_t *modules, fc_act_t *act);
// decide.c: all listings are there.
void fc_acts_decide(fc_modules_t *modules, fc_act_t *act);
// The file of a module that was unloaded by request, and one that comes back.
void fc_acts_put_away(fc_modules_t *modules, const fc_generation_t *generation);
void fc_acts_bring_back(fc_modules_t *modules, fc_put_away_t **at);
// modules.c: begins to load a file, beside the generation that has its name.
fc_status_t fc_modules_begin(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_act_t *act, fc_error_t *err);
// Enters a file that is loaded when it is asked for; its name leads to it at once.
fc_status_t fc_modules_describe(fc_modules_t *modules, const fc_listed_t *file,
                                uint32_t origin, const fc_act_t *act,
                                fc_error_t *err);
// Enters the file as a second one of the module `other`, failed.
fc_status_t fc_modules_enter_twin(fc_modules_t *modules,
                                  const fc_listed_t *file, uint32_t origin,
                                  const fc_generation_t *other,
                                  fc_error_t *out_why, fc_error_t *err);
// Counts a PATH that names no file, and logs it once.
void fc_modules_fail_path(fc_modules_t *modules, uint32_t position,
                          const fc_error_t *error);

#endif  // FARCALL_SERVER_MODULES_ACT_H_
