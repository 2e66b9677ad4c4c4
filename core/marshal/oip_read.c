// SPDX-License-Identifier: Apache-2.0
//
// A request's document -> flat values, in one pass over its bytes, except for looks
// ahead: "name", "datatype" and "shape" say how to read an input, and may stand after
// the members that need them. Unknown members are skipped, as the protocol requires.
#include "marshal/bytes.h"
#include "marshal/inputs.h"
#include "marshal/read.h"
#include "marshal/oip_read.h"
#include "marshal/strings.h"

#define NONE UINT32_MAX

typedef struct request_t request_t;

// An input while it is read. begin_input clears it up to `op`, and choose sets the rest.
typedef struct input_t {
  request_t *request;
  const fc_model_tensor_t *tensor;
  fc_value_t value;
  fc_str_t ref;     // a value of the session; data NULL: none
  uint32_t number;  // of the model's inputs, NONE while not known
  bool has_name;
  bool is_bytes_type;  // "datatype" was "BYTES"
  bool has_raw;
  bool looked;  // for the name, or the name had come already
  uint64_t raw_size;
  fc_op_t op;  // what it is read as (fc_inputs_open)
  fc_typed_t typed;
  fc_strings_t texts;  // of byte strings
} input_t;

struct request_t {
  fc_frame_t *frame;
  fc_oip_t *oip;
  fc_inputs_t inputs;
  bool has_raw;  // the document has a length, so raw bytes may follow it
  bool inputs_seen;
  input_t input;  // the present one: it is too large to be cleared for each
};

static bool key_is(const request_t *request, fc_str_t name) {
  return fc_json_text_is(&request->frame->reader, name);
}

static fc_status_t next(request_t *request, fc_json_token_t *out_token,
                        fc_error_t *err) {
  return fc_json_next(&request->frame->reader, out_token, err);
}

static fc_status_t skip_value(request_t *request, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  return fc_json_skip(&request->frame->reader, token, err);
}

static fc_status_t expect(request_t *request, fc_json_token_t wanted,
                          fc_error_t *err) {
  return fc_json_expect(&request->frame->reader, wanted, FC_CODE_TYPE_MISMATCH,
                        err);
}

// Reads the token `wanted`, or null, which counts as a member that was left out:
// Python's clients write null for members that were not set.
static fc_status_t expect_or_null(request_t *request, fc_json_token_t wanted,
                                  bool *out_absent, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  *out_absent = token == FC_JSON_NULL;
  if (*out_absent) return FC_OK;
  return fc_json_check(&request->frame->reader, token, wanted,
                       FC_CODE_TYPE_MISMATCH, err);
}

// Reads an object, or null, which counts as an object that was left out.
static fc_status_t read_object(request_t *request,
                               const fc_json_member_t *members, size_t count,
                               void *context, fc_error_t *err) {
  bool absent;
  FC_TRY(expect_or_null(request, FC_JSON_OBJECT_BEGIN, &absent, err));
  return absent ? FC_OK
                : fc_json_read_members(&request->frame->reader, members, count,
                                       context, err);
}

// Reads the objects of an array, whose bracket was just read. `read` is called for each
// object after its opening brace.
static fc_status_t read_objects(request_t *request,
                                fc_status_t (*read)(request_t *, fc_error_t *),
                                fc_error_t *err) {
  fc_json_token_t token;
  for (;;) {
    FC_TRY(next(request, &token, err));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    FC_TRY(fc_json_check(&request->frame->reader, token, FC_JSON_OBJECT_BEGIN,
                         FC_CODE_TYPE_MISMATCH, err));
    FC_TRY(read(request, err));
  }
}

static fc_status_t twice(request_t *request, const char *name,
                         fc_error_t *err) {
  return fc_json_fail(&request->frame->reader, err, FC_CODE_DUPLICATE_KEY,
                      "'%s' is given twice", name);
}

static fc_status_t read_bool(request_t *request, bool *out_value,
                             fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  if (token != FC_JSON_TRUE && token != FC_JSON_FALSE) {
    return fc_json_mismatch(&request->frame->reader, FC_CODE_TYPE_MISMATCH,
                            token, "true or false", err);
  }
  *out_value = token == FC_JSON_TRUE;
  return FC_OK;
}

static fc_status_t fail_framing(request_t *request, fc_error_t *err,
                                const char *message) {
  return fc_json_fail(&request->frame->reader, err, FC_CODE_BINARY_FRAMING,
                      "%s", message);
}

// ---------------------------------------------------------------------------
// Shared by every form of a request

fc_status_t fc_oip_begin(fc_frame_t *frame, fc_inputs_t *inputs,
                         fc_oip_t **out_oip, fc_error_t *err) {
  void *oip = NULL, *order = NULL, *forms = NULL;
  FC_TRY(fc_inputs_begin(inputs, frame, err));
  const fc_model_t *model = inputs->model;
  FC_TRY(fc_frame_alloc(frame, 1, sizeof(fc_oip_t), &oip, err));
  FC_TRY(fc_frame_alloc(frame, model->output_count + (size_t)1,
                        sizeof(uint32_t), &order, err));
  FC_TRY(
      fc_frame_alloc(frame, model->output_count + (size_t)1, 1, &forms, err));
  frame->oip = *out_oip = oip;
  (*out_oip)->model = model;
  (*out_oip)->order = order;
  (*out_oip)->forms = forms;
  return FC_OK;
}

fc_status_t fc_oip_choose(const fc_inputs_t *inputs, fc_oip_t *oip,
                          fc_str_t name, uint32_t *out_number,
                          fc_error_t *err) {
  const fc_model_t *model = oip->model;
  const uint32_t number =
      fc_model_find(&model->results, model->output_of, name);
  if (number == NONE) {
    return fc_inputs_unknown(inputs, "output", name, model->outputs,
                             model->output_count, err);
  }
  *out_number = number;
  if (oip->forms[number] == FC_OIP_ABSENT) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_json_fail(&inputs->frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                      "output '%s': asked for twice", shown);
}

void fc_oip_ask(fc_oip_t *oip, uint32_t number, uint8_t form) {
  oip->forms[number] = form;
  oip->order[oip->order_count++] = number;
  oip->chosen = true;
}

fc_status_t fc_oip_find(const fc_inputs_t *inputs, fc_oip_t *oip, fc_str_t name,
                        uint32_t *out_number, fc_error_t *err) {
  const fc_model_t *model = oip->model;
  uint32_t number = fc_model_find(&model->arguments, model->input_of, name);
  if (number == NONE && model->input_count != 1) {
    return fc_inputs_unknown(inputs, "input", name, model->inputs,
                             model->input_count, err);
  }
  if (number == NONE) {
    oip->renamed = name;
    name = model->inputs[0].name;
    number = 0;
  }
  *out_number = number;
  return fc_inputs_check_once(inputs, number, name, err);
}

// ---------------------------------------------------------------------------
// One input

static const fc_str_t kMembers[FC_MEMBER_COUNT] = {
    {"datatype", 8}, {"shape", 5}, {"data", 4}, {"", 0}};

static input_t *begin_input(request_t *request) {
  input_t *input = &request->input;
  memset(input, 0, offsetof(input_t, op));
  input->request = request;
  input->number = NONE;
  return input;
}

static void choose(request_t *request, input_t *input, uint32_t number) {
  const fc_model_tensor_t *tensor = &request->oip->model->inputs[number];
  input->number = number;
  input->tensor = tensor;
  fc_strings_begin(&input->texts, tensor->op);
  fc_inputs_open(tensor, kMembers, &input->op, &input->typed);
}

static bool is_text(const input_t *input) {
  return fc_model_is_text(input->texts.op);
}

static fc_status_t read_text(request_t *request, fc_str_t *out_text,
                             fc_error_t *err) {
  FC_TRY(expect(request, FC_JSON_STRING, err));
  return fc_read_text(request->frame, out_text, err);
}

static uint32_t find_input(const request_t *request, fc_str_t name) {
  const fc_model_t *model = request->oip->model;
  return fc_model_find(&model->arguments, model->input_of, name);
}

// The only input may have any name, since some clients know no names.
static bool is_only(const request_t *request) {
  return request->oip->model->input_count == 1;
}

static fc_status_t read_input_name(request_t *request, input_t *input,
                                   fc_error_t *err) {
  fc_str_t name;
  uint32_t number;
  if (input->has_name) return twice(request, "name", err);
  input->has_name = true;
  FC_TRY(read_text(request, &name, err));
  FC_TRY(fc_oip_find(&request->inputs, request->oip, name, &number, err));
  if (!input->tensor) choose(request, input, number);
  return FC_OK;
}

static void note_name(request_t *request, input_t *input, fc_str_t name) {
  const uint32_t number = is_only(request) ? 0 : find_input(request, name);
  if (number != NONE) choose(request, input, number);
}

// A value of unknown type may be byte strings.
static void note_datatype(request_t *request, input_t *input, fc_str_t name) {
  (void)request;
  if (input->typed.seen[FC_MEMBER_DTYPE]) return;
  if (fc_str_equal(name, FC_STR("BYTES"))) input->texts.op = fc_model_texts();
}

// A member stands before the one that says how to read it. Reads on to find the text of
// `key`, and comes back. Errors on the way are ignored: the real pass reports them.
// `value`: the text is the next value, so there is nothing to search.
static void look_for(request_t *request, input_t *input, fc_str_t key,
                     bool value,
                     void (*note)(request_t *request, input_t *input,
                                  fc_str_t text)) {
  fc_frame_t *frame = request->frame;
  fc_json_reader_t *reader = &frame->reader;
  fc_json_reader_copy(&frame->ahead, reader);
  fc_status_t status = value ? FC_OK : skip_value(request, NULL);
  fc_json_token_t token = FC_JSON_KEY;
  while (status == FC_OK && !value) {
    status = next(request, &token, NULL);
    if (status != FC_OK || token != FC_JSON_KEY) break;
    value = key_is(request, key);
    if (!value) status = skip_value(request, NULL);
  }
  fc_str_t text;
  if (value && read_text(request, &text, NULL) == FC_OK) {
    note(request, input, text);
  }
  fc_json_reader_copy(reader, &frame->ahead);
}

static fc_status_t read_datatype(request_t *request, input_t *input,
                                 fc_error_t *err) {
  if (fc_model_is_any(input->tensor->op)) {
    look_for(request, input, FC_STR("datatype"), true, note_datatype);
  }
  if (!is_text(input)) {
    return fc_typed_read(request->frame, &input->typed, FC_MEMBER_DTYPE,
                         &input->value, err);
  }
  fc_str_t name;
  if (input->is_bytes_type) return twice(request, "datatype", err);
  FC_TRY(read_text(request, &name, err));
  input->is_bytes_type = fc_str_equal(name, FC_STR("BYTES"));
  input->typed.seen[FC_MEMBER_DTYPE] = true;
  if (input->is_bytes_type) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status =
      fc_json_fail(&request->frame->reader, err, FC_CODE_DTYPE_MISMATCH,
                   "datatype '%s', declared BYTES", shown);
  fc_error_expected(err, "BYTES");
  fc_error_got(err, name);
  return status;
}

// Reads "data", whose key was just read. null counts as a member that was left out.
static fc_status_t read_data(request_t *request, input_t *input,
                             fc_error_t *err) {
  fc_frame_t *frame = request->frame;
  fc_typed_t *typed = &input->typed;
  if (typed->seen[FC_MEMBER_DATA]) return twice(request, "data", err);
  const char *at = frame->reader.cursor;
  while (at < frame->reader.end && (*at == ':' || *at == ' ' || *at == '\t' ||
                                    *at == '\n' || *at == '\r')) {
    at++;
  }
  if (at < frame->reader.end && *at == 'n') {
    return expect(request, FC_JSON_NULL, err);
  }
  if (fc_model_is_any(input->tensor->op) && !typed->seen[FC_MEMBER_DTYPE]) {
    look_for(request, input, FC_STR("datatype"), false, note_datatype);
  }
  if (!is_text(input)) {
    FC_TRY(fc_typed_read(frame, typed, FC_MEMBER_DATA, &input->value, err));
    return FC_OK;
  }
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  typed->seen[FC_MEMBER_DATA] = typed->read = true;
  return fc_strings_read(frame, &input->texts, token, err);
}

#define NO_SHARED_MEMORY "regions of shared memory are not read or written"

static fc_status_t read_raw_size(void *context, fc_error_t *err) {
  input_t *input = context;
  request_t *request = input->request;
  fc_json_token_t token;
  if (input->has_raw) return twice(request, "binary_data_size", err);
  FC_TRY(next(request, &token, err));
  FC_TRY(fc_json_read_scalar(&request->frame->reader, token, FC_DTYPE_UI64,
                             &input->raw_size, err));
  input->has_raw = true;
  return FC_OK;
}

static fc_status_t read_ref(void *context, fc_error_t *err) {
  input_t *input = context;
  return fc_read_name(input->request->frame, &input->ref, err);
}

static const fc_json_member_t kInputParameters[] = {
    {FC_STR("ref"), read_ref, NULL},
    {FC_STR("shared_memory_region"), NULL, NO_SHARED_MEMORY},
    {FC_STR("binary_data_size"), read_raw_size, NULL},
};

static fc_status_t read_input_member(request_t *request, input_t *input,
                                     fc_error_t *err) {
  if (key_is(request, FC_STR("name")))
    return read_input_name(request, input, err);
  if (key_is(request, FC_STR("parameters"))) {
    return read_object(request, kInputParameters,
                       FC_ARRAY_COUNT(kInputParameters), input, err);
  }
  // One look ahead is enough: a second one would see only some of the same members.
  if (!input->tensor && !input->looked) {
    look_for(request, input, FC_STR("name"), false, note_name);
  }
  input->looked = true;
  fc_typed_t *typed = &input->typed;
  const int member =
      input->tensor ? fc_typed_member(&request->frame->reader, typed) : -1;
  switch (member) {
    case FC_MEMBER_DTYPE:
      return read_datatype(request, input, err);
    case FC_MEMBER_SHAPE:
      FC_TRY(fc_typed_read(request->frame, typed, member, &input->value, err));
      if (input->tensor->op->kind == FC_TYPE_BYTES) {
        return fc_strings_check_one(request->frame, typed, err);
      }
      return fc_inputs_is_one(input->tensor)
                 ? fc_inputs_check_one(&request->inputs, typed, err)
                 : FC_OK;
    case FC_MEMBER_DATA:
      return read_data(request, input, err);
    default:
      return skip_value(request, err);
  }
}

static fc_status_t take_raw(request_t *request, input_t *input,
                            fc_error_t *err) {
  // An empty tensor has no bytes, so the start of the raw bytes need not be known.
  if (!request->has_raw && input->raw_size) {
    return fail_framing(request, err,
                        "raw bytes need Inference-Header-Content-Length");
  }
  fc_str_t bytes;
  FC_TRY(fc_read_take_raw(request->frame, input->raw_size, &bytes, err));
  if (is_text(input)) {
    return fc_strings_take(request->frame, &input->texts, bytes, err);
  }
  return fc_typed_take(request->frame, &input->typed, bytes, &input->value,
                       err);
}

static fc_status_t missing(request_t *request, const char *name,
                           fc_error_t *err) {
  fc_status_t status =
      fc_json_fail(&request->frame->reader, err, FC_CODE_MISSING_KEY,
                   "'%s' is missing", name);
  fc_error_expected(err, "'%s'", name);
  return status;
}

// An empty tensor may also be sent without data.
static fc_status_t check_empty(request_t *request, const input_t *input,
                               fc_error_t *err) {
  const fc_typed_t *typed = &input->typed;
  size_t count = 1, size;
  (void)fc_shape_count(typed->dims, typed->rank,
                       typed->dtype ? typed->dtype : FC_DTYPE_I8, &count,
                       &size);
  return count ? missing(request, "data", err) : FC_OK;
}

// The value of the session carries its type, so the request need not state it.
static fc_status_t take_stored(request_t *request, input_t *input,
                               fc_error_t *err) {
  if (input->has_raw || input->typed.seen[FC_MEMBER_DATA]) {
    return fail_framing(request, err, "both data and 'ref' are given");
  }
  return fc_read_stored(request->frame, input->tensor->op, input->ref,
                        &input->value, err);
}

// Called when all members were read. Takes raw bytes if the value was sent raw, and
// checks that the value is complete.
static fc_status_t finish_value(request_t *request, input_t *input,
                                fc_error_t *err) {
  fc_typed_t *typed = &input->typed;
  if (input->ref.data) return take_stored(request, input, err);
  if (!typed->seen[FC_MEMBER_SHAPE]) return missing(request, "shape", err);
  if (!typed->seen[FC_MEMBER_DTYPE]) return missing(request, "datatype", err);
  const bool has_data = typed->seen[FC_MEMBER_DATA];
  if (has_data && input->has_raw) {
    return fail_framing(request, err,
                        "both 'data' and 'binary_data_size' are given");
  }
  if (input->has_raw) FC_TRY(take_raw(request, input, err));
  if (!has_data && !input->has_raw) FC_TRY(check_empty(request, input, err));
  if (is_text(input)) {
    FC_TRY(fc_strings_finish(request->frame, &input->texts, typed,
                             &input->value, err));
    const bool one =
        fc_model_is_any(input->tensor->op) && input->texts.count == 1;
    if (one) input->value = input->texts.items[0];
    return FC_OK;
  }
  if (input->has_raw) return FC_OK;
  if (has_data) {
    return typed->read ? FC_OK : missing(request, "shape", err);
  }
  return fc_typed_take(request->frame, typed, FC_STR(""), &input->value, err);
}

static fc_status_t read_input(request_t *request, fc_error_t *err) {
  input_t *input = begin_input(request);
  fc_json_token_t token;
  for (;;) {
    FC_TRY(next(request, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    const fc_status_t status = read_input_member(request, input, err);
    if (status != FC_OK)
      return fc_inputs_name(&request->inputs, input->tensor, status, err);
  }
  if (!input->has_name) return missing(request, "name", err);
  const fc_status_t status = finish_value(request, input, err);
  if (status != FC_OK)
    return fc_inputs_name(&request->inputs, input->tensor, status, err);
  return fc_inputs_store(&request->inputs, input->number, input->value, err);
}

static fc_status_t read_inputs(void *context, fc_error_t *err) {
  request_t *request = context;
  request->inputs_seen = true;
  FC_TRY(expect(request, FC_JSON_ARRAY_BEGIN, err));
  FC_TRY(read_objects(request, read_input, err));
  return fc_inputs_check(&request->inputs, err);
}

// ---------------------------------------------------------------------------
// Outputs

typedef struct output_t {
  request_t *request;
  uint32_t number;
  uint8_t form;
  bool has_name;
} output_t;

static fc_status_t read_output_name(void *context, fc_error_t *err) {
  output_t *output = context;
  request_t *request = output->request;
  fc_str_t name;
  output->has_name = true;
  FC_TRY(read_text(request, &name, err));
  return fc_oip_choose(&request->inputs, request->oip, name, &output->number,
                       err);
}

static fc_status_t read_output_form(void *context, fc_error_t *err) {
  output_t *output = context;
  bool raw;
  FC_TRY(read_bool(output->request, &raw, err));
  output->form = raw ? FC_OIP_RAW : FC_OIP_JSON;
  return FC_OK;
}

static fc_status_t read_output_parameters(void *context, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("shared_memory_region"), NULL, NO_SHARED_MEMORY},
      {FC_STR("classification"), NULL, "this server does not classify outputs"},
      {FC_STR("binary_data"), read_output_form, NULL},
  };
  return read_object(((output_t *)context)->request, kRows,
                     FC_ARRAY_COUNT(kRows), context, err);
}

static fc_status_t read_output(request_t *request, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("name"), read_output_name, NULL},
      {FC_STR("parameters"), read_output_parameters, NULL}};
  output_t output = {.request = request, .number = NONE, .form = FC_OIP_UNSAID};
  FC_TRY(fc_json_read_members(&request->frame->reader, kRows,
                              FC_ARRAY_COUNT(kRows), &output, err));
  if (!output.has_name) return missing(request, "name", err);
  fc_oip_ask(request->oip, output.number, output.form);
  return FC_OK;
}

static fc_status_t read_outputs(void *context, fc_error_t *err) {
  request_t *request = context;
  bool absent;
  FC_TRY(expect_or_null(request, FC_JSON_ARRAY_BEGIN, &absent, err));
  return absent ? FC_OK : read_objects(request, read_output, err);
}

// ---------------------------------------------------------------------------
// The document

void fc_oip_set_sequence(fc_frame_t *frame, bool in_sequence) {
  frame->in_sequence = in_sequence;
}

static bool is_zero(fc_str_t number) {
  for (size_t i = 0; i < number.size && (number.data[i] | 32) != 'e'; i++) {
    if (number.data[i] >= '1' && number.data[i] <= '9') return false;
  }
  return true;
}

// Accepts the members of a sequence only if in_sequence is set: then the code that
// makes the calls has read them and given the call its store. Otherwise the answer
// would be wrong. 0, "", false and null mean that there is no sequence.
static fc_status_t read_sequence(void *context, fc_error_t *err) {
  request_t *request = context;
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  const fc_json_reader_t *reader = &request->frame->reader;
  if (request->frame->in_sequence || token == FC_JSON_NULL ||
      token == FC_JSON_FALSE ||
      (token == FC_JSON_STRING && !reader->text.size) ||
      (token == FC_JSON_NUMBER && is_zero(reader->text))) {
    return FC_OK;
  }
  return fc_json_fail(&request->frame->reader, err, FC_CODE_UNKNOWN_FIELD,
                      "the call is part of no sequence: a document that says "
                      "so comes uncompressed, and is not long");
}

static fc_status_t read_raw_output(void *context, fc_error_t *err) {
  request_t *request = context;
  return read_bool(request, &request->oip->raw, err);
}

static fc_status_t read_parameters(void *context, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("sequence_id"), read_sequence, NULL},
      {FC_STR("sequence_start"), read_sequence, NULL},
      {FC_STR("sequence_end"), read_sequence, NULL},
      {FC_STR("binary_data_output"), read_raw_output, NULL},
  };
  return read_object(context, kRows, FC_ARRAY_COUNT(kRows), context, err);
}

static fc_status_t read_id(void *context, fc_error_t *err) {
  request_t *request = context;
  fc_oip_t *oip = request->oip;
  bool absent;
  FC_TRY(expect_or_null(request, FC_JSON_STRING, &absent, err));
  if (absent) return FC_OK;
  oip->id = request->frame->reader.text;
  oip->has_id = true;
  return FC_OK;
}

static fc_status_t read_document(request_t *request, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("inputs"), read_inputs, NULL},
      {FC_STR("outputs"), read_outputs, NULL},
      {FC_STR("parameters"), read_parameters, NULL},
      {FC_STR("id"), read_id, NULL},
  };
  fc_json_token_t token;
  FC_TRY(fc_json_expect(&request->frame->reader, FC_JSON_OBJECT_BEGIN,
                        FC_CODE_JSON_SCHEMA, err));
  FC_TRY(fc_json_read_members(&request->frame->reader, kRows,
                              FC_ARRAY_COUNT(kRows), request, err));
  if (!request->inputs_seen && request->inputs.missing) {
    return missing(request, "inputs", err);
  }
  const size_t left = request->frame->raw.size;
  if (left) {
    return fc_json_fail(&request->frame->reader, err, FC_CODE_BINARY_FRAMING,
                        "%zu bytes of the body belong to no input", left);
  }
  return next(request, &token, err);
}

// ---------------------------------------------------------------------------
// No document: the body is the one input

// Finds the dims of an input that has `size` bytes. At most one dim may be open
// (dynamic or named); its size follows from `size`. fc_typed_take checks the rest.
static fc_status_t find_dims(fc_typed_t *typed, const fc_op_t *op, bool one,
                             size_t size, fc_error_t *err) {
  int32_t open = -1;
  const size_t element = fc_dtype_size(op->dtype);
  size_t rest = element ? size / element : 0;
  typed->rank = !element ? FC_RANK_DYNAMIC : one ? 0 : op->rank;
  for (int32_t i = 0; i < typed->rank; i++) {
    typed->dims[i] = op->dims[i];
    if (op->dims[i] > 0) {
      rest /= (size_t)op->dims[i];
    } else if (op->dims[i] < 0) {
      if (open >= 0) typed->rank = FC_RANK_DYNAMIC;
      open = i;
    }
  }
  if (typed->rank < 0) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "the body alone does not say the dims of the input: send a "
                   "document with its shape");
  }
  if (open >= 0) typed->dims[open] = (int64_t)rest;
  return FC_OK;
}

static fc_status_t read_raw(request_t *request, fc_str_t body,
                            fc_error_t *err) {
  const fc_model_t *model = request->oip->model;
  if (model->input_count != 1) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "a body without a document is one input, the model has %u",
                   model->input_count);
  }
  input_t *input = begin_input(request);
  choose(request, input, 0);
  const fc_op_t *op = input->tensor->op;
  request->oip->raw = true;
  fc_status_t status;
  if (op->kind == FC_TYPE_BYTES) {
    status = fc_bytes_take(request->frame, op, body, &input->value, err);
  } else {
    status = find_dims(&input->typed, op, fc_inputs_is_one(input->tensor),
                       body.size, err);
    if (status == FC_OK) {
      status = fc_typed_take(request->frame, &input->typed, body, &input->value,
                             err);
    }
  }
  if (status != FC_OK)
    return fc_inputs_name(&request->inputs, input->tensor, status, err);
  return fc_inputs_store(&request->inputs, input->number, input->value, err);
}

// ---------------------------------------------------------------------------

fc_status_t fc_oip_decode(fc_frame_t *frame, fc_str_t body, uint64_t document,
                          fc_error_t *err) {
  request_t request = {.frame = frame, .has_raw = document != FC_OIP_ALL};
  FC_TRY(fc_oip_begin(frame, &request.inputs, &request.oip, err));
  if (document == FC_OIP_ALL) document = body.size;
  FC_TRY(fc_read_split(frame, &body, document, err));
  fc_frame_read(frame, body.data, body.size);
  FC_TRY(request.has_raw && document == 0 ? read_raw(&request, frame->raw, err)
                                          : read_document(&request, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}

bool fc_oip_is_raw(const fc_frame_t *frame) {
  const fc_oip_t *oip = frame->oip;
  const uint32_t count =
      oip->chosen ? oip->order_count : oip->model->output_count;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t form =
        oip->chosen ? oip->forms[oip->order[i]] : (uint8_t)FC_OIP_UNSAID;
    if (form == FC_OIP_RAW || (form == FC_OIP_UNSAID && oip->raw)) return true;
  }
  return false;
}

// A document that is cut off is not an error here: an "id" before the cut counts.
fc_str_t fc_oip_find_id(fc_str_t document) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, 4096);
  fc_json_reader_feed(&reader, document.data, document.size, true);
  if (fc_json_next(&reader, &token, NULL) != FC_OK ||
      token != FC_JSON_OBJECT_BEGIN) {
    return (fc_str_t){0};
  }
  while (fc_json_next(&reader, &token, NULL) == FC_OK && token == FC_JSON_KEY) {
    const bool is_id = fc_json_text_is(&reader, FC_STR("id"));
    if (fc_json_next(&reader, &token, NULL) != FC_OK) break;
    if (is_id) return token == FC_JSON_STRING ? reader.text : (fc_str_t){0};
    if (fc_json_skip(&reader, token, NULL) != FC_OK) break;
  }
  return (fc_str_t){0};
}
