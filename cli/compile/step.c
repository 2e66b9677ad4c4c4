// SPDX-License-Identifier: Apache-2.0
//
// Runs a tool, reports its error, and reads and writes the files of the work directory.
#include "compile/step.h"

#include <sys/wait.h>

#include "compile/mlir/text.h"
#include "file.h"
#include "tool.h"

char *fc_step_path(fc_compile_t *compile, const char *name) {
  return fc_print(compile->arena, "%s/%s", compile->work, name);
}

fc_status_t fc_step_read(fc_compile_t *compile, const char *name,
                         fc_str_t *out_data) {
  const char *path = fc_step_path(compile, name);
  if (!path) return fc_fail_memory(compile->err);
  return fc_file_read(compile->arena, path, out_data, compile->err);
}

fc_status_t fc_step_write(fc_compile_t *compile, const char *name,
                          fc_str_t data) {
  const char *path = fc_step_path(compile, name);
  if (!path) return fc_fail_memory(compile->err);
  return fc_file_write(compile->arena, path, data, compile->err);
}

// Removes the first line from *rest and returns it.
static fc_str_t cut_line(fc_str_t *rest) {
  const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
  size_t size = end ? (size_t)(end - rest->data) : rest->size;
  fc_str_t line = {rest->data, size};
  rest->data += end ? size + 1 : size;
  rest->size -= end ? size + 1 : size;
  return line;
}

const char *fc_step_find(fc_str_t text, const char *wanted) {
  if (!text.size) return NULL;
  return memmem(text.data, text.size, wanted, strlen(wanted));
}

// Returns "one-shot-bufferize" from "IR Dump After OneShotBufferizePass Failed
// (one-shot-bufferize)", which mlir-opt prints when a pass fails.
static fc_str_t failing_pass(fc_str_t log) {
  const char *at = fc_step_find(log, "IR Dump After ");
  if (!at) return (fc_str_t){0};
  fc_str_t rest = {at, log.size - (size_t)(at - log.data)};
  fc_str_t line = cut_line(&rest);
  const char *open = fc_step_find(line, "Failed (");
  if (!open) return (fc_str_t){0};
  open += strlen("Failed (");
  const char *end = line.data + line.size;
  const char *close = open;
  while (close < end && *close != ')' && *close != '{') close++;
  return fc_str_make(open, (size_t)(close - open));
}

// Returns the two lines that mlir-opt shows at the beginning of `rest`: a source line,
// and a line with a caret under it. Empty if `rest` does not begin so.
static fc_str_t source_context(fc_str_t rest) {
  fc_str_t begin = rest;
  cut_line(&rest);
  fc_str_t caret = cut_line(&rest);
  for (size_t i = 0; i < caret.size; i++) {
    if (caret.data[i] == '^') {
      return fc_str_make(begin.data,
                         (size_t)(caret.data + caret.size - begin.data));
    }
    if (caret.data[i] != ' ' && caret.data[i] != '\t') break;
  }
  return (fc_str_t){0};
}

fc_status_t fc_step_blame(fc_compile_t *compile, fc_str_t place, fc_str_t step,
                          fc_str_t message) {
  fc_str_t copy = fc_str(compile->source);
  if (fc_str_starts(place, copy)) {
    place.data += copy.size;
    place.size -= copy.size;
  } else {
    place = FC_STR(":");
  }
  while (place.size && place.data[place.size - 1] == ' ') place.size--;
  fc_str_t spot = place;
  fc_str_take(&spot, ':');
  compile->blamed = fc_mlir_spot(spot);
  return fc_fail(compile->err, FC_CODE_MODULE_LOAD, "%s%.*s %.*s: %.*s",
                 compile->input, FC_STR_ARG(place), FC_STR_ARG(step),
                 FC_STR_ARG(message));
}

// Finds the first line of `log` that contains `mark`. Returns the text after the mark;
// empty if there is no such line. *out_before is the text before the mark, *out_rest the
// lines that follow.
static fc_str_t find_marked(fc_str_t log, const char *mark,
                            fc_str_t *out_before, fc_str_t *out_rest) {
  fc_str_t rest = log;
  while (rest.size) {
    fc_str_t line = cut_line(&rest);
    const char *at = fc_step_find(line, mark);
    if (!at) continue;
    const char *text = at + strlen(mark);
    *out_before = fc_str_make(line.data, (size_t)(at - line.data));
    *out_rest = rest;
    return fc_str_make(text, (size_t)(line.data + line.size - text));
  }
  return (fc_str_t){0};
}

static fc_status_t explain_script(fc_compile_t *compile, fc_str_t log) {
  fc_str_t before, rest;
  fc_str_t message = find_marked(log, "farcall-error: ", &before, &rest);
  fc_str_t hint = find_marked(log, "farcall-hint: ", &before, &rest);
  if (hint.size) {
    compile->hint = fc_print(compile->arena, "; %.*s", FC_STR_ARG(hint));
  }
  if (!message.size) message = FC_STR("failed without a word");
  // A missing package is not the file's fault.
  const bool missing =
      find_marked(log, "farcall-missing: ", &before, &rest).size > 0;
  return fc_fail(compile->err,
                 missing ? FC_CODE_NOT_FOUND : FC_CODE_MODULE_LOAD, "%s: %.*s",
                 compile->input, FC_STR_ARG(message));
}

static fc_status_t explain(fc_compile_t *compile, fc_step_kind_t kind,
                           const char *shown, fc_str_t log) {
  if (kind == FC_STEP_SCRIPT) return explain_script(compile, log);
  fc_str_t step = failing_pass(log), before = {0}, rest = log;
  if (!step.size) {
    step = kind == FC_STEP_READER ? FC_STR("not valid MLIR") : fc_str(shown);
  }
  const fc_str_t first = cut_line(&rest);
  // The linker prints the reason first; "error: ld returned 1" comes later, from the
  // driver.
  const fc_str_t message = kind == FC_STEP_LINKER
                               ? (fc_str_t){0}
                               : find_marked(log, "error: ", &before, &rest);
  if (message.size) {
    compile->context = source_context(rest);
    return fc_step_blame(compile, before, step, message);
  }
  return fc_step_blame(compile, (fc_str_t){0}, step,
                       first.size ? first : FC_STR("failed without a word"));
}

static void show_command(const char *const *argv) {
  fputs("+", stderr);
  for (; *argv; argv++) {
    fputc(' ', stderr);
    fc_show(stderr, fc_str(*argv));
  }
  fputc('\n', stderr);
}

// Returns the signal that ended the tool; 0: none. The script that starts IREE's compiler
// exits with minus the signal's number, of which only 8 bits arrive here.
static int ended_by(int outcome) {
  if (WIFSIGNALED(outcome)) return WTERMSIG(outcome);
  const int status = WEXITSTATUS(outcome);
  return status > 256 - 32 ? 256 - status : 0;
}

fc_status_t fc_step_run(fc_compile_t *compile, fc_step_kind_t kind,
                        const char *shown, const char *const *argv) {
  int outcome = 0;
  fc_str_t log;
  if (compile->verbose) show_command(argv);
  FC_TRY(fc_tool_run(argv, compile->work, FC_STEP_LOG, &outcome, compile->err));
  FC_TRY(fc_step_read(compile, FC_STEP_LOG, &log));
  if (compile->verbose) fc_show(stderr, log);
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) return FC_OK;
  const int number = ended_by(outcome);
  if (number) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s: %s itself crashed (signal %d)", compile->input, shown,
                   number);
  }
  return explain(compile, kind, shown, log);
}
