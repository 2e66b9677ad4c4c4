// SPDX-License-Identifier: Apache-2.0
//
// Reads target attributes, `#hal.executable.target<"llvm-cpu",
// "embedded-elf-x86_64", {… cpu_features = "+avx2,…" …}>`, out of the texts of
// `fail` instructions. They are there for people, so one that is not understood
// is passed over.
#include "module/vm/hal/preflight.h"

#include "module/vm/hal/executable.h"
#include "module/vm/ops.h"

#define TARGET "#hal.executable.target<"
#define FEATURES "cpu_features = \""

// What follows `word` in the text; false when it is not there.
static bool skip_past(fc_str_t *text, fc_str_t word) {
  const char *at = memmem(text->data, text->size, word.data, word.size);
  if (!at) return false;
  const size_t skip = (size_t)(at - text->data) + word.size;
  *text = fc_str_make(text->data + skip, text->size - skip);
  return true;
}

// Cuts off and returns what stands before `word`, or all of it.
static fc_str_t take_until(fc_str_t *text, fc_str_t word) {
  fc_str_t rest = *text, taken = *text;
  if (skip_past(&rest, word)) {
    taken.size = (size_t)(rest.data - text->data) - word.size;
  }
  *text = fc_str_make(text->data + taken.size, text->size - taken.size);
  return taken;
}

// The features of a target of our format; false when it is another's or says
// nothing.
static bool read_features(fc_str_t target, fc_str_t *out) {
  if (!skip_past(&target, FC_STR("\"" FC_HAL_ELF_FORMAT "\"")) ||
      !skip_past(&target, FC_STR(FEATURES))) {
    return false;
  }
  *out = take_until(&target, FC_STR("\""));
  return true;
}

// The targets of one device: one of ours must do.
static fc_status_t check_text(fc_str_t text, const fc_cpu_t *cpu,
                              bool *out_stated, fc_error_t *err) {
  fc_status_t status = FC_OK;
  bool first = true;
  while (skip_past(&text, FC_STR(TARGET))) {
    fc_str_t target = take_until(&text, FC_STR(TARGET)), features;
    if (!read_features(target, &features)) continue;
    *out_stated = true;
    fc_error_t why = {0};
    if (fc_cpu_check(cpu, features, &why) == FC_OK) return FC_OK;
    if (first && err) *err = why;
    first = false;
    status = why.status;
  }
  return status;
}

static fc_status_t check_function(const fc_vm_function_t *function,
                                  const fc_cpu_t *cpu, bool *out_stated,
                                  fc_error_t *err) {
  fc_vm_instruction_t in;
  for (uint32_t pc = 0; pc < function->size; pc = in.next) {
    FC_TRY(fc_vm_decode(function->code, function->size, pc, &in, err));
    if (in.op->opcode != FC_VM_OP_Fail || in.field_count < 2) continue;
    const fc_vm_field_t *text = &in.fields[1];
    FC_TRY(check_text(
        fc_str_make((const char *)function->code + text->pc, text->count), cpu,
        out_stated, err));
  }
  return FC_OK;
}

fc_status_t fc_hal_check_features(const fc_vm_module_t *module,
                                  const fc_cpu_t *cpu, bool *out_stated,
                                  fc_error_t *err) {
  *out_stated = false;
  for (uint32_t i = 0; i < module->function_count; i++) {
    FC_TRY(check_function(&module->functions[i], cpu, out_stated, err));
  }
  return FC_OK;
}
