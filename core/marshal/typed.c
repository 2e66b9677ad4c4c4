// SPDX-License-Identifier: Apache-2.0
//
// Reads a tensor that states its dtype and its shape: {"dtype","shape","data"|"b64"}, the
// inputs of the Open Inference Protocol, and arrays in files.
#include "marshal/typed.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/width.h"
#include "json/writer.h"
#include "marshal/bytes.h"
#include "marshal/read.h"

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

// True when a stated type may be used for the declared one. Any type may if none is
// declared. A signless integer also accepts the signed and unsigned types of its width;
// index accepts i64 and si64.
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

// Fails because `name` is no element type, or one that may not be used for the
// declared type. The message names the declared type or, if there is none, all types.
static fc_status_t refuse_dtype(fc_frame_t *frame, fc_dtype_t declared,
                                fc_str_t name, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(declared);
  const bool exists = fc_dtype_find_named(name, declared) != FC_DTYPE_NONE;
  char shown[80], cast[80] = "";
  fc_escape(shown, sizeof shown, 64, name);
  if (exists && info->npy[0] && info->aliases[0]) {
    snprintf(cast, sizeof cast, ": .astype(\"%.*s\") makes it so",
             (int)strcspn(info->aliases, " "), info->aliases);
  }
  fc_status_t status =
      declared == FC_DTYPE_NONE
          ? fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                    "'%s' is no element type; there are %s", shown,
                    fc_dtype_texts())
          : fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                    exists ? "dtype '%s', declared %s%s"
                           : "'%s' is no element type, declared is %s%s",
                    shown, info->text, cast);
  if (declared == FC_DTYPE_NONE) {
    fc_error_expected(err, "the name of an element type");
  } else if (info->class_ == FC_DTYPE_CLASS_INT) {
    fc_error_expected(err, "%s, s%s or u%s", info->text, info->text,
                      info->text);
  } else {
    fc_error_expected(err, "%s", info->text);
  }
  fc_error_got(err, name);
  return fc_json_locate(&frame->reader, status, err);
}

static fc_status_t read_dtype(fc_frame_t *frame, fc_typed_t *typed,
                              fc_json_token_t token, fc_error_t *err) {
  if (token != FC_JSON_STRING) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "the name of an element type", err);
  }
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
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
    return fc_json_locate(
        &frame->reader,
        fc_frame_fail_dim(frame, FC_CODE_SHAPE_MISMATCH, op, dim, found, err),
        err);
  }
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                   "dim %d is %lld, declared %lld", (int)dim + op->lead,
                   (long long)found, (long long)wanted);
  fc_error_expected(err, "%lld", (long long)wanted);
  fc_error_got(err, frame->reader.text);
  return status;
}

static fc_status_t wrong_rank(fc_frame_t *frame, const fc_op_t *op,
                              int32_t rank, fc_error_t *err) {
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                   "%d dims, the tensor has %d", (int)rank, (int)op->rank);
  fc_error_expected(err, "rank %d", (int)op->rank);
  return status;
}

// Fails because a dim is not the declared one. If the rank is also wrong, the message is
// about the rank: dims of shapes of different ranks cannot be
// compared one by one, as in [224, 224, 3] for 1x3x224x224.
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
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "a dim", err);
  }
  int32_t limit = ranked ? op->rank : FC_RANK_MAX;
  if (typed->rank == limit) {
    fc_status_t status = fc_fail(
        err, FC_CODE_SHAPE_MISMATCH,
        ranked ? "more than the %d dims of the tensor" : "more than %d dims",
        (int)limit);
    fc_error_expected(err, "rank %d", (int)limit);
    return fc_json_locate(&frame->reader, status, err);
  }
  int64_t dim;
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_I64, &dim, err));
  if (dim < 0) {
    fc_status_t status =
        fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                     "dim %d is negative", (int)typed->rank);
    fc_error_got(err, frame->reader.text);
    return status;
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

// Checks a shape whose dims are all known: the rank, equal dims where names require them,
// the size of the tensor, and the rows of an empty one. While the type of the elements is
// unknown, the size is also unknown: the code that reads the elements checks it.
static fc_status_t check_shape(fc_frame_t *frame, const fc_typed_t *typed,
                               fc_error_t *err) {
  const fc_op_t *op = typed->op;
  if (op->rank >= 0 && typed->rank != op->rank) {
    return wrong_rank(frame, op, typed->rank, err);
  }
  FC_TRY(op->rank > 0 ? fc_frame_check_dims(frame, op, typed->dims, err)
                      : FC_OK);
  size_t count, size;
  const bool known = typed->dtype != FC_DTYPE_NONE;
  const fc_dtype_t dtype = known ? typed->dtype : FC_DTYPE_I8;
  if (!fc_shape_count(typed->dims, typed->rank, dtype, &count, &size) ||
      count > fc_frame_element_limit(frame, dtype)) {
    return known ? fc_fill_too_large(frame,
                                     fc_frame_element_limit(frame, dtype), err)
                 : FC_OK;
  }
  if (count ||
      fc_frame_empty_rows(typed->dims, typed->rank) <= EMPTY_ROWS_MAX) {
    return FC_OK;
  }
  return fc_json_fail(&frame->reader, err, FC_CODE_TENSOR_TOO_LARGE,
                      "an empty tensor of more than %zu rows", EMPTY_ROWS_MAX);
}

// Reads "shape". `checked` is false for a look ahead: then the dims are not compared with
// the declared ones.
static fc_status_t read_shape(fc_frame_t *frame, fc_typed_t *typed,
                              fc_json_token_t token, bool checked,
                              fc_error_t *err) {
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
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

// Looks for dtype and shape when the data stands before one of them: reads on
// to find them, and comes back. Errors on the way are ignored: the real pass
// reports them in document order.
static void look_ahead(fc_frame_t *frame, fc_typed_t *typed,
                       fc_json_token_t token) {
  fc_json_reader_t *reader = &frame->reader;
  fc_json_reader_copy(&frame->ahead, reader);
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
  fc_json_reader_copy(reader, &frame->ahead);
}

static bool needs_look_ahead(const fc_typed_t *typed) {
  if (!typed->seen[FC_MEMBER_SHAPE]) return true;
  if (typed->seen[FC_MEMBER_DTYPE]) return false;
  // A stated dtype changes how data is read only if no type is declared, or if a signless
  // integer is declared. (For index the stated i64 and si64 are read in the same way.)
  const fc_dtype_info_t *info = fc_dtype_info(typed->op->dtype);
  return typed->op->dtype == FC_DTYPE_NONE ||
         info->class_ == FC_DTYPE_CLASS_INT;
}

static fc_dtype_t value_dtype(const fc_typed_t *typed) {
  return typed->op->dtype ? (fc_dtype_t)typed->op->dtype : typed->dtype;
}

// Reads the data of a value that states its dtype but no shape: a single element.
static fc_status_t read_scalar_data(fc_frame_t *frame, fc_typed_t *typed,
                                    fc_json_token_t token, fc_value_t *dest,
                                    fc_error_t *err) {
  fc_value_t value = {.kind = FC_VALUE_SCALAR, .dtype = typed->dtype};
  FC_TRY(fc_fill_element(frame, typed->dtype, token, value.scalar.bytes, err));
  *dest = value;
  typed->read = true;
  return FC_OK;
}

// Skips elements if there are more than a tensor may have. If the shape stands
// after them, it is refused at its place. If it stood before them, it was
// checked before the dtype was known, so the elements are refused here.
static fc_status_t skip_excess(fc_frame_t *frame, const fc_typed_t *typed,
                               fc_json_token_t token, fc_error_t *err) {
  if (!typed->seen[FC_MEMBER_SHAPE]) {
    return fc_json_skip(&frame->reader, token, err);
  }
  return fc_fill_too_large(frame, fc_frame_element_limit(frame, typed->dtype),
                           err);
}

static fc_status_t read_data(fc_frame_t *frame, fc_typed_t *typed,
                             fc_json_token_t token, fc_value_t *dest,
                             fc_error_t *err) {
  fc_fill_t *fill = fc_fill_begin(frame, typed->dtype, FC_CODE_SHAPE_MISMATCH);
  size_t count, size;
  if (!fc_shape_count(typed->dims, typed->rank, typed->dtype, &count, &size) ||
      count > fill->limit) {
    return skip_excess(frame, typed, token, err);
  }
  bool flat = fc_fill_rank(frame, token, fill->dtype) == 1;
  if (flat) {
    fill->code = FC_CODE_DATA_LENGTH;
    fill->rank = 1;
    fill->dims[0] = (int64_t)count;
  } else {
    fill->rank = typed->rank;
    memcpy(fill->dims, typed->dims, (size_t)fill->rank * sizeof fill->dims[0]);
  }
  FC_TRY(fc_fill_place(frame, fill, err));
  FC_TRY(fc_fill_read(frame, fill, token, err));
  typed->read = true;
  return fc_fill_finish(frame, fill, typed->dims, typed->rank,
                        value_dtype(typed), dest, err);
}

// Fails because of an element that has bits above the width of its type.
static fc_status_t too_wide(fc_frame_t *frame, const fc_dtype_info_t *info,
                            size_t index, uint64_t bits, fc_error_t *err) {
  const unsigned unused = 64 - 8u * info->size;
  const bool is_signed = fc_dtype_is_signed(info);
  if (is_signed) bits = (uint64_t)((int64_t)(bits << unused) >> unused);
  char number[24];
  snprintf(number, sizeof number, is_signed ? "%" PRId64 : "%" PRIu64, bits);
  fc_status_t status = fc_json_fail(&frame->reader, err, FC_CODE_OUT_OF_RANGE,
                                    "element %zu is %s, which does not fit %s",
                                    index, number, info->text);
  if (fc_dtype_is_whole(info)) {
    const uint64_t low = fc_width_most(info, true);
    fc_error_expected(err, "%s in [%s%" PRIu64 ",%" PRIu64 "]", info->text,
                      low ? "-" : "", low, fc_width_most(info, false));
  } else {
    fc_error_expected(err, "bits of %s in [0,%" PRIu64 "]", info->text,
                      fc_width_cut(info, UINT64_MAX));
  }
  return status;
}

// Finds the first element whose bits above the width are not those of its type;
// `count` if there is none.
static size_t find_wide(const fc_dtype_info_t *info, const uint8_t *data,
                        size_t count) {
  size_t i = 0;
  if (info->size == 1) {
    while (i < count && fc_width_extend_byte(info, data[i]) == data[i]) i++;
    return i;
  }
  const uint64_t mask = UINT64_MAX >> (64 - 8u * info->size);
  for (; i < count; i++) {
    const uint64_t bits = fc_width_load(info, data + i * info->size);
    if ((fc_width_extend(info, bits) & mask) != bits) break;
  }
  return i;
}

// Checks booleans and elements that have fewer bits than their bytes, because the bytes
// can hold values that the type does not have.
static fc_status_t check_bytes(fc_frame_t *frame, fc_dtype_t dtype,
                               const uint8_t *data, size_t count,
                               fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->bits >= 8u * info->size) return FC_OK;
  for (size_t i = 0; i < count; i += FC_STOP_STEP) {
    if (i) FC_TRY(fc_stop_look(&frame->stop, err));
    const size_t step = count - i < FC_STOP_STEP ? count - i : FC_STOP_STEP;
    const size_t wide = i + find_wide(info, data + i * info->size, step);
    if (wide == i + step) continue;
    return too_wide(frame, info, wide,
                    fc_width_load(info, data + wide * info->size), err);
  }
  return FC_OK;
}

static fc_status_t wrong_bytes(fc_frame_t *frame, size_t size, size_t wanted,
                               fc_error_t *err) {
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_DATA_LENGTH,
                   "%zu bytes for a shape of %zu bytes", size, wanted);
  fc_error_expected(err, "%zu bytes", wanted);
  return status;
}

static fc_status_t read_b64(fc_frame_t *frame, fc_typed_t *typed,
                            fc_json_token_t token, fc_value_t *dest,
                            fc_error_t *err) {
  if (token != FC_JSON_STRING) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "a base64 string", err);
  }
  fc_fill_t *fill = fc_fill_begin(frame, typed->dtype, FC_CODE_DATA_LENGTH);
  size_t count, size;
  if (!fc_shape_count(typed->dims, typed->rank, typed->dtype, &count, &size) ||
      count > fill->limit) {
    return skip_excess(frame, typed, token, err);
  }
  fc_str_t text;  // the text may have escapes: "\/" is legal
  FC_TRY(fc_read_text(frame, &text, err));
  void *memory = NULL;
  size_t placed = text.size / 4 * 3, decoded = 0;
  FC_TRY(fc_frame_place(frame, typed->dtype, placed, &memory, err));
  fc_status_t status =
      fc_base64_decode(text, memory, &frame->stop, &decoded, err);
  if (status != FC_OK) return fc_json_locate(&frame->reader, status, err);
  if (decoded != size) return wrong_bytes(frame, decoded, size, err);
  FC_TRY(check_bytes(frame, typed->dtype, memory, count, err));
  fill->data = memory;
  fill->size = 1;  // from here on, elements of `fill` are bytes
  fill->count = size;
  fill->capacity = placed;
  typed->read = true;
  return fc_fill_finish(frame, fill, typed->dims, typed->rank,
                        value_dtype(typed), dest, err);
}

static fc_status_t read_payload(fc_frame_t *frame, fc_typed_t *typed,
                                int member, fc_json_token_t token,
                                fc_value_t *dest, fc_error_t *err) {
  int other = member == FC_MEMBER_DATA ? FC_MEMBER_B64 : FC_MEMBER_DATA;
  if (typed->seen[other]) {
    return fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                        "both 'data' and 'b64' are given");
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
               (!array || fc_dtype_info(typed->dtype)->part != typed->dtype);
  if (alone) return read_scalar_data(frame, typed, token, dest, err);
  return fc_json_skip(&frame->reader, token, err);
}

fc_status_t fc_typed_read(fc_frame_t *frame, fc_typed_t *typed, int member,
                          fc_value_t *dest, fc_error_t *err) {
  fc_json_token_t token;
  if (typed->seen[member]) {
    return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                        "'%s' is given twice", typed->members[member].data);
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
      fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                   "a typed value has no member '%s'%s", shown, hint);
  fc_error_expected(err, "dtype, shape, data or b64");
  fc_error_got(err, name);
  return status;
}

static fc_status_t read_member(fc_frame_t *frame, fc_typed_t *typed,
                               fc_value_t *dest, fc_error_t *err) {
  const int member = fc_typed_member(&frame->reader, typed);
  if (member < 0) return unknown_member(frame, err);
  return fc_typed_read(frame, typed, member, dest, err);
}

// Makes the raw bytes the tensor's elements. Called when all members were read.
static fc_status_t take_raw(fc_frame_t *frame, fc_typed_t *typed,
                            fc_str_t bytes, fc_value_t *dest, fc_error_t *err) {
  if (typed->seen[FC_MEMBER_DATA] || typed->seen[FC_MEMBER_B64]) {
    return fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                        "the value is given twice: as text, and as raw bytes");
  }
  if (!typed->seen[FC_MEMBER_SHAPE])
    return fc_read_missing(frame, "shape", err);
  FC_TRY(fc_typed_take(frame, typed, bytes, dest, err));
  typed->read = true;
  return FC_OK;
}

fc_status_t fc_typed_decode(fc_frame_t *frame, const fc_op_t *op,
                            fc_value_t *dest, fc_error_t *err) {
  fc_typed_t typed;
  fc_str_t raw = {0};
  fc_typed_begin(&typed, op, kMembers);
  fc_json_token_t token = FC_JSON_KEY;
  while (token == FC_JSON_KEY) {
    if (!raw.data && fc_read_names_raw(frame)) {
      FC_TRY(fc_read_raw(frame, &raw, err));
    } else {
      FC_TRY(read_member(frame, &typed, dest, err));
    }
    FC_TRY(fc_json_next(&frame->reader, &token, err));
  }
  if (typed.dtype == FC_DTYPE_NONE) return fc_read_missing(frame, "dtype", err);
  if (raw.data) {
    FC_TRY(take_raw(frame, &typed, raw, dest, err));
  } else if (!typed.seen[FC_MEMBER_DATA] && !typed.seen[FC_MEMBER_B64]) {
    return fc_read_missing(frame, "data", err);
  }
  if (typed.read && op->rank > 0) fc_frame_bind_dims(frame, op, typed.dims);
  return typed.read ? FC_OK : fc_read_missing(frame, "shape", err);
}

fc_status_t fc_typed_state(fc_frame_t *frame, fc_typed_t *typed,
                           fc_dtype_t dtype, int32_t rank, const int64_t *dims,
                           fc_error_t *err) {
  const fc_op_t *op = typed->op;
  const fc_dtype_info_t *declared = fc_dtype_info(op->dtype);
  const fc_dtype_info_t *stated = fc_dtype_info(dtype);
  // File formats have one kind of signed integer, which is read as iN. So iN also
  // fits a declared siN.
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
    return fc_fill_too_large(frame, limit, err);
  }
  if (bytes.size == size) return FC_OK;
  return wrong_bytes(frame, bytes.size, size, err);
}

fc_status_t fc_typed_take(fc_frame_t *frame, fc_typed_t *typed, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err) {
  fc_fill_t *fill = fc_fill_begin(frame, typed->dtype, FC_CODE_DATA_LENGTH);
  size_t count = 0;
  FC_TRY(fc_typed_measure(frame, typed, bytes, &count, err));
  const size_t size = bytes.size;
  const uint8_t *data = (const uint8_t *)bytes.data;
  FC_TRY(check_bytes(frame, typed->dtype, data, count, err));
  const size_t alignment = frame->plan->signature->alignment;
  fill->size = 1;  // from here on, elements of `fill` are bytes
  fill->count = fill->capacity = size;
  fill->data = (uint8_t *)(uintptr_t)data;
  if ((uintptr_t)data % alignment ||
      (uintptr_t)data % fc_dtype_size(typed->dtype)) {
    void *memory = NULL;
    FC_TRY(fc_frame_place(frame, typed->dtype, size, &memory, err));
    FC_TRY(fc_frame_copy(frame, memory, bytes.data, size, err));
    frame->copied += size;
    fc_frame_commit(frame, memory, size, size);
    fill->data = memory;
  }
  return fc_fill_hand_over(frame, fill, typed->dims, typed->rank,
                           value_dtype(typed), dest, err);
}
