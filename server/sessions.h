// SPDX-License-Identifier: Apache-2.0
//
// The sessions of a server: their limits, and the times at which expired ones are ended.
// Loop thread.
#ifndef FARCALL_SERVER_SESSIONS_H_
#define FARCALL_SERVER_SESSIONS_H_

#include "server.h"

// Returns how many bytes the values of sessions may have. `memory` is the limit for calls
// in flight.
uint64_t fc_loop_session_memory(const fc_server_options_t *options,
                                uint64_t memory);
void fc_loop_init_sessions(fc_loop_t *loop, uint64_t memory);
// Generation `to` replaces `from`. Sessions go over to `to` if their state allows it
// (fc_states_go_over).
void fc_loop_pass_sessions(void *context, fc_generation_t *from,
                           fc_generation_t *to);
// Ends expired sessions.
void fc_loop_look_at_sessions(fc_loop_t *loop, uint64_t now_ns);
// Returns when to call fc_loop_look_at_sessions next; 0: there are no sessions.
uint64_t fc_loop_sessions_due_ns(const fc_loop_t *loop);
// Call it after the pool was freed.
void fc_loop_deinit_sessions(fc_loop_t *loop);

#endif  // FARCALL_SERVER_SESSIONS_H_
