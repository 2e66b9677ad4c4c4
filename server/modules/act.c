// SPDX-License-Identifier: Apache-2.0
//
// An act waits for listings, decides, waits for files, and ends. All PATHs are listed
// before anything is decided. So the act knows whether the file that serves a name still
// exists. If it exists, or if this act has begun another file of that name, a further
// file with the same name is refused.
#include "modules/act.h"

#include <stdio.h>

#include "module/files.h"
#include "modules/demand.h"
#include "modules/versions.h"

static const char *const kKinds[] = {
    [FC_ACT_START] = "start",       [FC_ACT_RELOAD_ALL] = "reload",
    [FC_ACT_LOAD] = "load",         [FC_ACT_RELOAD] = "reload",
    [FC_ACT_UNLOAD] = "unload",     [FC_ACT_PROMOTE] = "promote",
    [FC_ACT_ROLLBACK] = "rollback",
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
  fc_decisions_free(act->decisions, modules->generations.allocator);
  fc_free(modules->generations.allocator, act);
}

void fc_act_release(fc_modules_t *modules, fc_act_t *act) {
  if (!act) return;
  act->on_ended = NULL;
  if (act->ended || !act->serial) free_act(modules, act);
}

// ---------------------------------------------------------------------------
// Ending an act

static void tell(fc_modules_t *modules, fc_act_t *act) {
  const bool all = act->name.size == 0;
  const bool failed = act->status != FC_OK;
  if (all && failed) fc_act_add_counts(act);
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
  if (modules->deciding == act) modules->deciding = NULL;
  act->ended = true;
  tell(modules, act);
  if (act->kind == FC_ACT_START && !modules->stopped) {
    modules->started = true;
    modules->events.on_started(modules->events.context);
  }
  if (act->on_ended) act->on_ended(act->context, act);
  else free_act(modules, act);
  if (modules->stopped) return;
  if (modules->crashed) modules->events.wake(modules->events.context);
  start_waiting(modules);
  const char *again = modules->again;
  if (!again || modules->acts) return;
  modules->again = NULL;
  reload(modules, again, modules->again_follows);
}

static bool is_over(const fc_act_t *act) {
  return act->scans == 0 && act->pending == 0;
}

// Finds an act that has loaded a refused file and must still decide that the file is no
// longer refused. NULL: there is none, or another decision is being saved.
static fc_act_t *find_lifting(const fc_modules_t *modules) {
  fc_act_t *found = NULL;
  for (fc_act_t *act = modules->acts; act; act = act->next) {
    if (act->saving) return NULL;
    if (act->lifted) found = act;
  }
  return found;
}

static void lift(fc_modules_t *modules) {
  fc_act_t *act;
  fc_error_t error;
  while ((act = find_lifting(modules))) {
    fc_str_t name = act->name;
    const fc_decision_t lifted = {.name = fc_str_take(&name, '@'),
                                  .version = fc_str(act->version),
                                  .mark = act->lifted,
                                  .lifted = true};
    act->lifted = 0;
    if (fc_acts_refuse(modules, act, &lifted, &error) != FC_OK) {
      fc_act_note_failure(act, FC_STR(""), &error);
    }
    fc_acts_settle(modules, act);
  }
}

// Did the act load or reload this module by name, although its file was refused after a
// rollback? Then a client wants the file, and it is no longer refused.
static bool lifts(const fc_modules_t *modules, const fc_act_t *act,
                  const fc_generation_t *loaded) {
  return (act->kind == FC_ACT_LOAD || act->kind == FC_ACT_RELOAD) &&
         fc_decisions_refuse(modules->generations.decisions, loaded->claim.name,
                             loaded->claim.version, loaded->file.mark);
}

void fc_acts_on_loaded(fc_modules_t *modules, fc_act_t *act,
                       const fc_generation_t *generation) {
  act->loaded++;
  if (act->name.size) fc_act_note_digest(act->after, generation);
  if (!lifts(modules, act, generation)) {
    fc_acts_settle(modules, act);
    return;
  }
  act->lifted = generation->file.mark;
  snprintf(act->version, sizeof act->version, "%.*s",
           FC_STR_ARG(generation->claim.version));
  lift(modules);
}

// ---------------------------------------------------------------------------
// Listings

// fc_scan lists everything that is no directory as a file, even if nothing is there. So a
// PATH that was a directory and is now listed as a file counts as a failure: otherwise
// its modules would be unloaded.
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

// Logs `text` if there is a `reason` (an errno) and the previous call with this `told`
// had none.
static void tell_once(fc_modules_t *modules, fc_str_t path, int reason,
                      const char *text, bool *told) {
  if (reason && !*told) {
    const fc_log_field_t fields[] = {
        FC_LOG_TEXT("path", path),
        FC_LOG_TEXT("reason", fc_str(strerror(reason)))};
    fc_log_fields(modules->options.log, FC_LOG_WARN, fc_str(text), fields,
                  FC_ARRAY_COUNT(fields));
  }
  *told = reason != 0;
}

static void tell_listing(fc_modules_t *modules, fc_start_path_t *path,
                         const fc_listing_t *listing) {
  const fc_unread_t *unread = listing->unread;
  tell_once(modules, path->path, listing->unwatched,
            "a directory in it cannot be watched: set --watch-interval",
            &path->unwatched);
  tell_once(modules, unread ? unread->folder : path->path,
            unread ? unread->reason : 0,
            "a directory cannot be read: what was loaded from it stays",
            &path->unread);
}

// Has the file a module that will now be unloaded, or does the configuration name its
// module? An act that follows files does not check the configuration, because each such
// act would warn again.
static bool is_missed(const fc_modules_t *modules, const fc_act_t *act,
                      fc_str_t path) {
  const fc_module_policies_t *policies = modules->options.policies;
  const fc_generation_t *generation =
      fc_generations_find_path(&modules->generations, path);
  fc_str_t name, version;
  fc_path_identify(path, &name, &version);
  return (generation && fc_str_equal(generation->file.path, path)) ||
         (!act->follows && fc_module_policies_find_version(
                               policies, name, version) != &policies->others);
}

// A file that another file declares as its variant is not a separate module. Warns about
// each variant whose module may be missed (is_missed). Only acts on all modules warn.
static void tell_declared(fc_modules_t *modules, const fc_act_t *act,
                          const fc_listing_t *listing) {
  const fc_declared_t *one = act->name.size ? NULL : listing->declared;
  for (; one; one = one->next) {
    if (!is_missed(modules, act, one->path)) continue;
    const fc_log_field_t fields[] = {FC_LOG_TEXT("path", one->path),
                                     FC_LOG_TEXT("declared_by", one->by)};
    fc_log_fields(modules->options.log, FC_LOG_WARN,
                  FC_STR("a file is a variant of another module: it is no "
                         "module of its own"),
                  fields, FC_ARRAY_COUNT(fields));
  }
}

// Only acts on all modules warn, and not those that follow files: each would warn again.
static void tell_uncompiled(fc_modules_t *modules, const fc_act_t *act,
                            const fc_listing_t *listing) {
  const bool tells = !act->name.size && !act->follows;
  const fc_uncompiled_t *one = tells ? listing->uncompiled : NULL;
  for (; one; one = one->next) {
    const fc_log_field_t fields[] = {FC_LOG_TEXT("path", one->path)};
    fc_log_fields(
        modules->options.log, FC_LOG_WARN,
        FC_STR("a model must be compiled before it is served: farcall "
               "compile does it"),
        fields, FC_ARRAY_COUNT(fields));
  }
}

// Notes which unreadable folders NAME/VERSION have a version that is served.
static void note_served(const fc_modules_t *modules, fc_listing_t *listing) {
  for (fc_unread_t *at = listing->unread; at; at = at->next) {
    const fc_str_t version = fc_path_file(at->folder);
    char name[FC_MODULE_NAME_MAX + 32];
    if (!fc_is_version(version)) continue;
    const int size = snprintf(name, sizeof name, "%.*s@%.*s",
                              FC_STR_ARG(at->name), FC_STR_ARG(version));
    at->served = (size_t)size < sizeof name &&
                 fc_generations_find(&modules->generations,
                                     fc_str_make(name, (size_t)size));
  }
}

static void take_listing(fc_modules_t *modules, fc_act_t *act,
                         fc_load_t *load) {
  fc_start_path_t *path = &modules->paths[load->generation];
  fc_error_t error;
  if (check_listing(path, load, &error) != FC_OK) {
    if (!act->follows || !path->failed)
      fc_act_note_failure(act, FC_STR(""), &error);
    fc_modules_fail_path(modules, load->generation, &error);
    fc_load_free(modules->loader, load);
    return;
  }
  tell_listing(modules, path, &load->listing);
  tell_declared(modules, act, &load->listing);
  tell_uncompiled(modules, act, &load->listing);
  note_served(modules, &load->listing);
  fc_versions_filter(modules->options.policies, &load->listing);
  if (path->failed) modules->failed_paths--;
  path->failed = false;
  path->is_directory = load->listing.is_directory;
  load->next = NULL;
  *act->last_listing = load;
  act->last_listing = &load->next;
}

void fc_acts_on_scanned(fc_modules_t *modules, fc_load_t *load) {
  fc_act_t *act = load ? load->context : modules->acts;
  if (load) {
    act->scans--;
    take_listing(modules, act, load);
    if (act->scans) return;
    fc_acts_decide(modules, act);
  }
  if (act && is_over(act)) end(modules, act);
}

// ---------------------------------------------------------------------------
// Beginning an act

// Do two acts name the same module? Versions are ignored.
static bool same_module(fc_str_t a, fc_str_t b) {
  return fc_str_equal(fc_str_take(&a, '@'), fc_str_take(&b, '@'));
}

static fc_status_t check_free(const fc_modules_t *modules, const fc_act_t *act,
                              fc_error_t *err) {
  for (const fc_act_t *other = modules->acts; other; other = other->next) {
    if (act->name.size && other->name.size &&
        !same_module(act->name, other->name)) {
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

// Only LOAD may name a module that the server does not have yet.
static fc_status_t check_known(const fc_modules_t *modules, const fc_act_t *act,
                               fc_error_t *err) {
  const fc_generations_t *generations = &modules->generations;
  if (act->name.size == 0 || act->kind == FC_ACT_LOAD) return FC_OK;
  if (fc_generations_find(generations, act->name)) return FC_OK;
  fc_nearest_t search = fc_nearest_begin(act->name);
  const fc_generation_t *nearest = fc_generations_nearest(generations, &search);
  char shown[80], hint[160] = "";
  fc_escape(shown, sizeof shown, 64, act->name);
  if (nearest) fc_escape(hint, sizeof hint, 128, nearest->claim.name);
  return fc_fail(err, FC_CODE_MODULE_NOT_FOUND, "no module '%s'%s%s%s", shown,
                 nearest ? ": did you mean '" : "", hint, nearest ? "'?" : "");
}

// Lists the files of test calls that the configuration names (fc_scan_mark_tests). A
// version with its own policy is listed even if that policy names no file: otherwise the
// module's file would be used for the version.
static fc_status_t put_tests(const fc_module_policies_t *policies,
                             fc_sink_t *sink, fc_error_t *err) {
  for (uint32_t i = 0; i < policies->count; i++) {
    const fc_module_policy_t *policy = &policies->items[i];
    const fc_str_t path = fc_str(policy->self_test);
    fc_str_t module;
    if (!fc_module_policy_is_version(fc_str(policy->name), &module) &&
        (fc_str_equal(path, FC_STR("auto")) ||
         fc_str_equal(path, FC_STR("off")))) {
      continue;
    }
    FC_TRY(fc_sink_put(
        sink, fc_str_make(policy->name, strlen(policy->name) + 1), err));
    FC_TRY(fc_sink_put(sink, fc_str_make(path.data, path.size + 1), err));
  }
  return FC_OK;
}

static fc_status_t scan_one(fc_modules_t *modules, fc_act_t *act,
                            uint32_t position, fc_str_t tests,
                            fc_error_t *err) {
  const int watch = modules->watch ? modules->watch->file : -1;
  return fc_loader_scan(modules->loader, modules->paths[position].path,
                        position, watch, tests, act, err);
}

// If there is no memory to scan a PATH, nothing of that PATH is loaded or unloaded.
static void scan_all(fc_modules_t *modules, fc_act_t *act) {
  fc_error_t error;
  fc_text_t tests;
  fc_text_init(&tests, modules->generations.allocator, SIZE_MAX);
  const fc_status_t listed =
      put_tests(modules->options.policies, &tests.sink, &error);
  for (uint32_t i = 0; i < modules->path_count; i++) {
    if (listed == FC_OK &&
        scan_one(modules, act, i, fc_text_str(&tests), &error) == FC_OK) {
      act->scans++;
      modules->pending++;
    } else {
      fc_modules_fail_path(modules, i, &error);
      fc_act_note_failure(act, FC_STR(""), &error);
    }
  }
  fc_text_deinit(&tests);
}

static void unload(fc_modules_t *modules, fc_act_t *act) {
  fc_generation_t *generation =
      fc_generations_find(&modules->generations, act->name);
  fc_act_note_digest(act->before, generation);
  // A name without a version means all its versions.
  for (; generation;
       generation = fc_generations_find(&modules->generations, act->name)) {
    fc_acts_put_away(modules, generation);
    fc_generations_drain(&modules->generations, generation);
    act->unloaded++;
  }
  act->ended = true;
  tell(modules, act);
}

static bool is_decision(const fc_act_t *act) {
  return act->kind == FC_ACT_PROMOTE || act->kind == FC_ACT_ROLLBACK;
}

static fc_status_t decide_version(fc_modules_t *modules, fc_act_t *act,
                                  fc_error_t *err) {
  FC_TRY(fc_acts_promote(modules, act, err));
  act->serial = ++modules->act_count;
  if (act->saving) {
    act->next = modules->acts;
    modules->acts = act;
  } else {
    act->ended = true;
    tell(modules, act);
  }
  return FC_OK;
}

void fc_acts_on_saved(fc_modules_t *modules, const fc_load_t *load) {
  fc_act_t *act = load->context;
  act->saving = false;
  act->persistent = load->status == FC_OK;
  if (!act->persistent) fc_act_note_failure(act, FC_STR(""), &load->error);
  if (act->persistent || act->holds) fc_acts_apply(modules, act);
  lift(modules);
  fc_acts_settle(modules, act);
}

void fc_acts_enter(fc_modules_t *modules, fc_act_t *act) {
  act->serial = ++modules->act_count;
  act->next = modules->acts;
  modules->acts = act;
}

void fc_acts_settle(fc_modules_t *modules, fc_act_t *act) {
  act->pending--;
  if (is_over(act)) end(modules, act);
}

// Begins the act. Sets act->ended if the act waits for no listing, file or saving. A
// START does not end here (fc_acts_on_scanned).
static fc_status_t start(fc_modules_t *modules, fc_act_t *act,
                         fc_error_t *err) {
  if (is_decision(act)) return decide_version(modules, act, err);
  FC_TRY(check_known(modules, act, err));
  act->serial = ++modules->act_count;
  if (act->kind == FC_ACT_UNLOAD) {
    unload(modules, act);
    return FC_OK;
  }
  scan_all(modules, act);
  if (act->scans == 0 && act->kind != FC_ACT_START) {
    fc_acts_decide(modules, act);
    act->ended = true;
    tell(modules, act);
    return FC_OK;
  }
  act->next = modules->acts;
  modules->acts = act;
  return FC_OK;
}

// Begins waiting acts in the order of their requests, until one of them is in progress.
static void start_waiting(fc_modules_t *modules) {
  while (!modules->acts && modules->waiting) {
    fc_act_t *act = modules->waiting;
    fc_error_t error;
    modules->waiting = act->next;
    act->next = NULL;
    if (start(modules, act, &error) != FC_OK) {
      fc_act_note_failure(act, FC_STR(""), &error);
      act->ended = true;
      tell(modules, act);
    }
    if (!act->ended) continue;
    if (act->on_ended) act->on_ended(act->context, act);
    else free_act(modules, act);
  }
}

static bool is_saving(const fc_modules_t *modules) {
  const fc_act_t *act = modules->acts;
  while (act && !act->saving) act = act->next;
  return act;
}

fc_status_t fc_modules_act(fc_modules_t *modules, fc_act_t *act,
                           fc_error_t *err) {
  if (modules->stopped) {
    return fc_fail(err, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  }
  if (!modules->waiting && (!modules->acts || !modules->acts->follows)) {
    FC_TRY(check_free(modules, act, err));
    if (!is_decision(act) || !is_saving(modules)) {
      return start(modules, act, err);
    }
  }
  // The act waits, and is not refused, in these cases: other acts wait already; the act
  // in progress only follows files; or this act is a decision and one about another
  // module is being saved.
  if (!is_decision(act)) FC_TRY(check_known(modules, act, err));
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
    // A requested reload is not replaced by one that only follows files, because the end
    // of a requested one is always logged.
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
// Ending all acts

void fc_acts_stop(fc_modules_t *modules) {
  fc_generations_t *generations = &modules->generations;
  fc_error_t error;
  for (uint32_t i = 0; i < generations->count; i++) {
    if (generations->places[i]) generations->places[i]->loading.act = NULL;
  }
  (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  while (modules->put_away) fc_acts_bring_back(modules, &modules->put_away);
  while (modules->waiting) {
    fc_act_t *act = modules->waiting;
    modules->waiting = act->next;
    act->next = modules->acts;
    modules->acts = act;
  }
  while (modules->acts) {
    fc_act_note_failure(modules->acts, FC_STR(""), &error);
    end(modules, modules->acts);
  }
}
