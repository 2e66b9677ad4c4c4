// SPDX-License-Identifier: Apache-2.0
//
// A worker process. It enters its jail, loads one module from the descriptors that it got
// (its parameter archives by their paths), locks the jail, reports that it serves, and
// runs the slots of its ring until it is killed. It reads no configuration and has no
// secrets. It communicates only with the loop, through the ring, the eventfd and the pipe
// of its output, and gets files through a socket.
#include "pool/process_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "farcall/module.h"
#include "jail/jail.h"
#include "pool/fault.h"
#include "pool/handoff.h"
#include "pool/helpers.h"
#include "pool/process.h"
#include "pool/together.h"
#include "pool/worker.h"

typedef struct self_t {
  const fc_backend_t *const *backends;
  const fc_dialect_worker_t *const *dialects;
  fc_ring_t ring;
  fc_inbox_t inbox;
  fc_block_more_t more;
  fc_region_t region;
  fc_worker_t worker;
  fc_module_t *module;
  fc_jail_t jail;
  const char *path;
  const char *parameters;
  int parent;
  bool wakes;  // the loop sleeps, and is to be woken for calls of a batch
} self_t;

static void wake_loop(void) {
  const uint64_t one = 1;
  ssize_t written;
  do written = write(FC_PROCESS_BELL, &one, sizeof one);
  while (written < 0 && errno == EINTR);
  // EAGAIN: the eventfd is readable already. After any other error the module has closed
  // it, and only by ending can the process be noticed.
  if (written < 0 && errno != EAGAIN) _exit(EX_IOERR);
}

static void find_desk(void *context, const fc_slot_t *slot, fc_desk_t *out) {
  const self_t *self = context;
  const fc_ring_slot_t *slots = self->ring.head->slots;
  const size_t at = (size_t)((const uint8_t *)slot - (const uint8_t *)slots);
  *out = (fc_desk_t){
      .desk = fc_ring_desk(&self->ring, (uint32_t)(at / sizeof *slots)),
      .slab = self->inbox.slab,
      .serial = self->inbox.slabs};
}

static fc_status_t fix_blocks(self_t *self, fc_error_t *err) {
  fc_span_t spans[FC_RING_BLOCKS];
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    spans[FC_RING_BODY_BLOCK(i)] = fc_ring_body(&self->ring, i);
    spans[FC_RING_ANSWER_BLOCK(i)] = fc_ring_answer(&self->ring, i);
  }
  for (uint32_t i = 0; i < FC_RING_SHELVES; i++) {
    spans[FC_RING_BODY_FILE(i)] = self->inbox.shelves[i].room;
  }
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    spans[FC_RING_ANSWER_FILE(i)] = self->inbox.answers[i];
  }
  const uint64_t limit = self->ring.setup.call_memory;
  self->more = (fc_block_more_t){FC_RING_FIRST, fc_inbox_more, &self->inbox};
  self->region.more = &self->more;
  self->region.find_desk = find_desk;
  self->region.desk_context = self;
  self->region.is_body_as_sent = fc_inbox_is_as_sent;
  self->region.body_context = &self->inbox;
  return fc_blocks_create_fixed(self->region.allocator,
                                limit ? limit : UINT64_MAX, spans,
                                FC_RING_BLOCKS, &self->region.blocks, err);
}

static fc_status_t load(self_t *self, fc_error_t *err) {
  const fc_ring_setup_t *setup = &self->ring.setup;
  char heap[24];
  snprintf(heap, sizeof heap, "%llu", (unsigned long long)setup->heap);
  const fc_setting_t settings[] = {
      {FC_STR("vm.parameters"), fc_str(self->parameters)},
      {FC_STR("vm.heap"), fc_str(heap)}};
  const fc_module_options_t options = {
      .forbid_native = setup->forbid_native,
      .settings = settings,
      .setting_count = FC_ARRAY_COUNT(settings)};
  const fc_module_files_t files = {
      .module = FC_PROCESS_MODULE,
      .sidecar =
          fcntl(FC_PROCESS_SIDECAR, F_GETFD) < 0 ? -1 : FC_PROCESS_SIDECAR,
      .digest = setup->digest};
  fc_fault_before_load();
  FC_TRY(fc_module_load_files(self->backends, fc_str(self->path), &files,
                              &options, self->region.allocator, &self->module,
                              err));
  fc_fault_after_load();
  FC_TRY(fc_region_add(&self->region, 0, self->module, 0, err));
  return fc_worker_prepare(&self->worker, 0, err);
}

static fc_status_t enter_jail(self_t *self, fc_error_t *err) {
  const fc_ring_setup_t *setup = &self->ring.setup;
  // The sanitizers reserve terabytes of addresses, so there is no limit with them.
  const uint64_t memory = !FC_SANITIZED && setup->memory_limit
                              ? setup->memory_limit + self->ring.size +
                                    fc_inbox_size(setup) + setup->state_size
                              : 0;
  self->jail = (fc_jail_t){
      .sandbox = (fc_sandbox_t)setup->sandbox,
      .parts = setup->jail_parts,
      .memory = memory,
      .parent = self->parent,
      .module = self->path,
      .file = FC_PROCESS_MODULE,
      .parameters = self->parameters,
      .network = FC_PROCESS_NETWORK,
      .procs = fcntl(FC_PROCESS_GROUP, F_GETFD) < 0 ? 0 : FC_PROCESS_GROUP,
      .cpu_s = setup->cpu_limit_s,
      .user = setup->user,
      .group = setup->group,
      .stops = &self->ring.head->stops};
  return fc_jail_enter(&self->jail, err);
}

static fc_status_t prepare(self_t *self, fc_error_t *err) {
  const fc_ring_setup_t *setup = &self->ring.setup;
  FC_TRY(enter_jail(self, err));
  FC_TRY(fc_inbox_open(FC_PROCESS_INBOX, setup, &self->inbox, err));
  self->region = (fc_region_t){.allocator = fc_allocator_system(),
                               .dialects = self->dialects,
                               .worker_count = 1,
                               .is_process = true,
                               .fresh = setup->fresh != 0,
                               .limits = fc_limits_default()};
  self->region.limits.result_size = setup->result_size;
  self->region.guard = (fc_guard_policy_t)setup->guard;
  FC_TRY(fix_blocks(self, err));
  if (setup->tiles > 1) {
    fc_helpers_t *helpers;  // never destroyed: they live as long as the process
    FC_TRY(fc_helpers_create(self->region.allocator, setup->tiles,
                             setup->spin_ns, &helpers, err));
    self->region.tiles = fc_helpers_tiles(helpers);
  }
  FC_TRY(fc_worker_init(&self->worker, &self->region, 0, err));
  FC_TRY(load(self, err));
  return fc_jail_lock(&self->jail, err);
}

static void report(self_t *self, fc_status_t status, const fc_error_t *err) {
  fc_ring_head_t *head = self->ring.head;
  if (status == FC_OK) {
    memcpy(head->digest, fc_module_get_digest(self->module).data,
           FC_DIGEST_SIZE);
  } else {
    head->error = *err;
  }
  atomic_store_explicit(&head->phase,
                        status == FC_OK ? FC_RING_SERVING : FC_RING_FAILED,
                        memory_order_release);
  wake_loop();
}

// Does a part of the answer lie in the file that was lent for it?
static bool is_in_tray(const self_t *self, const fc_outcome_t *outcome) {
  return outcome->status == FC_OK && outcome->piece_count > 1 &&
         outcome->pieces[1].block == FC_RING_ANSWER_FILE(self->inbox.tray);
}

static void free_references(self_t *self) {
  fc_references_t *references = fc_region_references(&self->region, 0);
  uint64_t number;
  while (fc_ring_take_drop(&self->ring, &number)) {
    (void)fc_references_drop(references, number);
  }
  fc_references_free(references);
  fc_ring_note_freed(&self->ring);
}

static void serve_slot(self_t *self, uint32_t index) {
  fc_ring_slot_t *shared = &self->ring.head->slots[index];
  fc_outcome_t *outcome = &shared->slot.outcome;
  // A process that always has calls would never free any.
  if (shared->slot.call.flags & FC_CALL_SESSION) free_references(self);
  if (fc_inbox_take(&self->inbox, shared, &outcome->error) == FC_OK) {
    fc_worker_run(&self->worker, &shared->slot);
  } else {
    fc_worker_refuse(&shared->slot);
  }
  const bool answered = is_in_tray(self, outcome);
  // Unused bytes that a call wrote to the file for answers are given back before the call
  // is DONE: otherwise the loop would count them against the process.
  if (!answered) fc_inbox_end(&self->inbox, false);
  if (fc_ring_done(&self->ring, index)) wake_loop();
  if (answered) fc_inbox_end(&self->inbox, true);
}

// For fc_mates_t. The bodies of a batch are in the ring, so they cannot be missing.
static fc_ring_slot_t *shared_of(fc_slot_t *slot) {
  return (fc_ring_slot_t *)(void *)((char *)slot -
                                    offsetof(fc_ring_slot_t, slot));
}

static void open_mate(void *context, fc_slot_t *slot) {
  self_t *self = context;
  const fc_status_t status = fc_inbox_take(&self->inbox, shared_of(slot), NULL);
  FC_ASSERT(status == FC_OK);
}

static void close_mate(void *context, const fc_slot_t *slot) {
  self_t *self = context;
  fc_inbox_end(&self->inbox, is_in_tray(self, &slot->outcome));
}

static void end_mate(void *context, const fc_slot_t *slot) {
  self_t *self = context;
  const fc_ring_slot_t *slots = self->ring.head->slots;
  const size_t at = (size_t)((const uint8_t *)slot - (const uint8_t *)slots);
  self->wakes |= fc_ring_done(&self->ring, (uint32_t)(at / sizeof *slots));
}

static void tell(void *context) {
  self_t *self = context;
  if (self->wakes) wake_loop();
  self->wakes = false;
}

static void serve_mates(self_t *self, uint32_t first) {
  fc_mates_t mates = {.count = fc_ring_take_mates(&self->ring, first) + 1,
                      .open = open_mate,
                      .close = close_mate,
                      .done = end_mate,
                      .tell = tell,
                      .in_order = true,
                      .context = self};
  for (uint32_t i = 0; i < mates.count; i++) {
    mates.slots[i] = &self->ring.head->slots[(first + i) % FC_RING_SLOTS].slot;
  }
  fc_worker_run_mates(&self->worker, &mates);
}

static _Noreturn void serve(self_t *self) {
  for (;;) {
    const uint32_t slot = fc_ring_take(&self->ring);
    if (FC_UNLIKELY(slot == FC_SLOT_NONE)) {
      free_references(self);
    } else if (FC_UNLIKELY(self->ring.head->slots[slot].slot.mate !=
                           FC_SLOT_NONE)) {
      serve_mates(self, slot);
    } else {
      serve_slot(self, slot);
    }
  }
}

void fc_process_main(int argc, char **argv, const fc_backend_t *const *backends,
                     const fc_dialect_worker_t *const *dialects) {
  static self_t self;
  fc_error_t error;
  static char printed[BUFSIZ];
  // Output is line-buffered, so that a module's lines are not lost if it crashes
  // afterwards. With a given buffer, the C library makes no system call to choose one.
  setvbuf(stdout, printed, _IOLBF, sizeof printed);
  signal(SIGPIPE, SIG_IGN);
  if (argc < 4 || fc_ring_open(FC_PROCESS_RING, &self.ring, &error)) {
    fputs("farcalld: --worker is for the server's own use\n", stderr);
    _exit(EX_USAGE);
  }
  self.backends = backends;
  self.dialects = dialects;
  self.path = argv[2];
  self.parent = (int)strtol(argv[3], NULL, 10);
  self.parameters = argc > 4 ? argv[4] : "";
  fc_fault_watch(&self.ring.head->fault);
  fc_status_t status = prepare(&self, &error);
  report(&self, status, &error);
  // Not exit(), which would run handlers that the module registered.
  if (status != FC_OK) _exit(0);
  serve(&self);
}
