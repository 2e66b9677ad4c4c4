// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdio.h>

#include "abi/walk.h"
#include "farcall/type.h"
#include "helpers/compare.h"

static fc_builder_t *builder_new(void) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  return builder;
}

// f(x: tensor<?x4xf32>, {a: i32, b: [f64]}) -> (i1, utf8)
static void build_sample(fc_builder_t *b) {
  fc_builder_name(b, FC_STR("f"));
  fc_builder_source(b, FC_SOURCE_IREE_V1);
  fc_builder_attr(b, FC_STR("k"), FC_STR("v"));
  const int64_t dims[] = {FC_DIM_DYNAMIC, 4};
  fc_builder_argument(b, FC_STR("x"),
                      fc_builder_tensor(b, FC_DTYPE_F32, 2, dims), FC_ROLE_IN,
                      true, FC_RAW_NEXT);
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  fc_builder_append_key(b, dict, FC_STR("a"),
                        fc_builder_scalar(b, FC_DTYPE_I32));
  uint32_t tuple = fc_builder_node(b, FC_TYPE_TUPLE);
  fc_builder_append(b, tuple, fc_builder_scalar(b, FC_DTYPE_F64));
  fc_builder_append_key(b, dict, FC_STR("b"), tuple);
  fc_builder_argument(b, FC_STR(""), dict, FC_ROLE_IN, false, FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_scalar(b, FC_DTYPE_I1),
                    FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_bytes(b, FC_FLAVOR_UTF8),
                    FC_RAW_NEXT);
}

static void builder_makes_what_it_was_told(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  build_sample(b);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  fc_builder_destroy(b);

  assert_true(fc_str_equal(fc_signature_text(s, s->name), FC_STR("f")));
  assert_int_equal(s->source, FC_SOURCE_IREE_V1);
  assert_true(s->callable);
  assert_true(s->memory_safe);
  assert_false(s->memory_known);
  assert_int_equal(s->argument_count, 2);
  assert_int_equal(s->result_count, 2);
  assert_int_equal(s->raw_argument_count, 2);
  assert_int_equal(s->raw_result_count, 2);
  assert_true(fc_str_equal(fc_signature_attr(s, FC_STR("k")), FC_STR("v")));
  assert_int_equal(fc_signature_attr(s, FC_STR("none")).size, 0);

  const fc_type_t *x = fc_signature_node(s, s->arguments[0].type);
  assert_int_equal(x->kind, FC_TYPE_TENSOR);
  assert_int_equal(x->rank, 2);
  assert_int_equal(fc_signature_dims(s, x)[0], FC_DIM_DYNAMIC);
  assert_int_equal(fc_signature_dims(s, x)[1], 4);
  const fc_type_t *dict = fc_signature_node(s, s->arguments[1].type);
  assert_int_equal(dict->child_count, 2);
  const fc_type_t *a = fc_signature_node(s, dict->child);
  assert_true(fc_str_equal(fc_signature_text(s, a->key), FC_STR("a")));
  const fc_type_t *tuple = fc_signature_node(s, a->next);
  assert_int_equal(tuple->kind, FC_TYPE_TUPLE);
  assert_int_equal(tuple->next, FC_NODE_NONE);
  assert_int_equal(s->arguments[1].raw_index, 1);
  fc_signature_destroy(s);
}

// A file may contain a key twice, but a document that we write may not.
static void the_first_attribute_of_a_key_stays(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  build_sample(b);
  fc_builder_attr(b, FC_STR("other"), FC_STR(""));
  fc_builder_attr(b, FC_STR("k"), FC_STR("later"));
  fc_builder_attr(b, FC_STR("other"), FC_STR("later"));
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  assert_int_equal(s->attr_count, 2);
  assert_true(fc_str_equal(fc_signature_attr(s, FC_STR("k")), FC_STR("v")));
  assert_int_equal(fc_signature_attr(s, FC_STR("other")).size, 0);
  fc_signature_destroy(s);
  fc_error_t err;
  for (int i = 0; i < 1024; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    fc_builder_attr(b, fc_str(key), FC_STR("v"));
  }
  assert_int_not_equal(fc_signature_build(b, &s, &err), FC_OK);
  assert_string_equal(err.message, "a signature holds at most 1024 attributes");
  fc_builder_destroy(b);
}

static void builder_reset_starts_over(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  build_sample(b);
  assert_true(fc_dim_is_named(fc_builder_dim_name(b, FC_STR("N"))));
  fc_builder_append(b, 9999, 0);
  fc_builder_refuse(b, FC_STR("no"));
  fc_builder_reset(b);
  fc_builder_name(b, FC_STR("g"));
  fc_builder_result(b, FC_STR(""), fc_builder_scalar(b, FC_DTYPE_I8),
                    FC_RAW_NEXT);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  assert_int_equal(s->node_count, 1);
  assert_int_equal(s->attr_count, 0);
  assert_int_equal(s->dim_name_count, 0);
  assert_int_equal(s->argument_count, 0);
  assert_int_equal(s->results[0].raw_index, 0);
  assert_true(s->callable);
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static void walk_visits_parents_first_and_last(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  build_sample(b);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  static const struct {
    int kind;
    uint32_t depth, index;
    bool leave;
  } expected[] = {
      {FC_TYPE_DICT, 0, 0, false},  {FC_TYPE_SCALAR, 1, 0, false},
      {FC_TYPE_TUPLE, 1, 1, false}, {FC_TYPE_SCALAR, 2, 0, false},
      {FC_TYPE_TUPLE, 1, 1, true},  {FC_TYPE_DICT, 0, 0, true},
  };
  fc_walk_t walk;
  fc_walk_init(&walk, s->nodes, s->arguments[1].type);
  for (size_t i = 0; i < FC_ARRAY_COUNT(expected); i++) {
    assert_true(fc_walk_next(&walk));
    assert_int_equal(walk.type->kind, expected[i].kind);
    assert_int_equal(walk.depth, expected[i].depth);
    assert_int_equal(walk.index, expected[i].index);
    assert_int_equal(walk.leave, expected[i].leave);
  }
  assert_false(fc_walk_next(&walk));
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static void builder_names_dims(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  int64_t m = fc_builder_dim_name(b, FC_STR("M"));
  int64_t k = fc_builder_dim_name(b, FC_STR("K"));
  assert_true(m < FC_DIM_DYNAMIC && k < FC_DIM_DYNAMIC && m != k);
  assert_int_equal(fc_builder_dim_name(b, FC_STR("M")), m);
  assert_true(fc_dim_is_named(m));
  assert_false(fc_dim_is_named(FC_DIM_DYNAMIC));
  assert_false(fc_dim_is_named(0));
  const int64_t dims[] = {m, 3, k};
  fc_builder_result(b, FC_STR(""), fc_builder_tensor(b, FC_DTYPE_F32, 3, dims),
                    FC_RAW_NEXT);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  assert_int_equal(s->dim_name_count, 2);
  const int64_t *built =
      fc_signature_dims(s, fc_signature_node(s, s->results[0].type));
  assert_true(fc_str_equal(
      fc_signature_text(s, s->dim_names[fc_dim_name(built[2])]), FC_STR("K")));
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static void builder_bounds_the_names_of_dims(void **state) {
  (void)state;
  static const char long_name[FC_DIM_NAME_SIZE_MAX + 2] = {0};
  static const struct {
    size_t size;   // of the name
    size_t count;  // of names before it
    const char *message;
  } limits[] = {
      {FC_DIM_NAME_SIZE_MAX, FC_DIM_NAMES_MAX - 1, NULL},
      {0, 0, "a dim's name has 0 bytes, it may have 1 to 64"},
      {FC_DIM_NAME_SIZE_MAX + 1, 0, "a dim's name has 65 bytes"},
      {1, FC_DIM_NAMES_MAX, "dim names"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(limits); i++) {
    fc_builder_t *b = builder_new();
    for (size_t k = 0; k < limits[i].count; k++) {
      char name[24];
      snprintf(name, sizeof name, "n%zu", k);
      assert_true(fc_dim_is_named(fc_builder_dim_name(b, fc_str(name))));
    }
    (void)fc_builder_dim_name(b, fc_str_make(long_name, limits[i].size));
    fc_signature_t *s = NULL;
    fc_error_t err = {0};
    fc_status_t status = fc_signature_build(b, &s, &err);
    assert_int_equal(status == FC_OK, limits[i].message == NULL);
    if (limits[i].message) {
      assert_int_equal(err.code, FC_CODE_ABI_METADATA);
      if (!strstr(err.message, limits[i].message)) fail_msg("%s", err.message);
    }
    fc_signature_destroy(s);
    fc_builder_destroy(b);
  }
}

static void builder_replaces_dims_and_keeps_strides(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  const int64_t dims[] = {FC_DIM_DYNAMIC, 4}, strides[] = {8, 1};
  uint32_t node = fc_builder_strided(b, FC_DTYPE_F32, 2, dims, strides, 5);
  const int64_t fixed[] = {3, 4};
  fc_builder_dims(b, node, 2, fixed);
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  const fc_type_t *type = fc_signature_node(s, s->results[0].type);
  assert_true(type->flags & FC_TYPE_STRIDED);
  const int64_t expected[] = {3, 4, 8, 1, 5};
  assert_memory_equal(fc_signature_dims(s, type), expected, sizeof expected);
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

// What the builder refuses

static uint32_t add_scalar_argument(fc_builder_t *b, int32_t raw_index) {
  uint32_t node = fc_builder_scalar(b, FC_DTYPE_I32);
  fc_builder_argument(b, FC_STR(""), node, FC_ROLE_IN, false, raw_index);
  return node;
}
static void rank_33(fc_builder_t *b) {
  int64_t dims[33] = {0};
  fc_builder_tensor(b, FC_DTYPE_F32, 33, dims);
}
static void rank_minus_2(fc_builder_t *b) {
  fc_builder_tensor(b, FC_DTYPE_F32, -2, NULL);
}
static void dim_minus_7(fc_builder_t *b) {
  const int64_t dims[] = {-7};
  fc_builder_result(b, FC_STR(""), fc_builder_tensor(b, FC_DTYPE_F32, 1, dims),
                    FC_RAW_NEXT);
}
static void dim_int64_min(fc_builder_t *b) {
  const int64_t dims[] = {INT64_MIN};
  fc_builder_result(b, FC_STR(""), fc_builder_tensor(b, FC_DTYPE_F32, 1, dims),
                    FC_RAW_NEXT);
}
static void key_twice(fc_builder_t *b) {
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  static const char *const keys[] = {"z", "a", "b", "a", "z"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(keys); i++) {
    fc_builder_append_key(b, dict, fc_str(keys[i]),
                          fc_builder_scalar(b, FC_DTYPE_I8));
  }
  fc_builder_result(b, FC_STR(""), dict, FC_RAW_NEXT);
}
static void inner_key_twice(fc_builder_t *b) {
  uint32_t list = fc_builder_node(b, FC_TYPE_TUPLE);
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  for (int i = 0; i < 2; i++) {
    fc_builder_append_key(b, dict, FC_STR(""),
                          fc_builder_node(b, FC_TYPE_NULL));
  }
  fc_builder_append(b, list, dict);
  fc_builder_argument(b, FC_STR(""), list, FC_ROLE_IN, false, FC_RAW_NEXT);
}
static void two_parents(fc_builder_t *b) {
  uint32_t node = add_scalar_argument(b, FC_RAW_NEXT);
  fc_builder_append(b, fc_builder_node(b, FC_TYPE_TUPLE), node);
}
static void own_child(fc_builder_t *b) {
  uint32_t node = fc_builder_node(b, FC_TYPE_TUPLE);
  fc_builder_append(b, node, node);
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
}
static void no_such_node(fc_builder_t *b) {
  fc_builder_argument(b, FC_STR(""), 3, FC_ROLE_IN, false, FC_RAW_NEXT);
}
static void too_deep(fc_builder_t *b) {
  uint32_t node = fc_builder_node(b, FC_TYPE_TUPLE);
  for (int i = 0; i < FC_TYPE_DEPTH_MAX; i++) {
    uint32_t above = fc_builder_node(b, FC_TYPE_TUPLE);
    fc_builder_append(b, above, node);
    node = above;
  }
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
}
static void list_of_nothing(fc_builder_t *b) {
  fc_builder_result(b, FC_STR(""), fc_builder_node(b, FC_TYPE_LIST),
                    FC_RAW_NEXT);
}
static void scalar_of_nothing(fc_builder_t *b) {
  fc_builder_result(b, FC_STR(""), fc_builder_scalar(b, FC_DTYPE_NONE),
                    FC_RAW_NEXT);
}
static void opaque_without_text(fc_builder_t *b) {
  fc_builder_result(b, FC_STR(""), fc_builder_opaque(b, FC_STR("")),
                    FC_RAW_NEXT);
}
static void bytes_without_encoding(fc_builder_t *b) {
  fc_builder_result(b, FC_STR(""), fc_builder_bytes(b, FC_FLAVOR_NONE),
                    FC_RAW_NEXT);
}
static void children_of_a_scalar(fc_builder_t *b) {
  uint32_t node = fc_builder_scalar(b, FC_DTYPE_I8);
  fc_builder_append(b, node, fc_builder_scalar(b, FC_DTYPE_I8));
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
}
static void name_twice(fc_builder_t *b) {
  // The first argument cannot be passed by name, so only the second and third clash.
  for (int i = 0; i < 3; i++) {
    fc_builder_argument(b, FC_STR("x"), fc_builder_scalar(b, FC_DTYPE_I8),
                        FC_ROLE_IN, i > 0, FC_RAW_NEXT);
  }
}
static void raw_index_twice(fc_builder_t *b) {
  add_scalar_argument(b, 0);
  add_scalar_argument(b, 0);
}
static void raw_index_left_out(fc_builder_t *b) {
  add_scalar_argument(b, 0);
  add_scalar_argument(b, 2);
}
static void raw_index_past_the_count(fc_builder_t *b) {
  add_scalar_argument(b, FC_RAW_NEXT);
  add_scalar_argument(b, FC_RAW_NEXT);
  fc_builder_raw_counts(b, 1, 0);
}
static void raw_index_huge(fc_builder_t *b) {
  add_scalar_argument(b, INT32_MAX);
}
static void param_negative(fc_builder_t *b) { add_scalar_argument(b, -3); }
static void raw_index_negative(fc_builder_t *b) {
  uint32_t node = add_scalar_argument(b, FC_RAW_NONE);
  fc_builder_at(b, node)->raw_index = -5;
}
static void result_past_the_count(fc_builder_t *b) {
  fc_builder_result(b, FC_STR(""), fc_builder_scalar(b, FC_DTYPE_I8), 1);
  fc_builder_raw_counts(b, 0, 1);
}
static void too_many_nodes(fc_builder_t *b) {
  for (int i = 0; i <= FC_NODE_MAX; i++) fc_builder_scalar(b, FC_DTYPE_I8);
}

static const struct {
  const char *name;
  void (*build)(fc_builder_t *builder);
  fc_code_t code;
  const char *message;
} refusals[] = {
    {"rank 33", rank_33, FC_CODE_ABI_METADATA, "rank 33 exceeds"},
    {"rank -2", rank_minus_2, FC_CODE_ABI_METADATA, "rank -2"},
    {"dim -7", dim_minus_7, FC_CODE_ABI_METADATA, "negative dim"},
    {"dim INT64_MIN", dim_int64_min, FC_CODE_ABI_METADATA, "negative dim"},
    {"key twice", key_twice, FC_CODE_ABI_METADATA, "key 'a' comes twice"},
    {"inner key twice", inner_key_twice, FC_CODE_ABI_METADATA,
     "key '' comes twice"},
    {"two parents", two_parents, FC_CODE_INTERNAL, "two parents"},
    {"own child", own_child, FC_CODE_INTERNAL, "two parents"},
    {"no such node", no_such_node, FC_CODE_INTERNAL, "node 3 of 0"},
    {"too deep", too_deep, FC_CODE_ABI_METADATA, "deeper than 32"},
    {"list of nothing", list_of_nothing, FC_CODE_ABI_METADATA, "item type"},
    {"scalar of nothing", scalar_of_nothing, FC_CODE_ABI_METADATA,
     "element type"},
    {"opaque", opaque_without_text, FC_CODE_ABI_METADATA, "no text"},
    {"bytes", bytes_without_encoding, FC_CODE_ABI_METADATA, "no encoding"},
    {"leaf children", children_of_a_scalar, FC_CODE_INTERNAL, "leaf"},
    {"name twice", name_twice, FC_CODE_ABI_METADATA,
     "arguments 1 and 2 are both named 'x'"},
    {"raw index twice", raw_index_twice, FC_CODE_ABI_METADATA,
     "one of them twice"},
    {"raw index left out", raw_index_left_out, FC_CODE_ABI_METADATA, "2 of 3"},
    {"raw index past", raw_index_past_the_count, FC_CODE_ABI_METADATA,
     "raw argument 1"},
    {"raw index huge", raw_index_huge, FC_CODE_ABI_METADATA, "raw argument"},
    {"parameter negative", param_negative, FC_CODE_INTERNAL, "raw index -3"},
    {"raw index", raw_index_negative, FC_CODE_ABI_METADATA, "raw index"},
    {"result past", result_past_the_count, FC_CODE_ABI_METADATA,
     "raw result 1"},
    {"too many", too_many_nodes, FC_CODE_ABI_METADATA, "at most 16384"},
};

static void builder_refuses_what_nobody_could_call(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(refusals); i++) {
    fc_test_row(refusals[i].name);
    fc_builder_t *b = builder_new();
    refusals[i].build(b);
    // The failure is kept: a later call neither crashes nor clears it.
    fc_builder_result(b, FC_STR("late"), fc_builder_scalar(b, FC_DTYPE_I8),
                      FC_RAW_NONE);
    fc_signature_t *s = NULL;
    fc_error_t err = {0};
    assert_int_not_equal(fc_signature_build(b, &s, &err), FC_OK);
    assert_null(s);
    assert_int_equal(err.code, refusals[i].code);
    assert_non_null(strstr(err.message, refusals[i].message));
    fc_builder_destroy(b);
  }
  fc_test_row(NULL);
}

static void builder_nests_to_the_limit(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  uint32_t node = fc_builder_scalar(b, FC_DTYPE_I8);
  for (int i = 0; i < FC_TYPE_DEPTH_MAX; i++) {
    uint32_t above = fc_builder_node(b, FC_TYPE_TUPLE);
    fc_builder_append(b, above, node);
    node = above;
  }
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static void builder_lists_refused_functions(void **state) {
  (void)state;
  fc_builder_t *b = builder_new();
  add_scalar_argument(b, 0);
  // No argument has raw index 1. That is allowed for a function that cannot be called.
  add_scalar_argument(b, 2);
  fc_builder_refuse(b, FC_STR("first"));
  fc_builder_refuse(b, FC_STR("second"));
  fc_signature_t *s = NULL;
  assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
  assert_false(s->callable);
  assert_true(fc_str_equal(fc_signature_text(s, s->reason), FC_STR("first")));
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static fc_status_t attempt_sample(fc_allocator_t allocator, void *context,
                                  fc_error_t *err) {
  (void)context;
  fc_builder_t *b = fc_builder_create(allocator);
  if (!b) return fc_fail_memory(err);
  build_sample(b);
  (void)fc_builder_dim_name(b, FC_STR("N"));
  fc_signature_t *s = NULL;
  fc_status_t status = fc_signature_build(b, &s, err);
  fc_signature_destroy(s);
  fc_builder_destroy(b);
  return status;
}

static void builder_survives_every_failing_allocation(void **state) {
  (void)state;
  // Allocations: the builder, seven pools, the signature, the sorted names.
  assert_int_equal(fc_test_allocation_sweep(attempt_sample, NULL), 10);
}

static void sources_have_the_names_clients_see(void **state) {
  (void)state;
  assert_string_equal(fc_source_name(FC_SOURCE_IREE_V1), "iree.abi");
  assert_string_equal(fc_source_name(FC_SOURCE_SIDECAR), "sidecar");
  assert_string_equal(fc_source_name((fc_source_t)99), "unknown");
}

// With thousands of names, each must not be compared with every other.
static void names_take_few_comparisons(void **state) {
  (void)state;
  enum { KEYS = 8000 };
  const uint64_t before = fc_test_comparisons();
  fc_builder_t *b = builder_new();
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  for (int i = 0; i < KEYS; i++) {
    char name[16];
    snprintf(name, sizeof name, "key%05d", i * 4001 % KEYS);
    fc_builder_append_key(b, dict, fc_str(name),
                          fc_builder_node(b, FC_TYPE_NULL));
    fc_builder_argument(b, fc_str(name), fc_builder_scalar(b, FC_DTYPE_I8),
                        FC_ROLE_IN, true, FC_RAW_NEXT);
  }
  fc_builder_result(b, FC_STR(""), dict, FC_RAW_NEXT);
  fc_signature_t *signature = NULL;
  assert_int_equal(fc_signature_build(b, &signature, NULL), FC_OK);
  fc_signature_destroy(signature);
  fc_builder_destroy(b);
  assert_in_range(fc_test_comparisons() - before, 2 * KEYS, 2 * KEYS * 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(builder_makes_what_it_was_told),
      FC_TEST(the_first_attribute_of_a_key_stays),
      FC_TEST(builder_reset_starts_over),
      FC_TEST(walk_visits_parents_first_and_last),
      FC_TEST(builder_names_dims),
      FC_TEST(builder_bounds_the_names_of_dims),
      FC_TEST(builder_replaces_dims_and_keeps_strides),
      FC_TEST(builder_refuses_what_nobody_could_call),
      FC_TEST(names_take_few_comparisons),
      FC_TEST(builder_nests_to_the_limit),
      FC_TEST(builder_lists_refused_functions),
      FC_TEST(builder_survives_every_failing_allocation),
      FC_TEST(sources_have_the_names_clients_see),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
