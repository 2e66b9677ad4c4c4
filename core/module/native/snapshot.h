// SPDX-License-Identifier: Apache-2.0
//
// A private, immutable copy of a module file. What is hashed, inspected and
// loaded are the same bytes, whatever happens to the file meanwhile; and two
// loads of one file are two modules.
#ifndef FARCALL_MODULE_NATIVE_SNAPSHOT_H_
#define FARCALL_MODULE_NATIVE_SNAPSHOT_H_

#include "farcall/base.h"

typedef struct fc_snapshot_t {
  int fd;          // a sealed memfd
  fc_str_t bytes;  // mapped, page-aligned
} fc_snapshot_t;

// `path` is NUL-terminated. FC_CODE_MODULE_PATH when it cannot be read.
fc_status_t fc_snapshot_open(fc_str_t path, fc_snapshot_t *out_snapshot,
                             fc_error_t *err);
void fc_snapshot_close(fc_snapshot_t *snapshot);

#endif  // FARCALL_MODULE_NATIVE_SNAPSHOT_H_
