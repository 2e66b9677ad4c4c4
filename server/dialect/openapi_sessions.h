// SPDX-License-Identifier: Apache-2.0
//
// Sessions in /openapi.json, which are the same for each module. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_OPENAPI_SESSIONS_H_
#define FARCALL_SERVER_DIALECT_OPENAPI_SESSIONS_H_

#include "farcall/base.h"

// Writes the first members of "paths".
fc_status_t fc_openapi_put_session_paths(fc_sink_t *sink,
                                         fc_error_t *err) FC_MUST_CHECK;
// Writes members of the components' "schemas", after others.
fc_status_t fc_openapi_put_session_schemas(fc_sink_t *sink,
                                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_DIALECT_OPENAPI_SESSIONS_H_
