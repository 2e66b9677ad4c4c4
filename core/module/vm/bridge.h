// SPDX-License-Identifier: Apache-2.0
//
// Converts between the flat values of a call (farcall/value.h) and the values of the
// VM: numbers of the width in the calling convention, buffers, buffer views and lists.
#ifndef FARCALL_CORE_MODULE_VM_BRIDGE_H_
#define FARCALL_CORE_MODULE_VM_BRIDGE_H_

#include "farcall/value.h"
#include "module/vm/buffer.h"
#include "module/vm/hal/tensor_view.h"
#include "module/vm/natives.h"

// Converts a value to an argument. `letter` is the argument's letter in the calling
// convention. `node` is the node of the signature that describes the argument, or
// FC_NODE_NONE. A ref written to *out belongs to the caller. Tensor memory is lent, see
// hal/tensor_view.h; bytes and vectors are copied. An opaque value must have come from
// fc_vm_result of the same context.
fc_status_t fc_vm_argument(fc_vm_heap_t *heap, const fc_value_t *value,
                           char letter, const fc_signature_t *signature,
                           uint32_t node, fc_hal_loans_t *loans,
                           fc_vm_raw_t *out, fc_error_t *err) FC_MUST_CHECK;

// Converts a result to a value. `node` is the node of the signature that describes it,
// or FC_NODE_NONE. Items of lists are made in the arena. Bytes stay in the object. What
// is declared opaque stays an object, and so does what has no other value. With
// `copy`, the bytes of every !vm.buffer, and of tensors that other calls may reach, are
// copied into the arena. All bytes count as work of the invocation (fc_vm_work).
fc_status_t fc_vm_result(fc_vm_invocation_t *invocation, fc_arena_t *arena,
                         fc_vm_raw_t raw, char letter,
                         const fc_signature_t *signature, uint32_t node,
                         bool copy, fc_value_t *out,
                         fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_BRIDGE_H_
