// SPDX-License-Identifier: Apache-2.0
//
// The verifier, rule by rule, with functions written as bytes. The function under test
// is number 0 of a module that has everything that operands may refer to.
#include "module/vm/verify.h"

#include "helpers/test.h"

#define CODE_MAX 64

typedef struct row_t {
  const char *name;
  uint32_t version;
  const char *cconv;
  uint16_t cells;
  uint16_t refs;
  uint32_t blocks;
  const char *code;     // hex, blanks where they help
  const char *message;  // part of it; NULL: it verifies
} row_t;

// Opcodes: 79 is block, 5A is return (its list starts at an even offset).
#define RETURN "5A 00 0000"  // from an even offset
#define PLAIN 17, "0v_v", 6, 2, 1

static const row_t rows[] = {
    {"the least function", PLAIN, "79 5A 0000", NULL},
    {"arguments that just fit", 17, "0iFirr_v", 5, 2, 1, "79 5A 0000", NULL},
    {"an argument without a cell", 17, "0iFi_v", 4, 0, 1, "79 5A 0000",
     "in 5 cells and 0 refs, the function declares 4 and 0"},
    {"an argument with half a pair", 17, "0iI_v", 3, 0, 1, "79 5A 0000",
     "in 4 cells and 0 refs, the function declares 3 and 0"},
    {"an argument without a ref", 17, "0rr_v", 4, 1, 1, "79 5A 0000",
     "in 0 cells and 2 refs, the function declares 4 and 1"},
    // Structure
    {"no code", 17, "0v_v", 0, 0, 0, "", "0 blocks, the function declares 0"},
    {"no terminator", PLAIN, "79", "the last block has no terminator"},
    {"no marker", PLAIN, "5A 00 0000", "outside a block"},
    {"a marker in a block", PLAIN, "79 79 5A 00 0000",
     "the block before has no terminator"},
    {"code behind a terminator", PLAIN, "79 5A 0000 0C 0000",
     "outside a block"},
    {"fewer blocks than declared", 17, "0v_v", 0, 0, 2, "79 5A 0000",
     "1 blocks, the function declares 2"},
    {"more blocks than declared", 17, "0v_v", 0, 0, 1, "79 5A 0000 79 5A 0000",
     "2 blocks, the function declares 1"},
    {"fail may go on, but not be the end of code", PLAIN, "79 5B 0000 0000",
     NULL},
    // Decoding
    {"an unknown opcode", PLAIN, "79 FF", "unknown opcode 0x00FF"},
    {"an unknown f32 opcode", PLAIN, "79 E0 FF", "unknown opcode 0xE0FF"},
    {"a prefix and nothing", PLAIN, "79 E0", "passes the end"},
    {"an immediate past the end", PLAIN, "79 0D 0500",
     "const.i32 passes the end"},
    {"a list past the end", PLAIN, "79 5A FFFF 0000", "return passes the end"},
    {"a string past the end", PLAIN, "79 5B 0000 0500 41",
     "fail passes the end"},
    {"cases past the end", PLAIN, "79 83 0000 00000000 0000 0900",
     "br_table passes the end"},
    // Registers
    {"the last cell", PLAIN, "79 0C 0500 " RETURN, NULL},
    {"a cell too far", PLAIN, "79 0C 0600 " RETURN,
     "register 0x0006 as 32 bits: is not declared"},
    {"a ref as i32", PLAIN, "79 0C 0080 " RETURN, "is a ref"},
    {"an odd pair", PLAIN, "79 0E 0100 " RETURN,
     "register 0x0001 as 64 bits: is odd"},
    {"half a pair", 17, "0v_v", 5, 0, 1, "79 0E 0400 " RETURN,
     "is not declared"},
    {"a cell as ref", PLAIN, "79 10 0000 " RETURN, "is a value"},
    {"a ref too far", PLAIN, "79 10 0280 " RETURN, "is not declared"},
    {"an f64 is a pair too", PLAIN, "79 E1 04 0300 5A 0000", "is odd"},
    {"a register of a switch", PLAIN, "79 1F 0000 0000 0100 0600 0000 " RETURN,
     "is not declared"},
    {"a pair of a switch", PLAIN, "79 20 0000 0000 0100 0100 0000 " RETURN,
     "is odd"},
    {"a ref to trace", PLAIN, "79 5E 0000 0100 0280 " RETURN,
     "is not declared"},
    // MOVE
    {"a moved constant", PLAIN, "79 11 00000000 00C0 " RETURN, NULL},
    {"a moved buffer", PLAIN, "79 6E 00C0 0000 " RETURN, "may not be moved"},
    {"a moved buffer in 16", 16, "0v_v", 6, 2, 1, "79 6E 00C0 0000 " RETURN,
     "may not be moved"},
    {"a moved buffer in 15", 15, "0v_v", 6, 2, 1, "79 6E 00C0 0000 " RETURN,
     NULL},
    {"a moved list in 15", 15, "0v_v", 6, 2, 1, "79 16 00C0 0000 0000 " RETURN,
     NULL},
    {"a moved source of a branch", 17, "0v_v", 6, 2, 2,
     "79 56 0C000000 0100 00C0 0180 79 5A 0000", NULL},
    {"a moved target of a branch", 17, "0v_v", 6, 2, 2,
     "79 56 0C000000 0100 0080 01C0 79 5A 0000", "may not be moved"},
    {"moved refs to discard", PLAIN, "79 85 0100 00C0 " RETURN, NULL},
    {"a moved result of a call", PLAIN,
     "79 58 02000080 0100 0080 0100 01C0 " RETURN, "may not be moved"},
    {"a moved operand of a call", PLAIN,
     "79 58 02000080 0100 00C0 0100 0180 " RETURN, NULL},
    // Ordinals
    {"a global's last bytes", PLAIN, "79 00 04000000 0000 " RETURN, NULL},
    {"a global past the end", PLAIN, "79 00 05000000 0000 " RETURN,
     "4 bytes of globals at 5 of 8"},
    {"a global where the sum wraps", PLAIN, "79 00 FEFFFFFF 0000 " RETURN,
     "4 bytes of globals at 4294967294 of 8"},
    {"an i64 global that is half outside", PLAIN, "79 04 04000000 0000 " RETURN,
     "8 bytes of globals at 4 of 8"},
    {"an f64 global that is half outside", PLAIN,
     "79 E1 00 04000000 0000 5A 0000", "8 bytes of globals at 4 of 8"},
    {"an f64 global stored half outside", PLAIN,
     "79 E1 01 04000000 0000 5A 0000", "8 bytes of globals at 4 of 8"},
    {"a global ref too far", PLAIN, "79 08 01000000 01000000 0080 " RETURN,
     "global ref 1 of 1"},
    {"a type too far", PLAIN, "79 12 03000000 0000 0080 " RETURN,
     "type 3 of 3"},
    {"a constant too far", PLAIN, "79 11 01000000 0080 " RETURN,
     "constant 1 of 1"},
    {"a function too far", PLAIN, "79 58 02000000 0000 0000 " RETURN,
     "function 2 of 2"},
    {"an import too far", PLAIN, "79 58 03000080 0000 0000 " RETURN,
     "import 3 of 3"},
    {"import.resolved of a function", PLAIN, "79 5C 00000000 0000 " RETURN,
     "not an import"},
    {"import.resolved too far", PLAIN, "79 5C 03000080 0000 " RETURN,
     "import 3 of 3"},
    // Branches
    {"a branch to the start", PLAIN, "79 56 00000000 0000", NULL},
    {"a branch between markers", PLAIN, "79 56 01000000 0000",
     "branch to 0x1, which is no block"},
    {"a bad branch before good code", 17, "0v_v", 6, 2, 2,
     "79 56 01000000 0000 79 5A 0000", "branch to 0x1, which is no block"},
    {"a branch past the end", PLAIN, "79 56 FFFFFFFF 0000", "is no block"},
    {"a case to nowhere", PLAIN, "79 83 0000 00000000 0000 0100 02000000 0000",
     "branch to 0x2, which is no block"},
    {"a resume block that is none", PLAIN, "79 87 00000000 0000 03000000 0000",
     "branch to 0x3"},
    {"a cell copied to a ref", PLAIN, "79 56 00000000 0100 0000 0080",
     "is a ref"},
    {"a ref copied to a cell", PLAIN, "79 56 00000000 0100 0080 0000",
     "is a value"},
    {"two cases", PLAIN,
     "79 83 0000 00000000 0000 0200 00000000 0000 00000000 0000", NULL},
    {"a copy in the second case", PLAIN,
     "79 83 0000 00000000 0000 0200 00000000 0000 00000000 0100 0600 0000",
     "is not declared"},
    {"a copy in a case", PLAIN,
     "79 83 0000 00000000 0000 0100 00000000 0100 0600 0000",
     "is not declared"},
    // Calls
    {"a call that fits", PLAIN,
     "79 58 01000000 0200 0000 0200 0100 0400 " RETURN, NULL},
    {"an operand too few", PLAIN, "79 58 01000000 0100 0000 0100 0400 " RETURN,
     "1 operands are too few"},
    {"an operand too many", PLAIN,
     "79 58 01000000 0300 0000 0200 0000 0100 0400 " RETURN,
     "3 operands where the calling convention has 2"},
    {"an operand of 64 bits", PLAIN,
     "79 58 01000000 0200 0000 0100 0100 0400 " RETURN, "is odd"},
    {"a result too few", PLAIN, "79 58 01000000 0200 0000 0200 0000 " RETURN,
     "0 operands are too few"},
    {"a result of 64 bits", PLAIN,
     "79 58 01000000 0200 0000 0200 0100 0300 " RETURN, "is odd"},
    {"a plain call of an import with spans", PLAIN,
     "79 58 01000080 0100 0000 0000 " RETURN, "with spans"},
    {"a call with spans", PLAIN,
     "79 59 01000080 0200 FFFF 0200 0300 0000 0100 0200 0000 " RETURN, NULL},
    {"the size of what is no span is not looked at", PLAIN,
     "79 59 01000080 0200 0700 0000 0100 0000 0000 " RETURN, NULL},
    {"a span longer than the operands", PLAIN,
     "79 59 01000080 0200 FFFF 0200 0200 0000 0100 0000 " RETURN, "too few"},
    {"a span shorter than the operands", PLAIN,
     "79 59 01000080 0200 FFFF 0000 0200 0000 0100 0000 " RETURN,
     "2 operands where the calling convention has 1"},
    {"too few segment sizes", PLAIN,
     "79 59 01000080 0100 FFFF 0100 0000 0000 " RETURN,
     "1 segment sizes are too few"},
    {"too many segment sizes", PLAIN,
     "79 59 01000080 0300 FFFF 0000 0000 0100 0000 0000 " RETURN,
     "3 segment sizes for 2 items"},
    {"a function called with spans", PLAIN,
     "79 59 00000000 0000 0000 0000 " RETURN, "a variadic call"},
    {"a result that nobody asked for", PLAIN, "79 5A 0100 0000",
     "1 operands where the calling convention has 0"},
    {"a return without its result", 17, "0v_I", 6, 0, 1, "79 5A 0000",
     "0 operands are too few"},
    {"a return of half a result", 17, "0v_I", 6, 0, 1, "79 5A 0100 0100",
     "is odd"},
    {"a return of half an f64", 17, "0v_F", 6, 0, 1, "79 5A 0100 0100",
     "is odd"},
    // Versions and features
    {"discard.refs in 15", 15, "0v_v", 0, 2, 1, "79 85 0000 " RETURN,
     "needs bytecode 16.0, the module is 15.0"},
    {"call.yieldable in 16", 16, "0v_v", 0, 2, 1,
     "79 87 00000000 0000 00000000 0000",
     "needs bytecode 17.0, the module is 16.0"},
};

static uint32_t read_hex(const char *text, uint8_t *out) {
  uint32_t digits = 0;
  for (; *text; text++) {
    if (*text == ' ') continue;
    uint8_t value = (uint8_t)(*text <= '9' ? *text - '0' : *text - 'A' + 10);
    assert_true(digits < 2 * CODE_MAX && value < 16);
    if (digits % 2) out[digits / 2] |= value;
    else out[digits / 2] = (uint8_t)(value << 4);
    digits++;
  }
  return digits / 2;
}

typedef struct fixture_t {
  fc_vm_module_t module;
  fc_vm_type_def_t types[3];
  fc_vm_import_t imports[3];
  fc_vm_function_t functions[2];
  fc_vm_buffer_t rodata[1];
} fixture_t;

static void set_up(fixture_t *f, const row_t *row, const uint8_t *code,
                   uint32_t size) {
  static const char *const imported[] = {"0i_i", "0iCiD_v", "0r_r"};
  static const _Alignas(2) uint8_t nothing[] = {0x79, 0x5A, 1, 0, 2, 0};
  *f = (fixture_t){
      .types = {{FC_STR("i32"), FC_VM_TYPE_I32},
                {FC_STR("!vm.buffer"), FC_VM_TYPE_BUFFER},
                {FC_STR("!vm.list<i32>"), FC_VM_TYPE_LIST}},
      .functions = {{.code = code,
                     .size = size,
                     .requirements = FC_VM_REQUIRES_F32 | FC_VM_REQUIRES_F64,
                     .block_count = row->blocks,
                     .cell_count = row->cells,
                     .ref_count = row->refs},
                    {.code = nothing,
                     .size = sizeof nothing,
                     .block_count = 1,
                     .cell_count = 4}}};
  fc_error_t err;
  for (size_t i = 0; i < FC_ARRAY_COUNT(f->imports); i++) {
    assert_int_equal(fc_vm_cconv_parse(fc_str(imported[i]), true,
                                       &f->imports[i].cconv, &err),
                     FC_OK);
  }
  assert_int_equal(fc_vm_cconv_parse(fc_str(row->cconv), false,
                                     &f->functions[0].cconv, &err),
                   FC_OK);
  assert_int_equal(
      fc_vm_cconv_parse(FC_STR("0iI_I"), false, &f->functions[1].cconv, &err),
      FC_OK);
  f->module = (fc_vm_module_t){.allocator = fc_allocator_system(),
                               .name = FC_STR("m"),
                               .bytecode_version = row->version << 16,
                               .types = f->types,
                               .type_count = FC_ARRAY_COUNT(f->types),
                               .imports = f->imports,
                               .import_count = FC_ARRAY_COUNT(f->imports),
                               .functions = f->functions,
                               .function_count = FC_ARRAY_COUNT(f->functions),
                               .rodata = f->rodata,
                               .rodata_count = FC_ARRAY_COUNT(f->rodata),
                               .global_bytes = 8,
                               .global_refs = 1};
}

static void each_rule_holds(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    uint8_t bytes[CODE_MAX];
    uint32_t size = read_hex(row->code, bytes);
    // The copy has the exact size, so the address sanitizer sees a read past its end.
    uint8_t *code = test_malloc(size);
    memcpy(code, bytes, size);
    fixture_t fixture;
    set_up(&fixture, row, code, size);
    fc_error_t err = {0};
    fc_status_t status = fc_vm_verify(&fixture.module, &err);
    if (!row->message && status) fail_msg("%s", err.message);
    if (row->message && (!status || !strstr(err.message, row->message))) {
      fail_msg("wanted '%s', got '%s'", row->message, err.message);
    }
    if (status) assert_int_equal(err.code, FC_CODE_VMFB_INVALID);
    test_free(code);
  }
}

static void extensions_must_be_declared(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *code;
    uint32_t declared;
    const char *message;
  } features[] = {
      {"f32", "79 E0 04 0000 5A 0000", 0, "does not declare EXT_F32"},
      {"f32 is not f64", "79 E0 04 0000 5A 0000", FC_VM_REQUIRES_F64,
       "does not declare EXT_F32"},
      {"f64", "79 E1 04 0000 5A 0000", FC_VM_REQUIRES_F32,
       "does not declare EXT_F64"},
      {"yield needs no bit", "79 5D 00000000 0000", 0, NULL},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(features); i++) {
    row_t row = {features[i].name, PLAIN, features[i].code, NULL};
    _Alignas(2) uint8_t code[CODE_MAX];
    fixture_t fixture;
    set_up(&fixture, &row, code, read_hex(row.code, code));
    fixture.functions[0].requirements = features[i].declared;
    fc_error_t err = {0};
    fc_status_t status = fc_vm_verify(&fixture.module, &err);
    assert_int_equal(status != FC_OK, features[i].message != NULL);
    if (status) assert_non_null(strstr(err.message, features[i].message));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(each_rule_holds),
      FC_TEST(extensions_must_be_declared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
