// SPDX-License-Identifier: Apache-2.0
//
// Calls of sessions in a process. Their desks are in its ring, and it gets the slab
// before the first such call.
#include <errno.h>

#include "pool/handoff.h"
#include "pool/order.h"
#include "pool/process_hosts.h"

static fc_child_t *of_home(const fc_home_t *home) {
  return (fc_child_t *)(void *)((char *)(uintptr_t)home -
                                offsetof(fc_child_t, home));
}

static void drop(fc_home_t *home, uint64_t number) {
  fc_child_t *child = of_home(home);
  fc_ring_drop(&child->ring, number);
  child->notified = false;
  fc_process_host_list(child->host);
}

static uint32_t count(const fc_home_t *home) {
  return home->kept + fc_ring_drops(&of_home(home)->ring);
}

void fc_child_make_home(fc_child_t *child) {
  static const fc_home_class_t kClass = {drop, count};
  fc_home_init(
      &child->home, &kClass, child->host->base.pool->allocator,
      child->host->base.generation,
      child->host->fresh ? FC_STORE_REFUSES_FRESH : FC_STORE_REFUSES_NONE);
}

fc_child_t *fc_child_of_home(const fc_claim_t *claim) {
  return of_home(claim->bond.home);
}

bool fc_child_is_shut(fc_child_t *child, const fc_claim_t *claim) {
  if (!claim || !child->unreachable || child->slab == claim->slab->serial) {
    return false;
  }
  if (!child->shut) child->shut = 1;
  return true;
}

fc_offer_t fc_child_send_slab(fc_child_t *child, const fc_claim_t *claim,
                              fc_error_t *err) {
  const fc_claim_slab_t *slab = claim->slab;
  if (child->slab == slab->serial) return FC_OFFER_TAKEN;
  if (fc_handoff_send(child->process.handoff, child->ring.files + 1,
                      FC_HANDOFF_SLAB, 0, slab->file)) {
    child->ring.files++;
    child->slab = slab->serial;
    return FC_OFFER_TAKEN;
  }
  // The socket may be full of messages. A process receives messages before it runs a
  // call, so a process with calls will make room. One without calls should have done so.
  const bool unread = errno == EAGAIN;
  child->unreachable =
      errno == EPIPE || errno == ECONNRESET || (unread && !child->count);
  if (unread || child->unreachable) return FC_OFFER_FULL;
  (void)fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                "the worker cannot be handed the session's values");
  return FC_OFFER_REFUSED;
}

void fc_child_lay(fc_child_t *child, fc_held_t *held, uint32_t index) {
  fc_job_t *job = held->job;
  held->claim = job->claim;
  // The client's deadline ends the client's wait, but not a call that may write values.
  child->claimed = job->call;
  child->claimed.deadline_ns = job->limit_ns;
  held->claim->later = job->call.flags & FC_CALL_LATER;
  fc_store_desk_t *desk = fc_ring_desk(&child->ring, index);
  held->claim->class_->lay(held->claim, desk);
  fc_home_grant(&child->home, held->claim,
                fc_order_references(child->host->module, job->call.function),
                desk);
}

void fc_child_return_claim(fc_held_t *held) {
  if (held->claim) fc_home_end_grant(held->claim, 0);
  held->claim = NULL;
}

bool fc_child_take_desk(fc_child_t *child, fc_held_t *held,
                        fc_outcome_t *outcome) {
  fc_claim_t *claim = held->claim;
  const fc_store_desk_t *desk = fc_ring_desk(&child->ring, child->first);
  held->taken = true;
  // The process may have lost the slab, like other files.
  if (outcome->status != FC_OK) child->slab = 0;
  const bool honest =
      claim->class_->take(claim, desk, outcome, &outcome->error);
  fc_home_end_grant(claim, desk->reference);
  if (honest) return true;
  claim->class_->lose(claim,
                      fc_process_host_function(child->host, held->function),
                      FC_LOSS_LIE);
  return false;
}

void fc_child_leave_claim(fc_child_t *child, const fc_held_t *held,
                          bool begun) {
  fc_claim_t *claim = held->claim;
  fc_home_end_grant(claim, 0);
  if (begun && !held->taken) {
    const fc_loss_t why = child->cause == FC_CAUSE_DEADLINE ? FC_LOSS_DEADLINE
                          : child->cause == FC_CAUSE_LIE    ? FC_LOSS_LIE
                                                            : FC_LOSS_CRASH;
    claim->class_->lose(
        claim, fc_process_host_function(child->host, held->function), why);
  }
  fc_pool_pass_claim(child->host->base.pool, claim);
}

bool fc_child_runs_on(fc_child_t *child, const fc_held_t *held,
                      uint32_t index) {
  return held->claim &&
         !fc_slot_begin(&child->ring.head->slots[index].slot.begun,
                        FC_BEGUN_NEVER);
}
