// SPDX-License-Identifier: Apache-2.0
//
// GET /openapi.json: the functions that can be called, as OpenAPI 3.1.
#ifndef FARCALL_SERVER_DIALECT_OPENAPI_H_
#define FARCALL_SERVER_DIALECT_OPENAPI_H_

#include "dialect/parts.h"

extern const fc_parts_form_t fc_openapi_form;

#endif  // FARCALL_SERVER_DIALECT_OPENAPI_H_
