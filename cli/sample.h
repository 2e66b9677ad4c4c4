// SPDX-License-Identifier: Apache-2.0
//
// Draws pseudo-random arguments for a function, the same ones each time, based on the
// example call that its signature gives. One thread.
#ifndef FARCALL_CLI_SAMPLE_H_
#define FARCALL_CLI_SAMPLE_H_

#include "farcall/base.h"

// Writes the call document `example`, which fc_signature_print_example wrote, with drawn
// numbers. Floats are drawn from [-2,2); every float type except those of 8 bits
// represents them exactly. Bools are drawn too, and with `integers` also integers, from 0
// to 7. Any integer may be an index, and free dims are 1, so code that does not check its
// indices must not get drawn integers. Other integers, shapes and names stay. Fails like
// the sink.
fc_status_t fc_sample_draw(fc_str_t example, bool integers, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_SAMPLE_H_
