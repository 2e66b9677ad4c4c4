// SPDX-License-Identifier: Apache-2.0
//
// Writes the errors of instructions that fail. These functions are `cold`, which keeps
// registers free in their callers. Each returns the
// status that it wrote; the code is FC_CODE_CALL_FAILED.
#ifndef FARCALL_CORE_MODULE_VM_FAILURES_H_
#define FARCALL_CORE_MODULE_VM_FAILURES_H_

#include "module/vm/context.h"

// Fails because `object` is NULL or of the wrong type. `what` names the kind of object
// that is needed.
__attribute__((cold)) fc_status_t fc_vm_null_error(const char *what,
                                                   const fc_vm_object_t *object,
                                                   fc_error_t *err);
__attribute__((cold)) fc_status_t fc_vm_type_error(fc_vm_type_t wanted,
                                                   const fc_vm_object_t *object,
                                                   fc_error_t *err);
__attribute__((cold)) fc_status_t fc_vm_division_error(bool by_zero,
                                                       fc_error_t *err);
// Fails because a global does not exist. `what` is "ref" or "offset", `count` is how many
// of these there are.
__attribute__((cold)) fc_status_t fc_vm_global_error(uint32_t offset,
                                                     uint32_t count,
                                                     const char *what,
                                                     fc_error_t *err);
// Writes the error of a `fail` instruction. The text comes from the module, so it may
// contain any bytes.
__attribute__((cold)) fc_status_t fc_vm_module_error(int32_t code,
                                                     const uint8_t *text,
                                                     size_t size,
                                                     fc_error_t *err);
// Adds the place of the failed instruction to the message of a call, if there is room.
// `ip` points after the opcode.
__attribute__((cold)) void fc_vm_add_place(const fc_vm_frame_t *frame,
                                           const uint8_t *ip, fc_error_t *err);

#endif  // FARCALL_CORE_MODULE_VM_FAILURES_H_
