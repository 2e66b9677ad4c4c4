// SPDX-License-Identifier: Apache-2.0
//
// Ends a loop: first comes the time in which /readyz says 503 and connections are still
// accepted, then draining. For server.c and signals.c; loop thread.
#ifndef FARCALL_SERVER_DRAIN_H_
#define FARCALL_SERVER_DRAIN_H_

#include "server.h"

// Makes stop_bell and drain_timer. Returns 0 or an error of libuv, because stop_bell
// needs a descriptor.
int fc_loop_init_drain(fc_loop_t *loop);
// Makes /readyz 503 from now on. A load balancer has the time of --pre-drain to notice
// it; then the server drains. Without --pre-drain, or if the start is not over, it drains
// at once.
void fc_loop_leave(fc_loop_t *loop);
// Closes the listeners, and each connection after the request that it has begun. The loop
// ends as fc_loop_check_drained says, or when --drain is over.
void fc_loop_drain(fc_loop_t *loop);
// Ends a draining loop if no connection is left and no span must be exported
// (fc_otlp_is_busy). Called once a turn.
void fc_loop_check_drained(fc_loop_t *loop);
// Cancels the look-up of the collector's address, and closes every handle of the loop, so
// that uv_run returns.
void fc_loop_close_handles(fc_loop_t *loop);

#endif  // FARCALL_SERVER_DRAIN_H_
