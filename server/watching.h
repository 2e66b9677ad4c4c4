// SPDX-License-Identifier: Apache-2.0
//
// --watch and --watch-interval: reload modules when files change. For server.c; loop
// thread.
#ifndef FARCALL_SERVER_WATCHING_H_
#define FARCALL_SERVER_WATCHING_H_

#include "server.h"

// Begins to watch, if one of the options is given. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_loop_watch_files(fc_loop_t *loop, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_WATCHING_H_
