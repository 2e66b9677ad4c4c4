// SPDX-License-Identifier: Apache-2.0
//
// Query parameters of the routes below /api/v1. An unknown one is refused: with a
// misspelt ?validate= a call would run although it should only be checked. Loop thread;
// no allocation.
#ifndef FARCALL_SERVER_DIALECT_PARAMETER_H_
#define FARCALL_SERVER_DIALECT_PARAMETER_H_

#include "dialect/route.h"

// FC_CODE_UNKNOWN_FIELD: parameter.def does not have the name or the value for this
// route, or a name comes twice.
fc_status_t fc_parameter_check(fc_route_t route, fc_method_t method,
                               fc_str_t query, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_PARAMETER_H_
