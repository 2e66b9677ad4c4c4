// SPDX-License-Identifier: Apache-2.0
//
// Finds target attributes, `#hal.executable.target<"llvm-cpu",
// "embedded-elf-x86_64", {… cpu_features = "+avx2,…" …}>`, in the texts of the module's
// `fail` instructions. These texts are for people, so a text in another form is
// skipped.
#include "module/vm/hal/preflight.h"

#include "module/vm/hal/executable.h"
#include "module/vm/ops.h"

#define TARGET "#hal.executable.target<"
#define FEATURES "cpu_features = \""

// Cuts off the beginning of the text up to the end of `word`. False when the text does
// not contain the word.
static bool skip_past(fc_str_t *text, fc_str_t word) {
  const char *at = memmem(text->data, text->size, word.data, word.size);
  if (!at) return false;
  const size_t skip = (size_t)(at - text->data) + word.size;
  *text = fc_str_make(text->data + skip, text->size - skip);
  return true;
}

// Cuts off and returns the text before `word`, or all of it if the word is missing.
static fc_str_t take_until(fc_str_t *text, fc_str_t word) {
  fc_str_t rest = *text, taken = *text;
  if (skip_past(&rest, word)) {
    taken.size = (size_t)(rest.data - text->data) - word.size;
  }
  *text = fc_str_make(text->data + taken.size, text->size - taken.size);
  return taken;
}

// A target: `#hal.executable.target<"backend", "format", {…}>`.
typedef struct target_t {
  fc_str_t format;
  fc_str_t features;
  bool has_features;
} target_t;

static fc_str_t take_quoted(fc_str_t *text) {
  if (!skip_past(text, FC_STR("\""))) return (fc_str_t){0};
  fc_str_t taken = take_until(text, FC_STR("\""));
  (void)skip_past(text, FC_STR("\""));
  return taken;
}

// Finds the next target in the text; false when there is none.
static bool next_target(fc_str_t *text, target_t *out) {
  if (!skip_past(text, FC_STR(TARGET))) return false;
  fc_str_t target = take_until(text, FC_STR(TARGET));
  (void)take_quoted(&target);
  *out = (target_t){.format = take_quoted(&target)};
  out->has_features = skip_past(&target, FC_STR(FEATURES));
  if (out->has_features) out->features = take_until(&target, FC_STR("\""));
  return true;
}

// ---------------------------------------------------------------------------
// The texts of `fail` instructions

typedef struct texts_t {
  const fc_vm_module_t *module;
  uint32_t function;
  uint32_t pc;
} texts_t;

static bool next_text(texts_t *texts, fc_str_t *out) {
  const fc_vm_module_t *module = texts->module;
  for (; texts->function < module->function_count; texts->function++) {
    const fc_vm_function_t *function = &module->functions[texts->function];
    while (texts->pc < function->size) {
      fc_vm_instruction_t in;
      const fc_status_t decoded =
          fc_vm_decode(function->code, function->size, texts->pc, &in, NULL);
      FC_ASSERT(decoded == FC_OK);  // the code was verified
      texts->pc = in.next;
      if (in.op->flow != FC_VM_FLOW_FAIL) continue;
      const fc_vm_field_t *text = &in.fields[1];
      *out = fc_str_make((const char *)function->code + text->pc, text->count);
      return true;
    }
    texts->pc = 0;
  }
  return false;
}

// ---------------------------------------------------------------------------
// The targets of devices

// Checks the targets of one device. If some have this processor's format and state their
// features, the processor must have the features of at least one of them.
static fc_status_t check_features(fc_str_t text, const fc_cpu_t *cpu,
                                  bool *out_stated, fc_error_t *err) {
  fc_status_t status = FC_OK;
  target_t target;
  while (next_target(&text, &target)) {
    if (!target.has_features ||
        !fc_str_equal(target.format, FC_STR(FC_HAL_ELF_FORMAT))) {
      continue;
    }
    *out_stated = true;
    fc_error_t why = {0};
    if (fc_cpu_check(cpu, target.features, &why) == FC_OK) return FC_OK;
    if (status == FC_OK && err) *err = why;
    status = why.status;
  }
  return status;
}

fc_status_t fc_hal_check_features(const fc_vm_module_t *module,
                                  const fc_cpu_t *cpu, bool *out_stated,
                                  fc_error_t *err) {
  *out_stated = false;
  texts_t texts = {.module = module};
  fc_str_t text;
  while (next_text(&texts, &text)) {
    FC_TRY(check_features(text, cpu, out_stated, err));
  }
  return FC_OK;
}

// Checks the targets of one device, if the text names any: one of them must run here.
static fc_status_t check_formats(fc_str_t text, fc_error_t *err) {
  target_t target, first = {0};
  while (next_target(&text, &target)) {
    if (fc_hal_format_is_supported(target.format)) return FC_OK;
    if (!first.format.data) first = target;
  }
  if (!first.format.data) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, first.format);
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                 "the module is compiled for '%s', and farcall runs modules on "
                 "the processor of this machine only; compile it with "
                 "--iree-hal-target-device=local "
                 "--iree-hal-local-target-device-backends=llvm-cpu",
                 shown);
}

fc_status_t fc_hal_check_formats(const fc_vm_module_t *module,
                                 fc_error_t *err) {
  texts_t texts = {.module = module};
  fc_str_t text;
  while (next_text(&texts, &text)) FC_TRY(check_formats(text, err));
  return FC_OK;
}
