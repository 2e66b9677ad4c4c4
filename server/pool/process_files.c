// SPDX-License-Identifier: Apache-2.0
//
// The files that a process is given: the body of a large call, and one for the next
// large answer. What fails here costs a copy and nothing else.
#include <errno.h>

#include "config/limits.h"
#include "pool/handoff.h"
#include "pool/process_host.h"
#include "pool/shared.h"

static fc_blocks_t *blocks_of(const fc_child_t *child) {
  return child->host->base.pool->blocks;
}

static bool send_file(fc_child_t *child, fc_handoff_kind_t kind,
                      uint32_t block) {
  const int file = fc_block_file(blocks_of(child), block);
  if (child->unreachable || file < 0) return false;
  if (!fc_handoff_send(child->process.handoff, child->ring.files + 1, kind,
                       file)) {
    // Any other reason may pass, so the next file is tried again.
    child->unreachable = errno == EPIPE || errno == ECONNRESET;
    return false;
  }
  child->ring.files++;
  return true;
}

void fc_child_lend(fc_child_t *child) {
  if (child->lent != FC_BLOCK_NONE || child->unreachable) return;
  fc_error_t error;
  uint32_t block;
  if (fc_block_lend(blocks_of(child), child->ring.setup.result_size, &block,
                    &error) != FC_OK) {
    return;
  }
  if (send_file(child, FC_HANDOFF_ANSWER, block)) child->lent = block;
  else fc_block_give(blocks_of(child), block);
}

bool fc_child_send_body(fc_child_t *child, fc_held_t *held) {
  const fc_piece_t *body = &held->job->call.body;
  if (body->size <= FC_LIMIT_SHARED) return false;
  held->in_file =
      body->offset == 0 && send_file(child, FC_HANDOFF_BODY, body->block);
  return held->in_file;
}

fc_job_t *fc_child_forget(fc_held_t *held) {
  fc_job_t *job = held->job;
  held->job = NULL;
  if (!job) return NULL;
  job->child = NULL;
  if (held->in_file) {
    held->body = job->call.body.block;
    job->call.body.block = FC_BLOCK_NONE;
  }
  return job;
}

bool fc_child_body(const fc_child_t *child, uint32_t index,
                   fc_str_t *out_body) {
  const fc_held_t *held = &child->held[index];
  const size_t size = (size_t)held->sent.body_size;
  const uint8_t *data = fc_ring_body(&child->ring, index).data;
  if (held->job) {
    *out_body = fc_process_host_body(child->host, held->job);
    return true;
  }
  if (held->in_file) {
    if (held->body == FC_BLOCK_NONE) return false;
    data = fc_block_data(blocks_of(child), held->body);
  }
  *out_body = fc_str_make((const char *)data, size);
  return true;
}

uint64_t fc_child_taken(const fc_child_t *child) {
  const uint64_t taken = fc_ring_taken(&child->ring);
  if (child->lent == FC_BLOCK_NONE) return taken;
  return taken + fc_shared_taken(fc_block_file(blocks_of(child), child->lent));
}
