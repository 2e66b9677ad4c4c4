// SPDX-License-Identifier: Apache-2.0
//
// The plan that is made for a batch is compared with every possible plan.
#include "marshal/batch.h"

#include "helpers/test.h"
#include "helpers/types.h"

#define BUCKETS_MAX 4

typedef struct buckets_t {
  uint32_t count;
  fc_bucket_cost_t buckets[BUCKETS_MAX];
} buckets_t;

static void the_cheapest_plan_is_made(void **state) {
  (void)state;
  static const struct {
    const char *name;
    buckets_t buckets;
    int64_t rows;
    uint64_t uses[BUCKETS_MAX];
  } rows[] = {
      {"one", {3, {{1, 164}, {4, 162}, {8, 184}}}, 1, {0, 1, 0}},
      {"five, padded to eight",
       {3, {{1, 164}, {4, 162}, {8, 184}}},
       5,
       {0, 0, 1}},
      {"five of four and one", {3, {{1, 9}, {4, 20}, {8, 40}}}, 5, {1, 1, 0}},
      {"three of ones", {2, {{1, 10}, {4, 31}}}, 3, {3, 0}},
      {"three of four", {2, {{1, 10}, {4, 29}}}, 3, {0, 1}},
      {"a row at a time is cheapest", {2, {{1, 1}, {8, 9}}}, 16, {16, 0}},
      {"more than the largest", {3, {{1, 9}, {4, 20}, {8, 30}}}, 21, {1, 1, 2}},
      {"equal cost", {2, {{2, 10}, {4, 10}}}, 2, {1, 0}},
      {"one bucket", {1, {{8, 10}}}, 17, {3}},
      {"many", {2, {{1, 10}, {8, 20}}}, 800001, {1, 100000}},
      {"as many as can be counted",
       {1, {{1024, 10}}},
       INT64_MAX,
       {INT64_MAX / 1024 + 1}},
      {"a large bucket for many", {2, {{1, 10}, {1024, 100}}}, 700, {0, 1}},
      {"a large bucket that is dear",
       {2, {{1, 1}, {1024, 9999}}},
       700,
       {700, 0}},
      {"the dearest there is",
       {1, {{1, FC_BATCH_COST_MAX}}},
       FC_BATCH_PLANNED,
       {FC_BATCH_PLANNED}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    uint64_t uses[BUCKETS_MAX];
    fc_batch_plan(row->buckets.buckets, row->buckets.count, row->rows, uses);
    for (uint32_t i = 0; i < row->buckets.count; i++) {
      assert_int_equal(uses[i], row->uses[i]);
    }
  }
}

// The least cost of `rows` rows, found by trying all plans.
static uint64_t try_all(const buckets_t *buckets, uint32_t first,
                        int64_t rows) {
  uint64_t least = UINT64_MAX;
  if (rows <= 0) return 0;
  for (uint32_t i = first; i < buckets->count; i++) {
    const uint64_t cost = buckets->buckets[i].cost +
                          try_all(buckets, i, rows - buckets->buckets[i].rows);
    if (cost < least) least = cost;
  }
  return least;
}

static void no_plan_is_cheaper(void **state) {
  (void)state;
  uint64_t dice = 1;
  for (int round = 0; round < 300; round++) {
    buckets_t buckets = {.count = 1 + (uint32_t)(round % BUCKETS_MAX)};
    int64_t rows = 0;
    for (uint32_t i = 0; i < buckets.count; i++) {
      dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
      rows += 1 + (int64_t)(dice >> 61);
      buckets.buckets[i] = (fc_bucket_cost_t){rows, 1 + (dice >> 40) % 50};
    }
    for (int64_t n = 1; n <= 24; n++) {
      uint64_t uses[BUCKETS_MAX], cost = 0;
      int64_t has = 0, least = INT64_MAX;
      fc_batch_plan(buckets.buckets, buckets.count, n, uses);
      for (uint32_t i = 0; i < buckets.count; i++) {
        cost += uses[i] * buckets.buckets[i].cost;
        has += (int64_t)uses[i] * buckets.buckets[i].rows;
        if (uses[i] && buckets.buckets[i].rows < least) {
          least = buckets.buckets[i].rows;
        }
      }
      assert_int_equal(cost, try_all(&buckets, 0, n));
      assert_true(has >= n && has - n < least);
    }
  }
}

static fc_batch_t *make(const int64_t *rows, uint32_t count) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = NULL;
  const int64_t name = fc_builder_dim_name(builder, FC_STR("n"));
  fc_builder_argument(builder, FC_STR("x"),
                      fc_builder_tensor(builder, FC_DTYPE_I8, 1, &name),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  for (uint32_t i = 0; i < count; i++) fc_builder_sizes(builder, &rows[i]);
  assert_int_equal(fc_signature_build(builder, &signature, NULL), FC_OK);
  fc_batch_t *batch = fc_batch_create(signature, fc_allocator_system());
  assert_non_null(batch);
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
  return batch;
}

static void check_costs(const fc_batch_t *batch, const uint64_t *wanted) {
  fc_bucket_cost_t costs[FC_SIZES_MAX];
  fc_batch_costs(batch, costs);
  for (uint32_t i = 0; i < batch->count; i++) {
    assert_int_equal(costs[i].cost, wanted[i]);
  }
}

// Buckets are sorted, and a bucket of no rows is dropped.
static void costs_are_learned(void **state) {
  (void)state;
  fc_batch_t *batch = make((const int64_t[]){8, 0, 1, 4}, 4);
  assert_int_equal(batch->count, 3);
  assert_int_equal(batch->buckets[0].rows, 1);
  assert_int_equal(batch->buckets[0].row, 2);
  assert_int_equal(batch->buckets[2].rows, 8);
  check_costs(batch, (const uint64_t[]){17, 20, 24});
  // The smaller buckets were never measured: each gets its rows' share of the larger
  // bucket's cost.
  fc_batch_learn(batch, 2, 800);
  check_costs(batch, (const uint64_t[]){101, 401, 17 + 7});
  fc_batch_learn(batch, 0, 300);
  check_costs(batch, (const uint64_t[]){101, 300, 300});
  // A measured cost is used only after some calls: the first call may have been slow.
  fc_batch_learn(batch, 2, 700);
  fc_batch_learn(batch, 2, 900);
  check_costs(batch, (const uint64_t[]){88, 300, 700});
  fc_batch_learn(batch, 2, 860);
  check_costs(batch, (const uint64_t[]){89, 300, 710});
  fc_batch_learn(batch, 2, 500);
  check_costs(batch, (const uint64_t[]){63, 300, 500});
  fc_free(fc_allocator_system(), batch);
}

// The cost of a bucket that was slow once falls with time, so that it is tried again.
static void what_was_slow_is_forgotten(void **state) {
  (void)state;
  fc_batch_t *batch = make((const int64_t[]){1, 8}, 2);
  fc_bucket_cost_t costs[FC_SIZES_MAX];
  for (int i = 0; i < 3; i++) fc_batch_learn(batch, 1, 1000000);
  for (int i = 0; i < 100000; i++) fc_batch_learn(batch, 0, 1000);
  fc_batch_costs(batch, costs);
  assert_true(costs[1].cost < 8000);
  fc_free(fc_allocator_system(), batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_cheapest_plan_is_made),
      FC_TEST(no_plan_is_cheaper),
      FC_TEST(costs_are_learned),
      FC_TEST(what_was_slow_is_forgotten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
