// SPDX-License-Identifier: Apache-2.0
//
// Looks up a name in a separate thread, which may be abandoned when the server ends: a
// name server that does not answer takes half a minute, and a running look-up of libuv
// cannot be cancelled. These functions are called on the loop's thread.
#ifndef FARCALL_SERVER_OTLP_LOOKUP_H_
#define FARCALL_SERVER_OTLP_LOOKUP_H_

#include <netdb.h>
#include <uv.h>

#include "config/collector.h"

typedef struct fc_lookup_t fc_lookup_t;

// Begins to look up the addresses of `collector`. The other thread rings `bell` when it
// has found them or has failed, unless fc_lookup_leave was called first. NULL: no memory,
// or no thread.
fc_lookup_t *fc_lookup_begin(const fc_collector_t *collector, uv_async_t *bell);
// Frees a look-up whose bell has rung. Returns 0 and the addresses, which the caller
// frees with freeaddrinfo, or an error of getaddrinfo.
int fc_lookup_end(fc_lookup_t *lookup, struct addrinfo **out_found);
// Cancels the look-up: the bell is not rung any more, so the loop may close it. If the
// other thread is done, the look-up is freed here; otherwise that thread frees it. NULL
// is allowed.
void fc_lookup_leave(fc_lookup_t *lookup);

#endif  // FARCALL_SERVER_OTLP_LOOKUP_H_
