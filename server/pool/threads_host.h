// SPDX-License-Identifier: Apache-2.0
//
// The thread host: calls in threads of the server, which all generations share, and in
// the loop's lane. Loop thread.
#ifndef FARCALL_SERVER_POOL_THREADS_HOST_H_
#define FARCALL_SERVER_POOL_THREADS_HOST_H_

#include "pool/host.h"

// Starts as many threads as the pool's options say.
fc_status_t fc_thread_hosts_create(fc_pool_t *pool, fc_hosts_t **out_hosts,
                                   fc_error_t *err) FC_MUST_CHECK;
// Returns how many threads take calls.
uint32_t fc_thread_hosts_count(const fc_hosts_t *hosts);
// Returns how many threads continue a native call, or loading a module, past the
// deadline.
uint32_t fc_thread_hosts_lost(const fc_hosts_t *hosts);

#endif  // FARCALL_SERVER_POOL_THREADS_HOST_H_
