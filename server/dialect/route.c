// SPDX-License-Identifier: Apache-2.0
//
// Paths are compared segment by segment after percent-decoding each, so that an
// encoded slash stays part of a name.
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
#undef FC_ROUTE
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
  const unsigned methods = routes->rows[route].methods;
  if (methods == FC_ROUTE_GET) return "GET, HEAD";
  return methods & FC_ROUTE_GET ? "GET, HEAD, POST" : "POST";
}

uint8_t fc_route_scopes(const fc_routes_t *routes, fc_route_t route,
                        const fc_request_t *request) {
  const fc_route_row_t *row = &routes->rows[route];
  if (request->method != FC_METHOD_POST) return row->scope;
  if (row->methods & (FC_ROUTE_ACT | FC_ROUTE_ADMIN)) return FC_SCOPE_ADMIN;
  if (!(row->methods & FC_ROUTE_CALL)) return row->scope;
  const fc_str_t profile = fc_request_query(request->query, FC_STR("profile"));
  return fc_str_equal(profile, FC_STR("1")) ? FC_SCOPE_CALL | FC_SCOPE_PROFILE
                                            : FC_SCOPE_CALL;
}

// ---------------------------------------------------------------------------

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

// Takes the segment after the '/' that `path` begins with.
static fc_str_t next_segment(fc_str_t *path) {
  const char *begin = path->data + 1, *end = path->data + path->size;
  const char *mark = memchr(begin, '/', (size_t)(end - begin));
  if (!mark) mark = end;
  *path = fc_str_make(mark, (size_t)(end - mark));
  return fc_str_make(begin, (size_t)(mark - begin));
}

typedef struct names_t {
  fc_str_t module;
  fc_str_t function;
  fc_str_t model;  // in place of module and function; data NULL: none
  fc_str_t version;
} names_t;

// Paths with more segments fit no row.
#define SEGMENTS_MAX 6

// A name in a pattern may be followed by text: "{model}:predict".
#define NAME(member) \
  { {"{" #member "}", sizeof("{" #member "}") - 1}, offsetof(names_t, member) }
static const struct {
  fc_str_t mark;
  size_t offset;  // in names_t
} kNames[] = {NAME(module), NAME(function), NAME(model), NAME(version)};
#undef NAME

// Reads the name in a path's segment, of which `wanted` is the pattern, such as
// "{model}:predict". False if the segment does not end as `wanted` does.
static bool takes_name(fc_str_t wanted, fc_str_t segment, names_t *names) {
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

// Takes the first segment off the pattern. False if the segment of the path does not
// fit it.
static bool takes_segment(fc_str_t *pattern, fc_str_t segment, names_t *names) {
  fc_str_t rest = fc_str_make(pattern->data + 1, pattern->size - 1);
  if (rest.size && rest.data[0] == '{') {
    return takes_name(next_segment(pattern), segment, names);
  }
  if (!fc_str_starts(rest, segment)) return false;
  *pattern = fc_str_make(rest.data + segment.size, rest.size - segment.size);
  return pattern->size == 0 || pattern->data[0] == '/';
}

static bool matches(fc_str_t pattern, const fc_str_t *segments, size_t count,
                    names_t *out_names) {
  *out_names = (names_t){0};
  for (size_t i = 0; i < count; i++) {
    if (pattern.size == 0) return false;
    if (!takes_segment(&pattern, segments[i], out_names)) return false;
  }
  return pattern.size == 0;
}

static fc_route_t find_route(const fc_routes_t *routes,
                             const fc_str_t *segments, size_t count,
                             names_t *out_names) {
  const fc_str_t infer = routes->rows[FC_ROUTE_OIP_INFER].path;
  if (matches(infer, segments, count, out_names)) return FC_ROUTE_OIP_INFER;
  for (uint32_t i = FC_ROUTE_NONE + 1; i < routes->count; i++) {
    if (matches(routes->rows[i].path, segments, count, out_names)) {
      return (fc_route_t)i;
    }
  }
  return FC_ROUTE_NONE;
}

// Is it the path of FC_ROUTE_FUNCTION? Most requests have such a path, so that it is not
// compared with rows. `path` has no escapes.
static bool is_function(const fc_routes_t *routes, fc_str_t path,
                        names_t *out_names) {
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

// `buffer` has room for the decoded path; NULL when the path has no escapes.
static fc_status_t find_path(const fc_routes_t *routes, fc_str_t path,
                             char *buffer, fc_route_t *out_route,
                             names_t *out_names, fc_error_t *err) {
  fc_str_t segments[SEGMENTS_MAX];
  size_t count = 0;
  fc_str_t rest = path;
  if (!buffer && is_function(routes, path, out_names)) {
    *out_route = FC_ROUTE_FUNCTION;
    return FC_OK;
  }
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

// What TensorFlow Serving and KServe can do with a model besides ":predict", such as
// ":classify": the path of a POST to a model's own place ends so. "" if it does not.
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

// `have` lists what there is, for a name that is near to none; "" for nothing.
static fc_status_t fail_name(fc_code_t code, const char *what, fc_str_t name,
                             fc_str_t nearest, const char *have,
                             fc_error_t *err) {
  char shown[80], hint[160];
  fc_escape(shown, sizeof shown, 64, name);
  if (nearest.size == 0) {
    return fc_fail(err, code, "no %s '%s'%s%s", what, shown,
                   *have ? ", only " : "", have);
  }
  fc_escape(hint, sizeof hint, 128, nearest);
  return fc_fail(err, code, "no %s '%s': did you mean '%s'?", what, shown,
                 hint);
}

// Says which versions there are, as far as they fit.
static fc_status_t unknown_version(const fc_generation_t *head,
                                   fc_str_t version, fc_error_t *err) {
  char shown[80], have[200];
  size_t size = 0;
  const fc_generation_t *g = head;
  fc_escape(shown, sizeof shown, 64, version);
  do {
    const int added = snprintf(have + size, sizeof have - size, "%s'%.*s'",
                               size ? ", " : "", FC_STR_ARG(g->claim.version));
    size += (size_t)added;
    g = g->claim.sibling;
  } while (g != head && size + 32 < sizeof have);
  return fc_fail(err, FC_CODE_VERSION_NOT_FOUND,
                 "module '%.*s' has no version '%s', only %s%s",
                 FC_STR_ARG(head->claim.name), shown, have,
                 g == head ? "" : ", ...");
}

static fc_status_t find_module(fc_str_t name,
                               const fc_generations_t *generations, bool ready,
                               uint32_t *out_index, fc_error_t *err) {
  const char *at = name.size ? memchr(name.data, '@', name.size) : NULL;
  fc_str_t version = FC_STR("");
  if (at) {
    size_t size = (size_t)(at - name.data);
    version = fc_str_make(at + 1, name.size - size - 1);
    name.size = size;
  }
  const fc_generation_t *generation = fc_generations_find(generations, name);
  if (!generation) {
    if (!ready) {
      return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
    }
    fc_nearest_t search = fc_nearest_begin(name);
    const fc_generation_t *nearest =
        fc_generations_nearest(generations, &search);
    return fail_name(FC_CODE_MODULE_NOT_FOUND, "module", name,
                     nearest ? nearest->claim.name : FC_STR(""), "", err);
  }
  *out_index = generation->index;
  if (!at) return FC_OK;
  const fc_generation_t *wanted =
      fc_generations_find_version(generations, name, version);
  if (!wanted) return unknown_version(generation, version, err);
  *out_index = wanted->index;
  return FC_OK;
}

static fc_status_t check_loaded(const fc_generation_t *generation,
                                fc_error_t *err) {
  if (generation->module) return FC_OK;
  if (fc_generation_state(generation) == FC_GENERATION_LOADING ||
      fc_generation_is_coming(generation)) {
    return fc_fail(err, FC_CODE_NOT_READY, "module '%.*s' is being loaded",
                   FC_STR_ARG(generation->claim.name));
  }
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                 "module '%.*s' could not be loaded: %s",
                 FC_STR_ARG(generation->claim.name), generation->error.message);
}

// A call that names only the module means its only function.
static fc_status_t find_only_function(const fc_generation_t *generation,
                                      uint32_t *out_index, fc_error_t *err) {
  char have[160];
  FC_TRY(check_loaded(generation, err));
  if (fc_route_only_function(generation, generation->module, out_index)) {
    return FC_OK;
  }
  fc_generation_list_functions(generation, have, sizeof have);
  return fc_fail(
      err, FC_CODE_FUNCTION_NOT_FOUND,
      "module '%.*s' does not have one function to call: name one%s%s",
      FC_STR_ARG(generation->claim.name), *have ? " of " : "", have);
}

// It has buffers, which the way of every call must not zero.
static fc_status_t unknown_function(fc_str_t name,
                                    const fc_generation_t *generation,
                                    fc_error_t *err) {
  char have[160];
  fc_nearest_t search = fc_nearest_begin(name);
  const fc_function_t *nearest =
      fc_generation_nearest_function(generation, &search);
  fc_generation_list_functions(generation, have, sizeof have);
  return fail_name(FC_CODE_FUNCTION_NOT_FOUND, "function", name,
                   nearest ? nearest->name : FC_STR(""), have, err);
}

static fc_status_t find_function(fc_str_t name,
                                 const fc_generation_t *generation,
                                 uint32_t *out_index, fc_error_t *err) {
  FC_TRY(check_loaded(generation, err));
  const fc_function_t *function = fc_generation_function(generation, name);
  if (!function) return unknown_function(name, generation, err);
  *out_index = (uint32_t)function->index;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Models

// How many bytes of a model's name are searched for the dot behind a module's
// name: no more than such a name and a dot have, however long the name in the
// path is.
static size_t after_module(fc_str_t name) {
  const size_t most = FC_MODULE_NAME_MAX + 1;
  return name.size < most ? name.size : most;
}

bool fc_route_only_function(const fc_generation_t *generation,
                            const fc_module_t *module, uint32_t *out_function) {
  uint32_t found = 0, last = 0;
  for (size_t i = 0; i < fc_module_function_count(module) && found < 2; i++) {
    const fc_function_t *function = fc_module_function(module, i);
    if (!function->plan || !fc_generation_exposes(generation, function)) {
      continue;
    }
    last = (uint32_t)i;
    found++;
  }
  if (found == 1) *out_function = last;
  return found == 1;
}

// The words are Triton's: client programs look for them.
static fc_status_t unknown_model(fc_str_t name, fc_str_t module,
                                 fc_str_t function, fc_error_t *err) {
  char shown[80], hint[160];
  fc_escape(shown, sizeof shown, 64, name);
  fc_escape(hint, sizeof hint, 128, function.size ? function : module);
  if (!module.size) {
    return fc_fail(err, FC_CODE_MODULE_NOT_FOUND,
                   "Request for unknown model: '%s' is not found", shown);
  }
  return fc_fail(err, FC_CODE_MODULE_NOT_FOUND,
                 "Request for unknown model: '%s' is not found; did you mean "
                 "'%.*s%s%s'?",
                 shown, function.size ? (int)module.size : 0, module.data,
                 function.size ? "." : "", hint);
}

static fc_status_t fail_model(fc_str_t name, bool ready,
                              const fc_generations_t *generations,
                              fc_error_t *err) {
  if (!ready) {
    return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
  }
  // The model's module may be one that could not be loaded, or that has no such
  // function.
  for (size_t dot = after_module(name); dot-- > 0;) {
    if (name.data[dot] != '.') continue;
    const fc_generation_t *generation =
        fc_generations_find(generations, fc_str_make(name.data, dot));
    if (!generation) continue;
    FC_TRY(check_loaded(generation, err));
    fc_nearest_t search =
        fc_nearest_begin(fc_str_make(name.data + dot + 1, name.size - dot - 1));
    const fc_function_t *near =
        fc_generation_nearest_function(generation, &search);
    if (near)
      return unknown_model(name, generation->claim.name, near->name, err);
  }
  fc_nearest_t search = fc_nearest_begin(name);
  const fc_generation_t *near = fc_generations_nearest(generations, &search);
  return unknown_model(name, near ? near->claim.name : FC_STR(""), FC_STR(""),
                       err);
}

// The first function that clients may see, and how many there are.
static const fc_function_t *find_first(const fc_generation_t *generation,
                                       size_t *out_count) {
  const fc_function_t *first = NULL;
  *out_count = 0;
  for (size_t i = 0; i < fc_module_function_count(generation->module); i++) {
    const fc_function_t *function = fc_module_function(generation->module, i);
    if (!fc_generation_exposes(generation, function)) continue;
    if (!first) first = function;
    ++*out_count;
  }
  return first;
}

// Finds the function that a module's name alone means: the only one that can be
// called.
static fc_status_t find_only(const fc_generation_t *generation,
                             uint32_t *out_function, fc_error_t *err) {
  FC_TRY(check_loaded(generation, err));
  size_t count;
  if (fc_route_only_function(generation, generation->module, out_function)) {
    return FC_OK;
  }
  const fc_function_t *first = find_first(generation, &count);
  return fc_fail(
      err, FC_CODE_FUNCTION_NOT_FOUND,
      "Request for unknown model: '%.*s' has %zu functions, each a model of "
      "its own%s%.*s",
      FC_STR_ARG(generation->claim.name), count, first ? ", as NAME." : "",
      FC_STR_ARG(first ? first->name : FC_STR("")));
}

// Finds the current generation of a name and of a version, or alias, of it.
// version.data NULL: the one that the name alone leads to.
static const fc_generation_t *find_of(const fc_generations_t *generations,
                                      fc_str_t name, fc_str_t version) {
  return version.data ? fc_generations_find_version(generations, name, version)
                      : fc_generations_find(generations, name);
}

// Finds a model by its name MODULE.FUNCTION. Also finds a module that may have
// the function but must be described first: then out_place->function is not
// set.
static bool find_pair(fc_str_t name, fc_str_t version,
                      const fc_generations_t *generations,
                      fc_place_t *out_place) {
  for (size_t dot = after_module(name); dot-- > 0;) {
    if (name.data[dot] != '.') continue;
    const fc_generation_t *generation =
        find_of(generations, fc_str_make(name.data, dot), version);
    if (!generation) continue;
    if (!generation->module && fc_generation_is_coming(generation)) {
      out_place->module = generation->index;
      return true;
    }
    if (!generation->module) continue;
    const fc_function_t *function = fc_generation_function(
        generation, fc_str_make(name.data + dot + 1, name.size - dot - 1));
    if (!function) continue;
    out_place->module = generation->index;
    out_place->function = (uint32_t)function->index;
    return true;
  }
  return false;
}

// A model is a function: its name is MODULE.FUNCTION, or MODULE alone if just
// one function of that can be called. Both names may have dots in them, so
// every dot is tried, the last one first.
static fc_status_t find_model(const names_t *names,
                              const fc_generations_t *generations, bool ready,
                              fc_place_t *out_place, fc_error_t *err) {
  const fc_str_t name = names->model, version = names->version;
  if (find_pair(name, version, generations, out_place)) {
    if (out_place->function != FC_ROUTE_NO_INDEX) return FC_OK;
    return check_loaded(fc_generations_at(generations, out_place->module), err);
  }
  const fc_generation_t *alone = find_of(generations, name, version);
  if (alone) {
    out_place->module = alone->index;
    return find_only(alone, &out_place->function, err);
  }
  // Is the model there in another version?
  fc_place_t other = *out_place;
  const fc_generation_t *head = fc_generations_find(generations, name);
  if (!head && version.data &&
      find_pair(name, fc_str_make(NULL, 0), generations, &other)) {
    head = fc_generations_at(generations, other.module);
  }
  if (!head) return fail_model(name, ready, generations, err);
  out_place->module = head->index;
  return unknown_version(head, version, err);
}

// ---------------------------------------------------------------------------

// Finds the row that the path and the method fit, and the names in the path.
static fc_status_t find_row(const fc_routes_t *routes,
                            const fc_request_t *request, char *buffer,
                            fc_place_t *out_place, names_t *out_names,
                            fc_error_t *err) {
  *out_place = (fc_place_t){.route = FC_ROUTE_NONE,
                            .module = FC_ROUTE_NO_INDEX,
                            .function = FC_ROUTE_NO_INDEX};
  FC_TRY(find_path(routes, request->path, buffer, &out_place->route, out_names,
                   err));
  return check_method(routes, out_place->route, request, err);
}

static fc_status_t find_place(const fc_routes_t *routes,
                              const fc_request_t *request, char *buffer,
                              const fc_generations_t *generations, bool ready,
                              fc_place_t *out_place, fc_error_t *err) {
  names_t names = {0};
  FC_TRY(find_row(routes, request, buffer, out_place, &names, err));
  if (names.model.data)
    return find_model(&names, generations, ready, out_place, err);
  if (!names.module.data) return FC_OK;
  if (routes->rows[out_place->route].methods & FC_ROUTE_ACT) return FC_OK;
  const bool only = out_place->route == FC_ROUTE_FUNCTIONS_OF &&
                    request->method == FC_METHOD_POST;
  if (only) out_place->route = FC_ROUTE_FUNCTION;
  FC_TRY(
      find_module(names.module, generations, ready, &out_place->module, err));
  const fc_generation_t *generation =
      fc_generations_at(generations, out_place->module);
  if (out_place->route == FC_ROUTE_FUNCTIONS_OF ||
      fc_generation_is_coming(generation)) {
    FC_TRY(check_loaded(generation, err));
  }
  if (only) return find_only_function(generation, &out_place->function, err);
  if (!names.function.data) return FC_OK;
  return find_function(names.function, generation, &out_place->function, err);
}

static bool has_escapes(const fc_request_t *request) {
  return memchr(request->path.data, '%', request->path.size);
}

fc_status_t fc_route_match(const fc_routes_t *routes,
                           const fc_request_t *request, fc_place_t *out_place,
                           fc_error_t *err) {
  char decoded[FC_LIMIT_TARGET];
  names_t names = {0};
  return find_row(routes, request, has_escapes(request) ? decoded : NULL,
                  out_place, &names, err);
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

fc_status_t fc_route_find(const fc_routes_t *routes,
                          const fc_request_t *request,
                          const fc_generations_t *generations, bool ready,
                          fc_place_t *out_place, fc_error_t *err) {
  if (!has_escapes(request)) {
    FC_TRY(
        find_place(routes, request, NULL, generations, ready, out_place, err));
  } else {
    // The framing validator refuses longer targets.
    char decoded[FC_LIMIT_TARGET];
    FC_TRY(find_place(routes, request, decoded, generations, ready, out_place,
                      err));
  }
  const fc_dialect_t *dialect =
      routes->dialects[routes->rows[out_place->route].dialect];
  return dialect->match ? dialect->match(request, out_place, err) : FC_OK;
}
