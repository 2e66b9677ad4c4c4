// SPDX-License-Identifier: Apache-2.0
//
// A loaded shared object. Loading it resolves all its symbols, by its own definitions
// first (except under sanitizers), redirects its references to malloc and similar
// functions to the hooks (hook.h), and notes where the object is mapped. Opened on the
// thread that loads modules, read from any thread.
#ifndef FARCALL_MODULE_NATIVE_DYLIB_H_
#define FARCALL_MODULE_NATIVE_DYLIB_H_

#include "module/native/so_file.h"
#include "module/native/hook.h"
#include "module/snapshot.h"

typedef struct fc_dylib_reference_t {
  void **place;
  void *original;
  bool protected;  // the loader made its page read-only
} fc_dylib_reference_t;

typedef struct fc_dylib_t {
  fc_allocator_t allocator;
  void *handle;
  uintptr_t base;
  fc_span_t *segments;  // mapped segments that can be read
  size_t segment_count;
  fc_dylib_reference_t *references;  // references that were redirected
  size_t reference_count;
  fc_heap_t heap;
  bool leavable;  // see fc_hook_t
} fc_dylib_t;

// Checks the symbols without loading the object. Sets `leavable` and zeroes the rest of
// the struct; after a failure nothing is written. FC_CODE_SYMBOL_CLASH when an exported
// function has the name of a function of the C library that compilers treat specially.
fc_status_t fc_dylib_check(const fc_so_t *elf, fc_dylib_t *out_dylib,
                           fc_error_t *err);
// Loads an object that fc_dylib_check checked, and runs its constructors.
// FC_CODE_MODULE_LOAD when the loader refuses it. `path` is the file from which
// the snapshot was made. The caller must close the dylib, even after a failure.
fc_status_t fc_dylib_open(fc_dylib_t *dylib, const fc_snapshot_t *snapshot,
                          const fc_so_t *elf, fc_str_t path,
                          fc_allocator_t allocator, fc_error_t *err);
// Restores the redirected references, then runs the destructors. Accepts a
// dylib that is zeroed, or was only checked.
void fc_dylib_close(fc_dylib_t *dylib);

// Finds the address of a symbol that the object, or a library that it needs, exports;
// NULL if there is none.
void *fc_dylib_find(const fc_dylib_t *dylib, const char *name);
// True when the bytes lie inside one mapped segment that can be read.
bool fc_dylib_contains(const fc_dylib_t *dylib, fc_span_t bytes);

#endif  // FARCALL_MODULE_NATIVE_DYLIB_H_
