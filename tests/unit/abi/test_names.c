// SPDX-License-Identifier: Apache-2.0
#include "abi/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/document.h"
#include "helpers/test.h"
#include "helpers/types.h"

static fc_status_t parse(const char *json, bool unsaid, fc_names_t **out,
                         fc_error_t *err) {
  *out = NULL;
  fc_status_t status =
      fc_names_parse(fc_str(json), unsaid, fc_allocator_system(), out, err);
  assert_int_equal(status == FC_OK, *out != NULL);
  return status;
}

// Applies a document with these members to a function that has these types.
static fc_status_t apply(const char *types, const char *members,
                         fc_signature_t **out_signature, fc_error_t *err) {
  char json[4096];
  snprintf(json, sizeof json,
           "{\"farcall\":1,\"functions\":[{\"name\":\"other\"},"
           "{\"name\":\"f\",%s}]}",
           members);
  fc_names_t *names;
  *out_signature = NULL;
  fc_status_t status = parse(json, true, &names, err);
  if (status != FC_OK) return status;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *first = fc_test_build(builder, types);
  bool named;
  status = fc_names_apply(names, FC_STR("f"), first, builder, &named, err);
  assert_true(named);
  fc_signature_destroy(first);
  if (status == FC_OK) {
    status = fc_signature_build(builder, out_signature, err);
  }
  fc_builder_destroy(builder);
  fc_names_destroy(names);
  return status;
}

#define MATMUL "tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>"
#define ARGS(list) "\"args\":[" list "]"
#define DIMS(list) "{\"dims\":[" list "]}"

static const struct {
  const char *name;
  const char *types;
  const char *members;
  const char *text;
} given[] = {
    {"nothing", MATMUL, "\"more\":1",
     "(tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>"},
    {"matmul", MATMUL,
     ARGS(
         "{\"name\":\"a\",\"dims\":[\"m\",\"k\"]},"
         "{\"name\":\"b\",\"dims\":[\"k\",\"n\"]}") ",\"results\":[" DIMS("\"m\",\"n\"") "]",
     "(a: tensor<[m]x[k]xf32>, b: tensor<[k]x[n]xf32>) -> "
     "tensor<[m]x[n]xf32>"},
    {"some of them", MATMUL, ARGS(DIMS("null,\"k\"") ",{}"),
     "(tensor<?x[k]xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>"},
    {"a size", MATMUL, ARGS("{}," DIMS("3,null")),
     "(tensor<?x?xf32>, tensor<3x?xf32>) -> tensor<?x?xf32>"},
    {"what is static stays", "tensor<?x3xi8> ->", ARGS(DIMS("\"n\",3")),
     "(tensor<[n]x3xi8>) -> ()"},
    {"another name", "x: i8, y: i8 -> f32", ARGS("{\"name\":\"z\"},{}"),
     "(z: i8, y: i8) -> f32"},
    {"names change places", "x: i8, y: i16 -> ",
     ARGS("{\"name\":\"y\"},{\"name\":\"x\"}"), "(y: i8, x: i16) -> ()"},
    {"results", "-> f32, tensor<?xi8>",
     "\"results\":[{\"name\":\"sum\"},{\"name\":\"all\",\"dims\":[\"n\"]}]",
     "() -> (sum: f32, all: tensor<[n]xi8>)"},
    {"what agreed agrees still",
     "tensor<NxMxi8>, tensor<MxNxi8>, tensor<MxMxi8> ->",
     ARGS(DIMS("null,\"k\"") ",{},{}"),
     "(tensor<[N]x[k]xi8>, tensor<[k]x[N]xi8>, tensor<[k]x[k]xi8>) -> ()"},
    {"two that agreed get two names", "tensor<Nxi8>, tensor<NxMxi8> ->",
     ARGS(DIMS("\"a\"") "," DIMS("\"b\",\"a\"")),
     "(tensor<[b]xi8>, tensor<[b]x[b]xi8>) -> ()"},
    {"a name stays what it became", "tensor<Nxi8>, tensor<Nx?xi8> ->",
     ARGS(DIMS("\"a\"") "," DIMS("4,\"a\"")),
     "(tensor<4xi8>, tensor<4x4xi8>) -> ()"},
    {"a size for what agreed", "tensor<Nxi8>, tensor<NxNxi8> ->",
     ARGS(DIMS("4") ",{}"), "(tensor<4xi8>, tensor<4x4xi8>) -> ()"},
    {"out arguments", "tensor<?xi8>, out tensor<?xi8> ->",
     ARGS(DIMS("\"n\"") "," DIMS("\"n\"")),
     "(tensor<[n]xi8>, out tensor<[n]xi8>) -> ()"},
    {"of a root", "root {p: i8@1, q: tensor<?xf32>@0} -> f32",
     ARGS("{\"name\":\"p\"}," DIMS("\"n\"")),
     "(p: i8, q: tensor<[n]xf32>) -> f32"},
    {"of a root's list", "root (tensor<?xi8>@0, tensor<?xi8>@1) -> ",
     ARGS(DIMS("\"n\"") "," DIMS("\"n\"")),
     "(tensor<[n]xi8>, tensor<[n]xi8>) -> ()"},
    {"roles", "tensor<4xi8>, any, tensor<4xi8>, out tensor<4xi8> ->",
     ARGS("{\"role\":\"inout\"},{\"role\":\"scratch\"},"
          "{\"role\":\"out\"},{\"role\":\"in\"}"),
     "(inout tensor<4xi8>, scratch unknown, out tensor<4xi8>, tensor<4xi8>) -> "
     "()"},
    {"without dims", "tensor<f32> ->", ARGS("{\"name\":\"s\",\"dims\":[]}"),
     "(s: tensor<f32>) -> ()"},
    {"longest", "tensor<?xi8> ->",
     ARGS(DIMS("\"1234567890123456789012345678901234567890123456789012345678"
               "901234\"")),
     "(tensor<[\"12345678901234567890123456789012345678901234567890123456789"
     "01234\"]xi8>) -> ()"},
};

static void functions_get_their_names(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(given); i++) {
    fc_test_row(given[i].name);
    fc_error_t err = {0};
    fc_signature_t *signature;
    if (apply(given[i].types, given[i].members, &signature, &err)) {
      fail_msg("%s", err.message);
    }
    // The text begins with the function's name, f.
    assert_string_equal(fc_test_signature_text(signature) + 1, given[i].text);
    for (uint32_t k = 0; k < signature->argument_count; k++) {
      const fc_param_t *argument = &signature->arguments[k];
      assert_int_equal(argument->keyword, argument->name.size > 0);
    }
    fc_signature_destroy(signature);
  }
  fc_test_row(NULL);
}

static const struct {
  const char *name;
  const char *types;
  const char *members;
  const char *pointer;  // "": in no document
  const char *message;
} refused[] = {
    {"args", MATMUL, "\"args\":{}", "/functions/1/args", "an array"},
    {"results", MATMUL, "\"results\":1", "/functions/1/results", "an array"},
    {"too few args", MATMUL, ARGS("{}"), "/functions/1/args",
     "1 entries, the function has 2"},
    {"too many args", MATMUL, ARGS("{},{},{}"), "/functions/1/args",
     "3 entries, the function has 2"},
    {"results count", MATMUL, "\"results\":[]", "/functions/1/results",
     "0 entries, the function has 1"},
    {"argument", MATMUL, ARGS("{},1"), "/functions/1/args/1", "an object"},
    {"result", MATMUL, "\"results\":[null]", "/functions/1/results/0",
     "an object"},
    {"name", MATMUL, ARGS("{},{\"name\":1}"), "/functions/1/args/1/name",
     "a string"},
    {"twins", MATMUL, ARGS("{\"name\":\"a\"},{\"name\":\"a\"}"), "",
     "both named 'a'"},
    {"twin of one that has a name", "x: i8, i8 ->", ARGS("{},{\"name\":\"x\"}"),
     "", "both named 'x'"},
    {"dims", MATMUL, ARGS("{},{\"dims\":\"k\"}"), "/functions/1/args/1/dims",
     "an array"},
    {"rank", MATMUL, ARGS("{}," DIMS("\"k\"")), "/functions/1/args/1/dims",
     "1 dims for a type of 2"},
    {"rank of a result", MATMUL, "\"results\":[" DIMS("1,2,3") "]",
     "/functions/1/results/0/dims", "3 dims for a type of 2"},
    {"dims of a scalar", "i8 ->", ARGS(DIMS("")), "/functions/1/args/0/dims",
     "no tensor of known rank"},
    {"dims of any rank", "tensor<*xi8> ->", ARGS(DIMS("\"n\"")),
     "/functions/1/args/0/dims", "no tensor of known rank"},
    {"dims of a list", "[tensor<?xi8>] ->", ARGS(DIMS("\"n\"")),
     "/functions/1/args/0/dims", "no tensor of known rank"},
    {"dims of anything", "any ->", ARGS(DIMS("\"n\"")),
     "/functions/1/args/0/dims", "no tensor of known rank"},
    {"a name for a size", "tensor<3xi8> ->", ARGS(DIMS("\"n\"")),
     "/functions/1/args/0/dims", "dim 0 has a size in the type, no name"},
    {"another size", "tensor<3xi8> ->", ARGS(DIMS("4")),
     "/functions/1/args/0/dims", "dim 0 is 4, 3 in the type"},
    {"two sizes for one name", "tensor<Nxi8>, tensor<Nxi8> ->",
     ARGS(DIMS("4") "," DIMS("5")), "/functions/1/args/1/dims",
     "dim 0 is 5, 4 in the type"},
    {"negative", MATMUL, ARGS("{}," DIMS("null,-1")),
     "/functions/1/args/1/dims", "dim 1 must be a size, a name or null"},
    {"empty name", MATMUL, ARGS(DIMS("\"\",null") ",{}"),
     "/functions/1/args/0/dims", "dim 0 must be a size, a name or null"},
    {"a long name", "tensor<?xi8> ->",
     ARGS(DIMS("\"1234567890123456789012345678901234567890123456789012345678"
               "9012345\"")),
     "/functions/1/args/0/dims", "has 65 bytes, at most 64 are allowed"},
    {"a role", MATMUL, ARGS("{\"role\":\"inoot\"},{}"),
     "/functions/1/args/0/role", "none of: in, inout, out, scratch"},
    {"a scalar's role", "i8 ->", ARGS("{\"role\":\"inout\"}"),
     "/functions/1/args/0/role", "only a tensor can be 'inout'"},
    {"a list's role", "[tensor<?xi8>] ->", ARGS("{\"role\":\"scratch\"}"),
     "/functions/1/args/0/role", "only a tensor can be 'scratch'"},
    {"a role of a root's", "root {p: tensor<?xf32>@0} -> f32",
     ARGS("{\"role\":\"inout\"}"), "/functions/1/args/0/role",
     "only a tensor can be 'inout'"},
    {"a name of a root's", "root {p: i8@0} -> f32", ARGS("{\"name\":\"q\"}"),
     "/functions/1/args/0/name", "fixes how this argument is sent"},
    {"a name in a root's list", "root (i8@0, i8@1) -> ",
     ARGS("{},{\"name\":\"q\"}"), "/functions/1/args/1/name", "fixes how"},
};

static void names_that_do_not_fit_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    fc_test_row(refused[i].name);
    fc_error_t err = {0};
    fc_signature_t *signature;
    assert_int_not_equal(
        apply(refused[i].types, refused[i].members, &signature, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_string_equal(err.pointer, refused[i].pointer);
    if (!strstr(err.message, refused[i].message)) fail_msg("%s", err.message);
  }
  fc_test_row(NULL);
}

static void too_many_names_are_refused(void **state) {
  (void)state;
  static char members[64 << 10];
  static char types[64 << 10];
  for (int count = FC_DIM_NAMES_MAX; count <= FC_DIM_NAMES_MAX + 1; count++) {
    size_t size = 0, at = 0;
    size += (size_t)snprintf(members, sizeof members, "\"args\":[");
    for (int i = 0; i < count; i++) {
      size += (size_t)snprintf(members + size, sizeof members - size,
                               "%s{\"dims\":[\"n%d\"]}", i ? "," : "", i);
      at += (size_t)snprintf(types + at, sizeof types - at, "%stensor<?xi8>",
                             i ? ", " : "");
    }
    snprintf(members + size, sizeof members - size, "]");
    snprintf(types + at, sizeof types - at, " ->");
    char json[sizeof members + 100];
    snprintf(json, sizeof json,
             "{\"farcall\":1,\"functions\":[{\"name\":\"f\",%s}]}", members);
    fc_names_t *names;
    fc_error_t err = {0};
    assert_int_equal(parse(json, true, &names, &err), FC_OK);
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_signature_t *first = fc_test_build(builder, types), *second = NULL;
    bool named;
    fc_status_t status =
        fc_names_apply(names, FC_STR("f"), first, builder, &named, &err);
    if (status == FC_OK) status = fc_signature_build(builder, &second, &err);
    assert_int_equal(status == FC_OK, count == FC_DIM_NAMES_MAX);
    if (status) assert_non_null(strstr(err.message, "dim names"));
    fc_signature_destroy(first);
    fc_signature_destroy(second);
    fc_builder_destroy(builder);
    fc_names_destroy(names);
  }
}

static const struct {
  const char *name;
  const char *json;
  bool unsaid;
  fc_status_t status;
  const char *pointer;
  const char *message;
} documents[] = {
    {"says so", "{\"farcall\":1,\"abi\":\"module\",\"functions\":[]}", false,
     FC_OK, NULL, NULL},
    {"need not say so", "{\"farcall\":1,\"functions\":[]}", true, FC_OK, NULL,
     NULL},
    {"must say so", "{\"farcall\":1,\"functions\":[]}", false, FC_NOT_FOUND,
     NULL, NULL},
    {"types", "{\"farcall\":1,\"abi\":\"mlir-memref\",\"functions\":[]}", true,
     FC_NOT_FOUND, NULL, NULL},
    {"abi", "{\"farcall\":1,\"abi\":\"onnx\"}", true, FC_INVALID_ARGUMENT,
     "/abi", "'onnx' is none of: mlir-memref, module"},
    {"not json", "{", true, FC_INVALID_ARGUMENT, "", "not JSON"},
    {"array", "[]", true, FC_INVALID_ARGUMENT, "", "must be an object"},
    {"format", "{\"farcall\":2}", true, FC_INVALID_ARGUMENT, "/farcall",
     "format 2"},
    {"hash", "{\"farcall\":1,\"so_sha256\":\"1\"}", true, FC_INVALID_ARGUMENT,
     "/so_sha256", "64 hex"},
    {"no functions", "{\"farcall\":1}", true, FC_INVALID_ARGUMENT, "/functions",
     "is missing"},
    {"functions", "{\"farcall\":1,\"functions\":{}}", true, FC_INVALID_ARGUMENT,
     "/functions", "an array"},
    {"function", "{\"farcall\":1,\"functions\":[1]}", true, FC_INVALID_ARGUMENT,
     "/functions/0", "an object"},
    {"no name", "{\"farcall\":1,\"functions\":[{}]}", true, FC_INVALID_ARGUMENT,
     "/functions/0/name", "is missing"},
    {"twice",
     "{\"farcall\":1,\"functions\":[{\"name\":\"f\"},{\"name\":\"e\"},"
     "{\"name\":\"f\"}]}",
     true, FC_INVALID_ARGUMENT, "/functions/2/name",
     "function 0 has the same name"},
};

static void documents_are_told_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(documents); i++) {
    fc_test_row(documents[i].name);
    fc_error_t err = {0};
    fc_names_t *names;
    fc_status_t status =
        parse(documents[i].json, documents[i].unsaid, &names, &err);
    fc_names_destroy(names);
    if (!documents[i].message) {
      assert_int_equal(status, documents[i].status);
      continue;
    }
    assert_true(status != FC_OK && status != FC_NOT_FOUND);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_string_equal(err.pointer, documents[i].pointer);
    if (!strstr(err.message, documents[i].message)) fail_msg("%s", err.message);
  }
  fc_test_row(NULL);
}

static void a_function_nobody_has_is_refused(void **state) {
  (void)state;
  fc_names_t *names;
  fc_error_t err = {0};
  assert_int_equal(
      parse("{\"farcall\":1,\"functions\":[{\"name\":\"g\"},{\"name\":\"f\"}]}",
            true, &names, &err),
      FC_OK);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = fc_test_build(builder, "->");
  static const struct {
    const char *function;
    bool named;
  } functions[] = {{"f", true}, {"h", false}, {"", false}, {"g", true}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(functions); i++) {
    bool named;
    assert_int_not_equal(fc_names_finish(names, &err), FC_OK);
    assert_string_equal(err.pointer,
                        i ? "/functions/0/name" : "/functions/1/name");
    assert_string_equal(err.message,
                        i ? "its sidecar, /functions/0/name: the module has "
                            "no function 'g'"
                          : "its sidecar, /functions/1/name: the module has "
                            "no function 'f'");
    assert_int_equal(fc_names_apply(names, fc_str(functions[i].function),
                                    signature, builder, &named, &err),
                     FC_OK);
    assert_int_equal(named, functions[i].named);
  }
  assert_int_equal(fc_names_finish(names, &err), FC_OK);
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
  fc_names_destroy(names);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  static const char json[] =
      "{\"farcall\":1,\"functions\":[{\"name\":\"f\",\"args\":[{\"name\":\"a\","
      "\"dims\":[\"m\",\"k\"]},{\"dims\":[\"k\",null]}],"
      "\"show\":[{\"at\":\"/0\",\"labels\":[\"a\",\"b\"]}]}]}";
  fc_names_t *names = NULL;
  FC_TRY(fc_names_parse(fc_str(json), true, allocator, &names, err));
  fc_signature_t *first = fc_test_signature(fc_allocator_system(), MATMUL);
  fc_signature_t *second = NULL;
  fc_builder_t *builder = fc_builder_create(allocator);
  fc_status_t status = builder ? FC_OK : fc_fail_memory(err);
  const int64_t dims[] = {FC_DIM_DYNAMIC, FC_DIM_DYNAMIC};
  for (uint32_t i = 0; builder && i < 2; i++) {
    fc_builder_argument(builder, FC_STR(""),
                        fc_builder_tensor(builder, FC_DTYPE_F32, 2, dims),
                        FC_ROLE_IN, false, FC_RAW_NEXT);
  }
  bool named;
  if (status == FC_OK) {
    status = fc_names_apply(names, FC_STR("f"), first, builder, &named, err);
  }
  if (status == FC_OK) status = fc_signature_build(builder, &second, err);
  fc_signature_destroy(first);
  fc_signature_destroy(second);
  fc_builder_destroy(builder);
  fc_names_destroy(names);
  return status;
}

static void names_survive_every_failing_allocation(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt, NULL) > 5);
}

static void a_hash_may_have_capitals(void **state) {
  (void)state;
  fc_error_t err;
  static const char kHash[] =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  char other[sizeof kHash];
  for (size_t i = 0; i < sizeof kHash; i++) {
    const char c = kHash[i];
    other[i] = (char)(c >= 'a' ? c - 0x20 : c);
  }
  assert_int_equal(fc_doc_check_hash(fc_str(other), kHash, &err), FC_OK);
  assert_int_equal(fc_doc_check_hash(fc_str(""), kHash, &err), FC_OK);
  other[63] = 'E';
  assert_int_equal(fc_doc_check_hash(fc_str(other), kHash, &err),
                   FC_INVALID_ARGUMENT);
}

static void text_for_people_is_kept_once(void **state) {
  (void)state;
  fc_error_t err;
  fc_signature_t *signature;
  assert_int_equal(apply(MATMUL, "\"doc\":\"a product\"", &signature, &err), 0);
  fc_str_t doc = fc_signature_attr(signature, FC_STR("doc"));
  assert_true(fc_str_equal(doc, FC_STR("a product")));
  assert_int_equal(signature->attr_count, 1);
  fc_signature_destroy(signature);
  assert_int_not_equal(apply(MATMUL, "\"doc\":[1]", &signature, &err), FC_OK);
  assert_string_equal(err.pointer, "/functions/1/doc");
  static const char show[] = "[{\"at\":\"/0\",\"labels\":[\"a\"]}]";
  char member[64];
  snprintf(member, sizeof member, "\"show\":%s", show);
  assert_int_equal(apply(MATMUL, member, &signature, &err), 0);
  doc = fc_signature_attr(signature, FC_STR("show"));
  assert_true(fc_str_equal(doc, fc_str(show)));
  fc_signature_destroy(signature);
  assert_int_not_equal(apply(MATMUL, "\"show\":1", &signature, &err), FC_OK);
  assert_string_equal(err.pointer, "/functions/1/show");
}

// ---------------------------------------------------------------------------
// Types

// Compares the signature's text from its first bracket on, so without the name.
static void expect_text(const fc_signature_t *signature, const char *expected) {
  const char *text = strchr(fc_test_signature_text(signature), '(');
  assert_non_null(text);
  assert_string_equal(text, expected);
}

#define TENSOR(dtype, shape) \
  "{\"kind\":\"tensor\",\"dtype\":\"" dtype "\",\"shape\":" shape "}"
#define OF(type) "{\"type\":" type "}"
#define NAMED(name, type) \
  "{\"name\":\"" name "\",\"keyword\":true,\"type\":" type "}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define DICT(fields) "{\"kind\":\"dict\",\"fields\":[" fields "]}"
#define TUPLE(items) "{\"kind\":\"tuple\",\"items\":[" items "]}"
#define SCALAR(dtype, more) \
  "{\"kind\":\"scalar\",\"dtype\":\"" dtype "\"" more "}"

static const struct {
  const char *name;
  const char *arguments;
  const char *results;
  bool fails;
  const char *says;    // the signature, or the message
  uint32_t counts[2];  // of raw arguments and results
} described[] = {
    {"nothing", "", "", false, "() -> ()", {0, 0}},
    {"names, signs and dims",
     NAMED("x", "{\"kind\":\"tensor\",\"dtype\":\"ui8\",\"shape\":[null,3],"
                "\"dims\":[\"n\",null]}"),
     FIELD("y", SCALAR("i64", "")),
     false,
     "(x: tensor<[n]x3xui8>) -> i64",
     {1, 1}},
    {"a tree",
     NAMED("p", DICT(FIELD("b", SCALAR("f32", "")) "," FIELD(
                    "w", TUPLE(SCALAR(
                             "i8",
                             "") ",{\"kind\":\"null\"}")))) "," OF(SCALAR("f64",
                                                                          "")),
     OF(DICT(FIELD("label", SCALAR("i64", "")))) "," OF(SCALAR("i1", "")),
     false,
     "(p: {b: f32, w: (i8, null)}, f64) -> ({label: i64}, i1)",
     {3, 2}},
    {"another order",
     OF(SCALAR("f32", ",\"raw_index\":1")) "," OF(
         SCALAR("i8", ",\"raw_index\":0")),
     "",
     false,
     "(f32, i8) -> ()",
     {2, 0}},
    {"an empty tree",
     OF(TUPLE("")) "," OF(SCALAR("f32", "")),
     "",
     false,
     "((), f32) -> ()",
     {1, 0}},
    {"a value taken twice",
     OF(SCALAR("f32", ",\"raw_index\":0")) "," OF(
         SCALAR("i8", ",\"raw_index\":0")),
     "",
     true,
     "raw",
     {0, 0}},
    {"a value nobody takes",
     OF(SCALAR("f32", ",\"raw_index\":2")),
     "",
     true,
     "raw",
     {0, 0}},
    {"a place far away",
     OF(SCALAR("f32", ",\"raw_index\":2147483647")),
     "",
     true,
     "/arguments/0: raw_index must be an integer from 0 to 16383",
     {0, 0}},
    {"no place",
     OF(SCALAR("f32", ",\"raw_index\":-1")),
     "",
     true,
     "/arguments/0: raw_index must be an integer from 0 to 16383",
     {0, 0}},
    {"a list",
     OF("{\"kind\":\"list\",\"items\":" SCALAR("f32", "") "}"),
     "",
     true,
     "a function takes no list of any length here",
     {0, 0}},
    {"no type",
     "{\"name\":\"x\"}",
     "",
     true,
     "its sidecar, /functions/1: /arguments/0: a type must be an object",
     {0, 0}},
    {"no element type",
     OF(SCALAR("q7", "")),
     "",
     true,
     "dtype is unknown",
     {0, 0}},
    {"a negative size",
     OF(TENSOR("f32", "[-3]")),
     "",
     true,
     "must not be negative",
     {0, 0}},
    {"names that are two",
     NAMED("x", SCALAR("i8", "")) "," NAMED("x", SCALAR("i8", "")),
     "",
     true,
     "'x'",
     {0, 0}},
};

static void a_sidecar_may_say_the_types(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(described[0]), row, described) {
    char json[2048];
    fc_names_t *names;
    fc_error_t err;
    fc_signature_t *signature = NULL;
    fc_error_reset(&err);
    snprintf(json, sizeof json,
             "{\"farcall\":1,\"functions\":[{\"name\":\"other\"},{\"name\":"
             "\"f\",\"doc\":\"why\",\"arguments\":[%s],\"results\":[%s]}]}",
             row->arguments, row->results);
    assert_int_equal(parse(json, true, &names, &err), FC_OK);
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    assert_int_equal(fc_names_describe(names, FC_STR("other"), builder, &err),
                     FC_NOT_FOUND);
    assert_int_equal(fc_names_describe(names, FC_STR("g"), builder, &err),
                     FC_NOT_FOUND);
    fc_status_t status = fc_names_describe(names, FC_STR("f"), builder, &err);
    fc_builder_name(builder, FC_STR("f"));
    if (status == FC_OK) status = fc_signature_build(builder, &signature, &err);
    assert_int_equal(status != FC_OK, row->fails);
    if (row->fails) {
      if (!strstr(err.message, row->says)) fail_msg("%s", err.message);
    } else {
      expect_text(signature, row->says);
      assert_int_equal(signature->source, FC_SOURCE_SIDECAR);
      assert_int_equal(signature->raw_argument_count, row->counts[0]);
      assert_int_equal(signature->raw_result_count, row->counts[1]);
      assert_true(fc_str_equal(fc_signature_attr(signature, FC_STR("doc")),
                               FC_STR("why")));
      // A second application changes nothing: the signature has the names already.
      bool named;
      assert_int_equal(
          fc_names_apply(names, FC_STR("f"), signature, builder, &named, &err),
          FC_OK);
      assert_true(named);
    }
    fc_signature_destroy(signature);
    fc_builder_destroy(builder);
    fc_names_destroy(names);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(functions_get_their_names),
      FC_TEST(names_that_do_not_fit_are_refused),
      FC_TEST(too_many_names_are_refused),
      FC_TEST(documents_are_told_apart),
      FC_TEST(a_sidecar_may_say_the_types),
      FC_TEST(a_function_nobody_has_is_refused),
      FC_TEST(names_survive_every_failing_allocation),
      FC_TEST(a_hash_may_have_capitals),
      FC_TEST(text_for_people_is_kept_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
