// SPDX-License-Identifier: Apache-2.0
//
// A table of pointers: a generation never moves, and its index is used again
// only after it was removed.
#include "modules/generation.h"

void fc_generations_deinit(fc_generations_t *generations) {
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (generation) fc_generations_remove(generations, generation);
  }
  fc_name_table_deinit(&generations->names);
  fc_free(generations->allocator, (void *)generations->places);
  generations->places = NULL;
  generations->count = 0;
}

static fc_status_t grow(fc_generations_t *generations, fc_error_t *err) {
  const uint32_t count = generations->count ? generations->count * 2 : 8;
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

fc_status_t fc_generations_enter(fc_generations_t *generations, fc_str_t path,
                                 const char *kind,
                                 fc_generation_t **out_generation,
                                 fc_error_t *err) {
  uint32_t index;
  generations->names.allocator = generations->allocator;
  FC_TRY(find_place(generations, &index, err));
  fc_generation_t *made =
      fc_alloc(generations->allocator, sizeof *made + path.size + 1);
  if (!made) return fc_fail_memory(err);
  if (path.size) memcpy(made->text, path.data, path.size);
  made->index = index;
  made->serial = ++generations->made;
  made->origin = FC_PATH_NONE;
  made->kind = kind;
  made->path = made->name = fc_str_make(made->text, path.size);
  (void)fc_module_name(made->path, &made->name, NULL);
  if (!fc_generations_find(generations, made->name)) {
    fc_status_t status =
        fc_name_table_put(&generations->names, made->name, index, err);
    if (status != FC_OK) {
      fc_free(generations->allocator, made);
      return status;
    }
    made->current = true;
  }
  generations->places[index] = made;
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
  fc_generation_t *other = fc_generations_find(generations, generation->name);
  if (other != generation) {
    FC_TRY(fc_name_table_put(&generations->names, generation->name,
                             generation->index, err));
    generation->current = true;
  }
  change_state(generations, generation, state);
  if (other && other != generation) {
    other->current = false;
    fc_generations_drain(generations, other);
  }
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

void fc_generations_fail(fc_generation_t *generation, const fc_error_t *error) {
  FC_ASSERT(generation->state == FC_GENERATION_LOADING);
  generation->state = FC_GENERATION_FAILED;
  generation->error = *error;
  fc_module_release(generation->module);
  generation->module = NULL;
}

static void forget_name(fc_generations_t *generations,
                        fc_generation_t *generation) {
  if (!generation->current) return;
  generation->current = false;
  fc_name_table_remove(&generations->names, generation->name);
}

void fc_generations_drain(fc_generations_t *generations,
                          fc_generation_t *generation) {
  forget_name(generations, generation);
  change_state(generations, generation, FC_GENERATION_DRAINING);
  if (generation->holds == 0) {
    generations->on_idle(generations->context, generation);
  }
}

void fc_generations_remove(fc_generations_t *generations,
                           fc_generation_t *generation) {
  const uint32_t index = generation->index;
  FC_ASSERT(generation->holds == 0);
  forget_name(generations, generation);
  change_state(generations, generation, FC_GENERATION_DRAINING);
  fc_generations_weigh(generations, generation, 0);
  generations->places[index] = NULL;
  generations->used--;
  if (index < generations->first_free) generations->first_free = index;
  fc_module_release(generation->module);
  fc_free(generations->allocator, generation->counts);
  fc_free(generations->allocator, generation);
}

fc_function_counts_t *fc_generations_count(const fc_generations_t *generations,
                                           fc_generation_t *generation,
                                           uint32_t function) {
  if (!generation->counts) {
    generation->counts = fc_alloc_array(
        generations->allocator, fc_module_function_count(generation->module),
        sizeof *generation->counts);
  }
  return generation->counts ? &generation->counts[function] : NULL;
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
    const fc_generations_t *generations, fc_str_t name) {
  const fc_generation_t *nearest = NULL;
  fc_nearest_t search = fc_nearest_begin(name);
  for (uint32_t i = 0; i < generations->count; i++) {
    const fc_generation_t *generation = generations->places[i];
    if (!generation || !generation->current) continue;
    if (fc_nearest_offer(&search, generation->name)) nearest = generation;
  }
  return nearest;
}
