// SPDX-License-Identifier: Apache-2.0
//
// The child opens the file again: the backend may have threads in this process, and a
// child does not inherit threads.
#include "prove.h"

#include <limits.h>
#include <unistd.h>

#include "abi/print.h"
#include "tryout.h"
#include "farcall/call.h"

#define SECONDS 5
static const char kUntold[] = FC_BATCH_OFF
    "its random rows end the process, take too long or cannot be tried here";
_Static_assert(FC_VERDICT_SIZE <= PIPE_BUF, "a write is whole");

static void try_rows(const void *context, int pipe) {
  const fc_function_t *function = context;
  const fc_str_t path = fc_module_get_path(function->module);
  const fc_allocator_t allocator = fc_allocator_system();
  fc_module_t *module;
  char verdict[FC_VERDICT_SIZE] = "";
  fc_prove_t prove = {0};
  if (fc_module_load(NULL, path, NULL, allocator, &module, NULL) != FC_OK ||
      function->index >= fc_module_function_count(module)) {
    return;
  }
  prove.function = fc_module_function(module, function->index);
  if (fc_module_get_backend(module)->instance_create(
          fc_module_get_handle(module), allocator, &prove.instance, NULL) ==
          FC_OK &&
      fc_frame_create(allocator, NULL, &prove.frame, NULL) == FC_OK &&
      fc_rows_prove(&prove, verdict, NULL) == FC_OK) {
    (void)!write(pipe, verdict, sizeof verdict);
  }
}

void fc_local_prove(const fc_function_t *function,
                    char out_verdict[FC_VERDICT_SIZE]) {
  fc_tryout_t tryout;
  bool told = false;
  if (fc_tryout_start(&tryout, SECONDS, try_rows, function)) {
    told = fc_tryout_hear(&tryout, out_verdict, FC_VERDICT_SIZE);
    fc_tryout_end(&tryout);
  }
  if (!told) memcpy(out_verdict, kUntold, sizeof kUntold);
  out_verdict[FC_VERDICT_SIZE - 1] = '\0';
}
