// SPDX-License-Identifier: Apache-2.0
//
// The hal module with real modules of fifteen IREE releases, as machine code and as
// VMVX: all give the same values and leave no object behind. The expected values are
// simple arithmetic (listed in tests/corpus/iree/README.md).
#include "module/vm/context.h"
#include "module/vm/files.h"
#include "module/vm/hal/command.h"
#include "module/vm/hal/hal.h"
#include "module/vm/hal/objects.h"
#include "module/vm/hal/pool.h"
#include "module/vm/hal/tensor_view.h"
#include "module/vm/verify.h"

#define F32 0x21000020u
#define I32 0x10000020u
#define I8 0x10000008u
#define I16 0x10000010u
#define F16 0x21000010u
#define BF16 0x22000010u

typedef struct vm_t {
  uint8_t *data;
  fc_vm_module_t *module;
  fc_vm_stack_t stack;
  fc_vm_invocation_t invocation;
  fc_vm_context_t *context;
} vm_t;

static const fc_vm_native_module_t *const trusted[] = {&fc_vm_hal, NULL};
static const fc_vm_native_module_t *const sandboxed[] = {&fc_vm_hal_sandboxed,
                                                         NULL};

static fc_status_t vm_open(vm_t *vm, const uint8_t *data, size_t size,
                           const fc_vm_native_module_t *const *natives,
                           fc_allocator_t allocator, fc_error_t *err) {
  *vm = (vm_t){0};
  fc_vm_stack_init(&vm->stack, allocator, FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  vm->invocation =
      (fc_vm_invocation_t){.stack = &vm->stack, .fuel = UINT64_MAX};
  FC_TRY(fc_vm_module_create(data, size, allocator, &vm->module, err));
  FC_TRY(fc_vm_verify(vm->module, err));
  FC_TRY(fc_vm_context_create(vm->module, natives, allocator, (size_t)64 << 20,
                              &vm->invocation, &vm->context, err));
  return fc_hal_pool_create(&vm->context->heap, &vm->invocation.pool, err);
}

static void vm_close(vm_t *vm) {
  fc_hal_pool_release(vm->invocation.pool);
  vm->invocation.pool = NULL;
  fc_vm_context_destroy(vm->context, &vm->invocation);
  fc_vm_module_destroy(vm->module);
  fc_vm_stack_deinit(&vm->stack);
}

static fc_status_t call(vm_t *vm, const char *name,
                        const fc_vm_raw_t *arguments, fc_vm_raw_t *results,
                        fc_error_t *err) {
  const fc_vm_export_t *row = fc_vm_module_find(vm->module, fc_str(name));
  assert_non_null(row);
  return fc_vm_call(vm->context, &vm->invocation, row->function, arguments,
                    results, err);
}

static fc_vm_object_t *view_of(vm_t *vm, uint32_t type, uint32_t rank,
                               const int64_t *dims, const void *data) {
  uint64_t size;
  fc_hal_buffer_t *buffer;
  fc_hal_view_t *view;
  assert_true(fc_hal_elements_size(type, rank, dims, &size));
  assert_int_equal(
      fc_hal_buffer_create(&vm->context->heap, (int64_t)size, &buffer, NULL),
      0);
  if (size) memcpy(buffer->data, data, size);
  assert_int_equal(fc_hal_view_create(buffer, type, 1, rank, dims, &view, NULL),
                   0);
  fc_vm_release(&buffer->object);
  return &view->object;
}

// Fails unless the view has this type, shape and data. Releases the view.
static void expect_view(fc_vm_object_t *object, uint32_t type, uint32_t rank,
                        const int64_t *dims, const void *data) {
  assert_non_null(object);
  assert_int_equal(object->type, FC_VM_TYPE_HAL_BUFFER_VIEW);
  const fc_hal_view_t *view = (const fc_hal_view_t *)object;
  assert_int_equal(view->element_type, type);
  assert_int_equal(view->rank, rank);
  if (rank) assert_memory_equal(view->dims, dims, rank * sizeof *dims);
  uint64_t size, have;
  uint8_t *bytes;
  assert_true(fc_hal_elements_size(type, rank, dims, &size));
  assert_int_equal(
      fc_hal_buffer_range(view->buffer, 0, (int64_t)size, &bytes, &have, NULL),
      0);
  if (size) assert_memory_equal(bytes, data, size);
  fc_vm_release(object);
}

#define D1(a) ((const int64_t[]){(a)})
#define D2(a, b) ((const int64_t[]){(a), (b)})

static void expect_mul4(vm_t *vm) {
  const float a[] = {1, 2, 3, 4}, b[] = {2, 2, 2, 2}, want[] = {2, 4, 6, 8};
  fc_error_t err;
  const fc_vm_raw_t arguments[] = {{.ref = view_of(vm, F32, 1, D1(4), a)},
                                   {.ref = view_of(vm, F32, 1, D1(4), b)}};
  fc_vm_raw_t results[1];
  fc_status_t status = call(vm, "mul4", arguments, results, &err);
  if (status) print_error("%s\n", err.message);
  assert_int_equal(status, 0);
  fc_vm_release(arguments[0].ref);
  fc_vm_release(arguments[1].ref);
  expect_view(results[0].ref, F32, 1, D1(4), want);
}

static void expect_matmul(vm_t *vm) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};
  const float want[] = {4, 5, 10, 11};
  fc_error_t err;
  const fc_vm_raw_t arguments[] = {{.ref = view_of(vm, F32, 2, D2(2, 3), a)},
                                   {.ref = view_of(vm, F32, 2, D2(3, 2), b)}};
  fc_vm_raw_t results[1];
  assert_int_equal(call(vm, "matmul", arguments, results, &err), 0);
  fc_vm_release(arguments[0].ref);
  fc_vm_release(arguments[1].ref);
  expect_view(results[0].ref, F32, 2, D2(2, 2), want);
}

static void expect_mixed(vm_t *vm) {
  const int8_t a[] = {1, 2, 100}, want_a[] = {2, 4, -56};
  const int16_t h[] = {7, 8}, want_h[] = {14, 16};
  fc_error_t err;
  const fc_vm_raw_t arguments[] = {{.ref = view_of(vm, I8, 1, D1(3), a)},
                                   {.ref = view_of(vm, I16, 1, D1(2), h)},
                                   {.i64 = 14},
                                   {.f32 = 1.5f}};
  fc_vm_raw_t results[4];
  assert_int_equal(call(vm, "mixed", arguments, results, &err), 0);
  fc_vm_release(arguments[0].ref);
  fc_vm_release(arguments[1].ref);
  expect_view(results[0].ref, I8, 1, D1(3), want_a);
  expect_view(results[1].ref, I16, 1, D1(2), want_h);
  assert_int_equal(results[2].i64, 42);
  assert_true(results[3].f32 == 2.25f);
}

static void expect_next(vm_t *vm) {
  fc_error_t err;
  for (int32_t count = 1; count <= 3; count++) {
    const fc_vm_raw_t none[1] = {{0}};
    fc_vm_raw_t results[1];
    assert_int_equal(call(vm, "next", none, results, &err), 0);
    expect_view(results[0].ref, I32, 0, NULL, &count);
  }
}

static void expect_refusals(vm_t *vm) {
  const float a[] = {1, 2, 3};
  fc_error_t err;
  const fc_vm_raw_t arguments[] = {{.ref = view_of(vm, F32, 1, D1(3), a)},
                                   {.ref = view_of(vm, I32, 1, D1(3), a)}};
  fc_vm_raw_t results[1];
  assert_int_equal(call(vm, "mul4", arguments, results, &err),
                   FC_INVALID_ARGUMENT);
  assert_int_equal(err.code, FC_CODE_CALL_FAILED);
  assert_non_null(strstr(err.message, "expected 4 but have 3"));
  const fc_vm_raw_t swapped[] = {arguments[1], arguments[0]};
  assert_int_equal(call(vm, "mul4", swapped, results, &err),
                   FC_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "element type mismatch"));
  const fc_vm_raw_t null[] = {{.ref = NULL}, {.ref = NULL}};
  assert_int_equal(call(vm, "mul4", null, results, &err), FC_INVALID_ARGUMENT);
  fc_vm_release(arguments[0].ref);
  fc_vm_release(arguments[1].ref);
}

static void run_versions(vm_t *vm) {
  // The first calls may fill caches in globals. After them memory must not grow.
  expect_mul4(vm);
  expect_matmul(vm);
  expect_mixed(vm);
  expect_next(vm);
  const size_t live = fc_vm_context_live_objects(vm->context);
  expect_mul4(vm);
  expect_matmul(vm);
  expect_mixed(vm);
  expect_refusals(vm);
  expect_mul4(vm);
  assert_int_equal(fc_vm_context_live_objects(vm->context), live);
}

static void run_half(vm_t *vm) {
  const uint16_t h[] = {0x3E00, 0xC000}, want_h[] = {0x4200, 0xC400};
  const uint16_t b[] = {0x3F00, 0x4040}, want_b[] = {0x3F80, 0x40C0};
  fc_error_t err;
  const fc_vm_raw_t arguments[] = {{.ref = view_of(vm, F16, 1, D1(2), h)},
                                   {.ref = view_of(vm, BF16, 1, D1(2), b)}};
  fc_vm_raw_t results[2];
  assert_int_equal(call(vm, "twice", arguments, results, &err), 0);
  fc_vm_release(arguments[0].ref);
  fc_vm_release(arguments[1].ref);
  expect_view(results[0].ref, F16, 1, D1(2), want_h);
  expect_view(results[1].ref, BF16, 1, D1(2), want_b);
}

// ---------------------------------------------------------------------------
// All releases

#define NATIVE FC_STR(FC_TEST_NATIVE "/releases")

static void run_release(const char *path, const uint8_t *data, size_t size,
                        void *context) {
  size_t *count = context;
  const bool versions = strstr(path, "versions-") != NULL;
  const bool half = strstr(path, "half-") != NULL;
  if (!versions && !half) return;
  // The corpus also has machine code for other processors: skip it.
  if (strstr(path, "llvm-cpu") && !fc_str_starts(fc_str(path), NATIVE)) return;
  fc_test_row(path);
  // Runs once with pooled memory, once with guarded memory.
  for (int guard = 0; guard < 2; guard++) {
    vm_t vm;
    fc_error_t err;
    fc_status_t status =
        vm_open(&vm, data, size, trusted, fc_allocator_system(), &err);
    if (status) print_error("%s\n", err.message);
    assert_int_equal(status, 0);
    vm.invocation.guard = guard;
    if (versions) run_versions(&vm);
    else run_half(&vm);
    vm_close(&vm);
  }
  fc_test_row(NULL);
  ++*count;
}

static void every_release_gives_the_same_values(void **state) {
  (void)state;
  size_t count = 0;
  each_module(CORPUS "/releases", run_release, &count);
#if defined(__aarch64__)
  assert_int_equal(count, 15);
  each_module(FC_TEST_NATIVE "/releases", run_release, &count);
  assert_int_equal(count, 15 + 6);
#else
  assert_int_equal(count, 45);
#endif
}

// ---------------------------------------------------------------------------
// One module in more detail

static uint8_t *read_release(const char *name, size_t *out_size) {
  char release[64], path[512];
  snprintf(release, sizeof release, "releases/%s", name);
  uint8_t *data = read_file(corpus_path(release, path), out_size);
  assert_non_null(data);
  return data;
}

static void machine_code_can_be_forbidden(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_release("versions-3.13.0-llvm-cpu.vmfb", &size);
  vm_t vm;
  fc_error_t err;
  assert_int_not_equal(
      vm_open(&vm, data, size, sandboxed, fc_allocator_system(), &err), 0);
  vm_close(&vm);
  free(data);
  data = read_release("versions-3.13.0-vmvx.vmfb", &size);
  assert_int_equal(
      vm_open(&vm, data, size, sandboxed, fc_allocator_system(), &err), 0);
  run_versions(&vm);
  vm_close(&vm);
  free(data);
}

typedef struct attempt_t {
  const uint8_t *data;
  size_t size;
} attempt_t;

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  const attempt_t *file = context;
  vm_t vm;
  fc_status_t status =
      vm_open(&vm, file->data, file->size, trusted, allocator, err);
  if (status == FC_OK) {
    const fc_vm_raw_t none[1] = {{0}};
    fc_vm_raw_t results[1];
    status = call(&vm, "next", none, results, err);
    if (status == FC_OK) fc_vm_release(results[0].ref);
  }
  vm_close(&vm);
  return status;
}

static void loading_and_calling_survive_failing_allocations(void **state) {
  (void)state;
  static const char *const names[] = {"versions-3.13.0-vmvx.vmfb",
                                      "versions-3.13.0-llvm-cpu.vmfb"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    attempt_t file;
    uint8_t *data = read_release(names[i], &file.size);
    file.data = data;
    assert_true(fc_test_allocation_sweep(attempt, &file) > 10);
    free(data);
  }
}

// A tensor without elements has no memory, but its view must still give a valid range.
static void an_empty_tensor_passes_through(void **state) {
  (void)state;
  const int64_t dims[] = {0, 3};
  const fc_tensor_t empty = {.dtype = FC_DTYPE_F32, .rank = 2, .shape = dims};
  fc_vm_heap_t heap;
  fc_arena_t arena;
  fc_vm_heap_init(&heap, fc_allocator_system(), 1 << 20);
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  fc_hal_loans_t loans = {.arena = &arena};
  fc_vm_object_t *view = NULL;
  fc_error_t err;
  assert_int_equal(fc_hal_tensor_in(&heap, &empty, &loans, &view, &err), FC_OK);
  fc_value_t out;
  fc_status_t status = fc_hal_tensor_out(&arena, (const fc_hal_view_t *)view,
                                         FC_DTYPE_F32, false, &out, &err);
  if (status != FC_OK) fail_msg("%s", err.message);
  assert_int_equal(out.tensor.rank, 2);
  assert_memory_equal(out.tensor.shape, dims, sizeof dims);
  fc_vm_release(view);
  fc_hal_loans_end(&loans);
  fc_arena_deinit(&arena);
  fc_vm_heap_deinit(&heap);
}

static void what_is_recorded_counts_once(void **state) {
  (void)state;
  const size_t size = 64 << 10;
  fc_error_t err;
  fc_vm_heap_t heap;
  fc_hal_command_buffer_t *commands;
  uint8_t *data = fc_alloc(fc_allocator_system(), size);
  assert_non_null(data);
  fc_vm_heap_init(&heap, fc_allocator_system(), 10 * size);
  assert_int_equal(fc_hal_command_buffer_create(&heap, &commands, &err), FC_OK);
  const fc_hal_binding_t target = {.size = (int64_t)size};
  fc_status_t status = FC_OK;
  size_t count = 0;
  for (; status == FC_OK; count++) {
    status = fc_hal_record_update(commands, data, &target, &err);
  }
  assert_in_range(count, 9, 10);
  assert_int_equal(status, FC_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(err.message, "are over the module's limit of"));
  fc_vm_release((fc_vm_object_t *)commands);
  assert_int_equal(atomic_load(&heap.bytes), 0);
  fc_vm_heap_deinit(&heap);
  fc_free(fc_allocator_system(), data);
}

static void work_takes_fuel(void **state) {
  (void)state;
  fc_error_t err;
  fc_vm_invocation_t invocation = {.fuel = 100};
  assert_int_equal(fc_vm_work(&invocation, 0, &err), FC_OK);
  assert_int_equal(fc_vm_work(&invocation, 200 << 10, &err), FC_OK);
  assert_int_equal(fc_vm_work(&invocation, 1 << 20, &err),
                   FC_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(err.message, "fuel"));
  invocation = (fc_vm_invocation_t){.fuel = UINT64_MAX};
  assert_int_equal(fc_vm_work(&invocation, UINT64_MAX, &err), FC_OK);
}

// A grid of one workgroup does not check the clock itself. But the sizes of its
// bindings count as work, and after enough work the clock is checked.
static void small_grids_end_at_the_deadline(void **state) {
  (void)state;
  static uint8_t bytes[8 << 20];
  fc_error_t err;
  fc_vm_heap_t heap;
  size_t size = 0;
  fc_hal_executable_t *kernels;
  uint8_t *file =
      read_file(FARCALL_BUILD_DIR "/tests/modules/kernel/tiles.elf", &size);
  assert_non_null(file);
  fc_vm_heap_init(&heap, fc_allocator_system(), 64 << 20);
  fc_vm_invocation_t invocation = {.fuel = UINT64_MAX};
  const fc_hal_state_t hal = {.allow_native = true};
  fc_status_t status = fc_hal_executable_create(
      &hal, &heap, &invocation, FC_STR(FC_HAL_ELF_FORMAT),
      fc_str_make((const char *)file, size), FC_STR(""), &kernels, &err);
  if (status != FC_OK) fail_msg("%s", err.message);
  void *bindings[] = {bytes};
  const size_t sizes[] = {sizeof bytes};
  const fc_hal_dispatch_t mark = {.count = {1, 1, 1},
                                  .bindings = bindings,
                                  .binding_sizes = sizes,
                                  .binding_count = 1};
  assert_int_equal(fc_hal_executable_run(kernels, &invocation, &mark, &err), 0);
  assert_int_equal(bytes[0], 1);
  invocation.deadline_ns = 1;
  assert_int_equal(fc_hal_executable_run(kernels, &invocation, &mark, &err),
                   FC_DEADLINE_EXCEEDED);
  assert_int_equal(bytes[0], 1);
  fc_vm_release((fc_vm_object_t *)kernels);
  fc_vm_heap_deinit(&heap);
  free(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_release_gives_the_same_values),
      FC_TEST(machine_code_can_be_forbidden),
      FC_TEST(an_empty_tensor_passes_through),
      FC_TEST(what_is_recorded_counts_once),
      FC_TEST(work_takes_fuel),
      FC_TEST(small_grids_end_at_the_deadline),
      FC_TEST(loading_and_calling_survive_failing_allocations),
  };
  return cmocka_run_group_tests_name("hal", tests, NULL, NULL);
}
