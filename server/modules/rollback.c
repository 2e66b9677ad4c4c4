// SPDX-License-Identifier: Apache-2.0
//
// What is kept for a rollback is the open module, whose file is in memory or mapped, but
// not its processes. A rollback enters the module as a new generation: an old generation
// never serves again.
#include "modules/rollback.h"

#include <stdio.h>

#include "config/limits.h"
#include "module/files.h"
#include "modules/act.h"
#include "modules/demand.h"
#include "pool/isolation.h"

// Fails the calls that wait for a generation which keeps crashing. They would crash too,
// or would wait for a process that is not started any more.
static void refuse_waiting(const fc_modules_t *modules,
                           const fc_generation_t *generation) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_MODULE_UNAVAILABLE,
                "the new file of module '%.*s' crashes: what served before "
                "serves again",
                FC_STR_ARG(generation->claim.label));
  fc_pool_refuse(modules->options.pool, generation->index, 1, &error);
}

// Returns the generation that the name leads to if its version is lower; if the name
// leads to `generation` itself, the next lower version. NULL: there is none.
static fc_generation_t *find_lower(const fc_modules_t *modules,
                                   const fc_generation_t *generation) {
  fc_generation_t *head =
      fc_generations_find(&modules->generations, generation->claim.name);
  if (!head ||
      fc_version_compare(head->claim.version, generation->claim.version) > 0) {
    return NULL;
  }
  return head == generation ? fc_acts_find_lower(head) : head;
}

// While the server starts, no version is newer than one that already served.
void fc_rollback_note(const fc_modules_t *modules,
                      fc_generation_t *generation) {
  const fc_generation_t *lower = find_lower(modules, generation);
  generation->fallback.succeeds =
      modules->started && lower &&
      fc_generation_state(lower) == FC_GENERATION_READY &&
      fc_version_compare(lower->claim.version, generation->claim.version) < 0;
}

static bool may_go_back(const fc_generation_t *generation) {
  return generation->fallback.module ||
         (generation->fallback.succeeds && generation->fallback.goes_back);
}

// Does the present policy ask for processes for this module?
static bool asks_for_processes(const fc_generation_t *generation,
                               const fc_module_t *module) {
  const fc_module_policy_t *policy = generation->policy;
  return policy->fresh == FC_FRESH_CALL ||
         fc_isolation_process(policy->isolation,
                              fc_module_get_info(module)->runs_native);
}

// A process needs the hash of its module's file. A large file that was loaded for threads
// may not have one yet.
static bool can_be_hosted(const fc_generation_t *generation,
                          const fc_module_t *module) {
  return !asks_for_processes(generation, module) ||
         fc_module_get_digest(module).size;
}

// Both generations have the same file. `generation` takes over what `old` could have
// rolled back to.
static void inherit(fc_generations_t *all, fc_generation_t *generation,
                    fc_generation_t *old) {
  generation->fallback.succeeds |= old->fallback.succeeds;
  generation->fallback.since_ns = old->fallback.since_ns;
  if (!old->fallback.module || !can_be_hosted(generation, old->fallback.module))
    return;
  generation->fallback.module = fc_module_retain(old->fallback.module);
  generation->fallback.mark = old->fallback.mark;
  generation->fallback.size = old->fallback.size;
  generation->fallback.in_process = old->fallback.in_process;
  fc_rollback_forget(all, old);
}

static void keep(fc_generation_t *generation, const fc_generation_t *old) {
  if (!can_be_hosted(generation, old->module)) return;
  generation->fallback.module = fc_module_retain(old->module);
  generation->fallback.mark = old->file.mark;
  generation->fallback.size = old->file.size;
  generation->fallback.in_process = old->in_process;
}

void fc_rollback_keep(fc_modules_t *modules, fc_generation_t *generation) {
  fc_generations_t *all = &modules->generations;
  fc_generation_t *old = fc_generations_find(all, generation->claim.key);
  if (old && old->fallback.crashes) refuse_waiting(modules, old);
  generation->fallback.since_ns = fc_clock_ns();
  if (!generation->fallback.goes_back || !old || old == generation ||
      !old->file.mark || fc_generation_state(old) != FC_GENERATION_READY) {
    return;
  }
  if (old->file.mark == generation->file.mark) inherit(all, generation, old);
  else keep(generation, old);
  if (!generation->fallback.module) return;
  fc_generations_weigh(all, generation,
                       generation->bytes + generation->fallback.size);
}

bool fc_rollback_is_proved(const fc_generation_t *generation, uint64_t calls,
                           uint64_t now_ns) {
  return calls > FC_LIMIT_PROVING_CALLS &&
         now_ns - generation->fallback.since_ns >
             FC_LIMIT_PROVING_MS * 1000000ull;
}

void fc_rollback_forget(fc_generations_t *generations,
                        fc_generation_t *generation) {
  const uint64_t bytes = generation->bytes, kept = generation->fallback.size;
  generation->fallback.succeeds = false;
  if (!generation->fallback.module) return;
  fc_module_release(generation->fallback.module);
  generation->fallback.module = NULL;
  fc_generations_weigh(generations, generation,
                       bytes > kept ? bytes - kept : 0);
}

void fc_rollback_on_crash(fc_modules_t *modules, uint32_t index,
                          uint64_t crashes, uint64_t calls, bool quarantined) {
  fc_generation_t *generation = fc_generations_at(&modules->generations, index);
  if (!generation || generation->fallback.crashes || !may_go_back(generation))
    return;
  // These are crashes of its trial: no client has called it.
  if (fc_generation_state(generation) == FC_GENERATION_LOADING) return;
  if (fc_rollback_is_proved(generation, calls, fc_clock_ns())) {
    fc_rollback_forget(&modules->generations, generation);
    return;
  }
  const bool at_once =
      crashes >= FC_LIMIT_PROVING_CRASHES && calls <= FC_LIMIT_PROVING_CALLS;
  if (!quarantined && !at_once) return;
  generation->fallback.crashes = crashes;
  generation->fallback.crash_calls = calls;
  modules->crashed++;
  modules->events.wake(modules->events.context);
}

// ---------------------------------------------------------------------------
// Rolling back

static fc_status_t refuse(fc_modules_t *modules, fc_act_t *act,
                          const fc_generation_t *generation, fc_error_t *err) {
  const fc_decision_t refusal = {.name = generation->claim.name,
                                 .version = generation->claim.version,
                                 .mark = generation->file.mark};
  return refusal.mark ? fc_acts_refuse(modules, act, &refusal, err) : FC_OK;
}

// Enters the kept module, and makes the pool start its first worker.
static fc_status_t bring_back(fc_modules_t *modules, fc_act_t *act,
                              fc_generation_t *generation, fc_error_t *err) {
  const fc_listed_t file = {
      .path = fc_module_get_path(generation->fallback.module),
      .mark = generation->fallback.mark,
      .size = generation->fallback.size};
  fc_generation_t *made;
  FC_TRY(fc_modules_enter(modules, &file, generation->file.origin, &made, err));
  made->module = generation->fallback.module;
  generation->fallback.module = NULL;
  made->kind = fc_module_get_kind(made->module);
  made->in_process =
      generation->fallback.in_process || asks_for_processes(made, made->module);
  made->fallback.fileless = true;
  made->loading.act = act;
  made->listed = generation->listed;
  made->settled = generation->settled;
  fc_generations_weigh(&modules->generations, made, generation->bytes);
  (void)fc_fail(&made->error, FC_CODE_WORKER_CRASHED,
                "its newest file was rolled back: it crashed %llu times in its "
                "first %llu calls",
                (unsigned long long)generation->fallback.crashes,
                (unsigned long long)generation->fallback.crash_calls);
  made->file.refused = generation->file.mark;
  act->pending++;
  fc_generations_raise(&modules->generations, made, FC_ON_RESTORED, NULL);
  return FC_OK;
}

// The lower version serves already, so this only notes why the higher one is removed. The
// higher one is unloaded because it is refused (fc_acts_apply).
static void go_down(const fc_modules_t *modules, fc_act_t *act,
                    const fc_generation_t *generation) {
  fc_generation_t *lower = find_lower(modules, generation);
  if (!lower) return;
  (void)fc_fail(
      &lower->error, FC_CODE_WORKER_CRASHED,
      "version %.*s was rolled back: it crashed %llu times in its first "
      "%llu calls",
      FC_STR_ARG(generation->claim.version),
      (unsigned long long)generation->fallback.crashes,
      (unsigned long long)generation->fallback.crash_calls);
  snprintf(act->version, sizeof act->version, "%.*s",
           FC_STR_ARG(lower->claim.version));
  snprintf(act->previous, sizeof act->previous, "%.*s",
           FC_STR_ARG(generation->claim.version));
  fc_act_note_digest(act->after, lower);
}

static void tell(const fc_modules_t *modules,
                 const fc_generation_t *generation) {
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_TEXT("path", generation->file.path),
      FC_LOG_NUMBER("crashes", generation->fallback.crashes),
      FC_LOG_NUMBER("calls", generation->fallback.crash_calls),
  };
  fc_log_fields(modules->options.log, FC_LOG_ERROR,
                FC_STR("a new file crashes: what served before serves again"),
                fields, FC_ARRAY_COUNT(fields));
}

static void go_back(fc_modules_t *modules, fc_generation_t *generation) {
  fc_act_t *act = fc_act_create(modules, FC_ACT_ROLLBACK,
                                generation->claim.label, FC_STR("its crashes"));
  fc_error_t error;
  if (!act) return;
  modules->rollbacks++;
  tell(modules, generation);
  refuse_waiting(modules, generation);
  fc_act_note_digest(act->before, generation);
  fc_acts_enter(modules, act);
  act->pending++;  // the act must not end before both parts have begun
  if (!generation->fallback.module) go_down(modules, act, generation);
  if (refuse(modules, act, generation, &error) != FC_OK) {
    fc_act_note_failure(act, FC_STR(""), &error);
  }
  if (generation->fallback.module &&
      bring_back(modules, act, generation, &error) != FC_OK) {
    fc_act_note_failure(act, FC_STR(""), &error);
  }
  fc_acts_settle(modules, act);
}

// Does the name lead to this generation, so that a lower version takes the name when it
// is removed? A promoted version stays, because an operator chose it.
static bool leads_down(const fc_modules_t *modules,
                       const fc_generation_t *generation) {
  return generation->file.mark && !generation->claim.preferred &&
         fc_generations_find(&modules->generations, generation->claim.name) ==
             generation &&
         find_lower(modules, generation);
}

void fc_rollback_go_on(fc_modules_t *modules) {
  fc_generations_t *all = &modules->generations;
  for (uint32_t i = 0; i < all->count; i++) {
    fc_generation_t *generation = all->places[i];
    if (modules->acts) return;
    if (!generation || !generation->fallback.crashes ||
        !may_go_back(generation))
      continue;
    // Another generation may have replaced it since its crashes were noted.
    if (generation->claim.current &&
        fc_generation_state(generation) == FC_GENERATION_READY &&
        (generation->fallback.module || leads_down(modules, generation))) {
      go_back(modules, generation);
    } else {
      generation->fallback.crashes =
          0;  // its calls are not refused when it is replaced
    }
    fc_rollback_forget(all, generation);
  }
  modules->crashed = 0;
}
