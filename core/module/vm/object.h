// SPDX-License-Identifier: Apache-2.0
//
// The contents of a ref register: a counted object of one of the types in types.def.
// Also the heap that counts objects and limits their size. NULL is the null ref.
// Counting is atomic. Several calls may read an object at once, if none of them changes
// it (analysis.h).
#ifndef FARCALL_CORE_MODULE_VM_OBJECT_H_
#define FARCALL_CORE_MODULE_VM_OBJECT_H_

#include <pthread.h>
#include <stdatomic.h>

#include "farcall/base.h"
#include "module/vm/effect.h"

typedef enum fc_vm_type_t {
  FC_VM_TYPE_NONE = 0,
#define FC_VM_TYPE(name, text, kind, size, reach) FC_VM_TYPE_##name,
#include "module/vm/types.def"
#undef FC_VM_TYPE
  FC_VM_TYPE_COUNT
} fc_vm_type_t;

typedef enum fc_vm_type_kind_t {
  FC_VM_TYPE_KIND_NONE,
  FC_VM_TYPE_KIND_VALUE,
  FC_VM_TYPE_KIND_REF,
  FC_VM_TYPE_KIND_ANY_REF,
  FC_VM_TYPE_KIND_VARIANT,
} fc_vm_type_kind_t;

typedef struct fc_vm_type_info_t {
  const char *text;
  fc_vm_type_kind_t kind;
  uint32_t size;   // of a VALUE
  uint32_t reach;  // fc_vm_reach_t: what may be changed through such an object
} fc_vm_type_info_t;

// Static storage; an unknown number reads as NONE.
const fc_vm_type_info_t *fc_vm_type_info(fc_vm_type_t type);
// Finds a type by its text; FC_VM_TYPE_NONE when no known type has this text.
fc_vm_type_t fc_vm_type_find(fc_str_t text);

// The memory of objects. Counts the objects and bytes that are in use, and refuses more
// than `limit` bytes. Shared by all calls on one context.
typedef struct fc_vm_heap_t {
  fc_allocator_t allocator;
  bool cached;  // small blocks are kept in workers' caches
  size_t limit;
  struct fc_vm_heap_t *parent;  // counts the same bytes again; may be NULL
  _Atomic(size_t) bytes;        // relaxed: counters only
  _Atomic(size_t) objects;      // relaxed
  _Atomic(size_t) kept;         // relaxed; bytes that pools keep (hal/pool.h)
  // The lists that can hold lists. They may be part of a cycle, which reference
  // counting never frees.
  struct fc_vm_list_t *lists;
  // The pools on this heap. Before an allocation is refused, their kept blocks are freed.
  struct fc_hal_pool_t *pools;
  void (*_Atomic trim)(struct fc_vm_heap_t *heap);  // NULL: no pool yet
  pthread_mutex_t lock;                             // of `lists` and `pools`
} fc_vm_heap_t;

void fc_vm_heap_init(fc_vm_heap_t *heap, fc_allocator_t allocator,
                     size_t limit);
// Frees the lists that still exist because they hold each other. No thread may
// use the heap any more.
void fc_vm_heap_deinit(fc_vm_heap_t *heap);
// Allocates zeroed memory; counts `size` bytes but no object. NULL when over
// the limit or out of memory; `err` says which.
void *fc_vm_heap_alloc(fc_vm_heap_t *heap, size_t size, size_t alignment,
                       fc_error_t *err) FC_MUST_CHECK;
void fc_vm_heap_free(fc_vm_heap_t *heap, void *memory, size_t size);
// Returns an allocator that calls fc_vm_heap_alloc and fc_vm_heap_free, and keeps the
// size before each block. Its blocks must not live longer than the heap. Their
// alignment is at most 64 bytes.
fc_allocator_t fc_vm_heap_allocator(fc_vm_heap_t *heap);
// Counts memory that does not come from the heap. False when the sum is over the limit.
bool fc_vm_heap_count(fc_vm_heap_t *heap, size_t size,
                      fc_error_t *err) FC_MUST_CHECK;
void fc_vm_heap_uncount(fc_vm_heap_t *heap, size_t size);

// The head of every object.
typedef struct fc_vm_object_t fc_vm_object_t;
struct fc_vm_object_t {
  _Atomic(uint32_t) references;  // relaxed to retain, acq_rel to release
  uint8_t type;                  // fc_vm_type_t
  // The object lives as long as its module, and its references are not counted, so that
  // workers that share a constant do not contend for its cache line.
  bool immortal;
  void (*destroy)(fc_vm_object_t *object);
  fc_vm_heap_t *heap;
};

// Fills in the head of a new object, whose only reference is the caller's. Counts the
// object in `heap`.
void fc_vm_object_init(fc_vm_object_t *object, fc_vm_type_t type,
                       void (*destroy)(fc_vm_object_t *object),
                       fc_vm_heap_t *heap);
void fc_vm_object_destroy(fc_vm_object_t *object);  // fc_vm_release calls it

static inline fc_vm_object_t *fc_vm_retain(fc_vm_object_t *object) {
  if (object && !object->immortal) {
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
  }
  return object;
}

static inline void fc_vm_release(fc_vm_object_t *object) {
  if (!object || object->immortal) return;
  if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) ==
      1) {
    fc_vm_object_destroy(object);
  }
}

// True when a ref of this type may hold `object`; every type accepts null.
static inline bool fc_vm_type_accepts(fc_vm_type_t type,
                                      const fc_vm_object_t *object) {
  return !object || type == FC_VM_TYPE_ANY_REF || type == FC_VM_TYPE_VARIANT ||
         object->type == type;
}

// Returns the name of the object's type, such as "!vm.buffer"; "null" for NULL.
const char *fc_vm_object_type_name(const fc_vm_object_t *object);

#endif  // FARCALL_CORE_MODULE_VM_OBJECT_H_
