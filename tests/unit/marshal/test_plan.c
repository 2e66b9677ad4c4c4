// SPDX-License-Identifier: Apache-2.0
#include "marshal/plan.h"

#include <stdio.h>

#include "helpers/test.h"
#include "helpers/types.h"

// Prints the plan's operations in order: kind, raw index, span, children.
static void describe(const fc_plan_t *plan, uint32_t count, char *out,
                     size_t capacity) {
  static const char *const kKinds[] = {
      [FC_TYPE_SCALAR] = "scalar", [FC_TYPE_TENSOR] = "tensor",
      [FC_TYPE_BYTES] = "bytes",   [FC_TYPE_LIST] = "list",
      [FC_TYPE_TUPLE] = "tuple",   [FC_TYPE_DICT] = "dict",
      [FC_TYPE_VECTOR] = "vector", [FC_TYPE_REFARRAY] = "ref",
      [FC_TYPE_OPAQUE] = "opaque", [FC_TYPE_NULL] = "null",
      [FC_TYPE_UNKNOWN] = "any",
  };
  size_t size = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < count; i++) {
    const fc_op_t *op = &plan->ops[i];
    size += (size_t)snprintf(out + size, capacity - size, "%s%s", i ? " " : "",
                             kKinds[op->kind]);
    if (op->raw >= 0) {
      size += (size_t)snprintf(out + size, capacity - size, "@%d", op->raw);
    }
    if (op->child_count) {
      size += (size_t)snprintf(out + size, capacity - size, "(%u)/%u",
                               op->child_count, op->span);
    }
  }
}

typedef struct plan_row_t {
  const char *name;
  const char *types;
  uint32_t op_count;
  const char *ops;
  uint32_t inputs, positional, keywords, outputs, finals, stores;
} plan_row_t;

static const plan_row_t plans[] = {
    {"nothing", "->", 0, "", 0, 0, 0, 0, 0, 0},
    {"scalars", "i8, x: f32 -> i8", 3, "scalar@0 scalar@1 scalar@0", 2, 2, 1, 1,
     0, 0},
    {"nested", "(i8, {b: [str], a: null}), any ->", 7,
     "tuple@0(2)/6 scalar dict(2)/4 list(1)/2 bytes null any@1", 2, 2, 0, 0, 0,
     0},
    {"out and inout", "i8, out y: tensor<2xi8>, inout z: tensor<?xi8> -> i8", 6,
     "scalar@0 tensor@1 tensor@2 scalar@0 tensor@1 tensor@2", 2, 2, 1, 3, 2, 1},
    {"inlined result", "-> (i8@0, i8@1)", 3, "tuple(2)/3 scalar@0 scalar@1", 0,
     0, 0, 1, 0, 0},
    {"inlined with a tuple inside", "-> ((i8, i8)@0, i8@1)", 5,
     "tuple(2)/5 tuple@0(2)/3 scalar scalar scalar@1", 0, 0, 0, 1, 0, 0},
    {"tree of arguments", "root (i8@1, null, {a: i8@0}) ->", 5,
     "tuple(3)/5 scalar@1 null dict(1)/2 scalar@0", 3, 3, 0, 0, 0, 0},
    {"keywords", "root {b: i8@1, a: i8@0} ->", 3, "dict(2)/3 scalar@1 scalar@0",
     2, 0, 2, 0, 0, 0},
    {"one leaf", "root tensor<2xi8>@0 ->", 1, "tensor@0", 1, 1, 0, 0, 0, 0},
};

static void a_plan_is_linear(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const plan_row_t, row, plans) {
    fc_signature_t *signature =
        fc_test_signature(fc_allocator_system(), row->types);
    fc_plan_t *plan;
    fc_error_t err;
    assert_int_equal(
        fc_plan_create(signature, fc_allocator_system(), &plan, &err), FC_OK);
    char ops[512];
    describe(plan, row->op_count, ops, sizeof ops);
    assert_string_equal(ops, row->ops);
    assert_int_equal(plan->input_count, row->inputs);
    assert_int_equal(plan->positional_count, row->positional);
    assert_int_equal(plan->keyword_count, row->keywords);
    assert_int_equal(plan->output_count, row->outputs);
    assert_int_equal(plan->final_count, row->finals);
    assert_int_equal(plan->store_count, row->stores);
    fc_plan_destroy(plan);
    fc_signature_destroy(signature);
  }
}

typedef struct refuse_row_t {
  const char *name;
  const char *types;
  const char *message;
} refuse_row_t;

static const refuse_row_t refusals[] = {
    {"array of references without rank", "ref<*xi8> ->",
     "an array of references needs dims"},
    {"array of references without dims", "ref<i8> ->",
     "an array of references needs dims"},
    {"out of unknown size", "i8, out tensor<?xi8> ->",
     "the size of out argument 1 is not known"},
    {"out of a size nobody sends", "i8, out tensor<2xNxi8> ->",
     "the size of out argument 1 is not known"},
    {"out without rank", "out tensor<*xi8> ->",
     "the size of out argument 0 is not known"},
    {"out scalar", "out i8 ->", "the size of out argument 0 is not known"},
    {"list without a raw index", "root ([i8@0]) ->",
     "a value has no place in the flat call"},
};

static void what_cannot_be_bound_is_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const refuse_row_t, row, refusals) {
    fc_signature_t *signature =
        fc_test_signature(fc_allocator_system(), row->types);
    fc_plan_t *plan;
    fc_error_t err;
    assert_int_equal(
        fc_plan_create(signature, fc_allocator_system(), &plan, &err),
        FC_UNIMPLEMENTED);
    assert_int_equal(err.code, FC_CODE_UNSUPPORTED_TYPE);
    assert_string_equal(err.message, row->message);
    fc_signature_destroy(signature);
  }
}

static void a_function_that_is_not_callable_has_no_plan(void **state) {
  (void)state;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_builder_name(builder, FC_STR("g"));
  fc_builder_refuse(builder, FC_STR("it takes a fence"));
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_error_t err;
  assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
  assert_int_equal(
      fc_plan_create(signature, fc_allocator_system(), &plan, &err),
      FC_UNIMPLEMENTED);
  assert_string_equal(err.message,
                      "function 'g' is not callable: it takes a fence");
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
}

static void a_name_that_json_cannot_say_is_refused(void **state) {
  (void)state;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  uint32_t dict = fc_builder_node(builder, FC_TYPE_DICT);
  fc_builder_append_key(builder, dict, FC_STR("\xff"),
                        fc_builder_scalar(builder, FC_DTYPE_I8));
  fc_builder_argument(builder, FC_STR("x"), dict, FC_ROLE_IN, true,
                      FC_RAW_NEXT);
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_error_t err;
  assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
  assert_int_equal(
      fc_plan_create(signature, fc_allocator_system(), &plan, &err),
      FC_UNIMPLEMENTED);
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
}

static void names_are_found_by_halving(void **state) {
  (void)state;
  fc_signature_t *signature = fc_test_signature(
      fc_allocator_system(),
      "{d: i8, a: i8, ab: i8, c: i8, B: i8, ba: i8, alpha: i8} ->");
  fc_plan_t *plan;
  fc_error_t err;
  assert_int_equal(
      fc_plan_create(signature, fc_allocator_system(), &plan, &err), FC_OK);
  static const char *const kNames[] = {"d", "a", "ab", "c", "B", "ba", "alpha"};
  for (uint32_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    const fc_plan_key_t *key = fc_plan_find(plan->keys, 7, fc_str(kNames[i]));
    assert_non_null(key);
    assert_int_equal(key->ordinal, i);
    assert_ptr_equal(key->op, &plan->ops[1 + i]);
  }
  static const char *const kOthers[] = {"", "A", "aa", "b", "dd", "e", "alph"};
  for (uint32_t i = 0; i < FC_ARRAY_COUNT(kOthers); i++) {
    assert_null(fc_plan_find(plan->keys, 7, fc_str(kOthers[i])));
  }
  fc_str_t near = fc_plan_nearest(plan->keys, 7, FC_STR("alhpa"));
  assert_true(fc_str_equal(near, FC_STR("alpha")));
  assert_int_equal(fc_plan_nearest(plan->keys, 7, FC_STR("gamma")).size, 0);
  fc_plan_destroy(plan);
  fc_signature_destroy(signature);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_plan_is_linear),
      FC_TEST(what_cannot_be_bound_is_refused),
      FC_TEST(a_function_that_is_not_callable_has_no_plan),
      FC_TEST(a_name_that_json_cannot_say_is_refused),
      FC_TEST(names_are_found_by_halving),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
