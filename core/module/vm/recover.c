// SPDX-License-Identifier: Apache-2.0
//
// Type inference. A forward data-flow analysis finds, for the beginning of each
// block, which registers hold constants, dims, arguments or views; where paths
// meet, only the facts that all of them agree on stay. Then
// hal.buffer_view.assert tells the types of arguments, .create those of
// results. An assert counts if its block dominates every return: no call
// returns without passing it. Calls of functions of the module, which a wrapper
// makes, are followed two deep. Dims that must be equal are read off the code
// that every call runs first. Called when a module is opened.
#include "module/vm/recover.h"

#include "module/vm/ops.h"

#define FACTS_MAX ((size_t)1 << 20)  // blocks times registers
#define FACTS_AT_ONCE 8
#define BYTES_AT_ONCE 64
#define CALL_DEPTH_MAX 2
// Of hal.buffer_view.assert and .create: how many operands come before the dims, and
// which of these is the element type.
#define ASSERT_FIXED 4
#define ASSERT_ELEMENT 2
#define CREATE_FIXED 5
#define CREATE_ELEMENT 3

typedef enum fact_kind_t {
  FACT_NOTHING,   // no path came here yet
  FACT_CONSTANT,  // a cell: `a` are its bits
  FACT_DIM,       // a cell: dim `b` of argument `a`
  FACT_EQUAL,     // a cell: whether two dims are equal, see compare_dims
  FACT_DIFFER,    // a cell: whether two dims differ
  FACT_ARGUMENT,  // a ref: argument `a`
  FACT_BUFFER,    // a ref: the buffer of argument `a`, or a part of it
  FACT_VIEW,      // a ref: made by hal.buffer_view.create at pc `a`
  FACT_CALL,      // a ref: result `b` of the call at pc `a`
  FACT_IMPORT,    // a ref: a result of a call of import `a`
  FACT_ANYTHING,
} fact_kind_t;

typedef struct fact_t {
  uint8_t kind;
  uint16_t b;
  uint32_t a;
} fact_t;

static const fact_t anything = {.kind = FACT_ANYTHING};

typedef fc_vm_facts_t analysis_t;

// Whether a block dominates the returns: every call that returns passes it.
typedef enum passed_t {
  PASSED_UNKNOWN,
  PASSED_ALWAYS,
  PASSED_SOMETIMES,
} passed_t;

struct fc_vm_facts_t {
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
  fc_arena_t *arena;
  fc_vm_recovered_t *out;
  uint32_t depth;
  uint32_t block_count;
  uint32_t block;      // being walked
  uint32_t *blocks;    // pc of each marker, ascending
  uint32_t *ends;      // pc of each block's last instruction
  uint32_t *queue;     // blocks that a search has yet to look at
  uint8_t *passed;     // passed_t of each block
  bool *waiting;       // blocks to walk again; or those that a search has seen
  fact_t *entries;     // at the start of each block: cells, then refs
  fact_t *now;         // facts at the current place in a block
  fact_t *spare;       // takes the place of `now` for a while
  size_t width;        // facts of one block
  size_t *budget;      // see spend()
  bool *returns_seen;  // true for results that a return was seen of
  // By argument: asserts of its buffer, less those of its view.
  int32_t *asserts;
  fc_vm_each_call_t each;
  void *context;  // of `each`
};

static fact_t *cell(analysis_t *a, uint32_t reg) { return &a->now[reg]; }
static fact_t *ref(analysis_t *a, uint32_t reg) {
  return &a->now[a->function->cell_count + (reg & FC_VM_REF_MASK)];
}
static fact_t *any_register(analysis_t *a, uint32_t reg) {
  return reg & FC_VM_REF_BIT ? ref(a, reg) : cell(a, reg);
}

static bool is_wide(char kind) { return kind && strchr("LDIF", kind); }

// Spends the budget on whatever a file can make us do again and again:
// instructions, the facts of blocks, entries of lists. At 0 nothing more is
// looked at.
static void spend(analysis_t *a, size_t count) {
  *a->budget = count < *a->budget ? *a->budget - count : 0;
}

// Spends what copying or comparing the facts of one block costs: one for several facts,
// because the machine handles several at a time.
static void spend_row(analysis_t *a) { spend(a, a->width / FACTS_AT_ONCE + 1); }

static fc_status_t decode(analysis_t *a, uint32_t pc, fc_vm_instruction_t *out,
                          fc_error_t *err) {
  FC_TRY(fc_vm_decode(a->function->code, a->function->size, pc, out, err));
  spend(a, 1 + (out->next - pc) / BYTES_AT_ONCE);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// One instruction

static void set_constant(analysis_t *a, uint32_t reg, uint64_t bits,
                         bool wide) {
  *cell(a, reg) = (fact_t){.kind = FACT_CONSTANT, .a = (uint32_t)bits};
  if (!wide) return;
  *cell(a, reg + 1) =
      (fact_t){.kind = FACT_CONSTANT, .a = (uint32_t)(bits >> 32)};
}

static const fc_vm_import_t *called_import(const analysis_t *a,
                                           const fc_vm_instruction_t *in) {
  uint32_t ordinal = (uint32_t)in->fields[0].value;
  if (!(ordinal & FC_VM_IMPORT_BIT)) return NULL;
  return &a->module->imports[ordinal & ~FC_VM_IMPORT_BIT];
}

static const fc_vm_field_t *find_field(const fc_vm_instruction_t *in,
                                       char kind) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    if (in->fields[i].kind == kind) return &in->fields[i];
  }
  return NULL;
}

// The functions of views that types are inferred from, the same in hal and hal_inline.
// Operands were verified against the convention that the file declares. So an
// import with another convention is not the function that its name says.
#define VIEW_ASSERT FC_STR("buffer_view.assert"), FC_STR("0rriiCID_v")
#define VIEW_CREATE FC_STR("buffer_view.create"), FC_STR("0rIIiiCID_r")
#define VIEW_DIM FC_STR("buffer_view.dim"), FC_STR("0ri_I")
#define VIEW_BUFFER FC_STR("buffer_view.buffer"), FC_STR("0r_r")
#define BUFFER_ASSERT FC_STR("buffer.assert"), FC_STR("0rrrIii_v")
#define BUFFER_SUBSPAN FC_STR("buffer.subspan"), FC_STR("0rII_r")

static bool is_view_call(const fc_vm_import_t *import, fc_str_t name,
                         fc_str_t cconv) {
  return fc_str_equal(import->name, name) &&
         fc_str_equal(import->cconv_text, cconv) &&
         (fc_str_equal(import->module, FC_STR("hal")) ||
          fc_str_equal(import->module, FC_STR("hal_inline")));
}

// The fact about operand `index` of a call, if that is a reference; else nothing.
static fact_t ref_operand(analysis_t *a, const fc_vm_instruction_t *in,
                          uint32_t index) {
  const fc_vm_field_t *operands = find_field(in, '*');
  if (index >= operands->count) return (fact_t){.kind = FACT_NOTHING};
  const uint16_t reg = fc_vm_list_entry(a->function->code, operands, index);
  return reg & FC_VM_REF_BIT ? *ref(a, reg) : (fact_t){.kind = FACT_NOTHING};
}

// The fact about the reference that a call of an import returns.
static fact_t ref_returned(analysis_t *a, const fc_vm_instruction_t *in,
                           const fc_vm_import_t *import) {
  if (is_view_call(import, VIEW_CREATE)) {
    return (fact_t){.kind = FACT_VIEW, .a = in->pc};
  }
  const fact_t from = ref_operand(a, in, 0);
  if ((is_view_call(import, VIEW_BUFFER) && from.kind == FACT_ARGUMENT) ||
      (is_view_call(import, BUFFER_SUBSPAN) && from.kind == FACT_BUFFER)) {
    return (fact_t){.kind = FACT_BUFFER, .a = from.a};
  }
  return (fact_t){.kind = FACT_IMPORT,
                  .a = (uint32_t)(import - a->module->imports)};
}

// The fact about the result of a call of hal.buffer_view.dim.
static fact_t dim_asked(analysis_t *a, const fc_vm_instruction_t *in) {
  const fc_vm_field_t *operands = find_field(in, '*');
  if (operands->count != 2) return anything;
  const fact_t view = *ref(a, fc_vm_list_entry(a->function->code, operands, 0));
  const fact_t index =
      *cell(a, fc_vm_list_entry(a->function->code, operands, 1));
  if (view.kind != FACT_ARGUMENT || index.kind != FACT_CONSTANT ||
      index.a >= FC_RANK_MAX || view.a > UINT16_MAX) {
    return anything;
  }
  return (fact_t){.kind = FACT_DIM, .a = view.a, .b = (uint16_t)index.a};
}

// The dim that a 64-bit register holds, if both of its cells hold it; else anything.
static fact_t dim_in(analysis_t *a, uint32_t reg) {
  const fact_t low = *cell(a, reg), high = *cell(a, reg + 1);
  return low.kind == FACT_DIM && high.kind == FACT_DIM && low.a == high.a &&
                 low.b == high.b
             ? low
             : anything;
}

static fact_t compare_dims(uint8_t kind, fact_t left, fact_t right) {
  if (left.kind != FACT_DIM || right.kind != FACT_DIM) return anything;
  return (fact_t){.kind = kind,
                  .a = left.a << 16 | right.a,
                  .b = (uint16_t)(left.b << 8 | right.b)};
}

static void forget_results(analysis_t *a, const fc_vm_instruction_t *in) {
  const fc_vm_field_t *results = find_field(in, '#');
  const fc_vm_import_t *import = called_import(a, in);
  const fact_t dim =
      import && is_view_call(import, VIEW_DIM) ? dim_asked(a, in) : anything;
  fc_str_t letters =
      import ? import->cconv.results
             : a->module->functions[in->fields[0].value].cconv.results;
  const fact_t returned = import ? ref_returned(a, in, import) : anything;
  for (uint32_t i = 0; i < results->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, results, i);
    if (letters.data[i] != 'r') {
      *cell(a, reg) = dim;
      if (is_wide(letters.data[i])) *cell(a, reg + 1u) = dim;
    } else if (import) {
      *ref(a, reg) = returned;
    } else {
      *ref(a, reg) = (fact_t){.kind = FACT_CALL, .a = in->pc, .b = (uint16_t)i};
    }
  }
}

static void forget_written(analysis_t *a, const fc_vm_instruction_t *in) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    const fc_vm_field_t *field = &in->fields[i];
    uint32_t reg = (uint32_t)field->value;
    switch (field->kind) {
      case 'L':
      case 'D':
        *cell(a, reg + 1) = anything;
        *cell(a, reg) = anything;
        break;
      case 'I':
      case 'F':
        *cell(a, reg) = anything;
        break;
      case 'R':
      case 'M':
        *ref(a, reg) = anything;
        break;
      default:
        break;
    }
  }
}

static void step(analysis_t *a, const fc_vm_instruction_t *in) {
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
      *cell(a, (uint32_t)f[2].value) = compare_dims(
          in->op->opcode == FC_VM_OP_CmpEQI64 ? FACT_EQUAL : FACT_DIFFER,
          dim_in(a, (uint32_t)f[0].value), dim_in(a, (uint32_t)f[1].value));
      return;
    case FC_VM_OP_AssignRef:
      *ref(a, (uint32_t)f[1].value) = *ref(a, (uint32_t)f[0].value);
      return;
    case FC_VM_OP_CastAnyRef:
      *ref(a, (uint32_t)f[2].value) = *ref(a, (uint32_t)f[0].value);
      return;
    default:
      if (fc_vm_op_is_call(in->op)) forget_results(a, in);
      else forget_written(a, in);
      return;
  }
}

// ---------------------------------------------------------------------------
// Blocks

static uint32_t block_index(const analysis_t *a, uint32_t pc) {
  uint32_t low = 0, high = a->block_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (a->blocks[middle] <= pc) low = middle;
    else high = middle;
  }
  return low;
}

static bool same(fact_t x, fact_t y) {
  return x.kind == y.kind && x.a == y.a && x.b == y.b;
}

// Passes the facts on to the block at `pc`, where only those stay that all paths agree
// on. If that changes the facts, the block waits to be walked again.
static void flow(analysis_t *a, uint32_t pc) {
  uint32_t index = block_index(a, pc);
  fact_t *entry = &a->entries[index * a->width];
  bool changed = false;
  spend_row(a);
  for (size_t i = 0; i < a->width; i++) {
    fact_t met = a->now[i];
    if (met.kind == FACT_NOTHING) met = anything;  // zeroed, not written yet
    if (entry[i].kind == FACT_NOTHING) entry[i] = met;
    else if (same(entry[i], met) || entry[i].kind == FACT_ANYTHING) continue;
    else entry[i] = anything;
    changed = true;
  }
  if (changed) a->waiting[index] = true;
}

static void flow_edges(analysis_t *a, const fc_vm_instruction_t *in) {
  if (in->op->flow == FC_VM_FLOW_FAIL) {
    if (in->next < a->function->size) flow(a, in->next);
    return;
  }
  fc_vm_edges_t edges;
  fc_vm_edge_t edge;
  fact_t *before = a->now;
  fc_vm_edges_init(&edges, a->function->code, in);
  while (*a->budget && fc_vm_edges_next(&edges, &edge)) {
    if (!edge.copy_count) {
      flow(a, edge.target);
      continue;
    }
    a->now = a->spare;
    memcpy(a->now, before, a->width * sizeof(fact_t));
    for (uint32_t i = 0; i < edge.copy_count; i++) {
      const uint8_t *pair = a->function->code + edge.copies_pc + 4 * (size_t)i;
      *any_register(a, fc_load_u16(pair + 2)) =
          *any_register(a, fc_load_u16(pair));
    }
    flow(a, edge.target);
    a->now = before;
  }
}

// Sets `now` to the facts at the start of block `index`; returns the pc behind its
// marker.
static uint32_t enter_block(analysis_t *a, uint32_t index) {
  memcpy(a->now, &a->entries[index * a->width], a->width * sizeof(fact_t));
  spend_row(a);
  return a->blocks[index] + 1;
}

// Walks one block from its entry. `look` sees each instruction and the facts before it.
// Without `look`, the facts at the block's end flow on to the blocks that may follow.
static fc_status_t walk_block(analysis_t *a, uint32_t index,
                              fc_status_t (*look)(analysis_t *a,
                                                  const fc_vm_instruction_t *in,
                                                  fc_error_t *err),
                              fc_error_t *err) {
  a->block = index;
  for (uint32_t pc = enter_block(a, index);
       *a->budget && pc < a->function->size;) {
    fc_vm_instruction_t in;
    FC_TRY(decode(a, pc, &in, err));
    if (look) FC_TRY(look(a, &in, err));
    step(a, &in);
    if (fc_vm_op_is_terminator(in.op)) {
      if (!look) flow_edges(a, &in);
      return FC_OK;
    }
    pc = in.next;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// What asserts, creates and returns say

static bool constant_cell(analysis_t *a, uint32_t reg, uint32_t *out) {
  fact_t fact = *cell(a, reg);
  *out = fact.a;
  return fact.kind == FACT_CONSTANT;
}

// The element type and dims among a call's operands.
static fc_vm_shape_t read_shape(analysis_t *a, const fc_vm_field_t *operands,
                                uint32_t element, uint32_t fixed) {
  const uint8_t *code = a->function->code;
  fc_vm_shape_t shape = {0};
  uint32_t word;
  if (operands->count < fixed || operands->count - fixed > FC_RANK_MAX) {
    return shape;
  }
  if (!constant_cell(a, fc_vm_list_entry(code, operands, element), &word)) {
    return shape;
  }
  shape.dtype = fc_dtype_from_hal(word);
  shape.rank = (int32_t)(operands->count - fixed);
  shape.known = shape.dtype != FC_DTYPE_NONE;
  for (int32_t i = 0; i < shape.rank; i++) {
    uint16_t reg = fc_vm_list_entry(code, operands, fixed + (uint32_t)i);
    uint32_t low, high;
    bool fixed_dim = constant_cell(a, reg, &low) &&
                     constant_cell(a, reg + 1u, &high) && high == 0 &&
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

// True when calls of other functions of the module are followed.
static bool may_call(const analysis_t *a) {
  return a->depth < CALL_DEPTH_MAX && *a->budget;
}

static fc_status_t block_fails(analysis_t *a, uint32_t pc, bool *out_fails,
                               fc_error_t *err);

static void search(analysis_t *a, uint32_t pc, uint32_t *count) {
  const uint32_t index = block_index(a, pc);
  if (a->waiting[index]) return;
  a->waiting[index] = true;
  a->queue[(*count)++] = index;
}

// Adds the blocks that may follow block `index`; *out_returns: the block
// returns.
static fc_status_t leave_block(analysis_t *a, uint32_t index, uint32_t *count,
                               bool *out_returns, fc_error_t *err) {
  fc_vm_instruction_t last;
  FC_TRY(decode(a, a->ends[index], &last, err));
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

// Looks for a way from the start to a return that leaves block `index` out.
static fc_status_t find_way_around(analysis_t *a, uint32_t index,
                                   bool *out_found, fc_error_t *err) {
  uint32_t count = 0;
  memset(a->waiting, 0, a->block_count * sizeof *a->waiting);
  a->waiting[index] = true;
  *out_found = false;
  spend(a, a->block_count / BYTES_AT_ONCE);
  search(a, a->blocks[0], &count);
  while (count && *a->budget && !*out_found) {
    FC_TRY(leave_block(a, a->queue[--count], &count, out_found, err));
  }
  return FC_OK;
}

static fc_status_t every_call_passes(analysis_t *a, uint32_t index, bool *out,
                                     fc_error_t *err) {
  if (a->passed[index] == PASSED_UNKNOWN) {
    bool found;
    fact_t *now = a->now;
    a->now = a->spare;
    FC_TRY(find_way_around(a, index, &found, err));
    a->now = now;
    a->passed[index] = found || !*a->budget ? PASSED_SOMETIMES : PASSED_ALWAYS;
  }
  *out = a->passed[index] == PASSED_ALWAYS;
  return FC_OK;
}

// Notes the shape that the current block asserts of an argument, if every call that
// returns passes the block.
static fc_status_t claim(analysis_t *a, uint32_t argument,
                         const fc_vm_shape_t *shape, fc_error_t *err) {
  fc_vm_shape_t *known = &a->out->arguments[argument];
  bool always;
  if (known->known || !shape->known) return FC_OK;
  FC_TRY(every_call_passes(a, a->block, &always, err));
  if (always) *known = *shape;
  return FC_OK;
}

// Notes what the function called by `in` asserts of operands that are arguments of the
// function being looked at.
static fc_status_t look_through_call(analysis_t *a,
                                     const fc_vm_instruction_t *in,
                                     fc_error_t *err) {
  const fc_vm_field_t *operands = find_field(in, '*');
  uint32_t callee = (uint32_t)in->fields[0].value;
  fc_vm_recovered_t inner;
  bool hands_on = false;
  for (uint32_t i = 0; i < operands->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, operands, i);
    hands_on |= (reg & FC_VM_REF_BIT) && ref(a, reg)->kind == FACT_ARGUMENT;
  }
  if (!hands_on || !may_call(a)) return FC_OK;
  FC_TRY(recover(a->module, callee, a->depth + 1, a->budget, a->arena, &inner,
                 err));
  for (uint32_t i = 0; i < operands->count; i++) {
    uint16_t reg = fc_vm_list_entry(a->function->code, operands, i);
    if (!(reg & FC_VM_REF_BIT)) continue;
    fact_t fact = *ref(a, reg);
    if (fact.kind != FACT_ARGUMENT) continue;
    a->out->written[fact.a] |= inner.written[i];
    if (!inner.arguments[i].known) continue;
    FC_TRY(claim(a, fact.a, &inner.arguments[i], err));
  }
  return FC_OK;
}

// Notes an argument that is overwritten. The compiler asserts the view and the buffer of a
// tensor that is a value, and once more the buffer of one that stands for storage. Copies,
// fills and kernels that write into a value tell nothing: nobody needs that value any more.
static void look_for_writes(analysis_t *a, const fc_vm_instruction_t *in,
                            const fc_vm_import_t *import) {
  const fact_t first = ref_operand(a, in, 0);
  if (is_view_call(import, VIEW_ASSERT) && first.kind == FACT_ARGUMENT) {
    a->asserts[first.a]--;
  }
  if (is_view_call(import, BUFFER_ASSERT) && first.kind == FACT_BUFFER &&
      ++a->asserts[first.a] > 0) {
    a->out->written[first.a] = true;
  }
}

static fc_status_t look_at_arguments(analysis_t *a,
                                     const fc_vm_instruction_t *in,
                                     fc_error_t *err) {
  const fc_vm_field_t *operands = find_field(in, '*');
  if (!fc_vm_op_is_call(in->op)) return FC_OK;
  const fc_vm_import_t *import = called_import(a, in);
  if (!import) return look_through_call(a, in, err);
  look_for_writes(a, in, import);
  if (!is_view_call(import, VIEW_ASSERT) || !operands->count) {
    return FC_OK;
  }
  uint16_t view = fc_vm_list_entry(a->function->code, operands, 0);
  fact_t fact = *ref(a, view);
  if (fact.kind != FACT_ARGUMENT) return FC_OK;
  const fc_vm_shape_t shape =
      read_shape(a, operands, ASSERT_ELEMENT, ASSERT_FIXED);
  return claim(a, fact.a, &shape, err);
}

// What is known of the shape of the view at `fact`, which is an argument, is made here,
// or is a call's result. *out_argument is the number of the argument that the view is,
// also if a call hands the argument through and knows no shape of it; else -1.
static fc_status_t shape_of(analysis_t *a, fact_t fact, fc_vm_shape_t *out,
                            int32_t *out_argument, fc_error_t *err) {
  fc_vm_instruction_t in;
  *out = (fc_vm_shape_t){0};
  *out_argument = -1;
  if (fact.kind == FACT_ARGUMENT) {
    *out = a->out->arguments[fact.a];
    *out_argument = (int32_t)fact.a;
    return FC_OK;
  }
  if (fact.kind != FACT_VIEW && fact.kind != FACT_CALL) return FC_OK;
  // Finds the facts where the view was made, or the call: walks its block up to there.
  uint32_t index = block_index(a, fact.a);
  fact_t *after = a->now;
  a->now = a->spare;
  uint32_t pc = enter_block(a, index);
  for (;;) {
    fc_status_t decoded = decode(a, pc, &in, err);
    FC_ASSERT(decoded == FC_OK);
    if (pc == fact.a) break;
    step(a, &in);
    pc = in.next;
  }
  fc_status_t status = FC_OK;
  const fc_vm_field_t *operands = find_field(&in, '*');
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
      fact_t handed = *any_register(a, reg);
      if (handed.kind == FACT_ARGUMENT) {
        *out = a->out->arguments[handed.a];
        *out_argument = (int32_t)handed.a;
      }
    }
  }
  a->now = after;
  return status;
}

static fc_status_t look_at_returns(analysis_t *a, const fc_vm_instruction_t *in,
                                   fc_error_t *err) {
  if (in->op->flow != FC_VM_FLOW_RETURN) return FC_OK;
  fc_str_t letters = a->function->cconv.results;
  for (uint32_t i = 0; i < letters.size && *a->budget; i++) {
    if (letters.data[i] != 'r') continue;
    uint16_t reg = fc_vm_list_entry(a->function->code, &in->fields[0], i);
    fc_vm_shape_t shape;
    int32_t argument;
    FC_TRY(shape_of(a, *ref(a, reg), &shape, &argument, err));
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

static void note_equal(analysis_t *a, fc_vm_dim_t left, fc_vm_dim_t right) {
  fc_vm_recovered_t *out = a->out;
  if (left.argument == right.argument && left.dim == right.dim) return;
  if (out->equal_count == FC_ARRAY_COUNT(out->equal)) return;
  out->equal[out->equal_count++] = (fc_vm_equal_t){left, right};
}

// If `in` asserts the shape of an argument, notes which of its dims must equal a dim of
// an argument: those that the assert compares with one.
static void look_at_assert(analysis_t *a, const fc_vm_instruction_t *in) {
  if (!fc_vm_op_is_call(in->op)) return;
  const fc_vm_field_t *operands = find_field(in, '*');
  const fc_vm_import_t *import = called_import(a, in);
  if (!import || !is_view_call(import, VIEW_ASSERT) ||
      operands->count < ASSERT_FIXED) {
    return;
  }
  const uint8_t *code = a->function->code;
  const fact_t view = *ref(a, fc_vm_list_entry(code, operands, 0));
  if (view.kind != FACT_ARGUMENT) return;
  for (uint32_t i = ASSERT_FIXED; i < operands->count; i++) {
    const fact_t dim = dim_in(a, fc_vm_list_entry(code, operands, i));
    if (dim.kind != FACT_DIM) continue;
    note_equal(a, (fc_vm_dim_t){view.a, i - ASSERT_FIXED},
               (fc_vm_dim_t){dim.a, dim.b});
  }
}

// Walks to the block's last instruction, *out; `now` has the facts before it. With
// `asserts`, notes the equal dims that asserts on the way tell.
static fc_status_t walk_to_end(analysis_t *a, uint32_t index, bool asserts,
                               fc_vm_instruction_t *out, fc_error_t *err) {
  for (uint32_t pc = enter_block(a, index); pc < a->function->size;) {
    FC_TRY(decode(a, pc, out, err));
    if (fc_vm_op_is_terminator(out->op)) return FC_OK;
    if (asserts) look_at_assert(a, out);
    step(a, out);
    pc = out->next;
  }
  return FC_OK;
}

// *out_fails: the block at `pc` ends with `fail` and a constant status other
// than 0.
static fc_status_t block_fails(analysis_t *a, uint32_t pc, bool *out_fails,
                               fc_error_t *err) {
  fc_vm_instruction_t last;
  FC_TRY(walk_to_end(a, block_index(a, pc), false, &last, err));
  *out_fails = false;
  if (last.op->flow != FC_VM_FLOW_FAIL) return FC_OK;
  const fact_t status = *cell(a, (uint32_t)last.fields[0].value);
  *out_fails = status.kind == FACT_CONSTANT && status.a != 0;
  return FC_OK;
}

// Where a call that does not fail goes on after the branch at the end of the
// block; *out_pc is 0 when that is not known. If the branch compares two dims and the
// call fails when the dims differ, notes that they are equal.
static fc_status_t pass_branch(analysis_t *a, const fc_vm_instruction_t *branch,
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
  const fact_t fact = *cell(a, (uint32_t)branch->fields[0].value);
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

// Follows the one path that every call which does not fail begins with, as far as it
// is known. So two dims that are compared there, and must be equal to go on, are equal
// in every such call.
static fc_status_t look_at_prologue(analysis_t *a, fc_error_t *err) {
  uint32_t pc = a->blocks[0];
  for (uint32_t i = 0; i < a->block_count && *a->budget; i++) {
    fc_vm_instruction_t last;
    FC_TRY(walk_to_end(a, block_index(a, pc), true, &last, err));
    FC_TRY(pass_branch(a, &last, &pc, err));
    if (!pc) return FC_OK;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The whole function

static fc_status_t find_blocks(analysis_t *a, fc_error_t *err) {
  const fc_vm_function_t *function = a->function;
  const size_t count = function->block_count;
  a->blocks = fc_arena_alloc_array(a->arena, count, sizeof *a->blocks);
  a->ends = fc_arena_alloc_array(a->arena, count, sizeof *a->ends);
  if (!a->blocks || !a->ends) return fc_fail_memory(err);
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    FC_TRY(decode(a, pc, &in, err));
    if (in.op->flow == FC_VM_FLOW_BLOCK) a->blocks[a->block_count++] = pc;
    else a->ends[a->block_count - 1] = pc;
  }
  return FC_OK;
}

static fc_status_t propagate(analysis_t *a, fc_error_t *err) {
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

static fc_status_t look_everywhere(
    analysis_t *a,
    fc_status_t (*look)(analysis_t *a, const fc_vm_instruction_t *in,
                        fc_error_t *err),
    fc_error_t *err) {
  for (uint32_t i = 0; i < a->block_count; i++) {
    // A block no path reaches has no facts.
    if (a->width && a->entries[i * a->width].kind == FACT_NOTHING) continue;
    if (!*a->budget) return FC_OK;
    FC_TRY(walk_block(a, i, look, err));
  }
  return FC_OK;
}

static void set_arguments(analysis_t *a) {
  fc_str_t letters = a->function->cconv.arguments;
  uint32_t next = 0;
  for (size_t i = 0; i < a->width; i++) a->entries[i] = anything;
  for (uint32_t i = 0; i < letters.size; i++) {
    if (letters.data[i] != 'r') continue;
    a->entries[a->function->cell_count + next++] =
        (fact_t){.kind = FACT_ARGUMENT, .a = i};
  }
}

static fc_status_t make_room(analysis_t *a, fc_error_t *err) {
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
  spend(a, (arguments + results) * (sizeof(fc_vm_shape_t) / sizeof(fact_t)));
  for (size_t i = 0; i < results; i++) out->passed[i] = -1;
  return FC_OK;
}

static void forget_shapes(analysis_t *a) {
  for (size_t i = 0; i < a->function->cconv.results.size; i++) {
    a->out->results[i].known = false;
    a->out->passed[i] = -1;
  }
}

// Finds the facts of all blocks; *out_learnt is false when the function is too large
// or the budget spent.
static fc_status_t learn(analysis_t *a, bool *out_learnt, fc_error_t *err) {
  *out_learnt = false;
  a->width = (size_t)a->function->cell_count + a->function->ref_count;
  if (!*a->budget || a->function->block_count > FACTS_MAX / (a->width + 1)) {
    return FC_OK;
  }
  FC_TRY(find_blocks(a, err));
  spend(a, a->block_count * a->width);
  if (!*a->budget) return FC_OK;
  fc_arena_t *arena = a->arena;
  const size_t count = a->block_count;
  a->entries =
      fc_arena_alloc_array(arena, count * a->width + 1, sizeof(fact_t));
  a->now = fc_arena_alloc_array(arena, a->width + 1, sizeof(fact_t));
  a->spare = fc_arena_alloc_array(arena, a->width + 1, sizeof(fact_t));
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

static fc_status_t recover(const fc_vm_module_t *module, uint32_t function,
                           uint32_t depth, size_t *budget, fc_arena_t *arena,
                           fc_vm_recovered_t *out, fc_error_t *err) {
  *out = (fc_vm_recovered_t){0};
  analysis_t a = {.module = module,
                  .function = &module->functions[function],
                  .arena = arena,
                  .out = out,
                  .depth = depth,
                  .budget = budget};
  FC_TRY(make_room(&a, err));
  bool learnt;
  FC_TRY(learn(&a, &learnt, err));
  if (!learnt) return FC_OK;
  FC_TRY(look_everywhere(&a, look_at_arguments, err));
  FC_TRY(look_everywhere(&a, look_at_returns, err));
  if (depth == 0) FC_TRY(look_at_prologue(&a, err));
  // A return that was not looked at may give another shape, so no result is
  // known.
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

static fc_status_t tell_of_call(analysis_t *a, const fc_vm_instruction_t *in,
                                fc_error_t *err) {
  (void)err;
  if (!fc_vm_op_is_call(in->op)) return FC_OK;
  const fc_vm_import_t *import = called_import(a, in);
  if (import) a->each(a->context, import, in, a);
  return FC_OK;
}

bool fc_vm_operand_constant(fc_vm_facts_t *facts, const fc_vm_instruction_t *in,
                            uint32_t index, uint32_t *out) {
  const fc_vm_field_t *operands = find_field(in, '*');
  if (index >= operands->count) return false;
  const uint16_t reg = fc_vm_list_entry(facts->function->code, operands, index);
  return !(reg & FC_VM_REF_BIT) && constant_cell(facts, reg, out);
}

const fc_vm_import_t *fc_vm_operand_maker(fc_vm_facts_t *facts,
                                          const fc_vm_instruction_t *in,
                                          uint32_t index) {
  const fc_vm_field_t *operands = find_field(in, '*');
  if (index >= operands->count) return NULL;
  const uint16_t reg = fc_vm_list_entry(facts->function->code, operands, index);
  if (!(reg & FC_VM_REF_BIT)) return NULL;
  const fact_t fact = *ref(facts, reg);
  return fact.kind == FACT_IMPORT ? &facts->module->imports[fact.a] : NULL;
}

fc_status_t fc_vm_each_call(const fc_vm_module_t *module, uint32_t function,
                            size_t *budget, fc_arena_t *arena,
                            fc_vm_each_call_t each, void *context,
                            fc_error_t *err) {
  analysis_t a = {.module = module,
                  .function = &module->functions[function],
                  .arena = arena,
                  .budget = budget,
                  .each = each,
                  .context = context};
  bool learnt;
  FC_TRY(learn(&a, &learnt, err));
  if (learnt) FC_TRY(look_everywhere(&a, tell_of_call, err));
  else *budget = 0;
  return FC_OK;
}
