// SPDX-License-Identifier: Apache-2.0
//
// Walks the call graph, beginning at the exports, callees first, with an explicit
// stack. Called when a module is opened, and when an executable is made.
#include "module/vm/bound.h"

#include "module/vm/context.h"
#include "module/vm/ops.h"

// The weight of a remainder of two floats: it takes up to 700 ns.
#define REMAINDER_WEIGHT 256u

// The states of a function that has no bound yet.
enum { UNSEEN = FC_BOUND_PROVED + 1, OPEN };

// A function that is being examined, and the facts found so far.
typedef struct visit_t {
  uint32_t function;
  uint32_t pc;
  uint32_t weight;  // with the functions that it calls; <= UINT32_MAX
  fc_bound_t bound;
} visit_t;

typedef struct walk_t {
  const fc_vm_module_t *module;
  const fc_vm_native_module_t *const *natives;
  uint8_t *bounds;    // by function: fc_bound_t, UNSEEN or OPEN
  uint32_t *weights;  // by function, if it is neither UNSEEN nor OPEN
  visit_t *visits;
  uint32_t depth;
} walk_t;

static uint32_t add(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void decode(const fc_vm_function_t *function, uint32_t pc,
                   fc_vm_instruction_t *in) {
  const fc_status_t decoded =
      fc_vm_decode(function->code, function->size, pc, in, NULL);
  FC_ASSERT(decoded == FC_OK);  // the code was verified
}

static uint32_t weigh(const fc_vm_function_t *function) {
  uint32_t weight =
      add(function->size, function->cell_count * 4u + function->ref_count * 8u);
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    decode(function, pc, &in);
    if (in.op->opcode == FC_VM_OP_RemF32 || in.op->opcode == FC_VM_OP_RemF64) {
      weight = add(weight, REMAINDER_WEIGHT);
    }
  }
  return weight;
}

bool fc_vm_module_is_heavy(const fc_vm_module_t *module) {
  for (uint32_t i = 0; i < module->function_count; i++) {
    if (weigh(&module->functions[i]) > FC_VM_BUDGET_WEIGHT) return true;
  }
  return false;
}

static void lower(visit_t *visit, fc_bound_t bound) {
  if (bound < visit->bound) visit->bound = bound;
}

static void open_function(walk_t *walk, uint32_t index) {
  const fc_vm_function_t *function = &walk->module->functions[index];
  visit_t *visit = &walk->visits[walk->depth++];
  walk->bounds[index] = OPEN;
  *visit = (visit_t){
      .function = index, .weight = weigh(function), .bound = FC_BOUND_PROVED};
  if (function->ref_count) lower(visit, FC_BOUND_BUDGET);
  if (visit->weight > FC_VM_BUDGET_WEIGHT) lower(visit, FC_BOUND_NONE);
}

static void look_at_branches(const fc_vm_function_t *function,
                             const fc_vm_instruction_t *in, visit_t *visit) {
  fc_vm_edges_t edges;
  fc_vm_edge_t edge;
  fc_vm_edges_init(&edges, function->code, in);
  while (fc_vm_edges_next(&edges, &edge)) {
    if (edge.target <= in->pc) lower(visit, FC_BOUND_BUDGET);
  }
}

static void look_at_import(const walk_t *walk, uint32_t import,
                           visit_t *visit) {
  const fc_vm_native_function_t *function =
      fc_vm_native_find(&walk->module->imports[import], walk->natives);
  const bool counted = function && !(function->effect & FC_VM_EFFECT_LONG);
  lower(visit, counted ? FC_BOUND_BUDGET : FC_BOUND_NONE);
}

// Examines a call. False: the callee must be examined first.
static bool look_at_call(walk_t *walk, const fc_vm_instruction_t *in,
                         visit_t *visit) {
  const uint32_t callee = (uint32_t)in->fields[0].value;
  if (callee & FC_VM_IMPORT_BIT) {
    look_at_import(walk, callee & ~FC_VM_IMPORT_BIT, visit);
    return true;
  }
  switch (walk->bounds[callee]) {
    case UNSEEN:
      open_function(walk, callee);
      return false;
    case OPEN:
      lower(visit, FC_BOUND_NONE);
      return true;
    default:
      lower(visit, (fc_bound_t)walk->bounds[callee]);
      visit->weight = add(visit->weight, walk->weights[callee]);
      return true;
  }
}

static void close_function(walk_t *walk, visit_t *visit) {
  if (visit->weight > FC_VM_PROVED_WEIGHT) lower(visit, FC_BOUND_BUDGET);
  walk->bounds[visit->function] = (uint8_t)visit->bound;
  walk->weights[visit->function] = visit->weight;
  walk->depth--;
}

// Continues with the function on top of the stack, until its end or until a call of a
// function that was not examined. Once the bound is NONE, nothing can improve it, so
// the rest of the function is skipped.
static void go_on(walk_t *walk) {
  visit_t *visit = &walk->visits[walk->depth - 1];
  const fc_vm_function_t *function = &walk->module->functions[visit->function];
  while (visit->pc < function->size && visit->bound != FC_BOUND_NONE) {
    fc_vm_instruction_t in;
    decode(function, visit->pc, &in);
    look_at_branches(function, &in, visit);
    if (fc_vm_op_is_call(in.op) && !look_at_call(walk, &in, visit)) return;
    visit->pc = in.next;
  }
  close_function(walk, visit);
}

static bool is_hook(fc_str_t name) {
  return fc_str_equal(name, FC_STR("__init")) ||
         fc_str_equal(name, FC_STR("__deinit"));
}

static void walk_over(walk_t *walk) {
  const fc_vm_module_t *module = walk->module;
  memset(walk->bounds, UNSEEN, module->function_count);
  for (uint32_t i = 0; i < module->export_count; i++) {
    const fc_vm_export_t *export = &module->exports[i];
    if (is_hook(export->name) || walk->bounds[export->function] != UNSEEN) {
      continue;
    }
    open_function(walk, export->function);
    while (walk->depth) go_on(walk);
  }
  for (uint32_t i = 0; i < module->function_count; i++) {
    if (walk->bounds[i] == UNSEEN) walk->bounds[i] = FC_BOUND_NONE;
  }
}

fc_status_t fc_vm_module_bound(const fc_vm_module_t *module,
                               const fc_vm_native_module_t *const *natives,
                               uint8_t *out_bounds, fc_error_t *err) {
  const fc_allocator_t allocator = module->allocator;
  const size_t count = module->function_count;
  walk_t walk = {.module = module, .natives = natives, .bounds = out_bounds};
  walk.weights = fc_alloc_array(allocator, count, sizeof *walk.weights);
  walk.visits = fc_alloc_array(allocator, count, sizeof *walk.visits);
  const bool ready = walk.weights && walk.visits;
  if (ready) walk_over(&walk);
  fc_free(allocator, walk.weights);
  fc_free(allocator, walk.visits);
  return ready ? FC_OK : fc_fail_memory(err);
}
