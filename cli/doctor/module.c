// SPDX-License-Identifier: Apache-2.0
//
// Opens a compiled module like a server that only describes it (describe_native): none of
// its code runs in this process. Finds out why it would not load, which functions callers
// cannot use well, and what is probably slow.
#include "abi/print.h"
#include "doctor/checkup.h"
#include "doctor/roles.h"
#include "doctor/rows.h"
#include "farcall/farcall.h"
#include "kernels/cpu.h"

// Adds a finding about `thing`, a text of the module. Copies it, because findings are
// printed after the module was released.
static void add(fc_checkup_t *checkup, fc_severity_t level,
                fc_subject_t subject, fc_str_t thing, const char *message,
                const char *way_out) {
  const fc_str_t kept = fc_arena_copy(checkup->arena, thing);
  if (thing.size && !kept.data) checkup->out_of_memory = true;
  fc_checkup_add(checkup, level, subject, kept, "", message, way_out);
}

static const char *way_out_of(const fc_error_t *err) {
  switch (err->code) {
    case FC_CODE_CPU_FEATURES:
      return "compile for this processor (--cpu=host), or for any (--cpu=generic)";
    case FC_CODE_VMFB_VERSION:
      return "compile with an IREE release from 2.9.0 to 3.13.0";
    case FC_CODE_VMFB_IMPORT:
      return "compile for the processor: --iree-hal-target-device=local";
    case FC_CODE_VMFB_INVALID:
      return "the file was cut off or changed: compile or copy it again";
    case FC_CODE_ABI_METADATA:
      return "put the description beside the module again, as farcall compile "
             "wrote it";
    default:
      return "compile it again for this machine; `farcall explain` says more of "
             "the code";
  }
}

static void refuse(fc_checkup_t *checkup, const fc_error_t *err) {
  const bool features = err->code == FC_CODE_CPU_FEATURES;
  const char *place =
      err->byte_offset == FC_NO_OFFSET
          ? ""
          : fc_checkup_print(checkup, "byte %llu",
                             (unsigned long long)err->byte_offset);
  fc_checkup_add(
      checkup, FC_LEVEL_UNFIT, features ? FC_SUBJECT_FEATURE : FC_SUBJECT_FILE,
      fc_str(fc_code_info(err->code)->text), place,
      fc_checkup_print(checkup, "%s", err->message), way_out_of(err));
}

static void check_names(fc_checkup_t *checkup, const fc_function_t *function) {
  const fc_signature_t *signature = function->signature;
  fc_argument_t at = {0};
  size_t unnamed = 0;
  while (fc_argument_next(signature, &at)) {
    if (!at.param.name.size) unnamed++;
  }
  if (!unnamed) return;
  add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_NAME, function->name,
      "its arguments have no names: callers give them by position",
      "farcall compile keeps the names of the source");
}

static void check_function(fc_checkup_t *checkup,
                           const fc_function_t *function) {
  const fc_signature_t *signature = function->signature;
  if (!signature->callable) {
    const fc_str_t reason = fc_signature_text(signature, signature->reason);
    add(checkup, FC_LEVEL_WARN, FC_SUBJECT_TYPE, function->name,
        fc_checkup_print(checkup, "it cannot be called: %.*s",
                         FC_STR_ARG(reason)),
        "give it arguments and results that JSON can carry");
    return;
  }
  if (signature->warning.size) {
    const fc_str_t warning = fc_signature_text(signature, signature->warning);
    add(checkup, FC_LEVEL_WARN, FC_SUBJECT_NAME, function->name,
        fc_checkup_print(checkup, "%.*s", FC_STR_ARG(warning)),
        "compile it again");
  }
  if (signature->trusts_dims) {
    add(checkup, FC_LEVEL_WARN, FC_SUBJECT_SAFETY, function->name,
        "it is machine code without checks, and callers choose sizes: those that "
        "do not fit each other make it read beyond its tensors",
        "give dims names or sizes (--batch), or compile to bytecode (--cpu=vmvx)");
  }
  check_names(checkup, function);
}

static bool holds(fc_str_t text, const char *wanted) {
  return memmem(text.data, text.size, wanted, strlen(wanted)) != NULL;
}

// Checks the kernels' formats: their names are in the bytes of a .vmfb.
static void check_speed(fc_checkup_t *checkup, fc_str_t bytes,
                        const fc_module_info_t *info) {
  if (holds(bytes, "vmvx-bytecode-fb") && !info->runs_native) {
    add(checkup, FC_LEVEL_WARN, FC_SUBJECT_SPEED, FC_STR("vmvx"),
        "its kernels are bytecode: safe and for any processor, but ten to a "
        "hundred times slower than machine code",
        "farcall compile --cpu=host");
  }
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  const bool wide = fc_cpu_has(&cpu, FC_STR("avx512f")) == FC_CPU_YES;
  if (info->runs_native && wide && holds(bytes, "embedded-elf-x86_64") &&
      !holds(bytes, "+avx512f")) {
    add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_SPEED, FC_STR("x86-64"),
        "its kernels do not use the widest vectors of this processor",
        "farcall compile --cpu=generic,x86-64-v4 makes a variant for it");
  }
}

void fc_doctor_module(fc_checkup_t *checkup, fc_str_t bytes) {
  const fc_module_options_t options = {.describe_native = true};
  fc_module_t *module;
  fc_error_t err;
  fc_error_reset(&err);
  checkup->format = "a compiled module";
  if (fc_module_load(NULL, fc_str(checkup->path), &options,
                     fc_allocator_system(), &module, &err)) {
    refuse(checkup, &err);
    return;
  }
  const fc_module_info_t *info = fc_module_get_info(module);
  for (size_t i = 0; i < fc_module_function_count(module); i++) {
    check_function(checkup, fc_module_function(module, i));
  }
  if (!fc_module_function_count(module)) {
    add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("no function"),
        "the module has no function to call", "make a function public");
  }
  if (info->warning.size) {
    add(checkup, FC_LEVEL_WARN, FC_SUBJECT_FILE, fc_module_get_name(module),
        fc_checkup_print(checkup, "%.*s", FC_STR_ARG(info->warning)), "");
  }
  if (info->serial) {
    add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_SPEED, fc_module_get_name(module),
        "it keeps state between calls, so they run one after another", "");
  }
  fc_doctor_roles(checkup, module, checkup->write_roles);
  fc_doctor_rows(checkup, module);
  checkup->footprint.weights = (int64_t)bytes.size;
  check_speed(checkup, bytes, info);
  fc_module_release(module);
}
