// SPDX-License-Identifier: Apache-2.0
//
// The look-up of a name in a thread of its own, which the end of the server leaves
// behind: a name server that does not answer takes half a minute, and a look-up of
// libuv's cannot be given up while it runs. These functions are called on the loop's
// thread.
#ifndef FARCALL_SERVER_OTLP_LOOKUP_H_
#define FARCALL_SERVER_OTLP_LOOKUP_H_

#include <netdb.h>
#include <uv.h>

#include "config/collector.h"

typedef struct fc_lookup_t fc_lookup_t;

// Begins to look up the addresses of `collector`. The other thread rings `bell` when it
// has found them or has failed, unless fc_lookup_leave came first. NULL: no memory, or no
// thread.
fc_lookup_t *fc_lookup_begin(const fc_collector_t *collector, uv_async_t *bell);
// Frees a look-up whose bell has rung. Returns 0 and the addresses, for freeaddrinfo, or
// an error of getaddrinfo.
int fc_lookup_end(fc_lookup_t *lookup, struct addrinfo **out_found);
// Gives the look-up up: the bell is not rung any more, so the loop may close it. The
// look-up is freed here if the other thread is done, else by that thread. NULL is
// allowed.
void fc_lookup_leave(fc_lookup_t *lookup);

#endif  // FARCALL_SERVER_OTLP_LOOKUP_H_
