// SPDX-License-Identifier: Apache-2.0
//
// What the functions of a module keep from call to call: a name in several functions is
// one value. Any thread.
#ifndef FARCALL_CORE_MODULE_STATES_H_
#define FARCALL_CORE_MODULE_STATES_H_

#include "farcall/module.h"

// The functions of a module.
typedef struct fc_functions_t {
  const fc_function_t *first;
  size_t count;
} fc_functions_t;

// All functions give a state of one name one type and shape. FC_CODE_ABI_METADATA,
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_states_check(fc_functions_t functions, fc_allocator_t allocator,
                            fc_error_t *err) FC_MUST_CHECK;
// May values of sessions go over from one version of a module to another? They may if both
// have the same states, in type and shape, and every function of both says of each that it
// survives. False also where there is no memory to compare them.
bool fc_states_go_over(fc_functions_t from, fc_functions_t to,
                       fc_allocator_t allocator);

#endif  // FARCALL_CORE_MODULE_STATES_H_
