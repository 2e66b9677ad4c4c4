// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"
#include "helpers/types.h"

#include <stdio.h>
#include <yyjson.h>

#include "abi/mlir_type.h"
#include "abi/print.h"

static void add(fc_builder_t *b, const char *name, const char *type,
                fc_role_t role) {
  uint32_t node;
  assert_int_equal(fc_mlir_type_build(b, fc_str(type), &node, NULL), FC_OK);
  fc_builder_argument(b, fc_str(name), node, role, name[0] != '\0',
                      FC_RAW_NEXT);
}

// A function with one argument, and a dictionary as the result.
static void predict(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("predict"));
  fc_builder_source(b, FC_SOURCE_IREE_V1);
  fc_builder_cconv(b, FC_STR("0r_r"));
  add(b, "x", "tensor<?x784xf32>", FC_ROLE_IN);
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  fc_builder_append_key(b, dict, FC_STR("label"),
                        fc_builder_scalar(b, FC_DTYPE_I64));
  fc_builder_result(b, FC_STR(""), dict, FC_RAW_NEXT);
}

// Every kind of type, in one tree.
static void kinds(fc_builder_t *b) {
  const int64_t dims[] = {2, FC_DIM_DYNAMIC,
                          fc_builder_dim_name(b, FC_STR("N"))};
  const int64_t strides[] = {8, FC_STRIDE_DYNAMIC, -1};
  fc_builder_name(b, FC_STR("kinds"));
  fc_builder_source(b, FC_SOURCE_SIP);
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  fc_builder_append_key(
      b, dict, FC_STR("strided"),
      fc_builder_strided(b, FC_DTYPE_F32, 3, dims, strides, FC_STRIDE_DYNAMIC));
  fc_builder_append_key(b, dict, FC_STR("any rank"),
                        fc_builder_tensor(b, FC_DTYPE_I8, -1, NULL));
  uint32_t list = fc_builder_node(b, FC_TYPE_LIST);
  fc_builder_append(b, list, fc_builder_bytes(b, FC_FLAVOR_RAW));
  fc_builder_append_key(b, dict, FC_STR("list"), list);
  uint32_t span = fc_builder_node(b, FC_TYPE_LIST);
  fc_builder_at(b, span)->flags = FC_TYPE_VARIADIC;
  fc_builder_append(b, span, fc_builder_bytes(b, FC_FLAVOR_UTF8));
  fc_builder_append_key(b, dict, FC_STR("span"), span);
  uint32_t tuple = fc_builder_node(b, FC_TYPE_TUPLE);
  fc_builder_at(b, tuple)->flavor = FC_FLAVOR_LIST;
  fc_builder_append(b, tuple, fc_builder_vector(b, FC_DTYPE_F32, 1, dims));
  fc_builder_append(b, tuple, fc_builder_opaque(b, FC_STR("!hal.fence")));
  fc_builder_append_key(b, dict, FC_STR(""), tuple);
  uint32_t empty = fc_builder_node(b, FC_TYPE_TUPLE);
  fc_builder_at(b, empty)->flavor = FC_FLAVOR_STRUCT;
  fc_builder_append_key(b, dict, FC_STR("e"), empty);
  uint32_t refs = fc_builder_node(b, FC_TYPE_REFARRAY);
  fc_builder_dims(b, refs, 1, dims);
  fc_builder_append(b, refs, fc_builder_node(b, FC_TYPE_UNKNOWN));
  fc_builder_append_key(b, dict, FC_STR("refs"), refs);
  uint32_t untyped = fc_builder_tensor(b, FC_DTYPE_NONE, 1, dims);
  fc_builder_at(b, untyped)->flags = FC_TYPE_UNTYPED;
  fc_builder_append_key(b, dict, FC_STR("u"), untyped);
  uint32_t leaf = fc_builder_scalar(b, FC_DTYPE_C64);
  fc_builder_at(b, leaf)->raw_index = 3;
  fc_builder_append_key(b, dict, FC_STR("leaf"), leaf);
  fc_builder_append_key(b, dict, FC_STR("gap"),
                        fc_builder_node(b, FC_TYPE_NULL));
  fc_builder_result(b, FC_STR("r"), dict, FC_RAW_NEXT);
  fc_builder_result(b, FC_STR("s"), fc_builder_scalar(b, FC_DTYPE_I1),
                    FC_RAW_NEXT);
  fc_builder_refuse(b, FC_STR("because"));
}

static void roles(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("roles"));
  fc_builder_source(b, FC_SOURCE_SIDECAR);
  fc_builder_async(b, true);
  add(b, "a", "memref<4xf32, strided<[2], offset: 1>>", FC_ROLE_INOUT);
  fc_builder_role(b, 0, FC_ROLE_INOUT, true);
  add(b, "", "memref<2xi8>", FC_ROLE_OUT);
  fc_builder_memory_safe(b, false, false);
  fc_builder_warning(b, FC_STR("careful"));
  fc_builder_attr(b, FC_STR("k"), FC_STR("v\"\n"));
}

static void refused(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("f"));
  fc_builder_refuse(b, FC_STR("it is \"so\""));
}

// Names of dims are printed in brackets, and in quotes if they are no words.
static void named_dims(fc_builder_t *b) {
  const int64_t k = fc_builder_dim_name(b, FC_STR("k"));
  const int64_t next = fc_builder_dim_name(b, FC_STR("k + 1\"x"));
  const int64_t a[] = {FC_DIM_DYNAMIC, k, 3}, r[] = {next, k};
  fc_builder_name(b, FC_STR("f"));
  fc_builder_argument(b, FC_STR("a"), fc_builder_tensor(b, FC_DTYPE_F32, 3, a),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_tensor(b, FC_DTYPE_I8, 2, r),
                    FC_RAW_NEXT);
}

// Names that would end their quotes early if a printer did not escape them.
static void hostile(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("f\",\"x\":1\n\xff(a) -> "));
  add(b, "x: i8, y", "i8", FC_ROLE_IN);
  fc_builder_result(b, FC_STR(""), fc_builder_opaque(b, FC_STR("!a<\"\n\">")),
                    FC_RAW_NEXT);
}

static void lone_tuple(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("t"));
  uint32_t node;
  assert_int_equal(fc_mlir_type_build(b, FC_STR("tuple<i8, i16>"), &node, NULL),
                   FC_OK);
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
}

static void root_of(fc_builder_t *b, uint32_t root) {
  fc_builder_name(b, FC_STR("f"));
  fc_builder_source(b, FC_SOURCE_SIP);
  fc_builder_root_tree(b, true);
  fc_builder_argument(b, FC_STR(""), root, FC_ROLE_IN, false, FC_RAW_NONE);
}
static uint32_t raw_leaf(fc_builder_t *b, int32_t index) {
  uint32_t node = fc_builder_node(b, FC_TYPE_UNKNOWN);
  fc_builder_at(b, node)->raw_index = index;
  return node;
}
static void root_dict(fc_builder_t *b) {
  uint32_t root = fc_builder_node(b, FC_TYPE_DICT);
  fc_builder_append_key(b, root, FC_STR("x"), raw_leaf(b, 1));
  fc_builder_append_key(b, root, FC_STR("y"), raw_leaf(b, 0));
  root_of(b, root);
}
static void root_list(fc_builder_t *b) {
  uint32_t root = fc_builder_node(b, FC_TYPE_TUPLE);
  fc_builder_at(b, root)->flavor = FC_FLAVOR_LIST;
  fc_builder_append(b, root, raw_leaf(b, 0));
  fc_builder_append(b, root, fc_builder_node(b, FC_TYPE_NULL));
  fc_builder_append(b, root, raw_leaf(b, 1));
  root_of(b, root);
}
static void root_leaf(fc_builder_t *b) { root_of(b, raw_leaf(b, 0)); }

static const struct {
  const char *name;
  void (*build)(fc_builder_t *builder);
  const char *module;
  const char *text;
  const char *json;
} rows[] = {
    {"predict", predict, "m", "predict(x: tensor<?x784xf32>) -> {label: i64}",
     "{\"module\":\"m\",\"version\":\"1\",\"name\":\"predict\",\"source\":"
     "\"iree.abi\",\"model\":\"sync\",\"arguments\":[{\"position\":0,\"name\":"
     "\"x\",\"keyword\":true,\"role\":\"in\",\"type\":{\"kind\":\"tensor\","
     "\"dtype\":\"f32\",\"shape\":[null,784]}}],\"results\":[{\"type\":{"
     "\"kind\":\"dict\",\"fields\":[{\"name\":\"label\",\"type\":{\"kind\":"
     "\"scalar\",\"dtype\":\"i64\"}}]}}],\"text\":\"predict(x: "
     "tensor<?x784xf32>) -> {label: i64}\",\"raw\":{\"cconv\":\"0r_r\","
     "\"attrs\":{}},\"callable\":true,\"reason\":null}"},
    {"kinds", kinds, "",
     "kinds() -> (r: {strided: tensor<2x?x[N]xf32, strided<[8, ?, -1], offset: "
     "?>>, \"any rank\": tensor<*xi8>, list: list<bytes>, span: utf8..., \"\": "
     "[vector<2xf32>, !hal.fence], e: struct(), refs: refarray<2xunknown>, u: "
     "tensor<2xunknown>, leaf: complex<f32>, gap: null}, s: i1)",
     "{\"name\":\"kinds\",\"source\":\"sip\",\"model\":\"sync\",\"arguments\":"
     "[],\"results\":[{\"name\":\"r\",\"type\":{\"kind\":\"dict\",\"fields\":["
     "{\"name\":\"strided\",\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\","
     "\"shape\":[2,null,null],\"dims\":[null,null,\"N\"],\"strides\":[8,null,"
     "-1],\"offset\":null}},{\"name\":\"any rank\",\"type\":{\"kind\":"
     "\"tensor\",\"dtype\":\"i8\",\"shape\":null}},{\"name\":\"list\",\"type\":"
     "{\"kind\":\"list\",\"items\":{\"kind\":\"bytes\",\"encoding\":\"raw\"}}},"
     "{\"name\":\"span\",\"type\":{\"kind\":\"list\",\"items\":{\"kind\":"
     "\"bytes\",\"encoding\":\"utf8\"},\"variadic\":true}},{\"name\":\"\","
     "\"type\":{\"kind\":\"tuple\",\"items\":[{\"kind\":\"vector\",\"dtype\":"
     "\"f32\",\"shape\":[2]},{\"kind\":\"opaque\",\"type\":\"!hal.fence\"}],"
     "\"flavor\":\"list\"}},{\"name\":\"e\",\"type\":{\"kind\":\"tuple\","
     "\"items\":[],\"flavor\":\"struct\"}},{\"name\":\"refs\",\"type\":{"
     "\"kind\":\"refarray\",\"shape\":[2],\"items\":{\"kind\":\"unknown\"}}},{"
     "\"name\":\"u\",\"type\":{\"kind\":\"tensor\",\"dtype\":null,\"shape\":[2]"
     "}},{\"name\":\"leaf\",\"type\":{\"kind\":\"scalar\",\"dtype\":"
     "\"complex<f32>\",\"raw_index\":3}},{\"name\":\"gap\",\"type\":{\"kind\":"
     "\"null\"}}]}},{\"name\":\"s\",\"type\":{\"kind\":\"scalar\",\"dtype\":"
     "\"i1\"}}],\"text\":\"kinds() -> (r: {strided: tensor<2x?x[N]xf32, "
     "strided<[8, ?, -1], offset: ?>>, \\\"any rank\\\": tensor<*xi8>, list: "
     "list<bytes>, span: utf8..., \\\"\\\": [vector<2xf32>, !hal.fence], e: "
     "struct(), refs: refarray<2xunknown>, u: tensor<2xunknown>, leaf: "
     "complex<f32>, gap: null}, s: i1)\",\"callable\":false,\"reason\":"
     "\"because\"}"},
    {"roles", roles, "m",
     "roles(inout a: tensor<4xf32, strided<[2], offset: 1>>, out tensor<2xi8>) "
     "-> ()",
     "{\"module\":\"m\",\"version\":\"1\",\"name\":\"roles\",\"source\":"
     "\"sidecar\",\"model\":\"async\",\"arguments\":[{\"position\":0,\"name\":"
     "\"a\",\"keyword\":true,\"role\":\"inout\",\"certain\":true,\"type\":{"
     "\"kind\":\"tensor\","
     "\"dtype\":\"f32\",\"shape\":[4],\"strides\":[2],\"offset\":1}},{"
     "\"position\":1,\"keyword\":false,\"role\":\"out\",\"type\":{\"kind\":"
     "\"tensor\",\"dtype\":\"i8\",\"shape\":[2]}}],\"results\":[],\"text\":"
     "\"roles(inout a: tensor<4xf32, strided<[2], offset: 1>>, out "
     "tensor<2xi8>) -> ()\",\"raw\":{\"cconv\":\"\",\"attrs\":{\"k\":\"v\\\"\\"
     "n\"}},\"callable\":true,\"reason\":null,\"memory_safe\":false,"
     "\"warning\":\"careful\"}"},
    {"named dims", named_dims, "",
     "f(a: tensor<?x[k]x3xf32>) -> tensor<[\"k + 1\\\"x\"]x[k]xi8>",
     "{\"name\":\"f\",\"source\":\"mlir\",\"model\":\"sync\","
     "\"arguments\":[{\"position\":0,\"name\":\"a\",\"keyword\":true,"
     "\"role\":\"in\",\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\","
     "\"shape\":[null,null,3],\"dims\":[null,\"k\",null]}}],\"results\":[{"
     "\"type\":{\"kind\":\"tensor\",\"dtype\":\"i8\",\"shape\":[null,null],"
     "\"dims\":[\"k + 1\\\"x\",\"k\"]}}],\"text\":\"f(a: "
     "tensor<?x[k]x3xf32>) -> tensor<[\\\"k + 1\\\\\\\"x\\\"]x[k]xi8>\","
     "\"callable\":true,\"reason\":null}"},
    {"lone tuple", lone_tuple, "", "t() -> ((i8, i16))", NULL},
    {"root dict", root_dict, "", "f(x: unknown, y: unknown) -> ()",
     "{\"name\":\"f\",\"source\":\"sip\",\"model\":\"sync\",\"root\":\"dict\","
     "\"arguments\":[{\"position\":0,\"name\":\"x\",\"keyword\":true,\"role\":"
     "\"in\",\"type\":{\"kind\":\"unknown\",\"raw_index\":1}},{\"position\":1,"
     "\"name\":\"y\",\"keyword\":true,\"role\":\"in\",\"type\":{\"kind\":"
     "\"unknown\",\"raw_index\":0}}],\"results\":[],\"text\":\"f(x: unknown, "
     "y: unknown) -> ()\",\"callable\":true,\"reason\":null}"},
    {"root list", root_list, "", "f(unknown, null, unknown) -> ()", NULL},
    {"root leaf", root_leaf, "", "f(unknown) -> ()",
     "{\"name\":\"f\",\"source\":\"sip\",\"model\":\"sync\",\"root\":\"leaf\","
     "\"arguments\":[{\"position\":0,\"keyword\":false,\"role\":\"in\","
     "\"type\":{\"kind\":\"unknown\",\"raw_index\":0}}],\"results\":[],"
     "\"text\":\"f(unknown) -> ()\",\"callable\":true,\"reason\":null}"},
    {"hostile", hostile, "",
     "\"f\\\",\\\"x\\\":1\\n\xef\xbf\xbd(a) -> \"(\"x: i8, y\": i8) -> "
     "\"!a<\\\"\\n\\\">\"",
     NULL},
};

static void signatures_render_as_documented(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_builder_reset(b);
    rows[i].build(b);
    fc_signature_t *s = NULL;
    assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
    assert_string_equal(fc_test_signature_text(s), rows[i].text);

    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 16);
    assert_int_equal(fc_signature_print_json(s, fc_str(rows[i].module),
                                             FC_STR("1"), &text.sink, NULL),
                     FC_OK);
    fc_str_t json = fc_text_str(&text);
    // yyjson, another reader, accepts the JSON and finds the line in it.
    yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
    assert_non_null(doc);
    yyjson_val *line = yyjson_obj_get(yyjson_doc_get_root(doc), "text");
    assert_string_equal(yyjson_get_str(line), rows[i].text);
    yyjson_doc_free(doc);
    assert_int_equal(fc_sink_put(&text.sink, FC_STR("\0"), NULL), FC_OK);
    if (rows[i].json) assert_string_equal(text.data, rows[i].json);
    fc_text_deinit(&text);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

static void a_list_says_enough_to_choose(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*build)(fc_builder_t *b);
    const char *json;
  } list[] = {
      {"roles", roles,
       "{\"module\":\"m\",\"version\":\"1\",\"name\":\"roles\",\"text\":"
       "\"roles(inout a: tensor<4xf32, strided<[2], offset: 1>>, out "
       "tensor<2xi8>) -> ()\",\"callable\":true,\"reason\":null}"},
      {"not callable", refused,
       "{\"module\":\"m\",\"version\":\"1\",\"name\":\"f\",\"text\":\"f() -> "
       "()\",\"callable\":false,\"reason\":\"it is \\\"so\\\"\"}"},
  };
  FC_TEST_EACH_ROW(const __typeof__(list[0]), row, list) {
    fc_builder_t *b = fc_builder_create(fc_allocator_system());
    fc_signature_t *s = NULL;
    row->build(b);
    assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 16);
    assert_int_equal(
        fc_signature_print_short(s, FC_STR("m"), FC_STR("1"), &text.sink, NULL),
        FC_OK);
    assert_int_equal(fc_sink_put(&text.sink, FC_STR("\0"), NULL), FC_OK);
    assert_string_equal(text.data, row->json);
    fc_text_deinit(&text);
    fc_signature_destroy(s);
    fc_builder_destroy(b);
  }
}

static fc_status_t attempt_print(fc_allocator_t allocator, void *context,
                                 fc_error_t *err) {
  (void)context;
  fc_builder_t *b = fc_builder_create(allocator);
  if (!b) return fc_fail_memory(err);
  predict(b);
  fc_signature_t *s = NULL;
  fc_status_t status = fc_signature_build(b, &s, err);
  fc_text_t text;
  fc_text_init(&text, allocator, 1 << 16);
  if (status == FC_OK) {
    status =
        fc_signature_print_json(s, FC_STR("m"), FC_STR("1"), &text.sink, err);
  }
  fc_text_deinit(&text);
  fc_signature_destroy(s);
  fc_builder_destroy(b);
  return status;
}

static void printing_survives_every_failing_allocation(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt_print, NULL) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(signatures_render_as_documented),
      FC_TEST(a_list_says_enough_to_choose),
      FC_TEST(printing_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
