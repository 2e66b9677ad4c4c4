// SPDX-License-Identifier: Apache-2.0
#include "module/vm/stack.h"

#include "module/vm/run.h"

#define NESTED 200

static fc_vm_function_t function_of(uint16_t cells, uint16_t refs) {
  return (fc_vm_function_t){.cell_count = cells, .ref_count = refs};
}

// Frames of many sizes, nested so deeply that many chunks are needed. No frame overlaps
// another, and all are zeroed, even where others were before.
static void frames_are_zeroed_and_apart(void **state) {
  (void)state;
  fc_vm_stack_t stack;
  fc_vm_function_t functions[NESTED];
  fc_vm_frame_t *frames[NESTED];
  fc_vm_stack_init(&stack, fc_allocator_system(), FC_VM_STACK_SIZE,
                   FC_VM_STACK_DEPTH);
  for (uint32_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < NESTED; i++) {
      functions[i] = function_of((uint16_t)((i + round) * 37 % 1000),
                                 (uint16_t)(i * 13 % 300));
      frames[i] = fc_vm_stack_push(&stack, &functions[i], NULL);
      assert_non_null(frames[i]);
      for (uint32_t k = 0; k < functions[i].cell_count; k++) {
        assert_int_equal(frames[i]->cells[k], 0);
        frames[i]->cells[k] = (int32_t)(i * 1000 + k);
      }
      for (uint32_t k = 0; k < functions[i].ref_count; k++) {
        assert_null(frames[i]->refs[k]);
      }
    }
    for (uint32_t i = NESTED; i-- > 0;) {
      for (uint32_t k = 0; k < functions[i].cell_count; k++) {
        assert_int_equal(frames[i]->cells[k], i * 1000 + k);
      }
      fc_vm_stack_pop(&stack, frames[i]);
    }
    assert_int_equal(stack.size, 0);
    assert_int_equal(stack.depth, 0);
  }
  fc_vm_stack_deinit(&stack);
}

// A module may have 65535 functions, each with a slightly larger frame than the one
// before.
static void frames_that_grow_do_not_pile_up(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, fc_test_allocator_init(&counter, 0),
                   FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  fc_vm_function_t small = function_of(8, 0);
  fc_vm_frame_t *below = fc_vm_stack_push(&stack, &small, NULL);
  for (uint16_t cells = 6000; cells < 0x7FFF; cells += 4) {
    fc_vm_function_t function = function_of(cells, 0);
    fc_vm_frame_t *frame = fc_vm_stack_push(&stack, &function, NULL);
    assert_non_null(frame);
    fc_vm_stack_pop(&stack, frame);
    assert_true(atomic_load(&counter.live) <= 2);
  }
  fc_vm_stack_pop(&stack, below);
  fc_vm_stack_deinit(&stack);
  assert_int_equal(atomic_load(&counter.live), 0);
}

static void what_is_over_a_limit_is_refused(void **state) {
  (void)state;
  fc_vm_stack_t stack;
  fc_error_t err = {0};
  fc_vm_function_t small = function_of(10, 0), large = function_of(250, 0);
  fc_vm_stack_init(&stack, fc_allocator_system(), 1000, 2);
  assert_null(fc_vm_stack_push(&stack, &large, &err));
  assert_non_null(strstr(err.message, "over its limit of 1000 bytes"));
  fc_vm_frame_t *first = fc_vm_stack_push(&stack, &small, &err);
  fc_vm_frame_t *second = fc_vm_stack_push(&stack, &small, &err);
  assert_non_null(first);
  assert_non_null(second);
  assert_null(fc_vm_stack_push(&stack, &small, &err));
  assert_non_null(strstr(err.message, "nested deeper than 2"));
  fc_vm_stack_pop(&stack, second);
  fc_vm_stack_pop(&stack, first);
  fc_vm_stack_deinit(&stack);
}

static void a_call_that_finds_no_room_has_no_results(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/scalars-3.13.0.vmfb", &size);
  vm_t vm;
  fc_error_t err = {0};
  assert_int_equal(vm_open(&vm, data, size, fc_allocator_system(), &err), 0);
  vm.stack.size_max = 0;
  fc_vm_raw_t in[2] = {{.i32 = 3}, {.f32 = 2.5f}};
  fc_vm_raw_t out[1] = {{.i64 = 0x1234567812345678}};
  assert_int_equal(vm_call(&vm, "pair", in, out, &err), FC_RESOURCE_EXHAUSTED);
  assert_null(out[0].ref);
  vm_close(&vm);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(frames_are_zeroed_and_apart),
      FC_TEST(frames_that_grow_do_not_pile_up),
      FC_TEST(what_is_over_a_limit_is_refused),
      FC_TEST(a_call_that_finds_no_room_has_no_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
