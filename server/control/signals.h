// SPDX-License-Identifier: Apache-2.0
//
// The signals of threads that the server and its worker processes start.
#ifndef FARCALL_SERVER_CONTROL_SIGNALS_H_
#define FARCALL_SERVER_CONTROL_SIGNALS_H_

#include <signal.h>

// Has the calling thread, and those that it starts from now on, block all signals but
// faults: the loop's thread handles what is sent to the process, faults stay with the
// thread that made them. `out_before` is the mask as it was; may be NULL.
void fc_signals_leave_faults(sigset_t *out_before);

#endif  // FARCALL_SERVER_CONTROL_SIGNALS_H_
