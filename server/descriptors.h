// SPDX-License-Identifier: Apache-2.0
//
// Room for descriptors: raises the limit of the process, and sets memory aside for
// libuv, which has a table of them and takes this memory if none else is left when the
// table must grow. Loop thread.
#ifndef FARCALL_SERVER_DESCRIPTORS_H_
#define FARCALL_SERVER_DESCRIPTORS_H_

#include "server.h"

// Raises the soft limit of descriptors as far as needed and allowed, and returns the
// limit; 0: it is not known.
uint64_t fc_descriptors_raise(uint64_t need);
// Makes fc_loop_t.uv, with room for the descriptors that the options lead to, because
// libuv ends the process if its table must grow and there is no memory.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_descriptors_open_loop(fc_loop_t *loop,
                                     fc_error_t *err) FC_MUST_CHECK;
// Frees the memory that was set aside and not taken. Called when the loop is closed.
void fc_descriptors_end(void);

#endif  // FARCALL_SERVER_DESCRIPTORS_H_
