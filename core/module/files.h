// SPDX-License-Identifier: Apache-2.0
//
// The files of a module: finds them, takes snapshots of them, hashes them. All later
// code reads only the snapshots. Runs on the thread that loads; fc_files_hash may run
// later on another one. Functions that use only paths may be called on any thread.
#ifndef FARCALL_MODULE_FILES_H_
#define FARCALL_MODULE_FILES_H_

#include "farcall/module.h"

#define FC_PATH_SIZE_MAX 4096

// Returns the last segment of a path.
fc_str_t fc_path_file(fc_str_t path);

// Opens the module's sidecar: the file whose path is `path` (NUL-terminated) with
// `suffix` in place of its own. *out_fd is -1 when `suffix` is NULL or there is no such
// file. FC_CODE_ABI_METADATA when the file exists but cannot be opened.
fc_status_t fc_files_open_sidecar(fc_str_t path, const char *suffix,
                                  int *out_fd, fc_error_t *err);

// Takes snapshots of both files and hashes the module's file. It does not hash the file
// in two cases. First: `files` has its digest and the file has not changed since.
// Second: `hash_max` (fc_module_options_t) is not 0, the file is larger than it, and
// there is no sidecar; then out_digest->sha256 is "". `sealed_max` as in fc_backend_t.
// The caller sets both snapshots to FC_SNAPSHOT_NONE before (the one of an absent
// sidecar stays so) and closes both afterwards, even after a failure.
fc_status_t fc_files_read(const fc_module_files_t *files, size_t sealed_max,
                          uint64_t hash_max, fc_snapshot_t *out_file,
                          fc_snapshot_t *out_sidecar,
                          fc_file_digest_t *out_digest, fc_error_t *err);
// Asks `options`->admit about a sealed copy of *sidecar, a descriptor or -1 (no
// sidecar). If it is admitted, *sidecar is closed and becomes a descriptor of the copy,
// whose sum is written to `out_sha256`; otherwise both stay unchanged. Does nothing if
// `admit` is NULL.
fc_status_t fc_files_admit_sidecar(int *sidecar,
                                   const fc_module_options_t *options,
                                   char out_sha256[65], fc_error_t *err);
// Asks `options`->admit, which must be set, about the sum of a sidecar.
fc_status_t fc_files_admit_sum(const char *sha256,
                               const fc_module_options_t *options,
                               fc_error_t *err);
// Hashes a file that fc_files_read did not hash. FC_CODE_MODULE_PATH when the
// file cannot be read, or when it is not sealed and was written to after
// fc_files_read noted its size and time in `read`.
fc_status_t fc_files_hash(const fc_snapshot_t *file,
                          const fc_file_digest_t *read, char out_hex[65],
                          fc_error_t *err);

// Finds NAME and VERSION in a path .../NAME/VERSION/model.EXT, where VERSION is 1 to 18
// digits and does not begin with 0 (fc_is_version). False for any other path.
bool fc_path_is_version(fc_str_t path, fc_str_t *out_name,
                        fc_str_t *out_version);
// Finds name and version for any path. The name is what fc_module_name makes of the path,
// or the whole path where fc_module_name fails. The version is "1" unless the path
// has the form that fc_path_is_version reads, and fc_module_name succeeds.
void fc_path_identify(fc_str_t path, fc_str_t *out_name, fc_str_t *out_version);
bool fc_is_version(fc_str_t text);
bool fc_is_module_name(fc_str_t text);
// Compares versions. The result is below 0 when version `a` is lower than `b`, 0 when
// they are the same, and above 0 when `a` is higher.
int fc_version_compare(fc_str_t a, fc_str_t b);

#endif  // FARCALL_MODULE_FILES_H_
