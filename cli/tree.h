// SPDX-License-Identifier: Apache-2.0
//
// Prints the parts of a signature that do not fit its one line as an indented tree:
// structured arguments and results, and the raw value of each leaf.
#ifndef FARCALL_CLI_TREE_H_
#define FARCALL_CLI_TREE_H_

#include "farcall/base.h"

// Writes the tree of the signature in `json`, in the form that farcalld publishes. Leaves
// out arguments and results without parts and without a raw index: the one-line signature
// describes them fully. FC_CODE_ABI_METADATA: `json` cannot be read as a signature.
fc_status_t fc_tree_print(fc_str_t json, fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_CLI_TREE_H_
