// SPDX-License-Identifier: Apache-2.0
//
// Chooses buckets by their costs (batch.h).
#include "marshal/batch.h"

#include "abi/print.h"

// ---------------------------------------------------------------------------
// The plan

// Finds the bucket whose call costs least for each row, when `rows` rows are left.
static uint32_t find_cheapest(const fc_bucket_cost_t *buckets, uint32_t count,
                              int64_t rows) {
  double least = 0;
  uint32_t best = 0;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t used = buckets[i].rows < rows ? buckets[i].rows : rows;
    const double each = (double)buckets[i].cost / (double)used;
    if (i && each >= least) continue;
    least = each;
    best = i;
  }
  return best;
}

// Plans most of the rows, and returns the number of the others, for which an exact plan
// is made. If a bucket has at least as many rows as are left, one call of it is enough.
static int64_t plan_most(const fc_bucket_cost_t *buckets, uint32_t count,
                         int64_t rows, uint64_t *uses) {
  while (rows > FC_BATCH_PLANNED) {
    const uint32_t i = find_cheapest(buckets, count, rows);
    const int64_t size = buckets[i].rows;
    if (size >= rows) {
      uses[i]++;
      return 0;
    }
    const int64_t enough = (rows - FC_BATCH_PLANNED - 1) / size + 1;
    const int64_t most = rows / size;
    const int64_t times = enough < most ? enough : most;
    uses[i] += (uint64_t)times;
    rows -= times * size;
  }
  return rows;
}

// Makes an exact plan for 2 to FC_BATCH_PLANNED rows.
static void plan_rest(const fc_bucket_cost_t *buckets, uint32_t count,
                      int64_t rows, uint64_t *out_uses) {
  uint64_t least[FC_BATCH_PLANNED + 1];  // cost of so many rows
  uint8_t last[FC_BATCH_PLANNED + 1];    // a bucket of theirs
  least[0] = 0;
  for (int64_t n = 1; n <= rows; n++) {
    least[n] = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
      const int64_t left = n > buckets[i].rows ? n - buckets[i].rows : 0;
      const uint64_t cost = least[left] + buckets[i].cost;
      if (cost >= least[n]) continue;
      least[n] = cost;
      last[n] = (uint8_t)i;
    }
  }
  while (rows > 0) {
    out_uses[last[rows]]++;
    rows -= buckets[last[rows]].rows;
  }
}

void fc_batch_plan(const fc_bucket_cost_t *buckets, uint32_t count,
                   int64_t rows, uint64_t *out_uses) {
  memset(out_uses, 0, count * sizeof *out_uses);
  rows = plan_most(buckets, count, rows, out_uses);
  // Most calls have one row, and tables for it would take longer than the plan.
  if (rows > 1) plan_rest(buckets, count, rows, out_uses);
  else if (rows == 1) out_uses[find_cheapest(buckets, count, 1)]++;
}

// ---------------------------------------------------------------------------
// Costs

fc_batch_t *fc_batch_create(const fc_signature_t *signature,
                            fc_allocator_t allocator) {
  const uint32_t count = signature->size_count;
  fc_batch_t *batch =
      fc_alloc(allocator, sizeof *batch + count * sizeof *batch->buckets);
  if (!batch) return NULL;
  while (signature->sizes[batch->name] < 0) batch->name++;
  const fc_str_t delay =
      fc_signature_attr(signature, FC_STR(FC_BATCH_DELAY_ATTR));
  for (size_t i = 0; i < delay.size; i++) {
    batch->delay_ns = batch->delay_ns * 10 + (uint64_t)(delay.data[i] - '0');
  }
  batch->delay_ns *= 1000;
  for (uint32_t row = 0; row < count; row++) {
    const int64_t rows =
        signature->sizes[row * (size_t)signature->dim_name_count + batch->name];
    if (rows < 1) continue;
    uint32_t at = batch->count++;
    for (; at && batch->buckets[at - 1].rows > rows; at--) {
      batch->buckets[at].rows = batch->buckets[at - 1].rows;
      batch->buckets[at].row = batch->buckets[at - 1].row;
    }
    batch->buckets[at].rows = rows;
    batch->buckets[at].row = row;
  }
  return batch;
}

static uint64_t cost_of(const fc_bucket_t *bucket) {
  return atomic_load_explicit(&bucket->cost_ns, memory_order_relaxed);
}

static uint32_t calls_of(const fc_bucket_t *bucket) {
  return atomic_load_explicit(&bucket->calls, memory_order_relaxed);
}

static void set_cost(fc_bucket_t *bucket, uint64_t ns) {
  if (ns < 1) ns = 1;
  if (ns > FC_BATCH_COST_MAX) ns = FC_BATCH_COST_MAX;
  atomic_store_explicit(&bucket->cost_ns, ns, memory_order_relaxed);
}

// Lowers the costs of all buckets except `but` a little. So a bucket that was measured
// while the machine was busy is tried again.
static void forget(fc_batch_t *batch, uint32_t but) {
  for (uint32_t i = 0; i < batch->count; i++) {
    fc_bucket_t *bucket = &batch->buckets[i];
    const uint64_t ns = cost_of(bucket);
    if (i != but && ns) set_cost(bucket, ns - ns / 256);
  }
}

// Notes the time of a call. A cost falls quickly and rises slowly, because a disturbance
// can only make a call longer.
void fc_batch_learn(fc_batch_t *batch, uint32_t index, uint64_t ns) {
  fc_bucket_t *bucket = &batch->buckets[index];
  const uint64_t had = cost_of(bucket);
  const uint32_t calls = calls_of(bucket) + 1;
  uint64_t cost = had && had < ns ? had + (ns - had) / 16 : ns;
  if (calls <= FC_BATCH_LEARNED && had && had < ns) cost = had;
  set_cost(bucket, cost);
  atomic_store_explicit(&bucket->calls, calls + !calls, memory_order_relaxed);
  if (calls % 16 == 0) forget(batch, index);
}

// Guesses the cost of a bucket that was not measured. If none was measured, a call
// costs as much as sixteen rows, so the plan has the fewest calls, then the fewest
// rows. Otherwise the guess is the cost of the next smaller measured bucket; if
// there is none, it is a part of the cost of the next larger one.
static uint64_t guess(const fc_batch_t *batch, uint32_t index) {
  const int64_t rows = batch->buckets[index].rows;
  for (uint32_t i = index; i-- > 0;) {
    if (calls_of(&batch->buckets[i])) return cost_of(&batch->buckets[i]);
  }
  for (uint32_t i = index + 1; i < batch->count; i++) {
    const fc_bucket_t *larger = &batch->buckets[i];
    if (!calls_of(larger)) continue;
    const double part = (double)rows / (double)larger->rows;
    return (uint64_t)((double)cost_of(larger) * part) + 1;
  }
  return 16 + (uint64_t)rows;
}

void fc_batch_costs(const fc_batch_t *batch, fc_bucket_cost_t *out_costs) {
  for (uint32_t i = 0; i < batch->count; i++) {
    const fc_bucket_t *bucket = &batch->buckets[i];
    const uint32_t calls = calls_of(bucket);
    uint64_t cost = cost_of(bucket);
    if (calls < FC_BATCH_LEARNED) {
      const uint64_t least = guess(batch, i);
      if (!calls || least < cost) cost = least;
    }
    if (cost > FC_BATCH_COST_MAX) cost = FC_BATCH_COST_MAX;
    out_costs[i] =
        (fc_bucket_cost_t){.rows = bucket->rows, .cost = cost + !cost};
  }
}
