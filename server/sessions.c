// SPDX-License-Identifier: Apache-2.0
#include "sessions.h"

#include "module/states.h"
#include "pool/process_host.h"

#define MS_NS 1000000u
#define LOOK_NS (50u * MS_NS)
#define IDLE_LOOK_NS (500u * MS_NS)
#define LOOKS 256  // sessions that are looked at each time

uint64_t fc_loop_session_memory(const fc_server_options_t *options,
                                uint64_t memory) {
  return options->session_memory ? options->session_memory : memory / 4;
}

static void let_go(void *context, void *module) {
  fc_loop_t *loop = context;
  if (module) fc_generations_release(&loop->modules.generations, module);
}

// Called when the server ends. Only lowers the count and unloads nothing, because all
// generations are freed together.
static void forget(void *context, void *module) {
  fc_generation_t *generation = module;
  (void)context;
  if (generation) generation->holds--;
}

// True if a newer generation took the place of `module`, or the module was unloaded.
// *out_gone: it was unloaded, so that no path leads to its sessions.
static bool is_replaced(void *context, const void *module, bool *out_gone) {
  const fc_loop_t *loop = context;
  const fc_generation_t *generation = module;
  if (!fc_generation_is_draining(generation)) return false;
  *out_gone =
      !fc_generations_find(&loop->modules.generations, generation->claim.name);
  return true;
}

void fc_loop_init_sessions(fc_loop_t *loop, uint64_t memory) {
  const fc_server_options_t *options = loop->options;
  loop->sessions = (fc_sessions_t){
      .allocator = loop->allocator,
      .limits = fc_session_limits((uint32_t)options->sessions,
                                  fc_loop_session_memory(options, memory),
                                  options->session_ttl * MS_NS),
      .claims = &fc_session_claims,
      .nursery = fc_process_hosts_nursery(loop->pool.hosts[FC_HOSTS_PROCESS]),
      .let_go = let_go,
      .is_replaced = is_replaced,
      .drain_ns = options->session_drain * MS_NS,
      .context = loop};
}

static fc_functions_t functions_of(const fc_generation_t *generation) {
  const size_t count = fc_module_function_count(generation->module);
  return (fc_functions_t){
      count ? fc_module_function(generation->module, 0) : NULL, count};
}

void fc_loop_pass_sessions(void *context, fc_generation_t *from,
                           fc_generation_t *to) {
  fc_loop_t *loop = context;
  if (!loop->sessions.count || !from->module ||
      !fc_states_go_over(functions_of(from), functions_of(to),
                         loop->allocator)) {
    return;
  }
  const uint32_t passed =
      fc_sessions_pass(&loop->sessions, from, to, to->serial, to->index);
  from->holds -= passed;
  to->holds += passed;
}

// Ends the workers of all generations of the module, because any of them may have
// mapped the slab.
static void end_workers(fc_loop_t *loop, uint32_t index) {
  const fc_generations_t *all = &loop->modules.generations;
  const fc_generation_t *generation = fc_generations_at(all, index);
  if (!generation) return;
  for (uint32_t i = 0; i < all->count; i++) {
    const fc_generation_t *other = all->places[i];
    if (!other || !fc_str_equal(other->claim.name, generation->claim.name)) {
      continue;
    }
    fc_pool_end_workers(&loop->pool, i);
  }
}

void fc_loop_look_at_sessions(fc_loop_t *loop, uint64_t now_ns) {
  if (!loop->sessions.count || now_ns < loop->looked_at_sessions_ns + LOOK_NS) {
    return;
  }
  loop->looked_at_sessions_ns = now_ns;
  uint32_t index;
  if (fc_sessions_weigh(&loop->sessions, &index)) {
    end_workers(loop, index);
  }
  fc_sessions_look(&loop->sessions, LOOKS, now_ns);
}

uint64_t fc_loop_sessions_due_ns(const fc_loop_t *loop) {
  const bool runs = fc_pool_running(&loop->pool) != 0;
  if (!loop->sessions.count) return 0;
  return loop->looked_at_sessions_ns + (runs ? LOOK_NS : IDLE_LOOK_NS);
}

void fc_loop_deinit_sessions(fc_loop_t *loop) {
  if (!loop->sessions.claims) return;
  loop->sessions.let_go = forget;
  fc_sessions_deinit(&loop->sessions);
}
