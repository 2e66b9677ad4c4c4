// SPDX-License-Identifier: Apache-2.0
//
// The request of a load. Arguments come from the command line as for `farcall call`.
// Without them they come from the function's example, if the server is a farcalld, or
// from the metadata of the model, which every server of the Open Inference Protocol has.
#include "bench/request.h"

#include <stdio.h>

#include "base/sha256.h"
#include "file.h"
#include "grpc/model.h"
#include "input.h"
#include "json/writer.h"

#define ELEMENTS_MAX ((size_t)16 << 20)
#define DOCUMENT_LIMIT ((size_t)256 << 20)

// ---------------------------------------------------------------------------
// A document made from metadata

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_shape(yyjson_val *shape, fc_sink_t *sink,
                             size_t *elements, fc_error_t *err) {
  yyjson_val *dim;
  size_t index, count;
  FC_TRY(put(sink, ",\"shape\":[", err));
  yyjson_arr_foreach(shape, index, count, dim) {
    const int64_t given = yyjson_get_sint(dim);
    const int64_t size = given < 0 ? 1 : given;
    if (!fc_size_mul(*elements, (size_t)size, elements) ||
        *elements > ELEMENTS_MAX) {
      return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE, "too many elements");
    }
    if (index) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_i64(sink, size, err));
  }
  return put(sink, "]", err);
}

static fc_status_t put_input(yyjson_val *input, fc_sink_t *sink,
                             fc_error_t *err) {
  const char *name = yyjson_get_str(yyjson_obj_get(input, "name"));
  const char *type = yyjson_get_str(yyjson_obj_get(input, "datatype"));
  size_t elements = 1;
  if (!name || !type) return fc_fail(err, FC_CODE_JSON_SCHEMA, "no metadata");
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_json_write_string(sink, fc_str(name), err));
  FC_TRY(put(sink, ",\"datatype\":", err));
  FC_TRY(fc_json_write_string(sink, fc_str(type), err));
  FC_TRY(put_shape(yyjson_obj_get(input, "shape"), sink, &elements, err));
  const char *zero = !strcmp(type, "BYTES")  ? "\"\""
                     : !strcmp(type, "BOOL") ? "false"
                                             : "0";
  FC_TRY(put(sink, ",\"data\":[", err));
  for (size_t i = 0; i < elements; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(put(sink, zero, err));
  }
  return put(sink, "]}", err);
}

static fc_status_t put_inputs(yyjson_val *metadata, fc_sink_t *sink,
                              fc_error_t *err) {
  yyjson_val *inputs = yyjson_obj_get(metadata, "inputs"), *input;
  size_t index, count;
  if (!yyjson_is_arr(inputs)) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA, "no metadata");
  }
  FC_TRY(put(sink, "{\"inputs\":[", err));
  yyjson_arr_foreach(inputs, index, count, input) {
    if (index) FC_TRY(put(sink, ",", err));
    FC_TRY(put_input(input, sink, err));
  }
  return put(sink, "]}", err);
}

// Makes the document of a call by the Open Inference Protocol from the metadata of a
// model: zeros, or empty texts, with 1 for each dynamic dim. Data is NULL if this is not
// metadata, or the tensors would have more than 16 Mi elements.
static fc_str_t make_oip_document(fc_arena_t *arena, yyjson_val *metadata) {
  fc_error_t err;
  fc_text_t text;
  fc_str_t document = {0};
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), DOCUMENT_LIMIT);
  if (put_inputs(metadata, &text.sink, &err) == FC_OK) {
    document = fc_arena_copy(arena, fc_text_str(&text));
  }
  fc_text_deinit(&text);
  return document;
}

// ---------------------------------------------------------------------------
// Choosing the request

static bool is_given(const fc_args_t *args) {
  return fc_args_has(args, FC_OPTION_INPUT) ||
         fc_args_has(args, FC_OPTION_JSON);
}

// Gives the name of the example to send: that of the command line, otherwise the
// function's first. "": the function has none.
static int name_example(const fc_args_t *args, const char *target,
                        const char **out_name) {
  fc_reply_t answer;
  *out_name = fc_args_get(args, FC_OPTION_EXAMPLE, "");
  if (**out_name) return FC_EXIT_OK;
  const int exit_code = fc_remote_get(args, target, &answer);
  if (exit_code) return exit_code;
  yyjson_doc *doc = yyjson_read(answer.body.data, answer.body.size, 0);
  yyjson_val *names = yyjson_obj_get(yyjson_doc_get_root(doc), "examples");
  const char *first = yyjson_get_str(yyjson_arr_get_first(names));
  if (first) *out_name = fc_print(args->arena, "%s", first);
  yyjson_doc_free(doc);
  return *out_name ? FC_EXIT_OK : fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int native_document(const fc_args_t *args, const char *target,
                           fc_str_t *out_document, const char **out_example) {
  if (is_given(args)) return fc_input_document(args, NULL, out_document);
  const int exit_code = fc_remote_example(args, target, out_document);
  return exit_code ? exit_code : name_example(args, target, out_example);
}

static int oip_document(const fc_args_t *args, const char *model,
                        fc_str_t *out_document) {
  const bool is_example = fc_args_has(args, FC_OPTION_EXAMPLE);
  if (is_example || fc_args_has(args, FC_OPTION_INPUT)) {
    return fc_complain(FC_EXIT_USAGE,
                       "--oip takes no --%s: --json=@FILE has the inputs, "
                       "or leave them out",
                       is_example ? "example" : "input");
  }
  if (is_given(args)) return fc_input_document(args, NULL, out_document);
  fc_str_t text;
  yyjson_doc *doc;
  int exit_code = fc_remote_get_json(args, model, "inputs", &text, &doc);
  if (exit_code) return exit_code;
  *out_document = make_oip_document(args->arena, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  if (out_document->data) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_DATA,
                     "no call can be made from what the server says of '%s': "
                     "--json=@FILE has one",
                     args->words[0]);
}

static int oip_target(const fc_args_t *args, fc_str_t *out_document,
                      const char **out_target) {
  const char *name = fc_url_segment(args->arena, fc_str(args->words[0]));
  const char *model =
      name ? fc_print(args->arena, "/v2/models/%s", name) : NULL;
  *out_target = model ? fc_print(args->arena, "%s/infer", model) : NULL;
  if (!*out_target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  return oip_document(args, model, out_document);
}

static int native_target(const fc_args_t *args, fc_str_t *out_document,
                         const char **out_target, const char **out_example) {
  const int exit_code = fc_remote_target(args, args->words[0], out_target);
  if (exit_code) return exit_code;
  return native_document(args, *out_target, out_document, out_example);
}

// ---------------------------------------------------------------------------

static fc_status_t make_message(const fc_args_t *args,
                                fc_bench_request_t *request, fc_str_t document,
                                fc_error_t *err) {
  const char *head = fc_print(
      args->arena,
      "POST %s%s HTTP/1.1\r\nHost: %s\r\n"
      "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
      request->server.prefix, request->target, request->server.authority,
      request->server.authorization ? request->server.authorization : "",
      document.size);
  if (!head) return fc_fail_memory(err);
  const size_t size = strlen(head);
  char *message = fc_arena_alloc(args->arena, size + document.size, 1);
  if (!message) return fc_fail_memory(err);
  memcpy(message, head, size);
  memcpy(message + size, document.data, document.size);
  request->message = fc_str_make(message, size + document.size);
  return FC_OK;
}

// Decides what every answer must be: the answer of this first call, or the content of the
// file of --expected.
static int expect(const fc_args_t *args, fc_bench_request_t *request,
                  fc_str_t answer) {
  fc_error_t err;
  fc_error_reset(&err);
  request->expected = answer;
  const char *path = fc_args_get(args, FC_OPTION_EXPECTED, NULL);
  if (!path) return FC_EXIT_OK;
  if (fc_file_read(args->arena, path, &request->expected, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  if (fc_str_equal(request->expected, answer)) return FC_EXIT_OK;
  char text[256];
  fc_escape(text, sizeof text, 64, answer);
  return fc_complain(FC_EXIT_FAILED,
                     "the first answer is not what %s has: '%s'", path, text);
}

static void note_input(const fc_args_t *args, fc_bench_request_t *request,
                       fc_str_t body) {
  const bool is_named = *fc_args_get(args, FC_OPTION_EXAMPLE, "") != 0;
  request->input = is_given(args) || is_named            ? "given"
                   : strcmp(request->protocol, "native") ? "metadata"
                                                         : "example";
  request->input_size = body.size;
  fc_sha256_hex(body.data, body.size, request->input_sha256);
}

// ---------------------------------------------------------------------------
// gRPC

// Returns the message as it arrives, with its head.
static fc_str_t put_head(fc_arena_t *arena, fc_str_t message) {
  const size_t size = FC_RPC_HEAD + message.size;
  unsigned char *bytes = fc_arena_alloc(arena, size, 1);
  if (!bytes) return (fc_str_t){0};
  bytes[0] = 0;
  for (size_t i = 1; i < FC_RPC_HEAD; i++) {
    bytes[i] = (unsigned char)(message.size >> (8 * (FC_RPC_HEAD - 1 - i)));
  }
  if (message.size) memcpy(bytes + FC_RPC_HEAD, message.data, message.size);
  return fc_str_make((const char *)bytes, size);
}

// Makes the message of the request, in the arena.
static int make_request(const fc_args_t *args, fc_rpc_model_t *model,
                        fc_str_t *out_message) {
  fc_error_t err;
  fc_error_reset(&err);
  if (is_given(args)) {
    const int exit_code = fc_rpc_model_ask(args, model);
    if (exit_code) return exit_code;
  } else if (fc_rpc_model_fill(model, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  *out_message = fc_arena_copy(args->arena, fc_text_str(&model->request));
  return out_message->data ? FC_EXIT_OK
                           : fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int make_call(const fc_args_t *args, fc_bench_request_t *request,
                     fc_rpc_model_t *model) {
  fc_error_t err;
  fc_str_t message;
  fc_rpc_reply_t reply;
  fc_error_reset(&err);
  const fc_remote_t *server = &request->server;
  int exit_code = fc_rpc_model_open(args, server, model);
  if (!exit_code) exit_code = make_request(args, model, &message);
  if (exit_code) return exit_code;
  note_input(args, request, message);
  request->target = fc_print(args->arena, "ModelInfer %s", model->name);
  if (!request->target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  exit_code =
      fc_rpc_get(args, server, FC_RPC_SERVICE "ModelInfer", message, &reply);
  if (!exit_code) exit_code = expect(args, request, reply.message);
  if (exit_code) return exit_code;
  request->expected = put_head(args->arena, reply.message);
  if (!request->expected.data ||
      fc_rpc_call_make(args->arena, server, FC_RPC_SERVICE "ModelInfer",
                       message, &request->call, &err)) {
    return fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  request->call.timeout_ms = 0;  // a load has its own end
  return FC_EXIT_OK;
}

static int make_grpc(const fc_args_t *args, fc_bench_request_t *request) {
  fc_rpc_model_t model;
  request->protocol = "grpc";
  const int exit_code = make_call(args, request, &model);
  fc_rpc_model_close(&model);
  return exit_code;
}

// ---------------------------------------------------------------------------

int fc_bench_request_make(const fc_args_t *args,
                          fc_bench_request_t *out_request) {
  fc_error_t err;
  fc_reply_t answer;
  fc_str_t document = {0};
  fc_error_reset(&err);
  out_request->example = "";
  if (fc_remote_server(args, &out_request->server, &err)) {
    return fc_remote_complain(&err);
  }
  if (out_request->server.is_grpc) return make_grpc(args, out_request);
  out_request->protocol = fc_args_has(args, FC_OPTION_OIP) ? "oip" : "native";
  const int exit_code =
      fc_args_has(args, FC_OPTION_OIP)
          ? oip_target(args, &document, &out_request->target)
          : native_target(args, &document, &out_request->target,
                          &out_request->example);
  if (exit_code) return exit_code;
  note_input(args, out_request, document);
  if (fc_server_ask(args->arena, &out_request->server, out_request->target,
                    document, &answer, &err) ||
      make_message(args, out_request, document, &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != 200) return fc_remote_refused(args, &answer);
  return expect(args, out_request, answer.body);
}
