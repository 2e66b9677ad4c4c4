// SPDX-License-Identifier: Apache-2.0
//
// The options of farcalld. A flag overrides a FARCALL_* variable, which overrides the
// file of --config, which overrides the default in options.def. main.c reads the options
// at the start, and reread.c again at each SIGHUP.
#ifndef FARCALL_SERVER_CONFIG_OPTIONS_H_
#define FARCALL_SERVER_CONFIG_OPTIONS_H_

#include "config/choice.h"
#include "farcall/base.h"

#define FC_OPTION_TYPE_TEXT const char *
#define FC_OPTION_TYPE_LIST fc_texts_t
#define FC_OPTION_TYPE_COUNT uint64_t
#define FC_OPTION_TYPE_COUNT_OF(least, most) uint64_t
#define FC_OPTION_TYPE_SIZE uint64_t
#define FC_OPTION_TYPE_SIZE_OF(least, most) uint64_t
#define FC_OPTION_TYPE_TIME uint64_t
#define FC_OPTION_TYPE_FLAG bool
#define FC_OPTION_TYPE_CHOICE unsigned  // index of the word in its list

enum {
#define FC_OPTION(field, ...) FC_OPTION_##field,
#include "config/options.def"
#undef FC_OPTION
  FC_OPTIONS
};

// Where the value of an option comes from. A later origin overrides an earlier one.
typedef enum fc_origin_from_t {
  FC_ORIGIN_DEFAULT,
  FC_ORIGIN_FILE,
  FC_ORIGIN_VARIABLE,
  FC_ORIGIN_FLAG
} fc_origin_from_t;

typedef struct fc_origin_t {
  fc_origin_from_t from;
  unsigned line, column;  // in the file, from 1
} fc_origin_t;

// The content of the file of --config. Options that the file gives point into `text`.
typedef struct fc_config_file_t {
  const char *name;
  char *text;
  size_t size;
  const char **paths;
  size_t path_count;
  struct fc_module_policy_t *modules;  // of "modules" (config/module.h)
  size_t module_count;
  struct fc_listener_policy_t *listeners;  // of "listeners" (config/listener.h)
  size_t listener_count;
} fc_config_file_t;

#define FC_TEXTS_MAX 8

// The values of an option that may be given several times. Each text has one item, or
// several separated by commas.
typedef struct fc_texts_t {
  const char *texts[FC_TEXTS_MAX];
  uint32_t count;
} fc_texts_t;

// Gives item `index` of all texts, counted from 0; false if there are fewer items.
bool fc_texts_at(const fc_texts_t *texts, uint32_t index, fc_str_t *out_item);

typedef struct fc_server_options_t {
#define FC_OPTION(field, flag, letter, kind, ...) FC_OPTION_TYPE_##kind field;
#include "config/options.def"
#undef FC_OPTION
  bool help;
  bool version;
  bool test;   // only check the configuration
  bool print;  // only print the configuration
  // The PATHs of argv if it has any, else those of the file.
  const char *const *paths;
  size_t path_count;
  // The program that worker processes run: this one.
  const char *worker_program;
  fc_config_file_t file;
  // What the options were parsed from, so that SIGHUP can parse them again.
  int argc;
  const char *const *argv;
  const char *const *variables;
  fc_origin_t origins[FC_OPTIONS];
} fc_server_options_t;

// Sets every option to its default. Allocates nothing.
void fc_server_options_init(fc_server_options_t *options);
// Reads variables, flags and the file of --config. Texts point into argv, into
// `variables` (a NULL-terminated list of NAME=VALUE, like `environ`) and into
// options->file. `paths` has room for argc pointers. The error is one line for the user,
// with a hint.
fc_status_t fc_server_options_parse(fc_server_options_t *options, int argc,
                                    const char *const *argv, const char **paths,
                                    const char *const *variables,
                                    fc_error_t *err);
// Frees the memory of the file of --config, also after a failed parse.
void fc_server_options_deinit(fc_server_options_t *options);
// Writes the usage and every option to `sink`.
fc_status_t fc_server_options_help(fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_OPTIONS_H_
