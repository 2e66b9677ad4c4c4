// SPDX-License-Identifier: Apache-2.0
//
// A tensor that states its dtype and its shape. Private to the marshaller.
#ifndef FARCALL_MARSHAL_TYPED_H_
#define FARCALL_MARSHAL_TYPED_H_

#include "marshal/frame.h"

// The members of a tensor that states its type: {"dtype","shape","data"|"b64"}.
// A protocol may have other names for them.
enum {
  FC_MEMBER_DTYPE,
  FC_MEMBER_SHAPE,
  FC_MEMBER_DATA,
  FC_MEMBER_B64,
  FC_MEMBER_COUNT
};
typedef struct fc_typed_t {
  const fc_op_t *op;
  const fc_str_t *members;  // their names; "": the protocol has none
  // The stated type, or the declared one if none is stated. fc_typed_state prefers the
  // declared one.
  fc_dtype_t dtype;
  bool has_shape;
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
  bool seen[FC_MEMBER_COUNT];
  bool read;    // the data was read into *dest
  bool scalar;  // a look ahead found that the object has no shape
} fc_typed_t;

// Reads {"dtype","shape","data"|"b64"}, whose first key was just read, to its end.
// Where raw bytes may follow the document, "binary_data_size" may replace "data".
fc_status_t fc_typed_decode(fc_frame_t *frame, const fc_op_t *op,
                            fc_value_t *dest, fc_error_t *err);
// These read the members of such a value one by one: fc_typed_begin, then fc_typed_read
// for each. fc_typed_member finds the member whose key was just read; -1: it is another
// member. At the end the caller checks that no member is missing (`seen`) and that the
// data was read (`read`), and sets the sizes of named dims.
void fc_typed_begin(fc_typed_t *typed, const fc_op_t *op,
                    const fc_str_t *members);
int fc_typed_member(const fc_json_reader_t *reader, const fc_typed_t *typed);
// Reads the value of a member whose key was just read. Data can be read only when shape
// and dtype are known. So if data comes before one of them, it looks ahead for both. It
// does not look for a dtype if the declared type is sufficient.
fc_status_t fc_typed_read(fc_frame_t *frame, fc_typed_t *typed, int member,
                          fc_value_t *dest, fc_error_t *err);
// Sets dtype and dims that are not in a document but, for example, in the head of a
// file, and checks them: FC_CODE_DTYPE_MISMATCH, _SHAPE_MISMATCH, _TENSOR_TOO_LARGE.
// The caller must ensure that no dim is negative.
fc_status_t fc_typed_state(fc_frame_t *frame, fc_typed_t *typed,
                           fc_dtype_t dtype, int32_t rank, const int64_t *dims,
                           fc_error_t *err);
// Checks that the size of `bytes` is what the shape says. *out_count is the
// number of elements. FC_CODE_DATA_LENGTH, _TENSOR_TOO_LARGE.
fc_status_t fc_typed_measure(fc_frame_t *frame, const fc_typed_t *typed,
                             fc_str_t bytes, size_t *out_count,
                             fc_error_t *err);
// Makes `bytes` the elements. They must stay as long as the call. The function may get
// them without a copy and write to them; they are copied if they are not aligned
// as the function needs. FC_CODE_DATA_LENGTH, _OUT_OF_RANGE, _TENSOR_TOO_LARGE.
fc_status_t fc_typed_take(fc_frame_t *frame, fc_typed_t *typed, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err);

#endif  // FARCALL_MARSHAL_TYPED_H_
