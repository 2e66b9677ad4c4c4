// SPDX-License-Identifier: Apache-2.0
#include "state/slab.h"

#include <unistd.h>

#include "pool/shared.h"

// The most bytes that are given back at a time. The kernel takes long for many, so the
// nursery runs other orders in between.
#define PART ((uint64_t)16 << 20)
#define SPARE ((uint64_t)16 << 20)  // as FC_RING_SPARE
#define PLACES 64                   // the most places given back at a time

static void free_places(fc_slab_t *slab, fc_store_place_t **list) {
  while (*list) {
    fc_store_place_t *place = *list;
    *list = place->next;
    fc_free(slab->allocator, place);
  }
}

static void free_slab(fc_slab_t *slab) {
  fc_slab_t **at = slab->list;
  while (*at != slab) at = &(*at)->next;
  *at = slab->next;
  free_places(slab, &slab->dead);
  free_places(slab, &slab->punched);
  close(slab->claim.file);
  fc_free(slab->allocator, slab);
}

void fc_slab_release(fc_slab_t *slab) {
  if (slab && --slab->holds == 0) free_slab(slab);
}

void fc_slabs_stop(fc_slab_t *list) {
  for (fc_slab_t *slab = list; slab; slab = slab->next) slab->closing = true;
}

void fc_slabs_deinit(fc_slab_t **list) {
  while (*list) free_slab(*list);
}

// ---------------------------------------------------------------------------
// Giving memory back to the system

// Gives up to PART bytes of a place back, or up to PLACES small places. False: no place
// is left.
static bool punch_part(fc_slab_t *slab) {
  for (unsigned i = 0; i < PLACES; i++) {
    const fc_store_place_t *place = slab->walk;
    if (!place) return false;
    if (fc_shared_scrub(slab->claim.file, place->page, place->size, PART,
                        &slab->at)) {
      return true;
    }
    slab->at = 0;
    slab->walk = place->next;
  }
  return true;
}

// Runs on the nursery's thread.
static void punch(fc_order_t *order) {
  fc_slab_t *slab = order->context;
  if (punch_part(slab)) fc_nursery_order(slab->nursery, order);
  else fc_nursery_reply(slab->nursery, order);
}

static void begin_punching(fc_slab_t *slab) {
  slab->punched = slab->walk = slab->dead;
  slab->dead = NULL;
  slab->at = 0;
}

static void free_punched(fc_slab_t *slab) {
  for (const fc_store_place_t *at = slab->punched; at; at = at->next) {
    slab->claim.allowed -= at->size;
  }
  free_places(slab, &slab->punched);
}

static void order_punching(fc_slab_t *slab) {
  if (slab->ordered || slab->closing || !slab->dead) return;
  begin_punching(slab);
  if (!slab->nursery) {
    while (punch_part(slab)) continue;
    free_punched(slab);
    return;
  }
  slab->ordered = true;
  slab->holds++;
  fc_nursery_order(slab->nursery, &slab->order);
}

static void on_punched(fc_order_t *order) {
  fc_slab_t *slab = order->context;
  slab->ordered = false;
  free_punched(slab);
  order_punching(slab);
  fc_slab_release(slab);
}

// ---------------------------------------------------------------------------
// Slabs, grants and places

static fc_status_t create(fc_allocator_t allocator, fc_slab_t **out_slab,
                          fc_error_t *err) {
  fc_slab_t *slab = fc_alloc(allocator, sizeof *slab);
  if (!slab) return fc_fail_memory(err);
  const fc_status_t status = fc_store_make_slab(&slab->claim.file, err);
  if (status == FC_OK) *out_slab = slab;
  else fc_free(allocator, slab);
  return status;
}

fc_status_t fc_slab_find(fc_slab_t **list, uint64_t generation,
                         fc_allocator_t allocator, uint64_t serial,
                         fc_nursery_t *nursery, fc_slab_t **out_slab,
                         fc_error_t *err) {
  fc_slab_t *slab = *list;
  while (slab && (slab->generation != generation || slab->spoiled ||
                  slab->cursor > FC_STORE_SIZE_MAX / 2)) {
    slab = slab->next;
  }
  if (slab) {
    *out_slab = fc_slab_hold(slab);
    return FC_OK;
  }
  FC_TRY(create(allocator, &slab, err));
  // A value without bytes has the offset 0. So no place may have the first page.
  *slab = (fc_slab_t){.claim = {.file = slab->claim.file, .serial = serial},
                      .generation = generation,
                      .next = *list,
                      .list = list,
                      .allocator = allocator,
                      .nursery = nursery,
                      .cursor = FC_STORE_PAGE,
                      .holds = 1,
                      .order = {punch, on_punched, slab, NULL}};
  *list = *out_slab = slab;
  return FC_OK;
}

bool fc_slab_grant(fc_slab_t *slab, uint64_t size, uint64_t *out_page) {
  if (size > FC_STORE_SIZE_MAX - slab->cursor) return false;
  *out_page = slab->cursor;
  slab->cursor += size;
  return true;
}

void fc_slab_return(fc_slab_t *slab, uint64_t page, uint64_t end) {
  if (slab->cursor == end) slab->cursor = page;
}

fc_store_place_t *fc_slab_place(fc_slab_t *slab, uint64_t page, uint64_t size) {
  fc_store_place_t *place = fc_alloc(slab->allocator, sizeof *place);
  if (!place) return NULL;
  *place = (fc_store_place_t){.page = page, .size = size, .counts = 1};
  slab->claim.allowed += size;
  return place;
}

void fc_slab_leave(fc_slab_t *slab, fc_store_place_t *place) {
  if (!place || --place->counts) return;
  place->next = slab->dead;
  slab->dead = place;
  order_punching(slab);
}

bool fc_slab_is_greedy(const fc_slab_t *slab) {
  const uint64_t taken = fc_shared_taken(slab->claim.file);
  return taken > slab->claim.allowed + SPARE;
}

void fc_slab_spoil(fc_slab_t *slab) {
  slab->spoiled = true;
  fc_slab_clear(slab, 0, FC_STORE_SIZE_MAX);
}

void fc_slab_clear(fc_slab_t *slab, uint64_t page, uint64_t size) {
  if (!size) return;
  fc_store_place_t *place = fc_slab_place(slab, page, size);
  if (place) fc_slab_leave(slab, place);
  else fc_store_punch(slab->claim.file, page, size);
}
