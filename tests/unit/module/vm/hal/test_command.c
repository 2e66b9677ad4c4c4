// SPDX-License-Identifier: Apache-2.0
//
// Recorded commands: which buffer a slot of the table refers to in a run, and what can
// be recorded at all.
#include "module/vm/hal/command.h"

#include "helpers/test.h"

#define SIZE 16

typedef struct fixture_t {
  fc_vm_heap_t heap;
  fc_vm_invocation_t invocation;
  fc_hal_buffer_t *buffer;  // of zeros
  fc_hal_command_buffer_t *commands;
} fixture_t;

static void open(fixture_t *f) {
  *f = (fixture_t){.invocation = {.fuel = UINT64_MAX}};
  fc_vm_heap_init(&f->heap, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_hal_buffer_create(&f->heap, SIZE, &f->buffer, NULL),
                   FC_OK);
  assert_int_equal(fc_hal_command_buffer_create(&f->heap, &f->commands, NULL),
                   FC_OK);
}

static void close(fixture_t *f) {
  fc_vm_release((fc_vm_object_t *)f->commands);
  if (f->buffer) fc_vm_release(&f->buffer->object);
  assert_int_equal(atomic_load(&f->heap.objects), 0);
  assert_int_equal(atomic_load(&f->heap.bytes), 0);
  fc_vm_heap_deinit(&f->heap);
}

// The buffer as text: '.' for 0, 'x' for any other byte.
static void expect_bytes(const fixture_t *f, const char *bytes) {
  char shown[SIZE + 1] = "";
  for (int i = 0; i < SIZE; i++) shown[i] = f->buffer->data[i] ? 'x' : '.';
  assert_string_equal(shown, bytes);
}

static const struct {
  const char *name;
  int32_t slot;
  int64_t offset, size;
  uint32_t pattern_size;
  fc_status_t status;
  const char *bytes;
} fills[] = {
    // Entry 0 of the table is bytes 4 to 11 of the buffer. The table has one entry.
    {"all of the slot", 0, 0, -1, 1, FC_OK, "....xxxxxxxx...."},
    {"a part of it", 0, 2, 4, 1, FC_OK, "......xxxx......"},
    {"the rest", 0, 6, -1, 1, FC_OK, "..........xx...."},
    {"nothing, at its end", 0, 8, 0, 1, FC_OK, "................"},
    {"one byte more", 0, 0, 9, 1, FC_OUT_OF_RANGE, NULL},
    {"from behind it", 0, 9, 0, 1, FC_OUT_OF_RANGE, NULL},
    {"from before it", 0, -1, 2, 1, FC_OUT_OF_RANGE, NULL},
    {"a negative size", 0, 0, -2, 1, FC_OUT_OF_RANGE, NULL},
    {"the slot behind the last", 1, 0, 1, 1, FC_OUT_OF_RANGE, NULL},
    {"a negative slot", -1, 0, 1, 1, FC_OUT_OF_RANGE, NULL},
    {"a pattern", 0, 4, 4, 4, FC_OK, "........xxxx...."},
    {"half a pattern more", 0, 0, 6, 4, FC_INVALID_ARGUMENT, NULL},
    {"half a pair", 0, 0, 3, 2, FC_INVALID_ARGUMENT, NULL},
    {"at half a pattern", 0, 2, 4, 4, FC_INVALID_ARGUMENT, NULL},
};

static void a_slot_is_the_range_its_run_brings(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(fills[0]), row, fills) {
    fixture_t f;
    open(&f);
    const fc_hal_binding_t target = {
        .slot = row->slot, .offset = row->offset, .size = row->size};
    fc_error_t err;
    assert_int_equal(fc_hal_record_fill(f.commands, &target, UINT32_MAX,
                                        (int32_t)row->pattern_size, &err),
                     FC_OK);
    assert_int_equal(fc_hal_command_buffer_finalize(f.commands, &err), FC_OK);
    const fc_hal_binding_t entries[] = {
        {.buffer = f.buffer, .offset = 4, .size = 8},
        {.buffer = f.buffer, .offset = 0, .size = -1},
    };
    const fc_hal_table_t table = {entries, 1};
    assert_int_equal(
        fc_hal_command_buffer_run(f.commands, &f.invocation, &table, &err),
        row->status);
    expect_bytes(&f, row->bytes ? row->bytes : "................");
    close(&f);
  }
}

static void what_was_recorded_keeps_its_buffers(void **state) {
  (void)state;
  fixture_t f;
  open(&f);
  const fc_hal_binding_t all = {.buffer = f.buffer, .size = -1};
  assert_int_equal(fc_hal_record_fill(f.commands, &all, 1, 1, NULL), FC_OK);
  assert_int_equal(fc_hal_command_buffer_finalize(f.commands, NULL), FC_OK);
  fc_vm_release(&f.buffer->object);
  f.buffer = NULL;
  assert_int_equal(atomic_load(&f.heap.objects), 2);
  const fc_hal_table_t none = {NULL, 0};
  assert_int_equal(
      fc_hal_command_buffer_run(f.commands, &f.invocation, &none, NULL), FC_OK);
  close(&f);
}

static void nothing_is_added_to_what_is_finalized(void **state) {
  (void)state;
  fixture_t f;
  open(&f);
  const fc_hal_binding_t all = {.buffer = f.buffer, .size = SIZE};
  const fc_hal_table_t none = {NULL, 0};
  const fc_hal_recorded_dispatch_t dispatch = {.count = {1, 1, 1}};
  static const uint8_t data[SIZE] = {1};
  fc_error_t err;
  assert_int_equal(
      fc_hal_command_buffer_run(f.commands, &f.invocation, &none, &err),
      FC_FAILED_PRECONDITION);
  assert_int_equal(fc_hal_command_buffer_finalize(f.commands, &err), FC_OK);
  const fc_status_t refused[] = {
      fc_hal_record_fill(f.commands, &all, 1, 1, &err),
      fc_hal_record_update(f.commands, data, &all, &err),
      fc_hal_record_copy(f.commands, &all, &all, &err),
      fc_hal_record_dispatch(f.commands, &dispatch, &err),
      fc_hal_command_buffer_finalize(f.commands, &err),
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    assert_int_equal(refused[i], FC_FAILED_PRECONDITION);
  }
  assert_int_equal(
      fc_hal_command_buffer_run(f.commands, &f.invocation, &none, &err), FC_OK);
  expect_bytes(&f, "................");
  close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_slot_is_the_range_its_run_brings),
      FC_TEST(what_was_recorded_keeps_its_buffers),
      FC_TEST(nothing_is_added_to_what_is_finalized),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
