// SPDX-License-Identifier: Apache-2.0
#include "marshal/message_client.h"

#include "base/proto.h"
#include "marshal/oip_read.h"

// Raw tensors: in a request and in a response, numbers and their tags.
enum { REQUEST_RAW = 7, RESPONSE_RAW = 6 };
#define TAG(number) ((char)((number) << 3 | FC_PROTO_BYTES))

// ---------------------------------------------------------------------------
// Echoes

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
                       fc_error_t *err) {
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
  // Each has a type of its own: a node has one place in a tree.
  for (int i = 0; i < 2; i++) {
    const uint32_t node = is_texts ? make_texts(builder, tensor)
                                   : make_tensor(builder, tensor, dtype);
    if (i) fc_builder_result(builder, tensor->name, node, FC_RAW_NEXT);
    else
      fc_builder_argument(builder, tensor->name, node, FC_ROLE_IN, true,
                          FC_RAW_NEXT);
  }
  return FC_OK;
}

fc_status_t fc_echo_make(const fc_echo_tensor_t *tensors, size_t count,
                         fc_echo_t *out_echo, fc_error_t *err) {
  fc_status_t status = FC_OK;
  *out_echo = (fc_echo_t){0};
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  if (!builder) return fc_fail_memory(err);
  fc_builder_source(builder, FC_SOURCE_SIDECAR);
  fc_builder_name(builder, FC_STR("model"));
  for (size_t i = 0; i < count && status == FC_OK; i++) {
    status = add(builder, &tensors[i], err);
  }
  if (status == FC_OK) {
    status = fc_signature_build(builder, &out_echo->signature, err);
  }
  fc_builder_destroy(builder);
  if (status == FC_OK) {
    status = fc_plan_create(out_echo->signature, fc_allocator_system(),
                            &out_echo->plan, err);
  }
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

// Gives the raw tensors another number, where they have one.
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
                                  fc_str_t response, fc_sink_t *sink,
                                  fc_error_t *err) {
  FC_TRY(renumber(response, RESPONSE_RAW, REQUEST_RAW, err));
  FC_TRY(fc_message_decode(frame, response, err));
  frame->options = asked->options;
  echo(frame);
  return fc_frame_encode(frame, sink, err);
}
