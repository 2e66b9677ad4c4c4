// SPDX-License-Identifier: Apache-2.0
//
// Carries out the actions that step.def names for the events of generations, and handles
// the pool's events. An action may raise the next event. The end of an act may begin
// another act, which can remove any generation, so acts end last.
#include "modules/act.h"
#include "modules/demand.h"
#include "modules/distrust.h"
#include "modules/retry.h"
#include "modules/rollback.h"
#include "modules/trial.h"

typedef void action_t(fc_modules_t *modules, fc_generation_t *generation,
                      const fc_error_t *error);

static void raise_event(fc_modules_t *modules, fc_generation_t *generation,
                        fc_step_event_t event, const fc_error_t *error) {
  fc_generations_raise(&modules->generations, generation, event, error);
}

// ---------------------------------------------------------------------------
// Hosting: the pool makes the first worker

static void host(fc_modules_t *modules, fc_generation_t *generation,
                 const fc_error_t *none) {
  fc_hosting_t hosting = fc_modules_hosting(modules, generation);
  fc_error_t error;
  (void)none;
  fc_trial_adapt(generation, &hosting);
  // fc_pool_add may call fc_modules_on_added before it returns. So all that
  // fc_modules_on_added needs is prepared before.
  if (fc_pool_add(modules->options.pool, generation->index, generation->module,
                  &hosting, &error) == FC_OK) {
    return;
  }
  fc_trial_free(generation);
  modules->pending--;
  raise_event(modules, generation, FC_ON_REFUSED, &error);
}

static void add(fc_modules_t *modules, fc_generation_t *generation,
                const fc_error_t *none) {
  if (modules->events.on_opened) {
    modules->events.on_opened(modules->events.context, generation);
  }
  modules->pending++;
  host(modules, generation, none);
}

static void try(fc_modules_t *modules, fc_generation_t *generation,
                const fc_error_t *none) {
  if (!fc_trial_on_added(generation)) {
    fc_modules_on_tried(modules, generation, none);
  }
}

// Publishing a generation in the place of another cannot fail, so on_replacing can be
// called before it.
static void tell_of_replacing(fc_modules_t *modules,
                              fc_generation_t *generation) {
  const fc_modules_events_t *events = &modules->events;
  fc_generation_t *former =
      fc_generations_find(&modules->generations, generation->claim.key);
  if (!former || former == generation || !events->on_replacing) return;
  events->on_replacing(events->context, former, generation);
}

static fc_status_t publish(fc_modules_t *modules, fc_generation_t *generation,
                           fc_error_t *err) {
  // The file of --trust may have been read again meanwhile.
  FC_TRY(fc_modules_admit(modules, generation->module, err));
  fc_rollback_keep(modules, generation);
  tell_of_replacing(modules, generation);
  return fc_generations_publish(&modules->generations, generation, err);
}

void fc_modules_on_tried(fc_modules_t *modules, fc_generation_t *generation,
                         const fc_error_t *error) {
  fc_error_t unpublished;
  fc_trial_free(generation);
  fc_retry_settle(modules, generation);
  modules->pending--;
  if (error) {
    raise_event(modules, generation, FC_ON_FAILED, error);
  } else if (fc_generation_is_draining(generation)) {
    raise_event(modules, generation, FC_ON_PASSED, NULL);
  } else if (publish(modules, generation, &unpublished) != FC_OK) {
    raise_event(modules, generation, FC_ON_FAILED, &unpublished);
  }
  fc_modules_go_on(modules);
}

static void serve(fc_modules_t *modules, fc_generation_t *generation,
                  const fc_error_t *none) {
  fc_act_t *act = generation->loading.act;
  (void)none;
  generation->loading.act = NULL;
  generation->loading.retries = 0;
  generation->loading.retry_ns = 0;
  modules->loads++;
  fc_demand_on_ready(modules, generation);
  fc_demand_wake(modules, generation);
  if (act) fc_acts_on_loaded(modules, act, generation);
}

// ---------------------------------------------------------------------------
// Failures

// Call it before the generation's module is released, because on_closed may read the
// module.
static void count_closed(fc_modules_t *modules, fc_generation_t *generation) {
  if (!generation->loading.files) return;
  if (modules->events.on_closed) {
    modules->events.on_closed(modules->events.context, generation);
  }
  generation->loading.files = 0;
}

static void refuse(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *error) {
  modules->any_failed = true;
  modules->load_failures++;
  count_closed(modules, generation);
  fc_generations_note_failure(&modules->generations, generation, error);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_TEXT("kind", fc_str(generation->kind)),
      FC_LOG_TEXT("path", generation->file.path),
  };
  fc_log_fields(modules->options.log, FC_LOG_ERROR,
                fc_str(generation->error.message), fields, 3);
}

// Notes in the generation that has the key why the newest file does not serve. A file
// that only lacked memory is not refused, because the next try may find enough.
static void note_reason(fc_modules_t *modules, fc_generation_t *generation,
                        const fc_error_t *error) {
  fc_generation_t *other =
      fc_generations_find(&modules->generations, generation->claim.key);
  const bool refuses = !fc_retry_may_help(error);
  if (refuses) generation->file.refused = generation->file.mark;
  if (!other) return;
  if (fc_generation_state(other) == FC_GENERATION_FAILED) {
    fc_retry_note(modules, other, error);
  }
  if (other == generation) return;
  other->error = *error;
  if (refuses) other->file.refused = generation->file.mark;
}

// If the generation was DESCRIBED before and only lacked memory, puts a new DESCRIBED one
// in its place, so that the next request tries again. Returns true in that case;
// `generation` may have been freed. If there is no memory for a new one, the old one
// stays.
static bool put_back(fc_modules_t *modules, fc_generation_t *generation,
                     const fc_error_t *error) {
  fc_error_t ignored;
  if (!generation->loading.demanded || !generation->claim.current ||
      !fc_retry_may_help(error)) {
    return false;
  }
  if (fc_demand_put_back(modules, generation, &ignored) == FC_OK) return true;
  generation->file.refused = generation->file.mark;
  return false;
}

// If another generation has the key, the failed one is removed. Otherwise it stays and
// shows the reason itself. Parts of it in the pool take memory until FC_ON_RETIRED.
static void fail(fc_modules_t *modules, fc_generation_t *generation,
                 const fc_error_t *error) {
  fc_generations_t *all = &modules->generations;
  fc_act_t *act = generation->loading.act;
  generation->loading.act = NULL;
  if (act) fc_act_note_failure(act, generation->claim.label, error);
  refuse(modules, generation, error);
  if (generation->step == FC_STEP_FAILED) {
    fc_generations_weigh(all, generation, 0);
  }
  note_reason(modules, generation, error);
  fc_demand_wake(modules, generation);
  if (!put_back(modules, generation, error) && !generation->claim.current) {
    fc_generations_drain(all, generation);
  }
  if (act) fc_acts_settle(modules, act);
}

static void give_up(fc_modules_t *modules, fc_generation_t *generation,
                    const fc_error_t *error) {
  fc_pool_retire(modules->options.pool, generation->index);
  fail(modules, generation, error);
}

static void lighten(fc_modules_t *modules, fc_generation_t *generation,
                    const fc_error_t *none) {
  (void)none;
  fc_generations_weigh(&modules->generations, generation, 0);
}

// ---------------------------------------------------------------------------
// Leaving: generations that drain, are unloaded or removed

static void abandon(fc_modules_t *modules, fc_generation_t *generation,
                    const fc_error_t *none) {
  (void)none;
  fc_demand_wake(modules, generation);
  if (modules->wanted_first) modules->events.wake(modules->events.context);
}

static void let_go(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *none) {
  (void)none;
  fc_generations_let_go(&modules->generations, generation);
}

static void settle(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *none) {
  fc_act_t *act = generation->loading.act;
  fc_error_t error;
  generation->loading.act = NULL;
  (void)fc_fail(&error, FC_CODE_MODULE_UNAVAILABLE,
                "the module was unloaded while it was loaded");
  if (act) fc_act_note_failure(act, generation->claim.label, &error);
  fc_demand_wake(modules, generation);
  let_go(modules, generation, none);
  if (act) fc_acts_settle(modules, act);
}

static void end_trial(fc_modules_t *modules, fc_generation_t *generation,
                      const fc_error_t *none) {
  fc_trial_free(generation);
  modules->pending--;
  settle(modules, generation, none);
}

static void retire(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *none) {
  (void)none;
  fc_pool_retire(modules->options.pool, generation->index);
}

static void remove_generation(fc_modules_t *modules,
                              fc_generation_t *generation,
                              const fc_error_t *none) {
  (void)none;
  count_closed(modules, generation);
  fc_generations_remove(&modules->generations, generation);
  if (modules->wanted_first && !modules->stopped) {
    modules->events.wake(modules->events.context);
  }
}

// ---------------------------------------------------------------------------
// Carrying out actions, and events of the pool

// Reports that step.def has no row for the step and the event.
static void complain(fc_modules_t *modules, fc_generation_t *generation,
                     const fc_error_t *error) {
  fc_log_field_t field = FC_LOG_TEXT("module", generation->claim.label);
  fc_log_fields(modules->options.log, FC_LOG_ERROR, fc_str(error->message),
                &field, 1);
}

static action_t *const kActions[] = {
    [FC_DO_NONE] = complain,
    [FC_DO_QUEUE] = fc_demand_queue,
    [FC_DO_ADD] = add,
    [FC_DO_HOST] = host,
    [FC_DO_TRY] = try,
    [FC_DO_SERVE] = serve,
    [FC_DO_REFUSE] = refuse,
    [FC_DO_FAIL] = fail,
    [FC_DO_GIVE_UP] = give_up,
    [FC_DO_LIGHTEN] = lighten,
    [FC_DO_ABANDON] = abandon,
    [FC_DO_SETTLE] = settle,
    [FC_DO_END_TRIAL] = end_trial,
    [FC_DO_LET_GO] = let_go,
    [FC_DO_RETIRE] = retire,
    [FC_DO_REMOVE] = remove_generation,
};
_Static_assert(FC_ARRAY_COUNT(kActions) == FC_DO_COUNT, "one for each action");

void fc_modules_do(void *context, fc_generation_t *generation,
                   fc_step_action_t action, const fc_error_t *error) {
  kActions[action](context, generation, error);
}

void fc_modules_on_added(void *context, uint32_t index,
                         const fc_error_t *error) {
  fc_modules_t *modules = context;
  fc_generation_t *generation = fc_generations_at(&modules->generations, index);
  if (error) fc_modules_on_tried(modules, generation, error);
  else raise_event(modules, generation, FC_ON_HOSTED, NULL);
}

void fc_modules_on_retired(void *context, uint32_t index) {
  fc_modules_t *modules = context;
  fc_generation_t *generation = fc_generations_at(&modules->generations, index);
  raise_event(modules, generation, FC_ON_RETIRED, NULL);
}
