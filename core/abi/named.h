// SPDX-License-Identifier: Apache-2.0
//
// Names of one scope: the keys of a dict, the keywords of a function, the functions of
// a module. Two equal names are found by sorting, with n log n comparisons instead of n
// * n, so that a file with thousands of names is loaded quickly. Any thread.
#ifndef FARCALL_CORE_ABI_NAMED_H_
#define FARCALL_CORE_ABI_NAMED_H_

#include "farcall/base.h"

typedef struct fc_named_t {
  fc_str_t name;
  uint32_t number;  // the caller's own; those of one scope differ
} fc_named_t;

// Sorts by name, bytewise; equal names by number.
void fc_named_sort(fc_named_t *items, size_t count);
// Sorts the items and tells whether two have the same name. If so, *out_second is the
// first item, by number, that repeats a name, and *out_first is the item with that name
// and the next lower number.
bool fc_named_find_twins(fc_named_t *items, size_t count, fc_named_t *out_first,
                         fc_named_t *out_second);

#endif  // FARCALL_CORE_ABI_NAMED_H_
