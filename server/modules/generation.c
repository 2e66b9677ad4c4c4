// SPDX-License-Identifier: Apache-2.0
//
// A table of pointers: a generation never moves, and its index is used again
// only after it was removed.
#include "modules/generation.h"

#include <stdio.h>

#include "module/files.h"
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
  fc_state_free(generations->decisions, generations->allocator);
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
// Names

static void identify(fc_generation_t *made) {
  fc_str_t name, version;
  const fc_str_t path = made->path;
  const bool versioned = fc_path_is_version(path, &name, &version);
  char *text = made->text + path.size + 1;
  fc_path_identify(path, &made->name, &made->version);
  const int size = snprintf(text, path.size + 3, "%.*s@%.*s",
                            FC_STR_ARG(made->name), FC_STR_ARG(made->version));
  made->key = fc_str_make(text, (size_t)size);
  made->label = versioned ? made->key : made->name;
}

void fc_generations_prefer(const fc_generations_t *generations,
                           fc_generation_t *generation) {
  const fc_decision_t *decision =
      fc_state_find(generations->decisions, generation->name, FC_STR(""));
  generation->preferred =
      decision && fc_str_equal(decision->version, generation->version);
}

// A name leads to its version with the highest rank. 0: failed or drains; 1: is being
// loaded and nobody waits for it; 2: can be called or waited for; 3: is also preferred.
static int rank_of(const fc_generation_t *generation) {
  const bool usable = generation->state == FC_GENERATION_READY ||
                      fc_generation_is_coming(generation);
  if (!usable) return generation->state == FC_GENERATION_LOADING;
  return generation->preferred ? 3 : 2;
}

static bool is_better(const fc_generation_t *a, const fc_generation_t *b) {
  const int difference = rank_of(a) - rank_of(b);
  if (difference) return difference > 0;
  return fc_version_compare(a->version, b->version) > 0;
}

// Makes `name`, which the table has, lead to a generation. The table borrows the name's
// bytes, which must be in that generation: the one that the name led to before may be
// freed.
static void lead(fc_generations_t *generations, fc_str_t name,
                 const fc_generation_t *to) {
  const fc_status_t status =
      fc_name_table_put(&generations->names, name, to->index, NULL);
  FC_ASSERT(status == FC_OK);  // putting a name that is there takes no memory
}

// Where the name is in the order of names, or would be.
static uint32_t place_of(const fc_generations_t *generations, fc_str_t name) {
  uint32_t low = 0, high = generations->name_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t index = generations->order[middle];
    if (fc_str_compare(generations->places[index]->name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The entry of a name that some current generation has.
static uint32_t *entry_of(const fc_generations_t *generations, fc_str_t name) {
  const uint32_t at = place_of(generations, name);
  FC_ASSERT(at < generations->name_count);
  return &generations->order[at];
}

static void enter_order(fc_generations_t *generations,
                        const fc_generation_t *generation) {
  uint32_t *at = generations->order + place_of(generations, generation->name);
  const uint32_t *end = generations->order + generations->name_count++;
  memmove(at + 1, at, (size_t)(end - at) * sizeof *at);
  *at = generation->index;
}

static void leave_order(fc_generations_t *generations, fc_str_t name) {
  uint32_t *at = entry_of(generations, name);
  const uint32_t *end = generations->order + generations->name_count--;
  memmove(at, at + 1, (size_t)(end - at - 1) * sizeof *at);
}

void fc_generations_settle_name(fc_generations_t *generations,
                                const fc_generation_t *generation) {
  const fc_generation_t *best = generation;
  for (const fc_generation_t *g = generation->sibling; g != generation;
       g = g->sibling) {
    if (is_better(g, best)) best = g;
  }
  lead(generations, best->name, best);
  *entry_of(generations, best->name) = best->index;
}

// Makes the generation current: its key leads to it, and where its name leads
// is settled anew.
static fc_status_t join(fc_generations_t *generations,
                        fc_generation_t *generation, fc_error_t *err) {
  fc_name_table_t *names = &generations->names;
  fc_generation_t *head = fc_generations_find(generations, generation->name);
  FC_TRY(fc_name_table_put(names, generation->key, generation->index, err));
  if (!head) {
    fc_status_t status =
        fc_name_table_put(names, generation->name, generation->index, err);
    if (status != FC_OK) {
      fc_name_table_remove(names, generation->key);
      return status;
    }
    enter_order(generations, generation);
  }
  generation->sibling = head ? head->sibling : generation;
  if (head) head->sibling = generation;
  generation->current = true;
  fc_generations_settle_name(generations, generation);
  return FC_OK;
}

static fc_generation_t *before(fc_generation_t *generation) {
  fc_generation_t *g = generation;
  while (g->sibling != generation) g = g->sibling;
  return g;
}

static void replace(fc_generations_t *generations, fc_generation_t *other,
                    fc_generation_t *generation) {
  fc_generation_t *previous = before(other);
  generation->sibling = other->sibling == other ? generation : other->sibling;
  if (previous != other) previous->sibling = generation;
  other->sibling = NULL;
  other->current = false;
  generation->current = true;
  lead(generations, generation->key, generation);
}

// Makes the generation no longer current: neither its key nor its name leads to it.
static void part(fc_generations_t *generations, fc_generation_t *generation) {
  if (!generation->current) return;
  fc_generation_t *previous = before(generation);
  generation->current = false;
  fc_name_table_remove(&generations->names, generation->key);
  if (previous == generation) {
    fc_name_table_remove(&generations->names, generation->name);
    leave_order(generations, generation->name);
  } else {
    previous->sibling = generation->sibling;
    fc_generations_settle_name(generations, previous);
  }
  generation->sibling = NULL;
}

// ---------------------------------------------------------------------------

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
  made->origin = FC_PATH_NONE;
  made->kind = kind;
  made->path = fc_str_make(made->text, path.size);
  identify(made);
  fc_generations_prefer(generations, made);
  generations->places[index] = made;
  if (!fc_generations_find(generations, made->key)) {
    fc_status_t status = join(generations, made, err);
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
// Those that are READY, in the order in which they were asked for

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
  if (generation->before && !generation->crashes &&
      fc_rollback_is_proved(generation, generation->calls, now_ns)) {
    fc_rollback_forget(generations, generation);
  }
  if (generation->state != FC_GENERATION_READY) return;
  unlink_ready(generations, generation);
  link_newest(generations, generation);
}

void fc_generations_weigh(fc_generations_t *generations,
                          fc_generation_t *generation, uint64_t bytes) {
  generations->bytes += bytes - generation->bytes;
  if (generation->state == FC_GENERATION_DRAINING) {
    generations->leaving += bytes - generation->bytes;
  }
  generation->bytes = bytes;
}

static void change_state(fc_generations_t *generations,
                         fc_generation_t *generation,
                         fc_generation_state_t state) {
  if (generation->state == FC_GENERATION_READY) {
    unlink_ready(generations, generation);
  }
  if (state == FC_GENERATION_DRAINING &&
      generation->state != FC_GENERATION_DRAINING) {
    generations->leaving += generation->bytes;
  }
  generation->state = (uint8_t)state;
  if (state == FC_GENERATION_READY) link_newest(generations, generation);
}

// ---------------------------------------------------------------------------

static fc_status_t take_name(fc_generations_t *generations,
                             fc_generation_t *generation,
                             fc_generation_state_t state, fc_error_t *err) {
  FC_ASSERT(generation->state == FC_GENERATION_LOADING);
  fc_generation_t *other = fc_generations_find(generations, generation->key);
  if (!other) FC_TRY(join(generations, generation, err));
  if (other && other != generation) replace(generations, other, generation);
  change_state(generations, generation, state);
  fc_generations_settle_name(generations, generation);
  if (other && other != generation) fc_generations_drain(generations, other);
  return FC_OK;
}

fc_status_t fc_generations_publish(fc_generations_t *generations,
                                   fc_generation_t *generation,
                                   fc_error_t *err) {
  return take_name(generations, generation, FC_GENERATION_READY, err);
}

fc_status_t fc_generations_describe(fc_generations_t *generations,
                                    fc_generation_t *generation,
                                    fc_error_t *err) {
  return take_name(generations, generation, FC_GENERATION_DESCRIBED, err);
}

void fc_generations_fail(fc_generations_t *generations,
                         fc_generation_t *generation, const fc_error_t *error) {
  FC_ASSERT(generation->state == FC_GENERATION_LOADING);
  generation->state = FC_GENERATION_FAILED;
  generation->error = *error;
  fc_module_release(generation->module);
  generation->module = NULL;
  if (generation->current) {
    fc_generations_settle_name(generations, generation);
    return;
  }
  // If there is no memory, it is not found again, and goes with the next act.
  const fc_status_t status = fc_name_table_put(
      &generations->twins, generation->path, generation->index, NULL);
  (void)status;
}

static bool leads_to(const fc_generations_t *generations,
                     const fc_generation_t *generation) {
  return fc_name_table_find(&generations->twins, generation->path) ==
         generation->index;
}

fc_generation_t *fc_generations_find_twin(const fc_generations_t *generations,
                                          fc_str_t path) {
  const uint32_t index = fc_name_table_find(&generations->twins, path);
  if (index == FC_NAME_NONE) return NULL;
  fc_generation_t *twin = generations->places[index];
  return twin->state == FC_GENERATION_FAILED && !twin->current ? twin : NULL;
}

void fc_generations_drain(fc_generations_t *generations,
                          fc_generation_t *generation) {
  part(generations, generation);
  change_state(generations, generation, FC_GENERATION_DRAINING);
  if (generation->holds == 0) {
    generations->on_idle(generations->context, generation);
  }
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
  part(generations, generation);
  change_state(generations, generation, FC_GENERATION_DRAINING);
  fc_rollback_forget(generations, generation);
  fc_generations_weigh(generations, generation, 0);
  generations->places[index] = NULL;
  generations->used--;
  if (index < generations->first_free) generations->first_free = index;
  if (leads_to(generations, generation)) {
    fc_name_table_remove(&generations->twins, generation->path);
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

// Makes the counts and the series of a function that has no series: no call of it was
// counted, or its series was given up. NULL: there is no memory.
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
                                  generation->label.size + name.size);
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
  // The author of a module can choose names of the same hash, so the count of functions
  // is compared too: the array must not be indexed past its end.
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
  if (--generation->holds == 0 && generation->state == FC_GENERATION_DRAINING) {
    generations->on_idle(generations->context, generation);
  }
}

fc_generation_t *fc_generations_find(const fc_generations_t *generations,
                                     fc_str_t name) {
  const uint32_t index = fc_name_table_find(&generations->names, name);
  return index == FC_NAME_NONE ? NULL : generations->places[index];
}

const fc_generation_t *fc_generations_nearest(
    const fc_generations_t *generations, fc_nearest_t *search) {
  const fc_generation_t *nearest = NULL;
  uint32_t above = place_of(generations, search->wanted), below = above;
  for (uint32_t i = 0; i < FC_NEAREST_MAX; i++) {
    const bool down = below && (i % 2 || above == generations->name_count);
    if (!down && above == generations->name_count) break;
    const uint32_t index = generations->order[down ? --below : above++];
    const fc_generation_t *generation = generations->places[index];
    if (fc_nearest_offer(search, generation->name)) nearest = generation;
  }
  return nearest;
}

// Sets *version, an alias, to the version that the module's policy has for it, if any.
static void configured_alias(const fc_generations_t *generations, fc_str_t name,
                             fc_str_t *version) {
  const fc_generation_t *head = fc_generations_find(generations, name);
  if (!head || !head->policy) return;
  (void)fc_module_policy_alias(head->policy, *version, version);
}

fc_generation_t *fc_generations_find_version(
    const fc_generations_t *generations, fc_str_t name, fc_str_t version) {
  char key[FC_MODULE_NAME_MAX + 24];
  const fc_decision_t *alias =
      fc_is_alias(version)
          ? fc_state_find(generations->decisions, name, version)
          : NULL;
  if (alias) version = alias->version;
  else if (fc_is_alias(version)) configured_alias(generations, name, &version);
  if (name.size > FC_MODULE_NAME_MAX || version.size > 20) return NULL;
  const int size = snprintf(key, sizeof key, "%.*s@%.*s", FC_STR_ARG(name),
                            FC_STR_ARG(version));
  return fc_generations_find(generations, fc_str_make(key, (size_t)size));
}

fc_generation_t *fc_generations_find_path(const fc_generations_t *generations,
                                          fc_str_t path) {
  fc_str_t name, version;
  fc_path_identify(path, &name, &version);
  // Where a path gives no name, the path itself is the name, and may be longer
  // than names.
  return name.size > FC_MODULE_NAME_MAX
             ? fc_generations_find(generations, name)
             : fc_generations_find_version(generations, name, version);
}
