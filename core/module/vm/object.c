// SPDX-License-Identifier: Apache-2.0
//
// Types, heap and object counting. Destroying an object may release others;
// lists of lists are destroyed without recursion (list.c). Any thread.
#include "module/vm/object.h"

#include "module/vm/cache.h"
#include "module/vm/list.h"

#define TRIMS 8

static const fc_vm_type_info_t infos[FC_VM_TYPE_COUNT] = {
    [FC_VM_TYPE_NONE] = {"none", FC_VM_TYPE_KIND_NONE, 0, FC_VM_REACH_ANY},
#define FC_VM_TYPE(name, text, kind, size, reach) \
  [FC_VM_TYPE_##                                  \
      name] = {text, FC_VM_TYPE_KIND_##kind, size, FC_VM_REACH_##reach},
#include "module/vm/types.def"
#undef FC_VM_TYPE
};

const fc_vm_type_info_t *fc_vm_type_info(fc_vm_type_t type) {
  return &infos[(unsigned)type < FC_VM_TYPE_COUNT ? type : FC_VM_TYPE_NONE];
}

fc_vm_type_t fc_vm_type_find(fc_str_t text) {
  if (fc_str_starts(text, FC_STR("!vm.list<"))) return FC_VM_TYPE_LIST;
  for (int type = FC_VM_TYPE_NONE + 1; type < FC_VM_TYPE_COUNT; type++) {
    if (fc_str_equal(text, fc_str(infos[type].text))) return (fc_vm_type_t)type;
  }
  return FC_VM_TYPE_NONE;
}

void fc_vm_heap_init(fc_vm_heap_t *heap, fc_allocator_t allocator,
                     size_t limit) {
  heap->allocator = allocator;
  heap->cached = fc_vm_cache_takes(allocator);
  heap->limit = limit;
  heap->parent = NULL;
  atomic_init(&heap->bytes, 0);
  atomic_init(&heap->objects, 0);
  atomic_init(&heap->kept, 0);
  pthread_mutex_init(&heap->lock, NULL);
  heap->lists = NULL;
  heap->pools = NULL;
  atomic_init(&heap->trim, NULL);
}

void fc_vm_heap_deinit(fc_vm_heap_t *heap) {
  for (fc_vm_list_t *list = heap->lists; list; list = list->next) {
    fc_vm_retain(&list->object);
  }
  for (fc_vm_list_t *list = heap->lists; list; list = list->next) {
    fc_status_t shrunk = fc_vm_list_resize(list, 0, NULL);
    FC_ASSERT(shrunk == FC_OK);
  }
  while (heap->lists) fc_vm_release(&heap->lists->object);
  pthread_mutex_destroy(&heap->lock);
}

// Counts `size` bytes in this heap alone. If the sum is over the limit, kept blocks are
// freed (trim), and it tries again: meanwhile other workers may give blocks to their
// pools, so there are several attempts. No sum overflows, because `size` is at most the
// limit.
static bool count_in(fc_vm_heap_t *heap, size_t size, fc_error_t *err) {
  for (int i = 0; size <= heap->limit && i < TRIMS; i++) {
    size_t before =
        atomic_fetch_add_explicit(&heap->bytes, size, memory_order_relaxed);
    if (before <= heap->limit - size) return true;
    atomic_fetch_sub_explicit(&heap->bytes, size, memory_order_relaxed);
    void (*trim)(fc_vm_heap_t *) =
        atomic_load_explicit(&heap->trim, memory_order_acquire);
    if (!trim) break;
    trim(heap);
  }
  fc_fail_as(
      err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
      "%zu bytes more are over the module's limit of %zu bytes, of which "
      "%zu are in use (--module-heap)",
      size, heap->limit,
      atomic_load_explicit(&heap->bytes, memory_order_relaxed));
  return false;
}

// Subtracts `size` bytes from the counts of this heap and of its parents, up to but not
// including `end`.
static void uncount_until(fc_vm_heap_t *heap, const fc_vm_heap_t *end,
                          size_t size) {
  for (; heap != end; heap = heap->parent) {
    atomic_fetch_sub_explicit(&heap->bytes, size, memory_order_relaxed);
  }
}

bool fc_vm_heap_count(fc_vm_heap_t *heap, size_t size, fc_error_t *err) {
  for (fc_vm_heap_t *at = heap; at; at = at->parent) {
    if (count_in(at, size, err)) continue;
    uncount_until(heap, at, size);
    return false;
  }
  return true;
}

void fc_vm_heap_uncount(fc_vm_heap_t *heap, size_t size) {
  uncount_until(heap, NULL, size);
}

static bool is_cached(const fc_vm_heap_t *heap, size_t size) {
  return heap->cached && size <= FC_VM_CACHE_BLOCK_MAX;
}

void *fc_vm_heap_alloc(fc_vm_heap_t *heap, size_t size, size_t alignment,
                       fc_error_t *err) {
  if (!fc_vm_heap_count(heap, size, err)) return NULL;
  void *memory = is_cached(heap, size)
                     ? fc_vm_cache_alloc(size, alignment)
                     : fc_alloc_aligned(heap->allocator, size, alignment);
  if (!memory) {
    fc_vm_heap_uncount(heap, size);
    fc_fail_memory(err);
    return NULL;
  }
  memset(memory, 0, size);
  return memory;
}

void fc_vm_heap_free(fc_vm_heap_t *heap, void *memory, size_t size) {
  if (!memory) return;
  fc_vm_heap_uncount(heap, size);
  if (is_cached(heap, size)) fc_vm_cache_free(memory, size);
  else fc_free(heap->allocator, memory);
}

#define SIZE_ROOM 64  // keeps what follows aligned like the block

static void *allocate_sized(void *context, size_t size, size_t alignment) {
  FC_ASSERT(alignment <= SIZE_ROOM);
  size_t whole;
  if (!fc_size_add(size, SIZE_ROOM, &whole)) return NULL;
  uint8_t *block = fc_vm_heap_alloc(context, whole, SIZE_ROOM, NULL);
  if (!block) return NULL;
  memcpy(block, &whole, sizeof whole);
  return block + SIZE_ROOM;
}

static void release_sized(void *context, void *memory) {
  uint8_t *block = (uint8_t *)memory - SIZE_ROOM;
  size_t whole;
  memcpy(&whole, block, sizeof whole);
  fc_vm_heap_free(context, block, whole);
}

fc_allocator_t fc_vm_heap_allocator(fc_vm_heap_t *heap) {
  return (fc_allocator_t){heap, allocate_sized, release_sized};
}

void fc_vm_object_init(fc_vm_object_t *object, fc_vm_type_t type,
                       void (*destroy)(fc_vm_object_t *object),
                       fc_vm_heap_t *heap) {
  atomic_init(&object->references, 1);
  object->type = (uint8_t)type;
  object->immortal = false;
  object->destroy = destroy;
  object->heap = heap;
  atomic_fetch_add_explicit(&heap->objects, 1, memory_order_relaxed);
}

void fc_vm_object_destroy(fc_vm_object_t *object) {
  atomic_fetch_sub_explicit(&object->heap->objects, 1, memory_order_relaxed);
  object->destroy(object);
}

const char *fc_vm_object_type_name(const fc_vm_object_t *object) {
  return object ? fc_vm_type_info((fc_vm_type_t)object->type)->text : "null";
}
