// SPDX-License-Identifier: Apache-2.0
//
// Included before every file that scripts/check shows clang-tidy, and by
// nothing else. The analyzer looks at one file at a time, so it must be told
// that a function that returns fc_fail's status has failed; otherwise it warns
// of results that were never written.
#include "farcall/base.h"

#define fc_fail(...) (fc_fail(__VA_ARGS__), FC_INTERNAL)
#define fc_fail_as(...) (fc_fail_as(__VA_ARGS__), FC_INTERNAL)
#define fc_fail_memory(...) (fc_fail_memory(__VA_ARGS__), FC_INTERNAL)
