// SPDX-License-Identifier: Apache-2.0
//
// Calls that were decoded, each on a frame of its own, made as one: their rows lie behind
// each other, the call is made by the plan of its buckets (rows.c), and each frame gets the
// rows of its own. Not public. On the thread that has the frames.
#ifndef FARCALL_MARSHAL_STACK_H_
#define FARCALL_MARSHAL_STACK_H_

#include "farcall/codec.h"

#define FC_STACK_MAX 16  // calls

// May the calls of both frames be made together? Both are calls of one plan whose rows
// are batched, a row has the same size in both, and arguments without rows are equal to
// the last bit. A frame of which this cannot be said with itself stacks with none.
bool fc_frame_stacks(const fc_frame_t *frame, const fc_frame_t *other);

// Rows of the call that was decoded, and those of the largest function; 0: it has no rows.
uint64_t fc_frame_sent_rows(const fc_frame_t *frame, uint64_t *out_most);

// How a stack is called: as fc_frame_invoke is, and `index` is a function's of the plan.
typedef struct fc_stack_call_t {
  const fc_backend_t *backend;
  void *instance;
  size_t index;
  const fc_atomic_word_t *cancel;
  uint64_t deadline_ns;
  bool least;  // by the smallest function for the rows, as often as need be
} fc_stack_call_t;

// Makes the calls of `count` frames, 1 to FC_STACK_MAX, of which the first stacks with each,
// on `whole`, which was begun for their plan (fc_frame_begin). Their results point into
// it until its fc_frame_end, and no other call of the instance may be made before. If it
// fails, the frames are as they were: each may be invoked by itself.
// FC_CODE_TENSOR_TOO_LARGE and FC_CODE_RESULT_TOO_LARGE are of the rows together.
fc_status_t fc_frame_invoke_stack(fc_frame_t *whole, fc_frame_t *const *frames,
                                  uint32_t count, const fc_stack_call_t *call,
                                  fc_error_t *err) FC_MUST_CHECK;

// Copies the results of the frame's last call, tensors all of them, to memory of the frame,
// and ends the call: an instance makes one at a time. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_frame_keep_results(fc_frame_t *frame,
                                  fc_error_t *err) FC_MUST_CHECK;

// Rows that the last call of the frame had, and that were computed for them: more, where no
// function has so few. False: its rows were not batched.
bool fc_frame_counted_rows(const fc_frame_t *frame, uint64_t *out_rows,
                           uint64_t *out_computed);

#endif  // FARCALL_MARSHAL_STACK_H_
