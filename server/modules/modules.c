// SPDX-License-Identifier: Apache-2.0
//
// LOADING ends in fc_modules_on_added, or earlier in a failure. DRAINING ends
// in fc_modules_on_retired, when nobody holds the generation and the pool has
// given up what it had of it.
#include "modules/modules.h"

#include "module/backends.h"
#include "module/files.h"

static void tell_loaded(fc_modules_t *modules,
                        const fc_generation_t *generation) {
  fc_log_t *log = modules->options.log;
  const fc_module_t *module = generation->module;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->name),
      FC_LOG_TEXT("kind", fc_str(generation->kind)),
      FC_LOG_TEXT("path", generation->path),
      FC_LOG_NUMBER("functions", fc_module_function_count(module)),
  };
  fc_log_fields(log, FC_LOG_INFO, FC_STR("module loaded"), fields, 4);
  const fc_str_t warning = fc_module_get_info(module)->warning;
  if (warning.size) fc_log_fields(log, FC_LOG_WARN, warning, fields, 1);
}

// A path that made no generation is named in the log only.
static void fail_path(fc_modules_t *modules, fc_str_t path,
                      const fc_error_t *error) {
  modules->any_failed = true;
  modules->failed_paths++;
  fc_log_field_t field = FC_LOG_TEXT("path", path);
  fc_log_fields(modules->options.log, FC_LOG_ERROR, fc_str(error->message),
                &field, 1);
}

static void fail(fc_modules_t *modules, fc_generation_t *generation,
                 const fc_error_t *error) {
  modules->any_failed = true;
  fc_generations_fail(generation, error);
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", generation->name),
      FC_LOG_TEXT("kind", fc_str(generation->kind)),
      FC_LOG_TEXT("path", generation->path),
  };
  fc_log_fields(modules->options.log, FC_LOG_ERROR,
                fc_str(generation->error.message), fields, 3);
}

// A generation that fails while another one serves its name is removed.
// Otherwise it stays and tells the reason.
static void fail_loaded(fc_modules_t *modules, fc_generation_t *generation,
                        const fc_error_t *error) {
  fail(modules, generation, error);
  if (!generation->current) {
    fc_generations_drain(&modules->generations, generation);
  }
}

// Hashing a large file takes seconds, so this is what the loader does last: first
// all are served.
static void hash_next(fc_modules_t *modules) {
  fc_generations_t *generations = &modules->generations;
  fc_error_t error;
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (!generation || generation->state != FC_GENERATION_READY ||
        generation->hash_asked ||
        fc_module_get_digest(generation->module).size > 0) {
      continue;
    }
    generation->hash_asked = true;
    // Without memory it goes on being served without a digest.
    modules->hashing =
        fc_loader_hash(modules->loader, generation->module, &error) == FC_OK;
    if (modules->hashing) return;
  }
}

static void go_on(fc_modules_t *modules) {
  if (modules->pending || modules->stopped) return;
  if (!modules->started) {
    modules->started = true;
    modules->events.on_started(modules->events.context);
  }
  if (!modules->hashing && !modules->stopped) hash_next(modules);
}

// ---------------------------------------------------------------------------
// From a file to the pool

// Clients read the reason, so it names files without their folders.
static void fail_twice(const fc_generation_t *generation,
                       const fc_generation_t *other, fc_error_t *err) {
  (void)fc_fail(err, FC_CODE_MODULE_PATH,
                "two modules are called '%.*s': '%.*s' and '%.*s'",
                FC_STR_ARG(generation->name),
                FC_STR_ARG(fc_path_file(other->path)),
                FC_STR_ARG(fc_path_file(generation->path)));
}

fc_status_t fc_modules_load(fc_modules_t *modules, fc_str_t path, bool replace,
                            fc_error_t *err) {
  fc_generations_t *generations = &modules->generations;
  // Its kind by its suffix, until its bytes have been looked at.
  const fc_backend_t *named =
      fc_backends_by_suffix(modules->options.backends, path);
  fc_generation_t *generation;
  FC_TRY(fc_generations_enter(generations, path, named ? named->kind : "",
                              &generation, err));
  const fc_generation_t *other =
      fc_generations_find(generations, generation->name);
  if (other != generation && !replace) {
    fc_error_t error;
    fail_twice(generation, other, &error);
    fail(modules, generation, &error);
    return FC_OK;
  }
  fc_status_t status =
      fc_loader_open(modules->loader, generation->path, generation->index, err);
  if (status == FC_OK) modules->pending++;
  else fc_generations_remove(generations, generation);
  return status;
}

static void on_scanned(fc_modules_t *modules, const fc_load_t *load) {
  fc_error_t error;
  if (load->status != FC_OK) {
    fail_path(modules, load->path, &load->error);
    return;
  }
  for (size_t i = 0; i < load->listing.count; i++) {
    const fc_str_t path = load->listing.paths[i];
    if (fc_modules_load(modules, path, false, &error) != FC_OK) {
      fail_path(modules, path, &error);
    }
  }
}

static void on_opened(fc_modules_t *modules, fc_load_t *load) {
  fc_generation_t *generation =
      fc_generations_at(&modules->generations, load->generation);
  fc_error_t error;
  if (load->status != FC_OK) {
    fail_loaded(modules, generation, &load->error);
    return;
  }
  generation->module = load->module;
  generation->kind = fc_module_get_kind(load->module);
  load->module = NULL;
  tell_loaded(modules, generation);
  if (modules->events.on_opened) {
    modules->events.on_opened(modules->events.context, generation->module);
  }
  modules->pending++;  // before the call, which may be answered from within
  generation->in_pool = true;
  if (fc_pool_add(modules->options.pool, generation->index, generation->module,
                  &error) == FC_OK) {
    return;
  }
  generation->in_pool = false;
  modules->pending--;
  fail_loaded(modules, generation, &error);
}

// The generation may be gone meanwhile.
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
  if (modules->stopped) return;
  fc_load_t *load = fc_loader_take(modules->loader, &more);
  if (load) {
    if (load->kind == FC_LOAD_SCAN) on_scanned(modules, load);
    if (load->kind == FC_LOAD_OPEN) on_opened(modules, load);
    if (load->kind == FC_LOAD_HASH) on_hashed(modules, load);
    else modules->pending--;
    fc_load_free(modules->loader, load);
  }
  // Other work of the loop comes in between: adding a module may start a
  // process.
  if (more) modules->events.wake(modules->events.context);
  go_on(modules);
}

void fc_modules_on_added(void *context, uint32_t index,
                         const fc_error_t *error) {
  fc_modules_t *modules = context;
  fc_generation_t *generation = fc_generations_at(&modules->generations, index);
  fc_error_t unpublished;
  if (!error && fc_generations_publish(&modules->generations, generation,
                                       &unpublished) != FC_OK) {
    error = &unpublished;
  }
  if (error) {
    fail_loaded(modules, generation, error);
    fc_pool_retire(modules->options.pool, index);
  }
  modules->pending--;
  go_on(modules);
}

// ---------------------------------------------------------------------------
// And away

// A generation that failed has been given up by the pool before.
static void on_idle(void *context, fc_generation_t *generation) {
  fc_modules_t *modules = context;
  if (!generation->in_pool) {
    fc_generations_remove(&modules->generations, generation);
  } else if (generation->module) {
    fc_pool_retire(modules->options.pool, generation->index);
  }
}

// A generation that failed stays, because it tells the reason.
void fc_modules_on_retired(void *context, uint32_t index) {
  fc_modules_t *modules = context;
  fc_generation_t *generation = fc_generations_at(&modules->generations, index);
  generation->in_pool = false;
  if (generation->state == FC_GENERATION_DRAINING && generation->holds == 0) {
    fc_generations_remove(&modules->generations, generation);
  }
}

// ---------------------------------------------------------------------------

// On the loader's thread, which may open its last file while the pool is taken
// down: so the pool itself is not asked.
static bool runs_here(void *context, const fc_module_t *module) {
  const fc_modules_t *modules = context;
  return !fc_isolation_process(&modules->isolation, fc_module_get_name(module),
                               fc_module_get_info(module)->runs_native);
}

static void wake(void *context) {
  const fc_modules_t *modules = context;
  modules->events.wake(modules->events.context);
}

fc_status_t fc_modules_init(fc_modules_t *modules, fc_allocator_t allocator,
                            const fc_modules_options_t *options,
                            const fc_modules_events_t *events,
                            fc_error_t *err) {
  *modules = (fc_modules_t){
      .options = *options,
      .events = *events,
      .isolation = options->pool->options.isolation,
      .generations = {
          .allocator = allocator, .on_idle = on_idle, .context = modules}};
  const fc_loader_options_t loader = {.allocator = allocator,
                                      .backends = options->backends,
                                      .open = options->open,
                                      .runs_here = runs_here,
                                      .wake = wake,
                                      .context = modules};
  return fc_loader_create(&loader, &modules->loader, err);
}

void fc_modules_stop(fc_modules_t *modules) {
  modules->stopped = true;
  if (modules->loader) fc_loader_stop(modules->loader);
}

void fc_modules_deinit(fc_modules_t *modules) {
  fc_loader_destroy(modules->loader);
  fc_generations_deinit(&modules->generations);
  *modules = (fc_modules_t){0};
}

bool fc_modules_is_busy(const fc_modules_t *modules) {
  return modules->loader && fc_loader_is_busy(modules->loader);
}

fc_status_t fc_modules_start(fc_modules_t *modules, const char *const *paths,
                             size_t count, fc_error_t *err) {
  for (size_t i = 0; i < count; i++) {
    FC_TRY(fc_loader_scan(modules->loader, fc_str(paths[i]), err));
    modules->pending++;
  }
  // There is no path left to try.
  modules->events.wake(modules->events.context);
  return FC_OK;
}
