// SPDX-License-Identifier: Apache-2.0
//
// Finds the arguments that a function writes. Each value has a set of arguments: those
// whose memory the value may be. A function is read from top to bottom. A result that may
// hold memory gets the sets of its operation's operands, and of what the operation's
// regions yielded when they were last read. A store adds the set of the memory that it
// writes to the set of written arguments. If a set grows after it was used (by a yield, a
// loop's next turn, a branch to a block above), the function is read again, until no set
// grows.
#include "compile/mlir/operation.h"

#define SET_BITS 64  // the last bit stands for all arguments from the 64th on

typedef uint64_t fc_set_t;

typedef struct fc_value_set_t {
  fc_str_t name;  // %12 of a value, ^bb1 of a block; data NULL: free
  fc_set_t set;
} fc_value_set_t;

// An operation whose regions are being read.
typedef struct fc_open_t {
  size_t end;  // of the operation, in the body
  fc_set_t operands;
  size_t number;  // its index in `yields`
} fc_open_t;

typedef struct fc_flow_t {
  const fc_mlir_module_t *module;
  fc_value_set_t *values;  // a hash table
  size_t value_count;      // its size, a power of two
  size_t values_used;
  fc_value_set_t *blocks;
  size_t block_count, block_room;
  fc_set_t *yields;  // for each operation with regions: what the regions yield
  fc_open_t *open;
  size_t depth;
  size_t number;  // how many operations with regions were seen
  fc_set_t stored;
  size_t region_room;
  bool changed;  // a set grew that lines above may have used
} fc_flow_t;

// ---------------------------------------------------------------------------
// Sets

static fc_value_set_t *find_cell(const fc_flow_t *flow, fc_str_t name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < name.size; i++) {
    hash = (hash ^ (uint8_t)name.data[i]) * 0x100000001b3u;
  }
  size_t at = (size_t)hash & (flow->value_count - 1);
  while (flow->values[at].name.data &&
         !fc_str_equal(flow->values[at].name, name)) {
    at = (at + 1) & (flow->value_count - 1);
  }
  return &flow->values[at];
}

// Cuts a name at `mark`. "%4:2" defines two results, "%4#0" and "%4#1"; both have the set
// of "%4".
static fc_str_t cut_number(fc_str_t name, char mark) {
  const char *at = name.size ? memchr(name.data, mark, name.size) : NULL;
  return at ? fc_lex_part(name, 0, (size_t)(at - name.data)) : name;
}

static fc_set_t get_set(const fc_flow_t *flow, fc_str_t name) {
  return find_cell(flow, cut_number(name, '#'))->set;
}

// Gives a value its set. An empty set must replace an old one too, because sibling
// regions use the same names.
static void set_value(fc_flow_t *flow, fc_str_t name, fc_set_t set) {
  if (fc_lex_char(name, 0) != '%') return;
  name = cut_number(name, ':');
  fc_value_set_t *cell = find_cell(flow, name);
  if (!cell->name.data &&
      (!set || flow->values_used + 1 == flow->value_count)) {
    return;
  }
  flow->values_used += !cell->name.data;
  *cell = (fc_value_set_t){name, set};
}

static void set_results(fc_flow_t *flow, fc_str_t results, fc_set_t set) {
  fc_str_t name;
  while (fc_lex_element(&results, &name)) set_value(flow, name, set);
}

static fc_set_t sum_sets(const fc_flow_t *flow, fc_str_t operands) {
  fc_set_t set = 0;
  fc_str_t name;
  while (fc_lex_element(&operands, &name)) set |= get_set(flow, name);
  return set;
}

static fc_set_t sum_range(const fc_flow_t *flow, fc_str_t operands,
                          size_t begin, size_t end) {
  fc_set_t set = 0;
  fc_str_t name;
  for (size_t i = 0; i < end && fc_lex_element(&operands, &name); i++) {
    if (i >= begin) set |= get_set(flow, name);
  }
  return set;
}

static fc_set_t argument_set(size_t index) {
  return (fc_set_t)1 << (index < SET_BITS ? index : SET_BITS - 1);
}

static void add(fc_flow_t *flow, fc_set_t *to, fc_set_t set) {
  if (set & ~*to) flow->changed = true;
  *to |= set;
}

// ---------------------------------------------------------------------------
// Written operands

// Operations that write one operand, and the number of that operand.
static const struct {
  const char *name;
  size_t operand;
} kStores[] = {
    {"memref.store", 1},       {"memref.copy", 1},
    {"memref.atomic_rmw", 1},  {"memref.generic_atomic_rmw", 0},
    {"affine.store", 1},       {"affine.vector_store", 1},
    {"vector.store", 1},       {"vector.transfer_write", 1},
    {"vector.maskedstore", 0}, {"vector.compressstore", 0},
    {"vector.scatter", 0},     {"llvm.store", 1},
    {"llvm.intr.memcpy", 0},   {"llvm.intr.memmove", 0},
    {"llvm.intr.memset", 0},
};

// linalg writes its outs: the second segment of operands. Without segments, these are the
// second half of the operands of linalg.reduce, and the last operand of other operations.
static fc_set_t linalg_stores(const fc_flow_t *flow,
                              const fc_operation_t *operation) {
  size_t end = fc_lex_count(operation->operands), begin = end ? end - 1 : 0;
  if (fc_operation_is(operation, "linalg.reduce")) begin = end / 2;
  (void)fc_operation_segment(operation, 1, &begin, &end);
  return sum_range(flow, operation->operands, begin, end);
}

static const fc_mlir_function_t *find_callee(const fc_flow_t *flow,
                                             fc_str_t properties) {
  fc_str_t name = fc_attr_find(properties, FC_STR("callee"));
  if (fc_lex_char(name, 0) != '@') return NULL;
  name = fc_lex_part(name, 1, name.size);
  if (fc_lex_char(name, 0) == '"') name = fc_lex_unwrap(name);
  for (size_t i = 0; i < flow->module->function_count; i++) {
    const fc_mlir_function_t *function = &flow->module->functions[i];
    if ((function->has_body || function->is_provided) &&
        fc_str_equal(function->symbol, name)) {
      return function;
    }
  }
  return NULL;
}

// True for functions of farcall that print or compare. Those that sort or copy write
// their arguments.
static bool only_reads(const fc_mlir_function_t *function) {
  return function->is_provided &&
         (fc_str_starts(function->name, FC_STR("print")) ||
          fc_str_starts(function->name, FC_STR("verify")));
}

static fc_set_t call_stores(const fc_flow_t *flow,
                            const fc_operation_t *operation) {
  const fc_mlir_function_t *callee = find_callee(flow, operation->properties);
  fc_str_t operands = operation->operands, name;
  if (callee && only_reads(callee)) return 0;
  if (!callee || !callee->has_body) return sum_sets(flow, operands);
  fc_set_t set = 0;
  for (size_t i = 0; i < callee->argument_count; i++) {
    if (!fc_lex_element(&operands, &name)) break;
    if (callee->arguments[i].stored) set |= get_set(flow, name);
  }
  return set;
}

static fc_set_t find_stores(const fc_flow_t *flow,
                            const fc_operation_t *operation) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kStores); i++) {
    if (!fc_operation_is(operation, kStores[i].name)) continue;
    size_t operand = kStores[i].operand;
    return sum_range(flow, operation->operands, operand, operand + 1);
  }
  if (fc_str_starts(operation->name, FC_STR("func.call"))) {
    return call_stores(flow, operation);
  }
  if (fc_str_starts(operation->name, FC_STR("linalg."))) {
    return linalg_stores(flow, operation);
  }
  return 0;
}

// ---------------------------------------------------------------------------
// Lines

static bool holds_memory(fc_str_t types) {
  return types.size && (memmem(types.data, types.size, "memref<", 7) ||
                        memmem(types.data, types.size, "!llvm.", 6));
}

// Reads a block's label, "^bb1(%a: memref<4xf32> loc(…), %i: index loc(…)):".
static void read_block(fc_flow_t *flow, fc_str_t line, size_t argument_count) {
  size_t end = 1, index = 0;
  while (fc_lex_is_word(fc_lex_char(line, end))) end++;
  fc_str_t label = fc_lex_part(line, 0, end), list = {0}, each;
  if (fc_lex_char(line, end) == '(') {
    size_t close = fc_lex_balanced(line, end, false);
    list = fc_lex_unwrap(fc_lex_part(line, end, close));
  }
  const bool first = fc_str_equal(label, FC_STR("^bb0"));  // of its region
  fc_set_t set = 0;
  for (size_t i = 0; !first && i < flow->block_count; i++) {
    if (fc_str_equal(flow->blocks[i].name, label)) set = flow->blocks[i].set;
  }
  if (first && flow->depth) {
    const fc_open_t *open = &flow->open[flow->depth - 1];
    set = open->operands | flow->yields[open->number];
  }
  for (; fc_lex_element(&list, &each); index++) {
    bool own = first && !flow->depth;
    if (own) set = index < argument_count ? argument_set(index) : 0;
    set_value(flow, cut_number(each, ':'), holds_memory(each) ? set : 0);
  }
}

static void branch(fc_flow_t *flow, fc_str_t labels, fc_set_t set) {
  fc_str_t label;
  while (fc_lex_element(&labels, &label)) {
    size_t i = 0;
    while (i < flow->block_count &&
           !fc_str_equal(flow->blocks[i].name, label)) {
      i++;
    }
    if (fc_lex_char(label, 0) != '^') continue;
    if (i == flow->block_room) return;
    if (i == flow->block_count) {
      flow->blocks[flow->block_count++] = (fc_value_set_t){label, 0};
    }
    add(flow, &flow->blocks[i].set, set);
  }
}

// True for an operation that ends a region: it passes its operands to the operation
// around the region.
static bool ends_region(fc_str_t name) {
  return fc_str_ends(name, FC_STR("yield")) ||
         fc_str_ends(name, FC_STR(".return")) ||
         fc_str_ends(name, FC_STR(".condition"));
}

static void read_operation(fc_flow_t *flow, const fc_operation_t *operation) {
  fc_set_t set = sum_sets(flow, operation->operands);
  add(flow, &flow->stored, find_stores(flow, operation));
  branch(flow, operation->successors, set);
  if (flow->depth && ends_region(operation->name)) {
    add(flow, &flow->yields[flow->open[flow->depth - 1].number], set);
  }
  if (operation->regions.data && flow->number < flow->region_room) {
    flow->open[flow->depth++] = (fc_open_t){operation->end, set, flow->number};
    set |= flow->yields[flow->number++];
  }
  set_results(flow, operation->results,
              holds_memory(operation->result_types) ? set : 0);
}

static void read_body(fc_flow_t *flow, const fc_mlir_function_t *function) {
  const fc_str_t body = function->body;
  memset(flow->values, 0, flow->value_count * sizeof *flow->values);
  flow->values_used = flow->depth = flow->number = 0;
  for (size_t at = 0; at < body.size;) {
    const size_t begin = at;
    const fc_str_t line = fc_lex_trim(fc_lex_line(body, &at));
    fc_operation_t operation;
    while (flow->depth && flow->open[flow->depth - 1].end <= begin) {
      flow->depth--;
    }
    if (fc_lex_char(line, 0) == '^') {
      read_block(flow, line, function->argument_count);
    } else if (fc_operation_read(body, begin, &operation)) {
      read_operation(flow, &operation);
    }
  }
}

// ---------------------------------------------------------------------------
// The module

static size_t count_of(fc_str_t text, const char *word) {
  size_t count = 0, size = strlen(word);
  const char *end = text.data + text.size, *at = text.data;
  while (at < end && (at = memmem(at, (size_t)(end - at), word, size))) {
    count++;
    at += size;
  }
  return count;
}

// Allocates what the largest function needs. Values, blocks and regions are counted by
// the marks that each has in the text. If the text is not a module, more may be found
// than were counted; these are skipped.
static fc_status_t make_room(fc_arena_t *arena, const fc_mlir_module_t *module,
                             fc_flow_t *flow, fc_error_t *err) {
  size_t values = 0, blocks = 0, regions = 0;
  for (size_t i = 0; i < module->function_count; i++) {
    fc_str_t body = module->functions[i].body;
    if (!body.size) continue;
    size_t count = count_of(body, "%");
    if (count > values) values = count;
    count = count_of(body, "^");
    if (count > blocks) blocks = count;
    count = count_of(body, "({");
    if (count > regions) regions = count;
  }
  flow->value_count = 2;
  while (flow->value_count <= values) flow->value_count *= 2;
  flow->values =
      fc_arena_alloc_array(arena, flow->value_count, sizeof *flow->values);
  flow->blocks = fc_arena_alloc_array(arena, blocks, sizeof *flow->blocks);
  flow->yields = fc_arena_alloc_array(arena, regions, sizeof *flow->yields);
  flow->open = fc_arena_alloc_array(arena, regions, sizeof *flow->open);
  flow->region_room = regions;
  flow->block_room = blocks;
  bool done = flow->values && flow->blocks && flow->yields && flow->open;
  return done ? FC_OK : fc_fail_memory(err);
}

// Reads a function until no set grows. True: one more argument was found that it writes.
static bool read_function(fc_flow_t *flow, fc_mlir_function_t *function) {
  flow->block_count = 0;
  flow->stored = 0;
  memset(flow->yields, 0, flow->region_room * sizeof *flow->yields);
  do {
    flow->changed = false;
    read_body(flow, function);
  } while (flow->changed);
  bool more = false;
  for (size_t i = 0; i < function->argument_count; i++) {
    fc_mlir_value_t *argument = &function->arguments[i];
    if (argument->stored || !(flow->stored & argument_set(i))) continue;
    argument->stored = holds_memory(argument->type);
    more = more || argument->stored;
  }
  return more;
}

fc_status_t fc_mlir_find_stores(fc_arena_t *arena, fc_mlir_module_t *module,
                                fc_error_t *err) {
  fc_flow_t flow = {.module = module};
  FC_TRY(make_room(arena, module, &flow, err));
  // A function may call one below it, so all are read until nothing changes.
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < module->function_count; i++) {
      fc_mlir_function_t *function = &module->functions[i];
      if (!function->has_body || !function->argument_count) continue;
      more = read_function(&flow, function) || more;
    }
  }
  return FC_OK;
}
