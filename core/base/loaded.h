// SPDX-License-Identifier: Apache-2.0
//
// Where the dynamic linker has put an object, for what tells of a crash. Any thread, while
// no other loads.
#ifndef FARCALL_CORE_BASE_LOADED_H_
#define FARCALL_CORE_BASE_LOADED_H_

#include <stdint.h>

typedef struct fc_loaded_t {
  uintptr_t base;  // what addresses in the file count from
  uintptr_t begin,
      end;  // its mapped addresses; both 0: there is no such object
} fc_loaded_t;

// How many objects there are.
unsigned fc_loaded_count(void);
// The object that was loaded when there were `count`: the linker lists them in the order
// they came, a module before what only the module needs.
fc_loaded_t fc_loaded_at(unsigned count);
// The address of the instruction that a signal has stopped, of the third argument of its
// handler. Handlers may call it.
uintptr_t fc_loaded_counter(const void *context);

#endif  // FARCALL_CORE_BASE_LOADED_H_
