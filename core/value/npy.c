// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes .npy files. The header is a Python dictionary literal with
// three known keys; no other Python is read here. Format: numpy/lib/format.py.
#include "value/npy.h"

#include <stdio.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE (sizeof MAGIC - 1)

typedef struct fc_header_t {
  fc_str_t text;
  size_t at;
  fc_str_t descr;
  bool fortran;
  bool seen[3];  // descr, fortran_order, shape
  fc_npy_t *array;
} fc_header_t;

static fc_status_t malformed(fc_error_t *err, const char *what) {
  return fc_fail(err, FC_CODE_BINARY_FRAMING, "not a .npy file: %s", what);
}

static void skip_space(fc_header_t *header) {
  while (header->at < header->text.size) {
    char next = header->text.data[header->at];
    if (next != ' ' && next != '\n' && next != '\t') break;
    header->at++;
  }
}

// Moves past `c` if it is the next character; false if it is not.
static bool take(fc_header_t *header, char c) {
  skip_space(header);
  if (header->at == header->text.size) return false;
  if (header->text.data[header->at] != c) return false;
  header->at++;
  return true;
}

static bool take_string(fc_header_t *header, fc_str_t *out_text) {
  char quote = '\'';
  if (!take(header, quote)) {
    quote = '"';
    if (!take(header, quote)) return false;
  }
  const char *from = header->text.data + header->at;
  const char *to = memchr(from, quote, header->text.size - header->at);
  if (!to) return false;
  *out_text = (fc_str_t){from, (size_t)(to - from)};
  header->at += out_text->size + 1;
  return true;
}

static bool take_word(fc_header_t *header, fc_str_t word) {
  fc_str_t rest = {header->text.data + header->at,
                   header->text.size - header->at};
  if (!fc_str_starts(rest, word)) return false;
  header->at += word.size;
  return true;
}

static bool take_bool(fc_header_t *header, bool *out_value) {
  skip_space(header);
  *out_value = take_word(header, FC_STR("True"));
  return *out_value || take_word(header, FC_STR("False"));
}

static bool take_dim(fc_header_t *header, int64_t *out_dim) {
  skip_space(header);
  int64_t dim = 0;
  size_t digits = 0;
  for (; header->at < header->text.size; header->at++, digits++) {
    char c = header->text.data[header->at];
    if (c < '0' || c > '9') break;
    if (!fc_i64_mul(dim, 10, &dim) || !fc_i64_add(dim, c - '0', &dim)) {
      return false;
    }
  }
  (void)take_word(header, FC_STR("L"));  // as Python 2 writes long integers
  *out_dim = dim;
  return digits > 0;
}

static bool take_shape(fc_header_t *header) {
  fc_npy_t *array = header->array;
  if (!take(header, '(')) return false;
  while (!take(header, ')')) {
    if (array->rank == FC_RANK_MAX) return false;
    if (!take_dim(header, &array->shape[array->rank])) return false;
    array->rank++;
    if (take(header, ',')) continue;
    return take(header, ')');
  }
  return true;
}

static bool take_header(fc_header_t *header) {
  if (!take(header, '{')) return false;
  while (!take(header, '}')) {
    fc_str_t key;
    if (!take_string(header, &key) || !take(header, ':')) return false;
    bool fine = false;
    int which = -1;
    if (fc_str_equal(key, FC_STR("descr"))) {
      which = 0;
      fine = take_string(header, &header->descr);
    } else if (fc_str_equal(key, FC_STR("fortran_order"))) {
      which = 1;
      fine = take_bool(header, &header->fortran);
    } else if (fc_str_equal(key, FC_STR("shape"))) {
      which = 2;
      fine = take_shape(header);
    }
    if (!fine || header->seen[which]) return false;
    header->seen[which] = true;
    if (!take(header, ',')) {
      if (!take(header, '}')) return false;
      break;
    }
  }
  skip_space(header);
  return header->at == header->text.size && header->seen[0] &&
         header->seen[1] && header->seen[2];
}

// Finds the element type. The first character of `descr` is the byte order: '<'
// little, '>' big (*out_swap: each number's bytes must be reversed), '=' the
// host's, which is little, '|' none.
static fc_dtype_t find_dtype(fc_str_t descr, bool *out_swap) {
  char text[8];
  *out_swap = false;
  if (descr.size < 2 || descr.size >= sizeof text) return FC_DTYPE_NONE;
  memcpy(text, descr.data, descr.size);
  *out_swap = text[0] == '>';
  fc_str_t key = {text, descr.size};
  static const char kOrders[] = "<|";
  if (!strchr("<>=|", text[0])) return FC_DTYPE_NONE;
  for (size_t i = 0; i < 2; i++) {
    text[0] = kOrders[i];
    fc_dtype_t dtype = fc_dtype_from_npy(key);
    if (dtype != FC_DTYPE_NONE) return dtype;
  }
  return FC_DTYPE_NONE;
}

static inline __attribute__((always_inline)) void copy_element(char *to,
                                                               const char *from,
                                                               size_t size,
                                                               size_t swap) {
  if (!swap) {
    memcpy(to, from, size);
    return;
  }
  for (size_t begin = 0; begin < size; begin += swap) {
    for (size_t i = 0; i < swap; i++)
      to[begin + i] = from[begin + swap - 1 - i];
  }
}

// A part of an array with two axes. Along a column, elements are `row_step` apart in
// the copy and next to each other in the file. Along a row, they are next to each other
// in the copy and `column_step` apart in the file.
typedef struct plane_t {
  char *to;
  const char *from;
  size_t rows;
  size_t columns;
  size_t row_step;     // of `to`, in elements
  size_t column_step;  // of `from`
} plane_t;

#define TILE 32  // rows and columns copied together: both sides stay cached

static inline __attribute__((always_inline)) void copy_tile(
    const plane_t *plane, size_t row, size_t column, size_t size, size_t swap) {
  const size_t row_end = row + TILE < plane->rows ? row + TILE : plane->rows;
  const size_t column_end =
      column + TILE < plane->columns ? column + TILE : plane->columns;
  for (size_t r = row; r < row_end; r++) {
    char *to = plane->to + (r * plane->row_step + column) * size;
    const char *from = plane->from + (column * plane->column_step + r) * size;
    for (size_t c = column; c < column_end; c++) {
      copy_element(to, from, size, swap);
      to += size;
      from += plane->column_step * size;
    }
  }
}

// Copies one tile. For the usual sizes of elements the compiler knows the size.
static void copy_sized(const plane_t *plane, size_t row, size_t column,
                       size_t size, size_t swap) {
  switch (size) {
#define SIZE(n)                                                \
  case n:                                                      \
    if (!swap) copy_tile(plane, row, column, n, 0);            \
    else if (swap == (n)) copy_tile(plane, row, column, n, n); \
    else copy_tile(plane, row, column, n, swap);               \
    return;
    SIZE(1)
    SIZE(2)
    SIZE(4)
    SIZE(8)
    SIZE(16)
#undef SIZE
    default:
      copy_tile(plane, row, column, size, swap);
  }
}

static fc_status_t copy_plane(const plane_t *plane, size_t size, size_t swap,
                              size_t *copied, const fc_stop_t *stop,
                              fc_error_t *err) {
  for (size_t row = 0; row < plane->rows; row += TILE) {
    for (size_t column = 0; column < plane->columns; column += TILE) {
      copy_sized(plane, row, column, size, swap);
      *copied += plane->columns < TILE ? TILE * plane->columns : TILE * TILE;
      if (*copied < 16384) continue;
      *copied = 0;
      FC_TRY(fc_stop_look(stop, err));
    }
  }
  return FC_OK;
}

// Copies the elements to row-major order from an order in which the first index moves
// fastest. It does this plane by plane, over the first and last axis. `swap` is the
// size of the numbers whose bytes are reversed, 0 for none. The array has at least two
// dims, none of them 0.
static fc_status_t transpose(const fc_npy_t *array, size_t size, size_t swap,
                             const char *from, char *to, const fc_stop_t *stop,
                             fc_error_t *err) {
  const int32_t last = array->rank - 1;
  size_t ours[FC_RANK_MAX], theirs[FC_RANK_MAX], index[FC_RANK_MAX] = {0};
  ours[last] = theirs[0] = 1;
  for (int32_t i = last; i > 0; i--) {
    ours[i - 1] = ours[i] * (size_t)array->shape[i];
  }
  for (int32_t i = 0; i < last; i++) {
    theirs[i + 1] = theirs[i] * (size_t)array->shape[i];
  }
  plane_t plane = {.rows = (size_t)array->shape[0],
                   .columns = (size_t)array->shape[last],
                   .row_step = ours[0],
                   .column_step = theirs[last]};
  size_t copied = 0, source = 0, target = 0;
  for (;;) {
    plane.from = from + source * size;
    plane.to = to + target * size;
    FC_TRY(copy_plane(&plane, size, swap, &copied, stop, err));
    int32_t axis = last - 1;
    for (; axis > 0; axis--) {
      source += theirs[axis];
      target += ours[axis];
      if (++index[axis] < (size_t)array->shape[axis]) break;
      source -= theirs[axis] * index[axis];
      target -= ours[axis] * index[axis];
      index[axis] = 0;
    }
    if (axis <= 0) return FC_OK;
  }
}

// Copies the elements in the order, and with the byte order, that functions expect.
static fc_status_t rearrange(const fc_npy_t *array, size_t count, size_t size,
                             bool fortran, size_t swap, const char *from,
                             char *to, const fc_stop_t *stop, fc_error_t *err) {
  if (!count) return FC_OK;
  if (fortran) return transpose(array, size, swap, from, to, stop, err);
  const plane_t all = {
      .to = to, .from = from, .rows = 1, .columns = count, .column_step = 1};
  size_t copied = 0;
  return copy_plane(&all, size, swap, &copied, stop, err);
}

static bool count_elements(const fc_npy_t *array, size_t size,
                           size_t *out_count, size_t *out_bytes) {
  size_t count = 1;
  *out_count = *out_bytes = 0;
  for (int32_t i = 0; i < array->rank; i++) {
    if (array->shape[i] == 0) return true;
  }
  for (int32_t i = 0; i < array->rank; i++) {
    if (!fc_size_mul(count, (size_t)array->shape[i], &count)) return false;
  }
  *out_count = count;
  return fc_size_mul(count, size, out_bytes);
}

// Splits the file into the header and the elements.
static fc_status_t find_header(fc_str_t file, fc_str_t *out_header,
                               fc_str_t *out_elements, fc_error_t *err) {
  const uint8_t *bytes = (const uint8_t *)file.data;
  if (file.size < 10 || memcmp(file.data, MAGIC, MAGIC_SIZE)) {
    return malformed(err, "it does not start with the bytes \\x93NUMPY");
  }
  const uint8_t major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "a .npy file of version %u.%u: 1.0, 2.0 and 3.0 are known",
                   major, minor);
  }
  size_t begin = major == 1 ? 10 : 12;
  if (file.size < begin) return malformed(err, "it ends in its header");
  size_t size = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (major > 1) size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (size > file.size - begin) return malformed(err, "it ends in its header");
  *out_header = (fc_str_t){file.data + begin, size};
  *out_elements =
      (fc_str_t){file.data + begin + size, file.size - begin - size};
  return FC_OK;
}

fc_status_t fc_npy_parse(fc_arena_t *arena, fc_str_t file,
                         const fc_stop_t *stop, fc_npy_t *out_array,
                         fc_error_t *err) {
  fc_npy_t array = {0};
  fc_header_t header = {.array = &array};
  fc_str_t elements;
  FC_TRY(find_header(file, &header.text, &elements, err));
  if (!take_header(&header)) {
    return malformed(err, "its header is no dictionary of one plain descr, "
                          "fortran_order and shape");
  }
  bool swapped;
  array.dtype = find_dtype(header.descr, &swapped);
  if (array.dtype == FC_DTYPE_NONE) {
    char text[80];
    fc_escape(text, sizeof text, 64, header.descr);
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                   "a .npy file of element type '%s', which no function takes",
                   text);
  }
  const fc_dtype_info_t *info = fc_dtype_info(array.dtype);
  size_t count, size;
  if (!count_elements(&array, info->size, &count, &size)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "a .npy file whose shape overflows");
  }
  if (size != elements.size) {
    return fc_fail(
        err, FC_CODE_DATA_LENGTH,
        "a .npy file with %zu bytes of elements, its shape wants %zu",
        elements.size, size);
  }
  size_t swap = fc_dtype_size(info->part);
  if (!swapped || swap == 1) swap = 0;
  array.data = elements;
  if (swap || (header.fortran && array.rank > 1)) {
    char *moved = fc_arena_alloc(arena, size + 1, 64);
    if (!moved) return fc_fail_memory(err);
    FC_TRY(rearrange(&array, count, info->size,
                     header.fortran && array.rank > 1, swap, elements.data,
                     moved, stop, err));
    array.data = (fc_str_t){moved, size};
  }
  *out_array = array;
  return FC_OK;
}

fc_status_t fc_npy_print_head(const fc_npy_t *array, char out[FC_NPY_HEAD_MAX],
                              size_t *out_size, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(array->dtype);
  if (!info->npy[0]) {
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                   "NumPy has no element type %s; ask for JSON", info->text);
  }
  char *header = out + MAGIC_SIZE + 4;
  const size_t room = FC_NPY_HEAD_MAX - MAGIC_SIZE - 4;
  size_t used = (size_t)snprintf(
      header, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
      info->npy);
  for (int32_t i = 0; i < array->rank; i++) {
    used +=
        (size_t)snprintf(header + used, room - used, "%s%lld%s", i ? " " : "",
                         (long long)array->shape[i],
                         i + 1 < array->rank || array->rank == 1 ? "," : "");
  }
  used += (size_t)snprintf(header + used, room - used, "), }");
  const size_t total = (MAGIC_SIZE + 4 + used + 1 + 63) & ~(size_t)63;
  const size_t size = total - MAGIC_SIZE - 4;
  const char version[4] = {1, 0, (char)(size & 0xFF), (char)(size >> 8)};
  memset(header + used, ' ', size - used);
  header[size - 1] = '\n';
  memcpy(out, MAGIC, MAGIC_SIZE);
  memcpy(out + MAGIC_SIZE, version, sizeof version);
  *out_size = total;
  return FC_OK;
}

fc_status_t fc_npy_print(const fc_npy_t *array, fc_sink_t *sink,
                         fc_error_t *err) {
  char head[FC_NPY_HEAD_MAX];
  size_t size = 0;
  FC_TRY(fc_npy_print_head(array, head, &size, err));
  FC_TRY(fc_sink_put(sink, fc_str_make(head, size), err));
  return fc_sink_put(sink, array->data, err);
}
