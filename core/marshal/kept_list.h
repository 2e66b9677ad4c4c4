// SPDX-License-Identifier: Apache-2.0
//
// Lists, tuples and dicts as values of a store (state/store.h). The bytes of a list are
// one value, in which the type of each part stands before it. Private to the
// marshaller; one thread.
#ifndef FARCALL_MARSHAL_KEPT_LIST_H_
#define FARCALL_MARSHAL_KEPT_LIST_H_

#include "marshal/frame.h"

// Computes the bytes that a LIST takes. `op` is its type, NULL if the type is unknown;
// with a type, a dict keeps the names of its parts. FC_CODE_UNSUPPORTED_TYPE when a
// part is an opaque reference; FC_CODE_BAD_RESULT when the list does not have the type.
fc_status_t fc_kept_list_measure(fc_frame_t *frame, const fc_value_t *value,
                                 const fc_op_t *op, uint64_t *out_size,
                                 fc_error_t *err) FC_MUST_CHECK;
// Writes these bytes to `to`, which is FC_STORE_ALIGNMENT-aligned.
fc_status_t fc_kept_list_write(fc_frame_t *frame, const fc_value_t *value,
                               const fc_op_t *op, void *to,
                               fc_error_t *err) FC_MUST_CHECK;
// Makes the value of a row of kind LIST, whose bytes lie at `data`. The tensors and bytes
// in the value stay there. FC_CODE_TYPE_MISMATCH when the value does not have the type
// `op`, which may be of any kind; FC_CODE_INTERNAL when the bytes are not a valid list.
fc_status_t fc_kept_list_read(fc_frame_t *frame, const fc_op_t *op,
                              const fc_store_row_t *row, void *data,
                              fc_value_t *dest, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_MARSHAL_KEPT_LIST_H_
