// SPDX-License-Identifier: Apache-2.0
//
// Names and their generations: which generation of a version is current, and which
// version a name leads to. Only generation.c changes claims; code that looks up a name
// uses generation.h. Loop thread.
#ifndef FARCALL_SERVER_MODULES_CLAIM_H_
#define FARCALL_SERVER_MODULES_CLAIM_H_

#include "modules/generation.h"

// Reads name, version, key and label of a new generation from its path. They are stored
// in its `text`, which contains the path already.
void fc_claim_identify(fc_generation_t *made);
// Makes a generation current if its key leads to none: the key then leads to it, and the
// version that its name leads to is determined again. FC_CODE_OUT_OF_MEMORY: nothing has
// changed.
fc_status_t fc_claim_join(fc_generations_t *generations,
                          fc_generation_t *generation,
                          fc_error_t *err) FC_MUST_CHECK;
// Makes `generation` current in the place of `other`, which has the same key. The name
// may still lead to `other`: the caller must call fc_generations_settle_name before
// `other` is freed.
void fc_claim_replace(fc_generations_t *generations, fc_generation_t *other,
                      fc_generation_t *generation);
// If the generation is current, makes it no longer current: neither its key nor its name
// leads to it.
void fc_claim_leave(fc_generations_t *generations, fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_CLAIM_H_
