// SPDX-License-Identifier: Apache-2.0
//
// Modules that are loaded when they are asked for. A DESCRIBED generation is a
// name and a path; nothing of its file is in memory, except for the last few
// whose signatures were asked for. A request for it waits, and the first one
// has it loaded or, if it only wants signatures, described. --module-memory
// bounds what modules take: before a file that would exceed it is loaded,
// others are made DESCRIBED again, beginning with those not asked for for the
// longest time. The loop's thread.
//
// What a module takes is the size of its file, which is in memory or mapped, and of the
// one it may go back to (rollback.h), and what its processes have in memory of their
// own; nothing is counted for instances in threads. The figure is an estimate until the
// module is loaded. Its processes are looked at when it is ready and, with
// --module-memory, every 100 ms while it is among the FC_LIMIT_WEIGHED modules asked for
// last.
#ifndef FARCALL_SERVER_MODULES_DEMAND_H_
#define FARCALL_SERVER_MODULES_DEMAND_H_

#include "modules/modules.h"

// Something that waits for a generation. Its owner holds the generation
// meanwhile, so that it stays. Zeroed: does not wait.
typedef struct fc_waiter_t {
  struct fc_waiter_t *next;
  struct fc_waiter_t *previous;
  fc_generation_t *generation;
  uint8_t state;  // fc_waiter_state_t
  // Waits until the generation can be called; false: only for its signatures.
  bool calls;
  bool late;  // set when `due_ns` has passed
  // Set when loading or describing failed for want of memory (generation->error); the
  // generation may be asked for again.
  bool failed;
  uint64_t due_ns;  // when the waiting ends at the latest; 0: never
  // Called by fc_demand_go_on, so never before fc_demand_wait has returned.
  void (*on_woken)(struct fc_waiter_t *waiter);
} fc_waiter_t;

typedef enum fc_waiter_state_t {
  FC_WAITER_NONE,
  FC_WAITER_WAITS,
  FC_WAITER_WOKEN,  // on_woken will be called
} fc_waiter_state_t;

// Begins to wait for a generation that is coming (fc_generation_is_coming). With
// `calls` the generation is loaded; without it, only its signatures are read.
// FC_CODE_MEMORY_BUDGET, FC_CODE_SHUTTING_DOWN, FC_CODE_OUT_OF_MEMORY: nothing waits.
fc_status_t fc_demand_wait(fc_modules_t *modules, fc_generation_t *generation,
                           bool calls, fc_waiter_t *waiter,
                           fc_error_t *err) FC_MUST_CHECK;
// Ends the waiting without a call of on_woken. Allowed at any time.
void fc_demand_leave(fc_modules_t *modules, fc_waiter_t *waiter);

// When fc_demand_expire must be called; 0: there is nothing to do as time
// passes.
uint64_t fc_demand_due_ns(const fc_modules_t *modules);
// Wakes the waiters whose time has run out. Unloads modules that are idle and, with
// --module-memory, measures what modules take and unloads some if that is too much.
void fc_demand_expire(fc_modules_t *modules, uint64_t now_ns);

// ---------------------------------------------------------------------------
// Between the files of modules

// Opens the file of a generation that is LOADING or DESCRIBED, as soon as there
// is room for it; other modules are unloaded for that. `act`, which may be
// NULL, waits for it. FC_CODE_MEMORY_BUDGET, FC_CODE_OUT_OF_MEMORY: the file is not
// opened, and the generation keeps its state.
fc_status_t fc_demand_open(fc_modules_t *modules, fc_generation_t *generation,
                           struct fc_act_t *act, fc_error_t *err) FC_MUST_CHECK;
// Opens the files that there is room for now, and calls on_woken of up to
// FC_LIMIT_WAKES waiters. True: more of these are to be called.
bool fc_demand_go_on(fc_modules_t *modules);
// To be called when the generation's signatures are known, when it can be called, has
// failed or drains, and when memory was lacking to read it. Wakes those of its waiters
// that have what they wait for, and all of them if it can come no more or memory was
// lacking.
void fc_demand_wake(fc_modules_t *modules, fc_generation_t *generation);
// The generation can be called from now on: measures what it takes, and unloads modules,
// those not asked for for the longest time first, if all take too much.
void fc_demand_on_ready(fc_modules_t *modules, fc_generation_t *generation);
// The loader has read a generation's signatures, or failed. Takes load->module over, and
// sets it to NULL, if the signatures are still wanted.
void fc_demand_on_described(fc_modules_t *modules, fc_load_t *load);
// Unloads a generation until it is asked for again: enters its file as a new,
// DESCRIBED generation that takes the name, and the old one drains.
fc_status_t fc_demand_put_back(fc_modules_t *modules,
                               fc_generation_t *generation,
                               fc_error_t *err) FC_MUST_CHECK;
// FC_DO_QUEUE: enters the generation among those that wait for room.
void fc_demand_queue(fc_modules_t *modules, fc_generation_t *generation,
                     const fc_error_t *none);
// Wakes all waiters, because the server stops.
void fc_demand_stop(fc_modules_t *modules);

// modules.c: has the loader open the file now.
fc_status_t fc_modules_open(fc_modules_t *modules, fc_generation_t *generation,
                            fc_error_t *err) FC_MUST_CHECK;
// How the generation's policy wants it hosted.
fc_hosting_t fc_modules_hosting(const fc_modules_t *modules,
                                const fc_generation_t *generation);
fc_status_t fc_modules_enter(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_generation_t **out_generation,
                             fc_error_t *err) FC_MUST_CHECK;
// Has files hashed if nothing else is to be loaded.
void fc_modules_go_on(fc_modules_t *modules);
// actions.c: fc_step_act_t of all generations; `context` is the fc_modules_t.
void fc_modules_do(void *context, fc_generation_t *generation,
                   fc_step_action_t action, const fc_error_t *error);
// The trial of a generation is over, or there is none, and it is published if it can be;
// with `error`, the pool or the trial says why it cannot be.
void fc_modules_on_tried(fc_modules_t *modules, fc_generation_t *generation,
                         const fc_error_t *error);

#endif  // FARCALL_SERVER_MODULES_DEMAND_H_
