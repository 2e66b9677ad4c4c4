// SPDX-License-Identifier: Apache-2.0
#include "jailing.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "config/account.h"
#include "jail/threads.h"
#include "pool/isolation.h"

static fc_status_t check_one(const fc_module_policy_t *policy,
                             fc_jail_facts_t *facts, fc_error_t *err) {
  if (policy->sandbox != FC_SANDBOX_STRICT) return FC_OK;
  return fc_jail_check(FC_SANDBOX_STRICT, fc_jail_know(facts), err);
}

fc_status_t fc_jailing_check_policies(const fc_module_policies_t *policies,
                                      fc_jail_facts_t *facts, fc_error_t *err) {
  FC_TRY(check_one(&policies->others, facts, err));
  for (uint32_t i = 0; i < policies->count; i++) {
    FC_TRY(check_one(&policies->items[i], facts, err));
  }
  return FC_OK;
}

fc_status_t fc_jailing_check(const fc_server_options_t *options,
                             fc_error_t *err) {
  fc_module_policies_t policies;
  fc_jail_facts_t facts = {0};
  uint32_t group;
  FC_TRY(fc_jailing_user(options, &facts.user, &group, err));
  FC_TRY(
      fc_module_policies_init(&policies, fc_allocator_system(), options, err));
  const fc_status_t status = fc_jailing_check_policies(&policies, &facts, err);
  fc_jail_forget(&facts);
  fc_module_policies_deinit(&policies);
  return status;
}

fc_status_t fc_jailing_user(const fc_server_options_t *options,
                            uint32_t *out_user, uint32_t *out_group,
                            fc_error_t *err) {
  const fc_str_t text = fc_str(options->worker_user);
  fc_str_t group = text;
  *out_user = *out_group = 0;
  if (!text.size) return FC_OK;
  FC_TRY(
      fc_account_user(fc_str_take(&group, ':'), "worker-user", out_user, err));
  FC_TRY(fc_account_group(group, "worker-user", out_group, err));
  if (*out_user == FC_ACCOUNT_NONE || *out_user == 0) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--worker-user=%s: a user other than root", text.data);
  }
  if (geteuid()) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--worker-user=%s: only a server that runs as root can "
                   "change the user of its workers",
                   text.data);
  }
  if (!fc_threads_may_change_user()) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--worker-user=%s needs the capabilities CAP_SETUID, "
                   "CAP_SETGID and CAP_KILL",
                   text.data);
  }
  const struct passwd *user = getpwuid(*out_user);
  if (*out_group == FC_ACCOUNT_NONE) {
    *out_group = user ? user->pw_gid : *out_user;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Which parts of the jail the server can use

static bool wants_jail(const fc_module_policy_t *policy) {
  return policy->sandbox == FC_SANDBOX_AUTO ||
         policy->sandbox == FC_SANDBOX_STRICT;
}

// Any module may need a process for its test calls too, but few have test calls.
static bool may_have_process(const fc_module_policy_t *policy) {
  return policy->isolation != FC_ISOLATION_THREAD ||
         policy->fresh == FC_FRESH_CALL;
}

static bool any_is(bool (*is)(const fc_module_policy_t *policy),
                   const fc_module_policies_t *policies) {
  bool any = is(&policies->others);
  for (uint32_t i = 0; i < policies->count; i++) {
    any = any || is(&policies->items[i]);
  }
  return any;
}

// Must the missing part be logged? Not if only root may use it and this process is not
// root.
static bool is_missed(fc_jail_part_t part, int error) {
  if (part == FC_JAIL_NETWORK || part == FC_JAIL_USER) {
    return error && (error != EPERM || geteuid() == 0);
  }
  return error;
}

static void tell_missing(const fc_jailing_t *jailing) {
  fc_log_t *log = jailing->log;
  if (!any_is(wants_jail, jailing->policies)) return;
  for (unsigned i = 0; i < FC_JAIL_PARTS; i++) {
    const fc_jail_part_row_t *part = &fc_jail_parts[i];
    const int error = jailing->facts.errors[i];
    if (!is_missed((fc_jail_part_t)i, error)) continue;
    const fc_log_field_t fields[] = {
        FC_LOG_TEXT("part", fc_str(part->text)),
        FC_LOG_TEXT("reason", fc_str(strerror(error)))};
    char text[256];
    snprintf(text, sizeof text, "worker processes go without %s", part->what);
    fc_log_fields(log, part->needed ? FC_LOG_WARN : FC_LOG_INFO, fc_str(text),
                  fields, FC_ARRAY_COUNT(fields));
  }
}

void fc_jailing_begin(fc_jailing_t *jailing,
                      const fc_module_policies_t *policies, uint32_t user,
                      fc_log_t *log) {
  jailing->facts.user = user;
  jailing->policies = policies;
  jailing->log = log;
  if (any_is(may_have_process, policies)) fc_jail_probe_begin(&jailing->facts);
}

const fc_jail_facts_t *fc_jailing_know(void *jailing) {
  fc_jailing_t *self = jailing;
  const fc_jail_facts_t *facts = fc_jail_know(&self->facts);
  if (!self->told) tell_missing(self);
  self->told = true;
  return facts;
}

void fc_jailing_settle(fc_jailing_t *jailing) {
  const fc_jail_facts_t *facts = &jailing->facts;
  if (facts->probing || facts->known) (void)fc_jailing_know(jailing);
}

// ---------------------------------------------------------------------------
// Control groups

static void note_wanted(const fc_module_policy_t *policy,
                        fc_group_limits_t *wanted) {
  wanted->values[FC_GROUP_MEMORY] |= policy->group_memory;
  wanted->values[FC_GROUP_TASKS] |= policy->group_tasks;
  wanted->values[FC_GROUP_CPU] |= policy->group_cpu;
}

void fc_jailing_open_groups(const fc_module_policies_t *policies, fc_log_t *log,
                            fc_groups_t *out_groups) {
  fc_group_limits_t wanted = {0};
  note_wanted(&policies->others, &wanted);
  for (uint32_t i = 0; i < policies->count; i++) {
    note_wanted(&policies->items[i], &wanted);
  }
  if (!fc_group_limits_any(&wanted)) return;
  fc_groups_open(out_groups, "");
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    if (!wanted.values[i] || !out_groups->reasons[i][0]) continue;
    const fc_log_field_t fields[] = {
        FC_LOG_TEXT("controller",
                    fc_str(fc_group_limit_name((fc_group_limit_t)i))),
        FC_LOG_TEXT("reason", fc_str(out_groups->reasons[i]))};
    fc_log_fields(log, FC_LOG_WARN,
                  FC_STR("worker processes go without a limit of control "
                         "groups"),
                  fields, FC_ARRAY_COUNT(fields));
  }
}
