// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether a function writes into arguments whose role is IN but not certain
// (fc_param_t). This cannot be known before a call, so some calls are compared:
// the first calls of a function, later one of many, and every call after a write was
// found. Private to the marshaller; on workers.
#ifndef FARCALL_MARSHAL_WRITTEN_H_
#define FARCALL_MARSHAL_WRITTEN_H_

#include "marshal/frame.h"

// In each process the first FC_WRITTEN_FIRST calls of a function are compared, then one
// of FC_WRITTEN_EVERY.
#define FC_WRITTEN_FIRST 16
#define FC_WRITTEN_EVERY 1024

// If this call is to be compared, sums the bytes of the arguments to which the
// function must not write. `arguments` are those that are passed to the backend.
fc_status_t fc_written_begin(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err);
// Sums the same bytes again. FC_CODE_ARGUMENT_WRITTEN names the first argument whose
// bytes changed, unless they are now the bytes of a result.
fc_status_t fc_written_check(fc_frame_t *frame, fc_value_t *arguments,
                             fc_error_t *err);

#endif  // FARCALL_MARSHAL_WRITTEN_H_
