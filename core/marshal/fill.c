// SPDX-License-Identifier: Apache-2.0
//
// Reads elements of JSON text straight into their final memory. A tensor gets memory
// for at most as many elements as the rest of the document can hold, whatever shape the
// document states. Others that know the pair [re,im] of a complex number:
// json/number_print.c, marshal/leaf.c, module/compare.c, cli/result.c, cli/sample.c.
#include "marshal/fill.h"

#include <inttypes.h>
#include <stdio.h>

#include "json/number.h"
#include "marshal/frame.h"

// ---------------------------------------------------------------------------
// Messages

static fc_dtype_t part_of(fc_dtype_t dtype) {
  return fc_dtype_info(dtype)->part;
}

fc_status_t fc_fill_too_large(fc_frame_t *frame, size_t limit,
                              fc_error_t *err) {
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_TENSOR_TOO_LARGE,
                   "the tensor is over the limit of %zu elements", limit);
  fc_error_expected(err, "at most %zu elements", limit);
  return status;
}

// True for a named dim whose size an earlier value has set.
static bool is_agreed(const fc_frame_t *frame, const fc_fill_t *fill,
                      int32_t dim) {
  return fill->op && fc_dim_is_named(fill->op->dims[dim]) &&
         fc_frame_dim(frame, fill->op->dims[dim]) >= 0;
}

// Counts the elements left in an array, including the one whose token was just
// read. Negative when the reader fails before the array ends.
static int64_t count_rest(fc_frame_t *frame, fc_json_token_t token) {
  fc_json_reader_t *reader = &frame->reader;
  int64_t count = 0;
  fc_json_reader_copy(&frame->ahead, reader);
  fc_status_t status = FC_OK;
  for (; status == FC_OK && token != FC_JSON_ARRAY_END; count++) {
    status = fc_json_skip(reader, token, NULL);
    if (status == FC_OK) status = fc_json_next(reader, &token, NULL);
  }
  fc_json_reader_copy(reader, &frame->ahead);
  return status == FC_OK ? count : INT64_MIN;
}

static fc_status_t disagrees(fc_frame_t *frame, const fc_fill_t *fill,
                             int32_t dim, int64_t size, fc_error_t *err) {
  fc_status_t status = fc_frame_fail_dim(frame, FC_CODE_SHAPE_MISMATCH,
                                         fill->op, dim, size, err);
  return fc_json_locate(&frame->reader, status, err);
}

// Returns the number of a dim for messages. For a row it is the number in the whole
// tensor.
static int shown_dim(const fc_fill_t *fill, int32_t dim) {
  return (int)dim + (fill->op ? fill->op->lead : 0);
}

// Fails because the element whose token was just read is one too many.
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
                    "dim %d has %lld elements, here is one more",
                    shown_dim(fill, dim), wanted);
  fc_error_expected(err, "%lld elements", wanted);
  return fc_json_locate(&frame->reader, status, err);
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
                    shown_dim(fill, dim), wanted, count);
  fc_error_expected(err, "%lld elements", wanted);
  char got[24];
  size_t size = (size_t)(fc_number_print_i64(count, got) - got);
  fc_error_got(err, fc_str_make(got, size));
  return fc_json_locate(&frame->reader, status, err);
}

// ---------------------------------------------------------------------------
// Elements

// Reads the two numbers of [re,im]. The opening bracket was just read.
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
      return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                              "a number of a [re,im] pair", err);
    }
  }
  return fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                      "a complex number is a pair [re,im] of two numbers");
}

fc_status_t fc_fill_element(fc_frame_t *frame, fc_dtype_t dtype,
                            fc_json_token_t token, void *out, fc_error_t *err) {
  fc_dtype_t part = part_of(dtype);
  if (part == dtype) {
    return fc_json_read_scalar(&frame->reader, token, dtype, out, err);
  }
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "a pair [re,im]", err);
  }
  return read_pair(frame, part, out, err);
}

// A tensor of unknown size begins with room for FIRST elements; when the room is full, it
// grows by FACTOR. So many small tensors take little memory, and a large one is moved so
// rarely that moving costs little.
#define FIRST ((size_t)256)
#define FACTOR 8

// Makes room for at least one element. fill->count is below fill->most.
static fc_status_t make_room(fc_frame_t *frame, fc_fill_t *fill,
                             fc_error_t *err) {
  if (FC_LIKELY(fill->count < fill->capacity)) return FC_OK;
  const size_t wanted = fill->capacity < fill->most / FACTOR
                            ? fill->capacity * FACTOR
                            : fill->most;
  void *memory = fill->data;
  FC_TRY(fc_frame_extend(frame, fill->capacity * fill->size,
                         fill->count * fill->size, wanted * fill->size, &memory,
                         err));
  fill->data = memory;
  fill->capacity = wanted;
  return FC_OK;
}

// Reads up to `want` complex numbers of an innermost array.
static fc_status_t read_pairs(fc_frame_t *frame, fc_fill_t *fill, size_t want,
                              size_t *out_count, fc_json_token_t *out_stop,
                              fc_error_t *err) {
  for (*out_count = 0;; ++*out_count) {
    FC_TRY(fc_json_next(&frame->reader, out_stop, err));
    if (*out_stop == FC_JSON_ARRAY_END || *out_count == want) return FC_OK;
    FC_TRY(make_room(frame, fill, err));
    FC_TRY(fc_fill_element(frame, fill->dtype, *out_stop,
                           fill->data + fill->count * fill->size, err));
    fill->count++;
  }
}

// Reads an element a second time, as fill->other, after it was refused as fill->dtype. It
// does so only if `other` is a type and the element was a number out of range. If the
// number fits, the two types change places, so that from then on
// the type that fitted is tried first. `err` has the error of the first attempt; if the
// second attempt also fails, `err` becomes the error to report.
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
    // The number fits neither type. The message is about the type that the
    // signature shows.
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

// Reads up to `want` numbers of one array. If the sign of the type is open, it reads
// numbers of both types.
static fc_status_t read_run(fc_frame_t *frame, fc_fill_t *fill, size_t want,
                            size_t *out_count, fc_json_token_t *out_stop,
                            fc_error_t *err) {
  // `why` is not on the stack, because the compiler's hardening would clear it there. For
  // a short row that would take as long as reading the row.
  fc_error_t *why = &fill->why;
  for (*out_count = 0;;) {
    if (*out_count < want) FC_TRY(make_room(frame, fill, err));
    const size_t left = want - *out_count, room = fill->capacity - fill->count;
    uint8_t *out = fill->data ? fill->data + fill->count * fill->size : NULL;
    size_t count = 0;
    fc_dtype_t types[2] = {fill->dtype, fill->other};
    fc_status_t status =
        fc_json_read_signless(&frame->reader, types, out,
                              left < room ? left : room, &count, out_stop, why);
    fill->count += count;
    *out_count += count;
    if (types[0] != fill->dtype) {
      fill->dtype = fill->part = types[0];
      fill->other = types[1];
    }
    if (status == FC_OK) {
      const bool more = *out_stop == FC_JSON_NUMBER && *out_count < want;
      if (!more) return FC_OK;
      continue;
    }
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
  // Reading stopped before a token that does not belong here. The token is
  // read, so that the error gets a position.
  FC_TRY(fc_json_next(reader, out_stop, err));
  if (*out_count == want) return FC_OK;
  if (*out_stop == FC_JSON_ARRAY_BEGIN) {
    return fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                        "nested deeper than the %d dims of the tensor",
                        (int)fill->rank);
  }
  fc_scalar_t unused;
  FC_TRY(fc_json_read_scalar(reader, *out_stop, fill->dtype, &unused, err));
  return fc_fail(err, FC_CODE_INTERNAL,
                 "an element was neither read nor wrong");
}

// Reads one innermost array to its end.
static fc_status_t read_row(fc_frame_t *frame, fc_fill_t *fill,
                            fc_error_t *err) {
  int64_t *dim = &fill->dims[fill->rank - 1];
  size_t room = fill->most - fill->count;
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
    return fc_fill_too_large(frame, fill->limit, err);
  }
  if (!known) *dim = (int64_t)count;
  if (count == (uint64_t)*dim) return FC_OK;
  return too_few(frame, fill, fill->rank - 1, (long long)count, err);
}

// Fails because an array is required and the value is none.
static fc_status_t not_an_array(fc_frame_t *frame, fc_fill_t *fill,
                                int32_t depth, fc_json_token_t token,
                                fc_error_t *err) {
  bool element = token == FC_JSON_NUMBER ||
                 (fill->dtype == FC_DTYPE_I1 &&
                  (token == FC_JSON_TRUE || token == FC_JSON_FALSE));
  if (!element) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "an array", err);
  }
  fill->too_flat = fill->op ? fill->rank - depth : 0;
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                   depth ? "nested %d deep, the tensor has %d dims"
                         : "a bare number (%d dims), the tensor has %d dims",
                   (int)depth, (int)fill->rank);
  fc_error_expected(err, "rank %d", (int)fill->rank);
  fc_error_got(err, frame->reader.text);
  return status;
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
  // A dim that is still unknown lies inside an empty array, so it becomes 0.
  for (int32_t i = 0; i < fill->rank; i++) {
    if (fill->dims[i] < 0) fill->dims[i] = 0;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// A tensor

// Returns the unsigned type that a signless integer may also have, because types that
// were found in the bytecode leave the sign open. NONE for other types. Not inlined,
// because it has a text on its stack.
static __attribute__((noinline)) fc_dtype_t other_sign(fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  char text[16];
  if (info->class_ != FC_DTYPE_CLASS_INT) return FC_DTYPE_NONE;
  snprintf(text, sizeof text, "u%s", info->text);
  return fc_dtype_find(fc_str(text));
}

fc_fill_t *fc_fill_begin(fc_frame_t *frame, fc_dtype_t dtype, fc_code_t code) {
  fc_fill_t *fill = &frame->fill;
  fill->dtype = dtype;
  fill->part = part_of(dtype);
  const bool declared = frame->plan->signature->source != FC_SOURCE_INFERRED;
  fill->other = declared ? FC_DTYPE_NONE : other_sign(dtype);
  fill->size = fc_dtype_size(dtype);
  fill->code = code;
  fill->op = NULL;
  fill->rank = 0;
  fill->too_flat = 0;
  fill->data = NULL;
  fill->count = fill->capacity = 0;
  fill->limit = fc_frame_element_limit(frame, dtype);
  return fill;
}

// Returns the most elements that the rest of the document can hold. A number has at
// least two characters ("0,"), a complex number six ("[0,0],").
static size_t rest_of_document(const fc_frame_t *frame, const fc_fill_t *fill) {
  size_t rest = (size_t)(frame->reader.end - frame->reader.cursor);
  return fill->part == fill->dtype ? rest / 2 + 1 : rest / 6 + 1;
}

fc_status_t fc_fill_place(fc_frame_t *frame, fc_fill_t *fill, fc_error_t *err) {
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
  if (count > fill->limit) return fc_fill_too_large(frame, fill->limit, err);
  size_t rest = rest_of_document(frame, fill);
  if (!exact) count = fill->limit;
  if (empty) count = 0;
  fill->most = count < rest ? count : rest;
  const bool grows = !exact && frame->placer.extend && fill->most > FIRST;
  fill->capacity = grows ? FIRST : fill->most;
  void *memory = NULL;
  FC_TRY(fc_frame_place(frame, fill->dtype, fill->capacity * fill->size,
                        &memory, err));
  fill->data = memory;
  return FC_OK;
}

fc_status_t fc_fill_hand_over(fc_frame_t *frame, const fc_fill_t *fill,
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

fc_status_t fc_fill_finish(fc_frame_t *frame, fc_fill_t *fill,
                           const int64_t *dims, int32_t rank, fc_dtype_t dtype,
                           fc_value_t *dest, fc_error_t *err) {
  fc_frame_commit(frame, fill->data, fill->capacity * fill->size,
                  fill->count * fill->size);
  return fc_fill_hand_over(frame, fill, dims, rank, dtype, dest, err);
}

// Counts the '[' before the next element, and skips white space. *out_next becomes the
// character after the brackets: '\0' when there is none, or when counting stopped at
// FC_JSON_DEPTH_MAX brackets.
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

int32_t fc_fill_rank(const fc_frame_t *frame, fc_json_token_t token,
                     fc_dtype_t dtype) {
  if (token != FC_JSON_ARRAY_BEGIN) return 0;
  char next;
  int32_t rank = 1 + count_brackets(frame, &next);
  // The innermost brackets of a complex number are not a dim, but an empty array is one.
  bool pair = part_of(dtype) != dtype && next != ']';
  return pair ? rank - 1 : rank;
}

static fc_status_t read_rank_0(fc_frame_t *frame, fc_fill_t *fill,
                               fc_json_token_t token, fc_error_t *err) {
  bool array = token == FC_JSON_ARRAY_BEGIN;
  if (array && fill->part == fill->dtype) {
    return fc_json_mismatch(&frame->reader, FC_CODE_SHAPE_MISMATCH, token,
                            "a bare value for a tensor without dims", err);
  }
  fc_error_t why;
  fc_status_t status =
      fc_fill_element(frame, fill->dtype, token, fill->data, &why);
  if (status && change_sign(frame, fill, token, fill->data, &why)) {
    if (err) *err = why;
    return status;
  }
  fill->count = 1;
  return FC_OK;
}

fc_status_t fc_fill_read(fc_frame_t *frame, fc_fill_t *fill,
                         fc_json_token_t token, fc_error_t *err) {
  return fill->rank == 0 ? read_rank_0(frame, fill, token, err)
                         : read_nested(frame, fill, token, err);
}

fc_status_t fc_fill_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err) {
  fc_fill_t *fill = fc_fill_begin(frame, op->dtype, FC_CODE_SHAPE_MISMATCH);
  fill->op = op->rank > 0 ? op : NULL;
  fill->rank = op->rank;
  if (op->rank == FC_RANK_DYNAMIC) {
    fill->rank = fc_fill_rank(frame, token, op->dtype);
    if (fill->rank > FC_RANK_MAX) {
      return fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                          "rank %d exceeds %d", (int)fill->rank, FC_RANK_MAX);
    }
  }
  for (int32_t i = 0; i < fill->rank; i++) {
    fill->dims[i] = op->rank > 0 ? fc_frame_dim(frame, op->dims[i]) : -1;
  }
  FC_TRY(fc_fill_place(frame, fill, err));
  FC_TRY(fc_fill_read(frame, fill, token, err));
  if (frame->plan->signature->dim_name_count) {
    FC_TRY(fc_frame_check_dims(frame, op, fill->dims, err));
    fc_frame_bind_dims(frame, op, fill->dims);
  }
  return fc_fill_finish(frame, fill, fill->dims, fill->rank, op->dtype, dest,
                        err);
}
