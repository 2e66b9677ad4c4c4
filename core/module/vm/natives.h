// SPDX-License-Identifier: Apache-2.0
//
// Modules written in C that bytecode may import, and how their functions are
// called. A table of them goes into fc_vm_context_create.
#ifndef FARCALL_CORE_MODULE_VM_NATIVES_H_
#define FARCALL_CORE_MODULE_VM_NATIVES_H_

#include "farcall/backend.h"
#include "module/vm/effect.h"
#include "module/vm/list.h"

// One argument or result, by the letter of the calling convention.
typedef union fc_vm_raw_t {
  int32_t i32;          // i
  int64_t i64;          // I
  float f32;            // f
  double f64;           // F
  fc_vm_object_t *ref;  // r, may be NULL, of any type: look before use
} fc_vm_raw_t;

typedef struct fc_vm_context_t fc_vm_context_t;
typedef struct fc_vm_stack_t fc_vm_stack_t;

// What one call from outside may use up. May be used for one call after another.
typedef struct fc_vm_invocation_t {
  fc_vm_stack_t *stack;
  const _Atomic(uint32_t) *cancel;  // non-zero stops the call; may be NULL
  uint64_t deadline_ns;             // on fc_clock_ns' clock, 0 = none
  uint64_t fuel;  // steps left (see below), UINT64_MAX = no limit
  // Of an attempt (farcall/backend.h); NULL: the call has none. Then the clock is looked
  // at more often, and one piece of work must be small (FC_VM_ATTEMPT_STEPS).
  fc_budget_t *budget;
  const struct fc_tiles_t *tiles;  // for grids; NULL: one thread
  // Where HAL buffers take their memory: from the worker's pool (NULL: from the heap),
  // or, with `guard`, from blocks that end at an unmapped page.
  struct fc_hal_pool_t *pool;
  bool guard;
  // Steps since the last look at the clock and the cancel word: back-edges, calls, and
  // bulk work, 4096 bytes a step. The count is kept between runs of bytecode: otherwise a
  // native that runs bytecode often, for a short time each, would never be stopped.
  uint64_t steps_since_poll;
  struct fc_profile_t *profile;  // base/profile.h; NULL: nobody wants to know
} fc_vm_invocation_t;

// Steps between two looks at the clock in a call with a budget, and the most that one
// instruction or one piece of a native's work may take there.
#define FC_VM_ATTEMPT_STEPS 32

// Fails, and marks the attempt as over. The call must have a budget.
fc_status_t fc_vm_give_up(fc_vm_invocation_t *invocation, fc_error_t *err);

// To be called by natives before they work on `bytes` bytes, as nothing can stop them
// while they do. Takes fuel for that. After enough steps (steps_since_poll), or without
// fuel, looks whether the call is cancelled, late or out of fuel, and fails if it is.
fc_status_t fc_vm_work(fc_vm_invocation_t *invocation, uint64_t bytes,
                       fc_error_t *err) FC_MUST_CHECK;

typedef struct fc_vm_native_call_t {
  fc_vm_context_t *context;
  fc_vm_heap_t *heap;
  fc_vm_invocation_t *invocation;
  void *state;                   // the native module's, of this context
  const fc_vm_raw_t *arguments;  // spans flattened; refs borrowed
  uint32_t argument_count;
  const uint32_t *spans;  // how often each span C…D repeats
  // Zeroed by the caller. A ref that is written here belongs to the caller, also when
  // the call fails.
  fc_vm_raw_t *results;
} fc_vm_native_call_t;

typedef struct fc_vm_native_function_t {
  const char *name;  // without the module's name
  // A name has several rows if IREE's releases call it by different conventions: one
  // row for each.
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
  // Make and free the state of one context. Both may be NULL: then there is only `shared`.
  fc_status_t (*state_create)(fc_vm_context_t *context, void **out_state,
                              fc_error_t *err);
  void (*state_destroy)(fc_vm_context_t *context, void *state);
} fc_vm_native_module_t;

#endif  // FARCALL_CORE_MODULE_VM_NATIVES_H_
