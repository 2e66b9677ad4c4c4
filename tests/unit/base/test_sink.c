// SPDX-License-Identifier: Apache-2.0
//
// The growing text sink: its contents, its limit, failing allocations.
#include "helpers/test.h"

#include <stdlib.h>

static void everything_put_is_kept(void **state) {
  (void)state;
  fc_text_t text;
  fc_error_t err;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(fc_text_str(&text).size, 0);
  for (int round = 0; round < 2; round++) {
    size_t total = 0;
    for (size_t size = 0; size < 300; size++) {
      char piece[300];
      memset(piece, (int)('a' + size % 26), size);
      assert_int_equal(fc_sink_put(&text.sink, fc_str_make(piece, size), &err),
                       FC_OK);
      total += size;
      assert_int_equal(fc_text_str(&text).size, total);
    }
    const char *p = text.data;
    for (size_t size = 0; size < 300; size++) {
      for (size_t i = 0; i < size; i++) {
        assert_int_equal(*p++, 'a' + size % 26);
      }
    }
    fc_text_reset(&text);
    assert_int_equal(fc_text_str(&text).size, 0);
  }
  fc_text_deinit(&text);
  fc_text_deinit(&text);
  assert_int_equal(fc_text_str(&text).size, 0);
}

static void the_limit_holds_to_the_byte(void **state) {
  (void)state;
  static const size_t limits[] = {0, 1, 10, 255, 256, 257, 1000, 5000};
  for (size_t i = 0; i < FC_ARRAY_COUNT(limits); i++) {
    for (size_t piece = 1; piece < 40; piece += 13) {
      char bytes[40] = {0};
      fc_text_t text;
      fc_error_t err;
      fc_status_t status = FC_OK;
      size_t count = 0;
      fc_text_init(&text, fc_allocator_system(), limits[i]);
      while (status == FC_OK) {
        status = fc_sink_put(&text.sink, fc_str_make(bytes, piece), &err);
        count += status == FC_OK;
      }
      assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
      assert_int_equal(count, limits[i] / piece);
      assert_int_equal(fc_text_str(&text).size, count * piece);
      fc_text_deinit(&text);
    }
  }
}

static fc_status_t put_much(fc_allocator_t allocator, void *context,
                            fc_error_t *err) {
  (void)context;
  fc_text_t text;
  fc_status_t status = FC_OK;
  fc_text_init(&text, allocator, SIZE_MAX);
  for (size_t i = 0; i < 1000 && status == FC_OK; i++) {
    status = fc_sink_put(&text.sink, FC_STR("0123456789"), err);
    // What was written before the failure is still there.
    assert_int_equal(fc_text_str(&text).size, 10 * (i + (status == FC_OK)));
  }
  fc_text_deinit(&text);
  return status;
}

static void it_survives_failing_allocations(void **state) {
  (void)state;
  // The block starts with 256 bytes and doubles, so a few allocations are enough.
  assert_in_range(fc_test_allocation_sweep(put_much, NULL), 2, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(everything_put_is_kept),
      FC_TEST(the_limit_holds_to_the_byte),
      FC_TEST(it_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
