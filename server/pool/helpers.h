// SPDX-License-Identifier: Apache-2.0
//
// Helper threads that run parts of one call beside its worker (--tiles). Only one call
// uses the helpers at a time. A call that finds them in use runs without them, because
// the processors are busy anyway.
#ifndef FARCALL_SERVER_POOL_HELPERS_H_
#define FARCALL_SERVER_POOL_HELPERS_H_

#include "farcall/backend.h"

typedef struct fc_helpers_t fc_helpers_t;

// `count` parts (2 to FC_TILES_MAX) run at once, one of them on the call's own thread, so
// `count` - 1 threads are started. `spin_ns` is how long a worker polls for a call before
// it sleeps (spin.h); a helper polls longer. 0: no thread polls.
fc_status_t fc_helpers_create(fc_allocator_t allocator, uint32_t count,
                              uint32_t spin_ns, fc_helpers_t **out_helpers,
                              fc_error_t *err) FC_MUST_CHECK;
// Waits for the threads; no call may be running. NULL is allowed.
void fc_helpers_destroy(fc_helpers_t *helpers);
// Returns the tiles for fc_frame_set_tiles; any number of frames and threads may use
// them.
const fc_tiles_t *fc_helpers_tiles(const fc_helpers_t *helpers);

#endif  // FARCALL_SERVER_POOL_HELPERS_H_
