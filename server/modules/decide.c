// SPDX-License-Identifier: Apache-2.0
//
// Decides, when all PATHs are listed, which files an act loads, which it enters to be
// loaded on request, and which modules it unloads.
#include "config/limits.h"
#include "module/files.h"
#include "modules/act.h"
#include "modules/demand.h"

static fc_put_away_t **find_put_away(fc_modules_t *modules, fc_str_t path) {
  fc_put_away_t **at = &modules->put_away;
  while (*at && !fc_str_equal((*at)->path, path)) at = &(*at)->next;
  return at;
}

void fc_acts_bring_back(fc_modules_t *modules, fc_put_away_t **at) {
  fc_put_away_t *gone = *at;
  if (!gone) return;
  *at = gone->next;
  fc_free(modules->generations.allocator, gone);
}

// If there is no memory, the file is not remembered. Then an act that follows files loads
// it again as a new file.
void fc_acts_put_away(fc_modules_t *modules,
                      const fc_generation_t *generation) {
  const fc_str_t path = generation->file.path;
  fc_acts_bring_back(modules, find_put_away(modules, path));
  fc_put_away_t *made =
      fc_alloc(modules->generations.allocator, sizeof *made + path.size + 1);
  if (!made) return;
  if (path.size) memcpy(made->text, path.data, path.size);
  made->path = fc_str_make(made->text, path.size);
  made->mark = generation->file.mark;
  made->next = modules->put_away;
  modules->put_away = made;
}

// A DESCRIBED generation reads its file only when it is loaded. So if the file or its
// options change, no new generation is needed: the new mark is stored, and signatures
// that were read before are dropped. False: nothing was done, because the generation is
// not DESCRIBED or there is no file.
static bool follows_file(fc_generation_t *generation, const fc_listed_t *file) {
  if (fc_generation_state(generation) != FC_GENERATION_DESCRIBED || !file->mark)
    return false;
  if (generation->file.mark == file->mark && !generation->file.anew)
    return true;
  generation->file.anew = false;
  generation->file.mark = file->mark;
  generation->file.size = file->size;
  if (generation->loading.reading) {
    generation->loading.reading = FC_READING_STALE;
  }
  fc_module_release(generation->module);
  generation->module = NULL;
  return true;
}

static void note_file(fc_act_t *act, const fc_listed_t *file,
                      const fc_error_t *error) {
  fc_str_t name, version;
  fc_path_identify(file->path, &name, &version);
  fc_act_note_failure(act, name, error);
}

// The file has no generation that could show the error. So the act shows it; at the start
// the file's PATH also counts as failed, and the log says why.
static void note_failure(fc_modules_t *modules, fc_act_t *act,
                         const fc_load_t *load, const fc_listed_t *file,
                         const fc_error_t *error) {
  note_file(act, file, error);
  if (act->kind != FC_ACT_START) return;
  fc_modules_fail_path(modules, load->generation, error);
}

static void describe(fc_modules_t *modules, fc_act_t *act,
                     const fc_load_t *load, const fc_listed_t *file) {
  fc_error_t error;
  if (fc_modules_describe(modules, file, load->generation, act, &error) ==
      FC_OK) {
    act->described++;
  } else {
    note_failure(modules, act, load, file, &error);
  }
}

static fc_status_t load_file(fc_modules_t *modules, fc_act_t *act,
                             const fc_load_t *load, const fc_listed_t *file,
                             fc_generation_t *other, fc_error_t *err) {
  if (other && fc_str_equal(other->file.path, file->path) &&
      follows_file(other, file)) {
    return fc_demand_open(modules, other, act, err);
  }
  return fc_modules_begin(modules, file, load->generation, act, err);
}

// A file that replaces a module in service is loaded at once, even with --load=demand, so
// that no request waits. If --module-memory is used up, an act on all modules enters a
// new file as DESCRIBED instead of failing.
static void begin(fc_modules_t *modules, fc_act_t *act, const fc_load_t *load,
                  const fc_listed_t *file, fc_generation_t *other) {
  fc_error_t error;
  const bool served =
      other && fc_generation_state(other) == FC_GENERATION_READY;
  fc_acts_bring_back(modules, find_put_away(modules, file->path));
  if (modules->options.demand && act->name.size == 0 && !served && file->mark) {
    describe(modules, act, load, file);
  } else if (load_file(modules, act, load, file, other, &error) == FC_OK) {
    act->pending++;
  } else if (act->name.size == 0 && !served &&
             error.code == FC_CODE_MEMORY_BUDGET) {
    describe(modules, act, load, file);
  } else {
    // The module in service goes on serving; its error says why the newer file does not
    // serve.
    if (served) {
      other->error = error;
      other->file.refused = file->mark;
    }
    note_failure(modules, act, load, file, &error);
  }
}

static void refuse_twin(fc_modules_t *modules, fc_act_t *act,
                        const fc_load_t *load, const fc_listed_t *file,
                        const fc_generation_t *other) {
  fc_error_t why, error;
  const fc_generations_t *generations = &modules->generations;
  fc_generation_t *twin = fc_generations_find_twin(generations, file->path);
  if (!twin) {
    const fc_status_t status = fc_modules_enter_twin(
        modules, file, load->generation, other, &why, &error);
    note_file(act, file, status == FC_OK ? &why : &error);
    twin = fc_generations_find_twin(generations, file->path);
  }
  if (twin) twin->settled = act->serial;
}

// The file has the mark with which the generation was loaded, so an error of a version
// in between is out of date.
static void keep(fc_act_t *act, fc_generation_t *generation) {
  act->unchanged++;
  fc_error_reset(&generation->error);
}

static bool is_served_as(const fc_generation_t *generation,
                         const fc_listed_t *file) {
  return (fc_generation_state(generation) == FC_GENERATION_READY ||
          fc_generation_is_coming(generation)) &&
         !generation->file.anew && file->mark &&
         generation->file.mark == file->mark;
}

// Is the file, or its variant, being written? `path` is the path of either; both lie in
// the same folder.
static bool is_written(const fc_modules_t *modules, const fc_listed_t *file,
                       fc_str_t path) {
  if (!modules->watch) return false;
  return file->folder < 0 ? fc_watch_is_written(modules->watch, path)
                          : fc_watch_is_written_in(modules->watch, file->folder,
                                                   fc_path_file(path));
}

// Does an act that follows files skip this file now? It does in these cases: the file is
// empty or being written; this state of the file was refused; the file does not exist,
// and `other` has no refused file (both marks are 0); its module was unloaded by request
// and the file has not changed since. The next change of the file begins another act.
static bool must_wait(fc_modules_t *modules, const fc_act_t *act,
                      const fc_generation_t *other, const fc_listed_t *file) {
  if (!act->follows) return false;
  if ((file->mark && !file->size) ||
      (other && other->file.refused == file->mark))
    return true;
  const fc_put_away_t *away = *find_put_away(modules, file->path);
  if (away && away->mark == file->mark) return true;
  return is_written(modules, file, file->path) ||
         (file->variant.size && is_written(modules, file, file->variant));
}

// Was the file's version rolled back, and has the file not changed since?
static bool is_refused(const fc_modules_t *modules, const fc_listed_t *file) {
  fc_str_t name, version;
  fc_path_identify(file->path, &name, &version);
  return fc_decisions_refuse(modules->generations.decisions, name, version,
                             file->mark);
}

// Is the file refused, without a current generation of its version, and may the act look
// at it now (must_wait)?
static bool is_left_out(fc_modules_t *modules, const fc_act_t *act,
                        const fc_listed_t *file) {
  return !fc_generations_find_path(&modules->generations, file->path) &&
         is_refused(modules, file) && !must_wait(modules, act, NULL, file);
}

// A refused file counts as unchanged while the name leads to another version. If it was
// the only version, it is entered as failed, so that requests get the reason.
static void leave_out(fc_modules_t *modules, fc_act_t *act,
                      const fc_load_t *load, const fc_listed_t *file) {
  fc_str_t name, version;
  fc_error_t why, error;
  fc_path_identify(file->path, &name, &version);
  if (fc_generations_find(&modules->generations, name)) {
    act->unchanged++;
    return;
  }
  (void)fc_fail(&why, FC_CODE_MODULE_UNAVAILABLE,
                "'%.*s' was rolled back and has not changed since: to serve it "
                "nevertheless, load the module by its name",
                FC_STR_ARG(fc_path_file(file->path)));
  const fc_status_t status = fc_modules_enter_refused(
      modules, file, load->generation, act, &why, &error);
  note_file(act, file, status == FC_OK ? &why : &error);
}

static void consider(fc_modules_t *modules, fc_act_t *act,
                     const fc_load_t *load, const fc_listed_t *file) {
  fc_generation_t *other =
      fc_generations_find_path(&modules->generations, file->path);
  if (is_left_out(modules, act, file)) return;
  const bool same = other && fc_str_equal(other->file.path, file->path);
  if (other && (other->settled == act->serial ||
                (!same && other->listed == act->serial))) {
    refuse_twin(modules, act, load, file, other);
    return;
  }
  if (other) other->settled = act->serial;
  if (must_wait(modules, act, other, file) || is_refused(modules, file))
    act->unchanged++;
  else if (same && (follows_file(other, file) || is_served_as(other, file)))
    keep(act, other);
  else begin(modules, act, load, file, other);
}

// Unloads a module that no PATH names any more. Modules of a PATH that could not be
// listed stay.
static void unload_if_gone(fc_modules_t *modules, fc_act_t *act,
                           fc_generation_t *generation) {
  if (!generation || generation->file.origin == FC_PATH_NONE ||
      generation->settled == act->serial ||
      modules->paths[generation->file.origin].failed ||
      (fc_generation_state(generation) != FC_GENERATION_READY &&
       fc_generation_state(generation) != FC_GENERATION_FAILED &&
       !fc_generation_is_coming(generation))) {
    return;
  }
  if (generation->claim.current) act->unloaded++;
  fc_generations_drain(&modules->generations, generation);
}

// Keeps modules that were loaded from a directory that cannot be read: their files may
// still exist.
static void keep_unread(const fc_modules_t *modules, const fc_act_t *act,
                        const fc_unread_t *unread) {
  const fc_str_t folder = unread->folder;
  fc_generation_t *first =
      fc_generations_find(&modules->generations, unread->name);
  fc_generation_t *generation = first;
  while (generation) {
    if (fc_str_starts(generation->file.path, folder) &&
        generation->file.path.data[folder.size] == '/') {
      generation->listed = generation->settled = act->serial;
    }
    generation =
        generation->claim.sibling == first ? NULL : generation->claim.sibling;
  }
}

static void note_listed(fc_modules_t *modules, const fc_act_t *act,
                        const fc_listed_t *file) {
  fc_generation_t *generation =
      fc_generations_find_path(&modules->generations, file->path);
  if (generation && fc_str_equal(generation->file.path, file->path)) {
    generation->listed = act->serial;
  }
}

// ---------------------------------------------------------------------------
// Deciding about all modules. Each step goes through all listed files, or all
// generations.

typedef enum step_t {
  STEP_NOTE,      // notes which generations have a file
  STEP_CONSIDER,  // decides about each listed file
  STEP_UNLOAD,    // unloads modules for which no file was listed
  STEP_LEAVE_OUT  // last, because it depends on the other versions
} step_t;

static void begin_step(fc_act_t *act, step_t step) {
  act->step = (uint8_t)step;
  act->load = act->listings;
  act->at = 0;
}

// Returns the next file of the step. NULL: the step is over.
static const fc_listed_t *next_file(fc_act_t *act, const fc_load_t **out_load) {
  while (act->load && act->at >= act->load->listing.count) {
    act->load = act->load->next;
    act->at = 0;
  }
  if (!act->load) return NULL;
  *out_load = act->load;
  return &act->load->listing.files[act->at++];
}

// Checks one generation. False: the step is over.
static bool unload_next(fc_modules_t *modules, fc_act_t *act) {
  const fc_generations_t *generations = &modules->generations;
  if (act->at >= generations->count) return false;
  unload_if_gone(modules, act, generations->places[act->at++]);
  return true;
}

// Checks one file. False: the step is over.
static bool look_at_next(fc_modules_t *modules, fc_act_t *act) {
  const fc_load_t *load = NULL;
  const fc_listed_t *file = next_file(act, &load);
  if (!file) return false;
  if (act->step == STEP_NOTE) note_listed(modules, act, file);
  else if (act->step == STEP_CONSIDER) consider(modules, act, load, file);
  else if (is_left_out(modules, act, file)) leave_out(modules, act, load, file);
  return true;
}

// Returns how many files were begun, entered or unloaded. These cost more than a check.
static uint32_t changes(const fc_act_t *act) {
  return act->pending + act->described + act->unloaded + act->failed;
}

// Continues deciding for one turn of the loop. True: everything is decided.
static bool decide_some(fc_modules_t *modules, fc_act_t *act) {
  uint32_t cost = 0;
  while (cost < FC_LIMIT_DECIDES) {
    const uint32_t before = changes(act);
    const bool more = act->step == STEP_UNLOAD ? unload_next(modules, act)
                                               : look_at_next(modules, act);
    cost += changes(act) == before ? 1 : FC_LIMIT_DECIDE_CHANGE;
    modules->looks++;
    if (more) continue;
    if (act->step == STEP_LEAVE_OUT) return true;
    begin_step(act, (step_t)(act->step + 1));
  }
  return false;
}

static void wake(fc_modules_t *modules) {
  modules->events.wake(modules->events.context);
}

static void consider_all(fc_modules_t *modules, fc_act_t *act) {
  // Modules of a PATH that could not be listed stay.
  if (!act->listings) return;
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    const fc_unread_t *unread = load->listing.unread;
    for (; unread; unread = unread->next) keep_unread(modules, act, unread);
  }
  begin_step(act, STEP_NOTE);
  if (decide_some(modules, act)) return;
  act->pending++;  // the act waits for the rest
  modules->deciding = act;
  wake(modules);
}

void fc_acts_go_on(fc_modules_t *modules) {
  fc_act_t *act = modules->deciding;
  if (!act) return;
  if (!decide_some(modules, act)) {
    wake(modules);
    return;
  }
  modules->deciding = NULL;
  fc_acts_settle(modules, act);
}

// ---------------------------------------------------------------------------
// Deciding about one module

// Is this a file of the module that the act names, "name" or "name@version"?
static bool is_named(const fc_act_t *act, fc_str_t path, fc_str_t *out_name,
                     fc_str_t *out_version) {
  const fc_str_t name = act->name;
  fc_path_identify(path, out_name, out_version);
  if (!fc_str_starts(name, *out_name)) return false;
  if (name.size == out_name->size) return true;
  const size_t lead = out_name->size + 1;
  return name.data[out_name->size] == '@' &&
         fc_str_equal(fc_str_make(name.data + lead, name.size - lead),
                      *out_version);
}

// Finds the file of the module that the act names, with the highest version. If several
// files have that version, returns the one at `had`, from which the module was loaded
// last, else the first.
static const fc_listed_t *find_file(const fc_act_t *act, fc_str_t had,
                                    const fc_load_t **out_load,
                                    fc_str_t *out_nearest) {
  const fc_listed_t *found = NULL;
  fc_str_t best = FC_STR("");
  fc_nearest_t search = fc_nearest_begin(act->name);
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    for (size_t i = 0; i < load->listing.count; i++) {
      const fc_listed_t *file = &load->listing.files[i];
      fc_str_t name, version;
      if (!is_named(act, file->path, &name, &version)) {
        if (fc_nearest_offer(&search, name)) *out_nearest = name;
        continue;
      }
      const int higher = found ? fc_version_compare(version, best) : 1;
      const bool same = fc_str_equal(file->path, had);
      if (higher < 0 || (higher == 0 && !same)) continue;
      found = file;
      best = version;
      *out_load = load;
    }
  }
  return found;
}

// Finds an unreadable directory of the module; NULL: none.
static const fc_unread_t *find_unread(const fc_act_t *act) {
  fc_str_t name = act->name;
  name = fc_str_take(&name, '@');
  for (const fc_load_t *load = act->listings; load; load = load->next) {
    const fc_unread_t *unread = load->listing.unread;
    for (; unread; unread = unread->next) {
      if (fc_str_equal(unread->name, name)) return unread;
    }
  }
  return NULL;
}

static void fail_no_file(fc_act_t *act, const fc_generation_t *had,
                         fc_str_t nearest) {
  fc_error_t error;
  const fc_unread_t *unread = find_unread(act);
  if (unread) {
    (void)fc_fail(&error, FC_CODE_MODULE_PATH,
                  "directory '%.*s' of module '%.*s' cannot be read: %s",
                  FC_STR_ARG(fc_path_file(unread->folder)),
                  FC_STR_ARG(unread->name), strerror(unread->reason));
  } else if (had) {
    (void)fc_fail(&error, FC_CODE_MODULE_PATH,
                  "the file of module '%.*s' is gone: '%.*s'",
                  FC_STR_ARG(act->name),
                  FC_STR_ARG(fc_path_file(had->file.path)));
  } else {
    char shown[80], hint[160] = "";
    fc_escape(shown, sizeof shown, 64, act->name);
    if (nearest.size) fc_escape(hint, sizeof hint, 128, nearest);
    (void)fc_fail(&error, FC_CODE_MODULE_NOT_FOUND,
                  "no file of a module '%s' where the server looks%s%s%s",
                  shown, nearest.size ? ": did you mean '" : "", hint,
                  nearest.size ? "'?" : "");
  }
  fc_act_note_failure(act, FC_STR(""), &error);
}

static void consider_one(fc_modules_t *modules, fc_act_t *act) {
  fc_generation_t *had = fc_generations_find(&modules->generations, act->name);
  const fc_load_t *load = NULL;
  fc_str_t nearest = FC_STR("");
  const fc_listed_t *file =
      find_file(act, had ? had->file.path : FC_STR(""), &load, &nearest);
  fc_act_note_digest(act->before, had);
  if (file) {  // the file may be of a higher version than the name leads to
    had = fc_generations_find_path(&modules->generations, file->path);
  }
  if (!file) {
    fail_no_file(act, had, nearest);
  } else if (act->kind == FC_ACT_LOAD && had &&
             fc_generation_state(had) == FC_GENERATION_READY &&
             fc_str_equal(had->file.path, file->path) &&
             is_served_as(had, file)) {
    keep(act, had);
    fc_act_note_digest(act->after, had);
  } else {
    begin(modules, act, load, file, had);
  }
}

void fc_acts_decide(fc_modules_t *modules, fc_act_t *act) {
  if (act->name.size) consider_one(modules, act);
  else consider_all(modules, act);
}
