// SPDX-License-Identifier: Apache-2.0
#include "modules/counts.h"

#include "config/limits.h"

fc_series_t *fc_series_take(fc_all_series_t *all, fc_allocator_t allocator,
                            size_t name_size) {
  const bool own = all->count < all->most && name_size <= FC_LIMIT_LABEL;
  if (!own && all->others) return all->others;
  fc_series_t *series = fc_alloc(allocator, sizeof *series);
  if (!series) return NULL;
  if (own) all->count++;
  else all->others = series;
  return series;
}

void fc_counts_free(fc_all_series_t *all, fc_allocator_t allocator,
                    fc_function_counts_t *counts, size_t count) {
  for (size_t i = 0; counts && i < count; i++) {
    if (!counts[i].series || counts[i].series == all->others) continue;
    fc_free(allocator, counts[i].series);
    all->count--;
  }
  fc_free(allocator, counts);
}

void fc_all_series_deinit(fc_all_series_t *all, fc_allocator_t allocator) {
  fc_free(allocator, all->others);
  all->others = NULL;
}
