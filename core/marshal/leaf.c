// SPDX-License-Identifier: Apache-2.0
//
// JSON text or raw bytes -> one scalar, tensor or byte buffer. JSON is read straight into
// its final memory. Called by the readers of all protocols; the rules are in docs/abi.md,
// "Values". A tensor gets memory for no more elements than the rest of the document could
// hold, whatever shape the document states.
#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/number.h"
#include "json/writer.h"
#include "marshal/frame.h"

// ---------------------------------------------------------------------------
// Messages

static fc_status_t here(fc_frame_t *frame, fc_status_t status,
                        fc_error_t *err) {
  return fc_json_locate(&frame->reader, status, err);
}

static bool is_scalar_token(fc_json_token_t token) {
  return token == FC_JSON_NUMBER || token == FC_JSON_TRUE ||
         token == FC_JSON_FALSE || token == FC_JSON_STRING ||
         token == FC_JSON_NULL;
}

fc_status_t fc_leaf_mismatch(fc_frame_t *frame, fc_code_t code,
                             fc_json_token_t token, const char *expected,
                             fc_error_t *err) {
  const char *found = fc_json_token_name(token);
  fc_status_t status =
      fc_fail(err, code, "expected %s, found %s", expected, found);
  fc_error_expected(err, "%s", expected);
  bool has_text = token == FC_JSON_NUMBER || token == FC_JSON_STRING;
  fc_error_got(err, has_text ? frame->reader.text : fc_str(found));
  return here(frame, status, err);
}

fc_status_t fc_leaf_text(fc_frame_t *frame, fc_str_t *out_text,
                         fc_error_t *err) {
  fc_str_t raw = frame->reader.text;
  *out_text = raw;
  if (!frame->reader.escaped) return FC_OK;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, raw.size + 1, 1, &memory, err));
  *out_text = (fc_str_t){memory, fc_json_unescape(raw, memory)};
  return FC_OK;
}

static fc_dtype_t part_of(fc_dtype_t dtype) {
  return fc_dtype_info(dtype)->part;
}

static fc_status_t too_large(fc_frame_t *frame, size_t limit, fc_error_t *err) {
  fc_status_t status =
      fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
              "the tensor is over the limit of %zu elements", limit);
  fc_error_expected(err, "at most %zu elements", limit);
  return here(frame, status, err);
}

static void copy_reader(fc_json_reader_t *dest,
                        const fc_json_reader_t *source) {
  size_t levels = source->depth * sizeof source->levels[0];
  memcpy(dest, source, offsetof(fc_json_reader_t, levels) + levels);
}

// True for a dim whose name has got its size from an earlier value.
static bool is_agreed(const fc_frame_t *frame, const fc_fill_t *fill,
                      int32_t dim) {
  return fill->op && fc_dim_is_named(fill->op->dims[dim]) &&
         fc_frame_dim(frame, fill->op->dims[dim]) >= 0;
}

// Counts the elements left in an array, with the one whose token was just read.
// Negative when the reader fails before the array ends.
static int64_t count_rest(fc_frame_t *frame, fc_json_token_t token) {
  fc_json_reader_t *reader = &frame->reader;
  int64_t count = 0;
  copy_reader(&frame->ahead, reader);
  fc_status_t status = FC_OK;
  for (; status == FC_OK && token != FC_JSON_ARRAY_END; count++) {
    status = fc_json_skip(reader, token, NULL);
    if (status == FC_OK) status = fc_json_next(reader, &token, NULL);
  }
  copy_reader(reader, &frame->ahead);
  return status == FC_OK ? count : INT64_MIN;
}

static fc_status_t disagrees(fc_frame_t *frame, const fc_fill_t *fill,
                             int32_t dim, int64_t size, fc_error_t *err) {
  fc_status_t status = fc_frame_fail_dim(frame, FC_CODE_SHAPE_MISMATCH,
                                         fill->op, dim, size, err);
  return here(frame, status, err);
}

// Fails at the first element too many, whose token was just read.
static fc_status_t too_many(fc_frame_t *frame, const fc_fill_t *fill,
                            int32_t dim, fc_json_token_t token,
                            fc_error_t *err) {
  long long wanted = (long long)fill->dims[dim];
  if (is_agreed(frame, fill, dim)) {
    return disagrees(frame, fill, dim, wanted + count_rest(frame, token), err);
  }
  fc_status_t status =
      fill->code == FC_CODE_DATA_LENGTH
          ? fc_fail(err, fill->code, "more than the %lld elements of the shape",
                    wanted)
          : fc_fail(err, fill->code,
                    "dim %d has %lld elements, here is one more", (int)dim,
                    wanted);
  fc_error_expected(err, "%lld elements", wanted);
  return here(frame, status, err);
}

// Fails at the end of an array that has too few elements.
static fc_status_t too_few(fc_frame_t *frame, const fc_fill_t *fill,
                           int32_t dim, long long count, fc_error_t *err) {
  long long wanted = (long long)fill->dims[dim];
  if (is_agreed(frame, fill, dim)) {
    return disagrees(frame, fill, dim, count, err);
  }
  fc_status_t status =
      fill->code == FC_CODE_DATA_LENGTH
          ? fc_fail(err, fill->code,
                    "%lld elements for a shape of %lld elements", count, wanted)
          : fc_fail(err, fill->code, "dim %d has %lld elements, here are %lld",
                    (int)dim, wanted, count);
  fc_error_expected(err, "%lld elements", wanted);
  char got[24];
  size_t size = (size_t)(fc_number_print_i64(count, got) - got);
  fc_error_got(err, fc_str_make(got, size));
  return here(frame, status, err);
}

// ---------------------------------------------------------------------------
// Elements

// Reads [re,im], whose bracket was just read.
static fc_status_t read_pair(fc_frame_t *frame, fc_dtype_t part, void *out,
                             fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  size_t count;
  fc_json_token_t token;
  FC_TRY(fc_json_read_elements(reader, part, out, 2, &count, &token, err));
  if (token == FC_JSON_ARRAY_END && count == 2) return FC_OK;
  if (token != FC_JSON_ARRAY_END) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (count < 2 && token != FC_JSON_ARRAY_BEGIN) {
      return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                              "a number of a [re,im] pair", err);
    }
  }
  return here(frame,
              fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                      "a complex number is a pair [re,im] of two numbers"),
              err);
}

// Reads one element of any type. Its first token was just read.
static fc_status_t read_element(fc_frame_t *frame, fc_dtype_t dtype,
                                fc_json_token_t token, void *out,
                                fc_error_t *err) {
  fc_dtype_t part = part_of(dtype);
  if (part == dtype) {
    return fc_json_read_scalar(&frame->reader, token, dtype, out, err);
  }
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                            "a pair [re,im]", err);
  }
  return read_pair(frame, part, out, err);
}

// Reads the innermost array of complex numbers, up to `want` of them.
static fc_status_t read_pairs(fc_frame_t *frame, fc_fill_t *fill, size_t want,
                              size_t *out_count, fc_json_token_t *out_stop,
                              fc_error_t *err) {
  for (*out_count = 0;; ++*out_count) {
    FC_TRY(fc_json_next(&frame->reader, out_stop, err));
    if (*out_stop == FC_JSON_ARRAY_END || *out_count == want) return FC_OK;
    FC_TRY(read_element(frame, fill->dtype, *out_stop,
                        fill->data + fill->count * fill->size, err));
    fill->count++;
  }
}

// Reads an element that was refused as fill->dtype again, as fill->other, the type of the
// other sign, if there is one and the element was a number out of range. If the number
// fits, the two types change places, so that the type that fitted is tried first from
// then on. `err` has the error of the first attempt; if the second fails, too, it becomes
// the error to report.
static fc_status_t change_sign(fc_frame_t *frame, fc_fill_t *fill,
                               fc_json_token_t token, void *out,
                               fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  if (fill->other == FC_DTYPE_NONE || err->code != FC_CODE_OUT_OF_RANGE) {
    return err->status;
  }
  const fc_dtype_t dtype = fill->dtype;
  fc_error_t second;
  if (fc_json_read_scalar(reader, token, fill->other, out, &second)) {
    // It fits neither sign. The message is about the type that the signature
    // shows.
    const fc_dtype_info_t *info = fc_dtype_info(dtype);
    if (info->class_ == FC_DTYPE_CLASS_UINT) {
      *err = second;
      info = fc_dtype_info(fill->other);
    }
    const uint64_t half = UINT64_C(1) << (info->bits - 1);
    fc_error_expected(err, "%s in [-%" PRIu64 ",%" PRIu64 "]", info->text, half,
                      half - 1 + half);
    return err->status;
  }
  fill->dtype = fill->part = fill->other;
  fill->other = dtype;
  return FC_OK;
}

// Reads up to `want` numbers of one array, of both signs where both are
// accepted.
static fc_status_t read_run(fc_frame_t *frame, fc_fill_t *fill, size_t want,
                            size_t *out_count, fc_json_token_t *out_stop,
                            fc_error_t *err) {
  // `why` is not on the stack, where hardening would clear it: for a short row
  // that would cost as much as reading it.
  fc_error_t *why = &fill->why;
  for (*out_count = 0;;) {
    uint8_t *out = fill->data ? fill->data + fill->count * fill->size : NULL;
    size_t count = 0;
    fc_status_t status =
        fc_json_read_elements(&frame->reader, fill->dtype, out,
                              want - *out_count, &count, out_stop, why);
    fill->count += count;
    *out_count += count;
    if (status == FC_OK) return FC_OK;
    if (change_sign(frame, fill, *out_stop, out + count * fill->size, why)) {
      if (err) *err = *why;
      return status;
    }
    fill->count++;
    ++*out_count;
  }
}

static fc_status_t read_numbers(fc_frame_t *frame, fc_fill_t *fill, size_t want,
                                size_t *out_count, fc_json_token_t *out_stop,
                                fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  FC_TRY(read_run(frame, fill, want, out_count, out_stop, err));
  if (*out_stop == FC_JSON_ARRAY_END) return FC_OK;
  // Reading stopped before something that is not wanted here. Read its token,
  // so that the error gets a position.
  FC_TRY(fc_json_next(reader, out_stop, err));
  if (*out_count == want) return FC_OK;
  if (*out_stop == FC_JSON_ARRAY_BEGIN) {
    return here(frame,
                fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                        "nested deeper than the %d dims of the tensor",
                        (int)fill->rank),
                err);
  }
  fc_scalar_t unused;
  FC_TRY(fc_json_read_scalar(reader, *out_stop, fill->dtype, &unused, err));
  return fc_fail(err, FC_CODE_INTERNAL,
                 "an element was neither read nor wrong");
}

// Reads the elements of one innermost array, to its end.
static fc_status_t read_row(fc_frame_t *frame, fc_fill_t *fill,
                            fc_error_t *err) {
  int64_t *dim = &fill->dims[fill->rank - 1];
  size_t room = fill->capacity - fill->count;
  bool known = *dim >= 0;
  size_t want = known && (uint64_t)*dim < room ? (size_t)*dim : room;
  size_t count;
  fc_json_token_t stop;
  FC_TRY(fill->part == fill->dtype
             ? read_numbers(frame, fill, want, &count, &stop, err)
             : read_pairs(frame, fill, want, &count, &stop, err));
  if (stop != FC_JSON_ARRAY_END) {
    if (known && count == (uint64_t)*dim) {
      return too_many(frame, fill, fill->rank - 1, stop, err);
    }
    return too_large(frame, fill->limit, err);
  }
  if (!known) *dim = (int64_t)count;
  if (count == (uint64_t)*dim) return FC_OK;
  return too_few(frame, fill, fill->rank - 1, (long long)count, err);
}

// Fails because no array stands where one should.
static fc_status_t not_an_array(fc_frame_t *frame, fc_fill_t *fill,
                                int32_t depth, fc_json_token_t token,
                                fc_error_t *err) {
  bool element = token == FC_JSON_NUMBER ||
                 (fill->dtype == FC_DTYPE_I1 &&
                  (token == FC_JSON_TRUE || token == FC_JSON_FALSE));
  if (!element) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token, "an array",
                            err);
  }
  fill->too_flat = fill->op != NULL;
  fc_status_t status =
      fc_fail(err, FC_CODE_SHAPE_MISMATCH,
              depth ? "nested %d deep, the tensor has %d dims"
                    : "a bare number (%d dims), the tensor has %d dims",
              (int)depth, (int)fill->rank);
  fc_error_expected(err, "rank %d", (int)fill->rank);
  fc_error_got(err, frame->reader.text);
  return here(frame, status, err);
}

// Reads nested arrays exactly fill->rank deep; `token` was just read.
static fc_status_t read_nested(fc_frame_t *frame, fc_fill_t *fill,
                               fc_json_token_t token, fc_error_t *err) {
  int64_t *have = fill->have;
  int32_t depth = 0;
  do {
    if (depth > 0 && token == FC_JSON_ARRAY_END) {
      int64_t *dim = &fill->dims[--depth];
      if (*dim < 0) *dim = have[depth];
      if (have[depth] < *dim) {
        return too_few(frame, fill, depth, (long long)have[depth], err);
      }
    } else {
      if (depth > 0) {
        int64_t dim = fill->dims[depth - 1];
        if (have[depth - 1] == dim) {
          return too_many(frame, fill, depth - 1, token, err);
        }
        have[depth - 1]++;
      }
      if (token != FC_JSON_ARRAY_BEGIN) {
        return not_an_array(frame, fill, depth, token, err);
      }
      if (depth + 1 == fill->rank) {
        FC_TRY(read_row(frame, fill, err));
      } else {
        have[depth++] = 0;
      }
    }
    if (depth > 0) FC_TRY(fc_json_next(&frame->reader, &token, err));
  } while (depth > 0);
  // A dim that is still not known lies below an empty array: it becomes 0.
  for (int32_t i = 0; i < fill->rank; i++) {
    if (fill->dims[i] < 0) fill->dims[i] = 0;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Tensors

// The unsigned type that a signless integer may have instead: types read off the bytecode
// leave the sign open. NONE for other types, and where somebody declared the type.
static fc_dtype_t other_sign(const fc_frame_t *frame, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (frame->plan->signature->source != FC_SOURCE_INFERRED ||
      info->class_ != FC_DTYPE_CLASS_INT) {
    return FC_DTYPE_NONE;
  }
  char text[16];
  snprintf(text, sizeof text, "u%s", info->text);
  return fc_dtype_find(fc_str(text));
}

static fc_fill_t *fill_begin(fc_frame_t *frame, fc_dtype_t dtype,
                             fc_code_t code) {
  fc_fill_t *fill = &frame->fill;
  fill->dtype = dtype;
  fill->part = part_of(dtype);
  fill->other = other_sign(frame, dtype);
  fill->size = fc_dtype_size(dtype);
  fill->code = code;
  fill->op = NULL;
  fill->rank = 0;
  fill->too_flat = false;
  fill->data = NULL;
  fill->count = fill->capacity = 0;
  fill->limit = fc_frame_element_limit(frame, dtype);
  return fill;
}

// The most elements that the rest of the document can hold. A number takes two
// characters at least ("0,"), a complex one six ("[0,0],").
static size_t rest_of_document(const fc_frame_t *frame, const fc_fill_t *fill) {
  size_t rest = (size_t)(frame->reader.end - frame->reader.cursor);
  return fill->part == fill->dtype ? rest / 2 + 1 : rest / 6 + 1;
}

// Places memory for as many elements as the dims say, or as one tensor may have when a
// dim is not known, but for no more than the rest of the document can hold: a short body
// cannot ask for a large tensor.
static fc_status_t fill_place(fc_frame_t *frame, fc_fill_t *fill,
                              fc_error_t *err) {
  size_t count = 1;
  bool exact = true, empty = false;
  for (int32_t i = 0; i < fill->rank; i++) {
    if (fill->dims[i] < 0) exact = false;
    else if (fill->dims[i] == 0) empty = true;
    else if (!fc_size_mul(count, (size_t)fill->dims[i], &count)) {
      count = SIZE_MAX;
    }
  }
  if (empty) count = 0;
  if (count > fill->limit) return too_large(frame, fill->limit, err);
  size_t rest = rest_of_document(frame, fill);
  if (!exact) count = fill->limit;
  if (empty) count = 0;
  fill->capacity = count < rest ? count : rest;
  void *memory = NULL;
  FC_TRY(fc_frame_place(frame, fill->dtype, fill->capacity * fill->size,
                        &memory, err));
  fill->data = memory;
  return FC_OK;
}

static fc_status_t fill_value(fc_frame_t *frame, const fc_fill_t *fill,
                              const int64_t *dims, int32_t rank,
                              fc_dtype_t dtype, fc_value_t *dest,
                              fc_error_t *err) {
  void *shape = NULL;
  if (rank > 0) {
    FC_TRY(fc_frame_alloc(frame, (size_t)rank, sizeof *dims, &shape, err));
    memcpy(shape, dims, (size_t)rank * sizeof *dims);
  }
  *dest = (fc_value_t){
      .kind = FC_VALUE_TENSOR,
      .tensor = {
          .dtype = dtype, .rank = rank, .shape = shape, .data = fill->data}};
  return FC_OK;
}

// Hands the filled buffer over as a value of type `dtype`.
static fc_status_t fill_finish(fc_frame_t *frame, fc_fill_t *fill,
                               const int64_t *dims, int32_t rank,
                               fc_dtype_t dtype, fc_value_t *dest,
                               fc_error_t *err) {
  fc_frame_commit(frame, fill->data, fill->capacity * fill->size,
                  fill->count * fill->size);
  return fill_value(frame, fill, dims, rank, dtype, dest, err);
}

// How many '[' stand before the next element, blanks skipped. *out_next becomes the
// character behind them, '\0' when there is none, or when there are more brackets than
// FC_JSON_DEPTH_MAX, behind which it does not look.
static int32_t count_brackets(const fc_frame_t *frame, char *out_next) {
  int32_t count = 0;
  const char *at = frame->reader.cursor, *end = frame->reader.end;
  *out_next = '\0';
  for (; at < end && count <= FC_JSON_DEPTH_MAX; at++) {
    if (*at == '[') count++;
    else if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') {
      *out_next = *at;
      break;
    }
  }
  return count;
}

// The rank that the brackets of a value show; its first token was just read.
static int32_t infer_rank(const fc_frame_t *frame, fc_json_token_t token,
                          fc_dtype_t dtype) {
  if (token != FC_JSON_ARRAY_BEGIN) return 0;
  char next;
  int32_t rank = 1 + count_brackets(frame, &next);
  // The innermost pair of a complex number is no dim; an empty array is.
  bool pair = part_of(dtype) != dtype && next != ']';
  return pair ? rank - 1 : rank;
}

static void bind_names(fc_frame_t *frame, const fc_op_t *op,
                       const int64_t *dims) {
  for (int32_t i = 0; i < op->rank; i++) {
    fc_frame_bind_dim(frame, op, i, dims[i]);
  }
}

// Checks that dims of one tensor that have one name are equal. Called when all dims are
// known: of nested arrays for tensor<NxN> the first dim is known last, when the outer
// array ends.
static fc_status_t check_names(fc_frame_t *frame, const fc_op_t *op,
                               const int64_t *dims, fc_error_t *err) {
  for (int32_t i = 0; i < op->rank; i++) {
    if (!fc_dim_is_named(op->dims[i])) continue;
    for (int32_t k = 0; k < i; k++) {
      if (op->dims[k] != op->dims[i] || dims[k] == dims[i]) continue;
      fc_status_t status =
          fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                  "dims %d and %d must be equal, "
                  "they are %lld and %lld",
                  (int)k, (int)i, (long long)dims[k], (long long)dims[i]);
      fc_error_expected(err, "%lld elements", (long long)dims[k]);
      return here(frame, status, err);
    }
  }
  return FC_OK;
}

static fc_status_t read_rank_0(fc_frame_t *frame, fc_fill_t *fill,
                               fc_json_token_t token, fc_error_t *err) {
  bool array = token == FC_JSON_ARRAY_BEGIN;
  if (array && fill->part == fill->dtype) {
    return fc_leaf_mismatch(frame, FC_CODE_SHAPE_MISMATCH, token,
                            "a bare value for a tensor without dims", err);
  }
  fc_error_t why;
  fc_status_t status =
      read_element(frame, fill->dtype, token, fill->data, &why);
  if (status && change_sign(frame, fill, token, fill->data, &why)) {
    if (err) *err = why;
    return status;
  }
  fill->count = 1;
  return FC_OK;
}

static fc_status_t decode_nested(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  fc_fill_t *fill = fill_begin(frame, op->dtype, FC_CODE_SHAPE_MISMATCH);
  fill->op = op->rank > 0 ? op : NULL;
  fill->rank = op->rank;
  if (op->rank == FC_RANK_DYNAMIC) {
    fill->rank = infer_rank(frame, token, op->dtype);
    if (fill->rank > FC_RANK_MAX) {
      return here(frame,
                  fc_fail(err, FC_CODE_SHAPE_MISMATCH, "rank %d exceeds %d",
                          (int)fill->rank, FC_RANK_MAX),
                  err);
    }
  }
  for (int32_t i = 0; i < fill->rank; i++) {
    fill->dims[i] = op->rank > 0 ? fc_frame_dim(frame, op->dims[i]) : -1;
  }
  FC_TRY(fill_place(frame, fill, err));
  FC_TRY(fill->rank == 0 ? read_rank_0(frame, fill, token, err)
                         : read_nested(frame, fill, token, err));
  FC_TRY(check_names(frame, op, fill->dims, err));
  bind_names(frame, op, fill->dims);
  return fill_finish(frame, fill, fill->dims, fill->rank, op->dtype, dest, err);
}

// ---------------------------------------------------------------------------
// {"dtype","shape","data"|"b64"}

static const fc_str_t kMembers[FC_MEMBER_COUNT] = {
    {"dtype", 5}, {"shape", 5}, {"data", 4}, {"b64", 3}};

void fc_typed_begin(fc_typed_t *typed, const fc_op_t *op,
                    const fc_str_t *members) {
  typed->op = op;
  typed->members = members;
  typed->dtype = op->dtype;
  typed->has_shape = typed->read = typed->scalar = false;
  typed->rank = 0;
  memset(typed->seen, 0, sizeof typed->seen);
}

int fc_typed_member(const fc_json_reader_t *reader, const fc_typed_t *typed) {
  for (int i = 0; i < FC_MEMBER_COUNT; i++) {
    const fc_str_t name = typed->members[i];
    if (name.size && fc_json_text_is(reader, name)) return i;
  }
  return -1;
}

// True when a stated type may stand for the declared one; any may where none is declared.
// A signless integer also takes its width's signed and unsigned types, index takes i64
// and si64.
static bool dtype_fits(fc_dtype_t declared, fc_dtype_t stated) {
  if (declared == FC_DTYPE_NONE || declared == stated) return true;
  const fc_dtype_info_t *a = fc_dtype_info(declared);
  const fc_dtype_info_t *b = fc_dtype_info(stated);
  if (a->class_ == FC_DTYPE_CLASS_INT) {
    return a->bits == b->bits && (b->class_ == FC_DTYPE_CLASS_SINT ||
                                  b->class_ == FC_DTYPE_CLASS_UINT);
  }
  return a->class_ == FC_DTYPE_CLASS_INDEX &&
         (stated == FC_DTYPE_I64 || stated == FC_DTYPE_SI64);
}

// Fails because `name` is no element type, or none that may stand for the declared one.
// The message names the declared type, or where none is declared all types.
static fc_status_t refuse_dtype(fc_frame_t *frame, fc_dtype_t declared,
                                fc_str_t name, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(declared);
  const bool exists = fc_dtype_find_named(name, declared) != FC_DTYPE_NONE;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status =
      declared == FC_DTYPE_NONE
          ? fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                    "'%s' is no element type; there are %s", shown,
                    fc_dtype_texts())
          : fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                    exists ? "dtype '%s', declared %s"
                           : "'%s' is no element type, declared is %s",
                    shown, info->text);
  if (declared == FC_DTYPE_NONE) {
    fc_error_expected(err, "the name of an element type");
  } else if (info->class_ == FC_DTYPE_CLASS_INT) {
    fc_error_expected(err, "%s, s%s or u%s", info->text, info->text,
                      info->text);
  } else {
    fc_error_expected(err, "%s", info->text);
  }
  fc_error_got(err, name);
  return here(frame, status, err);
}

static fc_status_t read_dtype(fc_frame_t *frame, fc_typed_t *typed,
                              fc_json_token_t token, fc_error_t *err) {
  if (token != FC_JSON_STRING) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                            "the name of an element type", err);
  }
  fc_str_t name;
  FC_TRY(fc_leaf_text(frame, &name, err));
  fc_dtype_t declared = typed->op->dtype;
  fc_dtype_t stated = fc_dtype_find_named(name, declared);
  if (stated == FC_DTYPE_NONE || !dtype_fits(declared, stated)) {
    return refuse_dtype(frame, declared, name, err);
  }
  typed->dtype = stated;
  return FC_OK;
}

static fc_status_t wrong_dim(fc_frame_t *frame, const fc_op_t *op, int32_t dim,
                             int64_t found, int64_t wanted, fc_error_t *err) {
  if (fc_dim_is_named(op->dims[dim])) {
    return here(
        frame,
        fc_frame_fail_dim(frame, FC_CODE_SHAPE_MISMATCH, op, dim, found, err),
        err);
  }
  fc_status_t status =
      fc_fail(err, FC_CODE_SHAPE_MISMATCH, "dim %d is %lld, declared %lld",
              (int)dim, (long long)found, (long long)wanted);
  fc_error_expected(err, "%lld", (long long)wanted);
  fc_error_got(err, frame->reader.text);
  return here(frame, status, err);
}

static fc_status_t wrong_rank(fc_frame_t *frame, const fc_op_t *op,
                              int32_t rank, fc_error_t *err) {
  fc_status_t status =
      fc_fail(err, FC_CODE_SHAPE_MISMATCH, "%d dims, the tensor has %d",
              (int)rank, (int)op->rank);
  fc_error_expected(err, "rank %d", (int)op->rank);
  return here(frame, status, err);
}

// Fails because a dim is not the declared one. If the whole shape has another rank than
// the declared one, the message is about the rank: dims of other ranks cannot be compared
// one by one, as in [224, 224, 3] for 1x3x224x224.
static fc_status_t wrong_shape(fc_frame_t *frame, const fc_typed_t *typed,
                               int64_t found, int64_t wanted, fc_error_t *err) {
  const fc_op_t *op = typed->op;
  fc_status_t status = wrong_dim(frame, op, typed->rank, found, wanted, err);
  int32_t rank = typed->rank + 1;
  fc_json_token_t token = FC_JSON_NUMBER;
  while (rank <= FC_RANK_MAX &&
         fc_json_next(&frame->reader, &token, NULL) == FC_OK &&
         token == FC_JSON_NUMBER) {
    rank++;
  }
  if (token != FC_JSON_ARRAY_END || rank == op->rank) return status;
  return wrong_rank(frame, op, rank, err);
}

static fc_status_t read_dim(fc_frame_t *frame, fc_typed_t *typed,
                            fc_json_token_t token, bool checked,
                            fc_error_t *err) {
  const fc_op_t *op = typed->op;
  bool ranked = checked && op->rank >= 0;
  if (token != FC_JSON_NUMBER) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token, "a dim", err);
  }
  int32_t limit = ranked ? op->rank : FC_RANK_MAX;
  if (typed->rank == limit) {
    fc_status_t status = fc_fail(
        err, FC_CODE_SHAPE_MISMATCH,
        ranked ? "more than the %d dims of the tensor" : "more than %d dims",
        (int)limit);
    fc_error_expected(err, "rank %d", (int)limit);
    return here(frame, status, err);
  }
  int64_t dim;
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_I64, &dim, err));
  if (dim < 0) {
    fc_status_t status = fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                                 "dim %d is negative", (int)typed->rank);
    fc_error_got(err, frame->reader.text);
    return here(frame, status, err);
  }
  int64_t wanted =
      ranked ? fc_frame_dim(frame, op->dims[typed->rank]) : FC_DIM_DYNAMIC;
  if (wanted >= 0 && dim != wanted) {
    return wrong_shape(frame, typed, dim, wanted, err);
  }
  typed->dims[typed->rank++] = dim;
  return FC_OK;
}

// The most rows of an empty tensor. A shape [n, 0] is short to send, but an answer has
// three bytes for each of its n rows: "[],".
#define EMPTY_ROWS_MAX ((size_t)1 << 20)

// Checks a shape of which all dims are known: their number, equal dims where names
// demand them, the size of the tensor, and the rows of an empty one. While the type of the
// elements is not known the size is not either: whoever reads the elements checks that.
static fc_status_t check_shape(fc_frame_t *frame, const fc_typed_t *typed,
                               fc_error_t *err) {
  const fc_op_t *op = typed->op;
  if (op->rank >= 0 && typed->rank != op->rank) {
    return wrong_rank(frame, op, typed->rank, err);
  }
  FC_TRY(op->rank > 0 ? check_names(frame, op, typed->dims, err) : FC_OK);
  size_t count, size;
  const bool known = typed->dtype != FC_DTYPE_NONE;
  const fc_dtype_t dtype = known ? typed->dtype : FC_DTYPE_I8;
  if (!fc_shape_count(typed->dims, typed->rank, dtype, &count, &size) ||
      count > fc_frame_element_limit(frame, dtype)) {
    return known ? too_large(frame, fc_frame_element_limit(frame, dtype), err)
                 : FC_OK;
  }
  if (count ||
      fc_frame_empty_rows(typed->dims, typed->rank) <= EMPTY_ROWS_MAX) {
    return FC_OK;
  }
  return here(frame,
              fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                      "an empty tensor of more than %zu rows", EMPTY_ROWS_MAX),
              err);
}

// `checked` false, for a look ahead: the dims are not compared with the declared ones.
static fc_status_t read_shape(fc_frame_t *frame, fc_typed_t *typed,
                              fc_json_token_t token, bool checked,
                              fc_error_t *err) {
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                            "an array of dims", err);
  }
  typed->rank = 0;
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_ARRAY_END) break;
    FC_TRY(read_dim(frame, typed, token, checked, err));
  }
  typed->has_shape = true;
  return checked ? check_shape(frame, typed, err) : FC_OK;
}

// The data stands before its dtype or shape. Reads on to find them, and comes
// back. Errors on the way are ignored: the real pass reports them in document
// order.
static void look_ahead(fc_frame_t *frame, fc_typed_t *typed,
                       fc_json_token_t token) {
  fc_json_reader_t *reader = &frame->reader;
  copy_reader(&frame->ahead, reader);
  fc_status_t status = fc_json_skip(reader, token, NULL);
  while (status == FC_OK) {
    status = fc_json_next(reader, &token, NULL);
    if (status != FC_OK || token != FC_JSON_KEY) break;
    int member = fc_typed_member(reader, typed);
    status = fc_json_next(reader, &token, NULL);
    if (status != FC_OK) break;
    if (member == FC_MEMBER_SHAPE && !typed->has_shape) {
      status = read_shape(frame, typed, token, false, NULL);
    } else if (member == FC_MEMBER_DTYPE && !typed->seen[FC_MEMBER_DTYPE]) {
      status = read_dtype(frame, typed, token, NULL);
    } else {
      status = fc_json_skip(reader, token, NULL);
    }
  }
  bool complete = status == FC_OK && token == FC_JSON_OBJECT_END;
  typed->scalar = complete && !typed->has_shape;
  copy_reader(reader, &frame->ahead);
}

static bool needs_look_ahead(const fc_typed_t *typed) {
  if (!typed->seen[FC_MEMBER_SHAPE]) return true;
  if (typed->seen[FC_MEMBER_DTYPE]) return false;
  // A stated dtype changes how data is read only where none is declared, or a signless
  // integer. (i64 and si64, which index takes, are read as index is.)
  const fc_dtype_info_t *info = fc_dtype_info(typed->op->dtype);
  return typed->op->dtype == FC_DTYPE_NONE ||
         info->class_ == FC_DTYPE_CLASS_INT;
}

static fc_dtype_t value_dtype(const fc_typed_t *typed) {
  return typed->op->dtype ? (fc_dtype_t)typed->op->dtype : typed->dtype;
}

// Reads the data of a value that states its dtype and has no shape: a single element.
static fc_status_t read_scalar_data(fc_frame_t *frame, fc_typed_t *typed,
                                    fc_json_token_t token, fc_value_t *dest,
                                    fc_error_t *err) {
  fc_value_t value = {.kind = FC_VALUE_SCALAR, .dtype = typed->dtype};
  FC_TRY(read_element(frame, typed->dtype, token, value.scalar.bytes, err));
  *dest = value;
  typed->read = true;
  return FC_OK;
}

// Passes over elements that are more than a tensor may have. A shape behind them is
// refused where it stands. One before them was checked before the dtype was known.
static fc_status_t skip_excess(fc_frame_t *frame, const fc_typed_t *typed,
                               fc_json_token_t token, fc_error_t *err) {
  if (!typed->seen[FC_MEMBER_SHAPE]) {
    return fc_json_skip(&frame->reader, token, err);
  }
  return too_large(frame, fc_frame_element_limit(frame, typed->dtype), err);
}

static fc_status_t read_data(fc_frame_t *frame, fc_typed_t *typed,
                             fc_json_token_t token, fc_value_t *dest,
                             fc_error_t *err) {
  fc_fill_t *fill = fill_begin(frame, typed->dtype, FC_CODE_SHAPE_MISMATCH);
  size_t count, size;
  if (!fc_shape_count(typed->dims, typed->rank, typed->dtype, &count, &size) ||
      count > fill->limit) {
    return skip_excess(frame, typed, token, err);
  }
  bool flat = infer_rank(frame, token, fill->dtype) == 1;
  if (flat) {
    fill->code = FC_CODE_DATA_LENGTH;
    fill->rank = 1;
    fill->dims[0] = (int64_t)count;
  } else {
    fill->rank = typed->rank;
    memcpy(fill->dims, typed->dims, (size_t)fill->rank * sizeof fill->dims[0]);
  }
  FC_TRY(fill_place(frame, fill, err));
  FC_TRY(fill->rank == 0 ? read_rank_0(frame, fill, token, err)
                         : read_nested(frame, fill, token, err));
  typed->read = true;
  return fill_finish(frame, fill, typed->dims, typed->rank, value_dtype(typed),
                     dest, err);
}

// Checks booleans and integers narrower than a byte: each fills a byte, which can hold
// values that the type does not have.
static fc_status_t check_bytes(fc_frame_t *frame, fc_dtype_t dtype,
                               const uint8_t *data, size_t count,
                               fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->bits >= 8) return FC_OK;
  bool is_signed =
      info->class_ == FC_DTYPE_CLASS_INT || info->class_ == FC_DTYPE_CLASS_SINT;
  int low = is_signed ? -(1 << (info->bits - 1)) : 0;
  int high = is_signed ? -low - 1 : (1 << info->bits) - 1;
  for (size_t i = 0; i < count; i++) {
    int value = is_signed ? (int8_t)data[i] : data[i];
    if (value >= low && value <= high) continue;
    return here(frame,
                fc_fail(err, FC_CODE_OUT_OF_RANGE,
                        "element %zu is %d, which does not fit %s", i, value,
                        info->text),
                err);
  }
  return FC_OK;
}

static fc_status_t wrong_bytes(fc_frame_t *frame, size_t size, size_t wanted,
                               fc_error_t *err) {
  fc_status_t status =
      fc_fail(err, FC_CODE_DATA_LENGTH, "%zu bytes for a shape of %zu bytes",
              size, wanted);
  fc_error_expected(err, "%zu bytes", wanted);
  return here(frame, status, err);
}

static fc_status_t read_b64(fc_frame_t *frame, fc_typed_t *typed,
                            fc_json_token_t token, fc_value_t *dest,
                            fc_error_t *err) {
  if (token != FC_JSON_STRING) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                            "a base64 string", err);
  }
  fc_fill_t *fill = fill_begin(frame, typed->dtype, FC_CODE_DATA_LENGTH);
  size_t count, size;
  if (!fc_shape_count(typed->dims, typed->rank, typed->dtype, &count, &size) ||
      count > fill->limit) {
    return skip_excess(frame, typed, token, err);
  }
  fc_str_t text;  // it may have escapes, since "\/" is legal
  FC_TRY(fc_leaf_text(frame, &text, err));
  void *memory = NULL;
  size_t placed = text.size / 4 * 3, decoded = 0;
  FC_TRY(fc_frame_place(frame, typed->dtype, placed, &memory, err));
  fc_status_t status = fc_base64_decode(text, memory, &decoded, err);
  if (status != FC_OK) return here(frame, status, err);
  if (decoded != size) return wrong_bytes(frame, decoded, size, err);
  FC_TRY(check_bytes(frame, typed->dtype, memory, count, err));
  fill->data = memory;
  fill->size = 1;  // elements are bytes from here on
  fill->count = size;
  fill->capacity = placed;
  typed->read = true;
  return fill_finish(frame, fill, typed->dims, typed->rank, value_dtype(typed),
                     dest, err);
}

static fc_status_t read_payload(fc_frame_t *frame, fc_typed_t *typed,
                                int member, fc_json_token_t token,
                                fc_value_t *dest, fc_error_t *err) {
  int other = member == FC_MEMBER_DATA ? FC_MEMBER_B64 : FC_MEMBER_DATA;
  if (typed->seen[other]) {
    return here(
        frame,
        fc_fail(err, FC_CODE_UNKNOWN_KEY, "both 'data' and 'b64' are given"),
        err);
  }
  if (needs_look_ahead(typed)) look_ahead(frame, typed, token);
  bool array = token == FC_JSON_ARRAY_BEGIN;
  if (typed->dtype == FC_DTYPE_NONE) {
    return fc_json_skip(&frame->reader, token, err);
  }
  if (typed->has_shape) {
    return member == FC_MEMBER_DATA ? read_data(frame, typed, token, dest, err)
                                    : read_b64(frame, typed, token, dest, err);
  }
  bool alone = typed->scalar && typed->op->kind == FC_TYPE_UNKNOWN &&
               member == FC_MEMBER_DATA &&
               (!array || part_of(typed->dtype) != typed->dtype);
  if (alone) return read_scalar_data(frame, typed, token, dest, err);
  return fc_json_skip(&frame->reader, token, err);
}

fc_status_t fc_typed_read(fc_frame_t *frame, fc_typed_t *typed, int member,
                          fc_value_t *dest, fc_error_t *err) {
  fc_json_token_t token;
  if (typed->seen[member]) {
    return here(frame,
                fc_fail(err, FC_CODE_DUPLICATE_KEY, "'%s' is given twice",
                        typed->members[member].data),
                err);
  }
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  switch (member) {
    case FC_MEMBER_DTYPE:
      FC_TRY(read_dtype(frame, typed, token, err));
      break;
    case FC_MEMBER_SHAPE:
      FC_TRY(read_shape(frame, typed, token, true, err));
      break;
    default:
      FC_TRY(read_payload(frame, typed, member, token, dest, err));
      break;
  }
  typed->seen[member] = true;
  return FC_OK;
}

static const fc_str_t kRawSize = FC_STR("binary_data_size");

// Reads "binary_data_size", whose key was just read, and takes so many of the raw
// bytes behind the document.
static fc_status_t read_raw(fc_frame_t *frame, fc_str_t *out_bytes,
                            fc_error_t *err) {
  fc_json_token_t token;
  uint64_t size = 0;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_UI64, &size, err));
  if (size > frame->raw.size) {
    fc_status_t status =
        fc_fail(err, FC_CODE_BINARY_FRAMING,
                "binary_data_size is %llu, the body has %zu bytes left",
                (unsigned long long)size, frame->raw.size);
    return here(frame, status, err);
  }
  *out_bytes = fc_str_make(frame->raw.data, (size_t)size);
  frame->raw.data += size;
  frame->raw.size -= (size_t)size;
  return FC_OK;
}

static bool names_raw(const fc_frame_t *frame) {
  return frame->framed && fc_json_text_is(&frame->reader, kRawSize);
}

static fc_status_t unknown_member(fc_frame_t *frame, fc_error_t *err) {
  const fc_str_t name = frame->reader.text;
  const char *nearest = NULL;
  fc_nearest_t search = fc_nearest_begin(name);
  for (int i = 0; i < FC_MEMBER_COUNT; i++) {
    if (fc_nearest_offer(&search, kMembers[i])) nearest = kMembers[i].data;
  }
  char shown[80], hint[40] = "; there are dtype, shape, data, b64";
  fc_escape(shown, sizeof shown, 64, name);
  if (nearest) snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest);
  fc_status_t status =
      fc_fail(err, FC_CODE_UNKNOWN_KEY, "a typed value has no member '%s'%s",
              shown, hint);
  fc_error_expected(err, "dtype, shape, data or b64");
  fc_error_got(err, name);
  return here(frame, status, err);
}

static fc_status_t read_member(fc_frame_t *frame, fc_typed_t *typed,
                               fc_value_t *dest, fc_error_t *err) {
  const int member = fc_typed_member(&frame->reader, typed);
  if (member < 0) return unknown_member(frame, err);
  return fc_typed_read(frame, typed, member, dest, err);
}

static fc_status_t missing_member(fc_frame_t *frame, const char *name,
                                  fc_error_t *err) {
  fc_status_t status =
      fc_fail(err, FC_CODE_MISSING_KEY, "a typed value needs '%s'", name);
  fc_error_expected(err, "%s", name);
  return here(frame, status, err);
}

// All members were read. Makes the raw bytes the tensor's elements.
static fc_status_t take_raw(fc_frame_t *frame, fc_typed_t *typed,
                            fc_str_t bytes, fc_value_t *dest, fc_error_t *err) {
  if (typed->seen[FC_MEMBER_DATA] || typed->seen[FC_MEMBER_B64]) {
    return here(frame,
                fc_fail(err, FC_CODE_UNKNOWN_KEY,
                        "the value is given twice: as text, and as raw bytes"),
                err);
  }
  if (!typed->seen[FC_MEMBER_SHAPE]) return missing_member(frame, "shape", err);
  FC_TRY(fc_typed_take(frame, typed, bytes, dest, err));
  typed->read = true;
  return FC_OK;
}

fc_status_t fc_leaf_decode_typed(fc_frame_t *frame, const fc_op_t *op,
                                 fc_value_t *dest, fc_error_t *err) {
  fc_typed_t typed;
  fc_str_t raw = {0};
  fc_typed_begin(&typed, op, kMembers);
  fc_json_token_t token = FC_JSON_KEY;
  while (token == FC_JSON_KEY) {
    if (!raw.data && names_raw(frame)) {
      FC_TRY(read_raw(frame, &raw, err));
    } else {
      FC_TRY(read_member(frame, &typed, dest, err));
    }
    FC_TRY(fc_json_next(&frame->reader, &token, err));
  }
  if (typed.dtype == FC_DTYPE_NONE) return missing_member(frame, "dtype", err);
  if (raw.data) {
    FC_TRY(take_raw(frame, &typed, raw, dest, err));
  } else if (!typed.seen[FC_MEMBER_DATA] && !typed.seen[FC_MEMBER_B64]) {
    return missing_member(frame, "data", err);
  }
  if (typed.read && op->rank > 0) bind_names(frame, op, typed.dims);
  return typed.read ? FC_OK : missing_member(frame, "shape", err);
}

fc_status_t fc_typed_state(fc_frame_t *frame, fc_typed_t *typed,
                           fc_dtype_t dtype, int32_t rank, const int64_t *dims,
                           fc_error_t *err) {
  const fc_op_t *op = typed->op;
  const fc_dtype_info_t *declared = fc_dtype_info(op->dtype);
  const fc_dtype_info_t *stated = fc_dtype_info(dtype);
  // File formats have one kind of integer with a sign, which is read as iN: it fits a
  // declared siN, too.
  const bool is_signed = stated->class_ == FC_DTYPE_CLASS_INT &&
                         declared->class_ == FC_DTYPE_CLASS_SINT &&
                         stated->bits == declared->bits;
  if (!is_signed && !dtype_fits(op->dtype, dtype)) {
    return refuse_dtype(frame, op->dtype, fc_str(stated->text), err);
  }
  typed->dtype = op->dtype ? (fc_dtype_t)op->dtype : dtype;
  typed->rank = rank;
  typed->has_shape = true;
  if (op->rank >= 0 && rank != op->rank) {
    return wrong_rank(frame, op, rank, err);
  }
  for (int32_t i = 0; i < rank; i++) {
    const int64_t wanted =
        op->rank >= 0 ? fc_frame_dim(frame, op->dims[i]) : FC_DIM_DYNAMIC;
    typed->dims[i] = dims[i];
    if (wanted >= 0 && dims[i] != wanted) {
      return wrong_dim(frame, op, i, dims[i], wanted, err);
    }
  }
  return check_shape(frame, typed, err);
}

fc_status_t fc_typed_measure(fc_frame_t *frame, const fc_typed_t *typed,
                             fc_str_t bytes, size_t *out_count,
                             fc_error_t *err) {
  const size_t limit = fc_frame_element_limit(frame, typed->dtype);
  size_t size;
  if (!fc_shape_count(typed->dims, typed->rank, typed->dtype, out_count,
                      &size) ||
      *out_count > limit) {
    return too_large(frame, limit, err);
  }
  if (bytes.size == size) return FC_OK;
  return wrong_bytes(frame, bytes.size, size, err);
}

fc_status_t fc_typed_take(fc_frame_t *frame, fc_typed_t *typed, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err) {
  fc_fill_t *fill = fill_begin(frame, typed->dtype, FC_CODE_DATA_LENGTH);
  size_t count = 0;
  FC_TRY(fc_typed_measure(frame, typed, bytes, &count, err));
  const size_t size = bytes.size;
  const uint8_t *data = (const uint8_t *)bytes.data;
  FC_TRY(check_bytes(frame, typed->dtype, data, count, err));
  const size_t alignment = frame->plan->signature->alignment;
  fill->size = 1;  // in bytes from here on
  fill->count = fill->capacity = size;
  fill->data = (uint8_t *)(uintptr_t)data;
  if ((uintptr_t)data % alignment ||
      (uintptr_t)data % fc_dtype_size(typed->dtype)) {
    void *memory = NULL;
    FC_TRY(fc_frame_place(frame, typed->dtype, size, &memory, err));
    if (size) memcpy(memory, bytes.data, size);
    frame->copied += size;
    fc_frame_commit(frame, memory, size, size);
    fill->data = memory;
  }
  return fill_value(frame, fill, typed->dims, typed->rank, value_dtype(typed),
                    dest, err);
}

// ---------------------------------------------------------------------------
// Bytes

static fc_status_t check_size(fc_frame_t *frame, size_t size, fc_error_t *err) {
  if (size <= frame->limits.tensor_size) return FC_OK;
  return here(frame,
              fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                      "%zu bytes are over the limit of %zu", size,
                      frame->limits.tensor_size),
              err);
}

static fc_status_t place_text(fc_frame_t *frame, size_t size, uint8_t **out,
                              fc_error_t *err) {
  void *memory = NULL;
  FC_TRY(check_size(frame, size, err));
  FC_TRY(fc_frame_place(frame, FC_DTYPE_UI8, size, &memory, err));
  *out = memory;
  return FC_OK;
}

static void set_bytes(fc_value_t *dest, const uint8_t *data, size_t size) {
  *dest = (fc_value_t){.kind = FC_VALUE_BYTES,
                       .bytes = {data ? (const char *)data : "", size}};
}

static fc_status_t read_string(fc_frame_t *frame, fc_value_t *dest,
                               fc_error_t *err) {
  fc_str_t raw = frame->reader.text;
  uint8_t *data = NULL;
  FC_TRY(place_text(frame, raw.size, &data, err));
  size_t size = raw.size ? fc_json_unescape(raw, (char *)data) : 0;
  fc_frame_commit(frame, data, raw.size, size);
  set_bytes(dest, data, size);
  return FC_OK;
}

static fc_status_t check_text(fc_frame_t *frame, const fc_op_t *op,
                              fc_str_t bytes, fc_error_t *err) {
  if (op->flavor != FC_FLAVOR_UTF8 || fc_utf8_is_valid(bytes)) return FC_OK;
  return here(frame,
              fc_fail(err, FC_CODE_TYPE_MISMATCH,
                      "the bytes are not UTF-8, the argument is text"),
              err);
}

static fc_status_t read_b64_bytes(fc_frame_t *frame, const fc_op_t *op,
                                  fc_value_t *dest, fc_error_t *err) {
  fc_str_t text;
  FC_TRY(fc_leaf_text(frame, &text, err));
  uint8_t *data = NULL;
  size_t placed = text.size / 4 * 3, size = 0;
  FC_TRY(place_text(frame, placed, &data, err));
  fc_status_t status = fc_base64_decode(text, data, &size, err);
  if (status != FC_OK) return here(frame, status, err);
  fc_str_t bytes = {(const char *)data, size};
  FC_TRY(check_text(frame, op, bytes, err));
  fc_frame_commit(frame, data, placed, size);
  set_bytes(dest, data, size);
  return FC_OK;
}

fc_status_t fc_leaf_take_bytes(fc_frame_t *frame, const fc_op_t *op,
                               fc_str_t bytes, fc_value_t *dest,
                               fc_error_t *err) {
  FC_TRY(check_size(frame, bytes.size, err));
  FC_TRY(check_text(frame, op, bytes, err));
  set_bytes(dest, (const uint8_t *)bytes.data, bytes.size);
  return FC_OK;
}

fc_status_t fc_leaf_decode_bytes(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  static const char kExpected[] = "a string or {\"b64\":\"…\"}";
  fc_json_reader_t *reader = &frame->reader;
  if (token == FC_JSON_STRING) return read_string(frame, dest, err);
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token, kExpected,
                            err);
  }
  bool seen = false;
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    if (!seen && names_raw(frame)) {
      fc_str_t bytes;
      FC_TRY(read_raw(frame, &bytes, err));
      FC_TRY(fc_leaf_take_bytes(frame, op, bytes, dest, err));
      seen = true;
      continue;
    }
    if (!fc_json_text_is(reader, kMembers[FC_MEMBER_B64])) {
      fc_status_t status =
          fc_fail(err, FC_CODE_UNKNOWN_KEY, "bytes have the one member 'b64'");
      fc_error_got(err, reader->text);
      return here(frame, status, err);
    }
    if (seen) {
      return here(frame,
                  fc_fail(err, FC_CODE_DUPLICATE_KEY, "'b64' is given twice"),
                  err);
    }
    seen = true;
    FC_TRY(fc_json_next(reader, &token, err));
    if (token != FC_JSON_STRING) {
      return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token,
                              "a base64 string", err);
    }
    FC_TRY(read_b64_bytes(frame, op, dest, err));
  }
  return seen ? FC_OK : missing_member(frame, "b64", err);
}

// ---------------------------------------------------------------------------
// Leaves

// Fails because an array or an object stands for a scalar. The message says how a
// scalar is sent.
static fc_status_t not_a_scalar(fc_frame_t *frame, fc_dtype_t dtype,
                                fc_json_token_t token, fc_error_t *err) {
  const char *text = fc_dtype_info(dtype)->text;
  const char *found = fc_json_token_name(token);
  fc_status_t status = fc_fail(
      err, FC_CODE_TYPE_MISMATCH,
      token == FC_JSON_OBJECT_BEGIN
          ? "expected %s, found %s: a scalar is a bare value, only a tensor has "
            "a dtype and a shape"
          : "expected %s, found %s: a scalar is a bare value",
      text, found);
  fc_error_expected(err, "%s", text);
  fc_error_got(err, fc_str(found));
  return here(frame, status, err);
}

static fc_status_t decode_scalar(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  fc_value_t value = {.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
  if (part_of(op->dtype) == op->dtype && !is_scalar_token(token)) {
    return not_a_scalar(frame, op->dtype, token, err);
  }
  FC_TRY(read_element(frame, op->dtype, token, value.scalar.bytes, err));
  *dest = value;
  return FC_OK;
}

static fc_status_t decode_tensor(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  if (token == FC_JSON_OBJECT_BEGIN) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_KEY) {
      return fc_leaf_decode_typed(frame, op, dest, err);
    }
    return missing_member(frame, "data", err);
  }
  if (op->dtype != FC_DTYPE_NONE) {
    return decode_nested(frame, op, token, dest, err);
  }
  fc_status_t status = fc_fail(
      err, FC_CODE_UNTYPED_VALUE,
      "the element type is not known: give {\"dtype\",\"shape\",\"data\"}");
  fc_error_expected(err, "{\"dtype\":…,\"shape\":[…],\"data\":[…]}");
  fc_error_got(err, fc_str(fc_json_token_name(token)));
  return here(frame, status, err);
}

fc_status_t fc_leaf_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err) {
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_SCALAR:
      return decode_scalar(frame, op, token, dest, err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return decode_tensor(frame, op, token, dest, err);
    case FC_TYPE_BYTES:
      return fc_leaf_decode_bytes(frame, op, token, dest, err);
    default:
      break;
  }
  if (token == FC_JSON_NULL) {
    if (dest) *dest = (fc_value_t){.kind = FC_VALUE_NULL};
    return FC_OK;
  }
  return fc_leaf_mismatch(frame, FC_CODE_TYPE_MISMATCH, token, "null", err);
}
