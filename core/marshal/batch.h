// SPDX-License-Identifier: Apache-2.0
//
// Buckets: functions that each compute a certain number of rows. A call of any number of
// rows is made by calls of buckets. A plan says how often each bucket is called, so that
// the sum of their costs is the least. Costs are learned from calls; they change how long
// a call takes, but no answer. rows.c makes a call by a plan. This file plans for a
// number of rows; stack.h puts the rows of several calls together. Any thread.
#ifndef FARCALL_MARSHAL_BATCH_H_
#define FARCALL_MARSHAL_BATCH_H_

#include <stdatomic.h>

#include "marshal/plan.h"

// For up to this many rows, a plan is the cheapest possible one. For more rows, most
// are given to the bucket with the least cost for each row.
#define FC_BATCH_PLANNED 512
#define FC_BATCH_LEARNED 3  // calls after which a cost is believed

typedef struct fc_bucket_cost_t {
  int64_t rows;   // above 0
  uint64_t cost;  // above 0, at most FC_BATCH_COST_MAX
} fc_bucket_cost_t;

#define FC_BATCH_COST_MAX (UINT64_C(1) << 50)

// Sets out_uses[i] to the number of calls of bucket i, so that together they have at
// least `rows` rows. `count` is the number of buckets, at most FC_SIZES_MAX; `rows` is
// at least 1. Of buckets of equal cost, the first one is used.
void fc_batch_plan(const fc_bucket_cost_t *buckets, uint32_t count,
                   int64_t rows, uint64_t *out_uses);

// A bucket, and the cost of its calls. The atomics are relaxed: losing a measurement does
// no harm.
typedef struct fc_bucket_t {
  int64_t rows;
  uint32_t row;  // of the signature's sizes
  _Atomic(uint32_t) calls;
  _Atomic(uint64_t) cost_ns;
} fc_bucket_t;

struct fc_batch_t {
  bool on;  // rows are batched; set before the module is shared (module.h)
  // Set when the result of a row depended on the other rows of its call. From then on
  // calls use only the smallest bucket, with which the rows had been compared. May be set
  // at any time; relaxed.
  _Atomic(bool) apart;
  uint64_t delay_ns;  // how long a call waits for other calls; 0: not at all
  uint32_t name;      // of the dim that is the number of rows
  uint32_t count;
  fc_bucket_t buckets[];  // by their rows
};

static inline bool fc_batch_is_apart(const fc_batch_t *batch) {
  return atomic_load_explicit(&batch->apart, memory_order_relaxed);
}
static inline void fc_batch_part(fc_batch_t *batch) {
  atomic_store_explicit(&batch->apart, true, memory_order_relaxed);
}

// Makes the buckets of a function whose rows may be batched. NULL when out of memory.
fc_batch_t *fc_batch_create(const fc_signature_t *signature,
                            fc_allocator_t allocator);
// Notes that a call of bucket `index` took `ns`.
void fc_batch_learn(fc_batch_t *batch, uint32_t index, uint64_t ns);
// Gets the costs from which a plan is made. A bucket that was not measured gets the least
// possible cost, so that it is tried.
void fc_batch_costs(const fc_batch_t *batch, fc_bucket_cost_t *out_costs);

#endif  // FARCALL_MARSHAL_BATCH_H_
