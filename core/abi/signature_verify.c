// SPDX-License-Identifier: Apache-2.0
//
// Checks what must hold for a finished signature, so that its users can trust every
// index and depth. Called by the builder (type.c), at load.
#include "abi/signature_verify.h"

#include "abi/walk.h"

static bool text_fits(const fc_signature_t *signature, fc_text_ref_t ref) {
  return ref.offset <= signature->char_count &&
         ref.size <= signature->char_count - ref.offset;
}

static bool dtype_exists(uint8_t dtype) {
  return dtype > FC_DTYPE_NONE && dtype < FC_DTYPE_COUNT;
}

// Says what is wrong with the rank and dims of a shaped node; NULL if they are valid.
static const char *shape_fault(const fc_signature_t *signature,
                               const fc_type_t *type) {
  if (type->rank < FC_RANK_DYNAMIC || type->rank > FC_RANK_MAX) {
    return "a rank out of range";
  }
  uint32_t rank = type->rank < 0 ? 0 : (uint32_t)type->rank;
  bool strided = type->flags & FC_TYPE_STRIDED;
  if (strided && type->rank < 0) return "strides without a rank";
  uint32_t count = strided ? 2 * rank + 1 : rank;
  if (type->dims > signature->dim_count ||
      count > signature->dim_count - type->dims) {
    return "dims out of range";
  }
  const int64_t *dims = fc_signature_dims(signature, type);
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] >= FC_DIM_DYNAMIC) continue;
    if (dims[i] < -2 - (int64_t)signature->dim_name_count) {
      return "a negative dim";
    }
    if (fc_dim_name(dims[i]) >= signature->dim_name_count) {
      return "a dim whose name is unknown";
    }
  }
  return NULL;
}

// Says what is wrong with one node, without its children; NULL if it is valid.
static const char *node_fault(const fc_signature_t *signature,
                              const fc_type_t *type) {
  if (!text_fits(signature, type->key) || !text_fits(signature, type->text)) {
    return "text out of range";
  }
  if (type->raw_index < FC_RAW_NONE) return "a negative raw index";
  bool untyped = type->flags & FC_TYPE_UNTYPED;
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return dtype_exists(type->dtype) ? NULL : "no element type";
    case FC_TYPE_TENSOR:
      if (!untyped && !dtype_exists(type->dtype)) return "no element type";
      return shape_fault(signature, type);
    case FC_TYPE_VECTOR:
      if (!dtype_exists(type->dtype)) return "no element type";
      return type->rank < 0 ? "no rank" : shape_fault(signature, type);
    case FC_TYPE_BYTES:
      return type->flavor == FC_FLAVOR_UTF8 || type->flavor == FC_FLAVOR_RAW ||
                     type->flavor == FC_FLAVOR_I8
                 ? NULL
                 : "no encoding";
    case FC_TYPE_LIST:
      return type->child_count == 1 ? NULL : "not one item type";
    case FC_TYPE_TUPLE:
      return type->flavor >= FC_FLAVOR_LIST && type->flavor <= FC_FLAVOR_STRUCT
                 ? NULL
                 : "no flavor";
    case FC_TYPE_REFARRAY:
      if (type->child_count != 1) return "not one item type";
      return shape_fault(signature, type);
    case FC_TYPE_OPAQUE:
      return type->text.size ? NULL : "no text";
    case FC_TYPE_DICT:
    case FC_TYPE_NULL:
    case FC_TYPE_UNKNOWN:
      return NULL;
    default:
      return "an unknown kind";
  }
}

// The raw indices that are taken.
typedef struct taken_t {
  uint32_t count;  // one more than the highest
  uint32_t used;
  bool twice;
  uint8_t bits[FC_NODE_MAX / 8];
} taken_t;

static void take_index(taken_t *taken, int32_t index) {
  if (index < 0) return;
  if ((uint32_t)index >= taken->count) taken->count = (uint32_t)index + 1;
  if (index >= FC_NODE_MAX) return;  // flat_call_verify refuses it
  uint8_t bit = (uint8_t)(1U << (index % 8));
  if (taken->bits[index / 8] & bit) taken->twice = true;
  taken->used += !(taken->bits[index / 8] & bit);
  taken->bits[index / 8] |= bit;
}

// Finds the largest list of names that must all differ, the keys of a dict or the names
// of the arguments, and returns its number of names.
size_t fc_signature_most_names(const fc_signature_t *signature) {
  uint32_t most = signature->argument_count;
  for (uint32_t i = 0; i < signature->node_count; i++) {
    const fc_type_t *type = &signature->nodes[i];
    if (type->kind != FC_TYPE_DICT) continue;
    if (type->child_count > most) most = type->child_count;
  }
  return most;
}

static fc_status_t keys_verify(const fc_signature_t *signature,
                               const fc_type_t *dict, fc_named_t *scratch,
                               fc_error_t *err) {
  uint32_t count = 0;
  for (uint32_t i = dict->child; i != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(signature, i);
    FC_ASSERT(count < dict->child_count);
    scratch[count] =
        (fc_named_t){fc_signature_text(signature, child->key), count};
    count++;
    i = child->next;
  }
  fc_named_t first, second;
  if (!fc_named_find_twins(scratch, count, &first, &second)) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, second.name);
  return fc_fail(err, FC_CODE_ABI_METADATA, "key '%s' comes twice", shown);
}

// Verifies the type tree of one parameter. The walk ends, because node_take ensures that
// every node has at most one parent or parameter.
static fc_status_t tree_verify(const fc_signature_t *signature, uint32_t root,
                               taken_t *taken, fc_named_t *scratch,
                               fc_error_t *err) {
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, root);
  while (fc_walk_next(&walk)) {
    const fc_type_t *type = walk.type;
    if (walk.leave) {
      if (type->kind != FC_TYPE_DICT) continue;
      FC_TRY(keys_verify(signature, type, scratch, err));
      continue;
    }
    const char *fault = node_fault(signature, type);
    if (fault) {
      return fc_fail(err, FC_CODE_ABI_METADATA, "a type has %s", fault);
    }
    if (!fc_type_kind_nests(type->kind)) {
      if (type->child != FC_NODE_NONE) {
        return fc_fail(err, FC_CODE_INTERNAL, "a leaf type has children");
      }
      if (taken) take_index(taken, type->raw_index);
    } else if (walk.depth >= FC_TYPE_DEPTH_MAX) {
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "types nest deeper than %d levels", FC_TYPE_DEPTH_MAX);
    }
  }
  return FC_OK;
}

static fc_status_t params_verify(const fc_signature_t *signature,
                                 const fc_param_t *params, uint32_t count,
                                 taken_t *taken, fc_named_t *scratch,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    bool is_raw = params[i].raw_index != FC_RAW_NONE;
    if (is_raw) take_index(taken, params[i].raw_index);
    FC_TRY(tree_verify(signature, params[i].type, is_raw ? NULL : taken,
                       scratch, err));
  }
  return FC_OK;
}

static fc_status_t names_verify(const fc_signature_t *signature,
                                fc_named_t *scratch, fc_error_t *err) {
  size_t count = 0;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!param->keyword) continue;
    scratch[count++] =
        (fc_named_t){fc_signature_text(signature, param->name), i};
  }
  fc_named_t first, second;
  if (!fc_named_find_twins(scratch, count, &first, &second)) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, second.name);
  return fc_fail(err, FC_CODE_ABI_METADATA,
                 "arguments %u and %u are both named '%s'", first.number,
                 second.number, shown);
}

// Checks that the raw indices are in the flat call. Each raw argument of a callable
// function must come from exactly one place. A raw result may appear as several results,
// or as none.
static fc_status_t flat_call_verify(const fc_signature_t *signature,
                                    const taken_t *arguments,
                                    const taken_t *results, fc_error_t *err) {
  uint32_t count = signature->raw_argument_count;
  if (count > FC_NODE_MAX || arguments->count > count) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "raw argument %u, the flat call has %u",
                   arguments->count ? arguments->count - 1 : 0, count);
  }
  if (results->count > signature->raw_result_count) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "raw result %u, the flat call has %u", results->count - 1,
                   signature->raw_result_count);
  }
  if (!signature->callable) return FC_OK;
  if (arguments->twice || arguments->used != count) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "%u of %u raw arguments are given%s", arguments->used, count,
                   arguments->twice ? ", one of them twice" : "");
  }
  return FC_OK;
}

// Checks the rows of sizes. `count` is the number of sizes that were given for all rows.
static fc_status_t sizes_verify(const fc_signature_t *signature, uint32_t count,
                                fc_error_t *err) {
  const uint32_t rows = signature->size_count;
  bool valid = rows <= FC_SIZES_MAX &&
               rows * signature->dim_name_count == count && (!rows || count);
  for (uint32_t i = 0; valid && i < count; i++) {
    valid = signature->sizes[i] >= FC_DIM_DYNAMIC;
  }
  return valid ? FC_OK
               : fc_fail(err, FC_CODE_ABI_METADATA,
                         "%u sizes in %u rows for %u names of dims", count,
                         rows, signature->dim_name_count);
}

// An opaque reference begins as null, so a function has to return the next one.
static const char *opaque_fault(const fc_signature_t *signature,
                                const fc_state_decl_t *state,
                                const fc_type_t *type) {
  if (state->result == FC_STATE_IN_PLACE) return "its argument is no tensor";
  if (state->survives) return "an opaque reference cannot survive";
  const fc_type_t *next =
      fc_signature_node(signature, signature->results[state->result].type);
  return next->kind == FC_TYPE_OPAQUE &&
                 fc_str_equal(fc_signature_text(signature, next->text),
                              fc_signature_text(signature, type->text))
             ? NULL
             : "its result has another type than its argument";
}

// Says what is wrong with one state, without comparing it with others; NULL if it is
// valid. The result is passed on as the argument unchanged, so both must have one type,
// except for dims.
static const char *state_fault(const fc_signature_t *signature,
                               const fc_state_decl_t *state) {
  const bool in_place = state->result == FC_STATE_IN_PLACE;
  if (signature->root_tree) return "the arguments are one tree";
  if (state->argument >= signature->argument_count) {
    return "there is no such argument";
  }
  if (!in_place && state->result >= signature->result_count) {
    return "there is no such result";
  }
  const fc_type_t *type =
      fc_signature_node(signature, signature->arguments[state->argument].type);
  if (type->kind == FC_TYPE_OPAQUE) return opaque_fault(signature, state, type);
  const bool scalar = type->kind == FC_TYPE_SCALAR;
  if (type->kind != FC_TYPE_TENSOR && (!scalar || in_place)) {
    return in_place ? "its argument is no tensor"
                    : "its argument is neither a tensor nor a scalar";
  }
  if (type->dtype == FC_DTYPE_NONE || (type->flags & FC_TYPE_STRIDED)) {
    return "its elements have no known type, or strides";
  }
  if (!scalar && (type->rank < 0 || type->rank > FC_RANK_MAX)) {
    return "its argument has no rank";
  }
  if (in_place) return NULL;
  const fc_type_t *next =
      fc_signature_node(signature, signature->results[state->result].type);
  return next->kind == type->kind && next->dtype == type->dtype &&
                 (scalar || next->rank == type->rank)
             ? NULL
             : "its result has another type than its argument";
}

static const char *zeros_fault(const fc_signature_t *signature,
                               const fc_state_decl_t *state) {
  const fc_type_t *type =
      fc_signature_node(signature, signature->arguments[state->argument].type);
  if (type->kind != FC_TYPE_TENSOR) return NULL;
  const int64_t *dims = fc_signature_dims(signature, type);
  const int64_t *shape = signature->dims + state->dims;
  for (int32_t i = 0; i < type->rank; i++) {
    if (shape[i] < 0) return "nothing says how large its first zeros are";
    if (dims[i] >= 0 && dims[i] != shape[i]) {
      return "its shape is not that of its argument";
    }
  }
  return NULL;
}

static bool shares(const fc_signature_t *signature, const fc_state_decl_t *a,
                   const fc_state_decl_t *b) {
  return a->argument == b->argument ||
         (a->result == b->result && a->result != FC_STATE_IN_PLACE) ||
         fc_str_equal(fc_signature_text(signature, a->name),
                      fc_signature_text(signature, b->name));
}

static fc_status_t states_verify(const fc_signature_t *signature,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < signature->state_count; i++) {
    const fc_state_decl_t *state = &signature->states[i];
    const char *fault = state_fault(signature, state);
    if (!fault) fault = zeros_fault(signature, state);
    for (uint32_t k = 0; k < i && !fault; k++) {
      if (shares(signature, state, &signature->states[k])) {
        fault = "another state has its name, argument or result";
      }
    }
    if (!fault) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64,
              fc_signature_text(signature, state->name));
    return fc_fail(err, FC_CODE_ABI_METADATA, "state '%s': %s", shown, fault);
  }
  return FC_OK;
}

fc_status_t fc_signature_verify(fc_signature_t *signature, uint32_t size_count,
                                bool counted, fc_named_t *scratch,
                                fc_error_t *err) {
  taken_t arguments = {0};
  taken_t results = {0};
  FC_TRY(sizes_verify(signature, size_count, err));
  FC_TRY(params_verify(signature, signature->arguments,
                       signature->argument_count, &arguments, scratch, err));
  FC_TRY(params_verify(signature, signature->results, signature->result_count,
                       &results, scratch, err));
  FC_TRY(names_verify(signature, scratch, err));
  FC_TRY(states_verify(signature, err));
  if (!counted) {
    signature->raw_argument_count = arguments.count;
    signature->raw_result_count = results.count;
  }
  return flat_call_verify(signature, &arguments, &results, err);
}
