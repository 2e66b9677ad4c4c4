// SPDX-License-Identifier: Apache-2.0
//
// Loads modules on request. A DESCRIBED generation is a name and a path; nothing of its
// file is in memory, except for the last few whose signatures were requested. A request
// for it waits, and the first such request has it loaded or, if it only needs signatures,
// described. --module-memory limits the memory of modules: before a file that would
// exceed it is loaded, other modules are made DESCRIBED again, the least recently used
// first. Loop thread.
//
// The memory of a module is the size of its file, which is in memory or mapped, the size
// of the file that is kept for a rollback (rollback.h), and the private memory of its
// processes. Instances in threads are not counted. Until the module is loaded, the figure
// is an estimate. Its processes are measured when it is ready and, with --module-memory,
// every 100 ms while it is among the FC_LIMIT_WEIGHED modules that were used last.
#ifndef FARCALL_SERVER_MODULES_DEMAND_H_
#define FARCALL_SERVER_MODULES_DEMAND_H_

#include "modules/modules.h"

// A wait for a generation. The owner of the struct holds the generation meanwhile, so
// that the generation is not removed. Zeroed: does not wait.
typedef struct fc_waiter_t {
  struct fc_waiter_t *next;
  struct fc_waiter_t *previous;
  fc_generation_t *generation;
  uint8_t state;  // fc_waiter_state_t
  // True: waits until the generation can be called; false: waits only for its signatures.
  bool calls;
  bool late;  // set when `due_ns` has passed
  // Set when loading or describing failed because of memory (generation->error); the
  // generation may be requested again.
  bool failed;
  uint64_t due_ns;  // when the waiting ends at the latest; 0: never
  // Called by fc_demand_go_on, so not before fc_demand_wait has returned.
  void (*on_woken)(struct fc_waiter_t *waiter);
} fc_waiter_t;

typedef enum fc_waiter_state_t {
  FC_WAITER_NONE,
  FC_WAITER_WAITS,
  FC_WAITER_WOKEN,  // on_woken will be called
} fc_waiter_state_t;

// Begins to wait for a generation that is coming (fc_generation_is_coming). With `calls`
// the generation is loaded; without, only its signatures are read. FC_CODE_MEMORY_BUDGET,
// FC_CODE_SHUTTING_DOWN, FC_CODE_OUT_OF_MEMORY: nothing waits.
fc_status_t fc_demand_wait(fc_modules_t *modules, fc_generation_t *generation,
                           bool calls, fc_waiter_t *waiter,
                           fc_error_t *err) FC_MUST_CHECK;
// Ends the wait without calling on_woken. Allowed at any time.
void fc_demand_leave(fc_modules_t *modules, fc_waiter_t *waiter);

// Returns when fc_demand_expire must be called; 0: nothing depends on time.
uint64_t fc_demand_due_ns(const fc_modules_t *modules);
// Wakes waiters whose time is over. Unloads idle modules. With --module-memory, measures
// the modules and unloads some if they take too much.
void fc_demand_expire(fc_modules_t *modules, uint64_t now_ns);

// ---------------------------------------------------------------------------
// Functions that the module files call among themselves

// Opens the file of a LOADING or DESCRIBED generation as soon as there is room for it,
// unloading other modules if necessary. `act`, which may be NULL, waits for it.
// FC_CODE_MEMORY_BUDGET, FC_CODE_OUT_OF_MEMORY: the file is not opened, and the
// generation keeps its state.
fc_status_t fc_demand_open(fc_modules_t *modules, fc_generation_t *generation,
                           struct fc_act_t *act, fc_error_t *err) FC_MUST_CHECK;
// Opens the files for which there is room now, and calls on_woken of up to FC_LIMIT_WAKES
// waiters. True: more waiters must be called.
bool fc_demand_go_on(fc_modules_t *modules);
// Call it when the generation's signatures are known, when it can be called, fails or
// drains, and when memory to read it was short. Wakes the waiters whose wait has been
// fulfilled; wakes all of them if it cannot be fulfilled any more, or memory was short.
void fc_demand_wake(fc_modules_t *modules, fc_generation_t *generation);
// Call it when the generation can be called: measures its memory, and if all modules take
// too much, unloads the least recently used ones.
void fc_demand_on_ready(fc_modules_t *modules, fc_generation_t *generation);
// Handles a generation's signatures, which the loader has read or failed to read. If they
// are still needed, takes ownership of load->module and sets it to NULL.
void fc_demand_on_described(fc_modules_t *modules, fc_load_t *load);
// Unloads a generation until it is requested again: its file gets a new, DESCRIBED
// generation, which takes the name, and the old one drains.
fc_status_t fc_demand_put_back(fc_modules_t *modules,
                               fc_generation_t *generation,
                               fc_error_t *err) FC_MUST_CHECK;
// FC_DO_QUEUE: adds the generation to those that wait for room.
void fc_demand_queue(fc_modules_t *modules, fc_generation_t *generation,
                     const fc_error_t *none);
// Wakes all waiters because the server stops.
void fc_demand_stop(fc_modules_t *modules);

// modules.c: makes the loader open the file now.
fc_status_t fc_modules_open(fc_modules_t *modules, fc_generation_t *generation,
                            fc_error_t *err) FC_MUST_CHECK;
// Returns how the generation's policy wants it hosted.
fc_hosting_t fc_modules_hosting(const fc_modules_t *modules,
                                const fc_generation_t *generation);
fc_status_t fc_modules_enter(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_generation_t **out_generation,
                             fc_error_t *err) FC_MUST_CHECK;
// Makes the loader hash files if nothing else must be loaded.
void fc_modules_go_on(fc_modules_t *modules);
// actions.c: fc_step_act_t of all generations; `context` is the fc_modules_t.
void fc_modules_do(void *context, fc_generation_t *generation,
                   fc_step_action_t action, const fc_error_t *error);
// Called when the trial of a generation is over, or if it has none. The generation is
// published if possible; `error`, from the pool or the trial, says why it cannot be.
void fc_modules_on_tried(fc_modules_t *modules, fc_generation_t *generation,
                         const fc_error_t *error);

#endif  // FARCALL_SERVER_MODULES_DEMAND_H_
