// SPDX-License-Identifier: Apache-2.0
//
// What is counted of each function's calls, as /v2 and /metrics tell. Functions of
// one generation have their counts in one array. What takes much memory, and many
// lines of /metrics, only so many functions have of their own: those that were
// called first. All others share one. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_COUNTS_H_
#define FARCALL_SERVER_MODULES_COUNTS_H_

#include "farcall/module.h"
#include "obs/metrics.h"
#include "pool/slot.h"

// The place behind the codes: the client has left.
#define FC_SERIES_LEFT FC_CODE_COUNT

typedef struct fc_series_t {
  // Requests answered, by code; FC_CODE_NONE: with results.
  uint64_t answers[FC_CODE_COUNT + 1];
  uint64_t received;  // bytes of the bodies of all these requests
  uint64_t sent;      // and of their answers
  // Of calls with results: from the first byte of the request to the answer, and
  // the time in each stage.
  fc_histogram_t duration;
  fc_histogram_t stages[FC_STAGE_COUNT];
  // Of the buckets of `duration`; NULL: no call belonged to a trace.
  fc_exemplar_t *exemplars;
} fc_series_t;

// How many calls of one function were answered, and their times. Counted are calls
// that were admitted, whether they ended in a worker, for lack of one or because
// their deadline passed in the queue; but not those that only checked their
// arguments.
typedef struct fc_function_counts_t {
  uint64_t succeeded;
  uint64_t failed;
  // Of these calls together, from the first byte of the request to the result.
  uint64_t success_ns;
  uint64_t fail_ns;
  uint64_t queue_ns;  // of the calls that succeeded, the time in each stage
  uint64_t decode_ns;
  uint64_t call_ns;
  uint64_t encode_ns;
  uint64_t last_ns;     // when the last call ended, on fc_clock_ns' clock
  fc_series_t *series;  // its own, or that of `all`; NULL: nothing was counted
} fc_function_counts_t;

// The series of a server. Zeroed but for `most`: there are none.
typedef struct fc_all_series_t {
  uint32_t most;        // functions that have one of their own
  uint32_t count;       // functions that do
  fc_series_t *others;  // of all other functions; NULL: there are none
} fc_all_series_t;

// The series of a function that has none yet. `name_size` is the size of the names
// it would be shown under: long ones have no series of their own. NULL: no memory.
fc_series_t *fc_series_take(fc_all_series_t *all, fc_allocator_t allocator,
                            size_t name_size);
// A call took so long, and belongs to a trace that is sampled.
void fc_series_note_trace(fc_series_t *series, fc_allocator_t allocator,
                          const fc_trace_t *trace, uint64_t spent_ns);
// Gives up the series of `count` functions; what /v2 tells of them stays.
void fc_counts_give_series(fc_all_series_t *all, fc_allocator_t allocator,
                           fc_function_counts_t *counts, size_t count);
// Frees what `count` functions have, and their array. NULL is allowed.
void fc_counts_free(fc_all_series_t *all, fc_allocator_t allocator,
                    fc_function_counts_t *counts, size_t count);
void fc_all_series_deinit(fc_all_series_t *all, fc_allocator_t allocator);
// A hash of the names of a module's functions in their order, by which counts know
// whose they are.
uint64_t fc_counts_names(const fc_module_t *module);

#endif  // FARCALL_SERVER_MODULES_COUNTS_H_
