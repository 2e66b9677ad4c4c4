// SPDX-License-Identifier: Apache-2.0
//
// A module's way from a file to being served. A PATH is scanned (act.h); the
// loader opens each file; the pool makes its first worker; then it is published
// under its name. A generation that was replaced is taken down after its last
// call. Also logs all this. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_MODULES_H_
#define FARCALL_SERVER_MODULES_MODULES_H_

#include "config/limits.h"
#include "modules/generation.h"
#include "modules/loader.h"
#include "modules/watch.h"
#include "obs/log.h"
#include "pool/pool.h"

// All but `wake` are called on the loop's thread.
typedef struct fc_modules_events_t {
  // On the loader's thread: the loop must call fc_modules_collect.
  void (*wake)(void *context);
  // A module was opened, and from now on holds open files. May be NULL.
  void (*on_opened)(void *context, const fc_module_t *module);
  // The module holds open files no more. May be NULL.
  void (*on_closed)(void *context, const fc_module_t *module);
  // Every PATH was tried: each module can be called or has failed.
  void (*on_started)(void *context);
  void *context;
} fc_modules_events_t;

typedef struct fc_modules_options_t {
  const fc_backend_t *const *backends;  // NULL-terminated
  fc_module_options_t open;             // how files are opened
  fc_pool_t *pool;
  fc_log_t *log;
  bool demand;       // modules are loaded when they are asked for
  uint64_t memory;   // bytes that modules may take; 0: as many as they need
  uint64_t idle_ms;  // then those that are not asked for are unloaded; 0: never
  fc_str_t versions;   // which are served (versions.h)
  fc_str_t state_dir;  // where decisions are remembered; "": nowhere
  fc_str_t pinned;     // names, with commas between: these are not unloaded
} fc_modules_options_t;

typedef struct fc_act_t fc_act_t;  // modules/act.h

// What the server was started with.
typedef struct fc_start_path_t {
  fc_str_t path;
  bool is_directory;  // the last time it was listed
  bool failed;        // it named no file the last time, which was logged
} fc_start_path_t;

// A file whose module was unloaded by request. Following files does not bring it
// back.
typedef struct fc_put_away_t {
  struct fc_put_away_t *next;
  uint64_t mark;
  fc_str_t path;
  char text[];
} fc_put_away_t;

// A generation whose signatures are in memory.
typedef struct fc_described_t {
  uint32_t index;
  uint64_t serial;
  uint64_t size;  // of its file
} fc_described_t;

typedef struct fc_modules_t {
  fc_modules_options_t options;
  fc_modules_events_t events;
  fc_isolation_t isolation;  // the pool's; its texts are borrowed
  fc_generations_t generations;
  fc_loader_t *loader;
  uint32_t pending;  // PATHs and files that are still to be tried
  bool hashing;      // the loader does, or will
  bool started;
  bool stopped;
  bool any_failed;
  uint32_t failed_paths;  // PATHs that name no file, so that no list shows them
  fc_start_path_t *paths;
  uint32_t path_count;
  fc_act_t *acts;      // in progress
  fc_act_t *waiting;   // until the one that follows files has ended
  uint64_t act_count;  // ever
  fc_put_away_t *put_away;
  const char *again;   // who wants a reload when these are over; NULL: nobody
  bool again_follows;  // it only follows the files
  const fc_watch_t
      *watch;      // knows which files are written to; NULL: nobody does
  uint64_t loads;  // files loaded, ever
  uint64_t load_failures;
  // Modules that are loaded when they are asked for (demand.h).
  struct fc_waiter_t *waiters;
  struct fc_waiter_t *woken;
  uint64_t waiters_due_ns;        // of any of them, may be too low; 0: none
  fc_generation_t *wanted_first;  // to be opened when there is room
  fc_generation_t *wanted_last;
  uint64_t wanted_bytes;  // of these
  uint64_t overhead;      // what a module takes beside its file, on average
  uint64_t look_ns;       // when memory is looked at again
  fc_described_t described[FC_LIMIT_DESCRIBED];
  uint32_t described_next;
  uint64_t unloads;  // of modules nobody asked for, ever
} fc_modules_t;

// All pointers are borrowed.
fc_status_t fc_modules_init(fc_modules_t *modules, fc_allocator_t allocator,
                            const fc_modules_options_t *options,
                            const fc_modules_events_t *events,
                            fc_error_t *err) FC_MUST_CHECK;
// Nothing more is loaded; a file that is being loaded is dropped when it is
// done.
void fc_modules_stop(fc_modules_t *modules);
// Call it after the pool was deinitialised. Waits for the file that is being
// loaded. A zeroed one is allowed.
void fc_modules_deinit(fc_modules_t *modules);
// True when fc_modules_deinit would wait.
bool fc_modules_is_busy(const fc_modules_t *modules);

// Begins to load what the paths name; on_started tells when all were tried. The
// texts are borrowed until fc_modules_deinit.
fc_status_t fc_modules_start(fc_modules_t *modules, const char *const *paths,
                             size_t count, fc_error_t *err) FC_MUST_CHECK;
// Begins to load a file. With `replace`, a generation of this module may exist;
// it serves until the new one is ready. Without, a second module of one name is
// a mistake, and is entered as failed. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_modules_load(fc_modules_t *modules, fc_str_t path, bool replace,
                            fc_error_t *err) FC_MUST_CHECK;
// Takes one file from the loader.
void fc_modules_collect(fc_modules_t *modules);

// The pool's events of these names (fc_pool_events_t), passed on by the loop: the
// generation can be called, or has failed with `error`; the pool has nothing of it
// any more. `context` is the fc_modules_t.
void fc_modules_on_added(void *context, uint32_t generation,
                         const fc_error_t *error);
void fc_modules_on_retired(void *context, uint32_t generation);

#endif  // FARCALL_SERVER_MODULES_MODULES_H_
