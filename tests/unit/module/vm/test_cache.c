// SPDX-License-Identifier: Apache-2.0
//
// The small blocks that a worker keeps for reuse: warm calls from JSON to JSON allocate
// nothing, values of a module outlive the worker, and the cache is bounded.
#include "module/vm/cache.h"

#include "farcall/module.h"
#include "module/vm/backend.h"
#include "module/vm/files.h"
#include "module/vm/object.h"

// The linker calls these functions instead of the C library's (tests/CMakeLists.txt).
static _Atomic(size_t) allocations;

void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  allocations++;
  return __real_aligned_alloc(alignment, size);
}

static void skip_if_nothing_is_kept(void) {
  if (fc_vm_cache_takes(fc_allocator_system())) return;
  fc_test_skip("under the address sanitizer nothing is kept");
}

// ---------------------------------------------------------------------------
// Calls

typedef struct caller_t {
  fc_module_t *module;
  const fc_function_t *function;
  fc_frame_t *frame;
  void *instance;
  fc_text_t answer;
} caller_t;

static void open_instance(caller_t *caller) {
  fc_error_t err = {0};
  if (fc_backend_vm.instance_create(fc_module_get_handle(caller->module),
                                    fc_allocator_system(), &caller->instance,
                                    &err)) {
    fail_msg("%s", err.message);
  }
}

static void open_caller(caller_t *caller, const char *path,
                        const char *function) {
  static const fc_backend_t *const kinds[] = {&fc_backend_vm, NULL};
  fc_error_t err = {0};
  *caller = (caller_t){0};
  if (fc_module_load(kinds, fc_str(path), NULL, fc_allocator_system(),
                     &caller->module, &err) ||
      fc_frame_create(fc_allocator_system(), NULL, &caller->frame, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  caller->function = fc_module_find(caller->module, fc_str(function));
  assert_non_null(caller->function);
  fc_text_init(&caller->answer, fc_allocator_system(), 1 << 16);
  open_instance(caller);
}

static void close_caller(caller_t *caller) {
  fc_backend_vm.instance_destroy(caller->instance);
  fc_text_deinit(&caller->answer);
  fc_frame_destroy(caller->frame);
  fc_module_release(caller->module);
}

static void call(caller_t *caller, const char *body) {
  fc_error_t err = {0};
  fc_text_reset(&caller->answer);
  fc_frame_begin(caller->frame, caller->function->plan, NULL);
  fc_status_t status = fc_frame_decode(caller->frame, fc_str(body), &err);
  if (!status) {
    status = fc_frame_invoke(caller->frame, &fc_backend_vm, caller->instance,
                             caller->function->index, NULL, 0, &err);
  }
  if (!status) {
    status = fc_frame_encode(caller->frame, &caller->answer.sink, &err);
  }
  fc_frame_end(caller->frame);
  if (status) fail_msg("%s", err.message);
}

typedef struct call_row_t {
  const char *name;  // of the file
  const char *function;
  const char *body;
} call_row_t;

#define PAIR "[[1,2,3,4],[2,2,2,2]]"
#define PRODUCT "[[[1,2,3],[4,5,6]],[[1,0],[0,1],[1,1]]]"

static const call_row_t warm[] = {
    {"releases/scalars-2.9.0", "fact", "[9]"},
    {"releases/scalars-3.13.0", "fact", "[9]"},
    {"releases/scalars-3.13.0", "pair", "[3,2.5]"},
    {"releases/scalars-3.13.0", "swap",
     "{\"kwargs\":{\"x\":{\"p\":1,\"q\":3}}}"},
    {"releases/versions-2.9.0-vmvx", "mul4", PAIR},
    {"releases/versions-2.9.0-vmvx", "matmul", PRODUCT},
    {"releases/versions-3.5.0-vmvx", "matmul", PRODUCT},
    {"releases/versions-3.13.0-vmvx", "mul4", PAIR},
    {"releases/versions-3.13.0-vmvx", "matmul", PRODUCT},
    {"releases/versions-3.13.0-vmvx", "next", "[]"},
    {"inline/inline-vmvx", "mul4", PAIR},
    {"inline/inline-vmvx", "next", "[[1,5]]"},
    {"async/async-vmvx", "mul4", PAIR},
    {"releases/versions-2.9.0-llvm-cpu", "mul4", PAIR},
    {"releases/versions-2.9.0-llvm-cpu", "matmul", PRODUCT},
    {"releases/versions-3.5.0-llvm-cpu", "matmul", PRODUCT},
    {"releases/versions-3.13.0-llvm-cpu", "mul4", PAIR},
    {"releases/versions-3.13.0-llvm-cpu", "matmul", PRODUCT},
    {"releases/versions-3.13.0-llvm-cpu", "next", "[]"},
    {"inline/inline-llvm-cpu", "next", "[[1,5]]"},
    {"async/async-llvm-cpu", "mul4", PAIR},
};

static void warm_calls_allocate_nothing(void **state) {
  (void)state;
  skip_if_nothing_is_kept();
  FC_TEST_EACH_ROW(const call_row_t, row, warm) {
    char name[64], path[512];
    caller_t caller;
    snprintf(name, sizeof name, "%s.vmfb", row->name);
    open_caller(&caller, corpus_path(name, path), row->function);
    for (int i = 0; i < 3; i++) call(&caller, row->body);
    const size_t before = allocations;
    assert_true(before > 0);
    for (int i = 0; i < 10; i++) call(&caller, row->body);
    assert_int_equal(allocations, before);
    close_caller(&caller);
  }
}

static void what_a_module_keeps_outlives_the_worker(void **state) {
  (void)state;
  caller_t caller;
  open_caller(&caller, CORPUS "/inline/inline-vmvx.vmfb", "next");
  for (int i = 1; i <= 4; i++) {
    char wanted[64];
    call(&caller, "[[1,5]]");
    snprintf(wanted, sizeof wanted, "{\"results\":[[%d,%d]]}", i, 5 * i);
    assert_true(fc_str_equal(fc_text_str(&caller.answer), fc_str(wanted)));
    fc_backend_vm.instance_destroy(caller.instance);
    open_instance(&caller);
  }
  close_caller(&caller);
}

// ---------------------------------------------------------------------------
// Blocks

typedef struct fixture_t {
  fc_vm_heap_t heap;
  fc_vm_cache_t cache;
} fixture_t;

static void open_cache(fixture_t *fixture) {
  *fixture = (fixture_t){0};
  fc_vm_heap_init(&fixture->heap, fc_allocator_system(), (size_t)1 << 30);
  assert_null(fc_vm_cache_use(&fixture->cache));
}

static void close_cache(fixture_t *fixture) {
  assert_ptr_equal(fc_vm_cache_use(NULL), &fixture->cache);
  assert_int_equal(atomic_load(&fixture->heap.bytes), 0);
  fc_vm_cache_deinit(&fixture->cache);
  fc_vm_heap_deinit(&fixture->heap);
}

static void *take(fixture_t *fixture, size_t size, size_t alignment) {
  uint8_t *block = fc_vm_heap_alloc(&fixture->heap, size, alignment, NULL);
  assert_non_null(block);
  assert_int_equal((uintptr_t)block % alignment, 0);
  for (size_t i = 0; i < size; i++) assert_int_equal(block[i], 0);
  memset(block, 0xA5, size);
  return block;
}

static void blocks_come_back_zeroed_and_aligned(void **state) {
  (void)state;
  fixture_t fixture;
  open_cache(&fixture);
  static const size_t alignments[] = {16, 64, 256, 4096};
  for (size_t size = 1; size < 3 * FC_VM_CACHE_BLOCK_MAX;
       size += size / 5 + 1) {
    for (size_t i = 0; i < FC_ARRAY_COUNT(alignments); i++) {
      void *first = take(&fixture, size, alignments[i]);
      void *second = take(&fixture, size, 16);
      fc_vm_heap_free(&fixture.heap, first, size);
      fc_vm_heap_free(&fixture.heap, second, size);
    }
  }
  close_cache(&fixture);
}

static void what_is_kept_is_bounded(void **state) {
  (void)state;
  skip_if_nothing_is_kept();
  fixture_t fixture;
  open_cache(&fixture);
  static void *blocks[2 * FC_VM_CACHE_SIZE / 4096];
  for (size_t i = 0; i < FC_ARRAY_COUNT(blocks); i++) {
    blocks[i] = take(&fixture, 4096, 16);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(blocks); i++) {
    fc_vm_heap_free(&fixture.heap, blocks[i], 4096);
  }
  assert_int_equal(fixture.cache.kept, FC_VM_CACHE_SIZE);
  void *large = take(&fixture, FC_VM_CACHE_BLOCK_MAX + 1, 16);
  fc_vm_heap_free(&fixture.heap, large, FC_VM_CACHE_BLOCK_MAX + 1);
  assert_int_equal(fixture.cache.kept, FC_VM_CACHE_SIZE);
  close_cache(&fixture);
}

static void without_a_call_nothing_is_kept(void **state) {
  (void)state;
  fixture_t fixture;
  open_cache(&fixture);
  assert_ptr_equal(fc_vm_cache_use(NULL), &fixture.cache);
  fc_vm_heap_free(&fixture.heap, take(&fixture, 100, 16), 100);
  assert_null(fc_vm_cache_use(&fixture.cache));
  assert_int_equal(fixture.cache.kept, 0);
  close_cache(&fixture);
}

// Only blocks of the system's allocator are kept. Otherwise a sweep of failing
// allocations would miss some.
static void other_allocators_are_asked_each_time(void **state) {
  (void)state;
  fixture_t fixture;
  fc_test_allocator_t counter;
  open_cache(&fixture);
  fixture.heap.allocator = fc_test_allocator_init(&counter, 0);
  fixture.heap.cached = fc_vm_cache_takes(fixture.heap.allocator);
  for (size_t i = 1; i <= 5; i++) {
    fc_vm_heap_free(&fixture.heap, take(&fixture, 100, 16), 100);
    assert_int_equal(atomic_load(&counter.allocated), i);
    assert_int_equal(atomic_load(&counter.live), 0);
  }
  close_cache(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(warm_calls_allocate_nothing),
      FC_TEST(what_a_module_keeps_outlives_the_worker),
      FC_TEST(blocks_come_back_zeroed_and_aligned),
      FC_TEST(what_is_kept_is_bounded),
      FC_TEST(without_a_call_nothing_is_kept),
      FC_TEST(other_allocators_are_asked_each_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
