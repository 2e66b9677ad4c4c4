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

static fc_size_counts_t *find_size(fc_function_counts_t *counts,
                                   fc_allocator_t allocator, uint64_t rows) {
  if (!counts->sizes) {
    counts->sizes =
        fc_alloc_array(allocator, FC_COUNTS_SIZES, sizeof *counts->sizes);
  }
  for (size_t i = 0; counts->sizes && i < FC_COUNTS_SIZES; i++) {
    fc_size_counts_t *size = &counts->sizes[i];
    if (!size->rows) size->rows = rows;
    if (size->rows == rows) return size;
  }
  return NULL;
}

void fc_counts_note_size(fc_function_counts_t *counts, fc_allocator_t allocator,
                         const fc_batched_t *batch,
                         const uint64_t spent_ns[FC_STAGE_COUNT]) {
  fc_size_counts_t *size = find_size(counts, allocator, batch->rows);
  if (!size) return;
  size->executions += FC_BATCH_SHARES / batch->calls;
  size->decode_ns += spent_ns[FC_STAGE_DECODE];
  size->call_ns += spent_ns[FC_STAGE_CALL] / batch->calls;
  size->encode_ns += spent_ns[FC_STAGE_ENCODE];
}

bool fc_counts_next_size(const fc_function_counts_t *counts,
                         fc_size_counts_t *size) {
  const uint64_t before = size->rows;
  if (!counts->sizes && !before && counts->succeeded) {
    *size = (fc_size_counts_t){1, counts->succeeded, counts->decode_ns,
                               counts->call_ns, counts->encode_ns};
    return true;
  }
  for (size_t i = 0; counts->sizes && i < FC_COUNTS_SIZES; i++) {
    const fc_size_counts_t *it = &counts->sizes[i];
    const bool first = size->rows == before;
    if (it->rows > before && (first || it->rows < size->rows)) *size = *it;
  }
  if (size->rows == before) return false;
  size->executions /= FC_BATCH_SHARES;
  return true;
}

void fc_counts_give_series(fc_all_series_t *all, fc_allocator_t allocator,
                           fc_function_counts_t *counts, size_t count) {
  for (size_t i = 0; counts && i < count; i++) {
    if (counts[i].series && counts[i].series != all->others) {
      free_series(counts[i].series, allocator);
      all->count--;
    }
    counts[i].series = NULL;
  }
}

void fc_counts_free(fc_all_series_t *all, fc_allocator_t allocator,
                    fc_function_counts_t *counts, size_t count) {
  fc_counts_give_series(all, allocator, counts, count);
  for (size_t i = 0; counts && i < count; i++) {
    fc_free(allocator, counts[i].sizes);
  }
  fc_free(allocator, counts);
}

uint64_t fc_counts_names(const fc_module_t *module) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < fc_module_function_count(module); i++) {
    const fc_str_t name = fc_module_function(module, i)->name;
    for (size_t k = 0; k < name.size; k++) {
      hash = (hash ^ (uint8_t)name.data[k]) * 1099511628211u;
    }
    // A byte that no name has, as an end mark.
    hash = (hash ^ 256u) * 1099511628211u;
  }
  return hash;
}

void fc_all_series_deinit(fc_all_series_t *all, fc_allocator_t allocator) {
  if (all->others) free_series(all->others, allocator);
  all->others = NULL;
}
