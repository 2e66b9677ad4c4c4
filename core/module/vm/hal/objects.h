// SPDX-License-Identifier: Apache-2.0
//
// The objects of the `hal` module, a synchronous device whose memory is the host's. All
// are counted objects of the context's heap; a constructor retains the objects that it
// is given. Several calls can use an object at once if none of them changes it. Calls
// that could change what others see run one at a time (analysis.h).
//
// This design has no interface for another device: `data` of a buffer is the host's
// memory, a fence is signalled when the call that signals it returns, and a dispatch
// (executable_kind.h) gets pointers. To add another device, change these first.
#ifndef FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_
#define FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_

#include "kernels/library.h"
#include "module/vm/buffer.h"
#include "module/vm/natives.h"

#define FC_HAL_RANK_MAX 128
#define FC_HAL_ALIGNMENT 64

// ---------------------------------------------------------------------------
// Buffers

// A root, which has bytes, or a range of a root. A range gets the bytes from its root
// at every use, because borrowed bytes of a root may move (fc_hal_buffer_keep,
// fc_hal_buffer_storage).
typedef struct fc_hal_buffer_t {
  fc_vm_object_t object;
  struct fc_hal_buffer_t *root;  // of a range, retained; NULL: this is a root
  uint64_t offset;               // in the root
  uint64_t size;
  // The members from here on are only for a root:
  uint8_t *data;
  fc_vm_object_t *owner;       // retained owner of the bytes; NULL: none
  size_t block_size;           // of the root's own memory; 0: it has none
  struct fc_hal_pool_t *pool;  // that memory came from it; NULL: from none
  bool guarded;                // that memory ends at an unmapped page
  bool awaited;                // empty until the module asserts a size
} fc_hal_buffer_t;

// Makes a root with zeroed bytes from the heap, 64-byte aligned.
fc_status_t fc_hal_buffer_create(fc_vm_heap_t *heap, int64_t size,
                                 fc_hal_buffer_t **out,
                                 fc_error_t *err) FC_MUST_CHECK;
// Makes a root whose zeroed bytes come from the invocation's pool (NULL: from the heap)
// or, with the invocation's `guard`, from a guarded block. Costs fuel for the bytes,
// and can fail for it, as fc_vm_work.
fc_status_t fc_hal_buffer_create_in(fc_vm_invocation_t *invocation,
                                    fc_vm_heap_t *heap, int64_t size,
                                    fc_hal_buffer_t **out,
                                    fc_error_t *err) FC_MUST_CHECK;
// Makes an empty root for a result. The module asserts how many bytes it needs before
// it uses them. On its first assert fc_hal_buffer_provide makes these bytes.
fc_status_t fc_hal_buffer_create_awaited(fc_vm_heap_t *heap,
                                         fc_hal_buffer_t **out,
                                         fc_error_t *err) FC_MUST_CHECK;
// Gives an awaited buffer its bytes, as fc_hal_buffer_create_in does.
fc_status_t fc_hal_buffer_provide(fc_vm_invocation_t *invocation,
                                  fc_hal_buffer_t *buffer, int64_t size,
                                  fc_error_t *err) FC_MUST_CHECK;
// Makes a root over bytes that `owner` keeps alive. If `owner` is NULL, they are
// borrowed from the caller, who must call fc_hal_buffer_keep before freeing them.
fc_status_t fc_hal_buffer_wrap(fc_vm_heap_t *heap, void *data, uint64_t size,
                               fc_vm_object_t *owner, fc_hal_buffer_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Makes the range [offset, offset + size) of `buffer`; -1 as `size` means to the end.
// If the range covers the whole buffer, *out is the buffer itself, retained.
// OUT_OF_RANGE when the range does not lie inside the buffer.
fc_status_t fc_hal_buffer_subspan(fc_hal_buffer_t *buffer, int64_t offset,
                                  int64_t size, fc_hal_buffer_t **out,
                                  fc_error_t *err) FC_MUST_CHECK;
// The holder of one reference calls this before the borrowed bytes are freed. If the
// module still holds another reference, the buffer gets a copy of the bytes. False when
// there is no memory for the copy; then the buffer is empty, and each access to it fails.
bool fc_hal_buffer_keep(fc_hal_buffer_t *buffer);

// Makes a !vm.buffer over the bytes of `buffer`, which it keeps alive. It is read-only
// if the bytes are those of a read-only !vm.buffer. If the bytes are borrowed, the root
// of `buffer` first gets its own copy of them, because from then on they must not move.
fc_status_t fc_hal_buffer_storage(fc_hal_buffer_t *buffer, fc_vm_buffer_t **out,
                                  fc_error_t *err) FC_MUST_CHECK;

// Checks the range [offset, offset + size); -1 as `size` means to the end. *out_data is
// its first byte, *out_size its size.
fc_status_t fc_hal_buffer_range(const fc_hal_buffer_t *buffer, int64_t offset,
                                int64_t size, uint8_t **out_data,
                                uint64_t *out_size,
                                fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Buffer views

typedef struct fc_hal_view_t {
  fc_vm_object_t object;
  fc_hal_buffer_t *buffer;  // retained
  uint32_t element_type;    // numerical type << 24 | bits
  uint32_t encoding;
  uint32_t rank;
  int64_t dims[];
} fc_hal_view_t;

// Checks rank and dims, and that the buffer holds the elements.
fc_status_t fc_hal_view_create(fc_hal_buffer_t *buffer, uint32_t element_type,
                               uint32_t encoding, uint32_t rank,
                               const int64_t *dims, fc_hal_view_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Computes the size in bytes of all elements of a view with these dims. Elements narrower
// than a byte are packed. False on overflow or for a negative dim.
bool fc_hal_elements_size(uint32_t element_type, uint32_t rank,
                          const int64_t *dims, uint64_t *out_size);

// ---------------------------------------------------------------------------
// Fences, files, handles, state

// A fence only keeps a state, since all work is done when it is requested.
typedef struct fc_hal_fence_t {
  fc_vm_object_t object;
  bool signaled;
  fc_status_t failure;  // FC_OK, or the status with which it was failed
} fc_hal_fence_t;

fc_status_t fc_hal_fence_create(fc_vm_heap_t *heap, fc_hal_fence_t **out,
                                fc_error_t *err) FC_MUST_CHECK;

// Queue operations call fc_hal_await with their wait fence first, and fc_hal_signal
// with their signal fence last. NULL counts as a signalled fence. fc_hal_await fails
// with the failure of the fence, if it has one. It fails with FAILED_PRECONDITION if
// the fence is not signalled, because no operation is left that could signal it. A
// fence keeps the first failure with which it is signalled.
fc_status_t fc_hal_await(const fc_hal_fence_t *fence,
                         fc_error_t *err) FC_MUST_CHECK;
void fc_hal_signal(fc_hal_fence_t *fence, fc_status_t status);

typedef struct fc_hal_file_t {
  fc_vm_object_t object;
  fc_vm_object_t *owner;  // retained
  const uint8_t *data;
  uint64_t size;
} fc_hal_file_t;

fc_status_t fc_hal_file_create(fc_vm_heap_t *heap, const uint8_t *data,
                               uint64_t size, fc_vm_object_t *owner,
                               fc_hal_file_t **out,
                               fc_error_t *err) FC_MUST_CHECK;

// Makes a device or an allocator: an object without contents, which only has a type.
fc_status_t fc_hal_handle_create(fc_vm_heap_t *heap, fc_vm_type_t type,
                                 fc_vm_object_t **out,
                                 fc_error_t *err) FC_MUST_CHECK;

// The state of `hal` or `hal_loader` in one context.
typedef struct fc_hal_state_t {
  fc_vm_object_t *device;
  fc_vm_object_t *allocator;
  fc_cpu_t cpu;
  bool allow_native;
} fc_hal_state_t;

// ---------------------------------------------------------------------------
// Arguments of native calls

// Writes the object of argument `index` to *out, NULL for a null ref. Fails with
// INVALID_ARGUMENT, naming the argument, when the object has another type, or when it
// is null and `nullable` is false.
fc_status_t fc_hal_argument(const fc_vm_native_call_t *call, uint32_t index,
                            fc_vm_type_t type, bool nullable, void *out,
                            fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_hal_argument for an object that is part of an argument.
fc_status_t fc_hal_expect(fc_vm_object_t *object, fc_vm_type_t type,
                          bool nullable, void *out,
                          fc_error_t *err) FC_MUST_CHECK;
// Reads a !vm.buffer as text; "" for null.
fc_status_t fc_hal_text(const fc_vm_native_call_t *call, uint32_t index,
                        fc_str_t *out, fc_error_t *err) FC_MUST_CHECK;

// Fails a native call with FC_CODE_CALL_FAILED and `status`. The message begins with the
// name of `status`.
fc_status_t fc_hal_fail(fc_error_t *err, fc_status_t status, const char *format,
                        ...) FC_PRINTF(3, 4);

#endif  // FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_
