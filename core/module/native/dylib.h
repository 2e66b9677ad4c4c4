// SPDX-License-Identifier: Apache-2.0
//
// A loaded shared object. Loading resolves all its symbols, its own definitions first
// (not so under sanitizers), redirects its references to malloc and the like to the hooks
// (hook.h), and notes where it is mapped. Opened on the thread that loads modules, read
// from any.
#ifndef FARCALL_MODULE_NATIVE_DYLIB_H_
#define FARCALL_MODULE_NATIVE_DYLIB_H_

#include "module/native/so_file.h"
#include "module/native/hook.h"
#include "module/snapshot.h"

typedef struct fc_dylib_reference_t {
  void **place;
  void *original;
  bool protected;  // its page is read-only
} fc_dylib_reference_t;

typedef struct fc_dylib_t {
  fc_allocator_t allocator;
  void *handle;
  uintptr_t base;
  fc_span_t *segments;  // those that can be read, where they are mapped
  size_t segment_count;
  fc_dylib_reference_t *references;  // references that were redirected
  size_t reference_count;
  fc_heap_t heap;
  bool leavable;  // see fc_hook_t
} fc_dylib_t;

// Checks what the symbols tell, without loading. Sets `leavable` and makes the rest
// of the struct zero; after a failure nothing is written. FC_CODE_SYMBOL_CLASH for an
// exported function that has the name of a function of the C library which compilers
// know.
fc_status_t fc_dylib_check(const fc_so_t *elf, fc_dylib_t *out_dylib,
                           fc_error_t *err);
// Loads what fc_dylib_check checked and runs the constructors.
// FC_CODE_MODULE_LOAD for what the loader refuses. `path` is the file the
// snapshot was made of. Must be closed, also after a failure.
fc_status_t fc_dylib_open(fc_dylib_t *dylib, const fc_snapshot_t *snapshot,
                          const fc_so_t *elf, fc_str_t path,
                          fc_allocator_t allocator, fc_error_t *err);
// Puts back what was redirected, then runs the destructors. Accepts a dylib
// that is zeroed, or was checked only.
void fc_dylib_close(fc_dylib_t *dylib);

// The address of a symbol that the object, or a library it needs, exports; NULL if there
// is none.
void *fc_dylib_find(const fc_dylib_t *dylib, const char *name);
// True when the bytes lie inside one mapped segment that can be read.
bool fc_dylib_contains(const fc_dylib_t *dylib, fc_span_t bytes);

#endif  // FARCALL_MODULE_NATIVE_DYLIB_H_
