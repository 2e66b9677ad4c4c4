// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are drawn for a function, always the same ones, from the call that its
// signature gives as an example. One thread.
#ifndef FARCALL_CLI_SAMPLE_H_
#define FARCALL_CLI_SAMPLE_H_

#include "farcall/base.h"

// Writes the call document `example`, which fc_signature_print_example wrote, with its
// numbers drawn: floats from [-2,2), which every float type has exactly but those of 8
// bits, bools, and with `integers` integers from 0 to 7. Any integer may be an index, and
// dims that are free are 1: code that does not check what it reads must not get them.
// Integers that are not drawn, shapes and names stay. Fails as the sink does.
fc_status_t fc_sample_draw(fc_str_t example, bool integers, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CLI_SAMPLE_H_
