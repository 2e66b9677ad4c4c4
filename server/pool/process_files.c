// SPDX-License-Identifier: Apache-2.0
//
// The files that a process gets: the bodies of large calls, and files for large answers.
// If a file cannot be made or sent, the bytes are copied through the ring instead.
#include <errno.h>

#include "config/limits.h"
#include "pool/handoff.h"
#include "pool/process_hosts.h"
#include "pool/shared.h"

static fc_blocks_t *blocks_of(const fc_child_t *child) {
  return child->host->base.pool->blocks;
}

static bool send_file(fc_child_t *child, fc_handoff_kind_t kind, uint32_t place,
                      uint32_t block) {
  const int file = fc_block_file(blocks_of(child), block);
  if (child->unreachable || file < 0) return false;
  if (!fc_handoff_send(child->process.handoff, child->ring.files + 1, kind,
                       place, file)) {
    // After any other error the next file is tried again, because the reason may pass.
    child->unreachable = errno == EPIPE || errno == ECONNRESET;
    return false;
  }
  child->ring.files++;
  return true;
}

// Returns the tray for the file with this number: the tray at which the process has the
// file mapped, else the next free one in turn.
static uint32_t find_tray(fc_child_t *child, uint64_t serial) {
  const fc_tray_t *trays = child->trays;
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    if (trays[i].serial != serial) continue;
    FC_ASSERT(!trays[i].given);
    return i;
  }
  for (;;) {
    const uint32_t i = child->next_tray++ % FC_RING_TRAYS;
    if (!trays[i].given && trays[i].block == FC_BLOCK_NONE) return i;
  }
}

static uint32_t lend_block(fc_child_t *child, uint32_t block) {
  const uint64_t serial = fc_block_serial(blocks_of(child), block);
  const uint32_t at = find_tray(child, serial);
  fc_tray_t *tray = &child->trays[at];
  if (tray->serial != serial &&
      !send_file(child, FC_HANDOFF_ANSWER, at, block)) {
    return FC_RING_TRAYS;
  }
  *tray = (fc_tray_t){.serial = serial, .block = block, .given = true};
  atomic_store_explicit(&child->lent[at],
                        fc_block_file(blocks_of(child), block) + 1,
                        memory_order_release);
  return at;
}

uint32_t fc_child_lend(fc_child_t *child) {
  uint32_t given = 0;
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    fc_tray_t *tray = &child->trays[i];
    if (tray->given) given++;
    else if (tray->block != FC_BLOCK_NONE) {
      tray->given = true;
      return i;
    }
  }
  if (given >= FC_HOST_SLOW_AHEAD || child->unreachable) return FC_RING_TRAYS;
  fc_error_t error;
  uint32_t block;
  if (fc_block_lend(blocks_of(child), child->audience,
                    child->ring.setup.result_size, &block, &error) != FC_OK) {
    return FC_RING_TRAYS;
  }
  const uint32_t at = lend_block(child, block);
  if (at == FC_RING_TRAYS) fc_block_give(blocks_of(child), block);
  return at;
}

void fc_child_leave_tray(fc_child_t *child, uint32_t tray) {
  if (tray < FC_RING_TRAYS) child->trays[tray].given = false;
}

void fc_child_reclaim(fc_child_t *child) {
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    fc_tray_t *tray = &child->trays[i];
    if (tray->given) continue;
    atomic_store_explicit(&child->lent[i], 0, memory_order_release);
    fc_block_give(blocks_of(child), tray->block);
    tray->block = FC_BLOCK_NONE;
  }
}

// Returns the shelf for the file with this number: the shelf at which the process has the
// file mapped, else the next free one in turn. There are as many shelves as slots, so
// each call has one.
static uint32_t find_shelf(fc_child_t *child, uint64_t serial) {
  const fc_shelved_t *shelves = child->shelves;
  for (uint32_t i = 0; i < FC_RING_SHELVES; i++) {
    if (shelves[i].serial == serial) return i;
  }
  for (;;) {
    const uint32_t i = child->next_shelf++ % FC_RING_SHELVES;
    if (!shelves[i].calls) return i;
  }
}

bool fc_child_send_body(fc_child_t *child, fc_held_t *held) {
  const fc_piece_t *body = &held->job->call.body;
  if (body->size <= FC_LIMIT_SHARED || child->unreachable ||
      fc_block_file(blocks_of(child), body->block) < 0) {
    return false;
  }
  const uint64_t serial = fc_block_serial(blocks_of(child), body->block);
  const uint32_t at = find_shelf(child, serial);
  fc_shelved_t *shelf = &child->shelves[at];
  if (shelf->serial != serial) {
    shelf->serial = 0;
    if (!send_file(child, FC_HANDOFF_BODY, at, body->block)) return false;
    shelf->serial = serial;
  }
  shelf->calls++;
  held->sent.in_file = true;
  held->sent.shelf = at;
  held->sent.body_offset = body->offset;
  return true;
}

void fc_child_leave_shelf(fc_child_t *child, const fc_held_t *held,
                          bool failed) {
  if (!held->sent.in_file) return;
  fc_shelved_t *shelf = &child->shelves[held->sent.shelf];
  shelf->calls--;
  if (failed) shelf->serial = 0;
}

fc_job_t *fc_child_forget(fc_held_t *held, uint64_t now_ns) {
  fc_job_t *job = held->job;
  held->job = NULL;
  if (!job) return NULL;
  job->child = NULL;
  held->left_ns = now_ns;
  held->caller = job->caller;
  held->count = fc_owner_count_take(&job->count);
  if (held->sent.in_file) {
    held->body = job->call.body.block;
    held->body_offset = job->call.body.offset;
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
  if (held->sent.in_file) {
    if (held->body == FC_BLOCK_NONE) return false;
    data = fc_block_data(blocks_of(child), held->body) + held->body_offset;
  }
  *out_body = fc_str_make((const char *)data, size);
  return true;
}

void fc_child_drop_files(fc_child_t *child) {
  for (uint32_t i = 0; i < child->count; i++) {
    fc_held_t *held = &child->held[(child->first + i) % FC_RING_SLOTS];
    fc_block_give(blocks_of(child), held->body);
    held->body = FC_BLOCK_NONE;
  }
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) fc_child_leave_tray(child, i);
  fc_child_reclaim(child);
  fc_blocks_disband(blocks_of(child), child->audience);
  child->audience = FC_AUDIENCE_NONE;
}

uint64_t fc_child_taken(const fc_child_t *child) {
  const fc_blocks_t *blocks = blocks_of(child);
  uint64_t sum = fc_ring_taken(&child->ring);
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    const uint32_t block = child->trays[i].block;
    if (block == FC_BLOCK_NONE) continue;
    const uint64_t taken = fc_shared_taken(fc_block_file(blocks, block));
    const uint64_t known = fc_block_filled(blocks, block);
    if (taken > known) sum += taken - known;
  }
  return sum;
}
