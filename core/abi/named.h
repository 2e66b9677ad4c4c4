// SPDX-License-Identifier: Apache-2.0
//
// Names of one scope: the keys of a dict, the keywords of a function, the
// functions of a module. Sorting them takes n log n comparisons, so that a file
// with thousands of names costs no more to load than it is long. Any thread.
#ifndef FARCALL_CORE_ABI_NAMED_H_
#define FARCALL_CORE_ABI_NAMED_H_

#include "farcall/base.h"

typedef struct fc_named_t {
  fc_str_t name;
  uint32_t number;  // the caller's own; those of one scope differ
} fc_named_t;

// By name, bytewise; equal ones by number.
void fc_named_sort(fc_named_t *items, size_t count);
// Sorts them and tells whether two have one name. *out_second is the item with
// the lowest number whose name another has before it; *out_first is that one.
bool fc_named_find_twins(fc_named_t *items, size_t count, fc_named_t *out_first,
                         fc_named_t *out_second);

#endif  // FARCALL_CORE_ABI_NAMED_H_
