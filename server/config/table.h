// SPDX-License-Identifier: Apache-2.0
//
// The table of options (options.def): what each is called, which values it takes,
// and how values are read from text and written as text. Flags, variables, the
// file and the help are readers of this one table. The keys of modules and of listeners
// are tables of the same form. No state; any thread.
#ifndef FARCALL_SERVER_CONFIG_TABLE_H_
#define FARCALL_SERVER_CONFIG_TABLE_H_

#include "base/units.h"
#include "config/limits.h"
#include "config/options.h"

typedef enum fc_option_kind_t {
  FC_OPTION_KIND_TEXT,
  FC_OPTION_KIND_LIST,
  FC_OPTION_KIND_COUNT,
  FC_OPTION_KIND_SIZE,
  FC_OPTION_KIND_TIME,
  FC_OPTION_KIND_FLAG,
  FC_OPTION_KIND_CHOICE,
} fc_option_kind_t;
#define FC_OPTION_KIND_COUNT_OF(least, most) FC_OPTION_KIND_COUNT
#define FC_OPTION_KIND_SIZE_OF(least, most) FC_OPTION_KIND_SIZE

// The least and the most that a number may be. What the server computes of the largest
// ones fits 64 bits.
#define FC_COUNT_MAX 1000000u
#define FC_TIME_MAX_MS ((uint64_t)366 * 24 * 3600 * 1000)
#define FC_OPTION_RANGE_COUNT 0, FC_COUNT_MAX
#define FC_OPTION_RANGE_COUNT_OF(least, most) least, most
#define FC_OPTION_RANGE_SIZE 0, FC_UNITS_BYTES_MAX
#define FC_OPTION_RANGE_SIZE_OF(least, most) least, most
#define FC_OPTION_RANGE_TIME 0, FC_TIME_MAX_MS
#define FC_OPTION_RANGE_TEXT 0, 0
#define FC_OPTION_RANGE_LIST 0, 0
#define FC_OPTION_RANGE_FLAG 0, 0
#define FC_OPTION_RANGE_CHOICE 0, 0

// When another value in the file counts: at the next start, at SIGHUP, or at SIGHUP by
// loading the modules again for which it holds.
typedef enum fc_option_when_t {
  FC_OPTION_WHEN_START,
  FC_OPTION_WHEN_SIGHUP,
  FC_OPTION_WHEN_ANEW,
} fc_option_when_t;

typedef struct fc_option_t {
  const char *flag;
  char letter;  // 0: none
  fc_option_kind_t kind;
  uint64_t least, most;  // of a number
  const char *value;     // the default, as text
  const char *argument;  // the form of a value; the words of a CHOICE
  const char *help;
  // Where the value is in the struct; that of fc_options is fc_server_options_t.
  size_t offset;
  // Of a key of modules or listeners: the option whose value holds where the key is not
  // given.
  unsigned inherited;
  fc_option_when_t when;
} fc_option_t;

// No option: a value of `inherited`.
enum { FC_OPTION_NONE = FC_OPTIONS };

// A row of a table whose values lie in the struct `holder`, out of a row of a .def file.
#define FC_OPTION_ROW(holder, field, flag, letter, kind, value, argument, \
                      inherited, when, help)                              \
  {                                                                       \
    flag, letter, FC_OPTION_KIND_##kind, FC_OPTION_RANGE_##kind, value,   \
        argument, help, offsetof(holder, field), FC_OPTION_##inherited,   \
        FC_OPTION_WHEN_##when                                             \
  }

extern const fc_option_t fc_options[FC_OPTIONS];

// Finds an option by its flag ("max-body") or its letter; NULL: there is none.
const fc_option_t *fc_option_find(fc_str_t flag);
const fc_option_t *fc_option_find_letter(char letter);
// A word of a CHOICE by its place; `data` is NULL behind the last.
fc_str_t fc_choice_word(const char *words, unsigned place);
// The name among `count` that is nearest to `wanted`; NULL: all are more than 3
// edits away.
const char *fc_option_nearest(fc_str_t wanted, const char *const *names,
                              size_t count);

// The option whose value holds where the key is not given; NULL: there is none.
const fc_option_t *fc_option_inherited(const fc_option_t *key);
// Sets each of the `count` options of a table to its default.
void fc_option_set_defaults(void *values, const fc_option_t *table,
                            size_t count);
// Reads `value` into the option's field of the struct `values` (fc_server_options_t, for
// one). An option of kind TEXT or LIST keeps the pointer `value`. The error,
// FC_CODE_TYPE_MISMATCH, shows `named`: what the user wrote for the option.
fc_status_t fc_option_set(void *values, const fc_option_t *option,
                          const char *value, const char *named,
                          fc_error_t *err) FC_MUST_CHECK;
// Adds a value to a LIST. FC_CODE_DUPLICATE_ARGUMENT when it has FC_TEXTS_MAX
// already.
fc_status_t fc_option_add(fc_server_options_t *options,
                          const fc_option_t *option, const char *value,
                          const char *named, fc_error_t *err) FC_MUST_CHECK;

// Gives the field of `to`, which lies in `values`, the value that another option of
// its kind has.
void fc_option_copy(void *values, const fc_option_t *to,
                    const void *from_values, const fc_option_t *from);

// Has the option the same value in two structs of its table?
bool fc_option_same(const void *a, const void *b, const fc_option_t *option);

// Writes the value an option has as text that fc_option_set reads.
fc_status_t fc_option_print(const void *values, const fc_option_t *option,
                            fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_TABLE_H_
