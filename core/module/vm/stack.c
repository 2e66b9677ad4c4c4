// SPDX-License-Identifier: Apache-2.0
//
// The stack: a chain of chunks. Blocks are taken from the current chunk and freed in
// reverse order. Called by the interpreter and by natives. One call at a time.
#include "module/vm/stack.h"

#include <inttypes.h>

#include "base/sanitize.h"

#define CHUNK_SIZE ((size_t)16 << 10)

// The address sanitizer sees a chunk as one allocation. So bytes that it forbids to touch
// follow each block and each bank of registers: then it notices an access past their end.
#define GAP ((size_t)(FC_ASAN ? 64 : 0))
#define FORBID(begin, end) \
  FC_POISON(begin, (size_t)((uint8_t *)(end) - (begin)))

struct fc_vm_chunk_t {
  fc_vm_chunk_t *next;
  fc_vm_chunk_t *previous;
  size_t size;
  size_t used;
  _Alignas(16) uint8_t data[];
};

static size_t align16(size_t size) { return (size + 15) & ~(size_t)15; }

void fc_vm_stack_init(fc_vm_stack_t *stack, fc_allocator_t allocator,
                      size_t size_max, uint32_t depth_max) {
  *stack = (fc_vm_stack_t){
      .allocator = allocator, .size_max = size_max, .depth_max = depth_max};
}

void fc_vm_stack_deinit(fc_vm_stack_t *stack) {
  FC_ASSERT(stack->depth == 0 && stack->size == 0);
  for (fc_vm_chunk_t *chunk = stack->first, *next; chunk; chunk = next) {
    next = chunk->next;
    fc_free(stack->allocator, chunk);
  }
  stack->first = stack->current = NULL;
}

// Finds or makes the chunk after the current one, with room for `size`. If the next chunk
// is too small, it is empty and is replaced, so that the kept memory stays in
// proportion to the stack's limit.
static fc_vm_chunk_t *next_chunk(fc_vm_stack_t *stack, size_t size) {
  fc_vm_chunk_t *current = stack->current;
  fc_vm_chunk_t *next = current ? current->next : stack->first;
  if (next && next->size >= size) return next;
  size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
  fc_vm_chunk_t *chunk =
      fc_alloc_aligned(stack->allocator, sizeof *chunk + room, 16);
  if (!chunk) return NULL;
  fc_vm_chunk_t *after = next ? next->next : NULL;
  fc_free(stack->allocator, next);
  *chunk = (fc_vm_chunk_t){.next = after, .previous = current, .size = room};
  if (after) after->previous = chunk;
  if (current) current->next = chunk;
  else stack->first = chunk;
  return chunk;
}

void *fc_vm_stack_alloc(fc_vm_stack_t *stack, size_t wanted, fc_error_t *err) {
  size_t size = align16(wanted) + GAP;
  if (size > stack->size_max - stack->size) {
    fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
               "the stack is over its limit of %zu bytes", stack->size_max);
    return NULL;
  }
  fc_vm_chunk_t *chunk = stack->current;
  if (!chunk || size > chunk->size - chunk->used) {
    chunk = next_chunk(stack, size);
    if (!chunk) {
      fc_fail_memory(err);
      return NULL;
    }
    stack->current = chunk;
  }
  void *memory = chunk->data + chunk->used;
  chunk->used += size;
  stack->size += size;
  FC_UNPOISON(memory, size);
  memset(memory, 0, size);
  FORBID((uint8_t *)memory + wanted, (uint8_t *)memory + size);
  return memory;
}

void fc_vm_stack_free(fc_vm_stack_t *stack, void *memory, size_t size) {
  fc_vm_chunk_t *chunk = stack->current;
  size = align16(size) + GAP;
  FC_UNPOISON(memory, size);
  FC_ASSERT((uint8_t *)memory + size == chunk->data + chunk->used);
  chunk->used -= size;
  stack->size -= size;
  if (chunk->used == 0 && chunk->previous) stack->current = chunk->previous;
}

// Return the offsets of the cells and the refs of a frame.
static size_t cells_offset(void) {
  return align16(sizeof(fc_vm_frame_t)) + GAP;
}
static size_t refs_offset(const fc_vm_function_t *function) {
  return cells_offset() + align16(function->cell_count * sizeof(int32_t)) + GAP;
}

static size_t frame_size(const fc_vm_function_t *function) {
  return refs_offset(function) + function->ref_count * sizeof(fc_vm_object_t *);
}

fc_vm_frame_t *fc_vm_stack_push(fc_vm_stack_t *stack,
                                const fc_vm_function_t *function,
                                fc_error_t *err) {
  if (stack->depth == stack->depth_max) {
    fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
               "calls are nested deeper than %" PRIu32, stack->depth_max);
    return NULL;
  }
  fc_vm_frame_t *frame = fc_vm_stack_alloc(stack, frame_size(function), err);
  if (!frame) return NULL;
  uint8_t *start = (uint8_t *)frame;
  frame->function = function;
  frame->cells = (int32_t *)(void *)(start + cells_offset());
  frame->refs = (fc_vm_object_t **)(void *)(start + refs_offset(function));
  FORBID((uint8_t *)(frame + 1), frame->cells);
  FORBID((uint8_t *)(frame->cells + function->cell_count), frame->refs);
  stack->depth++;
  return frame;
}

void fc_vm_stack_pop(fc_vm_stack_t *stack, fc_vm_frame_t *frame) {
  const fc_vm_function_t *function = frame->function;
  for (uint32_t i = 0; i < function->ref_count; i++) {
    fc_vm_release(frame->refs[i]);
  }
  stack->depth--;
  fc_vm_stack_free(stack, frame, frame_size(function));
}
