// SPDX-License-Identifier: Apache-2.0
//
// ?iterate of the native dialect: a function is called many times in a row, and the
// result of each step is sent at once.
#ifndef FARCALL_SERVER_DIALECT_ITERATE_H_
#define FARCALL_SERVER_DIALECT_ITERATE_H_

#include "pool/turn.h"

// DECODE, CALL and ENCODE on a worker: makes as many steps as the turn has time for.
// Refuses a document that asks for more than `times_max` steps.
fc_status_t fc_iterate_turn(fc_turn_t *turn, uint64_t times_max,
                            fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_ITERATE_H_
