// SPDX-License-Identifier: Apache-2.0
//
// DECODE: a call document -> flat values, in one pass over its bytes (but see the look
// ahead in typed.c). Called by a worker. Open containers are a stack of levels; leaf.c
// reads leaves. Nothing is recursive. The first error in document order is reported; a
// missing member counts as an error at the end of its container.
#include <stdio.h>

#include "marshal/bytes.h"
#include "marshal/frame.h"
#include "marshal/framed.h"
#include "marshal/leaf.h"
#include "marshal/repeat.h"
#include "marshal/typed.h"

// The element type of {"list":…}: each value carries its own type.
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
  // The reader has a container open for each level, and limits how many are open.
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

// Begins a value of an unknown type: null, or an object that says what it is.
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
  if (!list && !bytes) return untyped(frame, "an object", err);
  FC_TRY(fc_json_next(reader, &token, err));
  if (list) {
    if (token != FC_JSON_ARRAY_BEGIN) {
      return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                              "an array", err);
    }
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

// Begins the value whose token was just read. A leaf is read to its end; for a
// container a level is pushed.
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
  bool dict = op->kind == FC_TYPE_DICT;
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
// Containers: one step

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
    fc_leaf_set_list(level->dest, level->items, level->count);
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

// After the list of {"list":[…]} its object must end.
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
    fc_leaf_set_list(level->dest, level->items, level->count);
    frame->depth--;
    return level->wrapped ? close_wrapper(frame, err) : FC_OK;
  }
  FC_TRY(fc_leaf_grow(frame, &level->items, level->count, &level->capacity, 4,
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

// The message suggests the nearest of the names there are, or lists them when none is
// near; without any names it says `none`.
static fc_status_t unknown_key(fc_frame_t *frame, fc_code_t code,
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

static fc_status_t close_dict(fc_frame_t *frame, const fc_level_t *level,
                              fc_error_t *err) {
  if (level->count < level->op->child_count) {
    return missing_key(frame, level, err);
  }
  fc_leaf_set_list(level->dest, level->items, level->count);
  return FC_OK;
}

// Reads the value of the key `name`, which was just read, or opens it.
static fc_status_t open_entry(fc_frame_t *frame, fc_level_t *level,
                              fc_str_t name, fc_error_t *err) {
  const fc_op_t *op = level->op;
  fc_json_token_t token;
  const fc_plan_key_t *keys = &frame->plan->keys[op->keys];
  const fc_plan_key_t *key = fc_plan_find(keys, op->child_count, name);
  if (!key) {
    return unknown_key(frame, FC_CODE_UNKNOWN_KEY, "key", name, keys,
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
    FC_TRY(close_dict(frame, level, err));
    frame->depth--;
    return FC_OK;
  }
  fc_str_t name;
  FC_TRY(fc_leaf_text(frame, &name, err));
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
                      : fc_leaf_set_array(frame, array->items, array->count,
                                          array->dims, level->op->rank,
                                          level->dest, err);
  }
  if (*dim >= 0 && level->count == (uint64_t)*dim) {
    return wrong_dim(frame, level, err);
  }
  level->count++;
  if (level->dim + 1 < level->op->rank) {
    if (token != FC_JSON_ARRAY_BEGIN) {
      return fc_json_mismatch(&frame->reader, FC_CODE_SHAPE_MISMATCH, token,
                              "an array", err);
    }
    const fc_op_t *op = level->op;
    int32_t next = level->dim + 1;
    fc_level_t *inner = push(frame, op, NULL);
    inner->array = array;
    inner->dim = next;
    return FC_OK;
  }
  FC_TRY(fc_leaf_grow(frame, &array->items, array->count, &array->capacity, 4,
                      err));
  return open_value(frame, fc_op_child(level->op), token,
                    &array->items[array->count++], err);
}

// Reads what is open to its end.
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

static fc_status_t read_value(fc_frame_t *frame, const fc_op_t *op,
                              fc_json_token_t token, fc_error_t *err) {
  FC_TRY(open_value(frame, op, token, place_of(frame, op, NULL, 0), err));
  return read_open(frame, err);
}

// ---------------------------------------------------------------------------
// Arguments

enum { ARGS, KWARGS, OPTIONS, REPEAT, SECTION_COUNT };

// What was found in the call document so far.
typedef struct document_t {
  uint8_t *given;    // by input: 1 given, 2 given in kwargs and read
  uint32_t missing;  // inputs not given
  bool root_given;   // args[0] was the whole root dict
  fc_level_t rest;   // the dict of keywords, once a key of it was read
  bool bare;         // the document is the args array
  bool has[SECTION_COUNT];
  uint64_t ends[SECTION_COUNT];  // where each closes
} document_t;

// Names the argument in an error about its value, and locates the error.
static fc_status_t name_argument(fc_frame_t *frame,
                                 const fc_plan_param_t *input,
                                 fc_status_t status, fc_error_t *err) {
  if (!err || !fc_code_is_argument(err->code)) return status;
  fc_json_locate(&frame->reader, status, err);
  fc_plan_name_argument(input, err);
  return status;
}

static fc_status_t read_argument(fc_frame_t *frame, document_t *document,
                                 uint32_t input, fc_json_token_t token,
                                 fc_error_t *err) {
  const fc_plan_param_t *param = &frame->plan->inputs[input];
  fc_status_t status;
  if (document->given[input]) {
    status = fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                          "given twice");
  } else {
    document->given[input] = 1;
    document->missing--;
    status = read_value(frame, param->op, token, err);
  }
  return status == FC_OK ? FC_OK : name_argument(frame, param, status, err);
}

#define LIST_HINT \
  "; the call is a list of arguments, so one tensor stands in [ ] too"

// True when the one argument that may be given by position is a tensor, whose rows are
// easily taken for arguments.
static bool takes_one_tensor(const fc_plan_t *plan) {
  return plan->positional_count == 1 &&
         plan->inputs[0].op->kind == FC_TYPE_TENSOR;
}

// The only argument is a tensor, and its value was refused because it is not nested
// deep enough. If more values follow, the client probably sent the tensor's rows as
// arguments; then the message says so. Reads on from the refused value, to where the
// reader had `depth` containers open, so `err` must have its position already.
static fc_status_t explain_rows(fc_frame_t *frame, uint32_t depth,
                                fc_status_t status, fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  fc_status_t read = FC_OK;
  while (read == FC_OK && reader->depth > depth) {
    read = fc_json_next(reader, &token, NULL);
  }
  if (read == FC_OK) read = fc_json_next(reader, &token, NULL);
  if (read != FC_OK || token == FC_JSON_ARRAY_END) return status;
  fc_error_t longer;
  fc_fail(&longer, err->code, "%s" LIST_HINT, err->message);
  memcpy(err->message, longer.message, sizeof err->message);
  return status;
}

// Reads an element of the arguments' array.
static fc_status_t read_positional(fc_frame_t *frame, document_t *document,
                                   uint32_t index, fc_json_token_t token,
                                   fc_error_t *err) {
  // The reader already counts a bracket or brace that was just read.
  const uint32_t depth = frame->reader.depth - (token == FC_JSON_ARRAY_BEGIN ||
                                                token == FC_JSON_OBJECT_BEGIN);
  frame->fill.too_flat = false;
  fc_status_t status = read_argument(frame, document, index, token, err);
  const bool rows = status != FC_OK && err && frame->fill.too_flat &&
                    takes_one_tensor(frame->plan);
  return rows ? explain_rows(frame, depth, status, err) : status;
}

static fc_status_t extra_argument(fc_frame_t *frame, size_t index,
                                  fc_error_t *err) {
  uint32_t wanted = frame->plan->positional_count;
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_EXTRA_ARGUMENT,
                   "argument %zu: the function takes %u by position%s", index,
                   wanted, takes_one_tensor(frame->plan) ? LIST_HINT : "");
  fc_error_expected(err, "at most %u arguments", wanted);
  return status;
}

// For a function whose SIP signature (farcall/abi.h) has a dict as its root: reads
// args[0], one JSON object, as kwargs would be read.
static fc_status_t read_root_dict(fc_frame_t *frame, document_t *document,
                                  fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const fc_plan_param_t root = {.op = plan->root_dict};
  document->root_given = true;
  document->missing = 0;
  fc_status_t status = read_value(frame, plan->root_dict, token, err);
  return status == FC_OK ? FC_OK : name_argument(frame, &root, status, err);
}

static fc_status_t read_args(fc_frame_t *frame, document_t *document,
                             fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "an array", err);
  }
  for (uint32_t i = 0;; i++) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_ARRAY_END) break;
    if (i < plan->positional_count) {
      FC_TRY(read_positional(frame, document, i, token, err));
    } else if (i == 0 && plan->root_dict && !document->has[KWARGS] &&
               token == FC_JSON_OBJECT_BEGIN) {
      FC_TRY(read_root_dict(frame, document, token, err));
    } else {
      return extra_argument(frame, i, err);
    }
  }
  return FC_OK;
}

static fc_status_t duplicate_key(fc_frame_t *frame, fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, frame->reader.text);
  return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                      "'%s' is given twice", shown);
}

// For a function whose last argument takes the keywords of a call: reads the value of one
// of its keys. The dict stays open until "kwargs" ends.
static fc_status_t read_rest(fc_frame_t *frame, document_t *document,
                             fc_str_t name, fc_error_t *err) {
  const fc_plan_param_t *rest = frame->plan->rest;
  const uint32_t input = (uint32_t)(rest - frame->plan->inputs);
  fc_status_t status;
  if (!document->rest.op && document->given[input]) {
    status = fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                          "given twice");
    return name_argument(frame, rest, status, err);
  }
  if (!document->rest.op) {
    FC_TRY(open_dict(frame, rest->op, place_of(frame, rest->op, NULL, 0), err));
    document->rest = frame->levels[--frame->depth];
    document->given[input] = 2;
    document->missing--;
  }
  status = open_entry(frame, &document->rest, name, err);
  if (status == FC_OK) status = read_open(frame, err);
  return status == FC_OK ? FC_OK : name_argument(frame, rest, status, err);
}

static fc_status_t close_rest(fc_frame_t *frame, document_t *document,
                              fc_error_t *err) {
  if (!document->rest.op) return FC_OK;
  fc_status_t status = close_dict(frame, &document->rest, err);
  return status == FC_OK ? FC_OK
                         : name_argument(frame, frame->plan->rest, status, err);
}

static bool takes_rest(const fc_plan_t *plan, fc_str_t name) {
  if (!plan->rest) return false;
  const fc_op_t *op = plan->rest->op;
  return fc_plan_find(&plan->keys[op->keys], op->child_count, name);
}

static fc_status_t read_kwargs(fc_frame_t *frame, document_t *document,
                               fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "an object", err);
  }
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    fc_str_t name;
    FC_TRY(fc_leaf_text(frame, &name, err));
    const fc_plan_key_t *key =
        fc_plan_find(plan->keywords, plan->keyword_count, name);
    if (!key && takes_rest(plan, name)) {
      FC_TRY(read_rest(frame, document, name, err));
      continue;
    }
    if (!key) {
      const bool rest = plan->rest && !plan->keyword_count;
      const fc_op_t *op = rest ? plan->rest->op : NULL;
      return unknown_key(frame, FC_CODE_UNKNOWN_ARGUMENT, "argument", name,
                         rest ? &plan->keys[op->keys] : plan->keywords,
                         rest ? op->child_count : plan->keyword_count,
                         plan->input_count
                             ? "those of this function have no names, so they "
                               "are members of 'args' in order"
                             : "the function takes none",
                         err);
    }
    // This object has given the input already, so its key comes twice.
    if (document->given[key->ordinal] == 2) return duplicate_key(frame, err);
    if (document->given[key->ordinal] || document->root_given) {
      fc_status_t status = fc_json_fail(
          &frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT, "given twice");
      return name_argument(frame, &plan->inputs[key->ordinal], status, err);
    }
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    FC_TRY(read_argument(frame, document, key->ordinal, token, err));
    document->given[key->ordinal] = 2;
  }
  return close_rest(frame, document, err);
}

// ---------------------------------------------------------------------------
// The document

// Finds the key just read in `fields`, which are in bytewise order.
static fc_status_t find_field(fc_frame_t *frame, const fc_plan_key_t *fields,
                              uint32_t count, const char *what,
                              uint32_t *out_field, fc_error_t *err) {
  fc_str_t name;
  FC_TRY(fc_leaf_text(frame, &name, err));
  const fc_plan_key_t *field = fc_plan_find(fields, count, name);
  if (!field) {
    return unknown_key(frame, FC_CODE_UNKNOWN_FIELD, what, name, fields, count,
                       "", err);
  }
  *out_field = field->ordinal;
  return FC_OK;
}

// The options of a call, in bytewise order, and the values each may have.
enum { OPTION_INT64, OPTION_RESULTS, OPTION_COUNT };
static const fc_plan_key_t kOptions[OPTION_COUNT] = {
    {{"int64", 5}, NULL, OPTION_INT64}, {{"results", 7}, NULL, OPTION_RESULTS}};
static const struct {
  const char *texts[3];  // "results": in the order of fc_results_t from 1 on
  const char *expected;
} kValues[OPTION_COUNT] = {
    {{"string"}, "\"string\""},
    {{"typed", "b64"}, "\"typed\" or \"b64\""},
};

static fc_status_t wrong_value(fc_frame_t *frame, uint32_t option,
                               fc_json_token_t token, fc_error_t *err) {
  const char *expected = kValues[option].expected;
  const bool text = token == FC_JSON_STRING;
  fc_str_t found =
      text ? frame->reader.text : fc_str(fc_json_token_name(token));
  char shown[80];
  fc_escape(shown, sizeof shown, 64, found);
  fc_status_t status = fc_fail(
      err, FC_CODE_JSON_SCHEMA,
      text ? "option '%s' is %s, found '%s'" : "option '%s' is %s, found %s",
      kOptions[option].name.data, expected, shown);
  fc_error_expected(err, "%s", expected);
  fc_error_got(err, found);
  return fc_json_locate(&frame->reader, status, err);
}

// Reads the value of an option. *out_value is its place among the values that
// the option may have, from 1 on.
static fc_status_t read_option(fc_frame_t *frame, uint32_t option,
                               unsigned *out_value, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  const char *const *texts = kValues[option].texts;
  for (unsigned i = 0; token == FC_JSON_STRING && texts[i]; i++) {
    if (!fc_json_text_is(&frame->reader, fc_str(texts[i]))) continue;
    *out_value = i + 1;
    return FC_OK;
  }
  return wrong_value(frame, option, token, err);
}

static fc_status_t read_options(fc_frame_t *frame, fc_json_token_t token,
                                fc_error_t *err) {
  unsigned values[OPTION_COUNT] = {0};
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "an object", err);
  }
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    uint32_t option = 0;
    FC_TRY(find_field(frame, kOptions, OPTION_COUNT, "option", &option, err));
    if (values[option]) return duplicate_key(frame, err);
    FC_TRY(read_option(frame, option, &values[option], err));
  }
  frame->options = (fc_options_t){values[OPTION_INT64] != 0,
                                  (fc_results_t)values[OPTION_RESULTS]};
  return FC_OK;
}

// Fails: an argument stands at the top level. The client probably meant
// `kwargs`.
static fc_status_t misplaced_argument(fc_frame_t *frame, fc_str_t name,
                                      fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_FIELD,
                   "there is no member '%s': arguments by name are "
                   "members of 'kwargs'",
                   shown);
  fc_error_got(err, name);
  return status;
}

static fc_status_t read_section(fc_frame_t *frame, document_t *document,
                                fc_error_t *err) {
  static const fc_plan_key_t kSections[SECTION_COUNT] = {
      {{"args", 4}, NULL, ARGS},
      {{"kwargs", 6}, NULL, KWARGS},
      {{"options", 7}, NULL, OPTIONS},
      {{"repeat", 6}, NULL, REPEAT}};
  const fc_plan_t *plan = frame->plan;
  const uint32_t count = frame->repeat ? SECTION_COUNT : REPEAT;
  uint32_t section = 0;
  fc_str_t name;
  FC_TRY(fc_leaf_text(frame, &name, err));
  if (!fc_plan_find(kSections, count, name) &&
      fc_plan_find(plan->keywords, plan->keyword_count, name)) {
    return misplaced_argument(frame, name, err);
  }
  FC_TRY(find_field(frame, kSections, count, "member", &section, err));
  if (document->has[section]) return duplicate_key(frame, err);
  document->has[section] = true;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  switch (section) {
    case ARGS:
      FC_TRY(read_args(frame, document, token, err));
      break;
    case KWARGS:
      FC_TRY(read_kwargs(frame, document, token, err));
      break;
    case REPEAT:
      FC_TRY(fc_repeat_read(frame, token, err));
      break;
    default:
      FC_TRY(read_options(frame, token, err));
      break;
  }
  document->ends[section] = frame->reader.token_offset;
  return FC_OK;
}

// Fails because an argument was not given. The error points at the end of "kwargs" or
// "args", which could have held it, or of the document that has neither.
static fc_status_t missing_argument(fc_frame_t *frame,
                                    const document_t *document,
                                    fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  uint32_t i = 0;
  while (document->given[i]) i++;
  const fc_plan_param_t *input = &plan->inputs[i];
  fc_status_t status = fc_fail(err, FC_CODE_MISSING_ARGUMENT, "missing");
  name_argument(frame, input, status, err);
  if (!err) return status;
  const fc_plan_key_t *key =
      fc_plan_find(plan->keywords, plan->keyword_count, input->name);
  if (document->bare) return status;
  if (document->has[KWARGS] && (key || !document->has[ARGS])) {
    memcpy(err->pointer, "/kwargs", sizeof "/kwargs");
    err->byte_offset = document->ends[KWARGS];
  } else if (document->has[ARGS]) {
    memcpy(err->pointer, "/args", sizeof "/args");
    err->byte_offset = document->ends[ARGS];
  }
  return status;
}

static fc_status_t read_document(fc_frame_t *frame, document_t *document,
                                 fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == FC_JSON_ARRAY_BEGIN) {
    document->bare = true;
    FC_TRY(read_args(frame, document, token, err));
  } else if (token == FC_JSON_OBJECT_BEGIN) {
    for (;;) {
      FC_TRY(fc_json_next(reader, &token, err));
      if (token == FC_JSON_OBJECT_END) break;
      FC_TRY(read_section(frame, document, err));
    }
  } else {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "an array of arguments or an object", err);
  }
  if (document->missing) return missing_argument(frame, document, err);
  return fc_json_next(reader, &token, err);
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t text, fc_error_t *err) {
  if (!frame->plan) return fc_frame_fail_idle(err);
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  document_t document = {.missing = frame->plan->input_count};
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, document.missing + (size_t)1, 1, &memory, err));
  document.given = memory;
  frame->depth = 0;
  fc_frame_read(frame, text.data, text.size);
  FC_TRY(read_document(frame, &document, err));
  if (frame->raw.size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "%zu bytes of the body belong to no value", frame->raw.size);
  }
  fc_status_t status = fc_frame_place_stores(frame, err);
  if (status != FC_OK) return fc_json_locate(&frame->reader, status, err);
  frame->decoded = true;
  return FC_OK;
}

fc_status_t fc_frame_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err) {
  return decode(frame, body, err);
}

fc_status_t fc_framed_decode(fc_frame_t *frame, fc_str_t body,
                             uint64_t document, fc_error_t *err) {
  FC_TRY(fc_leaf_split(frame, &body, document, err));
  frame->framed = true;
  return decode(frame, body, err);
}
