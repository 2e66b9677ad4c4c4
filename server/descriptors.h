// SPDX-License-Identifier: Apache-2.0
//
// Makes room for descriptors: raises the limit of the process, and enlarges the tables of
// the kernel and of libuv to the largest size that they may need. Loop thread.
#ifndef FARCALL_SERVER_DESCRIPTORS_H_
#define FARCALL_SERVER_DESCRIPTORS_H_

#include "server.h"

// Raises the soft limit of descriptors to `need`, or as far as is allowed. Returns the
// limit; 0: it is not known.
uint64_t fc_descriptors_raise(uint64_t need);
// Returns how many descriptors the kernel may watch for one user, as the file `path` in
// /proc/sys says; 0: it is not known.
uint64_t fc_descriptors_watches(const char *path);
// Makes fc_loop_t.uv with room for the descriptors that the options need, because libuv
// ends the process if its table must grow and there is no memory. Sets fc_loop_t.watches.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_descriptors_open_loop(fc_loop_t *loop,
                                     fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DESCRIPTORS_H_
