// SPDX-License-Identifier: Apache-2.0
//
// Reads a value without parts (a leaf) from JSON. Private to the marshaller.
#ifndef FARCALL_MARSHAL_LEAF_H_
#define FARCALL_MARSHAL_LEAF_H_

#include "marshal/frame.h"

// Reads a leaf whose token was just read. If `dest` is NULL, the value must be null and
// is not stored: it stands at an index that a SIP signature (farcall/abi.h) left out.
fc_status_t fc_leaf_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err);

#endif  // FARCALL_MARSHAL_LEAF_H_
