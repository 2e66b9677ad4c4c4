// SPDX-License-Identifier: Apache-2.0
//
// farcall test: makes the calls of a file with the answers that are expected, or,
// without one, calls every function of a .vmfb that takes and returns nothing, as
// IREE's own tests do, which check themselves. With --reference: reference.c.
#include <stdio.h>

#include "bytecode/selftest.h"
#include "cli.h"
#include "crash.h"
#include "file.h"
#include "local.h"
#include "module/expect.h"
#include "reference.h"
#include "style.h"

#define ANSWER_LIMIT ((size_t)1 << 30)

static void print_one(void *context, const fc_vm_test_t *test) {
  (void)context;
  printf("%s%-6s%s ", fc_style(stdout, test->ok ? FC_STYLE_GOOD : FC_STYLE_BAD),
         test->ok ? "ok" : "failed", fc_style(stdout, FC_STYLE_PLAIN));
  fc_show(stdout, test->name);
  if (!test->ok) {
    fputs(": ", stdout);
    fc_show_text(test->err ? test->err->message : "it must fail, and did not");
  }
  putchar('\n');
}

// ---------------------------------------------------------------------------
// With a file of calls

static fc_status_t check_call(const fc_expected_call_t *call,
                              const fc_module_t *module, fc_text_t *answer,
                              fc_error_t *err) {
  const fc_function_t *function;
  fc_error_t failed;
  uint64_t took_ns;
  fc_text_reset(answer);
  if (fc_expected_function(call, module, &function, &failed) != FC_OK) {
    return fc_expected_fail(call, &failed, err);
  }
  const fc_status_t status =
      fc_local_answer(function, call->body, NULL, answer, &took_ns, &failed);
  return fc_expected_check(call, function->signature, fc_text_str(answer),
                           status == FC_OK ? NULL : &failed,
                           fc_allocator_system(), err);
}

static int check_calls(const fc_expectations_t *calls,
                       const fc_module_t *module) {
  size_t wrong = 0;
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  for (size_t i = 0; i < calls->count; i++) {
    fc_error_t err;
    if (check_call(&calls->calls[i], module, &answer, &err) == FC_OK) continue;
    wrong++;
    printf("%sfailed%s ", fc_style(stdout, FC_STYLE_BAD),
           fc_style(stdout, FC_STYLE_PLAIN));
    fc_show_text(err.message);
    putchar('\n');
  }
  fc_text_deinit(&answer);
  printf("%zu of %zu ok\n", calls->count - wrong, calls->count);
  return wrong ? FC_EXIT_FAILED : FC_EXIT_OK;
}

static int test_calls(const fc_args_t *args) {
  fc_expectations_t *calls;
  fc_module_t *module;
  int exit_code = fc_local_calls(args, args->words[1], &calls);
  if (exit_code) return exit_code;
  fc_crash_watch(fc_file_base(args->words[0]));
  exit_code = fc_local_load(args, args->words[0], false, &module);
  if (!exit_code) {
    exit_code = check_calls(calls, module);
    fc_module_release(module);
  }
  fc_expectations_destroy(calls);
  return exit_code;
}

int fc_verb_test(const fc_args_t *args) {
  if (fc_args_has(args, FC_OPTION_REFERENCE)) return fc_test_reference(args);
  if (args->word_count == 2) return test_calls(args);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE,
                       "test takes one FILE and perhaps one CALLS.jsonl");
  }
  const char *path = args->words[0];
  if (!fc_is_vmfb(args, path)) return FC_EXIT_DATA;
  size_t count, wrong;
  fc_error_t err = {0};
  fc_crash_watch(fc_file_base(path));
  if (fc_vm_test_file(path, fc_allocator_system(), print_one, NULL, &count,
                      &wrong, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
  }
  if (!count) {
    printf("%s has no function that takes and returns nothing\n", path);
    return FC_EXIT_OK;
  }
  printf("%zu of %zu ok\n", count - wrong, count);
  return wrong ? FC_EXIT_FAILED : FC_EXIT_OK;
}
