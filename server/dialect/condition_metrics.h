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
// Writes the lines of a generation, at most *room, which each takes 1 of; a label has a
// line of each code once. Those that there is no room for, or whose label is too long, are
// added to `rest` by their severity.
fc_status_t fc_condition_metrics_put_module(const fc_server_t *server,
                                            const fc_generation_t *generation,
                                            uint32_t *room,
                                            uint64_t rest[FC_SEVERITY_COUNT],
                                            fc_sink_t *sink, fc_error_t *err);
// Writes a line for each severity that `rest` has any of. `other` stands for the module
// and the code.
fc_status_t fc_condition_metrics_put_rest(
    const uint64_t rest[FC_SEVERITY_COUNT], fc_str_t other, fc_sink_t *sink,
    fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_CONDITION_METRICS_H_
