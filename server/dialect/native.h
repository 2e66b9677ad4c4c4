// SPDX-License-Identifier: Apache-2.0
//
// The native dialect, /api/v1: a JSON call document in, {"results":[…]} out. This
// is its loop half; the worker half is the codec of libfarcall. It also lists
// the dialects a slot may name.
#ifndef FARCALL_SERVER_DIALECT_NATIVE_H_
#define FARCALL_SERVER_DIALECT_NATIVE_H_

#include "dialect/request.h"
#include "pool/region.h"

enum { FC_DIALECT_NATIVE, FC_DIALECT_COUNT };

// The worker halves, by dialect.
extern const fc_dialect_worker_t *const fc_dialect_workers[FC_DIALECT_COUNT];

typedef struct fc_native_call_t {
  bool validate;        // ?validate=only: DECODE and no more
  uint64_t timeout_ms;  // asked for by the client, 0 = not
} fc_native_call_t;

// May the headers of this call be accepted? FC_CODE_UNSUPPORTED_MEDIA_TYPE,
// _NOT_ACCEPTABLE, _LENGTH_REQUIRED, _BODY_TOO_LARGE, _HTTP_SYNTAX (deadline).
fc_status_t fc_native_check(const fc_request_t *request, uint64_t body_max,
                            fc_native_call_t *out_call, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_NATIVE_H_
