// SPDX-License-Identifier: Apache-2.0
//
// nghttp2's memory. nghttp2 reallocates a block without giving its old size, so each
// block has its size in front. nghttp2 takes some twenty small blocks for each request:
// those that are given back are kept and used again (fc_http2_kept_t).
#include "base/sanitize.h"
#include "http2/connection.h"

// A hundred answers with heads that wait, both tables of fields and the frames take
// some 200 KB.
#define MOST ((size_t)512 << 10)
#define BITS 5u
#define SMALLEST (1u << BITS)  // bytes of a block of the first class
#define KEPT 64u               // the most blocks of a class that are kept

struct fc_http2_front_t {
  uint32_t size;           // as nghttp2 wanted it
  uint32_t class;          // FC_HTTP2_CLASSES: none, the block is large
  fc_http2_front_t *next;  // kept block of its class
};
_Static_assert(sizeof(fc_http2_front_t) == 16,
               "what follows is aligned for anything");

static fc_http2_front_t *front_of(void *memory) {
  return (fc_http2_front_t *)memory - 1;
}

// Returns the class of a block of `size` bytes.
static unsigned class_of(size_t size) {
  if (size <= SMALLEST) return 0;
  const unsigned bits = 64 - (unsigned)__builtin_clzll(size - 1);
  return bits < BITS + FC_HTTP2_CLASSES ? bits - BITS : FC_HTTP2_CLASSES;
}

static fc_http2_front_t *take_kept(fc_http2_kept_t *kept, unsigned class) {
  fc_http2_front_t *front = kept->first[class];
  if (!front) return NULL;
  kept->first[class] = front->next;
  kept->count[class]--;
  FC_UNPOISON(front + 1, (size_t)SMALLEST << class);
  return front;
}

static void *take(size_t size, void *context) {
  fc_http2_memory_t *all = context;
  const unsigned class = class_of(size);
  const bool is_small = class < FC_HTTP2_CLASSES;
  if (size > MOST || all->taken > MOST - size) return NULL;
  fc_http2_front_t *front = is_small ? take_kept(all->kept, class) : NULL;
  if (!front) {
    const size_t room = is_small ? (size_t)SMALLEST << class : size;
    front =
        fc_alloc_aligned(all->allocator, sizeof *front + room, sizeof *front);
  }
  if (!front) return NULL;
  front->size = (uint32_t)size;
  front->class = class;
  all->taken += size;
  return front + 1;
}

static void give(void *memory, void *context) {
  fc_http2_memory_t *all = context;
  if (!memory) return;
  fc_http2_front_t *front = front_of(memory);
  const unsigned class = front->class;
  all->taken -= front->size;
  if (class == FC_HTTP2_CLASSES || all->kept->count[class] == KEPT) {
    fc_free(all->allocator, front);
    return;
  }
  front->next = all->kept->first[class];
  all->kept->first[class] = front;
  all->kept->count[class]++;
  FC_POISON(memory, (size_t)SMALLEST << class);
}

static void *take_array(size_t count, size_t size, void *context) {
  if (size && count > MOST / size) return NULL;
  void *memory = take(count * size, context);
  if (memory) memset(memory, 0, count * size);
  return memory;
}

static void *take_again(void *memory, size_t size, void *context) {
  void *grown = take(size, context);
  if (!grown || !memory) return grown;
  const size_t old_size = front_of(memory)->size;
  memcpy(grown, memory, old_size < size ? old_size : size);
  give(memory, context);
  return grown;
}

void fc_http2_memory_hooks(fc_http2_memory_t *memory, nghttp2_mem *out) {
  *out = (nghttp2_mem){.mem_user_data = memory,
                       .malloc = take,
                       .free = give,
                       .calloc = take_array,
                       .realloc = take_again};
}

void fc_http2_kept_deinit(fc_http2_kept_t *kept, fc_allocator_t allocator) {
  for (unsigned i = 0; i < FC_HTTP2_CLASSES; i++) {
    for (fc_http2_front_t *front; (front = take_kept(kept, i));) {
      fc_free(allocator, front);
    }
  }
}
