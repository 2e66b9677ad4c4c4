// SPDX-License-Identifier: Apache-2.0
//
// Makes models. A plan is shared by threads, so its model is published by one atomic
// exchange: a thread that comes second destroys its own model.
#include "marshal/model.h"

#include <stdlib.h>

#define BLOCK_SIZE ((size_t)2 << 10)

// The type of a leaf of unknown type, as protocols send it.
static const fc_op_t kAny = {.kind = FC_TYPE_TENSOR,
                             .rank = FC_RANK_DYNAMIC,
                             .raw = FC_RAW_NONE,
                             .span = 1};

// The type of byte strings in a leaf of unknown type.
static const fc_op_t kTexts[] = {
    {.kind = FC_TYPE_LIST, .raw = FC_RAW_NONE, .span = 2, .child_count = 1},
    {.kind = FC_TYPE_BYTES,
     .flavor = FC_FLAVOR_RAW,
     .raw = FC_RAW_NONE,
     .span = 1},
};

bool fc_model_is_any(const fc_op_t *op) { return op == &kAny; }

const fc_op_t *fc_model_texts(void) { return kTexts; }

const fc_op_t *fc_model_texts_of(const fc_value_t *value) {
  if (value->kind == FC_VALUE_BYTES) return fc_op_child(kTexts);
  if (value->kind != FC_VALUE_LIST) return NULL;
  for (size_t i = 0; i < value->list.count; i++) {
    if (value->list.items[i].kind != FC_VALUE_BYTES) return NULL;
  }
  return kTexts;
}

static bool has_texts(const fc_op_t *op) {
  return (op->kind == FC_TYPE_LIST || op->kind == FC_TYPE_REFARRAY) &&
         fc_op_child(op)->kind == FC_TYPE_BYTES;
}

bool fc_model_is_text(const fc_op_t *op) {
  return op->kind == FC_TYPE_BYTES || has_texts(op);
}

const char *fc_model_datatype(const fc_op_t *op) {
  if (fc_model_is_text(op)) return "BYTES";
  return op->dtype == FC_DTYPE_NONE ? "ANY" : fc_dtype_info(op->dtype)->oip;
}

const int64_t *fc_model_shape(const fc_op_t *op, int32_t *out_rank) {
  static const int64_t kAnySize = FC_DIM_DYNAMIC, kOne = 1;
  *out_rank = 1;
  if (op->kind == FC_TYPE_BYTES) return &kOne;
  if (op->kind == FC_TYPE_LIST || op->rank < 0) return &kAnySize;
  *out_rank = op->rank;
  return op->dims;
}

// True for a leaf that clients neither send nor get: null, or an empty tuple or dict.
static bool is_constant(const fc_leaf_t *leaf) {
  return leaf->kind == FC_TYPE_NULL || leaf->kind == FC_TYPE_TUPLE ||
         leaf->kind == FC_TYPE_DICT;
}

static bool is_tensor(const fc_op_t *op) {
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_SCALAR:
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return op->dtype == FC_DTYPE_NONE ||
             fc_dtype_info(op->dtype)->oip[0] != '\0';
    default:
      return fc_model_is_text(op) || op->kind == FC_TYPE_UNKNOWN;
  }
}

static fc_status_t refuse(const char *what, fc_str_t path, fc_dtype_t dtype,
                          fc_error_t *err) {
  const bool typed = fc_dtype_size(dtype) > 0;
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                 "%s '%.*s' is no tensor that this protocol has%s%s", what,
                 FC_STR_ARG(path), typed ? ": " : "",
                 typed ? fc_dtype_info(dtype)->text : "");
}

static fc_status_t refuse_texts(const char *what,
                                const fc_model_tensor_t *tensors,
                                uint32_t count, fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    if (has_texts(tensors[i].op)) {
      return refuse(what, tensors[i].name, FC_DTYPE_NONE, err);
    }
  }
  return FC_OK;
}

fc_status_t fc_model_check_arrays(const fc_model_t *model, fc_error_t *err) {
  if (!model->has_texts) return FC_OK;
  FC_TRY(refuse_texts("argument", model->inputs, model->input_count, err));
  return refuse_texts("result", model->outputs, model->output_count, err);
}

static int by_raw_index(const void *a, const void *b) {
  const fc_leaf_way_t *left = ((const fc_model_tensor_t *)a)->way;
  const fc_leaf_way_t *right = ((const fc_model_tensor_t *)b)->way;
  if (left->raw_index != right->raw_index) {
    return left->raw_index < right->raw_index ? -1 : 1;
  }
  return left < right ? -1 : left > right;
}

// True when two leaves have the same path. This is so if a result has the name of an
// argument whose final contents are returned as well.
static bool has_twins(const fc_leaves_t *leaves) {
  for (uint32_t i = 1; i < leaves->path_count; i++) {
    const fc_leaf_path_t *a = &leaves->paths[i - 1], *b = &leaves->paths[i];
    if (a->leaf != b->leaf && fc_str_equal(a->path, b->path)) return true;
  }
  return false;
}

// Returns the leaf's path that begins with the number, not the name, of its argument or
// result. No other leaf has this path.
static fc_str_t position_of(const fc_leaves_t *leaves, uint32_t leaf) {
  for (uint32_t i = 0; i < leaves->path_count; i++) {
    const fc_leaf_path_t *path = &leaves->paths[i];
    if (path->leaf == leaf && path->by_position) return path->path;
  }
  return fc_str(leaves->leaves[leaf].path);
}

// Lists the leaves that are sent: of the arguments those that are not OUT, and of the
// results all. Constants are left out.
static fc_status_t list(fc_model_t *model, const fc_leaves_t *leaves,
                        const char *what, const fc_model_tensor_t **out_list,
                        uint32_t *out_count, const uint32_t **out_of,
                        fc_error_t *err) {
  const bool inputs = leaves == &model->arguments;
  const bool twins = has_twins(leaves);
  fc_model_tensor_t *tensors = fc_arena_alloc_array(
      &model->arena, leaves->count + (size_t)1, sizeof *tensors);
  uint32_t *of = fc_arena_alloc_array(&model->arena, leaves->count + (size_t)1,
                                      sizeof *of);
  if (!tensors || !of) return fc_fail_memory(err);
  uint32_t count = 0;
  for (uint32_t i = 0; i < leaves->count; i++) {
    const fc_leaf_t *leaf = &leaves->leaves[i];
    of[i] = UINT32_MAX;
    if (is_constant(leaf) || (inputs && leaf->role == FC_ROLE_OUT)) continue;
    const fc_op_t *op = leaves->ways[i].op;
    if (!is_tensor(op)) {
      return refuse(what, fc_str(leaf->path), leaf->dtype, err);
    }
    if (op->kind == FC_TYPE_UNKNOWN) op = &kAny;
    model->has_texts |= has_texts(op);
    tensors[count++] =
        (fc_model_tensor_t){twins ? position_of(leaves, i) : fc_str(leaf->path),
                            op, &leaves->ways[i]};
  }
  if (count > 1) qsort(tensors, count, sizeof *tensors, by_raw_index);
  for (uint32_t i = 0; i < count; i++) of[tensors[i].way - leaves->ways] = i;
  *out_list = tensors;
  *out_count = count;
  *out_of = of;
  return FC_OK;
}

static fc_status_t fill(fc_model_t *model, const fc_plan_t *plan,
                        fc_error_t *err) {
  FC_TRY(fc_leaves_of_arguments(plan, &model->arena, &model->arguments, err));
  FC_TRY(fc_leaves_of_results(plan, &model->arena, &model->results, err));
  FC_TRY(list(model, &model->arguments, "argument", &model->inputs,
              &model->input_count, &model->input_of, err));
  return list(model, &model->results, "result", &model->outputs,
              &model->output_count, &model->output_of, err);
}

static fc_status_t create(const fc_plan_t *plan, fc_model_t **out_model,
                          fc_error_t *err) {
  fc_model_t *model = fc_alloc(plan->allocator, sizeof *model);
  if (!model) return fc_fail_memory(err);
  fc_arena_init(&model->arena, plan->allocator, BLOCK_SIZE, SIZE_MAX);
  model->has_texts = false;
  fc_error_reset(&model->refused);
  const fc_status_t status = fill(model, plan, &model->refused);
  if (status != FC_OK && model->refused.code != FC_CODE_UNSUPPORTED_TYPE) {
    fc_model_destroy(model);
    return fc_fail_memory(err);
  }
  *out_model = model;
  return FC_OK;
}

fc_status_t fc_plan_model(const fc_plan_t *plan, const fc_model_t **out_model,
                          fc_error_t *err) {
  fc_plan_live_t *live = plan->live;
  fc_model_t *model = atomic_load_explicit(&live->model, memory_order_acquire);
  if (!model) {
    FC_TRY(create(plan, &model, err));
    fc_model_t *first = NULL;
    if (!atomic_compare_exchange_strong(&live->model, &first, model)) {
      fc_model_destroy(model);
      model = first;
    }
  }
  *out_model = model;
  if (model->refused.code == FC_CODE_NONE) return FC_OK;
  if (err) *err = model->refused;
  return model->refused.status;
}

void fc_model_destroy(fc_model_t *model) {
  if (!model) return;
  const fc_allocator_t allocator = model->arena.allocator;
  fc_arena_deinit(&model->arena);
  fc_free(allocator, model);
}

uint32_t fc_model_find(const fc_leaves_t *leaves, const uint32_t *of,
                       fc_str_t name) {
  const uint32_t leaf = fc_leaves_find(leaves, name, NULL);
  return leaf == FC_LEAF_NONE ? UINT32_MAX : of[leaf];
}

fc_str_t fc_model_nearest(const fc_model_tensor_t *tensors, uint32_t count,
                          fc_str_t name) {
  fc_str_t nearest = {0};
  fc_nearest_t search = fc_nearest_begin(name);
  for (uint32_t i = 0; i < count; i++) {
    if (fc_nearest_offer(&search, tensors[i].name)) nearest = tensors[i].name;
  }
  return nearest;
}
