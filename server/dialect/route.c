// SPDX-License-Identifier: Apache-2.0
//
// Paths are compared segment by segment. Each segment is percent-decoded separately, so
// that an encoded slash stays part of a name. place.c finds what the names mean.
#include "dialect/route.h"

#include <stddef.h>
#include <stdio.h>

#include "base/hex.h"
#include "config/limits.h"
#include "dialect/dialect.h"

static const fc_route_row_t kRows[FC_ROUTE_COUNT] = {
    [FC_ROUTE_NONE] = {.path = FC_STR("")},
#define FC_ROUTE(name, path, methods, scope, dialect) \
  [FC_ROUTE_##                                        \
      name] = {FC_STR(path), methods, FC_DIALECT_##dialect, FC_SCOPE_##scope},
#include "dialect/route.def"
};

static const fc_dialect_t *const kDialects[FC_DIALECT_COUNT] = {
#define FC_DIALECT(name, dialect) &dialect,
#include "dialect/dialect.def"
#undef FC_DIALECT
};

const fc_routes_t fc_routes = {.rows = kRows,
                               .count = FC_ROUTE_COUNT,
                               .dialects = kDialects,
                               .dialect_count = FC_DIALECT_COUNT};

fc_str_t fc_route_path(const fc_routes_t *routes, fc_route_t route) {
  return routes->rows[route].path;
}

const char *fc_route_allow(const fc_routes_t *routes, fc_route_t route) {
  const unsigned methods = routes->rows[route].methods & FC_ROUTE_METHODS;
  if (methods == FC_ROUTE_GET) return "GET, HEAD";
  if (methods == FC_ROUTE_DELETE) return "DELETE";
  if (methods & FC_ROUTE_PUT) return "GET, HEAD, PUT, DELETE";
  if (methods & FC_ROUTE_DELETE) return "GET, HEAD, DELETE";
  return methods & FC_ROUTE_GET ? "GET, HEAD, POST" : "POST";
}

bool fc_route_asks_only(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request) {
  return routes->dialects[routes->rows[route].dialect]->framed &&
         (request->begin.size < FC_MESSAGE_HEAD ||
          !fc_message_size(request->begin));
}

uint8_t fc_route_scopes(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request) {
  const fc_route_row_t *row = &routes->rows[route];
  if (request->method != FC_METHOD_POST) return row->scope;
  if (row->methods & FC_ROUTE_ADMIN &&
      fc_route_asks_only(routes, route, request)) {
    return row->scope;
  }
  if (row->methods & (FC_ROUTE_ACT | FC_ROUTE_ADMIN)) return FC_SCOPE_ADMIN;
  if (!(row->methods & FC_ROUTE_CALL)) return row->scope;
  const fc_str_t profile = fc_request_query(request->query, FC_STR("profile"));
  return fc_str_equal(profile, FC_STR("1")) ? FC_SCOPE_CALL | FC_SCOPE_PROFILE
                                            : FC_SCOPE_CALL;
}

// ---------------------------------------------------------------------------
// Matching paths

bool fc_percent_decode(fc_str_t text, char *out, size_t *out_size) {
  size_t size = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] != '%') {
      out[size++] = text.data[i];
      continue;
    }
    if (text.size - i < 3) return false;
    int high = fc_hex_value(text.data[i + 1]),
        low = fc_hex_value(text.data[i + 2]);
    if (high < 0 || low < 0) return false;
    out[size++] = (char)(high << 4 | low);
    i += 2;
  }
  *out_size = size;
  return true;
}

// Takes the segment after the '/' at the beginning of `path`.
static fc_str_t next_segment(fc_str_t *path) {
  const char *begin = path->data + 1, *end = path->data + path->size;
  const char *mark = memchr(begin, '/', (size_t)(end - begin));
  if (!mark) mark = end;
  *path = fc_str_make(mark, (size_t)(end - mark));
  return fc_str_make(begin, (size_t)(mark - begin));
}

// No row has more segments.
#define SEGMENTS_MAX 8

// A name in a pattern may be followed by text: "{model}:predict".
#define NAME(member)                                \
  {                                                 \
    {"{" #member "}", sizeof("{" #member "}") - 1}, \
        offsetof(fc_route_names_t, member)          \
  }
static const struct {
  fc_str_t mark;
  size_t offset;  // in fc_route_names_t
} kNames[] = {NAME(module),  NAME(function), NAME(model),
              NAME(version), NAME(session),  NAME(value)};
#undef NAME

// Reads the name in a segment of a path. `wanted` is the segment's pattern, such as
// "{model}:predict". False: the segment does not end like the pattern.
static bool takes_name(fc_str_t wanted, fc_str_t segment,
                       fc_route_names_t *names) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    const size_t size = kNames[i].mark.size;
    if (!fc_str_starts(wanted, kNames[i].mark)) continue;
    const fc_str_t tail = fc_str_make(wanted.data + size, wanted.size - size);
    if (!fc_str_ends(segment, tail)) return false;
    fc_str_t *name = (fc_str_t *)(void *)((char *)names + kNames[i].offset);
    *name = fc_str_make(segment.data, segment.size - tail.size);
    return true;
  }
  return false;
}

// Takes the first segment off the pattern. False: the path's segment does not match it.
static bool takes_segment(fc_str_t *pattern, fc_str_t segment,
                          fc_route_names_t *names) {
  fc_str_t rest = fc_str_make(pattern->data + 1, pattern->size - 1);
  if (rest.size && rest.data[0] == '{') {
    return takes_name(next_segment(pattern), segment, names);
  }
  if (!fc_str_starts(rest, segment)) return false;
  *pattern = fc_str_make(rest.data + segment.size, rest.size - segment.size);
  return pattern->size == 0 || pattern->data[0] == '/';
}

static bool matches(fc_str_t pattern, const fc_str_t *segments, size_t count,
                    fc_route_names_t *out_names) {
  *out_names = (fc_route_names_t){0};
  for (size_t i = 0; i < count; i++) {
    if (pattern.size == 0) return false;
    if (!takes_segment(&pattern, segments[i], out_names)) return false;
  }
  return pattern.size == 0;
}

// A quick answer for most rows: no pattern begins with a name.
static bool begins_alike(fc_str_t pattern, const fc_str_t *segments,
                         size_t count) {
  return !count || !segments[0].size || pattern.size < 2 ||
         pattern.data[1] == segments[0].data[0];
}

static fc_route_t find_route(const fc_routes_t *routes,
                             const fc_str_t *segments, size_t count,
                             fc_route_names_t *out_names) {
  const fc_str_t infer = routes->rows[FC_ROUTE_OIP_INFER].path;
  if (matches(infer, segments, count, out_names)) return FC_ROUTE_OIP_INFER;
  for (uint32_t i = FC_ROUTE_NONE + 1; i < routes->count; i++) {
    const fc_str_t pattern = routes->rows[i].path;
    if (begins_alike(pattern, segments, count) &&
        matches(pattern, segments, count, out_names)) {
      return (fc_route_t)i;
    }
  }
  return FC_ROUTE_NONE;
}

// Is it the path of FC_ROUTE_FUNCTION? Most requests have such a path, so it is tested
// before the rows. `path` has no escapes.
static bool is_function(const fc_routes_t *routes, fc_str_t path,
                        fc_route_names_t *out_names) {
  const fc_str_t lead = routes->rows[FC_ROUTE_FUNCTIONS].path;
  if (path.size <= lead.size || path.data[lead.size] != '/' ||
      !fc_str_starts(path, lead)) {
    return false;
  }
  fc_str_t rest = fc_str_make(path.data + lead.size, path.size - lead.size);
  out_names->module = next_segment(&rest);
  if (!rest.size) return false;
  out_names->function = next_segment(&rest);
  return !rest.size;
}

// Finds the row. `buffer` has room for the decoded path; NULL if the path has no escapes.
static fc_status_t find_path(const fc_routes_t *routes, fc_str_t path,
                             char *buffer, fc_route_t *out_route,
                             fc_route_names_t *out_names, fc_error_t *err) {
  fc_str_t segments[SEGMENTS_MAX];
  size_t count = 0;
  fc_str_t rest = path;
  while (rest.size && rest.data[0] == '/' && count < SEGMENTS_MAX) {
    fc_str_t segment = next_segment(&rest);
    if (buffer) {
      size_t size = 0;
      if (!fc_percent_decode(segment, buffer, &size)) {
        return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                       "malformed percent-encoding in the path");
      }
      segment = fc_str_make(buffer, size);
      buffer += size;
    }
    segments[count++] = segment;
  }
  if (rest.size == 0)
    *out_route = find_route(routes, segments, count, out_names);
  if (*out_route != FC_ROUTE_NONE) return FC_OK;
  char shown[96];
  fc_escape(shown, sizeof shown, 64, path);
  return fc_fail(err, FC_CODE_NOT_FOUND,
                 "there is nothing at '%s'; GET / lists what there is", shown);
}

// Returns the verb at the end of a path, such as ":classify", that TensorFlow Serving or
// KServe has besides ":predict"; "" if there is none.
static fc_str_t find_verb(const fc_route_row_t *row,
                          const fc_request_t *request) {
  const fc_str_t path = request->path;
  size_t at = path.size;
  if (row->dialect != FC_DIALECT_TF || request->method != FC_METHOD_POST ||
      !fc_str_ends(row->path, FC_STR("}"))) {
    return FC_STR("");
  }
  while (at && path.data[at - 1] != ':' && path.data[at - 1] != '/') at--;
  if (!at || path.data[at - 1] == '/') return FC_STR("");
  return fc_str_make(path.data + at, path.size - at);
}

static fc_status_t check_method(const fc_routes_t *routes, fc_route_t route,
                                const fc_request_t *request, fc_error_t *err) {
  const fc_method_t method = request->method;
  unsigned bit = 0;
  if (method == FC_METHOD_GET || method == FC_METHOD_HEAD) bit = FC_ROUTE_GET;
  if (method == FC_METHOD_POST)
    bit = FC_ROUTE_CALL | FC_ROUTE_POST | FC_ROUTE_ACT;
  if (method == FC_METHOD_DELETE) bit = FC_ROUTE_DELETE;
  if (method == FC_METHOD_PUT) bit = FC_ROUTE_PUT;
  if (bit & routes->rows[route].methods) return FC_OK;
  const fc_str_t verb = find_verb(&routes->rows[route], request);
  if (verb.size) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, verb);
    return fc_fail(err, FC_CODE_NOT_FOUND,
                   "models have no ':%s' here: there is ':predict'", shown);
  }
  const char *more = route == FC_ROUTE_FUNCTIONS || route == FC_ROUTE_MODULE
                         ? "; /api/v1/functions lists what can be called"
                         : "";
  return fc_fail(err, FC_CODE_METHOD_NOT_ALLOWED,
                 "%s is not allowed here: %s%s", request->method_name,
                 fc_route_allow(routes, route), more);
}

// ---------------------------------------------------------------------------
// Finding routes and names

// gRPC clients get the error for an unknown method in gRPC's form.
static fc_status_t no_method(const fc_request_t *request, fc_route_t *out_route,
                             fc_error_t *err) {
#if FARCALL_HTTP2
  if (fc_request_is_grpc(request)) {
    char shown[96];
    fc_escape(shown, sizeof shown, 64, request->path);
    *out_route = FC_ROUTE_GRPC_NONE;
    return fc_fail(err, FC_CODE_METHOD_NOT_ALLOWED, "there is no method '%s'",
                   shown);
  }
#endif
  (void)request, (void)out_route;
  return err->status;
}

fc_status_t fc_route_read(const fc_routes_t *routes,
                          const fc_request_t *request, char *buffer,
                          fc_place_t *out_place, fc_route_names_t *out_names,
                          fc_error_t *err) {
  *out_place = (fc_place_t){.route = FC_ROUTE_NONE,
                            .module = FC_ROUTE_NO_INDEX,
                            .function = FC_ROUTE_NO_INDEX};
  if (!buffer && is_function(routes, request->path, out_names)) {
    out_place->route = FC_ROUTE_FUNCTION;
  } else if (find_path(routes, request->path, buffer, &out_place->route,
                       out_names, err) != FC_OK) {
    return no_method(request, &out_place->route, err);
  }
  const uint8_t dialect = routes->rows[out_place->route].dialect;
  if (FC_UNLIKELY(routes->dialects[dialect]->framed) &&
      !fc_request_is_grpc(request)) {
    out_place->route = FC_ROUTE_NONE;
    return fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
                   "this path is for gRPC: Content-Type application/grpc, over "
                   "HTTP/2");
  }
  return check_method(routes, out_place->route, request, err);
}

bool fc_route_has_escapes(const fc_request_t *request) {
  return memchr(request->path.data, '%', request->path.size);
}

fc_status_t fc_route_match(const fc_routes_t *routes,
                           const fc_request_t *request, fc_place_t *out_place,
                           fc_error_t *err) {
  char decoded[FC_LIMIT_TARGET];
  fc_route_names_t names = {0};
  return fc_route_read(routes, request,
                       fc_route_has_escapes(request) ? decoded : NULL,
                       out_place, &names, err);
}

bool fc_route_name(const fc_routes_t *routes, fc_route_t route, fc_str_t path,
                   fc_str_t mark, char *out, size_t capacity,
                   fc_str_t *out_name) {
  fc_str_t pattern = routes->rows[route].path;
  *out_name = FC_STR("");
  while (pattern.size && path.size) {
    const fc_str_t wanted = next_segment(&pattern);
    const fc_str_t segment = next_segment(&path);
    if (!fc_str_equal(wanted, mark)) continue;
    if (segment.size > capacity ||
        !fc_percent_decode(segment, out, &out_name->size)) {
      return false;
    }
    out_name->data = out;
  }
  return true;
}

fc_status_t fc_route_module(const fc_routes_t *routes, fc_route_t route,
                            fc_str_t path, char out[FC_MODULE_NAME_MAX],
                            fc_str_t *out_name, fc_error_t *err) {
  fc_str_t pattern = routes->rows[route].path;
  *out_name = FC_STR("");
  while (pattern.size && path.size) {
    const fc_str_t wanted = next_segment(&pattern);
    const fc_str_t segment = next_segment(&path);
    if (!fc_str_equal(wanted, FC_STR("{module}"))) continue;
    char decoded[FC_LIMIT_TARGET];
    size_t size = 0;
    if (!fc_percent_decode(segment, decoded, &size) || size == 0 ||
        size > FC_MODULE_NAME_MAX) {
      return fc_fail(err, FC_CODE_MODULE_NOT_FOUND,
                     "a module's name has 1 to %d characters",
                     FC_MODULE_NAME_MAX);
    }
    memcpy(out, decoded, size);
    *out_name = fc_str_make(out, size);
  }
  return FC_OK;
}
