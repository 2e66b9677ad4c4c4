// SPDX-License-Identifier: Apache-2.0
#include "pool/region.h"

fc_status_t fc_region_init(fc_region_t *region, fc_allocator_t allocator,
                           uint32_t slot_count, fc_error_t *err) {
  *region = (fc_region_t){.allocator = allocator, .slot_count = slot_count};
  region->slots = fc_alloc_array(allocator, slot_count, sizeof *region->slots);
  if (!region->slots) return fc_fail_memory(err);
  fc_ready_init(&region->ready);
  fc_done_init(&region->done);
  region->limits = fc_limits_default();
  return FC_OK;
}

void fc_region_deinit(fc_region_t *region) {
  if (!region->slots) return;
  for (uint32_t i = 0; i < FC_SERVED_CHUNKS && region->served[i]; i++) {
    for (uint32_t j = 0; j < FC_SERVED_CHUNK; j++) {
      fc_region_remove(region, i * FC_SERVED_CHUNK + j);
    }
    fc_free(region->allocator, (void *)region->served[i]);
  }
  fc_ready_deinit(&region->ready);
  fc_free(region->allocator, region->slots);
  *region = (fc_region_t){0};
}

fc_status_t fc_region_add(fc_region_t *region, uint32_t index,
                          fc_module_t *module, uint32_t tiles,
                          fc_error_t *err) {
  const uint32_t chunk = index / FC_SERVED_CHUNK;
  if (chunk >= FC_SERVED_CHUNKS) return fc_fail_memory(err);
  if (!region->served[chunk]) {
    region->served[chunk] = fc_alloc_array(region->allocator, FC_SERVED_CHUNK,
                                           sizeof *region->served[chunk]);
    if (!region->served[chunk]) return fc_fail_memory(err);
  }
  fc_served_t *served =
      fc_alloc(region->allocator,
               sizeof *served + region->worker_count * sizeof(void *));
  if (!served) return fc_fail_memory(err);
  served->module = fc_module_retain(module);
  served->tiles = tiles;
  served->count = region->worker_count;
  fc_references_init(&served->references, region->allocator);
  region->served[chunk][index % FC_SERVED_CHUNK] = served;
  return FC_OK;
}

void fc_region_remove(fc_region_t *region, uint32_t index) {
  const uint32_t chunk = index / FC_SERVED_CHUNK;
  if (chunk >= FC_SERVED_CHUNKS || !region->served[chunk]) return;
  fc_served_t *served = fc_region_find(region, index);
  if (!served) return;
  const fc_backend_t *backend = fc_module_get_backend(served->module);
  fc_references_deinit(&served->references);
  for (uint32_t i = 0; i < served->count; i++) {
    if (served->instances[i]) backend->instance_destroy(served->instances[i]);
  }
  region->served[chunk][index % FC_SERVED_CHUNK] = NULL;
  fc_module_release(served->module);
  fc_free(region->allocator, served);
}

fc_status_t fc_region_free(fc_region_t *region, uint32_t index) {
  fc_references_free(fc_region_references(region, index));
  return FC_OK;
}

bool fc_region_push_done(fc_region_t *region, const fc_slot_t *slot) {
  return fc_done_push(&region->done, region->slots,
                      (uint32_t)(slot - region->slots));
}

void fc_region_hand_over(fc_region_t *region, const fc_slot_t *slot) {
  if (fc_region_push_done(region, slot)) region->wake(region->wake_context);
}

const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index) {
  return fc_region_find(region, index)->module;
}

bool fc_region_wants_guard(const fc_region_t *region,
                           const fc_function_t *function) {
  if (region->guard != FC_GUARD_AUTO) return region->guard == FC_GUARD_ON;
  // Not in a thread: access to the unmapped page would end the whole server.
  return region->is_process && function->signature->trusts_dims;
}
