// SPDX-License-Identifier: Apache-2.0
#include "control/signal_mask.h"

#include <pthread.h>

#include "farcall/base.h"

// SIGSYS is one of them: the jail refuses a system call by it (jail/stop.c).
static const int kFaults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                              SIGABRT, SIGTRAP, SIGSYS};

void fc_signal_mask_leave_faults(sigset_t *out_before) {
  sigset_t others;
  sigfillset(&others);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFaults); i++) {
    sigdelset(&others, kFaults[i]);
  }
  (void)pthread_sigmask(SIG_SETMASK, &others, out_before);
}
