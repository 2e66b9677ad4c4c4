// SPDX-License-Identifier: Apache-2.0
//
// The work of the nursery's thread for a child: it makes the process, reads its output,
// notices its end, and removes it with its ring. The loop owns the results after the
// reply. Until the loop has logged the reported lines, no more output is read, so a
// process prints no faster than the loop can log.
#include <sys/sysinfo.h>
#include <unistd.h>

#include "config/limits.h"
#include "pool/process_hosts.h"
#include "pool/shared.h"

#define PART (16u << 20)  // bytes given back at a time, of a ring or a file
#define GROWN \
  (4u << 20)  // bytes shared on the machine after which all are weighed
#define WEIGH_NS (FC_LIMIT_WEIGH_MS * 1000000u)
#define IDLE_WEIGH_NS (FC_LIMIT_LOOK_MS * 1000000u)
#define RARE_WEIGH_NS (FC_LIMIT_IDLE_LOOK_MS * 1000000u)

static fc_nursery_t *nursery_of(const fc_child_t *child) {
  return &fc_process_hosts_of(child->host)->nursery;
}

// ---------------------------------------------------------------------------
// The output of a process

static void tell(fc_child_t *child) {
  child->cradle.telling = true;
  fc_nursery_reply(nursery_of(child), &child->cradle.said);
}

static void read_on(fc_child_t *child) {
  fc_cradle_t *cradle = &child->cradle;
  uint64_t due_ns = 0;
  const bool more = fc_output_read(&cradle->output, cradle->process.output,
                                   &child->host->rate, &due_ns);
  if (!fc_output_is_empty(&cradle->output)) tell(child);
  else if (more)
    (void)fc_nursery_wait(nursery_of(child), &cradle->print, due_ns);
}

static void on_print(fc_vigil_t *wait) {
  fc_child_t *child = wait->context;
  if (!child->cradle.ended) read_on(child);
}

// The end is reported last, so the loop has all lines by then.
static void tell_end(fc_child_t *child) {
  fc_cradle_t *cradle = &child->cradle;
  fc_output_finish(&cradle->output, cradle->process.output);
  fc_nursery_reply(nursery_of(child), &cradle->end);
}

// The end must be the last report to the loop before the burial.
static bool owes(const fc_cradle_t *cradle) {
  return cradle->telling || cradle->weighed;
}

static void on_logged(fc_order_t *said) {
  fc_child_t *child = said->context;
  child->cradle.telling = false;
  if (!child->cradle.ended) read_on(child);
  else if (!owes(&child->cradle)) tell_end(child);
}

// ---------------------------------------------------------------------------
// The shared memory of a process

static uint64_t weight_of(const fc_child_t *child) {
  uint64_t sum = fc_ring_taken(&child->ring);
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    const int file =
        atomic_load_explicit(&child->lent[i], memory_order_acquire) - 1;
    if (file >= 0) sum += fc_shared_taken(file);
  }
  return sum;
}

static void weigh(fc_child_t *child) {
  if (child->cradle.weighed || weight_of(child) <= FC_RING_SPARE) return;
  child->cradle.weighed = true;
  fc_nursery_reply(nursery_of(child), &child->cradle.heavy);
}

static void on_judged(fc_order_t *heavy) {
  fc_child_t *child = heavy->context;
  child->cradle.weighed = false;
  if (child->cradle.ended && !owes(&child->cradle)) tell_end(child);
}

// Is it time to measure all processes? Yes if the shared memory of the whole machine has
// grown by GROWN bytes, which one system call reports; and every RARE_WEIGH_NS anyway.
static bool has_grown(fc_process_hosts_t *all, uint64_t now_ns) {
  struct sysinfo info;
  const uint64_t shared =
      sysinfo(&info) ? 0 : (uint64_t)info.sharedram * info.mem_unit;
  if (shared < all->shared) all->shared = shared;
  if (shared < all->shared + GROWN && now_ns < all->weighed_ns + RARE_WEIGH_NS)
    return false;
  all->shared = shared;
  all->weighed_ns = now_ns;
  return true;
}

static void wait_to_weigh(fc_process_hosts_t *all, uint64_t now_ns) {
  const bool calls = atomic_load_explicit(&all->calls, memory_order_relaxed);
  (void)fc_nursery_wait(&all->nursery, &all->weighing,
                        now_ns + (calls ? WEIGH_NS : IDLE_WEIGH_NS));
}

static void on_weighing(fc_vigil_t *weighing) {
  fc_process_hosts_t *all = weighing->context;
  const uint64_t now_ns = fc_clock_ns();
  const uint64_t kept_ns = FC_LIMIT_KEPT_MS * 1000000ull;
  bool kept = true;
  if (has_grown(all, now_ns)) {
    for (fc_child_t *child = all->cradles; child; child = child->cradle.next) {
      weigh(child);
    }
    kept = fc_blocks_age(all->base.pool->blocks,
                         now_ns > kept_ns ? now_ns - kept_ns : 0);
  }
  if (all->cradles || kept) wait_to_weigh(all, now_ns);
}

static void list_cradle(fc_child_t *child) {
  fc_process_hosts_t *all = fc_process_hosts_of(child->host);
  if (!all->cradles) wait_to_weigh(all, fc_clock_ns());
  child->cradle.next = all->cradles;
  all->cradles = child;
}

static void unlist_cradle(fc_child_t *child) {
  fc_child_t **at = &fc_process_hosts_of(child->host)->cradles;
  while (*at != child) at = &(*at)->cradle.next;
  *at = child->cradle.next;
}

// Empties one part of the two areas of the slot. False: that was the last part.
static bool scrub_part(fc_child_t *child) {
  fc_cradle_t *cradle = &child->cradle;
  const fc_ring_t *ring = &child->ring;
  const fc_filled_t *filled = &child->filled[cradle->scrubbed];
  const fc_span_t body = fc_ring_body(ring, cradle->scrubbed);
  const fc_span_t answer = fc_ring_answer(ring, cradle->scrubbed);
  return fc_ring_scrub(ring, body, filled->body, PART, &cradle->body_at) ||
         fc_ring_scrub(ring, answer, filled->answer, PART, &cradle->answer_at);
}

// While a module fills files itself (fallocate), it keeps them locked: the loop would
// wait 180 ms for each GiB. Orders for other processes are run in between. The slots of a
// process that has ended are not emptied: its burial empties the whole ring, and no scrub
// order may come after it.
static void scrub(fc_order_t *order) {
  fc_child_t *child = order->context;
  if (!child->cradle.ended && scrub_part(child)) {
    fc_nursery_order(nursery_of(child), order);
  } else {
    fc_nursery_reply(nursery_of(child), order);
  }
}

static void free_files(fc_order_t *freeing) {
  fc_process_hosts_t *all = freeing->context;
  if (fc_blocks_release_file(all->base.pool->blocks, PART)) {
    fc_nursery_order(&all->nursery, freeing);
  } else {
    fc_nursery_reply(&all->nursery, freeing);
  }
}

// ---------------------------------------------------------------------------
// The beginning and the end of a process

static void on_exit(fc_vigil_t *wait) {
  fc_child_t *child = wait->context;
  fc_cradle_t *cradle = &child->cradle;
  if (!fc_process_look(&cradle->process, &cradle->how)) {
    (void)fc_nursery_wait(nursery_of(child), wait, 0);
    return;
  }
  cradle->ended = true;
  unlist_cradle(child);
  if (!owes(cradle)) tell_end(child);
}

// Makes the control group, if this is the host's first process. With --sandbox=strict
// there is no process without the group.
static fc_status_t join_group(fc_process_host_t *host, fc_error_t *err) {
  fc_host_group_t *group = &host->group;
  const bool strict = host->sandbox == FC_SANDBOX_STRICT;
  if (group->wanted && !group->made) {
    group->failed =
        fc_groups_add(host->options->groups, host->name, host->base.generation,
                      &group->limits, strict ? NULL : &group->lacks,
                      &group->procs, &group->error) != FC_OK;
    group->made = true;
  }
  if (!group->failed || !strict) return FC_OK;
  *err = group->error;
  return err->status;
}

static fc_status_t make(fc_child_t *child, fc_error_t *err) {
  fc_cradle_t *cradle = &child->cradle;
  fc_process_end_t end;
  FC_TRY(join_group(child->host, err));
  cradle->start.group = child->host->group.procs;
  FC_TRY(fc_process_spawn(&cradle->start, &cradle->process, err));
  cradle->exit.file = cradle->process.pidfd;
  cradle->print.file = cradle->process.output;
  if (fc_nursery_wait(nursery_of(child), &cradle->exit, 0)) return FC_OK;
  fc_process_kill(&cradle->process);
  (void)fc_process_reap(&cradle->process, true, &end);
  fc_process_close(&cradle->process);
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                 "a worker process cannot be watched");
}

static void bear(fc_order_t *birth) {
  fc_child_t *child = birth->context;
  fc_cradle_t *cradle = &child->cradle;
  const bool failed = make(child, &cradle->error) != FC_OK;
  cradle->failed = failed;
  fc_nursery_reply(nursery_of(child), birth);
  if (failed) return;  // the child is the loop's, and may be gone
  list_cradle(child);
  // If the pipe cannot be watched now, the output is read later.
  if (!fc_nursery_wait(nursery_of(child), &cradle->print, 0)) {
    (void)fc_nursery_wait(nursery_of(child), &cradle->print, fc_clock_ns());
  }
}

static void bury(fc_order_t *burial) {
  fc_child_t *child = burial->context;
  fc_cradle_t *cradle = &child->cradle;
  fc_process_end_t end;
  if (cradle->process.pidfd >= 0) {
    fc_nursery_forget(nursery_of(child), &cradle->exit);
    fc_nursery_forget(nursery_of(child), &cradle->print);
    (void)fc_process_reap(&cradle->process, true, &end);
    fc_process_close(&cradle->process);
  }
  // The kernel takes long to free a whole large ring.
  if (fc_ring_empty(&child->ring, PART)) {
    fc_nursery_order(nursery_of(child), burial);
    return;
  }
  fc_ring_close(&child->ring);
  fc_nursery_reply(nursery_of(child), burial);
}

void fc_cradle_leave_group(fc_process_host_t *host) {
  fc_host_group_t *group = &host->group;
  if (group->procs < 0) return;
  close(group->procs);
  group->procs = -1;
  fc_groups_remove(host->options->groups, host->name, host->base.generation);
}

static void remove_group(fc_order_t *removal) {
  fc_process_host_t *host = removal->context;
  fc_cradle_leave_group(host);
  fc_nursery_reply(&fc_process_hosts_of(host)->nursery, removal);
}

// ---------------------------------------------------------------------------
// The loop's thread

void fc_cradle_remove_group(fc_process_host_t *host) {
  fc_order_t *removal = &host->group.removal;
  *removal = (fc_order_t){remove_group, fc_process_host_on_left, host, NULL};
  fc_nursery_order(&fc_process_hosts_of(host)->nursery, removal);
}

void fc_cradle_order(fc_child_t *child) {
  fc_cradle_t *cradle = &child->cradle;
  cradle->birth = (fc_order_t){bear, fc_child_on_born, child, NULL};
  cradle->said = (fc_order_t){on_logged, fc_child_on_said, child, NULL};
  cradle->heavy = (fc_order_t){on_judged, fc_child_on_heavy, child, NULL};
  cradle->end = (fc_order_t){NULL, fc_child_on_gone, child, NULL};
  cradle->scrub = (fc_order_t){scrub, fc_child_on_scrubbed, child, NULL};
  cradle->burial = (fc_order_t){bury, fc_child_on_buried, child, NULL};
  cradle->exit = (fc_vigil_t){.on = on_exit, .context = child, .file = -1};
  cradle->print = (fc_vigil_t){.on = on_print, .context = child, .file = -1};
  fc_nursery_order(nursery_of(child), &cradle->birth);
}

static void on_freed(fc_order_t *freeing) {
  ((fc_process_hosts_t *)freeing->context)->is_freeing = false;
}

void fc_cradles_init(fc_process_hosts_t *all) {
  all->weighing = (fc_vigil_t){.on = on_weighing, .context = all, .file = -1};
  all->freeing = (fc_order_t){free_files, on_freed, all, NULL};
}

void fc_cradles_free_files(fc_process_hosts_t *all) {
  if (all->is_freeing || !all->nursery.started ||
      !fc_blocks_has_dying_files(all->base.pool->blocks)) {
    return;
  }
  all->is_freeing = true;
  fc_nursery_order(&all->nursery, &all->freeing);
}

void fc_cradle_scrub(fc_child_t *child, uint32_t slot) {
  child->cradle.scrubbing = true;
  child->cradle.scrubbed = slot;
  child->cradle.body_at = child->cradle.answer_at = 0;
  fc_nursery_order(nursery_of(child), &child->cradle.scrub);
}

void fc_cradle_bury(fc_child_t *child) {
  fc_nursery_order(nursery_of(child), &child->cradle.burial);
}
