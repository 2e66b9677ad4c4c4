// SPDX-License-Identifier: Apache-2.0
//
// Lists the module files that a PATH names. The loader's thread.
#ifndef FARCALL_SERVER_MODULES_SCAN_H_
#define FARCALL_SERVER_MODULES_SCAN_H_

#include "farcall/backend.h"

typedef struct fc_listed_t {
  fc_str_t path;
  // A hash of device, inode, size and times of the file, its sidecar and its files of
  // test calls. It changes when one of them is written or replaced. 0: the file does not
  // exist.
  uint64_t mark;
  uint64_t size;  // bytes
  int folder;     // inotify's number for its directory NAME/VERSION; -1: none
  bool served;    // only for fc_versions_filter
  // The file that is loaded instead on this processor (module/variant.h); "": none. Then
  // `mark` also changes when the variant or its sidecar is written, and `size` is the
  // variant's.
  fc_str_t variant;
} fc_listed_t;

// A directory NAME or NAME/VERSION that cannot be read now but may exist.
typedef struct fc_unread_t {
  struct fc_unread_t *next;
  fc_str_t folder;
  fc_str_t name;  // of the module
  int reason;     // errno
  bool served;    // for fc_versions_filter: it is a version that is served
} fc_unread_t;

// A file of the directory that is not listed, because another file declares it as a
// variant.
typedef struct fc_declared_t {
  struct fc_declared_t *next;
  fc_str_t path;
  fc_str_t by;
} fc_declared_t;

// A file NAME/VERSION/model.onnx or model.mlir that no module file is beside.
typedef struct fc_uncompiled_t {
  struct fc_uncompiled_t *next;
  fc_str_t path;
} fc_uncompiled_t;

typedef struct fc_listing_t {
  fc_arena_t arena;  // the paths lie in it
  bool is_directory;
  bool moved;  // only for fc_scan: a directory was replaced while it was read
  fc_listed_t *files;
  size_t count;
  size_t capacity;
  int unwatched;  // errno of a directory that cannot be watched; 0: none
  int *marks;     // inotify's numbers for the directories that are watched
  size_t mark_count;
  size_t mark_capacity;
  fc_unread_t *unread;
  fc_declared_t *declared;
  fc_uncompiled_t *uncompiled;
} fc_listing_t;

// Lists the files of a directory that have the suffix of one of the `backends`
// (NULL-terminated), and its files NAME/VERSION/model.SUFFIX, in bytewise order of their
// paths. Names that begin with a dot are left out. Variants of a listed file
// (module/variant.h) are not listed, but noted in `declared`; models that must be
// compiled first, where Triton has models, in `uncompiled`. A PATH that is not a
// directory is listed itself, whether it exists or not. A directory NAME or NAME/VERSION
// that cannot be read is noted in `unread`: its files are unknown. If meanwhile the PATH
// or a directory NAME is moved away or replaced, or a directory NAME/VERSION moved away,
// everything is listed again, a few times at most. So a listing never has only a part of
// a directory, or parts of two. FC_CODE_MODULE_PATH: the PATH cannot be read, or has no
// such file. FC_CODE_OUT_OF_MEMORY, also if too many files are open. `watch` is inotify's
// descriptor: directories NAME and NAME/VERSION are watched from then on (watch.h); -1:
// they are not.
fc_status_t fc_scan(fc_str_t path, const fc_backend_t *const *backends,
                    int watch, fc_allocator_t allocator,
                    fc_listing_t *out_listing, fc_error_t *err) FC_MUST_CHECK;
// If the configuration names a file of test calls for a listed file, mixes the device,
// inode, size and times of the test file into the listed file's `mark`. `tests` is a
// sequence of pairs: "NAME" or "NAME@VERSION", then the self_test of that name's policy.
// A NUL ends each text. A self_test of "auto" or "off" names no file.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_scan_mark_tests(fc_listing_t *listing, fc_str_t tests,
                               fc_allocator_t allocator,
                               fc_error_t *err) FC_MUST_CHECK;
void fc_listing_deinit(fc_listing_t *listing);  // a zeroed listing is allowed

#endif  // FARCALL_SERVER_MODULES_SCAN_H_
