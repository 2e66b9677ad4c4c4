// SPDX-License-Identifier: Apache-2.0
//
// The findings of `farcall doctor` in a file: a list of findings, each with a thing, its
// place and a remedy. One thread.
#ifndef FARCALL_CLI_DOCTOR_CHECKUP_H_
#define FARCALL_CLI_DOCTOR_CHECKUP_H_

#include <stdio.h>

#include "farcall/base.h"

#define FC_CHECKUP_PLACES_MAX 20000  // places that have findings

typedef enum fc_severity_t {
  FC_LEVEL_UNFIT,  // the compiler or the server is certain to refuse it
  FC_LEVEL_WARN,   // it may fail, be slow or surprise
  FC_LEVEL_NOTE,
  FC_LEVEL_COUNT,
} fc_severity_t;

typedef enum fc_subject_t {
#define FC_SUBJECT(id, name) FC_SUBJECT_##id,
#include "doctor/subject.def"
#undef FC_SUBJECT
  FC_SUBJECT_COUNT
} fc_subject_t;

typedef struct fc_finding_t {
  fc_severity_t level;
  fc_subject_t subject;
  fc_str_t thing;       // an operator, a type, a dim: "Attention"
  const char *place;    // "node 'attend' (3 of its graph)"; "": the whole file
  const char *message;  // what is wrong with it
  const char *way_out;  // what to do; "": nothing can be done
  size_t count;         // places with the same finding
} fc_finding_t;

// The file's known sizes in memory, in bytes. -1: not known.
typedef struct fc_footprint_t {
  int64_t weights;     // constants, mapped or copied once for all calls
  int64_t arguments;   // of one call, with the results; open dims count as 1
  int64_t largest;     // the two largest values between operators, together
  size_t sized_count;  // values between operators whose size is known
  size_t value_count;  // values between operators: about one for each node
} fc_footprint_t;

typedef struct fc_checkup_t {
  fc_arena_t *arena;
  const char *path;    // of the file; "" for standard input
  const char *input;   // its name in messages
  const char *format;  // with "a" or "an"
  fc_finding_t *findings;
  size_t count;
  size_t capacity;
  size_t levels[FC_LEVEL_COUNT];
  size_t place_count;
  fc_footprint_t footprint;
  // Why the file was imported and compiled; "": it was not.
  const char *asked;
  bool write_roles;  // change the sidecar of a module
  bool out_of_memory;
} fc_checkup_t;

void fc_checkup_init(fc_checkup_t *checkup, fc_arena_t *arena, const char *path,
                     const char *input);

// Adds a finding, or counts one more place of a finding with the same level, subject,
// thing and message. All texts must live as long as the arena. After 1000 findings, new
// ones are only counted by level. After FC_CHECKUP_PLACES_MAX places the checkup is full:
// a last finding says so, and no more are added. Otherwise a hostile file would take
// hours.
void fc_checkup_add(fc_checkup_t *checkup, fc_severity_t level,
                    fc_subject_t subject, fc_str_t thing, const char *place,
                    const char *message, const char *way_out);

static inline bool fc_checkup_is_full(const fc_checkup_t *checkup) {
  return checkup->place_count >= FC_CHECKUP_PLACES_MAX;
}

// Prints into the arena. Returns "" if there is no memory, and sets out_of_memory.
const char *fc_checkup_print(fc_checkup_t *checkup, const char *format, ...)
    FC_PRINTF(2, 3);
// Returns a name from a file as messages show it: quoted, escaped and cut to a maximum
// size.
const char *fc_checkup_name(fc_checkup_t *checkup, fc_str_t name);

static inline bool fc_checkup_is_fit(const fc_checkup_t *checkup) {
  return checkup->levels[FC_LEVEL_UNFIT] == 0;
}

void fc_checkup_show(const fc_checkup_t *checkup, FILE *stream);
fc_status_t fc_checkup_write_json(const fc_checkup_t *checkup, fc_sink_t *sink,
                                  fc_error_t *err);

// The checks, one for each kind of file.
void fc_doctor_onnx(fc_checkup_t *checkup, fc_str_t bytes);
void fc_doctor_mlir(fc_checkup_t *checkup, fc_str_t text);
void fc_doctor_bytecode(fc_checkup_t *checkup, fc_str_t bytes);
void fc_doctor_jax(fc_checkup_t *checkup, fc_str_t bytes);
// Loads the file at the checkup's path; `bytes` are its content.
void fc_doctor_module(fc_checkup_t *checkup, fc_str_t bytes);

#endif  // FARCALL_CLI_DOCTOR_CHECKUP_H_
