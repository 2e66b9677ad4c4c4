// SPDX-License-Identifier: Apache-2.0
//
// Writes flat results as a PredictResponse. A tensor's elements are in the field of their
// type, because many programs read no other field.
#include "marshal/message_value.h"
#include "marshal/oip_read.h"
#include "marshal/tf_message.h"

enum { ANSWER_OUTPUTS = 1, ANSWER_SPEC };

// The most bytes of an answer, as for ModelInferResponse (message_write.c).
#define ANSWER_MAX ((uint64_t)INT32_MAX)

// ---------------------------------------------------------------------------
// ModelSpec

bool fc_tf_message_version(fc_str_t version, uint64_t *out_number) {
  uint64_t number = 0;
  if (!version.size || version.size > 18) return false;
  for (size_t i = 0; i < version.size; i++) {
    if (version.data[i] < '0' || version.data[i] > '9') return false;
    number = 10 * number + (uint64_t)(version.data[i] - '0');
  }
  *out_number = number;
  return true;
}

fc_status_t fc_tf_message_put_spec(fc_sink_t *sink, uint32_t number,
                                   fc_str_t model, fc_str_t version,
                                   fc_error_t *err) {
  uint64_t value = 0;
  const fc_str_t signature = FC_STR("serving_default");
  const bool is_number = fc_tf_message_version(version, &value);
  const size_t inner = value ? fc_proto_value_size(1, value) : 0;
  FC_TRY(
      fc_proto_put_head(sink, number,
                        fc_proto_bytes_size(1, model.size) +
                            (is_number ? fc_proto_bytes_size(2, inner)
                                       : fc_proto_bytes_size(4, version.size)) +
                            fc_proto_bytes_size(3, signature.size),
                        err));
  FC_TRY(fc_proto_put_bytes(sink, 1, model, err));
  if (is_number) {
    FC_TRY(fc_proto_put_head(sink, 2, inner, err));
    FC_TRY(fc_proto_put_value(sink, 1, value, err));
  }
  FC_TRY(fc_proto_put_bytes(sink, 3, signature, err));
  return is_number ? FC_OK : fc_proto_put_bytes(sink, 4, version, err);
}

// ---------------------------------------------------------------------------
// Elements

typedef struct output_t {
  const fc_tf_type_t *type;
  fc_str_t name;
  int32_t rank;
  const int64_t *dims;
  uint64_t shape_size;     // of TensorShapeProto
  uint64_t elements_size;  // of the field or fields
  uint64_t packed;         // bytes after the head of packed elements
} output_t;

// Returns an element as the number that a varint encodes.
static uint64_t number_at(const fc_sent_t *sent, const fc_tf_type_t *type,
                          size_t width, size_t index) {
  uint64_t value = 0;
  memcpy(&value, (const char *)sent->tensor.data + index * width, width);
  if (!type->is_signed || width == 8) return value;
  const uint64_t sign = (uint64_t)1 << (8 * width - 1);
  return (value ^ sign) - sign;
}

// True when the field has the bytes of the tensor itself.
static bool is_raw(const output_t *output, size_t width) {
  return output->type->wire != FC_PROTO_VARINT ||
         (width == 1 && output->type->number == 10);
}

static fc_status_t measure(const fc_oip_answer_t *answer, const fc_sent_t *sent,
                           output_t *output, fc_error_t *err) {
  const uint8_t field = output->type->field;
  output->packed = sent->size;
  output->elements_size = 0;
  if (sent->texts) {
    for (size_t i = 0; i < sent->count; i++) {
      output->elements_size +=
          fc_proto_bytes_size(field, sent->texts[i].bytes.size);
    }
    return FC_OK;
  }
  const size_t width = fc_dtype_size(sent->tensor.dtype);
  if (!is_raw(output, width)) {
    output->packed = 0;
    for (size_t i = 0; i < sent->count; i++) {
      output->packed +=
          fc_proto_varint_size(number_at(sent, output->type, width, i));
      if (i % 16384 == 16383) {
        FC_TRY(fc_stop_look(answer->encoder.limited.stop, err));
      }
    }
  }
  if (sent->count)
    output->elements_size = fc_proto_bytes_size(field, output->packed);
  return FC_OK;
}

static fc_status_t write_elements(fc_oip_answer_t *answer,
                                  const fc_sent_t *sent, const output_t *output,
                                  bool last, fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  const uint8_t field = output->type->field;
  for (size_t i = 0; sent->texts && i < sent->count; i++) {
    FC_TRY(fc_proto_put_bytes(sink, field, sent->texts[i].bytes, err));
  }
  if (sent->texts || !sent->count) return FC_OK;
  const size_t width = fc_dtype_size(sent->tensor.dtype);
  FC_TRY(fc_proto_put_head(sink, field, output->packed, err));
  if (is_raw(output, width)) return fc_oip_write_raw(answer, sent, last, err);
  for (size_t i = 0; i < sent->count; i++) {
    FC_TRY(fc_proto_put_varint(sink, number_at(sent, output->type, width, i),
                               err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Tensors: entries {1 key, 2 {1 dtype, 2 {2 {1 size}}, elements}}

static size_t dim_size(int64_t dim) {
  return dim ? fc_proto_value_size(1, (uint64_t)dim) : 0;
}

static fc_status_t open_output(fc_oip_answer_t *answer, uint32_t place,
                               output_t *out, fc_error_t *err) {
  const uint32_t number = fc_oip_output_at(answer, place);
  fc_sent_t *sent = &answer->sent[place];
  const fc_model_tensor_t *output = &answer->oip->model->outputs[number];
  const char *datatype;
  FC_TRY(fc_oip_find_output(answer, number, sent, &datatype, err));
  // A single text has no dims, as in the metadata; texts that are elements have.
  const bool is_one = sent->texts && output->op->kind == FC_TYPE_BYTES;
  *out = (output_t){.type = fc_tf_type_named(datatype),
                    .name = output->name,
                    .rank = is_one ? 0 : sent->tensor.rank,
                    .dims = sent->tensor.shape};
  if (!out->type) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "result %u is of %s, which this protocol lacks",
                   answer->encoder.number, datatype);
  }
  for (int32_t i = 0; i < out->rank; i++) {
    const int64_t dim = out->dims ? out->dims[i] : (int64_t)sent->count;
    out->shape_size += fc_proto_bytes_size(2, dim_size(dim));
  }
  return measure(answer, sent, out, err);
}

static uint64_t tensor_size(const output_t *output) {
  return fc_proto_value_size(1, output->type->number) +
         fc_proto_bytes_size(2, output->shape_size) + output->elements_size;
}

static uint64_t entry_size(const output_t *output) {
  return fc_proto_bytes_size(1, output->name.size) +
         fc_proto_bytes_size(2, tensor_size(output));
}

static fc_status_t write_output(fc_oip_answer_t *answer, const fc_sent_t *sent,
                                const output_t *output, bool last,
                                fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  FC_TRY(fc_proto_put_head(sink, ANSWER_OUTPUTS, entry_size(output), err));
  FC_TRY(fc_proto_put_bytes(sink, 1, output->name, err));
  FC_TRY(fc_proto_put_head(sink, 2, tensor_size(output), err));
  FC_TRY(fc_proto_put_value(sink, 1, output->type->number, err));
  FC_TRY(fc_proto_put_head(sink, 2, output->shape_size, err));
  for (int32_t i = 0; i < output->rank; i++) {
    const int64_t dim = output->dims ? output->dims[i] : (int64_t)sent->count;
    FC_TRY(fc_proto_put_head(sink, 2, dim_size(dim), err));
    FC_TRY(fc_proto_put_value(sink, 1, (uint64_t)dim, err));
  }
  return write_elements(answer, sent, output, last, err);
}

static fc_status_t write_answer(fc_oip_answer_t *answer, fc_str_t model,
                                fc_str_t version, fc_error_t *err) {
  void *memory = NULL;
  uint64_t size = 0;
  FC_TRY(fc_frame_alloc(answer->encoder.frame, answer->count + (size_t)1,
                        sizeof(output_t), &memory, err));
  output_t *outputs = memory;
  for (uint32_t i = 0; i < answer->count; i++) {
    FC_TRY(open_output(answer, i, &outputs[i], err));
    size += entry_size(&outputs[i]);
    if (size < ANSWER_MAX) continue;
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the answer would exceed the 2 GiB of a message");
  }
  // The ModelSpec stands before the outputs, so that the last output can be sent from
  // where it lies.
  FC_TRY(fc_tf_message_put_spec(answer->encoder.sink, ANSWER_SPEC, model,
                                version, err));
  for (uint32_t i = 0; i < answer->count; i++) {
    FC_TRY(write_output(answer, &answer->sent[i], &outputs[i],
                        i + 1 == answer->count, err));
  }
  return FC_OK;
}

fc_status_t fc_tf_message_encode(fc_frame_t *frame, fc_str_t model,
                                 fc_str_t version, fc_sink_t *sink,
                                 fc_error_t *err) {
  fc_oip_answer_t answer;
  FC_TRY(fc_oip_answer_begin(&answer, frame, sink, err));
  return fc_encoder_end(&answer.encoder,
                        write_answer(&answer, model, version, err), err);
}
