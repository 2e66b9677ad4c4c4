// SPDX-License-Identifier: Apache-2.0
//
// Reads a PredictRequest into flat values. Nothing recurses: each level of the message
// has its own function.
#include <stddef.h>
#include <stdio.h>

#include "marshal/message_value.h"
#include "marshal/oip_read.h"
#include "marshal/tf_message.h"

// Fields of PredictRequest, of an entry of its map, and of TensorProto.
enum { REQUEST_SPEC = 1, REQUEST_INPUTS, REQUEST_FILTER };
enum { ENTRY_KEY = 1, ENTRY_VALUE };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE, TENSOR_CONTENT = 4 };

static const fc_tf_type_t kTypes[] = {
    {"FP32", 1, 5, FC_PROTO_FIXED32, false},
    {"FP64", 2, 6, FC_PROTO_FIXED64, false},
    {"INT32", 3, 7, FC_PROTO_VARINT, true},
    {"UINT8", 4, 7, FC_PROTO_VARINT, false},
    {"INT16", 5, 7, FC_PROTO_VARINT, true},
    {"INT8", 6, 7, FC_PROTO_VARINT, true},
    {"BYTES", 7, 8, FC_PROTO_BYTES, false},
    {"INT64", 9, 10, FC_PROTO_VARINT, true},
    {"BOOL", 10, 11, FC_PROTO_VARINT, false},
    {"BF16", 14, 13, FC_PROTO_VARINT, false},
    {"UINT16", 17, 7, FC_PROTO_VARINT, false},
    {"FP16", 19, 13, FC_PROTO_VARINT, false},
    {"UINT32", 22, 16, FC_PROTO_VARINT, false},
    {"UINT64", 23, 17, FC_PROTO_VARINT, false},
};

const fc_tf_type_t *fc_tf_type_named(const char *oip) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (!strcmp(kTypes[i].oip, oip)) return &kTypes[i];
  }
  return NULL;
}

static const fc_tf_type_t *find_number(uint64_t number) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (kTypes[i].number == number) return &kTypes[i];
  }
  return NULL;
}

// ---------------------------------------------------------------------------
// ModelSpec: {1 name, 2 {1 version}, 3 signature_name, 4 version_label}

typedef struct spec_t {
  fc_str_t name;
  fc_str_t version;  // data NULL: none
  fc_str_t signature;
  fc_str_t label;
} spec_t;

static fc_status_t read_spec(fc_str_t message, spec_t *out_spec,
                             fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {1, FC_PROTO_TEXT, offsetof(spec_t, name)},
      {2, FC_PROTO_TEXT, offsetof(spec_t, version)},
      {3, FC_PROTO_TEXT, offsetof(spec_t, signature)},
      {4, FC_PROTO_TEXT, offsetof(spec_t, label)}};
  memset(out_spec, 0, sizeof *out_spec);
  return fc_proto_read(message, kRows, FC_ARRAY_COUNT(kRows), out_spec, err);
}

static fc_status_t check_signature(fc_str_t message, fc_error_t *err) {
  spec_t spec;
  FC_TRY(read_spec(message, &spec, err));
  if (!spec.signature.size ||
      fc_str_equal(spec.signature, FC_STR("serving_default"))) {
    return FC_OK;
  }
  const fc_status_t status =
      fc_fail(err, FC_CODE_UNKNOWN_FIELD,
              "a model has the one signature 'serving_default'");
  fc_error_expected(err, "serving_default");
  fc_error_got(err, spec.signature);
  return status;
}

static fc_status_t take_names(fc_str_t message, fc_message_names_t *out_names,
                              fc_error_t *err) {
  static const fc_proto_row_t kVersion = {1, FC_PROTO_VALUE, 0};
  spec_t spec;
  uint64_t version = 0;
  FC_TRY(read_spec(message, &spec, err));
  out_names->model = spec.name;
  out_names->version = spec.label;
  if (!spec.version.data) return FC_OK;
  FC_TRY(fc_proto_read(spec.version, &kVersion, 1, &version, err));
  const int size = snprintf(out_names->digits, sizeof out_names->digits, "%lld",
                            (long long)version);
  out_names->version = fc_str_make(out_names->digits, (size_t)size);
  return FC_OK;
}

fc_status_t fc_tf_message_names(fc_str_t message, bool is_all,
                                fc_message_names_t *out_names,
                                fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  *out_names = (fc_message_names_t){0};
  const fc_status_t status = fc_proto_next(&wire, &field, &more, err);
  if (status != FC_OK) return is_all ? status : FC_OK;
  out_names->complete = more || is_all;
  if (!more) return FC_OK;
  if (field.number == REQUEST_SPEC && field.type == FC_PROTO_BYTES) {
    return take_names(field.bytes, out_names, err);
  }
  return fc_fail(err, FC_CODE_BINARY_FRAMING,
                 "the model_spec does not stand in front");
}

// ---------------------------------------------------------------------------
// TensorProto: {1 dtype, 2 {2 {1 size}, 3 unknown_rank}, 4 tensor_content, …}

typedef struct tensor_t {
  uint64_t dtype;
  fc_str_t shape;
  fc_str_t content;
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
} tensor_t;

static fc_status_t read_dims(tensor_t *tensor, fc_error_t *err) {
  static const fc_proto_row_t kSize = {1, FC_PROTO_VALUE, 0};
  fc_proto_t wire = fc_proto_begin(tensor->shape);
  fc_proto_field_t field;
  bool more;
  for (;;) {
    uint64_t size = 0;
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number == 3 && field.value) {
      return fc_fail(err, FC_CODE_SHAPE_MISMATCH, "the shape is not known");
    }
    if (field.number != 2) continue;
    FC_TRY(fc_proto_read(field.bytes, &kSize, 1, &size, err));
    FC_TRY(fc_message_dim(size, tensor->dims, &tensor->rank, err));
  }
}

static fc_status_t read_tensor(fc_str_t message, tensor_t *out,
                               fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {TENSOR_DTYPE, FC_PROTO_VALUE, offsetof(tensor_t, dtype)},
      {TENSOR_SHAPE, FC_PROTO_TEXT, offsetof(tensor_t, shape)},
      {TENSOR_CONTENT, FC_PROTO_TEXT, offsetof(tensor_t, content)}};
  memset(out, 0, offsetof(tensor_t, dims));
  FC_TRY(fc_proto_read(message, kRows, FC_ARRAY_COUNT(kRows), out, err));
  return read_dims(out, err);
}

static fc_status_t refuse_type(const fc_model_tensor_t *input,
                               const fc_tf_type_t *type, uint64_t number,
                               fc_error_t *err) {
  const char *declared = fc_model_datatype(input->op);
  const fc_status_t status =
      type ? fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                     "its DataType is %llu, %s, declared %s",
                     (unsigned long long)number, type->oip, declared)
           : fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                     "its DataType is %llu, declared %s",
                     (unsigned long long)number, declared);
  fc_error_expected(err, "%s", declared);
  return status;
}

static fc_status_t read_value(fc_inputs_t *inputs,
                              const fc_model_tensor_t *input, fc_str_t message,
                              fc_value_t *out_value, fc_error_t *err) {
  tensor_t tensor;
  FC_TRY(read_tensor(message, &tensor, err));
  const fc_tf_type_t *type = find_number(tensor.dtype);
  const bool is_texts = type && type->wire == FC_PROTO_BYTES;
  fc_message_value_t sent = {
      .rank = tensor.rank,
      .dims = tensor.dims,
      .raw = tensor.content.size ? &tensor.content : NULL,
      .fields = message,
      .among_others = true};
  if (!type || (is_texts != fc_model_is_text(input->op) &&
                !fc_model_is_any(input->op))) {
    return refuse_type(input, type, tensor.dtype, err);
  }
  if (is_texts && sent.raw) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "byte strings come as string_val");
  }
  sent.elements = (fc_elements_t){type->field, type->wire, type->is_signed};
  if (!is_texts) {
    sent.dtype =
        fc_dtype_find_named(fc_str(type->oip), (fc_dtype_t)input->op->dtype);
  }
  return fc_message_value(inputs, input, &sent, out_value, err);
}

// ---------------------------------------------------------------------------
// The request

typedef struct entry_t {
  fc_str_t key;
  fc_str_t value;
} entry_t;

// Adds to an error which input it is about.
static fc_status_t point(fc_str_t name, fc_status_t status, fc_error_t *err) {
  char shown[80];
  if (!err || status == FC_OK) return status;
  fc_escape(shown, sizeof shown, 64, name);
  err->has_pointer = true;
  snprintf(err->pointer, sizeof err->pointer, "/inputs/%s", shown);
  return status;
}

static fc_status_t take_entry(fc_inputs_t *inputs, const entry_t *entry,
                              fc_error_t *err) {
  uint32_t number;
  fc_value_t value = {0};
  FC_TRY(fc_inputs_find(inputs, entry->key, &number, err));
  const fc_model_tensor_t *input = &inputs->model->inputs[number];
  FC_TRY(fc_inputs_name(inputs, input,
                        read_value(inputs, input, entry->value, &value, err),
                        err));
  return fc_inputs_store(inputs, number, value, err);
}

static fc_status_t take_input(fc_inputs_t *inputs, fc_str_t message,
                              fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {ENTRY_KEY, FC_PROTO_TEXT, offsetof(entry_t, key)},
      {ENTRY_VALUE, FC_PROTO_TEXT, offsetof(entry_t, value)}};
  entry_t entry = {.key = FC_STR(""), .value = FC_STR("")};
  FC_TRY(fc_proto_read(message, kRows, FC_ARRAY_COUNT(kRows), &entry, err));
  return point(entry.key, take_entry(inputs, &entry, err), err);
}

static fc_status_t take_filter(const fc_inputs_t *inputs, fc_oip_t *oip,
                               fc_str_t name, fc_error_t *err) {
  uint32_t number;
  FC_TRY(fc_oip_choose(inputs, oip, name, &number, err));
  fc_oip_ask(oip, number, FC_OIP_RAW);
  return FC_OK;
}

static fc_status_t read_fields(fc_inputs_t *inputs, fc_oip_t *oip,
                               fc_str_t body, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  bool more, first = true;
  for (;; first = false) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number > REQUEST_FILTER) continue;
    if (field.type != FC_PROTO_BYTES) {
      return fc_fail(err, FC_CODE_BINARY_FRAMING,
                     "a field of the request is of another type than its own");
    }
    if (field.number == REQUEST_INPUTS) {
      FC_TRY(take_input(inputs, field.bytes, err));
    } else if (field.number == REQUEST_FILTER) {
      FC_TRY(take_filter(inputs, oip, field.bytes, err));
    } else if (!first) {  // the routing code has read only the first
      return fc_fail(err, FC_CODE_BINARY_FRAMING,
                     "the model_spec stands in front, once");
    } else {
      FC_TRY(check_signature(field.bytes, err));
    }
  }
}

fc_status_t fc_tf_message_decode(fc_frame_t *frame, fc_str_t body,
                                 fc_error_t *err) {
  fc_inputs_t inputs;
  fc_oip_t *oip;
  FC_TRY(fc_oip_begin(frame, &inputs, &oip, err));
  fc_frame_read(frame, body.data, 0);
  FC_TRY(read_fields(&inputs, oip, body, err));
  FC_TRY(fc_inputs_check(&inputs, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}
