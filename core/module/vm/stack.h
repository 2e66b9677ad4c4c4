// SPDX-License-Identifier: Apache-2.0
//
// The register frames of running functions. Chunks are kept from call to call, so a
// warm stack serves calls without an allocation; only a chunk that is too small for
// a frame is replaced. Frames never move. Belongs to one worker; one call at a time.
#ifndef FARCALL_CORE_MODULE_VM_STACK_H_
#define FARCALL_CORE_MODULE_VM_STACK_H_

#include "module/vm/vmfb.h"

#define FC_VM_STACK_SIZE ((size_t)1 << 20)
#define FC_VM_STACK_DEPTH 8192u

typedef struct fc_vm_frame_t {
  struct fc_vm_frame_t *caller;
  const fc_vm_function_t *function;
  int32_t *cells;  // a 64-bit value is in two cells, the first of them even
  fc_vm_object_t **refs;
  // Where the caller continues: the registers for the results, and the code
  // after them. NULL in the first frame of a run.
  const uint8_t *results;
  const uint8_t *next;
} fc_vm_frame_t;

typedef struct fc_vm_chunk_t fc_vm_chunk_t;
typedef struct fc_vm_stack_t {
  fc_allocator_t allocator;
  size_t size_max;
  uint32_t depth_max;
  size_t size;  // bytes handed out
  uint32_t depth;
  fc_vm_chunk_t *first;
  fc_vm_chunk_t *current;
} fc_vm_stack_t;

void fc_vm_stack_init(fc_vm_stack_t *stack, fc_allocator_t allocator,
                      size_t size_max, uint32_t depth_max);
// Every frame must have been popped.
void fc_vm_stack_deinit(fc_vm_stack_t *stack);

// Pushes a frame with zeroed registers. NULL when size_max or depth_max would be
// exceeded, or when out of memory.
fc_vm_frame_t *fc_vm_stack_push(fc_vm_stack_t *stack,
                                const fc_vm_function_t *function,
                                fc_error_t *err) FC_MUST_CHECK;
// Removes the newest frame and releases its refs.
void fc_vm_stack_pop(fc_vm_stack_t *stack, fc_vm_frame_t *frame);

// Allocates zeroed bytes, 16-byte aligned. They must be freed in reverse order and with
// the same `size`. NULL when size_max would be exceeded, or when out of memory.
void *fc_vm_stack_alloc(fc_vm_stack_t *stack, size_t size,
                        fc_error_t *err) FC_MUST_CHECK;
void fc_vm_stack_free(fc_vm_stack_t *stack, void *memory, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_STACK_H_
