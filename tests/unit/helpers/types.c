// SPDX-License-Identifier: Apache-2.0
#include "helpers/types.h"

#include "farcall/abi.h"
#include "helpers/test.h"

typedef struct scan_t {
  const char *at;
  const char *text;
  fc_builder_t *builder;
  bool root;
  bool has_raw;  // of the parameter being read
} scan_t;

static void skip_blanks(scan_t *scan) {
  while (*scan->at == ' ') scan->at++;
}

static bool accept(scan_t *scan, const char *word) {
  skip_blanks(scan);
  size_t size = strlen(word);
  if (strncmp(scan->at, word, size) != 0) return false;
  scan->at += size;
  return true;
}

static void expect(scan_t *scan, const char *word) {
  if (accept(scan, word)) return;
  fail_msg("type text '%s': '%s' expected at '%s'", scan->text, word, scan->at);
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '$';
}

static fc_str_t take_word(scan_t *scan) {
  skip_blanks(scan);
  const char *begin = scan->at;
  while (is_word(*scan->at)) scan->at++;
  return fc_str_make(begin, (size_t)(scan->at - begin));
}

static int64_t take_int(scan_t *scan) {
  int64_t value = 0;
  for (; *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
    value = value * 10 + (*scan->at - '0');
  }
  return value;
}

static fc_dtype_t take_dtype(scan_t *scan) {
  skip_blanks(scan);
  if (accept(scan, "complex<f32>")) return FC_DTYPE_C64;
  if (accept(scan, "complex<f64>")) return FC_DTYPE_C128;
  fc_str_t word = take_word(scan);
  if (fc_str_equal(word, FC_STR("_"))) return FC_DTYPE_NONE;
  fc_dtype_t dtype = fc_dtype_find(word);
  if (!dtype) fail_msg("no dtype '%.*s'", FC_STR_ARG(word));
  return dtype;
}

// Reads dims like 2x?xNx. Returns the rank; the cursor is then after the last x.
static int32_t take_dims(scan_t *scan, int64_t *dims) {
  if (accept(scan, "*x")) return FC_RANK_DYNAMIC;
  int32_t rank = 0;
  for (;;) {
    const char *begin = scan->at;
    char c = *begin;
    if (c == '?') {
      scan->at++;
      dims[rank] = FC_DIM_DYNAMIC;
    } else if (c >= '0' && c <= '9') {
      dims[rank] = take_int(scan);
    } else if (c >= 'A' && c <= 'Z' && begin[1] == 'x') {
      scan->at++;
      dims[rank] = fc_builder_dim_name(scan->builder, fc_str_make(begin, 1));
    } else {
      return rank;
    }
    rank++;
    expect(scan, "x");
  }
}

static uint32_t take_type(scan_t *scan);

static uint32_t take_shaped(scan_t *scan, bool vector) {
  int64_t dims[FC_RANK_MAX];
  int32_t rank = take_dims(scan, dims);
  fc_dtype_t dtype = take_dtype(scan);
  expect(scan, ">");
  if (vector) return fc_builder_vector(scan->builder, dtype, rank, dims);
  uint32_t node = fc_builder_tensor(scan->builder, dtype, rank, dims);
  fc_type_t *type = fc_builder_at(scan->builder, node);
  if (!dtype && type) type->flags |= FC_TYPE_UNTYPED;
  return node;
}

// NOLINTNEXTLINE(misc-no-recursion): a test's own type.
static uint32_t take_refarray(scan_t *scan) {
  int64_t dims[FC_RANK_MAX];
  int32_t rank = take_dims(scan, dims);
  uint32_t node = fc_builder_node(scan->builder, FC_TYPE_REFARRAY);
  fc_builder_append(scan->builder, node, take_type(scan));
  fc_builder_dims(scan->builder, node, rank, dims);
  expect(scan, ">");
  return node;
}

// NOLINTNEXTLINE(misc-no-recursion): a test's own type.
static uint32_t take_items(scan_t *scan, fc_type_kind_t kind,
                           const char *close) {
  uint32_t node = fc_builder_node(scan->builder, kind);
  while (!accept(scan, close)) {
    if (kind == FC_TYPE_DICT) {
      fc_str_t key = take_word(scan);
      expect(scan, ":");
      fc_builder_append_key(scan->builder, node, key, take_type(scan));
    } else {
      fc_builder_append(scan->builder, node, take_type(scan));
    }
    accept(scan, ",");
  }
  return node;
}

// NOLINTNEXTLINE(misc-no-recursion): a test's own type.
static uint32_t take_plain_type(scan_t *scan) {
  fc_builder_t *builder = scan->builder;
  if (accept(scan, "tensor<")) return take_shaped(scan, false);
  if (accept(scan, "vector<")) return take_shaped(scan, true);
  if (accept(scan, "ref<")) return take_refarray(scan);
  if (accept(scan, "[")) return take_items(scan, FC_TYPE_LIST, "]");
  if (accept(scan, "(")) return take_items(scan, FC_TYPE_TUPLE, ")");
  if (accept(scan, "{")) return take_items(scan, FC_TYPE_DICT, "}");
  if (accept(scan, "str")) return fc_builder_bytes(builder, FC_FLAVOR_UTF8);
  if (accept(scan, "chars")) return fc_builder_bytes(builder, FC_FLAVOR_I8);
  if (accept(scan, "bytes")) return fc_builder_bytes(builder, FC_FLAVOR_RAW);
  if (accept(scan, "null")) return fc_builder_node(builder, FC_TYPE_NULL);
  if (accept(scan, "any")) return fc_builder_node(builder, FC_TYPE_UNKNOWN);
  if (accept(scan, "opaque")) {
    return fc_builder_opaque(builder, FC_STR("test.thing"));
  }
  return fc_builder_scalar(builder, take_dtype(scan));
}

// NOLINTNEXTLINE(misc-no-recursion)
static uint32_t take_type(scan_t *scan) {
  uint32_t node = take_plain_type(scan);
  if (!accept(scan, "@")) return node;
  fc_type_t *type = fc_builder_at(scan->builder, node);
  int32_t raw = (int32_t)take_int(scan);
  if (type) type->raw_index = raw;
  scan->has_raw = true;
  return node;
}

static void take_param(scan_t *scan, bool result) {
  fc_role_t role = FC_ROLE_IN;
  if (accept(scan, "out ")) role = FC_ROLE_OUT;
  else if (accept(scan, "scratch ")) role = FC_ROLE_SCRATCH;
  else if (accept(scan, "inout ")) role = FC_ROLE_INOUT;
  const char *begin = scan->at;
  fc_str_t name = take_word(scan);
  if (!name.size || !accept(scan, ":")) {
    scan->at = begin;
    name = (fc_str_t){0};
  }
  scan->has_raw = false;
  uint32_t node = take_type(scan);
  bool spread = scan->has_raw || (scan->root && !result);
  int32_t raw_index = spread ? FC_RAW_NONE : FC_RAW_NEXT;
  if (result) {
    fc_builder_result(scan->builder, name, node, raw_index);
  } else {
    fc_builder_argument(scan->builder, name, node, role, name.size > 0,
                        raw_index);
  }
}

static void take_signature(scan_t *scan) {
  fc_builder_name(scan->builder, FC_STR("f"));
  scan->root = accept(scan, "root ");
  fc_builder_root_tree(scan->builder, scan->root);
  while (!accept(scan, "->")) {
    take_param(scan, false);
    accept(scan, ",");
  }
  for (skip_blanks(scan); *scan->at; skip_blanks(scan)) {
    take_param(scan, true);
    accept(scan, ",");
  }
}

static fc_status_t parse_v1(scan_t *scan, fc_error_t *err) {
  static const fc_raw_counts_t kUnknown = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  return fc_v1_parse(fc_str(scan->at), kUnknown, scan->builder, err);
}

static fc_status_t parse_sip(scan_t *scan, fc_error_t *err) {
  static const fc_raw_counts_t kUnknown = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  const char *blank = strchr(scan->at, ' ');
  fc_str_t sip = fc_str(scan->at), raw = {0};
  if (blank) {
    sip.size = (size_t)(blank - scan->at);
    raw = fc_str(blank + 1);
  }
  return fc_sip_parse(sip, raw, kUnknown, scan->builder, err);
}

fc_signature_t *fc_test_build(fc_builder_t *builder, const char *text) {
  scan_t scan = {.at = text, .text = text, .builder = builder};
  fc_signature_t *signature = NULL;
  fc_error_t err;
  fc_status_t status = FC_OK;
  if (accept(&scan, "v1 ")) status = parse_v1(&scan, &err);
  else if (accept(&scan, "sip ")) status = parse_sip(&scan, &err);
  else {
    if (accept(&scan, "inferred ")) {
      fc_builder_source(builder, FC_SOURCE_INFERRED);
    }
    take_signature(&scan);
  }
  if (status == FC_OK) status = fc_signature_build(builder, &signature, &err);
  if (status != FC_OK) fail_msg("type text '%s': %s", text, err.message);
  return signature;
}

fc_signature_t *fc_test_signature(fc_allocator_t allocator, const char *text) {
  fc_builder_t *builder = fc_builder_create(allocator);
  assert_non_null(builder);
  fc_signature_t *signature = fc_test_build(builder, text);
  fc_builder_destroy(builder);
  return signature;
}

const char *fc_test_signature_text(const fc_signature_t *signature) {
  static char line[1u << 16];
  fc_sink_t sink = {.cursor = line, .end = line + sizeof line - 1};
  fc_error_t err;
  assert_int_equal(fc_signature_print_text(signature, &sink, &err), FC_OK);
  *sink.cursor = '\0';
  return line;
}
