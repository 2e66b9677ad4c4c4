// SPDX-License-Identifier: Apache-2.0
//
// Each time a place is entered or left, the clock is read once. The time since the
// previous reading is added to the current row's own time. So the own times of all rows
// add up to the time of the call, even with recursion.
#include "base/profile.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"

#define NO_ROW UINT32_MAX

fc_profile_t *fc_profile_create(fc_allocator_t allocator) {
  fc_profile_t *profile = fc_alloc(allocator, sizeof *profile);
  if (profile) profile->allocator = allocator;
  return profile;
}

void fc_profile_destroy(fc_profile_t *profile) {
  if (profile) fc_free(profile->allocator, profile);
}

static void note_time(fc_profile_t *profile) {
  const uint64_t now_ns = fc_clock_ns();
  profile->rows[profile->current].self_ns += now_ns - profile->noted_ns;
  profile->noted_ns = now_ns;
}

static uint32_t add_row(fc_profile_t *profile, uint32_t parent,
                        const fc_profile_place_t *place) {
  if (profile->row_count == FC_PROFILE_ROWS) return NO_ROW;
  const uint32_t index = profile->row_count++;
  fc_profile_row_t *row = &profile->rows[index];
  *row = (fc_profile_row_t){.kind = place->kind,
                            .index = place->index,
                            .key = place->key,
                            .parent = parent};
  memcpy(row->grid, place->grid, sizeof row->grid);
  if (index) {
    row->sibling = profile->rows[parent].child;
    profile->rows[parent].child = index;
  }
  const fc_str_t name = fc_utf8_cut(place->name, sizeof row->name);
  if (name.size) memcpy(row->name, name.data, name.size);
  row->name_size = (uint32_t)name.size;
  if (!name.size) {
    const int size =
        snprintf(row->name, sizeof row->name, ":%" PRIu32, place->index);
    row->name_size = (uint32_t)size;
  }
  return index;
}

static bool is_at(const fc_profile_row_t *row,
                  const fc_profile_place_t *place) {
  return row->key == place->key && row->index == place->index &&
         row->kind == place->kind &&
         memcmp(row->grid, place->grid, sizeof row->grid) == 0;
}

static uint32_t find_row(fc_profile_t *profile,
                         const fc_profile_place_t *place) {
  const fc_profile_row_t *rows = profile->rows;
  for (uint32_t i = profile->current; i; i = rows[i].parent) {
    if (is_at(&rows[i], place)) return i;
  }
  for (uint32_t i = rows[profile->current].child; i; i = rows[i].sibling) {
    if (is_at(&rows[i], place)) return i;
  }
  return add_row(profile, profile->current, place);
}

void fc_profile_begin(fc_profile_t *profile, fc_str_t name) {
  const fc_profile_place_t call = {.kind = FC_PROFILE_CALL, .name = name};
  profile->row_count = profile->span_count = 0;
  profile->depth = profile->beyond = 0;
  profile->dropped = 0;
  profile->open = NULL;
  profile->current = add_row(profile, 0, &call);
  profile->rows[0].count = 1;
  profile->began_ns = profile->noted_ns = fc_clock_ns();
}

void fc_profile_enter(fc_profile_t *profile, const fc_profile_place_t *place) {
  note_time(profile);
  if (profile->depth == FC_PROFILE_DEPTH) {
    profile->beyond++;
    profile->dropped++;
    return;
  }
  profile->stack[profile->depth++] = (uint16_t)profile->current;
  const uint32_t index = find_row(profile, place);
  if (index == NO_ROW) {
    profile->dropped++;
    return;
  }
  fc_profile_row_t *row = &profile->rows[index];
  row->count++;
  row->bytes += place->bytes;
  profile->current = index;
  if (row->kind == FC_PROFILE_DISPATCH &&
      profile->span_count < FC_PROFILE_SPANS) {
    profile->open = &profile->spans[profile->span_count++];
    *profile->open = (fc_profile_span_t){
        .row = index, .began_ns = profile->noted_ns - profile->began_ns};
  }
}

void fc_profile_leave(fc_profile_t *profile) {
  note_time(profile);
  if (profile->beyond) {
    profile->beyond--;
    return;
  }
  if (profile->open) {  // a dispatch runs: no place is entered inside it
    profile->open->took_ns =
        profile->noted_ns - profile->began_ns - profile->open->began_ns;
    profile->open = NULL;
  }
  profile->current = profile->stack[--profile->depth];
}

void fc_profile_end(fc_profile_t *profile) {
  profile->beyond = 0;
  while (profile->depth) fc_profile_leave(profile);
  note_time(profile);
}

void fc_profile_totals(const fc_profile_t *profile,
                       uint64_t out_ns[FC_PROFILE_ROWS]) {
  const fc_profile_row_t *rows = profile->rows;
  for (uint32_t i = 0; i < profile->row_count; i++) out_ns[i] = rows[i].self_ns;
  for (uint32_t i = profile->row_count; i-- > 1;) {
    out_ns[rows[i].parent] += out_ns[i];
  }
}

const char *fc_profile_kind_name(fc_profile_kind_t kind) {
  static const char *const kNames[FC_PROFILE_KIND_COUNT] = {
      "call", "function", "import", "dispatch"};
  return kNames[kind];
}
