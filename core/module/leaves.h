// SPDX-License-Identifier: Apache-2.0
//
// The places of a function's values by path (fc_leaf_t, farcall/call.h): made once
// for a call from its plan, then only looked up. Immutable once made.
#ifndef FARCALL_MODULE_LEAVES_H_
#define FARCALL_MODULE_LEAVES_H_

#include "farcall/call.h"
#include "marshal/plan.h"

// How to get to a leaf from the flat values of a call.
typedef struct fc_leaf_way_t {
  const fc_plan_param_t *param;  // the argument or result that the leaf is part
                                 // of
  const fc_op_t *op;
  int32_t raw_index;      // FC_RAW_NONE: the value is passed nowhere
  uint32_t step_count;    // 0: the value at that raw index is the leaf's
  const uint32_t *steps;  // otherwise: indices into the lists there
} fc_leaf_way_t;

// One path of a leaf: it has one by name and one by position.
typedef struct fc_leaf_path_t {
  fc_str_t path;
  uint32_t leaf;
} fc_leaf_path_t;

typedef struct fc_leaves_t {
  const fc_leaf_t *leaves;
  const fc_leaf_way_t *ways;  // of each
  uint32_t count;
  const fc_leaf_path_t *paths;  // in bytewise order
  uint32_t path_count;
} fc_leaves_t;

// All memory is `arena`'s. The plan must outlive it.
fc_status_t fc_leaves_of_arguments(const fc_plan_t *plan, fc_arena_t *arena,
                                   fc_leaves_t *out_leaves, fc_error_t *err);
fc_status_t fc_leaves_of_results(const fc_plan_t *plan, fc_arena_t *arena,
                                 fc_leaves_t *out_leaves, fc_error_t *err);

#define FC_LEAF_NONE UINT32_MAX
// The leaf at `path`, or the one that `path` goes on from: then the rest is
// written to `out_rest` (NULL: only whole paths are found), else it is empty.
// FC_LEAF_NONE when there is none.
uint32_t fc_leaves_find(const fc_leaves_t *leaves, fc_str_t path,
                        fc_str_t *out_rest);

#endif  // FARCALL_MODULE_LEAVES_H_
