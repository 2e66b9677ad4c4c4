// SPDX-License-Identifier: Apache-2.0
//
// Properties of random types and values. Each document is written in two ways: as the
// encoder must print it, and in another spelling (keys in another order, blanks,
// tensors as objects). Both must be decoded to the same flat list. If something is left
// out or added, the document must be refused, with a pointer to it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "farcall/codec.h"
#include "helpers/echo.h"
#include "helpers/flat.h"
#include "helpers/test.h"

#define DEPTH_MAX 4
#define CHILDREN_MAX 4

// ---------------------------------------------------------------------------
// Random numbers

static uint64_t seed;

static uint64_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

static uint32_t below(uint32_t limit) {
  return (uint32_t)((next_random() >> 20) % limit);
}

static bool one_in(uint32_t count) { return below(count) == 0; }

// ---------------------------------------------------------------------------
// Growing text

typedef struct text_t {
  char *data;
  size_t size;
  size_t capacity;
} text_t;

static void put_bytes(text_t *text, const char *data, size_t size) {
  if (text->size + size + 1 > text->capacity) {
    text->capacity = 2 * (text->size + size + 64);
    text->data = realloc(text->data, text->capacity);
    assert_non_null(text->data);
  }
  memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
}

static void put(text_t *text, const char *piece) {
  put_bytes(text, piece, strlen(piece));
}

static void put_blank(text_t *text) {
  if (one_in(8)) put(text, one_in(2) ? " " : "\n\t");
}

static void text_free(text_t *text) {
  free(text->data);
  *text = (text_t){0};
}

// ---------------------------------------------------------------------------
// Types

typedef struct type_t type_t;
struct type_t {
  fc_type_kind_t kind;
  fc_dtype_t dtype;
  bool utf8;
  int32_t rank;     // as declared
  int64_t dims[4];  // as declared
  char key[16];
  uint32_t child_count;
  type_t *children[CHILDREN_MAX];
  int32_t raw;
};

static const fc_dtype_t kDtypes[] = {
    FC_DTYPE_I1,  FC_DTYPE_I4,   FC_DTYPE_I8,   FC_DTYPE_UI8,
    FC_DTYPE_I16, FC_DTYPE_UI16, FC_DTYPE_SI32, FC_DTYPE_I32,
    FC_DTYPE_I64, FC_DTYPE_UI64, FC_DTYPE_F16,  FC_DTYPE_BF16,
    FC_DTYPE_F32, FC_DTYPE_F64,  FC_DTYPE_C64,  FC_DTYPE_INDEX,
};

// NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX deep.
static type_t *make_type(uint32_t depth, bool only_leaf_and_split) {
  type_t *type = calloc(1, sizeof *type);
  assert_non_null(type);
  type->raw = FC_RAW_NONE;
  static const fc_type_kind_t kLeaves[] = {
      FC_TYPE_SCALAR, FC_TYPE_SCALAR, FC_TYPE_TENSOR, FC_TYPE_TENSOR,
      FC_TYPE_TENSOR, FC_TYPE_BYTES,  FC_TYPE_NULL,   FC_TYPE_VECTOR};
  static const fc_type_kind_t kSplits[] = {FC_TYPE_TUPLE, FC_TYPE_DICT,
                                           FC_TYPE_LIST, FC_TYPE_REFARRAY};
  bool leaf = depth >= DEPTH_MAX || one_in(2);
  type->kind = leaf ? kLeaves[below(FC_ARRAY_COUNT(kLeaves))]
                    : kSplits[below(only_leaf_and_split ? 2 : 4)];
  type->dtype = kDtypes[below(FC_ARRAY_COUNT(kDtypes))];
  type->utf8 = one_in(2);
  bool sized = type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR ||
               type->kind == FC_TYPE_REFARRAY;
  if (sized) type->rank = (int32_t)below(4);
  if (type->kind == FC_TYPE_REFARRAY) type->rank = 1 + (int32_t)below(2);
  for (int32_t i = 0; i < type->rank; i++) {
    bool dynamic = type->kind != FC_TYPE_VECTOR && one_in(2);
    type->dims[i] = dynamic ? FC_DIM_DYNAMIC : (int64_t)below(4);
  }
  if (type->kind == FC_TYPE_TENSOR && one_in(6)) type->rank = FC_RANK_DYNAMIC;
  if (leaf) return type;
  bool single = type->kind == FC_TYPE_LIST || type->kind == FC_TYPE_REFARRAY;
  type->child_count = single ? 1 : below(CHILDREN_MAX + 1);
  for (uint32_t i = 0; i < type->child_count; i++) {
    type->children[i] = make_type(depth + 1, only_leaf_and_split);
    static const char *const kKeys[] = {"a", "b\xc3\xa9", "", "k/~"};
    snprintf(type->children[i]->key, sizeof type->children[i]->key, "%s%u",
             kKeys[below(4)], (unsigned)(9 - i));
  }
  return type;
}

// NOLINTNEXTLINE(misc-no-recursion)
static void free_type(type_t *type) {
  for (uint32_t i = 0; i < type->child_count; i++) {
    free_type(type->children[i]);
  }
  free(type);
}

// NOLINTNEXTLINE(misc-no-recursion)
static uint32_t build_type(fc_builder_t *builder, const type_t *type) {
  uint32_t node;
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      node = fc_builder_scalar(builder, type->dtype);
      break;
    case FC_TYPE_TENSOR:
      node = fc_builder_tensor(builder, type->dtype, type->rank, type->dims);
      break;
    case FC_TYPE_VECTOR:
      node = fc_builder_vector(builder, type->dtype, type->rank, type->dims);
      break;
    case FC_TYPE_BYTES:
      node = fc_builder_bytes(builder,
                              type->utf8 ? FC_FLAVOR_UTF8 : FC_FLAVOR_RAW);
      break;
    default:
      node = fc_builder_node(builder, type->kind);
      break;
  }
  for (uint32_t i = 0; i < type->child_count; i++) {
    uint32_t child = build_type(builder, type->children[i]);
    if (type->kind == FC_TYPE_DICT) {
      fc_builder_append_key(builder, node, fc_str(type->children[i]->key),
                            child);
    } else {
      fc_builder_append(builder, node, child);
    }
  }
  if (type->kind == FC_TYPE_REFARRAY) {
    fc_builder_dims(builder, node, type->rank, type->dims);
  }
  fc_type_t *built = fc_builder_at(builder, node);
  if (built && type->raw >= 0) built->raw_index = type->raw;
  return node;
}

// ---------------------------------------------------------------------------
// Values

typedef enum change_t {
  CHANGE_NONE,
  CHANGE_DROP,       // the last element or key
  CHANGE_ADD,        // one more
  CHANGE_DUPLICATE,  // a key
} change_t;

// The state of writing one document in both spellings.
typedef struct maker_t {
  bool typed;        // the answer has typed results
  uint32_t site;     // containers met so far
  uint32_t changed;  // the one to change
  change_t change;   // what was done there
  fc_code_t code;    // what must come of it
  char pointer[256];
} maker_t;

typedef struct both_t {
  text_t answer;  // as encode prints it
  text_t other;   // as the client may write it
} both_t;

static void put_both(both_t *both, const char *piece) {
  put(&both->answer, piece);
  put(&both->other, piece);
}

static void element(fc_dtype_t dtype, both_t *both) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  char text[64], other[80];
  switch (info->class_) {
    case FC_DTYPE_CLASS_BOOL:
      put_both(both, one_in(2) ? "true" : "false");
      return;
    case FC_DTYPE_CLASS_FLOAT:
      // These numbers are exact, and short, in every float type.
      snprintf(text, sizeof text, "%s%u.%s", one_in(3) ? "-" : "", below(32),
               one_in(2) ? "0" : "5");
      snprintf(other, sizeof other, one_in(2) ? "%s00" : "%se0", text);
      break;
    case FC_DTYPE_CLASS_COMPLEX:
      snprintf(text, sizeof text, "[%u.5,-%u.0]", below(9), below(9));
      snprintf(other, sizeof other, "%s", text);
      break;
    default: {
      bool is_signed = info->class_ != FC_DTYPE_CLASS_UINT;
      uint64_t bits = next_random() >> (64 - info->bits);
      int64_t value = (int64_t)(next_random() >> (64 - info->bits + 1));
      if (one_in(2)) value = -value - 1;
      if (is_signed) snprintf(text, sizeof text, "%" PRId64, value);
      else snprintf(text, sizeof text, "%" PRIu64, bits);
      snprintf(other, sizeof other,
               info->bits == 64 && one_in(2)  ? "\"%s\""
               : info->bits < 32 && one_in(3) ? "%s.0"
                                              : "%s",
               text);
      break;
    }
  }
  put(&both->answer, text);
  put(&both->other, other);
}

// True if this container is the one to change.
static bool is_site(maker_t *maker) { return maker->site++ == maker->changed; }

static void changed(maker_t *maker, change_t change, fc_code_t code,
                    const char *path, const char *last) {
  maker->change = change;
  maker->code = code;
  snprintf(maker->pointer, sizeof maker->pointer, "%s%s%s", path,
           last ? "/" : "", last ? last : "");
}

typedef struct nest_t {
  fc_dtype_t dtype;
  int32_t rank;
  int64_t dims[4];
  bool fixed;  // the outer dim is declared
} nest_t;

// Nested arrays. Of these, only the outermost array may be the container to change.
// NOLINTNEXTLINE(misc-no-recursion)
static void nested(maker_t *maker, const nest_t *nest, int32_t depth,
                   const char *path, both_t *both) {
  if (depth == nest->rank) {
    element(nest->dtype, both);
    return;
  }
  put_both(both, "[");
  int64_t count = nest->dims[depth];
  bool site = depth == 0 && nest->fixed && is_site(maker);
  bool drop = site && count > 0 && one_in(2);
  for (int64_t i = 0; i < count; i++) {
    both_t next = {0};
    nested(maker, nest, depth + 1, path, &next);
    if (i) put(&both->answer, ",");
    put(&both->answer, next.answer.data);
    if (!drop || i + 1 < count) {
      if (i) put(&both->other, ",");
      put_blank(&both->other);
      put(&both->other, next.other.data);
    }
    text_free(&next.answer);
    text_free(&next.other);
  }
  if (drop) changed(maker, CHANGE_DROP, FC_CODE_SHAPE_MISMATCH, path, NULL);
  if (site && !drop) {
    char last[32];
    snprintf(last, sizeof last, "%" PRId64, count);
    put(&both->other, count ? ",null" : "null");
    changed(maker, CHANGE_ADD, FC_CODE_SHAPE_MISMATCH, path, last);
  }
  put_both(both, "]");
}

static void shape_text(const nest_t *nest, char *out, size_t capacity) {
  size_t size = 0;
  out[0] = '\0';
  for (int32_t i = 0; i < nest->rank; i++) {
    size += (size_t)snprintf(out + size, capacity - size,
                             i ? ",%" PRId64 : "%" PRId64, nest->dims[i]);
  }
}

static void tensor(maker_t *maker, const type_t *type, const char *path,
                   both_t *both) {
  nest_t nest = {.dtype = type->dtype, .rank = type->rank};
  if (type->rank == FC_RANK_DYNAMIC) nest.rank = (int32_t)below(4);
  bool empty = false;
  for (int32_t i = 0; i < nest.rank; i++) {
    bool fixed = type->rank > 0 && type->dims[i] >= 0;
    nest.dims[i] = fixed ? type->dims[i] : below(4);
    empty |= nest.dims[i] == 0;
  }
  nest.fixed = type->rank > 0 && type->dims[0] >= 0;
  both_t plain = {0};
  // Nested arrays cannot express the dims after an empty one; an object can.
  bool object = empty || one_in(3);
  if (object) nest.fixed = false;
  nested(maker, &nest, 0, path, &plain);
  char shape[128], head[256];
  shape_text(&nest, shape, sizeof shape);
  const char *dtype = fc_dtype_info(nest.dtype)->text;
  if (maker->typed) {
    snprintf(head, sizeof head,
             "{\"dtype\":\"%s\",\"shape\":[%s],\"data\":", dtype, shape);
    put(&both->answer, head);
  }
  put(&both->answer, plain.answer.data);
  if (maker->typed) put(&both->answer, "}");
  if (object && one_in(2)) {
    snprintf(head, sizeof head, ",\"shape\":[%s],\"dtype\":\"%s\"}", shape,
             dtype);
    put(&both->other, "{\"data\":");
    put(&both->other, plain.other.data);
    put(&both->other, head);
  } else if (object) {
    snprintf(head, sizeof head, "{ \"shape\":[%s], \"data\":", shape);
    put(&both->other, head);
    put(&both->other, plain.other.data);
    put(&both->other, "}");
  } else {
    put(&both->other, plain.other.data);
  }
  text_free(&plain.answer);
  text_free(&plain.other);
}

static void bytes(const type_t *type, both_t *both) {
  static const struct {
    const char *text, *other, *b64;
  } kBytes[] = {
      {"\"\"", "\"\"", "{\"b64\":\"\"}"},
      {"\"hi\"", "\"\\u0068i\"", "{\"b64\":\"aGk=\"}"},
      {"\"\xc3\xa9\\n\"", "\"\\u00e9\\n\"", "{\"b64\":\"w6kK\"}"},
      {"\"\\u0000\"", "\"\\u0000\"", "{\"b64\":\"AA==\"}"},
  };
  uint32_t i = below(FC_ARRAY_COUNT(kBytes));
  put(&both->answer, type->utf8 ? kBytes[i].text : kBytes[i].b64);
  put(&both->other, one_in(2) ? kBytes[i].other : kBytes[i].b64);
}

// Writes a key as a segment of a JSON pointer (RFC 6901). The quotes in keys need no
// escape there.
static void key_pointer(const char *key, char *out, size_t capacity) {
  size_t size = 0;
  out[0] = '\0';
  for (; *key; key++) {
    const char *piece = *key == '~' ? "~0" : *key == '/' ? "~1" : NULL;
    size += (size_t)snprintf(out + size, capacity - size, piece ? "%s" : "%.1s",
                             piece ? piece : key);
  }
}

static void value(maker_t *maker, const type_t *type, const char *path,
                  both_t *both);

// NOLINTNEXTLINE(misc-no-recursion)
static void child_value(maker_t *maker, const type_t *child, const char *path,
                        const char *name, both_t *both) {
  char below_path[256], pointer[64];
  key_pointer(name, pointer, sizeof pointer);
  snprintf(below_path, sizeof below_path, "%s/%s", path, pointer);
  value(maker, child, below_path, both);
}

// NOLINTNEXTLINE(misc-no-recursion)
static void sequence(maker_t *maker, const type_t *type, uint32_t count,
                     const char *path, both_t *both) {
  bool tuple = type->kind == FC_TYPE_TUPLE;
  bool site = tuple && is_site(maker);
  bool drop = site && count > 0 && one_in(2);
  put_both(both, "[");
  for (uint32_t i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "%u", i);
    both_t next = {0};
    child_value(maker, type->children[tuple ? i : 0], path, name, &next);
    if (i) put(&both->answer, ",");
    put(&both->answer, next.answer.data);
    if (!drop || i + 1 < count) {
      if (i) put(&both->other, ",");
      put_blank(&both->other);
      put(&both->other, next.other.data);
    }
    text_free(&next.answer);
    text_free(&next.other);
  }
  if (drop) changed(maker, CHANGE_DROP, FC_CODE_LENGTH_MISMATCH, path, NULL);
  if (site && !drop) {
    char last[16];
    snprintf(last, sizeof last, "%u", count);
    put(&both->other, count ? ",null" : "null");
    changed(maker, CHANGE_ADD, FC_CODE_LENGTH_MISMATCH, path, last);
  }
  put_both(both, "]");
}

static void put_key(text_t *text, const char *key) {
  put(text, "\"");
  put(text, key);
  put(text, "\":");
}

// The answer has the members in the record's order, the client's spelling in any other.
// NOLINTNEXTLINE(misc-no-recursion)
static void dict(maker_t *maker, const type_t *type, const char *path,
                 both_t *both) {
  uint32_t count = type->child_count, order[CHILDREN_MAX];
  bool site = is_site(maker);
  change_t change = !site        ? CHANGE_NONE
                    : count == 0 ? CHANGE_ADD
                                 : (change_t)(CHANGE_DROP + below(3));
  text_t others[CHILDREN_MAX] = {0};
  put_both(both, "{");
  for (uint32_t i = 0; i < count; i++) {
    const char *key = type->children[i]->key;
    both_t next = {0};
    child_value(maker, type->children[i], path, key, &next);
    if (i) put(&both->answer, ",");
    put_key(&both->answer, key);
    put(&both->answer, next.answer.data);
    text_free(&next.answer);
    others[i] = next.other;
    order[i] = i;
  }
  for (uint32_t i = count; i > 1; i--) {
    uint32_t k = below(i), swap = order[i - 1];
    order[i - 1] = order[k];
    order[k] = swap;
  }
  uint32_t kept = change == CHANGE_DROP ? count - 1 : count;
  for (uint32_t i = 0; i < kept; i++) {
    if (i) put(&both->other, ",");
    put_blank(&both->other);
    put_key(&both->other, type->children[order[i]]->key);
    put_blank(&both->other);
    put(&both->other, others[order[i]].data);
  }
  char pointer[64];
  if (change == CHANGE_ADD) {
    put(&both->other, count ? ",\"new\":null" : "\"new\":null");
    changed(maker, change, FC_CODE_UNKNOWN_KEY, path, "new");
  } else if (change == CHANGE_DUPLICATE) {
    const char *key = type->children[order[0]]->key;
    put(&both->other, ",");
    put_key(&both->other, key);
    put(&both->other, "null");
    key_pointer(key, pointer, sizeof pointer);
    changed(maker, change, FC_CODE_DUPLICATE_KEY, path, pointer);
  } else if (change == CHANGE_DROP) {
    changed(maker, change, FC_CODE_MISSING_KEY, path, NULL);
  }
  put_both(both, "}");
  for (uint32_t i = 0; i < count; i++) text_free(&others[i]);
}

// NOLINTNEXTLINE(misc-no-recursion)
static void references(maker_t *maker, const type_t *type, int32_t dim,
                       const int64_t *dims, const char *path, both_t *both) {
  if (dim == type->rank) {
    value(maker, type->children[0], path, both);
    return;
  }
  bool site = type->dims[dim] >= 0 && is_site(maker);
  put_both(both, "[");
  for (int64_t i = 0; i < dims[dim]; i++) {
    char below_path[256];
    snprintf(below_path, sizeof below_path, "%s/%" PRId64, path, i);
    if (i) put_both(both, ",");
    references(maker, type, dim + 1, dims, below_path, both);
  }
  if (site) {
    char last[32];
    snprintf(last, sizeof last, "%" PRId64, dims[dim]);
    put(&both->other, dims[dim] ? ",null" : "null");
    changed(maker, CHANGE_ADD, FC_CODE_SHAPE_MISMATCH, path, last);
  }
  put_both(both, "]");
}

// NOLINTNEXTLINE(misc-no-recursion)
static void value(maker_t *maker, const type_t *type, const char *path,
                  both_t *both) {
  int64_t dims[4] = {0};
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      element(type->dtype, both);
      break;
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      tensor(maker, type, path, both);
      break;
    case FC_TYPE_BYTES:
      bytes(type, both);
      break;
    case FC_TYPE_TUPLE:
      sequence(maker, type, type->child_count, path, both);
      break;
    case FC_TYPE_LIST:
      sequence(maker, type, below(4), path, both);
      break;
    case FC_TYPE_DICT:
      dict(maker, type, path, both);
      break;
    case FC_TYPE_REFARRAY:
      for (int32_t i = 0; i < type->rank; i++) {
        dims[i] = type->dims[i] >= 0 ? type->dims[i] : below(3);
      }
      references(maker, type, 0, dims, path, both);
      break;
    default:
      put_both(both, "null");
      break;
  }
}

// ---------------------------------------------------------------------------
// Decoding, echoing and encoding

typedef struct trip_t {
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_frame_t *frame;
  fc_echo_t echo;
} trip_t;

static void trip_init(trip_t *trip, fc_builder_t *builder) {
  fc_allocator_t allocator = fc_allocator_system();
  fc_error_t err;
  *trip = (trip_t){0};
  if (fc_signature_build(builder, &trip->signature, &err) ||
      fc_plan_create(trip->signature, allocator, &trip->plan, &err) ||
      fc_frame_create(allocator, NULL, &trip->frame, &err)) {
    fail_msg("%s", err.message);
  }
  trip->echo.info.signatures = &trip->signature;
  trip->echo.info.count = 1;
}

static void trip_deinit(trip_t *trip) {
  fc_frame_destroy(trip->frame);
  fc_plan_destroy(trip->plan);
  fc_signature_destroy(trip->signature);
}

// Decodes, echoes and encodes. `flat` gets the decoded arguments as text.
static void trip_run(trip_t *trip, const char *body, char *flat,
                     fc_text_t *answer) {
  fc_error_t err;
  fc_frame_begin(trip->frame, trip->plan, NULL);
  if (fc_frame_decode(trip->frame, fc_str(body), &err)) {
    fail_msg("%s at %s in %s", err.message, err.pointer, body);
  }
  size_t count;
  const fc_value_t *values = fc_frame_arguments(trip->frame, &count);
  fc_test_flat(values, count, flat, FC_TEST_FLAT_MAX);
  fc_text_reset(answer);
  if (fc_frame_invoke(trip->frame, &fc_backend_echo, &trip->echo, 0, NULL, 0,
                      &err) ||
      fc_frame_encode(trip->frame, &answer->sink, &err)) {
    fail_msg("%s after %s", err.message, body);
  }
  fc_frame_end(trip->frame);
}

// A random tuple or dict, whose members are the arguments and also the results.
static type_t *random_tuple(bool tree) {
  type_t *root = make_type(0, tree);
  while (root->kind != FC_TYPE_TUPLE && root->kind != FC_TYPE_DICT) {
    free_type(root);
    root = make_type(0, tree);
  }
  return root;
}

static void add_params(fc_builder_t *builder, const type_t *root) {
  for (uint32_t i = 0; i < root->child_count; i++) {
    const type_t *type = root->children[i];
    fc_str_t name = fc_str(root->kind == FC_TYPE_DICT ? type->key : "");
    fc_builder_argument(builder, name, build_type(builder, type), FC_ROLE_IN,
                        root->kind == FC_TYPE_DICT, FC_RAW_NEXT);
    fc_builder_result(builder, name, build_type(builder, type), FC_RAW_NEXT);
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
static void number_leaves(type_t *type, int32_t *indices, int32_t *next) {
  bool split = type->kind == FC_TYPE_TUPLE || type->kind == FC_TYPE_DICT;
  if (!split && type->kind != FC_TYPE_NULL) type->raw = indices[(*next)++];
  for (uint32_t i = 0; i < type->child_count; i++) {
    number_leaves(type->children[i], indices, next);
  }
}

#define LEAVES_MAX 512

static void shuffle_indices(type_t *root) {
  int32_t indices[LEAVES_MAX], count = 0;
  for (int32_t i = 0; i < LEAVES_MAX; i++) indices[i] = 0;
  number_leaves(root, indices, &count);
  assert_true(count < LEAVES_MAX);
  for (int32_t i = 0; i < count; i++) indices[i] = i;
  for (int32_t i = count; i > 1; i--) {
    uint32_t k = below((uint32_t)i);
    int32_t swap = indices[i - 1];
    indices[i - 1] = indices[k];
    indices[k] = swap;
  }
  count = 0;
  number_leaves(root, indices, &count);
}

// Writes the document around the arguments; `root` becomes a tuple or a dict.
static void wrap(const type_t *root, bool typed, const char *text,
                 text_t *out) {
  const char *options = typed ? "\"options\":{\"results\":\"typed\"}," : "";
  if (root->kind == FC_TYPE_TUPLE && !typed && one_in(2)) {
    put(out, text);
    return;
  }
  put(out, "{");
  put(out, options);
  put(out, root->kind == FC_TYPE_TUPLE ? "\"args\":" : "\"kwargs\":");
  put(out, text);
  put(out, "}");
}

// The answer has the values that were sent: each parameter is a result, but a tree is
// one result.
static void expect_answer(const type_t *root, bool tree, const char *sent,
                          text_t *out) {
  put(out, "{\"results\":");
  if (tree) {
    put(out, "[");
    put(out, sent);
    put(out, "]");
  } else if (root->kind == FC_TYPE_TUPLE) {
    put(out, sent);
  }
  put(out, "}");
}

static void check_roundtrip(const type_t *root, bool tree, bool typed,
                            trip_t *trip) {
  maker_t maker = {.typed = typed, .changed = UINT32_MAX};
  both_t both = {0};
  value(&maker, root, "", &both);
  text_t other = {0}, same = {0}, expected = {0};
  char flat[FC_TEST_FLAT_MAX], flat_same[FC_TEST_FLAT_MAX];
  fc_text_t answer;
  fc_text_init(&answer, fc_allocator_system(), 1 << 24);
  wrap(root, typed, both.other.data, &other);
  wrap(root, typed, both.answer.data, &same);
  trip_run(trip, other.data, flat, &answer);
  // Results of keyword arguments have no keys, so their text differs from what was
  // sent. Then only the flat lists are compared.
  if (tree || root->kind == FC_TYPE_TUPLE) {
    expect_answer(root, tree, both.answer.data, &expected);
    fc_str_t text = fc_text_str(&answer);
    if (!fc_str_equal(text, fc_str(expected.data))) {
      fail_msg("%s\n-> %.*s\nnot %s", other.data, FC_STR_ARG(text),
               expected.data);
    }
  }
  // A typed answer contains all that was sent. Sent as a call, it is decoded to the
  // same values.
  if (typed) {
    trip_run(trip, same.data, flat_same, &answer);
    assert_string_equal(flat, flat_same);
  }
  fc_text_deinit(&answer);
  text_free(&expected);
  text_free(&other);
  text_free(&same);
  text_free(&both.answer);
  text_free(&both.other);
}

// Changes one container; the document must be refused there.
static void check_change(const type_t *root, bool tree, uint32_t site,
                         trip_t *trip) {
  maker_t maker = {.changed = site};
  both_t both = {0};
  bool positional = root->kind == FC_TYPE_TUPLE;
  value(&maker, root, positional ? "/args" : "/kwargs", &both);
  if (maker.change != CHANGE_NONE) {
    if (site == 0) {
      static const fc_code_t kCodes[2][4] = {
          {FC_CODE_NONE, FC_CODE_MISSING_ARGUMENT, FC_CODE_UNKNOWN_ARGUMENT,
           FC_CODE_DUPLICATE_KEY},
          {FC_CODE_NONE, FC_CODE_MISSING_ARGUMENT, FC_CODE_EXTRA_ARGUMENT,
           FC_CODE_NONE}};
      maker.code = kCodes[positional][maker.change];
    }
    text_t body = {0};
    put(&body, positional ? "{\"args\":" : "{\"kwargs\":");
    put(&body, both.other.data);
    put(&body, "}");
    fc_error_t err;
    fc_frame_begin(trip->frame, trip->plan, NULL);
    if (fc_frame_decode(trip->frame, fc_str(body.data), &err) == FC_OK) {
      fail_msg("accepted: %s, wrong at %s", body.data, maker.pointer);
    }
    if (err.code != maker.code || strcmp(err.pointer, maker.pointer) != 0) {
      fail_msg("%s at '%s', not %s at '%s': %s", fc_code_info(err.code)->text,
               err.pointer, fc_code_info(maker.code)->text, maker.pointer,
               body.data);
    }
    text_free(&body);
  }
  (void)tree;
  text_free(&both.answer);
  text_free(&both.other);
}

static void check_random_type(bool tree) {
  type_t *root = random_tuple(tree);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  if (tree) {
    shuffle_indices(root);
    fc_builder_root_tree(builder, true);
    fc_builder_argument(builder, (fc_str_t){0}, build_type(builder, root),
                        FC_ROLE_IN, false, FC_RAW_NONE);
    fc_builder_result(builder, (fc_str_t){0}, build_type(builder, root),
                      FC_RAW_NONE);
  } else {
    add_params(builder, root);
  }
  trip_t trip;
  trip_init(&trip, builder);
  for (int i = 0; i < 3; i++) {
    check_roundtrip(root, tree, i == 2, &trip);
    check_change(root, tree, i == 0 ? 0 : below(6), &trip);
  }
  trip_deinit(&trip);
  fc_builder_destroy(builder);
  free_type(root);
}

#define ROUNDS 3000

static void run(bool tree) {
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    char name[32];
    snprintf(name, sizeof name, "round %" PRIu64, i);
    fc_test_row(name);
    seed = i * UINT64_C(0x9E3779B97F4A7C15);
    check_random_type(tree);
  }
  fc_test_row(NULL);
}

static void parameters_come_back(void **state) {
  (void)state;
  run(false);
}

static void trees_come_back(void **state) {
  (void)state;
  run(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(parameters_come_back),
      FC_TEST(trees_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
