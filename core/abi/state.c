// SPDX-License-Identifier: Apache-2.0
//
// Reads "state" of a function in a sidecar, in both forms of an entry:
//   {"kv":{"argument":4,"shape":[64,12288]},"h":{"argument":1,"result":1}}
#include "abi/state.h"

#include "abi/document.h"

bool fc_state_name_is_valid(fc_str_t name) {
  if (!name.size || name.size > FC_STATE_NAME_SIZE_MAX) return false;
  for (size_t i = 0; i < name.size; i++) {
    const char c = name.data[i];
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '_';
    if (!word && (i == 0 || (c != '-' && c != '.'))) return false;
  }
  return true;
}

static fc_status_t read_shape(const fc_doc_t *doc, yyjson_val *object,
                              int64_t *dims, yyjson_val **out_shape) {
  FC_TRY(fc_doc_array(doc, object, "shape", FC_RANK_MAX, out_shape));
  for (size_t i = 0; i < yyjson_arr_size(*out_shape); i++) {
    yyjson_val *dim = yyjson_arr_get(*out_shape, i);
    if (!yyjson_is_int(dim) || yyjson_get_sint(dim) < 0) {
      return fc_doc_fault(doc, "state", "a dim of \"shape\" must be a size");
    }
    dims[i] = yyjson_get_sint(dim);
  }
  return FC_OK;
}

static fc_status_t read_one(const fc_doc_t *doc, fc_str_t name,
                            yyjson_val *object, fc_builder_t *builder) {
  static const char *const initials[] = {"zeros"};
  uint64_t argument = UINT64_MAX, result = FC_STATE_IN_PLACE;
  unsigned initial = 0;
  bool survives = false;
  int64_t dims[FC_RANK_MAX];
  yyjson_val *shape;
  if (!fc_state_name_is_valid(name)) {
    return fc_doc_fault(doc, "state",
                        "'%s' is no name: letters, digits, '_', and '-' or '.' "
                        "behind the first, at most %d",
                        fc_doc_show(name).text, FC_STATE_NAME_SIZE_MAX);
  }
  if (!yyjson_is_obj(object)) {
    return fc_doc_fault(doc, "state", "'%s' must be an object", name.data);
  }
  FC_TRY(fc_doc_size(doc, object, "argument", &argument));
  FC_TRY(fc_doc_size(doc, object, "result", &result));
  FC_TRY(fc_doc_choice(doc, object, "initial", initials, 1, &initial));
  FC_TRY(fc_doc_bool(doc, object, "survives", &survives));
  FC_TRY(read_shape(doc, object, dims, &shape));
  if (argument >= FC_SIDECAR_PARAMS_MAX ||
      (yyjson_obj_get(object, "result") && result >= FC_SIDECAR_PARAMS_MAX)) {
    return fc_doc_fault(doc, "state",
                        "'%s' has no valid \"argument\" or \"result\"",
                        name.data);
  }
  fc_builder_state(builder, name, (uint32_t)argument, (uint32_t)result,
                   (int32_t)yyjson_arr_size(shape), shape ? dims : NULL,
                   survives);
  return FC_OK;
}

fc_status_t fc_doc_state(const fc_doc_t *doc, yyjson_val *object,
                         fc_builder_t *builder) {
  yyjson_val *states = yyjson_obj_get(object, "state"), *name, *state;
  size_t index, count;
  if (!states) return FC_OK;
  if (!yyjson_is_obj(states)) {
    return fc_doc_fault(doc, "state", "must be an object");
  }
  yyjson_obj_foreach(states, index, count, name, state) {
    FC_TRY(read_one(doc, fc_doc_text_of(name), state, builder));
  }
  return FC_OK;
}
