// SPDX-License-Identifier: Apache-2.0
//
// Private, immutable copies of the files of a module (fc_snapshot_t,
// farcall/backend.h). The bytes that are hashed, inspected, loaded and handed
// to a worker are the same, even if the file changes meanwhile. Two loads of
// one file are two modules. A file that is too large to be copied, because it
// is mostly weights, is different: it is mapped, and later writes to it may be
// seen. Called when a module is loaded, on that thread.
#ifndef FARCALL_MODULE_SNAPSHOT_H_
#define FARCALL_MODULE_SNAPSHOT_H_

#include "farcall/backend.h"

#define FC_SNAPSHOT_NONE ((fc_snapshot_t){.fd = -1})

// Opens a regular file for fc_snapshot_make. The error is FC_CODE_OUT_OF_MEMORY
// when descriptors or memory are used up, else FC_CODE_MODULE_PATH.
fc_status_t fc_snapshot_open_file(const char *path, int *out_fd,
                                  fc_error_t *err);

// Takes the contents of `file`, which stays the caller's: at least one byte, at
// most `size_max`. A descriptor of sealed memory is not copied again. A file
// larger than `sealed_max` is mapped without a copy. 0 as `sealed_max`: every
// file is copied.
fc_status_t fc_snapshot_make(int file, size_t size_max, size_t sealed_max,
                             fc_snapshot_t *out_snapshot, fc_error_t *err);

// Opens the file and takes its contents, whatever its size, as a copy.
fc_status_t fc_snapshot_open(const char *path, fc_snapshot_t *out_snapshot,
                             fc_error_t *err);

// Reads bytes without using the mapping. False when the file has become shorter
// or cannot be read.
bool fc_snapshot_read(const fc_snapshot_t *snapshot, size_t offset, void *out,
                      size_t size);

// Lets the process write to the mapping. A written page becomes this process's
// own copy; other processes see no change.
fc_status_t fc_snapshot_allow_writes(const fc_snapshot_t *snapshot,
                                     fc_error_t *err);

void fc_snapshot_close(fc_snapshot_t *snapshot);  // a closed one is allowed

#endif  // FARCALL_MODULE_SNAPSHOT_H_
