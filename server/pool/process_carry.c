// SPDX-License-Identifier: Apache-2.0
//
// The state that turns of calls in parts (turn.h) leave in their process for the next
// turn.
#include "pool/process_hosts.h"

bool fc_child_open_carry(fc_child_t *child, fc_job_t *job, fc_error_t *err) {
  fc_taking_t *taking = &child->taking;
  fc_blocks_t *blocks = child->host->base.pool->blocks;
  taking->carried = 0;
  taking->carry_block = job->call.body.block;
  taking->is_new = !(job->call.flags & FC_CALL_LATER) ||
                   fc_block_size(blocks, taking->carry_block) < taking->carry;
  if (!taking->is_new) return true;
  // The block has no owner yet: fc_pool_pause counts it for the caller when the old body
  // was freed.
  return fc_block_take(blocks, taking->carry, &taking->carry_block, err) ==
         FC_OK;
}

uint64_t fc_child_used_of_body(const fc_child_t *child, const fc_held_t *held) {
  const fc_taking_t *taking = &child->taking;
  if (held->sent.parts && !taking->outcome.more) {
    return child->ring.setup.body_size;
  }
  const uint64_t sent = held->sent.in_file ? 0 : held->sent.body_size;
  const uint64_t left = taking->carry_at + taking->carry;
  return taking->carry && left > sent ? left : sent;
}

void fc_child_note_steps(fc_child_t *child, uint32_t index) {
  const fc_held_t *held = &child->held[index];
  if (!held->job || !held->sent.parts) return;
  held->job->call.steps = fc_ring_steps(&child->ring, index, &held->sent);
}
