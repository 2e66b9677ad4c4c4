// SPDX-License-Identifier: Apache-2.0
//
// A row of a store as the value of an argument: its type is checked as one is that a
// document brings. Private to the marshaller.
#ifndef FARCALL_MARSHAL_STORED_VALUE_H_
#define FARCALL_MARSHAL_STORED_VALUE_H_

#include "marshal/frame.h"

// Checks that a value that is no list has the type `op`; NULL: any. FC_CODE_TYPE_MISMATCH.
fc_status_t fc_stored_check(fc_frame_t *frame, const fc_op_t *op,
                            const fc_store_row_t *row, fc_error_t *err);
// Makes the value of such a row, whose elements lie at `data`, and whose type was checked.
fc_status_t fc_stored_set(fc_frame_t *frame, const fc_op_t *op,
                          const fc_store_row_t *row, void *data,
                          fc_value_t *dest, fc_error_t *err);
// FC_CODE_TYPE_MISMATCH: the value is what its row says, and `why` that does not do.
fc_status_t fc_stored_mismatch(fc_frame_t *frame, const fc_store_row_t *row,
                               const char *why, fc_error_t *err);

#endif  // FARCALL_MARSHAL_STORED_VALUE_H_
