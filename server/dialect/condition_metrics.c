// SPDX-License-Identifier: Apache-2.0
#include "dialect/condition_metrics.h"

const fc_family_t fc_condition_family = {
    "farcall_module_condition", FC_METRIC_GAUGE,
    "1 while it holds of a module; there is no line of one that does not"};

static void add_labels(int condition, fc_labels_t *labels) {
  const fc_condition_row_t *row = &fc_conditions[condition];
  fc_labels_add(labels, "code", fc_str(row->code));
  fc_labels_add(labels, "severity",
                fc_str(fc_condition_severity_name(row->severity)));
}

static bool holds(const fc_server_t *server, const fc_generation_t *generation,
                  int condition) {
  return fc_conditions_held(server, generation) >> condition & 1;
}

// Is the line with this label and condition written for another generation? Generations
// may share a label. The line is then written for the current one or, if none is
// current, for the one with the lowest index.
static bool has_line(const fc_server_t *server,
                     const fc_generation_t *generation, int condition) {
  const fc_generations_t *all = &server->modules->generations;
  if (generation->claim.current) return false;
  for (uint32_t i = 0; i < all->count; i++) {
    const fc_generation_t *other = all->places[i];
    if (!other || (!other->claim.current && i >= generation->index)) continue;
    if (fc_str_equal(other->claim.label, generation->claim.label) &&
        holds(server, other, condition)) {
      return true;
    }
  }
  return false;
}

fc_status_t fc_condition_metrics_put_server(const fc_server_t *server,
                                            bool open, fc_sink_t *sink,
                                            fc_error_t *err) {
  static const fc_family_t kFamily = {"farcall_condition", FC_METRIC_GAUGE,
                                      "1 while it holds of the server"};
  const fc_held_conditions_t held = fc_conditions_held(server, NULL);
  FC_TRY(fc_metrics_put_family(&kFamily, open, sink, err));
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    fc_labels_t labels = {0};
    if (fc_conditions[i].of_module) continue;
    add_labels(i, &labels);
    FC_TRY(fc_metrics_put(kFamily.name, kFamily.kind, &labels, held >> i & 1,
                          sink, err));
  }
  return FC_OK;
}

fc_status_t fc_condition_metrics_put_module(const fc_server_t *server,
                                            const fc_generation_t *generation,
                                            uint32_t *room,
                                            uint64_t rest[FC_SEVERITY_COUNT],
                                            fc_sink_t *sink, fc_error_t *err) {
  const fc_family_t *family = &fc_condition_family;
  const bool fits = generation->claim.label.size <= FC_LIMIT_LABEL;
  const fc_held_conditions_t held = fc_conditions_held(server, generation);
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    fc_labels_t labels = {0};
    if (!(held >> i & 1)) continue;
    if (!fits || !*room) {
      rest[fc_conditions[i].severity]++;
      continue;
    }
    if (has_line(server, generation, i)) continue;
    fc_labels_add(&labels, "module", generation->claim.label);
    add_labels(i, &labels);
    FC_TRY(fc_metrics_put(family->name, family->kind, &labels, 1, sink, err));
    --*room;
  }
  return FC_OK;
}

fc_status_t fc_condition_metrics_put_rest(
    const uint64_t rest[FC_SEVERITY_COUNT], fc_str_t other, fc_sink_t *sink,
    fc_error_t *err) {
  const fc_family_t *family = &fc_condition_family;
  for (int i = 0; i < FC_SEVERITY_COUNT; i++) {
    const char *severity =
        fc_condition_severity_name((fc_condition_severity_t)i);
    fc_labels_t labels = {0};
    if (!rest[i]) continue;
    fc_labels_add(&labels, "module", other);
    fc_labels_add(&labels, "code", other);
    fc_labels_add(&labels, "severity", fc_str(severity));
    FC_TRY(fc_metrics_put(family->name, family->kind, &labels, rest[i], sink,
                          err));
  }
  return FC_OK;
}
