// SPDX-License-Identifier: Apache-2.0
//
// The instruction table (ops.def) and the only decoder, which the verifier, the
// disassembler and the analyses share. The interpreter reads bytecode without
// the decoder, after the verifier has checked the bytecode.
#ifndef FARCALL_CORE_MODULE_VM_OPS_H_
#define FARCALL_CORE_MODULE_VM_OPS_H_

#include "module/vm/effect.h"
#include "base/load.h"

// The versions of bytecode that can be read.
enum {
#define FC_VM_BYTECODE(major, first, last, moves_anywhere) \
  FC_VM_BYTECODE_##major = (major),
#include "module/vm/releases.def"
#undef FC_VM_BYTECODE
};

typedef struct fc_vm_bytecode_t {
  uint32_t major;
  const char *first_release;  // of IREE
  const char *last_release;
  bool moves_anywhere;  // MOVE is allowed on any ref that is read
} fc_vm_bytecode_t;

extern const fc_vm_bytecode_t fc_vm_bytecodes[];
extern const size_t fc_vm_bytecode_count;
// Finds a version of bytecode, major << 16 | minor. NULL: it cannot be read.
const fc_vm_bytecode_t *fc_vm_bytecode_find(uint32_t version);

typedef enum fc_vm_opcode_set_t {
  FC_VM_SET_CORE,
  FC_VM_SET_F32,
  FC_VM_SET_F64,
  FC_VM_SET_COUNT
} fc_vm_opcode_set_t;

// Opcodes of all sets in one enumeration: set << 8 | opcode.
typedef enum fc_vm_opcode_t {
#define FC_VM_OP(set, opcode, name, mnemonic, fields, text, since, flow, \
                 effect)                                                 \
  FC_VM_OP_##name = FC_VM_SET_##set << 8 | (opcode),
#include "module/vm/ops.def"
#undef FC_VM_OP
} fc_vm_opcode_t;

// What control does after an instruction. From BRANCH on, it does not continue with
// the next instruction, except after FAIL with status 0.
typedef enum fc_vm_flow_t {
  FC_VM_FLOW_NEXT,
  FC_VM_FLOW_BLOCK,  // not an instruction: marks where a block begins
  FC_VM_FLOW_CALL,
  FC_VM_FLOW_BRANCH,
  FC_VM_FLOW_CALL_BRANCH,  // a yieldable call: continues at its resume block
  FC_VM_FLOW_RETURN,
  FC_VM_FLOW_FAIL,
} fc_vm_flow_t;

// A row of ops.def. The texts are arrays, because pointers would have to be relocated at
// each start.
typedef struct fc_vm_op_t {
  fc_vm_opcode_t opcode;
  char mnemonic[28];  // without "vm."; "": there is none
  char fields[8];     // letters, explained in ops.def
  char text[36];
  uint32_t since;  // major version of the bytecode
  fc_vm_flow_t flow;
  uint32_t effect;  // fc_vm_effect_t, never 0
} fc_vm_op_t;

// Returns the row of an opcode; NULL when the set has no such opcode.
const fc_vm_op_t *fc_vm_op_find(fc_vm_opcode_set_t set, uint8_t opcode);
static inline bool fc_vm_op_is_terminator(const fc_vm_op_t *op) {
  return op->flow >= FC_VM_FLOW_BRANCH;
}
static inline bool fc_vm_op_is_call(const fc_vm_op_t *op) {
  return op->flow == FC_VM_FLOW_CALL || op->flow == FC_VM_FLOW_CALL_BRANCH;
}

// Bits of register operands and ordinals.
#define FC_VM_REF_BIT 0x8000u
#define FC_VM_MOVE_BIT 0x4000u  // of a ref
#define FC_VM_REF_MASK 0x3FFFu
#define FC_VM_IMPORT_BIT 0x80000000u  // of a function ordinal: it is an import
#define FC_VM_NOT_A_SPAN 0xFFFFu      // segment size of a value in no span

// Rounds up to an even offset from the start of the function, where lists start.
static inline uint32_t fc_vm_align2(uint32_t pc) { return (pc + 1) & ~1u; }

#define FC_VM_FIELD_MAX 6
// One operand. `value` is a register, ordinal, immediate, branch target or count.
// Lists, strings and tables have `count` entries; `pc` is the place of the first byte.
typedef struct fc_vm_field_t {
  char kind;     // as in ops.def; '*' for every register list that is read
  char element;  // of '*': i l f d r ?
  uint32_t pc;
  uint32_t count;
  uint64_t value;
} fc_vm_field_t;

typedef struct fc_vm_instruction_t {
  const fc_vm_op_t *op;
  uint32_t pc;
  uint32_t next;  // pc of the next instruction
  uint32_t field_count;
  fc_vm_field_t fields[FC_VM_FIELD_MAX];
} fc_vm_instruction_t;

// Decodes the instruction at `pc` < size; all its bytes lie in the code.
// FC_CODE_VMFB_INVALID for an unknown opcode or an instruction that passes the
// end.
fc_status_t fc_vm_decode(const uint8_t *code, uint32_t size, uint32_t pc,
                         fc_vm_instruction_t *out,
                         fc_error_t *err) FC_MUST_CHECK;

// Finds the first operand of that kind; NULL when there is none.
static inline const fc_vm_field_t *fc_vm_find_field(
    const fc_vm_instruction_t *in, char kind) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    if (in->fields[i].kind == kind) return &in->fields[i];
  }
  return NULL;
}

// Entry `index` of a '*', '#' or 'S' list.
static inline uint16_t fc_vm_list_entry(const uint8_t *code,
                                        const fc_vm_field_t *field,
                                        uint32_t index) {
  return fc_load_u16(code + field->pc + 2 * (size_t)index);
}

// A branch: its target and register copies. fc_vm_next_case reads the case of a
// branch table ('T') that starts at *pc, and moves *pc past it.
typedef struct fc_vm_edge_t {
  uint32_t target;
  uint32_t copies_pc;  // pairs of u16 source, u16 target
  uint32_t copy_count;
} fc_vm_edge_t;
void fc_vm_next_case(const uint8_t *code, uint32_t *pc, fc_vm_edge_t *out);

// Visits every edge of an instruction: the edges of br, cond_br, br_table, yield, break
// and cond_break, and the edge to the resume block of a yieldable call.
typedef struct fc_vm_edges_t {
  const uint8_t *code;
  const fc_vm_instruction_t *instruction;
  uint32_t field;  // the next operand to look at
  uint32_t cases_left;
  uint32_t case_pc;
} fc_vm_edges_t;
void fc_vm_edges_init(fc_vm_edges_t *edges, const uint8_t *code,
                      const fc_vm_instruction_t *instruction);
bool fc_vm_edges_next(fc_vm_edges_t *edges, fc_vm_edge_t *out);

#endif  // FARCALL_CORE_MODULE_VM_OPS_H_
