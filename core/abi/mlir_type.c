// SPDX-License-Identifier: Apache-2.0
//
// The reader of MLIR types. One pass, no recursion: tuples are taken apart with
// a stack, and other nested text is kept as it is.
#include "abi/mlir_type.h"

#include <stdio.h>

#include "abi/mlir_rows.h"

enum {
  INTEGER_BITS_MAX = (1 << 24) - 1,  // MLIR's own limit
};

typedef struct reader_t {
  fc_str_t text;
  size_t at;
  fc_error_t *err;
} reader_t;

static fc_status_t fault(reader_t *reader, size_t at, const char *what) {
  char shown[100];
  fc_escape(shown, sizeof shown, 64, reader->text);
  (void)fc_fail(reader->err, FC_CODE_ABI_METADATA, "type '%s', byte %zu: %s",
                shown, at, what);
  if (reader->err) reader->err->byte_offset = at;
  return FC_INVALID_ARGUMENT;
}

// ---------------------------------------------------------------------------
// Characters and words

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns the next character; '\0' at the end, since no type contains that character.
static char peek(const reader_t *reader) {
  return reader->at < reader->text.size ? reader->text.data[reader->at] : '\0';
}

static void skip_space(reader_t *reader) {
  for (char c = peek(reader); c == ' ' || c == '\t' || c == '\n' || c == '\r';
       c = peek(reader)) {
    reader->at++;
  }
}

static bool accept(reader_t *reader, char c) {
  skip_space(reader);
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

static fc_status_t expect(reader_t *reader, char c) {
  if (accept(reader, c)) return FC_OK;
  char what[24];
  snprintf(what, sizeof what, "expected '%c'", c);
  return fault(reader, reader->at, what);
}

static fc_str_t since(const reader_t *reader, size_t start) {
  return fc_str_make(reader->text.data + start, reader->at - start);
}

// Reads letters, digits, '_'; empty when the next character is none of these.
static fc_str_t read_word(reader_t *reader) {
  skip_space(reader);
  size_t start = reader->at;
  while (is_letter(peek(reader)) || is_digit(peek(reader))) reader->at++;
  return since(reader, start);
}

static bool accept_word(reader_t *reader, const char *word) {
  skip_space(reader);
  size_t start = reader->at;
  if (fc_str_equal(read_word(reader), fc_str(word))) return true;
  reader->at = start;
  return false;
}

// Reads decimal digits; with `negative` a '-' may stand before them. INT64_MIN is out
// of range, since it stands for a dynamic stride.
static fc_status_t read_integer(reader_t *reader, bool negative, int64_t *out) {
  skip_space(reader);
  size_t start = reader->at;
  bool minus = negative && accept(reader, '-');
  if (!is_digit(peek(reader))) {
    return fault(reader, reader->at, "expected an integer or '?'");
  }
  int64_t value = 0;
  for (; is_digit(peek(reader)); reader->at++) {
    if (!fc_i64_mul(value, 10, &value) ||
        !fc_i64_add(value, peek(reader) - '0', &value)) {
      return fault(reader, start, "the integer does not fit 64 bits");
    }
  }
  *out = minus ? -value : value;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Skipping

// Skips one member of a list, up to the ',' or '>' after it. *out_text becomes
// the member's text, trimmed.
static fc_status_t skip_member(reader_t *reader, fc_str_t *out_text) {
  skip_space(reader);
  size_t start = reader->at;
  const char *why = fc_mlir_skip(reader->text, &reader->at, ",>");
  if (why) return fault(reader, reader->at, why);
  fc_str_t text = since(reader, start);
  while (text.size && text.data[text.size - 1] == ' ') text.size--;
  if (!text.size) return fault(reader, start, "expected something here");
  *out_text = text;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Refusals

// Notes why the type cannot be passed; a later reason does not replace the
// first one. `about` names the part that is refused.
static void refuse(fc_mlir_type_t *type, fc_str_t about, const char *why) {
  if (type->refusal[0]) return;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, about);
  snprintf(type->refusal, sizeof type->refusal, "%s: %s", shown, why);
}

// ---------------------------------------------------------------------------
// Scalars

// Floats that MLIR has, but farcall has not.
static const char *const other_floats[] = {"f80", "f128", "tf32"};

// Returns the width of `iN`, `siN` or `uiN`; 0 when the word has another form, or when
// MLIR has no such width.
static uint32_t integer_bits(fc_str_t word) {
  size_t at = word.size && (word.data[0] == 's' || word.data[0] == 'u');
  if (at >= word.size || word.data[at] != 'i') return 0;
  uint32_t bits = 0;
  for (at++; at < word.size; at++) {
    if (!is_digit(word.data[at]) || (!bits && word.data[at] == '0')) return 0;
    bits = bits * 10 + (uint32_t)(word.data[at] - '0');
    if (bits > INTEGER_BITS_MAX) return 0;
  }
  return bits;
}

// Finds a scalar by its word. False when there is no such type in MLIR.
static bool scalar_from(fc_str_t word, fc_mlir_type_t *type) {
  type->dtype = fc_dtype_find(word);
  type->bits = integer_bits(word);
  if (type->dtype != FC_DTYPE_NONE) return true;
  if (type->bits) {
    refuse(type, word, "integers of this width are not supported");
    return true;
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(other_floats); i++) {
    if (!fc_str_equal(word, fc_str(other_floats[i]))) continue;
    refuse(type, word, "this float type is not supported");
    return true;
  }
  return false;
}

// Reads the angle brackets of complex<…> and the text between them.
static fc_status_t read_complex(reader_t *reader, size_t start,
                                fc_mlir_type_t *type) {
  FC_TRY(expect(reader, '<'));
  skip_space(reader);
  size_t at = reader->at;
  fc_mlir_type_t part = {.rank = 0};
  if (!scalar_from(read_word(reader), &part)) {
    return fault(reader, at, "expected the type of the two parts");
  }
  FC_TRY(expect(reader, '>'));
  if (part.dtype == FC_DTYPE_F32) {
    type->dtype = FC_DTYPE_C64;
  } else if (part.dtype == FC_DTYPE_F64) {
    type->dtype = FC_DTYPE_C128;
  } else {
    refuse(type, since(reader, start),
           "complex numbers are supported over f32 and f64");
  }
  return FC_OK;
}

static void add_dim(fc_mlir_type_t *type, int64_t dim) {
  if (type->rank < FC_RANK_MAX) {
    type->dims[type->rank++] = dim;
    return;
  }
  type->odd = true;
  refuse(type, type->text, "more dims than supported (32)");
}

// Appends the dims of a vector that is the element of a memref.
static void add_inner(fc_mlir_type_t *type, const fc_mlir_type_t *vector) {
  char why[FC_MLIR_ROWS_TEXT];
  type->dtype = vector->dtype;
  if (type->rank == FC_RANK_DYNAMIC) {
    refuse(type, vector->text, "elements of this type are not supported");
  } else if (vector->refusal[0] && !type->refusal[0]) {
    memcpy(type->refusal, vector->refusal, sizeof type->refusal);
  } else if (!fc_mlir_rows_are_elements(vector->dtype, vector->rank,
                                        vector->dims, why)) {
    refuse(type, vector->text, why);
  }
  for (int32_t i = 0; i < vector->rank && !type->refusal[0]; i++) {
    add_dim(type, vector->dims[i]);
    type->inner++;
  }
}

// Reads an element type: a scalar or a complex; any other type is skipped and refused.
static fc_status_t read_plain(reader_t *reader, fc_mlir_type_t *type) {
  skip_space(reader);
  size_t start = reader->at;
  fc_str_t word = read_word(reader);
  if (fc_str_equal(word, FC_STR("complex"))) {
    return read_complex(reader, start, type);
  }
  static const char *const nested[] = {"memref", "tensor", "vector", "tuple"};
  bool known = peek(reader) == '!' && !word.size;
  for (size_t i = 0; i < FC_ARRAY_COUNT(nested); i++) {
    known |= fc_str_equal(word, fc_str(nested[i]));
  }
  if (known) {
    fc_str_t text = {0};
    reader->at = start;
    FC_TRY(skip_member(reader, &text));
    refuse(type, text, "elements of this type are not supported");
    return FC_OK;
  }
  if (scalar_from(word, type)) return FC_OK;
  return fault(reader, start, "expected an element type");
}

// ---------------------------------------------------------------------------
// Shapes and layouts

// Reads (dim `x`)*, up to the element type. Dims of a vector may be scalable:
// [4].
static fc_status_t read_dims(reader_t *reader, fc_mlir_type_t *type) {
  if (type->form != FC_MLIR_VECTOR && accept(reader, '*')) {
    type->rank = FC_RANK_DYNAMIC;
    return expect(reader, 'x');
  }
  for (;;) {
    skip_space(reader);
    int64_t dim = FC_DIM_DYNAMIC;
    if (is_digit(peek(reader))) {
      FC_TRY(read_integer(reader, false, &dim));
    } else if (type->form == FC_MLIR_VECTOR && accept(reader, '[')) {
      FC_TRY(read_integer(reader, false, &dim));
      FC_TRY(expect(reader, ']'));
      type->odd = true;
      refuse(type, type->text, "scalable vectors are not supported");
    } else if (type->form == FC_MLIR_VECTOR || !accept(reader, '?')) {
      return FC_OK;
    }
    add_dim(type, dim);
    FC_TRY(expect(reader, 'x'));
  }
}

// Reads a vector that is the element of a memref. The word "vector" was already read.
static fc_status_t read_vector(reader_t *reader, size_t start,
                               fc_mlir_type_t *type) {
  fc_mlir_type_t vector = {.form = FC_MLIR_VECTOR,
                           .text = since(reader, start)};
  FC_TRY(expect(reader, '<'));
  FC_TRY(read_dims(reader, &vector));
  FC_TRY(read_plain(reader, &vector));
  FC_TRY(expect(reader, '>'));
  vector.text = since(reader, start);
  add_inner(type, &vector);
  return FC_OK;
}

// Reads an element type, which may be a vector where the type is a memref.
static fc_status_t read_element(reader_t *reader, fc_mlir_type_t *type) {
  skip_space(reader);
  const size_t start = reader->at;
  if (type->form == FC_MLIR_MEMREF && accept_word(reader, "vector")) {
    return read_vector(reader, start, type);
  }
  return read_plain(reader, type);
}

static fc_status_t read_stride(reader_t *reader, int64_t *out) {
  if (accept(reader, '?')) {
    *out = FC_STRIDE_DYNAMIC;
    return FC_OK;
  }
  return read_integer(reader, true, out);
}

// Reads [s, …].
static fc_status_t read_strides(reader_t *reader, size_t start,
                                fc_mlir_type_t *type) {
  int32_t count = 0;
  FC_TRY(expect(reader, '['));
  while (!accept(reader, ']')) {
    int64_t stride;
    if (count) FC_TRY(expect(reader, ','));
    FC_TRY(read_stride(reader, &stride));
    if (count < FC_RANK_MAX) type->strides[count] = stride;
    count++;
  }
  if (count != type->rank && !type->refusal[0]) {
    return fault(reader, start, "not as many strides as dims");
  }
  type->strided = true;
  return FC_OK;
}

// Reads `: o`.
static fc_status_t read_offset(reader_t *reader, fc_mlir_type_t *type) {
  FC_TRY(expect(reader, ':'));
  return read_stride(reader, &type->offset);
}

// Reads strided<[s, …], offset: o>. The word "strided" was already read.
static fc_status_t read_strided(reader_t *reader, fc_mlir_type_t *type) {
  size_t start = reader->at;
  FC_TRY(expect(reader, '<'));
  FC_TRY(read_strides(reader, start, type));
  if (accept(reader, ',')) {
    if (!accept_word(reader, "offset")) {
      return fault(reader, reader->at, "expected 'offset'");
    }
    FC_TRY(read_offset(reader, type));
  }
  return expect(reader, '>');
}

// Adds the strides of a dense memref. Strides that depend on a dynamic dim are dynamic.
static void add_dense_strides(fc_mlir_type_t *type) {
  int64_t stride = 1;
  for (int32_t i = type->rank; i-- > 0;) {
    type->strides[i] = stride;
    if (stride == FC_STRIDE_DYNAMIC) continue;
    if (type->dims[i] < 0 || !fc_i64_mul(stride, type->dims[i], &stride)) {
      stride = FC_STRIDE_DYNAMIC;
    }
  }
  type->strided = true;
}

// Reads the layout in the form that the specification of the calling convention uses:
// `offset: o`, then maybe `, strides: [s, …]`. The first word was already read.
static fc_status_t read_bare_layout(reader_t *reader, fc_mlir_type_t *type) {
  FC_TRY(read_offset(reader, type));
  const size_t before = reader->at;
  if (accept(reader, ',') && accept_word(reader, "strides")) {
    size_t start = reader->at;
    FC_TRY(expect(reader, ':'));
    return read_strides(reader, start, type);
  }
  reader->at = before;
  add_dense_strides(type);
  return FC_OK;
}

// The words of an affine map, in `(d0, d1)` or `[s0]`.
typedef struct words_t {
  fc_str_t words[FC_RANK_MAX];
  int32_t count;
} words_t;

static int32_t words_find(const words_t *words, fc_str_t word) {
  for (int32_t i = 0; i < words->count; i++) {
    if (fc_str_equal(words->words[i], word)) return i;
  }
  return -1;
}

// Reads the words between the brackets. False when the text has another form,
// or too many words.
static bool read_words(reader_t *reader, const char brackets[2],
                       words_t *words) {
  words->count = 0;
  if (!accept(reader, brackets[0])) return false;
  while (!accept(reader, brackets[1])) {
    if (words->count && !accept(reader, ',')) return false;
    fc_str_t word = read_word(reader);
    if (!word.size || words->count == FC_RANK_MAX) return false;
    words->words[words->count++] = word;
  }
  return true;
}

// Adds `value` to a stride or an offset. A dynamic part makes the sum dynamic. False if
// the sum overflows.
static bool add_part(int64_t *part, int64_t value) {
  if (*part == FC_STRIDE_DYNAMIC || value == FC_STRIDE_DYNAMIC) {
    *part = FC_STRIDE_DYNAMIC;
    return true;
  }
  return fc_i64_add(*part, value, part);
}

// Reads a product and adds it to the stride of its dim, or to the offset if it has no
// dim. Its factors are integers, symbols (only the caller knows their values) and at
// most one dim.
static bool read_product(reader_t *reader, const words_t *dims,
                         const words_t *symbols, fc_mlir_type_t *type) {
  int64_t value = 1, number;
  int32_t dim = -1;
  bool dynamic = false;
  do {
    if (accept(reader, '-') && !fc_i64_mul(value, -1, &value)) return false;
    skip_space(reader);
    if (is_digit(peek(reader))) {
      if (read_integer(reader, false, &number) != FC_OK ||
          !fc_i64_mul(value, number, &value)) {
        return false;
      }
      continue;
    }
    const fc_str_t word = read_word(reader);
    const int32_t found = words_find(dims, word);
    if (found < 0 && words_find(symbols, word) < 0) return false;
    if (found >= 0 && dim >= 0) return false;
    if (found >= 0) dim = found;
    else dynamic = true;
  } while (accept(reader, '*'));
  return add_part(dim < 0 ? &type->offset : &type->strides[dim],
                  dynamic ? FC_STRIDE_DYNAMIC : value);
}

// Reads a map that is a sum of products: affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>.
// False for any other map, because strides cannot express it.
static bool read_linear_map(fc_str_t text, fc_mlir_type_t *type) {
  reader_t reader = {.text = text};
  words_t dims, symbols = {.count = 0};
  if (!accept_word(&reader, "affine_map") || !accept(&reader, '<') ||
      !read_words(&reader, "()", &dims) || dims.count != type->rank) {
    return false;
  }
  if (peek(&reader) == '[' && !read_words(&reader, "[]", &symbols)) {
    return false;
  }
  if (!accept(&reader, '-') || !accept(&reader, '>') || !accept(&reader, '(')) {
    return false;
  }
  do {
    if (!read_product(&reader, &dims, &symbols, type)) return false;
    skip_space(&reader);
  } while (accept(&reader, '+') || peek(&reader) == '-');
  type->strided = true;
  return accept(&reader, ')') && accept(&reader, '>') && reader.at == text.size;
}

// True for an identity map of `rank` dims, such as affine_map<(d0, d1) -> (d0, d1)>.
static bool is_identity_map(fc_str_t text, int32_t rank) {
  reader_t reader = {.text = text};
  words_t from, to;
  if (!accept_word(&reader, "affine_map") || !accept(&reader, '<') ||
      !read_words(&reader, "()", &from) || !accept(&reader, '-') ||
      !accept(&reader, '>') || !read_words(&reader, "()", &to) ||
      !accept(&reader, '>') || reader.at != text.size) {
    return false;
  }
  if (from.count != rank || to.count != rank) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (!fc_str_equal(from.words[i], to.words[i])) return false;
  }
  return true;
}

// Reads a text that is an affine map or the name of one.
static void read_map(fc_str_t text, fc_mlir_type_t *type) {
  if (is_identity_map(text, type->rank)) return;
  const bool known = fc_str_starts(text, FC_STR("affine_map"));
  if (known && read_linear_map(text, type)) return;
  refuse(type, text,
         known ? "only strided layouts are supported, no other affine maps"
               : "this layout or memory space is not supported");
}

// True for the text `0`, also with an integer type after it: `0 : i64`.
static bool is_default_space(fc_str_t text) {
  reader_t reader = {.text = text};
  if (!accept(&reader, '0')) return false;
  if (accept(&reader, ':') && !integer_bits(read_word(&reader))) return false;
  return reader.at == text.size;
}

// Reads (`,` layout)? (`,` memory space)?; an unranked memref has no layout.
static fc_status_t read_memref_tail(reader_t *reader, fc_mlir_type_t *type) {
  bool layout = type->rank != FC_RANK_DYNAMIC;  // a layout may still follow
  while (accept(reader, ',')) {
    fc_str_t text = {0};
    if (layout && accept_word(reader, "strided")) {
      FC_TRY(read_strided(reader, type));
      layout = false;
      continue;
    }
    if (layout && accept_word(reader, "offset")) {
      FC_TRY(read_bare_layout(reader, type));
      layout = false;
      continue;
    }
    FC_TRY(skip_member(reader, &text));
    bool map = fc_str_starts(text, FC_STR("affine_map"));
    if (layout && (map || text.data[0] == '#')) {
      read_map(text, type);
      layout = false;
      continue;
    }
    if (!is_default_space(text)) {
      refuse(type, text, "memory spaces other than 0 are not supported");
    }
    break;
  }
  return FC_OK;
}

static fc_status_t read_shaped(reader_t *reader, fc_mlir_type_t *type) {
  FC_TRY(expect(reader, '<'));
  FC_TRY(read_dims(reader, type));
  FC_TRY(read_element(reader, type));
  if (type->form == FC_MLIR_MEMREF) {
    type->rank -= type->inner;  // dims of vectors are not part of the layout
    FC_TRY(read_memref_tail(reader, type));
    type->rank += type->inner;
    if (type->inner && type->strided) {
      refuse(type, type->text, "vectors as elements need the natural layout");
    }
  }
  if (type->form == FC_MLIR_TENSOR && accept(reader, ',')) {
    fc_str_t encoding = {0};
    FC_TRY(skip_member(reader, &encoding));
    type->encoded = true;
  }
  return expect(reader, '>');
}

// ---------------------------------------------------------------------------
// Types

// Reads `!dialect.type`, then maybe `<…>`.
static fc_status_t read_dialect(reader_t *reader, fc_mlir_type_t *type) {
  type->form = FC_MLIR_DIALECT;
  size_t start = reader->at++;
  while (is_letter(peek(reader)) || is_digit(peek(reader)) ||
         peek(reader) == '.' || peek(reader) == '$') {
    reader->at++;
  }
  if (reader->at == start + 1) {
    return fault(reader, reader->at, "expected a name after '!'");
  }
  if (peek(reader) != '<') return FC_OK;
  size_t open = reader->at++;
  const char *why = fc_mlir_skip(reader->text, &reader->at, ">");
  while (!why && peek(reader) == ',') {
    reader->at++;
    why = fc_mlir_skip(reader->text, &reader->at, ">");
  }
  if (why) return fault(reader, reader->at, why);
  if (!accept(reader, '>')) {
    return fault(reader, open, "this bracket is not closed");
  }
  return FC_OK;
}

// Finds the form of the types that begin with a word of MLIR's own (tensor, memref,
// …). False when no type begins with the word.
static bool form_from(fc_str_t word, fc_mlir_form_t *out_form) {
  static const struct {
    const char *word;
    fc_mlir_form_t form;
  } forms[] = {{"memref", FC_MLIR_MEMREF},
               {"tensor", FC_MLIR_TENSOR},
               {"vector", FC_MLIR_VECTOR},
               {"tuple", FC_MLIR_TUPLE},
               {"none", FC_MLIR_NONE}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(forms); i++) {
    if (!fc_str_equal(word, fc_str(forms[i].word))) continue;
    *out_form = forms[i].form;
    return true;
  }
  return false;
}

static fc_status_t read_tuple_whole(reader_t *reader) {
  FC_TRY(expect(reader, '<'));
  size_t open = reader->at - 1;
  const char *why = fc_mlir_skip(reader->text, &reader->at, ">");
  if (why) return fault(reader, reader->at, why);
  return accept(reader, '>')
             ? FC_OK
             : fault(reader, open, "this bracket is not closed");
}

static fc_status_t read_form(reader_t *reader, fc_mlir_type_t *type) {
  size_t start = reader->at;
  if (peek(reader) == '!') return read_dialect(reader, type);
  if (peek(reader) == '(') {  // (i32) -> i32
    fc_str_t text;
    type->form = FC_MLIR_DIALECT;
    FC_TRY(skip_member(reader, &text));
    refuse(type, text, "a function cannot be passed");
    return FC_OK;
  }
  fc_str_t word = read_word(reader);
  if (form_from(word, &type->form)) {
    if (type->form == FC_MLIR_NONE) return FC_OK;
    if (type->form == FC_MLIR_TUPLE) return read_tuple_whole(reader);
    return read_shaped(reader, type);
  }
  type->form = FC_MLIR_SCALAR;
  if (fc_str_equal(word, FC_STR("complex"))) {
    return read_complex(reader, start, type);
  }
  if (scalar_from(word, type)) return FC_OK;
  return fault(reader, start, "expected a type");
}

// Reads the type that starts here; leaves the reader after it.
static fc_status_t read_type(reader_t *reader, fc_mlir_type_t *out) {
  static const char *const form_refusals[] = {
      [FC_MLIR_TENSOR] =
          "a tensor has no C calling convention, bufferize first",
      [FC_MLIR_VECTOR] =
          "only vectors of rows of 16 bytes, up to three, have registers on every "
          "processor, take a memref",
      [FC_MLIR_TUPLE] = "a tuple has no C calling convention",
      [FC_MLIR_NONE] = "none has no C calling convention",
      [FC_MLIR_DIALECT] = "types of this dialect are not supported",
  };
  skip_space(reader);
  size_t start = reader->at;
  memset(out, 0, sizeof *out);
  // A refusal while the type is being read names the rest of the text, since
  // the end of the type is not known yet.
  out->text = fc_str_make(reader->text.data + start, reader->text.size - start);
  FC_TRY(read_form(reader, out));
  out->text = since(reader, start);
  if (out->form == FC_MLIR_VECTOR &&
      fc_mlir_rows_are_in_registers(out->dtype, out->rank, out->dims)) {
    return FC_OK;
  }
  if (out->form != FC_MLIR_SCALAR && out->form != FC_MLIR_MEMREF) {
    refuse(out, out->text, form_refusals[out->form]);
  }
  return FC_OK;
}

static fc_status_t read_end(reader_t *reader) {
  skip_space(reader);
  if (reader->at == reader->text.size) return FC_OK;
  return fault(reader, reader->at, "the type ends before this");
}

fc_status_t fc_mlir_type_parse(fc_str_t text, fc_mlir_type_t *out_type,
                               fc_error_t *err) {
  reader_t reader = {.text = text, .err = err};
  fc_mlir_type_t type;
  FC_TRY(read_type(&reader, &type));
  FC_TRY(read_end(&reader));
  *out_type = type;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Nodes

static uint32_t shaped_node(fc_builder_t *builder, const fc_mlir_type_t *type) {
  if (type->form == FC_MLIR_VECTOR) {
    return fc_builder_vector(builder, type->dtype, type->rank, type->dims);
  }
  uint32_t node =
      type->strided
          ? fc_builder_strided(builder, type->dtype, type->rank, type->dims,
                               type->strides, type->offset)
          : fc_builder_tensor(builder, type->dtype, type->rank, type->dims);
  if (type->form == FC_MLIR_MEMREF || type->encoded) {
    fc_text_ref_t text = fc_builder_text(builder, type->text);
    fc_type_t *at = fc_builder_at(builder, node);
    if (at) at->text = text;
    if (at) at->flavor = (uint8_t)type->inner;
  }
  return node;
}

uint32_t fc_mlir_type_node(fc_builder_t *builder, const fc_mlir_type_t *type) {
  bool typed = type->dtype != FC_DTYPE_NONE && !type->odd;
  switch (type->form) {
    case FC_MLIR_NONE:
      return fc_builder_node(builder, FC_TYPE_NULL);
    case FC_MLIR_SCALAR:
      if (typed) return fc_builder_scalar(builder, type->dtype);
      break;
    case FC_MLIR_TENSOR:
    case FC_MLIR_VECTOR:
      if (typed) return shaped_node(builder, type);
      break;
    case FC_MLIR_MEMREF:
      if (!type->refusal[0]) return shaped_node(builder, type);
      break;
    default:
      break;
  }
  return fc_builder_opaque(builder, type->text);
}

// The tuples that are open while their members are read.
typedef struct open_t {
  uint32_t nodes[FC_TYPE_DEPTH_MAX];
  uint32_t depth;
  uint32_t root;
} open_t;

static void attach(fc_builder_t *builder, open_t *open, uint32_t node) {
  if (open->depth) {
    fc_builder_append(builder, open->nodes[open->depth - 1], node);
  } else {
    open->root = node;
  }
}

// Reads one member, which may be an empty tuple, or opens a tuple that has members.
static fc_status_t build_member(reader_t *reader, fc_builder_t *builder,
                                open_t *open, bool *out_opened) {
  *out_opened = false;
  size_t start = reader->at;
  if (accept_word(reader, "tuple") && accept(reader, '<')) {
    uint32_t node = fc_builder_node(builder, FC_TYPE_TUPLE);
    attach(builder, open, node);
    if (accept(reader, '>')) return FC_OK;
    if (open->depth == FC_TYPE_DEPTH_MAX) {
      return fault(reader, start, "tuples nest too deep");
    }
    open->nodes[open->depth++] = node;
    *out_opened = true;
    return FC_OK;
  }
  reader->at = start;
  fc_mlir_type_t type;
  FC_TRY(read_type(reader, &type));
  attach(builder, open, fc_mlir_type_node(builder, &type));
  return FC_OK;
}

fc_status_t fc_mlir_type_build(fc_builder_t *builder, fc_str_t text,
                               uint32_t *out_node, fc_error_t *err) {
  reader_t reader = {.text = text, .err = err};
  open_t open = {.root = FC_NODE_NONE};
  do {
    bool opened;
    FC_TRY(build_member(&reader, builder, &open, &opened));
    if (opened) continue;
    while (open.depth && accept(&reader, '>')) open.depth--;
    if (open.depth) FC_TRY(expect(&reader, ','));
  } while (open.depth);
  FC_TRY(read_end(&reader));
  *out_node = open.root;
  return FC_OK;
}
