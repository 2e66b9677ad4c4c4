// SPDX-License-Identifier: Apache-2.0
//
// Finds model names that mean two functions. A model is MODULE.FUNCTION, or MODULE if
// that module has only one function, and both names may contain dots. So function "b.c"
// of module "a" and function "c" of module "a.b" are both the model "a.b.c"; and module
// "a.b" has the name of function "b" of module "a". Such a name leads to one of the two
// (dialect/place.h), and a log line tells the operator.
#ifndef FARCALL_SERVER_MODULES_CLASH_H_
#define FARCALL_SERVER_MODULES_CLASH_H_

#include "modules/generation.h"
#include "obs/log.h"

// Logs each name (MODULE, or MODULE.FUNCTION) of `generation` that another open module or
// one of its functions also has. Hidden functions, and names MODULE.FUNCTION of over 512
// bytes, are left out. The module of `generation` must be open. Loop thread.
void fc_clash_tell(const fc_generations_t *generations,
                   const fc_generation_t *generation, fc_log_t *log);

#endif  // FARCALL_SERVER_MODULES_CLASH_H_
