// SPDX-License-Identifier: Apache-2.0
//
// The modules a server has, in time. A module name has generations: each is one
// load of a file and never changes once it is ready. A call holds the generation
// it was routed to, so a newer one may take over the name at any moment. The
// loop's thread.
#ifndef FARCALL_SERVER_MODULES_GENERATION_H_
#define FARCALL_SERVER_MODULES_GENERATION_H_

#include "base/name_table.h"
#include "farcall/module.h"
#include "modules/state.h"

typedef enum fc_generation_state_t {
  FC_GENERATION_LOADING,   // it cannot be called yet
  FC_GENERATION_READY,     // its calls are answered
  FC_GENERATION_FAILED,    // it could not be loaded; requests for its name are
                           // told the reason
  FC_GENERATION_DRAINING,  // another one has its name; calls that hold it go on
  FC_GENERATION_DESCRIBED,  // it is loaded when it is asked for
} fc_generation_state_t;

#define FC_PATH_NONE UINT32_MAX

// What the calls of one function took: those that were admitted and then ended, be it
// by a worker or because there was none. A call whose deadline passed in the queue, or
// that only checked its arguments, is not among them.
typedef struct fc_function_counts_t {
  uint64_t succeeded;
  uint64_t failed;
  uint64_t success_ns;  // from the first byte of the request to the result
  uint64_t fail_ns;
  uint64_t queue_ns;  // and of those that succeeded, in each stage
  uint64_t decode_ns;
  uint64_t call_ns;
  uint64_t encode_ns;
  uint64_t last_ms;  // when the last one ended, since 1970
} fc_function_counts_t;

typedef struct fc_generation_t {
  uint32_t index;   // by which calls and the pool name it
  uint64_t calls;   // asked of it
  uint64_t serial;  // counts all generations of a server, from 1
  uint8_t state;    // fc_generation_state_t
  bool current;     // its name leads to it
  bool in_pool;     // the pool has parts of it, which must go first
  bool hash_asked;  // its file is being hashed, was, or cannot be
  bool counted;     // its module's open files are reserved
  bool demanded;  // somebody has asked for it: requests wait until it is loaded
  bool describing;  // the loader reads its signatures
  bool stale;       // and its file has changed meanwhile
  bool opening;  // it is to become READY, and is not removed before it is known
  bool pinned;   // never unloaded for others
  uint32_t holds;
  uint32_t origin;  // the PATH that names its file, by position; FC_PATH_NONE
  uint64_t mark;    // of its file, as fc_listed_t has it
  uint64_t size;    // of its file when it was listed, bytes
  uint64_t bytes;   // what it takes of the memory modules may take (demand.h)
  struct fc_generation_t *next_wanted;  // of those that wait for room
  uint64_t used_ns;                     // when it was asked for the last time
  struct fc_generation_t *older;        // of those that are READY, by used_ns
  struct fc_generation_t *newer;
  uint64_t refused;      // mark of the newest file of its name that was refused
  uint64_t listed;       // the last act whose listings have its file
  uint64_t settled;      // the last act that has decided about it
  struct fc_act_t *act;  // waits for it to be loaded; NULL: none
  fc_str_t name;         // of the module; the path, if that gives none
  fc_str_t version;      // of the module
  fc_str_t key;          // name@version
  fc_str_t label;        // the key, or the name where a file has no version
  struct fc_generation_t
      *sibling;    // the next current one of the name, in a ring
  bool preferred;  // its name alone leads to it, whatever newer ones there are

  fc_str_t path;
  const char *kind;  // "native", "vm", or "" when unknown
  // NULL before the file was opened, and after a failure. While the state is
  // LOADING or DESCRIBED only its signatures may be used, and in the latter it may
  // be gone in a later turn of the loop.
  fc_module_t *module;
  // Why it failed; of one that serves, why the newest file of its name was
  // refused. The code is FC_CODE_NONE if there is no reason.
  fc_error_t error;
  fc_function_counts_t *counts;  // by function; NULL before the first call
  char text[];                   // the path, and the key
} fc_generation_t;

// Empty when zeroed but for the allocator and on_idle.
typedef struct fc_generations_t {
  fc_allocator_t allocator;
  fc_generation_t **places;  // by index; NULL: free
  uint32_t count;            // of places
  uint32_t used;
  uint64_t made;        // ever
  uint32_t first_free;  // all places below are taken
  // Of the current ones, to their index: each by its key, and of those of one name
  // the one that the name leads to.
  fc_name_table_t names;
  fc_generation_t *oldest;   // of those that are READY, the one not asked for
  fc_generation_t *newest;   // for the longest time
  uint64_t bytes;            // that all of them take
  uint64_t leaving;          // of it, those that drain
  fc_decision_t *decisions;  // about names, aliases and refused files; owned
  // Called when nobody holds a draining generation any more, and nobody will:
  // perhaps from within any function below that gets the table.
  void (*on_idle)(void *context, fc_generation_t *generation);
  void *context;
} fc_generations_t;

// Releases every module. No generation may be held.
void fc_generations_deinit(fc_generations_t *generations);

// Enters a generation of the module at `path`, in state LOADING. Its name leads
// to it at once, unless another generation has that name: then it does after
// fc_generations_publish. `kind` is static. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_generations_enter(fc_generations_t *generations, fc_str_t path,
                                 const char *kind,
                                 fc_generation_t **out_generation,
                                 fc_error_t *err) FC_MUST_CHECK;
// Makes a loading generation READY: from now on its name leads to it. The
// generation that had the name drains. On FC_CODE_OUT_OF_MEMORY nothing has
// changed.
fc_status_t fc_generations_publish(fc_generations_t *generations,
                                   fc_generation_t *generation,
                                   fc_error_t *err) FC_MUST_CHECK;
// Makes a loading generation DESCRIBED; else the same.
fc_status_t fc_generations_describe(fc_generations_t *generations,
                                    fc_generation_t *generation,
                                    fc_error_t *err) FC_MUST_CHECK;
// Makes a loading generation FAILED and releases its module. If its name leads
// to it, it goes on doing so, and tells the reason.
void fc_generations_fail(fc_generations_t *generations,
                         fc_generation_t *generation, const fc_error_t *error);
// Its name no longer leads to it. Once nobody holds it, on_idle is called.
void fc_generations_drain(fc_generations_t *generations,
                          fc_generation_t *generation);
// Takes it out of the table and frees it. Nobody may hold it.
void fc_generations_remove(fc_generations_t *generations,
                           fc_generation_t *generation);

// The generation with this index, NULL if none. It stays until it is removed.
static inline fc_generation_t *fc_generations_at(
    const fc_generations_t *generations, uint32_t index) {
  return index < generations->count ? generations->places[index] : NULL;
}
// The current generation of a name, or of "name@version"; NULL if there is none. A
// name leads to the highest version that can be called, if no other is preferred.
fc_generation_t *fc_generations_find(const fc_generations_t *generations,
                                     fc_str_t name);
// The current generation of the version that a path is of, NULL if there is none.
fc_generation_t *fc_generations_find_path(const fc_generations_t *generations,
                                          fc_str_t path);
// The same of a name and a version or an alias.
fc_generation_t *fc_generations_find_version(
    const fc_generations_t *generations, fc_str_t name, fc_str_t version);
// Sets `preferred`, from what is decided.
void fc_generations_prefer(const fc_generations_t *generations,
                           fc_generation_t *generation);
// `preferred` of one of this name has changed.
void fc_generations_settle_name(fc_generations_t *generations,
                                const fc_generation_t *generation);
// The current generation whose name is nearest, for "did you mean"; NULL if
// none is near.
const fc_generation_t *fc_generations_nearest(
    const fc_generations_t *generations, fc_str_t name);

// The counts of a function, zero at first. NULL: there is no memory for them.
fc_function_counts_t *fc_generations_count(const fc_generations_t *generations,
                                           fc_generation_t *generation,
                                           uint32_t function);

// A request for it waits, and is answered once it is loaded.
static inline bool fc_generation_is_coming(const fc_generation_t *generation) {
  return generation->state == FC_GENERATION_DESCRIBED ||
         (generation->state == FC_GENERATION_LOADING && generation->demanded);
}
// What it takes of the memory that modules may take.
void fc_generations_weigh(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t bytes);
// A call was asked of it.
void fc_generations_touch(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t now_ns);

// While a generation is held it is not removed and its module not released.
static inline void fc_generation_hold(fc_generation_t *generation) {
  generation->holds++;
}
// Do not use the generation afterwards: when it drains and this was the last
// hold, it ends.
void fc_generations_release(fc_generations_t *generations,
                            fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_GENERATION_H_
