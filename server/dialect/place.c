// SPDX-License-Identifier: Apache-2.0
//
// Finds what the names in a path mean: a module's generation, its function, or a model.
// If a name is unknown, the error suggests the nearest known name, or lists the known
// names.
#include "dialect/place.h"

#include <stdio.h>

#include "config/limits.h"
#include "dialect/dialect.h"

// `have` lists the known names, for a name that is near to none of them; "" lists
// nothing.
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

// The error lists the known versions, as many as fit.
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
  if (fc_place_only_function(generation, generation->module, out_index)) {
    return FC_OK;
  }
  fc_generation_list_functions(generation, have, sizeof have);
  return fc_fail(
      err, FC_CODE_FUNCTION_NOT_FOUND,
      "module '%.*s' does not have one function to call: name one%s%s",
      FC_STR_ARG(generation->claim.name), *have ? " of " : "", have);
}

// A separate function because of its buffers: successful calls must not pay for zeroing
// them.
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

// Returns how many bytes of a model's name are searched for the dot after a module's
// name. The limit is the longest module name and a dot, because the name in the path may
// be very long.
static size_t after_module(fc_str_t name) {
  const size_t most = FC_MODULE_NAME_MAX + 1;
  return name.size < most ? name.size : most;
}

bool fc_place_only_function(const fc_generation_t *generation,
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

// The text is Triton's, because client programs search for it.
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
  // The model's module may have failed to load, or may lack the function.
  for (size_t dot = after_module(name); dot-- > 0;) {
    // MODULE/FUNCTION is how all but the Open Inference Protocol names it.
    if (name.data[dot] != '.' && name.data[dot] != '/') continue;
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

// Returns the first function that clients may see, and gives the number of such
// functions.
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

// Finds the function that is meant by only the module's name: the only function that can
// be called.
static fc_status_t find_only(const fc_generation_t *generation,
                             uint32_t *out_function, fc_error_t *err) {
  FC_TRY(check_loaded(generation, err));
  size_t count;
  if (fc_place_only_function(generation, generation->module, out_function)) {
    return FC_OK;
  }
  const fc_function_t *first = find_first(generation, &count);
  return fc_fail(
      err, FC_CODE_FUNCTION_NOT_FOUND,
      "Request for unknown model: '%.*s' has %zu functions, each a model of "
      "its own%s%.*s%s%.*s%s",
      FC_STR_ARG(generation->claim.name), count, first ? ", as '" : "",
      FC_STR_ARG(first ? generation->claim.name : FC_STR("")), first ? "." : "",
      FC_STR_ARG(first ? first->name : FC_STR("")), first ? "'" : "");
}

// Finds the current generation of a module name and a version or alias. version.data
// NULL: no version is given.
static const fc_generation_t *find_of(const fc_generations_t *generations,
                                      fc_str_t name, fc_str_t version) {
  return version.data ? fc_generations_find_version(generations, name, version)
                      : fc_generations_find(generations, name);
}

// Finds a model by its name MODULE.FUNCTION. Also finds a module that may have the
// function but must be described first; then out_place->function is not set.
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

// A model is a function. Its name is MODULE.FUNCTION, or MODULE if only one function of
// the module can be called. Both names may contain dots, so every dot is tried, the last
// one first.
static fc_status_t find_model(const fc_route_names_t *names,
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
  // Does the model exist in another version?
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

// Finds the model that the body names. For a route with FC_ROUTE_ANY_MODEL a missing
// model is no error: the place then has no module and no function.
static fc_status_t find_named(const fc_routes_t *routes,
                              const fc_request_t *request,
                              const fc_generations_t *generations, bool ready,
                              fc_place_t *out_place, fc_error_t *err) {
  char kept[FC_ROUTE_KEPT];
  fc_route_names_t names = {0};
  const fc_route_row_t *row = &routes->rows[out_place->route];
  FC_TRY(routes->dialects[row->dialect]->peek(request, kept, &names,
                                              &out_place->peeks, err));
  if (out_place->peeks || row->methods & FC_ROUTE_ACT) return FC_OK;
  if (!names.model.size && row->methods & FC_ROUTE_ALL_MODELS) return FC_OK;
  const fc_status_t status =
      find_model(&names, generations, ready, out_place, err);
  const fc_generation_t *generation =
      fc_generations_at(generations, out_place->module);
  if (status == FC_OK || !(row->methods & FC_ROUTE_ANY_MODEL) ||
      (generation && fc_generation_is_coming(generation))) {
    return status;
  }
  out_place->module = out_place->function = FC_ROUTE_NO_INDEX;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Finding the place of a request

static fc_status_t find_place(const fc_routes_t *routes,
                              const fc_request_t *request, char *buffer,
                              const fc_generations_t *generations, bool ready,
                              fc_place_t *out_place, fc_error_t *err) {
  fc_route_names_t names = {0};
  FC_TRY(fc_route_read(routes, request, buffer, out_place, &names, err));
  const fc_route_row_t *row = &routes->rows[out_place->route];
  if (FC_UNLIKELY(row->methods & FC_ROUTE_STREAM) && !request->is_message) {
    out_place->peeks = true;
    return FC_OK;
  }
  if (FC_UNLIKELY(row->methods & FC_ROUTE_PEEK)) {
    return find_named(routes, request, generations, ready, out_place, err);
  }
  // Only the message itself shows whether it changes anything.
  out_place->peeks = FC_UNLIKELY(row->methods & FC_ROUTE_ADMIN) &&
                     routes->dialects[row->dialect]->framed &&
                     request->begin.size < FC_MESSAGE_HEAD &&
                     !request->begin_is_all;
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

fc_status_t fc_place_find(const fc_routes_t *routes,
                          const fc_request_t *request,
                          const fc_generations_t *generations, bool ready,
                          fc_place_t *out_place, fc_error_t *err) {
  if (!fc_route_has_escapes(request)) {
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
