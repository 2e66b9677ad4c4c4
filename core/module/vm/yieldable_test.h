// SPDX-License-Identifier: Apache-2.0
//
// The native module that IREE's own tests of yielding import. `farcall test`
// provides it; a server never does.
#ifndef FARCALL_CORE_MODULE_VM_YIELDABLE_TEST_H_
#define FARCALL_CORE_MODULE_VM_YIELDABLE_TEST_H_

#include "module/vm/native.h"

extern const fc_vm_native_module_t fc_vm_yieldable_test;

#endif  // FARCALL_CORE_MODULE_VM_YIELDABLE_TEST_H_
