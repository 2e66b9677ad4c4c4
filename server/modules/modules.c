// SPDX-License-Identifier: Apache-2.0
//
// Enters files, and turns the loader's answers into events of generations (step.def),
// which actions.c handles. decide.c decides what is loaded.
#include "modules/modules.h"

#include "module/backends.h"
#include "module/files.h"
#include "module/replace.h"
#include "modules/act.h"
#include "modules/clash.h"
#include "modules/demand.h"
#include "modules/distrust.h"
#include "modules/retry.h"
#include "modules/rollback.h"
#include "modules/trial.h"
#include "pool/isolation.h"

// Returns the first function of a module in which no function can be called; NULL if some
// can, or if there are none.
static const fc_function_t *find_uncallable(const fc_module_t *module) {
  const size_t count = fc_module_function_count(module);
  for (size_t i = 0; i < count; i++) {
    if (fc_module_function(module, i)->plan) return NULL;
  }
  return count ? fc_module_function(module, 0) : NULL;
}

static void warn_uncallable(fc_log_t *log, const fc_generation_t *generation) {
  const fc_function_t *function = find_uncallable(generation->module);
  if (!function) return;
  const fc_signature_t *signature = function->signature;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_TEXT("function", function->name),
      FC_LOG_TEXT("reason", fc_signature_text(signature, signature->reason)),
  };
  fc_log_fields(log, FC_LOG_WARN,
                FC_STR("none of the module's functions can be called"), fields,
                3);
}

static void tell_loaded(fc_modules_t *modules,
                        const fc_generation_t *generation) {
  fc_log_t *log = modules->options.log;
  const fc_module_t *module = generation->module;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->claim.label),
      FC_LOG_TEXT("kind", fc_str(generation->kind)),
      FC_LOG_TEXT("path", generation->file.path),
      FC_LOG_NUMBER("functions", fc_module_function_count(module)),
  };
  fc_log_fields(log, FC_LOG_INFO, FC_STR("module loaded"), fields, 4);
  const fc_str_t warning = fc_module_get_info(module)->warning;
  if (warning.size) fc_log_fields(log, FC_LOG_WARN, warning, fields, 1);
  warn_uncallable(log, generation);
  fc_clash_tell(&modules->generations, generation, log);
}

void fc_modules_fail_path(fc_modules_t *modules, uint32_t position,
                          const fc_error_t *error) {
  fc_start_path_t *path = &modules->paths[position];
  modules->any_failed = true;
  if (path->failed) return;
  path->failed = true;
  modules->failed_paths++;
  fc_log_field_t field = FC_LOG_TEXT("path", path->path);
  fc_log_fields(modules->options.log, FC_LOG_ERROR, fc_str(error->message),
                &field, 1);
}

// Makes the loader hash the file of the next served module that was not hashed when it
// was loaded. Hashing a large file takes seconds, so it is done last, when nothing else
// must be loaded.
static void hash_next(fc_modules_t *modules) {
  fc_generations_t *generations = &modules->generations;
  fc_error_t error;
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (!generation || fc_generation_state(generation) != FC_GENERATION_READY ||
        generation->file.hash_asked ||
        fc_module_get_digest(generation->module).size > 0) {
      continue;
    }
    generation->file.hash_asked = true;
    // Without memory, the module is served without a digest.
    modules->hashing =
        fc_loader_hash(modules->loader, generation->module, &error) == FC_OK;
    if (modules->hashing) return;
  }
}

void fc_modules_go_on(fc_modules_t *modules) {
  if (modules->pending || modules->stopped || modules->hashing) return;
  hash_next(modules);
}

// ---------------------------------------------------------------------------
// From a file to the pool

// Returns a file's path as clients may see it in a reason: without its folders. The files
// of versions are all called model.*, so for them NAME/VERSION/model.* is shown.
static fc_str_t shown_path(const fc_generation_t *generation) {
  fc_str_t name, version;
  const fc_str_t path = generation->file.path;
  if (!fc_path_is_version(path, &name, &version)) return fc_path_file(path);
  return fc_str_make(name.data, (size_t)(path.data + path.size - name.data));
}

static void fail_twice(const fc_generation_t *generation,
                       const fc_generation_t *other, fc_error_t *err) {
  (void)fc_fail(err, FC_CODE_MODULE_PATH,
                "two modules are called '%.*s': '%.*s' and '%.*s'",
                FC_STR_ARG(generation->claim.label),
                FC_STR_ARG(shown_path(other)),
                FC_STR_ARG(shown_path(generation)));
}

fc_status_t fc_modules_enter(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_generation_t **out_generation,
                             fc_error_t *err) {
  // Until the file's first bytes are read, its suffix gives its kind.
  const fc_backend_t *named =
      fc_backends_by_suffix(modules->options.backends, file->path);
  fc_generation_t *generation;
  FC_TRY(fc_generations_enter(&modules->generations, file->path,
                              named ? named->kind : "", &generation, err));
  generation->file.origin = origin;
  generation->file.mark = file->mark;
  generation->file.size = file->size;
  generation->policy = fc_module_policies_find_version(
      modules->options.policies, generation->claim.name,
      generation->claim.version);
  fc_rollback_note(modules, generation);
  *out_generation = generation;
  return FC_OK;
}

fc_status_t fc_modules_begin(fc_modules_t *modules, const fc_listed_t *file,
                             uint32_t origin, fc_act_t *act, fc_error_t *err) {
  fc_generation_t *generation;
  FC_TRY(fc_modules_enter(modules, file, origin, &generation, err));
  fc_status_t status = fc_demand_open(modules, generation, act, err);
  if (status != FC_OK) {
    fc_generations_drain(&modules->generations, generation);
    return status;
  }
  if (act) generation->listed = generation->settled = act->serial;
  return FC_OK;
}

static uint64_t heap_of(const fc_modules_t *modules,
                        const fc_module_policy_t *policy) {
  return policy->module_heap ? policy->module_heap : modules->options.heap;
}

fc_status_t fc_modules_open(fc_modules_t *modules, fc_generation_t *generation,
                            fc_error_t *err) {
  const fc_module_policy_t *policy = generation->policy;
  const unsigned isolation =
      policy->fresh == FC_FRESH_CALL ? FC_ISOLATION_PROCESS : policy->isolation;
  return fc_loader_open(modules->loader, generation->file.path,
                        generation->index, isolation, heap_of(modules, policy),
                        fc_str(policy->parameters), fc_str(policy->self_test),
                        err);
}

fc_status_t fc_modules_describe(fc_modules_t *modules, const fc_listed_t *file,
                                uint32_t origin, const fc_act_t *act,
                                fc_error_t *err) {
  fc_generation_t *generation;
  FC_TRY(fc_modules_enter(modules, file, origin, &generation, err));
  fc_status_t status =
      fc_generations_describe(&modules->generations, generation, err);
  if (status != FC_OK) {
    fc_generations_drain(&modules->generations, generation);
    return status;
  }
  generation->listed = generation->settled = act->serial;
  return FC_OK;
}

fc_status_t fc_modules_enter_twin(fc_modules_t *modules,
                                  const fc_listed_t *file, uint32_t origin,
                                  const fc_generation_t *other,
                                  fc_error_t *out_why, fc_error_t *err) {
  fc_generation_t *generation;
  FC_TRY(fc_modules_enter(modules, file, origin, &generation, err));
  fail_twice(generation, other, out_why);
  fc_generations_raise(&modules->generations, generation, FC_ON_FAILED,
                       out_why);
  return FC_OK;
}

fc_status_t fc_modules_enter_refused(fc_modules_t *modules,
                                     const fc_listed_t *file, uint32_t origin,
                                     const fc_act_t *act, const fc_error_t *why,
                                     fc_error_t *err) {
  fc_generation_t *generation;
  FC_TRY(fc_modules_enter(modules, file, origin, &generation, err));
  generation->file.refused = file->mark;
  generation->listed = generation->settled = act->serial;
  fc_generations_raise(&modules->generations, generation, FC_ON_FAILED, why);
  return FC_OK;
}

fc_status_t fc_modules_load(fc_modules_t *modules, fc_str_t path, bool replace,
                            fc_error_t *err) {
  const fc_listed_t file = {.path = path};
  fc_error_t why;
  const fc_generation_t *other =
      fc_generations_find_path(&modules->generations, path);
  if (!other || replace) {
    return fc_modules_begin(modules, &file, FC_PATH_NONE, NULL, err);
  }
  return fc_modules_enter_twin(modules, &file, FC_PATH_NONE, other, &why, err);
}

// A file replaces the generation in service only if callers can make the same calls as
// before, or if the act is forced.
static fc_status_t check_replaces(const fc_modules_t *modules,
                                  const fc_generation_t *generation,
                                  fc_error_t *err) {
  const fc_generation_t *old =
      fc_generations_find(&modules->generations, generation->claim.key);
  if (!old || old == generation ||
      fc_generation_state(old) != FC_GENERATION_READY ||
      (generation->loading.act && generation->loading.act->forced)) {
    return FC_OK;
  }
  return fc_module_check_replaces(old->module, generation->module, err);
}

fc_hosting_t fc_modules_hosting(const fc_modules_t *modules,
                                const fc_generation_t *generation) {
  const fc_module_policy_t *policy = generation->policy;
  return (fc_hosting_t){.process = generation->in_process,
                        .fresh = policy->fresh == FC_FRESH_CALL,
                        .apart = policy->batch == FC_BATCH_CALLS_OFF,
                        .workers = (uint32_t)policy->workers,
                        .tiles = (uint32_t)policy->tiles,
                        .sandbox = (uint8_t)policy->sandbox,
                        .group = {{[FC_GROUP_MEMORY] = policy->group_memory,
                                   [FC_GROUP_TASKS] = policy->group_tasks,
                                   [FC_GROUP_CPU] = policy->group_cpu}},
                        .heap = heap_of(modules, policy),
                        .parameters = policy->parameters};
}

// Does the module run in processes? load->isolation says how the file was opened; the
// policy may have changed since.
static bool runs_in_process(const fc_load_t *load) {
  const fc_module_info_t *info = fc_module_get_info(load->module);
  return info->described ||
         fc_isolation_process(load->isolation, info->runs_native);
}

// Takes the opened module. A file that replaces another must be able to take its place.
static fc_status_t take_module(fc_modules_t *modules,
                               fc_generation_t *generation, fc_load_t *load,
                               fc_error_t *err) {
  if (load->status != FC_OK) {
    *err = load->error;
    return load->status;
  }
  // Its signatures may have been read before.
  fc_generations_set_module(&modules->generations, generation, load->module);
  generation->in_process = runs_in_process(load);
  load->module = NULL;
  FC_TRY(check_replaces(modules, generation, err));
  FC_TRY(fc_trial_make(modules, generation, &load->proof, err));
  tell_loaded(modules, generation);
  return FC_OK;
}

static void on_opened(fc_modules_t *modules, fc_load_t *load) {
  fc_generations_t *all = &modules->generations;
  fc_generation_t *generation = fc_generations_at(all, load->generation);
  fc_error_t error;
  fc_retry_settle(modules, generation);
  if (fc_generation_is_draining(generation) ||
      take_module(modules, generation, load, &error) == FC_OK) {
    fc_generations_raise(all, generation, FC_ON_OPENED, NULL);
  } else {
    fc_generations_raise(all, generation, FC_ON_FAILED, &error);
  }
}

// The hash is stored in load->module, which the load holds; the generation may be gone.
static void on_hashed(fc_modules_t *modules, const fc_load_t *load) {
  modules->hashing = false;
  if (load->status == FC_OK) return;
  fc_log_field_t field =
      FC_LOG_TEXT("module", fc_module_get_name(load->module));
  fc_log_fields(modules->options.log, FC_LOG_WARN, fc_str(load->error.message),
                &field, 1);
}

void fc_modules_collect(fc_modules_t *modules) {
  bool more = false;
  const bool woken = fc_demand_go_on(modules);
  if (woken) modules->events.wake(modules->events.context);
  fc_acts_go_on(modules);
  if (modules->stopped) return;
  fc_load_t *load = fc_loader_take(modules->loader, &more);
  if (load && load->kind == FC_LOAD_SCAN) {
    modules->pending--;
    fc_acts_on_scanned(modules, load);
  } else if (load) {
    if (load->kind == FC_LOAD_OPEN) on_opened(modules, load);
    if (load->kind == FC_LOAD_DESCRIBE) fc_demand_on_described(modules, load);
    if (load->kind == FC_LOAD_SAVE) fc_acts_on_saved(modules, load);
    if (load->kind == FC_LOAD_CHECK) fc_trial_on_checked(modules, load);
    if (load->kind == FC_LOAD_HASH) on_hashed(modules, load);
    else modules->pending--;
    fc_load_free(modules->loader, load);
  } else if (!modules->started) {
    fc_acts_on_scanned(modules, NULL);
  }
  // Handles one request a turn: adding a module may start a process, so other work of the
  // loop comes in between.
  if (more) modules->events.wake(modules->events.context);
  if (modules->crashed) fc_rollback_go_on(modules);
  fc_modules_go_on(modules);
}

// ---------------------------------------------------------------------------
// Start and end

static void wake(void *context) {
  const fc_modules_t *modules = context;
  modules->events.wake(modules->events.context);
}

fc_status_t fc_modules_init(fc_modules_t *modules, fc_allocator_t allocator,
                            const fc_modules_options_t *options,
                            const fc_modules_events_t *events,
                            fc_error_t *err) {
  *modules = (fc_modules_t){.options = *options,
                            .events = *events,
                            .generations = {.allocator = allocator,
                                            .series = {.most = options->series},
                                            .act = fc_modules_do,
                                            .context = modules}};
  const fc_loader_options_t loader = {.allocator = allocator,
                                      .backends = options->backends,
                                      .open = options->open,
                                      .wake = wake,
                                      .context = modules};
  if (options->state_dir.size) {
    FC_TRY(fc_decisions_read(options->state_dir, allocator,
                             &modules->generations.decisions, err));
  }
  return fc_loader_create(&loader, &modules->loader, err);
}

void fc_modules_stop(fc_modules_t *modules) {
  modules->stopped = true;
  for (uint32_t i = 0; i < modules->generations.count; i++) {
    fc_generation_t *generation = modules->generations.places[i];
    if (generation) fc_trial_stop(modules, generation);
  }
  fc_demand_stop(modules);
  fc_acts_stop(modules);
  if (modules->loader) fc_loader_stop(modules->loader);
}

void fc_modules_deinit(fc_modules_t *modules) {
  fc_loader_destroy(modules->loader);
  fc_free(modules->generations.allocator, modules->paths);
  fc_generations_deinit(&modules->generations);
  *modules = (fc_modules_t){0};
}

bool fc_modules_is_busy(const fc_modules_t *modules) {
  return modules->loader && fc_loader_is_busy(modules->loader);
}

fc_status_t fc_modules_start(fc_modules_t *modules, const char *const *paths,
                             size_t count, fc_error_t *err) {
  fc_allocator_t allocator = modules->generations.allocator;
  modules->paths =
      fc_alloc_array(allocator, count ? count : 1, sizeof *modules->paths);
  if (!modules->paths) return fc_fail_memory(err);
  for (size_t i = 0; i < count; i++) modules->paths[i].path = fc_str(paths[i]);
  modules->path_count = (uint32_t)count;
  fc_act_t *act =
      fc_act_create(modules, FC_ACT_START, FC_STR(""), FC_STR("start"));
  if (!act) return fc_fail_memory(err);
  fc_status_t status = fc_modules_act(modules, act, err);
  fc_act_release(modules, act);
  // Without PATHs nothing else wakes the loop, and the start would not end.
  modules->events.wake(modules->events.context);
  return status;
}
