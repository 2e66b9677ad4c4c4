// SPDX-License-Identifier: Apache-2.0
//
// Calls as an embedder makes them (farcall/call.h), of native modules and of
// bytecode.
#include "helpers/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "farcall/farcall.h"
#include "helpers/folder.h"
#include "module/mirror.h"

#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/"
#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/"
#define SCALARS CORPUS "iree/releases/scalars-3.13.0.vmfb"
#define MATMUL FARCALL_SOURCE_DIR "/examples/iree/matmul.vmfb"

// A module, an instance of it and one call.
typedef struct user_t {
  fc_module_t *module;
  fc_instance_t *instance;
  fc_call_t *call;
  fc_error_t err;
} user_t;

static void enter(user_t *user, const char *path, const char *function) {
  *user = (user_t){0};
  if (fc_module_open(path, NULL, &user->module, &user->err) ||
      fc_instance_create(user->module, NULL, &user->instance, &user->err) ||
      fc_call_create(user->instance, function, &user->call, &user->err)) {
    fail_msg("%s: %s", path, user->err.message);
  }
}

static void leave(user_t *user) {
  fc_call_destroy(user->call);
  fc_instance_destroy(user->instance);
  fc_module_release(user->module);
}

static fc_tensor_t tensor_of(fc_dtype_t dtype, int32_t rank,
                             const int64_t *shape, const void *data) {
  return (fc_tensor_t){dtype, rank, shape, NULL, (void *)(uintptr_t)data};
}
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define F32(rank, shape, data) tensor_of(FC_DTYPE_F32, rank, shape, data)

static void set(user_t *user, const char *path, fc_tensor_t tensor) {
  if (fc_call_set(user->call, path, &tensor, &user->err)) {
    fail_msg("%s: %s", path, user->err.message);
  }
}

static void run(user_t *user) {
  if (fc_call_run(user->call, NULL, &user->err)) {
    fail_msg("%s", user->err.message);
  }
}

static fc_tensor_t get(user_t *user, const char *path) {
  fc_tensor_t tensor;
  if (fc_call_get(user->call, path, &tensor, &user->err)) {
    fail_msg("%s: %s", path, user->err.message);
  }
  return tensor;
}

// ---------------------------------------------------------------------------

static void what_is_set_once_is_passed_by_every_run(void **state) {
  (void)state;
  static _Alignas(64) float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  static _Alignas(64) float b[3][1] = {{1}, {10}, {100}};
  user_t user;
  enter(&user, MATMUL, "matmul");
  set(&user, "a", F32(2, SHAPE(2, 3), a));
  set(&user, "1", F32(2, SHAPE(3, 1), b));
  for (int i = 0; i < 3; i++) {
    b[0][0] = (float)i;
    run(&user);
    const fc_tensor_t c = get(&user, "0");
    assert_int_equal(c.dtype, FC_DTYPE_F32);
    assert_int_equal(c.rank, 2);
    assert_int_equal(c.shape[0], 2);
    assert_int_equal(c.shape[1], 1);
    assert_true(fc_tensor_is_dense(&c));
    assert_true(((float *)c.data)[0] == (float)(i + 320));
    assert_true(((float *)c.data)[1] == (float)(4 * i + 650));
  }
  leave(&user);
}

// A bool in a register must be 0 or 1, as C compilers assume.
static void a_boolean_of_any_byte_is_1_in_a_register(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint8_t byte;
    double expected;
  } rows[] = {{"false", 0, 0}, {"true", 1, 1}, {"2", 2, 1}, {"165", 165, 1}};
  const int8_t a = 0;
  const double b = 0;
  const float d = 0;
  const int64_t e = 0;
  user_t user;
  enter(&user, NATIVE "scalars.so", "s_mixed");
  assert_true(
      fc_str_equal(fc_call_function(user.call)->name, FC_STR("s_mixed")));
  set(&user, "0", tensor_of(FC_DTYPE_I8, 0, NULL, &a));
  set(&user, "1", tensor_of(FC_DTYPE_F64, 0, NULL, &b));
  set(&user, "3", tensor_of(FC_DTYPE_F32, 0, NULL, &d));
  set(&user, "4", tensor_of(FC_DTYPE_INDEX, 0, NULL, &e));
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_value_t value = {.kind = FC_VALUE_SCALAR,
                              .dtype = FC_DTYPE_I1,
                              .scalar = {.u8 = row->byte}};
    set(&user, "2", tensor_of(FC_DTYPE_I1, 0, NULL, &row->byte));
    run(&user);
    assert_true(*(double *)get(&user, "0").data == row->expected);
    assert_int_equal(fc_call_set_value(user.call, "2", &value, &user.err),
                     FC_OK);
    run(&user);
    assert_true(*(double *)get(&user, "0").data == row->expected);
  }
  leave(&user);
}

static void scalars_are_tensors_of_rank_0(void **state) {
  (void)state;
  user_t user;
  enter(&user, NATIVE "scalars.so", "s_mixed");
  const int8_t a = -3;
  const double b = .5;
  const bool c = true;
  const float d = .25f;
  const int64_t e = 10;
  set(&user, "0", tensor_of(FC_DTYPE_I8, 0, NULL, &a));
  set(&user, "1", tensor_of(FC_DTYPE_F64, 0, NULL, &b));
  set(&user, "2", tensor_of(FC_DTYPE_I1, 0, NULL, &c));
  set(&user, "3", tensor_of(FC_DTYPE_F32, 0, NULL, &d));
  set(&user, "4", tensor_of(FC_DTYPE_INDEX, 0, NULL, &e));
  run(&user);
  const fc_tensor_t sum = get(&user, "0");
  assert_int_equal(sum.dtype, FC_DTYPE_F64);
  assert_int_equal(sum.rank, 0);
  assert_true(*(double *)sum.data == 8.75);
  leave(&user);
}

// Types: x: {p: f32, q: i32} -> ((i32, f32)), and (a, b) -> {a, b}
static void parts_of_trees_are_named_by_their_way(void **state) {
  (void)state;
  const float p = 1.5f;
  const int32_t q = 7;
  user_t user;
  enter(&user, SCALARS, "swap");
  size_t count;
  const fc_leaf_t *leaves = fc_call_arguments(user.call, &count);
  assert_int_equal(count, 2);
  assert_string_equal(leaves[0].path, "x/p");
  assert_int_equal(leaves[0].kind, FC_TYPE_SCALAR);
  assert_int_equal(leaves[0].dtype, FC_DTYPE_F32);
  assert_int_equal(leaves[0].role, FC_ROLE_IN);
  assert_string_equal(leaves[1].path, "x/q");
  leaves = fc_call_results(user.call, &count);
  assert_int_equal(count, 2);
  assert_string_equal(leaves[0].path, "0/0");
  assert_string_equal(leaves[1].path, "0/1");
  assert_int_equal(leaves[1].dtype, FC_DTYPE_F32);
  const fc_tensor_t misspelt = F32(0, NULL, &p);
  assert_int_not_equal(fc_call_set(user.call, "x/pp", &misspelt, &user.err),
                       FC_OK);
  assert_string_equal(user.err.message,
                      "no argument 'x/pp'; did you mean 'x/p'?");
  set(&user, "x/p", F32(0, NULL, &p));
  set(&user, "0/q", tensor_of(FC_DTYPE_I32, 0, NULL, &q));
  run(&user);
  assert_int_equal(*(int32_t *)get(&user, "0/0").data, 7);
  assert_true(*(float *)get(&user, "0/1").data == 1.5f);
  leave(&user);

  enter(&user, SCALARS, "pair");
  set(&user, "b", F32(0, NULL, &p));
  set(&user, "a", tensor_of(FC_DTYPE_I32, 0, NULL, &q));
  run(&user);
  assert_int_equal(*(int32_t *)get(&user, "0/a").data, 7);
  assert_true(*(float *)get(&user, "0/b").data == 1.5f);
  static const char *const absent[] = {"1", "0", "", "0/c", "0/a/0", "/0/a"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(absent); i++) {
    fc_tensor_t tensor;
    assert_int_equal(fc_call_get(user.call, absent[i], &tensor, &user.err),
                     FC_NOT_FOUND);
  }
  assert_string_equal(user.err.message, "no result '/0/a'");
  leave(&user);
}

#define SCALAR(dtype) "{\"kind\":\"scalar\",\"dtype\":\"" dtype "\"}"
#define TREE                                                                                    \
  "{\"kind\":\"dict\",\"fields\":[{\"name\":\"a/b~\",\"type\":{\"kind\":"                       \
  "\"tensor\",\"dtype\":\"f32\",\"shape\":[null]}},{\"name\":\"t\",\"type\":"                   \
  "{\"kind\":\"tuple\",\"flavor\":\"tuple\",\"items\":[" SCALAR(                                \
      "i32") ","                                                                                \
             "{\"kind\":\"dict\",\"fields\":[]}," SCALAR(                                       \
                 "i64") ",{\"kind\":\"null\"}]}},"                                              \
                        "{\"name\":\"s\",\"type\":{\"kind\":\"bytes\",\"encoding\":\"utf8\"}}," \
                        "{\"name\":\"l\",\"type\":{\"kind\":\"list\",\"items\":" SCALAR(        \
                            "f32") "}}]}"

// The text of a module with the function "echo", which takes and returns one value.
#define ECHO(type)                                                    \
  "mirror\n{\"name\":\"echo\",\"source\":\"inferred\",\"arguments\":" \
  "[{\"name\":\"x\",\"type\":" type                                   \
  "}],\"results\":[{\"name\":\"y\",\"type\":" type "}]}\n"

// Opens a call of the function "echo" in a module with this text.
static void enter_echo(user_t *user, const char *text) {
  static const fc_backend_t *const kinds[] = {&mirror_backend, NULL};
  char path[] = "/tmp/farcall-echo-XXXXXX";
  *user = (user_t){0};
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  if (fc_module_load(kinds, fc_str(path), NULL, fc_allocator_system(),
                     &user->module, &user->err) ||
      fc_instance_create(user->module, NULL, &user->instance, &user->err) ||
      fc_call_create(user->instance, "echo", &user->call, &user->err)) {
    fail_msg("%s", user->err.message);
  }
  unlink(path);
}

static void every_part_of_a_tree_goes_there_and_back(void **state) {
  (void)state;
  static _Alignas(64) const float a[3] = {1, 2, 3};
  static const int32_t i = -5;
  static const int64_t k = INT64_C(1) << 40;
  fc_value_t items[2] = {
      {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_F32, .scalar = {.f32 = .5f}},
      {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_F32, .scalar = {.f32 = 7}}};
  const fc_value_t list = {.kind = FC_VALUE_LIST, .list = {items, 2}};
  const fc_value_t text = {.kind = FC_VALUE_BYTES,
                           .bytes = FC_STR("caf\xc3\xa9")};
  static const char *const paths[] = {"x/a~1b~0", "x/t/0", "x/t/1", "x/t/2",
                                      "x/t/3",    "x/s",   "x/l"};
  user_t user;
  enter_echo(&user, ECHO(TREE));
  size_t count;
  const fc_leaf_t *leaves = fc_call_arguments(user.call, &count);
  assert_int_equal(count, FC_ARRAY_COUNT(paths));
  for (size_t n = 0; n < count; n++) {
    assert_string_equal(leaves[n].path, paths[n]);
  }
  // The parts are set one after the other. After each, the error names the first part
  // that is still missing.
  assert_int_not_equal(fc_call_run(user.call, NULL, &user.err), FC_OK);
  assert_string_equal(user.err.pointer, "/x/a~1b~0");
  set(&user, "x/a~1b~0", F32(1, SHAPE(3), a));
  assert_int_not_equal(fc_call_run(user.call, NULL, &user.err), FC_OK);
  assert_string_equal(user.err.pointer, "/x/t/0");
  set(&user, "0/t/0", tensor_of(FC_DTYPE_I32, 0, NULL, &i));
  set(&user, "x/t/2", tensor_of(FC_DTYPE_I64, 0, NULL, &k));
  assert_int_equal(fc_call_set_value(user.call, "x/s", &list, &user.err),
                   FC_INVALID_ARGUMENT);
  assert_int_equal(fc_call_set_value(user.call, "x/s", &text, &user.err), 0);
  assert_int_equal(fc_call_set_value(user.call, "x/l", &list, &user.err), 0);
  for (int round = 0; round < 3; round++) {
    const fc_value_t *value;
    items[1].scalar.f32 = (float)round;
    run(&user);
    const fc_tensor_t tensor = get(&user, "y/a~1b~0");
    assert_ptr_equal(tensor.data, a);
    assert_int_equal(*(int32_t *)get(&user, "y/t/0").data, i);
    assert_int_equal(*(int64_t *)get(&user, "0/t/2").data, k);
    assert_int_equal(fc_call_get_value(user.call, "0/t/1", &value, NULL), 0);
    assert_true(value->kind == FC_VALUE_LIST && value->list.count == 0);
    assert_int_equal(fc_call_get_value(user.call, "0/t/3", &value, NULL), 0);
    assert_int_equal(value->kind, FC_VALUE_NULL);
    assert_int_equal(fc_call_get_value(user.call, "y/s", &value, NULL), 0);
    assert_true(fc_str_equal(value->bytes, text.bytes));
    assert_true(*(float *)get(&user, "y/l/1").data == (float)round);
    static const char *const absent[] = {"y/l/2",  "y/l/", "y/l/x", "y/l/1/0",
                                         "y/l/1/", "y/t",  "y",     "y/s/0"};
    for (size_t n = 0; n < FC_ARRAY_COUNT(absent); n++) {
      assert_int_equal(
          fc_call_get_value(user.call, absent[n], &value, &user.err),
          FC_NOT_FOUND);
    }
  }
  leave(&user);
}

static void a_tensor_of_any_type_and_rank_goes_where_the_type_is_unknown(
    void **state) {
  (void)state;
  static _Alignas(64) const float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  static const int64_t b = 7;
  size_t count;
  user_t user;
  enter_echo(&user, ECHO("{\"kind\":\"unknown\"}"));
  assert_int_equal(fc_call_arguments(user.call, &count)[0].rank,
                   FC_RANK_DYNAMIC);
  set(&user, "x", F32(2, SHAPE(2, 3), a));
  run(&user);
  const fc_tensor_t y = get(&user, "y");
  assert_int_equal(y.rank, 2);
  assert_int_equal(y.shape[1], 3);
  assert_ptr_equal(y.data, a);
  set(&user, "x", tensor_of(FC_DTYPE_I64, 0, NULL, &b));
  run(&user);
  assert_int_equal(*(int64_t *)get(&user, "y").data, b);
  leave(&user);
}

static void a_function_writes_where_it_may(void **state) {
  (void)state;
  static const float factor = 2, x[2] = {1, 2};
  static _Alignas(64) float y[3] = {10, 20, 30};
  user_t user;
  enter(&user, NATIVE "owner.so", "axpy");
  set(&user, "0", F32(0, NULL, &factor));
  set(&user, "1", F32(1, SHAPE(2), x));
  set(&user, "2", F32(1, SHAPE(2), y));
  run(&user);
  assert_true(y[0] == 12 && y[1] == 24 && y[2] == 30);
  assert_ptr_equal(get(&user, "0").data, y);

  // A tensor that is not dense or not aligned is refused: the function writes into it,
  // and if it were copied the caller would not see what was written.
  const fc_tensor_t apart = {FC_DTYPE_F32, 1, SHAPE(2), SHAPE(2), y};
  const fc_tensor_t odd = F32(1, SHAPE(2), y + 1);
  const fc_tensor_t *const refused[] = {&apart, &odd};
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    assert_int_equal(fc_call_set(user.call, "2", refused[i], &user.err),
                     FC_INVALID_ARGUMENT);
    assert_string_equal(user.err.message,
                        "argument 2: the function writes to it, so its "
                        "elements must be dense and lie at a multiple of 64 "
                        "bytes");
  }
  leave(&user);
}

static void storage_of_results_may_be_the_callers(void **state) {
  (void)state;
  const float with = 2.5f;
  static _Alignas(64) float storage[4];
  user_t user;
  enter(&user, NATIVE "owner.so", "fill");
  size_t count;
  const fc_leaf_t *leaves = fc_call_arguments(user.call, &count);
  assert_int_equal(count, 2);
  assert_string_equal(leaves[1].path, "1");
  assert_int_equal(leaves[1].role, FC_ROLE_OUT);
  set(&user, "0", F32(0, NULL, &with));
  run(&user);  // into memory of the call
  fc_tensor_t out = get(&user, "1");
  assert_true(((float *)out.data)[3] == 2.5f);
  assert_int_equal(*(int64_t *)get(&user, "0").data, 4);
  set(&user, "1", F32(2, SHAPE(2, 2), storage));
  run(&user);
  assert_ptr_equal(get(&user, "1").data, storage);
  assert_true(storage[0] == 2.5f && storage[3] == 2.5f);
  leave(&user);
}

// Views of the numbers 1 to 12 in three rows, and unaligned views. The expected values
// follow from the strides.
static void elements_that_lie_anyhow_are_copied(void **state) {
  (void)state;
  static _Alignas(64) float data[16];
  for (int i = 0; i < 16; i++) data[i] = (float)i;
  static const struct {
    const char *name;
    int64_t shape[2], strides[2];
    int first;
    float expected;  // the expected trace
  } rows[] = {
      {"rows", {2, 2}, {4, 1}, 0, 0 + 5},
      {"columns", {2, 3}, {1, 4}, 0, 0 + 5},
      {"backwards", {2, 2}, {-4, -1}, 9, 9 + 4},
      {"one row again and again", {3, 3}, {0, 1}, 0, 0 + 1 + 2},
      {"unaligned", {2, 2}, {2, 1}, 1, 1 + 4},
      {"empty", {0, 3}, {99, 99}, 0, 0},
  };
  user_t user;
  enter(&user, NATIVE "owner.so", "trace");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_tensor_t tensor = F32(2, row->shape, data + row->first);
    tensor.strides = row->strides;
    set(&user, "0", tensor);
    run(&user);
    assert_true(*(float *)get(&user, "0").data == row->expected);
  }
  leave(&user);

  // The tensor begins at an address that is not aligned for a float.
  uint8_t bytes[13] = {0};
  const float three[3] = {1, 2, 3};
  memcpy(bytes + 1, three, sizeof three);
  enter(&user, NATIVE "owner.so", "alias_arg");
  set(&user, "0", F32(1, SHAPE(3), bytes + 1));
  run(&user);
  assert_memory_equal(get(&user, "0").data, three, sizeof three);
  leave(&user);
}

static void aligned_elements_are_passed_where_they_are(void **state) {
  (void)state;
  static _Alignas(FC_TENSOR_ALIGNMENT) float data[3] = {1, 2, 3};
  user_t user;
  enter(&user, NATIVE "owner.so", "alias_arg");
  set(&user, "0", F32(1, SHAPE(3), data));
  run(&user);
  assert_ptr_equal(get(&user, "0").data, data);
  leave(&user);
}

// Opens a module with the function "echo", whose results are its arguments. With
// `inout` the result is the argument's final contents.
static void enter_narrow(user_t *user, const char *type, bool inout) {
  char text[400];
  snprintf(text, sizeof text,
           inout ? "mirror\n{\"name\":\"echo\",\"source\":\"inferred\","
                   "\"arguments\":[{\"name\":\"x\",\"role\":\"inout\",\"type\":"
                   "%s}],\"results\":[]}\n"
                 : "mirror\n{\"name\":\"echo\",\"source\":\"inferred\","
                   "\"arguments\":[{\"name\":\"x\",\"type\":%s}],\"results\":"
                   "[{\"name\":\"y\",\"type\":%s}]}\n",
           type, type);
  enter_echo(user, text);
}

// Tests the same in a list of lists. The caller's items must not change.
static void check_narrow_list(fc_dtype_t dtype, const uint8_t *given,
                              const uint8_t *expected) {
  const size_t size = fc_dtype_size(dtype);
  fc_value_t items[2] = {
      {.kind = FC_VALUE_TENSOR, .tensor = tensor_of(dtype, 1, SHAPE(3), given)},
      {.kind = FC_VALUE_SCALAR, .dtype = dtype}};
  memcpy(items[1].scalar.bytes, given, size);
  const fc_value_t inner = {.kind = FC_VALUE_LIST,
                            .list = {.items = items, .count = 2}};
  fc_value_t outer[2] = {inner, inner};
  const fc_value_t list = {.kind = FC_VALUE_LIST,
                           .list = {.items = outer, .count = 2}};
  user_t user;
  enter_narrow(&user,
               "{\"kind\":\"list\",\"items\":{\"kind\":\"list\",\"items\":"
               "{\"kind\":\"unknown\"}}}",
               false);
  assert_int_equal(fc_call_set_value(user.call, "x", &list, &user.err), FC_OK);
  run(&user);
  assert_memory_equal(get(&user, "y/0/0").data, expected, 3 * size);
  assert_memory_equal(get(&user, "y/1/0").data, expected, 3 * size);
  assert_memory_equal(get(&user, "y/1/1").data, expected, size);
  assert_ptr_equal(items[0].tensor.data, given);
  assert_memory_equal(items[1].scalar.bytes, given, size);
  leave(&user);
}

// A module may leave anything in the bits above an element's width.
static void results_have_no_bits_above_their_width(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_dtype_t dtype;
    uint64_t given[3], expected[3];
  } rows[] = {
      {"i1", FC_DTYPE_I1, {165, 0, 2}, {1, 0, 1}},
      {"i4", FC_DTYPE_I4, {0x0f, 2, 0x53}, {0xff, 2, 3}},
      {"si1", FC_DTYPE_SI1, {1, 0x80, 0xfe}, {0xff, 0, 0}},
      {"ui7", FC_DTYPE_UI7, {0xff, 0x80, 5}, {0x7f, 0, 5}},
      {"f4E2M1FN", FC_DTYPE_F4E2M1FN, {0xf7, 0x18, 0}, {7, 8, 0}},
      {"i12", FC_DTYPE_I12, {0x0800, 0xf7ff, 1}, {0xf800, 0x07ff, 1}},
      {"ui24", FC_DTYPE_UI24, {0xaa123456, 0, 7}, {0x123456, 0, 7}},
      {"i48", FC_DTYPE_I48, {0xffffffffffff, 1, 2}, {UINT64_MAX, 1, 2}},
      {"i8", FC_DTYPE_I8, {0x80, 1, 0xff}, {0x80, 1, 0xff}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const size_t size = fc_dtype_size(row->dtype);
    _Alignas(64) uint8_t given[3 * 8] = {0};
    uint8_t before[3 * 8], expected[3 * 8];
    for (size_t i = 0; i < 3; i++) {
      memcpy(given + i * size, &row->given[i], size);
      memcpy(expected + i * size, &row->expected[i], size);
    }
    memcpy(before, given, sizeof given);
    for (int inout = 0; inout < 2; inout++) {
      user_t user;
      char type[100];
      snprintf(type, sizeof type,
               "{\"kind\":\"tensor\",\"dtype\":\"%s\",\"shape\":[null]}",
               row->name);
      enter_narrow(&user, type, inout);
      for (int round = 0; round < 2; round++) {
        set(&user, "x", tensor_of(row->dtype, 1, SHAPE(3), given));
        run(&user);
        const fc_tensor_t result = get(&user, inout ? "x" : "y");
        assert_int_equal(result.shape[0], 3);
        assert_memory_equal(result.data, expected, 3 * size);
        assert_memory_equal(given, before, 3 * size);
      }
      leave(&user);
    }
    check_narrow_list(row->dtype, given, expected);
    for (size_t i = 0; i < 3; i++) {
      user_t user;
      char type[100];
      snprintf(type, sizeof type, "{\"kind\":\"scalar\",\"dtype\":\"%s\"}",
               row->name);
      enter_narrow(&user, type, false);
      set(&user, "x", tensor_of(row->dtype, 0, NULL, given + i * size));
      run(&user);
      assert_memory_equal(get(&user, "y").data, expected + i * size, size);
      leave(&user);
    }
  }
}

// ---------------------------------------------------------------------------

static void wrong_arguments_are_refused_when_set(void **state) {
  (void)state;
  static float data[64];
  static const struct {
    const char *name;  // the function
    const char *path;
    fc_dtype_t dtype;
    int32_t rank;
    int64_t shape[3], strides[3];
    void *data;
    fc_code_t code;
    const char *message;
    const char *pointer;
  } rows[] = {
      {"view_arg",
       "x",
       FC_DTYPE_F32,
       2,
       {8, 8},
       {8, 1},
       data,
       FC_CODE_UNKNOWN_ARGUMENT,
       "no argument 'x'",
       ""},
      {"view_arg",
       "1",
       FC_DTYPE_F32,
       2,
       {8, 8},
       {8, 1},
       data,
       FC_CODE_UNKNOWN_ARGUMENT,
       "no argument '1'",
       ""},
      {"view_arg",
       "0",
       FC_DTYPE_F64,
       2,
       {8, 8},
       {8, 1},
       data,
       FC_CODE_DTYPE_MISMATCH,
       "argument 0: elements of f64, its type has f32",
       "/0"},
      {"view_arg",
       "0",
       (fc_dtype_t)255,
       2,
       {8, 8},
       {8, 1},
       data,
       FC_CODE_DTYPE_MISMATCH,
       "argument 0: elements of no type, its type has f32",
       "/0"},
      {"view_arg",
       "0",
       FC_DTYPE_F32,
       1,
       {64},
       {1},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: 1 dims, its type has 2",
       "/0"},
      {"view_arg",
       "0",
       FC_DTYPE_F32,
       2,
       {8, 7},
       {8, 1},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: dim 1 is 7, its type says 8",
       "/0"},
      {"view_arg",
       "0",
       FC_DTYPE_F32,
       2,
       {8, 8},
       {8, 1},
       NULL,
       FC_CODE_DATA_LENGTH,
       "argument 0: no memory for 64 elements",
       "/0"},
      {"view_arg",
       "0",
       FC_DTYPE_F32,
       2,
       {8, 8},
       {INT64_MAX, 1},
       data,
       FC_CODE_DATA_LENGTH,
       "argument 0: its elements lie outside the address space",
       "/0"},
      {"view_arg",
       "0",
       FC_DTYPE_F32,
       2,
       {8, 8},
       {-(INT64_C(1) << 58), 1},
       data,
       FC_CODE_DATA_LENGTH,
       "argument 0: its elements lie outside the address space",
       "/0"},
      {"alias_arg",
       "0",
       FC_DTYPE_F32,
       1,
       {-1},
       {1},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: a dim is negative, or the elements are more than memory "
       "can hold",
       "/0"},
      {"alias_arg",
       "0",
       FC_DTYPE_F32,
       1,
       {INT64_MAX},
       {0},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: a dim is negative, or the elements are more than memory "
       "can hold",
       "/0"},
      {"unranked_alias",
       "0",
       FC_DTYPE_F32,
       33,
       {0},
       {0},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: 33 dims, at most 32 can be",
       "/0"},
      {"unranked_alias",
       "0",
       FC_DTYPE_F32,
       -1,
       {0},
       {0},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: -1 dims, at most 32 can be",
       "/0"},
      {"fresh",
       "0",
       FC_DTYPE_INDEX,
       1,
       {1},
       {1},
       data,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0: 1 dims, its type has 0",
       "/0"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    user_t user;
    enter(&user, NATIVE "owner.so", row->name);
    const fc_tensor_t tensor = {row->dtype, row->rank, row->shape, row->strides,
                                row->data};
    assert_int_not_equal(fc_call_set(user.call, row->path, &tensor, &user.err),
                         FC_OK);
    assert_string_equal(user.err.message, row->message);
    assert_int_equal(user.err.code, row->code);
    assert_string_equal(user.err.pointer, row->pointer);
    // The refused values were not set.
    assert_int_not_equal(fc_call_run(user.call, NULL, &user.err), FC_OK);
    assert_int_equal(user.err.code, FC_CODE_MISSING_ARGUMENT);
    assert_string_equal(user.err.message, "argument 0: missing");
    leave(&user);
  }
}

static void dims_that_must_agree_are_checked_by_a_run(void **state) {
  (void)state;
  static _Alignas(64) float data[6];
  user_t user;
  enter(&user, MATMUL, "matmul");
  set(&user, "a", F32(2, SHAPE(2, 3), data));
  set(&user, "b", F32(2, SHAPE(2, 3), data));
  assert_int_equal(fc_call_run(user.call, NULL, &user.err),
                   FC_INVALID_ARGUMENT);
  assert_int_equal(user.err.code, FC_CODE_SHAPE_MISMATCH);
  set(&user, "b", F32(2, SHAPE(3, 2), data));
  run(&user);
  leave(&user);
}

static void functions_that_cannot_be_called_say_why(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *function;
    const char *message;
  } rows[] = {
      {NATIVE "owner.so", "alias_ar",
       "no function 'alias_ar'; did you mean 'alias_arg'?"},
      {NATIVE "owner.so", "quite another", "no function 'quite another'"},
      {NATIVE "conventions.so", "bp_dynamic",
       "function 'bp_dynamic' is not callable: the bare pointer convention "
       "takes and returns static shapes and strides only"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err = {0};
    fc_module_t *module;
    fc_instance_t *instance;
    fc_call_t *call;
    assert_int_equal(fc_module_open(row->name, NULL, &module, &err), FC_OK);
    assert_int_equal(fc_instance_create(module, NULL, &instance, &err), FC_OK);
    fc_module_release(module);  // the instance retained it
    assert_int_not_equal(fc_call_create(instance, row->function, &call, &err),
                         FC_OK);
    assert_string_equal(err.message, row->message);
    fc_instance_destroy(instance);
  }
}

// A function whose types cannot be sent is listed with the reason; the module's other
// functions can be called.
static void one_that_cannot_be_called_leaves_the_others(void **state) {
  (void)state;
  static const float a[1] = {3};
  fc_call_t *call;
  user_t user;
  enter_echo(
      &user,
      ECHO(
          "{\"kind\":\"unknown\"}") "{\"name\":\"bad\",\"source\":\"inferred\",\"arguments\":[{"
                                    "\"name\":\"x\",\"role\":\"out\",\"type\":{\"kind\":"
                                    "\"scalar\",\"dtype\":\"i8\"}}],\"results\":[]}\n");
  assert_int_equal(fc_module_function_count(user.module), 2);
  const fc_function_t *bad = fc_module_find(user.module, FC_STR("bad"));
  assert_null(bad->plan);
  assert_false(bad->signature->callable);
  assert_int_equal(fc_call_create(user.instance, "bad", &call, &user.err),
                   FC_UNIMPLEMENTED);
  assert_string_equal(user.err.message,
                      "function 'bad' is not callable: the size of out "
                      "argument 0 is not known");
  set(&user, "x", F32(1, SHAPE(1), a));
  run(&user);
  leave(&user);
}

// ---------------------------------------------------------------------------
// Results

static void results_are_the_last_runs(void **state) {
  (void)state;
  user_t user;
  fc_tensor_t tensor;
  fc_call_t *other;
  const int64_t three = 3;
  enter(&user, NATIVE "owner.so", "fresh");
  assert_int_equal(fc_call_get(user.call, "0", &tensor, &user.err),
                   FC_FAILED_PRECONDITION);
  assert_int_equal(fc_call_create(user.instance, "alias_ro", &other, &user.err),
                   FC_OK);
  set(&user, "0", tensor_of(FC_DTYPE_INDEX, 0, NULL, &three));
  run(&user);
  assert_int_equal(get(&user, "0").shape[0], 3);
  assert_int_equal(fc_call_run(other, NULL, &user.err), FC_OK);
  assert_int_equal(fc_call_get(user.call, "0", &tensor, &user.err),
                   FC_FAILED_PRECONDITION);
  assert_int_equal(fc_call_get(other, "0", &tensor, &user.err), FC_OK);
  fc_call_end(user.call);  // does nothing: the results are of the other call
  assert_int_equal(fc_call_get(other, "0", &tensor, &user.err), FC_OK);
  fc_call_end(other);
  fc_call_end(other);
  assert_int_equal(fc_call_get(other, "0", &tensor, &user.err),
                   FC_FAILED_PRECONDITION);
  run(&user);
  // A run that fails leaves no results.
  fc_call_clear(user.call);
  assert_int_not_equal(fc_call_run(user.call, NULL, &user.err), FC_OK);
  assert_int_equal(fc_call_get(user.call, "0", &tensor, &user.err),
                   FC_FAILED_PRECONDITION);
  // Module, instance and calls may be destroyed in any order.
  fc_instance_destroy(user.instance);
  fc_module_release(user.module);
  fc_call_destroy(other);
  fc_call_destroy(user.call);
}

// A module with state makes one call at a time. Results that are kept must not make
// another instance wait.
static void results_of_a_serial_module_hold_nobody_up(void **state) {
  (void)state;
  user_t first, second;
  enter(&first, NATIVE "state.so", "counter");
  second.module = fc_module_retain(first.module);
  assert_int_equal(
      fc_instance_create(second.module, NULL, &second.instance, NULL), FC_OK);
  assert_int_equal(
      fc_call_create(second.instance, "counter", &second.call, NULL), FC_OK);
  for (int i = 1; i <= 9; i += 2) {
    run(&first);
    const fc_tensor_t before = get(&first, "0");
    run(&second);
    // If results were views of the module's data, both would show the values of the
    // last run.
    assert_true(((float *)before.data)[0] == (float)i);
    assert_true(((float *)get(&second, "0").data)[0] == (float)(i + 1));
    assert_int_equal(before.shape[0], 4);
  }
  leave(&first);
  leave(&second);
}

// ---------------------------------------------------------------------------
// Threads and time

static void a_run_ends_at_its_deadline(void **state) {
  (void)state;
  user_t user;
  enter(&user, CORPUS "vm/endless.vmfb", "branch");
  const fc_run_options_t options = {.deadline_ns = fc_clock_ns() + 10000000};
  assert_int_equal(fc_call_run(user.call, &options, &user.err),
                   FC_DEADLINE_EXCEEDED);
  leave(&user);
}

typedef struct shared_t {
  user_t user;
  fc_cancel_t cancel;
  fc_status_t status;
} shared_t;

static void *run_until_cancelled(void *context) {
  shared_t *shared = context;
  const fc_run_options_t options = {.cancel = &shared->cancel};
  do {  // while it is the other thread's turn
    shared->status =
        fc_call_run(shared->user.call, &options, &shared->user.err);
  } while (shared->status == FC_FAILED_PRECONDITION);
  return NULL;
}

static void a_run_is_cancelled_and_has_its_instance_alone(void **state) {
  (void)state;
  static shared_t shared;
  enter(&shared.user, CORPUS "vm/endless.vmfb", "branch");
  fc_call_t *other;
  fc_error_t err = {0};
  assert_int_equal(fc_call_create(shared.user.instance, "branch", &other, &err),
                   FC_OK);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_until_cancelled, &shared),
                   0);
  // This thread makes runs that end at once at their deadline, until the other thread's
  // run has begun.
  fc_status_t status;
  do {
    const fc_run_options_t at_once = {.deadline_ns = 1};
    status = fc_call_run(other, &at_once, &err);
  } while (status == FC_DEADLINE_EXCEEDED);
  assert_int_equal(status, FC_FAILED_PRECONDITION);
  assert_string_equal(err.message,
                      "another thread runs a call of this instance: each "
                      "thread needs its own");
  fc_cancel_request(&shared.cancel);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(shared.status, FC_CANCELLED);
  // A request to cancel remains in force until it is reset.
  run_until_cancelled(&shared);
  assert_int_equal(shared.status, FC_CANCELLED);
  fc_cancel_reset(&shared.cancel);
  fc_call_destroy(other);
  leave(&shared.user);
}

static void *multiply(void *context) {
  static char wrong[] = "wrong";
  static _Alignas(64) const float a[2] = {2, 3};
  user_t user = {.module = context};
  if (fc_instance_create(user.module, NULL, &user.instance, NULL) ||
      fc_call_create(user.instance, "matmul", &user.call, NULL)) {
    return wrong;
  }
  void *problem = NULL;
  const fc_tensor_t left = F32(2, SHAPE(1, 2), a);
  for (int i = 0; i < 200 && !problem; i++) {
    const float b[2] = {(float)i, 1};  // not at 64 bytes, so it is copied
    const fc_tensor_t right = F32(2, SHAPE(2, 1), b);
    fc_tensor_t product;
    if (fc_call_set(user.call, "a", &left, NULL) ||
        fc_call_set(user.call, "b", &right, NULL) ||
        fc_call_run(user.call, NULL, NULL) ||
        fc_call_get(user.call, "0", &product, NULL) ||
        *(float *)product.data != (float)(2 * i + 3)) {
      problem = wrong;
    }
  }
  fc_call_destroy(user.call);
  fc_instance_destroy(user.instance);
  return problem;
}

static void threads_call_at_once_with_instances_of_their_own(void **state) {
  (void)state;
  fc_module_t *module;
  assert_int_equal(fc_module_open(MATMUL, NULL, &module, NULL), FC_OK);
  pthread_t threads[4];
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, multiply, module), 0);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    void *problem;
    pthread_join(threads[i], &problem);
    assert_null(problem);
  }
  fc_module_release(module);
}

// ---------------------------------------------------------------------------
// Memory

// Counts allocations. The system's allocator calls the function below instead of
// aligned_alloc (linked with --wrap).
static _Atomic(size_t) allocations;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  allocations++;
  return __real_aligned_alloc(alignment, size);
}

// A call that copies an argument and needs memory for a result.
typedef struct warm_row_t {
  const char *name;  // the module
  const char *function;
  fc_tensor_t arguments[3];
} warm_row_t;

static float many[70000];
static const int64_t wide[] = {2, 300}, tall[] = {300, 2};
static const int64_t steps[] = {1, 2}, row_of_30000[] = {30000};
static const int64_t four = 4;

static const warm_row_t warm[] = {
    {NATIVE "owner.so", "trace", {{FC_DTYPE_F32, 2, tall, steps, many}}},
    {NATIVE "owner.so",
     "alias_arg",
     {{FC_DTYPE_F32, 1, row_of_30000, NULL, many + 1}}},
    {NATIVE "owner.so", "fill", {{FC_DTYPE_F32, 0, NULL, NULL, many}}},
    {NATIVE "state.so", "counter", {{0}}},
    {MATMUL,
     "matmul",
     {{FC_DTYPE_F32, 2, wide, steps, many},
      {FC_DTYPE_F32, 2, tall, NULL, many + 1}}},
    {SCALARS,
     "swap",
     {{FC_DTYPE_F32, 0, NULL, NULL, many},
      {FC_DTYPE_I32, 0, NULL, NULL, (void *)(uintptr_t)&four}}},
};

static fc_status_t make(const warm_row_t *row, fc_allocator_t allocator,
                        user_t *user, fc_error_t *err) {
  const fc_instance_options_t options = {.allocator = allocator};
  FC_TRY(fc_module_load(NULL, fc_str(row->name), NULL, allocator, &user->module,
                        err));
  FC_TRY(fc_instance_create(user->module, &options, &user->instance, err));
  FC_TRY(fc_call_create(user->instance, row->function, &user->call, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(row->arguments); i++) {
    if (!row->arguments[i].dtype) break;
    FC_TRY(fc_call_set_leaf(user->call, i, &row->arguments[i], err));
  }
  return FC_OK;
}

static void a_warm_call_allocates_nothing(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const warm_row_t, row, warm) {
    user_t user = {0};
    if (make(row, fc_allocator_system(), &user, &user.err)) {
      fail_msg("%s", user.err.message);
    }
    // With the address sanitizer, a vm module does not keep blocks for reuse.
    const bool kept =
        !FC_ASAN || !strcmp(fc_module_get_kind(user.module), "native");
    for (int i = 0; i < 3; i++) run(&user);
    const size_t before = allocations;
    assert_true(before > 0);
    for (int i = 0; i < 10; i++) {
      run(&user);
    }
    if (kept) assert_int_equal(allocations, before);
    leave(&user);
  }
}

static fc_status_t make_and_run(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  user_t user = {0};
  fc_status_t status = make(context, allocator, &user, err);
  if (status == FC_OK) status = fc_call_run(user.call, NULL, err);
  fc_call_destroy(user.call);
  fc_instance_destroy(user.instance);
  fc_module_release(user.module);
  return status;
}

static void calls_survive_any_failed_allocation(void **state) {
  (void)state;
  // The rows whose modules allocate nothing themselves.
  static const size_t rows[] = {2, 5};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    assert_true(fc_test_allocation_sweep(
                    make_and_run, (void *)(uintptr_t)&warm[rows[i]]) > 10);
  }
}

// ---------------------------------------------------------------------------
// Functions for single sizes that callers see as one function ("sizes" of the sidecar)

#define ALIAS(name, size)                                                      \
  "{\"name\":\"" name "\",\"symbol\":\"_mlir_ciface_alias_arg\",\"args\":[{"   \
  "\"name\":\"x\",\"type\":\"memref<" size "xf32>\"}],\"results\":[{\"type\":" \
  "\"memref<" size "xf32>\"}]}"

static void put_sized(void) {
  fc_test_copy(NATIVE "owner.so", "sized.so");
  fc_test_put("sized.farcall.json",
              "{\"farcall\":1,\"functions\":[" ALIAS("two", "2") "," ALIAS(
                  "three", "3") "," ALIAS("any", "?") "],\"sizes\":[{\"name\":"
                                                      "\"same\",\"functions\":["
                                                      "\"three\",\"two\"]}]}");
}

static void a_run_is_of_the_size_that_is_set(void **state) {
  (void)state;
  static const float data[] = {1, 2, 3, 4};
  static const int64_t sizes[] = {2, 3, 2};
  user_t user, any;
  put_sized();
  enter(&user, fc_test_in_folder("sized.so"), "same");
  assert_int_equal(fc_module_function_count(user.module), 2);
  assert_null(fc_module_find(user.module, FC_STR("two")));
  assert_int_equal(fc_module_find(user.module, FC_STR("any"))->index, 1);
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    set(&user, "x", F32(1, &sizes[i], data));
    run(&user);
    const fc_tensor_t same = get(&user, "0");
    assert_int_equal(same.shape[0], sizes[i]);
    assert_memory_equal(same.data, data, (size_t)sizes[i] * sizeof *data);
  }
  set(&user, "x", F32(1, SHAPE(4), data));
  assert_int_not_equal(fc_call_run(user.call, NULL, &user.err), FC_OK);
  assert_int_equal(user.err.code, FC_CODE_SHAPE_MISMATCH);
  assert_string_equal(user.err.message,
                      "argument 0 ('x'), dim 0: [size] is 4, it may be 3 or 2");
  leave(&user);
  enter(&any, fc_test_in_folder("sized.so"), "any");
  set(&any, "x", F32(1, SHAPE(4), data));
  run(&any);
  assert_int_equal(get(&any, "0").shape[0], 4);
  leave(&any);
}

// A worker process loads the module from the server's descriptors.
static void the_files_of_a_module_are_the_same_module(void **state) {
  (void)state;
  const fc_module_options_t server = {.describe_native = true};
  fc_module_t *module, *again;
  fc_error_t err;
  put_sized();
  const fc_str_t path = fc_str(fc_test_in_folder("sized.so"));
  assert_int_equal(
      fc_module_load(NULL, path, &server, fc_allocator_system(), &module, &err),
      FC_OK);
  const fc_module_files_t files = fc_module_get_files(module);
  if (fc_module_load_files(NULL, path, &files, NULL, fc_allocator_system(),
                           &again, &err)) {
    fail_msg("%s", err.message);
  }
  assert_int_equal(fc_module_function_count(again), 2);
  assert_true(
      fc_str_equal(fc_module_get_digest(module), fc_module_get_digest(again)));
  fc_module_release(module);
  fc_module_release(again);
}

static void a_module_of_sizes_survives_any_failed_allocation(void **state) {
  (void)state;
  static const float data[] = {1, 2};
  static const int64_t two = 2;
  char path[200];
  put_sized();
  snprintf(path, sizeof path, "%s", fc_test_in_folder("sized.so"));
  warm_row_t row = {
      path, "same", {{FC_DTYPE_F32, 1, &two, NULL, (void *)(uintptr_t)data}}};
  assert_true(fc_test_allocation_sweep(make_and_run, &row) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(a_run_is_of_the_size_that_is_set),
      FC_TEST_IN_FOLDER(the_files_of_a_module_are_the_same_module),
      FC_TEST_IN_FOLDER(a_module_of_sizes_survives_any_failed_allocation),
      FC_TEST(what_is_set_once_is_passed_by_every_run),
      FC_TEST(a_boolean_of_any_byte_is_1_in_a_register),
      FC_TEST(scalars_are_tensors_of_rank_0),
      FC_TEST(parts_of_trees_are_named_by_their_way),
      FC_TEST(every_part_of_a_tree_goes_there_and_back),
      FC_TEST(a_tensor_of_any_type_and_rank_goes_where_the_type_is_unknown),
      FC_TEST(a_function_writes_where_it_may),
      FC_TEST(storage_of_results_may_be_the_callers),
      FC_TEST(elements_that_lie_anyhow_are_copied),
      FC_TEST(aligned_elements_are_passed_where_they_are),
      FC_TEST(results_have_no_bits_above_their_width),
      FC_TEST(wrong_arguments_are_refused_when_set),
      FC_TEST(dims_that_must_agree_are_checked_by_a_run),
      FC_TEST(functions_that_cannot_be_called_say_why),
      FC_TEST(one_that_cannot_be_called_leaves_the_others),
      FC_TEST(results_are_the_last_runs),
      FC_TEST(results_of_a_serial_module_hold_nobody_up),
      FC_TEST(a_run_ends_at_its_deadline),
      FC_TEST(a_run_is_cancelled_and_has_its_instance_alone),
      FC_TEST(threads_call_at_once_with_instances_of_their_own),
      FC_TEST(a_warm_call_allocates_nothing),
      FC_TEST(calls_survive_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
