// SPDX-License-Identifier: Apache-2.0
#include "modules/distrust.h"

#include "module/admit.h"
#include "modules/demand.h"

fc_status_t fc_modules_admit(const fc_modules_t *modules,
                             const fc_module_t *module, fc_error_t *err) {
  return fc_module_admit(module, &modules->options.open, err);
}

static void tell_unloaded(const fc_modules_t *modules,
                          const fc_generation_t *generation,
                          const fc_error_t *why) {
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_TEXT("path", generation->file.path),
      FC_LOG_TEXT("reason", fc_str(why->message)),
  };
  fc_log_fields(modules->options.log, FC_LOG_WARN,
                FC_STR("module unloaded: it is not trusted any more"), fields,
                FC_ARRAY_COUNT(fields));
}

void fc_modules_distrust(fc_modules_t *modules) {
  fc_generations_t *all = &modules->generations;
  for (uint32_t i = 0; i < all->count; i++) {
    fc_generation_t *generation = all->places[i];
    fc_error_t why;
    if (!generation || !generation->module ||
        (fc_generation_state(generation) != FC_GENERATION_READY &&
         fc_generation_state(generation) != FC_GENERATION_DESCRIBED) ||
        fc_modules_admit(modules, generation->module, &why) == FC_OK) {
      continue;
    }
    tell_unloaded(modules, generation, &why);
    fc_generations_drain(&modules->generations, generation);
  }
}
