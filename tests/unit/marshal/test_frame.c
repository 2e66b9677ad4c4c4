// SPDX-License-Identifier: Apache-2.0
//
// Decoding, calling and encoding with the echo module kind, and how a frame is used
// again.
#include <stdlib.h>

#include "base/guard.h"
#include "helpers/call.h"
#include "helpers/pages.h"
#include "helpers/test.h"
#include "helpers/types.h"

typedef struct echo_row_t {
  const char *name;
  const char *types;
  const char *body;
  const char *answer;
} echo_row_t;

static const echo_row_t echoes[] = {
    {"nothing", "->", "[]", "{\"results\":[]}"},
    {"scalars", "i8, f32, i1 -> i8, f32, i1", "[1,2,true]",
     "{\"results\":[1,2.0,true]}"},
    {"tensor", "tensor<?x2xf32> -> tensor<?x2xf32>", "[[[1,2],[3,4.5]]]",
     "{\"results\":[[[1.0,2.0],[3.0,4.5]]]}"},
    {"bytes", "str, bytes -> str, bytes", "[\"h\\u00e9\",\"hi\"]",
     "{\"results\":[\"h\xc3\xa9\",{\"b64\":\"aGk=\"}]}"},
    {"containers",
     "[i8], (i8, str), {a: i8, b: [i8]} -> "
     "[i8], (i8, str), {a: i8, b: [i8]}",
     "[[1,2],[3,\"x\"],{\"b\":[],\"a\":4}]",
     "{\"results\":[[1,2],[3,\"x\"],{\"a\":4,\"b\":[]}]}"},
    {"int64 as strings", "i64, i32, tensor<1xui64> -> i64, i32, tensor<1xui64>",
     "{\"args\":[1,2,[3]],\"options\":{\"int64\":\"string\"}}",
     "{\"results\":[\"1\",2,[\"3\"]]}"},
    {"typed results", "tensor<?x2xi8> -> tensor<?x2xi8>",
     "{\"args\":[[]],\"options\":{\"results\":\"typed\"}}",
     "{\"results\":[{\"dtype\":\"i8\",\"shape\":[0,2],\"data\":[]}]}"},
    {"inout follows the results", "i8, inout y: tensor<2xf32> -> i8",
     "[7,[1,2]]", "{\"results\":[7,[1.0,2.0]]}"},
    {"out is not sent", "i8, out tensor<2xf32>, i8 -> i8", "[7,8]",
     "{\"results\":[7,[0.0,0.0]]}"},
    {"out sized by a name", "tensor<Nxi8>, out tensor<NxNxi8> -> tensor<Nxi8>",
     "[[1,2]]", "{\"results\":[[1,2],[[0,0],[0,0]]]}"},
    {"unknown", "any, any -> any, any",
     "[{\"dtype\":\"i8\",\"shape\":[1],\"data\":[1]},{\"list\":[null]}]",
     "{\"results\":[[1],[null]]}"},
};

static void values_come_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const echo_row_t, row, echoes) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    char answer[1024];
    fc_error_t err;
    // Calls twice, so that the second call has a warm frame; then once with guarded
    // memory.
    for (int i = 0; i < 3; i++) {
      fc_frame_set_guard(call.frame, i == 2);
      if (fc_test_call_echo(&call, fc_str(row->body), answer, sizeof answer,
                            &err)) {
        fail_msg("%s at %s", err.message, err.pointer);
      }
      assert_string_equal(answer, row->answer);
    }
    fc_test_call_deinit(&call);
  }
}

static void a_call_has_only_its_own_options(void **state) {
  (void)state;
  static const struct {
    const char *body, *answer;
  } rows[] = {
      {"{\"args\":[1,[2]],\"options\":{\"int64\":\"string\"}}",
       "{\"results\":[\"1\",[2.0]]}"},
      {"[1,[2]]", "{\"results\":[1,[2.0]]}"},
      {"{\"args\":[1,[2]],\"options\":{\"results\":\"typed\"}}",
       "{\"results\":[1,{\"dtype\":\"f32\",\"shape\":[1],\"data\":[2.0]}]}"},
      {"{\"args\":[1,[2]]}", "{\"results\":[1,[2.0]]}"},
  };
  fc_test_call_t call;
  fc_test_call_init(&call, "i64, tensor<?xf32> -> i64, tensor<?xf32>", NULL);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char answer[128];
    assert_int_equal(fc_test_call_echo(&call, fc_str(rows[i].body), answer,
                                       sizeof answer, NULL),
                     FC_OK);
    assert_string_equal(answer, rows[i].answer);
  }
  fc_test_call_deinit(&call);
}

// The bytes between a guarded tensor and its guard page are a NaN that no calculation
// makes. A result with this NaN was computed from these bytes, unless the caller sent
// it.
static fc_status_t read_behind(void *instance, size_t index,
                               fc_backend_call_t *call, fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  fc_tensor_t *tensor = &call->results[0].tensor;
  const size_t size = fc_dtype_size(tensor->dtype);
  const size_t before = (size_t)(tensor->shape[0] - 1) * size;
  // The echo returns the argument's memory, which must not be written.
  uint8_t *copy = fc_arena_alloc(call->arena, before + size, 64);
  if (!copy) return fc_fail_memory(err);
  memcpy(copy, tensor->data, before);
  memset(copy + before, FC_GUARD_FILL, size);
  tensor->data = copy;
  return FC_OK;
}

static void a_float_from_behind_a_tensor_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *types, *body;
    fc_status_t echoed, read_behind;
  } rows[] = {
      {"tensor<2xf32> -> tensor<2xf32>", "[[0,0]]", FC_OK, FC_OUT_OF_RANGE},
      {"tensor<1xf64> -> tensor<1xf64>", "[[0]]", FC_OK, FC_OUT_OF_RANGE},
      {"tensor<1xbf16> -> tensor<1xbf16>", "[[0]]", FC_OK, FC_OUT_OF_RANGE},
      {"tensor<1xi32> -> tensor<1xi32>", "[[0]]", FC_OK, FC_OK},
      {"tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>", "[[[0,0]]]", FC_OK,
       FC_OUT_OF_RANGE},
      {"tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>", "[[[0,0],[0,0]]]",
       FC_OK, FC_OUT_OF_RANGE},
      {"tensor<2xf32> -> tensor<2xf32>",
       "[{\"shape\":[2],\"dtype\":\"f32\",\"b64\":\"AAAAAP////8=\"}]", FC_OK,
       FC_OK},
  };
  fc_backend_t reader = fc_backend_echo;
  reader.call = read_behind;
  const fc_backend_t *backends[] = {&fc_backend_echo, &reader};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    for (size_t k = 0; k < FC_ARRAY_COUNT(backends); k++) {
      fc_test_call_t call;
      fc_error_t err;
      fc_test_call_init(&call, rows[i].types, NULL);
      fc_frame_set_guard(call.frame, true);
      assert_int_equal(fc_test_call_decode(&call, fc_str(rows[i].body), &err),
                       FC_OK);
      fc_status_t status = fc_frame_invoke(call.frame, backends[k], &call.echo,
                                           0, NULL, 0, &err);
      fc_status_t wanted = k ? rows[i].read_behind : rows[i].echoed;
      if (status != wanted) fail_msg("%s: %d", rows[i].types, status);
      if (status != FC_OK) assert_int_equal(err.code, FC_CODE_CALL_FAILED);
      fc_test_call_deinit(&call);
    }
  }
}

static void a_float_that_was_sent_excuses_its_own_call_only(void **state) {
  (void)state;
  static const struct {
    const char *body;
    fc_status_t status;
  } rows[] = {
      {"[[0,0]]", FC_OUT_OF_RANGE},
      {"[{\"shape\":[2],\"dtype\":\"f32\",\"b64\":\"AAAAAP////8=\"}]", FC_OK},
      {"[[0,0]]", FC_OUT_OF_RANGE},
  };
  fc_backend_t reader = fc_backend_echo;
  reader.call = read_behind;
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<2xf32> -> tensor<2xf32>", NULL);
  fc_frame_set_guard(call.frame, true);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_error_t err;
    assert_int_equal(fc_test_call_decode(&call, fc_str(rows[i].body), &err),
                     FC_OK);
    assert_int_equal(
        fc_frame_invoke(call.frame, &reader, &call.echo, 0, NULL, 0, &err),
        rows[i].status);
  }
  fc_test_call_deinit(&call);
}

static void a_guarded_tensor_goes_with_its_call(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_error_t err;
  size_t count;
  fc_test_call_init(&call, "tensor<1xf32> -> tensor<1xf32>", NULL);
  fc_frame_set_guard(call.frame, true);
  assert_int_equal(fc_test_call_decode(&call, FC_STR("[[1]]"), &err), FC_OK);
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 0,
                                   NULL, 0, &err),
                   FC_OK);
  const void *data = fc_frame_arguments(call.frame, &count)->tensor.data;
  assert_true(fc_test_is_mapped(data));
  fc_frame_end(call.frame);
  assert_false(fc_test_is_mapped(data));
  fc_test_call_deinit(&call);
}

// A result that is a view of `memory`. One word of `memory` has the bytes
// FC_GUARD_FILL, which a guard writes after tensors.
typedef struct view_row_t {
  const char *name;
  fc_dtype_t dtype;
  int64_t strides[2];
  int64_t first, filled;  // words
  bool refused;
} view_row_t;

static const view_row_t views[] = {
    {"no filler", FC_DTYPE_F32, {2, 3}, 0, 15, false},
    {"first element", FC_DTYPE_F32, {2, 3}, 0, 0, true},
    {"last element", FC_DTYPE_F32, {8, 3}, 0, 11, true},
    {"between elements", FC_DTYPE_F32, {8, 3}, 0, 10, false},
    {"columns first", FC_DTYPE_F32, {1, 4}, 0, 5, true},
    {"backwards", FC_DTYPE_F32, {-4, -1}, 6, 1, true},
    {"before the last, backwards", FC_DTYPE_F32, {-4, -1}, 6, 0, false},
    {"repeated", FC_DTYPE_F32, {0, 2}, 0, 2, true},
    {"an imaginary half", FC_DTYPE_C64, {4, 2}, 0, 13, true},
    {"a real half", FC_DTYPE_C64, {4, 2}, 0, 8, true},
    {"beside both", FC_DTYPE_C64, {4, 2}, 0, 10, false},
    {"an integer", FC_DTYPE_I32, {2, 3}, 0, 0, false},
};

static const view_row_t *view;  // of the call

static fc_status_t give_view(void *instance, size_t index,
                             fc_backend_call_t *call, fc_error_t *err) {
  FC_TRY(fc_backend_echo.call(instance, index, call, err));
  static const int64_t shape[] = {2, 2};
  static uint32_t memory[16];
  memset(memory, 0, sizeof memory);
  memory[view->filled] = UINT32_MAX;
  call->results[0] = (fc_value_t){.kind = FC_VALUE_TENSOR,
                                  .tensor = {.dtype = view->dtype,
                                             .rank = 2,
                                             .shape = shape,
                                             .strides = view->strides,
                                             .data = &memory[view->first]}};
  return FC_OK;
}

static void so_is_one_in_a_strided_result(void **state) {
  (void)state;
  fc_backend_t viewer = fc_backend_echo;
  viewer.call = give_view;
  FC_TEST_EACH_ROW(const view_row_t, row, views) {
    fc_test_call_t call;
    fc_error_t err;
    view = row;
    fc_test_call_init(&call, "any -> any", NULL);
    fc_frame_set_guard(call.frame, true);
    assert_int_equal(fc_test_call_decode(&call, FC_STR("[null]"), &err), FC_OK);
    fc_status_t status =
        fc_frame_invoke(call.frame, &viewer, &call.echo, 0, NULL, 0, &err);
    assert_int_equal(status, row->refused ? FC_OUT_OF_RANGE : FC_OK);
    fc_test_call_deinit(&call);
  }
}

// ---------------------------------------------------------------------------
// Memory

// A sink of fixed size, which refuses what does not fit.
static fc_status_t full(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)sink;
  (void)need;
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE, "the test's sink is full");
}

static fc_status_t trip(fc_frame_t *frame, const fc_plan_t *plan,
                        fc_echo_t *echo, fc_str_t body, fc_sink_t *sink,
                        fc_error_t *err) {
  fc_frame_begin(frame, plan, NULL);
  FC_TRY(fc_frame_decode(frame, body, err));
  FC_TRY(fc_frame_invoke(frame, &fc_backend_echo, echo, 0, NULL, 0, err));
  FC_TRY(fc_frame_encode(frame, sink, err));
  fc_frame_end(frame);
  return FC_OK;
}

#define BUSY                                                          \
  "x: tensor<Nx2xf32>, y: {a: i8, b: [(i64, str)]}, z: any, "         \
  "out tensor<4xf64>, w: ref<?x?xi8> -> tensor<Nx2xf32>, {a: i8, b: " \
  "[(i64, str)]}, any"
static const char busy_body[] =
    "{\"args\":[[[1,2],[3,4]]],\"kwargs\":{\"w\":[[1,2],[3,4]],"
    "\"y\":{\"\\u0062\":[[1,\"\\n\"],[2,\"b\"]],\"a\":1},"
    "\"z\":{\"list\":[{\"data\":[1,2],\"shape\":[2],\"dtype\":\"i8\"},"
    "{\"bytes\":{\"b64\":\"aG\\u006b=\"}}]}},"
    "\"options\":{\"results\":\"typed\",\"int64\":\"string\"}}";

static void a_warm_small_call_allocates_nothing(void **state) {
  (void)state;
  fc_test_allocator_t counter;
  fc_allocator_t allocator = fc_test_allocator_init(&counter, 0);
  fc_error_t err;
  fc_signature_t *signature = fc_test_signature(fc_allocator_system(), BUSY);
  fc_echo_t echo = {.info = {.signatures = &signature, .count = 1}};
  fc_plan_t *plan;
  fc_frame_t *frame;
  assert_int_equal(fc_plan_create(signature, allocator, &plan, &err), FC_OK);
  assert_int_equal(atomic_load(&counter.allocated), 1);
  assert_int_equal(fc_frame_create(allocator, NULL, &frame, &err), FC_OK);
  size_t warm = 0;
  for (int i = 0; i < 5; i++) {
    char answer[1024];
    fc_sink_t sink = {answer, answer + sizeof answer, full};
    if (trip(frame, plan, &echo, fc_str(busy_body), &sink, &err)) {
      fail_msg("%s", err.message);
    }
    if (i == 0) warm = atomic_load(&counter.allocated);
  }
  assert_int_equal(atomic_load(&counter.allocated), warm);
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  assert_int_equal(atomic_load(&counter.live), 0);
  fc_signature_destroy(signature);
}

static fc_status_t whole_life(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  fc_signature_t *signature = context;
  fc_echo_t echo = {.info = {.signatures = &signature, .count = 1}};
  fc_plan_t *plan = NULL;
  fc_frame_t *frame = NULL;
  fc_text_t text;
  fc_text_init(&text, allocator, 1 << 20);
  fc_status_t status = fc_plan_create(signature, allocator, &plan, err);
  if (status == FC_OK) status = fc_frame_create(allocator, NULL, &frame, err);
  if (status == FC_OK) {
    status = trip(frame, plan, &echo, fc_str(busy_body), &text.sink, err);
  }
  fc_text_deinit(&text);
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  assert_int_equal(echo.open_calls, 0);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  fc_signature_t *signature = fc_test_signature(fc_allocator_system(), BUSY);
  // At least the plan, the frame, two arenas and the answer are allocated.
  assert_true(fc_test_allocation_sweep(whole_life, signature) >= 5);
  fc_signature_destroy(signature);
}

// The bytes in use, and the most that ever were in use.
typedef struct meter_t {
  size_t live;
  size_t peak;
} meter_t;

#define METER_HEAD 64

static void *meter_allocate(void *context, size_t size, size_t alignment) {
  (void)alignment;
  meter_t *meter = context;
  fc_allocator_t system = fc_allocator_system();
  char *block = system.allocate(system.context, size + METER_HEAD, 64);
  if (!block) return NULL;
  memcpy(block, &size, sizeof size);
  meter->live += size;
  if (meter->live > meter->peak) meter->peak = meter->live;
  return block + METER_HEAD;
}

static void meter_release(void *context, void *memory) {
  meter_t *meter = context;
  fc_allocator_t system = fc_allocator_system();
  size_t size;
  memcpy(&size, (char *)memory - METER_HEAD, sizeof size);
  meter->live -= size;
  system.release(system.context, (char *)memory - METER_HEAD);
}

typedef struct bound_row_t {
  const char *name;
  const char *types;
  const char *head;
  const char *piece;  // repeated
  const char *tail;
  fc_code_t code;  // what decoding says
} bound_row_t;

static const bound_row_t bounds[] = {
    {"dense doubles", "tensor<?xf64> ->", "[[0", ",0", "]]", FC_CODE_NONE},
    {"doubles, static", "tensor<1000000x1000000xf64> ->", "[[[0", ",0", "]]]",
     FC_CODE_SHAPE_MISMATCH},
    {"rows", "tensor<?x?xf64> ->", "[[[0]", ",[0]", "]]", FC_CODE_NONE},
    {"complex", "tensor<?xcomplex<f64>> ->", "[[[0,0]", ",[0,0]", "]]",
     FC_CODE_NONE},
    {"complex rows", "tensor<?x1xcomplex<f64>> ->", "[[[[0,0]]", ",[[0,0]]",
     "]]", FC_CODE_NONE},
    {"unranked", "tensor<*xf64> ->", "[[[0]", ",[0]", "]]", FC_CODE_NONE},
    {"promised", "tensor<?xf64> ->", "[{\"shape\":[33000000],\"data\":[0", ",0",
     "]}]", FC_CODE_DATA_LENGTH},
    {"promised last", "tensor<?xf64> ->", "[{\"data\":[0", ",0",
     "],\"shape\":[33000000]}]", FC_CODE_DATA_LENGTH},
    {"promised in base64", "tensor<?xf64> ->",
     "[{\"shape\":[33000000],\"b64\":\"", "AAAA", "\"}]", FC_CODE_DATA_LENGTH},
    {"many tensors", "[tensor<?xf64>] ->",
     "[[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
     ",[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]", "]]",
     FC_CODE_NONE},
    {"text", "str ->", "[\"", "a", "\"]", FC_CODE_NONE},
    {"escaped base64", "tensor<?xui8> ->", "[{\"shape\":[5],\"b64\":\"",
     "\\/\\/\\/\\/", "\"}]", FC_CODE_DATA_LENGTH},
};

static void memory_is_bound_by_the_body(void **state) {
  (void)state;
  const size_t size = 1 << 20;
  char *body = malloc(size + 200);
  assert_non_null(body);
  FC_TEST_EACH_ROW(const bound_row_t, row, bounds) {
    size_t used = strlen(row->head), step = strlen(row->piece);
    memcpy(body, row->head, used);
    for (; used + step <= size; used += step) {
      memcpy(body + used, row->piece, step);
    }
    memcpy(body + used, row->tail, strlen(row->tail));
    used += strlen(row->tail);
    fc_signature_t *signature =
        fc_test_signature(fc_allocator_system(), row->types);
    meter_t meter = {0};
    fc_allocator_t allocator = {&meter, meter_allocate, meter_release};
    fc_plan_t *plan;
    fc_frame_t *frame;
    fc_error_t err;
    fc_limits_t limits = fc_limits_default();
    limits.tensor_elements = SIZE_MAX;
    limits.tensor_size = SIZE_MAX;
    assert_int_equal(fc_plan_create(signature, allocator, &plan, &err), FC_OK);
    assert_int_equal(fc_frame_create(allocator, &limits, &frame, &err), FC_OK);
    fc_frame_begin(frame, plan, NULL);
    fc_error_reset(&err);
    (void)fc_frame_decode(frame, fc_str_make(body, used), &err);
    assert_string_equal(fc_code_info(err.code)->text,
                        fc_code_info(row->code)->text);
    if (meter.peak > 8 * used) {
      fail_msg("%zu bytes for a body of %zu", meter.peak, used);
    }
    fc_frame_destroy(frame);
    fc_plan_destroy(plan);
    fc_signature_destroy(signature);
    assert_int_equal(meter.live, 0);
  }
  free(body);
}

// ---------------------------------------------------------------------------
// Placing tensors

typedef struct placed_t {
  uint32_t leaf;
  fc_dtype_t dtype;
  size_t size;
  size_t kept;
} placed_t;

typedef struct places_t {
  placed_t list[8];
  size_t count;
  size_t fail_at;
  _Alignas(64) char memory[4096];
  size_t used;
} places_t;

static void *place(void *context, uint32_t leaf, fc_dtype_t dtype,
                   size_t size) {
  places_t *places = context;
  if (places->count == places->fail_at) return NULL;
  assert_true(places->used + size <= sizeof places->memory);
  places->list[places->count++] = (placed_t){leaf, dtype, size, SIZE_MAX};
  return places->memory + places->used;
}

static void commit(void *context, void *memory, size_t placed, size_t size) {
  places_t *places = context;
  placed_t *last = &places->list[places->count - 1];
  assert_ptr_equal(memory, places->memory + places->used);
  assert_int_equal(placed, last->size);
  assert_true(size <= placed);
  last->kept = size;
  places->used += (size + 63) / 64 * 64;
}

static void tensors_lie_where_they_are_placed(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call,
                    "tensor<2xi16>, tensor<?xf32>, str, tensor<0xi8>, "
                    "out tensor<3xi8> ->",
                    NULL);
  places_t places = {.fail_at = 99};
  const fc_placer_t placer = {&places, place, commit, NULL};
  fc_error_t err;
  fc_str_t body = FC_STR("[[1,2],[3,4,5],\"a\\n\",[]]");
  fc_frame_begin(call.frame, call.plan, &placer);
  assert_int_equal(fc_frame_decode(call.frame, body, &err), FC_OK);
  const placed_t expected[] = {
      {0, FC_DTYPE_I16, 4, 4},
      {1, FC_DTYPE_F32, 4 * (17 / 2 + 1), 12},
      {2, FC_DTYPE_UI8, 3, 2},
      {4, FC_DTYPE_I8, 3, 3},  // leaf 3 has no elements
  };
  assert_int_equal(places.count, FC_ARRAY_COUNT(expected));
  for (size_t i = 0; i < FC_ARRAY_COUNT(expected); i++) {
    assert_int_equal(places.list[i].leaf, expected[i].leaf);
    assert_int_equal(places.list[i].dtype, expected[i].dtype);
    assert_int_equal(places.list[i].size, expected[i].size);
    assert_int_equal(places.list[i].kept, expected[i].kept);
  }
  size_t count;
  const fc_value_t *values = fc_frame_arguments(call.frame, &count);
  assert_int_equal(count, 5);
  assert_ptr_equal(values[0].tensor.data, places.memory);
  assert_ptr_equal(values[1].tensor.data, places.memory + 64);
  fc_test_call_deinit(&call);
}

static void a_placer_may_fail(void **state) {
  (void)state;
  for (size_t number = 0; number < 4; number++) {
    fc_test_call_t call;
    fc_test_call_init(&call, "tensor<2xi16>, str, any, out tensor<3xi8> ->",
                      NULL);
    places_t places = {.fail_at = number};
    const fc_placer_t placer = {&places, place, commit, NULL};
    fc_error_t err;
    fc_str_t body = FC_STR("[[1,2],\"a\",{\"bytes\":\"b\"}]");
    fc_frame_begin(call.frame, call.plan, &placer);
    assert_int_not_equal(fc_frame_decode(call.frame, body, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_OUT_OF_MEMORY);
    fc_test_call_deinit(&call);
  }
}

// ---------------------------------------------------------------------------
// Calls

static void a_failed_call_is_ended(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "i8 -> i8", NULL);
  call.echo.fail_with = FC_OUT_OF_RANGE;
  char answer[64];
  fc_error_t err;
  assert_int_equal(
      fc_test_call_echo(&call, FC_STR("[1]"), answer, sizeof answer, &err),
      FC_OUT_OF_RANGE);
  assert_int_equal(err.code, FC_CODE_CALL_FAILED);
  assert_int_equal(call.echo.open_calls, 1);
  fc_frame_end(call.frame);
  fc_frame_end(call.frame);
  assert_int_equal(call.echo.open_calls, 0);
  call.echo.fail_with = FC_OK;
  assert_int_equal(
      fc_test_call_echo(&call, FC_STR("[1]"), answer, sizeof answer, &err),
      FC_OK);
  fc_frame_begin(call.frame, call.plan, NULL);
  assert_int_equal(call.echo.open_calls, 0);
  fc_test_call_deinit(&call);
}

static void arguments_may_be_set_instead_of_decoded(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "i8, out tensor<2xi8> -> i8", NULL);
  fc_frame_begin(call.frame, call.plan, NULL);
  size_t count;
  fc_value_t *values = fc_frame_arguments(call.frame, &count);
  assert_int_equal(count, 2);
  assert_int_equal(values[0].kind, FC_VALUE_NULL);
  values[0] = (fc_value_t){
      .kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I8, .scalar = {.i8 = 9}};
  fc_error_t err;
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 0,
                                   NULL, 0, &err),
                   FC_OK);
  const fc_value_t *results = fc_frame_results(call.frame, &count);
  assert_int_equal(count, 2);
  assert_int_equal(results[0].scalar.i8, 9);
  assert_int_equal(results[1].tensor.shape[0], 2);
  fc_test_call_deinit(&call);
}

typedef struct set_row_t {
  const char *name;
  const char *types;
  fc_value_t values[2];
  fc_code_t code;  // FC_CODE_NONE: called
  const char *message;
} set_row_t;

#define SET_TENSOR(dtype_, rank_, shape_) \
  {                                       \
    .kind = FC_VALUE_TENSOR, .tensor = {  \
      FC_DTYPE_##dtype_,                  \
      rank_,                              \
      shape_,                             \
      NULL,                               \
      set_data                            \
    }                                     \
  }
static float set_data[8];
static const int64_t shape_2x3[] = {2, 3}, shape_3x1[] = {3, 1},
                     shape_2x1[] = {2, 1}, shape_negative[] = {2, -1};

static const set_row_t sets[] = {
    {"matmul",
     "x: tensor<MxKxf32>, y: tensor<KxNxf32> ->",
     {SET_TENSOR(F32, 2, shape_2x3), SET_TENSOR(F32, 2, shape_3x1)},
     FC_CODE_NONE,
     NULL},
    {"inner dims",
     "x: tensor<MxKxf32>, y: tensor<KxNxf32> ->",
     {SET_TENSOR(F32, 2, shape_2x3), SET_TENSOR(F32, 2, shape_2x1)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 1 ('y'): dim 0 is 2, dim 1 of argument 0 ('x') is 3: both are "
     "'K'"},
    {"static dim",
     "tensor<2x4xf32>, i8 ->",
     {SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0: dim 1 is 3, its type says 4"},
    {"rank",
     "tensor<?xf32>, i8 ->",
     {SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0: 2 dims, its type has 1"},
    {"dtype",
     "tensor<?x?xf64>, i8 ->",
     {SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_DTYPE_MISMATCH,
     "argument 0: elements of f32, its type has f64"},
    {"kind",
     "tensor<?x?xf64>, i8 ->",
     {{.kind = FC_VALUE_NULL}},
     FC_CODE_TYPE_MISMATCH,
     "argument 0: expected a tensor"},
    {"scalar left out",
     "tensor<?x?xf32>, i8 ->",
     {SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_TYPE_MISMATCH,
     "argument 1: expected i8"},
    {"no memory",
     "tensor<?x?xf32>, i8 ->",
     {{.kind = FC_VALUE_TENSOR,
       .tensor = {FC_DTYPE_F32, 2, shape_2x3, NULL, NULL}}},
     FC_CODE_DATA_LENGTH,
     "argument 0: no memory for 6 elements"},
    {"a negative dim",
     "tensor<?x?xf32>, i8 ->",
     {SET_TENSOR(F32, 2, shape_negative)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0: a dim is negative, or the elements are more than memory "
     "can hold"},
    {"a rank beyond all",
     "any, i8 ->",
     {SET_TENSOR(F32, 33, shape_2x3)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0: 33 dims, at most 32 can be"},
    {"no element type",
     "tensor<?x?x_>, i8 ->",
     {SET_TENSOR(NONE, 2, shape_2x3)},
     FC_CODE_DTYPE_MISMATCH,
     "argument 0: elements of no type, its type has any"},
    {"out of another shape",
     "i8, out y: tensor<2x1xf32> ->",
     {{.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I8},
      SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_SHAPE_MISMATCH,
     "argument 1 ('y'): dim 1 is 3, its type says 1"},
    {"in a tree",
     "root {a: tensor<2x4xf32>@0, b: i8@1} ->",
     {SET_TENSOR(F32, 2, shape_2x3),
      {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I8}},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0 ('a'): dim 1 is 3, its type says 4"},
    {"below an argument",
     "root ((i8@1, tensor<2x4xf32>@0)) ->",
     {SET_TENSOR(F32, 2, shape_2x3),
      {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I8}},
     FC_CODE_SHAPE_MISMATCH,
     "argument 0: dim 1 is 3, its type says 4"},
    {"out sized by what was set",
     "tensor<?xNxf32>, out tensor<NxNxi8> ->",
     {SET_TENSOR(F32, 2, shape_2x3)},
     FC_CODE_NONE,
     NULL},
};

static void arguments_that_were_set_are_checked(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const set_row_t, row, sets) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    size_t count;
    fc_value_t *values = fc_frame_arguments(call.frame, &count);
    for (size_t i = 0; i < 2; i++) values[i] = row->values[i];
    fc_error_t err = {0};
    fc_status_t status = fc_frame_invoke(call.frame, &fc_backend_echo,
                                         &call.echo, 0, NULL, 0, &err);
    assert_int_equal(err.code, row->code);
    assert_int_equal(status == FC_OK, row->code == FC_CODE_NONE);
    if (row->message) assert_string_equal(err.message, row->message);
    assert_int_equal(call.echo.calls, row->code == FC_CODE_NONE);
    fc_test_call_deinit(&call);
  }
}

// ---------------------------------------------------------------------------
// Mistakes of the frame's user

static void a_frame_calls_what_it_was_begun_for(void **state) {
  (void)state;
  fc_test_call_t call, other;
  fc_error_t err;
  fc_test_call_init(&call, "i8 -> i8", NULL);
  fc_test_call_init(&other, "i8, i8 -> i8", NULL);
  assert_int_equal(fc_test_call_decode(&call, FC_STR("[1]"), &err), FC_OK);
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 1,
                                   NULL, 0, &err),
                   FC_INTERNAL);
  assert_string_equal(err.message, "function 1 of a module of 1");
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &other.echo, 0,
                                   NULL, 0, &err),
                   FC_INTERNAL);
  assert_string_equal(err.message, "the frame was begun for another function");
  assert_int_equal(call.echo.calls + other.echo.calls, 0);
  fc_frame_end(call.frame);
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 0,
                                   NULL, 0, &err),
                   FC_INTERNAL);
  assert_string_equal(err.message, "the frame was not begun");
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 100);
  assert_int_equal(fc_frame_encode(call.frame, &text.sink, &err), FC_INTERNAL);
  assert_int_equal(fc_frame_decode(call.frame, FC_STR("[1]"), &err),
                   FC_INTERNAL);
  fc_text_deinit(&text);
  fc_test_call_deinit(&call);
  fc_test_call_deinit(&other);
}

static void a_second_call_ends_the_first(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_error_t err;
  fc_test_call_init(&call, "i8 -> i8", NULL);
  assert_int_equal(fc_test_call_decode(&call, FC_STR("[1]"), &err), FC_OK);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo,
                                     0, NULL, 0, &err),
                     FC_OK);
    assert_int_equal(call.echo.calls, i + 1);
    assert_int_equal(call.echo.open_calls, 1);
  }
  fc_test_call_deinit(&call);
}

typedef struct given_row_t {
  const char *name;
  const char *types;
  fc_dtype_t dtype;
  const int64_t *strides;
  size_t offset;  // bytes from a multiple of 64
  bool copied;
} given_row_t;

static const int64_t every_other[] = {6, 2}, dense_2x3[] = {3, 1};

static const given_row_t given[] = {
    {"dense", "tensor<2x3xi16> -> any", FC_DTYPE_I16, NULL, 0, false},
    {"dense by its strides", "tensor<2x3xi16> -> any", FC_DTYPE_I16, dense_2x3,
     64, false},
    {"strided", "tensor<2x3xi16> -> any", FC_DTYPE_I16, every_other, 0, true},
    {"not aligned", "tensor<2x3xi16> -> any", FC_DTYPE_I16, NULL, 32, true},
    {"of an unknown type", "any -> any", FC_DTYPE_I8, NULL, 1, true},
};

// Code may depend on an alignment and on dense elements. A tensor without them is
// copied.
static void a_tensor_is_copied_where_code_needs_another(void **state) {
  (void)state;
  _Alignas(64) static uint8_t memory[256];
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)i;
  FC_TEST_EACH_ROW(const given_row_t, row, given) {
    fc_test_call_t call;
    fc_error_t err;
    fc_test_call_init(&call, row->types, NULL);
    fc_frame_begin(call.frame, call.plan, NULL);
    size_t count;
    fc_value_t *values = fc_frame_arguments(call.frame, &count);
    uint8_t *data = memory + row->offset;
    values[0] = (fc_value_t){.kind = FC_VALUE_TENSOR,
                             .tensor = {.dtype = row->dtype,
                                        .rank = 2,
                                        .shape = shape_2x3,
                                        .strides = row->strides,
                                        .data = data}};
    uint8_t wanted[16] = {0};
    fc_tensor_gather(&values[0].tensor, wanted);
    assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo,
                                     0, NULL, 0, &err),
                     FC_OK);
    const fc_tensor_t *got = &fc_frame_results(call.frame, &count)->tensor;
    assert_int_equal(got->data != data, row->copied);
    assert_int_equal((uintptr_t)got->data % 64, 0);
    assert_true(fc_tensor_is_dense(got));
    assert_memory_equal(got->data, wanted, 6 * fc_dtype_size(row->dtype));
    fc_test_call_deinit(&call);
  }
}

static void an_error_leaves_the_frame_usable(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_test_call_init(&call, "{a: [(i8, i8)]} -> {a: [(i8, i8)]}", NULL);
  char answer[64];
  fc_error_t err;
  static const char *const wrong[] = {
      "",
      "[",
      "[{\"a\":[[1,2],[3",
      "[{\"a\":[[1,2],[3,300]]}]",
      "[{\"a\":[[1,2]],\"b\":1}]",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(wrong); i++) {
    assert_int_not_equal(
        fc_test_call_echo(&call, fc_str(wrong[i]), answer, sizeof answer, &err),
        FC_OK);
    assert_int_equal(fc_test_call_echo(&call, FC_STR("[{\"a\":[[1,2]]}]"),
                                       answer, sizeof answer, &err),
                     FC_OK);
    assert_string_equal(answer, "{\"results\":[{\"a\":[[1,2]]}]}");
  }
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_come_back),
      FC_TEST(a_call_has_only_its_own_options),
      FC_TEST(a_float_from_behind_a_tensor_is_refused),
      FC_TEST(a_float_that_was_sent_excuses_its_own_call_only),
      FC_TEST(so_is_one_in_a_strided_result),
      FC_TEST(a_guarded_tensor_goes_with_its_call),
      FC_TEST(a_warm_small_call_allocates_nothing),
      FC_TEST(every_allocation_may_fail),
      FC_TEST(memory_is_bound_by_the_body),
      FC_TEST(tensors_lie_where_they_are_placed),
      FC_TEST(a_placer_may_fail),
      FC_TEST(a_failed_call_is_ended),
      FC_TEST(arguments_may_be_set_instead_of_decoded),
      FC_TEST(arguments_that_were_set_are_checked),
      FC_TEST(a_frame_calls_what_it_was_begun_for),
      FC_TEST(a_second_call_ends_the_first),
      FC_TEST(a_tensor_is_copied_where_code_needs_another),
      FC_TEST(an_error_leaves_the_frame_usable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
