// SPDX-License-Identifier: Apache-2.0
//
// The raw ABI (attribute `f`): the test vectors of IREE's own signature tests, what its
// emitters wrote for real models, and what must be refused.
#include "helpers/test.h"

#include "farcall/abi.h"

typedef struct vector_row_t {
  const char *name;
  const char *text;       // the mangled signature
  const char *readable;   // as IREE prints it
  const char *canonical;  // what mangling gives back; NULL: `text`
} vector_row_t;

static const vector_row_t vectors[] = {
    {"nothing", "I1!R1!", "() -> ()", NULL},
    {"buffers", "I15!B11!d10d128d64R15!B11!t6d32d8d64",
     "(Buffer<float32[10x128x64]>) -> (Buffer<sint32[32x8x64]>)", NULL},
    {"dynamic dims", "I15!B11!d-1d128d64R15!B11!t6d-1d8d64",
     "(Buffer<float32[?x128x64]>) -> (Buffer<sint32[?x8x64]>)", NULL},
    {"scalars", "I6!S3!t6R6!S3!t2", "(sint32) -> (float64)", NULL},
    {"mixed", "I23!O1!B11!d-1d128d64S3!t6R17!B13!t11d32d-1d64",
     "(RefObject<?>, Buffer<float32[?x128x64]>, sint32) -> "
     "(Buffer<uint64[32x?x64]>)",
     NULL},
    {"bf16 and object", "I6!S3!t3R4!O1!", "(bfloat16) -> (RefObject<?>)", NULL},
    {"rank 0", "I6!B3!t9R1!", "(Buffer<uint16[]>) -> ()", NULL},
    {"default type", "I4!S1!R4!B1!", "(float32) -> (Buffer<float32[]>)", NULL},
    {"f64 buffer", "I17!B13!t2d-1d128d64R1!",
     "(Buffer<float64[?x128x64]>) -> ()", NULL},
    {"emitter: two in, one out", "I19!B7!t7d4d4B7!t7d5d5R10!B7!t7d5d5",
     "(Buffer<sint64[4x4]>, Buffer<sint64[5x5]>) -> (Buffer<sint64[5x5]>)",
     NULL},
    {"emitter: dynamic", "I11!B8!t7d-1d4R1!", "(Buffer<sint64[?x4]>) -> ()",
     NULL},
    {"emitter: one dim", "I6!B3!d1R1!", "(Buffer<float32[1]>) -> ()", NULL},
    {"emitter: bool as si8", "I6!S3!t4R1!", "(sint8) -> ()", NULL},
    {"emitter: unmappable argument", "I4!U1!R1!", "(Unrecognized<?>) -> ()",
     NULL},
    {"emitter: unmappable result", "I1!R4!U1!", "() -> (Unrecognized<?>)",
     NULL},
    {"mobilebert",
     "I34!B9!t6d1d384B9!t6d1d384B9!t6d1d384R19!B7!d1d384B7!d1d384",
     "(Buffer<sint32[1x384]>, Buffer<sint32[1x384]>, Buffer<sint32[1x384]>) "
     "-> (Buffer<float32[1x384]>, Buffer<float32[1x384]>)",
     NULL},
    {"type after dims", "I8!B5!d7t6R1!", "(Buffer<sint32[7]>) -> ()",
     "I8!B5!t6d7R1!"},
    {"last type wins", "I8!S5!t2t6R1!", "(sint32) -> ()", "I6!S3!t6R1!"},
    {"explicit default", "I6!S3!t0R1!", "(float32) -> ()", "I4!S1!R1!"},
    {"leading zeros", "I07!B4!d01R1!", "(Buffer<float32[1]>) -> ()",
     "I6!B3!d1R1!"},
    {"minus zero", "I7!B4!d-0R1!", "(Buffer<float32[0]>) -> ()", "I6!B3!d0R1!"},
    {"any negative dim is dynamic", "I7!B4!d-9R1!",
     "(Buffer<float32[?]>) -> ()", "I7!B4!d-1R1!"},
    {"the least dim", "I17!B13!d-2147483648R1!", "(Buffer<float32[?]>) -> ()",
     "I7!B4!d-1R1!"},
    {"the greatest dim", "I16!B12!d2147483647R1!",
     "(Buffer<float32[2147483647]>) -> ()", NULL},
};

static fc_signature_t *parse(fc_str_t text, fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  fc_signature_t *signature = NULL;
  if (fc_raw_parse(text, builder, err) == FC_OK) {
    if (fc_signature_build(builder, &signature, err) != FC_OK) signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

static void vectors_read_print_and_write_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, vectors) {
    fc_error_t err;
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    assert_int_equal(fc_raw_print_text(fc_str(row->text), &text.sink, &err), 0);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->readable)));
    fc_signature_t *signature = parse(fc_str(row->text), &err);
    assert_non_null(signature);
    fc_text_reset(&text);
    assert_int_equal(fc_raw_mangle(signature, &text.sink, &err), 0);
    const char *wanted = row->canonical ? row->canonical : row->text;
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(wanted)));
    fc_signature_destroy(signature);
    fc_text_deinit(&text);
  }
}

typedef struct bad_row_t {
  const char *name;
  const char *text;
  uint64_t offset;
  const char *reason;  // part of the message
} bad_row_t;

static const bad_row_t bad[] = {
    {"empty", "", 0, "inputs span 'I' not found"},
    {"no results", "I1!", 3, "results span 'R' not found"},
    {"results first", "R1!I1!", 0, "inputs span 'I' expected"},
    {"between", "I1!O1!R1!", 3, "results span 'R' expected"},
    {"behind", "I1!R1!O1!", 6, "bytes after the results"},
    {"type code 12", "I7!S4!t12R1!", 6, "scalar type code 12"},
    {"type code -1", "I7!S4!t-1R1!", 6, "scalar type code -1"},
    {"unknown field in a buffer", "I6!B3!x1R1!", 6, "field 'x'"},
    {"unknown field in an object", "I6!O3!x1R1!", 6, "field 'x'"},
    {"type in an object", "I6!O3!t1R1!", 6, "field 't'"},
    {"dim in a scalar", "I6!S3!d1R1!", 6, "field 'd'"},
    {"unknown item", "I4!Z1!R1!", 3, "item tag 'Z'"},
    {"number as an item", "I3!d1R1!", 3, "item tag 'd'"},
    {"span too long", "I10!B3!d1R1!", 1, "claims 10 bytes where 9 are left"},
    {"inner span too long", "I6!B9!d1R1!", 4, "claims 9 bytes"},
    {"length 0", "I0R1!", 1, "length 0"},
    {"no mark", "I3B1!R1!", 2, "lacks its '!'"},
    {"beyond 32 bits", "I16!B12!d4294967296R1!", 9, "beyond 32 bits"},
    {"no number", "I5!B2!dR1!", 7, "a number is missing"},
    {"33 dims",
     "I71!B67!d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1"
     "R1!",
     72, "more than 32 dims"},
};

static void bad_texts_say_where(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_row_t, row, bad) {
    fc_error_t err;
    assert_null(parse(fc_str(row->text), &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_non_null(strstr(err.message, row->reason));
    assert_int_equal(err.byte_offset, row->offset);
  }
}

static void every_proper_prefix_is_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, vectors) {
    const fc_str_t text = fc_str(row->text);
    for (size_t size = 0; size < text.size; size++) {
      fc_error_t err;
      assert_null(parse(fc_str_make(text.data, size), &err));
      assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    }
  }
}

// A vector in which one byte is changed is refused, or has a meaning that is written
// and read back as the same.
static void one_changed_byte_is_refused_or_stable(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, vectors) {
    char bytes[160];
    const size_t size = strlen(row->text);
    for (size_t at = 0; at < size; at++) {
      for (int byte = 0; byte < 256; byte++) {
        memcpy(bytes, row->text, size);
        bytes[at] = (char)byte;
        fc_error_t err;
        fc_signature_t *first = parse(fc_str_make(bytes, size), &err);
        if (!first) continue;
        fc_text_t once, twice;
        fc_text_init(&once, fc_allocator_system(), 1 << 20);
        fc_text_init(&twice, fc_allocator_system(), 1 << 20);
        assert_int_equal(fc_raw_mangle(first, &once.sink, &err), 0);
        fc_signature_t *second = parse(fc_text_str(&once), &err);
        assert_non_null(second);
        assert_int_equal(fc_raw_mangle(second, &twice.sink, &err), 0);
        assert_true(fc_str_equal(fc_text_str(&once), fc_text_str(&twice)));
        fc_signature_destroy(first);
        fc_signature_destroy(second);
        fc_text_deinit(&once);
        fc_text_deinit(&twice);
      }
    }
  }
}

static void a_dim_beyond_32_bits_has_no_text(void **state) {
  (void)state;
  const int64_t dim = (int64_t)INT32_MAX + 1;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  fc_builder_argument(builder, FC_STR(""),
                      fc_builder_tensor(builder, FC_DTYPE_F32, 1, &dim),
                      FC_ROLE_IN, false, FC_RAW_NEXT);
  fc_signature_t *signature = NULL;
  fc_error_t err;
  assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
  fc_builder_destroy(builder);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  assert_int_not_equal(fc_raw_mangle(signature, &text.sink, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_UNSUPPORTED_TYPE);
  fc_text_deinit(&text);
  fc_signature_destroy(signature);
}

static void integers_without_a_sign_have_codes(void **state) {
  (void)state;
  static const struct {
    fc_dtype_t dtype;
    const char *text;
  } codes[] = {
      {FC_DTYPE_I1, "I6!S3!t4R1!"},  {FC_DTYPE_I8, "I6!S3!t4R1!"},
      {FC_DTYPE_I16, "I6!S3!t5R1!"}, {FC_DTYPE_I32, "I6!S3!t6R1!"},
      {FC_DTYPE_I64, "I6!S3!t7R1!"}, {FC_DTYPE_INDEX, "I6!S3!t7R1!"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(codes); i++) {
    fc_test_row(codes[i].text);
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    assert_non_null(builder);
    fc_builder_argument(builder, FC_STR(""),
                        fc_builder_scalar(builder, codes[i].dtype), FC_ROLE_IN,
                        false, FC_RAW_NEXT);
    fc_signature_t *signature = NULL;
    fc_error_t err;
    assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
    fc_builder_destroy(builder);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 10);
    assert_int_equal(fc_raw_mangle(signature, &text.sink, &err), FC_OK);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(codes[i].text)));
    fc_text_deinit(&text);
    fc_signature_destroy(signature);
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(vectors_read_print_and_write_back),
      FC_TEST(bad_texts_say_where),
      FC_TEST(a_dim_beyond_32_bits_has_no_text),
      FC_TEST(integers_without_a_sign_have_codes),
      FC_TEST(every_proper_prefix_is_refused),
      FC_TEST(one_changed_byte_is_refused_or_stable),
  };
  return cmocka_run_group_tests_name("raw", tests, NULL, NULL);
}
