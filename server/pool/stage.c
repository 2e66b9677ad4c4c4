// SPDX-License-Identifier: Apache-2.0
#include "pool/stage.h"

static const char *const kStageNames[FC_STAGE_COUNT] = {
#define FC_STAGE(name, text) [FC_STAGE_##name] = text,
#include "pool/stage.def"
#undef FC_STAGE
};

const char *fc_stage_name(fc_stage_t stage) { return kStageNames[stage]; }
