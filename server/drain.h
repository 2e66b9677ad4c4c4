// SPDX-License-Identifier: Apache-2.0
//
// How a loop ends: the time in which /readyz says 503 and connections are still accepted,
// then draining. For server.c and signals.c; loop thread.
#ifndef FARCALL_SERVER_DRAIN_H_
#define FARCALL_SERVER_DRAIN_H_

#include "server.h"

// Makes stop_bell and drain_timer. Returns 0 or an error of libuv: the bell needs a
// descriptor.
int fc_loop_init_drain(fc_loop_t *loop);
// /readyz is 503 from here on. A load balancer has the time of --pre-drain to notice;
// then the server drains. Without --pre-drain, and before the start is over, it drains at
// once.
void fc_loop_leave(fc_loop_t *loop);
// Listens no more, has each connection end after the request that it has begun, and ends
// the loop as fc_loop_check_drained does, or when --drain is over.
void fc_loop_drain(fc_loop_t *loop);
// Ends a loop that drains, if no connection is left and no span is waited for
// (fc_otlp_is_busy). Called once a turn.
void fc_loop_check_drained(fc_loop_t *loop);
// Gives up a look-up of the collector, and closes every handle of the loop, so that
// uv_run returns.
void fc_loop_close_handles(fc_loop_t *loop);

#endif  // FARCALL_SERVER_DRAIN_H_
