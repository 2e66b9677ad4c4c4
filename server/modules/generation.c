// SPDX-License-Identifier: Apache-2.0
//
// The table has pointers: a generation never moves, and its index is reused only after it
// was removed.
#include "modules/generation.h"

#include <stdio.h>

#include "modules/claim.h"
#include "modules/policy.h"
#include "modules/rollback.h"
#include "modules/trial.h"

void fc_generations_deinit(fc_generations_t *generations) {
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (generation) fc_generations_remove(generations, generation);
  }
  fc_all_series_deinit(&generations->series, generations->allocator);
  fc_name_table_deinit(&generations->names);
  fc_name_table_deinit(&generations->twins);
  fc_decisions_free(generations->decisions, generations->allocator);
  generations->decisions = NULL;
  fc_free(generations->allocator, (void *)generations->places);
  fc_free(generations->allocator, generations->order);
  generations->places = NULL;
  generations->order = NULL;
  generations->count = 0;
}

static fc_status_t grow(fc_generations_t *generations, fc_error_t *err) {
  const uint32_t count = generations->count ? generations->count * 2 : 8;
  uint32_t *order =
      fc_realloc(generations->allocator, generations->order,
                 generations->count * sizeof *order, count * sizeof *order);
  if (!order) return fc_fail_memory(err);
  generations->order = order;
  fc_generation_t **grown =
      fc_realloc(generations->allocator, (void *)generations->places,
                 generations->count * sizeof(void *), count * sizeof(void *));
  if (!grown) return fc_fail_memory(err);
  for (uint32_t i = generations->count; i < count; i++) grown[i] = NULL;
  generations->places = grown;
  generations->count = count;
  return FC_OK;
}

static fc_status_t find_place(fc_generations_t *generations,
                              uint32_t *out_index, fc_error_t *err) {
  uint32_t index = generations->first_free;
  while (index < generations->count && generations->places[index]) index++;
  if (index == generations->count) FC_TRY(grow(generations, err));
  *out_index = generations->first_free = index;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Entering a generation

fc_status_t fc_generations_enter(fc_generations_t *generations, fc_str_t path,
                                 const char *kind,
                                 fc_generation_t **out_generation,
                                 fc_error_t *err) {
  uint32_t index;
  generations->names.allocator = generations->twins.allocator =
      generations->allocator;
  FC_TRY(find_place(generations, &index, err));
  fc_generation_t *made =
      fc_alloc(generations->allocator, sizeof *made + 2 * path.size + 4);
  if (!made) return fc_fail_memory(err);
  if (path.size) memcpy(made->text, path.data, path.size);
  made->index = index;
  made->serial = ++generations->made;
  made->file.origin = FC_PATH_NONE;
  made->kind = kind;
  made->file.path = fc_str_make(made->text, path.size);
  fc_claim_identify(made);
  fc_generations_prefer(generations, made);
  generations->places[index] = made;
  if (!fc_generations_find(generations, made->claim.key)) {
    fc_status_t status = fc_claim_join(generations, made, err);
    if (status != FC_OK) {
      generations->places[index] = NULL;
      fc_free(generations->allocator, made);
      return status;
    }
  }
  generations->used++;
  *out_generation = made;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// READY generations, in the order of their last use

static void link_newest(fc_generations_t *generations,
                        fc_generation_t *generation) {
  generation->older = generations->newest;
  generation->newer = NULL;
  if (generations->newest) generations->newest->newer = generation;
  else generations->oldest = generation;
  generations->newest = generation;
}

static void unlink_ready(fc_generations_t *generations,
                         fc_generation_t *generation) {
  if (generation->older) generation->older->newer = generation->newer;
  else generations->oldest = generation->newer;
  if (generation->newer) generation->newer->older = generation->older;
  else generations->newest = generation->older;
  generation->older = generation->newer = NULL;
}

void fc_generations_touch(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t now_ns) {
  generation->used_ns = now_ns;
  if (generation->fallback.module && !generation->fallback.crashes &&
      fc_rollback_is_proved(generation, generation->calls, now_ns)) {
    fc_rollback_forget(generations, generation);
  }
  if (fc_generation_state(generation) != FC_GENERATION_READY) return;
  unlink_ready(generations, generation);
  link_newest(generations, generation);
}

void fc_generations_weigh(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t bytes) {
  generations->bytes += bytes - generation->bytes;
  if (fc_generation_state(generation) == FC_GENERATION_DRAINING) {
    generations->leaving += bytes - generation->bytes;
  }
  generation->bytes = bytes;
}

static void go_to(fc_generations_t *generations, fc_generation_t *generation,
                  fc_step_t next) {
  const fc_generation_state_t state = fc_generation_state(generation);
  const fc_generation_state_t becomes = fc_step_state(next);
  generation->step = (uint8_t)next;
  if (state == becomes) return;
  generations->changes++;
  if (state == FC_GENERATION_READY) unlink_ready(generations, generation);
  if (becomes == FC_GENERATION_READY) link_newest(generations, generation);
  if (becomes == FC_GENERATION_DRAINING) {
    generations->leaving += generation->bytes;
  }
  if (generation->claim.current) {
    fc_generations_settle_name(generations, generation);
  }
}

// ---------------------------------------------------------------------------
// Events

// Reports a pair of step and event that the table lacks, by the action FC_DO_NONE.
static void complain(fc_generations_t *generations, fc_generation_t *generation,
                     fc_step_event_t event) {
  fc_error_t error;
  (void)fc_fail(
      &error, FC_CODE_INTERNAL, "generation %llu cannot be %s while it is %s",
      (unsigned long long)generation->serial, fc_step_event_name(event),
      fc_step_name((fc_step_t)generation->step));
#ifndef NDEBUG
  FC_ASSERT(false && "a pair of step and event that is in step.def");
#endif
  generations->act(generations->context, generation, FC_DO_NONE, &error);
}

void fc_generations_raise(fc_generations_t *generations,
                          fc_generation_t *generation, fc_step_event_t event,
                          const fc_error_t *error) {
  const fc_step_row_t *row = fc_step_row((fc_step_t)generation->step, event);
  if (!row) {
    complain(generations, generation, event);
    return;
  }
  go_to(generations, generation, (fc_step_t)row->next);
  if (row->action == FC_DO_NONE) return;
  generations->act(generations->context, generation,
                   (fc_step_action_t)row->action, error);
}

// The previous generation of the key drains before the event, because an action of the
// event can begin an act, which looks at all generations.
static fc_status_t take_name(fc_generations_t *generations,
                             fc_generation_t *generation, fc_step_event_t event,
                             fc_error_t *err) {
  fc_generation_t *other =
      fc_generations_find(generations, generation->claim.key);
  if (!other) FC_TRY(fc_claim_join(generations, generation, err));
  if (other && other != generation) {
    fc_claim_replace(generations, other, generation);
    fc_generations_settle_name(generations, generation);
    fc_generations_drain(generations, other);
  }
  fc_generations_raise(generations, generation, event, NULL);
  return FC_OK;
}

fc_status_t fc_generations_publish(fc_generations_t *generations,
                                   fc_generation_t *generation,
                                   fc_error_t *err) {
  return take_name(generations, generation, FC_ON_PASSED, err);
}

fc_status_t fc_generations_describe(fc_generations_t *generations,
                                    fc_generation_t *generation,
                                    fc_error_t *err) {
  return take_name(generations, generation, FC_ON_LISTED, err);
}

void fc_generations_note_failure(fc_generations_t *generations,
                                 fc_generation_t *generation,
                                 const fc_error_t *error) {
  generation->error = *error;
  fc_module_release(generation->module);
  generation->module = NULL;
  if (generation->claim.current) return;
  // If there is no memory, it cannot be found by its path, and the next act removes it.
  const fc_status_t status = fc_name_table_put(
      &generations->twins, generation->file.path, generation->index, NULL);
  (void)status;
}

static bool leads_to(const fc_generations_t *generations,
                     const fc_generation_t *generation) {
  return fc_name_table_find(&generations->twins, generation->file.path) ==
         generation->index;
}

fc_generation_t *fc_generations_find_twin(const fc_generations_t *generations,
                                          fc_str_t path) {
  const uint32_t index = fc_name_table_find(&generations->twins, path);
  if (index == FC_NAME_NONE) return NULL;
  fc_generation_t *twin = generations->places[index];
  return fc_generation_state(twin) == FC_GENERATION_FAILED &&
                 !twin->claim.current
             ? twin
             : NULL;
}

void fc_generations_drain(fc_generations_t *generations,
                          fc_generation_t *generation) {
  fc_claim_leave(generations, generation);
  fc_generations_raise(generations, generation, FC_ON_DROPPED, NULL);
}

void fc_generations_let_go(fc_generations_t *generations,
                           fc_generation_t *generation) {
  if (generation->holds || generation->loading.reading) return;
  fc_generations_raise(generations, generation, FC_ON_RELEASED, NULL);
}

static void drop_counts(fc_generations_t *generations,
                        fc_generation_t *generation) {
  fc_counts_free(&generations->series, generations->allocator,
                 generation->counts, generation->count_size);
  generation->counts = NULL;
  generation->count_size = 0;
}

void fc_generations_remove(fc_generations_t *generations,
                           fc_generation_t *generation) {
  const uint32_t index = generation->index;
  FC_ASSERT(generation->holds == 0);
  fc_claim_leave(generations, generation);
  go_to(generations, generation, FC_STEP_GONE);
  fc_rollback_forget(generations, generation);
  fc_generations_weigh(generations, generation, 0);
  generations->places[index] = NULL;
  generations->used--;
  if (index < generations->first_free) generations->first_free = index;
  if (leads_to(generations, generation)) {
    fc_name_table_remove(&generations->twins, generation->file.path);
  }
  fc_trial_free(generation);
  fc_module_release(generation->module);
  drop_counts(generations, generation);
  fc_free(generations->allocator, generation);
}

bool fc_generation_exposes(const fc_generation_t *generation,
                           const fc_function_t *function) {
  return !generation->policy ||
         fc_module_policy_exposes(generation->policy, function->name);
}

const fc_function_t *fc_generation_function(const fc_generation_t *generation,
                                            fc_str_t name) {
  const fc_function_t *function = fc_module_find(generation->module, name);
  return function && fc_generation_exposes(generation, function) ? function
                                                                 : NULL;
}

const fc_function_t *fc_generation_nearest_function(
    const fc_generation_t *generation, fc_nearest_t *search) {
  const fc_function_t *nearest = NULL;
  size_t count = fc_module_function_count(generation->module);
  if (count > FC_GENERATION_LOOKS) count = FC_GENERATION_LOOKS;
  for (size_t i = 0; i < count; i++) {
    const fc_function_t *function = fc_module_function(generation->module, i);
    if (fc_generation_exposes(generation, function) &&
        fc_nearest_offer(search, function->name)) {
      nearest = function;
    }
  }
  return nearest;
}

void fc_generation_list_functions(const fc_generation_t *generation, char *out,
                                  size_t capacity) {
  const fc_module_t *module = generation->module;
  const size_t count = fc_module_function_count(module);
  size_t size = 0;
  *out = '\0';
  for (size_t i = 0; i < count && i < FC_GENERATION_LOOKS; i++) {
    char shown[80];
    const fc_function_t *function = fc_module_function(module, i);
    if (!fc_generation_exposes(generation, function)) continue;
    fc_escape(shown, sizeof shown, 64, function->name);
    if (size + strlen(shown) + 12 > capacity) {
      snprintf(out + size, capacity - size, ", ...");
      return;
    }
    size += (size_t)snprintf(out + size, capacity - size, "%s'%s'",
                             size ? ", " : "", shown);
  }
}

// Makes the counts and the series of a function that has no series: no call was counted,
// or its series was released. NULL: there is no memory.
static fc_function_counts_t *begin_count(fc_generations_t *generations,
                                         fc_generation_t *generation,
                                         uint32_t function) {
  const fc_module_t *module = generation->module;
  if (!generation->counts) {
    const size_t count = fc_module_function_count(module);
    generation->counts = fc_alloc_array(generations->allocator, count,
                                        sizeof *generation->counts);
    if (!generation->counts) return NULL;
    generation->count_size = count;
    generation->count_names = fc_counts_names(module);
  }
  fc_function_counts_t *counts = &generation->counts[function];
  const fc_str_t name = fc_module_function(module, function)->name;
  counts->series = fc_series_take(&generations->series, generations->allocator,
                                  generation->claim.label.size + name.size);
  return counts->series ? counts : NULL;
}

fc_function_counts_t *fc_generations_count(fc_generations_t *generations,
                                           fc_generation_t *generation,
                                           uint32_t function) {
  if (generation->counts && generation->counts[function].series) {
    return &generation->counts[function];
  }
  return begin_count(generations, generation, function);
}

void fc_generations_set_module(fc_generations_t *generations,
                               fc_generation_t *generation,
                               fc_module_t *take_module) {
  fc_module_release(generation->module);
  generation->module = take_module;
  generation->kind = fc_module_get_kind(take_module);
  if (!generation->counts) return;
  // The author of a module can choose names with the same hash, so the number of
  // functions is compared too: the array must not be indexed past its end.
  if (generation->count_size != fc_module_function_count(take_module) ||
      generation->count_names != fc_counts_names(take_module)) {
    drop_counts(generations, generation);
  }
}

void fc_generations_pass_counts(fc_generations_t *generations,
                                fc_generation_t *from, fc_generation_t *to) {
  FC_ASSERT(!to->counts);
  fc_counts_give_series(&generations->series, generations->allocator,
                        from->counts, from->count_size);
  to->counts = from->counts;
  to->count_size = from->count_size;
  to->count_names = from->count_names;
  from->counts = NULL;
  from->count_size = 0;
}

void fc_generations_release(fc_generations_t *generations,
                            fc_generation_t *generation) {
  FC_ASSERT(generation->holds > 0);
  if (--generation->holds || !fc_generation_is_draining(generation)) return;
  fc_generations_let_go(generations, generation);
}
