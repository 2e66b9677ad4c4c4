// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <yyjson.h>

#include "abi/render.h"
#include "helpers/call.h"
#include "helpers/types.h"

typedef fc_status_t (*render_t)(const fc_signature_t *signature,
                                fc_sink_t *sink, fc_error_t *err);

// The rendered text, NUL-terminated. It lies in the memory of `text`.
static const char *render(render_t print, const fc_signature_t *signature,
                          fc_text_t *text) {
  fc_text_reset(text);
  fc_error_t err = {0};
  if (print(signature, &text->sink, &err) != FC_OK) fail_msg("%s", err.message);
  assert_int_equal(fc_sink_put(&text->sink, FC_STR("\0"), NULL), FC_OK);
  return text->data;
}

static const struct {
  const char *name;  // types (helpers/types.h)
  const char *mlir;
  const char *example;
} rows[] = {
    {" -> ", "func.func private @f()", "{\"args\":[]}"},
    {"x: tensor<2x?xf32>, y: i8 -> f32",
     "func.func private @f(%x: tensor<2x?xf32>, %y: i8) -> f32",
     "{\"kwargs\":{\"x\":[[0.0],[0.0]],\"y\":0}}"},
    {"i64, a: i1, b: tensor<*xf16> -> f32, f64",
     "func.func private @f(%arg0: i64, %a: i1, %b: tensor<*xf16>) -> (f32, "
     "f64)",
     "{\"args\":[0,false,[0.0]]}"},
    {"tensor<0x3xcomplex<f64>>, tensor<3x0xi1>, vector<2x2xui8> -> null",
     "func.func private @f(%arg0: tensor<0x3xcomplex<f64>>, %arg1: "
     "tensor<3x0xi1>, %arg2: vector<2x2xui8>) -> none",
     "{\"args\":[[],[[],[],[]],[[0,0],[0,0]]]}"},
    {"[f32], (i8, {k: str, l: bytes}), ref<2x?xref<1x(i8, f32)>> -> any",
     "func.func private @f(%arg0: !farcall.list<f32>, %arg1: tuple<i8, "
     "!farcall.dict<\"k\": !farcall.utf8, \"l\": !farcall.bytes>>, %arg2: "
     "!farcall.refarray<2x?x!farcall.refarray<1xtuple<i8, f32>>>) -> "
     "!farcall.unknown",
     "{\"args\":[[0.0],[0,{\"k\":\"\",\"l\":\"\"}],[[[[0,0.0]]],[[[0,0.0]]]]]"
     "}"},
    {"ref<0x2xi8>, ref<2x0xi8>, ref<2x2xi8> -> ",
     "func.func private @f(%arg0: !farcall.refarray<0x2xi8>, %arg1: "
     "!farcall.refarray<2x0xi8>, %arg2: !farcall.refarray<2x2xi8>)",
     "{\"args\":[[],[[],[]],[[0,0],[0,0]]]}"},
    {"any, null, tensor<2x0x_> -> opaque",
     "func.func private @f(%arg0: !farcall.unknown, %arg1: none, %arg2: "
     "tensor<2x0x!farcall.unknown>) -> !farcall.opaque",
     "{\"args\":[{\"dtype\":\"f32\",\"shape\":[1],\"data\":[0.0]},null,{"
     "\"dtype\":\"f32\",\"shape\":[2,0],\"data\":[]}]}"},
    {"root {p: i8@1, q: tensor<?xf32>@0} -> f32",
     "func.func private @f(%p: i8, %q: tensor<?xf32>) -> f32",
     "{\"kwargs\":{\"p\":0,\"q\":[0.0]}}"},
    {"root (i8@0, null) -> ", "func.func private @f(%arg0: i8, %arg1: none)",
     "{\"args\":[0,null]}"},
    {"inout a: tensor<NxNxf32>, out b: tensor<NxNxf32>, {}, () -> f8E8M0FNU",
     "func.func private @f(%a: tensor<?x?xf32> {farcall.role = \"inout\"}, "
     "%b: tensor<?x?xf32> {farcall.role = \"out\"}, %arg2: !farcall.dict<>, "
     "%arg3: tuple<>) -> f8E8M0FNU",
     "{\"args\":[[[0.0]],{},[]]}"},
    {"a: tensor<?xKxf32>, b: tensor<Kx2xf32> -> tensor<Kx?xi8>",
     "func.func private @f(%a: tensor<?x?xf32>, %b: tensor<?x2xf32>) -> "
     "tensor<?x?xi8>",
     "{\"kwargs\":{\"a\":[[0.0]],\"b\":[[0.0,0.0]]}}"},
    // JSON cannot express the row length of an empty array, so K is 0 in every
    // argument.
    {"tensor<Kx1xi8>, tensor<0xKxi8>, tensor<2xKxi8> ->",
     "func.func private @f(%arg0: tensor<?x1xi8>, %arg1: tensor<0x?xi8>, "
     "%arg2: tensor<2x?xi8>)",
     "{\"args\":[[],[],[[],[]]]}"},
};

static void signatures_render(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_signature_t *s = fc_test_signature(fc_allocator_system(), rows[i].name);
    assert_string_equal(render(fc_signature_print_mlir, s, &text),
                        rows[i].mlir);
    assert_string_equal(render(fc_signature_print_example, s, &text),
                        rows[i].example);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

#define STORED(schema) \
  "{\"anyOf\":[" schema ",{\"$ref\":\"#/$defs/Reference\"}]}"

// What a schema says about a single argument. Schemas of tensors are tested by
// e2e/schema, with a validator.
static const struct {
  const char *name;
  const char *schema;
} values[] = {
    {"i1 -> ", STORED("{\"enum\":[false,true,0,1]}")},
    {"i8 -> ",
     STORED("{\"type\":\"integer\",\"minimum\":-128,\"maximum\":127}")},
    {"ui4 -> ", STORED("{\"type\":\"integer\",\"minimum\":0,\"maximum\":15}")},
    {"index -> ",
     STORED(
         "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":-9223372036854775808,"
         "\"maximum\":9223372036854775807},{\"type\":\"string\",\"pattern\":"
         "\"^-?(0|[1-9][0-9]*)$\"}]}")},
    {"ui64 -> ",
     STORED("{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":"
            "18446744073709551615},{\"type\":\"string\",\"pattern\":"
            "\"^-?(0|[1-9][0-9]*)$\"}]}")},
    {"f16 -> ",
     STORED("{\"anyOf\":[{\"type\":\"number\",\"exclusiveMinimum\":-65520,"
            "\"exclusiveMaximum\":65520},{\"enum\":[\"NaN\",\"Infinity\","
            "\"-Infinity\"]}]}")},
    {"f8E4M3FN -> ",
     STORED(
         "{\"anyOf\":[{\"type\":\"number\",\"minimum\":-464,\"maximum\":464},{"
         "\"enum\":[\"NaN\"]}]}")},
    {"f8E8M0FNU -> ",
     STORED(
         "{\"anyOf\":[{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":"
         "2.5521177519070385e+38},{\"enum\":[\"NaN\"]}]}")},
    {"complex<f64> -> ",
     STORED(
         "{\"type\":\"array\",\"prefixItems\":[{\"anyOf\":[{\"type\":\"number\"},{"
         "\"enum\":[\"NaN\",\"Infinity\",\"-Infinity\"]}]},{\"anyOf\":[{\"type\":"
         "\"number\"},{\"enum\":[\"NaN\",\"Infinity\",\"-Infinity\"]}]}],"
         "\"minItems\":2,\"maxItems\":2}")},
    {"tensor<2x?xi1> -> ",
     STORED(
         "{\"anyOf\":[{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":{"
         "\"type\":\"array\",\"items\":{\"enum\":[false,true,0,1]}}},{\"type\":"
         "\"object\",\"properties\":{\"dtype\":{\"enum\":[\"i1\",\"BOOL\",\"bool\"]},"
         "\"shape\":{\"type\":\"array\",\"prefixItems\":[{\"const\":2},{\"type\":"
         "\"integer\",\"minimum\":0}],\"minItems\":2,\"maxItems\":2},\"data\":{"
         "\"anyOf\":[{\"type\":\"array\",\"items\":{\"enum\":[false,true,0,1]}},{"
         "\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":"
         "\"array\",\"items\":{\"enum\":[false,true,0,1]}}}]},\"b64\":{\"type\":"
         "\"string\",\"contentEncoding\":\"base64\"}},\"required\":[\"shape\"],"
         "\"oneOf\":[{\"required\":[\"data\"]},{\"required\":[\"b64\"]}],"
         "\"additionalProperties\":false}]}")},
    {"inferred tensor<?xi8> -> ",
     "{\"anyOf\":["
     "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"integer\","
     "\"minimum\":-128,\"maximum\":255}},"},
    {"inferred tensor<?xi64> -> ",
     "{\"anyOf\":["
     "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":"
     "\"integer\",\"minimum\":-9223372036854775808,\"maximum\":"
     "18446744073709551615},"},
    {"tensor<*xi1> -> ",
     "{\"anyOf\":["
     "{\"anyOf\":[{\"anyOf\":[{\"type\":\"array\"},{\"enum\":[false,true,0,1]}]"
     "},"},
    {"tensor<?x_> -> ",
     "{\"anyOf\":["
     "{\"type\":\"object\",\"properties\":{\"dtype\":{\"type\":\"string\"},"
     "\"shape\":{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\","
     "\"minimum\":0}],\"minItems\":1,\"maxItems\":1},\"data\":{},\"b64\":{"
     "\"type\":\"string\",\"contentEncoding\":\"base64\"}},\"required\":["
     "\"dtype\",\"shape\"],"},
    {"[i1] -> ",
     STORED("{\"type\":\"array\",\"items\":{\"anyOf\":[{\"enum\":["
            "false,true,0,1]},{\"$ref\":\"#/$defs/Reference\"}]}}")},
    {"(i1, null) -> ",
     "{\"type\":\"array\",\"prefixItems\":[" STORED(
         "{\"enum\":[false,true,0,1]}") ",{"
                                        "\"type\":\"null\"}],\"minItems\":2,\"maxItems\":2}"},
    {"() -> ", "{\"type\":\"array\",\"minItems\":0,\"maxItems\":0}"},
    {"{a: i1, b: null} -> ",
     "{\"type\":\"object\",\"properties\":{\"a\":" STORED(
         "{\"enum\":[false,true,0,1]}") ","
                                        "\"b\":{\"type\":\"null\"}},\"required\":[\"a\",\"b\"],"
                                        "\"additionalProperties\":false}"},
};

// The rest of the document after `key`, which must be in it.
static const char *behind(const char *document, const char *key) {
  const char *found = strstr(document, key);
  if (!found) fail_msg("no %s in %s", key, document);
  return found + strlen(key);
}

static void schemas_describe_values(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  for (size_t i = 0; i < FC_ARRAY_COUNT(values); i++) {
    fc_test_row(values[i].name);
    fc_signature_t *s =
        fc_test_signature(fc_allocator_system(), values[i].name);
    const char *schema = render(fc_signature_print_schema, s, &text);
    schema = behind(schema, "\"$defs\":{\"argument0\":");
    size_t size = strlen(values[i].schema);
    if (strncmp(schema, values[i].schema, size) != 0) {
      assert_string_equal(schema, values[i].schema);
    }
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

#define ARGUMENT(number) "{\"$ref\":\"#/$defs/argument" #number "\"}"
#define BY_PLACE(number)                                                    \
  "{\"required\":[\"args\"],\"properties\":{\"args\":{\"minItems\":" number \
  "}}}"
#define BY_NAME(name)                                                          \
  "{\"required\":[\"kwargs\"],\"properties\":{\"kwargs\":{\"required\":[" name \
  "]}}}"

// The bounds of an integer type, found by counting: each bit doubles the numbers.
static void expect_bounds(const fc_dtype_info_t *info, bool either,
                          fc_text_t *text) {
  const bool is_unsigned = info->class_ == FC_DTYPE_CLASS_UINT;
  unsigned __int128 numbers = 1;
  for (unsigned bit = 0; bit < info->bits; bit++) numbers += numbers;
  const uint64_t half = (uint64_t)(numbers / 2);
  const uint64_t low = is_unsigned ? 0 : half;
  const uint64_t end =
      is_unsigned || either ? (uint64_t)(numbers - 1) : half - 1;
  char types[40], wanted[80];
  snprintf(types, sizeof types, either ? "inferred tensor<?x%s> -> " : "%s -> ",
           info->text);
  snprintf(wanted, sizeof wanted,
           "\"minimum\":%s%" PRIu64 ",\"maximum\":%" PRIu64 "}", low ? "-" : "",
           low, end);
  fc_signature_t *s = fc_test_signature(fc_allocator_system(), types);
  const char *schema = render(fc_signature_print_schema, s, text);
  fc_test_row(types);
  schema = behind(schema, "\"$defs\":{\"argument0\":");
  schema = behind(schema, "\"type\":\"integer\",");
  if (strncmp(schema, wanted, strlen(wanted)) != 0) {
    assert_string_equal(schema, wanted);
  }
  fc_signature_destroy(s);
}

static void schemas_bound_integers_of_every_width(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  size_t seen = 0;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    const fc_dtype_info_t *info = fc_dtype_info((fc_dtype_t)i);
    if (!fc_dtype_is_integer(info) || info->class_ == FC_DTYPE_CLASS_BOOL) {
      continue;
    }
    expect_bounds(info, false, &text);
    if (info->class_ == FC_DTYPE_CLASS_INT) expect_bounds(info, true, &text);
    seen++;
  }
  assert_int_equal(seen, 3 * 64);  // index, and 64 widths, but i1 is a boolean
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

// For each line of types: the schemas of the bare array and of "kwargs", a text that
// must be in one of the two, and the results.
static const struct {
  const char *name;
  const char *array;
  const char *keywords;
  const char *once;  // what follows "additionalProperties" of the object
  const char *results;
} forms[] = {
    {" -> ", "\"items\":{},\"minItems\":0,\"maxItems\":0}", "}", "}",
     "\"items\":{},\"minItems\":0,\"maxItems\":0}"},
    {"i8, b: i8 -> i1",
     "\"prefixItems\":[" ARGUMENT(0) "," ARGUMENT(
         1) "],\"minItems\":2,\"maxItems\":2}",
     "\"b\":" ARGUMENT(1) "}",
     ",\"allOf\":[" BY_PLACE("1") ",{\"oneOf\":[" BY_PLACE("2") "," BY_NAME(
         "\"b\"") "]}]}",
     "\"prefixItems\":[{\"anyOf\":[{\"enum\":[false,true,0,1]},{"
     "\"$ref\":\"#/$defs/Kept\"}]}],\"minItems\":1,\"maxItems\":1}"},
    {"a: i8, out b: tensor<1xi8>, inout c: tensor<1xi1> -> any",
     "\"prefixItems\":[" ARGUMENT(0) "," ARGUMENT(
         1) "],\"minItems\":2,\"maxItems\":2}",
     "\"a\":" ARGUMENT(0) ",\"c\":" ARGUMENT(1) "}",
     ",\"allOf\":[{\"oneOf\":[" BY_PLACE("1") "," BY_NAME(
         "\"a\"") "]},{\"oneOf\":[" BY_PLACE("2") "," BY_NAME("\"c\"") "]}]}",
     "\"prefixItems\":[{},{\"anyOf\":[{\"anyOf\":[{\"type\":\"array\",\"minItems\":1,"},
    {"root {a: i8@0} -> ",
     "\"prefixItems\":[{\"$ref\":\"#/$defs/arguments\"}],\"minItems\":1,\"maxItems\":1}",
     "\"a\":" ARGUMENT(0) "}",
     ",\"oneOf\":[{\"required\":[\"args\"],\"properties\":{\"args\":{"
     "\"minItems\":1},\"kwargs\":{\"maxProperties\":0}}},{\"required\":["
     "\"kwargs\"],\"properties\":{\"args\":{\"maxItems\":0},\"kwargs\":{"
     "\"required\":[\"a\"]}}}]}",
     "\"items\":{},\"minItems\":0,\"maxItems\":0}"},
    {"root {} -> ",
     "\"prefixItems\":[{\"$ref\":\"#/$defs/arguments\"}],\"minItems\":0,\"maxItems\":1}",
     "}", "}", "\"items\":{},\"minItems\":0,\"maxItems\":0}"},
    {"root (i8@0, i8@1) -> ",
     "\"prefixItems\":[" ARGUMENT(0) "," ARGUMENT(
         1) "],\"minItems\":2,\"maxItems\":2}",
     "}", ",\"allOf\":[" BY_PLACE("1") "," BY_PLACE("2") "]}",
     "\"items\":{},\"minItems\":0,\"maxItems\":0}"},
};

static void expect(const char *document, const char *key, const char *wanted) {
  const char *found = behind(document, key);
  if (strncmp(found, wanted, strlen(wanted)) != 0) {
    assert_string_equal(found, wanted);
  }
}

static void schemas_offer_every_way_to_call(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  for (size_t i = 0; i < FC_ARRAY_COUNT(forms); i++) {
    fc_test_row(forms[i].name);
    fc_signature_t *s = fc_test_signature(fc_allocator_system(), forms[i].name);
    const char *schema = render(fc_signature_print_schema, s, &text);
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), 0);
    assert_non_null(doc);
    yyjson_doc_free(doc);
    expect(schema, "\"anyOf\":[{\"type\":\"array\",", forms[i].array);
    expect(schema, "\"kwargs\":{\"type\":\"object\",\"properties\":{",
           forms[i].keywords);
    expect(schema,
           "\"if_absent\":{\"type\":\"boolean\"}},"
           "\"additionalProperties\":false}},\"additionalProperties\":false",
           forms[i].once);
    expect(schema, "\"results\":{\"type\":\"array\",", forms[i].results);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

// A random type in the language of helpers/types.h: a leaf, wrapped in a few other
// types.
static void random_type(uint64_t *seed, char *out, size_t capacity) {
  static const char *const leaves[] = {
      "i1",
      "i8",
      "ui64",
      "index",
      "bf16",
      "f64",
      "complex<f32>",
      "tensor<2x?xf16>",
      "tensor<f32>",
      "tensor<*xi8>",
      "tensor<NxNxi4>",
      "tensor<3x0xf32>",
      "str",
      "bytes",
      "null",
      "any",
      "tensor<?x_>",
      "vector<4xf32>",
      "tensor<1x2x3xcomplex<f64>>",
      "f8E8M0FNU",
  };
  static const char *const wraps[][2] = {
      {"[", "]"},
      {"(i4, ", ")"},
      {"(", ", tensor<?x2xf32>)"},
      {"{a: ", ", b: str}"},
      {"ref<2x?x", ">"},
      {"ref<0x1x", ">"},
  };
  char inner[512];
  snprintf(out, capacity, "%s",
           leaves[next_random(seed) % FC_ARRAY_COUNT(leaves)]);
  for (uint64_t count = next_random(seed) % 4; count; count--) {
    const char *const *wrap = wraps[next_random(seed) % FC_ARRAY_COUNT(wraps)];
    snprintf(inner, sizeof inner, "%s%.400s%s", wrap[0], out, wrap[1]);
    snprintf(out, capacity, "%s", inner);
  }
}

// The decoder accepts every example, and the function gets all its arguments.
static void examples_are_accepted(void **state) {
  (void)state;
  uint64_t seed = 0xFEEDFACECAFEBEEF;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 22);
  for (int round = 0; round < 1500; round++) {
    char types[4096];
    size_t used = 0;
    uint64_t count = next_random(&seed) % 5;
    uint64_t positional = next_random(&seed) % (count + 1);
    for (uint64_t i = 0; i < count; i++) {
      char type[512];
      random_type(&seed, type, sizeof type);
      char name[24] = "";
      if (i >= positional) snprintf(name, sizeof name, "n%d: ", (int)i);
      used += (size_t)snprintf(types + used, sizeof types - used, "%s%s%s",
                               i ? ", " : "", name, type);
    }
    snprintf(types + used, sizeof types - used, " -> ");
    fc_test_row(types);
    fc_test_call_t call;
    fc_test_call_init(&call, types, NULL);
    const char *body =
        render(fc_signature_print_example, call.signature, &text);
    fc_error_t err = {0};
    if (fc_test_call_decode(&call, fc_str(body), &err) != FC_OK) {
      fail_msg("%s: %s", err.message, body);
    }
    fc_test_call_deinit(&call);
  }
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

static void components_refer_to_each_other(void **state) {
  (void)state;
  static const struct {
    const char *types;
    const char *call;  // how it begins
    bool named;
  } calls[] = {
      {"i8, i8 -> i8",
       "\"m.f.call\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/m.f.places\"},"
       "{\"$ref\":\"#/components/schemas/m.f.placed\"}]},\"m.f.places\":{",
       false},
      {"a: i8, b: i8 -> i8",
       "\"m.f.call\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/m.f.places\"},"
       "{\"$ref\":\"#/components/schemas/m.f.placed\"},"
       "{\"$ref\":\"#/components/schemas/m.f.named\"}]},\"m.f.places\":{",
       true},
  };
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  for (size_t i = 0; i < FC_ARRAY_COUNT(calls); i++) {
    fc_test_row(calls[i].types);
    fc_signature_t *s =
        fc_test_signature(fc_allocator_system(), calls[i].types);
    fc_text_reset(&text);
    assert_int_equal(
        fc_signature_print_components(s, FC_STR("m.f."), &text.sink, NULL),
        FC_OK);
    assert_int_equal(fc_sink_put(&text.sink, FC_STR("\0"), NULL), FC_OK);
    const char *found = fc_text_str(&text).data;
    assert_memory_equal(found, calls[i].call, strlen(calls[i].call));
    assert_int_equal(strstr(found, "\"m.f.named\":{") != NULL, calls[i].named);
    assert_non_null(strstr(found, "\"m.f.repeated.placed\":{"));
    assert_int_equal(strstr(found, "\"m.f.repeated.named\":{") != NULL,
                     calls[i].named);
    assert_int_equal(strstr(found, "\"m.f.arguments\":{") != NULL,
                     calls[i].named);
    assert_non_null(strstr(found, ",\"m.f.argument1\":{\"anyOf\":[{\"type\":"
                                  "\"integer\""));
    assert_non_null(strstr(found, ",\"m.f.answer\":{"));
    assert_null(strstr(found, "$defs"));
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_text_deinit(&text);
}

static void a_smaller_example_is_asked_for(void **state) {
  (void)state;
  fc_signature_t *s = fc_test_signature(fc_allocator_system(), "i8, i8 -> ");
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_error_t err = {0};
  const size_t size = sizeof "{\"args\":[0,0]}" - 1;
  assert_int_not_equal(
      fc_signature_print_example_below(s, size - 1, &text.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
  assert_int_equal(fc_text_str(&text).size, 0);
  assert_int_equal(fc_signature_print_example_below(s, size, &text.sink, &err),
                   FC_OK);
  assert_int_equal(fc_text_str(&text).size, size);
  fc_text_deinit(&text);
  fc_signature_destroy(s);
}

static void an_example_too_large_is_an_error(void **state) {
  (void)state;
  static const char *const types[] = {
      "tensor<1000000x1000000xi8> -> ", "ref<1000000x1000000xi8> -> ",
      "tensor<4294967296x4294967296x_> -> ", "ref<1000000000x0xi8> -> "};
  for (size_t i = 0; i < FC_ARRAY_COUNT(types); i++) {
    fc_test_row(types[i]);
    fc_signature_t *s = fc_test_signature(fc_allocator_system(), types[i]);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    fc_error_t err = {0};
    assert_int_not_equal(fc_signature_print_example(s, &text.sink, &err),
                         FC_OK);
    assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
    fc_text_deinit(&text);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
}

static fc_status_t attempt_example(fc_allocator_t allocator, void *context,
                                   fc_error_t *err) {
  fc_signature_t *s = context;
  s->allocator = allocator;
  fc_text_t text;
  fc_text_init(&text, allocator, 1 << 16);
  fc_status_t status = fc_signature_print_example(s, &text.sink, err);
  fc_text_deinit(&text);
  s->allocator = fc_allocator_system();
  return status;
}

static void examples_survive_every_failing_allocation(void **state) {
  (void)state;
  fc_signature_t *s =
      fc_test_signature(fc_allocator_system(), "ref<2x[i8]>, {a: f32} -> ");
  assert_true(fc_test_allocation_sweep(attempt_example, s) >= 3);
  fc_signature_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(signatures_render),
      FC_TEST(schemas_describe_values),
      FC_TEST(schemas_bound_integers_of_every_width),
      FC_TEST(schemas_offer_every_way_to_call),
      FC_TEST(examples_are_accepted),
      FC_TEST(components_refer_to_each_other),
      FC_TEST(a_smaller_example_is_asked_for),
      FC_TEST(an_example_too_large_is_an_error),
      FC_TEST(examples_survive_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
