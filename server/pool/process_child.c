// SPDX-License-Identifier: Apache-2.0
//
// One worker process of a host: it is ordered, sends events through its bell, and is
// closed after it has ended. Its ring is never reused.
#include <unistd.h>

#include "config/limits.h"
#include "pool/process_hosts.h"

// The nursery has stopped: logs lines that it has read but not reported, and reads the
// rest.
static void say_rest(fc_child_t *child) {
  const fc_process_host_t *host = child->host;
  fc_cradle_t *cradle = &child->cradle;
  for (int i = 0; i < 2; i++) {
    fc_output_log(&cradle->output, host->options->log, host->name,
                  (int)cradle->process.pid);
    if (i == 0) fc_output_finish(&cradle->output, cradle->process.output);
  }
}

void fc_child_free(fc_child_t *child) {
  fc_process_host_t *host = child->host;
  fc_process_t *process = &child->cradle.process;
  fc_process_end_t end;
  if (process->pidfd >= 0) {
    fc_process_kill(process);
    (void)fc_process_reap(process, true, &end);
    say_rest(child);
  }
  fc_child_drop_copies(child);
  fc_home_leave(&child->home);
  fc_ring_close(&child->ring);
  fc_process_close(process);
  fc_free(host->base.pool->allocator, child);
  fc_process_host_let_go(host);
}

// Notes in `setup` which parts of the jail are required. Returns the network namespace
// that the process will enter (jail/jail.c), -1: none.
static int choose_jail(const fc_process_host_t *host, fc_ring_setup_t *setup) {
  const fc_process_options_t *options = host->options;
  setup->sandbox = host->sandbox;
  if (!options->jail || (host->sandbox != FC_SANDBOX_AUTO &&
                         host->sandbox != FC_SANDBOX_STRICT)) {
    return -1;
  }
  const fc_jail_facts_t *facts = options->jail(options->jail_context);
  setup->jail_parts = facts->parts;
  return facts->network;
}

static fc_status_t prepare(fc_child_t *child, fc_error_t *err) {
  const fc_process_host_t *host = child->host;
  const fc_process_options_t *options = host->options;
  const fc_module_files_t files = fc_module_get_files(host->module);
  fc_ring_setup_t setup = options->setup;
  setup.digest = files.digest;
  setup.tiles = (uint8_t)host->tiles;
  setup.fresh = host->fresh;
  setup.heap = host->heap;
  const int network = choose_jail(host, &setup);
  // Takes 20 us, for any size of the ring and whatever other processes do with theirs.
  FC_TRY(fc_ring_create(&setup, &child->ring, err));
  child->cradle.start =
      (fc_process_start_t){.program = options->program,
                           .path = fc_module_get_path(host->module).data,
                           .parameters = host->parameters,
                           .ring = child->ring.fd,
                           .files = files,
                           .network = network};
  return FC_OK;
}

static fc_child_t *make_child(fc_process_host_t *host) {
  fc_child_t *child = fc_alloc(host->base.pool->allocator, sizeof *child);
  if (!child) return NULL;
  child->host = host;
  host->open++;
  child->taking.lent = FC_BLOCK_NONE;
  child->audience = fc_blocks_audience(host->base.pool->blocks);
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    child->trays[i].block = FC_BLOCK_NONE;
  }
  child->process = child->cradle.process =
      (fc_process_t){.pidfd = -1, .bell = -1, .handoff = -1, .output = -1};
  child->notified = true;
  fc_child_make_home(child);
  child->started_ns = fc_clock_ns();
  return child;
}

static void link_child(fc_child_t *child) {
  fc_child_t **last = &child->host->children;
  while (*last) last = &(*last)->next;
  *last = child;
}

static void unlink_child(fc_child_t *child, fc_child_t **at) {
  while (*at != child) at = &(*at)->next;
  *at = child->next;
}

fc_status_t fc_child_start(fc_process_host_t *host, fc_error_t *err) {
  fc_child_t *child = make_child(host);
  if (!child) return fc_fail_memory(err);
  fc_status_t status = prepare(child, err);
  if (status != FC_OK) {
    fc_child_free(child);
    return status;
  }
  link_child(child);
  host->living++;
  host->base.hosts->watched++;
  fc_process_host_count_starting(host, 1);
  fc_process_host_arm(host);
  fc_cradle_order(child);
  return FC_OK;
}

static void on_bell(uv_poll_t *poll, int status, int events);

static bool watch(fc_child_t *child) {
  child->bell_poll.data = child;
  return uv_poll_init(child->host->options->uv, &child->bell_poll,
                      child->process.bell) == 0 &&
         uv_poll_start(&child->bell_poll, UV_READABLE, on_bell) == 0;
}

// Handles a process that could not be made. Whatever the host decides, the child is
// removed.
static void miscarry(fc_child_t *child) {
  fc_process_host_t *host = child->host;
  host->living--;
  host->base.hosts->watched--;
  fc_process_host_count_starting(host, -1);
  unlink_child(child, &host->children);
  fc_process_host_lacks(host, &child->cradle.error);
  fc_process_host_arm(host);
  if (host->living == 0 && host->health.quarantined_ns) {
    fc_process_host_refuse(host);
  }
  fc_child_free(child);
}

void fc_child_on_born(fc_order_t *birth) {
  fc_child_t *child = birth->context;
  fc_error_t *error = &child->cradle.error;
  fc_process_host_tell_lacks(child->host);
  if (child->cradle.failed) {
    miscarry(child);
    return;
  }
  child->process = child->cradle.process;
  // The process may no longer be wanted.
  if (child->cause != FC_CAUSE_NONE) fc_process_kill(&child->process);
  else if (!watch(child)) {
    (void)fc_fail(error, FC_CODE_MODULE_UNAVAILABLE,
                  "a worker process cannot be watched");
    fc_process_host_lacks(child->host, error);
    fc_child_kill(child, FC_CAUSE_RETIRED);
  }
}

void fc_child_on_said(fc_order_t *said) {
  fc_child_t *child = said->context;
  const fc_process_host_t *host = child->host;
  fc_output_log(&child->cradle.output, host->options->log, host->name,
                (int)child->process.pid);
  fc_nursery_order(&fc_process_hosts_of(host)->nursery, said);
}

void fc_child_on_heavy(fc_order_t *heavy) {
  fc_child_t *child = heavy->context;
  fc_child_weigh(child);
  fc_nursery_order(&fc_process_hosts_of(child->host)->nursery, heavy);
}

void fc_child_on_scrubbed(fc_order_t *scrub) {
  fc_child_t *child = scrub->context;
  child->cradle.scrubbing = false;
  child->filled[child->cradle.scrubbed] = (fc_filled_t){0};
  fc_child_free_slots(child);
}

void fc_child_on_gone(fc_order_t *end) {
  fc_child_t *child = end->context;
  const fc_process_host_t *host = child->host;
  fc_output_log(&child->cradle.output, host->options->log, host->name,
                (int)child->process.pid);
  child->end = child->cradle.how;
  fc_child_on_end(child);
}

static void on_bell_closed(uv_handle_t *handle) {
  fc_cradle_bury(handle->data);
}

void fc_child_close(fc_child_t *child) {
  fc_process_hosts_t *all = fc_process_hosts_of(child->host);
  uv_handle_t *handle = (uv_handle_t *)&child->bell_poll;
  unlink_child(child, &child->host->children);
  fc_child_drop_copies(child);
  child->next = all->closed;
  all->closed = child;
  if (!handle->type) fc_cradle_bury(child);
  else if (!uv_is_closing(handle)) uv_close(handle, on_bell_closed);
}

void fc_child_let_go(fc_child_t *child) {
  if (!child->buried || child->home.first) return;
  unlink_child(child, &fc_process_hosts_of(child->host)->closed);
  fc_child_free(child);
}

void fc_child_on_buried(fc_order_t *burial) {
  fc_child_t *child = burial->context;
  child->buried = true;
  fc_child_let_go(child);
}

void fc_child_kill(fc_child_t *child, fc_cause_t cause) {
  if (child->cause != FC_CAUSE_NONE) return;
  child->cause = cause;
  fc_process_kill(&child->process);
}

// ---------------------------------------------------------------------------
// Reports of a process

static void begin_serving(fc_child_t *child) {
  fc_process_host_t *host = child->host;
  child->serving = true;
  child->quiet_ns = fc_clock_ns();
  host->took_ns = child->quiet_ns - child->started_ns;
  fc_process_host_count_starting(host, -1);
  fc_process_host_arm(host);
  if (host->missing) {
    host->missing--;
    host->restarts++;
  }
  const bool first = !host->loaded;
  host->loaded = true;
  fc_process_host_fill(host);
  if (first) fc_pool_on_host(&host->base, NULL);
}

void fc_child_read_phase(fc_child_t *child) {
  char digest[FC_DIGEST_SIZE];
  fc_error_t error;
  switch (fc_ring_phase(&child->ring, digest, &error)) {
    case FC_RING_LOADING:
      return;
    case FC_RING_SERVING:
      // A process that ended before the loop noticed that it serves counts as failed.
      if (child->ended) return;
      if (fc_str_equal(fc_str_make(digest, sizeof digest),
                       fc_module_get_digest(child->host->module))) {
        begin_serving(child);
        return;
      }
      (void)fc_fail(&error, FC_CODE_MODULE_LOAD,
                    "its worker loaded another file: it was changed");
      break;
    case FC_RING_FAILED:
      break;
  }
  if (child->host->loaded) {
    fc_log_field_t field = FC_LOG_TEXT("module", child->host->name);
    fc_log_fields(child->host->options->log, FC_LOG_ERROR,
                  fc_str(error.message), &field, 1);
  }
  fc_process_host_fail(child->host, &error);
  fc_child_kill(child, FC_CAUSE_LOAD);
}

// The process may write its eventfd once when it has loaded its module, and once for each
// call. FC_RING_SLOTS allows for finished calls that the loop has not collected yet.
static void count_bell(fc_child_t *child) {
  child->bells++;
  if (child->bells <= child->calls + FC_RING_SLOTS + FC_LIMIT_BELLS) return;
  fc_child_kill(child, FC_CAUSE_NOISE);
}

static void on_bell(uv_poll_t *poll, int status, int events) {
  fc_child_t *child = poll->data;
  uint64_t count;
  (void)status;
  (void)events;
  ssize_t size = read(child->process.bell, &count, sizeof count);
  (void)size;
  count_bell(child);
  // Its finished calls are collected before the loop waits again (on_turn in server.c).
  if (!child->serving && child->cause == FC_CAUSE_NONE)
    fc_child_read_phase(child);
}
