// SPDX-License-Identifier: Apache-2.0
//
// Reads the V1 function metadata of IREE (`iree.abi`), a small JSON language:
//   abi      := {"a":[rec*], "r":[rec*], "v":1?}
//   rec      := "iN" | "fN" | "bf16" | "complex<f32|f64>" | "unknown" | null
//             | ["named", key, rec]            only directly in "a"
//             | ["ndarray", rec, rank|null, (int|null)*]
//             | ["slist"|"stuple", rec*] | ["sdict", [key, rec]*]
//             | ["py_homogeneous_list", rec]
//             | ["sdict_kwargs", [key, rec]*]  the last of "a": takes keywords
// TensorFlow importers wrote it (SavedModelToIreeABI.cpp), IREE's Python
// runtime reads it (runtime/function.py), users may attach it to any function.
// The text is not trusted. It is read in one pass without recursion, and
// nesting is limited. Any thread.
#include "abi/iree_v1.h"

#include "abi/span.h"
#include "farcall/abi.h"
#include "json/number.h"
#include "json/reader.h"

#define TEXT_SIZE_MAX (1u << 20)
#define KEY_SIZE_MAX 1024
#define TOP_LEVEL_KEYS 64

typedef enum tag_t {
  TAG_NDARRAY,
  TAG_SEQUENCE,  // slist, stuple
  TAG_DICT,      // sdict, sdict_kwargs
  TAG_LIST,      // py_homogeneous_list
  TAG_NAMED,
} tag_t;

// A compound record whose children are being read.
typedef struct level_t {
  tag_t tag;
  uint32_t node;
  uint32_t child_count;
  fc_str_t key;  // of the dict entry being read, still escaped
} level_t;

typedef struct v1_t {
  fc_json_reader_t reader;
  fc_builder_t *builder;
  fc_error_t *err;
  uint32_t depth;
  level_t levels[FC_TYPE_DEPTH_MAX];
  // About the argument being read.
  bool in_arguments;
  fc_str_t name;  // of a `named` record, still escaped
  bool is_named;
  bool after_kwargs;  // sdict_kwargs was read: nothing may follow
} v1_t;

static fc_status_t fail_here(v1_t *v1, const char *reason) {
  return fc_abi_fail(v1->err, (size_t)v1->reader.token_offset, "%s", reason);
}

// Reads the next token. A syntax error becomes FC_CODE_ABI_METADATA.
static fc_status_t next(v1_t *v1, fc_json_token_t *out_token) {
  fc_error_t err;
  fc_error_reset(&err);
  if (fc_json_next(&v1->reader, out_token, &err) == FC_OK) return FC_OK;
  const uint64_t at = err.byte_offset == FC_NO_OFFSET ? v1->reader.token_offset
                                                      : err.byte_offset;
  return fc_abi_fail(v1->err, (size_t)at, "not valid JSON (%.120s)",
                     err.message);
}

static fc_status_t expect(v1_t *v1, fc_json_token_t wanted,
                          const char *reason) {
  fc_json_token_t token;
  FC_TRY(next(v1, &token));
  return token == wanted ? FC_OK : fail_here(v1, reason);
}

static fc_status_t expect_key(v1_t *v1, fc_str_t *out_key) {
  FC_TRY(expect(v1, FC_JSON_STRING, "a key must be a string"));
  *out_key = v1->reader.text;
  if (out_key->size <= KEY_SIZE_MAX) return FC_OK;
  return fail_here(v1, "key is longer than 1024 bytes");
}

static level_t *top(v1_t *v1) { return &v1->levels[v1->depth - 1]; }

// ---------------------------------------------------------------------------
// Primitives

bool fc_v1_is_numbered(fc_str_t text) {
  if (text.size < 2 || (text.data[0] != 'i' && text.data[0] != 'f')) {
    return false;
  }
  for (size_t i = 1; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return true;
}

static fc_dtype_t v1_dtype(fc_str_t text) {
  const fc_dtype_t dtype = fc_dtype_find(text);
  const bool known = fc_v1_is_numbered(text) || dtype == FC_DTYPE_BF16 ||
                     fc_dtype_info(dtype)->class_ == FC_DTYPE_CLASS_COMPLEX;
  return known ? dtype : FC_DTYPE_NONE;
}

static bool is_unknown(fc_str_t text) {
  return fc_str_equal(text, FC_STR("unknown"));
}

// Marks a leaf whose type is in the grammar but is none of farcall's types. Unless the
// module itself gives the leaf a type, the function is listed but not callable.
static void mark_odd(v1_t *v1, uint32_t node) {
  fc_type_t *type = fc_builder_at(v1->builder, node);
  if (type) type->flags |= FC_TYPE_ODD;
}

static fc_status_t read_primitive(v1_t *v1, uint32_t *out_node) {
  const fc_str_t text = v1->reader.text;
  const fc_dtype_t dtype = v1_dtype(text);
  if (dtype) {
    *out_node = fc_builder_scalar(v1->builder, dtype);
  } else if (is_unknown(text)) {
    *out_node = fc_builder_node(v1->builder, FC_TYPE_UNKNOWN);
  } else if (fc_v1_is_numbered(text)) {
    *out_node = fc_builder_opaque(v1->builder, text);
    mark_odd(v1, *out_node);
  } else {
    return fail_here(v1, "unknown primitive type");
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// ["ndarray", element, rank, dims…]

static fc_status_t read_i64(v1_t *v1, int64_t *out_value) {
  if (fc_number_parse(v1->reader.text, FC_DTYPE_I64, out_value, NULL) !=
          FC_OK ||
      *out_value < 0) {
    return fail_here(v1, "rank and dims must be integers from 0");
  }
  return FC_OK;
}

static fc_status_t read_dims(v1_t *v1, int64_t rank, int64_t *dims) {
  for (int64_t i = 0; i < rank; i++) {
    fc_json_token_t token;
    FC_TRY(next(v1, &token));
    if (token == FC_JSON_NULL) {
      dims[i] = FC_DIM_DYNAMIC;
    } else if (token == FC_JSON_NUMBER) {
      FC_TRY(read_i64(v1, &dims[i]));
    } else {
      return fail_here(v1, "ndarray has fewer dims than its rank");
    }
  }
  return FC_OK;
}

// Reads the part of an ndarray after the element type, to the end of the record.
static fc_status_t read_rank_and_dims(v1_t *v1, uint32_t node) {
  int64_t dims[FC_RANK_MAX];
  int64_t rank = FC_RANK_DYNAMIC;
  fc_json_token_t token;
  FC_TRY(next(v1, &token));
  if (token == FC_JSON_NUMBER) {
    FC_TRY(read_i64(v1, &rank));
    if (rank > FC_RANK_MAX) return fail_here(v1, "rank is over 32");
    FC_TRY(read_dims(v1, rank, dims));
  } else if (token != FC_JSON_NULL) {
    return fail_here(v1, "ndarray rank must be an integer or null");
  }
  FC_TRY(expect(v1, FC_JSON_ARRAY_END, "ndarray has more dims than its rank"));
  fc_builder_dims(v1->builder, node, (int32_t)rank, dims);
  const fc_type_t *type = fc_builder_at(v1->builder, node);
  // An array of records is passed as a list of values and a list of dims. If there
  // were no dims, an empty list of dims would look like an empty list of values.
  if (rank < 1 && type && type->kind == FC_TYPE_REFARRAY) {
    fc_builder_refuse(v1->builder,
                      FC_STR("an array of records without dims has no form"));
  }
  return FC_OK;
}

// Reads the rest of a tensor's record. Its element type was just read: a
// string, or null if `has_element` is false.
static fc_status_t read_tensor(v1_t *v1, bool has_element, uint32_t *out_node) {
  const fc_str_t text = has_element ? v1->reader.text : FC_STR("");
  const fc_dtype_t dtype = v1_dtype(text);
  const bool untyped = !has_element || is_unknown(text);
  if (!dtype && !untyped && !fc_v1_is_numbered(text)) {
    return fail_here(v1, "unknown element type");
  }
  *out_node = fc_builder_tensor(v1->builder, dtype, FC_RANK_DYNAMIC, NULL);
  if (!dtype) {
    const fc_text_ref_t spelling = fc_builder_text(v1->builder, text);
    fc_type_t *type = fc_builder_at(v1->builder, *out_node);
    if (type) {
      type->flags |= FC_TYPE_UNTYPED;
      type->text = spelling;
    }
  }
  if (!dtype && !untyped) mark_odd(v1, *out_node);
  return read_rank_and_dims(v1, *out_node);
}

// ---------------------------------------------------------------------------
// Compounds

typedef struct tag_row_t {
  const char *text;
  tag_t tag;
  fc_type_kind_t kind;
  fc_flavor_t flavor;
  bool argument_only;
} tag_row_t;

static const tag_row_t kTags[] = {
    {"ndarray", TAG_NDARRAY, FC_TYPE_REFARRAY, FC_FLAVOR_NONE, false},
    {"slist", TAG_SEQUENCE, FC_TYPE_TUPLE, FC_FLAVOR_LIST, false},
    {"stuple", TAG_SEQUENCE, FC_TYPE_TUPLE, FC_FLAVOR_TUPLE, false},
    {"sdict", TAG_DICT, FC_TYPE_DICT, FC_FLAVOR_NONE, false},
    {"sdict_kwargs", TAG_DICT, FC_TYPE_DICT, FC_FLAVOR_KWARGS, true},
    {"py_homogeneous_list", TAG_LIST, FC_TYPE_LIST, FC_FLAVOR_NONE, false},
    {"named", TAG_NAMED, FC_TYPE_NULL, FC_FLAVOR_NONE, true},
};

static fc_status_t push(v1_t *v1, const tag_row_t *row) {
  if (v1->depth == FC_TYPE_DEPTH_MAX) {
    return fail_here(v1, "nested deeper than 32");
  }
  level_t *level = &v1->levels[v1->depth++];
  *level = (level_t){.tag = row->tag, .node = FC_NODE_NONE};
  if (row->tag == TAG_NAMED) return FC_OK;
  level->node = fc_builder_node(v1->builder, row->kind);
  fc_type_t *type = fc_builder_at(v1->builder, level->node);
  if (type) type->flavor = (uint8_t)row->flavor;
  return FC_OK;
}

static fc_status_t find_tag(v1_t *v1, const tag_row_t **out_row) {
  FC_TRY(expect(v1, FC_JSON_STRING, "a record must begin with its kind"));
  const bool at_argument = v1->in_arguments && v1->depth == 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTags); i++) {
    if (!fc_str_equal(fc_str(kTags[i].text), v1->reader.text)) continue;
    if (kTags[i].argument_only && !at_argument) {
      return fail_here(v1, "this record is only for arguments");
    }
    *out_row = &kTags[i];
    return FC_OK;
  }
  return fail_here(v1, "unknown kind of record");
}

// Begins the record whose '[' was just read. If *out_open is true, a level was pushed,
// and the children follow. If it is false, the record was read to its end and became
// *out_node. The token after "ndarray" shows whether the record is a tensor or an array
// of records. For an array of records *out_has_token is true, and *out_token is that
// token, the first of the first child.
static fc_status_t begin_compound(v1_t *v1, bool *out_open, bool *out_has_token,
                                  fc_json_token_t *out_token,
                                  uint32_t *out_node) {
  const tag_row_t *row = NULL;
  FC_TRY(find_tag(v1, &row));
  *out_open = true;
  *out_has_token = false;
  if (row->tag == TAG_NDARRAY) {
    FC_TRY(next(v1, out_token));
    if (*out_token == FC_JSON_STRING || *out_token == FC_JSON_NULL) {
      *out_open = false;
      return read_tensor(v1, *out_token == FC_JSON_STRING, out_node);
    }
    *out_has_token = true;
  }
  if (row->tag == TAG_NAMED) {
    FC_TRY(expect_key(v1, &v1->name));
    v1->is_named = true;
  }
  if (row->argument_only && row->tag == TAG_DICT) v1->after_kwargs = true;
  return push(v1, row);
}

// Reads the first token of the innermost level's next child, or the level's end.
static fc_status_t next_child(v1_t *v1, fc_json_token_t *out_token,
                              bool *out_ended) {
  level_t *level = top(v1);
  const bool single = level->tag == TAG_NDARRAY || level->tag == TAG_LIST ||
                      level->tag == TAG_NAMED;
  *out_ended = false;
  if (single && level->child_count == 1) {
    *out_ended = true;
    if (level->tag == TAG_NDARRAY) return read_rank_and_dims(v1, level->node);
    return expect(v1, FC_JSON_ARRAY_END, "record has more than one element");
  }
  if (level->tag == TAG_DICT && level->child_count && level->key.data) {
    FC_TRY(expect(v1, FC_JSON_ARRAY_END, "an entry must be [key, record]"));
  }
  FC_TRY(next(v1, out_token));
  if (*out_token == FC_JSON_ARRAY_END && !single) {
    *out_ended = true;
    return FC_OK;
  }
  if (level->tag != TAG_DICT) return FC_OK;
  if (*out_token != FC_JSON_ARRAY_BEGIN) {
    return fail_here(v1, "an entry must be [key, record]");
  }
  FC_TRY(expect_key(v1, &level->key));
  return next(v1, out_token);
}

static void attach(v1_t *v1, uint32_t child) {
  level_t *level = top(v1);
  level->child_count++;
  if (level->tag == TAG_NAMED) {
    level->node = child;
  } else if (level->tag == TAG_DICT) {
    char chars[KEY_SIZE_MAX];
    const fc_str_t key =
        fc_str_make(chars, fc_json_unescape(level->key, chars));
    fc_builder_append_key(v1->builder, level->node, key, child);
  } else {
    fc_builder_append(v1->builder, level->node, child);
  }
}

static fc_status_t begin_record(v1_t *v1, fc_json_token_t *token,
                                bool *out_open, bool *out_has_token,
                                uint32_t *out_node) {
  *out_open = *out_has_token = false;
  switch (*token) {
    case FC_JSON_NULL:
      *out_node = fc_builder_node(v1->builder, FC_TYPE_NULL);
      return FC_OK;
    case FC_JSON_STRING:
      return read_primitive(v1, out_node);
    case FC_JSON_ARRAY_BEGIN:
      return begin_compound(v1, out_open, out_has_token, token, out_node);
    default:
      return fail_here(v1, "a record must be a string, null or an array");
  }
}

// Reads one whole record, whose first token was just read.
static fc_status_t read_record(v1_t *v1, fc_json_token_t token,
                               uint32_t *out_node) {
  for (;;) {
    uint32_t node = FC_NODE_NONE;
    bool open, has_token;
    FC_TRY(begin_record(v1, &token, &open, &has_token, &node));
    if (has_token) continue;
    for (bool ended = true; ended;) {
      if (!open) {
        if (v1->depth == 0) {
          *out_node = node;
          return FC_OK;
        }
        attach(v1, node);
      }
      FC_TRY(next_child(v1, &token, &ended));
      if (!ended) break;
      node = top(v1)->node;
      v1->depth--;
      open = false;
    }
  }
}

// ---------------------------------------------------------------------------
// The document

typedef struct sides_t {
  bool seen[2];  // "a", "r"
  size_t offsets[2];
  uint32_t argument_count;
  uint32_t result_count;
  // The node of the first result. The builder gets the node only after the reader knows
  // whether the function has further results.
  uint32_t only_result;
} sides_t;

static void add_argument(v1_t *v1, uint32_t node, uint32_t raw_index) {
  char chars[KEY_SIZE_MAX];
  fc_str_t name = {chars, 0};
  if (v1->is_named) name.size = fc_json_unescape(v1->name, chars);
  fc_builder_argument(v1->builder, name, node, FC_ROLE_IN, v1->is_named,
                      (int32_t)raw_index);
}

static fc_status_t read_arguments(v1_t *v1, sides_t *sides) {
  v1->in_arguments = true;
  for (;;) {
    fc_json_token_t token;
    FC_TRY(next(v1, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    if (v1->after_kwargs) {
      return fail_here(v1, "sdict_kwargs must be the last argument");
    }
    v1->is_named = false;
    uint32_t node;
    FC_TRY(read_record(v1, token, &node));
    add_argument(v1, node, sides->argument_count++);
  }
}

static fc_status_t read_results(v1_t *v1, sides_t *sides) {
  v1->in_arguments = false;
  for (;;) {
    fc_json_token_t token;
    FC_TRY(next(v1, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    uint32_t node;
    FC_TRY(read_record(v1, token, &node));
    const uint32_t raw_index = sides->result_count++;
    if (raw_index == 0) {
      sides->only_result = node;
      continue;
    }
    if (raw_index == 1) {
      fc_builder_result(v1->builder, FC_STR(""), sides->only_result, 0);
    }
    fc_builder_result(v1->builder, FC_STR(""), node, (int32_t)raw_index);
  }
}

static fc_status_t read_side(v1_t *v1, int side, sides_t *sides) {
  if (sides->seen[side]) return fail_here(v1, "member comes twice");
  sides->seen[side] = true;
  FC_TRY(expect(v1, FC_JSON_ARRAY_BEGIN, "\"a\" and \"r\" must be arrays"));
  sides->offsets[side] = (size_t)v1->reader.token_offset;
  return side == 0 ? read_arguments(v1, sides) : read_results(v1, sides);
}

static fc_status_t skip_member(v1_t *v1) {
  fc_json_token_t token;
  FC_TRY(next(v1, &token));
  if (fc_json_skip(&v1->reader, token, NULL) == FC_OK) return FC_OK;
  return fail_here(v1, "not valid JSON");
}

static fc_status_t read_document(v1_t *v1, sides_t *sides) {
  FC_TRY(expect(v1, FC_JSON_OBJECT_BEGIN, "the metadata must be an object"));
  for (;;) {
    fc_json_token_t token;
    FC_TRY(next(v1, &token));
    if (token == FC_JSON_OBJECT_END) break;
    if (fc_json_text_is(&v1->reader, FC_STR("a"))) {
      FC_TRY(read_side(v1, 0, sides));
    } else if (fc_json_text_is(&v1->reader, FC_STR("r"))) {
      FC_TRY(read_side(v1, 1, sides));
    } else {
      FC_TRY(skip_member(v1));
    }
  }
  fc_json_token_t token;
  FC_TRY(next(v1, &token));  // finds bytes after the object
  if (!sides->seen[0]) return fail_here(v1, "member \"a\" is missing");
  if (!sides->seen[1]) return fail_here(v1, "member \"r\" is missing");
  return FC_OK;
}

// Finds out how the only result is returned. The writers of V1 inline a single compound:
// then the function returns its children one by one. If the number of returned values is
// not the number of children, the function returns the compound itself.
static fc_status_t place_only_result(v1_t *v1, const sides_t *sides,
                                     int32_t known, bool one_list,
                                     uint32_t *out_raw_count) {
  const fc_type_t *type = fc_builder_at(v1->builder, sides->only_result);
  if (!type) return FC_OK;  // the builder reports why
  const bool compound =
      type->kind == FC_TYPE_TUPLE || type->kind == FC_TYPE_DICT;
  const uint32_t children = type->child_count;
  const bool inlined =
      compound && !(one_list && children == 1) &&
      (known == FC_COUNT_UNKNOWN || (uint32_t)known == children);
  *out_raw_count = inlined ? children : 1;
  if (!inlined) {
    fc_builder_result(v1->builder, FC_STR(""), sides->only_result, 0);
    return FC_OK;
  }
  uint32_t child = type->child;
  for (int32_t i = 0; child != FC_NODE_NONE; i++) {
    fc_type_t *node = fc_builder_at(v1->builder, child);
    node->raw_index = i;
    child = node->next;
  }
  fc_builder_result(v1->builder, FC_STR(""), sides->only_result, FC_RAW_NONE);
  return FC_OK;
}

static fc_status_t check_count(v1_t *v1, size_t offset, const char *what,
                               uint32_t count, int32_t known) {
  if (known == FC_COUNT_UNKNOWN || count == (uint32_t)known) return FC_OK;
  return fc_abi_fail(v1->err, offset,
                     "iree.abi describes %u %s, the function has %d", count,
                     what, (int)known);
}

fc_status_t fc_v1_parse(fc_str_t text, fc_raw_counts_t counts,
                        fc_builder_t *builder, fc_error_t *err) {
  return fc_v1_read(text, counts, false, builder, err);
}

fc_status_t fc_v1_read(fc_str_t text, fc_raw_counts_t counts, bool one_list,
                       fc_builder_t *builder, fc_error_t *err) {
  if (text.size > TEXT_SIZE_MAX) {
    return fc_abi_fail(err, TEXT_SIZE_MAX,
                       "metadata of %zu bytes is over the limit of %u",
                       text.size, TEXT_SIZE_MAX);
  }
  v1_t v1 = {.builder = builder, .err = err};
  fc_json_reader_init(&v1.reader, FC_JSON_DEPTH_MAX, TOP_LEVEL_KEYS);
  fc_json_reader_feed(&v1.reader, text.data, text.size, true);
  sides_t sides = {.only_result = FC_NODE_NONE};
  FC_TRY(read_document(&v1, &sides));
  uint32_t raw_results = sides.result_count;
  if (sides.result_count == 1) {
    FC_TRY(
        place_only_result(&v1, &sides, counts.results, one_list, &raw_results));
  }
  FC_TRY(check_count(&v1, sides.offsets[0], "arguments", sides.argument_count,
                     counts.arguments));
  FC_TRY(check_count(&v1, sides.offsets[1], "results", raw_results,
                     counts.results));
  fc_builder_source(builder, FC_SOURCE_IREE_V1);
  fc_builder_raw_counts(builder, sides.argument_count, raw_results);
  return FC_OK;
}
