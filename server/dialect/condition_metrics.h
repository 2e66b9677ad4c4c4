// SPDX-License-Identifier: Apache-2.0
//
// Conditions as /metrics has them. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_
#define FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_

#include "dialect/condition.h"

// Of modules: a line for each that holds.
extern const fc_family_t fc_condition_family;

// Writes the family of the server's conditions. Each has a line, also one that does not
// hold.
fc_status_t fc_condition_metrics_put_server(const fc_server_t *server,
                                            bool open, fc_sink_t *sink,
                                            fc_error_t *err);
// Writes the lines of a module, at most `room`. *out_count: how many hold.
fc_status_t fc_condition_metrics_put_module(const fc_server_t *server,
                                            const fc_generation_t *generation,
                                            uint32_t room, uint32_t *out_count,
                                            fc_sink_t *sink, fc_error_t *err);
// Adds the labels of a line for those that there was no room for.
void fc_condition_metrics_add_other(fc_labels_t *labels, fc_str_t other);

#endif  // FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_
