// SPDX-License-Identifier: Apache-2.0
//
// A forward data-flow analysis. For the beginning of each block it finds which
// registers hold constants, dims, arguments or views. Where paths meet, only the facts
// on which all paths agree stay. Called when a module is opened.
#include "module/vm/facts.h"

#define FACTS_MAX ((size_t)1 << 20)  // blocks times registers
#define FACTS_AT_ONCE 8

static bool is_wide(char kind) { return kind && strchr("LDIF", kind); }

void fc_vm_facts_spend(fc_vm_facts_t *a, size_t count) {
  *a->budget = count < *a->budget ? *a->budget - count : 0;
}

// Spends what it costs to copy or compare the facts of one block. Several facts count
// as one, because the machine handles several at a time.
static void spend_row(fc_vm_facts_t *a) {
  fc_vm_facts_spend(a, a->width / FACTS_AT_ONCE + 1);
}

fc_status_t fc_vm_facts_decode(fc_vm_facts_t *a, uint32_t pc,
                               fc_vm_instruction_t *out, fc_error_t *err) {
  FC_TRY(fc_vm_decode(a->function->code, a->function->size, pc, out, err));
  fc_vm_facts_spend(a, 1 + (out->next - pc) / FC_VM_BYTES_AT_ONCE);
  return FC_OK;
}

static void set_constant(fc_vm_facts_t *a, uint32_t reg, uint64_t bits,
                         bool wide) {
  *fc_vm_facts_cell(a, reg) =
      (fc_vm_fact_t){.kind = FACT_CONSTANT, .a = (uint32_t)bits};
  if (!wide) return;
  *fc_vm_facts_cell(a, reg + 1) =
      (fc_vm_fact_t){.kind = FACT_CONSTANT, .a = (uint32_t)(bits >> 32)};
}

const fc_vm_import_t *fc_vm_facts_import(const fc_vm_facts_t *a,
                                         const fc_vm_instruction_t *in) {
  uint32_t ordinal = (uint32_t)in->fields[0].value;
  if (!(ordinal & FC_VM_IMPORT_BIT)) return NULL;
  return &a->module->imports[ordinal & ~FC_VM_IMPORT_BIT];
}

bool fc_vm_is_view_call(const fc_vm_import_t *import, fc_str_t name,
                        fc_str_t cconv) {
  return fc_str_equal(import->name, name) &&
         fc_str_equal(import->cconv_text, cconv) &&
         (fc_str_equal(import->module, FC_STR("hal")) ||
          fc_str_equal(import->module, FC_STR("hal_inline")));
}

fc_vm_fact_t fc_vm_facts_operand(fc_vm_facts_t *a,
                                 const fc_vm_instruction_t *in,
                                 uint32_t index) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (index >= operands->count) return (fc_vm_fact_t){.kind = FACT_NOTHING};
  const uint16_t reg = fc_vm_list_entry(a->function->code, operands, index);
  return reg & FC_VM_REF_BIT ? *fc_vm_facts_ref(a, reg)
                             : (fc_vm_fact_t){.kind = FACT_NOTHING};
}

// Returns the fact about the reference that a call of an import returns.
static fc_vm_fact_t ref_returned(fc_vm_facts_t *a,
                                 const fc_vm_instruction_t *in,
                                 const fc_vm_import_t *import) {
  if (fc_vm_is_view_call(import, VIEW_CREATE)) {
    return (fc_vm_fact_t){.kind = FACT_VIEW, .a = in->pc};
  }
  const fc_vm_fact_t from = fc_vm_facts_operand(a, in, 0);
  if ((fc_vm_is_view_call(import, VIEW_BUFFER) && from.kind == FACT_ARGUMENT) ||
      (fc_vm_is_view_call(import, BUFFER_SUBSPAN) &&
       from.kind == FACT_BUFFER)) {
    return (fc_vm_fact_t){.kind = FACT_BUFFER, .a = from.a};
  }
  return (fc_vm_fact_t){.kind = FACT_IMPORT,
                        .a = (uint32_t)(import - a->module->imports)};
}

// Returns the fact about the result of a call of hal.buffer_view.dim.
static fc_vm_fact_t dim_asked(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (operands->count != 2) return fc_vm_anything;
  const fc_vm_fact_t view =
      *fc_vm_facts_ref(a, fc_vm_list_entry(a->function->code, operands, 0));
  const fc_vm_fact_t index =
      *fc_vm_facts_cell(a, fc_vm_list_entry(a->function->code, operands, 1));
  if (view.kind != FACT_ARGUMENT || index.kind != FACT_CONSTANT ||
      index.a >= FC_RANK_MAX || view.a > UINT16_MAX) {
    return fc_vm_anything;
  }
  return (fc_vm_fact_t){.kind = FACT_DIM, .a = view.a, .b = (uint16_t)index.a};
}

// Returns the dim in a 64-bit register, if both of its cells hold that dim; otherwise
// fc_vm_anything.
fc_vm_fact_t fc_vm_facts_dim(fc_vm_facts_t *a, uint32_t reg) {
  const fc_vm_fact_t low = *fc_vm_facts_cell(a, reg),
                     high = *fc_vm_facts_cell(a, reg + 1);
  return low.kind == FACT_DIM && high.kind == FACT_DIM && low.a == high.a &&
                 low.b == high.b
             ? low
             : fc_vm_anything;
}

static fc_vm_fact_t compare_dims(uint8_t kind, fc_vm_fact_t left,
                                 fc_vm_fact_t right) {
  if (left.kind != FACT_DIM || right.kind != FACT_DIM) return fc_vm_anything;
  return (fc_vm_fact_t){.kind = kind,
                        .a = left.a << 16 | right.a,
                        .b = (uint16_t)(left.b << 8 | right.b)};
}

static void forget_results(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  const fc_vm_field_t *results = fc_vm_find_field(in, '#');
  const fc_vm_import_t *import = fc_vm_facts_import(a, in);
  const fc_vm_fact_t dim = import && fc_vm_is_view_call(import, VIEW_DIM)
                               ? dim_asked(a, in)
                               : fc_vm_anything;
  fc_str_t letters =
      import ? import->cconv.results
             : a->module->functions[in->fields[0].value].cconv.results;
  const fc_vm_fact_t returned =
      import ? ref_returned(a, in, import) : fc_vm_anything;
  for (uint32_t i = 0; i < results->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, results, i);
    if (letters.data[i] != 'r') {
      *fc_vm_facts_cell(a, reg) = dim;
      if (is_wide(letters.data[i])) *fc_vm_facts_cell(a, reg + 1u) = dim;
    } else if (import) {
      *fc_vm_facts_ref(a, reg) = returned;
    } else {
      *fc_vm_facts_ref(a, reg) =
          (fc_vm_fact_t){.kind = FACT_CALL, .a = in->pc, .b = (uint16_t)i};
    }
  }
}

static void forget_written(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    const fc_vm_field_t *field = &in->fields[i];
    uint32_t reg = (uint32_t)field->value;
    switch (field->kind) {
      case 'L':
      case 'D':
        *fc_vm_facts_cell(a, reg + 1) = fc_vm_anything;
        *fc_vm_facts_cell(a, reg) = fc_vm_anything;
        break;
      case 'I':
      case 'F':
        *fc_vm_facts_cell(a, reg) = fc_vm_anything;
        break;
      case 'R':
      case 'M':
        *fc_vm_facts_ref(a, reg) = fc_vm_anything;
        break;
      default:
        break;
    }
  }
}

void fc_vm_facts_step(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  const fc_vm_field_t *f = in->fields;
  switch (in->op->opcode) {
    case FC_VM_OP_ConstI32:
      set_constant(a, (uint32_t)f[1].value, f[0].value, false);
      return;
    case FC_VM_OP_ConstI32Zero:
      set_constant(a, (uint32_t)f[0].value, 0, false);
      return;
    case FC_VM_OP_ConstI64:
      set_constant(a, (uint32_t)f[1].value, f[0].value, true);
      return;
    case FC_VM_OP_ConstI64Zero:
      set_constant(a, (uint32_t)f[0].value, 0, true);
      return;
    case FC_VM_OP_CmpEQI64:
    case FC_VM_OP_CmpNEI64:
      *fc_vm_facts_cell(a, (uint32_t)f[2].value) = compare_dims(
          in->op->opcode == FC_VM_OP_CmpEQI64 ? FACT_EQUAL : FACT_DIFFER,
          fc_vm_facts_dim(a, (uint32_t)f[0].value),
          fc_vm_facts_dim(a, (uint32_t)f[1].value));
      return;
    case FC_VM_OP_AssignRef:
      *fc_vm_facts_ref(a, (uint32_t)f[1].value) =
          *fc_vm_facts_ref(a, (uint32_t)f[0].value);
      return;
    case FC_VM_OP_CastAnyRef:
      *fc_vm_facts_ref(a, (uint32_t)f[2].value) =
          *fc_vm_facts_ref(a, (uint32_t)f[0].value);
      return;
    default:
      if (fc_vm_op_is_call(in->op)) forget_results(a, in);
      else forget_written(a, in);
      return;
  }
}

uint32_t fc_vm_facts_block(const fc_vm_facts_t *a, uint32_t pc) {
  uint32_t low = 0, high = a->block_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (a->blocks[middle] <= pc) low = middle;
    else high = middle;
  }
  return low;
}

static bool same(fc_vm_fact_t x, fc_vm_fact_t y) {
  return x.kind == y.kind && x.a == y.a && x.b == y.b;
}

// Passes the facts `now` on to the block at `pc`. There only those facts stay on which
// all paths agree. If the block's facts change, it must be walked again.
static void flow(fc_vm_facts_t *a, uint32_t pc) {
  uint32_t index = fc_vm_facts_block(a, pc);
  fc_vm_fact_t *entry = &a->entries[index * a->width];
  bool changed = false;
  spend_row(a);
  for (size_t i = 0; i < a->width; i++) {
    fc_vm_fact_t met = a->now[i];
    if (met.kind == FACT_NOTHING)
      met = fc_vm_anything;  // the fact's zeroed memory is not written yet
    if (entry[i].kind == FACT_NOTHING) entry[i] = met;
    else if (same(entry[i], met) || entry[i].kind == FACT_ANYTHING) continue;
    else entry[i] = fc_vm_anything;
    changed = true;
  }
  if (changed) a->waiting[index] = true;
}

static void flow_edges(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  if (in->op->flow == FC_VM_FLOW_FAIL) {
    if (in->next < a->function->size) flow(a, in->next);
    return;
  }
  fc_vm_edges_t edges;
  fc_vm_edge_t edge;
  fc_vm_fact_t *before = a->now;
  fc_vm_edges_init(&edges, a->function->code, in);
  while (*a->budget && fc_vm_edges_next(&edges, &edge)) {
    if (!edge.copy_count) {
      flow(a, edge.target);
      continue;
    }
    a->now = a->spare;
    memcpy(a->now, before, a->width * sizeof(fc_vm_fact_t));
    for (uint32_t i = 0; i < edge.copy_count; i++) {
      const uint8_t *pair = a->function->code + edge.copies_pc + 4 * (size_t)i;
      *fc_vm_facts_register(a, fc_load_u16(pair + 2)) =
          *fc_vm_facts_register(a, fc_load_u16(pair));
    }
    flow(a, edge.target);
    a->now = before;
  }
}

// Sets `now` to the facts at the start of block `index`; returns the pc after its marker.
uint32_t fc_vm_facts_enter(fc_vm_facts_t *a, uint32_t index) {
  memcpy(a->now, &a->entries[index * a->width],
         a->width * sizeof(fc_vm_fact_t));
  spend_row(a);
  return a->blocks[index] + 1;
}

// Walks one block from its entry. `look` is called for each instruction, with the facts
// before it. If `look` is NULL, the facts at the block's end are passed to the blocks
// that may follow.
static fc_status_t walk_block(fc_vm_facts_t *a, uint32_t index,
                              fc_status_t (*look)(fc_vm_facts_t *a,
                                                  const fc_vm_instruction_t *in,
                                                  fc_error_t *err),
                              fc_error_t *err) {
  a->block = index;
  for (uint32_t pc = fc_vm_facts_enter(a, index);
       *a->budget && pc < a->function->size;) {
    fc_vm_instruction_t in;
    FC_TRY(fc_vm_facts_decode(a, pc, &in, err));
    if (look) FC_TRY(look(a, &in, err));
    fc_vm_facts_step(a, &in);
    if (fc_vm_op_is_terminator(in.op)) {
      if (!look) flow_edges(a, &in);
      return FC_OK;
    }
    pc = in.next;
  }
  return FC_OK;
}

bool fc_vm_facts_constant(fc_vm_facts_t *a, uint32_t reg, uint32_t *out) {
  fc_vm_fact_t fact = *fc_vm_facts_cell(a, reg);
  *out = fact.a;
  return fact.kind == FACT_CONSTANT;
}

static fc_status_t find_blocks(fc_vm_facts_t *a, fc_error_t *err) {
  const fc_vm_function_t *function = a->function;
  const size_t count = function->block_count;
  a->blocks = fc_arena_alloc_array(a->arena, count, sizeof *a->blocks);
  a->ends = fc_arena_alloc_array(a->arena, count, sizeof *a->ends);
  if (!a->blocks || !a->ends) return fc_fail_memory(err);
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    FC_TRY(fc_vm_facts_decode(a, pc, &in, err));
    if (in.op->flow == FC_VM_FLOW_BLOCK) a->blocks[a->block_count++] = pc;
    else a->ends[a->block_count - 1] = pc;
  }
  return FC_OK;
}

static fc_status_t propagate(fc_vm_facts_t *a, fc_error_t *err) {
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t i = 0; i < a->block_count; i++) {
      if (!a->waiting[i]) continue;
      a->waiting[i] = false;
      again = true;
      if (!*a->budget) return FC_OK;
      FC_TRY(walk_block(a, i, NULL, err));
    }
  }
  return FC_OK;
}

fc_status_t fc_vm_facts_look(fc_vm_facts_t *a,
                             fc_status_t (*look)(fc_vm_facts_t *a,
                                                 const fc_vm_instruction_t *in,
                                                 fc_error_t *err),
                             fc_error_t *err) {
  for (uint32_t i = 0; i < a->block_count; i++) {
    // A block that no path reaches has no facts.
    if (a->width && a->entries[i * a->width].kind == FACT_NOTHING) continue;
    if (!*a->budget) return FC_OK;
    FC_TRY(walk_block(a, i, look, err));
  }
  return FC_OK;
}

static void set_arguments(fc_vm_facts_t *a) {
  fc_str_t letters = a->function->cconv.arguments;
  uint32_t next = 0;
  for (size_t i = 0; i < a->width; i++) a->entries[i] = fc_vm_anything;
  for (uint32_t i = 0; i < letters.size; i++) {
    if (letters.data[i] != 'r') continue;
    a->entries[a->function->cell_count + next++] =
        (fc_vm_fact_t){.kind = FACT_ARGUMENT, .a = i};
  }
}

// Finds the facts of all blocks. *out_learnt is false when the function is too large or
// the budget is spent.
fc_status_t fc_vm_facts_learn(fc_vm_facts_t *a, bool *out_learnt,
                              fc_error_t *err) {
  *out_learnt = false;
  a->width = (size_t)a->function->cell_count + a->function->ref_count;
  if (!*a->budget || a->function->block_count > FACTS_MAX / (a->width + 1)) {
    return FC_OK;
  }
  FC_TRY(find_blocks(a, err));
  fc_vm_facts_spend(a, a->block_count * a->width);
  if (!*a->budget) return FC_OK;
  fc_arena_t *arena = a->arena;
  const size_t count = a->block_count;
  a->entries =
      fc_arena_alloc_array(arena, count * a->width + 1, sizeof(fc_vm_fact_t));
  a->now = fc_arena_alloc_array(arena, a->width + 1, sizeof(fc_vm_fact_t));
  a->spare = fc_arena_alloc_array(arena, a->width + 1, sizeof(fc_vm_fact_t));
  a->waiting = fc_arena_alloc_array(arena, count, sizeof *a->waiting);
  a->passed = fc_arena_alloc_array(arena, count, sizeof *a->passed);
  a->queue = fc_arena_alloc_array(arena, count, sizeof *a->queue);
  if (!a->entries || !a->now || !a->spare || !a->waiting || !a->passed ||
      !a->queue) {
    return fc_fail_memory(err);
  }
  set_arguments(a);
  a->waiting[0] = true;
  a->passed[0] = PASSED_ALWAYS;
  FC_TRY(propagate(a, err));
  *out_learnt = *a->budget > 0;
  return FC_OK;
}

static fc_status_t tell_of_call(fc_vm_facts_t *a, const fc_vm_instruction_t *in,
                                fc_error_t *err) {
  (void)err;
  if (!fc_vm_op_is_call(in->op)) return FC_OK;
  const fc_vm_import_t *import = fc_vm_facts_import(a, in);
  if (import) a->each(a->context, import, in, a);
  return FC_OK;
}

bool fc_vm_operand_constant(fc_vm_facts_t *facts, const fc_vm_instruction_t *in,
                            uint32_t index, uint32_t *out) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (index >= operands->count) return false;
  const uint16_t reg = fc_vm_list_entry(facts->function->code, operands, index);
  return !(reg & FC_VM_REF_BIT) && fc_vm_facts_constant(facts, reg, out);
}

const fc_vm_import_t *fc_vm_operand_maker(fc_vm_facts_t *facts,
                                          const fc_vm_instruction_t *in,
                                          uint32_t index) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (index >= operands->count) return NULL;
  const uint16_t reg = fc_vm_list_entry(facts->function->code, operands, index);
  if (!(reg & FC_VM_REF_BIT)) return NULL;
  const fc_vm_fact_t fact = *fc_vm_facts_ref(facts, reg);
  return fact.kind == FACT_IMPORT ? &facts->module->imports[fact.a] : NULL;
}

fc_status_t fc_vm_each_call(const fc_vm_module_t *module, uint32_t function,
                            size_t *budget, fc_arena_t *arena,
                            fc_vm_each_call_t each, void *context,
                            fc_error_t *err) {
  fc_vm_facts_t a = {.module = module,
                     .function = &module->functions[function],
                     .arena = arena,
                     .budget = budget,
                     .each = each,
                     .context = context};
  bool learnt;
  FC_TRY(fc_vm_facts_learn(&a, &learnt, err));
  if (learnt) FC_TRY(fc_vm_facts_look(&a, tell_of_call, err));
  else *budget = 0;
  return FC_OK;
}
