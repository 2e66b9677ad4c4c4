// SPDX-License-Identifier: Apache-2.0
//
// A child that runs a module's code, which may end its process, or never end, and tells what
// it finds through a pipe.
#ifndef FARCALL_CLI_TRYOUT_H_
#define FARCALL_CLI_TRYOUT_H_

#include <sys/types.h>

#include "farcall/base.h"

typedef struct fc_tryout_t {
  pid_t pid;
  int pipe;
  uint64_t end_ns;  // nothing is heard after this
} fc_tryout_t;

// Starts a child that calls `run`, which writes to `pipe` what it finds, each time at most
// PIPE_BUF bytes, and ends. The child prints nothing, and SIGALRM ends it after `seconds`. It
// has none of this process's threads: it opens modules itself. False: there is no child. Else
// fc_tryout_end must follow.
bool fc_tryout_start(fc_tryout_t *tryout, unsigned seconds,
                     void (*run)(const void *context, int pipe),
                     const void *context);
// Waits until the child has told `size` bytes more. False: it tells nothing more, or has
// not for a second longer than it was given.
bool fc_tryout_hear(const fc_tryout_t *tryout, void *out, size_t size);
void fc_tryout_end(const fc_tryout_t *tryout);

#endif  // FARCALL_CLI_TRYOUT_H_
