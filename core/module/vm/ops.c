// SPDX-License-Identifier: Apache-2.0
//
// The instruction table and its decoder. The decoder checks that every byte
// lies in the code; the verifier checks the meaning of operands. Any thread.
#include "module/vm/ops.h"

#include <inttypes.h>

// The rows in the order of ops.def. For each opcode, the number of its row, counted from
// 1. A table with a full row for every possible opcode would be three times as large.
typedef enum row_t {
#define FC_VM_OP(set, opcode, name, ...) ROW_##name,
#include "module/vm/ops.def"
#undef FC_VM_OP
  ROW_COUNT
} row_t;

#define FIELDS(...) \
  { __VA_ARGS__ }
static const fc_vm_op_t rows[ROW_COUNT] = {
#define FC_VM_OP(set, opcode, name, mnemonic, fields, text, since, flow,      \
                 effect)                                                      \
  [ROW_##name] = {                                                            \
      FC_VM_OP_##name,      mnemonic, fields, text, since, FC_VM_FLOW_##flow, \
      FC_VM_EFFECT_##effect},
#include "module/vm/ops.def"
#undef FC_VM_OP
#undef FIELDS
};

static const uint16_t places[FC_VM_SET_COUNT][256] = {
#define FC_VM_OP(set, opcode, name, ...) \
  [FC_VM_SET_##set][opcode] = ROW_##name + 1,
#include "module/vm/ops.def"
#undef FC_VM_OP
};

#define ROW ((const fc_vm_op_t *)NULL)
#define FIELDS(...) \
  (const char[]) { __VA_ARGS__ }
#define FC_VM_OP(set, opcode, name, what, letters, shown, since, flow, effect) \
  _Static_assert(FC_VM_EFFECT_##effect != 0 &&                                 \
                     sizeof what <= sizeof ROW->mnemonic &&                    \
                     sizeof letters < sizeof ROW->fields &&                    \
                     sizeof shown <= sizeof ROW->text,                         \
                 #name);
#include "module/vm/ops.def"
#undef FC_VM_OP
#undef FIELDS
#undef ROW

const fc_vm_op_t *fc_vm_op_find(fc_vm_opcode_set_t set, uint8_t opcode) {
  uint16_t place = places[set][opcode];
  return place ? &rows[place - 1] : NULL;
}

const fc_vm_bytecode_t fc_vm_bytecodes[] = {
#define FC_VM_BYTECODE(major, first, last, moves_anywhere) \
  {FC_VM_BYTECODE_##major, first, last, moves_anywhere},
#include "module/vm/releases.def"
#undef FC_VM_BYTECODE
};
const size_t fc_vm_bytecode_count = FC_ARRAY_COUNT(fc_vm_bytecodes);

const fc_vm_bytecode_t *fc_vm_bytecode_find(uint32_t version) {
  for (size_t i = 0; i < fc_vm_bytecode_count; i++) {
    if (fc_vm_bytecodes[i].major << 16 == version) return &fc_vm_bytecodes[i];
  }
  return NULL;
}

typedef struct code_reader_t {
  const uint8_t *code;
  uint32_t size;
  uint32_t pc;
  bool overrun;
} code_reader_t;

static const uint8_t *take(code_reader_t *reader, uint32_t bytes) {
  static const uint8_t zeros[8];
  if (reader->overrun || bytes > reader->size - reader->pc) {
    reader->overrun = true;
    return bytes <= sizeof zeros ? zeros : NULL;
  }
  const uint8_t *at = reader->code + reader->pc;
  reader->pc += bytes;
  return at;
}

static uint16_t take_u16(code_reader_t *reader) {
  return fc_load_u16(take(reader, 2));
}
static uint32_t take_u32(code_reader_t *reader) {
  return fc_load_u32(take(reader, 4));
}

// Reads a list: a count at an even offset, then the entries.
static void take_list(code_reader_t *reader, uint32_t entry_size,
                      fc_vm_field_t *out) {
  if (reader->pc & 1) take(reader, 1);
  out->count = take_u16(reader);
  out->pc = reader->pc;
  take(reader, out->count * entry_size);
}

static void take_cases(code_reader_t *reader, uint32_t count,
                       fc_vm_field_t *out) {
  out->pc = reader->pc;
  out->count = count;
  for (uint32_t i = 0; i < count && !reader->overrun; i++) {
    fc_vm_field_t copies;
    take(reader, 4);
    take_list(reader, 4, &copies);
  }
}

static void take_field(code_reader_t *reader, const fc_vm_field_t *before,
                       fc_vm_field_t *out) {
  switch (out->kind) {
    case 'g':
    case 'k':
    case 't':
    case 'c':
    case 'p':
    case 'b':
    case 'a':
    case 'e':
      out->value = take_u32(reader);
      break;
    case 'A':
    case 'E':
      out->value = fc_load_u64(take(reader, 8));
      break;
    case 's':
      out->count = take_u16(reader);
      out->pc = reader->pc;
      take(reader, out->count);
      break;
    case '*':
    case '#':
    case 'S':
      take_list(reader, 2, out);
      break;
    case 'B':
      take_list(reader, 4, out);
      break;
    case 'T':
      take_cases(reader, (uint32_t)before->value, out);
      break;
    default:
      out->value = take_u16(reader);
      break;  // any other kind: a register or a count
  }
}

fc_status_t fc_vm_decode(const uint8_t *code, uint32_t size, uint32_t pc,
                         fc_vm_instruction_t *out, fc_error_t *err) {
  FC_ASSERT(pc < size);
  code_reader_t reader = {.code = code, .size = size, .pc = pc};
  uint8_t byte = *take(&reader, 1);
  fc_vm_opcode_set_t set = FC_VM_SET_CORE;
  if (byte == (FC_VM_OP_PrefixExtF32 & 0xFF)) set = FC_VM_SET_F32;
  if (byte == (FC_VM_OP_PrefixExtF64 & 0xFF)) set = FC_VM_SET_F64;
  if (set != FC_VM_SET_CORE) byte = *take(&reader, 1);
  const fc_vm_op_t *op = fc_vm_op_find(set, byte);
  if (!op) {
    return fc_fail(err, FC_CODE_VMFB_INVALID, "unknown opcode 0x%02X%02X",
                   set == FC_VM_SET_CORE ? 0u : (unsigned)code[pc], byte);
  }
  out->op = op;
  out->pc = pc;
  out->field_count = 0;
  for (const char *letter = op->fields; *letter; letter++) {
    FC_ASSERT(out->field_count < FC_VM_FIELD_MAX);
    fc_vm_field_t *field = &out->fields[out->field_count];
    *field = (fc_vm_field_t){.kind = *letter};
    if (*letter == '*') field->element = *++letter;
    take_field(&reader, out->field_count ? field - 1 : NULL, field);
    out->field_count++;
  }
  if (reader.overrun) {
    return fc_fail(err, FC_CODE_VMFB_INVALID, "%s passes the end of the code",
                   op->mnemonic);
  }
  out->next = reader.pc;
  return FC_OK;
}

void fc_vm_next_case(const uint8_t *code, uint32_t *pc, fc_vm_edge_t *out) {
  out->target = fc_load_u32(code + *pc);
  uint32_t list = fc_vm_align2(*pc + 4);
  out->copy_count = fc_load_u16(code + list);
  out->copies_pc = list + 2;
  *pc = out->copies_pc + 4 * out->copy_count;
}

void fc_vm_edges_init(fc_vm_edges_t *edges, const uint8_t *code,
                      const fc_vm_instruction_t *instruction) {
  *edges = (fc_vm_edges_t){.code = code, .instruction = instruction};
}

bool fc_vm_edges_next(fc_vm_edges_t *edges, fc_vm_edge_t *out) {
  const fc_vm_instruction_t *instruction = edges->instruction;
  for (;;) {
    if (edges->cases_left) {
      edges->cases_left--;
      fc_vm_next_case(edges->code, &edges->case_pc, out);
      return true;
    }
    if (edges->field == instruction->field_count) return false;
    const fc_vm_field_t *field = &instruction->fields[edges->field++];
    if (field->kind == 'T') {
      edges->cases_left = field->count;
      edges->case_pc = field->pc;
    } else if (field->kind == 'b') {
      // A yieldable call has no register copies: in their place it has results.
      bool copies =
          edges->field < instruction->field_count && field[1].kind == 'B';
      *out = (fc_vm_edge_t){.target = (uint32_t)field->value,
                            .copies_pc = copies ? field[1].pc : 0,
                            .copy_count = copies ? field[1].count : 0};
      return true;
    }
  }
}
