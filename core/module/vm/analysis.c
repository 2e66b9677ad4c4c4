// SPDX-License-Identifier: Apache-2.0
//
// Walks the call graph from the exports. Called when a module is opened.
#include "module/vm/analysis.h"

#include "module/vm/ops.h"

typedef struct effects_t {
  bool writes_global;
  bool reads_global_ref;
  bool writes_object;
} effects_t;

// Executables hold nothing that a call changes.
static bool loads_executable(const fc_vm_module_t *module,
                             const fc_vm_instruction_t *in) {
  const fc_vm_type_t type = module->types[in->fields[1].value].type;
  return type == FC_VM_TYPE_HAL_EXECUTABLE;
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
    if (!loads_executable(module, in)) effects->reads_global_ref = true;
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
  }
}

// A kernel that writes into !vm.buffers.
static bool dispatches(const fc_vm_import_t *import) {
  return fc_str_equal(import->full_name,
                      FC_STR("hal_loader.executable.dispatch"));
}

// Adds the functions this one calls to the list of those to visit.
static void visit(const fc_vm_module_t *module,
                  const fc_vm_function_t *function, bool *seen,
                  uint32_t *waiting, uint32_t *count, effects_t *effects) {
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    fc_status_t decoded =
        fc_vm_decode(function->code, function->size, pc, &in, NULL);
    FC_ASSERT(decoded == FC_OK);  // it was verified
    add_effects(module, &in, effects);
    if (!in.field_count || in.fields[0].kind != 'c') continue;
    uint32_t callee = (uint32_t)in.fields[0].value;
    if (callee & FC_VM_IMPORT_BIT) {
      effects->writes_object |=
          dispatches(&module->imports[callee & ~FC_VM_IMPORT_BIT]);
      continue;
    }
    if (seen[callee]) continue;
    seen[callee] = true;
    waiting[(*count)++] = callee;
  }
}

fc_status_t fc_vm_module_is_stateful(const fc_vm_module_t *module,
                                     bool *out_stateful, fc_error_t *err) {
  size_t total = module->function_count;
  uint32_t *waiting = fc_alloc_array(module->allocator, total, sizeof *waiting);
  bool *seen = fc_alloc_array(module->allocator, total, sizeof *seen);
  if (!waiting || !seen) {
    fc_free(module->allocator, waiting);
    fc_free(module->allocator, seen);
    return fc_fail_memory(err);
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < module->export_count; i++) {
    const fc_vm_export_t *export = &module->exports[i];
    if (fc_str_equal(export->name, FC_STR("__init")) ||
        fc_str_equal(export->name, FC_STR("__deinit")) ||
        seen[export->function]) {
      continue;
    }
    seen[export->function] = true;
    waiting[count++] = export->function;
  }
  effects_t effects = {0};
  while (count) {
    uint32_t function = waiting[--count];
    visit(module, &module->functions[function], seen, waiting, &count,
          &effects);
  }
  *out_stateful = effects.writes_global ||
                  (effects.reads_global_ref && effects.writes_object);
  fc_free(module->allocator, waiting);
  fc_free(module->allocator, seen);
  return FC_OK;
}
