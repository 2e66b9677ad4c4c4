// SPDX-License-Identifier: Apache-2.0
//
// Finds a function's values by path (fc_leaf_t, farcall/call.h). Leaves are made from a
// plan, once for the plan's model and once for each fc_call_t, and are then immutable.
#ifndef FARCALL_MARSHAL_LEAVES_H_
#define FARCALL_MARSHAL_LEAVES_H_

#include "farcall/call.h"
#include "marshal/plan.h"

// How to reach a leaf from the flat values of a call.
typedef struct fc_leaf_way_t {
  const fc_plan_param_t *param;  // the argument or result of the leaf
  const fc_op_t *op;
  int32_t raw_index;      // FC_RAW_NONE: the value is not passed
  uint32_t step_count;    // 0: the leaf is the value at that raw index
  const uint32_t *steps;  // else: which item to take in each list on the way
  const uint32_t *sizes;  // and how many items each of these lists has
} fc_leaf_way_t;

// One path of a leaf. Each leaf has a path that begins with the number of its argument
// or result (`by_position`). Most leaves also have one that begins with the name.
typedef struct fc_leaf_path_t {
  fc_str_t path;
  uint32_t leaf;
  bool by_position;
} fc_leaf_path_t;

typedef struct fc_leaves_t {
  const fc_leaf_t *leaves;
  const fc_leaf_way_t *ways;  // one for each leaf
  uint32_t count;
  const fc_leaf_path_t *paths;  // in bytewise order
  uint32_t path_count;
} fc_leaves_t;

// These make the leaves of a plan. All memory comes from `arena`. The plan must outlive
// the leaves.
fc_status_t fc_leaves_of_arguments(const fc_plan_t *plan, fc_arena_t *arena,
                                   fc_leaves_t *out_leaves, fc_error_t *err);
fc_status_t fc_leaves_of_results(const fc_plan_t *plan, fc_arena_t *arena,
                                 fc_leaves_t *out_leaves, fc_error_t *err);

#define FC_LEAF_NONE UINT32_MAX
// Finds the leaf at `path`. If `path` continues after a leaf, finds that leaf and writes
// the rest of `path` to `out_rest`, which is empty for a whole path. If `out_rest` is
// NULL, only whole paths are found. FC_LEAF_NONE when there is no such leaf, or when
// `path` ends in a slash.
uint32_t fc_leaves_find(const fc_leaves_t *leaves, fc_str_t path,
                        fc_str_t *out_rest);
// Returns the path that begins with a name and is nearest to `path`; empty if none is
// near.
fc_str_t fc_leaves_nearest(const fc_leaves_t *leaves, fc_str_t path);

#endif  // FARCALL_MARSHAL_LEAVES_H_
