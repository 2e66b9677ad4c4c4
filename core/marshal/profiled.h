// SPDX-License-Identifier: Apache-2.0
//
// Makes a call and measures its parts, and writes its answer:
// {"results":[…],"profile":{…}}. Called by a worker, in place of fc_frame_invoke,
// fc_frame_encode and fc_framed_encode.
#ifndef FARCALL_MARSHAL_PROFILED_H_
#define FARCALL_MARSHAL_PROFILED_H_

#include "base/profile.h"
#include "farcall/codec.h"

// Begins the profile, does the same as fc_frame_invoke, and ends the profile, even if the
// call fails. The profile is borrowed until the frame's next profiled call.
fc_status_t fc_frame_invoke_profiled(
    fc_frame_t *frame, const fc_backend_t *backend, void *instance,
    size_t index, fc_str_t name, const fc_atomic_word_t *cancel,
    uint64_t deadline_ns, fc_profile_t *profile, fc_error_t *err);
// Call these only after fc_frame_invoke_profiled, whose profile they write.
fc_status_t fc_frame_encode_profiled(fc_frame_t *frame, fc_sink_t *sink,
                                     fc_error_t *err);
fc_status_t fc_framed_encode_profiled(fc_frame_t *frame, fc_sink_t *sink,
                                      uint64_t *out_document, fc_error_t *err);

// Writes {"ns":…,"dropped":…,"rows":[…]}.
fc_status_t fc_profile_write(const fc_profile_t *profile, fc_sink_t *sink,
                             fc_error_t *err);

#endif  // FARCALL_MARSHAL_PROFILED_H_
