// SPDX-License-Identifier: Apache-2.0
//
// The working memory of one call, and what decode and encode share. Private to
// the marshaller; a frame belongs to one worker.
#ifndef FARCALL_MARSHAL_FRAME_H_
#define FARCALL_MARSHAL_FRAME_H_

#include "base/guard.h"
#include "marshal/batch.h"
#include "marshal/fill.h"
#include "marshal/keeper.h"
#include "state/store.h"

// Dims and elements of an array of references that is being read. An unknown dim is -1.
typedef struct fc_refarray_t {
  int64_t dims[FC_RANK_MAX];
  fc_value_t *items;
  size_t count;
  size_t capacity;
} fc_refarray_t;

// A container that is being read.
typedef struct fc_level_t {
  const fc_op_t *op;
  const fc_op_t *child;  // type of the next element; not for a DICT
  // NULL if its leaves are raw values, if they are not stored, or if it is an inner array
  // of a REFARRAY.
  fc_value_t *dest;
  fc_value_t *items;     // the items of `dest`
  size_t count;          // number of elements begun
  size_t capacity;       // of `items`, if the container is a list: they grow
  uint8_t *seen;         // DICT: by ordinal of a key, whether it was read
  fc_refarray_t *array;  // REFARRAY
  int32_t dim;           // REFARRAY: the dim that this array is
  bool wrapped;          // the end of {"list":…} must still be read
} fc_level_t;

// A container that is being written.
typedef struct fc_print_t {
  const fc_op_t *op;        // NULL: a list of no declared type
  const fc_op_t *child;     // type of the next element
  const fc_value_t *items;  // NULL: its children are raw values, or it has none
  size_t count;
  size_t next;
  const char *close;
  const int64_t *dims;  // REFARRAY: of this array and those inside it
  int32_t rank;
} fc_print_t;

// The size of a named dim in this call.
typedef struct fc_named_dim_t {
  int64_t size;  // -1 while not known
  // The value that had this size first, for messages.
  const fc_op_t *op;
  int32_t dim;
} fc_named_dim_t;

// Copies of a call's arguments. Each copy ends at an unmapped page. If there are too
// many, some copies share one such page (guard.c).
typedef struct fc_guarded_t {
  fc_guard_arena_t arena;
  size_t count;   // tensors that were measured, and later copied
  size_t extent;  // bytes of the arena
  size_t shared;  // bytes of the copies that share a page
  uint8_t *next;  // where the next of these copies goes
} fc_guarded_t;

#define FC_PRINT_DEPTH_MAX 64  // nested containers, with the result itself

// The functions by which a call uses a store (stored.h describes each function). They
// are pointers in the frame, so that a program without a store need not link them.
typedef struct fc_stored_ways_t {
  fc_status_t (*give)(fc_frame_t *frame, const fc_op_t *op, fc_str_t name,
                      fc_value_t *dest, fc_error_t *err);
  fc_status_t (*place)(fc_frame_t *frame, fc_error_t *err);
  fc_status_t (*stage)(fc_frame_t *frame, fc_error_t *err);
  void (*commit)(fc_frame_t *frame);
  const fc_store_row_t *(*output)(const fc_frame_t *frame, uint32_t output);
} fc_stored_ways_t;

// Bytes that are written after the document.
typedef struct fc_raw_t {
  struct fc_raw_t *next;
  fc_str_t bytes;
} fc_raw_t;

struct fc_frame_t {
  fc_allocator_t allocator;
  fc_limits_t limits;
  fc_arena_t arena;    // values, shapes, names
  fc_arena_t tensors;  // tensors from the frame's own placer, and copies
  fc_arena_t bucket;   // for one of several calls of buckets (rows.c)
  const fc_plan_t *plan;
  fc_stop_t stop;  // ends DECODE and ENCODE
  fc_placer_t placer;
  uint32_t leaf;  // number of tensors and byte strings placed, with empty ones
  fc_value_t *arguments;
  fc_named_dim_t *named_dims;  // by number of the name
  const fc_value_t *results;
  size_t result_count;
  size_t result_room;  // number of values that a function of the plan returns
  fc_options_t options;
  uint32_t row;      // row of the signature's sizes, if the plan has entries
  bool batched;      // it may have any number of rows (rows.c)
  bool least;        // only the smallest bucket is called
  int64_t computed;  // rows that were computed for the last call, with padding
  size_t copied;     // raw bytes that had to be copied out of the body
  bool decoded;  // every argument fits its type and lies in the call's memory
  bool guard;
  bool fill_given;  // with `guard`: an argument holds FC_GUARD_FILL as a float
  const fc_tiles_t *tiles;
  fc_budget_t *budget;  // fc_frame_set_budget
  const fc_keeper_t *keeper;
  fc_store_t *store;             // of the call (stored.h); NULL: none
  const fc_stored_ways_t *ways;  // NULL: there is no store
  struct fc_stored_t *stored;    // the call's use of the store; NULL: none
  bool commits_later;            // set by fc_stored_hold
  struct fc_oip_t *oip;          // of a call that oip_read.c decoded
  bool in_sequence;              // set by fc_oip_set_sequence
  struct fc_repeat_t
      *repeat;   // limits and content of "repeat"; NULL: it is not allowed
  bool by_rows;  // the request was in rows (tf_read.c)
  bool framed;   // raw bytes may follow the call document
  fc_str_t raw;  // raw bytes that no value has used yet
  // Tensors, and values declared as bytes (not text), are written after the document.
  bool raw_results;
  fc_raw_t *raw_first;  // the bytes to write there, in document order
  fc_raw_t *raw_last;
  fc_guarded_t guarded;  // guarded copies of this call's arguments
  uint64_t *sums;        // of the arguments; NULL: not compared (written.c)
  uint64_t sum;
  uint64_t dice;          // random number, to choose the compared calls
  fc_profile_t *profile;  // of the last call that was profiled
  bool profiles;          // a profiled call is running

  const fc_backend_t *backend;  // not NULL: call_end must still be called
  void *instance;
  size_t index;
  fc_backend_call_t call;

  // The members from here on have 23 KiB. They are not on the stack, because there they
  // would be cleared in each call (-ftrivial-auto-var-init, cmake/Flags.cmake).
  //
  // For DECODE
  fc_json_reader_t reader;
  fc_json_reader_t ahead;  // a copy of the reader during a look ahead
  fc_fill_t fill;
  uint32_t depth;
  fc_level_t levels[FC_JSON_DEPTH_MAX];
  // For ENCODE
  fc_print_t prints[FC_PRINT_DEPTH_MAX];
};

// Fails because no call has begun on the frame.
fc_status_t fc_frame_fail_idle(fc_error_t *err);
// Begins to read a document of JSON text.
void fc_frame_read(fc_frame_t *frame, const char *text, size_t size);
// Copies bytes. Meanwhile it checks whether the call must end.
fc_status_t fc_frame_copy(const fc_frame_t *frame, void *to, const void *from,
                          size_t size, fc_error_t *err);
// Allocates memory for values. The error says whether the request is over its limit, or
// there is no memory left.
fc_status_t fc_frame_alloc(fc_frame_t *frame, size_t count, size_t size,
                           void **out_memory, fc_error_t *err);
// Gets tensor memory from the placer; NULL for size 0. FC_CODE_TENSOR_TOO_LARGE when the
// call already has as many tensors as its limit allows.
fc_status_t fc_frame_place(fc_frame_t *frame, fc_dtype_t dtype, size_t size,
                           void **out_memory, fc_error_t *err);
// Makes *memory, which was placed last with `placed` bytes, `size` bytes large, and keeps
// its first `used` bytes; it may move. Call it only if the placer has `extend`.
fc_status_t fc_frame_extend(fc_frame_t *frame, size_t placed, size_t used,
                            size_t size, void **memory, fc_error_t *err);
void fc_frame_commit(fc_frame_t *frame, void *memory, size_t placed,
                     size_t size);
// Called when all other arguments are set. Chooses the row of sizes if the plan has
// entries, and places zeroed storage for each OUT argument that has none yet. Fails
// with FC_CODE_SHAPE_MISMATCH when no argument states the size of a dim of the storage.
fc_status_t fc_frame_place_stores(fc_frame_t *frame, fc_error_t *err);
// Chooses the row of sizes for the sizes of the call (sized.c). FC_CODE_SHAPE_MISMATCH
// when there is no such row, and the call is not batched.
fc_status_t fc_frame_choose_row(fc_frame_t *frame, fc_error_t *err);
// The arguments of fc_frame_invoke.
typedef struct fc_invoke_t {
  const fc_backend_t *backend;
  void *instance;
  size_t index;
  const fc_atomic_word_t *cancel;
  uint64_t deadline_ns;
} fc_invoke_t;
// Calls the function of the chosen row, or function `index` of a plan without rows. The
// `results` are valid until fc_frame_end_call, which must be called even if this fails.
fc_status_t fc_frame_call(fc_frame_t *frame, const fc_invoke_t *invoke,
                          fc_value_t *arguments, fc_value_t *results,
                          fc_arena_t *arena, fc_error_t *err);
void fc_frame_end_call(fc_frame_t *frame);
// Returns the number of rows of a call that is batched.
static inline int64_t fc_frame_rows(const fc_frame_t *frame) {
  return frame->named_dims[frame->plan->batch->name].size;
}
// Makes the calls by which a plan (batch.h) covers the rows of the call. `results`,
// zeroed, has room for frame->result_room values. FC_CODE_RESULT_TOO_LARGE;
// FC_CODE_BAD_RESULT when the functions' results cannot be put together.
fc_status_t fc_frame_call_rows(fc_frame_t *frame, const fc_invoke_t *invoke,
                               fc_value_t *results, fc_error_t *err);
// Checks the shape of an argument that was not decoded, and sets the sizes of the names
// of its dims. FC_CODE_SHAPE_MISMATCH names the argument.
fc_status_t fc_frame_check_shape(fc_frame_t *frame,
                                 const fc_plan_param_t *input,
                                 const fc_op_t *op, const fc_tensor_t *tensor,
                                 fc_error_t *err);
// Returns the number of empty arrays that are written for a shape with a dim of 0: the
// product of the dims before the first 0. These arrays take no memory but are
// printed. For a shape without a 0, returns the number of elements. SIZE_MAX on overflow.
size_t fc_frame_empty_rows(const int64_t *shape, int32_t rank);
// Returns the most elements that one tensor of this type may have.
static inline size_t fc_frame_element_limit(const fc_frame_t *frame,
                                            fc_dtype_t dtype) {
  size_t by_size = frame->limits.tensor_size / fc_dtype_size(dtype);
  size_t by_count = frame->limits.tensor_elements;
  return by_size < by_count ? by_size : by_count;
}
// Returns the size that a dim must have: its own, or the size of its name; -1 if it is
// unknown.
int64_t fc_frame_dim(const fc_frame_t *frame, int64_t dim);
// Notes that dim `dim` of `op` has `size`. If the dim is named and the size of the name
// is still unknown, `size` is the name's size from now on.
void fc_frame_bind_dim(fc_frame_t *frame, const fc_op_t *op, int32_t dim,
                       int64_t size);
// Does the same as fc_frame_bind_dim for all dims of `op`.
void fc_frame_bind_dims(fc_frame_t *frame, const fc_op_t *op,
                        const int64_t *dims);
// Checks that dims of one tensor that have the same name are equal. Called when all
// dims are known: in nested arrays for tensor<NxN> the first dim is known last, when
// the outer array ends.
fc_status_t fc_frame_check_dims(fc_frame_t *frame, const fc_op_t *op,
                                const int64_t *dims, fc_error_t *err);
// Fails because dim `dim` of `op` is `size`, but its name has another size. A negative
// `size` means that the dim is larger than the name's size. The message names the value
// that set the name's size.
fc_status_t fc_frame_fail_dim(const fc_frame_t *frame, fc_code_t code,
                              const fc_op_t *op, int32_t dim, int64_t size,
                              fc_error_t *err);

#endif  // FARCALL_MARSHAL_FRAME_H_
