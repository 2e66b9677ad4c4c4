// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM and SIGINT end the loop (drain.h); SIGHUP makes it read again what may have
// changed. For server.c; loop thread.
#ifndef FARCALL_SERVER_SIGNALS_H_
#define FARCALL_SERVER_SIGNALS_H_

#include "server.h"

// Makes the handles. Returns 0 or an error of libuv, because they need descriptors.
int fc_loop_init_signals(fc_loop_t *loop);
// Starts to handle the signals. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_loop_watch_signals(fc_loop_t *loop, fc_error_t *err);

#endif  // FARCALL_SERVER_SIGNALS_H_
