// SPDX-License-Identifier: Apache-2.0
//
// Walks the call graph from the exports. Called when a module is opened.
#include "module/vm/analysis.h"

#include "module/vm/ops.h"

#define CELLS_MAX 0x8000u

// What is known of a cell.
typedef struct fact_t {
  bool known;
  uint32_t value;
} fact_t;

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
  fact_t *cells;  // of the function being looked at
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

// Whether the operand is a constant with the immutable bit.
static bool is_immutable(const walk_t *walk, const fc_vm_function_t *function,
                         const fc_vm_instruction_t *in, uint32_t operand) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    const fc_vm_field_t *field = &in->fields[i];
    if (field->kind != '*' || operand >= field->count) continue;
    const uint16_t reg = fc_vm_list_entry(function->code, field, operand);
    if (reg & FC_VM_REF_BIT) return false;
    const fact_t *fact = &walk->cells[reg & FC_VM_CELL_MASK];
    return fact->known && (fact->value & USAGE_IMMUTABLE);
  }
  return false;
}

static void add_import(walk_t *walk, const fc_vm_function_t *function,
                       const fc_vm_instruction_t *in) {
  const uint32_t ordinal = (uint32_t)in->fields[0].value & ~FC_VM_IMPORT_BIT;
  const fc_vm_import_t *import = &walk->module->imports[ordinal];
  for (size_t i = 0; i < FC_ARRAY_COUNT(import_rows); i++) {
    const import_row_t *row = &import_rows[i];
    if (!fc_str_starts(import->full_name, fc_str(row->name))) continue;
    if (row->effect == EFFECT_OBJECT) walk->effects.writes_object = true;
    if (row->effect == EFFECT_DEVICE) walk->effects.writes_device = true;
    if (row->effect == EFFECT_ALLOCATE &&
        !is_immutable(walk, function, in, row->usage)) {
      walk->effects.makes_variable = true;
    }
  }
}

// Constants as a straight line of code makes them; what else writes a cell is
// forgotten. Where paths meet that may be wrong for code no compiler writes.
static void note_cells(walk_t *walk, const fc_vm_function_t *function,
                       const fc_vm_instruction_t *in) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    const fc_vm_field_t *field = &in->fields[i];
    const uint32_t reg = (uint32_t)field->value & FC_VM_CELL_MASK;
    if (field->kind == 'I' || field->kind == 'F') {
      walk->cells[reg] = (fact_t){0};
    } else if (field->kind == 'L' || field->kind == 'D') {
      walk->cells[reg] = walk->cells[(reg + 1) & FC_VM_CELL_MASK] = (fact_t){0};
    } else if (field->kind == '#') {
      for (uint32_t k = 0; k < field->count; k++) {
        const uint16_t out = fc_vm_list_entry(function->code, field, k);
        if (out & FC_VM_REF_BIT) continue;
        walk->cells[out] = (fact_t){0};
        walk->cells[(out + 1u) & FC_VM_CELL_MASK] = (fact_t){0};
      }
    }
  }
  if (in->op->opcode == FC_VM_OP_ConstI32) {
    walk->cells[in->fields[1].value & FC_VM_CELL_MASK] =
        (fact_t){true, (uint32_t)in->fields[0].value};
  }
  fc_vm_edges_t edges;
  fc_vm_edge_t edge;
  fc_vm_edges_init(&edges, function->code, in);
  while (fc_vm_edges_next(&edges, &edge)) {
    for (uint32_t k = 0; k < edge.copy_count; k++) {
      const uint16_t out =
          fc_vm_load_u16(function->code + edge.copies_pc + 4 * (size_t)k + 2);
      if (!(out & FC_VM_REF_BIT)) walk->cells[out] = (fact_t){0};
    }
  }
}

// ---------------------------------------------------------------------------
// The walk

static void wait_for(walk_t *walk, uint32_t function) {
  if (walk->seen[function]) return;
  walk->seen[function] = true;
  walk->waiting[walk->waiting_count++] = function;
}

// Adds the functions this one calls to the list of those to visit.
static void visit(walk_t *walk, const fc_vm_function_t *function) {
  fc_vm_instruction_t in;
  memset(walk->cells, 0, (function->cell_count + 1u) * sizeof *walk->cells);
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    fc_status_t decoded =
        fc_vm_decode(function->code, function->size, pc, &in, NULL);
    FC_ASSERT(decoded == FC_OK);  // it was verified
    add_effects(walk->module, &in, &walk->effects);
    if (in.field_count && in.fields[0].kind == 'c') {
      const uint32_t callee = (uint32_t)in.fields[0].value;
      if (callee & FC_VM_IMPORT_BIT) add_import(walk, function, &in);
      else wait_for(walk, callee);
    }
    note_cells(walk, function, &in);
  }
}

static bool is_hook(const fc_vm_export_t *export, bool *out_init) {
  *out_init = fc_str_equal(export->name, FC_STR("__init"));
  return *out_init || fc_str_equal(export->name, FC_STR("__deinit"));
}

// Of __init and what it calls, or of all that may be called later.
static effects_t walk_from(walk_t *walk, bool init) {
  const fc_vm_module_t *module = walk->module;
  walk->effects = (effects_t){0};
  memset(walk->seen, 0, module->function_count * sizeof *walk->seen);
  for (uint32_t i = 0; i < module->export_count; i++) {
    bool is_init;
    const bool hook = is_hook(&module->exports[i], &is_init);
    if (init ? is_init : !hook) wait_for(walk, module->exports[i].function);
  }
  while (walk->waiting_count) {
    visit(walk, &module->functions[walk->waiting[--walk->waiting_count]]);
  }
  return walk->effects;
}

fc_status_t fc_vm_module_is_stateful(const fc_vm_module_t *module,
                                     bool *out_stateful, fc_error_t *err) {
  const fc_allocator_t allocator = module->allocator;
  const size_t total = module->function_count;
  walk_t walk = {.module = module};
  walk.waiting = fc_alloc_array(allocator, total, sizeof *walk.waiting);
  walk.seen = fc_alloc_array(allocator, total + 1, sizeof *walk.seen);
  walk.cells = fc_alloc_array(allocator, CELLS_MAX, sizeof *walk.cells);
  fc_status_t status = FC_OK;
  if (!walk.waiting || !walk.seen || !walk.cells) {
    status = fc_fail_memory(err);
  } else {
    const effects_t later = walk_from(&walk, false);
    *out_stateful =
        later.writes_global || (later.reads_global_ref && later.writes_object);
    // A variable that is only ever written into, never stored again.
    if (!*out_stateful && later.reads_global_bytes && later.writes_device) {
      *out_stateful = walk_from(&walk, true).makes_variable;
    }
  }
  fc_free(allocator, walk.waiting);
  fc_free(allocator, walk.seen);
  fc_free(allocator, walk.cells);
  return status;
}
