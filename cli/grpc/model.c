// SPDX-License-Identifier: Apache-2.0
//
// The model's metadata describe its inputs and outputs. With them, documents are read and
// printed as farcalld would do it.
#include "grpc/model.h"

#include <stddef.h>

#include "base/proto.h"
#include "file.h"
#include "input.h"

#define TENSORS_MAX 256
#define MESSAGE_LIMIT ((size_t)257 << 20)
#define ZEROS_MAX ((size_t)64 << 20)  // bytes

static int no_memory(void) {
  return fc_complain(FC_EXIT_FAILED, "out of memory");
}

int fc_rpc_get(const fc_args_t *args, const fc_remote_t *server,
               const char *method, fc_str_t message,
               fc_rpc_reply_t *out_reply) {
  fc_error_t err;
  fc_rpc_call_t call;
  fc_error_reset(&err);
  if (fc_rpc_call_make(args->arena, server, method, message, &call, &err) ||
      fc_rpc_ask(args->arena, &call, out_reply, &err)) {
    return fc_remote_complain(&err);
  }
  return out_reply->status
             ? fc_complain_call(0, out_reply->code, out_reply->detail,
                                fc_remote_token_hint(out_reply->code), "",
                                FC_NO_OFFSET)
             : FC_EXIT_OK;
}

int fc_rpc_strange(const fc_remote_t *server, const fc_error_t *err) {
  return fc_complain(FC_EXIT_UNAVAILABLE, "%s answered what cannot be read: %s",
                     server->url, err->message);
}

// Refuses options that need a farcalld and HTTP.
int fc_rpc_check_options(const fc_args_t *args) {
  static const struct {
    int option;
    const char *name;
  } kRows[] = {{FC_OPTION_EXAMPLE, "--example"},
               {FC_OPTION_ITERATE, "--iterate"},
               {FC_OPTION_PROFILE, "--profile"},
               {FC_OPTION_SESSION, "--session"},
               {FC_OPTION_CURL, "--curl"}};
  const bool served = args->verb == FC_VERB_CALL || args->verb == FC_VERB_BENCH;
  const char *name = served ? NULL : fc_verb_name(args->verb);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    if (fc_args_has(args, kRows[i].option)) name = kRows[i].name;
  }
  return name ? fc_complain(FC_EXIT_USAGE, "%s is of HTTP, not of gRPC", name)
              : FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// Names and metadata

static int read_name(const fc_args_t *args, fc_rpc_model_t *out) {
  const char *text = args->words[0];
  const char *slash = strchr(text, '/');
  const size_t size = slash ? (size_t)(slash - text) : strlen(text);
  const char *at = memchr(text, '@', size);
  const size_t module = at ? (size_t)(at - text) : size;
  out->name = fc_print(args->arena, "%.*s%s%s", (int)module, text,
                       slash ? "." : "", slash ? slash + 1 : "");
  out->version =
      at ? fc_print(args->arena, "%.*s", (int)(size - module - 1), at + 1) : "";
  return out->name && out->version ? FC_EXIT_OK : no_memory();
}

static fc_status_t add_dim(fc_echo_tensor_t *tensor, uint64_t dim,
                           fc_error_t *err) {
  if (tensor->rank == FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "a tensor of over %d dims",
                   FC_RANK_MAX);
  }
  tensor->dims[tensor->rank++] = (int64_t)dim;
  return FC_OK;
}

// TensorMetadata has the fields {1 name, 2 datatype, 3 shape}.
static fc_status_t read_tensor(fc_str_t message, fc_echo_tensor_t *tensor,
                               fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  *tensor = (fc_echo_tensor_t){.name = FC_STR(""), .datatype = FC_STR("")};
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number == 1) tensor->name = field.bytes;
    if (field.number == 2) tensor->datatype = field.bytes;
    if (field.number != 3) continue;
    if (field.type != FC_PROTO_BYTES) FC_TRY(add_dim(tensor, field.value, err));
    fc_proto_t packed = fc_proto_begin(field.bytes);
    while (packed.left.size) {
      uint64_t dim;
      FC_TRY(fc_proto_varint(&packed, &dim, err));
      FC_TRY(add_dim(tensor, dim, err));
    }
  }
}

static fc_status_t read_tensors(fc_str_t message, uint32_t number,
                                fc_echo_tensor_t list[TENSORS_MAX],
                                size_t *out_count, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  for (size_t count = 0;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) *out_count = count;
    if (!more) return FC_OK;
    if (field.number != number) continue;
    if (count == TENSORS_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "a model of over %d tensors", TENSORS_MAX);
    }
    FC_TRY(read_tensor(field.bytes, &list[count++], err));
  }
}

static int ask_metadata(const fc_args_t *args, const fc_remote_t *server,
                        const fc_rpc_model_t *model, fc_rpc_reply_t *reply) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  const bool failed =
      fc_proto_put_text(&text.sink, 1, fc_str(model->name), NULL) ||
      fc_proto_put_text(&text.sink, 2, fc_str(model->version), NULL);
  const int exit_code =
      failed ? no_memory()
             : fc_rpc_get(args, server, FC_RPC_SERVICE "ModelMetadata",
                          fc_text_str(&text), reply);
  fc_text_deinit(&text);
  return exit_code;
}

// In ModelMetadataResponse, field 4 is the inputs and field 5 the outputs.
static fc_status_t read_metadata(fc_rpc_model_t *model, fc_arena_t *arena,
                                 fc_str_t metadata, fc_error_t *err) {
  for (uint32_t i = 0; i < 2; i++) {
    fc_echo_tensor_t *list =
        fc_arena_alloc_array(arena, TENSORS_MAX, sizeof *list);
    if (!list) return fc_fail_memory(err);
    model->tensors[i] = list;
    FC_TRY(read_tensors(metadata, 4 + i, list, &model->counts[i], err));
    FC_TRY(fc_echo_make(list, model->counts[i], i, &model->echoes[i], err));
    FC_TRY(
        fc_frame_create(fc_allocator_system(), NULL, &model->frames[i], err));
    fc_frame_begin(model->frames[i], model->echoes[i].plan, NULL);
  }
  return FC_OK;
}

int fc_rpc_model_open(const fc_args_t *args, const fc_remote_t *server,
                      fc_rpc_model_t *out_model) {
  fc_error_t err;
  fc_rpc_reply_t reply;
  fc_error_reset(&err);
  *out_model = (fc_rpc_model_t){0};
  fc_text_init(&out_model->request, fc_allocator_system(), MESSAGE_LIMIT);
  int exit_code = fc_rpc_check_options(args);
  if (!exit_code) exit_code = read_name(args, out_model);
  if (!exit_code) exit_code = ask_metadata(args, server, out_model, &reply);
  if (exit_code) return exit_code;
  return read_metadata(out_model, args->arena, reply.message, &err)
             ? fc_rpc_strange(server, &err)
             : FC_EXIT_OK;
}

void fc_rpc_model_close(fc_rpc_model_t *model) {
  for (int i = 0; i < 2; i++) {
    fc_frame_destroy(model->frames[i]);
    fc_echo_destroy(&model->echoes[i]);
  }
  fc_text_deinit(&model->request);
}

// ---------------------------------------------------------------------------
// Requests

int fc_rpc_model_ask(const fc_args_t *args, fc_rpc_model_t *model) {
  fc_error_t err;
  fc_str_t document;
  fc_error_reset(&err);
  const int exit_code =
      fc_input_document(args, model->echoes[0].signature, &document);
  if (exit_code) return exit_code;
  if (fc_frame_decode(model->frames[0], document, &err) == FC_OK &&
      fc_message_put_request(model->frames[0], fc_str(model->name),
                             fc_str(model->version), &model->request,
                             &err) == FC_OK) {
    return FC_EXIT_OK;
  }
  return fc_complain_call(0, fc_code_info(err.code)->text, err.message, "",
                          err.has_pointer ? err.pointer : "", err.byte_offset);
}

// Computes the bytes of a tensor of zeros. An empty text has four bytes (its size), like
// an f32.
static fc_status_t count_bytes(const fc_echo_tensor_t *tensor, size_t *out_size,
                               fc_error_t *err) {
  const fc_dtype_t dtype = fc_dtype_find_named(tensor->datatype, FC_DTYPE_F32);
  size_t size = fc_dtype_size(dtype);
  for (int32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->dims[i];
    if (!fc_size_mul(size, dim < 0 ? 1 : (size_t)dim, &size) ||
        size > ZEROS_MAX) {
      char name[80];
      fc_escape(name, sizeof name, 64, tensor->name);
      return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                     "'%s' has more than %zu MiB of zeros: --json=@FILE or "
                     "--input has others",
                     name, ZEROS_MAX >> 20);
    }
  }
  *out_size = size;
  return FC_OK;
}

// InferInputTensor has the fields {1 name, 2 datatype, 3 shape}.
static fc_status_t put_input(const fc_echo_tensor_t *tensor, fc_sink_t *sink,
                             fc_error_t *err) {
  size_t packed = 0;
  for (int32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->dims[i];
    packed += fc_proto_varint_size(dim < 0 ? 1 : (uint64_t)dim);
  }
  FC_TRY(fc_proto_put_head(sink, 5,
                           fc_proto_bytes_size(1, tensor->name.size) +
                               fc_proto_bytes_size(2, tensor->datatype.size) +
                               fc_proto_bytes_size(3, packed),
                           err));
  FC_TRY(fc_proto_put_bytes(sink, 1, tensor->name, err));
  FC_TRY(fc_proto_put_bytes(sink, 2, tensor->datatype, err));
  FC_TRY(fc_proto_put_head(sink, 3, packed, err));
  for (int32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->dims[i];
    FC_TRY(fc_proto_put_varint(sink, dim < 0 ? 1 : (uint64_t)dim, err));
  }
  return FC_OK;
}

static fc_status_t put_zeros(size_t size, fc_sink_t *sink, fc_error_t *err) {
  static const char kZeros[4096];
  FC_TRY(fc_proto_put_head(sink, 7, size, err));
  while (size) {
    const size_t part = size < sizeof kZeros ? size : sizeof kZeros;
    FC_TRY(fc_sink_put(sink, fc_str_make(kZeros, part), err));
    size -= part;
  }
  return FC_OK;
}

// ModelInferRequest has the fields {1 model, 2 version, 5 inputs, 7 raw tensors}.
fc_status_t fc_rpc_model_fill(fc_rpc_model_t *model, fc_error_t *err) {
  fc_sink_t *sink = &model->request.sink;
  const fc_echo_tensor_t *inputs = model->tensors[0];
  FC_TRY(fc_proto_put_text(sink, 1, fc_str(model->name), err));
  FC_TRY(fc_proto_put_text(sink, 2, fc_str(model->version), err));
  for (size_t i = 0; i < model->counts[0]; i++) {
    FC_TRY(put_input(&inputs[i], sink, err));
  }
  for (size_t i = 0; i < model->counts[0]; i++) {
    size_t size = 0;
    FC_TRY(count_bytes(&inputs[i], &size, err));
    FC_TRY(put_zeros(size, sink, err));
  }
  return FC_OK;
}
