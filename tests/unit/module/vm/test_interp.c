// SPDX-License-Identifier: Apache-2.0
//
// The interpreter with modules of every release, and with IREE's own tests of its
// instruction set if they are installed: each function of those checks itself.
#include "module/vm/interp.h"

#include <pthread.h>

#include "module/vm/run.h"

// ---------------------------------------------------------------------------
// scalars.mlir, compiled by every release

static void expect_scalars(vm_t *vm) {
  fc_error_t err = {0};
  fc_vm_raw_t in[3] = {{0}}, out[2] = {{0}};
  in[0].i64 = 10;
  assert_int_equal(vm_call(vm, "fact", in, out, &err), FC_OK);
  assert_int_equal(out[0].i64, 3628800);

  in[0].i64 = 0;
  in[0].i32 = 7;
  in[1].i64 = 0;
  in[1].i32 = -2;
  assert_int_equal(vm_call(vm, "divide", in, out, &err), FC_OK);
  assert_int_equal(out[0].i32, -3);
  in[1].i32 = 0;
  assert_int_equal(vm_call(vm, "divide", in, out, &err), FC_OUT_OF_RANGE);
  assert_non_null(strstr(err.message, "division by zero"));
  in[0].i32 = INT32_MIN;
  in[1].i32 = -1;
  assert_int_equal(vm_call(vm, "divide", in, out, &err), FC_OUT_OF_RANGE);
  in[0].i32 = 9;
  in[1].i32 = 2;
  assert_int_equal(vm_call(vm, "divide", in, out, &err), FC_OK);
  assert_int_equal(out[0].i32, 4);

  in[0].i32 = 5;
  assert_int_equal(vm_call(vm, "add_total", in, out, &err), FC_OK);
  assert_int_equal(out[0].i32, 5);
  in[0].i32 = 7;
  assert_int_equal(vm_call(vm, "add_total", in, out, &err), FC_OK);
  assert_int_equal(out[0].i32, 12);

  in[0].f32 = 3;
  in[1].f32 = 4;
  assert_int_equal(vm_call(vm, "hyp", in, out, &err), FC_OK);
  assert_true(out[0].f32 == 5);

  in[0].i32 = 3;
  in[1].f32 = 2.5f;
  assert_int_equal(vm_call(vm, "pair", in, out, &err), FC_OK);
  fc_vm_list_t *list = fc_vm_list_from(out[0].ref);
  assert_non_null(list);
  assert_int_equal(list->count, 2);
  assert_int_equal(fc_vm_list_peek(list, 0).type, FC_VM_TYPE_I32);
  assert_int_equal(fc_vm_list_peek(list, 0).bits, 3);
  fc_vm_value_t value;
  assert_int_equal(fc_vm_list_get(list, 1, FC_VM_TYPE_F32, &value, &err), 0);
  assert_true(value.f32 == 2.5f);
  fc_vm_release(out[0].ref);
}

static void expect_swap(vm_t *vm) {
  fc_error_t err = {0};
  fc_vm_raw_t in[1] = {{0}}, out[1] = {{0}};
  fc_vm_list_t *list;
  assert_int_equal(
      fc_vm_list_create(&vm->context->heap, FC_VM_TYPE_VARIANT, 2, &list, &err),
      FC_OK);
  assert_int_equal(fc_vm_list_resize(list, 2, &err), FC_OK);
  fc_vm_value_t p = {.type = FC_VM_TYPE_F32, .f32 = 1.5f};
  fc_vm_value_t q = {.type = FC_VM_TYPE_I32, .i32 = 3};
  assert_int_equal(fc_vm_list_set(list, 0, p, &err), FC_OK);
  assert_int_equal(fc_vm_list_set(list, 1, q, &err), FC_OK);
  in[0].ref = &list->object;
  assert_int_equal(vm_call(vm, "swap", in, out, &err), FC_OK);
  fc_vm_release(in[0].ref);
  fc_vm_list_t *swapped = fc_vm_list_from(out[0].ref);
  assert_non_null(swapped);
  assert_int_equal(fc_vm_list_get(swapped, 0, FC_VM_TYPE_I32, &q, &err), 0);
  assert_int_equal(fc_vm_list_get(swapped, 1, FC_VM_TYPE_F32, &p, &err), 0);
  assert_int_equal(q.i32, 3);
  assert_true(p.f32 == 1.5f);
  fc_vm_release(out[0].ref);
}

static void run_scalars(const char *path, const uint8_t *data, size_t size,
                        void *context) {
  size_t *count = context;
  if (!strstr(path, "/scalars-")) return;
  fc_error_t err = {0};
  vm_t vm;
  if (vm_open(&vm, data, size, fc_allocator_system(), &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  expect_scalars(&vm);
  expect_swap(&vm);
  assert_int_equal(fc_vm_context_live_objects(vm.context), 0);
  vm_close(&vm);
  ++*count;
}

static void scalars_of_every_release_are_right(void **state) {
  (void)state;
  size_t count = 0;
  each_module(CORPUS "/releases", run_scalars, &count);
  assert_int_equal(count, 15);
}

// ---------------------------------------------------------------------------
// IREE's own tests

typedef struct self_test_t {
  size_t functions;
  size_t wrong;
} self_test_t;

static void run_self_tests(const char *path, const uint8_t *data, size_t size,
                           void *context) {
  self_test_t *tests = context;
  fc_error_t err = {0};
  vm_t vm;
  if (vm_open(&vm, data, size, fc_allocator_system(), &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  for (uint32_t i = 0; i < vm.module->export_count; i++) {
    const fc_vm_export_t *export = &vm.module->exports[i];
    const fc_vm_cconv_t *cconv = &vm.module->functions[export->function].cconv;
    if (fc_str_starts(export->name, FC_STR("__"))) continue;
    if (cconv->arguments.size || cconv->results.size) continue;
    size_t live = fc_vm_context_live_objects(vm.context);
    fc_error_reset(&err);
    fc_vm_raw_t none[1];
    fc_status_t status = fc_vm_call(vm.context, &vm.invocation,
                                    export->function, none, none, &err);
    bool must_fail = fc_str_starts(export->name, FC_STR("fail_"));
    bool globals = strstr(path, "global") != NULL;
    if ((status != FC_OK) != must_fail ||
        (!globals && fc_vm_context_live_objects(vm.context) != live)) {
      print_message("%s %.*s: %s\n", path, FC_STR_ARG(export->name),
                    status ? err.message : "ok");
      tests->wrong++;
    }
    tests->functions++;
  }
  vm_close(&vm);
}

static void self_checking_functions_agree(void **state) {
  (void)state;
  self_test_t tests = {0};
  char folder[512];
  size_t count = each_module(outside("vmasm", folder), run_self_tests, &tests);
  assert_true(count > 0);
  print_message("%zu functions\n", tests.functions);
  assert_int_equal(tests.wrong, 0);
  assert_int_equal(tests.functions, 300);
}

// ---------------------------------------------------------------------------
// Limits

static void fuel_and_the_cancel_word_stop_a_loop(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/scalars-3.13.0.vmfb", &size);
  vm_t vm;
  fc_error_t err = {0};
  assert_int_equal(vm_open(&vm, data, size, fc_allocator_system(), &err), 0);
  fc_vm_raw_t in[1] = {{.i64 = INT64_MAX}}, out[1];

  vm.invocation.fuel = 100000;
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_RESOURCE_EXHAUSTED);
  assert_int_equal(vm.invocation.fuel, 0);
  vm.invocation.fuel = UINT64_MAX;

  _Atomic(uint32_t) cancel = 1;
  vm.invocation.cancel = &cancel;
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_CANCELLED);
  vm.invocation.cancel = NULL;

  vm.invocation.deadline_ns = fc_clock_ns();
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_DEADLINE_EXCEEDED);
  assert_int_equal(err.code, FC_CODE_DEADLINE_EXCEEDED);
  vm.invocation.deadline_ns = 0;

  in[0].i64 = 3;
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_OK);
  assert_int_equal(out[0].i64, 6);
  vm_close(&vm);
  free(data);
}

// A native function may run bytecode a million times, each time for a moment.
static void short_runs_add_up_to_a_look_at_the_cancel_word(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/scalars-3.13.0.vmfb", &size);
  vm_t vm;
  fc_error_t err = {0};
  assert_int_equal(vm_open(&vm, data, size, fc_allocator_system(), &err), 0);
  fc_vm_raw_t in[2] = {{.f32 = 3}, {.f32 = 4}}, out[1];
  _Atomic(uint32_t) cancel = 1;
  vm.invocation.cancel = &cancel;
  size_t runs = 0;
  while (vm_call(&vm, "hyp", in, out, &err) == FC_OK) {
    assert_true(++runs < 2000);
  }
  assert_int_equal(err.status, FC_CANCELLED);

  vm.invocation.cancel = NULL;
  vm.invocation.fuel = 5;
  for (runs = 0; vm_call(&vm, "hyp", in, out, &err) == FC_OK; runs++) {
  }
  assert_int_equal(runs, 5);
  assert_int_equal(err.status, FC_RESOURCE_EXHAUSTED);
  vm_close(&vm);
  free(data);
}

static fc_status_t open_and_call(fc_allocator_t allocator, void *context,
                                 fc_error_t *err) {
  const fc_span_t *file = context;
  vm_t vm;
  fc_vm_raw_t in[2] = {{.i32 = 1}, {.f32 = 2}}, out[1] = {{0}};
  fc_status_t status = vm_open(&vm, file->data, file->size, allocator, err);
  if (status == FC_OK) status = vm_call(&vm, "pair", in, out, err);
  fc_vm_release(out[0].ref);
  vm_close(&vm);
  return status;
}

// Replaces the code of a function by code that only fails.
static void a_module_fails_with_its_code(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t code;
    fc_status_t status;
    const char *message;
  } fails[] = {
      {"cancelled", 1, FC_CANCELLED, "no (at 0x8 of fact)"},
      {"not found", 5, FC_NOT_FOUND, "no (at 0x8 of fact)"},
      {"the last", 18, FC_INCOMPATIBLE, "no (at 0x8 of fact)"},
      {"behind the last", 19, FC_UNKNOWN, "no (at 0x8 of fact)"},
      {"five bits that are 0", 32, FC_UNKNOWN, "no (at 0x8 of fact)"},
      {"more than five bits", 32 + 5, FC_NOT_FOUND, "no (at 0x8 of fact)"},
      {"negative", UINT32_MAX, FC_UNKNOWN, "no (at 0x8 of fact)"},
      {"none, and nothing behind it", 0, FC_INTERNAL,
       "fail with status 0 at the end of the function (at 0x8 of fact)"},
  };
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/scalars-3.13.0.vmfb", &size);
  assert_non_null(data);
  FC_TEST_EACH_ROW(const __typeof__(fails[0]), row, fails) {
    vm_t vm;
    fc_error_t err;
    assert_int_equal(vm_open(&vm, data, size, fc_allocator_system(), &err),
                     FC_OK);
    // The code: block; const.i32 CODE to cell 0; fail cell 0 "no"
    uint8_t code[] = {0x79, 0x0D, 0, 0, 0, 0, 0, 0, 0x5B, 0, 0, 2, 0, 'n', 'o'};
    memcpy(code + 2, &row->code, sizeof row->code);
    const fc_vm_export_t *fact = fc_vm_module_find(vm.module, FC_STR("fact"));
    assert_non_null(fact);
    fc_vm_function_t *function = &vm.module->functions[fact->function];
    function->code = code;
    function->size = sizeof code;
    function->block_count = 1;
    assert_int_equal(fc_vm_verify(vm.module, &err), FC_OK);
    fc_vm_raw_t in[1] = {{.i64 = 3}}, out[1];
    assert_int_equal(vm_call(&vm, "fact", in, out, &err), row->status);
    assert_int_equal(err.status, row->status);
    assert_string_equal(err.message, row->message);
    vm_close(&vm);
  }
  free(data);
}

static void calls_survive_failing_allocations(void **state) {
  (void)state;
  fc_span_t file = {0};
  file.data = read_file(CORPUS "/releases/scalars-2.9.0.vmfb", &file.size);
  assert_true(fc_test_allocation_sweep(open_and_call, &file) > 0);
  free(file.data);
}

static void a_warm_call_allocates_nothing(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/scalars-3.13.0.vmfb", &size);
  fc_test_allocator_t counter;
  fc_allocator_t allocator = fc_test_allocator_init(&counter, 0);
  vm_t vm;
  fc_error_t err = {0};
  assert_int_equal(vm_open(&vm, data, size, allocator, &err), FC_OK);
  fc_vm_raw_t in[1] = {{.i64 = 10}}, out[1];
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_OK);
  size_t before = atomic_load(&counter.allocated);
  assert_int_equal(vm_call(&vm, "fact", in, out, &err), FC_OK);
  assert_int_equal(atomic_load(&counter.allocated), before);
  vm_close(&vm);
  free(data);
}

// Several workers, each with its own stack, share a context whose globals nobody stores
// to.
typedef struct worker_t {
  vm_t *vm;
  size_t wrong;
} worker_t;

static void *work(void *context) {
  static const char *const names[] = {"list.refs", "call.refs", "call.wide",
                                      "buffer.clone.and.copy", "loop"};
  worker_t *worker = context;
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, fc_allocator_system(), FC_VM_STACK_SIZE,
                   FC_VM_STACK_DEPTH);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = UINT64_MAX};
  for (size_t i = 0; i < 2000; i++) {
    const fc_vm_export_t *export = fc_vm_module_find(
        worker->vm->module, fc_str(names[i % FC_ARRAY_COUNT(names)]));
    fc_vm_raw_t none[1], out[8];
    fc_error_t err;
    if (!export || fc_vm_call(worker->vm->context, &invocation,
                              export->function, none, out, &err)) {
      worker->wrong++;
    }
  }
  fc_vm_stack_deinit(&stack);
  return NULL;
}

static void workers_share_a_context(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data =
      read_file(FARCALL_SOURCE_DIR "/tests/corpus/vm/ops.vmfb", &size);
  vm_t vm;
  fc_error_t err = {0};
  assert_int_equal(vm_open(&vm, data, size, fc_allocator_system(), &err), 0);
  size_t live = fc_vm_context_live_objects(vm.context);
  pthread_t threads[4];
  worker_t workers[FC_ARRAY_COUNT(threads)];
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    workers[i] = (worker_t){.vm = &vm};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(workers[i].wrong, 0);
  }
  assert_int_equal(fc_vm_context_live_objects(vm.context), live);
  vm_close(&vm);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(scalars_of_every_release_are_right),
      FC_TEST(self_checking_functions_agree),
      FC_TEST(fuel_and_the_cancel_word_stop_a_loop),
      FC_TEST(short_runs_add_up_to_a_look_at_the_cancel_word),
      FC_TEST(a_module_fails_with_its_code),
      FC_TEST(calls_survive_failing_allocations),
      FC_TEST(a_warm_call_allocates_nothing),
      FC_TEST(workers_share_a_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
