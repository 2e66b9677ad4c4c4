// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a fc_call_t (farcall/call.h). They are checked against their types
// when they are set.
#include <stdio.h>

#include "module/call_state.h"
#include "value/gather.h"

fc_status_t fc_call_locate(const fc_call_t *call, uint32_t leaf,
                           fc_status_t status, fc_error_t *err) {
  if (!err) return status;
  fc_plan_name_argument(call->arguments.ways[leaf].param, err);
  snprintf(err->pointer, sizeof err->pointer, "/%s",
           call->arguments.leaves[leaf].path);
  err->has_pointer = true;
  return status;
}

static fc_status_t check_tensor(const fc_leaf_t *type,
                                const fc_tensor_t *tensor, fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_UNKNOWN:
      break;
    default:
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "it is no tensor: fc_call_set_value sets it");
  }
  size_t size;
  return fc_tensor_check(tensor, type->dtype, type->rank, type->dims, &size,
                         err);
}

static bool is_usable(const fc_call_t *call, const fc_tensor_t *tensor) {
  return fc_tensor_is_usable(tensor, call->function->signature->alignment);
}

static fc_status_t set_tensor(fc_call_t *call, uint32_t leaf,
                              const fc_tensor_t *tensor, fc_error_t *err) {
  const fc_leaf_t *type = &call->arguments.leaves[leaf];
  fc_call_argument_t *argument = &call->given[leaf];
  FC_TRY(check_tensor(type, tensor, err));
  const bool copied = !is_usable(call, tensor);
  if (copied && type->role != FC_ROLE_IN) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "the function writes to it, so its elements must be dense "
                   "and lie at a multiple of %u bytes",
                   call->function->signature->alignment);
  }
  const size_t rank = (size_t)tensor->rank;
  int64_t *dims = argument->dims;
  argument->given = (fc_value_t){.kind = FC_VALUE_TENSOR, .tensor = *tensor};
  argument->given.tensor.shape = dims;
  argument->given.tensor.strides = NULL;
  if (rank) memcpy(dims, tensor->shape, rank * sizeof *dims);
  if (rank && !fc_tensor_is_dense(tensor)) {
    memcpy(dims + rank, tensor->strides, rank * sizeof *dims);
    argument->given.tensor.strides = dims + rank;
  }
  argument->copied = copied;
  argument->set = true;
  return FC_OK;
}

fc_status_t fc_call_set_leaf(fc_call_t *call, size_t leaf,
                             const fc_tensor_t *tensor, fc_error_t *err) {
  if (leaf >= call->arguments.count) {
    return fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT,
                   "no argument %zu: there are %u", leaf,
                   call->arguments.count);
  }
  const fc_status_t status = set_tensor(call, (uint32_t)leaf, tensor, err);
  return status == FC_OK ? FC_OK
                         : fc_call_locate(call, (uint32_t)leaf, status, err);
}

static fc_status_t find_argument(const fc_call_t *call, const char *path,
                                 uint32_t *out_leaf, fc_error_t *err) {
  *out_leaf = fc_leaves_find(&call->arguments, fc_str(path), NULL);
  if (*out_leaf != FC_LEAF_NONE) return FC_OK;
  char shown[128], hint[128] = "";
  fc_escape(shown, sizeof shown, 64, fc_str(path));
  const fc_str_t nearest = fc_leaves_nearest(&call->arguments, fc_str(path));
  if (nearest.size) {
    snprintf(hint, sizeof hint, "; did you mean '%.*s'?", FC_STR_ARG(nearest));
  }
  return fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT, "no argument '%s'%s", shown,
                 hint);
}

fc_status_t fc_call_set(fc_call_t *call, const char *path,
                        const fc_tensor_t *tensor, fc_error_t *err) {
  uint32_t leaf;
  FC_TRY(find_argument(call, path, &leaf, err));
  return fc_call_set_leaf(call, leaf, tensor, err);
}

// True when a leaf of this type may have the kind and dtype of `value`.
static bool takes(const fc_leaf_t *type, const fc_value_t *value) {
  const bool unknown = type->kind == FC_TYPE_UNKNOWN;
  switch (value->kind) {
    case FC_VALUE_SCALAR:
      return type->kind == FC_TYPE_SCALAR && type->dtype == value->dtype;
    case FC_VALUE_BYTES:
      return unknown || type->kind == FC_TYPE_BYTES;
    case FC_VALUE_LIST:
      return unknown || type->kind == FC_TYPE_LIST ||
             type->kind == FC_TYPE_REFARRAY;
    case FC_VALUE_NULL:
      return unknown;
    default:
      return false;
  }
}

typedef struct list_level_t {
  const fc_value_t *next;
  size_t left;
} list_level_t;

// Checks a tensor inside a list. It is passed without a copy, so the code must be able to
// use it where it lies.
static fc_status_t check_item(const fc_call_t *call, const fc_value_t *value,
                              fc_error_t *err) {
  static const fc_leaf_t any = {.kind = FC_TYPE_UNKNOWN,
                                .rank = FC_RANK_DYNAMIC};
  if (value->kind != FC_VALUE_TENSOR) return FC_OK;
  FC_TRY(check_tensor(&any, &value->tensor, err));
  if (!value->tensor.strides && is_usable(call, &value->tensor)) return FC_OK;
  return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                 "the elements of a tensor in a list must be dense, without "
                 "strides, and lie at a multiple of %u bytes",
                 call->function->signature->alignment);
}

static fc_status_t check_list(const fc_call_t *call, const fc_value_t *list,
                              fc_error_t *err) {
  list_level_t levels[FC_TYPE_DEPTH_MAX] = {{list, 1}};
  uint32_t depth = 1;
  while (depth) {
    list_level_t *level = &levels[depth - 1];
    if (!level->left) {
      depth--;
      continue;
    }
    const fc_value_t *value = level->next++;
    level->left--;
    if (value->kind != FC_VALUE_LIST) {
      FC_TRY(check_item(call, value, err));
    } else if (depth == FC_TYPE_DEPTH_MAX) {
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "lists are nested deeper than %d", FC_TYPE_DEPTH_MAX);
    } else {
      levels[depth++] = (list_level_t){value->list.items, value->list.count};
    }
  }
  return FC_OK;
}

static fc_status_t set_value(fc_call_t *call, uint32_t leaf,
                             const fc_value_t *value, fc_error_t *err) {
  fc_call_argument_t *argument = &call->given[leaf];
  if (value->kind == FC_VALUE_TENSOR) {
    return set_tensor(call, leaf, &value->tensor, err);
  }
  if (!takes(&call->arguments.leaves[leaf], value)) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "the argument cannot have a value of this kind");
  }
  FC_TRY(check_list(call, value, err));
  argument->given = *value;
  argument->copied = false;
  argument->set = true;
  return FC_OK;
}

fc_status_t fc_call_set_value(fc_call_t *call, const char *path,
                              const fc_value_t *value, fc_error_t *err) {
  uint32_t leaf;
  FC_TRY(find_argument(call, path, &leaf, err));
  const fc_status_t status = set_value(call, leaf, value, err);
  return status == FC_OK ? FC_OK : fc_call_locate(call, leaf, status, err);
}

void fc_call_clear(fc_call_t *call) {
  fc_call_end(call);
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    call->given[i].set = false;
    if (call->given[i].dest) *call->given[i].dest = (fc_value_t){0};
  }
  fc_call_set_constants(call);
}

// True for a type that has only one value: null, an empty tuple, an empty dict.
static bool is_constant(const fc_leaf_t *type) {
  return type->kind == FC_TYPE_NULL || type->kind == FC_TYPE_TUPLE ||
         type->kind == FC_TYPE_DICT;
}

void fc_call_set_constants(fc_call_t *call) {
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    const fc_leaf_t *type = &call->arguments.leaves[i];
    fc_call_argument_t *argument = &call->given[i];
    if (!is_constant(type)) continue;
    argument->set = true;
    argument->given.kind =
        type->kind == FC_TYPE_NULL ? FC_VALUE_NULL : FC_VALUE_LIST;
  }
}
