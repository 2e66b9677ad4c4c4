// SPDX-License-Identifier: Apache-2.0
//
// !vm.buffer: bytes that a module loads and stores. The module gives offsets
// and lengths as i64, in bytes or in elements. They are checked here.
#ifndef FARCALL_CORE_MODULE_VM_BUFFER_H_
#define FARCALL_CORE_MODULE_VM_BUFFER_H_

#include "module/vm/object.h"

typedef struct fc_vm_buffer_t {
  fc_vm_object_t object;
  uint8_t *data;
  uint64_t size;
  bool read_only;
  size_t block_size;  // of the allocation in which this struct is first
} fc_vm_buffer_t;

// Makes a buffer of zeroed bytes from the heap. `alignment` comes from the
// module: a value that is less than 16, or not a power of two, counts as 16; a
// value above 4096 fails.
fc_status_t fc_vm_buffer_create(fc_vm_heap_t *heap, uint64_t size,
                                uint32_t alignment, fc_vm_buffer_t **out,
                                fc_error_t *err) FC_MUST_CHECK;
// Makes `buffer` a constant of a module: read-only, and never released. The caller
// still owns `data`.
void fc_vm_buffer_init_constant(fc_vm_buffer_t *buffer, const uint8_t *data,
                                size_t size);

// Returns the buffer of a ref; NULL when the ref is null or of another type.
static inline fc_vm_buffer_t *fc_vm_buffer_from(fc_vm_object_t *object) {
  return object && object->type == FC_VM_TYPE_BUFFER ? (fc_vm_buffer_t *)object
                                                     : NULL;
}

// Returns the bytes [offset*element, (offset+count)*element) if they lie in the buffer,
// else NULL. `element` is a power of two up to 8.
static inline uint8_t *fc_vm_buffer_at(const fc_vm_buffer_t *buffer,
                                       int64_t offset, int64_t count,
                                       uint32_t element) {
  uint64_t elements = buffer->size / element;
  uint64_t first = (uint64_t)offset, length = (uint64_t)count;
  if (first > elements || length > elements - first) return NULL;
  return buffer->data + first * element;
}

fc_status_t fc_vm_buffer_clone(fc_vm_heap_t *heap, const fc_vm_buffer_t *source,
                               int64_t offset, int64_t size, uint32_t alignment,
                               fc_vm_buffer_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_vm_buffer_copy(const fc_vm_buffer_t *source,
                              int64_t source_offset, fc_vm_buffer_t *target,
                              int64_t target_offset, int64_t size,
                              fc_error_t *err) FC_MUST_CHECK;
// *out is 1 when the bytes are equal, else 0.
fc_status_t fc_vm_buffer_compare(const fc_vm_buffer_t *left,
                                 int64_t left_offset,
                                 const fc_vm_buffer_t *right,
                                 int64_t right_offset, int64_t size,
                                 int32_t *out, fc_error_t *err) FC_MUST_CHECK;
// Writes the low `element` bytes of `pattern`, `count` times.
fc_status_t fc_vm_buffer_fill(fc_vm_buffer_t *target, int64_t offset,
                              int64_t count, uint32_t element, uint64_t pattern,
                              fc_error_t *err) FC_MUST_CHECK;
// Writes the SipHash-2-4 of the bytes, with the key 00 01 … 0f.
fc_status_t fc_vm_buffer_hash(const fc_vm_buffer_t *buffer, int64_t offset,
                              int64_t size, int64_t *out,
                              fc_error_t *err) FC_MUST_CHECK;

// The error of an access that fc_vm_buffer_at refused.
fc_status_t fc_vm_buffer_range_error(const fc_vm_buffer_t *buffer,
                                     int64_t offset, int64_t count,
                                     uint32_t element, fc_error_t *err);
fc_status_t fc_vm_buffer_read_only_error(fc_error_t *err);

#endif  // FARCALL_CORE_MODULE_VM_BUFFER_H_
