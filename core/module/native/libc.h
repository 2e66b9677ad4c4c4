// SPDX-License-Identifier: Apache-2.0
//
// Facts about names of the C library: which names a module may import so that its calls
// are pure and may be left half-way, and which names it must not define.
#ifndef FARCALL_MODULE_NATIVE_LIBC_H_
#define FARCALL_MODULE_NATIVE_LIBC_H_

#include "farcall/base.h"

// True for a name that libm exports.
bool fc_libc_is_math(fc_str_t name);

// True when importing this name means that a call uses no locks, threads or
// files and needs no cleaning up, so that the call may be left half-way. Such
// names are for allocation, memory, mathematics, puts, abort, what shim.c
// provides, and what every linked object imports.
bool fc_libc_is_harmless(fc_str_t name);

// True when compilers treat each function of this name as the C library's: a call
// of a module's own function of that name may run the library's function instead.
bool fc_libc_is_reserved(fc_str_t name);

#endif  // FARCALL_MODULE_NATIVE_LIBC_H_
