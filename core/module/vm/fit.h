// SPDX-License-Identifier: Apache-2.0
//
// Compares what a source says of a function (signature.c) with the module.
#ifndef FARCALL_CORE_MODULE_VM_FIT_H_
#define FARCALL_CORE_MODULE_VM_FIT_H_

#include "abi/cconv.h"
#include "module/vm/recover.h"

#define FC_VM_WARNING_MAX 240

typedef struct fc_vm_fit_t {
  const fc_signature_t *signature;  // what the source says
  fc_builder_t *builder;            // which made the signature
  const fc_vm_function_t *function;
  const fc_cconv_t *cconv;             // of the function, without fences
  const fc_vm_recovered_t *recovered;  // from its bytecode
  char *warning;                       // FC_VM_WARNING_MAX bytes
} fc_vm_fit_t;

// False when the source is not about this function. Where the module has other types, or
// the source has none, the builder gets the module's; `warning`, if it is "", gets the
// first such type that the source said.
bool fc_vm_fits(fc_vm_fit_t *fit);

#endif  // FARCALL_CORE_MODULE_VM_FIT_H_
