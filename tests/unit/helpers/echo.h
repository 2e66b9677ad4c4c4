// SPDX-License-Identifier: Apache-2.0
//
// The module kind "echo": a backend without files. Its functions return their
// arguments, so any type can be decoded, called with and encoded. Result i is argument
// i; OUT and INOUT arguments come back unchanged.
#ifndef FARCALL_TESTS_HELPERS_ECHO_H_
#define FARCALL_TESTS_HELPERS_ECHO_H_

#include "farcall/backend.h"

// The module and each of its instances are the same fc_echo_t, which the test fills. If
// `fail_with` is set, `call` fails with it.
extern const fc_backend_t fc_backend_echo;

typedef struct fc_echo_t {
  fc_module_info_t info;  // signatures: of the functions that are called
  fc_status_t fail_with;
  size_t calls;
  size_t open_calls;  // not yet ended
} fc_echo_t;

#endif  // FARCALL_TESTS_HELPERS_ECHO_H_
