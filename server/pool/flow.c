// SPDX-License-Identifier: Apache-2.0
//
// A flow has no struct of its own: its first job has the fc_flow_head_t. When the first
// job leaves, the next job of the flow replaces it in the chain and in the ring of turns.
#include "pool/flow.h"

static unsigned level_of(const fc_job_t *job) {
  return (unsigned)(job->priority - FC_PRIORITY_MIN);
}

static bool is_same(const fc_job_t *a, const fc_job_t *b) {
  return a->call.generation == b->call.generation &&
         !memcmp(&a->caller, &b->caller, sizeof a->caller);
}

static fc_job_t **chain_at(const fc_flows_t *flows, const fc_job_t *job,
                           unsigned level) {
  uint64_t high, low;
  memcpy(&high, job->caller.bytes, sizeof high);
  memcpy(&low, job->caller.bytes + sizeof high, sizeof low);
  const uint64_t where = (uint64_t)job->call.generation << 4 | level;
  uint64_t hash = (high ^ flows->table->key) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32 ^ low) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 32 ^ where) * 0x94D049BB133111EBu;
  return &flows->table->chains[hash >> 32 & (FC_FLOW_CHAINS - 1)];
}

static fc_job_t **chain_of(const fc_flows_t *flows, const fc_job_t *job) {
  return chain_at(flows, job, level_of(job));
}

// Returns the first job of the caller's flow with a priority; NULL: none waits.
static fc_job_t *find_at(const fc_flows_t *flows, const fc_job_t *job,
                         unsigned level) {
  if (!flows->counts[level]) return NULL;
  fc_job_t *first = *chain_at(flows, job, level);
  while (first && (level_of(first) != level || !is_same(first, job))) {
    first = first->flow.next_alike;
  }
  return first;
}

static fc_job_t *find(const fc_flows_t *flows, const fc_job_t *job) {
  return find_at(flows, job, level_of(job));
}

static fc_job_t **link_of(const fc_flows_t *flows, const fc_job_t *first) {
  fc_job_t **at = chain_of(flows, first);
  while (*at != first) at = &(*at)->flow.next_alike;
  return at;
}

static fc_flow_debt_t *find_debt(fc_flow_table_t *table, uint32_t generation,
                                 const fc_owner_t *caller) {
  for (uint32_t i = 0; table->debt_count && i < FC_FLOW_DEBTS; i++) {
    fc_flow_debt_t *debt = &table->debts[i];
    if (debt->ns && debt->generation == generation &&
        !memcmp(&debt->caller, caller, sizeof *caller)) {
      return debt;
    }
  }
  return NULL;
}

static int64_t take_debt(const fc_flows_t *flows, const fc_job_t *job) {
  fc_flow_debt_t *debt =
      find_debt(flows->table, job->call.generation, &job->caller);
  if (!debt) return 0;
  const int64_t owed = debt->ns;
  debt->ns = 0;
  flows->table->debt_count--;
  return owed;
}

// Puts a flow, which has one job, at the end of the turns. If a flow in debt has the turn
// because it waited alone, the new flow gets the turn.
static void open_flow(fc_flows_t *flows, fc_job_t *job) {
  const unsigned level = level_of(job);
  fc_job_t **chain = chain_of(flows, job), *turn = flows->turns[level];
  job->flow = (fc_flow_head_t){.last = job,
                               .next_alike = *chain,
                               .credit = -take_debt(flows, job),
                               .count = 1};
  *chain = job;
  job->flow.next_turn = turn ? turn : job;
  job->flow.previous_turn = turn ? turn->flow.previous_turn : job;
  job->flow.previous_turn->flow.next_turn = job;
  job->flow.next_turn->flow.previous_turn = job;
  if (!turn || (turn->flow.credit < 0 && job->flow.credit >= 0)) {
    flows->turns[level] = job;
  }
  flows->levels |= 1u << level;
  flows->counts[level]++;
  flows->count++;
}

static void close_flow(fc_flows_t *flows, fc_job_t *job) {
  const unsigned level = level_of(job);
  *link_of(flows, job) = job->flow.next_alike;
  job->flow.previous_turn->flow.next_turn = job->flow.next_turn;
  job->flow.next_turn->flow.previous_turn = job->flow.previous_turn;
  if (flows->turns[level] == job) flows->turns[level] = job->flow.next_turn;
  flows->count--;
  if (--flows->counts[level]) return;
  flows->turns[level] = NULL;
  flows->levels &= ~(1u << level);
}

// Makes `next` the first job of the flow in the place of `job`.
static void hand_on(fc_flows_t *flows, const fc_job_t *job, fc_job_t *next) {
  const unsigned level = level_of(job);
  *link_of(flows, job) = next;
  next->flow = job->flow;
  if (job->flow.next_turn == job) {
    next->flow.next_turn = next->flow.previous_turn = next;
  } else {
    next->flow.previous_turn->flow.next_turn = next;
    next->flow.next_turn->flow.previous_turn = next;
  }
  if (flows->turns[level] == job) flows->turns[level] = next;
}

fc_job_t *fc_flows_first(const fc_flows_t *flows) {
  if (!flows->levels) return NULL;
  return flows->turns[31 - __builtin_clz(flows->levels)];
}

void fc_flows_put(fc_flows_t *flows, fc_job_t *job) {
  fc_job_t *first = find(flows, job);
  job->flow_next = job->flow_previous = NULL;
  flows->waiting[level_of(job)]++;
  if (!first) {
    open_flow(flows, job);
    return;
  }
  job->flow_previous = first->flow.last;
  first->flow.last->flow_next = job;
  first->flow.last = job;
  first->flow.count++;
}

void fc_flows_put_back(fc_flows_t *flows, fc_job_t *job) {
  fc_job_t *first = find(flows, job);
  job->flow_next = job->flow_previous = NULL;
  flows->waiting[level_of(job)]++;
  if (first) {
    job->flow_next = first;
    first->flow_previous = job;
    hand_on(flows, first, job);
    job->flow.count++;
  } else {
    open_flow(flows, job);
  }
  flows->turns[level_of(job)] = job;
}

// Returns a free place of the table, or the place of the smallest debt.
static fc_flow_debt_t *make_debt(fc_flow_table_t *table) {
  fc_flow_debt_t *found = &table->debts[0];
  for (uint32_t i = 1; i < FC_FLOW_DEBTS && found->ns; i++) {
    if (table->debts[i].ns < found->ns) found = &table->debts[i];
  }
  table->debt_count += !found->ns;
  return found;
}

static void owe(fc_flows_t *flows, uint32_t generation,
                const fc_owner_t *caller, int64_t ns) {
  fc_flow_debt_t *debt = find_debt(flows->table, generation, caller);
  if (!debt) {
    debt = make_debt(flows->table);
    *debt = (fc_flow_debt_t){.caller = *caller, .generation = generation};
  }
  debt->ns += ns;
}

void fc_flows_remove(fc_flows_t *flows, fc_job_t *job) {
  flows->waiting[level_of(job)]--;
  if (job->flow_previous) {
    fc_job_t *first = find(flows, job);
    first->flow.count--;
    if (first->flow.last == job) first->flow.last = job->flow_previous;
    job->flow_previous->flow_next = job->flow_next;
    if (job->flow_next) job->flow_next->flow_previous = job->flow_previous;
  } else if (job->flow_next) {
    job->flow.count--;
    job->flow_next->flow_previous = NULL;
    hand_on(flows, job, job->flow_next);
  } else {
    close_flow(flows, job);
    // Taking a call back must not cancel the debt of its caller.
    if (job->flow.credit < 0) {
      owe(flows, job->call.generation, &job->caller, -job->flow.credit);
    }
  }
  job->flow_next = job->flow_previous = NULL;
}

#define DEBT_MAX 16u   // in calls of mean cost
#define PASSED_MAX 32  // flows that are passed over at once

// Skips flows in debt; each pays a part of its debt. At most PASSED_MAX are skipped, to
// limit the time: the next flow is served even if it is in debt.
static void pass_debtors(fc_flows_t *flows, unsigned level, uint64_t mean) {
  fc_job_t *turn = flows->turns[level];
  for (int i = 0; turn && turn->flow.credit < 0 && i < PASSED_MAX; i++) {
    turn->flow.credit += (int64_t)mean;
    turn = turn->flow.next_turn;
  }
  flows->turns[level] = turn;
}

// A flow is served while it has credit, but for at least one call. At the end of its turn
// it gets the mean cost of a call. A flow whose call cost more waits until its debt is
// paid. A call adds at most DEBT_MAX mean costs to the debt, so every flow gets its turn.
void fc_flows_take(fc_flows_t *flows, fc_job_t *job, uint64_t cost,
                   uint64_t mean) {
  const unsigned level = level_of(job);
  fc_job_t *next = job->flow_next;
  if (cost / DEBT_MAX >= mean) cost = mean * DEBT_MAX;
  job->flow.credit -= (int64_t)cost;
  if (!next) job->flow.credit = 0;  // the flow has no other call
  fc_flows_remove(flows, job);
  if (next && next->flow.credit > 0) return;
  if (next) {
    next->flow.credit += (int64_t)mean;
    flows->turns[level] = next->flow.next_turn;
  }
  pass_debtors(flows, level, mean);
}

// Adds `owed` to the caller's debt, but not beyond `most`. A debt that is larger already
// stays.
static void charge(fc_flows_t *flows, uint32_t generation,
                   const fc_owner_t *caller, int64_t owed, int64_t most) {
  fc_job_t key = {.call = {.generation = generation}, .caller = *caller};
  for (unsigned level = FC_PRIORITIES; level-- > 0;) {
    fc_job_t *first = find_at(flows, &key, level);
    if (!first) continue;
    const int64_t room = most + first->flow.credit;
    first->flow.credit -= owed < room ? owed : room > 0 ? room : 0;
    if (flows->turns[level] == first) {
      flows->turns[level] = first->flow.next_turn;
    }
    return;
  }
  const fc_flow_debt_t *debt = find_debt(flows->table, generation, caller);
  const int64_t room = most - (debt ? debt->ns : 0);
  if (owed > room) owed = room;
  if (owed > 0) owe(flows, generation, caller, owed);
}

void fc_flows_charge(fc_flows_t *flows, uint32_t generation,
                     const fc_owner_t *caller, uint64_t cost, uint64_t mean) {
  const uint64_t owed = cost / DEBT_MAX >= mean ? mean * DEBT_MAX : cost;
  if (owed) charge(flows, generation, caller, (int64_t)owed, INT64_MAX / 2);
}

void fc_flows_charge_turn(fc_flows_t *flows, uint32_t generation,
                          const fc_owner_t *caller, uint64_t spent,
                          uint64_t most) {
  const uint64_t owed = spent < most ? spent : most;
  if (owed) charge(flows, generation, caller, (int64_t)owed, (int64_t)most);
}

void fc_flows_forgive(fc_flow_table_t *table, uint32_t generation) {
  for (uint32_t i = 0; table->debt_count && i < FC_FLOW_DEBTS; i++) {
    fc_flow_debt_t *debt = &table->debts[i];
    if (!debt->ns || debt->generation != generation) continue;
    debt->ns = 0;
    table->debt_count--;
  }
}

fc_flow_place_t fc_flows_place(const fc_flows_t *flows, const fc_job_t *job) {
  const unsigned level = level_of(job);
  const fc_job_t *first = find(flows, job);
  const uint32_t own = first ? first->flow.count : 0;
  fc_flow_place_t place = {.own = own};
  // Callers of one priority take turns. So when this call is made, each other caller has
  // made as many calls as this caller, this call included.
  const uint64_t alike = flows->counts[level] + (first == NULL);
  const uint64_t turns = alike * (own + 1) - 1;
  const uint64_t waiting = flows->waiting[level];
  place.ahead = (uint32_t)(turns < waiting ? turns : waiting);
  for (unsigned i = level + 1; i < FC_PRIORITIES; i++) {
    place.ahead += flows->waiting[i];
  }
  return place;
}

fc_flow_share_t fc_flows_share(const fc_flows_t *flows, const fc_job_t *job) {
  fc_flow_share_t share = {.others = flows->count};
  for (unsigned level = 0; level < FC_PRIORITIES; level++) {
    const fc_job_t *first = find_at(flows, job, level);
    if (!first) continue;
    share.own += first->flow.count;
    share.others--;
  }
  return share;
}
