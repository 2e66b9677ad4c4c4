// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/mlir_type.h"

// For each type: the kind of its node, the one-line text of its tree, and why it cannot
// be passed through the C interface ("": it can).
static const struct {
  const char *name;
  int kind;
  const char *text;
  const char *refusal;
} rows[] = {
    {"i1", FC_TYPE_SCALAR, "i1", ""},
    {"i64", FC_TYPE_SCALAR, "i64", ""},
    {"si8", FC_TYPE_SCALAR, "si8", ""},
    {"ui16", FC_TYPE_SCALAR, "ui16", ""},
    {"index", FC_TYPE_SCALAR, "index", ""},
    {"f16", FC_TYPE_SCALAR, "f16", ""},
    {"bf16", FC_TYPE_SCALAR, "bf16", ""},
    {"f64", FC_TYPE_SCALAR, "f64", ""},
    {"f8E4M3FN", FC_TYPE_SCALAR, "f8E4M3FN", ""},
    {"complex<f32>", FC_TYPE_SCALAR, "complex<f32>", ""},
    {"complex < f64 >", FC_TYPE_SCALAR, "complex<f64>", ""},
    {" i32\n", FC_TYPE_SCALAR, "i32", ""},

    {"i128", FC_TYPE_OPAQUE, "i128", "i128: integers of this width"},
    {"ui65", FC_TYPE_OPAQUE, "ui65", "ui65: integers of this width"},
    {"f80", FC_TYPE_OPAQUE, "f80", "f80: this float type"},
    {"tf32", FC_TYPE_OPAQUE, "tf32", "tf32: this float type"},
    {"f128", FC_TYPE_OPAQUE, "f128", "f128: this float type"},
    {"f8E4M3", FC_TYPE_SCALAR, "f8E4M3", ""},
    {"f4E2M1FN", FC_TYPE_SCALAR, "f4E2M1FN", ""},
    {"memref<?xf6E3M2FN>", FC_TYPE_TENSOR, "tensor<?xf6E3M2FN>", ""},
    {"complex<f16>", FC_TYPE_OPAQUE, "complex<f16>", "over f32 and f64"},
    {"complex<i32>", FC_TYPE_OPAQUE, "complex<i32>", "over f32 and f64"},
    {"none", FC_TYPE_NULL, "null", "none has no C calling convention"},

    {"memref<f32>", FC_TYPE_TENSOR, "tensor<f32>", ""},
    {"memref<4xf32>", FC_TYPE_TENSOR, "tensor<4xf32>", ""},
    {"memref<?x4xf32>", FC_TYPE_TENSOR, "tensor<?x4xf32>", ""},
    {"memref<0x0xi1>", FC_TYPE_TENSOR, "tensor<0x0xi1>", ""},
    {"memref< ? x 4 x f32 >", FC_TYPE_TENSOR, "tensor<?x4xf32>", ""},
    {"memref<*xf64>", FC_TYPE_TENSOR, "tensor<*xf64>", ""},
    {"memref<*xf64, 0>", FC_TYPE_TENSOR, "tensor<*xf64>", ""},
    {"memref<2xindex>", FC_TYPE_TENSOR, "tensor<2xindex>", ""},
    {"memref<3xcomplex<f64>>", FC_TYPE_TENSOR, "tensor<3xcomplex<f64>>", ""},
    {"memref<9223372036854775807xi8>", FC_TYPE_TENSOR,
     "tensor<9223372036854775807xi8>", ""},
    {"memref<?x4xf32, strided<[?, 1], offset: ?>>", FC_TYPE_TENSOR,
     "tensor<?x4xf32, strided<[?, 1], offset: ?>>", ""},
    {"memref<4x4xf32, strided<[16, 2], offset: 25>>", FC_TYPE_TENSOR,
     "tensor<4x4xf32, strided<[16, 2], offset: 25>>", ""},
    {"memref<4xf32, strided<[-1]>>", FC_TYPE_TENSOR,
     "tensor<4xf32, strided<[-1]>>", ""},
    {"memref<f32, strided<[], offset: 3>>", FC_TYPE_TENSOR,
     "tensor<f32, strided<[], offset: 3>>", ""},
    {"memref<4xf32, strided<[1]>, 0>", FC_TYPE_TENSOR,
     "tensor<4xf32, strided<[1]>>", ""},
    {"memref<4xf32, 0 : i64>", FC_TYPE_TENSOR, "tensor<4xf32>", ""},
    {"memref<2x3xf32, affine_map<(d0, d1) -> (d0, d1)>>", FC_TYPE_TENSOR,
     "tensor<2x3xf32>", ""},
    {"memref<f32, affine_map<() -> ()>>", FC_TYPE_TENSOR, "tensor<f32>", ""},

    {"memref<4xf32, affine_map<(d0)[s0] -> (d0 + s0)>>", FC_TYPE_TENSOR,
     "tensor<4xf32, strided<[1], offset: ?>>", ""},
    {"memref<2x3xf32, affine_map<(d0, d1)[s0, s1] -> (s0 + d0 * s1 + d1 * 2)>>",
     FC_TYPE_TENSOR, "tensor<2x3xf32, strided<[?, 2], offset: ?>>", ""},
    {"memref<2x?xf32, affine_map<(i, j) -> (j * -4 - i + 7)>>", FC_TYPE_TENSOR,
     "tensor<2x?xf32, strided<[-1, -4], offset: 7>>", ""},
    {"memref<2x3xf32, affine_map<(d0, d1) -> (d1 + d1)>, 0>", FC_TYPE_TENSOR,
     "tensor<2x3xf32, strided<[0, 2]>>", ""},
    {"memref<f32, affine_map<() -> (3)>>", FC_TYPE_TENSOR,
     "tensor<f32, strided<[], offset: 3>>", ""},
    {"memref<10x?xf32, offset: 42, strides: [?, 1]>", FC_TYPE_TENSOR,
     "tensor<10x?xf32, strided<[?, 1], offset: 42>>", ""},
    {"memref<10x?xf32, offset: ?, strides: [?, 1], 0>", FC_TYPE_TENSOR,
     "tensor<10x?xf32, strided<[?, 1], offset: ?>>", ""},
    {"memref<?x2x3xf32, offset: ?>", FC_TYPE_TENSOR,
     "tensor<?x2x3xf32, strided<[6, 3, 1], offset: ?>>", ""},
    {"memref<2x?x3xf32, offset: 1, 0>", FC_TYPE_TENSOR,
     "tensor<2x?x3xf32, strided<[?, 3, 1], offset: 1>>", ""},

    {"memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>", FC_TYPE_OPAQUE, NULL,
     "affine_map<(d0, d1) -> (d1, d0)>: only strided layouts"},
    {"memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>", FC_TYPE_OPAQUE, NULL,
     "only strided layouts"},
    {"memref<4xf32, affine_map<(d0) -> (d0 * d0)>>", FC_TYPE_OPAQUE, NULL,
     "only strided layouts"},
    {"memref<4xf32, affine_map<(d0, d1) -> (d0 + d1)>>", FC_TYPE_OPAQUE, NULL,
     "only strided layouts"},
    {"memref<4xf32, affine_map<(d0) -> (d0 * 9223372036854775807 * 2)>>",
     FC_TYPE_OPAQUE, NULL, "only strided layouts"},
    {"memref<4xf32, #map>", FC_TYPE_OPAQUE, NULL, "#map: this layout"},
    {"memref<4xf32, 1>", FC_TYPE_OPAQUE, "memref<4xf32, 1>",
     "1: memory spaces other than 0"},
    {"memref<4xf32, strided<[1]>, 3 : i32>", FC_TYPE_OPAQUE, NULL,
     "3 : i32: memory spaces"},
    {"memref<4xf32, \"shared>\">", FC_TYPE_OPAQUE, NULL, "memory spaces"},
    {"memref<*xf32, #gpu.address_space<workgroup>>", FC_TYPE_OPAQUE, NULL,
     "memory spaces"},
    {"memref<?xmemref<2xf32>>", FC_TYPE_OPAQUE, "memref<?xmemref<2xf32>>",
     "memref<2xf32>: elements of this type"},
    {"memref<4xvector<4xf32>>", FC_TYPE_TENSOR, "tensor<4x4xf32>", ""},
    {"memref<?xvector<2x8xf16>, 0>", FC_TYPE_TENSOR, "tensor<?x2x8xf16>", ""},
    {"memref<vector<f32>>", FC_TYPE_TENSOR, "tensor<f32>", ""},
    {"memref<2xvector<3xf32>>", FC_TYPE_OPAQUE, NULL,
     "vector<3xf32>: as elements, vectors have rows of 1, 2, 4 … 64 bytes"},
    {"memref<2xvector<32xf32>>", FC_TYPE_OPAQUE, NULL,
     "vector<32xf32>: as elements"},
    {"memref<2xvector<8xi1>>", FC_TYPE_OPAQUE, NULL,
     "vector<8xi1>: as elements, vectors are of 8, 16, 32 or 64 bits"},
    {"memref<2xvector<4xi24>>", FC_TYPE_OPAQUE, NULL,
     "vector<4xi24>: as elements, vectors are of 8, 16, 32 or 64 bits"},
    {"memref<2xvector<2xcomplex<f32>>>", FC_TYPE_OPAQUE, NULL,
     "vector<2xcomplex<f32>>: as elements, vectors are of 8, 16, 32 or 64 bits, "
     "not complex"},
    {"memref<2xvector<4xi128>>", FC_TYPE_OPAQUE, NULL,
     "i128: integers of this width are not supported"},
    {"memref<2xvector<4xf128>>", FC_TYPE_OPAQUE, NULL,
     "f128: this float type is not supported"},
    {"memref<2xvector<2xcomplex<f16>>>", FC_TYPE_OPAQUE, NULL,
     "complex<f16>: complex numbers are supported over f32 and f64"},
    {"memref<2xvector<2x!llvm.ptr>>", FC_TYPE_OPAQUE, NULL,
     "!llvm.ptr: elements of this type are not supported"},
    {"memref<2xvector<1x1x1x1x4xf32>>", FC_TYPE_OPAQUE, NULL,
     "vector<1x1x1x1x4xf32>: as elements, vectors have up to 4 dims, not 5"},
    {"memref<2xvector<1x1x1x4xf32>>", FC_TYPE_TENSOR, "tensor<2x1x1x1x4xf32>",
     ""},
    {"memref<2xvector<1048576x1xi8>>", FC_TYPE_TENSOR, "tensor<2x1048576x1xi8>",
     ""},
    {"memref<2xvector<1048577x1xi8>>", FC_TYPE_OPAQUE, NULL,
     "vector<1048577x1xi8>: as elements, vectors have 1 to 1048576 rows, not "
     "1048577"},
    {"memref<2xvector<0x4xf32>>", FC_TYPE_OPAQUE, NULL, "rows, not 0"},
    {"memref<2xvector<[4]xf32>>", FC_TYPE_OPAQUE, NULL,
     "vector: scalable vectors are not supported"},
    {"memref<*xvector<4xf32>>", FC_TYPE_OPAQUE, NULL, "elements of this type"},
    {"memref<2xvector<4xf32>, strided<[?]>>", FC_TYPE_OPAQUE, NULL,
     "need the natural layout"},
    {"memref<2xvector<0xf32>>", FC_TYPE_OPAQUE, NULL,
     "vector<0xf32>: as elements"},
    {"memref<2xvector<9223372036854775807x2x4xf32>>", FC_TYPE_OPAQUE, NULL,
     "as elements, vectors have 1 to 1048576 rows"},
    {"memref<4xi128>", FC_TYPE_OPAQUE, NULL, "i128: integers of this width"},
    {"memref<4x!llvm.ptr>", FC_TYPE_OPAQUE, NULL, "!llvm.ptr: elements"},
    {"memref<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x"
     "i8>",
     FC_TYPE_OPAQUE, NULL, "more dims than supported"},

    {"tensor<?x3xf32>", FC_TYPE_TENSOR, "tensor<?x3xf32>", "a tensor has no C"},
    {"tensor<*xi8>", FC_TYPE_TENSOR, "tensor<*xi8>", "a tensor has no C"},
    {"tensor<4xf32, #sparse<{a = \"x>\"}>>", FC_TYPE_TENSOR, "tensor<4xf32>",
     "a tensor has no C"},
    {"tensor<4xi128>", FC_TYPE_OPAQUE, "tensor<4xi128>", "i128"},
    {"tensor<2x!quant.uniform<i8:f32, 0.1>>", FC_TYPE_OPAQUE, NULL, "elements"},
    {"vector<4xf32>", FC_TYPE_VECTOR, "vector<4xf32>", ""},
    {"vector<3x2xf64>", FC_TYPE_VECTOR, "vector<3x2xf64>", ""},
    {"vector<16xf8E5M2>", FC_TYPE_VECTOR, "vector<16xf8E5M2>", ""},
    {"vector<4x2xf64>", FC_TYPE_VECTOR, "vector<4x2xf64>",
     "only vectors of rows"},
    {"vector<8xf32>", FC_TYPE_VECTOR, "vector<8xf32>", "only vectors of rows"},
    {"vector<f32>", FC_TYPE_VECTOR, "vector<f32>", "only vectors of rows"},
    {"vector<0x4xf32>", FC_TYPE_VECTOR, "vector<0x4xf32>",
     "only vectors of rows"},
    {"vector<32xi4>", FC_TYPE_VECTOR, "vector<32xi4>", "only vectors of rows"},
    {"vector<[4]x2xf32>", FC_TYPE_OPAQUE, "vector<[4]x2xf32>",
     "scalable vectors"},
    {"tuple<>", FC_TYPE_TUPLE, "()", "a tuple has no C"},
    {"tuple<i32, tuple<f32,tuple<>>, memref<4xf32>>", FC_TYPE_TUPLE,
     "(i32, (f32, ()), tensor<4xf32>)", "a tuple has no C"},
    {"(complex<f32>, i1) -> (f32, f32)", FC_TYPE_OPAQUE, NULL,
     "a function cannot be passed"},
    {"!hal.fence", FC_TYPE_OPAQUE, "!hal.fence", "this dialect"},
    {"!util.list<!hal.buffer_view>", FC_TYPE_OPAQUE, NULL, "this dialect"},
    {"!torch.vtensor<[2,3],f32>", FC_TYPE_OPAQUE, "!torch.vtensor<[2,3],f32>",
     "this dialect"},
    {"!llvm.func<void (i32) -> i32>", FC_TYPE_OPAQUE, NULL, "this dialect"},
};

static fc_signature_t *build(fc_builder_t *b, const char *text,
                             fc_error_t *err) {
  uint32_t node;
  fc_builder_reset(b);
  if (fc_mlir_type_build(b, fc_str(text), &node, err) != FC_OK) return NULL;
  fc_builder_result(b, FC_STR(""), node, FC_RAW_NEXT);
  fc_signature_t *signature = NULL;
  return fc_signature_build(b, &signature, err) == FC_OK ? signature : NULL;
}

static void types_become_nodes(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_error_t err = {0};
    fc_signature_t *s = build(b, rows[i].name, &err);
    if (!s) {
      fail_msg("%s", err.message);
      return;  // fail_msg never returns, which clang-tidy cannot know
    }
    uint32_t node = s->results[0].type;
    assert_int_equal(fc_signature_node(s, node)->kind, rows[i].kind);
    char shown[256];
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 4096);
    assert_int_equal(fc_type_print_text(s, node, &text.sink, NULL), FC_OK);
    fc_str_t got = fc_text_str(&text);
    snprintf(shown, sizeof shown, "%.*s", FC_STR_ARG(got));
    assert_string_equal(shown, rows[i].text ? rows[i].text : rows[i].name);
    fc_text_deinit(&text);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

// Tests each sign, alone and as a tensor's element, against the size that LLVM gives
// it.
static void integers_of_every_width_are_passed(void **state) {
  (void)state;
  static const char *const signs[] = {"", "s", "u"};
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (unsigned bits = 1; bits <= 65; bits++) {
    for (size_t i = 0; i < 6; i++) {
      char name[32];
      snprintf(name, sizeof name, "%s%si%u%s", i < 3 ? "" : "memref<?x",
               signs[i % 3], bits, i < 3 ? "" : ">");
      fc_test_row(name);
      fc_mlir_type_t type;
      fc_error_t err = {0};
      assert_int_equal(fc_mlir_type_parse(fc_str(name), &type, &err), FC_OK);
      assert_int_equal(type.bits, bits);
      assert_int_equal(type.refusal[0] == '\0', bits <= 64);
      const fc_dtype_info_t *info = fc_dtype_info(type.dtype);
      unsigned size = 1;
      while (8 * size < bits) size *= 2;
      if (bits > 64) size = 0;
      assert_int_equal(info->size, size);
      assert_int_equal(info->bits, bits > 64 ? 0 : bits);
      fc_signature_t *s = build(b, name, &err);
      assert_non_null(s);
      assert_int_equal(fc_signature_node(s, s->results[0].type)->dtype,
                       type.dtype);
      fc_signature_destroy(s);
    }
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

static void types_say_why_they_cannot_be_passed(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_mlir_type_t type;
    fc_error_t err = {0};
    fc_status_t status = fc_mlir_type_parse(fc_str(rows[i].name), &type, &err);
    if (status != FC_OK) fail_msg("%s", err.message);
    if (!rows[i].refusal[0]) {
      assert_string_equal(type.refusal, "");
    } else if (!strstr(type.refusal, rows[i].refusal)) {
      fail_msg("'%s'", type.refusal);
    }
  }
  fc_test_row(NULL);
}

static void memrefs_keep_their_spelling(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  fc_signature_t *s = build(b, " memref<4xf32, 0> ", NULL);
  assert_non_null(s);
  const fc_type_t *type = fc_signature_node(s, s->results[0].type);
  assert_true(fc_str_equal(fc_signature_text(s, type->text),
                           FC_STR("memref<4xf32, 0>")));
  fc_signature_destroy(s);
  fc_builder_destroy(b);
}

static const struct {
  const char *name;
  size_t byte;
  const char *message;
} faults[] = {
    {"", 0, "expected a type"},
    {"  ", 2, "expected a type"},
    {"foo", 0, "expected a type"},
    {"i", 0, "expected a type"},
    {"i0", 0, "expected a type"},
    {"i032", 0, "expected a type"},
    {"i16777216", 0, "expected a type"},
    {"f33", 0, "expected a type"},
    {"4xf32", 0, "expected a type"},
    {"i32 i32", 4, "ends before"},
    {"i32>", 3, "ends before"},
    {"memref", 6, "expected '<'"},
    {"memref<", 7, "expected an element type"},
    {"memref<4xf32", 12, "expected '>'"},
    {"memref<4yf32>", 8, "expected 'x'"},
    {"memref<4xxf32>", 9, "expected an element type"},
    {"memref<4x>", 9, "expected an element type"},
    {"memref<-1xf32>", 7, "expected an element type"},
    {"memref<99999999999999999999xf32>", 7, "does not fit 64 bits"},
    {"memref<*f32>", 8, "expected 'x'"},
    {"memref<4xf32,>", 13, "expected something"},
    {"memref<4xf32, strided<[1, 1]>>", 21, "not as many strides"},
    {"memref<4xf32, strided<[]>>", 21, "not as many strides"},
    {"memref<4xf32, strided<[1], 4>>", 27, "expected 'offset'"},
    {"memref<4xf32, strided<[1], offset 4>>", 34, "expected ':'"},
    {"memref<4xf32, strided<[x]>>", 23, "expected an integer"},
    {"memref<4xf32, strided<[-]>>", 24, "expected an integer"},
    {"memref<4xf32, strided<[-9223372036854775808]>>", 23, "does not fit"},
    {"memref<4xf32, 0, 0>", 15, "expected '>'"},
    {"memref<4xf32, \"a>", 14, "string does not end"},
    {"memref<4xf32, (>", 15, "closes nothing"},
    {"memref<4xf32, ]>", 14, "closes nothing"},
    {"memref<4xmemref<f32>", 20, "expected '>'"},
    {"memref<4xmemref<f32", 19, "not closed"},
    {"complex", 7, "expected '<'"},
    {"complex<>", 8, "type of the two parts"},
    {"complex<f32", 11, "expected '>'"},
    {"vector<?xf32>", 7, "expected an element type"},
    {"vector<[4xf32>", 9, "expected ']'"},
    {"tuple<i32", 9, "expected ','"},
    {"tuple<i32,>", 10, "expected a type"},
    {"tuple<i32 i32>", 10, "expected ','"},
    {"tuple<i32>>", 10, "ends before"},
    {"!", 1, "expected a name"},
    {"!hal.fence<", 10, "not closed"},
    {"!hal<(]>", 6, "closes nothing"},
};

static void faults_have_a_place_and_a_reason(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(faults); i++) {
    fc_test_row(faults[i].name);
    fc_error_t err = {0};
    assert_null(build(b, faults[i].name, &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    if (!strstr(err.message, faults[i].message)) fail_msg("%s", err.message);
    if (err.byte_offset != faults[i].byte) fail_msg("%s", err.message);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

static void tuples_nest_to_the_limit(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (int depth = 1; depth < 200; depth++) {
    char text[200 * 7 + 4] = "";
    size_t used = 0;
    for (int i = 0; i < depth; i++) {
      used += (size_t)snprintf(text + used, sizeof text - used, "tuple<");
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "i1");
    for (int i = 0; i < depth; i++) {
      used += (size_t)snprintf(text + used, sizeof text - used, ">");
    }
    fc_error_t err = {0};
    fc_signature_t *s = build(b, text, &err);
    if (depth <= FC_TYPE_DEPTH_MAX) {
      assert_non_null(s);
    } else {
      assert_null(s);
      assert_non_null(strstr(err.message, "too deep"));
    }
    fc_signature_destroy(s);
  }
  fc_builder_destroy(b);
}

// Each proper prefix of a bracketed type is refused, and none is read past its end (the
// copies have the exact size, for the address sanitizer).
static void every_prefix_of_a_bracketed_type_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    const char *full = rows[i].name;
    size_t size = strlen(full);
    if (!size || full[size - 1] != '>') continue;
    fc_test_row(full);
    for (size_t cut = 0; cut < size; cut++) {
      char *copy = malloc(cut ? cut : 1);
      assert_non_null(copy);
      memcpy(copy, full, cut);
      fc_mlir_type_t type;
      fc_status_t status =
          fc_mlir_type_parse(fc_str_make(copy, cut), &type, NULL);
      // The prefix `!a.b` of `!a.b<…>` is a complete type.
      if (status == FC_OK) {
        assert_int_equal(full[0], '!');
        assert_null(memchr(copy, '<', cut));
      }
      free(copy);
    }
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(types_become_nodes),
      FC_TEST(integers_of_every_width_are_passed),
      FC_TEST(types_say_why_they_cannot_be_passed),
      FC_TEST(memrefs_keep_their_spelling),
      FC_TEST(faults_have_a_place_and_a_reason),
      FC_TEST(tuples_nest_to_the_limit),
      FC_TEST(every_prefix_of_a_bracketed_type_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
