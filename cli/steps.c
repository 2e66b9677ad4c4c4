// SPDX-License-Identifier: Apache-2.0
//
// Converts options to the call document's "repeat", and shows the steps of a server.
// Whoever reads the document checks numbers of results and arguments and whether types
// fit.
#include "steps.h"

#include <errno.h>
#include <stdio.h>

#include "file.h"
#include "input.h"
#include "remote.h"

#define REPEAT_LIMIT ((size_t)1 << 20)

static const char *value_of(const fc_args_t *args, fc_cli_option_t option) {
  return fc_args_get(args, option, NULL);
}

// ---------------------------------------------------------------------------
// Which options go together

// Returns the first of the options that is given; FC_OPTION_COUNT: none is.
static fc_cli_option_t first_of(const fc_args_t *args,
                                const fc_cli_option_t *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (fc_args_has(args, options[i])) return options[i];
  }
  return FC_OPTION_COUNT;
}

int fc_steps_check(const fc_args_t *args) {
  static const fc_cli_option_t kOne[] = {
      FC_OPTION_OUTPUT,  FC_OPTION_PRINT, FC_OPTION_REPEAT,
      FC_OPTION_TIME,    FC_OPTION_SAVE,  FC_OPTION_RUN_EXPECTED,
      FC_OPTION_PROFILE, FC_OPTION_HTML,  FC_OPTION_TOLERANCE};
  static const fc_cli_option_t kParts[] = {FC_OPTION_UNTIL, FC_OPTION_FEED,
                                           FC_OPTION_EMIT};
  const fc_cli_option_t one = first_of(args, kOne, FC_ARRAY_COUNT(kOne));
  const fc_cli_option_t part = first_of(args, kParts, FC_ARRAY_COUNT(kParts));
  const char *repeat = value_of(args, FC_OPTION_ITERATE);
  if (!repeat) {
    return part == FC_OPTION_COUNT
               ? FC_EXIT_OK
               : fc_complain(FC_EXIT_USAGE, "--%s is a part of --iterate=N",
                             fc_cli_options[part].name);
  }
  if (one != FC_OPTION_COUNT) {
    return fc_complain(FC_EXIT_USAGE,
                       "--%s is about one answer, --iterate makes many lines",
                       fc_cli_options[one].name);
  }
  if (repeat[0] == '{' && part != FC_OPTION_COUNT) {
    return fc_complain(FC_EXIT_USAGE,
                       "--%s goes with a number of steps: --iterate=N",
                       fc_cli_options[part].name);
  }
  if (repeat[0] == '{' || (repeat[0] && !repeat[strspn(repeat, "0123456789")]))
    return FC_EXIT_OK;
  return fc_complain(FC_EXIT_USAGE,
                     "--iterate=%s: it is a number of steps, or "
                     "{\"times\":N,\"feed\":{\"0\":0}}",
                     repeat);
}

// ---------------------------------------------------------------------------
// "repeat"

static bool is_number(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return text.size > 0 && text.size <= 10;
}

static fc_status_t refuse(fc_cli_option_t option, const char *value,
                          fc_error_t *err) {
  return fc_fail(err, FC_CODE_JSON_SCHEMA, "--%s=%s: it is %s",
                 fc_cli_options[option].name, value,
                 fc_cli_options[option].value);
}

// Converts 2=0.5 to "until":{"result":2,"equals":0.5}.
static fc_status_t put_until(const char *value, fc_sink_t *sink,
                             fc_error_t *err) {
  fc_str_t equals = fc_str(value);
  const fc_str_t result = fc_str_take(&equals, '=');
  const fc_str_t json = fc_input_value(equals);
  if (!is_number(result) || !json.data) {
    return refuse(FC_OPTION_UNTIL, value, err);
  }
  FC_TRY(fc_print_to(sink, err, ",\"until\":{\"result\":%.*s,\"equals\":",
                     FC_STR_ARG(result)));
  FC_TRY(fc_sink_put(sink, json, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}

// Converts 0:1,1:0 to "0":1,"1":0.
static fc_status_t put_feeds(const char *value, bool first, fc_sink_t *sink,
                             fc_error_t *err) {
  fc_str_t rest = fc_str(value);
  do {
    fc_str_t argument = fc_str_take(&rest, ',');
    const fc_str_t result = fc_str_take(&argument, ':');
    if (!is_number(result) || !is_number(argument)) {
      return refuse(FC_OPTION_FEED, value, err);
    }
    FC_TRY(fc_print_to(sink, err, "%s\"%.*s\":%.*s", first ? "" : ",",
                       FC_STR_ARG(result), FC_STR_ARG(argument)));
    first = false;
  } while (rest.size);
  return FC_OK;
}

// Checks a list such as 0,2 and writes it unchanged.
static fc_status_t put_emits(const char *value, bool first, fc_sink_t *sink,
                             fc_error_t *err) {
  fc_str_t rest = fc_str(value);
  while (rest.size) {
    const fc_str_t result = fc_str_take(&rest, ',');
    if (!is_number(result)) return refuse(FC_OPTION_EMIT, value, err);
    FC_TRY(
        fc_print_to(sink, err, "%s%.*s", first ? "" : ",", FC_STR_ARG(result)));
    first = false;
  }
  return FC_OK;
}

typedef fc_status_t (*put_t)(const char *value, bool first, fc_sink_t *sink,
                             fc_error_t *err);

// Writes all values of a repeatable option between `open` and `close`.
static fc_status_t put_all(const fc_args_t *args, fc_cli_option_t option,
                           const char *open, put_t put, const char *close,
                           fc_sink_t *sink, fc_error_t *err) {
  bool first = true;
  if (!fc_args_has(args, option)) return FC_OK;
  FC_TRY(fc_sink_put(sink, fc_str(open), err));
  for (size_t i = 0; i < args->flag_count; i++) {
    const fc_flag_t *flag = &args->flags[i];
    if (flag->option != option) continue;
    if (fc_str_ends(fc_str(flag->value), FC_STR(","))) {
      return refuse(option, flag->value, err);
    }
    FC_TRY(put(flag->value, first, sink, err));
    if (*flag->value) first = false;
  }
  return fc_sink_put(sink, fc_str(close), err);
}

static fc_status_t put_repeat(const fc_args_t *args, fc_sink_t *sink,
                              fc_error_t *err) {
  const char *repeat = value_of(args, FC_OPTION_ITERATE);
  const char *until = value_of(args, FC_OPTION_UNTIL);
  if (repeat[0] == '{') return fc_sink_put(sink, fc_str(repeat), err);
  FC_TRY(fc_sink_put(sink, FC_STR("{\"times\":"), err));
  FC_TRY(fc_sink_put(sink, fc_str(repeat), err));
  if (until) FC_TRY(put_until(until, sink, err));
  FC_TRY(
      put_all(args, FC_OPTION_FEED, ",\"feed\":{", put_feeds, "}", sink, err));
  FC_TRY(
      put_all(args, FC_OPTION_EMIT, ",\"emit\":[", put_emits, "]", sink, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}

static size_t skip_space(fc_str_t text, size_t at) {
  while (at < text.size && memchr(" \t\r\n", text.data[at], 4)) at++;
  return at;
}

// Joins `repeat` and the document into one object; NULL: no memory.
static const char *join(const fc_args_t *args, fc_str_t repeat,
                        fc_str_t document, size_t at) {
  if (document.data[at] == '[') {
    return fc_print(args->arena, "{\"repeat\":%.*s,\"args\":%.*s}",
                    FC_STR_ARG(repeat), FC_STR_ARG(document));
  }
  const size_t next = skip_space(document, at + 1);
  const bool empty = next < document.size && document.data[next] == '}';
  const fc_str_t rest =
      fc_str_make(document.data + at + 1, document.size - at - 1);
  return fc_print(args->arena, "{\"repeat\":%.*s%s%.*s", FC_STR_ARG(repeat),
                  empty ? "" : ",", FC_STR_ARG(rest));
}

int fc_steps_put(const fc_args_t *args, fc_str_t *document) {
  fc_error_t err;
  fc_text_t repeat;
  const size_t at = skip_space(*document, 0);
  if (at == document->size || !memchr("[{", document->data[at], 2)) {
    return FC_EXIT_OK;
  }
  fc_error_reset(&err);
  fc_text_init(&repeat, fc_allocator_system(), REPEAT_LIMIT);
  fc_status_t status = put_repeat(args, &repeat.sink, &err);
  if (status == FC_OK) {
    *document = fc_str(join(args, fc_text_str(&repeat), *document, at));
    if (!document->data) status = fc_fail_memory(&err);
  }
  fc_text_deinit(&repeat);
  if (status == FC_OK) return FC_EXIT_OK;
  return fc_complain(
      status == FC_INVALID_ARGUMENT ? FC_EXIT_USAGE : FC_EXIT_FAILED, "%s",
      err.message);
}

// ---------------------------------------------------------------------------
// Steps of a server

typedef struct shown_t {
  fc_arena_t *arena;
  fc_str_t error;  // the first line that is neither step nor end, in the arena
  bool ended;      // the last line, which gives the reason, was shown
} shown_t;

static bool is_shown(fc_str_t line, shown_t *shown) {
  if (shown->ended) return false;
  if (fc_str_starts(line, FC_STR("{\"step\":"))) return true;
  return shown->ended = fc_str_starts(line, FC_STR("{\"done\":"));
}

// Shows complete lines, up to the first that is neither a step nor the end.
static fc_status_t show(void *context, fc_str_t lines, fc_error_t *err) {
  shown_t *shown = context;
  fc_str_t rest = lines, line = {0};
  size_t good = 0;
  while (rest.size && is_shown(line = fc_str_take(&rest, '\n'), shown)) {
    good += line.size + 1;
  }
  fc_show(stdout, fc_str_make(lines.data, good));
  if (fflush(stdout)) {
    return fc_fail_as(err, FC_CODE_INTERNAL, FC_INTERNAL,
                      "the lines cannot be written: %s", strerror(errno));
  }
  if (good == lines.size) return FC_OK;
  shown->error = fc_arena_copy(shown->arena, line);
  return shown->error.data ? fc_fail(err, FC_CODE_INTERNAL, "a line ends it")
                           : fc_fail_memory(err);
}

static int judge(const fc_args_t *args, const fc_reply_t *answer,
                 shown_t *shown, fc_status_t status, const fc_error_t *err) {
  if (shown->error.data) {
    return fc_remote_refused(
        args, &(fc_reply_t){
                  .url = answer->url, .is_json = true, .body = shown->error});
  }
  if (status) return fc_remote_complain(err);
  if (answer->status != 200) return fc_remote_refused(args, answer);
  return shown->ended ? FC_EXIT_OK : fc_remote_strange(answer);
}

int fc_steps_ask(const fc_args_t *args, const fc_remote_t *server,
                 const char *target, fc_str_t document) {
  fc_error_t err;
  shown_t shown = {.arena = args->arena};
  const fc_on_lines_t lines = {.show = show, .context = &shown};
  fc_reply_t answer = {.url = server->url};
  fc_error_reset(&err);
  const fc_status_t status = fc_server_stream(args->arena, server, target,
                                              document, &lines, &answer, &err);
  return judge(args, &answer, &shown, status, &err);
}
