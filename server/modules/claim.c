// SPDX-License-Identifier: Apache-2.0
//
// The table of names borrows the names' bytes from generations. So a name must lead to
// another generation before its generation is freed.
#include "modules/claim.h"

#include <stdio.h>

#include "module/files.h"
#include "modules/policy.h"

void fc_claim_identify(fc_generation_t *made) {
  fc_str_t name, version;
  const fc_str_t path = made->file.path;
  const bool versioned = fc_path_is_version(path, &name, &version);
  char *text = made->text + path.size + 1;
  fc_path_identify(path, &made->claim.name, &made->claim.version);
  const int size =
      snprintf(text, path.size + 3, "%.*s@%.*s", FC_STR_ARG(made->claim.name),
               FC_STR_ARG(made->claim.version));
  made->claim.key = fc_str_make(text, (size_t)size);
  made->claim.label = versioned ? made->claim.key : made->claim.name;
}

void fc_generations_prefer(const fc_generations_t *generations,
                           fc_generation_t *generation) {
  const fc_decision_t *decision = fc_decisions_find(
      generations->decisions, generation->claim.name, FC_STR(""));
  generation->claim.preferred =
      decision && fc_str_equal(decision->version, generation->claim.version);
}

// A name leads to its version with the highest rank. 0: failed or draining; 1: being
// loaded, and no request waits for it; 2: can be called or waited for; 3: is also
// preferred.
static int rank_of(const fc_generation_t *generation) {
  const bool usable = fc_generation_state(generation) == FC_GENERATION_READY ||
                      fc_generation_is_coming(generation);
  if (!usable) return fc_generation_state(generation) == FC_GENERATION_LOADING;
  return generation->claim.preferred ? 3 : 2;
}

static bool is_better(const fc_generation_t *a, const fc_generation_t *b) {
  const int difference = rank_of(a) - rank_of(b);
  if (difference) return difference > 0;
  return fc_version_compare(a->claim.version, b->claim.version) > 0;
}

// Makes `name`, which is in the table, lead to a generation. The table borrows the name's
// bytes from that generation, because the previous one may be freed.
static void lead(fc_generations_t *generations, fc_str_t name,
                 const fc_generation_t *to) {
  const fc_status_t status =
      fc_name_table_put(&generations->names, name, to->index, NULL);
  FC_ASSERT(status == FC_OK);  // putting a name that is there takes no memory
}

// Returns the position of the name in the sorted names, or the position at which it would
// be.
static uint32_t place_of(const fc_generations_t *generations, fc_str_t name) {
  uint32_t low = 0, high = generations->name_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t index = generations->order[middle];
    if (fc_str_compare(generations->places[index]->claim.name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns the entry of a name that a current generation has.
static uint32_t *entry_of(const fc_generations_t *generations, fc_str_t name) {
  const uint32_t at = place_of(generations, name);
  FC_ASSERT(at < generations->name_count);
  return &generations->order[at];
}

static void enter_order(fc_generations_t *generations,
                        const fc_generation_t *generation) {
  uint32_t *at =
      generations->order + place_of(generations, generation->claim.name);
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
  for (const fc_generation_t *g = generation->claim.sibling; g != generation;
       g = g->claim.sibling) {
    if (is_better(g, best)) best = g;
  }
  lead(generations, best->claim.name, best);
  *entry_of(generations, best->claim.name) = best->index;
}

fc_status_t fc_claim_join(fc_generations_t *generations,
                          fc_generation_t *generation, fc_error_t *err) {
  fc_name_table_t *names = &generations->names;
  fc_generation_t *head =
      fc_generations_find(generations, generation->claim.name);
  FC_TRY(
      fc_name_table_put(names, generation->claim.key, generation->index, err));
  if (!head) {
    fc_status_t status = fc_name_table_put(names, generation->claim.name,
                                           generation->index, err);
    if (status != FC_OK) {
      fc_name_table_remove(names, generation->claim.key);
      return status;
    }
    enter_order(generations, generation);
  }
  generation->claim.sibling = head ? head->claim.sibling : generation;
  if (head) head->claim.sibling = generation;
  generation->claim.current = true;
  fc_generations_settle_name(generations, generation);
  return FC_OK;
}

static fc_generation_t *before(fc_generation_t *generation) {
  fc_generation_t *g = generation;
  while (g->claim.sibling != generation) g = g->claim.sibling;
  return g;
}

void fc_claim_replace(fc_generations_t *generations, fc_generation_t *other,
                      fc_generation_t *generation) {
  fc_generation_t *previous = before(other);
  generation->claim.sibling =
      other->claim.sibling == other ? generation : other->claim.sibling;
  if (previous != other) previous->claim.sibling = generation;
  other->claim.sibling = NULL;
  other->claim.current = false;
  generation->claim.current = true;
  lead(generations, generation->claim.key, generation);
}

void fc_claim_leave(fc_generations_t *generations,
                    fc_generation_t *generation) {
  if (!generation->claim.current) return;
  fc_generation_t *previous = before(generation);
  generation->claim.current = false;
  fc_name_table_remove(&generations->names, generation->claim.key);
  if (previous == generation) {
    fc_name_table_remove(&generations->names, generation->claim.name);
    leave_order(generations, generation->claim.name);
  } else {
    previous->claim.sibling = generation->claim.sibling;
    fc_generations_settle_name(generations, previous);
  }
  generation->claim.sibling = NULL;
}

// ---------------------------------------------------------------------------
// Finding the generation of a name

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
    if (fc_nearest_offer(search, generation->claim.name)) nearest = generation;
  }
  return nearest;
}

// If *version is an alias in the module's policy, replaces it by the alias's version.
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
          ? fc_decisions_find(generations->decisions, name, version)
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
  // If a path contains no name, the path itself is the name, and may be longer than other
  // names.
  return name.size > FC_MODULE_NAME_MAX
             ? fc_generations_find(generations, name)
             : fc_generations_find_version(generations, name, version);
}
