// SPDX-License-Identifier: Apache-2.0
//
// !vm.buffer (IREE runtime/src/iree/vm/buffer.c). Used by the interpreter, by the C
// functions that bytecode imports (natives.h), and for arguments and results of calls.
// Several calls may read a buffer at once, if none of them changes it (analysis.h).
#include "module/vm/buffer.h"

#include <inttypes.h>

#include "base/load.h"

#define ALIGNMENT_MAX 4096

static void destroy(fc_vm_object_t *object) {
  fc_vm_heap_free(object->heap, object, ((fc_vm_buffer_t *)object)->block_size);
}

fc_status_t fc_vm_buffer_create(fc_vm_heap_t *heap, uint64_t size,
                                uint32_t alignment, fc_vm_buffer_t **out,
                                fc_error_t *err) {
  if (alignment < 16 || (alignment & (alignment - 1))) alignment = 16;
  if (alignment > ALIGNMENT_MAX) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INVALID_ARGUMENT,
                      "buffer alignment %" PRIu32 " exceeds %d", alignment,
                      ALIGNMENT_MAX);
  }
  size_t head, total;
  if (!fc_size_align(sizeof(fc_vm_buffer_t), alignment, &head) ||
      !fc_size_add(head, (size_t)size, &total)) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
                      "no memory for a buffer of %" PRIu64 " bytes", size);
  }
  fc_vm_buffer_t *buffer = fc_vm_heap_alloc(heap, total, alignment, err);
  if (!buffer) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&buffer->object, FC_VM_TYPE_BUFFER, destroy, heap);
  buffer->data = (uint8_t *)buffer + head;
  buffer->size = size;
  buffer->block_size = total;
  *out = buffer;
  return FC_OK;
}

void fc_vm_buffer_init_constant(fc_vm_buffer_t *buffer, const uint8_t *data,
                                size_t size) {
  *buffer = (fc_vm_buffer_t){
      .object = {.type = FC_VM_TYPE_BUFFER, .immortal = true},
      .data = (uint8_t *)(uintptr_t)data,  // read_only: never written to
      .size = size,
      .read_only = true};
}

fc_status_t fc_vm_buffer_range_error(const fc_vm_buffer_t *buffer,
                                     int64_t offset, int64_t count,
                                     uint32_t element, fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
                    "%" PRId64 " elements of %" PRIu32 " bytes at %" PRId64
                    " are outside a buffer of %" PRIu64 " bytes",
                    count, element, offset, buffer->size);
}

fc_status_t fc_vm_buffer_read_only_error(fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_PERMISSION_DENIED,
                    "the buffer is read-only");
}

fc_status_t fc_vm_buffer_clone(fc_vm_heap_t *heap, const fc_vm_buffer_t *source,
                               int64_t offset, int64_t size, uint32_t alignment,
                               fc_vm_buffer_t **out, fc_error_t *err) {
  const uint8_t *from = fc_vm_buffer_at(source, offset, size, 1);
  if (!from) return fc_vm_buffer_range_error(source, offset, size, 1, err);
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(heap, (uint64_t)size, alignment, &buffer, err));
  if (size) memcpy(buffer->data, from, (size_t)size);
  *out = buffer;
  return FC_OK;
}

fc_status_t fc_vm_buffer_copy(const fc_vm_buffer_t *source,
                              int64_t source_offset, fc_vm_buffer_t *target,
                              int64_t target_offset, int64_t size,
                              fc_error_t *err) {
  const uint8_t *from = fc_vm_buffer_at(source, source_offset, size, 1);
  uint8_t *to = fc_vm_buffer_at(target, target_offset, size, 1);
  if (!from) {
    return fc_vm_buffer_range_error(source, source_offset, size, 1, err);
  }
  if (target->read_only) return fc_vm_buffer_read_only_error(err);
  if (!to) return fc_vm_buffer_range_error(target, target_offset, size, 1, err);
  if (size) memmove(to, from, (size_t)size);  // both may be the same buffer
  return FC_OK;
}

fc_status_t fc_vm_buffer_compare(const fc_vm_buffer_t *left,
                                 int64_t left_offset,
                                 const fc_vm_buffer_t *right,
                                 int64_t right_offset, int64_t size,
                                 int32_t *out, fc_error_t *err) {
  const uint8_t *a = fc_vm_buffer_at(left, left_offset, size, 1);
  const uint8_t *b = fc_vm_buffer_at(right, right_offset, size, 1);
  if (!a) return fc_vm_buffer_range_error(left, left_offset, size, 1, err);
  if (!b) return fc_vm_buffer_range_error(right, right_offset, size, 1, err);
  *out = size == 0 || !memcmp(a, b, (size_t)size);
  return FC_OK;
}

fc_status_t fc_vm_buffer_fill(fc_vm_buffer_t *target, int64_t offset,
                              int64_t count, uint32_t element, uint64_t pattern,
                              fc_error_t *err) {
  if (target->read_only) return fc_vm_buffer_read_only_error(err);
  uint8_t *to = fc_vm_buffer_at(target, offset, count, element);
  if (!to) return fc_vm_buffer_range_error(target, offset, count, element, err);
  if (element == 1) {
    if (count) memset(to, (uint8_t)pattern, (size_t)count);
    return FC_OK;
  }
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * element, &pattern, element);
  return FC_OK;
}

static inline uint64_t rotate(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[0] = rotate(v[0], 32);
  v[2] += v[3];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sip_round(v);
  sip_round(v);
  v[0] ^= word;
}

fc_status_t fc_vm_buffer_hash(const fc_vm_buffer_t *buffer, int64_t offset,
                              int64_t size, int64_t *out, fc_error_t *err) {
  const uint8_t *bytes = fc_vm_buffer_at(buffer, offset, size, 1);
  if (!bytes) return fc_vm_buffer_range_error(buffer, offset, size, 1, err);
  const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                   key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
  size_t whole = (size_t)size & ~(size_t)7;
  for (size_t i = 0; i < whole; i += 8) sip_word(v, fc_load_u64(bytes + i));
  uint64_t last = (uint64_t)size << 56;
  for (size_t i = whole; i < (size_t)size; i++) {
    last |= (uint64_t)bytes[i] << (8 * (i - whole));
  }
  sip_word(v, last);
  v[2] ^= 0xff;
  for (int i = 0; i < 4; i++) sip_round(v);
  *out = (int64_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
  return FC_OK;
}
