// SPDX-License-Identifier: Apache-2.0
//
// Tells which kind of module a file is. Lists of backends are NULL-terminated.
// Any thread.
#ifndef FARCALL_MODULE_BACKENDS_H_
#define FARCALL_MODULE_BACKENDS_H_

#include "farcall/backend.h"

// Finds the first backend of the list whose probe accepts the bytes of `file`,
// which is open for reading. Reads at most FC_PROBE_SIZE bytes. If no probe accepts
// them, `err` is from the backend whose suffix `path` has, if there is one.
fc_status_t fc_backends_choose(const fc_backend_t *const *backends,
                               fc_str_t path, int file,
                               const fc_backend_t **out_backend,
                               fc_error_t *err);

// Checks options. FC_INVALID_ARGUMENT when no backend of the list has one of them; `err`
// names that option.
fc_status_t fc_backends_check(const fc_backend_t *const *backends,
                              const fc_setting_t *settings, size_t count,
                              fc_error_t *err);

// The first backend whose suffix `path` ends with; NULL when there is none.
const fc_backend_t *fc_backends_by_suffix(const fc_backend_t *const *backends,
                                          fc_str_t path);

#endif  // FARCALL_MODULE_BACKENDS_H_
