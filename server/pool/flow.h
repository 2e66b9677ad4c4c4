// SPDX-License-Identifier: Apache-2.0
//
// The order in which the calls that wait for a module are made: calls of a higher
// priority first; of one priority, callers in turn, so that many calls of one caller do
// not hold up those of others; of one caller, in the order they came, behind those that a
// host put back. The calls of one caller and one priority that wait for one module are a
// flow. What a call is likely to cost is charged to its flow, so turns are fair in time
// (after surplus round robin). Everything is linked through the jobs: nothing is
// allocated, and the time of a function does not grow with the calls that wait, but with
// the flows in one chain: few, until there are more than FC_FLOW_CHAINS. Loop thread.
#ifndef FARCALL_SERVER_POOL_FLOW_H_
#define FARCALL_SERVER_POOL_FLOW_H_

#include "pool/job.h"

#define FC_PRIORITIES (FC_PRIORITY_MAX - FC_PRIORITY_MIN + 1)
#define FC_FLOW_CHAINS 1024  // a power of two

// What a caller owes a module for time that others paid (fc_flows_charge).
typedef struct fc_flow_debt_t {
  fc_owner_t caller;
  uint32_t generation;
  int64_t ns;  // 0: the place is free
} fc_flow_debt_t;

#define FC_FLOW_DEBTS 64

// The flows of all modules, found by module, caller and priority. `key` is random, so
// that nobody can choose addresses whose flows are in one chain.
typedef struct fc_flow_table_t {
  uint64_t key;
  // The first jobs of flows, linked by flow.next_alike.
  fc_job_t *chains[FC_FLOW_CHAINS];
  // Of callers that have no calls waiting; in a full table the smallest is forgotten.
  fc_flow_debt_t debts[FC_FLOW_DEBTS];
  uint32_t debt_count;
} fc_flow_table_t;

// The flows of one module. Without flows, all but `table` is zero.
typedef struct fc_flows_t {
  fc_flow_table_t *table;
  uint32_t levels;  // bits: priorities that have flows
  uint32_t count;   // flows
  // By priority, from FC_PRIORITY_MIN:
  fc_job_t *turns[FC_PRIORITIES];   // first job of the flow whose turn it is
  uint32_t counts[FC_PRIORITIES];   // flows
  uint32_t waiting[FC_PRIORITIES];  // calls
} fc_flows_t;

// The call that is made next; NULL: none waits.
fc_job_t *fc_flows_first(const fc_flows_t *flows);
// Puts a call at the end of its flow.
void fc_flows_put(fc_flows_t *flows, fc_job_t *job);
// Puts a call back that was taken, before all others of its priority.
void fc_flows_put_back(fc_flows_t *flows, fc_job_t *job);
// Takes a call out that will not be made.
void fc_flows_remove(fc_flows_t *flows, fc_job_t *job);
// Takes out fc_flows_first, which is made now. `cost` is what this call is likely to
// take, `mean` what a call of the module takes on average; ns, both above 0. A turn is
// one call, or more while they have cost less than `mean` together. A flow that has
// further calls after a dearer one is passed over for some turns.
void fc_flows_take(fc_flows_t *flows, fc_job_t *job, uint64_t cost,
                   uint64_t mean);

// A call of `caller`, for which nobody waits any more, has kept others of the module
// waiting for `cost` ns. The caller's flow pays, or the next one that it has: it is passed
// over for some turns, as after a dear call.
void fc_flows_charge(fc_flows_t *flows, uint32_t generation,
                     const fc_owner_t *caller, uint64_t cost, uint64_t mean);
// A turn of a call in parts has taken `spent` ns: its caller pays all of it in the same
// way, but never owes more than `most` ns for turns, so that every turn comes.
void fc_flows_charge_turn(fc_flows_t *flows, uint32_t generation,
                          const fc_owner_t *caller, uint64_t spent,
                          uint64_t most);
// The generation is gone: nobody owes it anything.
void fc_flows_forgive(fc_flow_table_t *table, uint32_t generation);

typedef struct fc_flow_place_t {
  uint32_t own;    // calls of its flow that wait
  uint32_t ahead;  // calls that are likely to be made before it
} fc_flow_place_t;

// Where a call of this caller and priority would stand if it were put now.
fc_flow_place_t fc_flows_place(const fc_flows_t *flows, const fc_job_t *job);

typedef struct fc_flow_share_t {
  uint32_t own;     // calls of the caller that wait, of any priority
  uint32_t others;  // flows of other callers
} fc_flow_share_t;

// What the caller of this call has of the queue.
fc_flow_share_t fc_flows_share(const fc_flows_t *flows, const fc_job_t *job);

#endif  // FARCALL_SERVER_POOL_FLOW_H_
