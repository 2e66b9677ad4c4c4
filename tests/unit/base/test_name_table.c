// SPDX-License-Identifier: Apache-2.0
#include "base/name_table.h"

#include <stdio.h>

#include "helpers/test.h"

#define MANY 1000

typedef struct texts_t {
  char text[MANY][8];
} texts_t;

static fc_str_t name_of(texts_t *texts, uint32_t i) {
  snprintf(texts->text[i], sizeof texts->text[i], "m%u", i);
  return fc_str(texts->text[i]);
}

static void an_empty_table_finds_nothing(void **state) {
  (void)state;
  fc_name_table_t names = {.allocator = fc_allocator_system()};
  assert_int_equal(fc_name_table_find(&names, FC_STR("a")), FC_NAME_NONE);
  fc_name_table_remove(&names, FC_STR("a"));
  fc_name_table_deinit(&names);
}

static void a_name_has_the_value_it_was_given_last(void **state) {
  (void)state;
  fc_name_table_t names = {.allocator = fc_allocator_system()};
  fc_error_t error;
  assert_int_equal(fc_name_table_put(&names, FC_STR("a"), 1, &error), FC_OK);
  assert_int_equal(fc_name_table_put(&names, FC_STR(""), 2, &error), FC_OK);
  assert_int_equal(fc_name_table_put(&names, FC_STR("a"), 3, &error), FC_OK);
  assert_int_equal(names.count, 2);
  assert_int_equal(fc_name_table_find(&names, FC_STR("a")), 3);
  assert_int_equal(fc_name_table_find(&names, FC_STR("")), 2);
  assert_int_equal(fc_name_table_find(&names, FC_STR("A")), FC_NAME_NONE);
  fc_name_table_deinit(&names);
}

// Compares the table with a plain array. Each step adds or removes one name, then looks
// up all names. Names collide, runs wrap around the end, and the table grows.
static void puts_and_removals_agree_with_an_array(void **state) {
  (void)state;
  static texts_t texts;
  uint32_t expected[MANY];
  fc_name_table_t names = {.allocator = fc_allocator_system()};
  fc_error_t error;
  uint64_t random = 1;
  for (uint32_t i = 0; i < MANY; i++) expected[i] = FC_NAME_NONE;
  for (uint32_t step = 0; step < 20 * MANY; step++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t range = step < 10 * MANY ? 12 : MANY;
    const uint32_t i = (uint32_t)(random >> 33) % range;
    const fc_str_t name = name_of(&texts, i);
    if (random >> 63) {
      expected[i] = step;
      assert_int_equal(fc_name_table_put(&names, name, step, &error), FC_OK);
    } else {
      expected[i] = FC_NAME_NONE;
      fc_name_table_remove(&names, name);
    }
    for (uint32_t j = 0; j < range; j += range / 12) {
      assert_int_equal(fc_name_table_find(&names, name_of(&texts, j)),
                       expected[j]);
    }
  }
  for (uint32_t j = 0; j < MANY; j++) {
    assert_int_equal(fc_name_table_find(&names, name_of(&texts, j)),
                     expected[j]);
  }
  fc_name_table_deinit(&names);
}

static fc_status_t fill(fc_allocator_t allocator, void *context,
                        fc_error_t *err) {
  fc_name_table_t names = {.allocator = allocator};
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < 100 && status == FC_OK; i++) {
    status = fc_name_table_put(&names, name_of(context, i), i, err);
    if (status == FC_OK) continue;
    for (uint32_t j = 0; j < i; j++) {
      assert_int_equal(fc_name_table_find(&names, name_of(context, j)), j);
    }
  }
  fc_name_table_deinit(&names);
  return status;
}

static void without_memory_nothing_is_lost(void **state) {
  (void)state;
  static texts_t texts;
  assert_int_equal(fc_test_allocation_sweep(fill, &texts), 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(an_empty_table_finds_nothing),
      FC_TEST(a_name_has_the_value_it_was_given_last),
      FC_TEST(puts_and_removals_agree_with_an_array),
      FC_TEST(without_memory_nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
