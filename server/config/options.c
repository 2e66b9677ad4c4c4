// SPDX-License-Identifier: Apache-2.0
//
// Flags and variables are two spellings of one table. A word that is not in it
// is an error with the nearest one, never ignored.
#include "config/options.h"

#include <stdio.h>

typedef enum kind_t {
  KIND_TEXT,
  KIND_COUNT,
  KIND_SIZE,
  KIND_TIME,
  KIND_FLAG,
  KIND_CHOICE,
} kind_t;

typedef struct option_t {
  const char *flag;
  char letter;
  kind_t kind;
  const char *value;
  const char *argument;
  const char *help;
  size_t offset;
} option_t;

static const option_t kOptions[] = {
#define FC_OPTION(field, flag, letter, kind, value, argument, help) \
  {flag,                                                            \
   letter,                                                          \
   KIND_##kind,                                                     \
   value,                                                           \
   argument,                                                        \
   help,                                                            \
   offsetof(fc_server_options_t, field)},
#include "config/options.def"
#undef FC_OPTION
};

// ---------------------------------------------------------------------------
// Values

static bool parse_digits(fc_str_t *text, uint64_t *out) {
  uint64_t value = 0;
  size_t used = 0;
  while (used < text->size && text->data[used] >= '0' &&
         text->data[used] <= '9') {
    if (__builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, (uint64_t)(text->data[used] - '0'),
                               &value)) {
      return false;
    }
    used++;
  }
  text->data += used;
  text->size -= used;
  *out = value;
  return used > 0;
}

typedef struct unit_t {
  const char *text;
  uint64_t factor;
} unit_t;

// Far above sense, far below where products of options overflow.
#define COUNT_MAX 1000000u
#define BYTES_MAX ((uint64_t)1 << 50)
#define TIME_MAX_MS ((uint64_t)366 * 24 * 3600 * 1000)

static bool parse_units(fc_str_t text, const unit_t *units, uint64_t limit,
                        uint64_t *out) {
  uint64_t value;
  if (!parse_digits(&text, &value)) return false;
  for (const unit_t *unit = units; unit->text; unit++) {
    if (!fc_str_equal(text, fc_str(unit->text))) continue;
    if (__builtin_mul_overflow(value, unit->factor, &value)) return false;
    *out = value;
    return value <= limit;
  }
  return false;
}

static bool parse_value(const option_t *option, const char *text, void *field) {
  static const unit_t kCounts[] = {{"", 1}, {NULL, 0}};
  static const unit_t kSizes[] = {
      {"", 1},           {"B", 1},        {"k", 1u << 10},   {"K", 1u << 10},
      {"KiB", 1u << 10}, {"M", 1u << 20}, {"MiB", 1u << 20}, {"G", 1u << 30},
      {"GiB", 1u << 30}, {NULL, 0}};
  static const unit_t kTimes[] = {
      {"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {NULL, 0}};
  fc_str_t value = fc_str(text);
  switch (option->kind) {
    case KIND_TEXT:
      *(const char **)field = text;
      return value.size > 0 || !option->value[0];
    case KIND_COUNT:
      return parse_units(value, kCounts, COUNT_MAX, field);
    case KIND_SIZE:
      return parse_units(value, kSizes, BYTES_MAX, field);
    case KIND_TIME:
      return parse_units(value, kTimes, TIME_MAX_MS, field);
    case KIND_FLAG: {
      bool on = fc_str_equal(value, FC_STR("on")) ||
                fc_str_equal(value, FC_STR("1")) ||
                fc_str_equal(value, FC_STR("true"));
      *(bool *)field = on;
      return on || fc_str_equal(value, FC_STR("off")) ||
             fc_str_equal(value, FC_STR("0")) ||
             fc_str_equal(value, FC_STR("false"));
    }
    case KIND_CHOICE:
      break;
  }
  const char *word = option->argument;
  for (unsigned i = 0;; i++) {
    const char *bar = strchr(word, '|');
    size_t size = bar ? (size_t)(bar - word) : strlen(word);
    if (fc_str_equal(value, fc_str_make(word, size))) {
      *(unsigned *)field = i;
      return true;
    }
    if (!bar) return false;
    word = bar + 1;
  }
}

static fc_status_t set(fc_server_options_t *options, const option_t *option,
                       const char *value, const char *named, fc_error_t *err) {
  char *field = (char *)options + option->offset;
  if (parse_value(option, value, field)) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, fc_str(value));
  return fc_fail(err, FC_CODE_TYPE_MISMATCH, "'%s' is no value for %s: %s",
                 shown, named,
                 option->kind == KIND_FLAG ? "on or off" : option->argument);
}

void fc_server_options_init(fc_server_options_t *options) {
  *options = (fc_server_options_t){.worker_program = "/proc/self/exe"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    fc_status_t status =
        set(options, &kOptions[i], kOptions[i].value, "default", NULL);
    FC_ASSERT(status == FC_OK);
  }
}

// ---------------------------------------------------------------------------
// Flags

static const option_t *find_flag(fc_str_t name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    if (fc_str_equal(name, fc_str(kOptions[i].flag))) return &kOptions[i];
  }
  return NULL;
}

static const option_t *find_letter(char letter) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    if (letter && kOptions[i].letter == letter) return &kOptions[i];
  }
  return NULL;
}

static fc_status_t fail_unknown(fc_str_t name, fc_error_t *err) {
  const char *nearest = NULL;
  unsigned best = 4;
  static const char *const kOthers[] = {"help", "version"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions) + 2; i++) {
    const char *flag = i < 2 ? kOthers[i] : kOptions[i - 2].flag;
    unsigned distance = fc_str_distance(name, fc_str(flag), best - 1);
    if (distance >= best) continue;
    best = distance;
    nearest = flag;
  }
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
  bool given[FC_ARRAY_COUNT(kOptions)];
} arguments_t;

// A number that is given twice: the second is meant to replace the first. A
// text that is given twice: both are meant, and the first would be lost, so it
// is refused.
static fc_status_t note_given(arguments_t *arguments, const option_t *option,
                              fc_error_t *err) {
  bool *given = &arguments->given[option - kOptions];
  if (*given && option->kind == KIND_TEXT) {
    return fc_fail(err, FC_CODE_DUPLICATE_ARGUMENT,
                   "--%s is given twice: it takes one value", option->flag);
  }
  *given = true;
  return FC_OK;
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
  if (!equals && fc_str_equal(name, FC_STR("help"))) {
    options->help = true;
    return FC_OK;
  }
  if (!equals && fc_str_equal(name, FC_STR("version"))) {
    options->version = true;
    return FC_OK;
  }
  const option_t *option = find_flag(name);
  if (!option) return fail_unknown(name, err);
  FC_TRY(note_given(arguments, option, err));
  char named[64];
  snprintf(named, sizeof named, "--%s", option->flag);
  const char *value = equals ? equals + 1 : "on";
  if (!equals && option->kind != KIND_FLAG) {
    FC_TRY(take_value(arguments, named, &value, err));
  }
  return set(options, option, value, named, err);
}

static fc_status_t parse_short(fc_server_options_t *options,
                               arguments_t *arguments, const char *word,
                               fc_error_t *err) {
  if (!word[1] && (word[0] == 'h' || word[0] == 'V')) {
    *(word[0] == 'h' ? &options->help : &options->version) = true;
    return FC_OK;
  }
  const option_t *option = find_letter(word[0]);
  if (!option) return fail_unknown(fc_str(word), err);
  FC_TRY(note_given(arguments, option, err));
  const char named[] = {'-', word[0], '\0'};
  const char *value = word + 1;
  if (!*value) FC_TRY(take_value(arguments, named, &value, err));
  return set(options, option, value, named, err);
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

static const option_t *find_variable(fc_str_t name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    char known[VARIABLE_MAX];
    variable_name(kOptions[i].flag, known, sizeof known);
    if (fc_str_equal(name, fc_str(known))) return &kOptions[i];
  }
  return NULL;
}

static bool has_text(fc_str_t text, const char *part) {
  return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

// Kubernetes tells each container of the Services of its namespace, also of one
// named "farcall": FARCALL_SERVICE_HOST, FARCALL_PORT=tcp://10.96.0.7:8000,
// FARCALL_PORT_8000_TCP_ADDR.
static bool is_of_kubernetes(fc_str_t name, const char *value) {
  return fc_str_ends(name, FC_STR("_SERVICE_HOST")) ||
         has_text(name, "_SERVICE_PORT") ||
         (has_text(name, "_PORT") && strstr(value, "://")) ||
         (has_text(name, "_PORT_") &&
          (has_text(name, "_TCP_") || has_text(name, "_UDP_") ||
           has_text(name, "_SCTP_")));
}

static fc_status_t fail_variable(fc_str_t name, fc_error_t *err) {
  char nearest[VARIABLE_MAX] = "";
  unsigned best = 4;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    char known[VARIABLE_MAX];
    variable_name(kOptions[i].flag, known, sizeof known);
    unsigned distance = fc_str_distance(name, fc_str(known), best - 1);
    if (distance >= best) continue;
    best = distance;
    memcpy(nearest, known, sizeof nearest);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  if (*nearest) {
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
  const option_t *option = find_variable(name);
  if (option) {
    char named[VARIABLE_MAX];
    variable_name(option->flag, named, sizeof named);
    return *value ? set(options, option, value, named, err) : FC_OK;
  }
  // `farcall` reads it, not this program.
  if (fc_str_equal(name, FC_STR("FARCALL_SERVER"))) return FC_OK;
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
  while (arguments.next < argc) {
    const char *word = argv[arguments.next++];
    if (only_paths || word[0] != '-' || !word[1]) {
      paths[options->path_count++] = word;
    } else if (word[1] != '-') {
      FC_TRY(parse_short(options, &arguments, word + 1, err));
    } else if (word[2]) {
      FC_TRY(parse_long(options, &arguments, word + 2, err));
    } else {
      only_paths = true;
    }
  }
  options->paths = paths;
  return FC_OK;
}

fc_status_t fc_server_options_parse(fc_server_options_t *options, int argc,
                                    const char *const *argv, const char **paths,
                                    const char *const *variables,
                                    fc_error_t *err) {
  fc_error_t of_variables;
  fc_server_options_init(options);
  const fc_status_t status = parse_variables(options, variables, &of_variables);
  FC_TRY(parse_arguments(options, argc, argv, paths, err));
  if (options->help || options->version) return FC_OK;
  if (status != FC_OK) {
    *err = of_variables;
    return status;
  }
  if (options->path_count) return FC_OK;
  return fc_fail(err, FC_CODE_MISSING_ARGUMENT,
                 "no module given: farcalld [options] PATH...");
}

// ---------------------------------------------------------------------------

static fc_status_t put_option(const option_t *option, fc_sink_t *sink,
                              fc_error_t *err) {
  const char letter[] = {option->letter ? '-' : ' ',
                         option->letter ? option->letter : ' ',
                         option->letter ? ',' : ' ', '\0'};
  const bool has_default = option->kind != KIND_FLAG && option->value[0];
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
      "Serves compiled modules over HTTP. PATH is a module (*.so, *.vmfb) or a\n"
      "directory of modules.\n\nOptions:\n";
  static const char kRest[] =
      "  -V, --version\n        versions of farcalld and its libraries\n"
      "  -h, --help\n        this text\n\n"
      "Every option is also a variable: FARCALL_LISTEN, FARCALL_MAX_BODY, ...\n";
  FC_TRY(fc_sink_put(sink, fc_str(kUsage), err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions); i++) {
    const option_t *option = &kOptions[i];
    FC_TRY(put_option(option, sink, err));
  }
  return fc_sink_put(sink, fc_str(kRest), err);
}
