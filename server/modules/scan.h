// SPDX-License-Identifier: Apache-2.0
//
// The module files that a PATH names. The loader's thread.
#ifndef FARCALL_SERVER_MODULES_SCAN_H_
#define FARCALL_SERVER_MODULES_SCAN_H_

#include "farcall/backend.h"

typedef struct fc_listed_t {
  fc_str_t path;
  // Differs when the file or its sidecar was written or replaced since; 0:
  // there is no such file.
  uint64_t mark;
  uint64_t size;  // bytes
  bool served;    // of fc_versions_filter
} fc_listed_t;

typedef struct fc_listing_t {
  fc_arena_t arena;  // the paths lie in it
  bool is_directory;
  fc_listed_t *files;
  size_t count;
  size_t capacity;
} fc_listing_t;

// Lists the files of a directory that have the suffix of one of the `backends`
// (NULL-terminated), and its NAME/VERSION/model.*, in bytewise order. A path that is no
// directory is listed itself, whether the file exists or not.
// FC_CODE_MODULE_PATH when a directory cannot be read or has no such file.
fc_status_t fc_scan(fc_str_t path, const fc_backend_t *const *backends,
                    fc_allocator_t allocator, fc_listing_t *out_listing,
                    fc_error_t *err) FC_MUST_CHECK;
void fc_listing_deinit(fc_listing_t *listing);  // a zeroed listing is allowed

#endif  // FARCALL_SERVER_MODULES_SCAN_H_
