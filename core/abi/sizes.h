// SPDX-License-Identifier: Apache-2.0
//
// Makes one function for callers of several functions of a module. Each of these is
// compiled for one size of its arguments. A call runs the one for the call's size or, if
// the rows are batched, as many of them as it needs. A module's sidecar says which
// functions belong together:
//
//   "sizes": [ { "name": "main", "functions": ["main_1", "main_8"],
//                "args": [ { "dims": ["batch", null] } ] },
//              { "name": "f", "batch": {"1": "f_one", "4": "f_four"} } ]
//
// or their names do: f_bs1 and f_bs4 are also f. Functions in a list "functions" are no
// longer listed themselves; those in "batch", and those found by name, still are. Read
// when a module is loaded, after its own signatures; immutable afterwards.
// marshal/sized.c and rows.c decide which functions a call runs. Any thread; docs/abi.md.
#ifndef FARCALL_CORE_ABI_SIZES_H_
#define FARCALL_CORE_ABI_SIZES_H_

#include "farcall/type.h"

// A function of the module's own listing.
typedef struct fc_entry_t {
  size_t index;
  const fc_signature_t *signature;
} fc_entry_t;

// A function as callers see it: one or more of the module's functions.
typedef struct fc_sized_t {
  const fc_signature_t *signature;
  // One entry for each row of the signature's sizes, in their order; without
  // rows one entry.
  const fc_entry_t *entries;
  // How much the answer for a row may differ if other rows are computed in the same
  // call. It is enough if the difference is within one of the two bounds. If
  // `approximate` is false, the answers must be equal.
  bool approximate;
  double absolute;
  double relative;
} fc_sized_t;

typedef struct fc_sizes_t {
  fc_allocator_t allocator;
  fc_sized_t *listed;  // in the order of their first functions in the module
  size_t count;
  fc_entry_t *entries;
} fc_sizes_t;

// Reads what the sidecar `json` and the names of these functions say. *out_sizes is NULL
// when they say nothing. The signatures must outlive the sizes; nothing points into
// `json` afterwards. FC_CODE_ABI_METADATA names the place of a fault as a JSON pointer.
fc_status_t fc_sizes_create(fc_str_t json, fc_signature_t *const *signatures,
                            size_t count, fc_allocator_t allocator,
                            fc_sizes_t **out_sizes,
                            fc_error_t *err) FC_MUST_CHECK;
void fc_sizes_destroy(fc_sizes_t *sizes);  // NULL is allowed

#endif  // FARCALL_CORE_ABI_SIZES_H_
