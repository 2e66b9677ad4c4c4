// SPDX-License-Identifier: Apache-2.0
//
// Whether a function writes into arguments whose role is `in`, where that is not certain
// (fc_param_t). Nobody can know before a call, so some calls are compared: the first of a
// function, one of many later, and all once a function was caught. Private to the
// marshaller; on workers.
#ifndef FARCALL_MARSHAL_WRITTEN_H_
#define FARCALL_MARSHAL_WRITTEN_H_

#include "marshal/frame.h"

// Of each function of a process these calls are compared, then one of so many.
#define FC_WRITTEN_FIRST 16
#define FC_WRITTEN_EVERY 1024

// Sums the bytes of the arguments that the function is to leave alone, if this call is one
// that is compared. `arguments` are what the backend gets.
fc_status_t fc_written_begin(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err);
// Sums them again. FC_CODE_ARGUMENT_WRITTEN names the first that has other bytes now, and
// not those of a result.
fc_status_t fc_written_check(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err);

#endif  // FARCALL_MARSHAL_WRITTEN_H_
