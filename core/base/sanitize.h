// SPDX-License-Identifier: Apache-2.0
//
// FC_ASAN and FC_TSAN are 1 when the code is built with that sanitizer, else 0. (gcc
// tells it by a macro, clang by __has_feature.) FC_POISON and FC_UNPOISON mark bytes for
// the address sanitizer, and FC_IS_POISONED reads the mark of one byte. Without the
// sanitizer they do nothing.
#ifndef FARCALL_CORE_BASE_SANITIZE_H_
#define FARCALL_CORE_BASE_SANITIZE_H_

#if defined(__has_feature)
#define FC_HAS_FEATURE(x) __has_feature(x)
#else
#define FC_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || FC_HAS_FEATURE(address_sanitizer)
#define FC_ASAN 1
#else
#define FC_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || FC_HAS_FEATURE(thread_sanitizer)
#define FC_TSAN 1
#else
#define FC_TSAN 0
#endif

// True when the code is built with a sanitizer that reserves terabytes of
// addresses and replaces malloc.
#define FC_SANITIZED (FC_ASAN || FC_TSAN || FC_HAS_FEATURE(memory_sanitizer))

#if FC_ASAN
#include <sanitizer/asan_interface.h>
#define FC_POISON(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#define FC_UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION(memory, size)
#define FC_IS_POISONED(byte) __asan_address_is_poisoned(byte)
#else
#define FC_POISON(memory, size) ((void)(memory), (void)(size))
#define FC_UNPOISON(memory, size) ((void)(memory), (void)(size))
#define FC_IS_POISONED(byte) ((void)(byte), 0)
#endif

#endif  // FARCALL_CORE_BASE_SANITIZE_H_
