// SPDX-License-Identifier: Apache-2.0
//
// Reads values with parts, in one pass (except for the look ahead in typed.c). Open
// containers are a stack of levels, and nothing is recursive; leaf.c reads leaves. A
// missing member is noticed at the end of its container. Called by decode.c, on a
// worker.
#include "marshal/container.h"

#include <stdio.h>

#include "marshal/bytes.h"
#include "marshal/leaf.h"
#include "marshal/read.h"
#include "marshal/typed.h"

// The type of the elements of {"list":…}: each value states its own type.
static const fc_op_t kUnknown = {.kind = FC_TYPE_UNKNOWN,
                                 .dtype = FC_DTYPE_NONE,
                                 .rank = FC_RANK_DYNAMIC,
                                 .raw = FC_RAW_NONE,
                                 .span = 1};

static fc_value_t *place_of(fc_frame_t *frame, const fc_op_t *op,
                            fc_value_t *items, size_t index) {
  if (op->raw >= 0) return &frame->arguments[op->raw];
  return items ? &items[index] : NULL;
}

// ---------------------------------------------------------------------------
// Containers: opening

static fc_level_t *push(fc_frame_t *frame, const fc_op_t *op,
                        fc_value_t *dest) {
  // The reader has an open container for each level, and limits their number.
  FC_ASSERT(frame->depth < FC_JSON_DEPTH_MAX);
  fc_level_t *level = &frame->levels[frame->depth++];
  *level = (fc_level_t){.op = op, .child = fc_op_child(op), .dest = dest};
  return level;
}

static fc_status_t open_tuple(fc_frame_t *frame, const fc_op_t *op,
                              fc_value_t *dest, fc_error_t *err) {
  fc_level_t *level = push(frame, op, dest);
  if (!dest || !op->child_count) return FC_OK;
  void *memory = NULL;
  FC_TRY(
      fc_frame_alloc(frame, op->child_count, sizeof(fc_value_t), &memory, err));
  level->items = memory;
  return FC_OK;
}

static fc_status_t open_dict(fc_frame_t *frame, const fc_op_t *op,
                             fc_value_t *dest, fc_error_t *err) {
  FC_TRY(open_tuple(frame, op, dest, err));
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, op->child_count + (size_t)1, 1, &memory, err));
  frame->levels[frame->depth - 1].seen = memory;
  return FC_OK;
}

static fc_status_t open_array(fc_frame_t *frame, const fc_op_t *op,
                              fc_value_t *dest, fc_error_t *err) {
  fc_level_t *level = push(frame, op, dest);
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, 1, sizeof(fc_refarray_t), &memory, err));
  level->array = memory;
  for (int32_t i = 0; i < op->rank; i++) {
    level->array->dims[i] = fc_frame_dim(frame, op->dims[i]);
  }
  return FC_OK;
}

static fc_status_t untyped(fc_frame_t *frame, const char *found,
                           fc_error_t *err) {
  fc_status_t status = fc_fail(
      err, FC_CODE_UNTYPED_VALUE,
      "the type is not known, so the value must carry it: "
      "{\"dtype\":\"f32\",\"shape\":[2],\"data\":[1,2]}, {\"list\":[…]}, "
      "{\"bytes\":\"text\"} or null");
  fc_error_expected(err, "a value with its type");
  fc_error_got(err, fc_str(found));
  return fc_json_locate(&frame->reader, status, err);
}

// Begins a value of unknown type: null, or an object that states the type.
static fc_status_t open_unknown(fc_frame_t *frame, const fc_op_t *op,
                                fc_json_token_t token, fc_value_t *dest,
                                fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  if (token == FC_JSON_NULL) {
    if (dest) *dest = (fc_value_t){.kind = FC_VALUE_NULL};
    return FC_OK;
  }
  if (token != FC_JSON_OBJECT_BEGIN) {
    return untyped(frame, fc_json_token_name(token), err);
  }
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_KEY) return untyped(frame, "an empty object", err);
  bool list = fc_json_text_is(reader, FC_STR("list"));
  bool bytes = fc_json_text_is(reader, FC_STR("bytes"));
  bool typed = fc_json_text_is(reader, FC_STR("dtype")) ||
               fc_json_text_is(reader, FC_STR("shape")) ||
               fc_json_text_is(reader, FC_STR("data")) ||
               fc_json_text_is(reader, FC_STR("b64"));
  if (typed) return fc_typed_decode(frame, &kUnknown, dest, err);
  if (fc_json_text_is(reader, FC_STR("ref"))) {
    return fc_read_reference(frame, op, dest, err);
  }
  if (!list && !bytes) return untyped(frame, "an object", err);
  FC_TRY(fc_json_next(reader, &token, err));
  if (list) {
    FC_TRY(fc_json_check(&frame->reader, token, FC_JSON_ARRAY_BEGIN,
                         FC_CODE_TYPE_MISMATCH, err));
    fc_level_t *level = push(frame, op, dest);
    level->child = &kUnknown;
    level->wrapped = true;
    return FC_OK;
  }
  FC_TRY(fc_bytes_decode(frame, &kUnknown, token, dest, err));
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == FC_JSON_OBJECT_END) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                      "'bytes' stands alone in its object");
}

// Reads {"ref":NAME}, which may stand in place of a container. *out_stored stays false
// for any other object, and for a dict that has a key "ref": then the object is the
// container itself.
static fc_status_t open_stored(fc_frame_t *frame, const fc_op_t *op,
                               fc_value_t *dest, bool *out_stored,
                               fc_error_t *err) {
  fc_json_token_t token;
  const bool named = op->kind == FC_TYPE_DICT &&
                     fc_plan_find(&frame->plan->keys[op->keys], op->child_count,
                                  FC_STR("ref")) != NULL;
  if (named) return FC_OK;
  fc_json_reader_copy(&frame->ahead, &frame->reader);
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  *out_stored =
      token == FC_JSON_KEY && fc_json_text_is(&frame->reader, FC_STR("ref"));
  if (*out_stored) return fc_read_reference(frame, op, dest, err);
  fc_json_reader_copy(&frame->reader, &frame->ahead);
  return FC_OK;
}

// Begins the value whose first token was just read. A leaf is read to its end; a
// container is pushed as a level.
static fc_status_t open_value(fc_frame_t *frame, const fc_op_t *op,
                              fc_json_token_t token, fc_value_t *dest,
                              fc_error_t *err) {
  static const char *const kExpected[] = {
      [FC_TYPE_LIST] = "an array",
      [FC_TYPE_TUPLE] = "an array",
      [FC_TYPE_DICT] = "an object",
      [FC_TYPE_REFARRAY] = "an array",
  };
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_UNKNOWN:
      return open_unknown(frame, op, token, dest, err);
    case FC_TYPE_LIST:
    case FC_TYPE_TUPLE:
    case FC_TYPE_DICT:
    case FC_TYPE_REFARRAY:
      break;
    default:
      return fc_leaf_decode(frame, op, token, dest, err);
  }
  bool dict = op->kind == FC_TYPE_DICT, stored = false;
  if (token == FC_JSON_OBJECT_BEGIN && (!dict || frame->ways)) {
    FC_TRY(open_stored(frame, op, dest, &stored, err));
    if (stored) return FC_OK;
  }
  if (token != (dict ? FC_JSON_OBJECT_BEGIN : FC_JSON_ARRAY_BEGIN)) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            kExpected[op->kind], err);
  }
  switch (op->kind) {
    case FC_TYPE_DICT:
      return open_dict(frame, op, dest, err);
    case FC_TYPE_TUPLE:
      return open_tuple(frame, op, dest, err);
    case FC_TYPE_REFARRAY:
      return open_array(frame, op, dest, err);
    default:
      push(frame, op, dest);
      return FC_OK;
  }
}

// ---------------------------------------------------------------------------
// Containers: reading one element

static fc_status_t wrong_length(fc_frame_t *frame, const char *what,
                                uint32_t wanted, size_t count,
                                fc_error_t *err) {
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_LENGTH_MISMATCH,
                   count > wanted ? "expected %u %s, here is one more"
                                  : "expected %u %s, found %zu",
                   wanted, what, count);
  fc_error_expected(err, "%u %s", wanted, what);
  return status;
}

static fc_status_t step_tuple(fc_frame_t *frame, fc_level_t *level,
                              fc_error_t *err) {
  uint32_t wanted = level->op->child_count;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_ARRAY_END) {
    if (level->count != wanted) {
      return wrong_length(frame, "elements", wanted, level->count, err);
    }
    fc_list_set(level->dest, level->items, level->count);
    frame->depth--;
    return FC_OK;
  }
  if (level->count == wanted) {
    return wrong_length(frame, "elements", wanted, level->count + 1, err);
  }
  const fc_op_t *child = level->child;
  level->child = fc_op_next(child);
  size_t index = level->count++;
  return open_value(frame, child, token,
                    place_of(frame, child, level->items, index), err);
}

// Reads the end of the object {"list":[…]}, whose list has just ended.
static fc_status_t close_wrapper(fc_frame_t *frame, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_OBJECT_END) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                      "'list' stands alone in its object");
}

static fc_status_t step_list(fc_frame_t *frame, fc_level_t *level,
                             fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_ARRAY_END) {
    fc_list_set(level->dest, level->items, level->count);
    frame->depth--;
    return level->wrapped ? close_wrapper(frame, err) : FC_OK;
  }
  FC_TRY(fc_list_grow(frame, &level->items, level->count, &level->capacity, 4,
                      err));
  return open_value(frame, level->child, token, &level->items[level->count++],
                    err);
}

#define NAMES_SHOWN 8

// Writes "; there are 'a', 'b'" with up to NAMES_SHOWN names, and how many more there
// are. Returns the end.
static char *list_names(const fc_plan_key_t *keys, uint32_t count, char *out,
                        const char *end) {
  const char *before = count == 1 ? "; there is '" : "; there are '";
  for (uint32_t i = 0; i < count && i < NAMES_SHOWN; i++) {
    out += snprintf(out, (size_t)(end - out), "%s", before);
    out += fc_escape(out, (size_t)(end - out), 24, keys[i].name);
    out += snprintf(out, (size_t)(end - out), "'");
    before = ", '";
  }
  if (count > NAMES_SHOWN) {
    out +=
        snprintf(out, (size_t)(end - out), " and %u more", count - NAMES_SHOWN);
  }
  return out;
}

fc_status_t fc_container_unknown(fc_frame_t *frame, fc_code_t code,
                                 const char *what, fc_str_t name,
                                 const fc_plan_key_t *keys, uint32_t count,
                                 const char *none, fc_error_t *err) {
  char shown[80], hint[NAMES_SHOWN * (24 * 4 + 4) + 64] = "";
  fc_escape(shown, sizeof shown, 64, name);
  fc_str_t nearest = fc_plan_nearest(keys, count, name);
  if (nearest.size) {
    snprintf(hint, sizeof hint, "; did you mean '%.*s'?", FC_STR_ARG(nearest));
  } else if (count) {
    list_names(keys, count, hint, hint + sizeof hint);
  } else {
    snprintf(hint, sizeof hint, ": %s", none);
  }
  fc_status_t status = fc_json_fail(&frame->reader, err, code,
                                    "there is no %s '%s'%s", what, shown, hint);
  fc_error_got(err, name);
  return status;
}

static fc_status_t missing_key(fc_frame_t *frame, const fc_level_t *level,
                               fc_error_t *err) {
  const fc_op_t *child = fc_op_child(level->op);
  for (uint32_t i = 0; level->seen[i]; i++) child = fc_op_next(child);
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_MISSING_KEY,
                   "key '%.*s' is missing", FC_STR_ARG(child->key));
  fc_error_expected(err, "key '%.*s'", FC_STR_ARG(child->key));
  return status;
}

fc_status_t fc_dict_close(fc_frame_t *frame, const fc_level_t *dict,
                          fc_error_t *err) {
  if (dict->count < dict->op->child_count) {
    return missing_key(frame, dict, err);
  }
  fc_list_set(dict->dest, dict->items, dict->count);
  return FC_OK;
}

// Reads the value of the key `name`, which was just read. If the value is a container, it
// is only opened.
static fc_status_t open_entry(fc_frame_t *frame, fc_level_t *level,
                              fc_str_t name, fc_error_t *err) {
  const fc_op_t *op = level->op;
  fc_json_token_t token;
  const fc_plan_key_t *keys = &frame->plan->keys[op->keys];
  const fc_plan_key_t *key = fc_plan_find(keys, op->child_count, name);
  if (!key) {
    return fc_container_unknown(frame, FC_CODE_UNKNOWN_KEY, "key", name, keys,
                                op->child_count, "the dict has none", err);
  }
  if (level->seen[key->ordinal]) {
    return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                        "key '%.*s' is given twice", FC_STR_ARG(key->name));
  }
  level->seen[key->ordinal] = 1;
  level->count++;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  return open_value(frame, key->op, token,
                    place_of(frame, key->op, level->items, key->ordinal), err);
}

static fc_status_t step_dict(fc_frame_t *frame, fc_level_t *level,
                             fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_OBJECT_END) {
    FC_TRY(fc_dict_close(frame, level, err));
    frame->depth--;
    return FC_OK;
  }
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
  return open_entry(frame, level, name, err);
}

static fc_status_t wrong_dim(fc_frame_t *frame, const fc_level_t *level,
                             fc_error_t *err) {
  long long wanted = (long long)level->array->dims[level->dim];
  fc_status_t status = fc_json_fail(
      &frame->reader, err, FC_CODE_SHAPE_MISMATCH,
      "dim %d has %lld elements, here %s", (int)level->dim, wanted,
      level->count < (uint64_t)wanted ? "are fewer" : "is one more");
  fc_error_expected(err, "%lld elements", wanted);
  return status;
}

static fc_status_t step_array(fc_frame_t *frame, fc_level_t *level,
                              fc_error_t *err) {
  fc_refarray_t *array = level->array;
  int64_t *dim = &array->dims[level->dim];
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_ARRAY_END) {
    if (*dim < 0) *dim = (int64_t)level->count;
    if (level->count != (uint64_t)*dim) return wrong_dim(frame, level, err);
    frame->depth--;
    return level->dim ? FC_OK
                      : fc_list_set_array(frame, array->items, array->count,
                                          array->dims, level->op->rank,
                                          level->dest, err);
  }
  if (*dim >= 0 && level->count == (uint64_t)*dim) {
    return wrong_dim(frame, level, err);
  }
  level->count++;
  if (level->dim + 1 < level->op->rank) {
    FC_TRY(fc_json_check(&frame->reader, token, FC_JSON_ARRAY_BEGIN,
                         FC_CODE_SHAPE_MISMATCH, err));
    const fc_op_t *op = level->op;
    int32_t next = level->dim + 1;
    fc_level_t *inner = push(frame, op, NULL);
    inner->array = array;
    inner->dim = next;
    return FC_OK;
  }
  FC_TRY(fc_list_grow(frame, &array->items, array->count, &array->capacity, 4,
                      err));
  return open_value(frame, fc_op_child(level->op), token,
                    &array->items[array->count++], err);
}

// Reads all open containers to their end.
static fc_status_t read_open(fc_frame_t *frame, fc_error_t *err) {
  while (frame->depth) {
    fc_level_t *level = &frame->levels[frame->depth - 1];
    switch (level->op->kind) {
      case FC_TYPE_TUPLE:
        FC_TRY(step_tuple(frame, level, err));
        break;
      case FC_TYPE_DICT:
        FC_TRY(step_dict(frame, level, err));
        break;
      case FC_TYPE_REFARRAY:
        FC_TRY(step_array(frame, level, err));
        break;
      default:
        FC_TRY(step_list(frame, level, err));
        break;
    }
  }
  return FC_OK;
}

fc_status_t fc_container_read(fc_frame_t *frame, const fc_op_t *op,
                              fc_json_token_t token, fc_error_t *err) {
  // The usual case.
  if (op->kind == FC_TYPE_TENSOR && token == FC_JSON_ARRAY_BEGIN &&
      op->dtype != FC_DTYPE_NONE) {
    return fc_fill_decode(frame, op, token, place_of(frame, op, NULL, 0), err);
  }
  FC_TRY(open_value(frame, op, token, place_of(frame, op, NULL, 0), err));
  return read_open(frame, err);
}

fc_status_t fc_dict_open(fc_frame_t *frame, const fc_op_t *op,
                         fc_level_t *out_dict, fc_error_t *err) {
  FC_TRY(open_dict(frame, op, place_of(frame, op, NULL, 0), err));
  *out_dict = frame->levels[--frame->depth];
  return FC_OK;
}

fc_status_t fc_dict_read(fc_frame_t *frame, fc_level_t *dict, fc_str_t name,
                         fc_error_t *err) {
  FC_TRY(open_entry(frame, dict, name, err));
  return read_open(frame, err);
}
