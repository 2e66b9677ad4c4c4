// SPDX-License-Identifier: Apache-2.0
//
// Writes a call document that a function accepts, using only its signature.
#include "abi/print.h"
#include "abi/render.h"
#include "abi/walk.h"
#include "base/float_format.h"
#include "json/writer.h"

static fc_status_t put(fc_text_t *text, const char *what, fc_error_t *err) {
  return fc_sink_put(&text->sink, fc_str(what), err);
}

// True when the dim of this name must be 0. Nested arrays cannot express the
// size of a dim inside an empty dim. So the decoder takes 0 for the inner dim,
// and for each dim of the same name.
static bool is_nothing(const fc_signature_t *signature, int64_t name) {
  for (uint32_t i = 0; i < signature->node_count; i++) {
    const fc_type_t *type = &signature->nodes[i];
    if (type->kind != FC_TYPE_TENSOR) continue;
    bool empty = false;
    for (int32_t k = 0; k < type->rank; k++) {
      const int64_t dim = fc_signature_dims(signature, type)[k];
      if (empty && dim == name) return true;
      empty = empty || dim == 0;
    }
  }
  return false;
}

static int64_t size_of(const fc_signature_t *signature, int64_t dim) {
  if (dim >= 0) return dim;
  if (fc_dim_is_sized(signature, dim)) {
    return signature->sizes[fc_dim_name(dim)];
  }
  return fc_dim_is_named(dim) && is_nothing(signature, dim) ? 0 : 1;
}

// Returns an element that is 0. f8E8M0FNU has no zero: its element is 1, whose bits are
// the bias.
static const void *zero_of(fc_dtype_t dtype) {
  static const uint8_t zeros[16] = {0};
  static const uint8_t scale_one[1] = {127};
  return fc_float_is_positive(&fc_float_formats[dtype]) ? scale_one : zeros;
}

static void shape_of(const fc_signature_t *signature, const fc_type_t *type,
                     int32_t *out_rank, int64_t *shape) {
  *out_rank = type->rank < 0 ? 1 : type->rank;
  for (int32_t i = 0; i < *out_rank; i++) {
    shape[i] = type->rank < 0
                   ? 1
                   : size_of(signature, fc_signature_dims(signature, type)[i]);
  }
}

static fc_status_t put_zeros(const fc_signature_t *signature,
                             const fc_type_t *type, fc_text_t *text,
                             fc_error_t *err) {
  // Strides of 0: all elements lie at the same address.
  static const int64_t strides[FC_RANK_MAX] = {0};
  int64_t shape[FC_RANK_MAX];
  int32_t rank;
  shape_of(signature, type, &rank, shape);
  return fc_json_write_array(&text->sink, (fc_dtype_t)type->dtype, rank, shape,
                             strides, zero_of((fc_dtype_t)type->dtype), false,
                             err);
}

// Writes a tensor of f32 that says its type and shape, for a leaf whose element type, or
// whose whole type, is not known.
static fc_status_t put_typed(const fc_signature_t *signature,
                             const fc_type_t *type, fc_text_t *text,
                             fc_error_t *err) {
  int64_t shape[FC_RANK_MAX] = {1};
  int32_t rank = 1;
  if (type->kind == FC_TYPE_TENSOR) shape_of(signature, type, &rank, shape);
  uint64_t count = 1;
  FC_TRY(put(text, "{\"dtype\":\"f32\",\"shape\":[", err));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(put(text, ",", err));
    FC_TRY(fc_json_write_i64(&text->sink, shape[i], err));
    if (__builtin_mul_overflow(count, (uint64_t)shape[i], &count)) {
      count = UINT64_MAX;  // more elements than any text can have
    }
  }
  FC_TRY(put(text, "],\"data\":[", err));
  for (uint64_t i = 0; i < count; i++) {
    FC_TRY(put(text, i ? ",0.0" : "0.0", err));
  }
  return put(text, "]}", err);
}

static fc_status_t put_open(const fc_signature_t *signature,
                            const fc_type_t *type, fc_text_t *text,
                            fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return fc_json_write_element(&text->sink, (fc_dtype_t)type->dtype,
                                   zero_of((fc_dtype_t)type->dtype), false,
                                   err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      if (type->dtype == FC_DTYPE_NONE) {
        return put_typed(signature, type, text, err);
      }
      return put_zeros(signature, type, text, err);
    case FC_TYPE_UNKNOWN:
      return put_typed(signature, type, text, err);
    case FC_TYPE_BYTES:
      return put(text, "\"\"", err);
    case FC_TYPE_LIST:
    case FC_TYPE_TUPLE:
      return put(text, "[", err);
    case FC_TYPE_DICT:
      return put(text, "{", err);
    case FC_TYPE_REFARRAY:
      return FC_OK;  // put_repeated writes it after its element
    default:
      return put(text, "null", err);
  }
}

// Puts brackets around the element of an array of references, and repeats it as
// often as the shape says. The element was written at `start`.
static fc_status_t put_repeated(const fc_signature_t *signature,
                                const fc_type_t *type, size_t start,
                                fc_text_t *text, fc_error_t *err) {
  int64_t shape[FC_RANK_MAX], index[FC_RANK_MAX] = {0};
  int32_t rank;
  shape_of(signature, type, &rank, shape);
  fc_text_t element;
  fc_text_init(&element, signature->allocator, FC_EXAMPLE_SIZE_MAX);
  fc_str_t written = fc_text_str(text);
  fc_status_t status =
      fc_sink_put(&element.sink,
                  fc_str_make(written.data + start, written.size - start), err);
  text->sink.cursor = text->data + start;
  // `depth` counts the brackets that are open. Each turn of the loop writes one
  // bracket, comma or element.
  int32_t depth = 0;
  bool up = false;  // an element or a bracket at `depth` has just been written
  while (status == FC_OK) {
    if (up) {
      if (!depth) break;
      if (++index[depth - 1] < shape[depth - 1]) {
        status = put(text, ",", err);
        up = false;
      } else {
        status = put(text, "]", err);
        depth--;
      }
    } else if (depth == rank) {
      status = fc_sink_put(&text->sink, fc_text_str(&element), err);
      up = true;
    } else {
      status = put(text, shape[depth] ? "[" : "[]", err);
      up = shape[depth] == 0;
      index[depth] = 0;
      depth += !up;
    }
  }
  fc_text_deinit(&element);
  return status;
}

static fc_status_t put_close(const fc_signature_t *signature,
                             const fc_type_t *type, size_t start,
                             fc_text_t *text, fc_error_t *err) {
  if (type->kind == FC_TYPE_REFARRAY) {
    return put_repeated(signature, type, start, text, err);
  }
  return put(text, type->kind == FC_TYPE_DICT ? "}" : "]", err);
}

static fc_status_t put_value(const fc_signature_t *signature, uint32_t node,
                             fc_text_t *text, fc_error_t *err) {
  size_t starts[FC_TYPE_DEPTH_MAX + 1];
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    if (walk.leave) {
      FC_TRY(put_close(signature, walk.type, starts[walk.depth], text, err));
      continue;
    }
    if (walk.index) FC_TRY(put(text, ",", err));
    if (walk.parent && walk.parent->kind == FC_TYPE_DICT) {
      FC_TRY(fc_json_write_string(
          &text->sink, fc_signature_text(signature, walk.type->key), err));
      FC_TRY(put(text, ":", err));
    }
    starts[walk.depth] = fc_text_str(text).size;
    FC_TRY(put_open(signature, walk.type, text, err));
  }
  return FC_OK;
}

// True when the arguments can be sent by name: there are arguments to send, and each
// may be given by its name.
static bool is_by_name(const fc_signature_t *signature) {
  bool any = false;
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    if (!fc_param_is_sent(&at.param)) continue;
    bool root_key = fc_signature_root(signature) != NULL;
    if (!at.param.keyword || (!root_key && !at.param.name.size)) return false;
    any = true;
  }
  return any;
}

static fc_status_t put_arguments(const fc_signature_t *signature,
                                 fc_text_t *text, fc_error_t *err) {
  bool by_name = is_by_name(signature);
  bool any = false;
  FC_TRY(put(text, by_name ? "{\"kwargs\":{" : "{\"args\":[", err));
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    if (!fc_param_is_sent(&at.param)) continue;
    if (any) FC_TRY(put(text, ",", err));
    any = true;
    if (by_name) {
      FC_TRY(fc_json_write_string(
          &text->sink, fc_signature_text(signature, at.param.name), err));
      FC_TRY(put(text, ":", err));
    }
    FC_TRY(put_value(signature, at.param.type, text, err));
  }
  return put(text, by_name ? "}}" : "]}", err);
}

fc_status_t fc_signature_print_example_below(const fc_signature_t *signature,
                                             size_t most, fc_sink_t *sink,
                                             fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, signature->allocator, most);
  fc_status_t status = put_arguments(signature, &text, err);
  if (status == FC_OK) status = fc_sink_put(sink, fc_text_str(&text), err);
  fc_text_deinit(&text);
  return status;
}

fc_status_t fc_signature_print_example(const fc_signature_t *signature,
                                       fc_sink_t *sink, fc_error_t *err) {
  return fc_signature_print_example_below(signature, FC_EXAMPLE_SIZE_MAX, sink,
                                          err);
}
