// SPDX-License-Identifier: Apache-2.0
//
// How much memory modules take. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_MEMORY_H_
#define FARCALL_SERVER_MODULES_MEMORY_H_

#include "modules/modules.h"

// Bytes of a generation's file, which is in memory or mapped, and what its
// processes have in memory for themselves; 0 if its module is not open. Looks
// at each process, which takes some 10 us.
uint64_t fc_modules_memory(const fc_modules_t *modules,
                           const fc_generation_t *generation);

// Bytes that this process has in memory.
uint64_t fc_memory_resident(void);

#endif  // FARCALL_SERVER_MODULES_MEMORY_H_
