// SPDX-License-Identifier: Apache-2.0
//
// Names and the generations that they lead to: which generation of a version is current,
// and which version of a name is called. generation.c alone changes claims; who looks a
// name up uses the functions of generation.h. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_CLAIM_H_
#define FARCALL_SERVER_MODULES_CLAIM_H_

#include "modules/generation.h"

// Reads name, version, key and label of a new generation from its path. They lie in its
// `text`, which has the path already.
void fc_claim_identify(fc_generation_t *made);
// Makes a generation current whose key leads to none: its key leads to it, and where its
// name leads is found anew. FC_CODE_OUT_OF_MEMORY: nothing has changed.
fc_status_t fc_claim_join(fc_generations_t *generations,
                          fc_generation_t *generation,
                          fc_error_t *err) FC_MUST_CHECK;
// Makes `generation` current in the place of `other`, which has the same key. The name
// may lead to `other` still: the caller calls fc_generations_settle_name before that is
// freed.
void fc_claim_replace(fc_generations_t *generations, fc_generation_t *other,
                      fc_generation_t *generation);
// Makes the generation no longer current, if it is: neither its key nor its name leads to
// it.
void fc_claim_leave(fc_generations_t *generations, fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_CLAIM_H_
