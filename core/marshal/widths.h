// SPDX-License-Identifier: Apache-2.0
//
// Fills the bits above the width of a result's elements, where a module may have left any
// value. Afterwards the results of a frame are as callers in the process expect them.
// Answers do not need this, because the encoders fill these bits in the elements that
// they write.
#ifndef FARCALL_MARSHAL_WIDTHS_H_
#define FARCALL_MARSHAL_WIDTHS_H_

#include "farcall/codec.h"

// Fills these bits in the frame's results, also in lists (base/width.h).
// Values that change are copied to memory of the frame that stays until fc_frame_end.
// FC_CODE_BAD_RESULT when lists are nested deeper than 64.
fc_status_t fc_frame_fill_widths(fc_frame_t *frame, fc_error_t *err);

#endif  // FARCALL_MARSHAL_WIDTHS_H_
