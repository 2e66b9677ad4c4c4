// SPDX-License-Identifier: Apache-2.0
//
// Reads the value of an input. Elements are counted before memory is allocated for them,
// so that the shape alone cannot request memory.
#include "marshal/message_value.h"

#include "marshal/strings.h"

fc_status_t fc_message_dim(uint64_t dim, int64_t dims[FC_RANK_MAX],
                           int32_t *rank, fc_error_t *err) {
  if (*rank == FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "the shape has more than %d dims", FC_RANK_MAX);
  }
  if (dim > INT64_MAX) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH, "a dim is negative: %lld",
                   (long long)dim);
  }
  dims[(*rank)++] = (int64_t)dim;
  return FC_OK;
}

// Finds the next field of elements; *out_more is false when there is none.
static fc_status_t next_field(const fc_message_value_t *sent, fc_proto_t *wire,
                              fc_proto_field_t *field, bool *out_more,
                              fc_error_t *err) {
  const fc_elements_t *of = &sent->elements;
  for (;;) {
    FC_TRY(fc_proto_next(wire, field, out_more, err));
    if (!*out_more) return FC_OK;
    if (field->number == of->number &&
        (field->type == FC_PROTO_BYTES || field->type == of->wire)) {
      return FC_OK;
    }
    if (sent->among_others && field->number != of->number) continue;
    if (!of->number) {
      return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                     "'%s' comes in raw_input_contents: the protocol has no "
                     "contents of it",
                     fc_dtype_info(sent->dtype)->text);
    }
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                   "the contents are of another type than '%s'",
                   sent->dtype ? fc_dtype_info(sent->dtype)->text : "BYTES");
  }
}

// Reads one element of a field: the next packed one, or the field's own value.
static fc_status_t next_element(const fc_elements_t *of, fc_proto_t *packed,
                                const fc_proto_field_t *field,
                                uint64_t *out_value, fc_error_t *err) {
  if (field->type != FC_PROTO_BYTES) {
    *out_value = field->value;
    return FC_OK;
  }
  if (of->wire == FC_PROTO_VARINT)
    return fc_proto_varint(packed, out_value, err);
  const size_t size = of->wire == FC_PROTO_FIXED32 ? 4 : 8;
  if (packed->left.size < size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "the contents end within an element");
  }
  *out_value = 0;
  for (size_t i = 0; i < size; i++) {
    *out_value |= (uint64_t)(uint8_t)packed->left.data[i] << (8 * i);
  }
  packed->left.data += size;
  packed->left.size -= size;
  return FC_OK;
}

static bool fits(const fc_elements_t *of, size_t size, uint64_t value) {
  if (of->wire != FC_PROTO_VARINT || size == 8) return true;
  const int64_t number = (int64_t)value, most = (int64_t)1 << (8 * size - 1);
  return of->is_signed ? number >= -most && number < most
                       : value < (uint64_t)most * 2;
}

static bool is_bool(const fc_message_value_t *sent) {
  return fc_dtype_info(sent->dtype)->class_ == FC_DTYPE_CLASS_BOOL;
}

// Reads the elements and counts them. If `out` is not NULL, also writes them there; it
// has room for as many as an earlier call counted.
static fc_status_t read_elements(fc_frame_t *frame,
                                 const fc_message_value_t *sent, uint8_t *out,
                                 size_t *in_out_count, fc_error_t *err) {
  const fc_elements_t *of = &sent->elements;
  const size_t size = fc_dtype_size(sent->dtype);
  fc_proto_t wire = fc_proto_begin(sent->fields);
  fc_proto_field_t field;
  size_t count = 0;
  bool more;
  for (;;) {
    FC_TRY(next_field(sent, &wire, &field, &more, err));
    if (!more) break;
    fc_proto_t packed = fc_proto_begin(field.bytes);
    while (field.type != FC_PROTO_BYTES || packed.left.size) {
      uint64_t value;
      FC_TRY(next_element(of, &packed, &field, &value, err));
      if (is_bool(sent)) value = value != 0;
      if (!fits(of, size, value)) {
        return fc_fail(err, FC_CODE_OUT_OF_RANGE, "%lld does not fit %s",
                       (long long)value, fc_dtype_info(sent->dtype)->text);
      }
      if (out) memcpy(out + count * size, &value, size);
      if (++count % 16384 == 0) FC_TRY(fc_stop_look(&frame->stop, err));
      if (field.type != FC_PROTO_BYTES) break;
    }
  }
  *in_out_count = count;
  return FC_OK;
}

// Converts the elements to raw bytes.
static fc_status_t unpack(fc_frame_t *frame, const fc_message_value_t *sent,
                          const fc_typed_t *typed, fc_str_t *out_bytes,
                          fc_error_t *err) {
  const size_t size = fc_dtype_size(sent->dtype);
  size_t count = 0, wanted = 0;
  FC_TRY(read_elements(frame, sent, NULL, &count, err));
  // fc_typed_measure uses only the size of the bytes.
  FC_TRY(fc_typed_measure(frame, typed, fc_str_make("", count * size), &wanted,
                          err));
  uint8_t *data = fc_arena_alloc(&frame->tensors, count * size + 1, 64);
  if (!data) return fc_fail_memory(err);
  FC_TRY(read_elements(frame, sent, data, &count, err));
  frame->copied += count * size;
  *out_bytes = fc_str_make((const char *)data, count * size);
  return FC_OK;
}

static fc_status_t read_tensor(fc_inputs_t *inputs,
                               const fc_model_tensor_t *tensor,
                               const fc_message_value_t *sent,
                               fc_value_t *out_value, fc_error_t *err) {
  static const fc_str_t kNone[FC_MEMBER_COUNT] = {{0}};
  fc_frame_t *frame = inputs->frame;
  fc_op_t op;
  fc_typed_t typed;
  fc_inputs_open(tensor, kNone, &op, &typed);
  FC_TRY(
      fc_typed_state(frame, &typed, sent->dtype, sent->rank, sent->dims, err));
  if (fc_inputs_is_one(tensor)) {
    FC_TRY(fc_inputs_check_one(inputs, &typed, err));
  }
  fc_str_t bytes = sent->raw ? *sent->raw : FC_STR("");
  if (!sent->raw) FC_TRY(unpack(frame, sent, &typed, &bytes, err));
  return fc_typed_take(frame, &typed, bytes, out_value, err);
}

// ---------------------------------------------------------------------------
// Texts

static fc_status_t take_texts(fc_frame_t *frame, const fc_message_value_t *sent,
                              fc_strings_t *texts, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(sent->fields);
  fc_proto_field_t field;
  bool more;
  if (sent->raw) return fc_strings_take(frame, texts, *sent->raw, err);
  for (;;) {
    FC_TRY(next_field(sent, &wire, &field, &more, err));
    if (!more) return FC_OK;
    FC_TRY(fc_strings_add(frame, texts, field.bytes, err));
  }
}

static fc_status_t read_texts(fc_inputs_t *inputs,
                              const fc_model_tensor_t *tensor,
                              const fc_message_value_t *sent,
                              fc_value_t *out_value, fc_error_t *err) {
  fc_typed_t typed = {.rank = sent->rank};
  const bool any = fc_model_is_any(tensor->op);
  fc_strings_t texts;
  fc_strings_begin(&texts, any ? fc_model_texts() : tensor->op);
  memcpy(typed.dims, sent->dims, (size_t)sent->rank * sizeof *typed.dims);
  if (tensor->op->kind == FC_TYPE_BYTES) {
    FC_TRY(fc_strings_check_one(inputs->frame, &typed, err));
  }
  FC_TRY(take_texts(inputs->frame, sent, &texts, err));
  FC_TRY(fc_strings_finish(inputs->frame, &texts, &typed, out_value, err));
  if (any && texts.count == 1) *out_value = texts.items[0];
  return FC_OK;
}

fc_status_t fc_message_value(fc_inputs_t *inputs,
                             const fc_model_tensor_t *tensor,
                             const fc_message_value_t *sent,
                             fc_value_t *out_value, fc_error_t *err) {
  return (sent->dtype ? read_tensor : read_texts)(inputs, tensor, sent,
                                                  out_value, err);
}
