// SPDX-License-Identifier: Apache-2.0
//
// farcall run: loads a module file and calls one function in this process, once or
// several times. Prints and compares the results, and reports the time.
#include "check.h"
#include "input.h"
#include "iterate.h"
#include "local.h"
#include "steps.h"
#include "timing.h"

#define ANSWER_LIMIT ((size_t)1 << 30)

typedef struct run_t {
  const fc_args_t *args;
  fc_str_t document;  // made for the function's signature
  fc_str_t expected;  // empty: no result is checked
  fc_timing_t timing;
} run_t;

// Writes only the last answer. Decodes the arguments again for each call, because a
// function may write to them.
static fc_status_t call_all(run_t *run, fc_local_bound_t *bound,
                            fc_text_t *answer, fc_error_t *err) {
  for (size_t i = 0; i < run->timing.count; i++) {
    const bool last = i + 1 == run->timing.count;
    FC_TRY(fc_local_call(bound, run->document, NULL, last ? answer : NULL,
                         &run->timing.ns[i], err));
  }
  return FC_OK;
}

static int report(run_t *run, const fc_function_t *function, fc_str_t answer) {
  int exit_code = fc_output_print(run->args, answer);
  if (!exit_code) exit_code = fc_timing_report(run->args, &run->timing);
  if (exit_code || !run->expected.size) return exit_code;
  return fc_check_answer(run->args, function->signature, run->expected, answer);
}

static int call_function(run_t *run, const fc_function_t *function) {
  fc_error_t err;
  fc_text_t answer;
  fc_local_bound_t bound = {.function = NULL};
  fc_error_reset(&err);
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  fc_status_t status = fc_local_bind(function, &bound, &err);
  if (status == FC_OK) status = call_all(run, &bound, &answer, &err);
  fc_local_unbind(&bound);
  const int exit_code = status ? fc_local_complain(run->args, &err)
                               : report(run, function, fc_text_str(&answer));
  fc_text_deinit(&answer);
  return exit_code;
}

static int run_file(run_t *run) {
  fc_module_t *module;
  const fc_function_t *function;
  const fc_args_t *args = run->args;
  const char *name = args->word_count > 1 ? args->words[1] : NULL;
  const int exit_code = fc_local_open(args, name, &module, &function);
  if (exit_code) return exit_code;
  int called = fc_local_document(args, function, &run->document);
  const bool iterates = fc_args_has(args, FC_OPTION_ITERATE);
  if (!called && iterates) called = fc_steps_put(args, &run->document);
  if (!called) {
    called = iterates ? fc_iterate(args, function, run->document)
                      : call_function(run, function);
  }
  fc_module_release(module);
  return called;
}

int fc_verb_run(const fc_args_t *args) {
  if (!args->word_count || args->word_count > 2) {
    return fc_complain(FC_EXIT_USAGE,
                       "run takes one module FILE and perhaps one FUNCTION, "
                       "got %zu words%s",
                       args->word_count, fc_input_words_hint(args));
  }
  run_t run = {.args = args};
  fc_tolerance_t
      tolerance;  // read here, so that a wrong one is refused before the call
  int exit_code = fc_input_check(args);
  if (!exit_code) exit_code = fc_steps_check(args);
  if (!exit_code) exit_code = fc_check_tolerance(args, &tolerance);
  if (!exit_code) exit_code = fc_check_read(args, &run.expected);
  if (!exit_code) exit_code = fc_timing_init(args, &run.timing);
  if (exit_code) return exit_code;
  exit_code = run_file(&run);
  fc_timing_deinit(&run.timing);
  return exit_code;
}
