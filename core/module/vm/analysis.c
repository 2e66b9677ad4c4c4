// SPDX-License-Identifier: Apache-2.0
//
// Walks the call graph from the exports. Called when a module is opened.
#include "module/vm/analysis.h"

#include "module/vm/ops.h"
#include "module/vm/recover.h"

// IREE_HAL_BUFFER_USAGE_SHARING_IMMUTABLE: after what fills it, nobody writes
// into the buffer. Compilers say so of every constant, also of those __init
// computes, and not of variables.
#define USAGE_IMMUTABLE 0x80000u

typedef struct effects_t {
  bool writes_global;
  bool reads_global_ref;
  bool
      reads_global_bytes;  // a ref through which buffers of the HAL are reached
  bool writes_object;
  bool writes_device;   // some buffer of the HAL
  bool makes_variable;  // allocates one that is not immutable
} effects_t;

// One walk over the functions that some exports call.
typedef struct walk_t {
  const fc_vm_module_t *module;
  bool *seen;
  uint32_t *waiting;
  uint32_t waiting_count;
  size_t budget;     // of looking at operands
  fc_arena_t arena;  // for that
  bool init;         // from __init
  effects_t effects;
} walk_t;

static fc_vm_type_t loaded_type(const fc_vm_module_t *module,
                                const fc_vm_instruction_t *in) {
  return module->types[in->fields[1].value].type;
}

// Command buffers name the buffers they were recorded with.
static bool reaches_bytes(fc_vm_type_t type) {
  switch (type) {
    case FC_VM_TYPE_HAL_DEVICE:
    case FC_VM_TYPE_HAL_ALLOCATOR:
    case FC_VM_TYPE_HAL_EXECUTABLE:
    case FC_VM_TYPE_HAL_FENCE:
    case FC_VM_TYPE_HAL_FILE:
      return false;
    default:
      return true;
  }
}

static bool moves_global_out(const fc_vm_instruction_t *in) {
  return (in->fields[2].value & FC_VM_MOVE_BIT) != 0;
}

static void add_effects(const fc_vm_module_t *module,
                        const fc_vm_instruction_t *in, effects_t *effects) {
  const char *name = in->op->mnemonic;
  fc_str_t mnemonic = fc_str(name);
  if (fc_str_starts(mnemonic, FC_STR("global.store"))) {
    effects->writes_global = true;
  } else if (in->op->opcode == FC_VM_OP_GlobalLoadRef ||
             in->op->opcode == FC_VM_OP_GlobalLoadIndirectRef) {
    const fc_vm_type_t type = loaded_type(module, in);
    // Executables hold nothing that a call changes.
    if (type != FC_VM_TYPE_HAL_EXECUTABLE) effects->reads_global_ref = true;
    if (reaches_bytes(type)) effects->reads_global_bytes = true;
    if (moves_global_out(in)) effects->writes_global = true;
  } else if (fc_str_starts(mnemonic, FC_STR("buffer.store")) ||
             fc_str_starts(mnemonic, FC_STR("buffer.fill")) ||
             fc_str_starts(mnemonic, FC_STR("buffer.copy")) ||
             fc_str_starts(mnemonic, FC_STR("list.set")) ||
             fc_str_starts(mnemonic, FC_STR("list.resize")) ||
             fc_str_starts(mnemonic, FC_STR("list.reserve"))) {
    effects->writes_object = true;
  } else if (in->op->opcode == FC_VM_OP_ListGetRef &&
             (in->fields[3].value & FC_VM_MOVE_BIT)) {
    effects->writes_object = true;
  } else if (in->op->opcode == FC_VM_OP_BufferAlloc ||
             in->op->opcode == FC_VM_OP_BufferClone) {
    effects->makes_variable = true;  // may be imported as a buffer of the HAL
  }
}

// ---------------------------------------------------------------------------
// Calls of imports

typedef enum effect_t {
  EFFECT_OBJECT,
  EFFECT_DEVICE,
  EFFECT_ALLOCATE
} effect_t;

// What begins with `name` has the effect.
typedef struct import_row_t {
  const char *name;
  effect_t effect;
  uint32_t usage;  // operand of ALLOCATE
} import_row_t;

static const import_row_t import_rows[] = {
    {"hal_loader.executable.dispatch", EFFECT_OBJECT, 0},
    {"hal.buffer.store", EFFECT_DEVICE, 0},
    {"hal.command_buffer.copy_buffer", EFFECT_DEVICE, 0},
    {"hal.command_buffer.dispatch", EFFECT_DEVICE, 0},
    {"hal.command_buffer.fill_buffer", EFFECT_DEVICE, 0},
    {"hal.command_buffer.update_buffer", EFFECT_DEVICE, 0},
    {"hal.device.queue.copy", EFFECT_DEVICE, 0},
    {"hal.device.queue.execute", EFFECT_DEVICE, 0},
    {"hal.device.queue.fill", EFFECT_DEVICE, 0},
    {"hal.device.queue.read", EFFECT_DEVICE, 0},
    {"hal.device.queue.update", EFFECT_DEVICE, 0},
    {"io_parameters.gather", EFFECT_DEVICE, 0},
    {"hal.allocator.allocate", EFFECT_ALLOCATE, 3},
    {"hal.device.queue.alloca", EFFECT_ALLOCATE, 6},
    {"io_parameters.load", EFFECT_ALLOCATE, 7},
};

static const import_row_t *find_row(const fc_vm_import_t *import) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(import_rows); i++) {
    const import_row_t *row = &import_rows[i];
    if (fc_str_starts(import->full_name, fc_str(row->name))) return row;
  }
  return NULL;
}

static void look_at_usage(void *context, const fc_vm_import_t *import,
                          const fc_vm_instruction_t *call,
                          fc_vm_facts_t *facts) {
  walk_t *walk = context;
  const import_row_t *row = find_row(import);
  uint32_t usage;
  if (!row || row->effect != EFFECT_ALLOCATE) return;
  if (!fc_vm_operand_constant(facts, call, row->usage, &usage) ||
      !(usage & USAGE_IMMUTABLE)) {
    walk->effects.makes_variable = true;
  }
}

// Whether each buffer that the function makes is immutable, whatever path it
// takes. What is too much to look at is said not to be.
static fc_status_t look_at_allocations(walk_t *walk, uint32_t function,
                                       fc_error_t *err) {
  fc_arena_reset(&walk->arena);
  FC_TRY(fc_vm_each_call(walk->module, function, &walk->budget, &walk->arena,
                         look_at_usage, walk, err));
  if (!walk->budget) walk->effects.makes_variable = true;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The walk

static void wait_for(walk_t *walk, uint32_t function) {
  if (walk->seen[function]) return;
  walk->seen[function] = true;
  walk->waiting[walk->waiting_count++] = function;
}

// Adds the functions this one calls to the list of those to visit.
static fc_status_t visit(walk_t *walk, uint32_t index, fc_error_t *err) {
  const fc_vm_module_t *module = walk->module;
  const fc_vm_function_t *function = &module->functions[index];
  bool allocates = false;
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    fc_status_t decoded =
        fc_vm_decode(function->code, function->size, pc, &in, NULL);
    FC_ASSERT(decoded == FC_OK);  // it was verified
    add_effects(module, &in, &walk->effects);
    if (!in.field_count || in.fields[0].kind != 'c') continue;
    const uint32_t callee = (uint32_t)in.fields[0].value;
    if (!(callee & FC_VM_IMPORT_BIT)) {
      wait_for(walk, callee);
      continue;
    }
    const import_row_t *row =
        find_row(&module->imports[callee & ~FC_VM_IMPORT_BIT]);
    if (!row) continue;
    walk->effects.writes_object |= row->effect == EFFECT_OBJECT;
    walk->effects.writes_device |= row->effect == EFFECT_DEVICE;
    allocates |= row->effect == EFFECT_ALLOCATE;
  }
  const bool matters = walk->init && !walk->effects.makes_variable;
  return allocates && matters ? look_at_allocations(walk, index, err) : FC_OK;
}

static bool is_hook(const fc_vm_export_t *export, bool *out_init) {
  *out_init = fc_str_equal(export->name, FC_STR("__init"));
  return *out_init || fc_str_equal(export->name, FC_STR("__deinit"));
}

// Of __init and what it calls, or of all that may be called later.
static fc_status_t walk_from(walk_t *walk, bool init, effects_t *out,
                             fc_error_t *err) {
  const fc_vm_module_t *module = walk->module;
  walk->effects = (effects_t){0};
  walk->init = init;
  memset(walk->seen, 0, module->function_count * sizeof *walk->seen);
  for (uint32_t i = 0; i < module->export_count; i++) {
    bool is_init;
    const bool hook = is_hook(&module->exports[i], &is_init);
    if (init ? is_init : !hook) wait_for(walk, module->exports[i].function);
  }
  while (walk->waiting_count) {
    FC_TRY(visit(walk, walk->waiting[--walk->waiting_count], err));
  }
  *out = walk->effects;
  return FC_OK;
}

static fc_status_t look(walk_t *walk, bool *out_stateful, fc_error_t *err) {
  effects_t later, init;
  FC_TRY(walk_from(walk, false, &later, err));
  *out_stateful =
      later.writes_global || (later.reads_global_ref && later.writes_object);
  if (*out_stateful || !later.reads_global_bytes || !later.writes_device) {
    return FC_OK;
  }
  // A variable that is only ever written into, never stored again.
  FC_TRY(walk_from(walk, true, &init, err));
  *out_stateful = init.makes_variable;
  return FC_OK;
}

fc_status_t fc_vm_module_is_stateful(const fc_vm_module_t *module,
                                     bool *out_stateful, fc_error_t *err) {
  const fc_allocator_t allocator = module->allocator;
  const size_t total = module->function_count;
  walk_t walk = {.module = module, .budget = FC_VM_RECOVER_BUDGET};
  fc_arena_init(&walk.arena, allocator, 4096, SIZE_MAX);
  walk.waiting = fc_alloc_array(allocator, total, sizeof *walk.waiting);
  walk.seen = fc_alloc_array(allocator, total + 1, sizeof *walk.seen);
  fc_status_t status = walk.waiting && walk.seen
                           ? look(&walk, out_stateful, err)
                           : fc_fail_memory(err);
  fc_free(allocator, walk.waiting);
  fc_free(allocator, walk.seen);
  fc_arena_deinit(&walk.arena);
  return status;
}
