// SPDX-License-Identifier: Apache-2.0
//
// Walks the plan's ops and records each leaf with its path and its way.
#include "marshal/leaves.h"

#include <stdio.h>
#include <stdlib.h>

// A tuple or dict that is being walked.
typedef struct level_t {
  const fc_op_t *next;  // the next child of this tuple or dict
  uint32_t ordinal;     // the number of that child
  uint32_t left;        // number of children still to come, with `next`
  size_t path_size;     // size of the path to the level itself
  int32_t raw_index;    // of the value that holds the children
  uint32_t step_count;  // steps from that value to the list of the children
} level_t;

typedef struct walk_t {
  fc_arena_t *arena;
  fc_leaf_t *leaves;
  fc_leaf_way_t *ways;
  uint32_t count;
  fc_leaf_path_t *paths;
  uint32_t path_count;
  fc_text_t path;  // of the op being walked, without its head (add_path)
  uint32_t steps[FC_TYPE_DEPTH_MAX + 1];
  uint32_t sizes[FC_TYPE_DEPTH_MAX + 1];
  level_t levels[FC_TYPE_DEPTH_MAX + 1];
  uint32_t depth;
} walk_t;

// True for a tuple or dict with parts. An empty one is a leaf.
static bool has_parts(const fc_op_t *op) {
  return (op->kind == FC_TYPE_TUPLE || op->kind == FC_TYPE_DICT) &&
         op->child_count > 0;
}

static fc_status_t put_ordinal(fc_sink_t *sink, uint32_t ordinal,
                               fc_error_t *err) {
  char text[16];
  snprintf(text, sizeof text, "%u", ordinal);
  return fc_sink_put(sink, fc_str(text), err);
}

// Writes a key, escaped as in RFC 6901: an unescaped slash would separate keys.
static fc_status_t put_key(fc_sink_t *sink, fc_str_t key, fc_error_t *err) {
  for (size_t i = 0; i < key.size; i++) {
    const char c = key.data[i];
    const fc_str_t text = c == '~'   ? FC_STR("~0")
                          : c == '/' ? FC_STR("~1")
                                     : fc_str_make(&key.data[i], 1);
    FC_TRY(fc_sink_put(sink, text, err));
  }
  return FC_OK;
}

// True for a text of digits, or an empty text. In a path such a text is a position, so no
// path begins with such a name.
static bool is_position(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return true;
}

// Records that `head` and the walk's path form a path to the leaf that is added next.
static fc_status_t add_path(walk_t *walk, fc_str_t head, bool by_position,
                            fc_error_t *err) {
  const fc_str_t tail = fc_text_str(&walk->path);
  char *text = fc_arena_alloc(walk->arena, head.size + tail.size + 1, 1);
  if (!text) return fc_fail_memory(err);
  memcpy(text, head.data, head.size);
  if (tail.size) memcpy(text + head.size, tail.data, tail.size);
  text[head.size + tail.size] = '\0';
  walk->paths[walk->path_count++] =
      (fc_leaf_path_t){.path = fc_str_make(text, head.size + tail.size),
                       .leaf = walk->count,
                       .by_position = by_position};
  return FC_OK;
}

static fc_status_t add_paths(walk_t *walk, const fc_plan_param_t *param,
                             fc_error_t *err) {
  char position[16];
  snprintf(position, sizeof position, "%u", param->number);
  FC_TRY(add_path(walk, fc_str(position), true, err));
  if (is_position(param->name)) return FC_OK;
  fc_text_t name;
  fc_text_init(&name, walk->arena->allocator, SIZE_MAX);
  fc_status_t status = put_key(&name.sink, param->name, err);
  if (status == FC_OK) {
    status = add_path(walk, fc_text_str(&name), false, err);
  }
  fc_text_deinit(&name);
  return status;
}

static fc_status_t add_leaf(walk_t *walk, const fc_plan_param_t *param,
                            const fc_op_t *op, fc_role_t role,
                            int32_t raw_index, uint32_t step_count,
                            fc_error_t *err) {
  uint32_t *steps = fc_arena_alloc_array(
      walk->arena, 2 * (size_t)step_count + 1, sizeof *steps);
  if (!steps) return fc_fail_memory(err);
  uint32_t *sizes = steps + step_count;
  memcpy(steps, walk->steps, step_count * sizeof *steps);
  memcpy(sizes, walk->sizes, step_count * sizeof *sizes);
  FC_TRY(add_paths(walk, param, err));
  walk->ways[walk->count] =
      (fc_leaf_way_t){param, op, raw_index, step_count, steps, sizes};
  walk->leaves[walk->count++] = (fc_leaf_t){
      .path = walk->paths[walk->path_count - 1].path.data,
      .kind = (fc_type_kind_t)op->kind,
      .dtype = (fc_dtype_t)op->dtype,
      .role = role,
      .rank = op->kind == FC_TYPE_UNKNOWN ? FC_RANK_DYNAMIC : op->rank,
      .dims = op->dims};
  return FC_OK;
}

// Returns the next child of the innermost level that has one left; NULL when all
// levels are finished.
static const fc_op_t *next_op(walk_t *walk, int32_t *out_raw_index,
                              uint32_t *out_step_count, fc_error_t *err,
                              fc_status_t *out_status) {
  *out_status = FC_OK;
  while (walk->depth && walk->levels[walk->depth - 1].left == 0) walk->depth--;
  if (!walk->depth) return NULL;
  level_t *level = &walk->levels[walk->depth - 1];
  const fc_op_t *op = level->next;
  if (walk->path.data) {
    walk->path.sink.cursor = walk->path.data + level->path_size;
  }
  fc_sink_t *sink = &walk->path.sink;
  *out_status = fc_sink_put(sink, FC_STR("/"), err);
  if (*out_status == FC_OK) {
    *out_status = op->key.size ? put_key(sink, op->key, err)
                               : put_ordinal(sink, level->ordinal, err);
  }
  walk->steps[level->step_count] = level->ordinal;
  walk->sizes[level->step_count] = level->ordinal + level->left;
  *out_raw_index = op->raw >= 0 ? op->raw : level->raw_index;
  *out_step_count =
      op->raw >= 0 || level->raw_index < 0 ? 0 : level->step_count + 1;
  level->next = fc_op_next(op);
  level->ordinal++;
  level->left--;
  return op;
}

static fc_status_t add_param(walk_t *walk, const fc_plan_param_t *param,
                             fc_role_t role, fc_error_t *err) {
  const fc_op_t *op = param->op;
  int32_t raw_index = op->raw;
  uint32_t step_count = 0;
  fc_status_t status = FC_OK;
  fc_text_reset(&walk->path);
  while (op && status == FC_OK) {
    if (!has_parts(op)) {
      status = add_leaf(walk, param, op, role, raw_index, step_count, err);
    } else {
      FC_ASSERT(walk->depth <= FC_TYPE_DEPTH_MAX);
      walk->levels[walk->depth++] =
          (level_t){.next = fc_op_child(op),
                    .left = op->child_count,
                    .path_size = fc_text_str(&walk->path).size,
                    .raw_index = raw_index,
                    .step_count = step_count};
    }
    if (status == FC_OK)
      op = next_op(walk, &raw_index, &step_count, err, &status);
  }
  return status;
}

static int compare_paths(const void *a, const void *b) {
  return fc_str_compare(((const fc_leaf_path_t *)a)->path,
                        ((const fc_leaf_path_t *)b)->path);
}

static uint32_t count_ops(const fc_plan_param_t *params, uint32_t count) {
  uint32_t ops = 0;
  for (uint32_t i = 0; i < count; i++) ops += params[i].op->span;
  return ops;
}

// Makes room for as many leaves as there are ops.
static fc_status_t begin(walk_t *walk, fc_arena_t *arena, uint32_t capacity,
                         fc_error_t *err) {
  const size_t room = (size_t)capacity + 1;
  *walk = (walk_t){.arena = arena};
  walk->leaves = fc_arena_alloc_array(arena, room, sizeof *walk->leaves);
  walk->ways = fc_arena_alloc_array(arena, room, sizeof *walk->ways);
  walk->paths = fc_arena_alloc_array(arena, 2 * room, sizeof *walk->paths);
  if (!walk->leaves || !walk->ways || !walk->paths) return fc_fail_memory(err);
  fc_text_init(&walk->path, arena->allocator, SIZE_MAX);
  return FC_OK;
}

static void finish(walk_t *walk, fc_leaves_t *out_leaves) {
  fc_text_deinit(&walk->path);
  if (walk->path_count > 1) {
    qsort(walk->paths, walk->path_count, sizeof *walk->paths, compare_paths);
  }
  *out_leaves = (fc_leaves_t){walk->leaves, walk->ways, walk->count,
                              walk->paths, walk->path_count};
}

// Returns the role of an input. All inputs of a root_tree signature have the role IN.
static fc_role_t role_of(const fc_plan_t *plan, const fc_plan_param_t *input) {
  if (plan->signature->root_tree) return FC_ROLE_IN;
  return (fc_role_t)plan->signature->arguments[input->number].role;
}

fc_status_t fc_leaves_of_arguments(const fc_plan_t *plan, fc_arena_t *arena,
                                   fc_leaves_t *out_leaves, fc_error_t *err) {
  walk_t walk;
  FC_TRY(begin(&walk, arena,
               count_ops(plan->inputs, plan->input_count) +
                   count_ops(plan->stores, plan->store_count),
               err));
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < plan->input_count && status == FC_OK; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    status = add_param(&walk, input, role_of(plan, input), err);
  }
  for (uint32_t i = 0; i < plan->store_count && status == FC_OK; i++) {
    status = add_param(&walk, &plan->stores[i], FC_ROLE_OUT, err);
  }
  finish(&walk, out_leaves);
  return status;
}

fc_status_t fc_leaves_of_results(const fc_plan_t *plan, fc_arena_t *arena,
                                 fc_leaves_t *out_leaves, fc_error_t *err) {
  walk_t walk;
  FC_TRY(
      begin(&walk, arena, count_ops(plan->outputs, plan->output_count), err));
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < plan->output_count && status == FC_OK; i++) {
    status = add_param(&walk, &plan->outputs[i], FC_ROLE_OUT, err);
  }
  finish(&walk, out_leaves);
  return status;
}

// ---------------------------------------------------------------------------
// Finding a leaf

static uint32_t find_whole(const fc_leaves_t *leaves, fc_str_t path) {
  uint32_t low = 0, high = leaves->path_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = fc_str_compare(path, leaves->paths[middle].path);
    if (order == 0) return leaves->paths[middle].leaf;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return FC_LEAF_NONE;
}

uint32_t fc_leaves_find(const fc_leaves_t *leaves, fc_str_t path,
                        fc_str_t *out_rest) {
  const char *end = path.data + path.size;
  if (fc_str_ends(path, FC_STR("/"))) return FC_LEAF_NONE;
  uint32_t leaf = find_whole(leaves, path);
  while (leaf == FC_LEAF_NONE && out_rest && path.size) {
    const char *slash = memrchr(path.data, '/', path.size);
    if (!slash) break;
    path.size = (size_t)(slash - path.data);
    leaf = find_whole(leaves, path);
  }
  if (out_rest && leaf != FC_LEAF_NONE) {
    const char *rest = path.data + path.size;
    if (rest < end) rest++;
    *out_rest = fc_str_make(rest, (size_t)(end - rest));
  }
  return leaf;
}

fc_str_t fc_leaves_nearest(const fc_leaves_t *leaves, fc_str_t path) {
  fc_nearest_t search = fc_nearest_begin(path);
  fc_str_t nearest = {0};
  for (uint32_t i = 0; i < leaves->path_count; i++) {
    const fc_str_t offered = leaves->paths[i].path;
    if (leaves->paths[i].by_position) continue;
    if (fc_nearest_offer(&search, offered)) nearest = offered;
  }
  return nearest;
}
