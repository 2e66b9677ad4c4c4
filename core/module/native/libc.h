// SPDX-License-Identifier: Apache-2.0
//
// What is known about names of the C library: which names a compiled module may
// import if its calls are to be pure and to be left half-way, and which names it must
// not define.
#ifndef FARCALL_MODULE_NATIVE_LIBC_H_
#define FARCALL_MODULE_NATIVE_LIBC_H_

#include "farcall/base.h"

// True for a name that libm exports.
bool fc_libc_is_math(fc_str_t name);

// True when importing that name leaves a call free of locks, threads, files and
// cleanups, so that the call may be left half-way: allocation, memory,
// mathematics, puts, abort, what shim.c provides, and what every linked object
// imports.
bool fc_libc_is_harmless(fc_str_t name);

// True when compilers take each function of this name for the C library's: calls
// of a module's own function of that name may run the library's instead.
bool fc_libc_is_reserved(fc_str_t name);

#endif  // FARCALL_MODULE_NATIVE_LIBC_H_
