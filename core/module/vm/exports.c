// SPDX-License-Identifier: Apache-2.0
#include "module/vm/exports.h"

#include <stdio.h>

#include "base/units.h"

#define SIZE_KEY "iree.abi.transients.size"
#define SIZE_SUFFIX \
  "_transients_size"  // the function that the compiler makes has this suffix

static const fc_vm_function_t *function_of(const fc_vm_module_t *module,
                                           const fc_vm_export_t *export) {
  return &module->functions[export->function];
}

// True when `sizer`, which computes the size of transients, may be called with the
// arguments of `function`, and with nulls for the fences of the "$async" function for
// which it was made.
static bool takes_same(const fc_vm_function_t *sizer,
                       const fc_vm_function_t *function) {
  const fc_str_t letters = sizer->cconv.arguments;
  const fc_str_t ours = function->cconv.arguments;
  if (!fc_str_starts(letters, ours)) return false;
  for (size_t i = ours.size; i < letters.size; i++) {
    if (letters.data[i] != 'r') return false;
  }
  return fc_str_equal(sizer->cconv.results, FC_STR("I")) ||
         fc_str_equal(sizer->cconv.results, FC_STR("i"));
}

static const fc_vm_function_t *find_async(const fc_vm_module_t *module,
                                          fc_str_t name) {
  char text[256];
  const int size = snprintf(text, sizeof text, "%.*s$async", FC_STR_ARG(name));
  if (size < 0 || (size_t)size >= sizeof text) return NULL;
  const fc_vm_export_t *async =
      fc_vm_module_find(module, fc_str_make(text, (size_t)size));
  return async ? function_of(module, async) : NULL;
}

fc_vm_transients_t fc_vm_transients_find(const fc_vm_module_t *module,
                                         const fc_vm_export_t *export) {
  const fc_vm_function_t *function = function_of(module, export);
  const fc_vm_function_t *said = function;
  fc_vm_transients_t found = {0};
  fc_str_t name = fc_vm_function_attr(said, FC_STR(SIZE_KEY));
  if (!name.size) said = find_async(module, export->name);
  if (!name.size && said) name = fc_vm_function_attr(said, FC_STR(SIZE_KEY));
  if (!name.size) return found;
  uint64_t size;
  static const fc_unit_t kBytes[] = {{"", 1}, {NULL, 0}};
  found.any =
      fc_units_parse(fc_vm_function_attr(said, FC_STR(SIZE_KEY ".constant")),
                     kBytes, INT64_MAX, &size);
  if (found.any) {
    found.size = (int64_t)size;
    return found;
  }
  found.size_function = fc_vm_module_find(module, name);
  found.any = found.size_function &&
              takes_same(function_of(module, found.size_function), function);
  return found;
}

static bool is_sizer(const fc_vm_module_t *module, fc_str_t name) {
  const fc_str_t suffix = FC_STR(SIZE_SUFFIX);
  if (!fc_str_ends(name, suffix)) return false;
  const fc_vm_export_t *of = fc_vm_module_find(
      module, fc_str_make(name.data, name.size - suffix.size));
  return of && fc_str_equal(fc_vm_function_attr(function_of(module, of),
                                                FC_STR(SIZE_KEY)),
                            name);
}

bool fc_vm_export_is_listed(const fc_vm_module_t *module,
                            const fc_vm_export_t *export) {
  const fc_str_t suffix = FC_STR("$async");
  if (fc_str_starts(export->name, FC_STR("__"))) return false;
  if (is_sizer(module, export->name)) return false;
  const fc_vm_function_t *function = &module->functions[export->function];
  if (fc_vm_function_attr(function, FC_STR("iree.benchmark")).size)
    return false;
  if (!fc_str_ends(export->name, suffix)) return true;
  fc_str_t plain =
      fc_str_make(export->name.data, export->name.size - suffix.size);
  return !fc_vm_module_find(module, plain);
}
