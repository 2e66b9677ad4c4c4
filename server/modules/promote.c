// SPDX-License-Identifier: Apache-2.0
//
// PROMOTE and ROLLBACK: decide where a name, or an alias of it, leads. With --state-dir,
// all decisions of an act are written to disk together, and take effect when that has
// succeeded: after a crash of the server all of them hold, or none. Exception: a decision
// of fc_acts_refuse (a file is refused, or no longer refused) takes effect even if it
// cannot be written.
#include <stdio.h>

#include "module/files.h"
#include "modules/act.h"
#include "modules/demand.h"
#include "modules/policy.h"

static bool is_usable(const fc_generation_t *generation) {
  return generation &&
         (fc_generation_state(generation) == FC_GENERATION_READY ||
          fc_generation_is_coming(generation));
}

fc_generation_t *fc_acts_find_lower(fc_generation_t *head) {
  fc_generation_t *best = NULL;
  for (fc_generation_t *g = head->claim.sibling; g != head;
       g = g->claim.sibling) {
    if (!is_usable(g) ||
        fc_version_compare(g->claim.version, head->claim.version) > 0) {
      continue;
    }
    if (!best || fc_version_compare(g->claim.version, best->claim.version) > 0)
      best = g;
  }
  return best;
}

// The subject of an act, in its state before the act.
typedef struct subject_t {
  fc_str_t name;
  fc_str_t alias;
  fc_str_t version;       // the version that the act names; "" if none
  fc_generation_t *head;  // the generation that the name leads to
  // The generation that the alias leads to or, without an alias, the name; NULL: none.
  fc_generation_t *led;
  const fc_decision_t *had;  // about this name and alias so far; NULL: none
} subject_t;

static fc_status_t read_subject(const fc_modules_t *modules,
                                const fc_act_t *act, subject_t *out,
                                fc_error_t *err) {
  const fc_generations_t *all = &modules->generations;
  fc_str_t rest = act->name;
  *out =
      (subject_t){.name = fc_str_take(&rest, '@'), .alias = fc_str(act->alias)};
  out->version = rest;
  out->head = fc_generations_find(all, out->name);
  if (!out->head) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, out->name);
    return fc_fail(err, FC_CODE_MODULE_NOT_FOUND, "no module '%s'", shown);
  }
  out->had = fc_decisions_find(all->decisions, out->name, out->alias);
  out->led = out->head;
  if (out->alias.size) {
    out->led = fc_generations_find_version(all, out->name, out->alias);
  }
  return FC_OK;
}

static fc_status_t fail_version(const subject_t *subject, fc_str_t version,
                                fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, version);
  return fc_fail(err, FC_CODE_VERSION_NOT_FOUND,
                 "module '%.*s' has no version '%s' that can be called",
                 FC_STR_ARG(subject->name), shown);
}

static fc_status_t find_target(const fc_modules_t *modules, const fc_act_t *act,
                               const subject_t *subject,
                               fc_generation_t **out_target, fc_error_t *err) {
  const fc_generations_t *all = &modules->generations;
  *out_target = NULL;
  if (act->kind == FC_ACT_PROMOTE) {
    if (!subject->version.size) return FC_OK;
    *out_target =
        fc_generations_find_version(all, subject->name, subject->version);
    if (is_usable(*out_target)) return FC_OK;
    return fail_version(subject, subject->version, err);
  }
  if (subject->had && subject->had->before.size) {
    *out_target =
        fc_generations_find_version(all, subject->name, subject->had->before);
    if (is_usable(*out_target)) return FC_OK;
    return fail_version(subject, subject->had->before, err);
  }
  if (!subject->alias.size) *out_target = fc_acts_find_lower(subject->head);
  if (*out_target) return FC_OK;
  return fc_fail(err, FC_CODE_VERSION_NOT_FOUND,
                 "there is no version of module '%.*s' to go back to",
                 FC_STR_ARG(subject->name));
}

static void put_version(char out[24], const fc_generation_t *generation) {
  snprintf(out, 24, "%.*s",
           generation ? (int)generation->claim.version.size : 0,
           generation ? generation->claim.version.data : "");
}

// Puts `changed` into a copy of act->decisions, which replaces them. If the act has no
// decisions yet, copies those in force.
static fc_status_t change(fc_modules_t *modules, fc_act_t *act,
                          const fc_decision_t *changed, fc_error_t *err) {
  const fc_allocator_t allocator = modules->generations.allocator;
  const fc_decision_t *from =
      act->decisions ? act->decisions : modules->generations.decisions;
  fc_decision_t *list;
  FC_TRY(fc_decisions_change(from, allocator, changed, &list, err));
  fc_decisions_free(act->decisions, allocator);
  act->decisions = list;
  return FC_OK;
}

// Does an alias lead to the version, by request or by the configuration? An alias was set
// on purpose, so a rollback of the module's own name leaves the version loaded.
static bool has_alias(const fc_decision_t *decisions,
                      const subject_t *subject) {
  const fc_module_policy_t *policy = subject->head->policy;
  const fc_str_t version = subject->led->claim.version;
  for (const fc_decision_t *d = decisions; d; d = d->next) {
    if (!d->mark && d->alias.size && fc_str_equal(d->name, subject->name) &&
        fc_str_equal(d->version, version)) {
      return true;
    }
  }
  fc_str_t rest = fc_str(policy ? policy->aliases : "");
  while (rest.size) {
    fc_str_t led = fc_str_take(&rest, ',');
    const fc_str_t alias = fc_str_take(&led, '=');
    if (fc_str_equal(led, version) &&
        !fc_decisions_find(decisions, subject->name, alias)) {
      return true;
    }
  }
  return false;
}

static fc_status_t decide(fc_modules_t *modules, fc_act_t *act,
                          const subject_t *subject,
                          const fc_generation_t *target, fc_error_t *err) {
  const bool back = act->kind == FC_ACT_ROLLBACK;
  const bool moves = subject->led && subject->led != target;
  fc_decision_t lead = {.name = subject->name, .alias = subject->alias};
  if (target) lead.version = target->claim.version;
  if (!back && moves) lead.before = subject->led->claim.version;
  else if (!back && subject->had) lead.before = subject->had->before;
  FC_TRY(change(modules, act, &lead, err));
  if (!back || subject->alias.size || !moves ||
      has_alias(act->decisions, subject)) {
    return FC_OK;
  }
  const fc_decision_t refusal = {.name = subject->name,
                                 .version = subject->led->claim.version,
                                 .mark = subject->led->file.mark};
  return refusal.mark ? change(modules, act, &refusal, err) : FC_OK;
}

static fc_status_t save(fc_modules_t *modules, fc_act_t *act, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, modules->generations.allocator, SIZE_MAX);
  fc_status_t status = fc_decisions_print(act->decisions, &text.sink, err);
  if (status == FC_OK) {
    status = fc_loader_save(modules->loader, modules->options.state_dir,
                            fc_text_str(&text), act, err);
  }
  fc_text_deinit(&text);
  return status;
}

static fc_status_t conclude(fc_modules_t *modules, fc_act_t *act,
                            fc_error_t *err) {
  const bool saves = modules->options.state_dir.size;
  const fc_status_t status = saves ? save(modules, act, err) : FC_OK;
  act->saving = saves && status == FC_OK;
  if (act->saving) {
    modules->pending++;
    act->pending++;
  } else if (!saves || act->holds) {
    fc_acts_apply(modules, act);
  }
  return status;
}

fc_status_t fc_acts_refuse(fc_modules_t *modules, fc_act_t *act,
                           const fc_decision_t *refusal, fc_error_t *err) {
  act->holds = true;
  FC_TRY(change(modules, act, refusal, err));
  return conclude(modules, act, err);
}

fc_status_t fc_acts_promote(fc_modules_t *modules, fc_act_t *act,
                            fc_error_t *err) {
  subject_t subject;
  fc_generation_t *target;
  FC_TRY(read_subject(modules, act, &subject, err));
  FC_TRY(find_target(modules, act, &subject, &target, err));
  FC_TRY(decide(modules, act, &subject, target, err));
  put_version(act->version, target);
  put_version(act->previous, subject.led);
  fc_act_note_digest(act->before, subject.led);
  fc_act_note_digest(act->after, target);
  return conclude(modules, act, err);
}

void fc_acts_apply(fc_modules_t *modules, fc_act_t *act) {
  fc_generations_t *all = &modules->generations;
  fc_str_t name = act->name;
  name = fc_str_take(&name, '@');
  fc_decision_t *old = all->decisions;
  all->decisions = act->decisions;
  act->decisions = NULL;
  fc_decisions_free(old, all->allocator);
  fc_generation_t *head = fc_generations_find(all, name);
  if (!head) return;
  fc_generation_t *g = head;
  do {
    fc_generations_prefer(all, g);
    g = g->claim.sibling;
  } while (g != head);
  fc_generations_settle_name(all, head);
  fc_generation_t *left =
      fc_generations_find_version(all, name, fc_str(act->previous));
  // A rolled back version is unloaded.
  if (left && fc_decisions_refuse(all->decisions, name, left->claim.version,
                                  left->file.mark)) {
    fc_generations_drain(&modules->generations, left);
    act->unloaded++;
  }
}
