// SPDX-License-Identifier: Apache-2.0
//
// The visitor of type trees, which renderings, checks and comparisons use.
#include "abi/walk.h"

bool fc_type_kind_nests(uint8_t kind) {
  return kind == FC_TYPE_LIST || kind == FC_TYPE_TUPLE ||
         kind == FC_TYPE_DICT || kind == FC_TYPE_REFARRAY;
}

bool fc_opaque_is_any(fc_str_t text) {
  static const char *const texts[] = {"?", "!vm.ref<?>", "!vm.opaque"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(texts); i++) {
    if (fc_str_equal(text, fc_str(texts[i]))) return true;
  }
  return false;
}

void fc_walk_init(fc_walk_t *walk, const fc_type_t *nodes, uint32_t root) {
  *walk = (fc_walk_t){.nodes = nodes};
  walk->path[0] = root;
}

static bool give(fc_walk_t *walk, uint32_t depth, bool leave) {
  FC_ASSERT(depth <= FC_TYPE_DEPTH_MAX);
  walk->depth = depth;
  walk->leave = leave;
  walk->type = &walk->nodes[walk->path[depth]];
  walk->parent = depth ? &walk->nodes[walk->path[depth - 1]] : NULL;
  walk->index = walk->indices[depth];
  return true;
}

bool fc_walk_next(fc_walk_t *walk) {
  if (!walk->started) {
    walk->started = true;
    return give(walk, 0, false);
  }
  bool nests = fc_type_kind_nests(walk->type->kind);
  if (nests && !walk->leave) {
    if (walk->type->child == FC_NODE_NONE) return give(walk, walk->depth, true);
    FC_ASSERT(walk->depth < FC_TYPE_DEPTH_MAX);
    walk->path[walk->depth + 1] = walk->type->child;
    walk->indices[walk->depth + 1] = 0;
    return give(walk, walk->depth + 1, false);
  }
  if (walk->depth == 0) return false;
  if (walk->type->next == FC_NODE_NONE)
    return give(walk, walk->depth - 1, true);
  walk->path[walk->depth] = walk->type->next;
  walk->indices[walk->depth]++;
  return give(walk, walk->depth, false);
}
