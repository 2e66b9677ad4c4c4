// SPDX-License-Identifier: Apache-2.0
//
// ROUTE: from a path to what answers it. Loop thread; no allocation.
#ifndef FARCALL_SERVER_DIALECT_ROUTE_H_
#define FARCALL_SERVER_DIALECT_ROUTE_H_

#include "dialect/request.h"
#include "modules/generation.h"

enum {
  FC_ROUTE_GET = 1 << 0,  // and HEAD
  FC_ROUTE_POST = 1 << 1,
};

typedef enum fc_route_t {
  FC_ROUTE_NONE,
#define FC_ROUTE(name, path, methods) FC_ROUTE_##name,
#include "dialect/route.def"
#undef FC_ROUTE
  FC_ROUTE_COUNT
} fc_route_t;

// The path as route.def writes it, for logs; "" for FC_ROUTE_NONE.
const char *fc_route_path(fc_route_t route);
// For an Allow field: "GET, HEAD".
const char *fc_route_allow(fc_route_t route);

#define FC_ROUTE_NO_INDEX UINT32_MAX

typedef struct fc_place_t {
  fc_route_t route;
  uint32_t module;    // its generation, FC_ROUTE_NO_INDEX if none
  uint32_t function;  // in the module's listing
} fc_place_t;

// Finds what the request asks for. With `ready` false, an unknown name is
// FC_CODE_NOT_READY, since it may still be loaded. *out_place is set as far as
// the path was understood, also on failure: FC_CODE_NOT_FOUND,
// _METHOD_NOT_ALLOWED, _MODULE_NOT_FOUND, _VERSION_NOT_FOUND,
// _FUNCTION_NOT_FOUND, _MODULE_UNAVAILABLE, _HTTP_SYNTAX (percent-encoding),
// _UNKNOWN_FIELD (a query parameter).
fc_status_t fc_route_find(const fc_request_t *request,
                          const fc_generations_t *generations, bool ready,
                          fc_place_t *out_place, fc_error_t *err);

// Decodes %XX. `out` has room for text.size bytes. False when malformed.
bool fc_percent_decode(fc_str_t text, char *out, size_t *out_size);

#endif  // FARCALL_SERVER_DIALECT_ROUTE_H_
