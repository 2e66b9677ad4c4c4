// SPDX-License-Identifier: Apache-2.0
//
// What a module's malloc, free, puts and abort do while one of its functions
// runs. Loading redirects the module's own references to the functions of
// hook.c (dylib.h); other code of the process never calls these. The functions
// of hook.c find the running call through a thread-local pointer, which is set
// only while fc_hook_run runs.
#ifndef FARCALL_MODULE_NATIVE_HOOK_H_
#define FARCALL_MODULE_NATIVE_HOOK_H_

#include <setjmp.h>
#include <stdio.h>

#include "module/native/own.h"

// The functions that the module would call without the hooks. The module's
// blocks are freed by the `free` in this struct, which with RTLD_DEEPBIND may
// differ from the process's.
typedef struct fc_heap_t {
  void *(*malloc)(size_t size);
  void *(*calloc)(size_t count, size_t size);
  void *(*realloc)(void *memory, size_t size);
  void *(*aligned_alloc)(size_t alignment, size_t size);
  int (*posix_memalign)(void **out_memory, size_t alignment, size_t size);
  void (*free)(void *memory);
} fc_heap_t;

// Returns the process's own functions.
fc_heap_t fc_heap_default(void);

#define FC_HEAP_NONE SIZE_MAX

// An import that is redirected, and the fc_heap_t member that keeps the
// original (FC_HEAP_NONE: the original is not needed).
typedef struct fc_hook_entry_t {
  const char *name;
  void *replacement;
  size_t heap_member;  // offset in fc_heap_t
} fc_hook_entry_t;
extern const fc_hook_entry_t fc_hook_entries[];
extern const size_t fc_hook_entry_count;

typedef enum fc_hook_outcome_t {
  FC_HOOK_RETURNED = 0,
  FC_HOOK_ABORTED,        // `text` says why, if the module printed a reason
  FC_HOOK_OUT_OF_MEMORY,  // an allocation of `size` bytes failed
} fc_hook_outcome_t;

// One call of a module, reused by its instance.
typedef struct fc_hook_t {
  const fc_heap_t *heap;
  fc_own_t own;  // the blocks that this call allocated and has not freed
  // True if longjmp may leave every stack frame of the module, because the module
  // imports nothing that could need cleaning up. If false, its abort ends the process,
  // its puts writes to stdout, and its malloc returns NULL when out of memory.
  bool leavable;
  bool exact;  // the function may free only what it allocated in the same call
  // Addresses that the module must not free.
  void *const *borrowed;
  size_t lent_count;
  // Set by the run:
  bool failed;         // if true, blocks that are not freed are no leak
  bool freed_foreign;  // the module tried to free memory that it may not free
  size_t size;
  size_t text_size;
  // The text that the module printed with puts. If the module aborts, the text is the
  // reason (a report of MLIR quotes whole operations); otherwise it is output.
  char text[8192];
  bool shown;  // the text is already written: it was long, or others wrote
  // How many blocks this call has allocated and freed; native_call_end sets
  // both to 0. If the module frees a block unnoticed, a new block at the same address
  // is not counted again.
  uint64_t allocated;
  uint64_t freed;
  jmp_buf exit;
} fc_hook_t;

// Runs `function(context)` as a call of the module.
fc_hook_outcome_t fc_hook_run(fc_hook_t *hook, void (*function)(void *context),
                              void *context);

// Returns stderr, for farcall's other functions that print for modules. To keep the
// order, it first writes the text that the call on this thread printed with puts.
FILE *fc_hook_output(void);

#endif  // FARCALL_MODULE_NATIVE_HOOK_H_
