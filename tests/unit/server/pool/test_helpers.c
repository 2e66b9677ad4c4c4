// SPDX-License-Identifier: Apache-2.0
//
// Helper threads: every part runs once, whoever has them; a kernel's grid split
// over them gives the same bytes, and its failure is one error.
#include "pool/helpers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/library.h"
#include "helpers/test.h"
#include "module/native/fpenv.h"

#define PARTS 16
#define SPIN_NS 20000

typedef struct counts_t {
  _Atomic uint32_t runs[PARTS];
  uint32_t plain;  // written by part 0 only
} counts_t;

static void count(void *argument, uint32_t index) {
  counts_t *counts = argument;
  atomic_fetch_add(&counts->runs[index], 1);
  if (index == 0) counts->plain++;
}

static void expect_runs(const counts_t *counts, uint32_t parts,
                        uint32_t expected) {
  for (uint32_t i = 0; i < PARTS; i++) {
    assert_int_equal(atomic_load(&counts->runs[i]), i < parts ? expected : 0);
  }
  assert_int_equal(counts->plain, expected);
}

static void every_part_runs_once(void **state) {
  (void)state;
  for (uint32_t threads = 2; threads <= 5; threads++) {
    fc_helpers_t *helpers;
    assert_int_equal(fc_helpers_create(fc_allocator_system(), threads, SPIN_NS,
                                       &helpers, NULL),
                     FC_OK);
    const fc_tiles_t *tiles = fc_helpers_tiles(helpers);
    assert_int_equal(tiles->count, threads);
    for (uint32_t parts = 1; parts <= PARTS; parts++) {
      counts_t counts = {0};
      for (int i = 0; i < 100; i++) {
        tiles->run(tiles->context, parts, count, &counts);
      }
      expect_runs(&counts, parts, 100);
    }
    fc_helpers_destroy(helpers);
  }
}

typedef struct masks_t {
  pthread_barrier_t both;  // so that each of two threads runs a part
  sigset_t blocked[2];
} masks_t;

static void note_mask(void *argument, uint32_t index) {
  masks_t *masks = argument;
  pthread_barrier_wait(&masks->both);
  pthread_sigmask(SIG_SETMASK, NULL, &masks->blocked[index]);
}

// A signal that is blocked when the kernel sends it for what the thread did ends the
// process, whoever handles it.
static void helpers_take_the_signals_of_faults(void **state) {
  (void)state;
  static const int kTaken[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                               SIGABRT, SIGTRAP, SIGSYS};
  fc_helpers_t *helpers;
  masks_t masks;
  pthread_barrier_init(&masks.both, NULL, 2);
  assert_int_equal(
      fc_helpers_create(fc_allocator_system(), 2, 0, &helpers, NULL), FC_OK);
  const fc_tiles_t *tiles = fc_helpers_tiles(helpers);
  tiles->run(tiles->context, 2, note_mask, &masks);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTaken); i++) {
    assert_false(sigismember(&masks.blocked[0], kTaken[i]));
    assert_false(sigismember(&masks.blocked[1], kTaken[i]));
  }
  // One of the two is the helper.
  assert_true(sigismember(&masks.blocked[0], SIGTERM) ||
              sigismember(&masks.blocked[1], SIGTERM));
  fc_helpers_destroy(helpers);
  pthread_barrier_destroy(&masks.both);
}

static void *call_often(void *context) {
  const fc_tiles_t *tiles = context;
  for (uint32_t i = 0; i < 500; i++) {
    counts_t counts = {0};
    const uint32_t parts = 1 + i % PARTS;
    tiles->run(tiles->context, parts, count, &counts);
    for (uint32_t part = 0; part < parts; part++) {
      if (atomic_load(&counts.runs[part]) != 1) return context;
    }
    if (counts.plain != 1) return context;
  }
  return NULL;
}

static void calls_that_find_them_taken_go_on_alone(void **state) {
  (void)state;
  fc_helpers_t *helpers;
  assert_int_equal(
      fc_helpers_create(fc_allocator_system(), 3, SPIN_NS, &helpers, NULL),
      FC_OK);
  pthread_t callers[4];
  for (size_t i = 0; i < FC_ARRAY_COUNT(callers); i++) {
    assert_int_equal(
        pthread_create(&callers[i], NULL, call_often,
                       (void *)(uintptr_t)fc_helpers_tiles(helpers)),
        0);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(callers); i++) {
    void *wrong;
    pthread_join(callers[i], &wrong);
    assert_null(wrong);
  }
  fc_helpers_destroy(helpers);
}

static fc_status_t create_and_run(fc_allocator_t allocator, void *context,
                                  fc_error_t *err) {
  (void)context;
  fc_helpers_t *helpers;
  FC_TRY(fc_helpers_create(allocator, 2, 0, &helpers, err));
  counts_t counts = {0};
  const fc_tiles_t *tiles = fc_helpers_tiles(helpers);
  tiles->run(tiles->context, PARTS, count, &counts);
  expect_runs(&counts, PARTS, 1);
  fc_helpers_destroy(helpers);
  return FC_OK;
}

static void they_survive_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(fc_test_allocation_sweep(create_and_run, NULL), 1);
}

// ---------------------------------------------------------------------------
// Grids (tests/modules/kernel/tiles.c)

#define KERNELS FARCALL_BUILD_DIR "/tests/modules/kernel/tiles.elf"
enum { MARK, FAIL, RAISE, IN_ORDER };

typedef struct grid_row_t {
  const char *name;
  uint32_t count[3];
  uint32_t parts;  // of four
} grid_row_t;

static const grid_row_t grids[] = {
    {"none", {0, 4, 4}, 1},       {"one", {1, 1, 1}, 1},
    {"two", {1, 2, 1}, 2},        {"a row", {1000, 1, 1}, 4},
    {"a column", {1, 1, 999}, 4}, {"a cube", {7, 11, 13}, 4},
    {"a plane", {64, 64, 1}, 4},
};

static fc_library_t *open_kernels(void) {
  FILE *file = fopen(KERNELS, "rb");
  assert_non_null(file);
  static _Alignas(16) char bytes[1 << 16];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fc_error_t err;
  fc_elf_t *elf;
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  fc_library_t *library = NULL;
  fc_status_t status =
      fc_elf_load(fc_str_make(bytes, size), fc_allocator_system(), &elf, &err);
  if (!status) {
    status = fc_library_open(elf, &cpu, NULL, 0, fc_allocator_system(),
                             &library, &err);
  }
  if (status) fail_msg("%s", err.message);
  return library;
}

typedef struct grids_t {
  fc_library_t *library;
  fc_helpers_t *helpers;
  uint32_t cells[1 << 13];
  _Atomic uint32_t cancel;
  uint64_t deadline_ns;
  _Alignas(64) uint8_t local_memory[4 * FC_LOCAL_MEMORY_PAGE];
} grids_t;

static grids_t grid_state;

static grids_t *open_grids(void) {
  grids_t *g = &grid_state;
  *g = (grids_t){.library = open_kernels()};
  assert_int_equal(
      fc_helpers_create(fc_allocator_system(), 4, SPIN_NS, &g->helpers, NULL),
      FC_OK);
  return g;
}

static void close_grids(grids_t *g) {
  fc_helpers_destroy(g->helpers);
  fc_library_close(g->library);
}

static fc_status_t run_grid(grids_t *g, size_t kernel, const uint32_t *count,
                            uint32_t constant, bool tiled, fc_error_t *err) {
  memset(g->cells, 0, sizeof g->cells);
  atomic_store(&g->cancel, 0);
  const fc_tiles_t *tiles = tiled ? fc_helpers_tiles(g->helpers) : NULL;
  void *bindings[] = {g->cells, &g->cancel};
  const size_t sizes[] = {sizeof g->cells, sizeof g->cancel};
  const fc_grid_t grid = {
      .count = {count[0], count[1], count[2]},
      .constants = &constant,
      .bindings = bindings,
      .binding_sizes = sizes,
      .local_memory = g->local_memory,
      .parts = fc_library_parts(g->library, kernel, count, tiles),
      .tiles = tiles,
      .cancel = &g->cancel,
      .deadline_ns = g->deadline_ns};
  const fc_fpenv_t before = fc_fpenv_get();
  const fc_status_t status = fc_library_run(g->library, kernel, &grid, err);
  // Kernels flush denormals; who calls them does not.
  assert_true(fc_fpenv_equal(fc_fpenv_get(), before));
  return status;
}

static void every_workgroup_runs_once(void **state) {
  (void)state;
  grids_t *g = open_grids();
  FC_TEST_EACH_ROW(const grid_row_t, row, grids) {
    const uint32_t total = row->count[0] * row->count[1] * row->count[2];
    const fc_tiles_t *tiles = fc_helpers_tiles(g->helpers);
    assert_int_equal(fc_library_parts(g->library, MARK, row->count, tiles),
                     row->parts);
    assert_int_equal(fc_library_parts(g->library, MARK, row->count, NULL), 1);
    for (int tiled = 0; tiled < 2; tiled++) {
      fc_error_t err;
      assert_int_equal(run_grid(g, MARK, row->count, 0, tiled, &err), FC_OK);
      for (uint32_t i = 0; i < FC_ARRAY_COUNT(g->cells); i++) {
        assert_int_equal(g->cells[i], i < total);
      }
    }
  }
  close_grids(g);
}

static uint32_t ran(const grids_t *g) {
  uint32_t sum = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(g->cells); i++) sum += g->cells[i];
  return sum;
}

static void a_failing_workgroup_fails_the_grid(void **state) {
  (void)state;
  grids_t *g = open_grids();
  const uint32_t count[] = {64, 64, 1};
  for (int tiled = 0; tiled < 2; tiled++) {
    fc_error_t err;
    assert_int_equal(run_grid(g, FAIL, count, 300, tiled, &err), FC_INTERNAL);
    assert_non_null(strstr(err.message, "failed with code 7"));
    assert_int_equal(g->cells[300], 1);
    if (!tiled) assert_int_equal(ran(g), 301);
    // The next grid is not affected.
    assert_int_equal(run_grid(g, FAIL, count, UINT32_MAX, tiled, &err), FC_OK);
    assert_int_equal(ran(g), 4096);
  }
  close_grids(g);
}

static void a_cancelled_grid_stops(void **state) {
  (void)state;
  grids_t *g = open_grids();
  const uint32_t count[] = {1, 64, 64};
  for (int tiled = 0; tiled < 2; tiled++) {
    fc_error_t err;
    fc_status_t status = run_grid(g, RAISE, count, 10, tiled, &err);
    // Up to 64 workgroups were claimed together; other threads may have run
    // all the rest before the word was raised.
    const bool late = tiled && ran(g) == 4096;
    assert_int_equal(status, late ? FC_OK : FC_CANCELLED);
    if (!late) assert_int_equal(err.code, FC_CODE_CALL_FAILED);
    assert_true(tiled || ran(g) == 64);
  }
  close_grids(g);
}

static void a_grid_ends_at_its_deadline(void **state) {
  (void)state;
  grids_t *g = open_grids();
  const uint32_t count[] = {1, 64, 64};
  for (int tiled = 0; tiled < 2; tiled++) {
    fc_error_t err;
    g->deadline_ns = 1;  // of the first second after the machine started
    fc_status_t status = run_grid(g, MARK, count, 0, tiled, &err);
    assert_int_equal(status, FC_DEADLINE_EXCEEDED);
    assert_int_equal(err.code, FC_CODE_DEADLINE_EXCEEDED);
    // Each thread runs 64 workgroups before it looks at the clock.
    assert_in_range(ran(g), 64, tiled ? 4 * 64 : 64);
    g->deadline_ns = UINT64_MAX;
    assert_int_equal(run_grid(g, MARK, count, 0, tiled, &err), FC_OK);
    assert_int_equal(ran(g), 4096);
    // A call that is both cancelled and late is reported as late.
    g->deadline_ns = 1;
    status = run_grid(g, RAISE, count, 10, tiled, &err);
    assert_int_equal(err.code, FC_CODE_DEADLINE_EXCEEDED);
    assert_int_equal(status, FC_DEADLINE_EXCEEDED);
  }
  close_grids(g);
}

static void what_must_run_in_order_is_not_split(void **state) {
  (void)state;
  grids_t *g = open_grids();
  const uint32_t count[] = {16, 16, 16};
  for (int tiled = 0; tiled < 2; tiled++) {
    fc_error_t err;
    assert_int_equal(run_grid(g, IN_ORDER, count, 0, tiled, &err), FC_OK);
    assert_int_equal(g->cells[0], 4096);
  }
  close_grids(g);
}

static void a_grid_too_large_to_count_is_refused(void **state) {
  (void)state;
  grids_t *g = open_grids();
  const uint32_t count[] = {UINT32_MAX, UINT32_MAX, 65535};
  fc_error_t err;
  assert_int_equal(run_grid(g, MARK, count, 0, true, &err), FC_OUT_OF_RANGE);
  close_grids(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_part_runs_once),
      FC_TEST(helpers_take_the_signals_of_faults),
      FC_TEST(calls_that_find_them_taken_go_on_alone),
      FC_TEST(they_survive_failing_allocations),
      FC_TEST(every_workgroup_runs_once),
      FC_TEST(a_failing_workgroup_fails_the_grid),
      FC_TEST(a_cancelled_grid_stops),
      FC_TEST(a_grid_ends_at_its_deadline),
      FC_TEST(what_must_run_in_order_is_not_split),
      FC_TEST(a_grid_too_large_to_count_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
