// SPDX-License-Identifier: Apache-2.0
//
// The table of options (options.def): the name of each, the values that it takes, and how
// values are read from text and written as text. Flags, variables, the file and the help
// all use this table. The keys of modules and of listeners are tables of the same form.
// No state; any thread.
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

// The least and the most that a number may be. Results that the server computes from the
// largest values fit in 64 bits.
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

// When a new value in the file takes effect: at the next start, at SIGHUP, or at SIGHUP
// by loading the affected modules again.
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
  // Where the value lies in its struct, which for fc_options is fc_server_options_t.
  size_t offset;
  // For a key of modules or listeners: the option whose value holds where the key is not
  // given.
  unsigned inherited;
  fc_option_when_t when;
} fc_option_t;

// No option: a value of `inherited`.
enum { FC_OPTION_NONE = FC_OPTIONS };

// Makes a row of a table from a row of a .def file. The values of the table lie in the
// struct `holder`.
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
// Returns the word of a CHOICE at index `place`; `data` is NULL after the last word.
fc_str_t fc_choice_word(const char *words, unsigned place);
// Returns the one of `count` names that is nearest to `wanted`; NULL: all differ by
// more than 3 edits.
const char *fc_option_nearest(fc_str_t wanted, const char *const *names,
                              size_t count);

// Returns the option whose value holds where the key is not given; NULL: there is none.
const fc_option_t *fc_option_inherited(const fc_option_t *key);
// Sets each of the `count` options of a table to its default.
void fc_option_set_defaults(void *values, const fc_option_t *table,
                            size_t count);
// Reads `value` into the option's field of the struct `values`, for example an
// fc_server_options_t. An option of kind TEXT or LIST keeps the pointer `value`. The
// error, FC_CODE_TYPE_MISMATCH, shows `named`: what the user wrote for the option.
fc_status_t fc_option_set(void *values, const fc_option_t *option,
                          const char *value, const char *named,
                          fc_error_t *err) FC_MUST_CHECK;
// Adds a value to a LIST. FC_CODE_DUPLICATE_ARGUMENT: the list already has FC_TEXTS_MAX.
fc_status_t fc_option_add(fc_server_options_t *options,
                          const fc_option_t *option, const char *value,
                          const char *named, fc_error_t *err) FC_MUST_CHECK;

// Copies the value of `from`, an option of the same kind, into the field of `to` in
// `values`.
void fc_option_copy(void *values, const fc_option_t *to,
                    const void *from_values, const fc_option_t *from);

// Has the option the same value in two structs of its table?
bool fc_option_same(const void *a, const void *b, const fc_option_t *option);

// Writes the option's value as text that fc_option_set reads.
fc_status_t fc_option_print(const void *values, const fc_option_t *option,
                            fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_TABLE_H_
