// SPDX-License-Identifier: Apache-2.0
//
// The interpreter for calls that are profiled: the same source, but it notes
// each function and import that is entered and left.
#define FC_VM_PROFILED
#include "module/vm/interp.c"  // NOLINT(bugprone-suspicious-include)
