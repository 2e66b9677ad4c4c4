// SPDX-License-Identifier: Apache-2.0
#include "pool/cost.h"

#include "config/limits.h"

#define NS_PER_S 1000000000u
#define WEIGHT 8  // a call counts for an eighth of the new average
#define RISES 64  // what CALL takes rises by a 64th of a longer one

// If batches gained nothing, they are tried again after this number of calls.
#define RETRY 64

static uint64_t mix(uint64_t average, uint64_t ns) {
  return ns > average ? average + (ns - average) / WEIGHT
                      : average - (average - ns) / WEIGHT;
}

void fc_cost_learn(fc_cost_t *cost, uint64_t spent_ns) {
  cost->average_ns = cost->samples ? mix(cost->average_ns, spent_ns) : spent_ns;
  if (cost->samples < UINT32_MAX) cost->samples++;
}

void fc_cost_doubt(fc_cost_t *cost) {
  cost->samples = 0;
  if (cost->needed < 1u << 16) cost->needed *= 2;
}

// What CALL takes falls at once and rises slowly, because a worker that the system does
// not let run only takes longer. Each call of a batch reports it. It rises by 1 ns at least,
// or a share that is a little too short would stay so.
static void learn_call(uint64_t *share_ns, uint32_t calls, uint64_t ns) {
  const uint64_t had_ns = *share_ns;
  if (had_ns && ns > had_ns) *share_ns += (ns - had_ns) / RISES / calls + 1;
  else *share_ns = ns + !ns;
}

void fc_cost_learn_batch(fc_cost_t *cost, uint32_t calls, uint64_t call_ns,
                         uint64_t rest_ns) {
  uint64_t *share_ns = calls > 1 ? &cost->shared_ns : &cost->alone_ns;
  learn_call(share_ns, calls, call_ns / calls);
  if (calls == 1) return;
  cost->tries = 0;
  const uint64_t all_ns = call_ns + calls * rest_ns;
  cost->batch_ns = cost->batch_ns ? mix(cost->batch_ns, all_ns) : all_ns;
}

bool fc_cost_gains(const fc_cost_t *cost) {
  const bool known = cost->alone_ns && cost->shared_ns;
  return !known || cost->shared_ns < cost->alone_ns || cost->tries == RETRY;
}

void fc_cost_note_single(fc_cost_t *cost) {
  if (cost->tries < RETRY && !fc_cost_gains(cost)) cost->tries++;
}

bool fc_cost_allows(const fc_cost_t *cost, uint64_t deadline_ns,
                    uint64_t now_ns) {
  return !deadline_ns ||
         (deadline_ns > now_ns && deadline_ns - now_ns > 2 * cost->batch_ns);
}

uint64_t fc_cost_limit_ns(const fc_cost_t *cost) {
  const uint64_t least_ns = FC_LIMIT_BATCH_MS * 1000000ull;
  const uint64_t most_ns = UINT64_MAX / 2;
  if (!cost->average_ns) return 0;
  uint64_t ns = fc_cost_wait_ns(cost, cost->together, 1);
  if (ns < cost->batch_ns) ns = cost->batch_ns;
  if (ns > most_ns / FC_LIMIT_BATCH_TIMES) return most_ns;
  ns *= FC_LIMIT_BATCH_TIMES;
  return ns > least_ns ? ns : least_ns;
}

uint64_t fc_cost_wait_ns(const fc_cost_t *cost, uint32_t waiting,
                         uint32_t at_once) {
  uint64_t all_ns;
  if (__builtin_mul_overflow(cost->average_ns, waiting, &all_ns)) {
    return UINT64_MAX;
  }
  return all_ns / at_once;
}

uint32_t fc_cost_retry_s(uint64_t wait_ns) {
  const uint64_t seconds = wait_ns / NS_PER_S + FC_LIMIT_RETRY_AFTER;
  return seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}
