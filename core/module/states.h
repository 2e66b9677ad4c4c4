// SPDX-License-Identifier: Apache-2.0
//
// The states that the functions of a module keep from call to call. States of the same
// name in several functions are one value. Any thread.
#ifndef FARCALL_CORE_MODULE_STATES_H_
#define FARCALL_CORE_MODULE_STATES_H_

#include "farcall/module.h"

// The functions of a module.
typedef struct fc_functions_t {
  const fc_function_t *first;
  size_t count;
} fc_functions_t;

// Checks that states of the same name have one type and shape in all functions.
// FC_CODE_ABI_METADATA, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_states_check(fc_functions_t functions, fc_allocator_t allocator,
                            fc_error_t *err) FC_MUST_CHECK;
// True when values of sessions may be moved from one version of a module to another:
// both have the same states, in type and shape, and every function of both declares
// that each survives. Also false when there is no memory to compare them.
bool fc_states_go_over(fc_functions_t from, fc_functions_t to,
                       fc_allocator_t allocator);

#endif  // FARCALL_CORE_MODULE_STATES_H_
