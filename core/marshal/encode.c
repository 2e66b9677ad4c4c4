// SPDX-License-Identifier: Apache-2.0
//
// ENCODE: flat results -> {"results":[…]}. Called by a worker. Every value is
// checked against its type before it is read. A value that does not fit is the
// function's fault: bad_result, with the number of the result. Nothing is
// recursive.
#include "base/utf8.h"
#include "base/width.h"
#include "json/writer.h"
#include "marshal/encoder.h"
#include "marshal/profiled.h"
#include "value/gather.h"

// Writers reserve more bytes than they use, so they may reserve this many bytes
// beyond the limit. The bytes that were written are compared with the limit itself.
#define RESERVE_SLACK ((size_t)4096)

// ---------------------------------------------------------------------------
// The limit

static size_t bytes_written(const fc_limited_t *limited) {
  return limited->written + (size_t)(limited->sink.cursor - limited->begin);
}

static fc_status_t over_limit(const fc_limited_t *limited, fc_error_t *err) {
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                 "the answer is over the limit of %zu bytes", limited->limit);
}

// Opens a span of at least `need` bytes. The span is at most FC_STOP_STEP bytes if `need`
// allows it. So the sink grows, and the deadline is checked, every FC_STOP_STEP bytes.
static void open_span(fc_limited_t *limited, size_t need) {
  fc_sink_t *inner = limited->inner;
  size_t left = limited->limit - limited->written + RESERVE_SLACK;
  const size_t step = need > FC_STOP_STEP ? need : FC_STOP_STEP;
  if (left > step) left = step;
  bool cut = (size_t)(inner->end - inner->cursor) > left;
  limited->begin = limited->sink.cursor = inner->cursor;
  limited->sink.end = cut ? inner->cursor + left : inner->end;
}

static fc_status_t close_span(fc_limited_t *limited, fc_error_t *err) {
  limited->written = bytes_written(limited);
  limited->begin = limited->inner->cursor = limited->sink.cursor;
  return limited->written > limited->limit ? over_limit(limited, err) : FC_OK;
}

static fc_status_t limited_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  fc_limited_t *limited = (fc_limited_t *)sink;
  FC_TRY(close_span(limited, err));
  FC_TRY(fc_stop_look(limited->stop, err));
  size_t left = limited->limit - limited->written + RESERVE_SLACK;
  if (need > left) return over_limit(limited, err);
  FC_TRY(fc_sink_reserve(limited->inner, need, err));
  open_span(limited, need);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Checks

static const char *value_name(fc_value_kind_t kind) {
  switch (kind) {
    case FC_VALUE_NULL:
      return "null";
    case FC_VALUE_SCALAR:
      return "a scalar";
    case FC_VALUE_TENSOR:
      return "a tensor";
    case FC_VALUE_LIST:
      return "a list";
    case FC_VALUE_BYTES:
      return "bytes";
    case FC_VALUE_OPAQUE:
      return "an opaque reference";
  }
  return "an unknown value";
}

static fc_status_t wrong_kind(const fc_encoder_t *encoder, const char *wanted,
                              const fc_value_t *value, fc_error_t *err) {
  return fc_fail(err, FC_CODE_BAD_RESULT, "result %u: expected %s, got %s",
                 encoder->number, wanted, value_name(value->kind));
}

static fc_status_t check_kind(const fc_encoder_t *encoder, fc_value_kind_t kind,
                              const fc_value_t *value, fc_error_t *err) {
  if (value->kind == kind) return FC_OK;
  return wrong_kind(encoder, value_name(kind), value, err);
}

// True when a result of declared type `declared` may have the type `actual`. Integers
// of one width are interchangeable, and booleans with integers of 8 bits, since modules
// say i8 for ui8 or a boolean. The declared type decides how the bits are written.
static bool dtype_agrees(fc_dtype_t declared, fc_dtype_t actual) {
  if (declared == actual) return true;
  const fc_dtype_info_t *a = fc_dtype_info(declared);
  const fc_dtype_info_t *b = fc_dtype_info(actual);
  if (!fc_dtype_is_whole(a) || !fc_dtype_is_whole(b)) return false;
  // A boolean takes a byte in memory.
  int a_bits = a->class_ == FC_DTYPE_CLASS_BOOL ? 8 : a->bits;
  int b_bits = b->class_ == FC_DTYPE_CLASS_BOOL ? 8 : b->bits;
  return a_bits == b_bits;
}

static fc_status_t check_dtype(const fc_encoder_t *encoder, fc_dtype_t declared,
                               fc_dtype_t actual, fc_error_t *err) {
  if (dtype_agrees(declared, actual)) return FC_OK;
  return fc_fail(err, FC_CODE_BAD_RESULT, "result %u: declared %s, got %s",
                 encoder->number, fc_dtype_info(declared)->text,
                 fc_dtype_info(actual)->text);
}

// Not inlined: only a call that fails has room for an error on its stack.
static __attribute__((noinline)) fc_status_t wrong_dim(
    const fc_encoder_t *encoder, const fc_op_t *op, int32_t dim, int64_t wanted,
    int64_t size, fc_error_t *err) {
  if (!fc_dim_is_named(op->dims[dim])) {
    return fc_fail(
        err, FC_CODE_BAD_RESULT, "result %u: dim %d is declared %lld, got %lld",
        encoder->number, (int)dim, (long long)wanted, (long long)size);
  }
  fc_error_t why;
  (void)fc_frame_fail_dim(encoder->frame, FC_CODE_BAD_RESULT, op, dim, size,
                          &why);
  return fc_fail(err, FC_CODE_BAD_RESULT, "result %u: %s", encoder->number,
                 why.message);
}

// Checks that each dim has the declared size. If a dim is named, its size must be that
// of its name in the arguments or in an earlier result.
static fc_status_t check_shape(const fc_encoder_t *encoder, const fc_op_t *op,
                               const fc_tensor_t *tensor, fc_error_t *err) {
  if (op->rank < 0) return FC_OK;
  if (tensor->rank != op->rank) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: declared %d dims, got %d", encoder->number,
                   (int)op->rank, (int)tensor->rank);
  }
  for (int32_t i = 0; i < op->rank; i++) {
    const int64_t size = tensor->shape[i];
    const int64_t wanted = fc_frame_dim(encoder->frame, op->dims[i]);
    if (wanted < 0) fc_frame_bind_dim(encoder->frame, op, i, size);
    else if (size != wanted)
      return wrong_dim(encoder, op, i, wanted, size, err);
  }
  return FC_OK;
}

// Checks whether `count` elements or empty rows can fit, before any is written.
// An element takes at least a digit and a comma, a row without elements two
// brackets.
static fc_status_t check_count(const fc_encoder_t *encoder, size_t count,
                               fc_error_t *err) {
  size_t left = encoder->limited.limit - bytes_written(&encoder->limited);
  return count > left / 2 + 1 ? over_limit(&encoder->limited, err) : FC_OK;
}

// Checks the shape and the address of a tensor, before any element is read.
static fc_status_t check_extent(const fc_encoder_t *encoder,
                                const fc_tensor_t *tensor, fc_error_t *err) {
  size_t count, size;
  bool sane =
      tensor->rank >= 0 && tensor->rank <= FC_RANK_MAX &&
      fc_dtype_size(tensor->dtype) > 0 &&
      fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count, &size);
  if (!sane || (count && !tensor->data)) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: its shape or address is invalid",
                   encoder->number);
  }
  return FC_OK;
}

static fc_status_t check_printed(const fc_encoder_t *encoder,
                                 const fc_tensor_t *tensor, fc_error_t *err) {
  return check_count(encoder, fc_frame_empty_rows(tensor->shape, tensor->rank),
                     err);
}

static fc_status_t check_b64(const fc_encoder_t *encoder, size_t size,
                             fc_error_t *err) {
  size_t left = encoder->limited.limit - bytes_written(&encoder->limited);
  return size / 3 > left / 4 ? over_limit(&encoder->limited, err) : FC_OK;
}

static fc_status_t check_text(const fc_encoder_t *encoder, fc_str_t bytes,
                              fc_error_t *err) {
  bool valid;
  FC_TRY(fc_utf8_check(bytes, encoder->limited.stop, &valid, err));
  if (valid) return FC_OK;
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "result %u: declared text, but it is not UTF-8",
                 encoder->number);
}

// ---------------------------------------------------------------------------
// Leaves

static fc_status_t put(fc_encoder_t *encoder, fc_str_t text, fc_error_t *err) {
  return fc_sink_put(encoder->sink, text, err);
}

static fc_status_t write_shape(fc_encoder_t *encoder, const int64_t *shape,
                               int32_t rank, fc_error_t *err) {
  FC_TRY(put(encoder, FC_STR("["), err));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(put(encoder, FC_STR(","), err));
    FC_TRY(fc_json_write_i64(encoder->sink, shape[i], err));
  }
  return put(encoder, FC_STR("]"), err);
}

static fc_status_t write_dtype(fc_encoder_t *encoder, fc_dtype_t dtype,
                               fc_error_t *err) {
  FC_TRY(put(encoder, FC_STR("{\"dtype\":\""), err));
  return put(encoder, fc_str(fc_dtype_info(dtype)->text), err);
}

static fc_status_t write_head(fc_encoder_t *encoder, fc_dtype_t dtype,
                              const fc_tensor_t *tensor, fc_str_t data,
                              fc_error_t *err) {
  FC_TRY(write_dtype(encoder, dtype, err));
  FC_TRY(put(encoder, FC_STR("\",\"shape\":"), err));
  FC_TRY(write_shape(encoder, tensor->shape, tensor->rank, err));
  return put(encoder, data, err);
}

// The bytes of a tensor in row-major order: its own memory, or a copy. Nothing is
// copied if the answer cannot hold it, as raw bytes or as JSON. The copy could need far
// more memory than the tensor has, since elements of a tensor can share memory.
static fc_status_t dense_bytes(fc_encoder_t *encoder, fc_dtype_t dtype,
                               const fc_tensor_t *tensor, fc_str_t *out_bytes,
                               fc_error_t *err) {
  size_t count, size;
  (void)fc_shape_count(tensor->shape, tensor->rank, dtype, &count, &size);
  *out_bytes = fc_str_make(tensor->data, size);
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const bool narrow = info->bits < 8u * info->size;
  if (size == 0 || (!narrow && fc_tensor_is_dense(tensor))) return FC_OK;
  if (size > encoder->limited.limit - bytes_written(&encoder->limited)) {
    FC_TRY(check_count(encoder, count, err));
  }
  uint8_t *copy = fc_arena_alloc(&encoder->frame->tensors, size, 64);
  if (!copy) return fc_fail_memory(err);
  FC_TRY(fc_gather(tensor, copy, encoder->limited.stop, err));
  if (narrow) fc_width_fill(info, copy, count);
  *out_bytes = fc_str_make((const char *)copy, size);
  return FC_OK;
}

fc_status_t fc_encoder_find(fc_encoder_t *encoder, const fc_leaf_way_t *way,
                            const fc_value_t **out_value, fc_error_t *err) {
  const fc_value_t *value = &encoder->frame->results[way->raw_index];
  encoder->number = way->param->number;
  for (uint32_t i = 0; i < way->step_count; i++) {
    if (value->kind != FC_VALUE_LIST || value->list.count != way->sizes[i]) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "result %u: expected a list of %u elements",
                     encoder->number, way->sizes[i]);
    }
    value = &value->list.items[way->steps[i]];
  }
  *out_value = value;
  return FC_OK;
}

fc_status_t fc_encoder_tensor(fc_encoder_t *encoder, const fc_op_t *op,
                              const fc_value_t *value, fc_tensor_t *out_tensor,
                              size_t *out_count, size_t *out_size,
                              fc_error_t *err) {
  static const int64_t kNoDims[1];
  fc_tensor_t tensor = {.dtype = op->dtype, .shape = kNoDims};
  fc_dtype_t actual = value->dtype, dtype = op->dtype;
  if (op->kind == FC_TYPE_SCALAR) {
    FC_TRY(check_kind(encoder, FC_VALUE_SCALAR, value, err));
    tensor.data = (void *)(uintptr_t)value->scalar.bytes;
  } else if (op->dtype == FC_DTYPE_NONE && value->kind != FC_VALUE_TENSOR) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "result %u is no tensor, which this form of an answer lacks",
                   encoder->number);
  } else {
    FC_TRY(check_kind(encoder, FC_VALUE_TENSOR, value, err));
    tensor = value->tensor;
    actual = tensor.dtype;
    FC_TRY(check_shape(encoder, op, &tensor, err));
    FC_TRY(check_extent(encoder, &tensor, err));
    if (dtype == FC_DTYPE_NONE) dtype = actual;
  }
  FC_TRY(check_dtype(encoder, dtype, actual, err));
  fc_str_t bytes;
  FC_TRY(dense_bytes(encoder, dtype, &tensor, &bytes, err));
  *out_tensor = tensor;
  out_tensor->dtype = dtype;
  out_tensor->strides = NULL;
  out_tensor->data = (void *)(uintptr_t)bytes.data;
  (void)fc_shape_count(tensor.shape, tensor.rank, dtype, out_count, out_size);
  return FC_OK;
}

fc_status_t fc_encoder_bytes(fc_encoder_t *encoder, const fc_op_t *op,
                             const fc_value_t *value, fc_str_t *out_bytes,
                             fc_error_t *err) {
  FC_TRY(check_kind(encoder, FC_VALUE_BYTES, value, err));
  if (op->flavor == FC_FLAVOR_UTF8)
    FC_TRY(check_text(encoder, value->bytes, err));
  *out_bytes = value->bytes;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Raw bytes after the document

// Writes "binary_data_size":n} and keeps the bytes, to write them after the document.
static fc_status_t defer(fc_encoder_t *encoder, fc_str_t bytes,
                         fc_error_t *err) {
  fc_frame_t *frame = encoder->frame;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, 1, sizeof(fc_raw_t), &memory, err));
  fc_raw_t *raw = memory;
  *raw = (fc_raw_t){.bytes = bytes};
  if (frame->raw_last) frame->raw_last->next = raw;
  else frame->raw_first = raw;
  frame->raw_last = raw;
  FC_TRY(put(encoder, FC_STR("\"binary_data_size\":"), err));
  FC_TRY(fc_json_write_u64(encoder->sink, bytes.size, err));
  return put(encoder, FC_STR("}"), err);
}

static fc_status_t write_raw(fc_encoder_t *encoder, fc_dtype_t dtype,
                             const fc_tensor_t *tensor, fc_error_t *err) {
  fc_str_t bytes;
  FC_TRY(check_extent(encoder, tensor, err));
  FC_TRY(dense_bytes(encoder, dtype, tensor, &bytes, err));
  FC_TRY(write_head(encoder, dtype, tensor, FC_STR(","), err));
  return defer(encoder, bytes, err);
}

// ---------------------------------------------------------------------------

static fc_status_t write_packed(fc_encoder_t *encoder, fc_dtype_t dtype,
                                const fc_tensor_t *tensor, fc_error_t *err) {
  fc_str_t bytes;
  size_t count, size;
  FC_TRY(check_extent(encoder, tensor, err));
  (void)fc_shape_count(tensor->shape, tensor->rank, dtype, &count, &size);
  FC_TRY(check_b64(encoder, size, err));
  FC_TRY(dense_bytes(encoder, dtype, tensor, &bytes, err));
  FC_TRY(write_head(encoder, dtype, tensor, FC_STR(",\"b64\":"), err));
  FC_TRY(fc_json_write_base64(encoder->sink, bytes.data, bytes.size, err));
  return put(encoder, FC_STR("}"), err);
}

static fc_status_t write_tensor(fc_encoder_t *encoder, fc_dtype_t dtype,
                                const fc_tensor_t *tensor, fc_error_t *err) {
  const fc_options_t *options = &encoder->frame->options;
  if (encoder->frame->raw_results) {
    return write_raw(encoder, dtype, tensor, err);
  }
  if (options->results == FC_RESULTS_B64) {
    return write_packed(encoder, dtype, tensor, err);
  }
  const bool typed = options->results == FC_RESULTS_TYPED;
  FC_TRY(check_extent(encoder, tensor, err));
  FC_TRY(check_printed(encoder, tensor, err));
  if (typed) {
    FC_TRY(write_head(encoder, dtype, tensor, FC_STR(",\"data\":"), err));
  }
  FC_TRY(fc_json_write_array(encoder->sink, dtype, tensor->rank, tensor->shape,
                             tensor->strides, tensor->data,
                             options->int64_string, err));
  return typed ? put(encoder, FC_STR("}"), err) : FC_OK;
}

static fc_status_t write_scalar(fc_encoder_t *encoder, fc_dtype_t dtype,
                                const fc_value_t *value, fc_error_t *err) {
  if (fc_dtype_size(dtype) == 0) {
    return fc_fail(err, FC_CODE_BAD_RESULT, "result %u: a scalar without type",
                   encoder->number);
  }
  return fc_json_write_element(encoder->sink, dtype, value->scalar.bytes,
                               encoder->frame->options.int64_string, err);
}

static fc_status_t write_b64(fc_encoder_t *encoder, fc_str_t bytes,
                             fc_error_t *err) {
  FC_TRY(check_b64(encoder, bytes.size, err));
  FC_TRY(put(encoder, FC_STR("{\"b64\":"), err));
  FC_TRY(fc_json_write_base64(encoder->sink, bytes.data, bytes.size, err));
  return put(encoder, FC_STR("}"), err);
}

static fc_status_t write_bytes(fc_encoder_t *encoder, const fc_op_t *op,
                               fc_str_t bytes, fc_error_t *err) {
  if (encoder->frame->raw_results && op->flavor != FC_FLAVOR_UTF8) {
    FC_TRY(put(encoder, FC_STR("{"), err));
    return defer(encoder, bytes, err);
  }
  if (op->flavor != FC_FLAVOR_UTF8) return write_b64(encoder, bytes, err);
  FC_TRY(check_text(encoder, bytes, err));
  size_t left = encoder->limited.limit - bytes_written(&encoder->limited);
  if (bytes.size > left) return over_limit(&encoder->limited, err);
  return fc_json_write_string(encoder->sink, bytes, err);
}

static fc_status_t write_opaque(fc_encoder_t *encoder, const fc_value_t *value,
                                fc_error_t *err) {
  char name[80];
  fc_escape(name, sizeof name, 64, value->opaque.type);
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                 "result %u: an opaque reference (%s): a session can 'keep' it",
                 encoder->number, name);
}

// ---------------------------------------------------------------------------
// Containers

static fc_status_t push(fc_encoder_t *encoder, fc_print_t level,
                        fc_error_t *err) {
  if (encoder->depth == FC_PRINT_DEPTH_MAX) {
    return fc_fail(err, FC_CODE_BAD_RESULT, "result %u: nested deeper than %d",
                   encoder->number, FC_PRINT_DEPTH_MAX);
  }
  encoder->frame->prints[encoder->depth++] = level;
  bool object = level.op && level.op->kind == FC_TYPE_DICT;
  return put(encoder, object ? FC_STR("{") : FC_STR("["), err);
}

static fc_status_t open_list(fc_encoder_t *encoder, const fc_op_t *op,
                             const fc_value_t *value, fc_error_t *err) {
  FC_TRY(check_kind(encoder, FC_VALUE_LIST, value, err));
  return push(encoder,
              (fc_print_t){.op = op,
                           .child = fc_op_child(op),
                           .items = value->list.items,
                           .count = value->list.count,
                           .close = "]"},
              err);
}

// Opens a TUPLE or DICT. NULL as `value`: its children are raw values.
static fc_status_t open_tuple(fc_encoder_t *encoder, const fc_op_t *op,
                              const fc_value_t *value, fc_error_t *err) {
  fc_print_t level = {.op = op,
                      .child = fc_op_child(op),
                      .count = op->child_count,
                      .close = op->kind == FC_TYPE_DICT ? "}" : "]"};
  if (!value) return push(encoder, level, err);
  FC_TRY(check_kind(encoder, FC_VALUE_LIST, value, err));
  if (value->list.count != op->child_count) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: declared %u elements, got %zu", encoder->number,
                   op->child_count, value->list.count);
  }
  level.items = value->list.items;
  return push(encoder, level, err);
}

// Opens a list without a declared type: as {"list":[…]} if the client wants types.
static fc_status_t open_dynamic(fc_encoder_t *encoder, const fc_value_t *value,
                                fc_error_t *err) {
  bool typed = encoder->frame->options.results != FC_RESULTS_NESTED;
  if (typed) FC_TRY(put(encoder, FC_STR("{\"list\":"), err));
  return push(encoder,
              (fc_print_t){.items = value->list.items,
                           .count = value->list.count,
                           .close = typed ? "]}" : "]"},
              err);
}

fc_status_t fc_encoder_check_list(const fc_encoder_t *encoder,
                                  const fc_value_t *value, fc_error_t *err) {
  return check_kind(encoder, FC_VALUE_LIST, value, err);
}

fc_status_t fc_encoder_dims(fc_encoder_t *encoder, const fc_op_t *op,
                            const fc_value_t *value, const int64_t **out_dims,
                            fc_error_t *err) {
  FC_TRY(check_kind(encoder, FC_VALUE_LIST, value, err));
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(encoder->frame, (size_t)op->rank, sizeof(int64_t),
                        &memory, err));
  int64_t *dims = memory;
  *out_dims = dims;
  const fc_value_t *both = value->list.items;
  bool lists = value->list.count == 2 && both[0].kind == FC_VALUE_LIST &&
               both[1].kind == FC_VALUE_LIST &&
               both[1].list.count == (size_t)op->rank;
  size_t count = 1, bytes = 0;
  for (int32_t i = 0; lists && i < op->rank; i++) {
    const fc_value_t *dim = &both[1].list.items[i];
    lists = dim->kind == FC_VALUE_SCALAR && dim->dtype == FC_DTYPE_I64 &&
            (op->dims[i] < 0 || op->dims[i] == dim->scalar.i64);
    dims[i] = dim->scalar.i64;
  }
  lists = lists && fc_shape_count(dims, op->rank, FC_DTYPE_I8, &count, &bytes);
  if (lists && count == both[0].list.count) {
    return check_count(encoder, fc_frame_empty_rows(dims, op->rank), err);
  }
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "result %u: an array of references is a list of elements and "
                 "a list of the declared dims",
                 encoder->number);
}

// Opens an array of references. Each dim is a level; all levels share one run
// of elements.
static fc_status_t open_array(fc_encoder_t *encoder, const fc_op_t *op,
                              const fc_value_t *value, fc_error_t *err) {
  const int64_t *dims;
  FC_TRY(fc_encoder_dims(encoder, op, value, &dims, err));
  return push(encoder,
              (fc_print_t){.op = op,
                           .child = fc_op_child(op),
                           .items = value->list.items[0].list.items,
                           .count = (size_t)dims[0],
                           .close = "]",
                           .dims = dims,
                           .rank = op->rank},
              err);
}

// ---------------------------------------------------------------------------
// Values

static fc_status_t write_dynamic(fc_encoder_t *encoder, const fc_value_t *value,
                                 fc_error_t *err) {
  bool typed = encoder->frame->options.results != FC_RESULTS_NESTED;
  switch (value->kind) {
    case FC_VALUE_NULL:
      return put(encoder, FC_STR("null"), err);
    case FC_VALUE_TENSOR:
      return write_tensor(encoder, value->tensor.dtype, &value->tensor, err);
    case FC_VALUE_LIST:
      return open_dynamic(encoder, value, err);
    case FC_VALUE_OPAQUE:
      return write_opaque(encoder, value, err);
    case FC_VALUE_SCALAR:
      if (typed) {
        FC_TRY(write_dtype(encoder, value->dtype, err));
        FC_TRY(put(encoder, FC_STR("\",\"data\":"), err));
      }
      FC_TRY(write_scalar(encoder, value->dtype, value, err));
      return typed ? put(encoder, FC_STR("}"), err) : FC_OK;
    case FC_VALUE_BYTES:
      if (typed) FC_TRY(put(encoder, FC_STR("{\"bytes\":"), err));
      FC_TRY(write_b64(encoder, value->bytes, err));
      return typed ? put(encoder, FC_STR("}"), err) : FC_OK;
  }
  return wrong_kind(encoder, "a value", value, err);
}

static fc_status_t write_typed_tensor(fc_encoder_t *encoder, const fc_op_t *op,
                                      const fc_value_t *value,
                                      fc_error_t *err) {
  FC_TRY(check_kind(encoder, FC_VALUE_TENSOR, value, err));
  const fc_tensor_t *tensor = &value->tensor;
  fc_dtype_t dtype = op->dtype ? op->dtype : tensor->dtype;
  FC_TRY(check_dtype(encoder, dtype, tensor->dtype, err));
  FC_TRY(check_shape(encoder, op, tensor, err));
  return write_tensor(encoder, dtype, tensor, err);
}

// Writes a leaf, or opens a container. NULL as `op`: the type was not declared,
// the value carries it. NULL as `value`: the parts are raw values.
static fc_status_t write_value(fc_encoder_t *encoder, const fc_op_t *op,
                               const fc_value_t *value, fc_error_t *err) {
  if (!op) return write_dynamic(encoder, value, err);
  if (!value) {
    if (op->kind == FC_TYPE_NULL) return put(encoder, FC_STR("null"), err);
    // The plan gives every leaf except null a raw index or a place in its container.
    FC_ASSERT(op->kind == FC_TYPE_TUPLE || op->kind == FC_TYPE_DICT);
    return open_tuple(encoder, op, NULL, err);
  }
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_SCALAR:
      FC_TRY(check_kind(encoder, FC_VALUE_SCALAR, value, err));
      FC_TRY(check_dtype(encoder, op->dtype, value->dtype, err));
      return write_scalar(encoder, op->dtype, value, err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return write_typed_tensor(encoder, op, value, err);
    case FC_TYPE_BYTES:
      FC_TRY(check_kind(encoder, FC_VALUE_BYTES, value, err));
      return write_bytes(encoder, op, value->bytes, err);
    case FC_TYPE_LIST:
      return open_list(encoder, op, value, err);
    case FC_TYPE_TUPLE:
    case FC_TYPE_DICT:
      return open_tuple(encoder, op, value, err);
    case FC_TYPE_REFARRAY:
      return open_array(encoder, op, value, err);
    case FC_TYPE_OPAQUE:
      if (value->kind == FC_VALUE_NULL) break;
      FC_TRY(check_kind(encoder, FC_VALUE_OPAQUE, value, err));
      return write_opaque(encoder, value, err);
    case FC_TYPE_NULL:  // a result nobody described
    case FC_TYPE_UNKNOWN:
      return write_dynamic(encoder, value, err);
  }
  return put(encoder, FC_STR("null"), err);
}

static const fc_value_t *value_of(const fc_encoder_t *encoder,
                                  const fc_op_t *op, const fc_value_t *items,
                                  size_t index) {
  if (op->raw >= 0) return &encoder->frame->results[op->raw];
  return items ? &items[index] : NULL;
}

// Opens the next inner array of an array of references.
static fc_status_t open_inner(fc_encoder_t *encoder, const fc_print_t *level,
                              size_t index, fc_error_t *err) {
  size_t stride = 1;
  for (int32_t i = 1; i < level->rank; i++) stride *= (size_t)level->dims[i];
  return push(
      encoder,
      (fc_print_t){.op = level->op,
                   .child = level->child,
                   .items = stride ? level->items + index * stride : NULL,
                   .count = (size_t)level->dims[1],
                   .close = "]",
                   .dims = level->dims + 1,
                   .rank = level->rank - 1},
      err);
}

static fc_status_t step(fc_encoder_t *encoder, fc_print_t *level,
                        fc_error_t *err) {
  if (level->next == level->count) {
    encoder->depth--;
    return put(encoder, fc_str(level->close), err);
  }
  size_t index = level->next++;
  if (index) FC_TRY(put(encoder, FC_STR(","), err));
  if (!level->op) return write_value(encoder, NULL, &level->items[index], err);
  const fc_op_t *child = level->child;
  switch (level->op->kind) {
    case FC_TYPE_DICT:
      FC_TRY(fc_json_write_string(encoder->sink, child->key, err));
      FC_TRY(put(encoder, FC_STR(":"), err));
      level->child = fc_op_next(child);
      break;
    case FC_TYPE_TUPLE:
      level->child = fc_op_next(child);
      break;
    case FC_TYPE_REFARRAY:
      if (level->rank > 1) return open_inner(encoder, level, index, err);
      break;
    default:
      break;
  }
  return write_value(encoder, child,
                     value_of(encoder, child, level->items, index), err);
}

fc_status_t fc_encoder_output(fc_encoder_t *encoder, uint32_t output,
                              fc_error_t *err) {
  const fc_frame_t *frame = encoder->frame;
  const fc_plan_param_t *param = &frame->plan->outputs[output];
  const fc_store_row_t *row =
      frame->stored ? frame->ways->output(frame, output) : NULL;
  if (row) return fc_store_print(row, encoder->sink, err);
  encoder->number = param->number;
  FC_TRY(write_value(encoder, param->op, value_of(encoder, param->op, NULL, 0),
                     err));
  while (encoder->depth) {
    FC_TRY(step(encoder, &encoder->frame->prints[encoder->depth - 1], err));
  }
  return FC_OK;
}

// Writes the results; the list and the object around it stay open.
static fc_status_t write_list(fc_encoder_t *encoder, fc_error_t *err) {
  const fc_plan_t *plan = encoder->frame->plan;
  FC_TRY(put(encoder, FC_STR("{\"results\":["), err));
  for (uint32_t i = 0; i < plan->output_count; i++) {
    if (i) FC_TRY(put(encoder, FC_STR(","), err));
    FC_TRY(fc_encoder_output(encoder, i, err));
  }
  return FC_OK;
}

fc_status_t fc_encoder_results(fc_encoder_t *encoder, fc_error_t *err) {
  FC_TRY(write_list(encoder, err));
  return put(encoder, FC_STR("]}"), err);
}

fc_status_t fc_encoder_profiled(fc_encoder_t *encoder, fc_error_t *err) {
  FC_TRY(write_list(encoder, err));
  FC_TRY(put(encoder, FC_STR("],\"profile\":"), err));
  FC_TRY(fc_profile_write(encoder->frame->profile, encoder->sink, err));
  return put(encoder, FC_STR("}"), err);
}

fc_status_t fc_encoder_begin(fc_encoder_t *encoder, fc_frame_t *frame,
                             fc_sink_t *sink, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  if (!plan) return fc_frame_fail_idle(err);
  size_t wanted = (size_t)plan->signature->raw_result_count + plan->final_count;
  if (frame->result_count != wanted) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "the function declares %zu results and returned %zu", wanted,
                   frame->result_count);
  }
  encoder->frame = frame;
  encoder->depth = 0;
  encoder->number = 0;
  encoder->limited = (fc_limited_t){.sink = {.grow = limited_grow},
                                    .inner = sink,
                                    .limit = frame->limits.result_size,
                                    .stop = &frame->stop};
  encoder->sink = &encoder->limited.sink;
  open_span(&encoder->limited, 0);
  return frame->stored ? frame->ways->stage(frame, err) : FC_OK;
}

fc_status_t fc_encoder_end(fc_encoder_t *encoder, fc_status_t status,
                           fc_error_t *err) {
  const fc_status_t closed = close_span(&encoder->limited, status ? NULL : err);
  if (status != FC_OK || closed != FC_OK) return status ? status : closed;
  fc_frame_t *frame = encoder->frame;
  if (frame->stored && !frame->commits_later) frame->ways->commit(frame);
  return FC_OK;
}

size_t fc_encoder_written(const fc_encoder_t *encoder) {
  return bytes_written(&encoder->limited);
}

fc_status_t fc_encoder_put_last(fc_encoder_t *encoder, fc_str_t bytes,
                                fc_error_t *err) {
  const fc_keeper_t *keeper = encoder->frame->keeper;
  fc_limited_t *limited = &encoder->limited;
  if (!keeper) return put(encoder, bytes, err);
  FC_TRY(close_span(limited, err));
  if (bytes.size > limited->limit - limited->written) {
    return over_limit(limited, err);
  }
  if (keeper->keep(keeper->context, limited->inner, bytes)) {
    limited->written += bytes.size;
    return FC_OK;
  }
  open_span(limited, 0);
  return put(encoder, bytes, err);
}

fc_status_t fc_frame_encode(fc_frame_t *frame, fc_sink_t *sink,
                            fc_error_t *err) {
  fc_encoder_t encoder;
  FC_TRY(fc_encoder_begin(&encoder, frame, sink, err));
  return fc_encoder_end(&encoder, fc_encoder_results(&encoder, err), err);
}

fc_status_t fc_frame_encode_profiled(fc_frame_t *frame, fc_sink_t *sink,
                                     fc_error_t *err) {
  fc_encoder_t encoder;
  FC_TRY(fc_encoder_begin(&encoder, frame, sink, err));
  return fc_encoder_end(&encoder, fc_encoder_profiled(&encoder, err), err);
}
