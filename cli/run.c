// SPDX-License-Identifier: Apache-2.0
//
// farcall run: loads a module file and calls one function in this process.
#include <stdio.h>

#include "crash.h"
#include "file.h"
#include "input.h"
#include "local.h"

#define ANSWER_LIMIT ((size_t)1 << 30)
#define NAMES_MAX 200

// Complains that there are several functions, and names as many as fit on a line.
static void complain_of_many(const fc_args_t *args, const fc_module_t *module) {
  fc_str_t own = fc_module_get_name(module);
  size_t count = fc_module_function_count(module);
  const char *names = "";
  for (size_t i = 0; names && i < count; i++) {
    fc_str_t name = fc_module_function(module, i)->name;
    if (strlen(names) + name.size > NAMES_MAX) {
      names = fc_print(args->arena, "%s, …", names);
      break;
    }
    names = fc_print(args->arena, "%s%s%.*s", names, i ? ", " : "",
                     FC_STR_ARG(name));
  }
  fc_complain(0, "'%.*s' has %zu functions, choose one with --function: %s",
              FC_STR_ARG(own), count, names ? names : "");
}

static const fc_function_t *choose(const fc_args_t *args,
                                   const fc_module_t *module) {
  const char *name = fc_args_get(args, FC_OPTION_FUNCTION, NULL);
  if (name) return fc_local_find(module, name);
  if (fc_module_function_count(module) == 1) {
    return fc_module_function(module, 0);
  }
  complain_of_many(args, module);
  return NULL;
}

static int call_one(const fc_args_t *args, const fc_function_t *function,
                    fc_str_t document) {
  fc_error_t err;
  fc_text_t answer;
  fc_error_reset(&err);
  if (!function->plan) {
    const fc_signature_t *signature = function->signature;
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_complain(FC_EXIT_FAILED, "%s: '%.*s' cannot be called: %.*s",
                       fc_code_info(FC_CODE_UNSUPPORTED_TYPE)->text,
                       FC_STR_ARG(function->name), FC_STR_ARG(reason));
  }
  const char *what =
      fc_print(args->arena, "'%.*s'", FC_STR_ARG(function->name));
  if (!what) return fc_complain(FC_EXIT_FAILED, "out of memory");
  fc_crash_watch(what);
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  uint64_t took_ns;
  int exit_code;
  if (fc_local_answer(function, document, &answer, &took_ns, &err) == FC_OK) {
    exit_code = fc_output_print(args, fc_text_str(&answer));
  } else {
    const char *code = fc_code_info(err.code)->text;
    const char *pointer = err.has_pointer ? err.pointer : "";
    exit_code = fc_complain_call(0, code, err.message,
                                 fc_input_hint(args, code, pointer), pointer,
                                 err.byte_offset);
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
  const fc_function_t *function = choose(args, module);
  exit_code = function ? call_one(args, function, document) : FC_EXIT_USAGE;
  fc_module_release(module);
  return exit_code;
}
