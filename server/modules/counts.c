// SPDX-License-Identifier: Apache-2.0
#include "modules/counts.h"

#include <time.h>

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

void fc_series_note_trace(fc_series_t *series, fc_allocator_t allocator,
                          const fc_trace_t *trace, uint64_t spent_ns) {
  struct timespec now;
  if (!series->exemplars) {
    series->exemplars = fc_alloc_array(allocator, FC_HISTOGRAM_BUCKETS,
                                       sizeof *series->exemplars);
    if (!series->exemplars) return;
  }
  fc_exemplar_t *exemplar = &series->exemplars[fc_histogram_bucket(spent_ns)];
  clock_gettime(CLOCK_REALTIME, &now);
  exemplar->ns = spent_ns;
  exemplar->unix_ns =
      (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  memcpy(exemplar->trace, trace->id, sizeof exemplar->trace);
}

static void free_series(fc_series_t *series, fc_allocator_t allocator) {
  fc_free(allocator, series->exemplars);
  fc_free(allocator, series);
}

void fc_counts_free(fc_all_series_t *all, fc_allocator_t allocator,
                    fc_function_counts_t *counts, size_t count) {
  for (size_t i = 0; counts && i < count; i++) {
    if (!counts[i].series || counts[i].series == all->others) continue;
    free_series(counts[i].series, allocator);
    all->count--;
  }
  fc_free(allocator, counts);
}

void fc_all_series_deinit(fc_all_series_t *all, fc_allocator_t allocator) {
  if (all->others) free_series(all->others, allocator);
  all->others = NULL;
}
