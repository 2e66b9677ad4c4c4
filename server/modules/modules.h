// SPDX-License-Identifier: Apache-2.0
//
// Takes a module from its file to service. A PATH is listed (act.h); the loader opens
// each file; the pool makes the module's first worker; its trial is made, if it has one;
// then the module is published under its name. A replaced generation is freed after its
// last call. Steps that an operator should know about are logged. Loop thread.
#ifndef FARCALL_SERVER_MODULES_MODULES_H_
#define FARCALL_SERVER_MODULES_MODULES_H_

#include "config/limits.h"
#include "modules/generation.h"
#include "modules/loader.h"
#include "modules/policy.h"
#include "modules/watch.h"
#include "obs/log.h"
#include "pool/pool.h"

// All except `wake` are called on the loop's thread.
typedef struct fc_modules_events_t {
  // Called on the loader's or the loop's thread: the loop must call fc_modules_collect in
  // its next turn.
  void (*wake)(void *context);
  // Called when a module was opened; it holds open files from now on. May be NULL.
  void (*on_opened)(void *context, fc_generation_t *generation);
  // Called when the module no longer holds open files. May be NULL.
  void (*on_closed)(void *context, fc_generation_t *generation);
  // `to` is about to replace `from`, which serves their key until this returns. May be
  // NULL.
  void (*on_replacing)(void *context, fc_generation_t *from,
                       fc_generation_t *to);
  // Every PATH was tried: each module can be called, is DESCRIBED or has failed.
  void (*on_started)(void *context);
  void *context;
} fc_modules_events_t;

typedef struct fc_modules_options_t {
  const fc_backend_t *const *backends;  // NULL-terminated
  fc_module_options_t open;             // how files are opened
  fc_pool_t *pool;
  uint8_t dialect;    // of the calls of trials
  uint64_t body_max;  // the most bytes of such a call's body
  fc_log_t *log;
  bool demand;  // modules are loaded when they are requested, not at the start
  // Bytes that each .vmfb may hold, unless its policy has its own limit.
  uint64_t heap;
  uint64_t memory;  // bytes that modules may take; 0: as many as they need
  // A module that is not requested for this time is unloaded, unless it is in use or
  // pinned, or its file is gone (may_go in demand.c); 0: never.
  uint64_t idle_ms;
  uint32_t series;  // functions with series of their own (counts.h)
  // The directory that keeps decisions (--state-dir); "": none.
  fc_str_t state_dir;
  const fc_module_policies_t *policies;  // the options of single modules
} fc_modules_options_t;

typedef struct fc_act_t fc_act_t;  // modules/act.h

// A PATH that the server was started with.
typedef struct fc_start_path_t {
  fc_str_t path;
  bool is_directory;  // it was a directory when it was last listed
  // The last listing failed; or, when the server started, no generation could be made for
  // one of its files. The error was logged.
  bool failed;
  bool unwatched;  // a directory in it could not be watched, which was logged
  bool unread;     // a directory in it could not be read, which was logged
} fc_start_path_t;

// The file of a module that was unloaded by request. An act that follows files does not
// load it again as long as its mark is the same.
typedef struct fc_put_away_t {
  struct fc_put_away_t *next;
  uint64_t mark;
  fc_str_t path;
  char text[];
} fc_put_away_t;

// A DESCRIBED generation whose signatures were read. A few of these are kept, and the
// oldest is dropped (demand.c). `serial` shows whether the index still means that
// generation.
typedef struct fc_described_t {
  uint32_t index;
  uint64_t serial;
  uint64_t size;  // of its file
} fc_described_t;

typedef struct fc_modules_t {
  fc_modules_options_t options;
  fc_modules_events_t events;
  fc_generations_t generations;
  fc_loader_t *loader;
  // The number of open requests: PATHs to list, files to open or describe, workers to
  // make, answers to compare, examples to make, decisions to save.
  uint32_t pending;
  bool hashing;  // the loader hashes a file, or was asked to
  bool started;
  bool stopped;
  bool any_failed;
  // The number of PATHs with `failed` set. No list of modules shows them.
  uint32_t failed_paths;
  fc_start_path_t *paths;
  uint32_t path_count;
  fc_act_t *acts;      // in progress
  fc_act_t *deciding;  // the act that still has files to look at; NULL: none
  // How many files and generations acts on all modules have looked at.
  uint64_t looks;
  fc_act_t *waiting;   // begin when no act is in progress (fc_modules_act)
  uint64_t act_count;  // acts begun, ever
  fc_put_away_t *put_away;
  // Who asked for a reload that begins when no act is in progress; NULL: nobody.
  const char *again;
  bool again_follows;  // that reload only follows files
  // Knows which files are being written, and has the descriptor with which listings watch
  // directories. NULL: no files are watched.
  const fc_watch_t *watch;
  uint64_t loads;  // times that a module was loaded and could be called, ever
  uint64_t load_failures;
  uint32_t crashed;    // generations that must be rolled back (rollback.h)
  uint64_t rollbacks;  // times that going back was begun, ever
  // Waiters (demand.h): those that wait for a generation, and those whose on_woken must
  // be called.
  struct fc_waiter_t *waiters;
  struct fc_waiter_t *woken;
  // The earliest due_ns of a waiter, or an earlier time; 0: no waiter has one.
  uint64_t waiters_due_ns;
  // When the next module is to be loaded again (retry.h), or an earlier time; 0: none is.
  uint64_t retry_ns;
  // Generations whose files are opened when there is room.
  fc_generation_t *wanted_first;
  fc_generation_t *wanted_last;
  uint64_t wanted_bytes;  // the memory that these are estimated to need, bytes
  // The average memory of a module besides its file, in bytes; 0: none was measured.
  uint64_t overhead;
  uint64_t look_ns;  // when memory and idle modules are looked at again
  fc_described_t described[FC_LIMIT_DESCRIBED];
  uint32_t described_next;
  // How many modules were ever unloaded because of room or idleness.
  uint64_t unloads;
} fc_modules_t;

// All pointers are borrowed.
fc_status_t fc_modules_init(fc_modules_t *modules, fc_allocator_t allocator,
                            const fc_modules_options_t *options,
                            const fc_modules_events_t *events,
                            fc_error_t *err) FC_MUST_CHECK;
// Ends all acts and waiters. Nothing more is loaded; a file that is being opened is
// dropped when the loader is done.
void fc_modules_stop(fc_modules_t *modules);
// Call it after the pool was deinitialised. Waits for the loader's running request.
// Accepts a zeroed fc_modules_t.
void fc_modules_deinit(fc_modules_t *modules);
// Is the loader at work, so that fc_modules_deinit would wait?
bool fc_modules_is_busy(const fc_modules_t *modules);

// Begins to load what the paths name; calls on_started when all were tried. Borrows the
// texts until fc_modules_deinit.
fc_status_t fc_modules_start(fc_modules_t *modules, const char *const *paths,
                             size_t count, fc_error_t *err) FC_MUST_CHECK;
// Begins to load a file. With `replace`, a generation of this module may exist; it serves
// until the new one is ready. Without `replace`, a second module of the same name and
// version is an error, and is entered as failed. FC_CODE_OUT_OF_MEMORY,
// FC_CODE_MEMORY_BUDGET.
fc_status_t fc_modules_load(fc_modules_t *modules, fc_str_t path, bool replace,
                            fc_error_t *err) FC_MUST_CHECK;
// Takes one finished request from the loader and continues it; calls on_woken of up to
// FC_LIMIT_WAKES waiters. Calls events.wake if there are more requests or waiters.
void fc_modules_collect(fc_modules_t *modules);

// The loop passes on_added and on_retired of fc_pool_events_t to these functions.
// `context` is the fc_modules_t.
void fc_modules_on_added(void *context, uint32_t generation,
                         const fc_error_t *error);
void fc_modules_on_retired(void *context, uint32_t generation);

#endif  // FARCALL_SERVER_MODULES_MODULES_H_
