// SPDX-License-Identifier: Apache-2.0
//
// How a loop ends: signals, the time in which /readyz says 503 and connections are
// still accepted, draining. Also SIGHUP. For server.c; loop thread.
#ifndef FARCALL_SERVER_END_H_
#define FARCALL_SERVER_END_H_

#include "server.h"

// Makes the handles of signals, stop_bell and drain_timer. Returns 0 or an error of
// libuv: some handles need a descriptor.
int fc_loop_init_end(fc_loop_t *loop);
// From now on SIGTERM, SIGINT and SIGHUP are handled. Fails with FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_loop_watch_signals(fc_loop_t *loop, fc_error_t *err);
// Listens no more, has each connection end after the request that it has begun, and ends
// the loop as fc_loop_check_drained does, or when --drain is over.
void fc_loop_drain(fc_loop_t *loop);
// Ends a loop that drains, if no connection is left and no span is waited for
// (fc_otlp_is_busy). Called once a turn.
void fc_loop_check_drained(fc_loop_t *loop);
// Gives up a look-up of the collector, and closes every handle of the loop, so that
// uv_run returns.
void fc_loop_close_handles(fc_loop_t *loop);

#endif  // FARCALL_SERVER_END_H_
