// SPDX-License-Identifier: Apache-2.0
#include "modules/step.h"

#include <stddef.h>

static const fc_step_row_t kRows[FC_STEP_COUNT][FC_ON_COUNT] = {
#define FC_STEP_ROW(step, event, next, action) \
  [FC_STEP_##step][FC_ON_##event] = {true, FC_STEP_##next, FC_DO_##action},
#include "modules/step.def"
};

const uint8_t fc_step_states[] = {
#define FC_STEP(name, state, in_pool) [FC_STEP_##name] = FC_GENERATION_##state,
#include "modules/step.def"
};

static const bool kInPool[] = {
#define FC_STEP(name, state, in_pool) [FC_STEP_##name] = in_pool,
#include "modules/step.def"
};

static const char *const kSteps[] = {
#define FC_STEP(name, state, in_pool) #name,
#include "modules/step.def"
};

static const char *const kEvents[] = {
#define FC_STEP_EVENT(name) #name,
#include "modules/step.def"
};

const fc_step_row_t *fc_step_row(fc_step_t step, fc_step_event_t event) {
  const fc_step_row_t *row = &kRows[step][event];
  return row->is_there ? row : NULL;
}

bool fc_step_in_pool(fc_step_t step) { return kInPool[step]; }

const char *fc_step_name(fc_step_t step) { return kSteps[step]; }

const char *fc_step_event_name(fc_step_event_t event) { return kEvents[event]; }
