// SPDX-License-Identifier: Apache-2.0
//
// Whether rows of a function may be batched, tried by a child: random rows may end it, or
// keep it from ending.
#ifndef FARCALL_CLI_PROVE_H_
#define FARCALL_CLI_PROVE_H_

#include "module/prove.h"

// The verdict is that of fc_rows_prove, or "off: " when the child has told none. Takes six
// seconds at most.
void fc_local_prove(const fc_function_t *function,
                    char out_verdict[FC_VERDICT_SIZE]);

#endif  // FARCALL_CLI_PROVE_H_
