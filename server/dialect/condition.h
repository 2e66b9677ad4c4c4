// SPDX-License-Identifier: Apache-2.0
//
// Finds the problems (conditions, condition.def) that the server or a module has now.
// They are computed from the state of hosts and generations when somebody asks; only
// refused files are stored. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_CONDITION_H_
#define FARCALL_SERVER_DIALECT_CONDITION_H_

#include "dialect/dialect.h"

typedef enum fc_condition_t {
#define FC_CONDITION(id, of, code, severity, seen_by, text) FC_CONDITION_##id,
#include "dialect/condition.def"
  FC_CONDITION_COUNT
} fc_condition_t;

typedef enum fc_condition_severity_t {
  FC_SEVERITY_WARNING,
  FC_SEVERITY_CRITICAL,
  FC_SEVERITY_COUNT
} fc_condition_severity_t;

typedef struct fc_condition_row_t {
  const char *code;
  const char *text;
  fc_condition_severity_t severity;
  bool of_module;
  bool for_all;  // clients who may not read the API see it too
} fc_condition_row_t;

extern const fc_condition_row_t fc_conditions[FC_CONDITION_COUNT];
const char *fc_condition_severity_name(fc_condition_severity_t severity);

// A set: bit I is condition I.
typedef uint32_t fc_held_conditions_t;

// Returns the conditions of a module, or of the server if `generation` is NULL. A
// generation that no name leads to has none, unless it has failed or a worker is stuck in
// it.
fc_held_conditions_t fc_conditions_held(const fc_server_t *server,
                                        const fc_generation_t *generation);
// Writes the conditions as an array:
// [{"code":…,"severity":…,"text":…,"detail":…,"at":…,"until":…}]. Members whose value is
// not known are left out.
fc_status_t fc_conditions_write(const fc_server_t *server,
                                const fc_generation_t *generation,
                                fc_sink_t *sink, fc_error_t *err);
// Writes the array of the conditions that everybody may see, of the server and all
// modules: [{"code":…,"severity":…,"text":…,"count":…}]. `count` is the number of
// generations with the condition; the server counts as one. *out_more is the number of
// all other conditions.
fc_status_t fc_conditions_write_summary(const fc_server_t *server,
                                        uint64_t *out_more, fc_sink_t *sink,
                                        fc_error_t *err);

// Notes that SIGHUP had the file read again. `error` says why it was refused; NULL: it
// was accepted.
void fc_condition_note_reread(fc_server_t *server, fc_reread_file_t file,
                              const fc_error_t *error);

#define FC_TIME_TEXT 32
// Prints "2026-01-02T03:04:05Z" for a time on fc_clock_ns' clock.
void fc_time_print(uint64_t at_ns, char out[FC_TIME_TEXT]);

#endif  // FARCALL_SERVER_DIALECT_CONDITION_H_
