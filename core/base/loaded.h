// SPDX-License-Identifier: Apache-2.0
//
// Tells where the dynamic linker has put an object, for reports of a crash. Any thread,
// while no other thread loads an object.
#ifndef FARCALL_CORE_BASE_LOADED_H_
#define FARCALL_CORE_BASE_LOADED_H_

#include <stdint.h>

typedef struct fc_loaded_t {
  uintptr_t base;  // what addresses in the file count from
  uintptr_t begin,
      end;  // its mapped addresses; both 0: there is no such object
} fc_loaded_t;

// The number of loaded objects.
unsigned fc_loaded_count(void);
// The object that was loaded when `count` objects were loaded before it. The linker lists
// objects in the order of loading, a module before the libraries that only it needs.
fc_loaded_t fc_loaded_at(unsigned count);
// The address of the instruction that a signal has stopped. `context` is the third
// argument of the signal's handler. Async-signal-safe.
uintptr_t fc_loaded_counter(const void *context);

#endif  // FARCALL_CORE_BASE_LOADED_H_
