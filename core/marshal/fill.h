// SPDX-License-Identifier: Apache-2.0
//
// Reads the elements of one tensor from JSON text into the buffer that is passed to the
// function. Private to the marshaller; belongs to one call.
#ifndef FARCALL_MARSHAL_FILL_H_
#define FARCALL_MARSHAL_FILL_H_

#include "json/reader.h"
#include "marshal/plan.h"

// Elements that are being read into their buffer.
typedef struct fc_fill_t {
  fc_dtype_t dtype;  // of the elements as read; its sign may be undeclared
  fc_dtype_t part;   // type of one number: f32 for complex<f32>
  // Tried for a number that `dtype` cannot hold: ui8 for i8 if no source states the sign,
  // else NONE. If the number fits, the two types change places.
  fc_dtype_t other;
  const fc_op_t *op;  // its dims are the declared ones; NULL: none are declared
  size_t size;        // bytes of one element
  fc_code_t code;     // of the error about a wrong number of elements
  int32_t rank;
  // How many brackets were missing. Set when an element was refused because an array was
  // required in its place, and `op` declares the dims.
  int32_t too_flat;
  int64_t dims[FC_RANK_MAX];  // -1 while not known
  int64_t have[FC_RANK_MAX];  // elements begun of each open array
  uint8_t *data;
  size_t count;
  size_t capacity;  // of `data`; it grows up to `most`
  size_t most;      // most elements that the document can have for it
  size_t limit;     // most elements that one tensor may have
  fc_error_t why;   // of a number refused as `dtype`, before `other` is tried
} fc_fill_t;

// Begins the frame's fill for elements of `dtype`; the dims are set later. `code` is the
// code of an error about a wrong number of elements.
fc_fill_t *fc_fill_begin(fc_frame_t *frame, fc_dtype_t dtype, fc_code_t code);
// Places memory for as many elements as the dims say, but for no more than the rest of
// the document can hold, so that a short body cannot request a large tensor. If a dim is
// unknown, the memory is small and grows as elements are read. FC_CODE_TENSOR_TOO_LARGE.
fc_status_t fc_fill_place(fc_frame_t *frame, fc_fill_t *fill, fc_error_t *err);
// Reads the value, whose first token was just read: arrays fill->rank deep, or for rank
// 0 an element without brackets.
fc_status_t fc_fill_read(fc_frame_t *frame, fc_fill_t *fill,
                         fc_json_token_t token, fc_error_t *err);
// These hand the filled buffer over as a value of type `dtype`. fc_fill_finish also
// gives back memory that was placed but not filled.
fc_status_t fc_fill_finish(fc_frame_t *frame, fc_fill_t *fill,
                           const int64_t *dims, int32_t rank, fc_dtype_t dtype,
                           fc_value_t *dest, fc_error_t *err);
fc_status_t fc_fill_hand_over(fc_frame_t *frame, const fc_fill_t *fill,
                              const int64_t *dims, int32_t rank,
                              fc_dtype_t dtype, fc_value_t *dest,
                              fc_error_t *err);

// Does all of the above for a tensor whose type declares dtype and dims.
fc_status_t fc_fill_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err);
// Reads one element of any type, whose first token was just read.
fc_status_t fc_fill_element(fc_frame_t *frame, fc_dtype_t dtype,
                            fc_json_token_t token, void *out, fc_error_t *err);
// Returns the rank that the brackets of a value show. The value's first token was just
// read.
int32_t fc_fill_rank(const fc_frame_t *frame, fc_json_token_t token,
                     fc_dtype_t dtype);
// Fails because a tensor has more than `limit` elements.
fc_status_t fc_fill_too_large(fc_frame_t *frame, size_t limit, fc_error_t *err);

#endif  // FARCALL_MARSHAL_FILL_H_
