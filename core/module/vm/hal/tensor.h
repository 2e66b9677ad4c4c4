// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a call as buffer views and back. An argument's memory is only lent
// for the call; whoever in the module still holds it then gets a copy.
#ifndef FARCALL_CORE_MODULE_VM_HAL_TENSOR_H_
#define FARCALL_CORE_MODULE_VM_HAL_TENSOR_H_

#include "farcall/value.h"
#include "module/vm/hal/objects.h"

// The buffers lent to one call. Zeroed but for the arena, which keeps the list,
// and the invocation, while arguments are made.
typedef struct fc_hal_loan_t fc_hal_loan_t;
typedef struct fc_hal_loans_t {
  fc_arena_t *arena;
  fc_vm_invocation_t *invocation;
  fc_hal_loan_t *first;
} fc_hal_loans_t;

// A view of the tensor's own bytes (or of a packed copy, for elements below a
// byte); one reference, the caller's. Strided tensors are refused.
fc_status_t fc_hal_tensor_in(fc_vm_heap_t *heap, const fc_tensor_t *tensor,
                             fc_hal_loans_t *loans, fc_vm_object_t **out,
                             fc_error_t *err) FC_MUST_CHECK;
// Ends the loans, when the call's own references are gone.
void fc_hal_loans_end(fc_hal_loans_t *loans);

// What a view shows, as a tensor that lives as long as the view. `declared` (or
// NONE) renames elements of the same size. With `shared` bytes that others can
// still reach are copied into the arena. FC_CODE_BAD_RESULT: an element type
// without a name here, too many dims.
fc_status_t fc_hal_tensor_out(fc_arena_t *arena, const fc_hal_view_t *view,
                              fc_dtype_t declared, bool shared, fc_value_t *out,
                              fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_TENSOR_H_
