// SPDX-License-Identifier: Apache-2.0
//
// The server's properties of each error code, which the library does not know: one row of
// code.def for each. Any thread.
#ifndef FARCALL_SERVER_OBS_CODE_H_
#define FARCALL_SERVER_OBS_CODE_H_

#include "farcall/base.h"

// What an error is about.
typedef enum fc_code_about_t {
  FC_CODE_ABOUT_MESSAGE,   // the HTTP message
  FC_CODE_ABOUT_DOCUMENT,  // the call document
  FC_CODE_ABOUT_ARGUMENT,  // one argument (fc_code_is_argument)
  FC_CODE_ABOUT_CALL,
  FC_CODE_ABOUT_LOADING,
} fc_code_about_t;

// Triton's reasons of failures.
typedef enum fc_code_reason_t {
  FC_CODE_REASON_OTHER,
  FC_CODE_REASON_REJECTED,
  FC_CODE_REASON_BACKEND,
  FC_CODE_REASON_CANCELED,  // belongs to no code: the client left
  FC_CODE_REASON_COUNT,
} fc_code_reason_t;

typedef struct fc_code_traits_t {
  fc_code_t code;
  int status;  // of HTTP
  fc_code_about_t about;
  bool from_worker;  // a worker may give the code
  fc_code_reason_t reason;
} fc_code_traits_t;

// All rows, FC_CODE_COUNT of them, in the order of code.def.
extern const fc_code_traits_t fc_code_rows[FC_CODE_COUNT];

// Returns the row of a code; for an unknown code, the row of INTERNAL.
const fc_code_traits_t *fc_code_traits(fc_code_t code);
// Returns the HTTP status of the error's code. Exception: FC_CODE_CALL_FAILED is 503 if
// the function failed with RESOURCE_EXHAUSTED, and 501 with UNIMPLEMENTED.
int fc_http_status(const fc_error_t *error);

#endif  // FARCALL_SERVER_OBS_CODE_H_
