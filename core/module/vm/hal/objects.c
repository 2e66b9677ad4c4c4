// SPDX-License-Identifier: Apache-2.0
//
// Construction and release of the HAL's objects. On workers.
#include "module/vm/hal/objects.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/guard.h"
#include "module/vm/buffer.h"
#include "module/vm/hal/pool.h"

fc_status_t fc_hal_fail(fc_error_t *err, fc_status_t status, const char *format,
                        ...) {
  char text[240];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fc_fail_as(err, FC_CODE_CALL_FAILED, status, "%s: %s",
                    fc_status_name(status), text);
}

// ---------------------------------------------------------------------------
// Arguments

fc_status_t fc_hal_expect(fc_vm_object_t *object, fc_vm_type_t type,
                          bool nullable, void *out, fc_error_t *err) {
  const bool fits = object ? object->type == type : nullable;
  if (!fits) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT, "%s expected, have %s",
                       fc_vm_type_info(type)->text,
                       fc_vm_object_type_name(object));
  }
  memcpy(out, &object, sizeof object);
  return FC_OK;
}

fc_status_t fc_hal_argument(const fc_vm_native_call_t *call, uint32_t index,
                            fc_vm_type_t type, bool nullable, void *out,
                            fc_error_t *err) {
  fc_vm_object_t *object = call->arguments[index].ref;
  const bool fits = object ? object->type == type : nullable;
  if (!fits) {
    return fc_hal_fail(
        err, FC_INVALID_ARGUMENT, "%s expected as operand %" PRIu32 ", have %s",
        fc_vm_type_info(type)->text, index, fc_vm_object_type_name(object));
  }
  memcpy(out, &object, sizeof object);
  return FC_OK;
}

fc_status_t fc_hal_text(const fc_vm_native_call_t *call, uint32_t index,
                        fc_str_t *out, fc_error_t *err) {
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_hal_argument(call, index, FC_VM_TYPE_BUFFER, true, &buffer, err));
  *out = buffer ? fc_str_make((const char *)buffer->data, buffer->size)
                : FC_STR("");
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Buffers

static void free_block(fc_hal_buffer_t *buffer) {
  if (buffer->pool) {
    fc_hal_pool_give(buffer->pool, buffer->data, buffer->block_size);
    return;
  }
  if (buffer->guarded) {
    fc_guard_free(buffer->data, buffer->block_size, FC_GUARD_ALIGNMENT);
    fc_vm_heap_uncount(buffer->object.heap, buffer->block_size);
    return;
  }
  fc_vm_heap_free(buffer->object.heap, buffer->data, buffer->block_size);
}

static void destroy_buffer(fc_vm_object_t *object) {
  fc_hal_buffer_t *buffer = (fc_hal_buffer_t *)object;
  fc_vm_heap_t *heap = object->heap;
  if (buffer->root) fc_vm_release(&buffer->root->object);
  fc_vm_release(buffer->owner);
  if (buffer->block_size) free_block(buffer);
  fc_vm_heap_free(heap, buffer, sizeof *buffer);
}

static fc_hal_buffer_t *new_buffer(fc_vm_heap_t *heap, fc_error_t *err) {
  fc_hal_buffer_t *buffer = fc_vm_heap_alloc(heap, sizeof *buffer, 16, err);
  if (buffer) {
    fc_vm_object_init(&buffer->object, FC_VM_TYPE_HAL_BUFFER, destroy_buffer,
                      heap);
  }
  return buffer;
}

static void *take_guarded(fc_vm_heap_t *heap, size_t size, fc_error_t *err) {
  if (!fc_vm_heap_count(heap, size, err)) return NULL;
  void *block = fc_guard_alloc(size, FC_GUARD_ALIGNMENT);
  if (block) return block;
  fc_vm_heap_uncount(heap, size);
  fc_fail_memory(err);
  return NULL;
}

// Allocates `size` bytes for a buffer whose pool and guard are set.
static bool take_block(fc_hal_buffer_t *buffer, size_t size, fc_error_t *err) {
  fc_vm_heap_t *heap = buffer->object.heap;
  buffer->block_size = size;
  if (buffer->guarded) {
    buffer->data = take_guarded(heap, size, err);
  } else if (buffer->pool) {
    buffer->data =
        fc_hal_pool_take(buffer->pool, size, &buffer->block_size, err);
  } else {
    buffer->data = fc_vm_heap_alloc(heap, size, FC_HAL_ALIGNMENT, err);
  }
  if (!buffer->data) buffer->block_size = 0;
  return buffer->data != NULL;
}

static fc_status_t create_buffer(fc_vm_heap_t *heap, int64_t size,
                                 fc_hal_pool_t *pool, bool guarded,
                                 fc_hal_buffer_t **out, fc_error_t *err) {
  if (size < 0) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT, "buffer of %" PRId64 " bytes",
                       size);
  }
  fc_hal_buffer_t *buffer = new_buffer(heap, err);
  if (!buffer) return FC_RESOURCE_EXHAUSTED;
  buffer->guarded = guarded;
  buffer->pool = guarded ? NULL : pool;
  if (!take_block(buffer, size ? (size_t)size : 1, err)) {
    fc_vm_release(&buffer->object);
    return FC_RESOURCE_EXHAUSTED;
  }
  buffer->size = (uint64_t)size;
  *out = buffer;
  return FC_OK;
}

fc_status_t fc_hal_buffer_create(fc_vm_heap_t *heap, int64_t size,
                                 fc_hal_buffer_t **out, fc_error_t *err) {
  return create_buffer(heap, size, NULL, false, out, err);
}

fc_status_t fc_hal_buffer_create_in(fc_vm_invocation_t *invocation,
                                    fc_vm_heap_t *heap, int64_t size,
                                    fc_hal_buffer_t **out, fc_error_t *err) {
  FC_TRY(fc_vm_work(invocation, size > 0 ? (uint64_t)size : 0, err));
  return create_buffer(heap, size, invocation->pool, invocation->guard, out,
                       err);
}

fc_status_t fc_hal_buffer_wrap(fc_vm_heap_t *heap, void *data, uint64_t size,
                               fc_vm_object_t *owner, fc_hal_buffer_t **out,
                               fc_error_t *err) {
  fc_hal_buffer_t *buffer = new_buffer(heap, err);
  if (!buffer) return FC_RESOURCE_EXHAUSTED;
  // NULL data means that the bytes were lost. An empty buffer has no bytes to
  // lose, so its data is not NULL.
  static _Alignas(FC_HAL_ALIGNMENT) uint8_t none[1];
  buffer->data = size || data ? data : none;
  buffer->size = size;
  buffer->owner = fc_vm_retain(owner);
  *out = buffer;
  return FC_OK;
}

fc_status_t fc_hal_buffer_create_awaited(fc_vm_heap_t *heap,
                                         fc_hal_buffer_t **out,
                                         fc_error_t *err) {
  FC_TRY(fc_hal_buffer_wrap(heap, NULL, 0, NULL, out, err));
  (*out)->awaited = true;
  return FC_OK;
}

fc_status_t fc_hal_buffer_provide(fc_vm_invocation_t *invocation,
                                  fc_hal_buffer_t *buffer, int64_t size,
                                  fc_error_t *err) {
  FC_TRY(fc_vm_work(invocation, (uint64_t)size, err));
  buffer->guarded = invocation->guard;
  buffer->pool = invocation->guard ? NULL : invocation->pool;
  uint8_t *empty = buffer->data;
  if (!take_block(buffer, (size_t)size, err)) {
    buffer->data = empty;
    return FC_RESOURCE_EXHAUSTED;
  }
  buffer->awaited = false;
  buffer->size = (uint64_t)size;
  return FC_OK;
}

static bool range_fits(uint64_t total, int64_t offset, int64_t size,
                       uint64_t *out_size) {
  if (offset < 0 || (uint64_t)offset > total || size < -1) return false;
  const uint64_t rest = total - (uint64_t)offset;
  *out_size = size == -1 ? rest : (uint64_t)size;
  return *out_size <= rest;
}

static fc_status_t range_error(const fc_hal_buffer_t *buffer, int64_t offset,
                               int64_t size, fc_error_t *err) {
  return fc_hal_fail(err, FC_OUT_OF_RANGE,
                     "range [%" PRId64 ", +%" PRId64
                     ") is outside a buffer of %" PRIu64 " bytes",
                     offset, size, buffer->size);
}

fc_status_t fc_hal_buffer_range(const fc_hal_buffer_t *buffer, int64_t offset,
                                int64_t size, uint8_t **out_data,
                                uint64_t *out_size, fc_error_t *err) {
  const fc_hal_buffer_t *root = buffer->root ? buffer->root : buffer;
  uint64_t clipped;
  // If a root lost its bytes (fc_hal_buffer_keep), its ranges have no bytes, either.
  if (!root->data || !range_fits(buffer->size, offset, size, &clipped)) {
    return range_error(buffer, offset, size, err);
  }
  *out_data = root->data + buffer->offset + offset;
  *out_size = clipped;
  return FC_OK;
}

fc_status_t fc_hal_buffer_subspan(fc_hal_buffer_t *buffer, int64_t offset,
                                  int64_t size, fc_hal_buffer_t **out,
                                  fc_error_t *err) {
  uint64_t clipped;
  if (!range_fits(buffer->size, offset, size, &clipped)) {
    return range_error(buffer, offset, size, err);
  }
  if (offset == 0 && clipped == buffer->size) {
    *out = (fc_hal_buffer_t *)fc_vm_retain(&buffer->object);
    return FC_OK;
  }
  fc_hal_buffer_t *part = new_buffer(buffer->object.heap, err);
  if (!part) return FC_RESOURCE_EXHAUSTED;
  fc_hal_buffer_t *root = buffer->root ? buffer->root : buffer;
  fc_vm_retain(&root->object);
  part->root = root;
  part->offset = buffer->offset + (uint64_t)offset;
  part->size = clipped;
  *out = part;
  return FC_OK;
}

// Gives the buffer its own memory, with a copy of the borrowed bytes.
static fc_status_t copy_borrowed(fc_hal_buffer_t *buffer, fc_error_t *err) {
  const size_t block_size = buffer->size ? (size_t)buffer->size : 1;
  uint8_t *copy =
      fc_vm_heap_alloc(buffer->object.heap, block_size, FC_HAL_ALIGNMENT, err);
  if (!copy) return FC_RESOURCE_EXHAUSTED;
  if (buffer->size) memcpy(copy, buffer->data, buffer->size);
  buffer->data = copy;
  buffer->block_size = block_size;
  return FC_OK;
}

bool fc_hal_buffer_keep(fc_hal_buffer_t *buffer) {
  FC_ASSERT(!buffer->root && !buffer->owner);
  const bool shared = atomic_load_explicit(&buffer->object.references,
                                           memory_order_acquire) > 1;
  if (!shared || buffer->block_size) return true;
  if (copy_borrowed(buffer, NULL) == FC_OK) return true;
  buffer->data = NULL;
  buffer->size = 0;
  return false;
}

typedef struct storage_t {
  fc_vm_buffer_t buffer;
  fc_hal_buffer_t *source;  // retained
} storage_t;

static void destroy_storage(fc_vm_object_t *object) {
  fc_vm_release(&((storage_t *)object)->source->object);
  fc_vm_heap_free(object->heap, object, sizeof(storage_t));
}

static bool is_borrowed(const fc_hal_buffer_t *root) {
  return !root->owner && !root->block_size;
}

fc_status_t fc_hal_buffer_storage(fc_hal_buffer_t *buffer, fc_vm_buffer_t **out,
                                  fc_error_t *err) {
  fc_hal_buffer_t *root = buffer->root ? buffer->root : buffer;
  if (is_borrowed(root) && root->data) FC_TRY(copy_borrowed(root, err));
  uint8_t *data;
  uint64_t size;
  FC_TRY(fc_hal_buffer_range(buffer, 0, -1, &data, &size, err));
  storage_t *storage =
      fc_vm_heap_alloc(buffer->object.heap, sizeof *storage, 16, err);
  if (!storage) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&storage->buffer.object, FC_VM_TYPE_BUFFER, destroy_storage,
                    buffer->object.heap);
  storage->buffer.data = data;
  storage->buffer.size = size;
  const fc_vm_buffer_t *owner = fc_vm_buffer_from(root->owner);
  storage->buffer.read_only = owner && owner->read_only;
  fc_vm_retain(&buffer->object);
  storage->source = buffer;
  *out = &storage->buffer;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Buffer views

bool fc_hal_elements_size(uint32_t element_type, uint32_t rank,
                          const int64_t *dims, uint64_t *out_size) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] < 0 ||
        __builtin_mul_overflow(count, (uint64_t)dims[i], &count)) {
      return false;
    }
  }
  const uint64_t bits = element_type & 0xFF;
  uint64_t total;
  if (__builtin_mul_overflow(count, bits, &total) || total > UINT64_MAX - 7) {
    return false;
  }
  *out_size = (total + 7) / 8;
  return true;
}

static void destroy_view(fc_vm_object_t *object) {
  fc_hal_view_t *view = (fc_hal_view_t *)object;
  fc_vm_release(&view->buffer->object);
  fc_vm_heap_free(object->heap, view,
                  sizeof *view + view->rank * sizeof view->dims[0]);
}

fc_status_t fc_hal_view_create(fc_hal_buffer_t *buffer, uint32_t element_type,
                               uint32_t encoding, uint32_t rank,
                               const int64_t *dims, fc_hal_view_t **out,
                               fc_error_t *err) {
  uint64_t size;
  if (rank > FC_HAL_RANK_MAX) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "buffer view of rank %" PRIu32 ", at most %d", rank,
                       FC_HAL_RANK_MAX);
  }
  if (!fc_hal_elements_size(element_type, rank, dims, &size)) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "buffer view with a negative or overflowing dim");
  }
  if (size > buffer->size) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "buffer view needs %" PRIu64 " bytes, its buffer has "
                       "%" PRIu64,
                       size, buffer->size);
  }
  fc_vm_heap_t *heap = buffer->object.heap;
  fc_hal_view_t *view =
      fc_vm_heap_alloc(heap, sizeof *view + rank * sizeof *dims, 16, err);
  if (!view) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&view->object, FC_VM_TYPE_HAL_BUFFER_VIEW, destroy_view,
                    heap);
  fc_vm_retain(&buffer->object);
  view->buffer = buffer;
  view->element_type = element_type;
  view->encoding = encoding;
  view->rank = rank;
  if (rank) memcpy(view->dims, dims, rank * sizeof *dims);
  *out = view;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Fences, files, handles

static void destroy_fence(fc_vm_object_t *object) {
  fc_vm_heap_free(object->heap, object, sizeof(fc_hal_fence_t));
}

fc_status_t fc_hal_fence_create(fc_vm_heap_t *heap, fc_hal_fence_t **out,
                                fc_error_t *err) {
  fc_hal_fence_t *fence = fc_vm_heap_alloc(heap, sizeof *fence, 16, err);
  if (!fence) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&fence->object, FC_VM_TYPE_HAL_FENCE, destroy_fence, heap);
  *out = fence;
  return FC_OK;
}

static void destroy_file(fc_vm_object_t *object) {
  fc_hal_file_t *file = (fc_hal_file_t *)object;
  fc_vm_release(file->owner);
  fc_vm_heap_free(object->heap, file, sizeof *file);
}

fc_status_t fc_hal_file_create(fc_vm_heap_t *heap, const uint8_t *data,
                               uint64_t size, fc_vm_object_t *owner,
                               fc_hal_file_t **out, fc_error_t *err) {
  fc_hal_file_t *file = fc_vm_heap_alloc(heap, sizeof *file, 16, err);
  if (!file) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&file->object, FC_VM_TYPE_HAL_FILE, destroy_file, heap);
  file->data = data;
  file->size = size;
  file->owner = fc_vm_retain(owner);
  *out = file;
  return FC_OK;
}

static void destroy_handle(fc_vm_object_t *object) {
  fc_vm_heap_free(object->heap, object, sizeof *object);
}

fc_status_t fc_hal_handle_create(fc_vm_heap_t *heap, fc_vm_type_t type,
                                 fc_vm_object_t **out, fc_error_t *err) {
  fc_vm_object_t *object = fc_vm_heap_alloc(heap, sizeof *object, 16, err);
  if (!object) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(object, type, destroy_handle, heap);
  *out = object;
  return FC_OK;
}
