// SPDX-License-Identifier: Apache-2.0
//
// Reads canonical JSON back: what was printed for each metadata kind is mangled to its
// original text again, and the error of a wrong document says where it is wrong.
#include "helpers/test.h"

#include <stdio.h>

#include "farcall/abi.h"

static const fc_raw_counts_t any = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};

static fc_status_t parse_sip(fc_str_t text, fc_builder_t *builder,
                             fc_error_t *err) {
  return fc_sip_parse(text, FC_STR(""), any, builder, err);
}

static fc_status_t parse_v1(fc_str_t text, fc_builder_t *builder,
                            fc_error_t *err) {
  return fc_v1_parse(text, any, builder, err);
}

typedef struct round_row_t {
  const char *name;
  const char *text;
  fc_status_t (*parse)(fc_str_t text, fc_builder_t *builder, fc_error_t *err);
  fc_status_t (*mangle)(const fc_signature_t *signature, fc_sink_t *sink,
                        fc_error_t *err);
} round_row_t;

static const round_row_t rounds[] = {
    {"sip: no structure", "I1!R1!", parse_sip, fc_sip_mangle},
    {"sip: root leaf", "I3!_0R3!_0", parse_sip, fc_sip_mangle},
    {"sip: root list of one", "I8!S5!k0_0R8!S5!k0_0", parse_sip, fc_sip_mangle},
    {"sip: empty list", "I4!S1!R4!S1!", parse_sip, fc_sip_mangle},
    {"sip: empty dict", "I4!D1!R4!D1!", parse_sip, fc_sip_mangle},
    {"sip: gap", "I12!S9!k0_0k2_1R1!", parse_sip, fc_sip_mangle},
    {"sip: mobilebert",
     "I53!D49!K10!input_ids_1K11!input_mask_2K12!segment_ids_0"
     "R39!D35!K11!end_logits_0K13!start_logits_1",
     parse_sip, fc_sip_mangle},
    {"sip: nested", "I31!S27!k0D17!K4!bar_1K4!foo_0k1_2R12!S9!k0_0k1_1",
     parse_sip, fc_sip_mangle},
    {"raw: every kind", "I26!O1!B11!d-1d128d64S3!t6U1!R17!B13!t11d32d-1d64",
     fc_raw_parse, fc_raw_mangle},
    {"raw: rank 0", "I7!B1!S1!R1!", fc_raw_parse, fc_raw_mangle},
    {"v1: named and inlined",
     "{\"a\":[\"i32\",[\"named\",\"b\",[\"ndarray\",\"bf16\",2,null,3]]],\"r\":"
     "[[\"stuple\",\"f32\",[\"slist\",\"i1\"]]],\"v\":1}",
     parse_v1, fc_v1_mangle},
};

static fc_signature_t *build(fc_builder_t *builder, fc_status_t status) {
  fc_error_t err;
  fc_signature_t *signature = NULL;
  if (status == FC_OK) status = fc_signature_build(builder, &signature, &err);
  fc_builder_destroy(builder);
  return status == FC_OK ? signature : NULL;
}

static void printed_signatures_mangle_as_before(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const round_row_t, row, rounds) {
    fc_error_t err;
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_status_t status = row->parse(fc_str(row->text), builder, &err);
    fc_signature_t *first = build(builder, status);
    assert_non_null(first);
    fc_text_t json, text;
    fc_text_init(&json, fc_allocator_system(), 1 << 20);
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    assert_int_equal(fc_signature_print_json(first, FC_STR(""), FC_STR(""),
                                             &json.sink, &err),
                     0);
    builder = fc_builder_create(fc_allocator_system());
    status = fc_signature_parse_json(fc_text_str(&json), builder, &err);
    fc_signature_t *second = build(builder, status);
    assert_non_null(second);
    assert_int_equal(row->mangle(second, &text.sink, &err), 0);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->text)));
    fc_signature_destroy(first);
    fc_signature_destroy(second);
    fc_text_deinit(&json);
    fc_text_deinit(&text);
  }
}

// Documents that are read and printed again as the same text.
static const char *const canonical[] = {
    "{\"name\":\"mm\",\"source\":\"sidecar\",\"model\":\"sync\",\"arguments\":["
    "{\"position\":0,\"name\":\"a\",\"keyword\":true,\"role\":\"in\",\"type\":{"
    "\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[null,null],\"dims\":"
    "[\"m\",\"k\"]}},{\"position\":1,\"name\":\"b\",\"keyword\":true,\"role\":"
    "\"in\",\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[null,4],"
    "\"dims\":[\"k\",null]}}],\"results\":[{\"type\":{\"kind\":\"tensor\","
    "\"dtype\":\"f32\",\"shape\":[null,4],\"dims\":[\"m\",null]}}],\"text\":"
    "\"mm(a: tensor<[m]x[k]xf32>, b: tensor<[k]x4xf32>) -> tensor<[m]x4xf32>\","
    "\"callable\":true,\"reason\":null}",
    "{\"name\":\"f\",\"source\":\"inferred\",\"model\":\"sync\",\"arguments\":["
    "{\"position\":0,\"keyword\":false,\"role\":\"in\",\"type\":{\"kind\":"
    "\"tensor\",\"dtype\":\"i8\",\"shape\":[null,2,null],\"dims\":[\"a \\\"b\","
    "null,\"h\xc3\xa9\"]}}],\"results\":[],\"text\":\"f(tensor<[\\\"a "
    "\\\\\\\"b\\\"]x2x[\\\"h\xc3\xa9\\\"]xi8>) -> ()\",\"callable\":true,"
    "\"reason\":null}",
};

static void named_dims_come_back(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(canonical); i++) {
    fc_error_t err;
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_status_t status =
        fc_signature_parse_json(fc_str(canonical[i]), builder, &err);
    if (status) fail_msg("%s", err.message);
    fc_signature_t *signature = build(builder, status);
    fc_text_t json;
    fc_text_init(&json, fc_allocator_system(), 1 << 20);
    assert_int_equal(fc_signature_print_json(signature, FC_STR(""), FC_STR(""),
                                             &json.sink, &err),
                     FC_OK);
    assert_int_equal(fc_sink_put(&json.sink, FC_STR("\0"), &err), FC_OK);
    assert_string_equal(json.data, canonical[i]);
    fc_text_deinit(&json);
    fc_signature_destroy(signature);
  }
}

#define ARGUMENT(type) \
  "{\"source\":\"raw\",\"arguments\":[{\"type\":" type "}],\"results\":[]}"

typedef struct bad_row_t {
  const char *name;
  const char *text;
  const char *reason;
} bad_row_t;

static const bad_row_t bad[] = {
    {"not JSON", "{", "not valid JSON at byte 1"},
    {"array", "[]", "/: must be an object"},
    {"no arguments", "{\"results\":[]}", "/arguments: must be an array"},
    {"no results", "{\"arguments\":[]}", "/results: must be an array"},
    {"no type", "{\"arguments\":[{}],\"results\":[]}",
     "/arguments/0: a type must be an object"},
    {"unknown kind", ARGUMENT("{\"kind\":\"int\"}"),
     "/arguments/0: unknown kind"},
    {"unknown dtype", ARGUMENT("{\"kind\":\"scalar\",\"dtype\":\"i65\"}"),
     "/arguments/0: dtype is unknown"},
    {"fractional dim",
     ARGUMENT("{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[1.5]}"),
     "must be an integer or null"},
    {"negative dim",
     ARGUMENT("{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[-1]}"),
     "must not be negative"},
    {"no shape", ARGUMENT("{\"kind\":\"tensor\",\"dtype\":\"f32\"}"),
     "shape must be null or an array"},
    {"field without a name",
     ARGUMENT("{\"kind\":\"dict\",\"fields\":[{\"type\":null}]}"),
     "/arguments/0/0: name must be a string"},
    {"item", ARGUMENT("{\"kind\":\"tuple\",\"items\":[{\"kind\":\"null\"},1]}"),
     "/arguments/0/1: a type must be an object"},
    {"dim without a name",
     ARGUMENT("{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[null],"
              "\"dims\":[\"\"]}"),
     "a dim's name has 0 bytes"},
    {"raw_index", ARGUMENT("{\"kind\":\"null\",\"raw_index\":-1}"),
     "raw_index must be an integer from 0 to 16383"},
};

static void bad_documents_say_where(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_row_t, row, bad) {
    fc_error_t err;
    fc_signature_t *signature = NULL;
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_status_t status =
        fc_signature_parse_json(fc_str(row->text), builder, &err);
    if (status == FC_OK) status = fc_signature_build(builder, &signature, &err);
    assert_int_not_equal(status, FC_OK);
    fc_builder_destroy(builder);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_non_null(strstr(err.message, row->reason));
  }
}

static void nesting_is_capped(void **state) {
  (void)state;
  enum { LEVELS = 3000 };
  static char text[LEVELS * 32 + 128];
  size_t size = (size_t)snprintf(text, sizeof text,
                                 "{\"results\":[],\"arguments\":[{\"type\":");
  for (int i = 0; i < LEVELS; i++) {
    size += (size_t)snprintf(text + size, sizeof text - size,
                             "{\"kind\":\"list\",\"items\":");
  }
  size += (size_t)snprintf(text + size, sizeof text - size, "null");
  for (int i = 0; i < LEVELS; i++) text[size++] = '}';
  memcpy(text + size, "}]}", 3);
  fc_error_t err;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_int_not_equal(
      fc_signature_parse_json(fc_str_make(text, size + 3), builder, &err),
      FC_OK);
  assert_non_null(strstr(err.message, "nested deeper than 32"));
  fc_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(printed_signatures_mangle_as_before),
      FC_TEST(named_dims_come_back),
      FC_TEST(bad_documents_say_where),
      FC_TEST(nesting_is_capped),
  };
  return cmocka_run_group_tests_name("unprint", tests, NULL, NULL);
}
