// SPDX-License-Identifier: Apache-2.0
//
// An act waits for scans, decides, waits for files, ends. All PATHs are listed
// before anything is decided: a file counts as a second one of its name only if
// the file that now serves the name is still there.
#include "modules/act.h"

#include "module/files.h"
#include "modules/demand.h"

static const char *const kKinds[] = {
    [FC_ACT_START] = "start",   [FC_ACT_RELOAD_ALL] = "reload",
    [FC_ACT_LOAD] = "load",     [FC_ACT_RELOAD] = "reload",
    [FC_ACT_UNLOAD] = "unload",
};

fc_act_t *fc_act_create(fc_modules_t *modules, fc_act_kind_t kind,
                        fc_str_t name, fc_str_t by) {
  fc_act_t *act = fc_alloc(modules->generations.allocator,
                           sizeof *act + name.size + by.size);
  if (!act) return NULL;
  act->kind = (uint8_t)kind;
  act->last_listing = &act->listings;
  if (name.size) memcpy(act->text, name.data, name.size);
  if (by.size) memcpy(act->text + name.size, by.data, by.size);
  act->name = fc_str_make(act->text, name.size);
  act->by = fc_str_make(act->text + name.size, by.size);
  return act;
}

static void free_act(fc_modules_t *modules, fc_act_t *act) {
  while (act->listings) {
    fc_load_t *load = act->listings;
    act->listings = load->next;
    fc_load_free(modules->loader, load);
  }
  fc_free(modules->generations.allocator, act);
}

void fc_act_release(fc_modules_t *modules, fc_act_t *act) {
  if (!act) return;
  act->on_ended = NULL;
  if (act->ended || !act->serial) free_act(modules, act);
}

static void note_failure(fc_act_t *act, const fc_error_t *error) {
  act->failed++;
  if (act->status != FC_OK) return;
  act->status = error->status;
  act->error = *error;
}

static void note_digest(char out[65], const fc_generation_t *generation) {
  const char *sha256 = generation && generation->module
                           ? fc_module_get_sha256(generation->module)
                           : "";
  memcpy(out, sha256, strlen(sha256) + 1);
}

// ---------------------------------------------------------------------------
// The end

static void tell(fc_modules_t *modules, const fc_act_t *act) {
  const bool all = act->name.size == 0;
  const bool failed = act->status != FC_OK;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("act", fc_str(kKinds[act->kind])),
      FC_LOG_TEXT("by", act->by),
      FC_LOG_TEXT("module", act->name),
      FC_LOG_TEXT("code", failed ? fc_str(fc_code_info(act->error.code)->text)
                                 : FC_STR("ok")),
      FC_LOG_TEXT("reason", failed ? fc_str(act->error.message) : FC_STR("")),
      FC_LOG_TEXT("before", fc_str(act->before)),
      FC_LOG_TEXT("after", fc_str(act->after)),
      FC_LOG_NUMBER("loaded", act->loaded),
      FC_LOG_NUMBER("unchanged", act->unchanged),
      FC_LOG_NUMBER("unloaded", act->unloaded),
      FC_LOG_NUMBER("failed", act->failed),
      FC_LOG_NUMBER("described", act->described),
  };
  const size_t count = all ? 11 + (act->described > 0) : 7;
  if (act->kind == FC_ACT_START) return;
  if (act->follows && !act->loaded && !act->unloaded && !act->failed) return;
  fc_log_fields(modules->options.log, failed ? FC_LOG_ERROR : FC_LOG_INFO,
                FC_STR("act"), fields, count);
}

static void reload(fc_modules_t *modules, const char *by, bool follows);
static void start_waiting(fc_modules_t *modules);

static void end(fc_modules_t *modules, fc_act_t *act) {
  fc_act_t **at = &modules->acts;
  while (*at && *at != act) at = &(*at)->next;
  if (*at) *at = act->next;
  act->ended = true;
  tell(modules, act);
  if (act->kind == FC_ACT_START && !modules->stopped) {
    modules->started = true;
    modules->events.on_started(modules->events.context);
  }
  if (act->on_ended) act->on_ended(act->context, act);
  else free_act(modules, act);
  if (modules->stopped) return;
  start_waiting(modules);
  const char *again = modules->again;
  if (!again || modules->acts) return;
  modules->again = NULL;
  reload(modules, again, modules->again_follows);
}

static bool is_over(const fc_act_t *act) {
  return act->scans == 0 && act->pending == 0;
}

void fc_acts_on_loaded(fc_modules_t *modules, fc_act_t *act,
                       const fc_generation_t *generation,
                       const fc_error_t *error) {
  if (error) {
    note_failure(act, error);
  } else {
    act->loaded++;
    if (act->name.size) note_digest(act->after, generation);
  }
  act->pending--;
  if (is_over(act)) end(modules, act);
}

// ---------------------------------------------------------------------------
// What is to be done

static fc_str_t name_of(fc_str_t path) {
  fc_str_t name = path;
  (void)fc_module_name(path, &name, NULL);
  return name;
}

static fc_put_away_t **find_put_away(fc_modules_t *modules, fc_str_t path) {
  fc_put_away_t **at = &modules->put_away;
  while (*at && !fc_str_equal((*at)->path, path)) at = &(*at)->next;
  return at;
}

static void bring_back(fc_modules_t *modules, fc_put_away_t **at) {
  fc_put_away_t *gone = *at;
  if (!gone) return;
  *at = gone->next;
  fc_free(modules->generations.allocator, gone);
}

// Without memory the file counts as new the next time.
static void put_away(fc_modules_t *modules, const fc_generation_t *generation) {
  const fc_str_t path = generation->path;
  bring_back(modules, find_put_away(modules, path));
  fc_put_away_t *made =
      fc_alloc(modules->generations.allocator, sizeof *made + path.size + 1);
  if (!made) return;
  if (path.size) memcpy(made->text, path.data, path.size);
  made->path = fc_str_make(made->text, path.size);
  made->mark = generation->mark;
  made->next = modules->put_away;
  modules->put_away = made;
}

// Nothing of the file is in memory, so its next load is what the file is then.
static bool follows_file(fc_generation_t *generation, const fc_listed_t *file) {
  if (generation->state != FC_GENERATION_DESCRIBED || !file->mark) return false;
  if (generation->mark == file->mark) return true;
  generation->mark = file->mark;
  generation->size = file->size;
  fc_module_release(generation->module);
  generation->module = NULL;
  return true;
}

static void describe(fc_modules_t *modules, fc_act_t *act,
                     const fc_load_t *load, const fc_listed_t *file) {
  fc_error_t error;
  if (fc_modules_describe(modules, file, load->generation, act, &error) ==
      FC_OK) {
    act->described++;
  } else {
    note_failure(act, &error);
  }
}

static fc_status_t load_file(fc_modules_t *modules, fc_act_t *act,
                             const fc_load_t *load, const fc_listed_t *file,
                             fc_generation_t *other, fc_error_t *err) {
  if (other && fc_str_equal(other->path, file->path) &&
      follows_file(other, file)) {
    return fc_demand_open(modules, other, act, err);
  }
  return fc_modules_begin(modules, file, load->generation, act, err);
}

// What a module that is served is replaced by is loaded at once, so that nobody
// waits. Beyond the memory that modules may take, the start loads nothing more.
static void begin(fc_modules_t *modules, fc_act_t *act, const fc_load_t *load,
                  const fc_listed_t *file, fc_generation_t *other) {
  fc_error_t error;
  const bool served = other && other->state == FC_GENERATION_READY;
  bring_back(modules, find_put_away(modules, file->path));
  if (modules->options.demand && act->name.size == 0 && !served && file->mark) {
    describe(modules, act, load, file);
  } else if (load_file(modules, act, load, file, other, &error) == FC_OK) {
    act->pending++;
  } else if (act->name.size == 0 && error.code == FC_CODE_MEMORY_BUDGET) {
    describe(modules, act, load, file);
  } else {
    note_failure(act, &error);
  }
}

// Finds the failed generation that says why this file is not served.
static fc_generation_t *find_twin(const fc_modules_t *modules, fc_str_t path) {
  const fc_generations_t *generations = &modules->generations;
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (generation && !generation->current &&
        generation->state == FC_GENERATION_FAILED &&
        fc_str_equal(generation->path, path)) {
      return generation;
    }
  }
  return NULL;
}

static void refuse_twin(fc_modules_t *modules, fc_act_t *act,
                        const fc_load_t *load, const fc_listed_t *file,
                        const fc_generation_t *other) {
  fc_error_t why, error;
  fc_generation_t *twin = find_twin(modules, file->path);
  if (!twin) {
    const fc_status_t status = fc_modules_enter_twin(
        modules, file, load->generation, other, &why, &error);
    note_failure(act, status == FC_OK ? &why : &error);
    twin = find_twin(modules, file->path);
  }
  if (twin) twin->settled = act->serial;
}

// The file is the one that is served: the reason why another file of its name
// was refused is out of date.
static void keep(fc_act_t *act, fc_generation_t *generation) {
  act->unchanged++;
  fc_error_reset(&generation->error);
}

static bool is_served_as(const fc_generation_t *generation,
                         const fc_listed_t *file) {
  return (generation->state == FC_GENERATION_READY ||
          fc_generation_is_coming(generation)) &&
         file->mark && generation->mark == file->mark;
}

// Its end, or another change of it, will be noticed.
static bool must_wait(fc_modules_t *modules, const fc_act_t *act,
                      const fc_generation_t *other, const fc_listed_t *file) {
  if (!act->follows) return false;
  if ((file->mark && !file->size) || (other && other->refused == file->mark))
    return true;
  const fc_put_away_t *away = *find_put_away(modules, file->path);
  if (away && away->mark == file->mark) return true;
  return modules->watch && fc_watch_is_written(modules->watch, file->path);
}

static void consider(fc_modules_t *modules, fc_act_t *act,
                     const fc_load_t *load, const fc_listed_t *file) {
  fc_generation_t *other =
      fc_generations_find(&modules->generations, name_of(file->path));
  const bool same = other && fc_str_equal(other->path, file->path);
  if (other && (other->settled == act->serial ||
                (!same && other->listed == act->serial))) {
    refuse_twin(modules, act, load, file, other);
    return;
  }
  if (other) other->settled = act->serial;
  if (must_wait(modules, act, other, file)) act->unchanged++;
  else if (same && (follows_file(other, file) || is_served_as(other, file)))
    keep(act, other);
  else begin(modules, act, load, file, other);
}

// Unloads what no PATH names any more, but for the modules of PATHs that cannot be
// listed.
static void unload_the_rest(fc_modules_t *modules, fc_act_t *act) {
  fc_generations_t *generations = &modules->generations;
  for (uint32_t i = 0; i < generations->count; i++) {
    fc_generation_t *generation = generations->places[i];
    if (!generation || generation->origin == FC_PATH_NONE ||
        generation->settled == act->serial ||
        modules->paths[generation->origin].failed ||
        (generation->state != FC_GENERATION_READY &&
         generation->state != FC_GENERATION_FAILED &&
         !fc_generation_is_coming(generation))) {
      continue;
    }
    if (generation->current) act->unloaded++;
    fc_generations_drain(generations, generation);
  }
}

static void consider_all(fc_modules_t *modules, fc_act_t *act) {
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    for (size_t i = 0; i < load->listing.count; i++) {
      const fc_str_t path = load->listing.files[i].path;
      fc_generation_t *generation =
          fc_generations_find(&modules->generations, name_of(path));
      if (generation && fc_str_equal(generation->path, path)) {
        generation->listed = act->serial;
      }
    }
  }
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    for (size_t i = 0; i < load->listing.count; i++) {
      consider(modules, act, load, &load->listing.files[i]);
    }
  }
  unload_the_rest(modules, act);
}

// Finds the file of a module: the one it was loaded from, else the first of its
// name.
static const fc_listed_t *find_file(const fc_act_t *act, fc_str_t had,
                                    const fc_load_t **out_load,
                                    fc_str_t *out_nearest) {
  const fc_listed_t *found = NULL;
  fc_nearest_t search = fc_nearest_begin(act->name);
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    for (size_t i = 0; i < load->listing.count; i++) {
      const fc_listed_t *file = &load->listing.files[i];
      const fc_str_t name = name_of(file->path);
      if (!fc_str_equal(name, act->name)) {
        if (fc_nearest_offer(&search, name)) *out_nearest = name;
        continue;
      }
      const bool same = fc_str_equal(file->path, had);
      if (found && !same) continue;
      found = file;
      *out_load = load;
      if (same) return found;
    }
  }
  return found;
}

static void fail_no_file(fc_act_t *act, const fc_generation_t *had,
                         fc_str_t nearest) {
  fc_error_t error;
  if (had) {
    (void)fc_fail(&error, FC_CODE_MODULE_PATH,
                  "the file of module '%.*s' is gone: '%.*s'",
                  FC_STR_ARG(act->name), FC_STR_ARG(fc_path_file(had->path)));
  } else {
    char shown[80], hint[160] = "";
    fc_escape(shown, sizeof shown, 64, act->name);
    if (nearest.size) fc_escape(hint, sizeof hint, 128, nearest);
    (void)fc_fail(&error, FC_CODE_MODULE_NOT_FOUND,
                  "no file of a module '%s' where the server looks%s%s%s",
                  shown, nearest.size ? ": did you mean '" : "", hint,
                  nearest.size ? "'?" : "");
  }
  note_failure(act, &error);
}

static void consider_one(fc_modules_t *modules, fc_act_t *act) {
  fc_generation_t *had = fc_generations_find(&modules->generations, act->name);
  const fc_load_t *load = NULL;
  fc_str_t nearest = FC_STR("");
  const fc_listed_t *file =
      find_file(act, had ? had->path : FC_STR(""), &load, &nearest);
  note_digest(act->before, had);
  if (!file) {
    fail_no_file(act, had, nearest);
  } else if (act->kind == FC_ACT_LOAD && had &&
             had->state == FC_GENERATION_READY &&
             fc_str_equal(had->path, file->path) && is_served_as(had, file)) {
    keep(act, had);
    note_digest(act->after, had);
  } else {
    begin(modules, act, load, file, had);
  }
}

// A directory that cannot be opened is listed as if it were a file.
static fc_status_t check_listing(const fc_start_path_t *path,
                                 const fc_load_t *load, fc_error_t *err) {
  if (load->status != FC_OK) {
    *err = load->error;
    return load->status;
  }
  if (load->listing.is_directory || !path->is_directory) return FC_OK;
  return fc_fail(
      err, FC_CODE_MODULE_PATH,
      "the directory '%.*s' cannot be read any more: its modules stay",
      FC_STR_ARG(path->path));
}

static void take_listing(fc_modules_t *modules, fc_act_t *act,
                         fc_load_t *load) {
  fc_start_path_t *path = &modules->paths[load->generation];
  fc_error_t error;
  if (check_listing(path, load, &error) != FC_OK) {
    if (!act->follows || !path->failed) note_failure(act, &error);
    fc_modules_fail_path(modules, load->generation, &error);
    fc_load_free(modules->loader, load);
    return;
  }
  if (path->failed) modules->failed_paths--;
  path->failed = false;
  path->is_directory = load->listing.is_directory;
  load->next = NULL;
  *act->last_listing = load;
  act->last_listing = &load->next;
}

static void decide(fc_modules_t *modules, fc_act_t *act) {
  if (act->name.size) consider_one(modules, act);
  else consider_all(modules, act);
}

void fc_acts_on_scanned(fc_modules_t *modules, fc_load_t *load) {
  fc_act_t *act = load ? load->context : modules->acts;
  if (load) {
    act->scans--;
    take_listing(modules, act, load);
    if (act->scans) return;
    decide(modules, act);
  }
  if (act && is_over(act)) end(modules, act);
}

// ---------------------------------------------------------------------------
// The beginning

static fc_status_t check_free(const fc_modules_t *modules, const fc_act_t *act,
                              fc_error_t *err) {
  for (const fc_act_t *other = modules->acts; other; other = other->next) {
    if (act->name.size && other->name.size &&
        !fc_str_equal(act->name, other->name)) {
      continue;
    }
    if (other->kind == FC_ACT_START) {
      return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
    }
    return fc_fail(err, FC_CODE_RELOAD_IN_PROGRESS,
                   "another %s by %.*s is in progress", kKinds[other->kind],
                   FC_STR_ARG(other->by));
  }
  return FC_OK;
}

// LOAD may name what the server does not have yet.
static fc_status_t check_known(const fc_modules_t *modules, const fc_act_t *act,
                               fc_error_t *err) {
  const fc_generations_t *generations = &modules->generations;
  if (act->name.size == 0 || act->kind == FC_ACT_LOAD) return FC_OK;
  if (fc_generations_find(generations, act->name)) return FC_OK;
  const fc_generation_t *nearest =
      fc_generations_nearest(generations, act->name);
  char shown[80], hint[160] = "";
  fc_escape(shown, sizeof shown, 64, act->name);
  if (nearest) fc_escape(hint, sizeof hint, 128, nearest->name);
  return fc_fail(err, FC_CODE_MODULE_NOT_FOUND, "no module '%s'%s%s%s", shown,
                 nearest ? ": did you mean '" : "", hint, nearest ? "'?" : "");
}

// If a PATH cannot be scanned for want of memory, nothing of that PATH is loaded
// or unloaded.
static void scan_all(fc_modules_t *modules, fc_act_t *act) {
  fc_error_t error;
  for (uint32_t i = 0; i < modules->path_count; i++) {
    if (fc_loader_scan(modules->loader, modules->paths[i].path, i, act,
                       &error) == FC_OK) {
      act->scans++;
      modules->pending++;
    } else {
      fc_modules_fail_path(modules, i, &error);
      note_failure(act, &error);
    }
  }
}

static void unload(fc_modules_t *modules, fc_act_t *act) {
  fc_generation_t *generation =
      fc_generations_find(&modules->generations, act->name);
  note_digest(act->before, generation);
  put_away(modules, generation);
  fc_generations_drain(&modules->generations, generation);
  act->unloaded++;
  act->ended = true;
  tell(modules, act);
}

// Sets `ended` of one that has nothing to wait for.
static fc_status_t start(fc_modules_t *modules, fc_act_t *act,
                         fc_error_t *err) {
  FC_TRY(check_known(modules, act, err));
  act->serial = ++modules->act_count;
  if (act->kind == FC_ACT_UNLOAD) {
    unload(modules, act);
    return FC_OK;
  }
  scan_all(modules, act);
  if (act->scans == 0 && act->kind != FC_ACT_START) {
    decide(modules, act);
    act->ended = true;
    tell(modules, act);
    return FC_OK;
  }
  act->next = modules->acts;
  modules->acts = act;
  return FC_OK;
}

// Acts that had to wait, in the order they were asked for.
static void start_waiting(fc_modules_t *modules) {
  while (!modules->acts && modules->waiting) {
    fc_act_t *act = modules->waiting;
    fc_error_t error;
    modules->waiting = act->next;
    act->next = NULL;
    if (start(modules, act, &error) != FC_OK) {
      note_failure(act, &error);
      act->ended = true;
      tell(modules, act);
    }
    if (!act->ended) continue;
    if (act->on_ended) act->on_ended(act->context, act);
    else free_act(modules, act);
  }
}

fc_status_t fc_modules_act(fc_modules_t *modules, fc_act_t *act,
                           fc_error_t *err) {
  if (modules->stopped) {
    return fc_fail(err, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  }
  if (!modules->waiting && (!modules->acts || !modules->acts->follows)) {
    FC_TRY(check_free(modules, act, err));
    return start(modules, act, err);
  }
  // Nobody has asked for what is in progress, so whoever asks now is not refused.
  FC_TRY(check_known(modules, act, err));
  fc_act_t **at = &modules->waiting;
  while (*at) at = &(*at)->next;
  *at = act;
  act->serial = ++modules->act_count;
  return FC_OK;
}

static void reload(fc_modules_t *modules, const char *by, bool follows) {
  fc_error_t error;
  if (modules->stopped) return;
  if (modules->acts) {
    // Who has asked is told, whatever files do.
    if (modules->again && follows) return;
    modules->again = by;
    modules->again_follows = follows;
    return;
  }
  fc_act_t *act =
      fc_act_create(modules, FC_ACT_RELOAD_ALL, FC_STR(""), fc_str(by));
  if (act) act->follows = follows;
  fc_status_t status =
      act ? fc_modules_act(modules, act, &error) : fc_fail_memory(&error);
  fc_act_release(modules, act);
  if (status == FC_OK) return;
  fc_log(modules->options.log, FC_LOG_ERROR, "%s: %s", by, error.message);
}

void fc_modules_reload(fc_modules_t *modules, const char *by) {
  reload(modules, by, false);
}

void fc_modules_follow(fc_modules_t *modules) {
  reload(modules, "watch", true);
}

// ---------------------------------------------------------------------------

void fc_acts_stop(fc_modules_t *modules) {
  fc_generations_t *generations = &modules->generations;
  fc_error_t error;
  for (uint32_t i = 0; i < generations->count; i++) {
    if (generations->places[i]) generations->places[i]->act = NULL;
  }
  (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  while (modules->put_away) bring_back(modules, &modules->put_away);
  while (modules->waiting) {
    fc_act_t *act = modules->waiting;
    modules->waiting = act->next;
    act->next = modules->acts;
    modules->acts = act;
  }
  while (modules->acts) {
    note_failure(modules->acts, &error);
    end(modules, modules->acts);
  }
}
