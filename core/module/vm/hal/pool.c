// SPDX-License-Identifier: Apache-2.0
//
// The pool: a stack of free blocks for each size class. The worker that owns the pool
// takes the lock. Another worker takes it only to release a buffer of this pool, or when
// the heap has no room for its allocation. So threads hardly ever wait for the lock.
#include "module/vm/hal/pool.h"

#include "base/sanitize.h"
#include "module/vm/cache.h"

#define ALIGNMENT 64
#define SMALLEST_BITS 8  // 256 bytes
#define CLASS_MAX ((size_t)1 << 30)
#define CLASS_COUNT (4 * (31 - SMALLEST_BITS))
#define NO_CLASS CLASS_COUNT
#define KEPT_MAX ((size_t)256 << 20)  // by all pools of a heap

typedef struct block_t {
  struct block_t *next;
} block_t;

struct fc_hal_pool_t {
  fc_vm_heap_t *heap;
  fc_hal_pool_t *next;  // in heap->pools, under the heap's lock
  fc_hal_pool_t *previous;
  pthread_mutex_t lock;  // guards all below; taken after the heap's lock
  block_t *free[CLASS_COUNT];
  size_t lent;  // blocks in use
  bool released;
};

static uint32_t class_of(size_t size, size_t *out_size) {
  return fc_vm_size_class(size, SMALLEST_BITS, out_size);
}

// Returns every kept block to the heap. Called under the lock.
static void empty(fc_hal_pool_t *pool) {
  for (uint32_t i = 0; i < CLASS_COUNT; i++) {
    const size_t base = (size_t)1 << (i / 4 + SMALLEST_BITS);
    const size_t size = base + i % 4 * (base / 4);
    while (pool->free[i]) {
      block_t *block = pool->free[i];
      FC_UNPOISON(block, size);
      pool->free[i] = block->next;
      atomic_fetch_sub_explicit(&pool->heap->kept, size, memory_order_relaxed);
      fc_vm_heap_free(pool->heap, block, size);
    }
  }
}

// The `trim` of a heap: returns the kept blocks of all its pools. It takes the lock of
// each pool, so it must not be called under the lock of a pool. As an allocation can call
// `trim`, nothing may be allocated under such a lock, either.
static void empty_all(fc_vm_heap_t *heap) {
  pthread_mutex_lock(&heap->lock);
  for (fc_hal_pool_t *pool = heap->pools; pool; pool = pool->next) {
    pthread_mutex_lock(&pool->lock);
    empty(pool);
    pthread_mutex_unlock(&pool->lock);
  }
  pthread_mutex_unlock(&heap->lock);
}

fc_status_t fc_hal_pool_create(fc_vm_heap_t *heap, fc_hal_pool_t **out,
                               fc_error_t *err) {
  fc_hal_pool_t *pool = fc_alloc(heap->allocator, sizeof *pool);
  if (!pool) return fc_fail_memory(err);
  pool->heap = heap;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_mutex_lock(&heap->lock);
  pool->next = heap->pools;
  if (pool->next) pool->next->previous = pool;
  heap->pools = pool;
  atomic_store_explicit(&heap->trim, empty_all, memory_order_release);
  pthread_mutex_unlock(&heap->lock);
  *out = pool;
  return FC_OK;
}

static void unlink_pool(fc_hal_pool_t *pool) {
  fc_vm_heap_t *heap = pool->heap;
  pthread_mutex_lock(&heap->lock);
  if (pool->next) pool->next->previous = pool->previous;
  if (pool->previous) pool->previous->next = pool->next;
  else heap->pools = pool->next;
  pthread_mutex_unlock(&heap->lock);
}

// Unlocks the pool. Frees it if it was released and none of its blocks is in use.
static void leave(fc_hal_pool_t *pool) {
  const bool last = pool->released && pool->lent == 0;
  pthread_mutex_unlock(&pool->lock);
  if (!last) return;
  pthread_mutex_destroy(&pool->lock);
  fc_free(pool->heap->allocator, pool);
}

void fc_hal_pool_release(fc_hal_pool_t *pool) {
  if (!pool) return;
  unlink_pool(pool);
  pthread_mutex_lock(&pool->lock);
  empty(pool);
  pool->released = true;
  leave(pool);
}

// Takes a kept block of the class; NULL if there is none. In both cases one more block
// counts as lent, which keeps the pool alive until the block is returned.
static block_t *take_kept(fc_hal_pool_t *pool, uint32_t index, size_t size,
                          size_t whole) {
  pthread_mutex_lock(&pool->lock);
  block_t *block = index == NO_CLASS ? NULL : pool->free[index];
  if (block) {
    FC_UNPOISON(block, size > sizeof *block ? size : sizeof *block);
    pool->free[index] = block->next;
    atomic_fetch_sub_explicit(&pool->heap->kept, whole, memory_order_relaxed);
  }
  pool->lent++;
  pthread_mutex_unlock(&pool->lock);
  return block;
}

// True when the heap's limit leaves room for the size of the class, beside the
// blocks in use and the kept blocks. If not, the block gets exactly the requested size,
// since rounding up must not make a call fail.
static bool fits(const fc_vm_heap_t *heap, size_t size) {
  const size_t bytes = atomic_load_explicit(&heap->bytes, memory_order_relaxed);
  return size <= heap->limit && bytes <= heap->limit - size;
}

void *fc_hal_pool_take(fc_hal_pool_t *pool, size_t size, size_t *out_size,
                       fc_error_t *err) {
  *out_size = size;
  const uint32_t index = size > CLASS_MAX ? NO_CLASS : class_of(size, out_size);
  void *block = take_kept(pool, index, size, *out_size);
  if (block) return memset(block, 0, size);
  if (!fits(pool->heap, *out_size)) *out_size = size;
  block = fc_vm_heap_alloc(pool->heap, *out_size, ALIGNMENT, err);
  if (block) return block;
  pthread_mutex_lock(&pool->lock);
  pool->lent--;
  leave(pool);
  return NULL;
}

// Counts `size` more bytes as kept, if the heap's pools may keep them; false if not.
static bool keep(fc_vm_heap_t *heap, size_t size) {
  const size_t before =
      atomic_fetch_add_explicit(&heap->kept, size, memory_order_relaxed);
  const size_t most = heap->limit / FC_HAL_POOL_SHARE;
  if (before + size <= (most < KEPT_MAX ? most : KEPT_MAX)) return true;
  atomic_fetch_sub_explicit(&heap->kept, size, memory_order_relaxed);
  return false;
}

void fc_hal_pool_give(fc_hal_pool_t *pool, void *memory, size_t size) {
  size_t whole = 0;
  const uint32_t index = size > CLASS_MAX ? NO_CLASS : class_of(size, &whole);
  pthread_mutex_lock(&pool->lock);
  pool->lent--;
  if (whole == size && !pool->released && keep(pool->heap, size)) {
    block_t *block = memory;
    FC_UNPOISON(block, sizeof *block);
    block->next = pool->free[index];
    pool->free[index] = block;
    FC_POISON(block, size);
  } else {
    FC_UNPOISON(memory, size);
    fc_vm_heap_free(pool->heap, memory, size);
  }
  leave(pool);
}
