// SPDX-License-Identifier: Apache-2.0
//
// Decides in which order the waiting calls of a module are made. Calls of a higher
// priority come first. Within a priority callers take turns, so that many calls of one
// caller do not delay others. The calls of one caller are made in the order of their
// arrival, after calls that a host has put back.
//
// The waiting calls of one caller, priority and module are a flow. The expected cost of a
// call is charged to its flow, so turns are fair in time (similar to surplus round
// robin). Everything is linked through the jobs: nothing is allocated. The time that the
// functions below take does not grow with the number of waiting calls, but with the
// number of flows in one chain. That is small until there are more flows than
// FC_FLOW_CHAINS. Loop thread.
#ifndef FARCALL_SERVER_POOL_FLOW_H_
#define FARCALL_SERVER_POOL_FLOW_H_

#include "pool/job.h"

#define FC_PRIORITIES (FC_PRIORITY_MAX - FC_PRIORITY_MIN + 1)
#define FC_FLOW_CHAINS 1024  // a power of two

// The debt of a caller at a module: time for which other callers waited
// (fc_flows_charge).
typedef struct fc_flow_debt_t {
  fc_owner_t caller;
  uint32_t generation;
  int64_t ns;  // 0: the place is free
} fc_flow_debt_t;

#define FC_FLOW_DEBTS 64

// The flows of all modules, found by module, caller and priority. `key` is random, so
// that nobody can choose addresses whose flows share one chain.
typedef struct fc_flow_table_t {
  uint64_t key;
  // The first jobs of flows, linked by flow.next_alike.
  fc_job_t *chains[FC_FLOW_CHAINS];
  // Debts of callers without waiting calls. A full table drops the smallest.
  fc_flow_debt_t debts[FC_FLOW_DEBTS];
  uint32_t debt_count;
} fc_flow_table_t;

// The flows of one module. If there are none, everything except `table` is zero.
typedef struct fc_flows_t {
  fc_flow_table_t *table;
  uint32_t levels;  // bits: priorities that have flows
  uint32_t count;   // flows
  // By priority, from FC_PRIORITY_MIN:
  fc_job_t *turns[FC_PRIORITIES];   // first job of the flow whose turn it is
  uint32_t counts[FC_PRIORITIES];   // flows
  uint32_t waiting[FC_PRIORITIES];  // calls
} fc_flows_t;

// Returns the call that is made next; NULL: none waits.
fc_job_t *fc_flows_first(const fc_flows_t *flows);
// Puts a call at the end of its flow.
void fc_flows_put(fc_flows_t *flows, fc_job_t *job);
// Puts back a call that was taken, before all others of its priority.
void fc_flows_put_back(fc_flows_t *flows, fc_job_t *job);
// Removes a call that will not be made.
void fc_flows_remove(fc_flows_t *flows, fc_job_t *job);
// Removes fc_flows_first, which is made now. `cost` is the expected time of this call,
// `mean` the average time of a call of the module; in ns, both above 0. A turn is one
// call, or several that cost less than `mean` together. If the call costs more than
// `mean` and its flow has further calls, the flow is skipped for some turns.
void fc_flows_take(fc_flows_t *flows, fc_job_t *job, uint64_t cost,
                   uint64_t mean);

// Charges a call of `caller` that nobody waits for any more and that made others of the
// module wait for `cost` ns. The caller's flow, or its next one, pays: it is skipped for
// some turns, as after an expensive call.
void fc_flows_charge(fc_flows_t *flows, uint32_t generation,
                     const fc_owner_t *caller, uint64_t cost, uint64_t mean);
// Charges a turn of a call in parts, which took `spent` ns, in the same way. But the
// caller never owes more than `most` ns for turns, so that every turn comes.
void fc_flows_charge_turn(fc_flows_t *flows, uint32_t generation,
                          const fc_owner_t *caller, uint64_t spent,
                          uint64_t most);
// Forgives all debts at a generation that was removed.
void fc_flows_forgive(fc_flow_table_t *table, uint32_t generation);

typedef struct fc_flow_place_t {
  uint32_t own;    // calls of its flow that wait
  uint32_t ahead;  // calls that are likely to be made before it
} fc_flow_place_t;

// Returns where a call of this caller and priority would stand if it were put now.
fc_flow_place_t fc_flows_place(const fc_flows_t *flows, const fc_job_t *job);

typedef struct fc_flow_share_t {
  uint32_t own;     // calls of the caller that wait, of any priority
  uint32_t others;  // flows of other callers
} fc_flow_share_t;

// Returns the caller's part of the queue.
fc_flow_share_t fc_flows_share(const fc_flows_t *flows, const fc_job_t *job);

#endif  // FARCALL_SERVER_POOL_FLOW_H_
