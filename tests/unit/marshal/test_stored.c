// SPDX-License-Identifier: Apache-2.0
//
// Calls with values that stay from call to call: what documents may say of them, where
// a function writes, and which values are there afterwards.
#include "marshal/stored.h"

#include <stdio.h>
#include <unistd.h>

#include "helpers/call.h"
#include "helpers/test.h"
#include "helpers/types.h"

typedef struct desk_t {
  int file;
  fc_store_t store;
  fc_store_desk_t desk;
} desk_t;

static void *add(desk_t *it, const char *name, const fc_value_t *value,
                 const void *bytes) {
  fc_store_row_t row;
  fc_error_t err = {0};
  void *data;
  assert_int_equal(fc_store_describe(fc_str(name), value, &row, &err), FC_OK);
  assert_int_equal(fc_store_place(&it->store, &row, &data, &err), FC_OK);
  assert_int_equal(fc_store_put(&it->store, &row, &err), FC_OK);
  if (row.size) memcpy(data, bytes, row.size);
  fc_store_find(&it->desk, fc_str(name))->change = 0;
  return data;
}

// The values: kv = f32[2] of 1 and 2, other = the same, n = 7, b = "abc", e = i8[0]
static void open_desk(desk_t *it) {
  static const int64_t two[] = {2}, none[] = {0};
  static const float floats[] = {1, 2};
  static const int64_t seven = 7;
  fc_error_t err = {0};
  *it = (desk_t){0};
  assert_int_equal(fc_store_make_slab(&it->file, &err), FC_OK);
  fc_store_init(&it->store);
  fc_store_open(&it->store, it->file);
  it->desk = (fc_store_desk_t){.end = 1 << 30, .budget = 1 << 20};
  fc_store_begin(&it->store, &it->desk);
  fc_value_t tensor = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_F32, .rank = 1, .shape = two}};
  add(it, "kv", &tensor, floats);
  add(it, "other", &tensor, floats);
  add(it, "n", &(fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I64},
      &seven);
  add(it, "b", &(fc_value_t){.kind = FC_VALUE_BYTES, .bytes = FC_STR("abc")},
      "abc");
  tensor.tensor = (fc_tensor_t){.dtype = FC_DTYPE_I8, .rank = 1, .shape = none};
  add(it, "e", &tensor, NULL);
}

static void close_desk(desk_t *it) {
  fc_store_end(&it->store);
  fc_store_deinit(&it->store);
  close(it->file);
}

// Adds one to the first float of the last argument.
static fc_status_t write_last(void *instance, size_t index,
                              fc_backend_call_t *call, fc_error_t *err) {
  const fc_value_t *value = &call->arguments[call->argument_count - 1];
  float *floats = value->tensor.data;
  floats[0]++;
  return fc_backend_echo.call(instance, index, call, err);
}

static fc_status_t run(fc_test_call_t *call, desk_t *it, const char *body,
                       bool writes, char *out, size_t capacity,
                       fc_error_t *err) {
  fc_backend_t backend = fc_backend_echo;
  if (writes) backend.call = write_last;
  fc_frame_begin(call->frame, call->plan, NULL);
  if (it) {
    it->store.copied = 0;
    fc_store_begin(&it->store, &it->desk);
    fc_frame_set_store(call->frame, &it->store);
  }
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), capacity - 1);
  fc_status_t status = fc_frame_decode(call->frame, fc_str(body), err);
  if (status == FC_OK) {
    status =
        fc_frame_invoke(call->frame, &backend, &call->echo, 0, NULL, 0, err);
  }
  if (status == FC_OK) status = fc_frame_encode(call->frame, &text.sink, err);
  if (status == FC_OK) {
    const fc_str_t printed = fc_text_str(&text);
    snprintf(out, capacity, "%.*s", FC_STR_ARG(printed));
  }
  fc_text_deinit(&text);
  fc_frame_end(call->frame);
  return status;
}

// ---------------------------------------------------------------------------

#define KV "{\"ref\":\"kv\"}"
#define LIST_TYPE "{\"kind\":\"list\",\"items\":{\"kind\":\"unknown\"}}"
#define KV_TYPE "{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[2]}"

typedef struct row_t {
  const char *name, *types, *body;
  const char *answer;  // or a part of the message
  fc_code_t code;
  const char *pointer;
} row_t;

static const row_t rows[] = {
    {"a tensor", "x: tensor<2xf32> -> tensor<2xf32>", "[" KV "]",
     "{\"results\":[[1.0,2.0]]}", 0, NULL},
    {"by name", "x: tensor<?xf32> -> tensor<?xf32>",
     "{\"kwargs\":{\"x\":" KV "}}", "{\"results\":[[1.0,2.0]]}", 0, NULL},
    {"twice, only read", "tensor<Nxf32>, tensor<Nxf32> -> tensor<Nxf32>",
     "[" KV "," KV "]", "{\"results\":[[1.0,2.0]]}", 0, NULL},
    {"a scalar", "i64 -> i64", "[{\"ref\":\"n\"}]", "{\"results\":[7]}", 0,
     NULL},
    {"bytes", "bytes -> bytes", "[{\"ref\":\"b\"}]",
     "{\"results\":[{\"b64\":\"YWJj\"}]}", 0, NULL},
    {"of any type", "any -> any", "[{\"ref\":\"n\"}]", "{\"results\":[7]}", 0,
     NULL},
    {"in a list", "[tensor<?xf32>] -> [tensor<?xf32>]", "[[" KV ",[5]]]",
     "{\"results\":[[[1.0,2.0],[5.0]]]}", 0, NULL},
    {"in a list of any types", "any -> any",
     "[{\"list\":[{\"ref\":\"n\"},{\"ref\":\"b\"}]}]",
     "{\"results\":[[7,{\"b64\":\"YWJj\"}]]}", 0, NULL},
    {"in a dict", "{a: i64} -> {a: i64}", "[{\"a\":{\"ref\":\"n\"}}]",
     "{\"results\":[{\"a\":7}]}", 0, NULL},
    {"empty", "tensor<?xi8> -> tensor<?xi8>", "[{\"ref\":\"e\"}]",
     "{\"results\":[[]]}", 0, NULL},
    {"written", "inout tensor<2xf32> -> ", "[" KV "]",
     "{\"results\":[{\"ref\":\"kv\",\"type\":" KV_TYPE "}]}", 0, NULL},
    {"kept", "tensor<2xf32> -> tensor<2xf32>",
     "{\"args\":[[3,4]],\"options\":{\"keep\":{\"0\":\"new\"}}}",
     "{\"results\":[{\"ref\":\"new\",\"type\":" KV_TYPE "}]}", 0, NULL},
    {"kept over another", "tensor<3xf32> -> tensor<3xf32>",
     "{\"args\":[[3,4,5]],\"options\":{\"keep\":{\"0\":\"kv\"}}}",
     "{\"results\":[{\"ref\":\"kv\",\"type\":{\"kind\":\"tensor\",\"dtype\":"
     "\"f32\",\"shape\":[3]}}]}",
     0, NULL},
    {"one of two kept", "i64, bytes -> i64, bytes",
     "{\"options\":{\"if_absent\":true,\"keep\":{\"1\":\"c\"}},\"args\":[1,"
     "\"x\"]}",
     "{\"results\":[1,{\"ref\":\"c\",\"type\":{\"kind\":\"bytes\"}}]}", 0,
     NULL},

    {"no such value", "tensor<2xf32> -> tensor<2xf32>", "[{\"ref\":\"kw\"}]",
     "argument 0: there is no value 'kw'; did you mean 'kv'?",
     FC_CODE_REFERENCE_UNKNOWN, "/0/ref"},
    {"another dtype", "x: tensor<2xf16> -> tensor<2xf16>", "[" KV "]",
     "argument 0 ('x'): value 'kv' is a tensor f32[2]: dtype 'f32', declared "
     "f16",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"another dim", "tensor<3xf32> -> tensor<3xf32>", "[" KV "]",
     "value 'kv' is a tensor f32[2]: dim 0 is 2, declared 3",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"another rank", "tensor<1x2xf32> -> tensor<1x2xf32>", "[" KV "]",
     "value 'kv' is a tensor f32[2]: 1 dims, the tensor has 2",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"a named dim", "tensor<Nxf32>, tensor<Nxf32> -> f32", "[[1,2,3]," KV "]",
     "value 'kv' is a tensor f32[2]: dim 0 is 2", FC_CODE_TYPE_MISMATCH,
     "/1/ref"},
    {"a scalar for a tensor", "tensor<2xf32> -> f32", "[{\"ref\":\"n\"}]",
     "value 'n' is a scalar i64: expected a tensor", FC_CODE_TYPE_MISMATCH,
     "/0/ref"},
    {"a tensor for a scalar", "f32 -> f32", "[" KV "]",
     "value 'kv' is a tensor f32[2]: expected a scalar f32",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"no reference for a scalar", "f32 -> f32", "[{\"x\":1}]",
     "expected f32, found an object: a scalar is a bare value",
     FC_CODE_TYPE_MISMATCH, "/0"},
    {"no reference for a complex scalar", "complex<f32> -> f32", "[{\"x\":1}]",
     "found an object", FC_CODE_TYPE_MISMATCH, "/0"},
    {"bytes for text", "str -> str", "[{\"ref\":\"b\"}]",
     "value 'b' is bytes: expected bytes, text by value", FC_CODE_TYPE_MISMATCH,
     "/0/ref"},
    {"no name", "tensor<2xf32> -> f32", "[{\"ref\":7}]", "the name of a value",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"not alone", "tensor<2xf32> -> f32",
     "[{\"ref\":\"kv\",\"dtype\":\"f32\"}]", "'ref' stands alone",
     FC_CODE_UNKNOWN_KEY, "/0/dtype"},
    {"written and read", "tensor<2xf32>, inout tensor<2xf32> -> ",
     "[" KV "," KV "]",
     "argument 1: value 'kv' is given twice, and the function writes into it",
     FC_CODE_DUPLICATE_ARGUMENT, "/1/ref"},
    {"written twice", "inout tensor<2xf32>, inout tensor<2xf32> -> ",
     "[" KV "," KV "]", "given twice", FC_CODE_DUPLICATE_ARGUMENT, "/1/ref"},
    {"no such result", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"keep\":{\"1\":\"x\"}}}",
     "'1' is none of the 1 results", FC_CODE_JSON_SCHEMA, "/options/keep/1"},
    {"no number", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"keep\":{\"0x\":\"x\"}}}",
     "'0x' is none of the 1 results", FC_CODE_JSON_SCHEMA, "/options/keep/0x"},
    {"a bad name", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"keep\":{\"0\":\"a/b\"}}}", "is named by",
     FC_CODE_JSON_SCHEMA, "/options/keep/0"},
    {"kept twice", "f32, f32 -> f32, f32",
     "{\"args\":[1,2],\"options\":{\"keep\":{\"0\":\"x\",\"1\":\"x\"}}}",
     "value 'x' is kept twice", FC_CODE_DUPLICATE_KEY, "/options/keep/1"},
    {"a list", "[f32] -> [f32]",
     "{\"args\":[[1]],\"options\":{\"keep\":{\"0\":\"x\"}}}",
     "{\"results\":[{\"ref\":\"x\",\"type\":" LIST_TYPE "}]}", 0, NULL},
    {"parts of a result", "{a: i64@0} -> {a: i64@0}",
     "{\"args\":[{\"a\":1}],\"options\":{\"keep\":{\"0\":\"x\"}}}",
     "cannot be kept", FC_CODE_UNSUPPORTED_TYPE, "/options/keep/0"},
    {"no list", "[f32] -> [f32]", "[{\"ref\":\"n\"}]",
     "value 'n' is a scalar i64: expected a list", FC_CODE_TYPE_MISMATCH,
     "/0/ref"},
    {"a dict may have the name", "{ref: i64} -> {ref: i64}", "[{\"ref\":7}]",
     "{\"results\":[{\"ref\":7}]}", 0, NULL},
    {"another object for a list", "[f32] -> [f32]", "[{\"rev\":7}]",
     "expected an array, found an object", FC_CODE_TYPE_MISMATCH, "/0"},
    {"not absent", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"keep\":{\"0\":\"kv\"},\"if_absent\":true}}",
     "there is a value 'kv' already", FC_CODE_PRECONDITION_FAILED, NULL},
    {"keep is no list", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"keep\":[\"x\"]}}", "an object",
     FC_CODE_JSON_SCHEMA, "/options/keep"},
    {"absent is no number", "f32 -> f32",
     "{\"args\":[1],\"options\":{\"if_absent\":1}}", "true or false",
     FC_CODE_JSON_SCHEMA, "/options/if_absent"},
    {"kept, without bytes", "tensor<?xi8> -> tensor<?xi8>",
     "{\"args\":[{\"dtype\":\"i8\",\"shape\":[0],\"data\":[]}],\"options\":{"
     "\"keep\":{\"0\":\"z\"}}}",
     "{\"results\":[{\"ref\":\"z\",\"type\":{\"kind\":\"tensor\",\"dtype\":"
     "\"i8\",\"shape\":[0]}}]}",
     0, NULL},
};

static void documents_name_and_keep_values(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_test_call_t call;
    desk_t desk;
    fc_error_t err = {0};
    char answer[1024] = "";
    open_desk(&desk);
    fc_test_call_init(&call, row->types, NULL);
    const fc_status_t status =
        run(&call, &desk, row->body, false, answer, sizeof answer, &err);
    if (status != FC_OK && !row->code) fail_msg("%s", err.message);
    assert_int_equal(err.code, row->code);
    if (row->code) {
      if (!strstr(err.message, row->answer)) fail_msg("%s", err.message);
      if (row->pointer) assert_string_equal(err.pointer, row->pointer);
    } else {
      assert_string_equal(answer, row->answer);
    }
    for (uint32_t i = 0; i < desk.desk.count; i++) {
      assert_int_equal(fc_store_verify(&desk.desk.rows[i], &err), FC_OK);
    }
    fc_test_call_deinit(&call);
    close_desk(&desk);
  }
}

static fc_status_t run_once(desk_t *desk, const char *types, const char *body,
                            char *out, size_t capacity, fc_error_t *err) {
  fc_test_call_t call;
  fc_test_call_init(&call, types, NULL);
  const fc_status_t status = run(&call, desk, body, false, out, capacity, err);
  fc_test_call_deinit(&call);
  return status;
}

#define H "{\"ref\":\"h\"}"
#define THING "{\"kind\":\"opaque\",\"type\":\"test.thing\"}"
#define KEEP(argument) \
  "{\"args\":[" argument "],\"options\":{\"keep\":{\"0\":\"i\"}}}"
#define NONE "null or {\"ref\":"

// The values are those of open_desk, and h = a test.thing
static const row_t opaque_rows[] = {
    {"given and kept", "opaque -> opaque", KEEP(H),
     "{\"results\":[{\"ref\":\"i\",\"type\":" THING "}]}", 0, NULL},
    {"of any type", "any -> any", KEEP(H),
     "{\"results\":[{\"ref\":\"i\",\"type\":" THING "}]}", 0, NULL},
    {"null", "opaque -> opaque", KEEP("null"),
     "{\"results\":[{\"ref\":\"i\",\"type\":" THING "}]}", 0, NULL},
    {"no such value", "opaque -> opaque", "[{\"ref\":\"g\"}]",
     "there is no value 'g'", FC_CODE_REFERENCE_UNKNOWN, "/0/ref"},
    {"bytes for it", "opaque -> opaque", "[{\"ref\":\"b\"}]",
     "expected an opaque reference (test.thing)", FC_CODE_TYPE_MISMATCH,
     "/0/ref"},
    {"for a scalar", "i64 -> i64", "[" H "]",
     "value 'h' is an opaque reference (test.thing): expected a scalar i64",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"no name", "opaque -> opaque", "[{\"ref\":1}]", "the name of a value",
     FC_CODE_TYPE_MISMATCH, "/0/ref"},
    {"not alone", "opaque -> opaque", "[{\"ref\":\"h\",\"x\":1}]",
     "'ref' stands alone", FC_CODE_UNKNOWN_KEY, NULL},
    {"another key", "opaque -> opaque", "[{\"rev\":\"h\"}]", NONE,
     FC_CODE_TYPE_MISMATCH, "/0"},
    {"no key", "opaque -> opaque", "[{}]", NONE, FC_CODE_TYPE_MISMATCH, "/0"},
    {"no object", "opaque -> opaque", "[[" H "]]", NONE, FC_CODE_TYPE_MISMATCH,
     "/0"},
};

static void count_thing(void *object, int change) { *(int *)object += change; }

static void add_thing(desk_t *it, fc_references_t *references, int *thing) {
  const fc_value_t value = {
      .kind = FC_VALUE_OPAQUE,
      .opaque = {FC_STR("test.thing"), thing, count_thing}};
  fc_store_row_t row;
  fc_error_t err;
  fc_references_init(references, fc_allocator_system());
  it->store.references = references;
  it->desk.reference = 1;
  it->desk.references = 2;
  assert_int_equal(fc_store_describe(FC_STR("h"), &value, &row, &err), FC_OK);
  assert_int_equal(fc_store_refer(&it->store, &row, &value.opaque, &err),
                   FC_OK);
  assert_int_equal(fc_store_put(&it->store, &row, &err), FC_OK);
}

static void documents_name_and_keep_references(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, opaque_rows) {
    fc_references_t references;
    desk_t desk;
    fc_error_t err = {0};
    char answer[256] = "";
    int thing = 0;
    open_desk(&desk);
    add_thing(&desk, &references, &thing);
    const fc_status_t status =
        run_once(&desk, row->types, row->body, answer, sizeof answer, &err);
    if (status != FC_OK && !row->code) fail_msg("%s", err.message);
    assert_int_equal(err.code, row->code);
    if (row->code) {
      if (!strstr(err.message, row->answer)) fail_msg("%s", err.message);
      if (row->pointer) assert_string_equal(err.pointer, row->pointer);
    } else {
      assert_string_equal(answer, row->answer);
    }
    const fc_store_row_t *kept = fc_store_find(&desk.desk, FC_STR("i"));
    assert_int_equal(thing, 1 + (kept && kept->reference));
    fc_references_deinit(&references);
    assert_int_equal(thing, 0);
    close_desk(&desk);
  }
}

// One function keeps a list of some types, and a function of other types gets it.
typedef struct list_row_t {
  const char *name, *from, *body;
  const char *to;
  const char *answer;  // or a part of the message
  fc_code_t code;
} list_row_t;

#define LISTS "[[[1,2],[3]],[]]"
#define RECORDS "[{a: i64, b: bytes}] -> [{a: i64, b: bytes}]"

static const list_row_t list_rows[] = {
    {"numbers", "[i64] -> [i64]", "[1,2,3]", "[i64] -> [i64]",
     "{\"results\":[[1,2,3]]}", 0},
    {"none", "[i64] -> [i64]", "[]", "[i64] -> [i64]", "{\"results\":[[]]}", 0},
    {"tensors", "[tensor<?xf32>] -> [tensor<?xf32>]", "[[1,2],[],[3]]",
     "[tensor<?xf32>] -> [tensor<?xf32>]",
     "{\"results\":[[[1.0,2.0],[],[3.0]]]}", 0},
    {"lists of lists", "[[tensor<?xi8>]] -> [[tensor<?xi8>]]", LISTS,
     "[[tensor<?xi8>]] -> [[tensor<?xi8>]]", "{\"results\":[" LISTS "]}", 0},
    {"bytes", "[bytes] -> [bytes]", "[\"abc\",\"\"]", "[bytes] -> [bytes]",
     "{\"results\":[[{\"b64\":\"YWJj\"},{\"b64\":\"\"}]]}", 0},
    {"booleans", "[i1] -> [i1]", "[true,false]", "[i1] -> [i1]",
     "{\"results\":[[true,false]]}", 0},
    {"of any type", "any -> any",
     "{\"list\":[{\"bytes\":\"x\"},{\"dtype\":\"i4\",\"shape\":[2],"
     "\"data\":[-8,7]},null,{\"list\":[]}]}",
     "any -> any", "{\"results\":[[{\"b64\":\"eA==\"},[-8,7],null,[]]]}", 0},
    {"of any type, given as one", "any -> any",
     "{\"list\":[{\"dtype\":\"f32\",\"shape\":[1],\"data\":[2]}]}",
     "[tensor<?xf32>] -> [tensor<?xf32>]", "{\"results\":[[[2.0]]]}", 0},
    {"dicts", RECORDS, "[{\"a\":1,\"b\":\"x\"}]", RECORDS,
     "{\"results\":[[{\"a\":1,\"b\":{\"b64\":\"eA==\"}}]]}", 0},
    {"tuples", "[(i64, f32)] -> [(i64, f32)]", "[[1,2]]",
     "[(i64, f32)] -> [(i64, f32)]", "{\"results\":[[[1,2.0]]]}", 0},
    {"a dict as a tuple", "[{a: i64}] -> [{a: i64}]", "[{\"a\":1}]",
     "[(i64)] -> [(i64)]", "{\"results\":[[[1]]]}", 0},

    {"numbers as lists", "[i64] -> [i64]", "[5]", "[[i64]] -> [[i64]]",
     "value 'l' is a scalar i64: expected a list", FC_CODE_TYPE_MISMATCH},
    {"lists as numbers", "[[i64]] -> [[i64]]", "[[]]", "[i64] -> [i64]",
     "value 'l' is a list: a list of other parts is expected",
     FC_CODE_TYPE_MISMATCH},
    {"other numbers", "[i64] -> [i64]", "[1]", "[i32] -> [i32]",
     "value 'l' is a scalar i64: expected a scalar i32", FC_CODE_TYPE_MISMATCH},
    {"other dims", "[tensor<?xf32>] -> [tensor<?xf32>]", "[[1,2]]",
     "[tensor<3xf32>] -> [tensor<3xf32>]", "dim 0 is 2, declared 3",
     FC_CODE_TYPE_MISMATCH},
    {"other dims by name", "[tensor<?xf32>] -> [tensor<?xf32>]", "[[1,2],[3]]",
     "[tensor<Nxf32>] -> [tensor<Nxf32>]", "dim 0 is 1", FC_CODE_TYPE_MISMATCH},
    {"a list for a tensor", "[i64] -> [i64]", "[1]",
     "tensor<?xi64> -> tensor<?xi64>",
     "value 'l' is a list: a list of other parts is expected",
     FC_CODE_TYPE_MISMATCH},
    {"a list for parts", "[i64] -> [i64]", "[1]", "{a: i64@0} -> {a: i64@0}",
     "value 'l' is a list: the argument is passed as its parts",
     FC_CODE_TYPE_MISMATCH},
    {"other names", "[{a: i64}] -> [{a: i64}]", "[{\"a\":1}]",
     "[{b: i64}] -> [{b: i64}]", "a dict with other names is expected",
     FC_CODE_TYPE_MISMATCH},
    {"too many", "[(i64, i64)] -> [(i64, i64)]", "[[1,2]]",
     "[(i64)] -> [(i64)]", "a list of other parts is expected",
     FC_CODE_TYPE_MISMATCH},
    {"null for a number", "any -> any", "{\"list\":[null]}", "[i64] -> [i64]",
     "null is a part of it", FC_CODE_TYPE_MISMATCH},
};

static void lists_are_kept_and_given(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const list_row_t, row, list_rows) {
    desk_t desk;
    fc_error_t err = {0};
    char answer[1024] = "", body[512];
    snprintf(body, sizeof body,
             "{\"args\":[%s],\"options\":{\"keep\":{\"0\":\"l\"}}}", row->body);
    open_desk(&desk);
    if (run_once(&desk, row->from, body, answer, sizeof answer, &err) !=
        FC_OK) {
      fail_msg("%s", err.message);
    }
    assert_string_equal(
        answer, "{\"results\":[{\"ref\":\"l\",\"type\":" LIST_TYPE "}]}");
    fc_store_row_t *kept = fc_store_find(&desk.desk, FC_STR("l"));
    assert_int_equal(fc_store_verify(kept, &err), FC_OK);
    // If another session shares the list, a function that may write gets a copy of it.
    for (int shared = 0; shared < 2; shared++) {
      kept->flags = shared ? FC_STORE_SHARED : 0;
      err = (fc_error_t){0};
      const fc_status_t status = run_once(&desk, row->to, "[{\"ref\":\"l\"}]",
                                          answer, sizeof answer, &err);
      if (status != FC_OK && !row->code) fail_msg("%s", err.message);
      assert_int_equal(err.code, row->code);
      if (!row->code) assert_string_equal(answer, row->answer);
      else if (!strstr(err.message, row->answer)) fail_msg("%s", err.message);
    }
    close_desk(&desk);
  }
}

// A function may overwrite what is in the store. Here each byte of a stored list gets
// other values, one after the other.
static void lists_that_were_written_over_are_read_safely(void **state) {
  (void)state;
  static const char *const types =
      "[{a: tensor<?xf32>, b: bytes}] -> [{a: tensor<?xf32>, b: bytes}]";
  desk_t desk;
  fc_error_t err = {0};
  char answer[1024];
  void *data;
  open_desk(&desk);
  assert_int_equal(
      run_once(&desk, types,
               "{\"args\":[[{\"a\":[1,2],\"b\":\"xy\"}]],\"options\":{\"keep\":"
               "{\"0\":\"l\"}}}",
               answer, sizeof answer, &err),
      FC_OK);
  const fc_store_row_t kept = *fc_store_find(&desk.desk, FC_STR("l"));
  assert_int_equal(fc_store_map(&desk.store, &kept, &data, &err), FC_OK);
  uint32_t refused = 0;
  for (uint64_t at = 0; at < kept.size; at++) {
    uint8_t *byte = (uint8_t *)data + at, was = *byte;
    for (unsigned value = 0; value < 256; value += 51) {
      *byte = (uint8_t)value;
      refused += run_once(&desk, types, "[{\"ref\":\"l\"}]", answer,
                          sizeof answer, &err) != FC_OK;
    }
    *byte = was;
  }
  assert_true(refused > 100);
  assert_int_equal(
      run_once(&desk, types, "[{\"ref\":\"l\"}]", answer, sizeof answer, &err),
      FC_OK);
  close_desk(&desk);
}

static void without_a_store_there_are_no_values(void **state) {
  (void)state;
  static const char *const types[] = {"f32 -> f32", "any -> any",
                                      "bytes -> bytes",
                                      "tensor<2xf32> -> tensor<2xf32>"};
  fc_test_call_t call;
  fc_error_t err;
  char answer[256];
  for (size_t i = 0; i < FC_ARRAY_COUNT(types); i++) {
    if (i) fc_test_call_deinit(&call);
    fc_test_call_init(&call, types[i], NULL);
    fc_error_reset(&err);
    (void)run(&call, NULL, "[" KV "]", false, answer, sizeof answer, &err);
    assert_int_equal(err.code, FC_CODE_REFERENCE_UNKNOWN);
    assert_string_equal(err.message,
                        "argument 0: there are no values to name: the call "
                        "belongs to no session");
    assert_string_equal(err.pointer, "/0/ref");
  }
  (void)run(&call, NULL,
            "{\"args\":[[1,2]],\"options\":{\"keep\":{\"0\":\"x\"}}}", false,
            answer, sizeof answer, &err);
  assert_int_equal(err.code, FC_CODE_REFERENCE_UNKNOWN);
  fc_test_call_deinit(&call);
}

// The elements of a float vector on the desk.
static const float *floats_of(desk_t *it, const char *name) {
  void *data;
  fc_error_t err;
  assert_int_equal(
      fc_store_map(&it->store, fc_store_find(&it->desk, fc_str(name)), &data,
                   &err),
      FC_OK);
  return data;
}

static void a_function_writes_where_the_value_lies(void **state) {
  (void)state;
  for (int guard = 0; guard < 2; guard++) {
    fc_test_call_t call;
    desk_t desk;
    fc_error_t err = {0};
    char answer[256];
    open_desk(&desk);
    fc_test_call_init(&call, "inout tensor<2xf32> -> ", NULL);
    fc_frame_set_guard(call.frame, guard);
    const fc_store_row_t before = *fc_store_find(&desk.desk, FC_STR("kv"));
    for (int i = 0; i < 3; i++) {
      assert_int_equal(
          run(&call, &desk, "[" KV "]", true, answer, sizeof answer, &err),
          FC_OK);
      assert_int_equal(desk.store.copied, 0);
    }
    const fc_store_row_t *after = fc_store_find(&desk.desk, FC_STR("kv"));
    assert_int_equal(after->offset, before.offset);
    assert_int_equal(after->change, FC_STORE_WRITTEN);
    assert_true(floats_of(&desk, "kv")[0] == 4);
    assert_true(floats_of(&desk, "other")[0] == 1);
    fc_test_call_deinit(&call);
    close_desk(&desk);
  }
}

// The loan of an earlier step was read from memory that a module may have written to,
// so a loan of a value that does not exist is refused.
static void a_value_is_lent_again_if_there_is_one(void **state) {
  (void)state;
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  open_desk(&desk);
  fc_test_call_init(&call, "i64, inout tensor<2xf32> -> ", NULL);
  fc_frame_begin(call.frame, call.plan, NULL);
  fc_frame_set_store(call.frame, &desk.store);
  const fc_stored_loan_t wrong[] = {{0, 0},          {1, 2}, {1, FC_STORE_ROWS},
                                    {1, UINT32_MAX}, {2, 0}, {UINT32_MAX, 0}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(wrong); i++) {
    assert_int_not_equal(fc_stored_lend(call.frame, &wrong[i], &err), FC_OK);
  }
  assert_int_equal(fc_stored_lend(call.frame, &(fc_stored_loan_t){1, 0}, &err),
                   FC_OK);
  fc_stored_loan_t loan;
  uint32_t raw = 0;
  assert_true(fc_stored_next_loan(call.frame, &raw, &loan));
  assert_int_equal(loan.raw, 1);
  assert_int_equal(loan.row, 0);
  assert_false(fc_stored_next_loan(call.frame, &raw, &loan));
  fc_frame_end(call.frame);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

static void a_shared_value_stays_as_it_is_for_the_others(void **state) {
  (void)state;
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[256];
  open_desk(&desk);
  fc_test_call_init(&call, "inout tensor<2xf32> -> ", NULL);
  fc_store_row_t *row = fc_store_find(&desk.desk, FC_STR("kv"));
  const float *first = floats_of(&desk, "kv");
  row->flags = FC_STORE_SHARED;
  assert_int_equal(
      run(&call, &desk, "[" KV "]", true, answer, sizeof answer, &err), FC_OK);
  assert_int_equal(row->change, FC_STORE_NEW);
  assert_true(floats_of(&desk, "kv")[0] == 2 && first[0] == 1);
  // A result that is kept under the name does not change the shared value, either.
  row->flags = FC_STORE_SHARED;
  first = floats_of(&desk, "kv");
  fc_test_call_deinit(&call);
  fc_test_call_init(&call, "tensor<2xf32> -> tensor<2xf32>", NULL);
  assert_int_equal(
      run(&call, &desk,
          "{\"args\":[[8,9]],\"options\":{\"keep\":{\"0\":\"kv\"}}}", false,
          answer, sizeof answer, &err),
      FC_OK);
  assert_true(floats_of(&desk, "kv")[0] == 8 && first[0] == 2);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

// After encoding, the call may still fail, for example while the answer is compressed.
static void an_answer_that_is_not_whole_keeps_nothing(void **state) {
  (void)state;
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char buffer[256];
  open_desk(&desk);
  fc_test_call_init(&call, "tensor<2xf32> -> tensor<2xf32>", NULL);
  for (int whole = 0; whole < 2; whole++) {
    fc_sink_t sink = {.cursor = buffer, .end = buffer + sizeof buffer};
    fc_frame_begin(call.frame, call.plan, NULL);
    fc_frame_set_store(call.frame, &desk.store);
    fc_stored_hold(call.frame);
    fc_status_t status = fc_frame_decode(
        call.frame,
        FC_STR("{\"args\":[[8,9]],\"options\":{\"keep\":{\"0\":\"kv\"}}}"),
        &err);
    if (status == FC_OK) {
      status = fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 0,
                               NULL, 0, &err);
    }
    if (status == FC_OK) status = fc_frame_encode(call.frame, &sink, &err);
    if (status != FC_OK) fail_msg("%s", err.message);
    if (whole) fc_stored_commit(call.frame);
    fc_frame_end(call.frame);
    assert_true(floats_of(&desk, "kv")[0] == (whole ? 8 : 1));
  }
  // The next call works as usual.
  char answer[256];
  assert_int_equal(
      run(&call, &desk,
          "{\"args\":[[3,4]],\"options\":{\"keep\":{\"0\":\"kv\"}}}", false,
          answer, sizeof answer, &err),
      FC_OK);
  assert_true(floats_of(&desk, "kv")[0] == 3);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

static void a_call_that_fails_keeps_nothing(void **state) {
  (void)state;
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[64];
  open_desk(&desk);
  fc_test_call_init(&call,
                    "tensor<2xf32>, tensor<?xi8> -> tensor<2xf32>, "
                    "tensor<?xi8>",
                    NULL);
  // The answer has no room for its second result.
  assert_int_not_equal(
      run(&call, &desk,
          "{\"args\":[[8,9],[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,"
          "8,9]],\"options\":{\"keep\":{\"0\":\"kv\"}}}",
          false, answer, 40, &err),
      FC_OK);
  assert_true(floats_of(&desk, "kv")[0] == 1);
  assert_int_equal(fc_store_find(&desk.desk, FC_STR("kv"))->change, 0);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

// ---------------------------------------------------------------------------
// State

typedef struct declared_t {
  const char *name;
  uint32_t argument, result;
} declared_t;

static void init_call(fc_test_call_t *call, const char *types,
                      const declared_t *states, size_t count) {
  fc_error_t err = {0};
  fc_test_call_init(call, types, NULL);
  fc_plan_destroy(call->plan);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_builder_copy(builder, call->signature);
  for (size_t i = 0; i < count; i++) {
    fc_builder_state(builder, fc_str(states[i].name), states[i].argument,
                     states[i].result, 0, NULL, false);
  }
  fc_signature_destroy(call->signature);
  assert_int_equal(fc_signature_build(builder, &call->signature, &err), FC_OK);
  assert_int_equal(
      fc_plan_create(call->signature, fc_allocator_system(), &call->plan, &err),
      FC_OK);
  fc_builder_destroy(builder);
}

static void state_in_place_grows_from_call_to_call(void **state) {
  (void)state;
  static const declared_t states[] = {{"h", 1, FC_STATE_IN_PLACE}};
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[256];
  open_desk(&desk);
  init_call(&call, "x: i32, tensor<2xf32> -> i32", states, 1);
  for (int i = 1; i < 4; i++) {
    assert_int_equal(
        run(&call, &desk, "[5]", true, answer, sizeof answer, &err), FC_OK);
    assert_string_equal(answer, "{\"results\":[5]}");
    assert_true(floats_of(&desk, "h")[0] == (float)i);
    assert_int_equal(desk.store.copied, 0);
  }
  // Without a store each call has a state of its own.
  assert_int_equal(run(&call, NULL, "[6]", true, answer, sizeof answer, &err),
                   FC_OK);
  assert_string_equal(answer, "{\"results\":[6]}");
  // The state is the function's: no caller can pass it, and a stored value of another
  // type is refused.
  (void)run(&call, &desk, "[5,[1,2]]", true, answer, sizeof answer, &err);
  assert_int_equal(err.code, FC_CODE_EXTRA_ARGUMENT);
  fc_store_find(&desk.desk, FC_STR("h"))->kind = FC_VALUE_SCALAR;
  (void)run(&call, &desk, "[5]", true, answer, sizeof answer, &err);
  assert_int_equal(err.code, FC_CODE_TYPE_MISMATCH);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

static void results_become_arguments(void **state) {
  (void)state;
  // The echo returns its arguments, so a and b are exchanged by each call.
  static const declared_t states[] = {{"kv", 0, 1}, {"other", 1, 0}};
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[256];
  open_desk(&desk);
  ((float *)(uintptr_t)floats_of(&desk, "other"))[0] = 50;
  init_call(&call,
            "tensor<2xf32>, tensor<2xf32>, i8 -> tensor<2xf32>, tensor<2xf32>, "
            "i8",
            states, 2);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(
        run(&call, &desk, "[3]", false, answer, sizeof answer, &err), FC_OK);
    assert_string_equal(answer, "{\"results\":[3]}");
    assert_true(floats_of(&desk, "kv")[0] == (i % 2 ? 1 : 50));
    assert_true(floats_of(&desk, "other")[0] == (i % 2 ? 50 : 1));
    assert_true(floats_of(&desk, "other")[1] == 2);
  }
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

static void a_scalar_is_state_too(void **state) {
  (void)state;
  static const declared_t states[] = {{"n", 0, 1}};
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[256];
  open_desk(&desk);
  // Result 1 is argument 1, which the caller sends, so n becomes the value that was
  // sent last.
  init_call(&call, "i64, i64 -> i64, i64", states, 1);
  assert_int_equal(run(&call, &desk, "[9]", false, answer, sizeof answer, &err),
                   FC_OK);
  assert_string_equal(answer, "{\"results\":[7]}");
  assert_int_equal(
      run(&call, &desk, "[11]", false, answer, sizeof answer, &err), FC_OK);
  assert_string_equal(answer, "{\"results\":[9]}");
  assert_int_equal(run(&call, NULL, "[11]", false, answer, sizeof answer, &err),
                   FC_OK);
  assert_string_equal(answer, "{\"results\":[0]}");
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

static void if_absent_is_about_names_of_keeps(void **state) {
  (void)state;
  static const declared_t states[] = {{"kv", 0, 0}};
  static const char body[] =
      "{\"args\":[3],\"options\":{\"keep\":{\"0\":\"new\"},\"if_absent\":true}}";
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  char answer[256];
  open_desk(&desk);
  init_call(&call, "tensor<2xf32>, i8 -> tensor<2xf32>, i8", states, 1);
  // "if_absent" does not concern the state: it exists, and is replaced as usual.
  if (run(&call, &desk, body, false, answer, sizeof answer, &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  assert_non_null(fc_store_find(&desk.desk, FC_STR("new")));
  (void)run(&call, &desk, body, false, answer, sizeof answer, &err);
  assert_int_equal(err.code, FC_CODE_PRECONDITION_FAILED);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

// Returns final contents in other memory than the arguments'.
static fc_status_t write_elsewhere(void *instance, size_t index,
                                   fc_backend_call_t *call, fc_error_t *err) {
  static float floats[3][2] = {{10, 11}, {20, 21}, {30, 31}};
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  for (size_t i = 0; i < 3; i++) call->results[i].tensor.data = floats[i];
  return FC_OK;
}

// Every output is kept under a new name, and its final contents are stored in the
// argument's value, too.
static void all_that_can_be_kept_has_room(void **state) {
  (void)state;
  static const char *const names[] = {"kv", "other", "third"};
  static const int64_t two[] = {2};
  static const float floats[] = {1, 2};
  fc_test_call_t call;
  desk_t desk;
  fc_error_t err = {0};
  fc_backend_t backend = fc_backend_echo;
  backend.call = write_elsewhere;
  open_desk(&desk);
  add(&desk, "third",
      &(fc_value_t){.kind = FC_VALUE_TENSOR,
                    .tensor = {.dtype = FC_DTYPE_F32, .rank = 1, .shape = two}},
      floats);
  fc_test_call_init(
      &call,
      "inout tensor<2xf32>, inout tensor<2xf32>, inout tensor<2xf32> -> ",
      NULL);
  fc_frame_begin(call.frame, call.plan, NULL);
  fc_frame_set_store(call.frame, &desk.store);
  fc_status_t status = fc_frame_decode(
      call.frame,
      FC_STR(
          "{\"args\":[{\"ref\":\"kv\"},{\"ref\":\"other\"},{\"ref\":\"third\"}],"
          "\"options\":{\"keep\":{\"0\":\"x\",\"1\":\"y\",\"2\":\"z\"}}}"),
      &err);
  if (status == FC_OK) {
    status =
        fc_frame_invoke(call.frame, &backend, &call.echo, 0, NULL, 0, &err);
  }
  if (status == FC_OK) status = fc_stored_stage(call.frame, &err);
  if (status != FC_OK) fail_msg("%s", err.message);
  assert_int_equal(call.frame->stored->keep_count, 6);
  assert_true(call.frame->stored->keep_count <=
              call.frame->stored->keep_capacity);
  fc_stored_commit(call.frame);
  for (int i = 0; i < 3; i++) {
    assert_true(floats_of(&desk, names[i])[1] == (float)(10 * i + 11));
  }
  fc_frame_end(call.frame);
  fc_test_call_deinit(&call);
  close_desk(&desk);
}

// ---------------------------------------------------------------------------

// Makes a call that keeps "new", on a frame that this allocator made.
static fc_status_t attempt_call(fc_allocator_t allocator, fc_test_call_t *call,
                                desk_t *desk, const char *body,
                                fc_error_t *err) {
  fc_frame_t *frame = NULL;
  char buffer[512];
  fc_sink_t sink = {.cursor = buffer, .end = buffer + sizeof buffer};
  FC_TRY(fc_frame_create(allocator, NULL, &frame, err));
  fc_frame_begin(frame, call->plan, NULL);
  fc_frame_set_store(frame, &desk->store);
  fc_status_t status = fc_frame_decode(frame, fc_str(body), err);
  if (status == FC_OK) {
    status =
        fc_frame_invoke(frame, &fc_backend_echo, &call->echo, 0, NULL, 0, err);
  }
  if (status == FC_OK) status = fc_frame_encode(frame, &sink, err);
  assert_int_equal(fc_store_find(&desk->desk, FC_STR("new")) != NULL,
                   status == FC_OK);
  fc_frame_destroy(frame);
  return status;
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  desk_t desk;
  open_desk(&desk);
  const fc_status_t status = attempt_call(
      allocator, context, &desk,
      "{\"args\":[" KV ",1],\"options\":{\"keep\":{\"0\":\"new\"}}}", err);
  close_desk(&desk);
  return status;
}

static fc_status_t attempt_list(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  fc_test_call_t *call = context;
  char answer[512];
  desk_t desk;
  open_desk(&desk);
  assert_int_equal(run(call, &desk,
                       "{\"args\":[[[1],[2,3]]],\"options\":{\"keep\":{\"0\":"
                       "\"l\"}}}",
                       false, answer, sizeof answer, err),
                   FC_OK);
  fc_store_begin(&desk.store, &desk.desk);
  const fc_status_t status = attempt_call(
      allocator, call, &desk,
      "{\"args\":[{\"ref\":\"l\"}],\"options\":{\"keep\":{\"0\":\"new\"}}}",
      err);
  close_desk(&desk);
  return status;
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  static const declared_t states[] = {{"h", 2, 2}};
  fc_test_call_t call;
  init_call(&call,
            "tensor<2xf32>, i8, tensor<300xf32> -> tensor<2xf32>, i8, "
            "tensor<300xf32>",
            states, 1);
  assert_true(fc_test_allocation_sweep(attempt, &call) > 1);
  fc_test_call_deinit(&call);
  fc_test_call_init(&call, "[tensor<?xf32>] -> [tensor<?xf32>]", NULL);
  assert_true(fc_test_allocation_sweep(attempt_list, &call) > 1);
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(documents_name_and_keep_values),
      FC_TEST(documents_name_and_keep_references),
      FC_TEST(lists_are_kept_and_given),
      FC_TEST(lists_that_were_written_over_are_read_safely),
      FC_TEST(without_a_store_there_are_no_values),
      FC_TEST(a_function_writes_where_the_value_lies),
      FC_TEST(a_value_is_lent_again_if_there_is_one),
      FC_TEST(a_shared_value_stays_as_it_is_for_the_others),
      FC_TEST(a_call_that_fails_keeps_nothing),
      FC_TEST(an_answer_that_is_not_whole_keeps_nothing),
      FC_TEST(state_in_place_grows_from_call_to_call),
      FC_TEST(results_become_arguments),
      FC_TEST(a_scalar_is_state_too),
      FC_TEST(if_absent_is_about_names_of_keeps),
      FC_TEST(all_that_can_be_kept_has_room),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
