// SPDX-License-Identifier: Apache-2.0
//
// Compresses and inflates bytes, and what is refused: damaged data, bombs, data that
// ends too early. The formats themselves are tested by zlib's own tests.
#include "base/inflate.h"

#include <stdlib.h>

#include "helpers/test.h"

static fc_text_t pack(fc_coding_t coding, fc_str_t bytes, size_t step) {
  fc_text_t text;
  fc_deflate_t packer;
  bool packed = false;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(
      fc_deflate_init(&packer, coding, &text.sink, fc_allocator_system(), NULL),
      FC_OK);
  for (size_t at = 0; at < bytes.size; at += step) {
    const size_t rest = bytes.size - at;
    const fc_str_t piece =
        fc_str_make(bytes.data + at, rest < step ? rest : step);
    assert_int_equal(fc_sink_put(&packer.sink, piece, NULL), FC_OK);
  }
  assert_int_equal(fc_deflate_finish(&packer, &packed, NULL), FC_OK);
  fc_deflate_deinit(&packer);
  assert_int_equal(packed, bytes.size >= FC_DEFLATE_LEAST);
  return text;
}

static fc_str_t make(size_t size) {
  char *bytes = malloc(size + 1);
  assert_non_null(bytes);
  for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * i >> 7);
  return fc_str_make(bytes, size);
}

static void bytes_come_back(void **state) {
  (void)state;
  static const fc_coding_t codings[] = {FC_CODING_GZIP, FC_CODING_DEFLATE,
                                        FC_CODING_RAW};
  static const struct {
    size_t size;
    size_t step;  // bytes put at once
  } rows[] = {{1024, 7},        {1025, 1025},      {16 << 10, 1 << 10},
              {100000, 100000}, {300000, 65536},   {5 << 20, 4096},
              {1 << 20, 1},     {70000, 16 << 10}, {40000, 39999}};
  for (size_t c = 0; c < FC_ARRAY_COUNT(codings); c++) {
    for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
      const fc_str_t bytes = make(rows[i].size);
      fc_text_t packed = pack(codings[c], bytes, rows[i].step), back;
      fc_text_init(&back, fc_allocator_system(), SIZE_MAX);
      assert_int_equal(fc_inflate(codings[c], fc_text_str(&packed), bytes.size,
                                  &back, NULL, NULL),
                       FC_OK);
      assert_true(fc_str_equal(fc_text_str(&back), bytes));
      fc_text_deinit(&back);
      fc_text_deinit(&packed);
      free((void *)(uintptr_t)bytes.data);
    }
  }
}

static void little_is_not_packed(void **state) {
  (void)state;
  const fc_str_t bytes = make(FC_DEFLATE_LEAST - 1);
  fc_text_t text = pack(FC_CODING_GZIP, bytes, 10);
  assert_true(fc_str_equal(fc_text_str(&text), bytes));
  fc_text_deinit(&text);
  free((void *)(uintptr_t)bytes.data);
}

static fc_code_t refuse(fc_coding_t coding, fc_str_t packed, size_t limit) {
  fc_text_t text;
  fc_error_t err;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  const fc_status_t status =
      fc_inflate(coding, packed, limit, &text, NULL, &err);
  // At most `limit` bytes are written, and one more, by which an excess is noticed.
  assert_true(fc_text_str(&text).size <= limit + 1);
  fc_text_deinit(&text);
  return status == FC_OK ? FC_CODE_NONE : err.code;
}

static void damage_is_refused(void **state) {
  (void)state;
  const fc_str_t bytes = make(20000);
  fc_text_t packed = pack(FC_CODING_GZIP, bytes, 20000);
  const fc_str_t all = fc_text_str(&packed);
  assert_int_equal(refuse(FC_CODING_GZIP, all, 20000), FC_CODE_NONE);
  assert_int_equal(refuse(FC_CODING_GZIP, all, 19999), FC_CODE_BODY_TOO_LARGE);
  assert_int_equal(refuse(FC_CODING_DEFLATE, all, 20000),
                   FC_CODE_CONTENT_CODING);
  for (size_t size = 0; size < all.size; size++) {
    assert_int_equal(refuse(FC_CODING_GZIP, fc_str_make(all.data, size), 20000),
                     FC_CODE_CONTENT_CODING);
  }
  assert_int_equal(fc_sink_put(&packed.sink, FC_STR("x"), NULL), FC_OK);
  assert_int_equal(refuse(FC_CODING_GZIP, fc_text_str(&packed), 20000),
                   FC_CODE_CONTENT_CODING);
  fc_text_deinit(&packed);
  free((void *)(uintptr_t)bytes.data);
}

// 64 MiB of zeros are compressed to 65 KiB. A body may have 64 MiB, but 65 KiB may not
// be inflated to that much.
static void a_bomb_is_refused(void **state) {
  (void)state;
  const size_t size = (size_t)64 << 20;
  char *zeros = calloc(1, size);
  assert_non_null(zeros);
  fc_text_t packed = pack(FC_CODING_GZIP, fc_str_make(zeros, size), 1 << 20);
  assert_true(fc_text_str(&packed).size < 400000);
  assert_int_equal(refuse(FC_CODING_GZIP, fc_text_str(&packed), size),
                   FC_CODE_BODY_TOO_LARGE);
  fc_text_deinit(&packed);
  free(zeros);
  assert_int_equal(fc_inflate_bound(SIZE_MAX), SIZE_MAX);
}

static fc_status_t whole_life(fc_allocator_t allocator, void *argument,
                              fc_error_t *err) {
  const fc_str_t bytes = *(fc_str_t *)argument;
  fc_text_t text = {0}, back;
  fc_deflate_t packer;
  bool packed;
  fc_text_init(&text, allocator, SIZE_MAX);
  fc_text_init(&back, allocator, SIZE_MAX);
  fc_status_t status =
      fc_deflate_init(&packer, FC_CODING_GZIP, &text.sink, allocator, err);
  if (status == FC_OK) {
    status = fc_sink_put(&packer.sink, bytes, err);
    if (status == FC_OK) status = fc_deflate_finish(&packer, &packed, err);
    fc_deflate_deinit(&packer);
  }
  if (status == FC_OK) {
    status = fc_inflate(FC_CODING_GZIP, fc_text_str(&text), SIZE_MAX, &back,
                        NULL, err);
  }
  fc_text_deinit(&back);
  fc_text_deinit(&text);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  fc_str_t bytes = make(50000);
  assert_true(fc_test_allocation_sweep(whole_life, &bytes) >= 5);
  free((void *)(uintptr_t)bytes.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(bytes_come_back),           FC_TEST(little_is_not_packed),
      FC_TEST(damage_is_refused),         FC_TEST(a_bomb_is_refused),
      FC_TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
