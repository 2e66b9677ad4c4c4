// SPDX-License-Identifier: Apache-2.0
//
// The stages of a call, for times, logs, metrics and errors.
#ifndef FARCALL_SERVER_POOL_STAGE_H_
#define FARCALL_SERVER_POOL_STAGE_H_

// The stages, in the order in which they are run.
typedef enum fc_stage_t {
#define FC_STAGE(name, text) FC_STAGE_##name,
#include "pool/stage.def"
#undef FC_STAGE
  FC_STAGE_COUNT
} fc_stage_t;

// Returns the name of a stage, such as "decode".
const char *fc_stage_name(fc_stage_t stage);

#endif  // FARCALL_SERVER_POOL_STAGE_H_
