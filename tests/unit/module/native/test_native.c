// SPDX-License-Identifier: Apache-2.0
//
// The native backend, with modules compiled from C (tests/modules/native): types,
// conventions, ownership, hostile results, how calls end, and what is not loaded.
#include "module/native/caller.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module/native/fpenv.h"
#include "module/native/native.h"
#include "module/native/shim.h"
#include "module/native/so_file.h"

static void write_file(const char *path, const char *text, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, size), (ssize_t)size);
  close(fd);
}

typedef struct row_t {
  const char *name;  // of the function
  const char *arguments;
  const char *expected;
} row_t;

static void run_rows(const char *module, const row_t *rows, size_t count) {
  caller_t caller;
  caller_open(&caller, module);
  for (size_t i = 0; i < count; i++) {
    fc_test_row(rows[i].name);
    assert_string_equal(caller_run(&caller, rows[i].name, rows[i].arguments),
                        rows[i].expected);
  }
  fc_test_row(NULL);
  fc_native_counts_t counts = fc_native_get_counts(caller.module);
  assert_int_equal(counts.allocated, counts.freed);
  caller_close(&caller);
}
#define RUN_ROWS(module, rows) run_rows(module, rows, FC_ARRAY_COUNT(rows))

static void scalars_of_every_type(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"s_i1", "0", "1"},
      {"s_i1", "1", "0"},
      {"s_i4", "3", "3"},
      {"s_i4", "-3", "-3"},
      {"s_i8", "-50", "-100"},
      {"s_i8", "100", "-56"},
      {"s_ui8", "200", "200"},
      {"s_i16", "-15000", "-30000"},
      {"s_i32", "-7", "-14"},
      {"s_i64", "1099511627776", "2199023255552"},
      {"s_index", "21", "42"},
      {"s_f8", "60", "60"},
      {"s_f16", "1.5", "3"},
      {"s_bf16", "-1.5", "-3"},
      {"s_f32", "1.25", "2.5"},
      {"s_f64", "0.1", "0.2"},
      {"s_c64", "1,2", "2,4"},
      {"s_c128", "1,-2", "2,-4"},
      {"w_i1", "1", "1"},
      {"w_i4", "-3", "-3"},
      {"w_i8", "-50", "-50"},
      {"w_ui8", "200", "200"},
      {"w_i16", "-15000", "-15000"},
      {"w_ui16", "60000", "60000"},
      {"s_void", "", ""},
      {"s_mixed", "-3; .5; 1; .25; 10", "8.75"},
      {"s_many", "1;2;3;4;5;6;7;8;9;10;11;12;13;14;1;16;17;18;19", "2260"},
      {"m_i32_i64", "1; 2", "1; 2"},
      {"m_i8_f64_i1", "-3; .5; 1", "-3; 0.5; 1"},
      {"m_f32x3", "2.5", "2.5; 2.5; 2.5"},
      {"m_scalar_memref", "-3; 3: 1 2 3; 1.5", "-3; 3: 1 2 3; 1.5"},
      {"m_complex_i8", "5; 1,2", "5; 1,2; -5"},
  };
  RUN_ROWS("scalars", rows);
}

static void every_kind_of_ownership(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"alias_arg", "3: 1 2 3", "3: 1 2 3"},
      {"alias_ro", "", "4: 1 2 3 4"},
      {"fresh", "3", "3: 5 5 5"},
      {"fresh_aligned", "3", "3: 6 6 6"},
      {"two_same", "2", "2: 7 7; 2: 7 7"},
      {"two_halves", "", "4: 0 1 2 3; 4: 4 5 6 7"},
      {"view_arg",
       "8x8: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
       "25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 "
       "48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63",
       "2x4: 25 27 29 31 41 43 45 47"},
      {"transposed", "2x3: 1 2 3 4 5 6", "3x2: 1 4 2 5 3 6"},
      {"empty", "", "0x3:"},
      {"empty_null", "", "0x3:"},
      {"unranked_fresh", "2", "2: 8 8"},
      {"unranked_alias", "2x2: 1 2 3 4", "2x2: 1 2 3 4"},
      {"unranked_same", "2x2: 1 2 3 4", "2x2: 1 2 3 4"},
      {"unranked_same", ": 9", ": 9"},
      {"unranked_twice", "2: 1 2", "2: 1 2; 2: 1 2"},
      {"maybe_alias", "2: 1 2; 1", "2: 1 2"},
      {"maybe_alias", "2: 1 2; 0", "2: 9 9"},
      {"reversed", "3: 1 2 3", "3: 3 2 1"},
      {"broadcast", "3", "3: 3.5 3.5 3.5"},
      {"scale_inplace", "2: 1 2; 10", "2: 10 20"},
      {"temporaries", "100", "4950"},
      {"leak", "100", "100"},
      {"grown", "5", "5: 0 1 2 3 4"},
      {"other_heaps", "", "4: 0 0 0 0; 4: 0 1 2 3; 4: 0 1 2 3"},
      {"rank0", ": 7", ": 7"},
      {"alias_arg", "0:", "0:"},
      {"trace", "2x3: 1 2 3 4 5 6", "6"},
      {"trace", "0x3:", "0"},
      {"column_major", "2x3: 1 2 3 4 5 6", "6"},
      {"backwards", "5: 1 2 3 4 5", "5"},
      {"i4_bytes", "3: -3 7 -8", "28"},  // 0x0d + 7 + 8
      {"axpy", "2; 2: 1 2; 2: 10 20", "2: 12 24"},
      {"fill", "2.5; 2x2: 0 0 0 0", "4; 2x2: 2.5 2.5 2.5 2.5"},
  };
  RUN_ROWS("owner", rows);
}

// New memory is zero, whichever function allocates it, and whether it is small or has a
// mapping of its own.
static void memory_begins_as_zeroes(void **state) {
  (void)state;
  static const int sizes[] = {64, 960, 4992, 131072, 1 << 20};
  caller_t caller;
  caller_open(&caller, "owner");
  for (int way = 0; way < 5; way++) {
    for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
      char arguments[64];
      snprintf(arguments, sizeof arguments, "%d; %d", sizes[i], way);
      fc_test_row(arguments);
      assert_string_equal(caller_run(&caller, "unwritten", arguments), "0");
    }
  }
  fc_test_row(NULL);
  caller_close(&caller);
  caller_open(&caller, "impure");
  for (int i = 0; i < 20; i++) {
    static const char *const counts[] = {"10", "13", "500", "50000", "300000"};
    const char *count = counts[(size_t)i % FC_ARRAY_COUNT(counts)];
    assert_string_equal(caller_run(&caller, "unwritten_in_a_thread", ""), "0");
    assert_string_equal(caller_run(&caller, "unwritten_later", count), "0");
  }
  caller_close(&caller);
}

static void a_leak_is_counted_and_reclaimed(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "owner");
  caller_run(&caller, "leak", "100");
  fc_native_counts_t counts = fc_native_get_counts(caller.module);
  assert_int_equal(counts.allocated, 100);
  assert_int_equal(counts.leaked, 100);
  assert_int_equal(counts.freed, 100);
  caller_close(&caller);
}

static void hostile_results_are_refused_unread(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"negative_size", "", "bad_result: result 0: dim 0 is negative: -4"},
      {"computed_size", "13", "3: 0 0 0"},
      {"computed_size", "3",
       "call_failed: 'computed_size': dim 0 of result 0 would be -7: the "
       "arguments do not fit together"},
      {"null_aligned", "",
       "bad_result: result 0: a null address for 4 elements"},
      {"unwritten", "", "0:"},
      {"unwritten_static", "",
       "bad_result: result 0: dim 0 is 0, its type says 4"},
      {"wrong_dim", "", "bad_result: result 0: dim 0 is 5, its type says 4"},
      {"wrong_stride", "",
       "bad_result: result 0: stride 0 is 1, its type says 2"},
      {"wrong_offset", "",
       "bad_result: result 0: its offset is 1, its type says 2"},
      {"beyond_end", "",
       "bad_result: result 0 spans 20 bytes, not all inside its memory"},
      {"before_start", "",
       "bad_result: result 0 spans 16 bytes, not all inside its memory"},
      {"strides_beyond", "",
       "bad_result: result 0 spans 28 bytes, not all inside its memory"},
      {"huge_size", "", "bad_result: result 0: its size overflows 64 bits"},
      {"huge_stride", "", "bad_result: result 0: its size overflows 64 bits"},
      {"huge_offset", "",
       "bad_result: result 0: its elements lie outside the address space"},
      {"low_address", "",
       "bad_result: result 0 rests on memory that is neither fresh, an "
       "argument's nor the module's"},
      {"kernel_address", "",
       "bad_result: result 0: its elements lie outside the address space"},
      {"beyond_argument", "3: 1 2 3",
       "bad_result: result 0 spans 16 bytes, not all inside its memory"},
      {"change_descriptor", "3: 1 2 3", "3: 1 2 3"},
      {"dangling", "",
       "bad_result: result 0 rests on memory that is neither fresh, an "
       "argument's nor the module's"},
      {"unranked_33", "", "bad_result: result 0: rank 33 is not in [0,32]"},
      {"unranked_negative", "",
       "bad_result: result 0: rank -1 is not in [0,32]"},
      {"unranked_null", "",
       "bad_result: result 0: no descriptor behind its rank"},
      {"unranked_small", "",
       "bad_result: result 0 spans 88 bytes, not all inside its memory"},
      {"unranked_odd", "",
       "bad_result: result 0: no descriptor behind its rank"},
      {"free_argument", "3: 1 2 3",
       "bad_result: 'free_argument' tried to free memory that is not its own"},
      {"free_twice", "",
       "bad_result: 'free_twice' tried to free memory that is not its own"},
      {"chatter", "1000", "1"},
      {"greedy", "100", "1"},
  };
  RUN_ROWS("hostile", rows);
}

static void a_check_that_fails_ends_the_call_only(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"assert_fail", "1", "1"},
      {"assert_fail", "0", "call_failed: 'assert_fail': bad input: \"x\" is 7"},
      {"verify_fail", "0",
       "call_failed: 'verify_fail': out-of-bounds access at model.mlir:3:95: "
       "%0 = memref.load %arg0[%arg1] : memref<?xf32>"},
      {"verify_fail", "1",
       "call_failed: 'verify_fail': dimension #0 of input/output operand #1 "
       "is incompatible with inferred dimension size at 0.mlir:20:5: "
       "linalg.matmul ins(%arg0, %arg1 : memref<?x?xf32>, memref<?x?xf32>) "
       "outs(%alloc : memref<?x?xf32>)"},
      {"verify_fail", "2", "call_failed: 'verify_fail': it called abort"},
      {"verify_fail", "3",
       "call_failed: 'verify_fail': caf\xc3\xa9 \\xff in x.mlir"},
      {"greedy", "4611686018427387904",
       "call_failed: 'greedy' could not allocate 4611686018427387904 bytes"},
      {"greedy_array", "10; 8", "1"},
      // In 64 bits this product would wrap to 0, and the next one to 8.
      {"greedy_array", "4611686018427387904; 8",
       "call_failed: 'greedy_array' could not allocate 9223372036854775807 "
       "bytes"},
      {"greedy_array", "2305843009213693953; 8",
       "call_failed: 'greedy_array' could not allocate 9223372036854775807 "
       "bytes"},
      {"greedy_array", "-4; 8",
       "call_failed: 'greedy_array': it computed a negative size: the arguments "
       "do not fit together"},
      {"greedy", "-4",
       "call_failed: 'greedy': it computed a negative size: the arguments do "
       "not fit together"},
      {"realloc_argument", "3: 1 2 3",
       "call_failed: 'realloc_argument' could not allocate 1048576 bytes"},
      {"assert_fail", "1", "1"},
  };
  RUN_ROWS("hostile", rows);

  caller_t caller;
  caller_open(&caller, "hostile");
  static const struct {
    const char *function;
    const char *arguments;
    fc_status_t status;
  } statuses[] = {{"verify_fail", "0", FC_OUT_OF_RANGE},
                  {"verify_fail", "1", FC_FAILED_PRECONDITION},
                  {"assert_fail", "0", FC_FAILED_PRECONDITION},
                  {"greedy", "4611686018427387904", FC_RESOURCE_EXHAUSTED}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(statuses); i++) {
    caller_run(&caller, statuses[i].function, statuses[i].arguments);
    assert_int_equal(caller.err.status, statuses[i].status);
  }
  caller_close(&caller);
}

static void other_calling_conventions(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"scale", "3: 1 2 3; 2", "12"},
      {"conj", "1,2", "1,-2"},
      {"swap", "2: 1 2; 1: 3", "1: 3; 2: 1 2"},
      {"stored", "-3; -5; -7; 2", "13; 16777211; 281474976710649; 1"},
      {"stored", "3; 5; 7; 0", "3; 5; 7; 0"},
      {"sum2", "2x3: 1 2 3 4 5 6", "21"},
      {"rank_of", "1x1x1: 1", "3"},
      {"bp_add", "4: 1 2 3 4; 4: 10 20 30 40; 4: 0 0 0 0", "4: 11 22 33 44"},
  };
  RUN_ROWS("conventions", rows);

  caller_t caller;
  caller_open(&caller, "conventions");
  assert_non_null(
      strstr(caller_run(&caller, "bp_dynamic", "1: 1"), "unsupported_type: "));
  caller_close(&caller);
}

// Calls functions of vectors.mlir, compiled by LLVM.
static void vectors_are_passed(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"add", "4: 1 2 3 4; 4: 10 20 30 -40", "4: 11 22 33 -36"},
      {"mixed",
       "100; 7.5; 2: -1 4294967296; 2: 3 4; 2.5; "
       "16: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -64",
       "112; 16: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 -128; "
       "2: -1 4294967296"},
      {"rows", "3x4: 1 2 3 4 5 6 7 8 9 10 11 -12",
       "3x4: 2 4 6 8 10 12 14 16 18 20 22 -24"},
      {"first", "2: 0.5 -0.25", "-0.25"},
      {"eight", "1; 2; 3; 4; 5; 6; 7; 4: 1 2 3 4; 0.5", "4: 1.5 2.5 3.5 4.5"},
      {"same", "2x4: 1 2 3 4 5 6 7 8", "2x4: 1 2 3 4 5 6 7 8"},
      {"same", "0x4:", "0x4:"},
      {"double",
       "1x2x2x8: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
       "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -0.5",
       "1; 1x2x2x8: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 -1 "
       "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -0.5; "
       "1x2x2x8: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 -1 "
       "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -0.5"},
      {"at", "3x2: 1 2 3 4 5 6; 1", "2: 3 4"},
      {"at", "3x2: 1 2 3 4 5 6; 2", "2: 5 6"},
  };
  RUN_ROWS("vectors", rows);

  static const row_t refused[] = {
      {"crowded", "",
       "vectors need the first 8 registers of floats and vectors"},
      {"flat", "", "vectors are passed by the C interface and packed only"},
  };
  caller_t caller;
  caller_open(&caller, "vectors");
  for (size_t i = 0; i < FC_ARRAY_COUNT(refused); i++) {
    fc_test_row(refused[i].name);
    const fc_signature_t *signature =
        caller.info->signatures[caller_find(&caller, refused[i].name)];
    assert_false(signature->callable);
    assert_true(fc_str_equal(fc_signature_text(signature, signature->reason),
                             fc_str(refused[i].expected)));
  }
  fc_test_row(NULL);
  caller_close(&caller);
}

static void aggregates_by_llvms_convention(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"two", "-7; 4294967297", "4294967297; -7"},
      {"small", "-3; 0.5; 1", "-3; 0.5; 1"},
      {"halves", "1.5; 2.5; 3.25; -4", "1.5; 2.5; 3.25; -4"},
      {"floats", "1.5; 2.5; 3.5", "1.5; 2.5; 3.5"},
      {"doubles", "0.1; -0.2; 0.3; 0.5", "0.1; -0.2; 0.3; 0.5"},
      {"nine", "3; 1.5", "3; 1.5; 6; 1.5; 3; 1.5; 6; 1.5; 3"},
      {"many", "3; 1.5",
       "3; 1.5; 6; 3; 3; 1.5; 6; 3; 3; 1.5; 6; 3; 3; 1.5; 6; 3; 3; 3; 3"},
      {"double", "1,-2", "2,-4"},
      {"double_and", "1,-2; 300", "300; 2,-4"},
      {"rank0", "2.5", ": 2.5"},
      {"rank0_and", "2.5", ": 2.5; 2.5"},
      {"same", "3: 1 2 3", "3: 1 2 3"},
      {"twice", "3: 1 2 3", "3: 2 4 6"},
      {"rank2", "2x3: 1 2 3 4 5 6", "2x3: 1 2 3 4 5 6"},
      {"rank3", "1x2x2: 1 2 3 4; 5", "5; 1x2x2: 1 2 3 4"},
      {"swap", "3: 1 2 3; 2: 4 -5", "2: 4 -5; 3: 1 2 3"},
      {"unranked", "3: 1 2 3", "3: 1 2 3"},
      {"guarded", "5", "5; 5"},
      {"guarded", "0", "call_failed: 'guarded': x is zero"},
      {"bare_same", "4: 1 2 3 4", "4: 1 2 3 4"},
      {"bare_swap", "4: 1 2 3 4; 2: 5 6; 7", "2: 5 6; 7; 4: 1 2 3 4"},
      {"bare_many", "2: 1 2; 2: 3 4",
       "2: 1 2; 2: 3 4; 2: 1 2; 2: 3 4; 2: 1 2; 2: 3 4; 2: 1 2; 2: 3 4; 2: 1 2"},
      {"bare_fresh", "2.5", "3: 2.5 2.5 2.5"},
      {"bare_aligned", "2.5",
       "bad_result: result 0 has 12 bytes in a block of 268: a bare pointer "
       "does not say where they begin"},
      {"bare_column", "3x2: 1 2 3 4 5 6", "3: 2 4 6"},
  };
  RUN_ROWS("returned", rows);
}

static void the_runtime_shim_serves_modules(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"transpose", "2x3: 1 2 3 4 5 6", "3x2: 1 4 2 5 3 6"},
      {"transpose", "0x3:", "3x0:"},
      {"bf16_from_f32", "1.5", "1.5"},
      {"bf16_from_f32", "1.005", "1.0078125"},
      {"bf16_from_f64", "-2.5", "-2.5"},
      {"generic", "3", "3: 1 1 1"},
  };
  RUN_ROWS("shim", rows);
}

static void nothing_is_copied_where_a_size_is_zero(void **state) {
  (void)state;
  float from = 1, to = 2;
  struct {
    void *allocated, *aligned;
    int64_t offset, words[4];
  } source = {&from, &from, 0, {3, 0, 1, 1}},
    dest = {&to, &to, 0, {3, 0, 1, 1}};
  fc_memref_unranked_t read = {2, (fc_memref_t *)(void *)&source};
  fc_memref_unranked_t written = {2, (fc_memref_t *)(void *)&dest};
  memrefCopy(sizeof from, &read, &written);
  assert_true(to == 2);
  source.words[1] = dest.words[1] = 1;
  source.words[0] = dest.words[0] = 1;
  memrefCopy(sizeof from, &read, &written);
  assert_true(to == 1);
}

static void embedded_metadata_is_found(void **state) {
  (void)state;
  static const row_t rows[] = {{"twice", "21", "42"}};
  RUN_ROWS("embedded", rows);
}

static void floating_point_control_is_not_inherited(void **state) {
  (void)state;
  const fc_fpenv_t before = fc_fpenv_get();
  caller_t caller;
  caller_open(&caller, "fastmath");
  assert_true(fc_fpenv_equal(fc_fpenv_get(), before));
  for (int i = 0; i < 2; i++) {
    assert_string_equal(caller_run(&caller, "mul", "1e-20; 1e-20"),
                        "9.9999461e-41");  // a denormal
    assert_true(fc_fpenv_equal(fc_fpenv_get(), before));
  }
  fc_fpenv_set(FC_FPENV_FLUSH);
  assert_int_equal(caller_call(&caller, "mul", "1e-20; 1e-20"), FC_OK);
  const fc_fpenv_t after = fc_fpenv_get();
  fc_fpenv_set(before);
  caller_end(&caller);
  assert_true(fc_fpenv_equal(after, FC_FPENV_FLUSH));
  assert_int_equal(caller.results[0].scalar.u32, 71362);
  caller_close(&caller);
}

static void an_impure_module_keeps_its_memory(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "impure");
  assert_string_equal(caller_run(&caller, "keep", "1"), "2: 1 0");
  assert_string_equal(caller_run(&caller, "keep", "2"), "2: 2 0");
  assert_string_equal(caller_run(&caller, "fresh", "2"), "2: 5 5");
  fc_native_counts_t counts = fc_native_get_counts(caller.module);
  assert_int_equal(counts.allocated, 2);
  assert_int_equal(counts.freed, 1);
  assert_int_equal(counts.leaked, 1);
  assert_string_equal(caller_run(&caller, "drop", ""), "1");
  assert_non_null(strstr(caller_run(&caller, "on_stack", ""), "bad_result"));
  assert_string_equal(
      caller_run(&caller, "free_argument", "3: 1 2 3"),
      "bad_result: 'free_argument' tried to free memory that is not its own");
  caller_close(&caller);
}

static void a_block_freed_unseen_is_no_block_twice(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "impure");
  for (int i = 0; i < 100; i++) {
    assert_string_equal(caller_run(&caller, "freed_unseen", ""), "1");
  }
  fc_native_counts_t counts = fc_native_get_counts(caller.module);
  // The number of leaked blocks depends on which addresses malloc reuses.
  assert_int_equal(counts.allocated, counts.freed + counts.leaked);
  caller_close(&caller);
}

// The loader makes only whole pages read-only. The page in which the read-only part
// ends stays writable, although its program header says otherwise.
static void a_page_that_is_partly_read_only_stays_writable(void **state) {
  (void)state;
  static char bytes[1 << 20];
  FILE *file = fopen(CALLER_MODULES "tables.so", "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  for (size_t i = 0; i < header.e_phnum; i++) {
    char *at = bytes + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_GNU_RELRO) segment.p_memsz += 64;
    memcpy(at, &segment, sizeof segment);
  }
  char folder[] = "/tmp/farcall-native-XXXXXX", module[64], command[1200];
  assert_non_null(mkdtemp(folder));
  snprintf(module, sizeof module, "%s/a.so", folder);
  write_file(module, bytes, size);
  snprintf(command, sizeof command, "cp '%s' '%s/a.farcall.json'",
           CALLER_MODULES "tables.farcall.json", folder);
  assert_int_equal(system(command), 0);
  caller_t caller;
  assert_int_equal(caller_open_path(&caller, module, fc_allocator_system()),
                   FC_OK);
  assert_string_equal(caller_run(&caller, "counted", ""), "1: 5");
  assert_string_equal(caller_run(&caller, "counted", ""), "1: 6");
  assert_int_equal(fc_native_get_counts(caller.module).freed, 2);
  caller_close(&caller);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

static void a_borrowed_result_is_not_freed(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "impure");
  assert_string_equal(caller_run(&caller, "cached", "1"), "2: 1 0");
  assert_string_equal(caller_run(&caller, "cached", "2"), "2: 3 0");
  assert_int_equal(fc_native_get_counts(caller.module).freed, 0);
  caller_close(&caller);
}

static void a_module_may_ask_for_flush_to_zero(void **state) {
  (void)state;
  static const row_t rows[] = {{"mul", "1e-20; 1e-20", "0"},
                               {"mul", "2; 3", "6"}};
  RUN_ROWS("flush", rows);
}

static void a_module_finds_its_libraries_beside_it_once(void **state) {
  (void)state;
  caller_t caller, twin;
  caller_open(&caller, "origin");
  assert_string_equal(caller_run(&caller, "f", ""), "1");
  assert_int_not_equal(caller_open_path(&twin, CALLER_MODULES "origin.so",
                                        fc_allocator_system()),
                       FC_OK);
  assert_non_null(strstr(twin.err.message, "it is loaded already"));
  assert_string_equal(caller_run(&caller, "f", ""), "1");
  caller_close(&caller);
}

static void *count_to_500(void *context) {
  static char no_instance[] = "no instance", failed[] = "a call failed";
  caller_t *shared = context;
  caller_t caller = {.module = shared->module, .info = shared->info};
  fc_error_t err;
  if (fc_backend_native.instance_create(caller.module, fc_allocator_system(),
                                        &caller.instance, &err)) {
    return no_instance;
  }
  fc_arena_init(&caller.arena, fc_allocator_system(), 4096, 1 << 20);
  char *problem = NULL;
  for (int i = 0; i < 500 && !problem; i++) {
    if (caller_call(&caller, "counter", "")) problem = failed;
    caller_end(&caller);
  }
  fc_backend_native.instance_destroy(caller.instance);
  fc_arena_deinit(&caller.arena);
  return problem;
}

static void a_module_with_state_is_called_one_at_a_time(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "state");
  assert_true(caller.info->serial);
  pthread_t threads[4];
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, count_to_500, &caller),
                     0);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(threads); i++) {
    void *problem = NULL;
    pthread_join(threads[i], &problem);
    assert_null(problem);
  }
  assert_string_equal(caller_run(&caller, "counter", ""), "4: 2001 0 0 0");
  caller_close(&caller);

  caller_open(&caller, "owner");
  assert_false(caller.info->serial);
  caller_close(&caller);
}

typedef struct alone_t {
  caller_t caller;
  bool failed;
  _Atomic bool ended;
} alone_t;

static void alone_open(alone_t *alone, const caller_t *shared) {
  *alone =
      (alone_t){.caller = {.module = shared->module, .info = shared->info}};
  fc_error_t err;
  alone->failed =
      fc_backend_native.instance_create(shared->module, fc_allocator_system(),
                                        &alone->caller.instance, &err) != FC_OK;
  fc_arena_init(&alone->caller.arena, fc_allocator_system(), 4096, 1 << 20);
}

static void alone_close(alone_t *alone) {
  fc_backend_native.instance_destroy(alone->caller.instance);
  fc_arena_deinit(&alone->caller.arena);
}

static void *run_alone(void *context) {
  alone_t *alone = context;
  alone->failed = caller_call(&alone->caller, "alone", "") != FC_OK ||
                  alone->caller.results[0].scalar.i32 != 1;
  caller_end(&alone->caller);
  atomic_store(&alone->ended, true);
  return NULL;
}

// Starts the thread and returns when it is inside the module. The thread stays there
// only for a while. If this thread did not notice it in that time, it starts another
// one.
static void run_until_inside(alone_t *alone, caller_t *caller,
                             pthread_t *thread) {
  for (;;) {
    atomic_store(&alone->ended, false);
    assert_int_equal(pthread_create(thread, NULL, run_alone, alone), 0);
    while (!atomic_load(&alone->ended)) {
      if (strcmp(caller_run(caller, "peek", ""), "1") == 0) return;
    }
    pthread_join(*thread, NULL);
    assert_false(alone->failed);
  }
}

// One thread stays inside the module for a while. Meanwhile an instance that held the
// lock earlier calls a function that needs no lock. This must not let another thread
// in.
static void nobody_else_unlocks_a_module(void **state) {
  (void)state;
  caller_t caller;
  alone_t first, second;
  pthread_t threads[2];
  caller_open(&caller, "state");
  assert_string_equal(caller_run(&caller, "counter", ""), "4: 1 0 0 0");
  alone_open(&first, &caller);
  alone_open(&second, &caller);
  assert_false(first.failed || second.failed);
  run_until_inside(&first, &caller, &threads[0]);
  assert_int_equal(pthread_create(&threads[1], NULL, run_alone, &second), 0);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  assert_false(first.failed);
  assert_false(second.failed);
  alone_close(&first);
  alone_close(&second);
  caller_close(&caller);
}

static void two_loads_of_one_file_are_two_modules(void **state) {
  (void)state;
  caller_t first, second;
  caller_open(&first, "state");
  caller_open(&second, "state");
  assert_string_equal(caller_run(&first, "counter", ""), "4: 1 0 0 0");
  assert_string_equal(caller_run(&first, "counter", ""), "4: 2 0 0 0");
  assert_string_equal(caller_run(&second, "counter", ""), "4: 1 0 0 0");
  caller_close(&first);
  assert_string_equal(caller_run(&second, "counter", ""), "4: 2 0 0 0");
  caller_close(&second);
}

// Finds the address at which the module keeps the address of malloc. The pages of such
// addresses are read-only once the module is loaded; the backend still has to write to
// them after that.
static void note_place(void *context, fc_str_t symbol, uint64_t address) {
  uint64_t *place = context;
  if (fc_str_equal(symbol, FC_STR("malloc"))) *place = address;
}

static int note_base(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  uintptr_t *base = context;
  if (strstr(info->dlpi_name, "/proc/self/fd")) *base = info->dlpi_addr;
  return 0;
}

static void what_the_loader_protected_stays_protected(void **state) {
  (void)state;
  static _Alignas(64) char bytes[1 << 20];
  FILE *file = fopen(CALLER_MODULES "owner.so", "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fc_so_t so;
  fc_error_t err;
  uint64_t place = 0;
  assert_int_equal(fc_so_parse(fc_str_make(bytes, size), &so, &err), FC_OK);
  fc_so_each_reference(&so, note_place, &place);
  assert_true(place && fc_so_is_relro(&so, place));

  caller_t caller;
  caller_open(&caller, "owner");
  uintptr_t base = 0;
  unsigned long begin, end;
  char line[512], rights[5], found[5] = "none";
  dl_iterate_phdr(note_base, &base);
  assert_true(base != 0);
  file = fopen("/proc/self/maps", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (base + place < begin || base + place >= end) continue;
    memcpy(found, rights, sizeof found);
  }
  fclose(file);
  assert_string_equal(found, "r--p");
  caller_close(&caller);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  caller_t caller;
  caller_open(&caller, "owner");
  static const row_t rows[] = {
      {"alias_arg", "2x2: 1 2 3 4",
       "shape_mismatch: argument 0: 2 dims, its type has 1"},
      {"column_major", "2x2: 1 2 3 4",
       "shape_mismatch: argument 0: dim 1 is 2, its type says 3"},
  };
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    assert_string_equal(caller_run(&caller, row->name, row->arguments),
                        row->expected);
  }
  caller_call(&caller, "fresh", "3");
  caller_end(&caller);
  caller.arguments[0].dtype = FC_DTYPE_I32;
  assert_int_equal(fc_backend_native.call(caller.instance, caller.index,
                                          &caller.call, &caller.err),
                   FC_INVALID_ARGUMENT);
  caller_end(&caller);
  caller_close(&caller);
}

static void what_cannot_be_loaded_says_why(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_code_t code;
    const char *message;
  } rows[] = {
      {"bare", FC_CODE_ABI_METADATA,
       "bare.so: nothing says what its functions take: no bare.farcall.json "
       "beside it and no __farcall_abi inside. `farcall compile` writes both; "
       "docs/abi.md says how to write one by hand"},
      {"clash", FC_CODE_SYMBOL_CLASH,
       "clash.so: it defines 'abs', a name of the C library: calls of it may "
       "run the library's instead; rename it"},
      {"undefined", FC_CODE_MODULE_LOAD,
       "undefined.so: undefined symbol 'surely_nobody_defines_this'"},
      {"reader", FC_CODE_MODULE_LOAD,
       "reader.so: undefined symbol 'delSparseTensorReader'"},
      {"needy", FC_CODE_MODULE_LOAD,
       "needy.so: it needs libfarcall-elsewhere.so, which the loader does not "
       "find"},
      {"absent", FC_CODE_MODULE_PATH, "absent.so: No such file or directory"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    char path[512];
    caller_t caller;
    snprintf(path, sizeof path, CALLER_MODULES "%s.so", rows[i].name);
    assert_int_not_equal(caller_open_path(&caller, path, fc_allocator_system()),
                         FC_OK);
    assert_string_equal(caller.err.message, rows[i].message);
    assert_int_equal(caller.err.code, rows[i].code);
  }
  fc_test_row(NULL);
}

// Tests copies of embedded.so, each in a folder of its own with a sidecar written here.
static void a_sidecar_must_be_of_this_build(void **state) {
  (void)state;
  static char bytes[1 << 20];
  FILE *file = fopen(CALLER_MODULES "embedded.so", "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  char folder[] = "/tmp/farcall-native-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char module[64], sidecar[64];
  snprintf(module, sizeof module, "%s/a.so", folder);
  snprintf(sidecar, sizeof sidecar, "%s/a.farcall.json", folder);
  write_file(module, bytes, size);

  static const struct {
    const char *name;
    const char *sidecar;
    fc_code_t code;
    const char *message;  // a part of it
  } rows[] = {
      {"another build",
       "{\"farcall\":1,\"abi\":\"mlir-memref\",\"so_sha256\":"
       "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
       "\"functions\":[]}",
       FC_CODE_ABI_METADATA, "so_sha256 is 0123456789ab…, the file's "},
      {"a symbol that is not there",
       "{\"farcall\":1,\"abi\":\"mlir-memref\",\"functions\":[{\"name\":\"f\","
       "\"symbol\":\"_mlir_ciface_f\",\"cc\":\"ciface\",\"args\":[],"
       "\"results\":[]}]}",
       FC_CODE_ABI_METADATA,
       "names symbol '_mlir_ciface_f' for 'f', which it does not export"},
      {"not JSON", "{", FC_CODE_ABI_METADATA, ""},
      {"the sidecar wins",
       "{\"farcall\":1,\"abi\":\"mlir-memref\",\"functions\":[{\"name\":"
       "\"other\",\"symbol\":\"_mlir_ciface_twice\",\"cc\":\"ciface\","
       "\"args\":[{\"type\":\"i32\"}],\"results\":[{\"type\":\"i32\"}]}]}",
       FC_CODE_NONE, ""},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    write_file(sidecar, rows[i].sidecar, strlen(rows[i].sidecar));
    caller_t caller;
    caller_open_path(&caller, module, fc_allocator_system());
    assert_int_equal(caller.err.code, rows[i].code);
    if (rows[i].code) {
      assert_non_null(strstr(caller.err.message, rows[i].message));
      continue;
    }
    assert_string_equal(caller_run(&caller, "other", "4"), "8");
    caller_close(&caller);
  }
  fc_test_row(NULL);
  unlink(module);
  unlink(sidecar);
  rmdir(folder);
}

typedef struct sweep_t {
  const char *path;
  const char *function;
  const char *arguments;
} sweep_t;

static fc_status_t load_and_call(fc_allocator_t allocator, void *context,
                                 fc_error_t *err) {
  const sweep_t *sweep = context;
  caller_t caller;
  fc_status_t status = caller_open_path(&caller, sweep->path, allocator);
  if (status == FC_OK) {
    // The functions that convert text need memory that does not fail.
    fc_arena_t arena = caller.arena;
    fc_arena_init(&caller.arena, fc_allocator_system(), 65536, 1 << 20);
    status = caller_call(&caller, sweep->function, sweep->arguments);
    caller_end(&caller);
    fc_arena_deinit(&caller.arena);
    caller.arena = arena;
    // If the table of live blocks cannot grow, the module gets no memory, and the call
    // fails with the module's own code.
    if (status) caller.err.code = FC_CODE_OUT_OF_MEMORY;
    caller_close(&caller);
  }
  *err = caller.err;
  return status;
}

static void loading_survives_any_failed_allocation(void **state) {
  (void)state;
  static const sweep_t sweeps[] = {
      {CALLER_MODULES "owner.so", "two_same", "3"},
      {CALLER_MODULES "returned.so", "twice", "3: 1 2 3"},
      {CALLER_MODULES "returned.so", "nine", "3; 1.5"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(sweeps); i++) {
    sweep_t sweep = sweeps[i];
    fc_test_allocation_sweep(load_and_call, &sweep);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(scalars_of_every_type),
      FC_TEST(every_kind_of_ownership),
      FC_TEST(memory_begins_as_zeroes),
      FC_TEST(a_leak_is_counted_and_reclaimed),
      FC_TEST(hostile_results_are_refused_unread),
      FC_TEST(a_check_that_fails_ends_the_call_only),
      FC_TEST(other_calling_conventions),
      FC_TEST(vectors_are_passed),
      FC_TEST(aggregates_by_llvms_convention),
      FC_TEST(the_runtime_shim_serves_modules),
      FC_TEST(nothing_is_copied_where_a_size_is_zero),
      FC_TEST(embedded_metadata_is_found),
      FC_TEST(floating_point_control_is_not_inherited),
      FC_TEST(an_impure_module_keeps_its_memory),
      FC_TEST(a_block_freed_unseen_is_no_block_twice),
      FC_TEST(a_page_that_is_partly_read_only_stays_writable),
      FC_TEST(a_borrowed_result_is_not_freed),
      FC_TEST(a_module_may_ask_for_flush_to_zero),
      FC_TEST(a_module_finds_its_libraries_beside_it_once),
      FC_TEST(a_module_with_state_is_called_one_at_a_time),
      FC_TEST(nobody_else_unlocks_a_module),
      FC_TEST(what_the_loader_protected_stays_protected),
      FC_TEST(two_loads_of_one_file_are_two_modules),
      FC_TEST(wrong_arguments_are_refused),
      FC_TEST(what_cannot_be_loaded_says_why),
      FC_TEST(a_sidecar_must_be_of_this_build),
      FC_TEST(loading_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
