// SPDX-License-Identifier: Apache-2.0
//
// Tells where the dynamic linker has put a loaded object (the program or a library), for
// reports of a crash. Any thread, while no other thread loads an object.
#ifndef FARCALL_CORE_BASE_LOADED_H_
#define FARCALL_CORE_BASE_LOADED_H_

#include <stdint.h>

typedef struct fc_loaded_t {
  uintptr_t base;  // the address at which byte 0 of the file would be
  uintptr_t begin,
      end;  // its mapped addresses; both 0: there is no such object
} fc_loaded_t;

// Returns the number of loaded objects.
unsigned fc_loaded_count(void);
// Finds the object before which `count` objects were loaded. The linker lists objects in
// the order of loading: a module comes before the libraries that only it needs.
fc_loaded_t fc_loaded_at(unsigned count);
// Returns the address of the instruction that a signal has stopped. `context` is the
// third argument of the signal's handler. Async-signal-safe.
uintptr_t fc_loaded_counter(const void *context);

#endif  // FARCALL_CORE_BASE_LOADED_H_
