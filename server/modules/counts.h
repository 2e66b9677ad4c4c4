// SPDX-License-Identifier: Apache-2.0
//
// Counts of each function's calls, for /v2 and /metrics. The functions of a generation
// have their counts in one array. A series takes much memory and many lines of /metrics.
// So only the functions that are called first have their own (fc_all_series_t.most, and
// fc_series_take for long names); all others share one. Loop thread.
#ifndef FARCALL_SERVER_MODULES_COUNTS_H_
#define FARCALL_SERVER_MODULES_COUNTS_H_

#include "farcall/module.h"
#include "obs/metrics.h"
#include "pool/slot.h"

// The index in `answers` for requests whose client left before the answer.
#define FC_SERIES_LEFT FC_CODE_COUNT

// How many shares an execution has: each call in a batch gets as many. Divisible by every
// number of calls up to FC_BATCH_CALLS.
#define FC_BATCH_SHARES 720720u
#define FC_BATCH_SIZES 5  // 1, 2, and up to 4, 8 and 16 calls

typedef struct fc_series_t {
  // POSTs to the function by the code of their answer (FC_CODE_NONE: with results).
  // Requests that only check their arguments do not count.
  uint64_t answers[FC_CODE_COUNT + 1];
  uint64_t received;  // bytes of the bodies of all these requests that arrived
  uint64_t sent;      // bytes of the bodies of their answers
  // For calls with results. `joined`: calls that were computed in a batch. `executions`:
  // how often the function was called, by the size of the batch; each call adds its
  // shares, of which FC_BATCH_SHARES are one execution. So it does to `executed`, their
  // sum, to `rows`, where a call without has one, and to `padding`, the rows that no
  // client sent.
  uint64_t joined;
  uint64_t executions[FC_BATCH_SIZES];
  uint64_t executed;
  uint64_t rows;
  uint64_t padding;
  // For calls with results whose answer is sent as a whole: the time from the first byte
  // of the request to the answer, and the time in each stage.
  fc_histogram_t duration;
  fc_histogram_t stages[FC_STAGE_COUNT];
  // For calls whose answer is sent in parts: the sum of the times in each stage. The last
  // element is the sum of the times from the first byte of the request to the answer.
  uint64_t parts_ns[FC_STAGE_COUNT + 1];
  // One for each bucket of `duration`; NULL: no call belonged to a sampled trace, or
  // there was no memory.
  fc_exemplar_t *exemplars;
} fc_series_t;

// The most sizes of batches, in rows, that a function counts separately: the first that
// occur.
#define FC_COUNTS_SIZES 16

// The executions of a function with one number of rows: how many there were, in shares,
// and how long they took.
typedef struct fc_size_counts_t {
  uint64_t rows;
  uint64_t executions;
  uint64_t decode_ns;
  uint64_t call_ns;
  uint64_t encode_ns;
} fc_size_counts_t;

// How many calls of one function succeeded or failed, and how long they took. A call
// counts once it was admitted, even if its deadline passes in the queue or no worker
// can run it. Calls that only check their arguments do not count.
typedef struct fc_function_counts_t {
  uint64_t succeeded;
  uint64_t executions;  // in shares
  uint64_t rows;        // in shares, too; a call without rows counts as one row
  uint64_t failed;
  // Sums over these calls: from the first byte of the request to the call's end.
  uint64_t success_ns;
  uint64_t fail_ns;
  uint64_t queue_ns;  // of the calls that succeeded, the time in each stage
  uint64_t decode_ns;
  uint64_t call_ns;
  uint64_t encode_ns;
  uint64_t last_ns;         // when the last call ended, on fc_clock_ns' clock
  fc_size_counts_t *sizes;  // NULL: no call had rows, or there was no memory
  // The function's own series or the shared one; NULL: the next call takes one
  // (fc_series_take).
  fc_series_t *series;
} fc_function_counts_t;

// The series of a server. Zeroed, except `most`: there are no series.
typedef struct fc_all_series_t {
  uint32_t most;        // functions that may have a series of their own
  uint32_t count;       // functions that have one
  fc_series_t *others;  // of all other functions; NULL: none was called
} fc_all_series_t;

// Returns a series for a function that has none. The function gets its own series while
// fewer than `most` functions have one, and if `name_size`, the size of its names in
// /metrics, is at most FC_LIMIT_LABEL; otherwise it gets the shared one. NULL: no memory.
fc_series_t *fc_series_take(fc_all_series_t *all, fc_allocator_t allocator,
                            size_t name_size);
// Notes a call with its time as an exemplar, if the call belongs to a sampled trace.
void fc_series_note_trace(fc_series_t *series, fc_allocator_t allocator,
                          const fc_trace_t *trace, uint64_t spent_ns);
// Counts a call with results as its share of the batch in which it was computed.
void fc_counts_note_size(fc_function_counts_t *counts, fc_allocator_t allocator,
                         const fc_batched_t *batch,
                         const uint64_t spent_ns[FC_STAGE_COUNT]);
// Sets *size to the size with the next larger number of rows; its executions are whole
// numbers. *size must be zeroed before the first call. False: there is no larger one.
bool fc_counts_next_size(const fc_function_counts_t *counts,
                         fc_size_counts_t *size);
// Releases the series of `count` functions; their counts for /v2 stay.
void fc_counts_give_series(fc_all_series_t *all, fc_allocator_t allocator,
                           fc_function_counts_t *counts, size_t count);
// Frees the data of `count` functions, and their array. NULL is allowed.
void fc_counts_free(fc_all_series_t *all, fc_allocator_t allocator,
                    fc_function_counts_t *counts, size_t count);
void fc_all_series_deinit(fc_all_series_t *all, fc_allocator_t allocator);
// Returns a hash of the names of a module's functions, in order. Counts are kept if the
// next module of a generation has the same hash.
uint64_t fc_counts_names(const fc_module_t *module);

#endif  // FARCALL_SERVER_MODULES_COUNTS_H_
