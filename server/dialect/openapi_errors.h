// SPDX-License-Identifier: Apache-2.0
//
// Errors in /openapi.json: a response for each status that a call can have, with its codes
// (obs/code.def). Loop thread.
#ifndef FARCALL_SERVER_DIALECT_OPENAPI_ERRORS_H_
#define FARCALL_SERVER_DIALECT_OPENAPI_ERRORS_H_

#include "farcall/base.h"

// Writes the errors among the members of an operation's "responses", after others.
fc_status_t fc_openapi_put_refusals(fc_sink_t *sink,
                                    fc_error_t *err) FC_MUST_CHECK;
// Writes the responses to which these refer, as members of the components' "responses".
fc_status_t fc_openapi_put_responses(fc_sink_t *sink,
                                     fc_error_t *err) FC_MUST_CHECK;
// Writes the schema of an error's document.
fc_status_t fc_openapi_put_problem(fc_sink_t *sink,
                                   fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_OPENAPI_ERRORS_H_
