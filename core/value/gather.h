// SPDX-License-Identifier: Apache-2.0
//
// Copies for calls that may be ended meanwhile: they look every so often (fc_stop_look).
// Any thread.
#ifndef FARCALL_VALUE_GATHER_H_
#define FARCALL_VALUE_GATHER_H_

#include "base/stop.h"
#include "farcall/value.h"

fc_status_t fc_copy(void *dest, const void *source, size_t size,
                    const fc_stop_t *stop, fc_error_t *err);
// Does what fc_tensor_gather does.
fc_status_t fc_gather(const fc_tensor_t *tensor, void *dest,
                      const fc_stop_t *stop, fc_error_t *err);

#endif  // FARCALL_VALUE_GATHER_H_
