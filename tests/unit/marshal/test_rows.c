// SPDX-License-Identifier: Apache-2.0
//
// Calls with any number of rows, made of functions that take certain numbers of rows.
// This test computes the expected result of each row. The function checks that its rows
// are aligned, and that they were sent.
#include <stdio.h>

#include "abi/sizes.h"
#include "farcall/call.h"
#include "helpers/echo.h"
#include "helpers/test.h"
#include "helpers/types.h"
#include "marshal/frame.h"
#include "marshal/stack.h"

#define ROWS_MAX 60

typedef struct module_t {
  fc_signature_t *signatures[3];
  size_t count;
  fc_sizes_t *sizes;
  fc_plan_t *plan;
  fc_frame_t *frame;
  fc_backend_t backend;
  fc_echo_t echo;
} module_t;

typedef struct seen_t {
  uint32_t calls;
  uint32_t open;       // calls that were not ended
  int64_t rows;        // of all calls
  const void *data;    // of x, in the first call
  const void *result;  // of the last
  uint32_t fails;      // in call number `fails`; 0: never
  bool other;          // the second result has another shape in the second call
} seen_t;
static seen_t the_seen;

static fc_value_t make_result(fc_backend_call_t *call, fc_dtype_t dtype,
                              int32_t rank, int64_t rows, int64_t width) {
  int64_t *shape = fc_arena_alloc_array(call->arena, 2, sizeof *shape);
  void *data = fc_arena_alloc_array(call->arena, (size_t)(rows * width), 8);
  if (!shape || !data) return (fc_value_t){0};
  shape[0] = rows;
  shape[1] = width;
  return (fc_value_t){
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = dtype, .rank = rank, .shape = shape, .data = data}};
}

static fc_status_t call(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  (void)instance;
  (void)index;
  const fc_tensor_t *x = &call->arguments[0].tensor;
  const int32_t *at = x->data, *w = call->arguments[2].tensor.data;
  const int64_t rows = x->shape[0];
  int32_t y;
  memcpy(&y, call->arguments[1].scalar.bytes, sizeof y);
  assert_null(x->strides);
  assert_true((uintptr_t)at % 64 == 0);
  assert_int_equal(the_seen.open, 0);
  if (!the_seen.calls++) the_seen.data = at;
  the_seen.open++;
  the_seen.rows += rows;
  if (the_seen.calls == the_seen.fails) {
    return fc_fail(err, FC_CODE_CALL_FAILED, "this call fails");
  }
  const bool other = the_seen.other && the_seen.calls == 2;
  call->results[0] = make_result(call, FC_DTYPE_I32, 2, rows, 3);
  call->results[1] =
      make_result(call, FC_DTYPE_I64, 1, other ? rows + 1 : rows, 1);
  if (!call->results[0].kind || !call->results[1].kind) {
    return fc_fail_memory(err);
  }
  int32_t *first = (int32_t *)(uintptr_t)call->results[0].tensor.data;
  int64_t *second = (int64_t *)(uintptr_t)call->results[1].tensor.data;
  the_seen.result = first;
  for (int64_t i = 0; i < rows; i++, at += 3) {
    assert_int_not_equal(at[0], 0);
    for (int k = 0; k < 3; k++) first[3 * i + k] = at[k] * y + w[k % 2];
    second[i] = at[0] + at[1] + at[2];
  }
  return FC_OK;
}

static void call_end(void *instance, size_t index, fc_backend_call_t *call) {
  (void)instance;
  (void)index;
  (void)call;
  the_seen.open--;
}

static void module_init(module_t *module, const int *rows, size_t count) {
  const fc_allocator_t allocator = fc_allocator_system();
  fc_error_t err;
  *module = (module_t){.count = count, .backend = fc_backend_echo};
  for (size_t i = 0; i < count; i++) {
    char types[200], name[24];
    snprintf(types, sizeof types,
             "x: tensor<%dx3xi32>, y: i32, w: tensor<2xi32> -> "
             "tensor<%dx3xi32>, tensor<%dxi64>",
             rows[i], rows[i], rows[i]);
    snprintf(name, sizeof name, "f%d", rows[i]);
    fc_builder_t *builder = fc_builder_create(allocator);
    fc_signature_t *unnamed = fc_test_build(builder, types);
    fc_builder_name(builder, fc_str(name));
    assert_int_equal(fc_signature_build(builder, &module->signatures[i], &err),
                     FC_OK);
    fc_signature_destroy(unnamed);
    fc_builder_destroy(builder);
  }
  char json[200] = "{\"farcall\":1,\"sizes\":[{\"name\":\"f\",\"batch\":{";
  for (size_t i = 0; i < count; i++) {
    const size_t size = strlen(json);
    snprintf(json + size, sizeof json - size, "%s\"%d\":\"f%d\"", i ? "," : "",
             rows[i], rows[i]);
  }
  strncat(json, "}}]}", sizeof json - strlen(json) - 1);
  if (fc_sizes_create(fc_str(json), module->signatures, count, allocator,
                      &module->sizes, &err) != FC_OK ||
      fc_plan_create(module->sizes->listed[0].signature, allocator,
                     &module->plan, &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  module->plan->entries = module->sizes->listed[0].entries;
  assert_int_equal(fc_frame_create(allocator, NULL, &module->frame, &err),
                   FC_OK);
  module->backend.call = call;
  module->backend.call_end = call_end;
  module->echo.info.signatures = module->signatures;
  module->echo.info.count = count;
}

static void module_deinit(module_t *module) {
  fc_frame_destroy(module->frame);
  assert_int_equal(the_seen.open, 0);
  fc_plan_destroy(module->plan);
  fc_sizes_destroy(module->sizes);
  for (size_t i = 0; i < module->count; i++) {
    fc_signature_destroy(module->signatures[i]);
  }
}

static fc_status_t invoke(module_t *module, fc_error_t *err) {
  return fc_frame_invoke(module->frame, &module->backend, &module->echo, 0,
                         NULL, 0, err);
}

static void begin(module_t *module) {
  fc_frame_begin(module->frame, module->plan, NULL);
  module->frame->batched = true;
  the_seen = (seen_t){.calls = 0};
}

static int32_t value_at(int64_t row, int k) {
  return (int32_t)(100 * row + k + 1);
}

// The results of `rows` rows must be what each row gives alone.
static void check_results(const module_t *module, int64_t rows) {
  size_t count;
  const fc_value_t *results = fc_frame_results(module->frame, &count);
  assert_int_equal(count, 2);
  assert_int_equal(results[0].tensor.shape[0], rows);
  assert_int_equal(results[0].tensor.shape[1], 3);
  assert_int_equal(results[1].tensor.shape[0], rows);
  const int32_t *first = results[0].tensor.data;
  const int64_t *second = results[1].tensor.data;
  for (int64_t i = 0; i < rows; i++) {
    int64_t sum = 0;
    for (int k = 0; k < 3; k++) {
      assert_int_equal(first[3 * i + k],
                       value_at(i, k) * 7 + (k % 2 ? 50 : 40));
      sum += value_at(i, k);
    }
    assert_int_equal(second[i], sum);
  }
}

static void print_document(int64_t rows, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "[[");
  for (int64_t i = 0; i < rows; i++) {
    used +=
        (size_t)snprintf(out + used, size - used, "%s[%d,%d,%d]", i ? "," : "",
                         value_at(i, 0), value_at(i, 1), value_at(i, 2));
  }
  snprintf(out + used, size - used, "],7,[40,50]]");
}

static const int kBuckets[][3] = {{1, 4, 8}, {8, 3, 1}, {5, 16}};
static const size_t kCounts[] = {3, 3, 2};

static void every_number_of_rows_is_computed(void **state) {
  (void)state;
  for (size_t b = 0; b < FC_ARRAY_COUNT(kBuckets); b++) {
    module_t module;
    module_init(&module, kBuckets[b], kCounts[b]);
    for (int guard = 0; guard < 2; guard++) {
      for (int64_t rows = 1; rows <= ROWS_MAX; rows++) {
        char body[4096];
        fc_error_t err;
        begin(&module);
        fc_frame_set_guard(module.frame, guard);
        print_document(rows, body, sizeof body);
        if (fc_frame_decode(module.frame, fc_str(body), &err) != FC_OK ||
            invoke(&module, &err) != FC_OK) {
          fail_msg("%d rows: %s", (int)rows, err.message);
        }
        check_results(&module, rows);
        assert_true(the_seen.rows >= rows);
        fc_frame_end(module.frame);
      }
    }
    module_deinit(&module);
  }
}

// The guard does not copy values that are in the store, so slices of such a value must
// be copied to be aligned.
static void slices_of_the_store_are_aligned(void **state) {
  (void)state;
  module_t module;
  char body[4096];
  size_t count;
  fc_error_t err;
  fc_store_t store = {0};
  module_init(&module, kBuckets[0], 3);
  begin(&module);
  fc_frame_set_guard(module.frame, true);
  print_document(20, body, sizeof body);
  assert_int_equal(fc_frame_decode(module.frame, fc_str(body), NULL), FC_OK);
  const fc_value_t *values = fc_frame_arguments(module.frame, &count);
  store.views[0].pages = (void *)(uintptr_t)values[0].tensor.data;
  store.views[0].size = (size_t)20 * 3 * sizeof(int32_t);
  module.frame->store = &store;
  if (invoke(&module, &err) != FC_OK) fail_msg("%s", err.message);
  module.frame->store = NULL;
  check_results(&module, 20);
  module_deinit(&module);
}

// Arguments that were set, not decoded: a view of every second row of an array.
static void views_are_sliced(void **state) {
  (void)state;
  module_t module;
  module_init(&module, kBuckets[0], 3);
  static int32_t data[2 * ROWS_MAX * 3];
  static const int32_t w[] = {40, 50};
  static const int64_t w_shape[] = {2}, strides[] = {6, 1};
  for (int64_t rows = 1; rows <= ROWS_MAX; rows++) {
    const int64_t shape[] = {rows, 3};
    for (int64_t i = 0; i < rows; i++) {
      for (int k = 0; k < 3; k++) data[6 * i + k] = value_at(i, k);
    }
    size_t count;
    fc_error_t err;
    begin(&module);
    fc_value_t *values = fc_frame_arguments(module.frame, &count);
    values[0] = (fc_value_t){.kind = FC_VALUE_TENSOR,
                             .tensor = {.dtype = FC_DTYPE_I32,
                                        .rank = 2,
                                        .shape = shape,
                                        .strides = strides,
                                        .data = data}};
    values[1] = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I32};
    memcpy(values[1].scalar.bytes, &(int32_t){7}, 4);
    values[2] = (fc_value_t){.kind = FC_VALUE_TENSOR,
                             .tensor = {.dtype = FC_DTYPE_I32,
                                        .rank = 1,
                                        .shape = w_shape,
                                        .data = (void *)(uintptr_t)w}};
    if (invoke(&module, &err) != FC_OK) fail_msg("%s", err.message);
    check_results(&module, rows);
  }
  module_deinit(&module);
}

// A single call that takes all rows uses them where they are, and its results are not
// copied, either.
static void nothing_is_copied_for_one_call(void **state) {
  (void)state;
  module_t module;
  char body[4096];
  size_t count;
  module_init(&module, (const int[]){16, 64}, 2);
  begin(&module);
  print_document(16, body, sizeof body);
  assert_int_equal(fc_frame_decode(module.frame, fc_str(body), NULL), FC_OK);
  assert_int_equal(invoke(&module, NULL), FC_OK);
  assert_int_equal(the_seen.calls, 1);
  assert_ptr_equal(the_seen.data,
                   fc_frame_arguments(module.frame, &count)[0].tensor.data);
  assert_ptr_equal(the_seen.result,
                   fc_frame_results(module.frame, &count)[0].tensor.data);
  check_results(&module, 16);
  module_deinit(&module);
}

static void what_cannot_be_is_said(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t rows;
    seen_t seen;
    size_t result_size;
    fc_code_t code;
    const char *says;
  } rows[] = {
      {"no row",
       0,
       {0},
       0,
       FC_CODE_SHAPE_MISMATCH,
       "argument 0 ('x'), dim 0: [size] is 0, it may be 1 or more"},
      {"the second call fails",
       20,
       {.fails = 2},
       0,
       FC_CODE_CALL_FAILED,
       "this call fails"},
      {"other results in the second call",
       20,
       {.other = true},
       0,
       FC_CODE_BAD_RESULT,
       "result 1: the functions of its rows return other types or sizes"},
      {"more than an answer may have",
       20,
       {0},
       100,
       FC_CODE_RESULT_TOO_LARGE,
       "result 0: 20 rows of it are over the limit of 100 bytes"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    module_t module;
    char body[4096];
    fc_error_t err;
    module_init(&module, kBuckets[0], 3);
    if (row->result_size) module.frame->limits.result_size = row->result_size;
    begin(&module);
    the_seen.fails = row->seen.fails;
    the_seen.other = row->seen.other;
    print_document(row->rows, body, sizeof body);
    fc_status_t status = fc_frame_decode(module.frame, fc_str(body), &err);
    if (status == FC_OK) status = invoke(&module, &err);
    assert_int_not_equal(status, FC_OK);
    assert_int_equal(err.code, row->code);
    assert_string_equal(err.message, row->says);
    module_deinit(&module);
  }
}

// As long as rows may depend on each other, a call must have exactly the rows of one of
// the functions.
static void without_a_proof_sizes_are_exact(void **state) {
  (void)state;
  module_t module;
  char body[4096];
  fc_error_t err;
  module_init(&module, kBuckets[0], 3);
  fc_frame_begin(module.frame, module.plan, NULL);
  print_document(5, body, sizeof body);
  assert_int_not_equal(fc_frame_decode(module.frame, fc_str(body), &err),
                       FC_OK);
  assert_string_equal(
      err.message, "argument 0 ('x'), dim 0: [size] is 5, it may be 1, 4 or 8");
  module_deinit(&module);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  module_t *module = context;
  fc_frame_t *frame;
  char body[4096];
  FC_TRY(fc_frame_create(allocator, NULL, &frame, err));
  print_document(21, body, sizeof body);
  fc_frame_begin(frame, module->plan, NULL);
  frame->batched = true;
  fc_status_t status = fc_frame_decode(frame, fc_str(body), err);
  if (status == FC_OK) {
    status = fc_frame_invoke(frame, &module->backend, &module->echo, 0, NULL, 0,
                             err);
  }
  fc_frame_destroy(frame);
  return status;
}

static void rows_survive_every_failing_allocation(void **state) {
  (void)state;
  module_t module;
  module_init(&module, kBuckets[0], 3);
  assert_true(fc_test_allocation_sweep(attempt, &module) >= 4);
  module_deinit(&module);
}

// ---------------------------------------------------------------------------
// Stacks: several calls computed as one

static void print_part(int64_t first, int64_t rows, const char *rest, char *out,
                       size_t size) {
  size_t used = (size_t)snprintf(out, size, "[[");
  for (int64_t i = first; i < first + rows; i++) {
    used += (size_t)snprintf(out + used, size - used, "%s[%d,%d,%d]",
                             i > first ? "," : "", value_at(i, 0),
                             value_at(i, 1), value_at(i, 2));
  }
  snprintf(out + used, size - used, "],%s]", rest);
}

static fc_frame_t *decode_part(const module_t *module, fc_allocator_t allocator,
                               int64_t first, int64_t rows, const char *rest,
                               fc_error_t *err) {
  fc_frame_t *frame;
  char body[8192];
  if (fc_frame_create(allocator, NULL, &frame, err) != FC_OK) return NULL;
  print_part(first, rows, rest, body, sizeof body);
  fc_frame_begin(frame, module->plan, NULL);
  frame->batched = true;
  if (fc_frame_decode(frame, fc_str(body), err) == FC_OK) return frame;
  fc_frame_destroy(frame);
  return NULL;
}

static fc_status_t invoke_stack(module_t *module, fc_frame_t *const *frames,
                                uint32_t count, fc_error_t *err) {
  const fc_stack_call_t call = {.backend = &module->backend,
                                .instance = &module->echo};
  begin(module);
  return fc_frame_invoke_stack(module->frame, frames, count, &call, err);
}

static void check_part(const fc_frame_t *frame, int64_t first, int64_t rows) {
  size_t count;
  const fc_value_t *results = fc_frame_results(frame, &count);
  assert_int_equal(count, 2);
  assert_int_equal(results[0].tensor.shape[0], rows);
  assert_int_equal(results[0].tensor.shape[1], 3);
  assert_int_equal(results[1].tensor.shape[0], rows);
  const int32_t *x = results[0].tensor.data;
  const int64_t *sum = results[1].tensor.data;
  for (int64_t i = 0; i < rows; i++) {
    int64_t want = 0;
    for (int k = 0; k < 3; k++) {
      assert_int_equal(x[3 * i + k],
                       value_at(first + i, k) * 7 + (k % 2 ? 50 : 40));
      want += value_at(first + i, k);
    }
    assert_int_equal(sum[i], want);
  }
}

// With `least`, the rows of a call are computed by the smallest function, even if a
// larger one costs less.
static void the_least_function_is_called_for_each(void **state) {
  (void)state;
  for (size_t b = 0; b < FC_ARRAY_COUNT(kBuckets); b++) {
    module_t module;
    module_init(&module, kBuckets[b], kCounts[b]);
    const int64_t least = module.plan->batch->buckets[0].rows;
    const fc_stack_call_t call = {
        .backend = &module.backend, .instance = &module.echo, .least = true};
    for (int64_t rows = 1; rows <= ROWS_MAX; rows++) {
      fc_error_t err;
      fc_frame_t *frame = decode_part(&module, fc_allocator_system(), 0, rows,
                                      "7,[40,50]", &err);
      assert_non_null(frame);
      begin(&module);
      assert_int_equal(
          fc_frame_invoke_stack(module.frame, &frame, 1, &call, &err), FC_OK);
      check_part(frame, 0, rows);
      assert_int_equal(the_seen.calls, (rows + least - 1) / least);
      fc_frame_end(module.frame);
      fc_frame_destroy(frame);
    }
    module_deinit(&module);
  }
}

static void each_call_of_a_stack_gets_its_rows(void **state) {
  (void)state;
  for (size_t b = 0; b < FC_ARRAY_COUNT(kBuckets); b++) {
    module_t module;
    module_init(&module, kBuckets[b], kCounts[b]);
    for (uint32_t count = 1; count <= FC_STACK_MAX; count++) {
      fc_frame_t *frames[FC_STACK_MAX];
      fc_error_t err;
      int64_t first = 0;
      for (uint32_t i = 0; i < count; i++) {
        frames[i] = decode_part(&module, fc_allocator_system(), first,
                                1 + i % 3, "7,[40,50]", &err);
        assert_non_null(frames[i]);
        first += 1 + i % 3;
      }
      if (invoke_stack(&module, frames, count, &err) != FC_OK) {
        fail_msg("%u calls: %s", count, err.message);
      }
      uint64_t rows, computed;
      assert_true(fc_frame_counted_rows(module.frame, &rows, &computed));
      assert_int_equal(rows, first);
      assert_int_equal(computed, the_seen.rows);
      first = 0;
      for (uint32_t i = 0; i < count; i++) {
        check_part(frames[i], first, 1 + i % 3);
        first += 1 + i % 3;
      }
      fc_frame_end(module.frame);
      for (uint32_t i = 0; i < count; i++) fc_frame_destroy(frames[i]);
    }
    module_deinit(&module);
  }
}

static void only_what_is_alike_is_stacked(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t rows;
    const char *rest;
    bool stacks;
  } rows[] = {
      {"one row", 1, "7,[40,50]", true},
      {"three rows", 3, "7,[40,50]", true},
      {"another number", 1, "8,[40,50]", false},
      {"another tensor without rows", 1, "7,[40,51]", false},
  };
  module_t module;
  module_init(&module, kBuckets[0], 3);
  fc_frame_t *first =
      decode_part(&module, fc_allocator_system(), 0, 2, "7,[40,50]", NULL);
  assert_non_null(first);
  assert_true(fc_frame_stacks(first, first));
  assert_false(fc_frame_stacks(first, module.frame));
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_frame_t *other = decode_part(&module, fc_allocator_system(), 9,
                                    row->rows, row->rest, NULL);
    assert_non_null(other);
    assert_int_equal(fc_frame_stacks(first, other), row->stacks);
    other->batched = false;
    assert_false(fc_frame_stacks(first, other));
    fc_frame_destroy(other);
  }
  fc_frame_destroy(first);
  module_deinit(&module);
}

// When a stack of calls fails, its calls are unchanged: each is answered if it is made
// alone.
static void a_stack_that_fails_leaves_its_calls(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t result_size;
    size_t elements;
    uint32_t fails;
    fc_code_t code;
  } rows[] = {
      {"a call fails", 1000, 1000, 1, FC_CODE_CALL_FAILED},
      {"the last of several fails", 1000, 1000, 2, FC_CODE_CALL_FAILED},
      {"too much to answer", 100, 1000, 0, FC_CODE_RESULT_TOO_LARGE},
      {"too many elements", 1000, 20, 0, FC_CODE_TENSOR_TOO_LARGE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    module_t module;
    fc_frame_t *frames[3];
    fc_error_t err;
    size_t count;
    module_init(&module, kBuckets[0], 3);
    module.frame->limits.result_size = row->result_size;
    module.frame->limits.tensor_elements = row->elements;
    for (int i = 0; i < 3; i++) {
      frames[i] = decode_part(&module, fc_allocator_system(), 5 * i, 5,
                              "7,[40,50]", NULL);
      assert_non_null(frames[i]);
    }
    const fc_stack_call_t call = {.backend = &module.backend,
                                  .instance = &module.echo};
    begin(&module);
    the_seen.fails = row->fails;
    assert_int_not_equal(
        fc_frame_invoke_stack(module.frame, frames, 3, &call, &err), FC_OK);
    assert_int_equal(err.code, row->code);
    fc_frame_end(module.frame);
    the_seen = (seen_t){.calls = 0};
    for (int i = 0; i < 3; i++) {
      assert_null(fc_frame_results(frames[i], &count));
      assert_int_equal(fc_frame_invoke(frames[i], &module.backend, &module.echo,
                                       0, NULL, 0, &err),
                       FC_OK);
      check_part(frames[i], 5 * i, 5);
      fc_frame_destroy(frames[i]);
    }
    module_deinit(&module);
  }
}

static fc_status_t attempt_stack(fc_allocator_t allocator, void *context,
                                 fc_error_t *err) {
  module_t *module = context;
  fc_frame_t *whole = NULL, *frames[2];
  const fc_stack_call_t call = {.backend = &module->backend,
                                .instance = &module->echo};
  fc_status_t status = FC_OK;
  for (int i = 0; i < 2; i++) {
    frames[i] = decode_part(module, allocator, 150 * i, 150, "7,[40,50]", err);
    if (!frames[i]) status = FC_RESOURCE_EXHAUSTED;
  }
  if (status == FC_OK) status = fc_frame_create(allocator, NULL, &whole, err);
  if (status == FC_OK) {
    fc_frame_begin(whole, module->plan, NULL);
    whole->batched = true;
    status = fc_frame_invoke_stack(whole, frames, 2, &call, err);
  }
  fc_frame_destroy(whole);
  for (int i = 0; i < 2; i++) fc_frame_destroy(frames[i]);
  return status;
}

static void stacks_survive_every_failing_allocation(void **state) {
  (void)state;
  module_t module;
  module_init(&module, kBuckets[0], 3);
  assert_true(fc_test_allocation_sweep(attempt_stack, &module) >= 6);
  module_deinit(&module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_number_of_rows_is_computed),
      FC_TEST(the_least_function_is_called_for_each),
      FC_TEST(slices_of_the_store_are_aligned),
      FC_TEST(views_are_sliced),
      FC_TEST(nothing_is_copied_for_one_call),
      FC_TEST(what_cannot_be_is_said),
      FC_TEST(without_a_proof_sizes_are_exact),
      FC_TEST(rows_survive_every_failing_allocation),
      FC_TEST(each_call_of_a_stack_gets_its_rows),
      FC_TEST(only_what_is_alike_is_stacked),
      FC_TEST(a_stack_that_fails_leaves_its_calls),
      FC_TEST(stacks_survive_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
