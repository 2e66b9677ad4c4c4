// SPDX-License-Identifier: Apache-2.0
//
// The look-up of a name in a thread of its own, which the end of the server leaves
// behind: a name server that does not answer takes half a minute, and a look-up of
// libuv's cannot be given up.
#ifndef FARCALL_SERVER_LOOKUP_H_
#define FARCALL_SERVER_LOOKUP_H_

#include <netdb.h>
#include <uv.h>

#include "config/collector.h"

typedef struct fc_lookup_t fc_lookup_t;

// Begins to look up where `collector` is, and rings `bell` at the end. NULL: no memory,
// or no thread. The loop's thread, as all of these.
fc_lookup_t *fc_lookup_begin(const fc_collector_t *collector, uv_async_t *bell);
// Ends a look-up whose bell has rung. Returns 0 and the addresses, for freeaddrinfo, or
// an error of getaddrinfo.
int fc_lookup_end(fc_lookup_t *lookup, struct addrinfo **out_found);
// The bell will not be rung any more. NULL is allowed.
void fc_lookup_leave(fc_lookup_t *lookup);

#endif  // FARCALL_SERVER_LOOKUP_H_
