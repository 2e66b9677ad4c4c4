// SPDX-License-Identifier: Apache-2.0
//
// What stops a call: the fuel, a cancel word that another thread sets, a deadline. Each
// is tried on every function of endless.vmfb (tests/modules/vmasm/endless.vmasm); each
// of those loops for ever in another way.
#include <pthread.h>

#include "module/vm/run.h"

typedef struct row_t {
  const char *name;  // of the function
  // An instruction that moves megabytes uses much fuel, so fuel for a thousand steps
  // allows only this many allocations. 0: it moves nothing large.
  size_t allocations_max;
} row_t;

static const row_t rows[] = {
    {"branch", 0},           {"branches", 0},      {"calls", 0},
    {"nested", 0},           {"native", 0},        {"native.variadic", 0},
    {"native.yieldable", 0}, {"list.elements", 0}, {"list.new", 16},
    {"list.reserve", 16},    {"list.resize", 16},  {"list.nested", 0},
    {"buffer.elements", 0},  {"buffer.new", 16},   {"buffer.bytes", 16},
};

typedef struct endless_t {
  vm_t vm;
  uint8_t *data;
  fc_test_allocator_t counter;
} endless_t;

static void open_endless(endless_t *e) {
  size_t size = 0;
  fc_error_t err = {0};
  e->data =
      read_file(FARCALL_SOURCE_DIR "/tests/corpus/vm/endless.vmfb", &size);
  assert_non_null(e->data);
  fc_allocator_t allocator = fc_test_allocator_init(&e->counter, 0);
  if (vm_open(&e->vm, e->data, size, allocator, &err)) {
    fail_msg("%s", err.message);
  }
}

static void close_endless(endless_t *e) {
  assert_int_equal(fc_vm_context_live_objects(e->vm.context), 0);
  vm_close(&e->vm);
  assert_int_equal(atomic_load(&e->counter.live), 0);
  free(e->data);
}

static fc_status_t run(endless_t *e, const char *name, fc_error_t *err) {
  fc_vm_raw_t none[1];
  return vm_call(&e->vm, name, none, none, err);
}

static void every_loop_uses_up_its_fuel(void **state) {
  (void)state;
  endless_t e;
  open_endless(&e);
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_error_t err = {0};
    e.vm.invocation.fuel = 1000;
    size_t before = atomic_load(&e.counter.allocated);
    assert_int_equal(run(&e, row->name, &err), FC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "fuel"));
    assert_int_equal(e.vm.invocation.fuel, 0);
    size_t allocations = atomic_load(&e.counter.allocated) - before;
    if (row->allocations_max) assert_true(allocations <= row->allocations_max);
    // Without fuel it does not start.
    assert_int_equal(run(&e, row->name, &err), FC_RESOURCE_EXHAUSTED);
  }
  close_endless(&e);
}

static void every_loop_ends_at_its_deadline(void **state) {
  (void)state;
  endless_t e;
  open_endless(&e);
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_error_t err = {0};
    e.vm.invocation.deadline_ns = fc_clock_ns() + 5000000;
    assert_int_equal(run(&e, row->name, &err), FC_DEADLINE_EXCEEDED);
    assert_int_equal(err.code, FC_CODE_DEADLINE_EXCEEDED);
    assert_true(fc_clock_ns() >= e.vm.invocation.deadline_ns);
  }
  close_endless(&e);
}

// An attempt ends when its budget is used up, and before any instruction with too much
// work. It leaves no object behind, and the next call is normal.
static void every_loop_gives_up_its_attempt(void **state) {
  (void)state;
  endless_t e;
  open_endless(&e);
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_error_t err = {0};
    fc_budget_t budget = {.end_ns = fc_clock_ns() + 1000000};
    const size_t before = atomic_load(&e.counter.allocated);
    e.vm.invocation.fuel = UINT64_MAX;
    e.vm.invocation.budget = &budget;
    assert_int_equal(run(&e, row->name, &err), FC_RESOURCE_EXHAUSTED);
    assert_true(budget.over);
    assert_int_equal(fc_vm_context_live_objects(e.vm.context), 0);
    // An instruction that would move megabytes is not started.
    if (row->allocations_max) {
      assert_true(atomic_load(&e.counter.allocated) - before <= 4);
    }
    e.vm.invocation.budget = NULL;
    e.vm.invocation.fuel = 1000;
    assert_int_equal(run(&e, row->name, &err), FC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "fuel"));
  }
  close_endless(&e);
}

// ---------------------------------------------------------------------------
// Cancelled by another thread

typedef struct worker_t {
  endless_t *endless;
  const char *name;
  _Atomic(uint32_t) cancel;
  _Atomic(bool) started;
  fc_status_t status;
} worker_t;

static void *work(void *context) {
  worker_t *worker = context;
  fc_vm_context_t *vm = worker->endless->vm.context;
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, fc_allocator_system(), FC_VM_STACK_SIZE,
                   FC_VM_STACK_DEPTH);
  fc_vm_invocation_t invocation = {
      .stack = &stack, .fuel = UINT64_MAX, .cancel = &worker->cancel};
  fc_vm_raw_t none[1];
  fc_error_t err;
  uint32_t function =
      fc_vm_module_find(vm->module, fc_str(worker->name))->function;
  atomic_store(&worker->started, true);
  worker->status = fc_vm_call(vm, &invocation, function, none, none, &err);
  fc_vm_stack_deinit(&stack);
  return NULL;
}

static void another_thread_cancels_every_loop(void **state) {
  (void)state;
  endless_t e;
  open_endless(&e);
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    // Two workers share one context. Each is stopped by its own cancel word.
    worker_t workers[2];
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
      workers[i] = (worker_t){.endless = &e, .name = row->name};
      assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
      while (!atomic_load(&workers[i].started)) sched_yield();
      atomic_store(&workers[i].cancel, 1);
      pthread_join(threads[i], NULL);
      assert_int_equal(workers[i].status, FC_CANCELLED);
    }
  }
  close_endless(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_loop_uses_up_its_fuel),
      FC_TEST(every_loop_ends_at_its_deadline),
      FC_TEST(every_loop_gives_up_its_attempt),
      FC_TEST(another_thread_cancels_every_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
