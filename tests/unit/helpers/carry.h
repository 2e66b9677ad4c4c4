// SPDX-License-Identifier: Apache-2.0
//
// Memory of a carry (marshal/carry.h) from a hostile owner: each time it grows or
// moves, it gets another address, and the old memory is overwritten and released. So a
// pointer into the old memory is noticed.
#ifndef FARCALL_TESTS_HELPERS_CARRY_H_
#define FARCALL_TESTS_HELPERS_CARRY_H_

#include "marshal/carry.h"

// `allocator` must outlive the carry.
void fc_test_carry_init(fc_carry_t *carry, fc_allocator_t *allocator);
void fc_test_carry_deinit(fc_carry_t *carry);
// Moves the bytes that must be kept, and no others, to another address.
bool fc_test_carry_move(fc_carry_t *carry);

#endif  // FARCALL_TESTS_HELPERS_CARRY_H_
