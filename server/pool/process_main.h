// SPDX-License-Identifier: Apache-2.0
//
// The main function of a worker process, `farcalld --worker`.
#ifndef FARCALL_SERVER_POOL_PROCESS_MAIN_H_
#define FARCALL_SERVER_POOL_PROCESS_MAIN_H_

#include "pool/region.h"

// Runs as `farcalld --worker …`, with these kinds of modules (NULL-terminated) and these
// dialects, indexed as in slots. Never returns.
_Noreturn void fc_process_main(int argc, char **argv,
                               const fc_backend_t *const *backends,
                               const fc_dialect_worker_t *const *dialects);

#endif  // FARCALL_SERVER_POOL_PROCESS_MAIN_H_
