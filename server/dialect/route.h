// SPDX-License-Identifier: Apache-2.0
//
// ROUTE: finds the row of a path. Loop thread; no allocation.
#ifndef FARCALL_SERVER_DIALECT_ROUTE_H_
#define FARCALL_SERVER_DIALECT_ROUTE_H_

#include "config/scope.h"
#include "dialect/request.h"
#include "modules/generation.h"

enum {
  FC_ROUTE_GET = 1 << 0,   // GET and HEAD: a document
  FC_ROUTE_CALL = 1 << 1,  // POST: a call of the function that the path names
  // POST: the answer is the document that the body asks for.
  FC_ROUTE_POST = 1 << 2,
  // POST: changes what is served. The path may name a module that does not exist yet.
  FC_ROUTE_ACT = 1 << 3,
  // With FC_ROUTE_POST: the body may change the server. So a request with a body is
  // checked like an act (fc_privilege_check).
  FC_ROUTE_ADMIN = 1 << 4,
  FC_ROUTE_DELETE = 1 << 5,  // DELETE: ends or removes what the path names
  // About sessions: the dialect gets the client.
  FC_ROUTE_STATE = 1 << 6,
  FC_ROUTE_PUT = 1 << 7,  // PUT: stores the body under the name in the path
  // The beginning of the body names the model, not the path.
  FC_ROUTE_PEEK = 1 << 8,
  FC_ROUTE_ANY_MODEL = 1 << 9,  // with PEEK: the model need not exist
  FC_ROUTE_STREAM =
      1 << 10,  // the body is a stream of messages, each a request
  FC_ROUTE_ALL_MODELS = 1 << 11,  // with PEEK: an empty name means all models
  // The bits that stand for methods of a path.
  FC_ROUTE_METHODS = (FC_ROUTE_PEEK - 1) & ~FC_ROUTE_STATE,
};

typedef enum fc_route_t {
  FC_ROUTE_NONE,
#define FC_ROUTE(name, path, methods, scope, dialect) FC_ROUTE_##name,
#include "dialect/route.def"
  FC_ROUTE_COUNT
} fc_route_t;

typedef struct fc_route_row_t {
  fc_str_t path;
  uint16_t methods;
  uint8_t dialect;  // index of its dialect
  uint8_t scope;    // FC_SCOPE_*
} fc_route_row_t;

typedef struct fc_dialect_t fc_dialect_t;  // dialect/dialect.h

// The routes of a server: first the rows of route.def, by fc_route_t, then those that
// tests add.
typedef struct fc_routes_t {
  const fc_route_row_t *rows;
  uint32_t count;
  uint32_t dialect_count;
  const fc_dialect_t *const *dialects;
} fc_routes_t;

// The routes of route.def and the dialects of dialect.def.
extern const fc_routes_t fc_routes;

// Returns the path as route.def has it, for logs; "" for FC_ROUTE_NONE.
fc_str_t fc_route_path(const fc_routes_t *routes, fc_route_t route);
// Returns the text for an Allow field, such as "GET, HEAD".
const char *fc_route_allow(const fc_routes_t *routes, fc_route_t route);

// Returns all scopes that a request needs, or FC_SCOPE_OPEN or FC_SCOPE_ANY.
uint8_t fc_route_scopes(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request);

#define FC_ROUTE_NO_INDEX UINT32_MAX

typedef struct fc_place_t {
  fc_route_t route;
  uint32_t module;    // index of its generation; FC_ROUTE_NO_INDEX: none
  uint32_t function;  // index in the module's listing
  bool may_profile;  // the client may profile calls; set for FC_ROUTE_INFO only
  bool peeks;        // the model is not known yet: more of the body is needed
  // For FC_ROUTE_STATE: whether only this client may name a session that it makes; the
  // client; the sessions that end with the connection; and the session that the path
  // names, or NULL.
  bool owns;
  fc_owner_t owner;
  struct fc_session_t **bound;
  struct fc_session_t *session;
} fc_place_t;

// Finds only the route, by path and method and, for a gRPC dialect, by Content-Type. The
// names in the path are not looked up. *out_place is set as far as the path was
// understood. FC_CODE_NOT_FOUND, _METHOD_NOT_ALLOWED, _HTTP_SYNTAX (percent-encoding).
// _UNSUPPORTED_MEDIA_TYPE: this path is only for gRPC.
fc_status_t fc_route_match(const fc_routes_t *routes,
                           const fc_request_t *request, fc_place_t *out_place,
                           fc_error_t *err);
// The names in a path; data is NULL where the row has no such name.
typedef struct fc_route_names_t {
  fc_str_t module;
  fc_str_t function;
  fc_str_t model;  // in place of module and function
  fc_str_t version;
  fc_str_t session;
  fc_str_t value;
} fc_route_names_t;
#define FC_ROUTE_KEPT 512  // bytes for the names that a body has

// Returns the model that a message about an act names. Triton's message has the name of a
// repository and then the model's; KServe's has only the model's.
static inline fc_str_t fc_route_act_name(const fc_route_names_t *names) {
  return names->version.size ? names->version : names->model;
}
// For a row with FC_ROUTE_ADMIN: does the request change nothing, as far as is known
// yet?
bool fc_route_asks_only(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request);

// Does the path of the request have "%XX" in it?
bool fc_route_has_escapes(const fc_request_t *request);
// Finds the route like fc_route_match, and the names in the path. `buffer` of
// FC_LIMIT_TARGET bytes gets the decoded names; NULL if the path has no escapes.
fc_status_t fc_route_read(const fc_routes_t *routes,
                          const fc_request_t *request, char *buffer,
                          fc_place_t *out_place, fc_route_names_t *out_names,
                          fc_error_t *err) FC_MUST_CHECK;
// Gives the module's name in the path of a request: the segment in the place of {module}
// in the route's path; "" if there is no such segment. FC_CODE_MODULE_NOT_FOUND: the
// segment is empty, malformed, or longer than any name. The name's bytes are written to
// `out`.
fc_status_t fc_route_module(const fc_routes_t *routes, fc_route_t route,
                            fc_str_t path, char out[FC_MODULE_NAME_MAX],
                            fc_str_t *out_name, fc_error_t *err) FC_MUST_CHECK;

// Gives the text of the segment in the place of `mark`, such as "{session}"; "" if there
// is no such segment. False: the segment is malformed, or longer than `capacity`, the
// size of `out`.
bool fc_route_name(const fc_routes_t *routes, fc_route_t route, fc_str_t path,
                   fc_str_t mark, char *out, size_t capacity,
                   fc_str_t *out_name);

// Decodes %XX. `out` has room for text.size bytes. False: the text is malformed.
bool fc_percent_decode(fc_str_t text, char *out, size_t *out_size);

#endif  // FARCALL_SERVER_DIALECT_ROUTE_H_
