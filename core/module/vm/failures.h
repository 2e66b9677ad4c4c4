// SPDX-License-Identifier: Apache-2.0
//
// The errors of instructions that fail, out of the interpreter's way:
// `cold` keeps registers free where they are called. Each returns the
// status that it wrote; their code is FC_CODE_CALL_FAILED.
#ifndef FARCALL_CORE_MODULE_VM_FAILURES_H_
#define FARCALL_CORE_MODULE_VM_FAILURES_H_

#include "module/vm/context.h"

// `object` is not what is needed: NULL, or of another type. `what` names it.
__attribute__((cold)) fc_status_t fc_vm_null_error(const char *what,
                                                   const fc_vm_object_t *object,
                                                   fc_error_t *err);
__attribute__((cold)) fc_status_t fc_vm_type_error(fc_vm_type_t wanted,
                                                   const fc_vm_object_t *object,
                                                   fc_error_t *err);
__attribute__((cold)) fc_status_t fc_vm_division_error(bool by_zero,
                                                       fc_error_t *err);
// `what` is "ref" or "offset", `count` how many there are.
__attribute__((cold)) fc_status_t fc_vm_global_error(uint32_t offset,
                                                     uint32_t count,
                                                     const char *what,
                                                     fc_error_t *err);
// The error of a `fail` instruction. The text comes from the module, so it can be any
// bytes.
__attribute__((cold)) fc_status_t fc_vm_module_error(int32_t code,
                                                     const uint8_t *text,
                                                     size_t size,
                                                     fc_error_t *err);
// Adds to the message of a failed call, if there is room, at which instruction it failed.
// `ip` is behind its opcode.
__attribute__((cold)) void fc_vm_add_place(const fc_vm_frame_t *frame,
                                           const uint8_t *ip, fc_error_t *err);

#endif  // FARCALL_CORE_MODULE_VM_FAILURES_H_
