// SPDX-License-Identifier: Apache-2.0
//
// What a file is, judged by its first bytes and its name.
#include "module/kinds.h"

#include "helpers/test.h"

#define ROW(name, head, kind) \
  { name, {"" head, sizeof(head) - 1}, kind }

static const struct {
  const char *name;  // of the file
  fc_str_t head;
  const char *kind;  // NULL: unknown
} rows[] = {
    ROW("m",
        "\x7F"
        "ELF\x02\x01",
        "a shared object"),
    ROW("m.onnx",
        "\x7F"
        "ELF\x02\x01",
        "a shared object"),
    ROW("m", "\x10\0\0\0IREE\0", "a module of IREE"),
    ROW("m", "PK\x03\x04\x14\0module.fb", "a module of IREE in a zip archive"),
    ROW("m", "PK\x03\x04\x14\0", "a zip archive"),
    ROW("m.pt", "PK\x03\x04\x14\0", "a model of PyTorch"),
    ROW("m.keras", "PK\x03\x04\x14\0", "a model of Keras"),
    ROW("m.npz", "PK\x03\x04\x14\0", "an archive of arrays (NumPy)"),
    ROW("m", "\x93NUMPY\x01\0", "an array (NumPy)"),
    ROW("m.pkl", "\x80\x04\x95", "a pickle of Python"),
    ROW("m.pth", "\x80\x02\x8A", "a model of PyTorch"),
    ROW("m", "\x89HDF\r\n", "HDF5, as Keras writes it"),
    ROW("m", "\x1C\0\0\0TFL3", "a TensorFlow Lite model"),
    ROW("m", "GGUF\x03", "GGUF, weights without functions"),
    ROW("m",
        "\x08\x08\x12\x01"
        "a",
        "an ONNX model"),
    ROW("m", "\x08\x08\x3A", "an ONNX model"),
    ROW("m", "\x08\x08\x01", NULL),
    ROW("saved_model.pb", "\x08\x01\x12\x10\x0A", NULL),
    ROW("m", "ML\xEFR\x0DMLIR22", "MLIR bytecode"),
    ROW("m", "ML\xEFR\x0DStableHLO_v1.9.5",
        "an artifact of StableHLO or jax.export"),
    ROW("m", "\x08\0\0\0\0\0\0\0ML\xEFR\x0DStableHLO_v1.9.5",
        "an artifact of StableHLO or jax.export"),
    ROW("m", "module {\n  func.func @f() {", "MLIR"),
    ROW("m.onnx", "version https://git-lfs.github.com/spec/v1\n",
        "a pointer of Git LFS, not the file"),
    ROW("m.so", "<!DOCTYPE html>", "a page of HTML"),
    ROW("m", "<!doctype html>", "a page of HTML"),
    ROW("m", "<html>", "a page of HTML"),
    ROW("m.tar", "\x1F\x8B\x08", "a file packed by gzip"),
    ROW("m", "\x28\xB5\x2F\xFD", "a file packed by zstd"),
    ROW("m", "hello", NULL),
    ROW("m.mlir", "", NULL),
};

static const char *title(const fc_file_kind_t *kind) {
  return kind ? kind->title : "unknown";
}

static void a_file_is_known_by_its_bytes(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_file_kind_t *kind = fc_file_kind(row->head, fc_str(row->name));
    assert_string_equal(title(kind), row->kind ? row->kind : "unknown");
  }
}

// The suffix decides if the bytes do not.
static void a_suffix_tells_the_rest(void **state) {
  static const struct {
    const char *name;
    const char *kind;
  } names[] = {
      {"m.onnx", "an ONNX model"},
      {"dir/m.mlir", "MLIR"},
      {"m.stablehlo", "MLIR"},
      {"m.so", "a shared object"},
      {"m.vmfb", "a module of IREE"},
      {"saved_model.pb", "a graph of TensorFlow"},
      {"m.safetensors", "weights without functions"},
      {"m.joblib", "a pickle of Python"},
      {"m.txt", "unknown"},
      {"m", "unknown"},
      {"", "unknown"},
  };
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(names[0]), row, names) {
    assert_string_equal(title(fc_file_kind_named(fc_str(row->name))),
                        row->kind);
  }
}

// For each kind the message names the command that works, uncut for file names of usual
// length.
static void each_kind_names_the_verb_that_works(void **state) {
  static const struct {
    const char *name;
    const char *text;
  } told[] = {
      {"a/m.onnx",
       "an ONNX model: `farcall serve m.onnx` compiles and serves it, `farcall "
       "compile m.onnx` makes a module of it"},
      {"m.so", "a shared object, a module already: `farcall serve m.so` serves "
               "it"},
      {"m.keras",
       "a model of Keras: in Python, `keras.models.load_model(FILE).export("
       "\"m.onnx\", format=\"onnx\")` makes ONNX of it"},
  };
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(told[0]), row, told) {
    char text[FC_FILE_TEXT];
    const fc_str_t name = fc_str(row->name);
    fc_file_kind_tell(fc_file_kind_named(name), name, text);
    assert_string_equal(text, row->text);
  }
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char text[FC_FILE_TEXT];
    const fc_file_kind_t *kind = fc_file_kind(row->head, fc_str(row->name));
    if (!kind) continue;
    fc_file_kind_tell(kind, FC_STR("a_model_with_a_name_of_some_length.onnx"),
                      text);
    assert_true(strlen(text) + 64 < FC_FILE_TEXT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_file_is_known_by_its_bytes),
      FC_TEST(a_suffix_tells_the_rest),
      FC_TEST(each_kind_names_the_verb_that_works),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
