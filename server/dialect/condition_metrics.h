// SPDX-License-Identifier: Apache-2.0
//
// Writes conditions to /metrics. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_
#define FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_

#include "dialect/condition.h"

// The family of modules' conditions: one line for each condition that holds.
extern const fc_family_t fc_condition_family;

// Writes the family of the server's conditions. Every condition has a line, even if it
// does not hold.
fc_status_t fc_condition_metrics_put_server(const fc_server_t *server,
                                            bool open, fc_sink_t *sink,
                                            fc_error_t *err);
// Writes the lines of a generation. Each takes 1 of *room, and no more than *room are
// written; each code is written once for a label. Conditions without room, or with too
// long a label, are added to `rest` under their severity.
fc_status_t fc_condition_metrics_put_module(const fc_server_t *server,
                                            const fc_generation_t *generation,
                                            uint32_t *room,
                                            uint64_t rest[FC_SEVERITY_COUNT],
                                            fc_sink_t *sink, fc_error_t *err);
// Writes a line for each severity with a number in `rest`. `other` is the label of the
// module and of the code.
fc_status_t fc_condition_metrics_put_rest(
    const uint64_t rest[FC_SEVERITY_COUNT], fc_str_t other, fc_sink_t *sink,
    fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_
