// SPDX-License-Identifier: Apache-2.0
//
// Buckets: functions for a number of rows each, of which calls of any number of rows are
// made. A plan says how often each is called: as cheap together as was measured. What a
// plan costs is learned from calls; it changes how long they take, and no answer.
// rows.c runs calls by a plan. All rows are of one call: calls that wait are not put
// together. Any thread.
#ifndef FARCALL_MARSHAL_BATCH_H_
#define FARCALL_MARSHAL_BATCH_H_

#include <stdatomic.h>

#include "marshal/plan.h"

// Plans of up to so many rows are the cheapest there are. Of more, most rows go to the
// bucket that costs least for each.
#define FC_BATCH_PLANNED 512
#define FC_BATCH_LEARNED 3  // calls after which a cost is believed

typedef struct fc_bucket_cost_t {
  int64_t rows;   // above 0
  uint64_t cost;  // above 0, at most FC_BATCH_COST_MAX
} fc_bucket_cost_t;

#define FC_BATCH_COST_MAX (UINT64_C(1) << 50)

// Sets out_uses[i] to how often bucket i of `count`, at most FC_SIZES_MAX, is called for
// `rows` rows, at least 1. Together they have at least so many. Buckets of equal cost: the
// first.
void fc_batch_plan(const fc_bucket_cost_t *buckets, uint32_t count,
                   int64_t rows, uint64_t *out_uses);

// A bucket, and what its calls took. Relaxed: a sample that is lost is no harm.
typedef struct fc_bucket_t {
  int64_t rows;
  uint32_t row;  // of the signature's sizes
  _Atomic(uint32_t) calls;
  _Atomic(uint64_t) cost_ns;
} fc_bucket_t;

struct fc_batch_t {
  bool on;  // rows are batched; set before the module is shared (module.h)
  // A row was another beside others: each call of a bucket is one of the smallest, as in
  // what rows were compared with. Set at any time; relaxed.
  _Atomic(bool) apart;
  uint32_t name;  // of the dim that says how many rows there are
  uint32_t count;
  fc_bucket_t buckets[];  // by their rows
};

static inline bool fc_batch_is_apart(const fc_batch_t *batch) {
  return atomic_load_explicit(&batch->apart, memory_order_relaxed);
}
static inline void fc_batch_part(fc_batch_t *batch) {
  atomic_store_explicit(&batch->apart, true, memory_order_relaxed);
}

// NULL when out of memory. The signature may batch.
fc_batch_t *fc_batch_create(const fc_signature_t *signature,
                            fc_allocator_t allocator);
// A call of bucket `index` took `ns`.
void fc_batch_learn(fc_batch_t *batch, uint32_t index, uint64_t ns);
// What a plan is made of. Of a bucket that nobody has measured, the least that it may
// cost: so it is tried.
void fc_batch_costs(const fc_batch_t *batch, fc_bucket_cost_t *out_costs);

#endif  // FARCALL_MARSHAL_BATCH_H_
