// SPDX-License-Identifier: Apache-2.0
//
// Reads a ModelInferRequest into flat values. Fields are read one by one, so raw tensors
// stay where they lie. Nothing recurses: each level of the message has its own function.
#include <stddef.h>
#include <stdio.h>

#include "marshal/message.h"
#include "marshal/message_value.h"
#include "marshal/oip_read.h"
#include "marshal/read.h"

// Field numbers in ModelInferRequest, InferInputTensor and InferRequestedOutputTensor.
enum {
  REQUEST_MODEL = 1,
  REQUEST_VERSION,
  REQUEST_ID,
  REQUEST_PARAMETERS,
  REQUEST_INPUTS,
  REQUEST_OUTPUTS,
  REQUEST_RAW,
};
enum {
  INPUT_NAME = 1,
  INPUT_DATATYPE,
  INPUT_SHAPE,
  INPUT_PARAMETERS,
  INPUT_CONTENTS
};
enum { OUTPUT_NAME = 1, OUTPUT_PARAMETERS };

typedef struct request_t {
  fc_frame_t *frame;
  fc_oip_t *oip;
  fc_inputs_t inputs;
  fc_proto_t raws;  // finds the next raw entry
  bool has_raw;
} request_t;

typedef struct input_t {
  fc_str_t name;
  fc_str_t datatype;
  fc_str_t contents;  // data NULL: none
  fc_str_t ref;       // a value of the session; data NULL: none
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
} input_t;

static fc_status_t fail(fc_error_t *err, const char *message) {
  return fc_fail(err, FC_CODE_BINARY_FRAMING, "%s", message);
}

static fc_status_t not_once(fc_error_t *err) {
  return fail(err, "the model's name and version stand in front, once");
}

// Adds to an error which input or output it is about.
static fc_status_t point(const char *where, uint32_t number, fc_status_t status,
                         fc_error_t *err) {
  if (!err || status == FC_OK) return status;
  err->has_pointer = true;
  snprintf(err->pointer, sizeof err->pointer, "/%s/%u", where, number);
  return status;
}

// ---------------------------------------------------------------------------
// Parameters: entries of a map, {1 key, 2 {1 bool, 2 int64, 3 string, …}}

typedef struct parameter_t {
  fc_str_t key;
  fc_str_t choice;
  uint64_t number;  // of any type except double; 0 if it is a string
  fc_str_t text;
} parameter_t;

static fc_status_t read_parameter(fc_str_t entry, parameter_t *out,
                                  fc_error_t *err) {
  static const fc_proto_row_t kEntry[] = {
      {1, FC_PROTO_TEXT, offsetof(parameter_t, key)},
      {2, FC_PROTO_TEXT, offsetof(parameter_t, choice)}};
  static const fc_proto_row_t kChoice[] = {
      {1, FC_PROTO_VALUE, offsetof(parameter_t, number)},
      {2, FC_PROTO_VALUE, offsetof(parameter_t, number)},
      {3, FC_PROTO_TEXT, offsetof(parameter_t, text)},
      {5, FC_PROTO_VALUE, offsetof(parameter_t, number)}};
  *out = (parameter_t){0};
  FC_TRY(fc_proto_read(entry, kEntry, FC_ARRAY_COUNT(kEntry), out, err));
  return fc_proto_read(out->choice, kChoice, FC_ARRAY_COUNT(kChoice), out, err);
}

static bool is_key(const parameter_t *parameter, const char *key) {
  return fc_str_equal(parameter->key, fc_str(key));
}

// Reads an entry of the request's parameters. Unknown parameters are ignored, as in a
// JSON document.
static fc_status_t take_parameter(const request_t *request, fc_str_t entry,
                                  fc_error_t *err) {
  parameter_t parameter;
  FC_TRY(read_parameter(entry, &parameter, err));
  const bool says = parameter.number || parameter.text.size;
  const bool about = is_key(&parameter, "sequence_id") ||
                     is_key(&parameter, "sequence_start") ||
                     is_key(&parameter, "sequence_end");
  if (!about || !says || request->frame->in_sequence) return FC_OK;
  return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                 "the parameters of a sequence stand in front of the inputs, "
                 "in a message that is not compressed");
}

static fc_status_t take_input_parameter(input_t *input, fc_str_t entry,
                                        fc_error_t *err) {
  parameter_t parameter;
  FC_TRY(read_parameter(entry, &parameter, err));
  if (is_key(&parameter, "shared_memory_region")) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "regions of shared memory are not read or written");
  }
  if (is_key(&parameter, "ref")) input->ref = parameter.text;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Inputs

// Reads dims from one field, which is either packed or a single dim.
static fc_status_t take_shape(input_t *input, const fc_proto_field_t *field,
                              fc_error_t *err) {
  fc_proto_t packed = fc_proto_begin(field->bytes);
  if (field->type != FC_PROTO_BYTES) {
    return fc_message_dim(field->value, input->dims, &input->rank, err);
  }
  while (packed.left.size) {
    uint64_t dim;
    FC_TRY(fc_proto_varint(&packed, &dim, err));
    FC_TRY(fc_message_dim(dim, input->dims, &input->rank, err));
  }
  return FC_OK;
}

static fc_status_t read_input(fc_str_t message, input_t *out, fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {INPUT_NAME, FC_PROTO_TEXT, offsetof(input_t, name)},
      {INPUT_DATATYPE, FC_PROTO_TEXT, offsetof(input_t, datatype)},
      {INPUT_CONTENTS, FC_PROTO_TEXT, offsetof(input_t, contents)}};
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  memset(out, 0, offsetof(input_t, dims));
  FC_TRY(fc_proto_read(message, kRows, FC_ARRAY_COUNT(kRows), out, err));
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number == INPUT_SHAPE) FC_TRY(take_shape(out, &field, err));
    if (field.number == INPUT_PARAMETERS) {
      FC_TRY(take_input_parameter(out, field.bytes, err));
    }
  }
}

// Finds the next raw entry of the request.
static fc_status_t take_raw(request_t *request, fc_str_t *out_bytes,
                            fc_error_t *err) {
  fc_proto_field_t field;
  bool more;
  for (;;) {
    FC_TRY(fc_proto_next(&request->raws, &field, &more, err));
    if (!more) return fail(err, "there are fewer raw entries than inputs");
    if (field.number != REQUEST_RAW) continue;
    *out_bytes = field.bytes;
    return FC_OK;
  }
}

// ---------------------------------------------------------------------------
// Values

static fc_status_t refuse_type(const fc_model_tensor_t *tensor, fc_str_t name,
                               fc_error_t *err) {
  char shown[80];
  const char *declared = fc_model_datatype(tensor->op);
  fc_escape(shown, sizeof shown, 64, name);
  const fc_status_t status =
      fc_fail(err, FC_CODE_DTYPE_MISMATCH, "datatype '%s', declared %s", shown,
              declared);
  fc_error_expected(err, "%s", declared);
  fc_error_got(err, name);
  return status;
}

// Returns the field of InferTensorContents that has the elements of a type. FP16 and BF16
// have no field: they come raw.
static fc_elements_t contents_of(fc_dtype_t dtype) {
  if (!dtype) return (fc_elements_t){8, FC_PROTO_BYTES, false};
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const bool wide = info->bits == 64, is_signed = fc_dtype_is_signed(info);
  if (info->class_ == FC_DTYPE_CLASS_BOOL) {
    return (fc_elements_t){1, FC_PROTO_VARINT, false};
  }
  if (fc_dtype_is_integer(info)) {
    return (fc_elements_t){(is_signed ? 2u : 4u) + wide, FC_PROTO_VARINT,
                           is_signed};
  }
  if (dtype == FC_DTYPE_F32) return (fc_elements_t){6, FC_PROTO_FIXED32, false};
  if (dtype == FC_DTYPE_F64) return (fc_elements_t){7, FC_PROTO_FIXED64, false};
  return (fc_elements_t){0};
}

// Finds the element type of the value; NONE for texts.
static fc_status_t find_type(const input_t *input,
                             const fc_model_tensor_t *tensor,
                             fc_dtype_t *out_dtype, fc_error_t *err) {
  const bool is_texts = fc_str_equal(input->datatype, FC_STR("BYTES"));
  *out_dtype = is_texts ? FC_DTYPE_NONE
                        : fc_dtype_find_named(input->datatype,
                                              (fc_dtype_t)tensor->op->dtype);
  const bool is_known =
      is_texts || (*out_dtype && fc_dtype_info(*out_dtype)->oip[0]);
  return is_known && (is_texts == fc_model_is_text(tensor->op) ||
                      fc_model_is_any(tensor->op))
             ? FC_OK
             : refuse_type(tensor, input->datatype, err);
}

static fc_status_t read_value(request_t *request, const input_t *input,
                              const fc_model_tensor_t *tensor,
                              fc_value_t *out_value, fc_error_t *err) {
  fc_str_t bytes;
  const bool has_raw = request->has_raw && !input->ref.data;
  fc_message_value_t sent = {.rank = input->rank,
                             .dims = input->dims,
                             .raw = has_raw ? &bytes : NULL,
                             .fields = input->contents};
  if (input->contents.size && (request->has_raw || input->ref.data)) {
    return fail(err, "an input has contents beside raw entries or 'ref'");
  }
  if (input->ref.data) {
    return fc_read_stored(request->frame, tensor->op, input->ref, out_value,
                          err);
  }
  if (has_raw) FC_TRY(take_raw(request, &bytes, err));
  FC_TRY(find_type(input, tensor, &sent.dtype, err));
  sent.elements = contents_of(sent.dtype);
  return fc_message_value(&request->inputs, tensor, &sent, out_value, err);
}

static fc_status_t take_input(request_t *request, fc_str_t message,
                              fc_error_t *err) {
  input_t input;
  uint32_t number;
  fc_value_t value = {0};
  FC_TRY(read_input(message, &input, err));
  FC_TRY(fc_oip_find(&request->inputs, request->oip, input.name, &number, err));
  const fc_model_tensor_t *tensor = &request->oip->model->inputs[number];
  FC_TRY(fc_inputs_name(&request->inputs, tensor,
                        read_value(request, &input, tensor, &value, err), err));
  return fc_inputs_store(&request->inputs, number, value, err);
}

static fc_status_t take_output(request_t *request, fc_str_t message,
                               fc_error_t *err) {
  fc_str_t name = FC_STR("");
  const fc_proto_row_t row = {OUTPUT_NAME, FC_PROTO_TEXT, 0};
  uint32_t number;
  FC_TRY(fc_proto_read(message, &row, 1, &name, err));
  FC_TRY(fc_oip_choose(&request->inputs, request->oip, name, &number, err));
  fc_oip_ask(request->oip, number, FC_OIP_RAW);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The request

// Looks through the request, to note whether it has raw entries, because the inputs are
// read differently then. Checks that the names of the model stand first, and only once:
// the code that routed the call has read only the beginning.
static fc_status_t look_over(request_t *request, fc_str_t body,
                             fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  uint32_t last = 0;
  bool more;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number <= REQUEST_VERSION && field.number <= last) {
      return not_once(err);
    }
    last = field.number;
    if (field.number < REQUEST_MODEL || field.number > REQUEST_RAW) continue;
    if (field.type != FC_PROTO_BYTES) {
      return fail(err,
                  "a field of the request is of another type than its own");
    }
    if (field.number == REQUEST_RAW) request->has_raw = true;
  }
}

static fc_status_t read_fields(request_t *request, fc_str_t body,
                               fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  uint32_t inputs = 0, outputs = 0;
  bool more;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    switch (field.number) {
      case REQUEST_ID:
        request->oip->id = field.bytes;
        request->oip->has_id = true;
        break;
      case REQUEST_PARAMETERS:
        FC_TRY(take_parameter(request, field.bytes, err));
        break;
      case REQUEST_INPUTS:
        FC_TRY(point("inputs", inputs++, take_input(request, field.bytes, err),
                     err));
        break;
      case REQUEST_OUTPUTS:
        FC_TRY(point("outputs", outputs++,
                     take_output(request, field.bytes, err), err));
        break;
      default:
        break;
    }
  }
}

static fc_status_t check_raws(request_t *request, fc_error_t *err) {
  fc_proto_field_t field;
  bool more = request->has_raw;
  while (more) {
    FC_TRY(fc_proto_next(&request->raws, &field, &more, err));
    if (more && field.number == REQUEST_RAW) {
      return fail(err, "there are more raw entries than inputs");
    }
  }
  return FC_OK;
}

fc_status_t fc_message_decode(fc_frame_t *frame, fc_str_t body,
                              fc_error_t *err) {
  request_t request = {.frame = frame, .raws = fc_proto_begin(body)};
  FC_TRY(fc_oip_begin(frame, &request.inputs, &request.oip, err));
  fc_frame_read(frame, body.data, 0);
  FC_TRY(look_over(&request, body, err));
  FC_TRY(read_fields(&request, body, err));
  FC_TRY(fc_inputs_check(&request.inputs, err));
  FC_TRY(check_raws(&request, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The names at the beginning

static uint64_t offset_of(fc_str_t message, const char *at) {
  return (uint64_t)(at - message.data);
}

uint64_t fc_message_raw(fc_str_t begin) {
  fc_proto_t wire = fc_proto_begin(begin);
  fc_proto_field_t field;
  bool more;
  while (fc_proto_peek(wire, &field) && field.type == FC_PROTO_BYTES) {
    if (field.number == REQUEST_RAW) {
      uint64_t tag, size;
      fc_status_t status = fc_proto_varint(&wire, &tag, NULL);
      if (status == FC_OK) status = fc_proto_varint(&wire, &size, NULL);
      if (status != FC_OK) return 0;
      return offset_of(begin, wire.left.data);
    }
    if (fc_proto_next(&wire, &field, &more, NULL) != FC_OK) return 0;
  }
  return 0;
}

fc_status_t fc_message_names(fc_str_t message, bool is_all,
                             fc_message_names_t *out_names, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  uint32_t last = 0;
  bool more;
  *out_names = (fc_message_names_t){0};
  while (fc_proto_peek(wire, &field) && field.number <= REQUEST_VERSION) {
    if (field.number <= last) return not_once(err);
    last = field.number;
    const fc_status_t status = fc_proto_next(&wire, &field, &more, err);
    if (status != FC_OK) return is_all ? status : FC_OK;
    if (field.type != FC_PROTO_BYTES) {
      return fail(err, "the model's name is no text");
    }
    if (field.number == REQUEST_MODEL) out_names->model = field.bytes;
    else if (field.bytes.size) out_names->version = field.bytes;
  }
  // The names are complete if another field follows, or if none can.
  out_names->complete = fc_proto_peek(wire, &field);
  if (!out_names->complete && is_all) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    out_names->complete = true;
  }
  return FC_OK;
}

fc_str_t fc_message_id(fc_str_t begin) {
  fc_proto_t wire = fc_proto_begin(begin);
  fc_proto_field_t field;
  bool more;
  while (fc_proto_peek(wire, &field) && field.number <= REQUEST_ID) {
    if (fc_proto_next(&wire, &field, &more, NULL) != FC_OK) break;
    if (field.number == REQUEST_ID && field.type == FC_PROTO_BYTES) {
      return field.bytes;
    }
  }
  return FC_STR("");
}

fc_status_t fc_message_sequence(fc_str_t message, size_t most,
                                fc_message_sequence_t *out, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  parameter_t parameter;
  bool more;
  *out = (fc_message_sequence_t){0};
  while (fc_proto_peek(wire, &field) && field.number < REQUEST_INPUTS) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (offset_of(message, wire.left.data) > most) {
      return fc_fail(err, FC_CODE_BINARY_FRAMING,
                     "parameters take more than %zu bytes", most);
    }
    if (field.number != REQUEST_PARAMETERS || field.type != FC_PROTO_BYTES ||
        field.bytes.size < sizeof "sequence_id") {
      continue;  // another parameter, or too short to be one of the three
    }
    FC_TRY(read_parameter(field.bytes, &parameter, err));
    if (is_key(&parameter, "sequence_id")) {
      out->text = parameter.text;
      out->number = parameter.text.size ? 0 : parameter.number;
    } else if (is_key(&parameter, "sequence_start")) {
      out->starts = parameter.number;
    } else if (is_key(&parameter, "sequence_end")) {
      out->ends = parameter.number;
    }
  }
  return FC_OK;
}
