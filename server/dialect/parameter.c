// SPDX-License-Identifier: Apache-2.0
//
// Names and values are compared without decoding: no listed name or value needs an
// escape.
#include "dialect/parameter.h"

#include <stdio.h>

typedef struct parameter_t {
  fc_route_t route;
  unsigned methods;
  const char *name;
  const char *values;  // each ends with '|' or with the text
} parameter_t;

// A GET that calls. It is not one of the methods of route.h.
#define SOURCE (1u << 8)

static const char kFormats[] =
#define FC_FORMAT(name, content_type, write) name "|"
#include "dialect/format.def"
#undef FC_FORMAT
    ;

static const parameter_t kParameters[] = {
#define FORMATS kFormats
#define FC_PARAMETER(route, methods, name, values) \
  {FC_ROUTE_##route, methods, name, values},
#include "dialect/parameter.def"
#undef FC_PARAMETER
#undef FORMATS
};

typedef struct list_t {
  char text[160];
  size_t size;
} list_t;

static void add(list_t *list, const char *quote, fc_str_t item) {
  const size_t room = sizeof list->text - list->size;
  const int size =
      snprintf(list->text + list->size, room, "%s%s%.*s%s",
               list->size ? ", " : "", quote, FC_STR_ARG(item), quote);
  if (size > 0) list->size += (size_t)size < room ? (size_t)size : room - 1;
}

static fc_status_t fail_value(const parameter_t *parameter, fc_str_t value,
                              fc_error_t *err) {
  list_t quoted = {0}, plain = {0};
  for (fc_str_t rest = fc_str(parameter->values); rest.size;) {
    fc_str_t known = fc_str_take(&rest, '|');
    add(&quoted, "'", known);
    add(&plain, "", known);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, value);
  fc_status_t status =
      fc_fail(err, FC_CODE_UNKNOWN_FIELD, "'%s' may be %s, not '%s'",
              parameter->name, quoted.text, shown);
  fc_error_expected(err, "%s", plain.text);
  fc_error_got(err, value);
  return status;
}

static bool is_of(const parameter_t *parameter, fc_route_t route,
                  unsigned method) {
  return parameter->route == route && (parameter->methods & method);
}

static fc_status_t fail_name(fc_route_t route, unsigned method, fc_str_t name,
                             fc_error_t *err) {
  list_t list = {0};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kParameters); i++) {
    if (is_of(&kParameters[i], route, method)) {
      add(&list, "'", fc_str(kParameters[i].name));
    }
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status = fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                               "no query parameter '%s' here: there is %s",
                               shown, list.size ? list.text : "none");
  fc_error_got(err, name);
  return status;
}

static fc_status_t check_one(fc_route_t route, unsigned method, fc_str_t name,
                             fc_str_t value, fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kParameters); i++) {
    const parameter_t *parameter = &kParameters[i];
    if (!is_of(parameter, route, method) ||
        !fc_str_equal(name, fc_str(parameter->name))) {
      continue;
    }
    if (parameter->values[0] == '*') return FC_OK;
    for (fc_str_t rest = fc_str(parameter->values); rest.size;) {
      if (fc_str_equal(fc_str_take(&rest, '|'), value)) return FC_OK;
    }
    return fail_value(parameter, value, err);
  }
  return fail_name(route, method, name, err);
}

fc_status_t fc_parameter_check(fc_route_t route, fc_method_t method,
                               fc_str_t query, fc_error_t *err) {
  static const uint16_t bits[] = {
      [FC_METHOD_GET] = FC_ROUTE_GET,
      [FC_METHOD_HEAD] = FC_ROUTE_GET,
      [FC_METHOD_POST] = FC_ROUTE_CALL | FC_ROUTE_ACT,
      [FC_METHOD_DELETE] = FC_ROUTE_DELETE,
      [FC_METHOD_PUT] = FC_ROUTE_PUT,
      [FC_METHOD_SOURCE] = SOURCE};
  const unsigned bit = bits[method];
  for (fc_str_t rest = query; rest.size;) {
    fc_str_t pair = fc_str_take(&rest, '&'), value = pair;
    if (pair.size == 0) continue;
    fc_str_t name = fc_str_take(&value, '=');
    FC_TRY(check_one(route, bit, name, value, err));
    if (fc_request_query(query, name).data == value.data) continue;
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD, "'%.*s' is given twice",
                   FC_STR_ARG(name));
  }
  return FC_OK;
}
