// SPDX-License-Identifier: Apache-2.0
//
// The options of a table (table.h) can be given in three ways: by flags, by FARCALL_*
// variables and in the file (file.c). An unknown flag, key or FARCALL_* variable is an
// error that names the nearest known one, if one is near. Variables that Kubernetes sets,
// and those of the program `farcall`, are ignored.
#include <stdio.h>

#include "config/file.h"
#include "config/table.h"

void fc_server_options_init(fc_server_options_t *options) {
  *options = (fc_server_options_t){.worker_program = "/proc/self/exe"};
  fc_option_set_defaults(options, fc_options, FC_OPTIONS);
}

static fc_status_t set(fc_server_options_t *options, const fc_option_t *option,
                       const char *value, const char *named,
                       fc_origin_from_t from, fc_error_t *err) {
  options->origins[option - fc_options] = (fc_origin_t){.from = from};
  return fc_option_set(options, option, value, named, err);
}

// ---------------------------------------------------------------------------
// Flags

// Flags that make the program print or check something instead of serving.
static const struct {
  const char *flag;
  char letter;
  size_t offset;
} kActions[] = {
    {"help", 'h', offsetof(fc_server_options_t, help)},
    {"version", 'V', offsetof(fc_server_options_t, version)},
    {"test-config", 't', offsetof(fc_server_options_t, test)},
    {"print-config", 'T', offsetof(fc_server_options_t, print)},
};

static bool *find_long_action(fc_server_options_t *options, fc_str_t flag) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActions); i++) {
    if (!fc_str_equal(flag, fc_str(kActions[i].flag))) continue;
    return (bool *)((char *)options + kActions[i].offset);
  }
  return NULL;
}

static bool *find_action(fc_server_options_t *options, char letter) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActions); i++) {
    if (kActions[i].letter != letter) continue;
    return (bool *)((char *)options + kActions[i].offset);
  }
  return NULL;
}

// Flags of other servers, and what does the same here.
static const struct {
  const char *flag, *here;
} kForeign[] = {
#define FC_FOREIGN(flag, here) {flag, here},
#include "config/foreign.def"
};

static fc_status_t fail_unknown(fc_str_t name, fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kForeign); i++) {
    if (!fc_str_equal(name, fc_str(kForeign[i].flag))) continue;
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD, "unknown option --%s: %s",
                   kForeign[i].flag, kForeign[i].here);
  }
  const char *flags[FC_ARRAY_COUNT(kActions) + FC_OPTIONS];
  size_t count = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActions); i++) {
    flags[count++] = kActions[i].flag;
  }
  for (size_t i = 0; i < FC_OPTIONS; i++) flags[count++] = fc_options[i].flag;
  const char *nearest = fc_option_nearest(name, flags, FC_ARRAY_COUNT(flags));
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  if (nearest) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "unknown option --%s: did you mean --%s?", shown, nearest);
  }
  return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                 "unknown option --%s: see farcalld --help", shown);
}

typedef struct arguments_t {
  int count;
  const char *const *values;
  int next;
  bool given[FC_OPTIONS];
} arguments_t;

// If a number, a flag or a choice is given twice, the second value replaces the first. If
// a TEXT is given twice, the user may mean both and the first would be lost, so that is
// an error. A LIST takes several texts.
static fc_status_t set_given(fc_server_options_t *options,
                             arguments_t *arguments, const fc_option_t *option,
                             const char *value, const char *named,
                             fc_error_t *err) {
  bool *given = &arguments->given[option - fc_options];
  if (*given && option->kind == FC_OPTION_KIND_TEXT) {
    return fc_fail(err, FC_CODE_DUPLICATE_ARGUMENT,
                   "--%s is given twice: it takes one value", option->flag);
  }
  if (*given && option->kind == FC_OPTION_KIND_LIST) {
    return fc_option_add(options, option, value, named, err);
  }
  *given = true;
  return set(options, option, value, named, FC_ORIGIN_FLAG, err);
}

static fc_status_t take_value(arguments_t *arguments, const char *named,
                              const char **out, fc_error_t *err) {
  if (arguments->next < arguments->count) {
    *out = arguments->values[arguments->next++];
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_MISSING_ARGUMENT, "%s needs a value", named);
}

static fc_status_t parse_long(fc_server_options_t *options,
                              arguments_t *arguments, const char *word,
                              fc_error_t *err) {
  const char *equals = strchr(word, '=');
  fc_str_t name =
      fc_str_make(word, equals ? (size_t)(equals - word) : strlen(word));
  bool *action = equals ? NULL : find_long_action(options, name);
  if (action) {
    *action = true;
    return FC_OK;
  }
  const fc_option_t *option = fc_option_find(name);
  if (!option) return fail_unknown(name, err);
  char named[64];
  snprintf(named, sizeof named, "--%s", option->flag);
  const char *value = equals ? equals + 1 : "on";
  if (!equals && option->kind != FC_OPTION_KIND_FLAG) {
    FC_TRY(take_value(arguments, named, &value, err));
  }
  return set_given(options, arguments, option, value, named, err);
}

static fc_status_t parse_short(fc_server_options_t *options,
                               arguments_t *arguments, const char *word,
                               fc_error_t *err) {
  bool *action = word[1] ? NULL : find_action(options, word[0]);
  if (action) {
    *action = true;
    return FC_OK;
  }
  const fc_option_t *option = fc_option_find_letter(word[0]);
  if (!option) return fail_unknown(fc_str(word), err);
  const char named[] = {'-', word[0], '\0'};
  const char *value = word + 1;
  if (!*value) FC_TRY(take_value(arguments, named, &value, err));
  return set_given(options, arguments, option, value, named, err);
}

// ---------------------------------------------------------------------------
// Variables

#define VARIABLE_MAX 64

static void variable_name(const char *flag, char *out, size_t capacity) {
  size_t size = (size_t)snprintf(out, capacity, "FARCALL_%s", flag);
  for (size_t i = 0; i < size && i < capacity - 1; i++) {
    if (out[i] == '-') out[i] = '_';
    else if (out[i] >= 'a' && out[i] <= 'z') out[i] = (char)(out[i] - 32);
  }
}

static const fc_option_t *find_variable(fc_str_t name) {
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    char known[VARIABLE_MAX];
    variable_name(fc_options[i].flag, known, sizeof known);
    if (fc_str_equal(name, fc_str(known))) return &fc_options[i];
  }
  return NULL;
}

static bool has_text(fc_str_t text, const char *part) {
  return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

// Does Kubernetes set the variable? Kubernetes tells each container about the Services of
// its namespace. For a Service named "farcall" these variables begin like ours:
// FARCALL_SERVICE_HOST, FARCALL_PORT=tcp://10.96.0.7:8000, FARCALL_PORT_8000_TCP_ADDR.
static bool is_of_kubernetes(fc_str_t name, const char *value) {
  return fc_str_ends(name, FC_STR("_SERVICE_HOST")) ||
         has_text(name, "_SERVICE_PORT") ||
         (has_text(name, "_PORT") && strstr(value, "://")) ||
         (has_text(name, "_PORT_") &&
          (has_text(name, "_TCP_") || has_text(name, "_UDP_") ||
           has_text(name, "_SCTP_")));
}

static fc_status_t fail_variable(fc_str_t name, fc_error_t *err) {
  char texts[FC_OPTIONS][VARIABLE_MAX];
  const char *names[FC_OPTIONS];
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    variable_name(fc_options[i].flag, texts[i], VARIABLE_MAX);
    names[i] = texts[i];
  }
  const char *nearest = fc_option_nearest(name, names, FC_OPTIONS);
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  if (nearest) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "unknown variable %s: did you mean %s?", shown, nearest);
  }
  return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                 "unknown variable %s: see farcalld --help", shown);
}

static fc_status_t parse_variable(fc_server_options_t *options,
                                  const char *variable, fc_error_t *err) {
  const char *equals = strchr(variable, '=');
  if (!equals) return FC_OK;
  fc_str_t name = fc_str_make(variable, (size_t)(equals - variable));
  const char *value = equals + 1;
  const fc_option_t *option = find_variable(name);
  if (option) {
    char named[VARIABLE_MAX];
    variable_name(option->flag, named, sizeof named);
    return *value ? set(options, option, value, named, FC_ORIGIN_VARIABLE, err)
                  : FC_OK;
  }
  // The program `farcall` reads these variables.
  if (fc_str_equal(name, FC_STR("FARCALL_SERVER")) ||
      fc_str_equal(name, FC_STR("FARCALL_CA")) ||
      fc_str_equal(name, FC_STR("FARCALL_TOKEN"))) {
    return FC_OK;
  }
  return is_of_kubernetes(name, value) ? FC_OK : fail_variable(name, err);
}

static fc_status_t parse_variables(fc_server_options_t *options,
                                   const char *const *variables,
                                   fc_error_t *err) {
  for (; *variables; variables++) {
    if (!fc_str_starts(fc_str(*variables), FC_STR("FARCALL_"))) continue;
    FC_TRY(parse_variable(options, *variables, err));
  }
  return FC_OK;
}

static fc_status_t parse_arguments(fc_server_options_t *options, int argc,
                                   const char *const *argv, const char **paths,
                                   fc_error_t *err) {
  arguments_t arguments = {.count = argc, .values = argv, .next = 1};
  bool only_paths = false;
  size_t path_count = 0;
  while (arguments.next < argc) {
    const char *word = argv[arguments.next++];
    if (only_paths || word[0] != '-' || !word[1]) {
      paths[path_count++] = word;
    } else if (word[1] != '-') {
      FC_TRY(parse_short(options, &arguments, word + 1, err));
    } else if (word[2]) {
      FC_TRY(parse_long(options, &arguments, word + 2, err));
    } else {
      only_paths = true;
    }
  }
  if (path_count) {  // the paths of the file are then ignored
    options->paths = paths;
    options->path_count = path_count;
  }
  return FC_OK;
}

// Parses flags and variables once more, now over the values of the file. Of the first
// pass only the file's name is kept.
static fc_status_t parse_again(fc_server_options_t *options, int argc,
                               const char *const *argv, const char **paths,
                               const char *const *variables, fc_error_t *err) {
  const char *name = options->config;
  fc_server_options_init(options);
  FC_TRY(fc_config_file_read(options, name, err));
  FC_TRY(parse_variables(options, variables, err));
  return parse_arguments(options, argc, argv, paths, err);
}

static fc_status_t parse_all(fc_server_options_t *options, int argc,
                             const char *const *argv, const char **paths,
                             const char *const *variables, fc_error_t *err) {
  fc_error_t of_variables;
  fc_server_options_init(options);
  const fc_status_t status = parse_variables(options, variables, &of_variables);
  FC_TRY(parse_arguments(options, argc, argv, paths, err));
  if (options->help || options->version) return FC_OK;
  if (status != FC_OK) {
    *err = of_variables;
    return status;
  }
  if (options->config[0]) {
    FC_TRY(parse_again(options, argc, argv, paths, variables, err));
  }
  if (options->path_count || options->test || options->print) return FC_OK;
  return fc_fail(err, FC_CODE_MISSING_ARGUMENT,
                 "no module given: farcalld [options] PATH...");
}

fc_status_t fc_server_options_parse(fc_server_options_t *options, int argc,
                                    const char *const *argv, const char **paths,
                                    const char *const *variables,
                                    fc_error_t *err) {
  const fc_status_t status =
      parse_all(options, argc, argv, paths, variables, err);
  options->argc = argc;
  options->argv = argv;
  options->variables = variables;
  return status;
}

void fc_server_options_deinit(fc_server_options_t *options) {
  fc_config_file_deinit(&options->file);
}

// ---------------------------------------------------------------------------
// The text of --help

static fc_status_t put_option(const fc_option_t *option, fc_sink_t *sink,
                              fc_error_t *err) {
  const char letter[] = {option->letter ? '-' : ' ',
                         option->letter ? option->letter : ' ',
                         option->letter ? ',' : ' ', '\0'};
  const bool has_default =
      option->kind != FC_OPTION_KIND_FLAG && option->value[0];
  const char *const texts[] = {
      "  ",
      letter,
      " --",
      option->flag,
      *option->argument ? "=" : "",
      option->argument,
      "\n        ",
      option->help,
      has_default ? " [" : "",
      has_default ? option->value : "",
      has_default ? "]\n" : "\n",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(texts); i++) {
    FC_TRY(fc_sink_put(sink, fc_str(texts[i]), err));
  }
  return FC_OK;
}

fc_status_t fc_server_options_help(fc_sink_t *sink, fc_error_t *err) {
  static const char kUsage[] =
      "Usage: farcalld [options] PATH...\n"
      "Serves compiled modules over HTTP and gRPC. PATH is a module (*.so, *.vmfb)\n"
      "or a directory of modules.\n\nOptions:\n";
  static const char kRest[] =
      "  -t, --test-config\n        check options and file, and end\n"
      "  -T, --print-config\n        print the options in force as a file, with "
      "where each comes from\n"
      "  -V, --version\n        versions of farcalld and its libraries\n"
      "  -h, --help\n        this text\n\n"
      "Every option is also a variable (FARCALL_LISTEN, FARCALL_MAX_BODY, ...) and "
      "a\nkey of the file (\"listen\", \"max-body\", ...). A flag comes before a "
      "variable, a\nvariable before the file.\n";
  FC_TRY(fc_sink_put(sink, fc_str(kUsage), err));
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    const fc_option_t *option = &fc_options[i];
    FC_TRY(put_option(option, sink, err));
  }
  return fc_sink_put(sink, fc_str(kRest), err);
}
