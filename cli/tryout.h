// SPDX-License-Identifier: Apache-2.0
//
// A child process that runs a module's code, which may end the process or never return.
// The child reports its findings through a pipe.
#ifndef FARCALL_CLI_TRYOUT_H_
#define FARCALL_CLI_TRYOUT_H_

#include <sys/types.h>

#include "farcall/base.h"

// On a busy machine, or where the code sleeps, the child may take so many times its
// processor time.
#define FC_TRYOUT_TIMES 4

typedef struct fc_tryout_t {
  pid_t pid;
  int pipe;
  uint64_t end_ns;  // nobody waits for the child any longer
} fc_tryout_t;

// Starts a child that calls `run` and then ends. `run` writes its findings to `pipe`, at
// most PIPE_BUF bytes at a time. The child prints nothing. A signal ends it after `seconds`
// of processor time, or FC_TRYOUT_TIMES as many in all. It has none of this process's
// threads, so it must open modules itself. False: there is no child. Otherwise
// fc_tryout_end must be called.
bool fc_tryout_start(fc_tryout_t *tryout, unsigned seconds,
                     void (*run)(const void *context, int pipe),
                     const void *context);
// Waits until the child has reported `size` more bytes. False: the child has ended or
// reports no more, or is a second over its time in all.
bool fc_tryout_hear(const fc_tryout_t *tryout, void *out, size_t size);
// Waits until the child has ended, and kills it if it is a second over its time in all.
void fc_tryout_end(const fc_tryout_t *tryout);

#endif  // FARCALL_CLI_TRYOUT_H_
