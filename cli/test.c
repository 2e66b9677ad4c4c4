// SPDX-License-Identifier: Apache-2.0
//
// farcall test: calls every function of a .vmfb that takes and returns nothing,
// as IREE's own tests do, which check themselves.
#include <stdio.h>

#include "cli.h"
#include "crash.h"
#include "file.h"
#include "module/vm/backend.h"

static void print_one(void *context, const fc_vm_test_t *test) {
  (void)context;
  printf("%-6s ", test->ok ? "ok" : "failed");
  fc_show(stdout, test->name);
  if (!test->ok) {
    fputs(": ", stdout);
    fc_show_text(test->err ? test->err->message : "it must fail, and did not");
  }
  putchar('\n');
}

int fc_verb_test(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "test takes one FILE.vmfb");
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
