// SPDX-License-Identifier: Apache-2.0
//
// The splitter of declarations. One pass over the text, no recursion; lists of
// lists are followed by a loop.
#include "abi/declaration.h"

#include <stdarg.h>
#include <stdio.h>

#include "abi/mlir_type.h"

typedef struct reader_t {
  fc_builder_t *builder;
  fc_str_t text;
  size_t at;
  const fc_cconv_t *cconv;  // NULL: nothing to compare with
  fc_str_t registers;       // of the side being read: those not yet compared
  bool results;             // which side
  uint32_t index;           // of the item being read
  char warning[240];
  fc_error_t *err;
} reader_t;

// One argument or result, written as `%name: type {attributes}`.
typedef struct item_t {
  fc_str_t name;
  fc_str_t type_text;
  size_t type_at;
  fc_mlir_type_t type;
  fc_str_t
      encoding;    // iree.abi.encoding: the type that is passed; may be empty
  bool storage;    // iree.abi.output: memory for a result
  bool transient;  // iree.abi.transients: scratch memory
} item_t;

FC_PRINTF(3, 4)
static fc_status_t fault(const reader_t *reader, size_t at, const char *format,
                         ...) {
  char what[200];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  (void)fc_fail(reader->err, FC_CODE_ABI_METADATA, "declaration, byte %zu: %s",
                at, what);
  if (reader->err) reader->err->byte_offset = at;
  return FC_INVALID_ARGUMENT;
}

// ---------------------------------------------------------------------------
// Text

static fc_str_t rest(const reader_t *reader) {
  return fc_str_make(reader->text.data + reader->at,
                     reader->text.size - reader->at);
}

static bool accept(reader_t *reader, const char *word) {
  if (!fc_str_starts(rest(reader), fc_str(word))) return false;
  reader->at += strlen(word);
  return true;
}

static fc_status_t expect(reader_t *reader, const char *word) {
  if (accept(reader, word)) return FC_OK;
  return fault(reader, reader->at, "expected '%s'", word);
}

// Reads the text before the next `end`; false when there is no `end`.
static bool read_until(reader_t *reader, const char *end, fc_str_t *out) {
  fc_str_t left = rest(reader);
  const char *found =
      left.size ? memmem(left.data, left.size, end, strlen(end)) : NULL;
  if (!found) return false;
  *out = fc_str_make(left.data, (size_t)(found - left.data));
  reader->at += out->size;
  return true;
}

static fc_str_t trim(fc_str_t text) {
  while (text.size && text.data[0] == ' ') {
    text = fc_str_make(text.data + 1, text.size - 1);
  }
  while (text.size && text.data[text.size - 1] == ' ') text.size--;
  return text;
}

// Reads the text up to one of `stops` that stands outside brackets and strings.
static fc_status_t read_member(reader_t *reader, const char *stops,
                               fc_str_t *out) {
  size_t start = reader->at;
  const char *why = fc_mlir_skip(reader->text, &reader->at, stops);
  if (why) return fault(reader, reader->at, "%s", why);
  *out = trim(fc_str_make(reader->text.data + start, reader->at - start));
  if (!out->size) return fault(reader, start, "expected something here");
  return FC_OK;
}

// Reads the value of `key = value`, where `key` includes the " = ". A string is read
// without its quotes.
static bool attribute_value(fc_str_t attribute, const char *key,
                            fc_str_t *out_value) {
  if (!fc_str_starts(attribute, fc_str(key))) return false;
  const size_t skip = strlen(key);
  fc_str_t value =
      trim(fc_str_make(attribute.data + skip, attribute.size - skip));
  if (value.size > 2 && value.data[0] == '"' &&
      value.data[value.size - 1] == '"') {
    value = fc_str_make(value.data + 1, value.size - 2);
  }
  if (value.size) *out_value = value;
  return value.size > 0;
}

// Reads `{key = value, …}`. The opening brace was already read.
static fc_status_t read_attributes(reader_t *reader, item_t *item) {
  do {
    fc_str_t attribute = {0};
    FC_TRY(read_member(reader, ",}", &attribute));
    item->storage |= fc_str_starts(attribute, FC_STR("iree.abi.output ="));
    item->transient |= fc_str_starts(attribute, FC_STR("iree.abi.transients"));
    (void)attribute_value(attribute, "iree.abi.encoding = ", &item->encoding);
    (void)attribute_value(attribute, "iree.identifier = ", &item->name);
  } while (accept(reader, ", "));
  return expect(reader, "}");
}

// Reads the item's type from `text`, which must point into the declaration.
static fc_status_t read_type(const reader_t *reader, item_t *item,
                             fc_str_t text) {
  fc_error_t inner;
  if (fc_mlir_type_parse(text, &item->type, &inner) == FC_OK) return FC_OK;
  return fault(reader,
               (size_t)(text.data - reader->text.data) + inner.byte_offset,
               "%s", inner.message);
}

static fc_status_t read_item(reader_t *reader, item_t *item) {
  memset(item, 0, sizeof *item);
  FC_TRY(expect(reader, "%"));
  size_t start = reader->at;
  if (!read_until(reader, ": ", &item->name) || !item->name.size) {
    return fault(reader, start, "expected a name and ': '");
  }
  reader->at += 2;
  item->type_at = reader->at;
  FC_TRY(read_member(reader, ",){", &item->type_text));
  FC_TRY(read_type(reader, item, item->type_text));
  if (!accept(reader, "{")) return FC_OK;
  FC_TRY(read_attributes(reader, item));
  // The module checks the buffer views of such an item against the encoding.
  return item->encoding.size ? read_type(reader, item, item->encoding) : FC_OK;
}

// ---------------------------------------------------------------------------
// Registers

// Returns the kinds of register in which a type may be passed: first the normal one, then
// the one for a type that the compiler made narrower (i32 for index, f32 for f64). NULL:
// no register holds the type.
static const char *registers_of(const fc_mlir_type_t *type) {
  switch (type->form) {
    case FC_MLIR_TENSOR:
    case FC_MLIR_VECTOR:
    case FC_MLIR_DIALECT:
      return "r";
    case FC_MLIR_SCALAR:
      break;
    default:
      return NULL;
  }
  if (type->bits) return type->bits <= 32 ? "i" : type->bits <= 64 ? "I" : NULL;
  if (type->dtype == FC_DTYPE_INDEX) return "Ii";
  if (type->dtype == FC_DTYPE_F32) return "f";
  if (type->dtype == FC_DTYPE_F64) return "Ff";
  // Floats of 8 and 16 bits are bit patterns to the VM.
  const fc_dtype_info_t *info = fc_dtype_info(type->dtype);
  return info->class_ == FC_DTYPE_CLASS_FLOAT ? "i" : NULL;
}

// Prints an item for an error message, for example: argument 1 ('x').
static void item_print(const reader_t *reader, const item_t *item, char *out,
                       size_t capacity) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, item->name);
  snprintf(out, capacity, "%s %u ('%s')",
           reader->results ? "result" : "argument", reader->index, shown);
}

// Compares the type of an item with its register in the calling convention. If
// the compiler narrowed the type, the item gets the type that the module has.
static fc_status_t check_register(reader_t *reader, item_t *item) {
  const char *known = registers_of(&item->type);
  if (!known)
    return fault(reader, item->type_at, "no register holds this type");
  if (!reader->cconv) return FC_OK;
  fc_cconv_item_t actual;
  if (!fc_cconv_next(&reader->registers, &actual)) {
    return fault(reader, item->type_at, "the calling convention has no %s %u",
                 reader->results ? "result" : "argument", reader->index);
  }
  const char *found = strchr(known, actual.kind);
  if (!found) {
    return fault(reader, item->type_at,
                 "the calling convention has '%c' here, not '%c'", actual.kind,
                 known[0]);
  }
  // An integer of a width that IREE does not have also gets the type of its register.
  const bool odd =
      item->type.form == FC_MLIR_SCALAR && !fc_cconv_has(item->type.dtype);
  if (found == known && !odd) return FC_OK;
  fc_dtype_t dtype = fc_cconv_dtype(actual.kind);
  if (!reader->warning[0]) {
    char who[128];
    item_print(reader, item, who, sizeof who);
    snprintf(reader->warning, sizeof reader->warning,
             "%s is %.*s in the declaration and %s in the module", who,
             (int)(item->type.text.size < 40 ? item->type.text.size : 40),
             item->type.text.data, fc_dtype_info(dtype)->text);
  }
  item->type.dtype = dtype;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Nodes

// Types of IREE's dialects, as callers see them. Other types that begin with '!' are
// opaque, or lists.
typedef struct dialect_leaf_t {
  const char *text;
  fc_type_kind_t kind;
  fc_flavor_t flavor;
} dialect_leaf_t;

static const dialect_leaf_t *find_leaf(fc_str_t text) {
  static const dialect_leaf_t kLeaves[] = {
      {"!hal.buffer_view", FC_TYPE_UNKNOWN, FC_FLAVOR_NONE},
      {"!util.buffer", FC_TYPE_BYTES, FC_FLAVOR_RAW},
      {"!vm.buffer", FC_TYPE_BYTES, FC_FLAVOR_RAW},
      {"!util.list<i8>", FC_TYPE_BYTES, FC_FLAVOR_I8},
      {"!vm.list<i8>", FC_TYPE_BYTES, FC_FLAVOR_I8},
      {"!util.list<?>", FC_TYPE_UNKNOWN, FC_FLAVOR_NONE},
      {"!vm.list<?>", FC_TYPE_UNKNOWN, FC_FLAVOR_NONE},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLeaves); i++) {
    if (fc_str_equal(text, fc_str(kLeaves[i].text))) return &kLeaves[i];
  }
  return NULL;
}

// Adds the node of a type that is no list.
static fc_status_t leaf_node(reader_t *reader, const item_t *item,
                             fc_str_t text, const dialect_leaf_t *leaf,
                             uint32_t *out_node) {
  fc_builder_t *builder = reader->builder;
  fc_error_t inner;
  if (leaf) {
    *out_node = leaf->kind == FC_TYPE_BYTES
                    ? fc_builder_bytes(builder, leaf->flavor)
                    : fc_builder_node(builder, leaf->kind);
  } else if (text.data[0] == '!') {
    *out_node = fc_builder_opaque(builder, text);
  } else if (fc_mlir_type_build(builder, text, out_node, &inner) != FC_OK) {
    return fault(reader, item->type_at, "%s", inner.message);
  }
  return FC_OK;
}

// Adds the node of a type of an IREE dialect, as callers see it. For a list of
// lists, each turn of the loop adds one list, from the outermost on.
static fc_status_t dialect_node(reader_t *reader, const item_t *item,
                                uint32_t *out_node) {
  const fc_str_t prefix = FC_STR("!util.list<");
  fc_str_t text = item->type.text;
  uint32_t parent = FC_NODE_NONE, node = FC_NODE_NONE;
  for (uint32_t depth = 0; depth < FC_TYPE_DEPTH_MAX; depth++) {
    const dialect_leaf_t *leaf = find_leaf(text);
    const bool list =
        !leaf && fc_str_starts(text, prefix) && fc_str_ends(text, FC_STR(">"));
    if (list) node = fc_builder_node(reader->builder, FC_TYPE_LIST);
    else FC_TRY(leaf_node(reader, item, text, leaf, &node));
    if (depth) fc_builder_append(reader->builder, parent, node);
    else *out_node = node;
    if (!list) return FC_OK;
    parent = node;
    text =
        trim(fc_str_make(text.data + prefix.size, text.size - prefix.size - 1));
    if (!text.size) return fault(reader, item->type_at, "a list of nothing");
  }
  return fault(reader, item->type_at, "lists nest too deep");
}

static void refuse(reader_t *reader, const item_t *item, const char *why) {
  char who[128];
  char reason[300];
  item_print(reader, item, who, sizeof who);
  snprintf(reason, sizeof reason, "%s: %s", who, why);
  fc_builder_refuse(reader->builder, fc_str(reason));
}

// Refuses the function when a client cannot send such an argument or get such a result. A
// dialect's type is allowed: such a value is null, or one that a session keeps.
static void check_callable(reader_t *reader, const item_t *item,
                           uint32_t node) {
  const fc_type_t *type = fc_builder_at(reader->builder, node);
  if (!type) return;
  if (item->storage || item->transient) {
    if (fc_str_equal(item->type_text, FC_STR("!hal.buffer"))) return;
    if (fc_str_equal(item->type_text, FC_STR("!hal.buffer_view"))) return;
    refuse(reader, item, "memory the caller must bring is a !hal.buffer");
  } else if (type->kind == FC_TYPE_VECTOR) {
    refuse(reader, item, "vectors cannot be passed");
  } else if (type->kind == FC_TYPE_OPAQUE &&
             item->type.form != FC_MLIR_DIALECT) {
    char shown[80];
    char why[120];
    fc_escape(shown, sizeof shown, 64, item->type.text);
    snprintf(why, sizeof why, "%s cannot be passed", shown);
    refuse(reader, item, why);
  }
}

static fc_status_t add_item(reader_t *reader, item_t *item) {
  FC_TRY(check_register(reader, item));
  uint32_t node = FC_NODE_NONE;
  if (item->type.form == FC_MLIR_DIALECT) {
    FC_TRY(dialect_node(reader, item, &node));
  } else {
    node = fc_mlir_type_node(reader->builder, &item->type);
  }
  check_callable(reader, item, node);
  if (reader->results) {
    fc_builder_result(reader->builder, item->name, node, FC_RAW_NEXT);
    return FC_OK;
  }
  fc_role_t role = item->storage     ? FC_ROLE_STORAGE
                   : item->transient ? FC_ROLE_TRANSIENT
                                     : FC_ROLE_IN;
  fc_builder_argument(reader->builder, item->name, node, role, true,
                      FC_RAW_NEXT);
  fc_builder_role(reader->builder, reader->index, role, role != FC_ROLE_IN);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The declaration

// Reads the items up to the ')'.
static fc_status_t read_side(reader_t *reader, fc_str_t registers,
                             bool results) {
  reader->registers = registers;
  reader->results = results;
  reader->index = 0;
  if (accept(reader, ")")) return FC_OK;
  do {
    item_t item;
    FC_TRY(read_item(reader, &item));
    FC_TRY(add_item(reader, &item));
    reader->index++;
  } while (accept(reader, ", "));
  return expect(reader, ")");
}

// Checks the registers after those of the arguments: two, the fences, if the function is
// async; none if it is not.
static fc_status_t check_fences(reader_t *reader, bool async) {
  if (!reader->cconv) return FC_OK;
  if (fc_str_equal(reader->registers, async ? FC_STR("rr") : FC_STR("")) ||
      (!async && fc_str_equal(reader->registers, FC_STR("v")))) {
    return FC_OK;
  }
  return fault(reader, reader->at,
               async ? "the calling convention does not end in two fences"
                     : "the calling convention has more arguments");
}

static fc_status_t check_end(reader_t *reader) {
  if (reader->at != reader->text.size) {
    return fault(reader, reader->at, "the declaration ends before this");
  }
  fc_cconv_item_t item;
  if (reader->cconv && fc_cconv_next(&reader->registers, &item)) {
    return fault(reader, reader->at, "the calling convention has more results");
  }
  return FC_OK;
}

// Reads the name, which ends where the arguments begin: `(%` or `() -> (`.
static fc_status_t read_name(reader_t *reader, fc_str_t *out_name) {
  size_t start = reader->at;
  for (; reader->at < reader->text.size; reader->at++) {
    fc_str_t left = rest(reader);
    if (!fc_str_starts(left, FC_STR("(%")) &&
        !fc_str_starts(left, FC_STR("() -> ("))) {
      continue;
    }
    *out_name = fc_str_make(reader->text.data + start, reader->at - start);
    reader->at++;
    if (out_name->size) return FC_OK;
    break;
  }
  return fault(reader, start, "expected a name and arguments");
}

fc_status_t fc_declaration_build(fc_builder_t *builder, fc_str_t text,
                                 const fc_cconv_t *cconv, fc_error_t *err) {
  reader_t reader = {
      .builder = builder, .text = text, .cconv = cconv, .err = err};
  if (text.size > FC_DECLARATION_SIZE_MAX) {
    return fault(&reader, FC_DECLARATION_SIZE_MAX, "longer than %d bytes",
                 FC_DECLARATION_SIZE_MAX);
  }
  bool async = accept(&reader, "async");
  if (!async) FC_TRY(expect(&reader, "sync"));
  FC_TRY(expect(&reader, " func @"));
  fc_str_t name = {0};
  FC_TRY(read_name(&reader, &name));
  fc_builder_name(builder, name);
  fc_builder_source(builder, FC_SOURCE_DECLARATION);
  fc_builder_async(builder, async);
  if (cconv) fc_builder_cconv(builder, cconv->text);
  FC_TRY(read_side(&reader, cconv ? cconv->arguments : FC_STR(""), false));
  FC_TRY(check_fences(&reader, async));
  FC_TRY(expect(&reader, " -> ("));
  FC_TRY(read_side(&reader, cconv ? cconv->results : FC_STR(""), true));
  FC_TRY(check_end(&reader));
  if (reader.warning[0]) fc_builder_warning(builder, fc_str(reader.warning));
  return FC_OK;
}
