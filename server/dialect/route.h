// SPDX-License-Identifier: Apache-2.0
//
// ROUTE: from a path to what answers it. Loop thread; no allocation.
#ifndef FARCALL_SERVER_DIALECT_ROUTE_H_
#define FARCALL_SERVER_DIALECT_ROUTE_H_

#include "config/scope.h"
#include "dialect/request.h"
#include "modules/generation.h"

enum {
  FC_ROUTE_GET = 1 << 0,   // GET and HEAD: a document
  FC_ROUTE_CALL = 1 << 1,  // POST: a call of the function that the path names
  FC_ROUTE_POST = 1 << 2,  // POST: a document, as the body asks for it
  // POST: changes what is served. The path may name a module that does not exist yet.
  FC_ROUTE_ACT = 1 << 3,
  // With FC_ROUTE_POST: the body may change the server, so a request with one is
  // checked as an act is (fc_privilege_check).
  FC_ROUTE_ADMIN = 1 << 4,
  FC_ROUTE_DELETE = 1 << 5,  // DELETE: ends or removes what the path names
  // About sessions: the client is named to the dialect.
  FC_ROUTE_STATE = 1 << 6,
  FC_ROUTE_PUT = 1 << 7,  // PUT: the body is what the path names from then on
  // The beginning of the body names the model; the path does not.
  FC_ROUTE_PEEK = 1 << 8,
  FC_ROUTE_ANY_MODEL = 1 << 9,  // with it: which need not be there
  FC_ROUTE_STREAM =
      1 << 10,  // the body is a stream of messages, each a request
  FC_ROUTE_ALL_MODELS = 1 << 11,  // with PEEK: the empty name is of all models
  // The bits that say which methods a path has.
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

// What a server answers. Rows begin with those of route.def, by fc_route_t; others
// may follow.
typedef struct fc_routes_t {
  const fc_route_row_t *rows;
  uint32_t count;
  uint32_t dialect_count;
  const fc_dialect_t *const *dialects;
} fc_routes_t;

// The routes of route.def and the dialects of dialect.def.
extern const fc_routes_t fc_routes;

// The path as route.def writes it, for logs; "" for FC_ROUTE_NONE.
fc_str_t fc_route_path(const fc_routes_t *routes, fc_route_t route);
// For an Allow field: "GET, HEAD".
const char *fc_route_allow(const fc_routes_t *routes, fc_route_t route);

// The scopes that a request needs, all of them; or FC_SCOPE_OPEN or FC_SCOPE_ANY.
uint8_t fc_route_scopes(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request);

#define FC_ROUTE_NO_INDEX UINT32_MAX

typedef struct fc_place_t {
  fc_route_t route;
  uint32_t module;    // index of its generation; FC_ROUTE_NO_INDEX: none
  uint32_t function;  // index in the module's listing
  bool may_profile;   // so may this client; said at FC_ROUTE_INFO alone
  bool peeks;  // nothing is known of the model yet: more of the body must come
  // Of FC_ROUTE_STATE: who asks, whether only they may name the session that they
  // make, the sessions that end with the connection, and the session that the path names,
  // NULL if it names none.
  bool owns;
  fc_owner_t owner;
  struct fc_session_t **bound;
  struct fc_session_t *session;
} fc_place_t;

// Finds the route alone, by path and method, and of a dialect of gRPC by Content-Type;
// nothing is looked up of the names in the path. *out_place is set as far as the path was
// understood. FC_CODE_NOT_FOUND, _METHOD_NOT_ALLOWED, _HTTP_SYNTAX (percent-encoding),
// _UNSUPPORTED_MEDIA_TYPE: this path is answered to gRPC alone.
fc_status_t fc_route_match(const fc_routes_t *routes,
                           const fc_request_t *request, fc_place_t *out_place,
                           fc_error_t *err);
// The names in a path; data NULL: the row has no such name.
typedef struct fc_route_names_t {
  fc_str_t module;
  fc_str_t function;
  fc_str_t model;  // in place of module and function
  fc_str_t version;
  fc_str_t session;
  fc_str_t value;
} fc_route_names_t;
#define FC_ROUTE_KEPT 512  // bytes of names that stand in no path

// The model that a message about an act names. Triton's message has a repository's name,
// then the model's; KServe's has the model's alone.
static inline fc_str_t fc_route_act_name(const fc_route_names_t *names) {
  return names->version.size ? names->version : names->model;
}
// Is the request, of a row with FC_ROUTE_ADMIN, a message that changes nothing, as far as
// is known?
bool fc_route_asks_only(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request);

// Does the path of the request have "%XX" in it?
bool fc_route_has_escapes(const fc_request_t *request);
// Finds the route as fc_route_match does, and the names in the path. `buffer` holds the
// decoded names, FC_LIMIT_TARGET bytes; NULL if the path has no escapes.
fc_status_t fc_route_read(const fc_routes_t *routes,
                          const fc_request_t *request, char *buffer,
                          fc_place_t *out_place, fc_route_names_t *out_names,
                          fc_error_t *err) FC_MUST_CHECK;
// Gives the module's name in the path of a request: the segment where the path
// of the route has {module}; "" if it has none. FC_CODE_MODULE_NOT_FOUND if the
// segment is empty, malformed, or longer than names are. `out` holds the bytes.
fc_status_t fc_route_module(const fc_routes_t *routes, fc_route_t route,
                            fc_str_t path, char out[FC_MODULE_NAME_MAX],
                            fc_str_t *out_name, fc_error_t *err) FC_MUST_CHECK;

// Gives the text of the segment that stands where the route has `mark`, such as
// "{session}"; "" if it has none. False if the segment is malformed, or longer than
// `capacity`, which `out` has.
bool fc_route_name(const fc_routes_t *routes, fc_route_t route, fc_str_t path,
                   fc_str_t mark, char *out, size_t capacity,
                   fc_str_t *out_name);

// Decodes %XX. `out` has room for text.size bytes. False when malformed.
bool fc_percent_decode(fc_str_t text, char *out, size_t *out_size);

#endif  // FARCALL_SERVER_DIALECT_ROUTE_H_
