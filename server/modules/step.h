// SPDX-License-Identifier: Apache-2.0
//
// The steps of a generation, as a table of steps and events (step.def). Has no effects:
// fc_generations_raise raises events, and actions.c carries out the actions.
#ifndef FARCALL_SERVER_MODULES_STEP_H_
#define FARCALL_SERVER_MODULES_STEP_H_

#include <stdbool.h>
#include <stdint.h>

// The state that clients see.
typedef enum fc_generation_state_t {
  FC_GENERATION_LOADING,  // it cannot be called yet
  FC_GENERATION_READY,    // its calls are answered
  FC_GENERATION_FAILED,   // it could not be loaded; if a name leads to it,
                          // requests for the name get the reason

  // No name leads to the generation any more; calls that hold it go on.
  FC_GENERATION_DRAINING,
  FC_GENERATION_DESCRIBED,  // it is loaded when it is asked for
} fc_generation_state_t;

typedef enum fc_step_t {
#define FC_STEP(name, state, in_pool) FC_STEP_##name,
#include "modules/step.def"
  FC_STEP_COUNT
} fc_step_t;

typedef enum fc_step_event_t {
#define FC_STEP_EVENT(name) FC_ON_##name,
#include "modules/step.def"
  FC_ON_COUNT
} fc_step_event_t;

typedef enum fc_step_action_t {
#define FC_STEP_ACTION(name) FC_DO_##name,
#include "modules/step.def"
  FC_DO_COUNT
} fc_step_action_t;

typedef struct fc_step_row_t {
  bool is_there;
  uint8_t next;    // fc_step_t
  uint8_t action;  // fc_step_action_t
} fc_step_row_t;

// Returns the row of a pair; NULL: the pair cannot happen.
const fc_step_row_t *fc_step_row(fc_step_t step, fc_step_event_t event);
// Each call needs the state, so it is read from a table.
extern const uint8_t fc_step_states[FC_STEP_COUNT];
static inline fc_generation_state_t fc_step_state(fc_step_t step) {
  return (fc_generation_state_t)fc_step_states[step];
}
bool fc_step_in_pool(fc_step_t step);
// Return the names in step.def, static.
const char *fc_step_name(fc_step_t step);
const char *fc_step_event_name(fc_step_event_t event);

#endif  // FARCALL_SERVER_MODULES_STEP_H_
