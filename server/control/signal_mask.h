// SPDX-License-Identifier: Apache-2.0
//
// Which signals the threads block that the server and its worker processes start.
#ifndef FARCALL_SERVER_CONTROL_SIGNAL_MASK_H_
#define FARCALL_SERVER_CONTROL_SIGNAL_MASK_H_

#include <signal.h>

// Makes the calling thread, and threads that it starts later, block all signals except
// faults. The loop's thread handles signals that are sent to the process; a fault is
// handled by the thread that caused it. `out_before` gets the old mask; may be NULL.
void fc_signal_mask_leave_faults(sigset_t *out_before);

#endif  // FARCALL_SERVER_CONTROL_SIGNAL_MASK_H_
