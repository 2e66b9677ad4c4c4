// SPDX-License-Identifier: Apache-2.0
//
// Tensors of unknown size: their memory grows with them, whatever follows them in the
// document, and the number of such tensors in a call is limited.
#include "marshal/fill.h"

#include "helpers/call.h"
#include "helpers/test.h"
#include "marshal/frame.h"

// Counts the bytes that it allocates.
static void *count_bytes(void *context, size_t size, size_t alignment) {
  *(size_t *)context += size;
  const fc_allocator_t system = fc_allocator_system();
  return system.allocate(system.context, size, alignment);
}

static void release(void *context, void *memory) {
  (void)context;
  const fc_allocator_t system = fc_allocator_system();
  system.release(system.context, memory);
}

// Writes `head`, `count` times `element` with commas between them in brackets, and
// `tail`.
static fc_str_t repeat(fc_text_t *text, const char *head, const char *element,
                       size_t count, const char *tail) {
  fc_text_init(text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(fc_sink_put(&text->sink, fc_str(head), NULL), FC_OK);
  for (size_t i = 0; i < count; i++) {
    if (i) assert_int_equal(fc_sink_put(&text->sink, FC_STR(","), NULL), FC_OK);
    assert_int_equal(fc_sink_put(&text->sink, fc_str(element), NULL), FC_OK);
  }
  assert_int_equal(fc_sink_put(&text->sink, fc_str(tail), NULL), FC_OK);
  return fc_text_str(text);
}

typedef struct many_row_t {
  const char *name;
  const char *types;
  const char *element;
} many_row_t;

static const many_row_t many[] = {
    {"rows", "[tensor<?xf32>] ->", "[1,2]"},
    {"matrices", "[tensor<?x2xf64>] ->", "[[1,2]]"},
    {"empty ones", "[tensor<?xi8>] ->", "[]"},
    {"of any rank", "[tensor<*xi8>] ->", "[[1],[2]]"},
    {"complex", "[tensor<?xcomplex<f32>>] ->", "[[1,2]]"},
};

// 20,000 tensors of up to 64 bytes. The memory for them and their values is
// proportional to their number.
static void many_small_tensors_take_little_memory(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  FC_TEST_EACH_ROW(const many_row_t, row, many) {
    fc_test_call_t call;
    fc_text_t body;
    size_t bytes = 0;
    fc_error_t err;
    fc_test_call_init(&call, row->types, NULL);
    fc_frame_destroy(call.frame);
    const fc_allocator_t counting = {&bytes, count_bytes, release};
    assert_int_equal(fc_frame_create(counting, NULL, &call.frame, &err), FC_OK);
    const fc_status_t status = fc_test_call_decode(
        &call, repeat(&body, "[[", row->element, COUNT, "]]"), &err);
    assert_int_equal(status, FC_OK);
    // For each tensor: 64 bytes of elements, 56 of its value, and the copies that are
    // made when the list of values grows. count_bytes never subtracts freed memory.
    assert_in_range(bytes, 0, (size_t)COUNT * 400 + (1 << 17));
    fc_text_deinit(&body);
    fc_test_call_deinit(&call);
  }
}

typedef struct grown_row_t {
  const char *name;
  const char *types;
  const char *element;
  size_t element_size;  // of what `element` says
} grown_row_t;

static const grown_row_t grown[] = {
    {"bytes", "tensor<?xi8> ->", "7", 1},
    {"doubles", "tensor<?xf64> ->", "7.5", 8},
    {"complex", "tensor<?xcomplex<f64>> ->", "[7.5,7.5]", 16},
    {"rows", "tensor<?x3xi16> ->", "[1799,1799,1799]", 6},
    {"rows of any length", "tensor<?x?xi32> ->", "[117901063,117901063]", 8},
};

// Sizes around those at which the memory is extended or moved.
static void elements_stay_when_memory_grows(void **state) {
  (void)state;
  static const size_t counts[] = {1,    85,   86,    255,   256,
                                  257,  2047, 2049,  16384, 16385,
                                  9000, 1000, 40000, 131073};
  FC_TEST_EACH_ROW(const grown_row_t, row, grown) {
    for (size_t i = 0; i < FC_ARRAY_COUNT(counts); i++) {
      fc_test_call_t call;
      fc_text_t body;
      fc_error_t err;
      size_t values;
      fc_test_call_init(&call, row->types, NULL);
      const fc_status_t status = fc_test_call_decode(
          &call, repeat(&body, "[[", row->element, counts[i], "]]"), &err);
      assert_int_equal(status, FC_OK);
      const fc_tensor_t *tensor =
          &fc_frame_arguments(call.frame, &values)->tensor;
      assert_int_equal(tensor->shape[0], counts[i]);
      const size_t size = counts[i] * row->element_size;
      const uint8_t *data = tensor->data;
      for (size_t at = 0; at < size; at += row->element_size) {
        assert_memory_equal(data + at, data, row->element_size);
      }
      fc_text_deinit(&body);
      fc_test_call_deinit(&call);
    }
  }
}

static void a_call_has_so_many_tensors(void **state) {
  (void)state;
  fc_limits_t limits = fc_limits_default();
  limits.tensors = 3;
  static const fc_test_decode_row_t rows[] = {
      {"as many", "[tensor<?xi8>] ->", "[[[1],[],[2]]]",
       "(1xi8[1], 0xi8[], 1xi8[2])", FC_CODE_NONE, NULL, NULL},
      {"one more", "[tensor<?xi8>] ->", "[[[1],[],[2],^[3]]]", NULL,
       FC_CODE_TENSOR_TOO_LARGE, "/0/3",
       "argument 0: tensor 4 of the call: the limit is 3 tensors and byte "
       "strings"},
      {"byte strings", "[bytes] ->", "[[\"\",\"\",\"\",^\"a\"]]", NULL,
       FC_CODE_TENSOR_TOO_LARGE, "/0/3", NULL},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_decode_row(&rows[i], &limits);
  }
}

// A process may have 65,530 mappings, so 40,000 tensors cannot each have a guard page.
static void many_guarded_tensors_share_a_mapping(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_text_t body;
  fc_error_t err;
  size_t count;
  fc_test_call_init(&call, "[tensor<?xf32>] -> [tensor<?xf32>]", NULL);
  fc_frame_set_guard(call.frame, true);
  assert_int_equal(fc_test_call_decode(
                       &call, repeat(&body, "[[", "[1,2]", 40000, "]]"), &err),
                   FC_OK);
  assert_int_equal(fc_frame_invoke(call.frame, &fc_backend_echo, &call.echo, 0,
                                   NULL, 0, &err),
                   FC_OK);
  const fc_value_t *list = fc_frame_arguments(call.frame, &count);
  static const float expected[] = {1, 2};
  for (size_t i = 0; i < list->list.count; i++) {
    const fc_tensor_t *tensor = &list->list.items[i].tensor;
    assert_memory_equal(tensor->data, expected, sizeof expected);
    assert_int_equal((uintptr_t)tensor->data % 64, 0);
    // The bytes after the tensor are filler, not another tensor's.
    const uint8_t *behind = (const uint8_t *)tensor->data + sizeof expected;
    for (size_t k = 0; k < 56; k++) assert_int_equal(behind[k], 0xFF);
  }
  fc_text_deinit(&body);
  fc_test_call_deinit(&call);
}

// A number that only fits the other sign of the type is accepted, and no error is
// written for it.
static void a_change_of_sign_makes_no_error(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_text_t body;
  fc_error_t err;
  size_t values;
  fc_test_call_init(&call, "inferred tensor<?xi8> ->", NULL);
  call.frame->fill.why.code = FC_CODE_NONE;
  assert_int_equal(fc_test_call_decode(
                       &call, repeat(&body, "[[", "-1,200", 5000, "]]"), &err),
                   FC_OK);
  const uint8_t *data = fc_frame_arguments(call.frame, &values)->tensor.data;
  for (size_t i = 0; i < 10000; i += 2) {
    assert_int_equal(data[i], 255);
    assert_int_equal(data[i + 1], 200);
  }
  assert_int_equal(call.frame->fill.why.code, FC_CODE_NONE);
  fc_text_deinit(&body);
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(many_small_tensors_take_little_memory),
      FC_TEST(elements_stay_when_memory_grows),
      FC_TEST(a_call_has_so_many_tensors),
      FC_TEST(many_guarded_tensors_share_a_mapping),
      FC_TEST(a_change_of_sign_makes_no_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
