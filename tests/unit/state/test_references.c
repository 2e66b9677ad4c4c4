// SPDX-License-Identifier: Apache-2.0
//
// References by number: what is kept is counted once, until it has gone and was freed.
#include "state/references.h"

#include "helpers/test.h"

#define OBJECTS 300

typedef struct object_t {
  int counts;  // as the module has it
  uint64_t number;
} object_t;

static void count(void *object, int change) {
  ((object_t *)object)->counts += change;
}

static fc_opaque_t opaque_of(object_t *object) {
  return (fc_opaque_t){
      .type = FC_STR("thing"), .object = object, .count = count};
}

static void references_are_kept_until_they_have_gone(void **state) {
  (void)state;
  static object_t objects[OBJECTS];
  static bool kept[OBJECTS];
  fc_references_t all;
  fc_opaque_t found;
  fc_error_t err;
  uint32_t random = 7, gone = 0, count_kept = 0;
  fc_references_init(&all, fc_allocator_system());
  for (int step = 0; step < 20000; step++) {
    random = random * 1664525 + 1013904223;
    const uint32_t at = (random >> 8) % OBJECTS;
    object_t *object = &objects[at];
    // Numbers go up, but calls that run side by side use them in any order.
    const uint64_t number = (uint64_t)step + 40 + (random >> 20) % 8 * 100000;
    if (kept[at]) {
      assert_true(fc_references_drop(&all, object->number));
      assert_false(fc_references_drop(&all, object->number));
      assert_false(fc_references_find(&all, object->number, &found));
      gone++;
      count_kept--;
    } else {
      const fc_opaque_t opaque = opaque_of(object);
      object->number = number;
      assert_int_equal(fc_references_add(&all, number, &opaque, &err), FC_OK);
      assert_true(fc_references_find(&all, number, &found));
      assert_ptr_equal(found.object, object);
      count_kept++;
    }
    kept[at] = !kept[at];
    assert_int_equal(fc_references_count(&all), count_kept + gone);
    assert_int_equal(fc_references_gone(&all), gone);
    if (random >> 28) continue;
    fc_references_free(&all);
    gone = 0;
    for (int i = 0; i < OBJECTS; i++) {
      assert_int_equal(objects[i].counts, kept[i]);
    }
  }
  fc_references_deinit(&all);
  for (int i = 0; i < OBJECTS; i++) assert_int_equal(objects[i].counts, 0);
}

static void there_are_no_more_than_may_be(void **state) {
  (void)state;
  object_t object = {0};
  const fc_opaque_t opaque = opaque_of(&object);
  fc_references_t all;
  fc_error_t err;
  fc_references_init(&all, fc_allocator_system());
  for (uint64_t i = 1; i <= FC_REFERENCES_MAX; i++) {
    assert_int_equal(fc_references_add(&all, i, &opaque, &err), FC_OK);
  }
  assert_int_not_equal(fc_references_add(&all, 9999, &opaque, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_int_equal(object.counts, FC_REFERENCES_MAX);
  assert_true(fc_references_drop(&all, 7));
  fc_references_free(&all);
  assert_int_equal(fc_references_add(&all, 9999, &opaque, &err), FC_OK);
  fc_references_deinit(&all);
  assert_int_equal(object.counts, 0);
}

static void without_memory_nothing_is_counted(void **state) {
  (void)state;
  object_t object = {0};
  const fc_opaque_t opaque = opaque_of(&object);
  fc_test_allocator_t failing;
  fc_references_t all;
  fc_error_t err;
  fc_references_init(&all, fc_test_allocator_init(&failing, 1));
  assert_int_not_equal(fc_references_add(&all, 1, &opaque, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_OUT_OF_MEMORY);
  assert_int_equal(object.counts, 0);
  assert_int_equal(fc_references_add(&all, 1, &opaque, &err), FC_OK);
  fc_references_deinit(&all);
  assert_int_equal(object.counts, 0);
  assert_int_equal(failing.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(references_are_kept_until_they_have_gone),
      FC_TEST(there_are_no_more_than_may_be),
      FC_TEST(without_memory_nothing_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
