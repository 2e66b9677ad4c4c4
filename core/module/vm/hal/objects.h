// SPDX-License-Identifier: Apache-2.0
//
// The objects of the `hal` module: a synchronous device whose memory is the
// host's. All are counted objects of the context's heap; what a constructor is
// given it retains. One call at a time, except that finalised command buffers
// and executables may be used by several calls at once.
#ifndef FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_
#define FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_

#include "hal/library.h"
#include "module/vm/buffer.h"
#include "module/vm/native.h"

#define FC_HAL_RANK_MAX 128
#define FC_HAL_ALIGNMENT 64

// ---------------------------------------------------------------------------
// Buffers

// Bytes, or a range of another buffer. A range finds its bytes through the
// root at every use, so that a root may move (fc_hal_buffer_keep).
typedef struct fc_hal_buffer_t {
  fc_vm_object_t object;
  struct fc_hal_buffer_t *root;  // retained; NULL: this is one
  uint64_t offset;               // in the root
  uint64_t size;
  // Of a root:
  uint8_t *data;
  fc_vm_object_t *owner;       // retained: whose bytes these are; NULL: ours or
                               // borrowed
  size_t block_size;           // of our own allocation, 0: not ours
  struct fc_hal_pool_t *pool;  // where it came from; NULL: the heap, or
  bool guarded;                // a block that ends at an unmapped page
} fc_hal_buffer_t;

// Zeroed bytes of our own, 64-byte aligned.
fc_status_t fc_hal_buffer_create(fc_vm_heap_t *heap, int64_t size,
                                 fc_hal_buffer_t **out,
                                 fc_error_t *err) FC_MUST_CHECK;
// The same for one call, from where its invocation says. Not zeroed: the pool's
// blocks hold what earlier calls of this context left there.
fc_status_t fc_hal_buffer_create_in(fc_vm_invocation_t *invocation,
                                    fc_vm_heap_t *heap, int64_t size,
                                    fc_hal_buffer_t **out,
                                    fc_error_t *err) FC_MUST_CHECK;
// Somebody's bytes, kept alive through `owner` (may be NULL: borrowed, see
// fc_hal_buffer_keep).
fc_status_t fc_hal_buffer_wrap(fc_vm_heap_t *heap, void *data, uint64_t size,
                               fc_vm_object_t *owner, fc_hal_buffer_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// The range [offset, offset + size); the whole is the buffer itself. -1: to the
// end. OUT_OF_RANGE when it does not lie inside.
fc_status_t fc_hal_buffer_subspan(fc_hal_buffer_t *buffer, int64_t offset,
                                  int64_t size, fc_hal_buffer_t **out,
                                  fc_error_t *err) FC_MUST_CHECK;
// Before borrowed bytes go away: if others still hold the buffer, it gets a copy
// of its own. False when out of memory; it is empty then.
bool fc_hal_buffer_keep(fc_hal_buffer_t *buffer);

// A !vm.buffer over the same bytes that keeps the buffer alive. Borrowed bytes
// are copied into the buffer first, as the bytes must not move from then on.
fc_status_t fc_hal_buffer_storage(fc_hal_buffer_t *buffer, fc_vm_buffer_t **out,
                                  fc_error_t *err) FC_MUST_CHECK;

// Clips a length of -1 and checks the range; *out_data is its first byte.
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
// Bytes of `count` elements of a HAL type, packed below a byte; false on
// overflow.
bool fc_hal_elements_size(uint32_t element_type, uint32_t rank,
                          const int64_t *dims, uint64_t *out_size);

// ---------------------------------------------------------------------------
// The rest

// States, as everything is done when it is asked for.
typedef struct fc_hal_fence_t {
  fc_vm_object_t object;
  bool signaled;
  fc_status_t failure;  // FC_OK, or why it failed
} fc_hal_fence_t;

fc_status_t fc_hal_fence_create(fc_vm_heap_t *heap, fc_hal_fence_t **out,
                                fc_error_t *err) FC_MUST_CHECK;

// What queue operations do first and last; NULL is a fence that signalled. A
// fence nobody signalled is FAILED_PRECONDITION: nobody could still do it.
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

// A device or an allocator: nothing but an identity.
fc_status_t fc_hal_handle_create(fc_vm_heap_t *heap, fc_vm_type_t type,
                                 fc_vm_object_t **out,
                                 fc_error_t *err) FC_MUST_CHECK;

// The state of the module in one context.
typedef struct fc_hal_state_t {
  fc_vm_object_t *device;
  fc_vm_object_t *allocator;
  fc_cpu_t cpu;
  bool allow_native;
} fc_hal_state_t;

// ---------------------------------------------------------------------------
// Arguments of native calls

// The object behind argument `index`. `*out` is NULL for a null ref when
// `nullable`; another type, or null otherwise, is INVALID_ARGUMENT naming the
// argument.
fc_status_t fc_hal_argument(const fc_vm_native_call_t *call, uint32_t index,
                            fc_vm_type_t type, bool nullable, void *out,
                            fc_error_t *err) FC_MUST_CHECK;
// Same, of an object that is no argument of its own.
fc_status_t fc_hal_expect(fc_vm_object_t *object, fc_vm_type_t type,
                          bool nullable, void *out,
                          fc_error_t *err) FC_MUST_CHECK;
// A !vm.buffer as text, "" for null.
fc_status_t fc_hal_text(const fc_vm_native_call_t *call, uint32_t index,
                        fc_str_t *out, fc_error_t *err) FC_MUST_CHECK;

// Fails a call with a status of the VM's: FC_CODE_CALL_FAILED.
fc_status_t fc_hal_fail(fc_error_t *err, fc_status_t status, const char *format,
                        ...) FC_PRINTF(3, 4);

#endif  // FARCALL_CORE_MODULE_VM_HAL_OBJECTS_H_
