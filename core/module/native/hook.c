// SPDX-License-Identifier: Apache-2.0
//
// The replacements for a module's allocation functions, puts and abort. They run on the
// worker's thread inside the module's call. On a thread that the module itself made,
// they do the same as the process's functions.
#include "module/native/hook.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

// A larger request than a process can map is refused here, because a sanitizer
// would end the process for it.
#define ALLOCATION_MAX ((size_t)1 << 47)

// A block of this size or more usually comes fresh from the system, so calloc need not
// clear it. For smaller blocks malloc and memset are faster, since glibc's calloc does
// not use the thread's cache.
#define FRESH_MIN ((size_t)128 << 10)

static _Thread_local fc_hook_t *running;

static const fc_heap_t kProcessHeap = {malloc,        calloc,         realloc,
                                       aligned_alloc, posix_memalign, free};

fc_heap_t fc_heap_default(void) { return kProcessHeap; }

// Returns the usable size of `memory`, or `otherwise` if it is unknown: only the
// process's heap can tell it.
static size_t room_of(const fc_heap_t *heap, void *memory, size_t otherwise) {
  return heap->realloc == realloc ? malloc_usable_size(memory) : otherwise;
}

// Hides the requested size from _FORTIFY_SOURCE=3, which would otherwise end the
// process at the first byte after it, although malloc_usable_size allows that byte.
static void forget_size(void *memory) { __asm__("" : "+r"(*(void **)memory)); }

// Zeroes memory that a module gets, even on the module's own threads: a result may
// contain memory to which the function did not write.
static void *zeroed(const fc_heap_t *heap, void *memory, size_t size) {
  forget_size(&memory);
  return memory ? memset(memory, 0, room_of(heap, memory, size)) : NULL;
}

static void *take(const fc_heap_t *heap, size_t size) {
  if (size == 0) size = 1;
  if (size >= FRESH_MIN) return heap->calloc(1, size);
  return zeroed(heap, heap->malloc(size), size);
}

// Resizes a block that an earlier call allocated and whose size was not noted.
static void *resize(const fc_heap_t *heap, void *memory, size_t size) {
  const size_t had = room_of(heap, memory, SIZE_MAX);
  uint8_t *moved = heap->realloc(memory, size);
  if (!moved) return NULL;
  const size_t has = room_of(heap, moved, 0);
  forget_size(&moved);
  if (had < has) memset(moved + had, 0, has - had);
  return moved;
}

static _Noreturn void leave(fc_hook_t *hook, fc_hook_outcome_t outcome) {
  running = NULL;
  hook->failed = true;
  longjmp(hook->exit, (int)outcome);
}

// Notes a block that the module gets. If the allocation failed, ends the call, if the
// call can be left, because compiled code never checks the result of malloc.
static void *track(fc_hook_t *hook, void *memory, size_t size) {
  const size_t live = hook->own.count;
  if (FC_LIKELY(memory && fc_own_add(&hook->own, memory, size))) {
    hook->allocated += hook->own.count - live;
    return memory;
  }
  if (memory) hook->heap->free(memory);
  if (hook->leavable) {
    hook->size = size;
    leave(hook, FC_HOOK_OUT_OF_MEMORY);
  }
  errno = ENOMEM;
  return NULL;
}

static void *hook_malloc(size_t size) {
  fc_hook_t *hook = running;
  if (!hook) return take(&kProcessHeap, size);
  if (size > ALLOCATION_MAX) return track(hook, NULL, size);
  return track(hook, take(hook->heap, size), size);
}

static void *hook_calloc(size_t count, size_t size) {
  fc_hook_t *hook = running;
  if (!hook) return calloc(count, size);
  size_t total;
  if (!fc_size_mul(count, size, &total)) {
    // run() of function.c reports a size over PTRDIFF_MAX as negative.
    const bool negative = count > PTRDIFF_MAX || size > PTRDIFF_MAX;
    total = negative ? SIZE_MAX : PTRDIFF_MAX;
  }
  if (total > ALLOCATION_MAX) return track(hook, NULL, total);
  return track(hook, hook->heap->calloc(1, total ? total : 1), total);
}

static void *hook_aligned_alloc(size_t alignment, size_t size) {
  fc_hook_t *hook = running;
  if (!hook) return zeroed(&kProcessHeap, aligned_alloc(alignment, size), size);
  if (size > ALLOCATION_MAX) return track(hook, NULL, size);
  void *memory = hook->heap->aligned_alloc(alignment, size);
  return track(hook, zeroed(hook->heap, memory, size), size);
}

static int hook_posix_memalign(void **out_memory, size_t alignment,
                               size_t size) {
  fc_hook_t *hook = running;
  const fc_heap_t *heap = hook ? hook->heap : &kProcessHeap;
  void *memory = NULL;
  if (hook && size > ALLOCATION_MAX) {
    track(hook, NULL, size);
    return ENOMEM;
  }
  int error = heap->posix_memalign(&memory, alignment, size ? size : 1);
  if (error && (error != ENOMEM || !hook)) return error;
  memory = zeroed(heap, error ? NULL : memory, size);
  if (hook) memory = track(hook, memory, size);
  if (!memory) return ENOMEM;
  *out_memory = memory;
  return 0;
}

// True when the module may free `memory`. Freeing an argument would corrupt the process:
// it is only noted, and the call fails. So is a block that an exact function did not
// allocate in this call, or has already freed. Another function may free a block that an
// earlier call allocated; whether one did, is not checked.
static bool may_free(fc_hook_t *hook, void *memory) {
  if (fc_own_remove(&hook->own, memory)) {
    hook->freed++;
    return true;
  }
  bool foreign = hook->exact;
  for (size_t i = 0; i < hook->lent_count && !foreign; i++) {
    foreign = hook->borrowed[i] == memory;
  }
  if (foreign) hook->freed_foreign = true;
  return !foreign;
}

static void hook_free(void *memory) {
  fc_hook_t *hook = running;
  if (!hook) {
    free(memory);
    return;
  }
  if (memory && may_free(hook, memory)) hook->heap->free(memory);
}

static void *hook_realloc(void *memory, size_t size) {
  fc_hook_t *hook = running;
  if (!memory) return hook_malloc(size);
  if (!hook) return resize(&kProcessHeap, memory, size);
  fc_own_block_t *block = fc_own_find(&hook->own, memory);
  if (!block) {
    if (!may_free(hook, memory)) return track(hook, NULL, size);
    return resize(hook->heap, memory, size);  // allocated before this call
  }
  const size_t old_size = block->size;
  void *moved = hook_malloc(size);
  if (!moved) return NULL;
  memcpy(moved, memory, old_size < size ? old_size : size);
  hook_free(memory);
  return moved;
}

// Writes the text of puts to the module's output, unless it was written already. Not
// called after an abort: then the text is the reason for the failure.
static void show(fc_hook_t *hook) {
  if (FC_UNLIKELY(hook->text_size) && !hook->shown) {
    fwrite(hook->text, 1, hook->text_size, stderr);
  }
  hook->text_size = 0;
  hook->shown = false;
}

FILE *fc_hook_output(void) {
  fc_hook_t *hook = running;
  if (hook && hook->text_size && !hook->shown) {
    fwrite(hook->text, 1, hook->text_size, stderr);
    hook->shown = true;
  }
  return stderr;
}

static int hook_puts(const char *text) {
  fc_hook_t *hook = running;
  if (!hook || !hook->leavable) return puts(text);
  size_t size = strlen(text);
  if (size + 1 > sizeof hook->text - hook->text_size || hook->shown) show(hook);
  if (size + 1 > sizeof hook->text) {  // keep only its beginning
    fprintf(stderr, "%s\n", text);
    hook->shown = true;
    size = sizeof hook->text - 1;
  }
  memcpy(hook->text + hook->text_size, text, size);
  hook->text_size += size;
  hook->text[hook->text_size++] = '\n';
  return 0;
}

static _Noreturn void hook_abort(void) {
  fc_hook_t *hook = running;
  if (!hook || !hook->leavable) abort();
  leave(hook, FC_HOOK_ABORTED);
}

#define HEAP(member) offsetof(fc_heap_t, member)
const fc_hook_entry_t fc_hook_entries[] = {
    {"malloc", (void *)(uintptr_t)hook_malloc, HEAP(malloc)},
    {"free", (void *)(uintptr_t)hook_free, HEAP(free)},
    {"calloc", (void *)(uintptr_t)hook_calloc, HEAP(calloc)},
    {"realloc", (void *)(uintptr_t)hook_realloc, HEAP(realloc)},
    {"aligned_alloc", (void *)(uintptr_t)hook_aligned_alloc,
     HEAP(aligned_alloc)},
    {"posix_memalign", (void *)(uintptr_t)hook_posix_memalign,
     HEAP(posix_memalign)},
    {"_mlir_memref_to_llvm_alloc", (void *)(uintptr_t)hook_malloc,
     FC_HEAP_NONE},
    {"_mlir_memref_to_llvm_aligned_alloc",
     (void *)(uintptr_t)hook_aligned_alloc, FC_HEAP_NONE},
    {"_mlir_memref_to_llvm_free", (void *)(uintptr_t)hook_free, FC_HEAP_NONE},
    {"mlirAlloc", (void *)(uintptr_t)hook_malloc, FC_HEAP_NONE},
    {"mlirAlignedAlloc", (void *)(uintptr_t)hook_aligned_alloc, FC_HEAP_NONE},
    {"mlirFree", (void *)(uintptr_t)hook_free, FC_HEAP_NONE},
    {"mlirAlignedFree", (void *)(uintptr_t)hook_free, FC_HEAP_NONE},
    {"puts", (void *)(uintptr_t)hook_puts, FC_HEAP_NONE},
    {"abort", (void *)(uintptr_t)hook_abort, FC_HEAP_NONE},
};
const size_t fc_hook_entry_count = FC_ARRAY_COUNT(fc_hook_entries);

fc_hook_outcome_t fc_hook_run(fc_hook_t *hook, void (*function)(void *context),
                              void *context) {
  hook->failed = hook->freed_foreign = false;
  hook->text_size = 0;
  hook->shown = false;
  const int left = _setjmp(hook->exit);
  if (left == FC_HOOK_ABORTED) return FC_HOOK_ABORTED;
  if (!left) {
    running = hook;
    function(context);
    running = NULL;
  }
  show(hook);
  return (fc_hook_outcome_t)left;
}
