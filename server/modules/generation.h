// SPDX-License-Identifier: Apache-2.0
//
// The modules of a server over time. A module name has generations: each is one load of a
// file, and its module never changes once it is ready. A call holds its generation, so a
// newer one may take over the name at any moment without affecting the call. Loop thread.
#ifndef FARCALL_SERVER_MODULES_GENERATION_H_
#define FARCALL_SERVER_MODULES_GENERATION_H_

#include "base/name_table.h"
#include "farcall/module.h"
#include "modules/counts.h"
#include "modules/decisions.h"
#include "modules/step.h"

#define FC_PATH_NONE UINT32_MAX

// The generation's file. Written where files are entered and acts decide (modules.c,
// decide.c).
typedef struct fc_generation_file_t {
  fc_str_t path;
  // Position of the PATH that names the file; FC_PATH_NONE: no PATH does.
  uint32_t origin;
  uint64_t mark;  // as in fc_listed_t
  uint64_t size;  // when it was listed, bytes
  // Mark of the newest file with the same key that could not be loaded or was rolled
  // back; 0: none.
  uint64_t refused;
  bool anew;  // the policy has changed since the file was opened or hosted
  // The loader was asked to hash the file; it is not asked again.
  bool hash_asked;
} fc_generation_file_t;

// The names that the generation claims, and whether they lead to it. Written only by
// claim.c.
typedef struct fc_generation_claim_t {
  fc_str_t name;     // of the module; the path itself, if that gives no name
  fc_str_t version;  // of the module
  fc_str_t key;      // name@version
  fc_str_t label;    // the key, or the name where a file has no version
  bool current;      // the key leads to it
  // Links a ring of the current generations of one name, one for each version.
  struct fc_generation_t *sibling;
  // A request promoted this version, or rolled back to it. Then the name leads to it if
  // it can be called or waited for, even if there are higher versions.
  bool preferred;
} fc_generation_claim_t;

typedef enum fc_reading_state_t {
  FC_READING_NOT,
  FC_READING_NOW,
  FC_READING_STALE,  // its file or policy has changed since, so they are read again
} fc_reading_state_t;

// The state of the generation's loading; fc_generation_t.step has the progress. Written
// where loading begins and ends (demand.c, actions.c, retry.c).
typedef struct fc_generation_loading_t {
  // Descriptors reserved for it (fc_modules_events_t.on_opened).
  uint32_t files;
  uint8_t reading;  // fc_reading_state_t: the loader reads its signatures
  // The generation was DESCRIBED before its loading began, so requests for it wait.
  bool demanded;
  // The generation is a new try for a FAILED one (retry.h).
  bool is_retry;
  // The number of failures in a row for an outside reason, and the time from which its
  // file may be loaded again (retry.h); 0: at any time.
  uint32_t retries;
  uint64_t retry_ns;
  struct fc_generation_t *next_wanted;  // the next one that waits for room
  struct fc_act_t *act;  // the act that waits until it is loaded; NULL: none
  struct fc_trial_t *trial;  // calls it must make first (trial.h); NULL: none
} fc_generation_loading_t;

// What the generation may roll back to. Written only by rollback.c, except `goes_back`.
typedef struct fc_generation_fallback_t {
  // The module that served the key before and may serve it again; NULL: none.
  fc_module_t *module;
  uint64_t mark;  // of the file of `module`, as in fc_listed_t
  uint64_t size;
  bool in_process;  // where `module` ran
  bool goes_back;   // rolls back, to `module` or a lower version, if it crashes
  bool succeeds;    // a lower version of its name served when it was entered
  // A rollback brought its module back: the file at its path is a refused one.
  bool fileless;
  uint64_t since_ns;  // when this generation's file began to serve
  // If the generation is going to roll back: the number of its crashes, and the number of
  // calls in which they occurred. 0: it is not going to.
  uint64_t crashes;
  uint64_t crash_calls;
} fc_generation_fallback_t;

typedef struct fc_generation_t {
  uint32_t index;   // calls and the pool name the generation by this
  uint64_t serial;  // counts all generations of a server, from 1
  uint8_t step;     // fc_step_t
  // The module runs in its own processes. This is decided when the file is opened,
  // because a file for threads is opened differently.
  bool in_process;
  // The number of holds: of calls, and of whatever else needs the generation.
  uint32_t holds;
  uint64_t bytes;    // what it takes of --module-memory (demand.h), bytes
  uint64_t used_ns;  // when it was last requested
  // The neighbours among the READY generations, by used_ns.
  struct fc_generation_t *older;
  struct fc_generation_t *newer;
  uint64_t listed;   // serial of the last act whose listings have its file
  uint64_t settled;  // serial of the last act that has decided about the file
  fc_generation_file_t file;
  fc_generation_claim_t claim;
  fc_generation_loading_t loading;
  fc_generation_fallback_t fallback;

  const struct fc_module_policy_t *policy;  // of its version; borrowed
  const char *kind;  // "native", "vm", or "" when unknown
  // NULL before the file was opened, and after a failure. While the state is LOADING or
  // DESCRIBED, requests may use only the module's signatures. While it is DESCRIBED, a
  // later turn of the loop can release the module.
  fc_module_t *module;
  // Why the generation failed. While it serves: why the newest file of its key, or a
  // higher version, does not serve. While it is DESCRIBED: what was missing, such as
  // memory, when its file was last opened; the next request opens the file again. The
  // code is FC_CODE_NONE if there is no error.
  fc_error_t error;
  // The number of requested calls. A generation that replaces an unloaded one continues
  // the count (fc_demand_put_back), here and in `counts`.
  uint64_t calls;
  // When a call was last refused because too many waited, and when a call last ran out of
  // memory; 0: never.
  uint64_t overloaded_ns;
  uint64_t memory_ns;
  // Counts by the function's index; NULL before the first call was counted.
  fc_function_counts_t *counts;
  size_t count_size;     // of `counts`
  uint64_t count_names;  // fc_counts_names of the module that the counts are of
  char text[];           // the path, and the key
} fc_generation_t;

// Carries out the action of an event. `error` is the reason of FC_ON_FAILED and _REFUSED,
// else NULL. The generation may be freed afterwards.
typedef void fc_step_act_t(void *context, struct fc_generation_t *generation,
                           fc_step_action_t action, const fc_error_t *error);

// A new table is all zero, except the allocator, series.most, act and context.
typedef struct fc_generations_t {
  fc_allocator_t allocator;
  fc_generation_t **places;  // by index; NULL: free
  uint32_t count;            // of places
  uint32_t used;
  uint64_t made;        // generations entered, ever
  uint32_t first_free;  // no place below this index is free
  // Maps names to indices of current generations. There is an entry for each key, and one
  // for each name, which leads to the best of its versions (fc_generations_find).
  fc_name_table_t names;
  // Maps paths to FAILED generations that are not current: each says why its file is not
  // served.
  fc_name_table_t twins;
  // One current generation of each name, sorted by name. The memory has room for as many
  // as there are places.
  uint32_t *order;
  uint32_t name_count;
  // The least recently used READY generation.
  fc_generation_t *oldest;
  fc_generation_t *newest;   // the most recently used READY generation
  uint64_t bytes;            // what all generations take (demand.h)
  uint64_t leaving;          // the part of `bytes` that draining ones take
  uint64_t changes;          // of states
  fc_decision_t *decisions;  // about names, aliases and refused files; owned
  fc_all_series_t series;    // of the functions of all generations
  // Any function below that may change a step may call `act` before it returns.
  fc_step_act_t *act;
  void *context;
} fc_generations_t;

// Releases every module. No generation may be held.
void fc_generations_deinit(fc_generations_t *generations);

// Enters a generation of the module at `path`. If no other generation has its key, the
// key leads to it at once; otherwise only after fc_generations_publish or _describe.
// `kind` must be static. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_generations_enter(fc_generations_t *generations, fc_str_t path,
                                 const char *kind,
                                 fc_generation_t **out_generation,
                                 fc_error_t *err) FC_MUST_CHECK;
// Raises an event of the generation: it changes to the step that step.def has for the
// event, and the action of the row is carried out. If step.def has no such row, the
// server has a bug: builds for tests abort, others log it and do nothing.
void fc_generations_raise(fc_generations_t *generations,
                          fc_generation_t *generation, fc_step_event_t event,
                          const fc_error_t *error);
// Raises FC_ON_PASSED: the generation becomes READY, its key leads to it, and the
// previous generation of the key drains. FC_CODE_OUT_OF_MEMORY: nothing has changed.
fc_status_t fc_generations_publish(fc_generations_t *generations,
                                   fc_generation_t *generation,
                                   fc_error_t *err) FC_MUST_CHECK;
// Does the same with FC_ON_LISTED: the generation becomes DESCRIBED.
fc_status_t fc_generations_describe(fc_generations_t *generations,
                                    fc_generation_t *generation,
                                    fc_error_t *err) FC_MUST_CHECK;
// Releases the module of a FAILED generation and notes the reason. If its key leads to
// it, requests get the reason.
void fc_generations_note_failure(fc_generations_t *generations,
                                 fc_generation_t *generation,
                                 const fc_error_t *error);
// Raises FC_ON_DROPPED: the generation drains, and its key no longer leads to it. It may
// be freed afterwards.
void fc_generations_drain(fc_generations_t *generations,
                          fc_generation_t *generation);
// For a draining generation: raises FC_ON_RELEASED if nobody holds it. It may be freed
// afterwards.
void fc_generations_let_go(fc_generations_t *generations,
                           fc_generation_t *generation);
// Removes a generation from the table and frees it. Nobody may hold it.
void fc_generations_remove(fc_generations_t *generations,
                           fc_generation_t *generation);

// Returns the generation with this index, NULL if none. It stays until it is removed.
static inline fc_generation_t *fc_generations_at(
    const fc_generations_t *generations, uint32_t index) {
  return index < generations->count ? generations->places[index] : NULL;
}
// Returns the current generation of a name, or of "name@version"; NULL if there is none.
// A name leads to its preferred version if that can be called or waited for, else to the
// highest version that can be. If none can be, it leads to the highest loading version,
// else to the highest failed one.
fc_generation_t *fc_generations_find(const fc_generations_t *generations,
                                     fc_str_t name);
// Returns the generation that says why the file at `path` is not served: it failed, and
// another generation has its version. NULL: there is none.
fc_generation_t *fc_generations_find_twin(const fc_generations_t *generations,
                                          fc_str_t path);
// Returns the current generation of the version in a path, NULL if there is none.
fc_generation_t *fc_generations_find_path(const fc_generations_t *generations,
                                          fc_str_t path);
// Returns the current generation of a name and a version; `version` may be an alias. NULL
// if there is none.
fc_generation_t *fc_generations_find_version(
    const fc_generations_t *generations, fc_str_t name, fc_str_t version);
// Sets the generation's `preferred` from `decisions`.
void fc_generations_prefer(const fc_generations_t *generations,
                           fc_generation_t *generation);
// Determines again which version a name leads to, after the state or `preferred` of one
// of its versions has changed. `generation` is any current one of the name.
void fc_generations_settle_name(fc_generations_t *generations,
                                const fc_generation_t *generation);
// Returns the current generation with the nearest name, for "did you mean"; NULL if none
// is near. Looks only at the FC_NEAREST_MAX names next to the wanted one in sorted order,
// so the cost does not grow with the number of modules. If there are more names, a name
// that was misspelt at its beginning may not be found.
const fc_generation_t *fc_generations_nearest(
    const fc_generations_t *generations, fc_nearest_t *search);

// Returns the counts of a function, zero at first, with a series. NULL: there is no
// memory.
fc_function_counts_t *fc_generations_count(fc_generations_t *generations,
                                           fc_generation_t *generation,
                                           uint32_t function);

// Returns the same counts, or NULL if no call of the generation was counted. Makes
// none; the counts may lack a series.
static inline const fc_function_counts_t *fc_generation_counts(
    const fc_generation_t *generation, size_t function) {
  return function < generation->count_size ? &generation->counts[function]
                                           : NULL;
}
// Sets the generation's module, replacing an earlier one. If its functions are not the
// counted ones, the counts are dropped.
void fc_generations_set_module(fc_generations_t *generations,
                               fc_generation_t *generation,
                               fc_module_t *take_module);
// Moves the counts of an unloaded generation to the one in its place, which has none.
// Their series are released.
void fc_generations_pass_counts(fc_generations_t *generations,
                                fc_generation_t *from, fc_generation_t *to);

static inline fc_generation_state_t fc_generation_state(
    const fc_generation_t *generation) {
  return fc_step_state((fc_step_t)generation->step);
}

static inline bool fc_generation_is_draining(
    const fc_generation_t *generation) {
  return fc_generation_state(generation) == FC_GENERATION_DRAINING;
}

// Does a request for the generation wait until it is loaded or described?
static inline bool fc_generation_is_coming(const fc_generation_t *generation) {
  const fc_generation_state_t state = fc_generation_state(generation);
  return state == FC_GENERATION_DESCRIBED ||
         (state == FC_GENERATION_LOADING && generation->loading.demanded);
}
// Sets the generation's share of --module-memory, in bytes.
void fc_generations_weigh(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t bytes);
// Notes a request for the generation at `now_ns`: a READY one becomes the newest. If it
// has proved itself, its module for a rollback is dropped (rollback.h).
void fc_generations_touch(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t now_ns);

// May clients see and call the function? The generation's policy decides. The module must
// be loaded.
bool fc_generation_exposes(const fc_generation_t *generation,
                           const fc_function_t *function);
// Returns the function of this name among those that clients may see; NULL: there is
// none.
const fc_function_t *fc_generation_function(const fc_generation_t *generation,
                                            fc_str_t name);
// Returns the function with the nearest name. Looks at no more than FC_GENERATION_LOOKS
// functions.
#define FC_GENERATION_LOOKS 1000
const fc_function_t *fc_generation_nearest_function(
    const fc_generation_t *generation, fc_nearest_t *search);
// Writes the names of these functions in quotes. Ends with ", ..." if some do not fit or
// were not looked at; writes "" if there are none. `capacity` must be above 100.
void fc_generation_list_functions(const fc_generation_t *generation, char *out,
                                  size_t capacity);

// Holds the generation: it is not removed; if it is READY, its module stays too.
static inline void fc_generation_hold(fc_generation_t *generation) {
  generation->holds++;
}
// Releases a hold. Do not use the generation afterwards: it is freed if it drains and
// this was the last hold.
void fc_generations_release(fc_generations_t *generations,
                            fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_GENERATION_H_
