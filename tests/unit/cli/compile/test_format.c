// SPDX-License-Identifier: Apache-2.0
//
// Recognizes the format of a source by its bytes.
#include "compile/format.h"

#include "helpers/test.h"

#define ROW(name, bytes, id) \
  { name, {"" bytes, sizeof(bytes) - 1}, id }
#define BYTECODE "ML\xEFR"

static const struct {
  const char *name;
  fc_str_t bytes;
  fc_format_id_t id;
} known[] = {
    // ir_version 8, producer_name "a", an empty graph, opset_import.
    ROW("a model",
        "\x08\x08\x12\x01"
        "a"
        "\x3A\x00\x42\x02\x10\x11",
        FC_FORMAT_ONNX),
    ROW("fields in another order", "\x3A\x00\x08\x08", FC_FORMAT_ONNX),
    ROW("a portable artifact", BYTECODE "\x0DStableHLO_v1.9.5\0",
        FC_FORMAT_PORTABLE),
    ROW("bytecode", BYTECODE "\x0DMLIR22.1.8\0", FC_FORMAT_BYTECODE),
    ROW("an export",
        "\x08\0\0\0\0\0\0\0\0\0\0\0" BYTECODE "\x0DStableHLO_v1.9.5\0",
        FC_FORMAT_JAX_EXPORT),
    ROW("an export with bytecode's magic before",
        "\x08\0\0\0" BYTECODE "\0\0\0\0" BYTECODE "\x0DStableHLO_v1.9.5\0",
        FC_FORMAT_JAX_EXPORT),
    ROW("torch", "func.func @f(%x: !torch.vtensor<[2],f32>) {",
        FC_FORMAT_TORCH),
    ROW("stablehlo", "%0 = stablehlo.add %x, %x", FC_FORMAT_STABLEHLO),
    ROW("chlo", "%0 = chlo.erf %x", FC_FORMAT_STABLEHLO),
    ROW("tosa", "%0 = tosa.abs %x", FC_FORMAT_TOSA),
    ROW("gpu", "gpu.launch blocks(", FC_FORMAT_GPU),
    ROW("memrefs", "func.func @f(%x: memref<2xf32>) {\n}", FC_FORMAT_MEMREF),
    ROW("memrefs on another line",
        "func.func @f(%x: f32,\n  %y: memref<2xf32>) {\n}", FC_FORMAT_MEMREF),
    ROW("memrefs of the second function",
        "func.func @f() {\n}\nfunc.func @g() -> memref<f32> {\n}",
        FC_FORMAT_MEMREF),
    ROW("memrefs inside",
        "func.func @f(%x: tensor<2xf32>) {\n memref.alloc() : memref<2xf32>\n}",
        FC_FORMAT_TENSOR),
    ROW("tensors", "func.func @f(%x: tensor<2xf32>) {\n}", FC_FORMAT_TENSOR),
    ROW("no MLIR", "hello", FC_FORMAT_TENSOR),
    ROW("nothing", "", FC_FORMAT_TENSOR),
};

static void a_source_is_known_by_its_bytes(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(known[0]), row, known) {
    char reason[FC_FILE_TEXT];
    const fc_format_t *format = fc_format_find(row->bytes, "", reason);
    assert_non_null(format);
    assert_int_equal(format->id, row->id);
    assert_true(format->by_iree || format->by_mlir);
    assert_string_equal(reason, "");
  }
}

static const struct {
  const char *name;
  fc_str_t bytes;
  const char *reason;  // how it begins
} others[] = {
    ROW("ELF",
        "\x7F"
        "ELF\x02\x01\x01\0",
        "a shared object, a module already"),
    ROW("an archive", "PK\x03\x04\x14\0", "a zip archive"),
    ROW("a flatbuffer of IREE", "\x10\0\0\0IREE\0",
        "a module of IREE, a module already"),
    ROW("TensorFlow Lite", "\x1C\0\0\0TFL3\0", "a TensorFlow Lite model"),
    ROW("a pickle", "\x80\x04\x95\0\0", "a pickle"),
    ROW("a model cut off",
        "\x08\x08\x12\x01"
        "a"
        "\x3A\x7F\0",
        "neither"),
    ROW("no graph",
        "\x08\x08\x12\x01"
        "a\x42\x02\x10\0",
        "neither"),
    ROW("a field that is none", "\x08\x08\x3A\0\xFA\x07\0", "neither"),
    ROW("a number without end",
        "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0", "neither"),
    ROW("an export without its artifact",
        "\x08\0\0\0\0\0\0\0\0\0\0\0" BYTECODE "\x0DMLIR22\0", "neither"),
    ROW("an export whose root is outside",
        "\xFF\xFF\0\0\0\0\0\0\0\0\0\0" BYTECODE "\x0DStableHLO_v1.9.5\0",
        "neither"),
};

static void what_no_compiler_takes_is_said(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(others[0]), row, others) {
    char reason[FC_FILE_TEXT];
    assert_null(fc_format_find(row->bytes, "", reason));
    assert_true(fc_str_starts(fc_str(reason), fc_str(row->reason)));
  }
}

// Every prefix of every source has some format, and no byte after its end is read (the
// address sanitizer watches).
static void a_source_may_end_anywhere(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(known[0]), row, known) {
    for (size_t size = 0; size <= row->bytes.size; size++) {
      char *copy = fc_alloc(fc_allocator_system(), size + 1);
      char reason[FC_FILE_TEXT];
      if (size) memcpy(copy + 1, row->bytes.data, size);
      const fc_str_t piece = {copy + 1, size};
      assert_true(!fc_format_find(piece, "", reason) == (*reason != 0));
      fc_free(fc_allocator_system(), copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_source_is_known_by_its_bytes),
      FC_TEST(what_no_compiler_takes_is_said),
      FC_TEST(a_source_may_end_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
