// SPDX-License-Identifier: Apache-2.0
#include "marshal/message_client.h"

#include "base/proto.h"
#include "marshal/oip_read.h"

// The numbers of the field of raw tensors in a request and in a response, and its tag.
enum { REQUEST_RAW = 7, RESPONSE_RAW = 6 };
#define TAG(number) ((char)((number) << 3 | FC_PROTO_BYTES))

// ---------------------------------------------------------------------------
// Echoes: functions that return their arguments

static uint32_t make_texts(fc_builder_t *builder,
                           const fc_echo_tensor_t *tensor) {
  const uint32_t text = fc_builder_bytes(builder, FC_FLAVOR_UTF8);
  if (tensor->rank == 1 && tensor->dims[0] == 1) return text;
  const uint32_t list = fc_builder_node(builder, FC_TYPE_LIST);
  fc_builder_append(builder, list, text);
  return list;
}

static uint32_t make_tensor(fc_builder_t *builder,
                            const fc_echo_tensor_t *tensor, fc_dtype_t dtype) {
  int64_t dims[FC_RANK_MAX];
  for (int32_t i = 0; i < tensor->rank; i++) {
    dims[i] = tensor->dims[i] < 0 ? FC_DIM_DYNAMIC : tensor->dims[i];
  }
  return tensor->rank ? fc_builder_tensor(builder, dtype, tensor->rank, dims)
                      : fc_builder_scalar(builder, dtype);
}

static fc_status_t add(fc_builder_t *builder, const fc_echo_tensor_t *tensor,
                       fc_str_t called, fc_error_t *err) {
  const bool is_texts = fc_str_equal(tensor->datatype, FC_STR("BYTES"));
  const fc_dtype_t dtype = fc_dtype_find_named(tensor->datatype, FC_DTYPE_NONE);
  if (!is_texts && !dtype) {
    char name[80], type[40];
    fc_escape(name, sizeof name, 64, tensor->name);
    fc_escape(type, sizeof type, 32, tensor->datatype);
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "'%s' is of the type '%s', which is not known here", name,
                   type);
  }
  // The argument and the result get separate nodes, because a node belongs to only one
  // parent.
  for (int i = 0; i < 2; i++) {
    const uint32_t node = is_texts ? make_texts(builder, tensor)
                                   : make_tensor(builder, tensor, dtype);
    if (i) fc_builder_result(builder, called, node, FC_RAW_NEXT);
    else
      fc_builder_argument(builder, called, node, FC_ROLE_IN, true, FC_RAW_NEXT);
  }
  return FC_OK;
}

// Adds a result of an echo. Its name gets a '=' before it, so that no name is read as a
// position.
static fc_status_t add_answer(fc_builder_t *builder,
                              const fc_echo_tensor_t *tensor, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = fc_sink_put(&text.sink, FC_STR("="), err);
  if (status == FC_OK) status = fc_sink_put(&text.sink, tensor->name, err);
  if (status == FC_OK) status = add(builder, tensor, fc_text_str(&text), err);
  fc_text_deinit(&text);
  return status;
}

// Gives the model's outputs their names instead of paths, because requests contain names.
// The model may be changed, since only this echo uses it.
static fc_status_t name_outputs(fc_echo_t *echo,
                                const fc_echo_tensor_t *tensors, size_t count,
                                fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(fc_plan_model(echo->plan, &model, err));
  FC_ASSERT(model->output_count == count);
  fc_model_tensor_t *outputs = (fc_model_tensor_t *)(uintptr_t)model->outputs;
  for (size_t i = 0; i < count; i++) outputs[i].name = tensors[i].name;
  return FC_OK;
}

fc_status_t fc_echo_make(const fc_echo_tensor_t *tensors, size_t count,
                         bool is_answer, fc_echo_t *out_echo, fc_error_t *err) {
  fc_status_t status = FC_OK;
  *out_echo = (fc_echo_t){0};
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  if (!builder) return fc_fail_memory(err);
  fc_builder_source(builder, FC_SOURCE_SIDECAR);
  fc_builder_name(builder, FC_STR("model"));
  for (size_t i = 0; i < count && status == FC_OK; i++) {
    status = is_answer ? add_answer(builder, &tensors[i], err)
                       : add(builder, &tensors[i], tensors[i].name, err);
  }
  if (status == FC_OK) {
    status = fc_signature_build(builder, &out_echo->signature, err);
  }
  fc_builder_destroy(builder);
  if (status == FC_OK) {
    status = fc_plan_create(out_echo->signature, fc_allocator_system(),
                            &out_echo->plan, err);
  }
  if (status == FC_OK) status = name_outputs(out_echo, tensors, count, err);
  if (status != FC_OK) fc_echo_destroy(out_echo);
  return status;
}

void fc_echo_destroy(fc_echo_t *echo) {
  if (echo->plan) fc_plan_destroy(echo->plan);
  if (echo->signature) fc_signature_destroy(echo->signature);
  *echo = (fc_echo_t){0};
}

// ---------------------------------------------------------------------------
// Messages

// Changes the number of the field of raw tensors from `from` to `to`.
static fc_status_t renumber(fc_str_t message, uint32_t from, uint32_t to,
                            fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  for (;;) {
    const char *at = wire.left.data;
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number == from && *at == TAG(from)) {
      *(char *)(uintptr_t)at = TAG(to);
    }
  }
}

static fc_str_t between(const char *begin, const char *end) {
  return fc_str_make(begin, (size_t)(end - begin));
}

// Writes a name as a path: "=a~1b" for "a/b". With the '=' no name looks like a position.
static fc_status_t put_path(fc_sink_t *sink, fc_str_t name, fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR("="), err));
  for (size_t i = 0; i < name.size; i++) {
    const char c = name.data[i];
    FC_TRY(fc_sink_put(sink,
                       c == '/'   ? FC_STR("~1")
                       : c == '~' ? FC_STR("~0")
                                  : fc_str_make(&name.data[i], 1),
                       err));
  }
  return FC_OK;
}

static size_t path_size(fc_str_t name) {
  size_t size = 1 + name.size;
  for (size_t i = 0; i < name.size; i++) {
    size += name.data[i] == '/' || name.data[i] == '~';
  }
  return size;
}

// Writes an output, {1 name, …}, with a path instead of its name.
static fc_status_t put_output(fc_sink_t *sink, fc_str_t message,
                              fc_error_t *err) {
  const fc_proto_row_t row = {1, FC_PROTO_TEXT, 0};
  fc_str_t name = FC_STR("");
  FC_TRY(fc_proto_read(message, &row, 1, &name, err));
  const size_t size = path_size(name);
  FC_TRY(fc_proto_put_head(sink, 5, message.size + fc_proto_bytes_size(1, size),
                           err));
  // If a message has two names, the last one counts.
  FC_TRY(fc_sink_put(sink, message, err));
  FC_TRY(fc_proto_put_head(sink, 1, size, err));
  return put_path(sink, name, err);
}

static fc_status_t put_response(fc_sink_t *sink, fc_str_t message,
                                fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  for (;;) {
    const char *at = wire.left.data;
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    FC_TRY(field.number == 5 && field.type == FC_PROTO_BYTES
               ? put_output(sink, field.bytes, err)
               : fc_sink_put(sink, between(at, wire.left.data), err));
  }
}

static void echo(fc_frame_t *frame) {
  size_t count;
  const fc_value_t *values = fc_frame_arguments(frame, &count);
  fc_frame_set_results(frame, values, count);
}

fc_status_t fc_message_put_request(fc_frame_t *frame, fc_str_t model,
                                   fc_str_t version, fc_text_t *out,
                                   fc_error_t *err) {
  fc_inputs_t inputs;
  fc_oip_t *oip;
  FC_TRY(fc_oip_begin(frame, &inputs, &oip, err));
  echo(frame);
  FC_TRY(fc_message_encode(frame, model, version, &out->sink, err));
  return renumber(fc_text_str(out), RESPONSE_RAW, REQUEST_RAW, err);
}

fc_status_t fc_message_put_answer(fc_frame_t *frame, const fc_frame_t *asked,
                                  fc_str_t response, fc_text_t *copy,
                                  fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put_response(&copy->sink, response, err));
  response = fc_text_str(copy);
  FC_TRY(renumber(response, RESPONSE_RAW, REQUEST_RAW, err));
  FC_TRY(fc_message_decode(frame, response, err));
  frame->options = asked->options;
  echo(frame);
  return fc_frame_encode(frame, sink, err);
}
