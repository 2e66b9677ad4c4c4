// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"
#include "helpers/types.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/declaration.h"

// Declarations as iree-compile writes them, each with its calling convention and the
// one-line text of its signature.
static const struct {
  const char *name;
  const char *cconv;
  const char *text;
  const char *note;  // reason for not being callable, or warning; "" if none
} rows[] = {
    {"sync func @simple_mul(%input0: tensor<100xf32>, %input1: "
     "tensor<100xf32>) -> (%output0: tensor<100xf32>)",
     "0rr_r",
     "simple_mul(input0: tensor<100xf32>, input1: tensor<100xf32>) -> "
     "tensor<100xf32>",
     ""},
    {"sync func @namedEntry(%my_input_0: tensor<3xf32>, %input1: "
     "tensor<3xf32>) -> (%my_output_0: tensor<3xf32>)",
     "0rr_r",
     "namedEntry(my_input_0: tensor<3xf32>, input1: tensor<3xf32>) -> "
     "tensor<3xf32>",
     ""},
    {"sync func @outputStorage(%input0: tensor<?x8x8x3xf32>, %input1: "
     "!hal.buffer {iree.abi.output = 1 : index}) -> (%output0: "
     "tensor<?x8x8x3xf32>, %output1: tensor<?x8x8x3xf32>)",
     "0rr_rr",
     "outputStorage(input0: tensor<?x8x8x3xf32>, storage input1: !hal.buffer) -> "
     "(output0: tensor<?x8x8x3xf32>, output1: tensor<?x8x8x3xf32>)",
     ""},
    {"sync func @enc(%input0: tensor<?x8x8x3xf32> {iree.abi.encoding = "
     "tensor<?x8x8x3xi32>}) -> (%output0: tensor<?x8x8x3xf32>)",
     "0r_r", "enc(input0: tensor<?x8x8x3xi32>) -> tensor<?x8x8x3xf32>", ""},
    {"sync func @ids(%input0: i32 {iree.identifier = \"rows\"}) -> ()", "0i_v",
     "ids(rows: i32) -> ()", ""},
    {"sync func @text(%a: !util.list<i8>, %b: !util.list<!util.list<i8>>) -> "
     "(%c: !util.list<i8>)",
     "0rr_r", "text(a: bytes, b: list<bytes>) -> bytes", ""},
    {"async func @schedule(%input0: tensor<128x128xf32> {iree.abi.affinity = "
     "#hal.device.promise<@device_a>}) -> (%output0: tensor<128x128xf32>)",
     "0rrr_r", "schedule(input0: tensor<128x128xf32>) -> tensor<128x128xf32>",
     ""},
    {"sync func @idx(%input0: tensor<?xf32>, %input1: tensor<?xf32>, %input2: "
     "tensor<?xf32>, %input3: index, %input4: index, %input5: index) -> "
     "(%output0: tensor<?xf32>)",
     "0rrrIII_r",
     "idx(input0: tensor<?xf32>, input1: tensor<?xf32>, input2: "
     "tensor<?xf32>, input3: index, input4: index, input5: index) -> "
     "tensor<?xf32>",
     ""},
    {"sync func @narrow(%a: index, %b: f64) -> (%c: f64)", "0if_F",
     "narrow(a: i32, b: f32) -> f64",
     "argument 0 ('a') is index in the declaration and i32 in the module"},
    {"sync func @small(%a: i1, %b: i4, %c: ui8, %d: f16, %e: bf16, %f: "
     "f8E5M2) -> (%g: i32)",
     "0iiiiii_i",
     "small(a: i1, b: i4, c: ui8, d: f16, e: bf16, f: f8E5M2) -> i32", ""},
    {"sync func @odd(%a: i24) -> ()", "0i_v", "odd(a: i32) -> ()",
     "argument 0 ('a') is i24 in the declaration and i32 in the module"},
    {"sync func @odd(%a: i24) -> ()", NULL, "odd(a: i24) -> ()", ""},
    {"sync func @dyn(%input0: tensor<?x?x8x1xf32>) -> (%output0: "
     "tensor<?x?x8x1xbf16>)",
     "0r_r", "dyn(input0: tensor<?x?x8x1xf32>) -> tensor<?x?x8x1xbf16>", ""},
    {"sync func @void() -> ()", "0v_v", "void() -> ()", ""},
    {"sync func @void() -> ()", "", "void() -> ()", ""},
    {"async func @void() -> ()", "0rr_v", "void() -> ()", ""},
    {"sync func @lists(%a: !util.list<?>, %b: !util.list<i32>, %c: "
     "!util.list<!util.list<!hal.buffer_view>>, %d: !util.buffer) -> (%e: "
     "!hal.buffer_view)",
     "0rrrr_r",
     "lists(a: unknown, b: list<i32>, c: list<list<unknown>>, d: bytes) -> "
     "unknown",
     ""},
    {"sync func @fence(%a: !hal.fence) -> ()", "0r_",
     "fence(a: !hal.fence) "
     "-> ()",
     ""},
    {"sync func @vec(%a: vector<4xf32>) -> ()", "0r_",
     "vec(a: vector<4xf32>) -> ()", "vectors cannot be passed"},
    {"sync func @scratch(%a: !hal.buffer {iree.abi.transients}) -> ()", "0r_",
     "scratch(transient a: !hal.buffer) -> ()", ""},
    {"sync func @out(%a: !hal.buffer_view {iree.abi.output = 0 : index}) -> (%b: "
     "f32)",
     "0r_f", "out(storage a: unknown) -> f32", ""},
    {"sync func @odd(%a: tensor<4xf32> {iree.abi.output = 0 : index}) -> ()",
     "0r_", "odd(storage a: tensor<4xf32>) -> ()",
     "memory the caller must bring is a !hal.buffer"},
    {"sync func @a$b c,d(%x y, z(w): i32) -> ()", "0i_v",
     "\"a$b c,d\"(\"x y, z(w)\": i32) -> ()", ""},
    {"sync func @two(%a: i8 {x.y = \"}, %z: \", iree.abi.name = [1, {b = "
     "2}]}, %b: i8) -> ()",
     "0ii", "two(a: i8, b: i8) -> ()", ""},
};

static fc_signature_t *build(fc_builder_t *b, const char *text,
                             const char *cconv, fc_error_t *err) {
  fc_cconv_t parsed;
  fc_builder_reset(b);
  if (cconv) {
    assert_int_equal(fc_cconv_parse(fc_str(cconv), &parsed, NULL), FC_OK);
  }
  if (fc_declaration_build(b, fc_str(text), cconv ? &parsed : NULL, err) !=
      FC_OK) {
    return NULL;
  }
  fc_signature_t *signature = NULL;
  return fc_signature_build(b, &signature, err) == FC_OK ? signature : NULL;
}

static void declarations_become_signatures(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_error_t err = {0};
    fc_signature_t *s = build(b, rows[i].name, rows[i].cconv, &err);
    if (!s) {
      fail_msg("%s", err.message);
      return;  // fail_msg never returns, which clang-tidy cannot know
    }
    assert_int_equal(s->source, FC_SOURCE_DECLARATION);
    assert_int_equal(s->async, rows[i].name[0] == 'a');
    char note[512];
    fc_text_ref_t ref = s->callable ? s->warning : s->reason;
    snprintf(note, sizeof note, "%.*s", FC_STR_ARG(fc_signature_text(s, ref)));
    if (rows[i].note[0] ? !strstr(note, rows[i].note) : note[0]) {
      fail_msg("'%s'", note);
    }
    assert_string_equal(fc_test_signature_text(s), rows[i].text);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

// A declaration is used only if it agrees with the calling convention.
static const struct {
  const char *name;
  const char *cconv;  // NULL: none to compare with
  size_t byte;
  const char *message;
} opaque[] = {
    {"", NULL, 0, "expected 'sync'"},
    {"some.python.thing(types_are_overrated)", NULL, 0, "expected 'sync'"},
    {"func @f() -> ()", NULL, 0, "expected 'sync'"},
    {"sync func f() -> ()", NULL, 4, "expected ' func @'"},
    {"sync func @() -> ()", NULL, 11, "expected a name"},
    {"sync func @f", NULL, 11, "expected a name"},
    {"sync func @f(i32) -> ()", NULL, 11, "expected a name"},
    {"sync func @f(%a) -> ()", NULL, 14, "expected a name and ': '"},
    {"sync func @f(%: i32) -> ()", NULL, 14, "expected a name and ': '"},
    {"sync func @f(%a: ) -> ()", NULL, 17, "expected something"},
    {"sync func @f(%a: foo) -> ()", NULL, 17, "expected a type"},
    {"sync func @f(%a: i32,%b: i32) -> ()", NULL, 20, "expected ')'"},
    {"sync func @f(%a: i32", NULL, 20, "expected ')'"},
    {"sync func @f(%a: i32 {) -> ()", NULL, 22, "closes nothing"},
    {"sync func @f(%a: i32 {x) -> ()", NULL, 23, "closes nothing"},
    {"sync func @f(%a: i32 {}) -> ()", NULL, 22, "expected something"},
    {"sync func @f(%a: i32)", NULL, 21, "expected ' -> ('"},
    {"sync func @f(%a: i32) -> i32", NULL, 21, "expected ' -> ('"},
    {"sync func @f(%a: i32) -> ()x", NULL, 27, "ends before"},
    {"sync func @f() -> (i32)", NULL, 19, "expected '%'"},
    {"sync func @f(%a: none) -> ()", NULL, 17, "no register"},
    {"sync func @f(%a: tuple<i32>) -> ()", NULL, 17, "no register"},
    {"sync func @f(%a: i128) -> ()", NULL, 17, "no register"},
    {"sync func @f(%a: complex<f32>) -> ()", NULL, 17, "no register"},
    {"sync func @f(%a: memref<f32>) -> ()", NULL, 17, "no register"},
    {"sync func @f(%a: !util.list<>) -> ()", NULL, 17, "list of nothing"},
    {"sync func @f(%a: i32) -> ()", "0I_v", 17, "'I' here, not 'i'"},
    {"sync func @f(%a: i64) -> ()", "0i_v", 17, "'i' here, not 'I'"},
    {"sync func @f(%a: f16) -> ()", "0f_v", 17, "'f' here, not 'i'"},
    {"sync func @f(%a: tensor<f32>) -> ()", "0f_v", 17, "'f' here, not 'r'"},
    {"sync func @f(%a: f32) -> ()", "0F_v", 17, "'F' here, not 'f'"},
    {"sync func @f(%a: i32) -> ()", "0_v", 17, "has no argument 0"},
    {"sync func @f(%a: i32) -> ()", "0ii_v", 21, "more arguments"},
    {"sync func @f(%a: i32) -> ()", "0CiD_v", 17, "'C' here"},
    {"sync func @f() -> (%a: i32)", "0_v", 23, "has no result 0"},
    {"sync func @f() -> ()", "0_i", 20, "more results"},
    {"async func @f(%a: i32) -> ()", "0i_v", 22, "two fences"},
    {"async func @f(%a: i32) -> ()", "0ir_v", 22, "two fences"},
    {"sync func @f(%a: i32) -> ()", "0irr_v", 21, "more arguments"},
    {"sync func @f(%a: i32, %a: i32) -> ()", "0ii", UINT64_MAX, "both named"},
};

static void everything_else_is_just_text(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(opaque); i++) {
    fc_test_row(opaque[i].name);
    fc_error_t err = {0};
    assert_null(build(b, opaque[i].name, opaque[i].cconv, &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    if (!strstr(err.message, opaque[i].message)) fail_msg("%s", err.message);
    if (err.byte_offset != opaque[i].byte) fail_msg("%s", err.message);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

// Prints a signature as a declaration. The types that a declaration can have are
// printed in MLIR's spelling.
static void print_declaration(const fc_signature_t *s, fc_sink_t *sink) {
  assert_int_equal(fc_sink_put(sink, FC_STR("sync func @"), NULL), FC_OK);
  assert_int_equal(fc_sink_put(sink, fc_signature_text(s, s->name), NULL),
                   FC_OK);
  for (int side = 0; side < 2; side++) {
    const fc_param_t *params = side ? s->results : s->arguments;
    uint32_t count = side ? s->result_count : s->argument_count;
    fc_str_t open = side ? FC_STR(") -> (") : FC_STR("(");
    assert_int_equal(fc_sink_put(sink, open, NULL), FC_OK);
    for (uint32_t i = 0; i < count; i++) {
      if (i) assert_int_equal(fc_sink_put(sink, FC_STR(", "), NULL), FC_OK);
      assert_int_equal(fc_sink_put(sink, FC_STR("%"), NULL), FC_OK);
      assert_int_equal(
          fc_sink_put(sink, fc_signature_text(s, params[i].name), NULL), FC_OK);
      assert_int_equal(fc_sink_put(sink, FC_STR(": "), NULL), FC_OK);
      assert_int_equal(fc_type_print_text(s, params[i].type, sink, NULL),
                       FC_OK);
    }
  }
  assert_int_equal(fc_sink_put(sink, FC_STR(")\0"), NULL), FC_OK);
}

static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

// Random declarations with a calling convention that fits. Each is parsed, printed back
// to the same text, and refused when one register of the convention is changed.
static void random_declarations_print_back(void **state) {
  (void)state;
  static const struct {
    const char *text;
    char reg;
  } types[] = {
      {"i1", 'i'},
      {"i32", 'i'},
      {"i64", 'I'},
      {"index", 'I'},
      {"f32", 'f'},
      {"f64", 'F'},
      {"f16", 'i'},
      {"tensor<?x4xf32>", 'r'},
      {"ui8", 'i'},
      {"si64", 'I'},
      {"bf16", 'i'},
      {"tensor<*xi8>", 'r'},
      {"tensor<f64>", 'r'},
      {"!hal.fence", 'r'},
      {"!a.b<c, \"d)\", e -> f>", 'r'},
  };
  static const char *const names[] = {"a",  "input",  "x y", "a,b",
                                      "(c", "d) -> ", "{",   "\xc3\xa9"};
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  uint64_t seed = 0x9E3779B97F4A7C15;
  for (int round = 0; round < 2000; round++) {
    char text[2048], cconv[64] = "0";
    size_t used = (size_t)snprintf(text, sizeof text, "sync func @f%d", round);
    size_t regs = 1;
    for (int side = 0; side < 2; side++) {
      used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                               side ? ") -> (" : "(");
      if (side) cconv[regs++] = '_';
      size_t count = next_random(&seed) % 8;
      for (size_t i = 0; i < count; i++) {
        size_t type = next_random(&seed) % FC_ARRAY_COUNT(types);
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%%%s%zu: %s", i ? ", " : "",
            names[next_random(&seed) % FC_ARRAY_COUNT(names)], i,
            types[type].text);
        cconv[regs++] = types[type].reg;
      }
    }
    snprintf(text + used, sizeof text - used, ")");
    cconv[regs] = '\0';
    fc_test_row(text);
    fc_error_t err = {0};
    fc_signature_t *s = build(b, text, cconv, &err);
    if (!s) {
      fail_msg("%s", err.message);
      return;  // fail_msg never returns, which clang-tidy cannot know
    }
    fc_text_t printed;
    fc_text_init(&printed, fc_allocator_system(), 4096);
    print_declaration(s, &printed.sink);
    assert_string_equal(printed.data, text);
    fc_text_deinit(&printed);
    fc_signature_destroy(s);

    size_t at = 1 + next_random(&seed) % regs;
    if (at == regs || cconv[at] == '_') continue;
    // No type of the table fits both the old register and the new one.
    cconv[at] = cconv[at] == 'r' ? 'f' : 'r';
    assert_null(build(b, text, cconv, &err));
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

// A declaration that is cut anywhere, or in which one byte is changed, becomes a
// signature or remains plain text.
static void cut_and_changed_declarations_are_survived(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  uint64_t seed = 42;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    size_t size = strlen(rows[i].name);
    for (size_t cut = 0; cut < size; cut++) {
      char *copy = malloc(cut + 1);
      assert_non_null(copy);
      memcpy(copy, rows[i].name, cut);
      copy[cut] = '\0';
      assert_null(build(b, copy, NULL, NULL));
      for (int k = 0; cut && k < 8; k++) {
        copy[next_random(&seed) % cut] = (char)(1 + next_random(&seed) % 255);
        fc_signature_destroy(build(b, copy, NULL, NULL));
      }
      free(copy);
    }
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(declarations_become_signatures),
      FC_TEST(everything_else_is_just_text),
      FC_TEST(random_declarations_print_back),
      FC_TEST(cut_and_changed_declarations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
