// SPDX-License-Identifier: Apache-2.0
//
// A row of a store as the value of an argument. Its type is checked like the type of a
// value that a document sends. Private to the marshaller.
#ifndef FARCALL_MARSHAL_STORED_VALUE_H_
#define FARCALL_MARSHAL_STORED_VALUE_H_

#include "marshal/frame.h"

// Checks that a value that is not a list has the type `op`; NULL allows any type.
// FC_CODE_TYPE_MISMATCH.
fc_status_t fc_stored_check(fc_frame_t *frame, const fc_op_t *op,
                            const fc_store_row_t *row, fc_error_t *err);
// Makes the value of such a row. Its elements lie at `data`, and its type was checked.
fc_status_t fc_stored_set(fc_frame_t *frame, const fc_op_t *op,
                          const fc_store_row_t *row, void *data,
                          fc_value_t *dest, fc_error_t *err);
// Fails with FC_CODE_TYPE_MISMATCH. The message describes the value of the row, and
// `why` says why it does not fit.
fc_status_t fc_stored_mismatch(fc_frame_t *frame, const fc_store_row_t *row,
                               const char *why, fc_error_t *err);

#endif  // FARCALL_MARSHAL_STORED_VALUE_H_
