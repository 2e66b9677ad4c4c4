// SPDX-License-Identifier: Apache-2.0
//
// The worker loop and the region it works in. Nothing here knows sockets,
// HTTP or time-outs of connections.
#include "pool/region.h"

#include "limits.h"

fc_status_t fc_region_init(fc_region_t *region, fc_allocator_t allocator,
                           uint32_t slot_count, fc_error_t *err) {
  *region = (fc_region_t){.allocator = allocator, .slot_count = slot_count};
  region->slots = fc_alloc_array(allocator, slot_count, sizeof *region->slots);
  if (!region->slots) return fc_fail_memory(err);
  fc_ready_init(&region->ready);
  fc_done_init(&region->done);
  region->limits = fc_limits_default();
  return FC_OK;
}

void fc_region_deinit(fc_region_t *region) {
  if (!region->slots) return;
  fc_ready_deinit(&region->ready);
  fc_free(region->allocator, region->slots);
  *region = (fc_region_t){0};
}

// ---------------------------------------------------------------------------

fc_status_t fc_worker_init(fc_worker_t *worker, fc_region_t *region,
                           fc_error_t *err) {
  *worker = (fc_worker_t){.region = region, .spin = {.ns = region->spin_ns}};
  return fc_frame_create(region->allocator, &region->limits, &worker->frame,
                         err);
}

void fc_worker_deinit(fc_worker_t *worker) {
  if (!worker->region) return;
  fc_frame_destroy(worker->frame);
  for (size_t i = 0; i < worker->instance_count; i++) {
    if (!worker->instances[i]) continue;
    const fc_module_t *module = fc_region_module(worker->region, (uint32_t)i);
    fc_module_get_backend(module)->instance_destroy(worker->instances[i]);
  }
  fc_free(worker->region->allocator, worker->instances);
  *worker = (fc_worker_t){0};
}

const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index) {
  if (region->module) return region->module;
  return fc_registry_at(region->registry, index)->module;
}

static size_t module_count(const fc_region_t *region) {
  return region->module ? 1 : fc_registry_count(region->registry);
}

fc_status_t fc_worker_instance(fc_worker_t *worker, uint32_t index,
                               const fc_module_t *module, void **out_instance,
                               fc_error_t *err) {
  fc_allocator_t allocator = worker->region->allocator;
  if (index >= worker->instance_count) {
    size_t count = module_count(worker->region);
    void **grown = fc_realloc(allocator, worker->instances,
                              worker->instance_count * sizeof *grown,
                              count * sizeof *grown);
    if (!grown) return fc_fail_memory(err);
    for (size_t i = worker->instance_count; i < count; i++) grown[i] = NULL;
    worker->instances = grown;
    worker->instance_count = count;
  }
  if (!worker->instances[index]) {
    FC_TRY(fc_module_get_backend(module)->instance_create(
        fc_module_get_handle(module), allocator, &worker->instances[index],
        err));
  }
  *out_instance = worker->instances[index];
  return FC_OK;
}

fc_status_t fc_worker_prepare(fc_worker_t *worker, uint32_t index,
                              const fc_module_t *module, fc_error_t *err) {
  bool callable = false;
  for (size_t f = 0; f < fc_module_function_count(module); f++) {
    callable = callable || fc_module_function(module, f)->plan;
  }
  void *instance;
  if (!callable) return FC_OK;
  return fc_worker_instance(worker, index, module, &instance, err);
}

// Before it starts: does anybody still want it?
static fc_status_t check_wanted(fc_slot_t *slot, fc_error_t *err) {
  if (!fc_slot_begin(&slot->begun, FC_BEGUN_YES) ||
      atomic_load_explicit(&slot->cancel, memory_order_relaxed)) {
    return fc_fail_as(err, FC_CODE_INTERNAL, FC_CANCELLED, "nobody waits");
  }
  if (slot->deadline_ns && slot->began_ns >= slot->deadline_ns) {
    return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                   "the deadline passed in the queue");
  }
  return FC_OK;
}

// Time at a stop: from the last mark until now.
static void mark(fc_slot_t *slot, fc_stop_t stop, uint64_t *last_ns) {
  uint64_t now = fc_clock_ns();
  slot->spent_ns[stop] = now - *last_ns;
  *last_ns = now;
}

static bool wants_guard(const fc_region_t *region,
                        const fc_function_t *function) {
  if (region->guard != FC_GUARD_AUTO) return region->guard == FC_GUARD_ON;
  // In a thread the fault would end everybody's calls.
  return region->module && !function->signature->memory_safe;
}

static fc_status_t run_stops(fc_worker_t *worker, fc_slot_t *slot,
                             fc_error_t *err) {
  fc_region_t *region = worker->region;
  const fc_module_t *module = fc_region_module(region, slot->module);
  const fc_function_t *function = fc_module_function(module, slot->function);
  const fc_front_worker_t *front = &region->fronts[slot->front];
  fc_frame_t *frame = worker->frame;
  uint64_t last_ns = slot->began_ns;

  slot->stop = FC_STOP_QUEUE;
  FC_TRY(check_wanted(slot, err));

  slot->stop = FC_STOP_DECODE;
  fc_frame_begin(frame, function->plan, NULL);
  fc_frame_set_guard(frame, wants_guard(region, function));
  fc_frame_set_tiles(frame, region->tiles);
  const char *body =
      (const char *)fc_block_data(region->blocks, slot->body.block) +
      slot->body.offset;
  fc_status_t status =
      front->decode(frame, fc_str_make(body, slot->body.size), err);
  mark(slot, FC_STOP_DECODE, &last_ns);
  FC_TRY(status);
  if (slot->flags & FC_SLOT_VALIDATE) return FC_OK;

  slot->stop = FC_STOP_CALL;
  void *instance = NULL;
  FC_TRY(fc_worker_instance(worker, slot->module, module, &instance, err));
  status =
      fc_frame_invoke(frame, fc_module_get_backend(module), instance,
                      function->index, &slot->cancel, slot->deadline_ns, err);
  mark(slot, FC_STOP_CALL, &last_ns);
  FC_TRY(status);

  slot->stop = FC_STOP_ENCODE;
  uint32_t block = slot->answer_block;
  if (block == FC_BLOCK_NONE) {
    FC_TRY(fc_block_take(region->blocks, FC_LIMIT_HEAD, &block, err));
  }
  fc_block_sink_t out;
  fc_block_sink_init(&out, region->blocks, block, FC_LIMIT_HEAD,
                     region->limits.result_size);
  status = front->encode(frame, &out.sink, err);
  if (status == FC_OK) {
    fc_block_sink_finish(&out);
    memcpy(slot->pieces, out.pieces, out.count * sizeof *out.pieces);
    slot->piece_count = out.count;
  } else {
    fc_block_sink_drop(&out);
  }
  mark(slot, FC_STOP_ENCODE, &last_ns);
  return status;
}

void fc_worker_run(fc_worker_t *worker, fc_slot_t *slot) {
  slot->began_ns = fc_clock_ns();
  slot->spent_ns[FC_STOP_DECODE] = slot->spent_ns[FC_STOP_CALL] =
      slot->spent_ns[FC_STOP_ENCODE] = 0;
  if (slot->flags & FC_SLOT_PREPARE) {
    slot->stop = FC_STOP_QUEUE;
    slot->status = fc_worker_prepare(
        worker, slot->module, fc_region_module(worker->region, slot->module),
        &slot->error);
    slot->spent_ns[FC_STOP_CALL] = fc_clock_ns() - slot->began_ns;
    return;
  }
  slot->status = run_stops(worker, slot, &slot->error);
  fc_frame_end(worker->frame);
}

void fc_worker_main(fc_worker_t *worker) {
  fc_region_t *region = worker->region;
  uint32_t slot;
  while ((slot = fc_ready_take(&region->ready, region->slots, &worker->spin)) !=
         FC_SLOT_NONE) {
    fc_worker_run(worker, &region->slots[slot]);
    if (fc_done_push(&region->done, region->slots, slot)) {
      region->ring(region->ring_context);
    }
  }
}
