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

void fc_condition_metrics_add_other(fc_labels_t *labels, fc_str_t other) {
  fc_labels_add(labels, "code", other);
  fc_labels_add(labels, "severity",
                fc_str(fc_condition_severity_name(FC_SEVERITY_CRITICAL)));
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
                                            uint32_t room, uint32_t *out_count,
                                            fc_sink_t *sink, fc_error_t *err) {
  const fc_family_t *family = &fc_condition_family;
  const fc_held_conditions_t held =
      generation->claim.current ? fc_conditions_held(server, generation) : 0;
  *out_count = 0;
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    if (!(held >> i & 1) || ++*out_count > room) continue;
    fc_labels_t labels = {0};
    fc_labels_add(&labels, "module", generation->claim.label);
    add_labels(i, &labels);
    FC_TRY(fc_metrics_put(family->name, family->kind, &labels, 1, sink, err));
  }
  return FC_OK;
}
