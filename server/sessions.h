// SPDX-License-Identifier: Apache-2.0
//
// The sessions of a server: their limits, and when they are looked at. The loop's thread.
#ifndef FARCALL_SERVER_SESSIONS_H_
#define FARCALL_SERVER_SESSIONS_H_

#include "server.h"

// Bytes that the values of sessions may have, of `memory` for calls in flight.
uint64_t fc_loop_session_memory(const fc_server_options_t *options,
                                uint64_t memory);
void fc_loop_init_sessions(fc_loop_t *loop, uint64_t memory);
// The generation `to` replaces `from`: sessions go over to it if their state may
// (fc_states_go_over).
void fc_loop_pass_sessions(void *context, fc_generation_t *from,
                           fc_generation_t *to);
// Ends sessions whose time is over.
void fc_loop_look_at_sessions(fc_loop_t *loop, uint64_t now_ns);
// When they are to be looked at, 0: there are none.
uint64_t fc_loop_sessions_due_ns(const fc_loop_t *loop);
// The pool is gone.
void fc_loop_deinit_sessions(fc_loop_t *loop);

#endif  // FARCALL_SERVER_SESSIONS_H_
