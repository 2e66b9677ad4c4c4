// SPDX-License-Identifier: Apache-2.0
//
// Guarded arguments (fc_frame_set_guard): a function that reads past the end of
// a tensor is noticed. Private to the marshaller.
#ifndef FARCALL_MARSHAL_GUARD_H_
#define FARCALL_MARSHAL_GUARD_H_

#include "marshal/frame.h"

// Copies every tensor of `arguments` without strides to memory that ends at an unmapped
// page. Tensors within lists are copied, too.
fc_status_t fc_guarded_copy(fc_frame_t *frame, fc_value_t *arguments,
                            size_t count, fc_error_t *err);
// Fails with FC_CODE_CALL_FAILED when a float result has the bits of FC_GUARD_FILL, which
// lie between a tensor and its page.
fc_status_t fc_guarded_check(fc_frame_t *frame, fc_value_t *results,
                             size_t count, fc_error_t *err);
// Calls `visit` for each value, and for each value in a list.
typedef fc_status_t (*fc_visit_t)(fc_frame_t *frame, fc_value_t *value,
                                  fc_error_t *err);
fc_status_t fc_frame_visit(fc_frame_t *frame, fc_value_t *values, size_t count,
                           fc_visit_t visit, fc_error_t *err);
// Frees the copies of the call.
void fc_guarded_free(fc_frame_t *frame);

#endif  // FARCALL_MARSHAL_GUARD_H_
