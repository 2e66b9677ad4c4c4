// SPDX-License-Identifier: Apache-2.0
//
// VM buffers: which bytes are copied, and to where.
#include "module/vm/buffer.h"

#include "helpers/test.h"

static const struct {
  const char *name;
  int64_t from, to, size;
  const char *bytes;  // NULL: it is outside
} copies[] = {
    {"apart", 0, 5, 3, "abcdeabcij"},
    {"upwards into itself", 0, 2, 6, "ababcdefij"},
    {"downwards into itself", 2, 0, 6, "cdefghghij"},
    {"by one", 0, 1, 9, "aabcdefghi"},
    {"onto itself", 3, 3, 4, "abcdefghij"},
    {"nothing at the end", 10, 10, 0, "abcdefghij"},
    {"all", 0, 0, 10, "abcdefghij"},
    {"from behind the end", 5, 0, 6, NULL},
    {"to behind the end", 0, 5, 6, NULL},
    {"a negative offset", -1, 0, 1, NULL},
};

static void bytes_are_copied_as_by_memmove(void **state) {
  (void)state;
  fc_vm_heap_t heap;
  fc_vm_heap_init(&heap, fc_allocator_system(), 4096);
  FC_TEST_EACH_ROW(const __typeof__(copies[0]), row, copies) {
    fc_vm_buffer_t *buffer;
    fc_error_t err;
    assert_int_equal(fc_vm_buffer_create(&heap, 10, 16, &buffer, NULL), FC_OK);
    memcpy(buffer->data, "abcdefghij", 10);
    fc_status_t status =
        fc_vm_buffer_copy(buffer, row->from, buffer, row->to, row->size, &err);
    assert_int_equal(status, row->bytes ? FC_OK : FC_OUT_OF_RANGE);
    assert_memory_equal(buffer->data, row->bytes ? row->bytes : "abcdefghij",
                        10);
    fc_vm_release(&buffer->object);
  }
  assert_int_equal(atomic_load(&heap.bytes), 0);
  fc_vm_heap_deinit(&heap);
}

static void constants_are_not_written_to(void **state) {
  (void)state;
  static const uint8_t bytes[] = "abcdefgh";
  fc_vm_buffer_t constant;
  fc_vm_buffer_init_constant(&constant, bytes, 8);
  assert_int_equal(fc_vm_buffer_copy(&constant, 0, &constant, 4, 2, NULL),
                   FC_PERMISSION_DENIED);
  for (uint32_t element = 1; element <= 8; element *= 2) {
    assert_int_equal(fc_vm_buffer_fill(&constant, 0, 1, element, 0, NULL),
                     FC_PERMISSION_DENIED);
  }
  assert_string_equal((const char *)bytes, "abcdefgh");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(bytes_are_copied_as_by_memmove),
      FC_TEST(constants_are_not_written_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
