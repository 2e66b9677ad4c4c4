// SPDX-License-Identifier: Apache-2.0
//
// Makes bytecode of which most verifies: single instructions from ops.def with operands
// that exist, whole functions, and functions in which one instruction is changed. A
// random number makes the choices. About one function in sixteen has operands that do
// not exist.
#ifndef FARCALL_TESTS_FUZZ_BYTECODE_MAKER_H_
#define FARCALL_TESTS_FUZZ_BYTECODE_MAKER_H_

#include "module/vm/vmfb.h"
#include "module/vm/ops.h"

#define CODE_MAX 4096u
#define BLOCKS_MAX 64u
#define NEW_BLOCKS_MAX 6u
#define NEW_OPS_MAX 12u
#define TARGETS_MAX 1024u
#define OLD_TARGET 0x80000000u  // the target is a pc of the copied code

typedef struct maker_t {
  uint64_t random;
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
  uint32_t stray_odds;  // one operand of so many does not exist; 0: all exist
  uint8_t code[CODE_MAX];
  uint32_t at;
  uint32_t blocks[BLOCKS_MAX];
  uint32_t old_blocks[BLOCKS_MAX];  // pc in the copied code, or UINT32_MAX
  uint32_t block_count;
  struct {
    uint32_t at;
    uint32_t block;
  } targets[TARGETS_MAX];
  uint32_t target_count;
} maker_t;

static uint32_t choose(maker_t *m, uint32_t count) {
  m->random ^= m->random << 13;
  m->random ^= m->random >> 7;
  m->random ^= m->random << 17;
  return count ? (uint32_t)(m->random >> 32) % count : 0;
}

static void put(maker_t *m, uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes && m->at < CODE_MAX; i++) {
    m->code[m->at++] = (uint8_t)(value >> (8 * i));
  }
}

static void put_aligned_count(maker_t *m, uint32_t count) {
  if (m->at % 2) put(m, 0, 1);
  put(m, count, 2);
}

// Registers. Usually the lower half of the cells holds 32-bit values and the upper half
// 64-bit values; even refs are lists, odd ones buffers. So many instructions find
// values of the kind that they need.
// find values of the kind they need.

static uint32_t choose_cell(maker_t *m, bool wide) {
  uint32_t count = m->function->cell_count, half = count / 2;
  uint32_t cell = choose(m, 6) == 0 ? choose(m, count)
                  : wide            ? half + choose(m, count - half)
                                    : choose(m, half);
  if (!wide) return cell;
  cell &= ~1u;
  return cell + 1 < count || cell < 2 ? cell : cell - 2;
}

static uint32_t choose_ref(maker_t *m, const char *mnemonic) {
  uint32_t ref = choose(m, m->function->ref_count);
  bool list = mnemonic && !strncmp(mnemonic, "list.", 5);
  bool buffer = mnemonic && !strncmp(mnemonic, "buffer.", 7);
  if (choose(m, 6) == 0 || (!list && !buffer)) return ref;
  ref = buffer ? ref | 1 : ref & ~1u;
  return ref < m->function->ref_count ? ref : 0;
}

static void put_register(maker_t *m, char kind, const char *mnemonic) {
  uint32_t stray =
      m->stray_odds && choose(m, m->stray_odds) == 0 ? choose(m, 1 << 16) : 0;
  switch (kind) {
    case 'm':
    case 'M':
    case 'r':
    case 'R': {
      bool may_move =
          kind == 'm' || kind == 'M' || (fc_vm_module_major(m->module) == 15);
      uint32_t move = may_move && choose(m, 3) == 0 ? FC_VM_MOVE_BIT : 0;
      put(m, (FC_VM_REF_BIT | move | choose_ref(m, mnemonic)) ^ stray, 2);
      return;
    }
    case 'l':
    case 'L':
    case 'd':
    case 'D':
      put(m, choose_cell(m, true) ^ stray, 2);
      return;
    default:
      put(m, choose_cell(m, false) ^ stray, 2);
      return;
  }
}

// Writes a register for one letter of a calling convention.
static void put_value(maker_t *m, char letter, bool operand) {
  char kind = letter == 'I' ? 'l' : letter == 'F' ? 'd' : letter;
  put_register(m, kind == 'r' && operand ? 'm' : kind, NULL);
}

static void put_values(maker_t *m, fc_str_t letters, bool operand) {
  put_aligned_count(m, (uint32_t)letters.size);
  for (size_t i = 0; i < letters.size; i++) {
    put_value(m, letters.data[i], operand);
  }
}

static void put_list(maker_t *m, char element) {
  uint32_t count = choose(m, 5);
  put_aligned_count(m, count);
  for (uint32_t i = 0; i < count; i++) {
    char kind = element == '?'   ? (choose(m, 2) ? 'm' : 'i')
                : element == 'r' ? 'm'
                                 : element;
    put_register(m, kind, NULL);
  }
}

static void put_copies(maker_t *m) {
  uint32_t count = choose(m, 4);
  put_aligned_count(m, count);
  for (uint32_t i = 0; i < count; i++) {
    bool ref = choose(m, 2);
    put_register(m, ref ? 'm' : 'i', NULL);
    put_register(m, ref ? 'r' : 'i', NULL);
    if (ref && fc_vm_module_major(m->module) != 15 && m->at < CODE_MAX) {
      m->code[m->at - 1] &= (uint8_t) ~(FC_VM_MOVE_BIT >> 8);
    }
  }
}

// ---------------------------------------------------------------------------
// Other operands

static void put_target(maker_t *m, uint32_t block) {
  if (m->target_count < TARGETS_MAX) {
    m->targets[m->target_count].at = m->at;
    m->targets[m->target_count++].block = block;
  }
  put(m, 0, 4);
}

static void put_any_target(maker_t *m) { put_target(m, choose(m, BLOCKS_MAX)); }

static uint64_t choose_number(maker_t *m) {
  static const uint64_t edges[] = {0,
                                   1,
                                   7,
                                   8,
                                   63,
                                   UINT64_MAX,
                                   INT32_MAX,
                                   (uint64_t)INT32_MIN,
                                   INT64_MAX,
                                   (uint64_t)INT64_MIN,
                                   0x3F800000,          // 1.0f
                                   0x7FC00000,          // NaN
                                   0x4010000000000000,  // 4.0
                                   0x7FF0000000000000};
  if (choose(m, 3)) return choose(m, 12);
  if (choose(m, 2)) return edges[choose(m, FC_ARRAY_COUNT(edges))];
  return (uint64_t)choose(m, UINT32_MAX) << 32 | choose(m, UINT32_MAX);
}

static bool has_spans(const fc_vm_cconv_t *cconv) {
  return cconv->arguments.size &&
         memchr(cconv->arguments.data, 'C', cconv->arguments.size);
}

static const fc_vm_cconv_t *put_callee(maker_t *m, bool variadic) {
  const fc_vm_module_t *module = m->module;
  if (!variadic && choose(m, 2)) {
    uint32_t function = choose(m, module->function_count);
    put(m, function, 4);
    return &module->functions[function].cconv;
  }
  uint32_t import = choose(m, module->import_count);
  while (!variadic && has_spans(&module->imports[import].cconv)) {
    import = (import + 1) % module->import_count;
  }
  put(m, FC_VM_IMPORT_BIT | import, 4);
  return &module->imports[import].cconv;
}

// Writes the segment sizes and operands of a variadic call.
static void put_spans(maker_t *m, fc_str_t letters) {
  uint32_t times[16], items = 0, count = 0, in_span = 0;
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] == 'C') in_span = choose(m, 4) + 1;
    else if (letters.data[i] == 'D') times[items++] = in_span - 1, in_span = 0;
    else if (in_span) count += in_span - 1;
    else times[items++] = FC_VM_NOT_A_SPAN, count++;
    if (items == FC_ARRAY_COUNT(times)) break;
  }
  put_aligned_count(m, items);
  for (uint32_t i = 0; i < items; i++) put(m, times[i], 2);
  put_aligned_count(m, count);
  uint32_t item = 0;
  for (size_t i = 0; i < letters.size; i++, item++) {
    if (letters.data[i] != 'C') {
      put_value(m, letters.data[i], true);
      continue;
    }
    size_t begin = i + 1;
    while (letters.data[i] != 'D') i++;
    for (uint32_t k = 0; k < times[item]; k++) {
      for (size_t j = begin; j < i; j++) put_value(m, letters.data[j], true);
    }
  }
}

static uint32_t choose_global(maker_t *m, char next) {
  if (next == 't') return choose(m, m->module->global_refs);
  uint32_t wide = strchr("lLdD", next) ? 8 : 4;
  return choose(m, m->module->global_bytes - wide + 1);
}

// ---------------------------------------------------------------------------
// Instructions

static bool is_variadic(const fc_vm_op_t *op) {
  return op->opcode == FC_VM_OP_CallVariadic ||
         op->opcode == FC_VM_OP_CallVariadicYieldable;
}

static void put_opcode(maker_t *m, const fc_vm_op_t *op) {
  uint32_t set = (uint32_t)op->opcode >> 8;
  if (set == FC_VM_SET_F32) put(m, FC_VM_OP_PrefixExtF32 & 0xFF, 1);
  if (set == FC_VM_SET_F64) put(m, FC_VM_OP_PrefixExtF64 & 0xFF, 1);
  put(m, (uint32_t)op->opcode & 0xFF, 1);
}

static void put_instruction(maker_t *m, const fc_vm_op_t *op) {
  put_opcode(m, op);
  const fc_vm_cconv_t *callee = NULL;
  uint32_t cases = 0;
  for (const char *c = op->fields; *c; c++) {
    switch (*c) {
      case 'a':
      case 'e':
        put(m, choose_number(m), 4);
        break;
      case 'A':
      case 'E':
        put(m, choose_number(m), 8);
        break;
      case 'g':
        put(m, choose_global(m, c[1]), 4);
        break;
      case 'k':
        put(m, choose(m, m->module->rodata_count), 4);
        break;
      case 't':
        put(m, choose(m, m->module->type_count), 4);
        break;
      case 'p':
        put(m, FC_VM_IMPORT_BIT | choose(m, m->module->import_count), 4);
        break;
      case 'c':
        callee = put_callee(m, is_variadic(op));
        break;
      case 's':
        put(m, 1, 2);
        put(m, choose(m, 256), 1);
        break;
      case 'n':
        put(m, cases = choose(m, 4), 2);
        break;
      case 'b':
        put_any_target(m);
        break;
      case 'B':
        put_copies(m);
        break;
      case 'T':
        for (uint32_t i = 0; i < cases; i++) {
          put_any_target(m);
          put_copies(m);
        }
        break;
      case 'S':
        put_spans(m, callee->arguments);
        break;
      case '#':
        put_values(m, callee->results, false);
        break;
      case '*':
        c++;
        if (is_variadic(op)) break;  // put_spans has written the operands
        if (callee) {
          put_values(m, callee->arguments, true);
        } else if (op->opcode == FC_VM_OP_Return) {
          put_values(m, m->function->cconv.results, true);
        } else {
          put_list(m, *c);
        }
        break;
      default:
        put_register(m, *c, op->mnemonic);
        break;
    }
  }
}

static const fc_vm_op_t *find_op(fc_vm_opcode_t opcode) {
  return fc_vm_op_find((fc_vm_opcode_set_t)((uint32_t)opcode >> 8),
                       (uint8_t)opcode);
}

static bool is_newer(const maker_t *m, const fc_vm_op_t *op) {
  return fc_vm_module_major(m->module) < op->since;
}

// Chooses an opcode that ends a block (`terminator`), or one that does not.
static const fc_vm_op_t *choose_op(maker_t *m, bool terminator) {
  static const fc_vm_op_t *ops[2][FC_VM_SET_COUNT * 256];
  static uint32_t counts[2];
  bool empty = !counts[1];
  for (uint32_t i = 0; empty && i < FC_VM_SET_COUNT * 256; i++) {
    const fc_vm_op_t *op =
        fc_vm_op_find((fc_vm_opcode_set_t)(i / 256), (uint8_t)i);
    if (!op || !op->mnemonic[0]) continue;
    bool ends = fc_vm_op_is_terminator(op);
    ops[ends][counts[ends]++] = op;
  }
  const fc_vm_op_t *op;
  do {
    op = ops[terminator][choose(m, counts[terminator])];
  } while (is_newer(m, op));
  return op;
}

static void start_block(maker_t *m, uint32_t old_pc) {
  if (m->block_count == BLOCKS_MAX) return;
  m->old_blocks[m->block_count] = old_pc;
  m->blocks[m->block_count++] = m->at;
  put(m, FC_VM_OP_Block & 0xFF, 1);
}

// Puts numbers that are useful as indices into some cells, and objects into some refs.
static void put_prologue(maker_t *m) {
  for (uint32_t i = choose(m, 6); i > 0; i--) {
    put_instruction(
        m, find_op(choose(m, 2) ? FC_VM_OP_ConstI32 : FC_VM_OP_ConstI64));
  }
  for (uint32_t i = 0; i < m->function->ref_count && i < 8; i++) {
    put_instruction(m, find_op(choose(m, 5) == 0 ? FC_VM_OP_ConstRefRodata
                               : i % 2           ? FC_VM_OP_BufferAlloc
                                                 : FC_VM_OP_ListAlloc));
    if (choose(m, 2)) put_instruction(m, find_op(FC_VM_OP_ListResize));
  }
}

static void put_new_block(maker_t *m) {
  start_block(m, UINT32_MAX);
  for (uint32_t k = choose(m, NEW_OPS_MAX); k > 0; k--) {
    put_instruction(m, choose_op(m, false));
  }
  put_instruction(m, choose_op(m, true));
}

// ---------------------------------------------------------------------------
// Functions

static void start_function(maker_t *m, const fc_vm_function_t *function) {
  m->function = function;
  m->at = m->block_count = m->target_count = 0;
  m->stray_odds = choose(m, 16) == 0 ? 40 : 0;
}

static uint32_t new_place(maker_t *m, uint32_t block) {
  if (!(block & OLD_TARGET)) return m->blocks[block % m->block_count];
  for (uint32_t i = 0; i < m->block_count; i++) {
    if (m->old_blocks[i] == (block & ~OLD_TARGET)) return m->blocks[i];
  }
  return m->blocks[choose(m, m->block_count)];
}

static void end_function(maker_t *m) {
  for (uint32_t i = 0; i < m->target_count; i++) {
    uint32_t pc = new_place(m, m->targets[i].block);
    if (m->targets[i].at + sizeof pc > CODE_MAX) continue;
    memcpy(m->code + m->targets[i].at, &pc, sizeof pc);
  }
}

static void make_function(maker_t *m, const fc_vm_function_t *function) {
  start_function(m, function);
  uint32_t count = 1 + choose(m, NEW_BLOCKS_MAX);
  start_block(m, UINT32_MAX);
  if (choose(m, 4)) put_prologue(m);
  for (uint32_t k = choose(m, NEW_OPS_MAX); k > 0; k--) {
    put_instruction(m, choose_op(m, false));
  }
  put_instruction(m, choose_op(m, true));
  while (--count) put_new_block(m);
  end_function(m);
}

// Makes a function with one block that returns at once.
static void make_least_function(maker_t *m, const fc_vm_function_t *function) {
  start_function(m, function);
  start_block(m, UINT32_MAX);
  put_instruction(m, find_op(FC_VM_OP_Return));
}

// Copies the instruction unchanged.
static void copy_instruction(maker_t *m, const uint8_t *code,
                             const fc_vm_instruction_t *in) {
  put_opcode(m, in->op);
  for (uint32_t i = 0; i < in->field_count; i++) {
    const fc_vm_field_t *field = &in->fields[i];
    uint32_t pc = field->pc;
    switch (field->kind) {
      case '*':
      case '#':
      case 'S':
      case 'B':
        put_aligned_count(m, field->count);
        for (uint32_t k = 0; k < field->count * (field->kind == 'B' ? 4 : 2);
             k++) {
          put(m, code[pc + k], 1);
        }
        break;
      case 's':
        put(m, field->count, 2);
        for (uint32_t k = 0; k < field->count; k++) put(m, code[pc + k], 1);
        break;
      case 'b':
        put_target(m, (uint32_t)field->value | OLD_TARGET);
        break;
      case 'T':
        for (uint32_t k = 0; k < field->count; k++) {
          fc_vm_edge_t edge;
          fc_vm_next_case(code, &pc, &edge);
          put_target(m, edge.target | OLD_TARGET);
          put_aligned_count(m, edge.copy_count);
          for (uint32_t b = 0; b < edge.copy_count * 4; b++) {
            put(m, code[edge.copies_pc + b], 1);
          }
        }
        break;
      case 'A':
      case 'E':
        put(m, field->value, 8);
        break;
      default:
        put(m, field->value, strchr("gktcpae", field->kind) ? 4 : 2);
        break;
    }
  }
}

static bool copy_edited(maker_t *m, const uint8_t *code,
                        const fc_vm_instruction_t *in) {
  bool ends = fc_vm_op_is_terminator(in->op);
  switch (choose(m, 6)) {
    case 0:  // another instruction before it
      put_instruction(m, choose_op(m, false));
      return true;
    case 1:  // another instruction in its place
      put_instruction(m, choose_op(m, ends));
      return false;
    case 2:  // it is left out, if it does not end the block
      return ends;
    case 3:  // it is there twice
      if (!ends) copy_instruction(m, code, in);
      return true;
    case 4:  // the block ends before it, and it begins a new one
      put_instruction(m, choose_op(m, true));
      start_block(m, UINT32_MAX);
      return true;
    default:  // the same opcode with other operands
      put_instruction(m, in->op);
      return false;
  }
}

// Makes `code` with one instruction changed. False: the code cannot be decoded.
static bool edit_function(maker_t *m, const fc_vm_function_t *function,
                          const uint8_t *code, uint32_t size) {
  start_function(m, function);
  uint32_t count = 0;
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < size; pc = in.next, count++) {
    if (fc_vm_decode(code, size, pc, &in, NULL)) return false;
  }
  uint32_t chosen = choose(m, count), index = 0;
  for (uint32_t pc = 0; pc < size; pc = in.next, index++) {
    if (fc_vm_decode(code, size, pc, &in, NULL)) return false;
    bool is_block = in.op->opcode == FC_VM_OP_Block;
    if (index == chosen && is_block && index > 0) put_new_block(m);
    if (is_block) start_block(m, pc);
    else if (index != chosen || copy_edited(m, code, &in))
      copy_instruction(m, code, &in);
  }
  if (!m->block_count) return false;
  end_function(m);
  return true;
}

#endif  // FARCALL_TESTS_FUZZ_BYTECODE_MAKER_H_
