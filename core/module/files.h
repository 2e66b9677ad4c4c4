// SPDX-License-Identifier: Apache-2.0
//
// The files a module is made of: finds them, takes snapshots of them, hashes
// them. Everything later reads the snapshots only. Runs on the thread that
// loads.
#ifndef FARCALL_MODULE_FILES_H_
#define FARCALL_MODULE_FILES_H_

#include "farcall/module.h"

#define FC_PATH_SIZE_MAX 4096

// The last segment of a path.
fc_str_t fc_path_file(fc_str_t path);

// Opens the module's sidecar: the file whose path is `path` (NUL-terminated)
// with `suffix` in place of its own. *out_fd is -1 when `suffix` is NULL or
// there is no such file.
fc_status_t fc_files_open_sidecar(fc_str_t path, const char *suffix,
                                  int *out_fd, fc_error_t *err);

// Takes snapshots of both files and hashes the module's, unless its digest is
// given and the file has not changed. The caller closes what was taken, also
// after a failure. `sealed_max` as in fc_backend_t, `hash_max` as in
// fc_module_options_t: out_digest->sha256 may be "".
fc_status_t fc_files_read(const fc_module_files_t *files, size_t sealed_max,
                          uint64_t hash_max, fc_snapshot_t *out_file,
                          fc_snapshot_t *out_sidecar,
                          fc_file_digest_t *out_digest, fc_error_t *err);
// Hashes what fc_files_read has not. FC_CODE_MODULE_PATH when the file was written
// to since (`read` has what was noted then), or cannot be read.
fc_status_t fc_files_hash(const fc_snapshot_t *file,
                          const fc_file_digest_t *read, char out_hex[65],
                          fc_error_t *err);

#endif  // FARCALL_MODULE_FILES_H_
