// SPDX-License-Identifier: Apache-2.0
//
// Finds the functions that an opened module lists, and what a call of each function
// needs. At load, any thread.
#include "abi/walk.h"
#include "module/vm/exports.h"
#include "module/vm/hal/preflight.h"
#include "module/vm/opened.h"
#include "module/vm/recover.h"
#include "module/vm/signature.h"

static void fill_nodes(uint32_t *nodes, size_t count,
                       const fc_signature_t *signature,
                       const fc_param_t *params, uint32_t param_count) {
  for (size_t i = 0; i < count; i++) nodes[i] = FC_NODE_NONE;
  for (uint32_t i = 0; i < param_count; i++) {
    if (params[i].raw_index >= 0) {
      nodes[params[i].raw_index] = params[i].type;
      continue;
    }
    fc_walk_t walk;
    fc_walk_init(&walk, signature->nodes, params[i].type);
    while (fc_walk_next(&walk)) {
      if (walk.leave || walk.type->raw_index < 0) continue;
      nodes[walk.type->raw_index] = (uint32_t)(walk.type - signature->nodes);
    }
  }
}

// Notes which arguments are memory that is made for each call.
static fc_status_t note_made(fc_vm_opened_t *m, const fc_vm_export_t *export,
                             const fc_signature_t *signature,
                             fc_vm_listed_t *listed, fc_error_t *err) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->role != FC_ROLE_TRANSIENT && param->role != FC_ROLE_STORAGE) {
      continue;
    }
    if (!listed->roles) {
      listed->roles =
          fc_arena_alloc_array(&m->arena, signature->raw_argument_count, 1);
      if (!listed->roles) return fc_fail_memory(err);
    }
    listed->roles[param->raw_index] = param->role;
  }
  listed->transients = fc_vm_transients_find(m->module, export);
  return FC_OK;
}

static fc_status_t list_export(fc_vm_opened_t *m, const fc_vm_export_t *export,
                               fc_str_t reason, fc_builder_t *builder,
                               size_t *budget, fc_arena_t *scratch,
                               fc_error_t *err) {
  size_t index = m->info.count;
  fc_signature_t *signature;
  fc_arena_reset(scratch);
  FC_TRY(fc_vm_signature_create(m->module, export, reason, m->info.runs_native,
                                m->names, builder, budget, scratch, &signature,
                                err));
  m->signatures[index] = signature;
  m->info.count = index + 1;
  fc_vm_listed_t *listed = &m->listed[index];
  size_t arguments = signature->raw_argument_count;
  size_t results = signature->raw_result_count;
  listed->function = export->function;
  listed->argument_nodes =
      fc_arena_alloc_array(&m->arena, arguments, sizeof(uint32_t));
  listed->result_nodes =
      fc_arena_alloc_array(&m->arena, results, sizeof(uint32_t));
  if (!listed->argument_nodes || !listed->result_nodes) {
    return fc_fail_memory(err);
  }
  fill_nodes(listed->argument_nodes, arguments, signature, signature->arguments,
             signature->argument_count);
  fill_nodes(listed->result_nodes, results, signature, signature->results,
             signature->result_count);
  return note_made(m, export, signature, listed, err);
}

static fc_status_t list_exports(fc_vm_opened_t *m, fc_str_t reason,
                                fc_builder_t *builder, fc_arena_t *scratch,
                                fc_error_t *err) {
  const fc_vm_module_t *module = m->module;
  size_t budget = FC_VM_RECOVER_BUDGET;
  m->signatures = fc_arena_alloc_array(&m->arena, module->export_count,
                                       sizeof(fc_signature_t *));
  m->listed = fc_arena_alloc_array(&m->arena, module->export_count,
                                   sizeof(fc_vm_listed_t));
  if (!m->signatures || !m->listed) return fc_fail_memory(err);
  m->info.signatures = m->signatures;
  for (uint32_t i = 0; i < module->export_count; i++) {
    const fc_vm_export_t *export = &module->exports[i];
    if (!fc_vm_export_is_listed(module, export)) continue;
    FC_TRY(list_export(m, export, reason, builder, &budget, scratch, err));
  }
  return FC_OK;
}

fc_status_t fc_vm_opened_list(fc_vm_opened_t *m, fc_error_t *err) {
  fc_str_t reason = {0};
  if (fc_vm_bind(m->module, m->natives, &m->refusal) != FC_OK ||
      fc_hal_check_formats(m->module, &m->refusal) != FC_OK) {
    reason = fc_str(m->refusal.message);
  }
  fc_builder_t *builder = fc_builder_create(m->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_arena_t scratch;
  fc_arena_init(&scratch, m->allocator, 64 << 10, SIZE_MAX);
  fc_status_t status = list_exports(m, reason, builder, &scratch, err);
  fc_arena_deinit(&scratch);
  fc_builder_destroy(builder);
  return status;
}
