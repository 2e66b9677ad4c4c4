// SPDX-License-Identifier: Apache-2.0
//
// Infers types from the facts about registers (facts.h): hal.buffer_view.assert tells
// the types of arguments, .create the types of results. An assert counts only if every
// call that returns passes its block. Calls of the module's own
// functions, as a wrapper makes them, are followed two deep. Dims that must be equal
// are found in the code that every call runs first. Called when a module is opened.
#include "module/vm/recover.h"

#include "module/vm/facts.h"

#define CALL_DEPTH_MAX 2
// For hal.buffer_view.assert and .create: the number of operands before the dims, and
// which of these operands is the element type.
#define ASSERT_FIXED 4
#define ASSERT_ELEMENT 2
#define CREATE_FIXED 5
#define CREATE_ELEMENT 3

// Reads the element type and dims among a call's operands.
static fc_vm_shape_t read_shape(fc_vm_facts_t *a, const fc_vm_field_t *operands,
                                uint32_t element, uint32_t fixed) {
  const uint8_t *code = a->function->code;
  fc_vm_shape_t shape = {0};
  uint32_t word;
  if (operands->count < fixed || operands->count - fixed > FC_RANK_MAX) {
    return shape;
  }
  if (!fc_vm_facts_constant(a, fc_vm_list_entry(code, operands, element),
                            &word)) {
    return shape;
  }
  shape.dtype = fc_dtype_from_hal(word);
  shape.rank = (int32_t)(operands->count - fixed);
  shape.known = shape.dtype != FC_DTYPE_NONE;
  for (int32_t i = 0; i < shape.rank; i++) {
    uint16_t reg = fc_vm_list_entry(code, operands, fixed + (uint32_t)i);
    uint32_t low, high;
    bool fixed_dim = fc_vm_facts_constant(a, reg, &low) &&
                     fc_vm_facts_constant(a, reg + 1u, &high) && high == 0 &&
                     low <= INT32_MAX;
    shape.dims[i] = fixed_dim ? (int64_t)low : FC_DIM_DYNAMIC;
  }
  return shape;
}

static bool same_shape(const fc_vm_shape_t *x, const fc_vm_shape_t *y) {
  return x->known == y->known && x->dtype == y->dtype && x->rank == y->rank &&
         !memcmp(x->dims, y->dims, (size_t)x->rank * sizeof x->dims[0]);
}

static fc_status_t recover(const fc_vm_module_t *module, uint32_t function,
                           uint32_t depth, size_t *budget, fc_arena_t *arena,
                           fc_vm_recovered_t *out, fc_error_t *err);

// True when calls of other functions of the module may be followed.
static bool may_call(const fc_vm_facts_t *a) {
  return a->depth < CALL_DEPTH_MAX && *a->budget;
}

static fc_status_t block_fails(fc_vm_facts_t *a, uint32_t pc, bool *out_fails,
                               fc_error_t *err);

static void search(fc_vm_facts_t *a, uint32_t pc, uint32_t *count) {
  const uint32_t index = fc_vm_facts_block(a, pc);
  if (a->waiting[index]) return;
  a->waiting[index] = true;
  a->queue[(*count)++] = index;
}

// Adds the blocks that may follow block `index` to the queue. *out_returns tells whether
// the block returns.
static fc_status_t leave_block(fc_vm_facts_t *a, uint32_t index,
                               uint32_t *count, bool *out_returns,
                               fc_error_t *err) {
  fc_vm_instruction_t last;
  FC_TRY(fc_vm_facts_decode(a, a->ends[index], &last, err));
  *out_returns = last.op->flow == FC_VM_FLOW_RETURN;
  if (last.op->flow == FC_VM_FLOW_FAIL) {
    bool fails;
    FC_TRY(block_fails(a, a->blocks[index], &fails, err));
    if (!fails && last.next < a->function->size) search(a, last.next, count);
    return FC_OK;
  }
  fc_vm_edges_t edges;
  fc_vm_edge_t edge;
  fc_vm_edges_init(&edges, a->function->code, &last);
  while (fc_vm_edges_next(&edges, &edge)) search(a, edge.target, count);
  return FC_OK;
}

// Looks for a path from the start to a return that does not pass block `index`.
// *out_found tells whether there is one.
static fc_status_t find_way_around(fc_vm_facts_t *a, uint32_t index,
                                   bool *out_found, fc_error_t *err) {
  uint32_t count = 0;
  memset(a->waiting, 0, a->block_count * sizeof *a->waiting);
  a->waiting[index] = true;
  *out_found = false;
  fc_vm_facts_spend(a, a->block_count / FC_VM_BYTES_AT_ONCE);
  search(a, a->blocks[0], &count);
  while (count && *a->budget && !*out_found) {
    FC_TRY(leave_block(a, a->queue[--count], &count, out_found, err));
  }
  return FC_OK;
}

static fc_status_t every_call_passes(fc_vm_facts_t *a, uint32_t index,
                                     bool *out, fc_error_t *err) {
  if (a->passed[index] == PASSED_UNKNOWN) {
    bool found;
    fc_vm_fact_t *now = a->now;
    a->now = a->spare;
    FC_TRY(find_way_around(a, index, &found, err));
    a->now = now;
    a->passed[index] = found || !*a->budget ? PASSED_SOMETIMES : PASSED_ALWAYS;
  }
  *out = a->passed[index] == PASSED_ALWAYS;
  return FC_OK;
}

// Notes the shape that the current block asserts for an argument, if every call
// that returns passes the block.
static fc_status_t claim(fc_vm_facts_t *a, uint32_t argument,
                         const fc_vm_shape_t *shape, fc_error_t *err) {
  fc_vm_shape_t *known = &a->out->arguments[argument];
  bool always;
  if (known->known || !shape->known) return FC_OK;
  FC_TRY(every_call_passes(a, a->block, &always, err));
  if (always) *known = *shape;
  return FC_OK;
}

// Follows the call `in` of a function of the module. What that function asserts about
// its operands is noted where they are arguments of the current function.
static fc_status_t look_through_call(fc_vm_facts_t *a,
                                     const fc_vm_instruction_t *in,
                                     fc_error_t *err) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  uint32_t callee = (uint32_t)in->fields[0].value;
  fc_vm_recovered_t inner;
  bool hands_on = false;
  for (uint32_t i = 0; i < operands->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, operands, i);
    hands_on |=
        (reg & FC_VM_REF_BIT) && fc_vm_facts_ref(a, reg)->kind == FACT_ARGUMENT;
  }
  if (!hands_on || !may_call(a)) return FC_OK;
  FC_TRY(recover(a->module, callee, a->depth + 1, a->budget, a->arena, &inner,
                 err));
  for (uint32_t i = 0; i < operands->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, operands, i);
    if (!(reg & FC_VM_REF_BIT)) continue;
    fc_vm_fact_t fact = *fc_vm_facts_ref(a, reg);
    if (fact.kind != FACT_ARGUMENT) continue;
    a->out->written[fact.a] |= inner.written[i];
    if (!inner.arguments[i].known) continue;
    FC_TRY(claim(a, fact.a, &inner.arguments[i], err));
  }
  return FC_OK;
}

// Notes an argument that is overwritten. If an argument is a value, the compiler
// asserts its view and its buffer. If it is storage for a result, the compiler asserts
// its buffer once more. Copies, fills and kernels that write into a value prove nothing,
// since the value may not be needed any more.
static void look_for_writes(fc_vm_facts_t *a, const fc_vm_instruction_t *in,
                            const fc_vm_import_t *import) {
  const fc_vm_fact_t first = fc_vm_facts_operand(a, in, 0);
  if (fc_vm_is_view_call(import, VIEW_ASSERT) && first.kind == FACT_ARGUMENT) {
    a->asserts[first.a]--;
  }
  if (fc_vm_is_view_call(import, BUFFER_ASSERT) && first.kind == FACT_BUFFER &&
      ++a->asserts[first.a] > 0) {
    a->out->written[first.a] = true;
  }
}

static fc_status_t look_at_arguments(fc_vm_facts_t *a,
                                     const fc_vm_instruction_t *in,
                                     fc_error_t *err) {
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  if (!fc_vm_op_is_call(in->op)) return FC_OK;
  const fc_vm_import_t *import = fc_vm_facts_import(a, in);
  if (!import) return look_through_call(a, in, err);
  look_for_writes(a, in, import);
  if (!fc_vm_is_view_call(import, VIEW_ASSERT) || !operands->count) {
    return FC_OK;
  }
  uint16_t view = fc_vm_list_entry(a->function->code, operands, 0);
  fc_vm_fact_t fact = *fc_vm_facts_ref(a, view);
  if (fact.kind != FACT_ARGUMENT) return FC_OK;
  const fc_vm_shape_t shape =
      read_shape(a, operands, ASSERT_ELEMENT, ASSERT_FIXED);
  return claim(a, fact.a, &shape, err);
}

// Finds what is known about the shape of the view at `fact`, which is an argument, is
// made here, or is a call's result. If the view is an argument, *out_argument is its
// number, even if a call passes the argument through and its shape is unknown;
// otherwise -1.
static fc_status_t shape_of(fc_vm_facts_t *a, fc_vm_fact_t fact,
                            fc_vm_shape_t *out, int32_t *out_argument,
                            fc_error_t *err) {
  fc_vm_instruction_t in;
  *out = (fc_vm_shape_t){0};
  *out_argument = -1;
  if (fact.kind == FACT_ARGUMENT) {
    *out = a->out->arguments[fact.a];
    *out_argument = (int32_t)fact.a;
    return FC_OK;
  }
  if (fact.kind != FACT_VIEW && fact.kind != FACT_CALL) return FC_OK;
  // Walks the block up to the call, or to where the view was made, to find the facts
  // there.
  uint32_t index = fc_vm_facts_block(a, fact.a);
  fc_vm_fact_t *after = a->now;
  a->now = a->spare;
  uint32_t pc = fc_vm_facts_enter(a, index);
  for (;;) {
    fc_status_t decoded = fc_vm_facts_decode(a, pc, &in, err);
    FC_ASSERT(decoded == FC_OK);
    if (pc == fact.a) break;
    fc_vm_facts_step(a, &in);
    pc = in.next;
  }
  fc_status_t status = FC_OK;
  const fc_vm_field_t *operands = fc_vm_find_field(&in, '*');
  fc_vm_recovered_t inner;
  if (fact.kind == FACT_VIEW) {
    *out = read_shape(a, operands, CREATE_ELEMENT, CREATE_FIXED);
  } else if (may_call(a)) {
    status = recover(a->module, (uint32_t)in.fields[0].value, a->depth + 1,
                     a->budget, a->arena, &inner, err);
    if (status == FC_OK) *out = inner.results[fact.b];
    if (status == FC_OK && !out->known && inner.passed[fact.b] >= 0) {
      uint16_t reg = fc_vm_list_entry(a->function->code, operands,
                                      (uint32_t)inner.passed[fact.b]);
      fc_vm_fact_t handed = *fc_vm_facts_register(a, reg);
      if (handed.kind == FACT_ARGUMENT) {
        *out = a->out->arguments[handed.a];
        *out_argument = (int32_t)handed.a;
      }
    }
  }
  a->now = after;
  return status;
}

static fc_status_t look_at_returns(fc_vm_facts_t *a,
                                   const fc_vm_instruction_t *in,
                                   fc_error_t *err) {
  if (in->op->flow != FC_VM_FLOW_RETURN) return FC_OK;
  fc_str_t letters = a->function->cconv.results;
  for (uint32_t i = 0; i < letters.size && *a->budget; i++) {
    if (letters.data[i] != 'r') continue;
    uint16_t reg = fc_vm_list_entry(a->function->code, &in->fields[0], i);
    fc_vm_shape_t shape;
    int32_t argument;
    FC_TRY(shape_of(a, *fc_vm_facts_ref(a, reg), &shape, &argument, err));
    fc_vm_shape_t *known = &a->out->results[i];
    if (!a->returns_seen[i]) {
      *known = shape;
      a->out->passed[i] = argument;
    }
    if (!same_shape(known, &shape)) *known = (fc_vm_shape_t){0};
    if (a->out->passed[i] != argument) a->out->passed[i] = -1;
    a->returns_seen[i] = true;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Dims that must be equal

static void note_equal(fc_vm_facts_t *a, fc_vm_dim_t left, fc_vm_dim_t right) {
  fc_vm_recovered_t *out = a->out;
  if (left.argument == right.argument && left.dim == right.dim) return;
  if (out->equal_count == FC_ARRAY_COUNT(out->equal)) return;
  out->equal[out->equal_count++] = (fc_vm_equal_t){left, right};
}

// If `in` asserts the shape of an argument, notes which of the argument's dims must equal
// a dim of an argument, because the assert compares them.
static void look_at_assert(fc_vm_facts_t *a, const fc_vm_instruction_t *in) {
  if (!fc_vm_op_is_call(in->op)) return;
  const fc_vm_field_t *operands = fc_vm_find_field(in, '*');
  const fc_vm_import_t *import = fc_vm_facts_import(a, in);
  if (!import || !fc_vm_is_view_call(import, VIEW_ASSERT) ||
      operands->count < ASSERT_FIXED) {
    return;
  }
  const uint8_t *code = a->function->code;
  const fc_vm_fact_t view =
      *fc_vm_facts_ref(a, fc_vm_list_entry(code, operands, 0));
  if (view.kind != FACT_ARGUMENT) return;
  for (uint32_t i = ASSERT_FIXED; i < operands->count; i++) {
    const fc_vm_fact_t dim =
        fc_vm_facts_dim(a, fc_vm_list_entry(code, operands, i));
    if (dim.kind != FACT_DIM) continue;
    note_equal(a, (fc_vm_dim_t){view.a, i - ASSERT_FIXED},
               (fc_vm_dim_t){dim.a, dim.b});
  }
}

// Walks to the block's last instruction, *out; then `now` has the facts before it.
// With `asserts`, notes the dims that asserts on the way show to be equal.
static fc_status_t walk_to_end(fc_vm_facts_t *a, uint32_t index, bool asserts,
                               fc_vm_instruction_t *out, fc_error_t *err) {
  for (uint32_t pc = fc_vm_facts_enter(a, index); pc < a->function->size;) {
    FC_TRY(fc_vm_facts_decode(a, pc, out, err));
    if (fc_vm_op_is_terminator(out->op)) return FC_OK;
    if (asserts) look_at_assert(a, out);
    fc_vm_facts_step(a, out);
    pc = out->next;
  }
  return FC_OK;
}

// *out_fails tells whether the block at `pc` ends with `fail` and a constant
// status other than 0.
static fc_status_t block_fails(fc_vm_facts_t *a, uint32_t pc, bool *out_fails,
                               fc_error_t *err) {
  fc_vm_instruction_t last;
  FC_TRY(walk_to_end(a, fc_vm_facts_block(a, pc), false, &last, err));
  *out_fails = false;
  if (last.op->flow != FC_VM_FLOW_FAIL) return FC_OK;
  const fc_vm_fact_t status =
      *fc_vm_facts_cell(a, (uint32_t)last.fields[0].value);
  *out_fails = status.kind == FACT_CONSTANT && status.a != 0;
  return FC_OK;
}

// Finds the block where a call that does not fail continues after the branch `branch`;
// *out_pc is 0 when this is unknown. If the branch compares two dims and the
// call fails when they differ, notes that they are equal.
static fc_status_t pass_branch(fc_vm_facts_t *a,
                               const fc_vm_instruction_t *branch,
                               uint32_t *out_pc, fc_error_t *err) {
  fc_vm_edges_t edges;
  fc_vm_edge_t taken, other;
  *out_pc = 0;
  fc_vm_edges_init(&edges, a->function->code, branch);
  if (!fc_vm_edges_next(&edges, &taken)) return FC_OK;
  if (branch->op->opcode == FC_VM_OP_Branch) *out_pc = taken.target;
  if (branch->op->opcode != FC_VM_OP_CondBranch ||
      !fc_vm_edges_next(&edges, &other)) {
    return FC_OK;
  }
  const fc_vm_fact_t fact =
      *fc_vm_facts_cell(a, (uint32_t)branch->fields[0].value);
  bool taken_fails, other_fails;
  FC_TRY(block_fails(a, taken.target, &taken_fails, err));
  FC_TRY(block_fails(a, other.target, &other_fails, err));
  if (taken_fails == other_fails) return FC_OK;
  *out_pc = taken_fails ? other.target : taken.target;
  if (fact.kind == (taken_fails ? FACT_DIFFER : FACT_EQUAL)) {
    note_equal(a, (fc_vm_dim_t){fact.a >> 16, fact.b >> 8},
               (fc_vm_dim_t){fact.a & 0xFFFF, fact.b & 0xFF});
  }
  return FC_OK;
}

// Walks the blocks that every call that does not fail passes first, as far as they are
// known. If two dims are compared there and must be equal to continue, they are equal in
// every such call.
static fc_status_t look_at_prologue(fc_vm_facts_t *a, fc_error_t *err) {
  uint32_t pc = a->blocks[0];
  for (uint32_t i = 0; i < a->block_count && *a->budget; i++) {
    fc_vm_instruction_t last;
    FC_TRY(walk_to_end(a, fc_vm_facts_block(a, pc), true, &last, err));
    FC_TRY(pass_branch(a, &last, &pc, err));
    if (!pc) return FC_OK;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The whole function

static fc_status_t make_room(fc_vm_facts_t *a, fc_error_t *err) {
  fc_arena_t *arena = a->arena;
  fc_vm_recovered_t *out = a->out;
  size_t arguments = a->function->cconv.arguments.size;
  size_t results = a->function->cconv.results.size;
  out->arguments =
      fc_arena_alloc_array(arena, arguments, sizeof(fc_vm_shape_t));
  out->results = fc_arena_alloc_array(arena, results, sizeof(fc_vm_shape_t));
  out->passed = fc_arena_alloc_array(arena, results, sizeof *out->passed);
  out->written = fc_arena_alloc_array(arena, arguments, sizeof(bool));
  a->returns_seen = fc_arena_alloc_array(arena, results, sizeof(bool));
  a->asserts = fc_arena_alloc_array(arena, arguments, sizeof *a->asserts);
  if (!out->arguments || !out->results || !out->passed || !out->written ||
      !a->returns_seen || !a->asserts) {
    return fc_fail_memory(err);
  }
  fc_vm_facts_spend(a, (arguments + results) *
                           (sizeof(fc_vm_shape_t) / sizeof(fc_vm_fact_t)));
  for (size_t i = 0; i < results; i++) out->passed[i] = -1;
  return FC_OK;
}

static void forget_shapes(fc_vm_facts_t *a) {
  for (size_t i = 0; i < a->function->cconv.results.size; i++) {
    a->out->results[i].known = false;
    a->out->passed[i] = -1;
  }
}

static fc_status_t recover(const fc_vm_module_t *module, uint32_t function,
                           uint32_t depth, size_t *budget, fc_arena_t *arena,
                           fc_vm_recovered_t *out, fc_error_t *err) {
  *out = (fc_vm_recovered_t){0};
  fc_vm_facts_t a = {.module = module,
                     .function = &module->functions[function],
                     .arena = arena,
                     .out = out,
                     .depth = depth,
                     .budget = budget};
  FC_TRY(make_room(&a, err));
  bool learnt;
  FC_TRY(fc_vm_facts_learn(&a, &learnt, err));
  if (!learnt) return FC_OK;
  FC_TRY(fc_vm_facts_look(&a, look_at_arguments, err));
  FC_TRY(fc_vm_facts_look(&a, look_at_returns, err));
  if (depth == 0) FC_TRY(look_at_prologue(&a, err));
  // The budget is spent: a return that was not examined may return another shape, so no
  // shape of a result is known.
  if (!*budget) forget_shapes(&a);
  for (size_t i = 0; i < a.function->cconv.arguments.size; i++) {
    out->any |= out->arguments[i].known;
  }
  for (size_t i = 0; i < a.function->cconv.results.size; i++) {
    out->any |= out->results[i].known;
  }
  return FC_OK;
}

fc_status_t fc_vm_recover(const fc_vm_module_t *module, uint32_t function,
                          size_t *budget, fc_arena_t *arena,
                          fc_vm_recovered_t *out, fc_error_t *err) {
  return recover(module, function, 0, budget, arena, out, err);
}
