// SPDX-License-Identifier: Apache-2.0
//
// To make room for a file, modules that are kept for rollbacks are dropped first. Then
// other modules are unloaded: each gets a new generation, which is only DESCRIBED, and
// its loaded generation drains. Memory of a draining generation counts until its
// processes have ended; only then is the waiting file opened.
#include "modules/demand.h"

#include "config/limits.h"
#include "modules/distrust.h"
#include "modules/memory.h"
#include "modules/retry.h"
#include "modules/rollback.h"

// ---------------------------------------------------------------------------
// Waiters

static fc_waiter_t **list_of(fc_modules_t *modules, const fc_waiter_t *waiter) {
  return waiter->state == FC_WAITER_WAITS ? &modules->waiters : &modules->woken;
}

void fc_demand_leave(fc_modules_t *modules, fc_waiter_t *waiter) {
  if (waiter->state == FC_WAITER_NONE) return;
  if (waiter->previous) waiter->previous->next = waiter->next;
  else *list_of(modules, waiter) = waiter->next;
  if (waiter->next) waiter->next->previous = waiter->previous;
  waiter->next = waiter->previous = NULL;
  waiter->state = FC_WAITER_NONE;
}

static void enter_list(fc_modules_t *modules, fc_waiter_t *waiter,
                       fc_waiter_state_t state) {
  waiter->state = (uint8_t)state;
  fc_waiter_t **list = list_of(modules, waiter);
  waiter->next = *list;
  if (*list) (*list)->previous = waiter;
  *list = waiter;
}

static void wake_one(fc_modules_t *modules, fc_waiter_t *waiter) {
  fc_demand_leave(modules, waiter);
  enter_list(modules, waiter, FC_WAITER_WOKEN);
  modules->events.wake(modules->events.context);
}

// Is the wait over? It is when what the waiter wants has come, or cannot come any more.
static bool is_served(const fc_waiter_t *waiter) {
  const fc_generation_t *generation = waiter->generation;
  return !fc_generation_is_coming(generation) ||
         (!waiter->calls && generation->module);
}

void fc_demand_wake(fc_modules_t *modules, fc_generation_t *generation) {
  fc_waiter_t *next;
  const bool again =
      generation->error.status == FC_RESOURCE_EXHAUSTED && !generation->module;
  for (fc_waiter_t *waiter = modules->waiters; waiter; waiter = next) {
    next = waiter->next;
    if (waiter->generation != generation) continue;
    if (!again && !is_served(waiter)) continue;
    waiter->failed = again;
    wake_one(modules, waiter);
  }
}

static fc_status_t describe(fc_modules_t *modules, fc_generation_t *generation,
                            fc_error_t *err) {
  if (generation->loading.reading ||
      fc_generation_state(generation) != FC_GENERATION_DESCRIBED) {
    return FC_OK;
  }
  FC_TRY(fc_loader_describe(modules->loader, generation->file.path,
                            generation->index, err));
  generation->loading.reading = FC_READING_NOW;
  modules->pending++;
  return FC_OK;
}

fc_status_t fc_demand_wait(fc_modules_t *modules, fc_generation_t *generation,
                           bool calls, fc_waiter_t *waiter, fc_error_t *err) {
  if (modules->stopped) {
    return fc_fail(err, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  }
  if (!calls) {
    FC_TRY(describe(modules, generation, err));
  } else if (fc_generation_state(generation) == FC_GENERATION_DESCRIBED) {
    FC_TRY(fc_retry_check(generation, err));
    FC_TRY(fc_demand_open(modules, generation, NULL, err));
  }
  waiter->generation = generation;
  waiter->calls = calls;
  waiter->late = waiter->failed = false;
  enter_list(modules, waiter, FC_WAITER_WAITS);
  if (waiter->due_ns &&
      (!modules->waiters_due_ns || waiter->due_ns < modules->waiters_due_ns)) {
    modules->waiters_due_ns = waiter->due_ns;
  }
  return FC_OK;
}

static void expire_waiters(fc_modules_t *modules, uint64_t now_ns) {
  fc_waiter_t *next;
  if (!modules->waiters_due_ns || now_ns < modules->waiters_due_ns) return;
  modules->waiters_due_ns = 0;
  for (fc_waiter_t *waiter = modules->waiters; waiter; waiter = next) {
    next = waiter->next;
    if (!waiter->due_ns) continue;
    if (waiter->due_ns <= now_ns) {
      waiter->late = true;
      wake_one(modules, waiter);
    } else if (!modules->waiters_due_ns ||
               waiter->due_ns < modules->waiters_due_ns) {
      modules->waiters_due_ns = waiter->due_ns;
    }
  }
}

// ---------------------------------------------------------------------------
// Descriptions. A few are kept, because a request looks up its module twice: to resolve
// its path, and to answer.

static void forget(fc_modules_t *modules, fc_described_t *oldest) {
  fc_generation_t *generation =
      fc_generations_at(&modules->generations, oldest->index);
  if (!generation || generation->serial != oldest->serial ||
      fc_generation_state(generation) != FC_GENERATION_DESCRIBED) {
    return;
  }
  fc_module_release(generation->module);
  generation->module = NULL;
}

// Notes a description. Then drops old ones, until at most FC_LIMIT_DESCRIBED are left and
// their files together have at most FC_LIMIT_DESCRIBED_BYTES, or only the new one is
// left. A description keeps its file in memory.
static void keep_description(fc_modules_t *modules,
                             const fc_generation_t *generation) {
  const uint32_t next = modules->described_next++;
  fc_described_t *place = &modules->described[next % FC_LIMIT_DESCRIBED];
  uint64_t bytes = generation->file.size;
  forget(modules, place);
  *place = (fc_described_t){generation->index, generation->serial,
                            generation->file.size};
  for (uint32_t i = 1; i < FC_LIMIT_DESCRIBED; i++) {
    fc_described_t *older =
        &modules
             ->described[(next + FC_LIMIT_DESCRIBED - i) % FC_LIMIT_DESCRIBED];
    bytes += older->size;
    if (bytes > FC_LIMIT_DESCRIBED_BYTES) forget(modules, older);
  }
}

// Releases signatures that are no longer needed, because the generation drains, failed,
// or has them already.
static void drop_description(fc_modules_t *modules,
                             fc_generation_t *generation) {
  fc_demand_wake(modules, generation);
  if (!fc_generation_is_draining(generation)) return;
  fc_generations_let_go(&modules->generations, generation);
}

void fc_demand_on_described(fc_modules_t *modules, fc_load_t *load) {
  fc_generation_t *generation =
      fc_generations_at(&modules->generations, load->generation);
  const bool stale = generation->loading.reading == FC_READING_STALE;
  const bool described = generation->step == FC_STEP_DESCRIBED;
  fc_error_t error;
  generation->loading.reading = FC_READING_NOT;
  if (!fc_generation_is_coming(generation) || generation->module) {
    drop_description(modules, generation);
    return;
  }
  if (stale && described && describe(modules, generation, &error) == FC_OK) {
    return;
  }
  // The file of --trust may have been read again meanwhile.
  if (load->status == FC_OK) {
    load->status = fc_modules_admit(modules, load->module, &load->error);
  }
  if (load->status == FC_OK) {
    if (generation->error.status == FC_RESOURCE_EXHAUSTED &&
        !generation->loading.retry_ns) {
      fc_error_reset(&generation->error);
    }
    fc_generations_set_module(&modules->generations, generation, load->module);
    load->module = NULL;
    keep_description(modules, generation);
  } else if (load->status == FC_RESOURCE_EXHAUSTED) {
    if (described) generation->error = load->error;
  } else if (described) {
    fc_generations_raise(&modules->generations, generation, FC_ON_FAILED,
                         &load->error);
    return;
  }
  fc_demand_wake(modules, generation);
}

// ---------------------------------------------------------------------------
// Making room

// May this generation be unloaded to make room? Not while a request holds it, if it is
// pinned, or if it could not be loaded again. Not if it has the key of `beside` either,
// because it serves until `beside` is ready. `beside` is NULL if the room is for no
// particular generation.
static bool may_go(const fc_generation_t *generation,
                   const fc_generation_t *beside) {
  return generation->holds == 0 && !generation->policy->pin &&
         !generation->fallback.fileless &&
         !(beside && fc_str_equal(generation->claim.key, beside->claim.key));
}

// May the generation's module for a rollback be dropped? Not if it is going back. Such
// modules are dropped before any module is unloaded.
static bool may_forget(const fc_generation_t *generation) {
  return generation->fallback.module && !generation->fallback.crashes;
}

fc_status_t fc_demand_put_back(fc_modules_t *modules,
                               fc_generation_t *generation, fc_error_t *err) {
  const fc_listed_t file = {.path = generation->file.path,
                            .mark = generation->file.mark,
                            .size = generation->file.size};
  fc_generation_t *made;
  FC_TRY(fc_modules_enter(modules, &file, generation->file.origin, &made, err));
  made->kind = generation->kind;
  made->calls = generation->calls;
  made->used_ns = generation->used_ns;
  made->file.refused = generation->file.refused;
  made->loading.retries = generation->loading.retries;
  made->loading.retry_ns = generation->loading.retry_ns;
  made->error = generation->error;
  made->listed = generation->listed;
  made->settled = generation->settled;
  fc_generations_t *all = &modules->generations;
  fc_generations_pass_counts(all, generation, made);
  fc_status_t status = fc_generations_describe(all, made, err);
  if (status != FC_OK) {
    fc_generations_pass_counts(all, made, generation);
    fc_generations_drain(all, made);
  }
  return status;
}

static bool unload(fc_modules_t *modules, fc_generation_t *generation,
                   const char *why) {
  fc_error_t error;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_NUMBER("bytes", generation->bytes),
      FC_LOG_TEXT("reason", fc_str(why)),
  };
  fc_log_fields(modules->options.log, FC_LOG_INFO,
                FC_STR("module unloaded until it is asked for"), fields,
                FC_ARRAY_COUNT(fields));
  if (fc_demand_put_back(modules, generation, &error) != FC_OK) return false;
  modules->unloads++;
  return true;
}

// Returns how many bytes modules will take when the draining ones are freed.
static uint64_t taken(const fc_modules_t *modules) {
  return modules->generations.bytes - modules->generations.leaving;
}

// Returns how many bytes modules may take by estimate. A 16th of --module-memory is kept
// free for modules that take more than estimated.
static uint64_t room(const fc_modules_t *modules) {
  return modules->options.memory - modules->options.memory / 16;
}

static fc_status_t check_room(const fc_modules_t *modules,
                              const fc_generation_t *wanted, uint64_t need,
                              fc_error_t *err) {
  const uint64_t limit = room(modules);
  uint64_t left = taken(modules) + need;
  for (const fc_generation_t *g = modules->generations.oldest;
       g && left > limit; g = g->newer) {
    if (may_go(g, wanted)) left -= g->bytes;
    else if (may_forget(g)) left -= g->fallback.size;
  }
  if (left <= limit) return FC_OK;
  return fc_fail(
      err, FC_CODE_MEMORY_BUDGET,
      "module '%.*s' needs about %llu bytes; modules may take %llu "
      "(15/16 of --module-memory), and those that take %llu are in use or "
      "pinned",
      FC_STR_ARG(wanted->claim.label), (unsigned long long)need,
      (unsigned long long)limit, (unsigned long long)(left - need));
}

// Frees `need` bytes if possible: first drops modules that are kept for rollbacks, then
// unloads modules. After FC_LIMIT_UNLOADS of them, or if one cannot be unloaded, sets
// look_ns to 0, so that the next look goes on.
static void make_room(fc_modules_t *modules, const fc_generation_t *wanted,
                      uint64_t need, const char *why) {
  fc_generation_t *next;
  fc_generations_t *all = &modules->generations;
  uint32_t left = FC_LIMIT_UNLOADS;
  for (fc_generation_t *g = all->oldest;
       g && taken(modules) + need > room(modules); g = g->newer) {
    if (may_forget(g)) fc_rollback_forget(all, g);
  }
  for (fc_generation_t *g = all->oldest;
       g && taken(modules) + need > room(modules); g = next) {
    next = g->newer;
    if (!may_go(g, wanted)) continue;
    if (!left-- || !unload(modules, g, why)) {
      modules->look_ns = 0;
      return;
    }
  }
}

static uint64_t estimate(const fc_modules_t *modules,
                         const fc_generation_t *generation) {
  return generation->file.size +
         (modules->overhead ? modules->overhead : FC_LIMIT_MODULE_OVERHEAD);
}

static bool fits_now(const fc_modules_t *modules, uint64_t need) {
  return !modules->options.memory ||
         modules->generations.bytes - modules->wanted_bytes + need <=
             room(modules);
}

void fc_demand_queue(fc_modules_t *modules, fc_generation_t *generation,
                     const fc_error_t *none) {
  (void)none;
  generation->loading.next_wanted = NULL;
  if (modules->wanted_first) {
    modules->wanted_last->loading.next_wanted = generation;
  } else {
    modules->wanted_first = generation;
  }
  modules->wanted_last = generation;
  modules->wanted_bytes += generation->bytes;
}

fc_status_t fc_demand_open(fc_modules_t *modules, fc_generation_t *generation,
                           struct fc_act_t *act, fc_error_t *err) {
  fc_generations_t *all = &modules->generations;
  const uint64_t need = estimate(modules, generation);
  if (modules->options.memory) {
    FC_TRY(check_room(modules, generation, need, err));
    make_room(modules, generation, need, "room for others");
  }
  const bool waits = modules->wanted_first || !fits_now(modules, need);
  if (!waits) FC_TRY(fc_modules_open(modules, generation, err));
  generation->loading.demanded = generation->step == FC_STEP_DESCRIBED;
  generation->loading.act = act;
  modules->pending++;
  fc_error_reset(&generation->error);
  fc_generations_weigh(all, generation, need);
  fc_generations_raise(all, generation, waits ? FC_ON_ASKED : FC_ON_ROOM, NULL);
  return FC_OK;
}

static void open_wanted(fc_modules_t *modules) {
  fc_generation_t *generation;
  fc_error_t error;
  while ((generation = modules->wanted_first) &&
         (fc_generation_is_draining(generation) ||
          fits_now(modules, generation->bytes))) {
    modules->wanted_first = generation->loading.next_wanted;
    modules->wanted_bytes -= generation->bytes;
    fc_step_event_t event = FC_ON_ROOM;
    if (fc_generation_is_draining(generation)) {
      modules->pending--;
    } else if (fc_modules_open(modules, generation, &error) != FC_OK) {
      modules->pending--;
      event = FC_ON_FAILED;
    }
    fc_generations_raise(&modules->generations, generation, event,
                         event == FC_ON_FAILED ? &error : NULL);
  }
}

bool fc_demand_go_on(fc_modules_t *modules) {
  open_wanted(modules);
  for (int i = 0; i < FC_LIMIT_WAKES && modules->woken; i++) {
    fc_waiter_t *waiter = modules->woken;
    fc_demand_leave(modules, waiter);
    waiter->on_woken(waiter);
  }
  return modules->woken;
}

void fc_demand_stop(fc_modules_t *modules) {
  while (modules->waiters) wake_one(modules, modules->waiters);
}

// ---------------------------------------------------------------------------
// Measuring and unloading by time

// Measures the memory of a generation, and counts at least `least` bytes, because a
// process takes less before its first call than after it. The memory besides the file
// goes into the average from which the next modules are estimated.
static void weigh(fc_modules_t *modules, fc_generation_t *generation,
                  uint64_t least) {
  const uint64_t bytes = fc_modules_memory(modules, generation);
  const uint64_t beside =
      bytes > generation->file.size ? bytes - generation->file.size : 1;
  modules->overhead =
      modules->overhead ? (modules->overhead * 31 + beside) / 32 : beside;
  const uint64_t kept =
      generation->fallback.module ? generation->fallback.size : 0;
  fc_generations_weigh(&modules->generations, generation,
                       (bytes > least ? bytes : least) + kept);
}

void fc_demand_on_ready(fc_modules_t *modules, fc_generation_t *generation) {
  fc_generations_touch(&modules->generations, generation, fc_clock_ns());
  const uint64_t least =
      modules->overhead ? generation->file.size + modules->overhead : 0;
  weigh(modules, generation, least);
  if (modules->options.memory) {
    make_room(modules, NULL, 0, "room for others");
  }
}

static void look(fc_modules_t *modules, uint64_t now_ns) {
  fc_generations_t *all = &modules->generations;
  const uint64_t idle_ns = modules->options.idle_ms * 1000000u;
  fc_generation_t *next;
  if (now_ns < modules->look_ns) return;
  modules->look_ns = now_ns + FC_LIMIT_LOOK_MS * 1000000u;
  fc_generation_t *g = all->newest;
  for (int i = 0; modules->options.memory && g && i < FC_LIMIT_WEIGHED; i++) {
    weigh(modules, g, 0);
    g = g->older;
  }
  if (modules->options.memory) {
    make_room(modules, NULL, 0, "they have grown");
  }
  uint32_t left = FC_LIMIT_UNLOADS;
  // The list is sorted by used_ns, and the limit is the same for all modules. So the
  // search ends at the first module that was used recently enough.
  for (g = all->oldest; idle_ns && g && g->used_ns + idle_ns <= now_ns;
       g = next) {
    next = g->newer;
    if (!may_go(g, NULL)) continue;
    if (!left-- || !unload(modules, g, "idle")) {
      modules->look_ns = 0;
      break;
    }
  }
  // Modules may take less than estimated, so a waiting file may now have room.
  if (modules->wanted_first) modules->events.wake(modules->events.context);
}

uint64_t fc_demand_due_ns(const fc_modules_t *modules) {
  const bool looks = modules->options.memory || modules->options.idle_ms;
  uint64_t due_ns = modules->waiters_due_ns;
  if (modules->stopped) return due_ns;
  if (modules->retry_ns && (!due_ns || modules->retry_ns < due_ns)) {
    due_ns = modules->retry_ns;
  }
  if (!looks || !modules->generations.oldest) return due_ns;
  if (!due_ns || modules->look_ns < due_ns) due_ns = modules->look_ns;
  return due_ns ? due_ns : 1;
}

void fc_demand_expire(fc_modules_t *modules, uint64_t now_ns) {
  expire_waiters(modules, now_ns);
  if (modules->stopped) return;
  fc_retry_expire(modules, now_ns);
  look(modules, now_ns);
}
