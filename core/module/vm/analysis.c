// SPDX-License-Identifier: Apache-2.0
//
// Walks the call graph, beginning at the exports. Called when a module is opened.
#include "module/vm/analysis.h"

#include "module/vm/context.h"
#include "module/vm/ops.h"
#include "module/vm/facts.h"
#include "module/vm/recover.h"

// IREE_HAL_BUFFER_USAGE_SHARING_IMMUTABLE: after the buffer is filled, nothing
// writes to it. Compilers set this for every constant, including those that
// __init computes, and not for variables.
#define USAGE_IMMUTABLE 0x80000u

typedef struct effects_t {
  uint32_t changes;  // fc_vm_effect_t
  uint32_t reaches;  // possible changes of objects reached from globals
} effects_t;

// One walk over the functions that some exports call.
typedef struct call_graph_t {
  const fc_vm_module_t *module;
  uint32_t *effects_of_imports;    // by import: fc_vm_effect_t
  uint32_t *effects_of_functions;  // by function: effects; 0: not visited
  uint32_t *waiting;
  uint32_t waiting_count;
  size_t budget;     // the rest of FC_VM_RECOVER_BUDGET
  fc_arena_t arena;  // memory for looking at operands
  effects_t effects;
} call_graph_t;

static bool moves(const fc_vm_field_t *ref) {
  return (ref->value & FC_VM_MOVE_BIT) != 0;
}

// Adds what the instruction can reach from globals; returns what it changes.
static uint32_t look_at_instruction(call_graph_t *walk,
                                    const fc_vm_instruction_t *in) {
  uint32_t effect = in->op->effect;
  if (effect & FC_VM_EFFECT_LOAD_REF) {
    const fc_vm_type_t type = walk->module->types[in->fields[1].value].type;
    walk->effects.reaches |= fc_vm_type_info(type)->reach;
    if (moves(&in->fields[2])) effect |= FC_VM_EFFECT_GLOBAL;
  }
  if ((effect & FC_VM_EFFECT_TAKE_ITEM) && moves(&in->fields[3])) {
    effect |= FC_VM_EFFECT_LIST;
  }
  return effect;
}

// ---------------------------------------------------------------------------
// Calls of imports

static uint32_t import_effect(const call_graph_t *walk,
                              const fc_vm_import_t *import) {
  return walk->effects_of_imports[import - walk->module->imports];
}

// Notes the effect of each import. An import that is not bound to a native is assumed to
// change everything.
static void bind_effects(call_graph_t *walk,
                         const fc_vm_native_module_t *const *natives) {
  for (uint32_t i = 0; i < walk->module->import_count; i++) {
    const fc_vm_native_function_t *function =
        fc_vm_native_find(&walk->module->imports[i], natives);
    walk->effects_of_imports[i] =
        function ? function->effect : FC_VM_EFFECT_ANY;
  }
}

// Adds the effect MAKE_VARIABLE, unless the new buffer's usage is immutable: a constant
// that is the same on all paths.
static void look_at_usage(void *context, const fc_vm_import_t *import,
                          const fc_vm_instruction_t *call,
                          fc_vm_facts_t *facts) {
  call_graph_t *walk = context;
  const uint32_t effect = import_effect(walk, import);
  uint32_t usage;
  if (!(effect & FC_VM_EFFECT_MAKE_DEVICE)) return;
  if (!fc_vm_operand_constant(facts, call, effect >> FC_VM_EFFECT_USAGE_SHIFT,
                              &usage) ||
      !(usage & USAGE_IMMUTABLE)) {
    walk->effects.changes |= FC_VM_EFFECT_MAKE_VARIABLE;
  }
}

// Adds the effect COMMANDS, unless the function itself made the command buffer: then it
// does not come from a global.
static void look_at_commands(void *context, const fc_vm_import_t *import,
                             const fc_vm_instruction_t *call,
                             fc_vm_facts_t *facts) {
  call_graph_t *walk = context;
  if (!(import_effect(walk, import) & FC_VM_EFFECT_COMMANDS)) return;
  const fc_vm_import_t *maker = fc_vm_operand_maker(facts, call, 0);
  if (!maker || !(import_effect(walk, maker) & FC_VM_EFFECT_MAKE_COMMANDS)) {
    walk->effects.changes |= FC_VM_EFFECT_COMMANDS;
  }
}

// Removes the effects `worst`, then calls `look` for the calls of imports in those
// functions that have `effect`; `look` may add the effects again. If the budget is
// spent before all calls were visited, the effects `worst` stay.
static fc_status_t look_again(call_graph_t *walk, uint32_t effect,
                              fc_vm_each_call_t look, uint32_t worst,
                              fc_error_t *err) {
  walk->effects.changes &= ~worst;
  for (uint32_t i = 0; i < walk->module->function_count; i++) {
    if (!(walk->effects_of_functions[i] & effect)) continue;
    if (walk->effects.changes & worst) return FC_OK;
    fc_arena_reset(&walk->arena);
    FC_TRY(fc_vm_each_call(walk->module, i, &walk->budget, &walk->arena, look,
                           walk, err));
    if (!walk->budget) walk->effects.changes |= worst;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The walk

static void wait_for(call_graph_t *walk, uint32_t function) {
  if (walk->effects_of_functions[function]) return;
  walk->effects_of_functions[function] = FC_VM_EFFECT_NONE;
  walk->waiting[walk->waiting_count++] = function;
}

// Adds the function's effects, and its callees to the functions to visit.
static void visit(call_graph_t *walk, uint32_t index) {
  const fc_vm_module_t *module = walk->module;
  const fc_vm_function_t *function = &module->functions[index];
  uint32_t *changes = &walk->effects_of_functions[index];
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    fc_status_t decoded =
        fc_vm_decode(function->code, function->size, pc, &in, NULL);
    FC_ASSERT(decoded == FC_OK);  // the code was verified
    *changes |= look_at_instruction(walk, &in);
    if (!fc_vm_op_is_call(in.op)) continue;
    const uint32_t callee = (uint32_t)in.fields[0].value;
    if (callee & FC_VM_IMPORT_BIT) {
      *changes |= walk->effects_of_imports[callee & ~FC_VM_IMPORT_BIT];
    } else {
      wait_for(walk, callee);
    }
  }
  walk->effects.changes |= *changes;
}

static bool is_hook(const fc_vm_export_t *export, bool *out_init) {
  *out_init = fc_str_equal(export->name, FC_STR("__init"));
  return *out_init || fc_str_equal(export->name, FC_STR("__deinit"));
}

// Visits functions and adds up their effects: with `init`, __init and the functions that
// it reaches; otherwise all functions that the other exports except __deinit reach.
static void walk_from(call_graph_t *walk, bool init) {
  const fc_vm_module_t *module = walk->module;
  walk->effects = (effects_t){0};
  memset(walk->effects_of_functions, 0,
         module->function_count * sizeof *walk->effects_of_functions);
  for (uint32_t i = 0; i < module->export_count; i++) {
    bool is_init;
    const bool hook = is_hook(&module->exports[i], &is_init);
    if (init ? is_init : !hook) wait_for(walk, module->exports[i].function);
  }
  while (walk->waiting_count) visit(walk, walk->waiting[--walk->waiting_count]);
}

// Returns the kinds of objects that calls both reach from globals and change.
static uint32_t shared_changes(const call_graph_t *walk) {
  return walk->effects.changes & walk->effects.reaches;
}

static fc_status_t look(call_graph_t *walk, bool *out_stateful,
                        fc_error_t *err) {
  walk_from(walk, false);
  // Calls make a buffer over bytes that may be a shared constant's, and they write into
  // buffers, perhaps into this buffer.
  if ((walk->effects.changes & FC_VM_EFFECT_MAKE_ALIAS) &&
      (walk->effects.changes & FC_VM_REACH_BYTES)) {
    *out_stateful = true;
    return FC_OK;
  }
  uint32_t shared = shared_changes(walk);
  if (shared & FC_VM_EFFECT_COMMANDS) {
    FC_TRY(look_again(walk, FC_VM_EFFECT_COMMANDS, look_at_commands,
                      FC_VM_EFFECT_COMMANDS, err));
    shared = shared_changes(walk);
  }
  *out_stateful = (walk->effects.changes & FC_VM_EFFECT_GLOBAL) ||
                  (shared & ~(uint32_t)FC_VM_EFFECT_DEVICE);
  if (*out_stateful || !shared) return FC_OK;
  // Calls write into !hal.buffers. No call stores a global, so the buffers that calls
  // reach from globals are those that __init made. So the module is stateful only if
  // __init makes a buffer that may be written later.
  walk_from(walk, true);
  if (!(walk->effects.changes & FC_VM_EFFECT_MAKE_VARIABLE)) {
    FC_TRY(look_again(walk, FC_VM_EFFECT_MAKE_DEVICE, look_at_usage,
                      FC_VM_EFFECT_MAKE_VARIABLE, err));
  }
  *out_stateful = walk->effects.changes & FC_VM_EFFECT_MAKE_VARIABLE;
  return FC_OK;
}

fc_status_t fc_vm_module_is_stateful(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    bool *out_stateful, fc_error_t *err) {
  const fc_allocator_t allocator = module->allocator;
  const size_t total = module->function_count;
  call_graph_t walk = {.module = module, .budget = FC_VM_RECOVER_BUDGET};
  fc_arena_init(&walk.arena, allocator, 4096, SIZE_MAX);
  walk.effects_of_imports = fc_alloc_array(allocator, module->import_count,
                                           sizeof *walk.effects_of_imports);
  walk.waiting = fc_alloc_array(allocator, total, sizeof *walk.waiting);
  walk.effects_of_functions =
      fc_alloc_array(allocator, total + 1, sizeof *walk.effects_of_functions);
  fc_status_t status = FC_OK;
  if (!walk.effects_of_imports || !walk.waiting || !walk.effects_of_functions) {
    status = fc_fail_memory(err);
  } else {
    bind_effects(&walk, natives);
    status = look(&walk, out_stateful, err);
  }
  fc_free(allocator, walk.effects_of_imports);
  fc_free(allocator, walk.waiting);
  fc_free(allocator, walk.effects_of_functions);
  fc_arena_deinit(&walk.arena);
  return status;
}
