// SPDX-License-Identifier: Apache-2.0
//
// Converts tensors of a call to buffer views and back. The module borrows the
// memory of an argument for the call. If the module still holds the buffer afterwards,
// the buffer gets a copy.
#ifndef FARCALL_CORE_MODULE_VM_HAL_TENSOR_VIEW_H_
#define FARCALL_CORE_MODULE_VM_HAL_TENSOR_VIEW_H_

#include "farcall/value.h"
#include "module/vm/hal/objects.h"

// The buffers that borrow memory of one call. Before the caller makes arguments, it
// zeroes this struct and sets `invocation` and `arena`. The list lies in the arena.
typedef struct fc_hal_loan_t fc_hal_loan_t;
typedef struct fc_hal_loans_t {
  fc_arena_t *arena;
  fc_vm_invocation_t *invocation;
  fc_hal_loan_t *first;
} fc_hal_loans_t;

// Makes a view of the tensor's own bytes (or of a packed copy, for elements below a
// byte). *out is its only reference, which the caller owns. FC_CODE_UNSUPPORTED_TYPE for
// a strided tensor and for element types that IREE does not have.
fc_status_t fc_hal_tensor_in(fc_vm_heap_t *heap, const fc_tensor_t *tensor,
                             fc_hal_loans_t *loans, fc_vm_object_t **out,
                             fc_error_t *err) FC_MUST_CHECK;
// Call this when the call has released its own references. Buffers that the module still
// holds get a copy of their bytes, or become empty if there is no memory for the copy.
void fc_hal_loans_end(fc_hal_loans_t *loans);

// Makes a tensor of the view. It is valid as long as the view and the arena. Its
// elements get the type `declared` if the bytes have the same meaning in it, otherwise
// the view's type. Elements narrower than a byte are unpacked into the arena. With
// `shared`, bytes that other calls can reach are copied into the arena.
// FC_CODE_BAD_RESULT when the element type is unknown here, or the view has too many dims
// or elements.
fc_status_t fc_hal_tensor_out(fc_arena_t *arena, const fc_hal_view_t *view,
                              fc_dtype_t declared, bool shared, fc_value_t *out,
                              fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_TENSOR_VIEW_H_
