// SPDX-License-Identifier: Apache-2.0
//
// Which names of the C library a module may import so that its calls
// are pure and may be left half-way, and which names it must not define.
#ifndef FARCALL_MODULE_NATIVE_LIBC_H_
#define FARCALL_MODULE_NATIVE_LIBC_H_

#include "farcall/base.h"

// True for a name that libm exports.
bool fc_libc_is_math(fc_str_t name);

// True when a module may import this name and its calls may still be left half-way: the
// function uses no locks, threads or files and needs no cleaning up. Such
// names are for allocation, memory, mathematics, puts, abort, what shim.c
// provides, and what every linked object imports.
bool fc_libc_is_harmless(fc_str_t name);

// True when compilers assume that every function of this name is the C library's: where a
// module calls its own function of that name, the library's function may run instead.
bool fc_libc_is_reserved(fc_str_t name);

#endif  // FARCALL_MODULE_NATIVE_LIBC_H_
