// SPDX-License-Identifier: Apache-2.0
//
// Drives a table of generations without a loader and a pool: the test raises the events
// that these would raise.
#ifndef FARCALL_TESTS_HELPERS_GENERATION_H_
#define FARCALL_TESTS_HELPERS_GENERATION_H_

#include "modules/generation.h"

// Does the part of an action that concerns only the table. True: the generation can be
// removed, or the pool would have to release what it holds for it.
static inline bool fc_test_act(fc_generations_t *generations,
                               fc_generation_t *generation,
                               fc_step_action_t action,
                               const fc_error_t *error) {
  if (action == FC_DO_REFUSE || action == FC_DO_FAIL) {
    fc_generations_note_failure(generations, generation, error);
  }
  if (action == FC_DO_LET_GO) fc_generations_let_go(generations, generation);
  return action == FC_DO_RETIRE || action == FC_DO_REMOVE;
}

// Raises the events that must precede publishing, then publishes the generation.
static inline fc_status_t fc_test_publish(fc_generations_t *generations,
                                          fc_generation_t *generation,
                                          fc_error_t *err) {
  fc_generations_raise(generations, generation, FC_ON_ROOM, NULL);
  fc_generations_raise(generations, generation, FC_ON_OPENED, NULL);
  fc_generations_raise(generations, generation, FC_ON_HOSTED, NULL);
  return fc_generations_publish(generations, generation, err);
}

#endif  // FARCALL_TESTS_HELPERS_GENERATION_H_
