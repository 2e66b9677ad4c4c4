// SPDX-License-Identifier: Apache-2.0
//
// Modules written in C that bytecode may import, and how their functions are
// called. A table of such modules is passed to fc_vm_context_create.
#ifndef FARCALL_CORE_MODULE_VM_NATIVES_H_
#define FARCALL_CORE_MODULE_VM_NATIVES_H_

#include "farcall/backend.h"
#include "module/vm/effect.h"
#include "module/vm/list.h"

// One argument or result; the calling convention's letter says which member it is.
typedef union fc_vm_raw_t {
  int32_t i32;          // i
  int64_t i64;          // I
  float f32;            // f
  double f64;           // F
  fc_vm_object_t *ref;  // r, may be NULL, of any type: look before use
} fc_vm_raw_t;

typedef struct fc_vm_context_t fc_vm_context_t;
typedef struct fc_vm_stack_t fc_vm_stack_t;

// The limits of one call, set by its caller. The struct may be used for several calls,
// one after another.
typedef struct fc_vm_invocation_t {
  fc_vm_stack_t *stack;
  const _Atomic(uint32_t) *cancel;  // non-zero stops the call; may be NULL
  uint64_t deadline_ns;             // on fc_clock_ns' clock, 0 = none
  uint64_t fuel;  // steps left (see below), UINT64_MAX = no limit
  // The budget of an attempt (farcall/backend.h); NULL: the call has none. With a
  // budget the clock is checked more often, and no piece of work may take more than
  // FC_VM_ATTEMPT_STEPS.
  fc_budget_t *budget;
  const struct fc_tiles_t *tiles;  // for grids; NULL: one thread
  // Where HAL buffers get their memory: from the worker's pool (NULL: from the heap)
  // or, with `guard`, from blocks that end at an unmapped page.
  struct fc_hal_pool_t *pool;
  bool guard;
  // The steps since the clock and the cancel word were last checked: back-edges, calls,
  // and bulk work, 4096 bytes a step. The count is kept between runs of bytecode.
  // Otherwise a native that runs bytecode often, each time for a short time, would never
  // be stopped.
  uint64_t steps_since_poll;
  struct fc_profile_t *profile;  // base/profile.h; NULL: times are not measured
} fc_vm_invocation_t;

// The steps between two checks of the clock in a call with a budget. This is also the
// most that one instruction or one piece of a native's work may take in such a call.
#define FC_VM_ATTEMPT_STEPS 32

// Fails, and marks the attempt as over. The call must have a budget.
fc_status_t fc_vm_give_up(fc_vm_invocation_t *invocation, fc_error_t *err);

// Natives must call this before they work on `bytes` bytes, because nothing can stop them
// meanwhile. Spends fuel for the work. After enough steps (steps_since_poll), or without
// fuel, checks whether the call is cancelled, late or out of fuel, and fails if it is.
fc_status_t fc_vm_work(fc_vm_invocation_t *invocation, uint64_t bytes,
                       fc_error_t *err) FC_MUST_CHECK;

typedef struct fc_vm_native_call_t {
  fc_vm_context_t *context;
  fc_vm_heap_t *heap;
  fc_vm_invocation_t *invocation;
  void *state;                   // the native module's state of this context
  const fc_vm_raw_t *arguments;  // spans as single values; refs borrowed
  uint32_t argument_count;
  const uint32_t *spans;  // how often each span C…D repeats
  // Zeroed by the caller. A ref that is written here belongs to the caller, even if the
  // call fails.
  fc_vm_raw_t *results;
} fc_vm_native_call_t;

typedef struct fc_vm_native_function_t {
  const char *name;  // without the module's name and dot
  // If IREE's releases call a name by different conventions, it has one row for each
  // convention.
  const char *cconv;
  uint32_t effect;  // fc_vm_effect_t
  fc_status_t (*call)(fc_vm_native_call_t *call, fc_error_t *err);
} fc_vm_native_function_t;

typedef struct fc_vm_native_module_t {
  const char *name;
  uint32_t version;  // an importer's minimum must not exceed it
  const fc_vm_native_function_t *functions;
  size_t function_count;
  void *shared;  // the state of every context, where state_create is NULL
  // These make and free the state of one context. Both may be NULL: then only `shared`
  // exists.
  fc_status_t (*state_create)(fc_vm_context_t *context, void **out_state,
                              fc_error_t *err);
  void (*state_destroy)(fc_vm_context_t *context, void *state);
} fc_vm_native_module_t;

#endif  // FARCALL_CORE_MODULE_VM_NATIVES_H_
