// SPDX-License-Identifier: Apache-2.0
//
// Every opcode: runs ops.vmfb (made by tests/modules/vmasm/make.py) and compares with
// ops.txt, which IREE's own runtime wrote. All bits must agree, except in results of
// the C library. On lines marked "own" that runtime crashes, or we differ on purpose.
#include "module/vm/ops.h"

#include <math.h>

#include "module/vm/run.h"

#define OPS FARCALL_SOURCE_DIR "/tests/corpus/vm/ops"
#define RESULTS_MAX 256

typedef struct words_t {
  char *rest;  // of the line
} words_t;

static const char *next_word(words_t *words) {
  while (*words->rest == ' ') words->rest++;
  if (!*words->rest || *words->rest == '#') return NULL;
  char *word = words->rest;
  while (*words->rest && *words->rest != ' ') words->rest++;
  if (*words->rest) *words->rest++ = 0;
  return word;
}

// Two C libraries may differ in the last bits of these functions.
static bool is_near(const char *name, const char *wanted, const char *got) {
  static const char *const inexact[] = {
    "atan",
    "cos.",
    "sin.",
    "exp",
    "log",
    "pow.",
    "tanh.",
    "erf.",
#if defined( \
    FP_FAST_FMA)  // fc_vm_fma is fused here, and was not where these are from
    "fma.f"
#endif
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(inexact); i++) {
    if (strncmp(name, inexact[i], strlen(inexact[i])) != 0) continue;
    uint64_t a = strtoull(wanted, NULL, 16), b = strtoull(got, NULL, 16);
    return (a > b ? a - b : b - a) <= 2;
  }
  return false;
}

static void expect_words(vm_t *vm, const char *name, words_t words) {
  static fc_vm_raw_t results[RESULTS_MAX];
  fc_vm_raw_t none[1];
  fc_error_t err = {0};
  const fc_vm_export_t *export = fc_vm_module_find(vm->module, fc_str(name));
  if (!export) fail_msg("no function %s", name);
  fc_str_t letters = vm->module->functions[export->function].cconv.results;
  assert_true(letters.size < RESULTS_MAX);
  vm->invocation.fuel = 1000000;
  fc_status_t status = fc_vm_call(vm->context, &vm->invocation,
                                  export->function, none, results, &err);
  const char *word = next_word(&words);
  if (status || !word || *word == '!') {
    const char *wanted = word && *word == '!' ? word + 1 : "OK";
    if (strcmp(fc_status_name(status), wanted)) {
      fail_msg("%s: wanted %s, got %s %s", name, wanted, fc_status_name(status),
               err.message);
    }
    return;
  }
  for (size_t i = 0; i < letters.size; i++, word = next_word(&words)) {
    char got[17];
    if (!word) fail_msg("%s: too few words", name);
    if (letters.data[i] == 'I') {
      snprintf(got, sizeof got, "%016llx", (unsigned long long)results[i].i64);
    } else {
      snprintf(got, sizeof got, "%08x", (unsigned)results[i].i32);
    }
    if (strcmp(got, word) && !is_near(name, word, got)) {
      fail_msg("%s: result %zu: wanted %s, got %s", name, i, word, got);
    }
  }
  if (word) fail_msg("%s: too many words", name);
}

static void expect_lines(vm_t *vm, char *text, size_t *out_count) {
  for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = 0;
    char *colon = strchr(line, ':');
    assert_non_null(colon);
    *colon = 0;
    fc_test_row(line);
    expect_words(vm, line, (words_t){colon + 1});
    ++*out_count;
  }
  fc_test_row(NULL);
}

static void every_function_gives_what_the_reference_gave(void **state) {
  (void)state;
  size_t size = 0, text_size = 0, count = 0;
  uint8_t *data = read_file(OPS ".vmfb", &size);
  char *text = (char *)read_file(OPS ".txt", &text_size);
  assert_non_null(data);
  assert_non_null(text);
  text[text_size - 1] = 0;  // the last newline
  char *lines = malloc(text_size + 1);
  assert_non_null(lines);
  memcpy(lines, text, text_size - 1);
  lines[text_size - 1] = '\n';
  lines[text_size] = 0;
  vm_t vm;
  fc_error_t err = {0};
  if (vm_open(&vm, data, size, fc_allocator_system(), &err)) {
    fail_msg("%s", err.message);
  }
  expect_lines(&vm, lines, &count);
  print_message("%zu functions\n", count);
  assert_true(count > 300);
  vm_close(&vm);
  free(lines);
  free(text);
  free(data);
}

// iree-as-module cannot read switch.ref, so the code is given as bytes:
//   r0, r1, r2 = constants of 1, 2 and 3 bytes
//   r3 = switch.ref i0[r0, R1] else R2
//   return r0 != null, r1 != null, r2 != null, length of r3
static void switch_ref_takes_what_it_chooses(void **state) {
  (void)state;
  static const _Alignas(2) uint8_t code[] = {
      0x79,                                                           // block
      0x11, 0,    0,    0,    0,    0x00, 0x80,                       // r0
      0x11, 1,    0,    0,    0,    0x01, 0x80,                       // r1
      0x11, 2,    0,    0,    0,    0x02, 0x80,                       // r2
      0x21, 0,    0,    0,    0,    0,    0,    0x02, 0xC0, 0,        // switch
      2,    0,    0x00, 0x80, 0x01, 0xC0, 0x03, 0x80,                 // r3
      0x55, 0x00, 0x80, 1,    0,                                      // cmp.nz
      0x55, 0x01, 0x80, 2,    0,                                      // cmp.nz
      0x55, 0x02, 0x80, 3,    0,                                      // cmp.nz
      0x6E, 0x03, 0x80, 4,    0,                                      // length
      0x5A, 0,    4,    0,    1,    0,    2,    0,    3,    0, 4, 0,  // return
  };
  static const struct {
    const char *name;
    int32_t index;
    int32_t left[3];
    int64_t length;
  } rows[] = {{"first, kept", 0, {1, 1, 1}, 1},
              {"second, moved", 1, {1, 0, 1}, 2},
              {"past the end, moved", 2, {1, 1, 0}, 3},
              {"negative, moved", -1, {1, 1, 0}, 3}};
  fc_vm_type_def_t types[] = {{FC_STR("!vm.buffer"), FC_VM_TYPE_BUFFER}};
  fc_vm_buffer_t rodata[3];
  for (size_t i = 0; i < 3; i++) {
    fc_vm_buffer_init_constant(&rodata[i], code, i + 1);
  }
  fc_vm_function_t functions[] = {{.code = code,
                                   .size = sizeof code,
                                   .block_count = 1,
                                   .cell_count = 6,
                                   .ref_count = 4}};
  fc_error_t err = {0};
  assert_int_equal(
      fc_vm_cconv_parse(FC_STR("0i_iiiI"), false, &functions[0].cconv, &err),
      FC_OK);
  fc_vm_module_t module = {.allocator = fc_allocator_system(),
                           .bytecode_version = 17 << 16,
                           .types = types,
                           .type_count = 1,
                           .functions = functions,
                           .function_count = 1,
                           .rodata = rodata,
                           .rodata_count = 3};
  if (fc_vm_verify(&module, &err)) fail_msg("%s", err.message);
  fc_vm_stack_t stack;
  fc_vm_stack_init(&stack, fc_allocator_system(), 4096, 4);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = UINT64_MAX};
  fc_vm_context_t *context = NULL;
  assert_int_equal(
      fc_vm_context_create(&module, test_natives, fc_allocator_system(), 4096,
                           &invocation, &context, &err),
      FC_OK);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_vm_raw_t in[1] = {{.i32 = rows[i].index}}, out[4];
    assert_int_equal(fc_vm_call(context, &invocation, 0, in, out, &err), 0);
    for (size_t k = 0; k < 3; k++) {
      assert_int_equal(out[k].i32, rows[i].left[k]);
    }
    assert_int_equal(out[3].i64, rows[i].length);
  }
  fc_test_row(NULL);
  fc_vm_context_destroy(context, &invocation);
  fc_vm_stack_deinit(&stack);
}

static void no_opcode_is_left_out(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(OPS ".vmfb", &size);
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  assert_int_equal(
      fc_vm_module_create(data, size, fc_allocator_system(), &module, &err), 0);
  static bool seen[FC_VM_SET_COUNT << 8];
  for (uint32_t i = 0; i < module->function_count; i++) {
    const fc_vm_function_t *function = &module->functions[i];
    fc_vm_instruction_t in;
    for (uint32_t pc = 0; pc < function->size; pc = in.next) {
      assert_int_equal(
          fc_vm_decode(function->code, function->size, pc, &in, &err), FC_OK);
      seen[in.op->opcode] = true;
    }
  }
  seen[FC_VM_OP_SwitchRef] = true;  // tested above
  size_t missing = 0;
  for (uint32_t i = 0; i < FC_VM_SET_COUNT << 8; i++) {
    const fc_vm_op_t *op =
        fc_vm_op_find((fc_vm_opcode_set_t)(i >> 8), (uint8_t)i);
    if (!op || !op->mnemonic[0] || seen[i]) continue;
    print_message("%s is in no function\n", op->mnemonic);
    missing++;
  }
  assert_int_equal(missing, 0);
  fc_vm_module_destroy(module);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_function_gives_what_the_reference_gave),
      FC_TEST(switch_ref_takes_what_it_chooses),
      FC_TEST(no_opcode_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
