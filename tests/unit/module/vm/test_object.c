// SPDX-License-Identifier: Apache-2.0
//
// A heap counts its memory also in its parent heap, which may have a parent, too.
#include "module/vm/object.h"

#include "helpers/test.h"

static void what_a_parent_refuses_is_counted_nowhere(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t limits[3];  // of a heap, its parent, and the parent's parent
    size_t size;
    bool fits;
  } rows[] = {
      {"all of it", {100, 100, 100}, 100, true},
      {"over its own limit", {99, 100, 100}, 100, false},
      {"over its parent's", {100, 99, 100}, 100, false},
      {"over the last one's", {100, 100, 99}, 100, false},
      {"over the last one's and its own", {50, 100, 50}, 51, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_vm_heap_t heaps[3];
    for (int i = 0; i < 3; i++) {
      fc_vm_heap_init(&heaps[i], fc_allocator_system(), row->limits[i]);
      if (i) heaps[i - 1].parent = &heaps[i];
    }
    fc_error_t err;
    assert_int_equal(fc_vm_heap_count(&heaps[0], row->size, &err), row->fits);
    if (!row->fits) {
      assert_int_equal(err.status, FC_RESOURCE_EXHAUSTED);
    }
    for (int i = 0; i < 3; i++) {
      assert_int_equal(atomic_load(&heaps[i].bytes), row->fits ? row->size : 0);
    }
    if (row->fits) fc_vm_heap_uncount(&heaps[0], row->size);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(atomic_load(&heaps[i].bytes), 0);
      fc_vm_heap_deinit(&heaps[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_a_parent_refuses_is_counted_nowhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
