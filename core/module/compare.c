// SPDX-License-Identifier: Apache-2.0
//
// Both documents are read as trees and walked side by side, without recursion.
// The signature's type tree is followed as long as it has nodes. Inside a
// tensor all numbers have its element type, however they are nested in lists.
#include "module/compare.h"

#include <math.h>
#include <stdio.h>

#include "abi/document.h"
#include "abi/print.h"
#include "base/float_format.h"
#include "json/number.h"

#define DEPTH_MAX 64

// The declared type of a value.
typedef struct place_t {
  uint32_t node;     // FC_NODE_NONE: nothing is declared
  fc_dtype_t dtype;  // of all numbers in the value; NONE: not declared
  bool exact;        // it is a shape, not data: no tolerance
} place_t;

static const place_t kNowhere = {.node = FC_NODE_NONE};
static const place_t kShape = {.node = FC_NODE_NONE, .exact = true};

// Two open containers, one of each document.
typedef struct level_t {
  yyjson_val *got;
  yyjson_val *next;      // of the expected container: an element, or a key
  yyjson_val *next_got;  // of the other container: an element
  size_t size;           // of the expected container
  size_t index;          // how many children were begun
  fc_str_t key;          // of the member that was begun
  place_t place;
  uint32_t child;  // TUPLE: node of the next element
  bool is_object;
} level_t;

typedef struct compare_t {
  const fc_signature_t *signature;
  const fc_tolerance_t *tolerance;
  fc_comparison_t *out;
  uint32_t depth;
  level_t levels[DEPTH_MAX];
} compare_t;

// ---------------------------------------------------------------------------
// Differences

// Appends a '/' and `text`, escaped as in RFC 6901, to the `at` bytes of `out`. Returns
// the new number of bytes.
static size_t put_token(char out[256], size_t at, fc_str_t text) {
  out[at++] = '/';
  for (size_t i = 0; i < text.size && at < 250; i++) {
    const char c = text.data[i];
    if (c != '~' && c != '/') {
      out[at++] = c;
      continue;
    }
    out[at++] = '~';
    out[at++] = c == '~' ? '0' : '1';
  }
  return at;
}

static void print_pointer(const compare_t *compare, char out[256]) {
  size_t at = put_token(out, 0, FC_STR("results"));
  for (uint32_t i = 0; i < compare->depth && at < 240; i++) {
    const level_t *level = &compare->levels[i];
    char number[24];
    fc_str_t token = level->key;
    if (!level->is_object) {
      const int size = snprintf(number, sizeof number, "%zu", level->index - 1);
      token = fc_str_make(number, (size_t)size);
    }
    at = put_token(out, at, token);
  }
  out[at] = 0;
}

static void print_value(yyjson_val *value, char out[80]) {
  const size_t count = yyjson_get_len(value);
  if (!value) snprintf(out, 80, "nothing");
  else if (yyjson_is_arr(value)) snprintf(out, 80, "a list of %zu", count);
  else if (yyjson_is_obj(value)) snprintf(out, 80, "an object of %zu", count);
  else if (yyjson_is_null(value)) snprintf(out, 80, "null");
  else if (yyjson_is_bool(value))
    snprintf(out, 80, "%s", yyjson_get_bool(value) ? "true" : "false");
  else if (yyjson_is_raw(value)) {
    (void)fc_escape(out, 80, 64, fc_str_make(yyjson_get_raw(value), count));
  } else {
    char text[72];
    (void)fc_escape(text, sizeof text, 60, fc_doc_text_of(value));
    snprintf(out, 80, "\"%s\"", text);
  }
}

static void differ(compare_t *compare, yyjson_val *expected, yyjson_val *got) {
  fc_comparison_t *out = compare->out;
  if (out->different++) return;
  print_pointer(compare, out->pointer);
  print_value(expected, out->expected);
  print_value(got, out->got);
}

// ---------------------------------------------------------------------------
// Numbers

typedef struct number_t {
  double value;
  int64_t step;  // the number's position among all numbers of its type
  bool is_nan;
  bool is_whole;
} number_t;

// Reads a value as a number of a float type. False when the value is a text that does not
// stand for a float of the type.
static bool read_float(yyjson_val *value, fc_dtype_t dtype, number_t *out) {
  const fc_float_format_t *format = &fc_float_formats[dtype];
  const size_t size = yyjson_get_len(value);
  uint64_t bits = 0;  // the element is in the low bytes
  const fc_status_t status =
      yyjson_is_raw(value)
          ? fc_number_parse(fc_str_make(yyjson_get_raw(value), size), dtype,
                            &bits, NULL)
      : yyjson_is_str(value)
          ? fc_number_parse_special(fc_doc_text_of(value), dtype, &bits, NULL)
          : FC_INVALID_ARGUMENT;
  if (status != FC_OK) return false;
  const int64_t step = (int64_t)(bits & ~format->sign);
  out->step = bits & format->sign ? -step : step;
  out->is_nan = fc_float_is_nan(format, bits);
  out->is_whole = false;
  out->value = out->is_nan ? 0 : fc_float_value(format, bits);
  return true;
}

static bool read_integer(yyjson_val *value, fc_dtype_t dtype, number_t *out) {
  int64_t number;
  if (!yyjson_is_raw(value)) return false;
  const fc_str_t text =
      fc_str_make(yyjson_get_raw(value), yyjson_get_len(value));
  if (fc_number_parse(text, dtype, &number, NULL) != FC_OK) return false;
  out->is_nan = false;
  out->is_whole = true;
  const bool is_unsigned = dtype == FC_DTYPE_UI64;
  out->step = is_unsigned ? number ^ INT64_MIN : number;
  out->value = is_unsigned ? (double)(uint64_t)number : (double)number;
  return true;
}

static bool read_pair(bool (*read)(yyjson_val *value, fc_dtype_t dtype,
                                   number_t *out),
                      fc_dtype_t dtype, yyjson_val *expected, yyjson_val *got,
                      number_t out[2]) {
  return read(expected, dtype, &out[0]) && read(got, dtype, &out[1]);
}

static bool read_numbers(fc_dtype_t dtype, yyjson_val *expected,
                         yyjson_val *got, number_t out[2]) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->class_ == FC_DTYPE_CLASS_FLOAT) {
    return read_pair(read_float, dtype, expected, got, out);
  }
  if (info->class_ == FC_DTYPE_CLASS_BOOL) return false;
  // Numbers without a declared type are whole numbers if both are written as
  // whole numbers.
  if (read_pair(read_integer, FC_DTYPE_I64, expected, got, out)) return true;
  if (read_pair(read_integer, FC_DTYPE_UI64, expected, got, out)) return true;
  return dtype == FC_DTYPE_NONE &&
         read_pair(read_float, FC_DTYPE_F64, expected, got, out);
}

static bool is_tolerated(compare_t *compare, bool exact,
                         const number_t both[2]) {
  const fc_tolerance_t *may = compare->tolerance;
  fc_comparison_t *out = compare->out;
  if (both[0].is_nan || both[1].is_nan) {
    return both[0].is_nan && both[1].is_nan && !may->nan_differs;
  }
  const uint64_t a = (uint64_t)both[0].step, b = (uint64_t)both[1].step;
  const uint64_t ulp = both[0].step < both[1].step ? b - a : a - b;
  if (ulp == 0 || exact) return ulp == 0;  // 0 and -0 have the same step
  // Different whole numbers may be equal as doubles, so the difference in steps is used.
  const double absolute =
      both[0].is_whole ? (double)ulp : fabs(both[0].value - both[1].value);
  if (absolute > out->max_absolute) out->max_absolute = absolute;
  if (ulp > out->max_ulp) out->max_ulp = ulp;
  if (!isfinite(absolute)) return false;  // no other number is near an infinity
  return ulp <= may->ulp || absolute <= may->absolute ||
         absolute <= may->relative * fabs(both[0].value);
}

static bool same_text(yyjson_val *expected, yyjson_val *got) {
  if (yyjson_get_tag(expected) != yyjson_get_tag(got) ||
      yyjson_get_len(expected) != yyjson_get_len(got)) {
    return false;
  }
  if (!yyjson_is_raw(expected) && !yyjson_is_str(expected)) return true;
  return yyjson_get_len(expected) == 0 ||
         !memcmp(yyjson_is_raw(expected) ? yyjson_get_raw(expected)
                                         : yyjson_get_str(expected),
                 yyjson_is_raw(got) ? yyjson_get_raw(got) : yyjson_get_str(got),
                 yyjson_get_len(expected));
}

static void compare_leaf(compare_t *compare, const place_t *place,
                         yyjson_val *expected, yyjson_val *got) {
  number_t both[2];
  compare->out->values++;
  if (same_text(expected, got) &&
      !(compare->tolerance->nan_differs && yyjson_is_str(expected))) {
    return;
  }
  const bool same = read_numbers(place->dtype, expected, got, both)
                        ? is_tolerated(compare, place->exact, both)
                        : same_text(expected, got);
  if (!same) differ(compare, expected, got);
}

// ---------------------------------------------------------------------------
// Types

static place_t place_of(const fc_signature_t *signature, uint32_t node) {
  if (node == FC_NODE_NONE) return kNowhere;
  const fc_type_t *type = fc_signature_node(signature, node);
  return (place_t){.node = node,
                   .dtype = fc_dtype_info((fc_dtype_t)type->dtype)->part};
}

// Finds the type of result `index` of an answer: first come those of the function, then
// the final contents of out and inout arguments.
static place_t place_of_result(const fc_signature_t *signature, size_t index) {
  for (const fc_param_t *at = NULL; (at = fc_result_next(signature, at));) {
    if (index-- == 0) return place_of(signature, at->type);
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *argument = &signature->arguments[i];
    if (!fc_role_is_answered(argument->role)) continue;
    if (index-- == 0) return place_of(signature, argument->type);
  }
  return kNowhere;
}

static bool has_elements(const fc_type_t *type) {
  return type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR ||
         type->kind == FC_TYPE_SCALAR || type->kind == FC_TYPE_UNKNOWN;
}

static place_t place_of_element(const compare_t *compare, level_t *level) {
  if (compare->depth == 1) {
    return place_of_result(compare->signature, level->index);
  }
  if (level->place.node == FC_NODE_NONE) return level->place;
  const fc_type_t *type =
      fc_signature_node(compare->signature, level->place.node);
  if (has_elements(type)) return level->place;
  if (type->kind == FC_TYPE_LIST) {
    return place_of(compare->signature, type->child);
  }
  if (type->kind != FC_TYPE_TUPLE) return kNowhere;
  const uint32_t node = level->child;
  if (node != FC_NODE_NONE) {
    level->child = fc_signature_node(compare->signature, node)->next;
  }
  return place_of(compare->signature, node);
}

static place_t place_of_member(const compare_t *compare, const level_t *level) {
  const fc_signature_t *signature = compare->signature;
  const bool data = fc_str_equal(level->key, FC_STR("data"));
  if (level->place.node == FC_NODE_NONE) return data ? level->place : kShape;
  const fc_type_t *type = fc_signature_node(signature, level->place.node);
  if (type->kind == FC_TYPE_LIST) return level->place;  // it is {"list":…}
  if (type->kind != FC_TYPE_DICT) return data ? level->place : kShape;
  for (uint32_t i = type->child; i != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(signature, i);
    if (fc_str_equal(fc_signature_text(signature, child->key), level->key)) {
      return place_of(signature, i);
    }
    i = child->next;
  }
  return kNowhere;
}

// Returns `place`. If no element type is declared there, it gets the type that the
// object states as "dtype", if any.
static place_t stated_place(place_t place, yyjson_val *object) {
  yyjson_val *dtype = yyjson_obj_get(object, "dtype");
  if (place.dtype != FC_DTYPE_NONE || !yyjson_is_str(dtype)) return place;
  const fc_dtype_t named =
      fc_dtype_find_named(fc_doc_text_of(dtype), FC_DTYPE_NONE);
  place.dtype = fc_dtype_info(named)->part;
  return place;
}

// ---------------------------------------------------------------------------
// The walk

// Opens two containers of one kind and size, or reports that they differ.
static fc_status_t open_both(compare_t *compare, place_t place,
                             yyjson_val *expected, yyjson_val *got,
                             fc_error_t *err) {
  if (yyjson_get_type(expected) != yyjson_get_type(got) ||
      yyjson_get_len(expected) != yyjson_get_len(got)) {
    differ(compare, expected, got);
    return FC_OK;
  }
  if (compare->depth == DEPTH_MAX) {
    return fc_fail(err, FC_CODE_JSON_TOO_DEEP, "results nest too deep");
  }
  level_t *level = &compare->levels[compare->depth++];
  const size_t size = yyjson_get_len(expected);
  *level = (level_t){.got = got,
                     .size = size,
                     .place = place,
                     .child = FC_NODE_NONE,
                     .is_object = yyjson_is_obj(expected)};
  if (place.node != FC_NODE_NONE) {
    level->child = fc_signature_node(compare->signature, place.node)->child;
  }
  if (level->is_object) level->place = stated_place(place, expected);
  if (size) level->next = unsafe_yyjson_get_first(expected);
  if (size) level->next_got = unsafe_yyjson_get_first(got);
  return FC_OK;
}

// Begins the next pair of children.
static place_t next_pair(compare_t *compare, yyjson_val **expected,
                         yyjson_val **got) {
  level_t *level = &compare->levels[compare->depth - 1];
  if (level->is_object) {
    level->key = fc_doc_text_of(level->next);
    *expected = yyjson_obj_iter_get_val(level->next);
    *got = yyjson_obj_getn(level->got, level->key.data, level->key.size);
    level->next = unsafe_yyjson_get_next(*expected);
    level->index++;
    return place_of_member(compare, level);
  }
  *expected = level->next;
  *got = level->next_got;
  level->next = unsafe_yyjson_get_next(*expected);
  level->next_got = unsafe_yyjson_get_next(*got);
  const place_t place = place_of_element(compare, level);
  level->index++;
  return place;
}

static fc_status_t walk(compare_t *compare, yyjson_val *expected,
                        yyjson_val *got, fc_error_t *err) {
  FC_TRY(open_both(compare, kNowhere, expected, got, err));
  while (compare->depth) {
    const level_t *level = &compare->levels[compare->depth - 1];
    if (level->index == level->size) {
      compare->depth--;
      continue;
    }
    const place_t place = next_pair(compare, &expected, &got);
    if (yyjson_is_ctn(expected)) {
      FC_TRY(open_both(compare, place, expected, got, err));
    } else {
      compare_leaf(compare, &place, expected, got);
    }
  }
  return FC_OK;
}

static fc_status_t read(fc_str_t text, const yyjson_alc *alc,
                        yyjson_doc **out_doc, fc_error_t *err) {
  yyjson_read_err failure = {0};
  *out_doc = yyjson_read_opts((char *)(uintptr_t)text.data, text.size,
                              YYJSON_READ_NUMBER_AS_RAW, alc, &failure);
  if (*out_doc) return FC_OK;
  if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
    return fc_fail_memory(err);
  }
  return fc_fail(err, FC_CODE_JSON_SYNTAX, "results are not JSON: %s",
                 failure.msg);
}

fc_status_t fc_compare_results(const fc_signature_t *signature,
                               fc_str_t expected, fc_str_t answer,
                               const fc_tolerance_t *tolerance,
                               fc_allocator_t allocator,
                               fc_comparison_t *out_comparison,
                               fc_error_t *err) {
  compare_t *compare = fc_alloc(allocator, sizeof *compare);
  if (!compare) return fc_fail_memory(err);
  const yyjson_alc alc = fc_doc_alc(&allocator);
  yyjson_doc *wanted = NULL, *has = NULL;
  *out_comparison = (fc_comparison_t){0};
  compare->signature = signature;
  compare->tolerance = tolerance;
  compare->out = out_comparison;
  fc_status_t status = read(expected, &alc, &wanted, err);
  if (status == FC_OK) status = read(answer, &alc, &has, err);
  if (status == FC_OK) {
    status = walk(compare, yyjson_doc_get_root(wanted),
                  yyjson_obj_get(yyjson_doc_get_root(has), "results"), err);
  }
  yyjson_doc_free(wanted);
  yyjson_doc_free(has);
  fc_free(allocator, compare);
  return status;
}
