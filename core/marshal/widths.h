// SPDX-License-Identifier: Apache-2.0
//
// The bits above the width of a result's elements, where a module has left anything: by
// its end the results of a frame are as callers in the process want them. Answers need
// none of it, because the encoders fill what they write.
#ifndef FARCALL_MARSHAL_WIDTHS_H_
#define FARCALL_MARSHAL_WIDTHS_H_

#include "farcall/codec.h"

// Gives the frame's results, also those in lists, the bits of base/width.h. What changes
// is copied, to memory of the frame that stays until fc_frame_end. FC_CODE_BAD_RESULT
// when lists are nested deeper than 64.
fc_status_t fc_frame_fill_widths(fc_frame_t *frame, fc_error_t *err);

#endif  // FARCALL_MARSHAL_WIDTHS_H_
