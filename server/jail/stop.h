// SPDX-License-Identifier: Apache-2.0
#ifndef FARCALL_SERVER_JAIL_STOP_H_
#define FARCALL_SERVER_JAIL_STOP_H_

#include "jail/jail.h"

// From now on a call that a filter refuses fails with EPERM, and is noted in `stops`,
// which may be NULL. A SIGSYS of another origin goes to the earlier handler.
void fc_stop_watch(fc_jail_stops_t *stops);

#endif  // FARCALL_SERVER_JAIL_STOP_H_
