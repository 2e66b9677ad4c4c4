// SPDX-License-Identifier: Apache-2.0
//
// The files a module is made of: found, taken as snapshots, hashed. From then on
// nobody looks at anything but the snapshots. The thread that loads.
#ifndef FARCALL_MODULE_FILES_H_
#define FARCALL_MODULE_FILES_H_

#include "farcall/module.h"

#define FC_PATH_SIZE_MAX 4096

// The last segment of a path.
fc_str_t fc_path_file(fc_str_t path);

// Opens what lies beside the module at `path` (NUL-terminated) under its name
// with `suffix` in place of its own. `suffix` NULL, or no such file: -1.
fc_status_t fc_files_open_sidecar(fc_str_t path, const char *suffix,
                                  int *out_fd, fc_error_t *err);

// Takes snapshots of both files and hashes the first, unless its digest is given
// and the file has not changed. What was taken must be closed, also after a
// failure. `sealed_max` as in fc_backend_t.
fc_status_t fc_files_read(const fc_module_files_t *files, size_t sealed_max,
                          fc_snapshot_t *out_file, fc_snapshot_t *out_sidecar,
                          fc_file_digest_t *out_digest, fc_error_t *err);

#endif  // FARCALL_MODULE_FILES_H_
