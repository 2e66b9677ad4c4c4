// SPDX-License-Identifier: Apache-2.0
//
// Makes one call of several decoded calls, each on a frame of its own. Their
// rows are put one after the other, the call is made by the plan of its buckets
// (rows.c), and each frame gets its own rows of the results. Not public. On the thread
// that has the frames.
#ifndef FARCALL_MARSHAL_STACK_H_
#define FARCALL_MARSHAL_STACK_H_

#include "farcall/codec.h"

#define FC_STACK_MAX 16  // calls

// True when the calls of both frames may be made together. Both are calls of one plan
// whose rows are batched, a row has the same size in both, and arguments without rows
// are equal to the last bit. If it is false for a frame and itself, the frame's call
// cannot be made together with any other.
bool fc_frame_stacks(const fc_frame_t *frame, const fc_frame_t *other);

// Returns the number of rows of the decoded call; 0: the call has no rows. *out_most is
// the number of rows of the largest function.
uint64_t fc_frame_sent_rows(const fc_frame_t *frame, uint64_t *out_most);

// How to make the call, as for fc_frame_invoke; `index` is one of the functions of the
// plan.
typedef struct fc_stack_call_t {
  const fc_backend_t *backend;
  void *instance;
  size_t index;
  const fc_atomic_word_t *cancel;
  uint64_t deadline_ns;
  bool least;  // only call the smallest function, as often as needed
} fc_stack_call_t;

// Makes the calls of `count` frames, 1 to FC_STACK_MAX, on `whole`, which was begun for
// their plan (fc_frame_begin). fc_frame_stacks must be true for the first frame and each
// other. The results of all frames point into `whole` until its fc_frame_end, and until
// then no other call of the instance may be made. If it fails, the frames are unchanged:
// each may be invoked by itself. FC_CODE_TENSOR_TOO_LARGE and FC_CODE_RESULT_TOO_LARGE
// are about all rows together.
fc_status_t fc_frame_invoke_stack(fc_frame_t *whole, fc_frame_t *const *frames,
                                  uint32_t count, const fc_stack_call_t *call,
                                  fc_error_t *err) FC_MUST_CHECK;

// Copies the results of the frame's last call, which must all be tensors, to memory of
// the frame, and ends the call, because an instance makes one call at a time.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_frame_keep_results(fc_frame_t *frame,
                                  fc_error_t *err) FC_MUST_CHECK;

// Gets the number of rows of the frame's last call, and the number that was computed for
// it. More are computed if the smallest function that was called has more rows than were
// left: the rest is padding. False: the call's rows were not batched.
bool fc_frame_counted_rows(const fc_frame_t *frame, uint64_t *out_rows,
                           uint64_t *out_computed);

#endif  // FARCALL_MARSHAL_STACK_H_
