// SPDX-License-Identifier: Apache-2.0
//
// The verifier. Walks over each function's code twice: first it checks each operand by
// its letter in ops.def and marks where blocks begin, then it checks that every branch
// goes to a mark. Called when a module is opened, before any code runs.
//
// The interpreter relies on this:
// - instructions, lists and strings lie in the code; blocks begin with a marker and end
//   with a terminator; a branch goes to a marker; code starts at an even address
// - registers exist, are of the right bank, and are even if they have 64 bits
// - global, constant, type, function and import ordinals exist; globals with a fixed
//   offset lie in the bytes of globals
// - operands of calls and returns fit the calling convention one by one, and a
//   function's arguments have registers
//
// Other files check the rest: conventions consist of known letters and types are known
// (vmfb.c), a native has the convention of the import to which it is bound (context.c),
// the bytes do not change (module/snapshot.h). Indirect globals, buffers, lists,
// divisions and the types of refs are checked at run time.
#include "module/vm/verify.h"

#include <inttypes.h>

typedef struct verifier_t {
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
  uint8_t *is_block;    // one bit for each byte of code
  bool moves_anywhere;  // from releases.def
} verifier_t;

static bool is_marked(const uint8_t *bits, uint32_t pc) {
  return bits[pc / 8] >> (pc % 8) & 1;
}

// ---------------------------------------------------------------------------
// Registers

static fc_status_t bad_register(fc_error_t *err, uint32_t reg, char kind,
                                const char *problem) {
  return fc_fail(err, FC_CODE_VMFB_INVALID, "register 0x%04X as %s: %s",
                 (unsigned)reg,
                 strchr("iIfF", kind)   ? "32 bits"
                 : strchr("lLdD", kind) ? "64 bits"
                                        : "ref",
                 problem);
}

static fc_status_t check_cell(const verifier_t *v, uint32_t reg, char kind,
                              fc_error_t *err) {
  bool wide = strchr("lLdD", kind) != NULL;
  if (reg & FC_VM_REF_BIT) return bad_register(err, reg, kind, "is a ref");
  if (wide && reg % 2) return bad_register(err, reg, kind, "is odd");
  if (reg + wide >= v->function->cell_count) {
    return bad_register(err, reg, kind, "is not declared");
  }
  return FC_OK;
}

// Checks a ref register. `may_move`: the MOVE bit is allowed here.
static fc_status_t check_ref(const verifier_t *v, uint32_t reg, bool may_move,
                             fc_error_t *err) {
  if (!(reg & FC_VM_REF_BIT)) return bad_register(err, reg, 'r', "is a value");
  if ((reg & FC_VM_REF_MASK) >= v->function->ref_count) {
    return bad_register(err, reg, 'r', "is not declared");
  }
  if ((reg & FC_VM_MOVE_BIT) && !may_move && !v->moves_anywhere) {
    return bad_register(err, reg, 'r', "may not be moved");
  }
  return FC_OK;
}

// Checks a register. `kind` is the letter of a field in ops.def, or what field_kind()
// returns for a convention's letter.
static fc_status_t check_register(const verifier_t *v, uint32_t reg, char kind,
                                  bool may_move, fc_error_t *err) {
  switch (kind) {
    case 'r':
    case 'R':
      return check_ref(v, reg, may_move, err);
    case 'm':
    case 'M':
      return check_ref(v, reg, true, err);
    default:
      return check_cell(v, reg, kind, err);
  }
}

// Returns the letter of ops.def for a letter of a calling convention.
static char field_kind(char convention) {
  switch (convention) {
    case 'I':
      return 'l';
    case 'F':
      return 'd';
    default:
      return convention;
  }
}

static fc_status_t check_copies(const verifier_t *v, uint32_t pc,
                                uint32_t count, fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *pair = v->function->code + pc + 4 * (size_t)i;
    uint32_t source = fc_load_u16(pair), target = fc_load_u16(pair + 2);
    char kind = source & FC_VM_REF_BIT ? 'r' : 'i';  // 64 bits: two copies
    FC_TRY(check_register(v, source, kind, true, err));
    FC_TRY(check_register(v, target, kind, false, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Calls and returns

// Compares one half of a convention (the arguments or the results) with a list
// of registers, one by one.
typedef struct match_t {
  const verifier_t *v;
  const fc_vm_field_t *list;
  bool may_move;
  uint32_t next;  // the next entry of the list
} match_t;

static fc_status_t match_one(match_t *m, char convention, fc_error_t *err) {
  if (m->next == m->list->count) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%" PRIu32
                   " operands are too few for the calling convention",
                   m->list->count);
  }
  uint16_t reg = fc_vm_list_entry(m->v->function->code, m->list, m->next++);
  return check_register(m->v, reg, field_kind(convention), m->may_move, err);
}

static fc_status_t match_end(const match_t *m, fc_error_t *err) {
  if (m->next == m->list->count) return FC_OK;
  return fc_fail(err, FC_CODE_VMFB_INVALID,
                 "%" PRIu32
                 " operands where the calling convention has %" PRIu32,
                 m->list->count, m->next);
}

static fc_status_t match_plain(const verifier_t *v, fc_str_t half,
                               const fc_vm_field_t *list, bool may_move,
                               fc_error_t *err) {
  match_t m = {.v = v, .list = list, .may_move = may_move};
  for (size_t i = 0; i < half.size; i++) {
    if (half.data[i] == 'C') {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "a plain call of an import with spans");
    }
    FC_TRY(match_one(&m, half.data[i], err));
  }
  return match_end(&m, err);
}

// Compares a list of registers with one half of a convention that has spans. `segments`
// has an entry for each item of the half. The entry of a span says
// how often the span repeats; other entries are ignored.
static fc_status_t match_spans(const verifier_t *v, fc_str_t half,
                               const fc_vm_field_t *segments,
                               const fc_vm_field_t *list, fc_error_t *err) {
  match_t m = {.v = v, .list = list, .may_move = true};
  uint32_t item = 0;
  for (size_t i = 0; i < half.size; i++, item++) {
    if (item == segments->count) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "%" PRIu32 " segment sizes are too few", segments->count);
    }
    if (half.data[i] != 'C') {
      FC_TRY(match_one(&m, half.data[i], err));
      continue;
    }
    size_t begin = i + 1, end = begin;
    while (half.data[end] != 'D') end++;
    uint32_t times = fc_vm_list_entry(v->function->code, segments, item);
    for (uint32_t k = 0; k < times; k++) {
      for (size_t j = begin; j < end; j++) {
        FC_TRY(match_one(&m, half.data[j], err));
      }
    }
    i = end;
  }
  if (item != segments->count) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%" PRIu32 " segment sizes for %" PRIu32 " items",
                   segments->count, item);
  }
  return match_end(&m, err);
}

static fc_status_t check_call(const verifier_t *v,
                              const fc_vm_instruction_t *in, fc_error_t *err) {
  const fc_vm_module_t *module = v->module;
  const fc_vm_field_t *segments = fc_vm_find_field(in, 'S');
  uint32_t ordinal = (uint32_t)in->fields[0].value;
  const fc_vm_cconv_t *cconv;
  if (ordinal & FC_VM_IMPORT_BIT) {
    ordinal &= ~FC_VM_IMPORT_BIT;
    if (ordinal >= module->import_count) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "import %" PRIu32 " of %" PRIu32, ordinal,
                     module->import_count);
    }
    cconv = &module->imports[ordinal].cconv;
  } else {
    if (ordinal >= module->function_count) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "function %" PRIu32 " of %" PRIu32, ordinal,
                     module->function_count);
    }
    if (segments) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "a variadic call of a function of this module");
    }
    cconv = &module->functions[ordinal].cconv;
  }
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (segments) {
    FC_TRY(match_spans(v, cconv->arguments, segments, operands, err));
  } else {
    FC_TRY(match_plain(v, cconv->arguments, operands, true, err));
  }
  return match_plain(v, cconv->results, fc_vm_find_field(in, '#'), false, err);
}

// ---------------------------------------------------------------------------
// Fields

// Returns the size in bytes of a global, by the kind of the register to or from which
// it is copied.
static uint32_t global_size(char kind) { return strchr("lLdD", kind) ? 8 : 4; }

static fc_status_t check_ordinal(uint64_t ordinal, uint64_t count,
                                 const char *what, fc_error_t *err) {
  if (ordinal < count) return FC_OK;
  return fc_fail(err, FC_CODE_VMFB_INVALID, "%s %" PRIu64 " of %" PRIu64, what,
                 ordinal, count);
}

static fc_status_t check_global(const verifier_t *v, uint64_t ordinal,
                                char next, fc_error_t *err) {
  const fc_vm_module_t *module = v->module;
  if (next == 't') {
    return check_ordinal(ordinal, module->global_refs, "global ref", err);
  }
  if (ordinal + global_size(next) > module->global_bytes) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%" PRIu32 " bytes of globals at %" PRIu64 " of %" PRIu32,
                   global_size(next), ordinal, module->global_bytes);
  }
  return FC_OK;
}

static fc_status_t check_list(const verifier_t *v, const fc_vm_field_t *field,
                              fc_error_t *err) {
  for (uint32_t i = 0; i < field->count; i++) {
    uint16_t reg = fc_vm_list_entry(v->function->code, field, i);
    char kind = field->element;
    if (kind == '?') kind = reg & FC_VM_REF_BIT ? 'r' : 'i';
    FC_TRY(check_register(v, reg, kind, true, err));
  }
  return FC_OK;
}

static fc_status_t check_field(const verifier_t *v,
                               const fc_vm_instruction_t *in, uint32_t index,
                               fc_error_t *err) {
  const fc_vm_field_t *field = &in->fields[index];
  const fc_vm_module_t *module = v->module;
  switch (field->kind) {
    case 'i':
    case 'l':
    case 'f':
    case 'd':
    case 'r':
    case 'm':
    case 'I':
    case 'L':
    case 'F':
    case 'D':
    case 'R':
    case 'M':
      return check_register(v, (uint32_t)field->value, field->kind, false, err);
    case 'g':
      return check_global(v, field->value, field[1].kind, err);
    case 'k':
      return check_ordinal(field->value, module->rodata_count, "constant", err);
    case 't':
      return check_ordinal(field->value, module->type_count, "type", err);
    case 'p':
      if (!(field->value & FC_VM_IMPORT_BIT)) {
        return fc_fail(err, FC_CODE_VMFB_INVALID, "not an import");
      }
      return check_ordinal(field->value & ~(uint64_t)FC_VM_IMPORT_BIT,
                           module->import_count, "import", err);
    case 'B':
      return check_copies(v, field->pc, field->count, err);
    // The lists of calls and returns are compared with conventions in check_instruction.
    case '*':
      if (field->element == '?' && in->op->flow != FC_VM_FLOW_NEXT) {
        return FC_OK;
      }
      return check_list(v, field, err);
    default:
      return FC_OK;
  }
}

static fc_status_t check_cases(const verifier_t *v,
                               const fc_vm_instruction_t *in, fc_error_t *err) {
  const fc_vm_field_t *table = fc_vm_find_field(in, 'T');
  uint32_t pc = table ? table->pc : 0;
  for (uint32_t i = 0; table && i < table->count; i++) {
    fc_vm_edge_t edge;
    fc_vm_next_case(v->function->code, &pc, &edge);
    FC_TRY(check_copies(v, edge.copies_pc, edge.copy_count, err));
  }
  return FC_OK;
}

static fc_status_t check_version(const verifier_t *v,
                                 const fc_vm_instruction_t *in,
                                 fc_error_t *err) {
  const uint32_t needed = in->op->since;
  if (fc_vm_module_major(v->module) < needed) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "needs bytecode %" PRIu32 ".0, the module is %" PRIu32 ".0",
                   needed, fc_vm_module_major(v->module));
  }
  uint32_t set = (uint32_t)in->op->opcode >> 8;
  uint32_t bit = set == FC_VM_SET_F32   ? FC_VM_REQUIRES_F32
                 : set == FC_VM_SET_F64 ? FC_VM_REQUIRES_F64
                                        : 0;
  if (bit & ~v->function->requirements) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "the function does not declare EXT_F%d",
                   set == FC_VM_SET_F32 ? 32 : 64);
  }
  return FC_OK;
}

static fc_status_t check_instruction(const verifier_t *v,
                                     const fc_vm_instruction_t *in,
                                     fc_error_t *err) {
  FC_TRY(check_version(v, in, err));
  for (uint32_t i = 0; i < in->field_count; i++) {
    FC_TRY(check_field(v, in, i, err));
  }
  if (fc_vm_op_is_call(in->op)) return check_call(v, in, err);
  if (in->op->flow == FC_VM_FLOW_RETURN) {
    return match_plain(v, v->function->cconv.results, &in->fields[0], true,
                       err);
  }
  return check_cases(v, in, err);
}

// ---------------------------------------------------------------------------
// Functions

// First walk: marks blocks, checks that instructions are inside them, and checks the
// instructions except their branch targets.
static fc_status_t walk_code(const verifier_t *v, uint32_t *out_pc,
                             const char **out_mnemonic, fc_error_t *err) {
  const fc_vm_function_t *function = v->function;
  uint32_t blocks = 0;
  bool in_block = false;
  for (uint32_t pc = 0; pc < function->size;) {
    fc_vm_instruction_t in;
    *out_pc = pc;
    *out_mnemonic = "code";
    FC_TRY(fc_vm_decode(function->code, function->size, pc, &in, err));
    bool is_block = in.op->flow == FC_VM_FLOW_BLOCK;
    *out_mnemonic = is_block ? "block" : in.op->mnemonic;
    if (is_block == in_block) {
      return fc_fail(
          err, FC_CODE_VMFB_INVALID, "%s",
          is_block ? "the block before has no terminator" : "outside a block");
    }
    if (is_block) {
      v->is_block[pc / 8] |= (uint8_t)(1 << pc % 8);
      in_block = true;
      blocks++;
    } else {
      FC_TRY(check_instruction(v, &in, err));
      if (fc_vm_op_is_terminator(in.op)) in_block = false;
    }
    pc = in.next;
  }
  if (in_block) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "the last block has no terminator");
  }
  if (blocks == 0 || blocks != function->block_count) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%" PRIu32 " blocks, the function declares %" PRIu32, blocks,
                   function->block_count);
  }
  return FC_OK;
}

// Second walk: checks that every edge lands on a marker.
static fc_status_t walk_edges(const verifier_t *v, uint32_t *out_pc,
                              const char **out_mnemonic, fc_error_t *err) {
  const fc_vm_function_t *function = v->function;
  for (uint32_t pc = 0; pc < function->size;) {
    fc_vm_instruction_t in;
    fc_vm_edges_t edges;
    fc_vm_edge_t edge;
    *out_pc = pc;
    FC_TRY(fc_vm_decode(function->code, function->size, pc, &in, err));
    *out_mnemonic = in.op->mnemonic;
    fc_vm_edges_init(&edges, function->code, &in);
    while (fc_vm_edges_next(&edges, &edge)) {
      if (edge.target >= function->size ||
          !is_marked(v->is_block, edge.target)) {
        return fc_fail(err, FC_CODE_VMFB_INVALID,
                       "branch to 0x%" PRIX32 ", which is no block",
                       edge.target);
      }
    }
    pc = in.next;
  }
  return FC_OK;
}

// Checks that all arguments have registers, even those that the function never reads,
// because a caller writes them.
static fc_status_t check_arguments(const fc_vm_function_t *function,
                                   fc_error_t *err) {
  uint64_t cells, refs;
  fc_vm_count_registers(function->cconv.arguments, &cells, &refs);
  if (cells <= function->cell_count && refs <= function->ref_count) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_VMFB_INVALID,
                 "arguments in %" PRIu64 " cells and %" PRIu64
                 " refs, the function declares %u and %u",
                 cells, refs, function->cell_count, function->ref_count);
}

// Checks that the code starts at an even address. Lists are aligned relative to the
// function's start, but the interpreter aligns their addresses. So both are the same.
static fc_status_t check_address(const fc_vm_function_t *function,
                                 fc_error_t *err) {
  if ((uintptr_t)function->code % 2 == 0) return FC_OK;
  return fc_fail(err, FC_CODE_VMFB_INVALID, "at an odd address");
}

static fc_status_t verify_function(verifier_t *v, uint32_t ordinal,
                                   fc_error_t *err) {
  const fc_vm_function_t *function = v->function;
  memset(v->is_block, 0, function->size / 8 + 1);
  uint32_t pc = 0;
  const char *mnemonic = "code";
  fc_error_t why = {0};
  fc_status_t status = check_address(function, &why);
  if (status == FC_OK) status = check_arguments(function, &why);
  if (status == FC_OK) status = walk_code(v, &pc, &mnemonic, &why);
  if (status == FC_OK) status = walk_edges(v, &pc, &mnemonic, &why);
  if (status == FC_OK) return FC_OK;
  char name[100];
  fc_escape(name, sizeof name, 64, function->name);
  fc_fail(err, FC_CODE_VMFB_INVALID,
          "function %" PRIu32 " '%s' at 0x%08" PRIX32 ", %s: %s", ordinal, name,
          pc, mnemonic, why.message);
  if (err) err->byte_offset = pc;
  return status;
}

fc_status_t fc_vm_verify(const fc_vm_module_t *module, fc_error_t *err) {
  uint32_t longest = 0;
  for (uint32_t i = 0; i < module->function_count; i++) {
    uint32_t size = module->functions[i].size;
    if (size > longest) longest = size;
  }
  uint8_t *is_block = fc_alloc(module->allocator, longest / 8 + 1);
  if (!is_block) return fc_fail_memory(err);
  verifier_t v = {
      .module = module,
      .is_block = is_block,
      .moves_anywhere =
          fc_vm_bytecode_find(module->bytecode_version)->moves_anywhere};
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < module->function_count && status == FC_OK; i++) {
    v.function = &module->functions[i];
    status = verify_function(&v, i, err);
  }
  fc_free(module->allocator, is_block);
  return status;
}
