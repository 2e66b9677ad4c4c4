// SPDX-License-Identifier: Apache-2.0
//
// Checks calling-convention strings once, so that fc_cconv_next may trust them.
#include "abi/cconv.h"

#include <stdio.h>

static fc_status_t fault(fc_str_t text, size_t at, const char *what,
                         fc_error_t *err) {
  char shown[100];
  fc_escape(shown, sizeof shown, 64, text);
  fc_status_t status =
      fc_fail(err, FC_CODE_ABI_METADATA,
              "calling convention '%s', byte %zu: %s", shown, at, what);
  if (err) err->byte_offset = at;
  return status;
}

static bool is_item(char c) { return c && strchr("iIfFrv", c) != NULL; }

// Reads one side, from *at to the end or the '_', and counts its items.
static fc_status_t read_side(fc_str_t text, size_t *at, bool spans,
                             uint32_t *out_count, fc_error_t *err) {
  uint32_t count = 0;
  bool in_span = false;
  size_t start = *at;
  for (; *at < text.size; (*at)++) {
    char c = text.data[*at];
    if (is_item(c)) {
      count += !in_span && c != 'v';
    } else if (c == 'C' && spans && !in_span) {
      in_span = true;
      start = *at;
      count++;
    } else if (c == 'D' && in_span) {
      in_span = false;
    } else if (c == '_' && spans && !in_span) {
      break;
    } else {
      return fault(text, *at, "this character cannot stand here", err);
    }
  }
  if (in_span) return fault(text, start, "the span does not end", err);
  *out_count = count;
  return FC_OK;
}

fc_status_t fc_cconv_parse(fc_str_t text, fc_cconv_t *out_cconv,
                           fc_error_t *err) {
  fc_cconv_t cconv = {.text = text};
  if (text.size > UINT32_MAX) return fault(text, 0, "it is too long", err);
  if (text.size && text.data[0] != '0') {
    return fault(text, 0, "only version 0 is known", err);
  }
  size_t at = text.size ? 1 : 0;
  size_t start = at;
  FC_TRY(read_side(text, &at, true, &cconv.argument_count, err));
  cconv.arguments = fc_str_make(text.data + start, at - start);
  cconv.variadic = cconv.arguments.size &&
                   memchr(cconv.arguments.data, 'C', cconv.arguments.size);
  if (at < text.size) {
    start = ++at;
    FC_TRY(read_side(text, &at, false, &cconv.result_count, err));
    cconv.results = fc_str_make(text.data + start, at - start);
  }
  *out_cconv = cconv;
  return FC_OK;
}

static uint32_t leaf(fc_builder_t *builder, char kind, int32_t raw_index) {
  fc_dtype_t dtype = fc_cconv_dtype(kind);
  uint32_t node = dtype == FC_DTYPE_NONE
                      ? fc_builder_node(builder, FC_TYPE_UNKNOWN)
                      : fc_builder_scalar(builder, dtype);
  fc_type_t *type = fc_builder_at(builder, node);
  if (type) type->raw_index = raw_index;
  return node;
}

static uint32_t span(fc_builder_t *builder, fc_str_t elements) {
  uint32_t list = fc_builder_node(builder, FC_TYPE_LIST);
  uint32_t tuple = fc_builder_node(builder, FC_TYPE_TUPLE);
  fc_type_t *type = fc_builder_at(builder, list);
  if (type) type->flags = FC_TYPE_VARIADIC;
  fc_builder_append(builder, list, tuple);
  fc_cconv_item_t item;
  while (fc_cconv_next(&elements, &item)) {
    fc_builder_append(builder, tuple, leaf(builder, item.kind, FC_RAW_NONE));
  }
  return list;
}

void fc_cconv_build(fc_builder_t *builder, const fc_cconv_t *cconv) {
  fc_builder_source(builder, FC_SOURCE_CCONV);
  fc_builder_cconv(builder, cconv->text);
  if (cconv->variadic) {
    fc_builder_refuse(builder, FC_STR("variadic arguments cannot be passed"));
  }
  fc_cconv_item_t item;
  fc_str_t rest = cconv->arguments;
  for (int32_t i = 0; fc_cconv_next(&rest, &item); i++) {
    uint32_t node = item.kind == FC_CCONV_SPAN ? span(builder, item.span)
                                               : leaf(builder, item.kind, i);
    fc_builder_argument(builder, FC_STR(""), node, FC_ROLE_IN, false, i);
  }
  rest = cconv->results;
  for (int32_t i = 0; fc_cconv_next(&rest, &item); i++) {
    fc_builder_result(builder, FC_STR(""), leaf(builder, item.kind, i), i);
  }
  fc_builder_raw_counts(builder, cconv->argument_count, cconv->result_count);
}
