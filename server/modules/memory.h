// SPDX-License-Identifier: Apache-2.0
//
// Measures the memory of modules. Loop thread.
#ifndef FARCALL_SERVER_MODULES_MEMORY_H_
#define FARCALL_SERVER_MODULES_MEMORY_H_

#include "modules/modules.h"

// Returns the bytes of a generation's file, which is in memory or mapped, plus the
// private memory of its processes; 0 if its module is not open. Reads each process's
// figures, which takes some 10 us.
uint64_t fc_modules_memory(const fc_modules_t *modules,
                           const fc_generation_t *generation);

// Returns the bytes that this process has in memory.
uint64_t fc_memory_resident(void);

#endif  // FARCALL_SERVER_MODULES_MEMORY_H_
