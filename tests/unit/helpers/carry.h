// SPDX-License-Identifier: Apache-2.0
//
// Memory of a carry (marshal/carry.h) as a hostile owner gives it: every growth and every
// move brings it to another address, and the memory that was left is overwritten and
// released, so that a pointer that was kept shows.
#ifndef FARCALL_TESTS_HELPERS_CARRY_H_
#define FARCALL_TESTS_HELPERS_CARRY_H_

#include "marshal/carry.h"

// `allocator` must outlive the carry.
void fc_test_carry_init(fc_carry_t *carry, fc_allocator_t *allocator);
void fc_test_carry_deinit(fc_carry_t *carry);
// Brings what is to be kept, and only that, to another address.
bool fc_test_carry_move(fc_carry_t *carry);

#endif  // FARCALL_TESTS_HELPERS_CARRY_H_
