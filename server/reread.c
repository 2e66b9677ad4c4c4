// SPDX-License-Identifier: Apache-2.0
//
// The options are parsed again as at the start, with flags and variables, into a second
// struct. All options that can change are taken from the second struct, so the struct of
// the previous reading, which holds their old texts, can be freed. Every other option
// stays as it was at the start.
#include "reread.h"

#include "check.h"
#include "config/file.h"
#include "config/listener.h"
#include "config/module.h"
#include "dialect/condition.h"
#include "jailing.h"

// Can the option change without a restart? Its new value is used through the policies of
// modules (apply_policies), by apply_numbers, or because it is read each time it is
// needed.
static bool can_change(const fc_option_t *option) {
  return option->when == FC_OPTION_WHEN_SIGHUP;
}

static void tell_kept(fc_loop_t *loop, const char *key) {
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("key", fc_str(key)),
      FC_LOG_TEXT("file", fc_str(loop->options->config))};
  fc_log_fields(&loop->log, FC_LOG_WARN,
                FC_STR("the configuration has changed: needs a restart"),
                fields, FC_ARRAY_COUNT(fields));
}

static bool paths_differ(const fc_server_options_t *a,
                         const fc_server_options_t *b) {
  bool same = a->path_count == b->path_count;
  for (size_t i = 0; same && i < a->path_count; i++) {
    same = strcmp(a->paths[i], b->paths[i]) == 0;
  }
  return !same;
}

static bool policies_differ(const fc_listener_policy_t *a,
                            const fc_listener_policy_t *b) {
  bool same = true;
  for (size_t i = 0; same && i < FC_LISTENER_KEYS; i++) {
    same = fc_option_same(a, b, &fc_listener_keys[i]);
  }
  return !same;
}

// Compares the policies of all listeners. Where a listener does not give a key, the option
// of `a` is used for both sides: tell_rest logs changed options itself.
static bool listeners_differ(const fc_server_options_t *a,
                             const fc_server_options_t *b) {
  fc_server_options_t next = *a;
  fc_listener_policy_t one, other;
  fc_str_t address;
  next.file = b->file;
  for (uint32_t i = 0;; i++) {
    const bool more = fc_listener_at(a, i, &address, &one);
    if (more != fc_listener_at(&next, i, &address, &other)) return true;
    if (!more) return false;
    if (policies_differ(&one, &other)) return true;
  }
}

// Takes over the options that can change.
static void merge(fc_server_options_t *live, const fc_server_options_t *next) {
  for (unsigned i = 0; i < FC_OPTIONS; i++) {
    if (!can_change(&fc_options[i])) continue;
    fc_option_copy(live, &fc_options[i], next, &fc_options[i]);
    live->origins[i] = next->origins[i];
  }
  live->file.modules = next->file.modules;
  live->file.module_count = next->file.module_count;
}

// Logs options that have changed in the file but keep their old value. Called when
// nothing can fail any more: a failed reading logs nothing about single options.
static void tell_rest(fc_loop_t *loop, const fc_server_options_t *next) {
  const fc_server_options_t *live = &loop->live;
  for (unsigned i = 0; i < FC_OPTIONS; i++) {
    const fc_option_t *option = &fc_options[i];
    if (!can_change(option) && !fc_option_same(live, next, option)) {
      tell_kept(loop, option->flag);
    }
  }
  if (paths_differ(live, next)) tell_kept(loop, "paths");
  if (listeners_differ(live, next)) tell_kept(loop, "listeners");
}

// Would both policies open and host a module in the same way?
static bool is_hosted_alike(const fc_module_policy_t *a,
                            const fc_module_policy_t *b) {
  bool alike = true;
  for (size_t i = 0; alike && i < FC_MODULE_KEYS; i++) {
    alike = fc_module_keys[i].when != FC_OPTION_WHEN_ANEW ||
            fc_option_same(a, b, &fc_module_keys[i]);
  }
  return alike;
}

// Puts the policies in force. A module that must now be opened or hosted differently is
// marked (`anew`): the next act loads it again, although its file is the same.
static void apply_policies(fc_loop_t *loop, fc_module_policies_t *take) {
  fc_generations_t *all = &loop->modules.generations;
  fc_module_policies_t before = loop->policies;
  loop->policies = *take;
  for (uint32_t i = 0; i < all->count; i++) {
    fc_generation_t *generation = all->places[i];
    if (!generation) continue;
    const fc_module_policy_t *policy = fc_module_policies_find_version(
        &loop->policies, generation->claim.name, generation->claim.version);
    // `policy` may point to loop->policies.others, which was just overwritten: the old
    // one is in `before`.
    const fc_module_policy_t *old = generation->policy == &loop->policies.others
                                        ? &before.others
                                        : generation->policy;
    if (!is_hosted_alike(old, policy)) generation->file.anew = true;
    generation->policy = policy;
  }
  fc_module_policies_deinit(&before);
}

static void apply_numbers(fc_loop_t *loop) {
  const fc_server_options_t *live = &loop->live;
  loop->modules.options.memory = live->module_memory;
  loop->modules.options.idle_ms = live->idle_unload;
  loop->pool.options.queue_limit =
      fc_pool_queue_limit(live->queue, loop->pool.options.workers);
}

static fc_status_t parse(const fc_server_options_t *live,
                         fc_server_options_t *next, const char **paths,
                         fc_error_t *err) {
  FC_TRY(fc_server_options_parse(next, live->argc, live->argv, paths,
                                 live->variables, err));
  return fc_options_check(next, err);
}

static fc_status_t change(fc_loop_t *loop, fc_reread_t *made, fc_error_t *err) {
  fc_module_policies_t policies;
  FC_TRY(parse(&loop->live, &made->options, made->paths, err));
  const fc_server_options_t before = loop->live;
  merge(&loop->live, &made->options);
  fc_status_t status =
      fc_module_policies_init(&policies, loop->allocator, &loop->live, err);
  if (status == FC_OK) {
    status = fc_jailing_check_policies(&policies, &loop->jail.facts, err);
    if (status != FC_OK) fc_module_policies_deinit(&policies);
  }
  if (status != FC_OK) {
    loop->live = before;
    return status;
  }
  apply_policies(loop, &policies);
  fc_endpoints_judge_own(&loop->endpoints, &loop->policies);
  apply_numbers(loop);
  tell_rest(loop, &made->options);
  return FC_OK;
}

static void free_reread(fc_loop_t *loop, fc_reread_t *reread) {
  if (!reread) return;
  fc_server_options_deinit(&reread->options);
  fc_free(loop->allocator, reread);
}

bool fc_loop_reread(fc_loop_t *loop) {
  fc_error_t error;
  if (!loop->options->config[0]) return true;
  fc_reread_t *made =
      fc_alloc(loop->allocator,
               sizeof *made + (size_t)loop->live.argc * sizeof *made->paths);
  const fc_status_t status =
      made ? change(loop, made, &error) : fc_fail_memory(&error);
  if (status == FC_OK) {
    free_reread(loop, loop->reread);
    loop->reread = made;
    fc_condition_note_reread(&loop->server, FC_REREAD_CONFIG, NULL);
    return true;
  }
  free_reread(loop, made);
  fc_condition_note_reread(&loop->server, FC_REREAD_CONFIG, &error);
  fc_log(&loop->log, FC_LOG_ERROR, "%s: nothing has changed", error.message);
  return false;
}

void fc_reread_free(fc_loop_t *loop) { free_reread(loop, loop->reread); }
