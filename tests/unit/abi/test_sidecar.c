// SPDX-License-Identifier: Apache-2.0
#include "helpers/compare.h"
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/sidecar.h"

// A description that has every member of docs/abi.md.
static const char kFull[] =
    "{ \"farcall\": 1, \"abi\": \"mlir-memref\","
    "  \"target\": \"x86_64-linux-gnu\", \"index_bits\": 64,"
    "  \"compiler\": \"mlir 22.1.8\", \"pure\": true, \"checked\": true,"
    "  \"max_frame\": 400008, \"alignment\": 1, \"future\": {\"a\": [1, 2]},"
    "  \"so_sha256\": "
    "\"0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef\","
    "  \"functions\": ["
    "  { \"name\": \"mlp\", \"symbol\": \"_mlir_ciface_mlp\","
    "    \"cc\": \"ciface\", \"doc\": \"relu MLP\","
    "    \"threads\": \"reentrant\", \"stack\": 65536,"
    "    \"show\": [ { \"at\": \"/0\", \"labels\": [\"no\", \"yes\"] } ],"
    "    \"args\": [ { \"name\": \"x\", \"type\": \"memref<?x4xf32>\","
    "                \"dims\": [\"N\", 4] } ],"
    "    \"results\": [ { \"name\": \"y\", \"type\": \"memref<?x2xf32>\","
    "                 \"dims\": [\"N\", 2], \"ownership\": \"owned\" } ] },"
    "  { \"name\": \"norm\", \"symbol\": \"_farcall_norm\", \"cc\": \"packed\","
    "    \"args\": ["
    "      { \"type\": \"memref<?x4xf32, strided<[?, 1], offset: ?>>\" },"
    "      { \"type\": \"f16\" },"
    "      { \"type\": \"memref<?xf32>\", \"role\": \"out\","
    "        \"shape\": [\"args[0].dim0\"] } ],"
    "    \"results\": [ { \"type\": \"i32\" } ] } ] }";

static fc_sidecar_t *parse(const char *json, fc_error_t *err) {
  fc_sidecar_t *sidecar = NULL;
  fc_status_t status = fc_sidecar_parse(fc_str(json), FC_SOURCE_SIDECAR, NULL,
                                        fc_allocator_system(), &sidecar, err);
  assert_int_equal(status == FC_OK, sidecar != NULL);
  return sidecar;
}

static void the_full_description_reads(void **state) {
  (void)state;
  fc_error_t err = {0};
  fc_sidecar_t *sidecar = parse(kFull, &err);
  if (!sidecar) fail_msg("%s", err.message);
  assert_true(sidecar->pure);
  assert_true(sidecar->checked);
  assert_false(sidecar->ftz);
  assert_int_equal(sidecar->functions[0].signature->alignment, 1);
  assert_int_equal(sidecar->so_sha256.size, 64);
  assert_true(fc_str_equal(sidecar->compiler, FC_STR("mlir 22.1.8")));
  assert_int_equal(sidecar->function_count, 2);

  const fc_sidecar_function_t *mlp = &sidecar->functions[0];
  assert_true(fc_str_equal(mlp->name, FC_STR("mlp")));
  assert_string_equal(mlp->symbol.data, "_mlir_ciface_mlp");
  assert_int_equal(mlp->cc, FC_CC_CIFACE);
  assert_int_equal(mlp->threads, FC_THREADING_REENTRANT);
  assert_int_equal(mlp->ownership[0], FC_OWNERSHIP_OWNED);
  const fc_signature_t *s = mlp->signature;
  assert_int_equal(s->source, FC_SOURCE_SIDECAR);
  assert_true(s->callable);
  assert_true(s->memory_known && s->memory_safe);
  const fc_type_t *x = fc_signature_node(s, s->arguments[0].type);
  const fc_type_t *y = fc_signature_node(s, s->results[0].type);
  assert_true(fc_dim_is_named(fc_signature_dims(s, x)[0]));
  assert_int_equal(fc_signature_dims(s, x)[0], fc_signature_dims(s, y)[0]);
  assert_int_equal(fc_signature_dims(s, x)[1], 4);
  assert_true(s->arguments[0].keyword);
  assert_true(
      fc_str_equal(fc_signature_attr(s, FC_STR("doc")), FC_STR("relu MLP")));
  assert_true(fc_str_equal(fc_signature_attr(s, FC_STR("symbol")),
                           FC_STR("_mlir_ciface_mlp")));

  const fc_sidecar_function_t *norm = &sidecar->functions[1];
  assert_int_equal(norm->cc, FC_CC_PACKED);
  assert_int_equal(norm->threads, FC_THREADING_AUTO);
  assert_int_equal(norm->ownership[0], FC_OWNERSHIP_AUTO);
  s = norm->signature;
  assert_true(s->callable);
  assert_false(s->arguments[0].keyword);
  assert_int_equal(s->arguments[2].role, FC_ROLE_OUT);
  assert_int_equal(s->raw_argument_count, 3);
  assert_int_equal(s->raw_result_count, 1);
  const fc_type_t *in = fc_signature_node(s, s->arguments[0].type);
  const fc_type_t *out = fc_signature_node(s, s->arguments[2].type);
  assert_true(in->flags & FC_TYPE_STRIDED);
  int64_t shared = fc_signature_dims(s, out)[0];
  assert_true(fc_dim_is_named(shared));
  assert_int_equal(fc_signature_dims(s, in)[0], shared);
  assert_int_equal(fc_signature_dims(s, in)[1], 4);
  assert_true(
      fc_str_equal(fc_signature_text(s, s->dim_names[fc_dim_name(shared)]),
                   FC_STR("args[0].dim0")));
  fc_sidecar_destroy(sidecar);
}

// Makes a whole document of one function.
static char *wrap(const char *function) {
  static char json[4096];
  snprintf(json, sizeof json, "{\"farcall\":1,\"functions\":[%s]}", function);
  return json;
}

#define F(members) "{\"name\":\"f\",\"symbol\":\"s\"," members "}"

// Functions that are listed. They are callable unless the row has a reason.
static const struct {
  const char *name;
  const char *function;
  const char *reason;  // NULL: callable
} listed[] = {
    {"nothing", "{\"name\":\"f\",\"symbol\":\"s\"}", NULL},
    {"null dims",
     F("\"args\":[{\"type\":\"memref<?x4xi8>\",\"dims\":[null,"
       "4]}]"),
     NULL},
    {"dims fix a size",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"dims\":[3]}]"), NULL},
    {"static out", F("\"args\":[{\"type\":\"memref<4xi8>\",\"role\":\"out\"}]"),
     NULL},
    {"out with sizes",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\""
       ",\"shape\":[7]}]"),
     NULL},
    {"out by name",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"dims\":[\"N\"]},"
       "{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"dims\":["
       "\"N\"]}]"),
     NULL},
    {"out by name in shape",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"shape\":["
       "\"N\"]},{\"type\":\"memref<?xi8>\",\"dims\":[\"N\"]}]"),
     NULL},
    {"out after a static dim",
     F("\"args\":[{\"type\":\"memref<5xi8>\"},{\"type\":\"memref<?xi8>\","
       "\"role\":\"out\",\"shape\":[\"args[0].dim0\"]}]"),
     NULL},
    {"inout", F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"inout\"}]"),
     NULL},
    {"unranked", F("\"args\":[{\"type\":\"memref<*xi8>\"}]"), NULL},
    {"i128", F("\"args\":[{\"name\":\"a\",\"type\":\"i128\"}]"),
     "argument 0 ('a'): i128: integers of this width"},
    {"vector result",
     F("\"results\":[{\"type\":\"i8\"},{\"type\":\"vector<8xf32>\"}]"),
     "result 1: vector<8xf32>: only vectors of rows"},
    {"out, unknown size",
     F("\"args\":[{\"type\":\"memref<2x?xi8>\",\"role\":\"out\"}]"),
     "argument 0 is out and the size of its dim 1 is not known"},
    {"out, unbound name",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"dims\":[\"N\"]"
       "}]"),
     "argument 0 is out and the size of its dim 0"},
    {"out, unranked",
     F("\"args\":[{\"type\":\"memref<*xi8>\",\"role\":\"out\""
       "}]"),
     "out and unranked"},
    {"expanded results",
     F("\"cc\":\"expanded\",\"results\":[{\"type\":\"memref<*xf32>\"},{"
       "\"type\":\"complex<f32>\"}]"),
     NULL},
    {"bareptr static",
     F("\"cc\":\"bareptr\",\"args\":[{\"type\":"
       "\"memref<4xi8>\"}]"),
     NULL},
    {"bareptr unranked",
     F("\"cc\":\"bareptr\",\"args\":[{\"type\":"
       "\"memref<*xi8>\"}]"),
     "static shapes"},
    {"bareptr dynamic",
     F("\"cc\":\"bareptr\",\"args\":[{\"type\":"
       "\"memref<?xi8>\"}]"),
     "takes and returns static shapes"},
    {"bareptr dynamic result",
     F("\"cc\":\"bareptr\",\"results\":[{\"type\":"
       "\"memref<*xi8>\"}]"),
     "takes and returns static shapes"},
    {"bareptr dynamic offset",
     F("\"cc\":\"bareptr\",\"results\":[{\"type\":"
       "\"memref<4xi8, strided<[1], offset: ?>>\"}]"),
     "takes and returns static shapes"},
};

static void functions_are_listed_with_a_reason(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(listed); i++) {
    fc_test_row(listed[i].name);
    fc_error_t err = {0};
    fc_sidecar_t *sidecar = parse(wrap(listed[i].function), &err);
    if (!sidecar) fail_msg("%s", err.message);
    const fc_signature_t *s = sidecar->functions[0].signature;
    fc_str_t reason = fc_signature_text(s, s->reason);
    if (listed[i].reason) {
      assert_false(s->callable);
      char text[512];
      snprintf(text, sizeof text, "%.*s", FC_STR_ARG(reason));
      if (!strstr(text, listed[i].reason)) fail_msg("'%s'", text);
    } else if (!s->callable) {
      fail_msg("%.*s", FC_STR_ARG(reason));
    }
    fc_sidecar_destroy(sidecar);
  }
  fc_test_row(NULL);
}

static const struct {
  const char *name;
  const char *json;
  const char *pointer;
  const char *message;
} refused[] = {
    {"empty", "", "", "not JSON"},
    {"not json", "{\"farcall\":1,", "", "not JSON"},
    {"trailing", "{\"farcall\":1,\"functions\":[]} x", "", "not JSON"},
    {"array", "[]", "", "must be an object"},
    {"no format", "{}", "/farcall", "number of the format"},
    {"format text", "{\"farcall\":\"1\"}", "/farcall", "number"},
    {"format 2", "{\"farcall\":2,\"functions\":[]}", "/farcall", "format 2"},
    {"abi", "{\"farcall\":1,\"abi\":\"onnx\",\"functions\":[]}", "/abi",
     "'onnx' is none of: mlir-memref"},
    {"index", "{\"farcall\":1,\"index_bits\":32,\"functions\":[]}",
     "/index_bits", "32, only 64"},
    {"sha", "{\"farcall\":1,\"so_sha256\":\"12\",\"functions\":[]}",
     "/so_sha256", "64 hex"},
    {"alignment 0", "{\"farcall\":1,\"alignment\":0,\"functions\":[]}",
     "/alignment", "a power of two up to 64"},
    {"alignment 3", "{\"farcall\":1,\"alignment\":3,\"functions\":[]}",
     "/alignment", "a power of two up to 64"},
    {"alignment 128", "{\"farcall\":1,\"alignment\":128,\"functions\":[]}",
     "/alignment", "a power of two up to 64"},
    {"names only", "{\"farcall\":1,\"abi\":\"module\",\"functions\":[]}",
     "/abi", "may not name the module's own ABI"},
    {"pure", "{\"farcall\":1,\"pure\":1,\"functions\":[]}", "/pure",
     "true or false"},
    {"no functions", "{\"farcall\":1}", "/functions", "is missing"},
    {"functions", "{\"farcall\":1,\"functions\":{}}", "/functions", "array"},
    {"function", "{\"farcall\":1,\"functions\":[1]}", "/functions/0",
     "must be an object"},
    {"name", "{\"farcall\":1,\"functions\":[{\"symbol\":\"s\"}]}",
     "/functions/0/name", "is missing"},
    {"symbol", "{\"farcall\":1,\"functions\":[{\"name\":\"s\"}]}",
     "/functions/0/symbol", "is missing"},
    {"symbol NUL",
     "{\"farcall\":1,\"functions\":[{\"name\":\"s\",\"symbol\":\"a\\u0000\"}]}",
     "/functions/0/symbol", "NUL"},
    {"twice",
     "{\"farcall\":1,\"functions\":[{\"name\":\"s\",\"symbol\":\"a\"},"
     "{\"name\":\"s\",\"symbol\":\"b\"}]}",
     "/functions/1/name", "function 0 has the same name"},
};

static const struct {
  const char *name;
  const char *function;
  const char *pointer;
  const char *message;
} refused_functions[] = {
    {"cc", F("\"cc\":\"fast\""), "/functions/0/cc",
     "'fast' is none of: ciface, packed, expanded, bareptr"},
    {"threads", F("\"threads\":\"many\""), "/functions/0/threads", "none of"},
    {"args", F("\"args\":{}"), "/functions/0/args", "array"},
    {"results", F("\"results\":1"), "/functions/0/results", "array"},
    {"argument", F("\"args\":[\"i8\"]"), "/functions/0/args/0", "object"},
    {"result", F("\"results\":[null]"), "/functions/0/results/0", "object"},
    {"no type", F("\"args\":[{}]"), "/functions/0/args/0/type", "is missing"},
    {"bad type", F("\"args\":[{\"type\":\"i8\"},{\"type\":\"memref<4\"}]"),
     "/functions/0/args/1/type", "type 'memref<4', byte 8"},
    {"type number", F("\"args\":[{\"type\":8}]"), "/functions/0/args/0/type",
     "string"},
    {"role", F("\"args\":[{\"type\":\"i8\",\"role\":\"middle\"}]"),
     "/functions/0/args/0/role", "none of: in, out, inout, scratch"},
    {"scalar out", F("\"args\":[{\"type\":\"i8\",\"role\":\"out\"}]"),
     "/functions/0/args/0/role", "only a memref"},
    {"ownership", F("\"results\":[{\"type\":\"i8\",\"ownership\":\"x\"}]"),
     "/functions/0/results/0/ownership", "none of: auto, owned, borrowed"},
    {"dims count", F("\"args\":[{\"type\":\"memref<?xi8>\",\"dims\":[1,2]}]"),
     "/functions/0/args/0/dims", "2 dims for a type of 1"},
    {"dims of a scalar", F("\"args\":[{\"type\":\"i8\",\"dims\":[1]}]"),
     "/functions/0/args/0/dims", "1 dims for a type of 0"},
    {"dims unranked", F("\"args\":[{\"type\":\"memref<*xi8>\",\"dims\":[1]}]"),
     "/functions/0/args/0/dims", "1 dims"},
    {"dims differ", F("\"args\":[{\"type\":\"memref<4xi8>\",\"dims\":[5]}]"),
     "/functions/0/args/0/dims", "dim 0 is 5, 4 in the type"},
    {"dims named", F("\"args\":[{\"type\":\"memref<4xi8>\",\"dims\":[\"N\"]}]"),
     "/functions/0/args/0/dims", "has a size"},
    {"dims negative", F("\"args\":[{\"type\":\"memref<?xi8>\",\"dims\":[-1]}]"),
     "/functions/0/args/0/dims", "size, a name or null"},
    {"dims empty name",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"dims\":[\"\"]}]"),
     "/functions/0/args/0/dims", "size, a name or null"},
    {"shape of in", F("\"args\":[{\"type\":\"memref<?xi8>\",\"shape\":[1]}]"),
     "/functions/0/args/0/shape", "only an out"},
    {"shape count",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"shape\":[]}]"),
     "/functions/0/args/0/shape", "0 dims for a type of 1"},
    {"shape of itself",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"shape\":["
       "\"args[0].dim0\"]}]"),
     "/functions/0/args/0/shape", "no memref the caller sends"},
    {"shape of nobody",
     F("\"args\":[{\"type\":\"memref<?xi8>\",\"role\":\"out\",\"shape\":["
       "\"args[99999].dim0\"]}]"),
     "/functions/0/args/0/shape", "no memref the caller sends"},
    {"shape past the rank",
     F("\"args\":[{\"type\":\"memref<?xi8>\"},{\"type\":\"memref<?xi8>\","
       "\"role\":\"out\",\"shape\":[\"args[0].dim1\"]}]"),
     "/functions/0/args/1/shape", "it has 1 dims"},
    {"shape differs",
     F("\"args\":[{\"type\":\"memref<4xi8>\",\"role\":\"out\",\"shape\":[5]}]"),
     "/functions/0/args/0/shape", "dim 0 is 4 in the type"},
    {"shape is less",
     F("\"args\":[{\"type\":\"memref<4xi8>\",\"role\":\"out\",\"shape\":[3]}]"),
     "/functions/0/args/0/shape", "dim 0 is 4 in the type"},
    {"shape of nothing differs",
     F("\"args\":[{\"type\":\"memref<0xi8>\",\"role\":\"out\",\"shape\":[1]}]"),
     "/functions/0/args/0/shape", "dim 0 is 0 in the type"},
    {"names",
     F("\"args\":[{\"name\":\"x\",\"type\":\"i8\"},{\"name\":\"x\","
       "\"type\":\"i8\"}]"),
     "/functions/0", "both named 'x'"},
};

static void expect_refused(const char *json, const char *pointer,
                           const char *message) {
  fc_error_t err = {0};
  fc_sidecar_t *sidecar = parse(json, &err);
  assert_null(sidecar);
  assert_int_equal(err.code, FC_CODE_ABI_METADATA);
  assert_true(err.has_pointer);
  assert_string_equal(err.pointer, pointer);
  if (!strstr(err.message, message)) fail_msg("'%s'", err.message);
}

static void wrong_descriptions_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    fc_test_row(refused[i].name);
    expect_refused(refused[i].json, refused[i].pointer, refused[i].message);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused_functions); i++) {
    fc_test_row(refused_functions[i].name);
    expect_refused(wrap(refused_functions[i].function),
                   refused_functions[i].pointer, refused_functions[i].message);
  }
  fc_test_row(NULL);
}

static const struct {
  const char *name;
  bool checked;
  const char *args;
  bool safe;
  bool trusts_dims;
} safety[] = {
    {"static", false, "{\"type\":\"memref<4xi8>\"}", false, false},
    {"scalars", false, "{\"type\":\"i8\"}", false, false},
    {"dynamic", false, "{\"type\":\"memref<?xi8>\"}", false, true},
    {"named", false, "{\"type\":\"memref<?xi8>\",\"dims\":[\"N\"]}", false,
     true},
    {"unranked", false, "{\"type\":\"memref<*xi8>\"}", false, true},
    {"static, checked", true, "{\"type\":\"memref<4xi8>\"}", true, false},
    {"dynamic, checked", true, "{\"type\":\"memref<?xi8>\"}", true, false},
};

static void only_checked_code_is_memory_safe(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(safety); i++) {
    fc_test_row(safety[i].name);
    char json[512];
    snprintf(json, sizeof json,
             "{\"farcall\":1,\"checked\":%s,\"functions\":[{\"name\":\"f\","
             "\"symbol\":\"s\",\"args\":[%s]}]}",
             safety[i].checked ? "true" : "false", safety[i].args);
    fc_sidecar_t *sidecar = parse(json, NULL);
    assert_non_null(sidecar);
    assert_true(sidecar->functions[0].signature->memory_known);
    assert_int_equal(sidecar->functions[0].signature->memory_safe,
                     safety[i].safe);
    assert_int_equal(sidecar->functions[0].signature->trusts_dims,
                     safety[i].trusts_dims);
    fc_sidecar_destroy(sidecar);
  }
  fc_test_row(NULL);
}

// The alignment is at least "alignment", and at least one row of a vector element.
static void rows_of_vectors_raise_the_alignment(void **state) {
  (void)state;
  static const struct {
    const char *name;  // the type of the argument
    int alignment, expected;
  } rows[] = {
      {"memref<4xf64>", 1, 1},
      {"memref<4xvector<4xf32>>", 1, 16},
      {"memref<4xvector<4xf32>>", 32, 32},
      {"memref<?xvector<2x16xf32>>", 1, 64},
      {"memref<?xvector<16x2xi8>>", 1, 2},
      {"memref<vector<f32>>", 1, 1},
      {"memref<4xf32>\"},{\"type\":\"memref<?xvector<8xi16>>", 8, 16},
      {"memref<2xvector<32xf32>>", 8, 8},  // refused
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"farcall\":1,\"alignment\":%d,\"functions\":[{\"name\":\"f\","
             "\"symbol\":\"s\",\"args\":[{\"type\":\"%s\"}]},{\"name\":\"g\","
             "\"symbol\":\"s\"}]}",
             row->alignment, row->name);
    fc_error_t err = {0};
    fc_sidecar_t *sidecar = parse(json, &err);
    if (!sidecar) fail_msg("%s", err.message);
    assert_int_equal(sidecar->functions[0].signature->alignment, row->expected);
    // The alignment of one function does not affect the next function.
    assert_int_equal(sidecar->functions[1].signature->alignment,
                     row->alignment);
    fc_sidecar_destroy(sidecar);
  }
}

static void an_embedded_description_says_so(void **state) {
  (void)state;
  fc_sidecar_t *sidecar = NULL;
  assert_int_equal(
      fc_sidecar_parse(fc_str(wrap(F("\"args\":[]"))), FC_SOURCE_EMBEDDED, NULL,
                       fc_allocator_system(), &sidecar, NULL),
      FC_OK);
  assert_int_equal(sidecar->functions[0].signature->source, FC_SOURCE_EMBEDDED);
  // The alignment if the description has none.
  assert_int_equal(sidecar->functions[0].signature->alignment, 64);
  fc_sidecar_destroy(sidecar);
}

static fc_status_t attempt_full(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  (void)context;
  fc_sidecar_t *sidecar = NULL;
  fc_status_t status = fc_sidecar_parse(fc_str(kFull), FC_SOURCE_SIDECAR, NULL,
                                        allocator, &sidecar, err);
  fc_sidecar_destroy(sidecar);
  return status;
}

static void parsing_survives_every_failing_allocation(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt_full, NULL) > 10);
}

// A wrong byte at any place leads to a description or to an error with a message.
static void one_wrong_byte_is_survived(void **state) {
  (void)state;
  static const char bytes[] = "\"{}[]:,0x?<>a\\";
  for (size_t at = 0; at < sizeof kFull - 1; at++) {
    for (size_t k = 0; k < sizeof bytes - 1; k++) {
      char json[sizeof kFull];
      memcpy(json, kFull, sizeof kFull);
      json[at] = bytes[k];
      fc_error_t err = {0};
      fc_sidecar_t *sidecar = parse(json, &err);
      if (!sidecar) assert_true(err.message[0] && err.has_pointer);
      fc_sidecar_destroy(sidecar);
    }
  }
}

static void many_functions_take_few_comparisons(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  fc_error_t err;
  assert_int_equal(
      fc_sink_put(&text.sink, FC_STR("{\"farcall\":1,\"functions\":["), &err),
      FC_OK);
  for (int i = 0; i < FC_SIDECAR_FUNCTIONS_MAX; i++) {
    char function[64];
    snprintf(function, sizeof function,
             "%s{\"name\":\"f%04d\",\"symbol\":\"f\"}", i ? "," : "",
             i * 2001 % FC_SIDECAR_FUNCTIONS_MAX);
    assert_int_equal(fc_sink_put(&text.sink, fc_str(function), &err), FC_OK);
  }
  assert_int_equal(fc_sink_put(&text.sink, FC_STR("]}"), &err), FC_OK);
  const uint64_t before = fc_test_comparisons();
  fc_sidecar_t *sidecar = NULL;
  assert_int_equal(fc_sidecar_parse(fc_text_str(&text), FC_SOURCE_SIDECAR, NULL,
                                    fc_allocator_system(), &sidecar, &err),
                   FC_OK);
  assert_in_range(fc_test_comparisons() - before, FC_SIDECAR_FUNCTIONS_MAX,
                  100 * FC_SIDECAR_FUNCTIONS_MAX);
  fc_sidecar_destroy(sidecar);
  fc_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(many_functions_take_few_comparisons),
      FC_TEST(the_full_description_reads),
      FC_TEST(functions_are_listed_with_a_reason),
      FC_TEST(wrong_descriptions_are_refused),
      FC_TEST(only_checked_code_is_memory_safe),
      FC_TEST(rows_of_vectors_raise_the_alignment),
      FC_TEST(an_embedded_description_says_so),
      FC_TEST(parsing_survives_every_failing_allocation),
      FC_TEST(one_wrong_byte_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
