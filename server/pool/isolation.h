// SPDX-License-Identifier: Apache-2.0
//
// Which host a module's calls run in: --isolation=auto|process|thread, then
// NAME=process or NAME=thread for single modules, separated by commas.
#ifndef FARCALL_SERVER_POOL_ISOLATION_H_
#define FARCALL_SERVER_POOL_ISOLATION_H_

#include "farcall/base.h"

typedef enum fc_isolation_mode_t {
  FC_ISOLATION_AUTO,  // machine code in processes, bytecode in threads
  FC_ISOLATION_PROCESS,
  FC_ISOLATION_THREAD,
} fc_isolation_mode_t;

typedef struct fc_isolation_t {
  fc_isolation_mode_t mode;
  fc_str_t others;  // the list of single modules, checked; borrowed
} fc_isolation_t;

fc_status_t fc_isolation_parse(fc_str_t text, fc_isolation_t *out_isolation,
                               fc_error_t *err);
// Does this module belong in a process?
bool fc_isolation_process(const fc_isolation_t *isolation, fc_str_t module,
                          bool runs_native);

#endif  // FARCALL_SERVER_POOL_ISOLATION_H_
