// SPDX-License-Identifier: Apache-2.0
//
// farcall run: loads a module file and calls one function in this process.
#include "crash.h"
#include "file.h"
#include "input.h"
#include "local.h"

#define ANSWER_LIMIT ((size_t)1 << 30)

static int call_one(const fc_args_t *args, const fc_function_t *function,
                    fc_str_t document) {
  fc_error_t err;
  fc_text_t answer;
  uint64_t took_ns;
  int exit_code = fc_local_check(args, function);
  if (exit_code) return exit_code;
  fc_error_reset(&err);
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  if (fc_local_answer(function, document, NULL, &answer, &took_ns, &err)) {
    exit_code = fc_local_complain(args, &err);
  } else {
    exit_code = fc_output_print(args, fc_text_str(&answer));
  }
  fc_text_deinit(&answer);
  return exit_code;
}

int fc_verb_run(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "run takes one module FILE, got %zu%s",
                       args->word_count, fc_input_words_hint(args));
  }
  fc_str_t document;
  fc_module_t *module;
  int exit_code = fc_input_document(args, &document);
  if (exit_code) return exit_code;
  fc_crash_watch(fc_file_base(args->words[0]));
  exit_code = fc_local_load(args, args->words[0], false, &module);
  if (exit_code) return exit_code;
  const fc_function_t *function = fc_local_choose(args, module, NULL);
  exit_code = function ? call_one(args, function, document) : FC_EXIT_USAGE;
  fc_module_release(module);
  return exit_code;
}
