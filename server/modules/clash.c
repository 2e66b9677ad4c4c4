// SPDX-License-Identifier: Apache-2.0
//
// When a module is loaded, it is compared with all modules that are open. So a clash is
// found when the second module of the pair is loaded.
#include "modules/clash.h"

// Bytes of MODULE.FUNCTION; longer names are not compared.
#define NAME_MAX_SIZE 512

typedef struct clash_t {
  const fc_generations_t *generations;
  const fc_generation_t *generation;
  fc_log_t *log;
} clash_t;

static void tell(const clash_t *clash, fc_str_t model, fc_str_t module,
                 fc_str_t function) {
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("model", model),
      FC_LOG_TEXT("module", clash->generation->claim.name),
      FC_LOG_TEXT("other_module", module),
      FC_LOG_TEXT("other_function", function),
  };
  fc_log_fields(clash->log, FC_LOG_WARN,
                FC_STR("the name of a model means two functions"), fields,
                FC_ARRAY_COUNT(fields));
}

static const fc_generation_t *find_other(const clash_t *clash, fc_str_t name) {
  const fc_generation_t *other = fc_generations_find(clash->generations, name);
  return other && other->module &&
                 !fc_str_equal(name, clash->generation->claim.name)
             ? other
             : NULL;
}

// Logs each way to read `model` as MODULE.FUNCTION of another module: any dot may
// separate module and function.
static void check_pairs(const clash_t *clash, fc_str_t model) {
  for (size_t dot = 1; dot + 1 < model.size; dot++) {
    if (model.data[dot] != '.') continue;
    const fc_generation_t *other =
        find_other(clash, fc_str_make(model.data, dot));
    if (!other) continue;
    const fc_str_t function =
        fc_str_make(model.data + dot + 1, model.size - dot - 1);
    if (fc_generation_function(other, function)) {
      tell(clash, model, other->claim.name, function);
    }
  }
}

void fc_clash_tell(const fc_generations_t *generations,
                   const fc_generation_t *generation, fc_log_t *log) {
  const clash_t clash = {generations, generation, log};
  const fc_str_t module = generation->claim.name;
  char text[NAME_MAX_SIZE];
  check_pairs(&clash, module);
  for (size_t i = 0; i < fc_module_function_count(generation->module); i++) {
    const fc_function_t *one = fc_module_function(generation->module, i);
    const fc_str_t function = one->name;
    if (!fc_generation_exposes(generation, one)) continue;
    if (module.size + 1 + function.size > sizeof text) continue;
    memcpy(text, module.data, module.size);
    text[module.size] = '.';
    memcpy(text + module.size + 1, function.data, function.size);
    const fc_str_t model = fc_str_make(text, module.size + 1 + function.size);
    const fc_generation_t *other = find_other(&clash, model);
    if (other) tell(&clash, model, other->claim.name, FC_STR(""));
    check_pairs(&clash, model);
  }
}
