// SPDX-License-Identifier: Apache-2.0
//
// The echo module kind: a backend without module files whose functions answer
// their arguments, so that any type can make the whole trip decode, call,
// encode. Result i is argument i; final contents of OUT and INOUT arguments
// are the arguments themselves.
#ifndef FARCALL_TESTS_HELPERS_ECHO_H_
#define FARCALL_TESTS_HELPERS_ECHO_H_

#include "farcall/backend.h"

// There are no files: the module and every instance is an fc_echo_t that the
// test fills. `call` fails with `fail_with` if that is set.
extern const fc_backend_t fc_backend_echo;

typedef struct fc_echo_t {
  fc_module_info_t info;  // signatures: of the functions that are called
  fc_status_t fail_with;
  size_t calls;
  size_t open_calls;  // not yet ended
} fc_echo_t;

#endif  // FARCALL_TESTS_HELPERS_ECHO_H_
