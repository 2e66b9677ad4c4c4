// SPDX-License-Identifier: Apache-2.0
//
// Calls functions that take a few pointers and return nothing, as most functions of
// MLIR's C interface do. Such a function can be called directly in C. libffi takes
// about 600 instructions for the same call. Any thread.
#ifndef FARCALL_MODULE_NATIVE_PLAIN_H_
#define FARCALL_MODULE_NATIVE_PLAIN_H_

#include <ffi.h>

#include "farcall/base.h"

#define FC_PLAIN_MAX 4

static inline bool fc_plain_is(const ffi_cif *cif) {
  bool plain = cif->rtype == &ffi_type_void && cif->nargs <= FC_PLAIN_MAX;
  for (unsigned i = 0; i < cif->nargs && plain; i++) {
    plain = cif->arg_types[i] == &ffi_type_pointer;
  }
  return plain;
}

// Calls `entry` as ffi_call does: each of `values` points to an argument, a pointer.
static inline void fc_plain_call(const ffi_cif *cif, void (*entry)(void),
                                 void **values) {
  typedef void *p;
  p at[FC_PLAIN_MAX];
  for (unsigned i = 0; i < cif->nargs; i++) at[i] = *(p *)values[i];
  switch (cif->nargs) {
    case 0:
      entry();
      break;
    case 1:
      ((void (*)(p))entry)(at[0]);
      break;
    case 2:
      ((void (*)(p, p))entry)(at[0], at[1]);
      break;
    case 3:
      ((void (*)(p, p, p))entry)(at[0], at[1], at[2]);
      break;
    default:
      ((void (*)(p, p, p, p))entry)(at[0], at[1], at[2], at[3]);
      break;
  }
}

#endif  // FARCALL_MODULE_NATIVE_PLAIN_H_
