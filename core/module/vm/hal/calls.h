// SPDX-License-Identifier: Apache-2.0
//
// Declares the functions of hal.def, all of one type. Included only in this folder.
#ifndef FARCALL_CORE_MODULE_VM_HAL_CALLS_H_
#define FARCALL_CORE_MODULE_VM_HAL_CALLS_H_

#include "module/vm/hal/objects.h"

// Several rows of the table use the same function, which is declared again for each.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
#define FC_HAL(name, cconv, effect, function)                   \
  fc_status_t fc_hal_call_##function(fc_vm_native_call_t *call, \
                                     fc_error_t *err);
#include "module/vm/hal/hal.def"
#undef FC_HAL
#pragma GCC diagnostic pop

// Sets result 0 to the object, whose reference moves to the result.
static inline void fc_hal_give(fc_vm_native_call_t *call,
                               fc_vm_object_t *take_object) {
  call->results[0].ref = take_object;
}

// Begins the definition of a function of hal.def.
#define FC_HAL_CALL(function) \
  fc_status_t fc_hal_call_##function(fc_vm_native_call_t *call, fc_error_t *err)

#endif  // FARCALL_CORE_MODULE_VM_HAL_CALLS_H_
