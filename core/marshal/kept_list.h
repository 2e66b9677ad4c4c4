// SPDX-License-Identifier: Apache-2.0
//
// Lists, tuples and dicts as values of a store (state/store.h): their bytes are one value,
// in which each part has its type before it. Private to the marshaller; one thread.
#ifndef FARCALL_MARSHAL_KEPT_LIST_H_
#define FARCALL_MARSHAL_KEPT_LIST_H_

#include "marshal/frame.h"

// Bytes that a LIST takes. `op` is its type, NULL if nobody knows it: a dict keeps the
// names of its parts. FC_CODE_UNSUPPORTED_TYPE when a part is an opaque reference;
// FC_CODE_BAD_RESULT when the list is not of its type.
fc_status_t fc_kept_list_measure(fc_frame_t *frame, const fc_value_t *value,
                                 const fc_op_t *op, uint64_t *out_size,
                                 fc_error_t *err) FC_MUST_CHECK;
// Writes these bytes to `to`, which is FC_STORE_ALIGNMENT-aligned.
fc_status_t fc_kept_list_write(fc_frame_t *frame, const fc_value_t *value,
                               const fc_op_t *op, void *to,
                               fc_error_t *err) FC_MUST_CHECK;
// Makes the value of a row of kind LIST, whose bytes lie at `data`: its tensors and bytes
// stay there. FC_CODE_TYPE_MISMATCH when it has not the type `op`, of any kind;
// FC_CODE_INTERNAL when the bytes are no list.
fc_status_t fc_kept_list_read(fc_frame_t *frame, const fc_op_t *op,
                              const fc_store_row_t *row, void *data,
                              fc_value_t *dest, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_MARSHAL_KEPT_LIST_H_
