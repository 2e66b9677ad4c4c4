// SPDX-License-Identifier: Apache-2.0
//
// When a module is replaced: which signature may replace which other.
#include "helpers/test.h"

#include "abi/narrow.h"
#include "farcall/abi.h"
#include "helpers/types.h"

static fc_signature_t *read(const char *text) {
  const fc_raw_counts_t any = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_error_t err;
  fc_signature_t *signature = NULL;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_builder_name(builder, FC_STR("f"));
  if (fc_v1_parse(fc_str(text), any, builder, &err) != FC_OK ||
      fc_signature_build(builder, &signature, &err) != FC_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  fc_builder_destroy(builder);
  return signature;
}

#define V1(arguments, results) \
  "{\"a\":[" arguments "],\"r\":[" results "],\"v\":1}"
#define F32(rank, dims) "[\"ndarray\",\"f32\"," rank dims "]"
#define NAMED(name, type) "[\"named\",\"" name "\"," type "]"
#define DICT(fields) "[\"sdict\"," fields "]"
#define FIELD(key, type) "[\"" key "\"," type "]"
#define LIST(items) "[\"slist\"," items "]"
#define I32 "\"i32\""
#define I64 "\"i64\""

static void some_replace_and_some_do_not(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *before;
    const char *after;
    const char *message;  // "": it may take its place
  } rows[] = {
      {"the same", V1(I32, I64), V1(I32, I64), ""},
      {"one argument more", V1(I32, I64), V1(I32 "," I32, I64),
       "function 'f': has another number of arguments"},
      {"one result less", V1(I32, I64 "," I64), V1(I32, I64),
       "function 'f': has another number of results"},
      {"another scalar", V1(I32, I64), V1(I64, I64),
       "function 'f', argument 0: was i32, is i64"},
      {"another result", V1(I32, I64), V1(I32, I32),
       "function 'f', result 0: was i64, is i32"},
      {"an argument becomes dynamic", V1(F32("2", ",4,3"), I32),
       V1(F32("2", ",null,3"), I32), ""},
      {"an argument becomes static", V1(F32("2", ",null,3"), I32),
       V1(F32("2", ",4,3"), I32),
       "function 'f', argument 0: was tensor<?x3xf32>, is tensor<4x3xf32>"},
      {"another dim", V1(F32("1", ",3"), I32), V1(F32("1", ",4"), I32),
       "function 'f', argument 0: was tensor<3xf32>, is tensor<4xf32>"},
      {"another rank", V1(F32("1", ",null"), I32),
       V1(F32("2", ",null,null"), I32),
       "function 'f', argument 0: was tensor<?xf32>, is tensor<?x?xf32>"},
      {"an argument has any rank", V1(F32("2", ",4,3"), I32),
       V1(F32("null", ""), I32), ""},
      {"and no longer", V1(F32("null", ""), I32), V1(F32("1", ",null"), I32),
       "function 'f', argument 0: was tensor<*xf32>, is tensor<?xf32>"},
      {"a result becomes static", V1(I32, F32("1", ",null")),
       V1(I32, F32("1", ",7")), ""},
      {"a result becomes dynamic", V1(I32, F32("1", ",7")),
       V1(I32, F32("1", ",null")),
       "function 'f', result 0: was tensor<7xf32>, is tensor<?xf32>"},
      {"a name is lost", V1(NAMED("x", I32), I32), V1(I32, I32),
       "function 'f': an argument has another name or role"},
      {"a name is given", V1(I32, I32), V1(NAMED("x", I32), I32), ""},
      {"another name", V1(NAMED("x", I32), I32), V1(NAMED("y", I32), I32),
       "function 'f': an argument has another name or role"},
      {"fields in another order",
       V1(DICT(FIELD("a", I32) "," FIELD("b", I64)), I32),
       V1(DICT(FIELD("b", I64) "," FIELD("a", I32)), I32), ""},
      {"another field", V1(DICT(FIELD("a", I32)), I32),
       V1(DICT(FIELD("b", I32)), I32),
       "function 'f', argument 0: was {a: i32}, is {b: i32}"},
      {"a further field", V1(DICT(FIELD("a", I32)), I32),
       V1(DICT(FIELD("a", I32) "," FIELD("b", I32)), I32),
       "function 'f', argument 0: was {a: i32}, is {a: i32, b: i32}"},
      {"deep below", V1(LIST(I32 "," LIST(F32("1", ",null") "," I64)), I32),
       V1(LIST(I32 "," LIST(F32("1", ",2") "," I64)), I32),
       "function 'f', argument 0: was [i32, [tensor<?xf32>, i64]], is [i32, "
       "[tensor<2xf32>, i64]]"},
      {"behind what nests", V1(LIST(LIST(I32 "," I32) "," I64), I32),
       V1(LIST(LIST(I32 "," I32) "," I32), I32),
       "function 'f', argument 0: was [[i32, i32], i64], is [[i32, i32], "
       "i32]"},
      {"anything is taken", V1(LIST(I32 "," I32), I32), V1("\"unknown\"", I32),
       ""},
      {"anything is given", V1(I32, I32), V1(I32, "\"unknown\""),
       "function 'f', result 0: was i32, is unknown"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_signature_t *before = read(row->before), *after = read(row->after);
    fc_error_t err = {0};
    const fc_status_t status = fc_signature_check_replaces(before, after, &err);
    assert_string_equal(status == FC_OK ? "" : err.message, row->message);
    if (status != FC_OK) {
      assert_int_equal(err.code, FC_CODE_SIGNATURE_NARROWED);
    }
    // Without an error struct the verdict is the same.
    assert_int_equal(fc_signature_check_replaces(before, after, NULL), status);
    fc_signature_destroy(before);
    fc_signature_destroy(after);
  }
}

static fc_signature_t *read_state(const char *text, bool in_place) {
  const fc_raw_counts_t any = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_error_t err;
  fc_signature_t *signature = NULL;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_builder_name(builder, FC_STR("f"));
  assert_int_equal(fc_v1_parse(fc_str(text), any, builder, &err), FC_OK);
  fc_builder_state(builder, FC_STR("s"), 1, in_place ? FC_STATE_IN_PLACE : 0, 0,
                   NULL, false);
  if (fc_signature_build(builder, &signature, &err) != FC_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  fc_builder_destroy(builder);
  return signature;
}

// Callers never see an argument that is state, so its type may change. They would
// notice if it were no state any more, or were changed in place.
static void state_may_be_of_another_type(void **state) {
  (void)state;
  static const char *const texts[] = {
      V1(F32("1", ",2") "," F32("1", ",3"), F32("1", ",3")),
      V1(F32("1", ",2") "," F32("1", ",4"), F32("1", ",4")),
      V1(F32("1", ",9") "," F32("1", ",3"), F32("1", ",3"))};
  fc_error_t err;
  fc_signature_t *before = read_state(texts[0], false);
  for (int i = 0; i < 3; i++) {
    fc_signature_t *after = read_state(texts[i], false);
    assert_int_equal(fc_signature_check_replaces(before, after, &err) == FC_OK,
                     i < 2);
    fc_signature_destroy(after);
  }
  fc_signature_t *none = read(texts[0]);
  fc_signature_t *in_place = read_state(texts[1], true);
  assert_int_equal(fc_signature_check_replaces(before, none, &err),
                   FC_FAILED_PRECONDITION);
  assert_int_equal(fc_signature_check_replaces(before, in_place, &err),
                   FC_FAILED_PRECONDITION);
  fc_signature_destroy(before);
  fc_signature_destroy(none);
  fc_signature_destroy(in_place);
}

static void what_cannot_be_called_does_not_count(void **state) {
  (void)state;
  fc_signature_t *before = read(V1(I32, I32)), *after = read(V1(I64, I32));
  fc_error_t err;
  before->callable = false;
  assert_int_equal(fc_signature_check_replaces(before, after, &err), FC_OK);
  assert_int_not_equal(fc_signature_check_replaces(after, before, &err), FC_OK);
  assert_string_equal(err.message, "function 'f': can no longer be called");
  fc_signature_destroy(before);
  fc_signature_destroy(after);
}

// A function of these types. `rows` has one size for each of its named dims, row after
// row, and ends with 0.
static fc_signature_t *read_sized(const char *types, const int64_t *rows) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = fc_test_build(builder, types);
  const uint32_t names = signature->dim_name_count;
  fc_builder_name(builder, FC_STR("f"));
  for (; *rows; rows += names) fc_builder_sizes(builder, rows);
  fc_signature_destroy(signature);
  assert_int_equal(fc_signature_build(builder, &signature, NULL), FC_OK);
  fc_builder_destroy(builder);
  return signature;
}

static void sizes_may_be_added_but_not_taken_away(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *before;
    int64_t had[8];
    const char *after;
    int64_t has[8];
    bool fewer;
  } rows[] = {
      {"the same", "tensor<Nxi8> ->", {1, 8}, "tensor<Nxi8> ->", {8, 1}, false},
      {"one more",
       "tensor<Nxi8> ->",
       {1, 8},
       "tensor<Bxi8> ->",
       {1, 2, 8},
       false},
      {"one less", "tensor<Nxi8> ->", {1, 8}, "tensor<Nxi8> ->", {1}, true},
      {"another", "tensor<Nxi8> ->", {1, 8}, "tensor<Nxi8> ->", {1, 9}, true},
      {"any size", "tensor<Nxi8> ->", {1, 8}, "tensor<?xi8> ->", {0}, false},
      {"not any longer", "tensor<?xi8> ->", {0}, "tensor<Nxi8> ->", {1}, true},
      {"nor of a name", "tensor<Nxi8> ->", {0}, "tensor<Nxi8> ->", {1}, true},
      {"the only one",
       "tensor<8xi8> ->",
       {0},
       "tensor<Nxi8> ->",
       {1, 8},
       false},
      {"not the only one",
       "tensor<7xi8> ->",
       {0},
       "tensor<Nxi8> ->",
       {1, 8},
       true},
      {"two names",
       "tensor<NxMxi8> ->",
       {1, 2, 8, 4},
       "tensor<BxCxi8> ->",
       {8, 4, 1, 2},
       false},
      {"not together",
       "tensor<NxMxi8> ->",
       {1, 2, 8, 4},
       "tensor<BxCxi8> ->",
       {8, 2, 1, 4},
       true},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_signature_t *before = read_sized(row->before, row->had);
    fc_signature_t *after = read_sized(row->after, row->has);
    fc_error_t err = {0};
    const fc_status_t status = fc_signature_check_replaces(before, after, &err);
    assert_string_equal(status == FC_OK ? "" : err.message,
                        row->fewer ? "function 'f': takes fewer sizes" : "");
    fc_signature_destroy(before);
    fc_signature_destroy(after);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(sizes_may_be_added_but_not_taken_away),
      FC_TEST(some_replace_and_some_do_not),
      FC_TEST(state_may_be_of_another_type),
      FC_TEST(what_cannot_be_called_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
