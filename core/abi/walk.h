// SPDX-License-Identifier: Apache-2.0
//
// Visits a type tree without recursion, parents first. A LIST, TUPLE, DICT or REFARRAY,
// even an empty one, is visited twice: before its children and, with `leave` set, after
// them. The tree must be no deeper than FC_TYPE_DEPTH_MAX. No tree of a finished
// signature is deeper: fc_signature_build checks the depth by such a walk, and stops at
// the first node that lies too deep. One walk, one thread.
#ifndef FARCALL_ABI_WALK_H_
#define FARCALL_ABI_WALK_H_

#include "farcall/type.h"

typedef struct fc_walk_t {
  const fc_type_t *nodes;
  const fc_type_t *type;    // the node that the last fc_walk_next visited
  const fc_type_t *parent;  // NULL for the root
  uint32_t index;           // its place among its siblings
  uint32_t depth;           // 0 for the root
  bool leave;
  bool started;
  uint32_t path[FC_TYPE_DEPTH_MAX + 1];
  uint32_t indices[FC_TYPE_DEPTH_MAX + 1];
} fc_walk_t;

void fc_walk_init(fc_walk_t *walk, const fc_type_t *nodes, uint32_t root);
// Moves to the next node. False at the end.
bool fc_walk_next(fc_walk_t *walk);

// True for the kinds that have children.
bool fc_type_kind_nests(uint8_t kind);
// True for the text of an OPAQUE that says nothing of the object.
bool fc_opaque_is_any(fc_str_t text);

#endif  // FARCALL_ABI_WALK_H_
