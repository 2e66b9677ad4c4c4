// SPDX-License-Identifier: Apache-2.0
//
// Names of models that mean two functions. A model is MODULE.FUNCTION, or MODULE
// alone if that has one function, and both names may have dots in them: function
// "b.c" of "a" is the model that function "c" of "a.b" is, and module "a.b" may be
// function "b" of "a". Such a name leads to one of both (dialect/route.h), which
// somebody should know.
#ifndef FARCALL_SERVER_MODULES_CLASH_H_
#define FARCALL_SERVER_MODULES_CLASH_H_

#include "modules/generation.h"
#include "obs/log.h"

// Logs each name that a function of `generation`, whose module is open, shares with
// one of another module. Loop thread.
void fc_clash_tell(const fc_generations_t *generations,
                   const fc_generation_t *generation, fc_log_t *log);

#endif  // FARCALL_SERVER_MODULES_CLASH_H_
