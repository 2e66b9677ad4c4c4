// SPDX-License-Identifier: Apache-2.0
//
// Modules that are loaded when they are asked for. A DESCRIBED generation is a name
// and a path; but for a few that were asked about, nothing of its file is in memory. Whoever asks for it waits, and the
// first of them has it loaded, or, if only its signatures are wanted, described.
// --module-memory bounds what modules take: what is loaded beyond it makes others
// DESCRIBED again, those first that were not asked for for the longest time. The
// loop's thread.
//
// What a module takes is the size of its file, which is in memory or mapped, and
// what its processes have in memory of their own; nothing is counted for instances
// in threads. Before it is loaded that is estimated. Processes are looked at when
// their module can be called, and again while it is among those called last.
#ifndef FARCALL_SERVER_MODULES_DEMAND_H_
#define FARCALL_SERVER_MODULES_DEMAND_H_

#include "modules/modules.h"

// Somebody who waits for a generation, and holds it. Zeroed: does not wait.
typedef struct fc_waiter_t {
  struct fc_waiter_t *next;
  struct fc_waiter_t *previous;
  fc_generation_t *generation;
  uint8_t state;    // fc_waiter_state_t
  bool calls;       // waits until it can be called, else for its signatures
  bool late;        // `due_ns` has passed
  bool failed;      // generation->error says why; it may be asked for again
  uint64_t due_ns;  // 0: never
  // Called in a later turn of the loop, when it waits no more.
  void (*on_woken)(struct fc_waiter_t *waiter);
} fc_waiter_t;

typedef enum fc_waiter_state_t {
  FC_WAITER_NONE,
  FC_WAITER_WAITS,
  FC_WAITER_WOKEN,  // on_woken will be called
} fc_waiter_state_t;

// Waits for a generation that is coming. With `calls` it is loaded, else only
// described. FC_CODE_MEMORY_BUDGET, FC_CODE_SHUTTING_DOWN, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_demand_wait(fc_modules_t *modules, fc_generation_t *generation,
                           bool calls, fc_waiter_t *waiter,
                           fc_error_t *err) FC_MUST_CHECK;
// It waits no more, and on_woken is not called. Allowed at any time.
void fc_demand_leave(fc_modules_t *modules, fc_waiter_t *waiter);

// Is there anything to do when time passes? 0: no; else when to call _expire.
uint64_t fc_demand_due_ns(const fc_modules_t *modules);
// Wakes those whose time has run out; looks at memory; unloads what is idle.
void fc_demand_expire(fc_modules_t *modules, uint64_t now_ns);

// ---------------------------------------------------------------------------
// Between the files of modules

// Opens the file of a generation that is LOADING or DESCRIBED, as soon as others
// have made room. `act` waits for it. FC_CODE_MEMORY_BUDGET, FC_CODE_OUT_OF_MEMORY:
// nothing has changed.
fc_status_t fc_demand_open(fc_modules_t *modules, fc_generation_t *generation,
                           struct fc_act_t *act, fc_error_t *err) FC_MUST_CHECK;
// Opens those that there is room for now, and calls some of those that are woken.
// True: there is more to do.
bool fc_demand_go_on(fc_modules_t *modules);
// Its signatures are known, it can be called, it has failed or drains: whoever
// waits for that is woken.
void fc_demand_wake(fc_modules_t *modules, fc_generation_t *generation);
// It can be called: what it takes is known now.
void fc_demand_on_ready(fc_modules_t *modules, fc_generation_t *generation);
// The loader has described it; takes load->module over.
void fc_demand_on_described(fc_modules_t *modules, fc_load_t *load);
// Enters the file of a generation anew, as DESCRIBED. Its name leads to that, and
// the generation drains.
fc_status_t fc_demand_put_back(fc_modules_t *modules,
                               fc_generation_t *generation,
                               fc_error_t *err) FC_MUST_CHECK;
// Its name leads to it no more. Whoever waits for it is woken; if it only waits for
// room it goes at once.
void fc_demand_drain(fc_modules_t *modules, fc_generation_t *generation);
// Wakes everybody.
void fc_demand_stop(fc_modules_t *modules);

// modules.c: opens it now.
fc_status_t fc_modules_open(fc_modules_t *modules, fc_generation_t *generation,
                            fc_error_t *err) FC_MUST_CHECK;
void fc_modules_fail_load(fc_modules_t *modules, fc_generation_t *generation,
                          const fc_error_t *error);
fc_status_t fc_modules_enter(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_generation_t **out_generation,
                             fc_error_t *err) FC_MUST_CHECK;
// The loader has nothing of it to do any more.
void fc_modules_settle(fc_modules_t *modules, fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_DEMAND_H_
