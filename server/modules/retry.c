// SPDX-License-Identifier: Apache-2.0
//
// The FAILED generation keeps its name, with the reason, and keeps counting failures.
// Each new try is a generation beside it. If the try succeeds, it takes over the name;
// otherwise it gives its reason to the FAILED one. While a try loads, acts see only the
// FAILED one.
#include "modules/retry.h"

#include "modules/act.h"
#include "modules/demand.h"
#include "pool/health.h"

static void note_due(fc_modules_t *modules, uint64_t due_ns) {
  if (modules->retry_ns && modules->retry_ns <= due_ns) return;
  modules->retry_ns = due_ns;
}

bool fc_retry_may_help(const fc_error_t *error) {
  return error->status == FC_RESOURCE_EXHAUSTED &&
         error->code != FC_CODE_CALL_FAILED;
}

void fc_retry_note(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *error) {
  generation->loading.retry_ns = 0;
  if (!fc_retry_may_help(error)) return;
  const uint64_t now_ns = fc_clock_ns();
  generation->loading.retry_ns =
      now_ns + fc_health_backoff_ns(++generation->loading.retries, now_ns);
  note_due(modules, generation->loading.retry_ns);
}

fc_status_t fc_retry_check(const fc_generation_t *generation, fc_error_t *err) {
  if (generation->loading.retry_ns <= fc_clock_ns()) return FC_OK;
  *err = generation->error;
  return err->status;
}

static fc_status_t try_again(fc_modules_t *modules,
                             const fc_generation_t *failed, fc_error_t *err) {
  const fc_listed_t file = {.path = failed->file.path,
                            .mark = failed->file.mark,
                            .size = failed->file.size};
  fc_generation_t *made;
  FC_TRY(fc_modules_enter(modules, &file, failed->file.origin, &made, err));
  made->loading.is_retry = true;
  const fc_status_t status = fc_demand_open(modules, made, NULL, err);
  if (status != FC_OK) fc_generations_drain(&modules->generations, made);
  return status;
}

static void begin(fc_modules_t *modules, fc_generation_t *failed) {
  fc_error_t error;
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", failed->claim.label),
      FC_LOG_NUMBER("tries", failed->loading.retries),
  };
  fc_log_fields(modules->options.log, FC_LOG_INFO,
                FC_STR("trying to load the module again"), fields,
                FC_ARRAY_COUNT(fields));
  failed->loading.retry_ns = 0;
  if (try_again(modules, failed, &error) == FC_OK) return;
  failed->error = error;
  fc_retry_note(modules, failed, &error);
}

void fc_retry_expire(fc_modules_t *modules, uint64_t now_ns) {
  const fc_generations_t *all = &modules->generations;
  uint32_t left = FC_LIMIT_WAKES;
  if (!modules->retry_ns || modules->retry_ns > now_ns) return;
  modules->retry_ns = 0;
  // Generations that are entered meanwhile need no try.
  for (uint32_t i = 0; i < all->count; i++) {
    fc_generation_t *generation = all->places[i];
    if (!generation || !generation->loading.retry_ns ||
        fc_generation_state(generation) != FC_GENERATION_FAILED) {
      continue;
    }
    if (generation->loading.retry_ns > now_ns || !left) {
      note_due(modules, generation->loading.retry_ns);
    } else {
      left--;
      begin(modules, generation);
    }
  }
}

void fc_retry_settle(fc_modules_t *modules, fc_generation_t *generation) {
  if (!generation->loading.is_retry ||
      fc_generation_state(generation) != FC_GENERATION_LOADING) {
    return;
  }
  const fc_generation_t *failed =
      fc_generations_find(&modules->generations, generation->claim.key);
  if (!failed || fc_generation_state(failed) != FC_GENERATION_FAILED) {
    fc_generations_drain(&modules->generations, generation);
    return;
  }
  // Copies what an act in progress has found out about the file.
  generation->listed = failed->listed;
  generation->settled = failed->settled;
}
