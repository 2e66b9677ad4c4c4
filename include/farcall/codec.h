// SPDX-License-Identifier: Apache-2.0
//
// The three worker stages of a call on one frame: fc_frame_decode, _invoke,
// _encode. A frame belongs to one worker and is reused: once it is warm, a
// small call needs no allocation. Rules of JSON values: docs/abi.md.
#ifndef FARCALL_CODEC_H_
#define FARCALL_CODEC_H_

#include "farcall/backend.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// A signature compiled into a row of steps that decoding and encoding both execute.
// Immutable. The plan keeps a pointer to the signature, which must outlive it.
typedef struct fc_plan_t fc_plan_t;
fc_status_t fc_plan_create(const fc_signature_t *signature,
                           fc_allocator_t allocator, fc_plan_t **out_plan,
                           fc_error_t *err) FC_MUST_CHECK;
void fc_plan_destroy(fc_plan_t *plan);

typedef struct fc_limits_t {
  size_t tensor_elements;  // of one tensor
  size_t tensor_size;      // bytes of one tensor
  size_t result_size;      // bytes of one answer
  size_t arena_size;       // bytes of request memory beside tensors
  uint32_t json_depth;     // a frame takes more than 128 as 128
  uint32_t json_keys;      // of one object
  uint32_t tensors;        // tensors and byte strings of one call; 0: no limit
} fc_limits_t;
// Returns the defaults in the order of the members: 2^28 elements, 256 MiB, 256 MiB, 64
// MiB, 64, 4096, 2^18.
fc_limits_t fc_limits_default(void);

// The source of tensor memory. While the decoder does not know the shape of a leaf, it
// asks for the most that the leaf may need. If it can `extend` the block, it asks for a
// little instead. In both cases it then keeps only the bytes that it used.
typedef struct fc_placer_t {
  void *context;
  // Allocates memory, 64-byte aligned; NULL when out of memory. `leaf` counts from 0 the
  // tensors and byte strings that need memory: first those of the document in its
  // order, then OUT arguments. An empty tensor or string is counted, but `place` is not
  // called for it.
  void *(*place)(void *context, uint32_t leaf, fc_dtype_t dtype, size_t size);
  // Keeps the first `size` bytes of the newest block, which was placed with
  // `placed` bytes, and gives back the rest.
  void (*commit)(void *context, void *memory, size_t placed, size_t size);
  // Makes the newest block, of `placed` bytes, `size` bytes long; or makes a new block of
  // `size` bytes that begins with the first `used` bytes of the old one. Returns NULL
  // when out of memory, and then the block is unchanged. The member itself may be NULL.
  void *(*extend)(void *context, void *memory, size_t placed, size_t used,
                  size_t size);
} fc_placer_t;

// How tensors are written.
typedef enum fc_results_t {
  FC_RESULTS_NESTED,  // nested arrays
  FC_RESULTS_TYPED,   // "results":"typed": {"dtype","shape","data"}
  FC_RESULTS_B64,     // "results":"b64": {"dtype","shape","b64"}
} fc_results_t;

// "options" of a call document.
typedef struct fc_options_t {
  bool int64_string;  // "int64":"string": 64-bit integers print as strings
  fc_results_t results;
} fc_options_t;

// The working memory of one call. Create one per worker. NULL as `limits`: the
// default.
typedef struct fc_frame_t fc_frame_t;
fc_status_t fc_frame_create(fc_allocator_t allocator, const fc_limits_t *limits,
                            fc_frame_t **out_frame,
                            fc_error_t *err) FC_MUST_CHECK;
void fc_frame_destroy(fc_frame_t *frame);

// Starts a call of `plan`; ends the previous call if it is still open. `placer` is
// copied; NULL: the frame's own memory. When memory runs out here, the next stage fails
// with FC_CODE_OUT_OF_MEMORY.
void fc_frame_begin(fc_frame_t *frame, const fc_plan_t *plan,
                    const fc_placer_t *placer);
// Sets when the stages stop. Until the call ends, DECODE and ENCODE fail once
// `deadline_ns` has passed or the word at `cancel` is not 0, as the module does
// (fc_backend_call_t). They check about every 64 KiB. With 0 and NULL they do not
// check. `cancel` is borrowed. Call this after fc_frame_begin.
void fc_frame_set_stop(fc_frame_t *frame, const fc_atomic_word_t *cancel,
                       uint64_t deadline_ns);
// DECODE: a call document (object or bare array) -> flat values. The body is
// only read, and must stay until fc_frame_end. `err` is the first error in
// document order. The module is not touched.
fc_status_t fc_frame_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err);
// CALL: runs function `index` of the module from which `instance` was made. If that
// function stands for one function per size, the one for the call's size runs.
// FC_CODE_INTERNAL when the function is not the one whose plan the frame was begun
// with. `cancel` and `deadline_ns` are those of fc_backend_call_t. Arguments that were
// set through fc_frame_arguments are checked: where the plan has a tensor or scalar,
// the argument must be one, of the plan's dtype and shape. A tensor among them is
// copied when it is not dense or not aligned as the code expects; otherwise the
// function gets the tensor's own memory, and may write to it. The items of a list are
// passed unchecked.
fc_status_t fc_frame_invoke(fc_frame_t *frame, const fc_backend_t *backend,
                            void *instance, size_t index,
                            const fc_atomic_word_t *cancel,
                            uint64_t deadline_ns, fc_error_t *err);
// From the next invoke on, every tensor argument without strides is copied to fresh
// memory that ends at an unmapped page. The tensor memory that the backend makes ends
// at such a page as well. Machine code that reads past the end of a tensor is stopped
// by SIGSEGV. Where the code expects aligned tensors (fc_signature_t.alignment), up to
// 63 bytes lie between the tensor and the page. These bytes are 0xFF, which is a NaN as
// a float of 2, 4 or 8 bytes. If a result of such floats holds this NaN and no argument
// does, the call fails with FC_CODE_CALL_FAILED. Use the guard for functions that are
// not memory-safe, in a process that may die; it costs system calls and a copy for each
// argument.
void fc_frame_set_guard(fc_frame_t *frame, bool guard);
// From the next invoke on, grids of kernels of machine code are split over
// `tiles`, which are borrowed. With NULL, the initial value, all kernels run on
// the calling thread.
void fc_frame_set_tiles(fc_frame_t *frame, const fc_tiles_t *tiles);
// ENCODE: writes the answer to a call document, {"results":[…]}, into the sink.
fc_status_t fc_frame_encode(fc_frame_t *frame, fc_sink_t *sink,
                            fc_error_t *err);
// Releases results and memory; the frame is ready for the next call. Idempotent.
void fc_frame_end(fc_frame_t *frame);

// Returns the arguments of the flat call, for callers that have no call document to
// decode (fc_call_run, tests). Call it before fc_frame_invoke; values set here replace
// decoded ones. NULL and 0 when no call has begun, or when there was no memory for the
// arguments.
fc_value_t *fc_frame_arguments(fc_frame_t *frame, size_t *out_count);
const fc_value_t *fc_frame_results(const fc_frame_t *frame, size_t *out_count);
fc_arena_t *fc_frame_arena(fc_frame_t *frame);
// Sets raw results that no backend made, so that fc_frame_encode can write
// them. They are borrowed until fc_frame_end.
void fc_frame_set_results(fc_frame_t *frame, const fc_value_t *values,
                          size_t count);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_CODEC_H_
