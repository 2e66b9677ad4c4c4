// SPDX-License-Identifier: Apache-2.0
//
// nghttp2's memory. nghttp2 reallocates a block without giving its old size, so each
// block has its size in front.
#include "http2/connection.h"

// A hundred answers with heads that wait, both tables of fields and the frames take
// some 200 KB.
#define MOST ((size_t)512 << 10)
#define FRONT 16u  // bytes of the size, so that the memory after it is aligned

static size_t size_of(const void *memory) {
  size_t size;
  memcpy(&size, (const char *)memory - FRONT, sizeof size);
  return size;
}

static void *take(size_t size, void *context) {
  fc_http2_memory_t *all = context;
  if (size > MOST || all->taken > MOST - size) return NULL;
  char *memory = fc_alloc_aligned(all->allocator, FRONT + size, FRONT);
  if (!memory) return NULL;
  memcpy(memory, &size, sizeof size);
  all->taken += size;
  return memory + FRONT;
}

static void give(void *memory, void *context) {
  fc_http2_memory_t *all = context;
  if (!memory) return;
  all->taken -= size_of(memory);
  fc_free(all->allocator, (char *)memory - FRONT);
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
  const size_t old_size = size_of(memory);
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
