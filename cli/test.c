// SPDX-License-Identifier: Apache-2.0
//
// farcall test. With a file of calls: makes them and compares the answers. Without one:
// makes the calls in the module's own tests. In a .vmfb it also calls each function
// without arguments and results: IREE's tests are such functions, and check themselves.
// With --reference: see reference.c.
#include <stdio.h>

#include "bytecode/selftest.h"
#include "cli.h"
#include "crash.h"
#include "file.h"
#include "local.h"
#include "module/proof.h"
#include "reference.h"
#include "style.h"

#define ANSWER_LIMIT ((size_t)1 << 30)

typedef struct tally_t {
  size_t count, wrong;
} tally_t;

static int conclude(const tally_t *tally) {
  printf("%zu of %zu ok\n", tally->count - tally->wrong, tally->count);
  return tally->wrong ? FC_EXIT_FAILED : FC_EXIT_OK;
}

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

static void check_calls(const fc_expectations_t *calls,
                        const fc_module_t *module, tally_t *tally) {
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  for (size_t i = 0; i < calls->count; i++) {
    fc_error_t err;
    if (check_call(&calls->calls[i], module, &answer, &err) == FC_OK) continue;
    tally->wrong++;
    printf("%sfailed%s ", fc_style(stdout, FC_STYLE_BAD),
           fc_style(stdout, FC_STYLE_PLAIN));
    fc_show_text(err.message);
    putchar('\n');
  }
  fc_text_deinit(&answer);
  tally->count += calls->count;
}

static int test_calls(const fc_args_t *args) {
  fc_expectations_t *calls;
  fc_module_t *module;
  int exit_code = fc_local_calls(args, args->words[1], &calls);
  if (exit_code) return exit_code;
  fc_crash_watch(fc_file_base(args->words[0]));
  exit_code = fc_local_load(args, args->words[0], false, &module);
  if (!exit_code) {
    tally_t tally = {0};
    check_calls(calls, module, &tally);
    exit_code = conclude(&tally);
    fc_module_release(module);
  }
  fc_expectations_destroy(calls);
  return exit_code;
}

// ---------------------------------------------------------------------------
// The module's own tests

// Makes the calls with which a server would test the module. A VM module may import
// functions that only IREE's own tests have: it cannot be loaded, and then has no such
// calls.
static int check_proof(const fc_args_t *args, bool is_native, tally_t *tally) {
  fc_module_t *module;
  fc_proof_t proof;
  fc_error_t err;
  fc_error_reset(&err);
  if (fc_local_try(args, args->words[0], false, &module, &err) != FC_OK) {
    if (!is_native && err.code == FC_CODE_VMFB_IMPORT) return FC_EXIT_OK;
    return fc_local_refuse(args->words[0], &err);
  }
  int exit_code = FC_EXIT_OK;
  if (fc_proof_read(module, FC_STR("auto"), fc_allocator_system(), &proof,
                    &err) != FC_OK) {
    exit_code = fc_local_refuse(args->words[0], &err);
  } else if (proof.tests) {
    check_calls(proof.tests, module, tally);
    fc_proof_deinit(&proof);
  }
  fc_module_release(module);
  return exit_code;
}

static int check_own(const char *path, tally_t *tally) {
  size_t count, wrong;
  fc_error_t err = {0};
  if (fc_vm_test_file(path, fc_allocator_system(), print_one, NULL, &count,
                      &wrong, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
  }
  tally->count += count;
  tally->wrong += wrong;
  return FC_EXIT_OK;
}

int fc_verb_test(const fc_args_t *args) {
  if (fc_args_has(args, FC_OPTION_REFERENCE)) return fc_test_reference(args);
  if (args->word_count == 2) return test_calls(args);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE,
                       "test takes one FILE and perhaps one CALLS.jsonl");
  }
  const char *path = args->words[0];
  const bool is_native = fc_str_ends(fc_str(path), FC_STR(".so"));
  tally_t tally = {0};
  fc_crash_watch(fc_file_base(path));
  int exit_code = check_proof(args, is_native, &tally);
  if (!exit_code && !is_native) exit_code = check_own(path, &tally);
  if (exit_code || tally.count) return exit_code ? exit_code : conclude(&tally);
  if (is_native) {
    return fc_complain(FC_EXIT_DATA,
                       "%s brings no calls whose results are known", path);
  }
  printf("%s has no function that takes and returns nothing\n", path);
  return FC_EXIT_OK;
}
