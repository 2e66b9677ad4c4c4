// SPDX-License-Identifier: Apache-2.0
//
// Draws arguments for a function, always the same ones, based on the example call that
// its signature gives. One thread.
#ifndef FARCALL_CLI_SAMPLE_H_
#define FARCALL_CLI_SAMPLE_H_

#include "farcall/base.h"

// Writes the call document `example`, which fc_signature_print_example wrote, with drawn
// numbers. Floats are from [-2,2), which every float type except those of 8 bits
// represents exactly. Bools are drawn too, and with `integers` integers from 0 to 7. Any
// integer may be an index, and free dims are 1, so code that does not check its indices
// must not get drawn integers. Integers that are not drawn, shapes and names stay. Fails
// like the sink.
fc_status_t fc_sample_draw(fc_str_t example, bool integers, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_SAMPLE_H_
