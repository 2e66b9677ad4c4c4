// SPDX-License-Identifier: Apache-2.0
//
// The model's metadata say what its inputs and outputs are; documents are read and printed
// by them as a farcalld would.
#include "grpc/verbs.h"

#include <stddef.h>
#include <stdio.h>

#include "base/proto.h"
#include "file.h"
#include "grpc/rpc.h"
#include "input.h"
#include "marshal/message_client.h"
#include "remote.h"

#define TENSORS_MAX 256
#define MESSAGE_LIMIT ((size_t)257 << 20)

static int no_memory(void) {
  return fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int ask(const fc_args_t *args, const fc_remote_t *server,
               const char *method, fc_str_t message, fc_rpc_reply_t *reply) {
  fc_error_t err;
  fc_error_reset(&err);
  if (fc_rpc_ask(args->arena, server, method, message, reply, &err)) {
    return fc_remote_complain(&err);
  }
  return reply->status ? fc_complain_call(0, reply->code, reply->detail, "", "",
                                          FC_NO_OFFSET)
                       : FC_EXIT_OK;
}

static int strange(const fc_remote_t *server, const fc_error_t *err) {
  return fc_complain(FC_EXIT_UNAVAILABLE, "%s answered what cannot be read: %s",
                     server->url, err->message);
}

// ---------------------------------------------------------------------------
// Names and metadata

typedef struct name_t {
  fc_str_t model;
  fc_str_t version;
} name_t;

static int read_name(const fc_args_t *args, name_t *out) {
  const char *text = args->words[0];
  const char *slash = strchr(text, '/');
  const size_t size = slash ? (size_t)(slash - text) : strlen(text);
  const char *at = memchr(text, '@', size);
  const size_t module = at ? (size_t)(at - text) : size;
  const char *model = fc_print(args->arena, "%.*s%s%s", (int)module, text,
                               slash ? "." : "", slash ? slash + 1 : "");
  if (!model) return no_memory();
  out->model = fc_str(model);
  out->version = at ? fc_str_make(at + 1, size - module - 1) : FC_STR("");
  return FC_EXIT_OK;
}

typedef struct tensors_t {
  size_t count;
  fc_echo_tensor_t list[TENSORS_MAX];
} tensors_t;

static fc_status_t add_dim(fc_echo_tensor_t *tensor, uint64_t dim,
                           fc_error_t *err) {
  if (tensor->rank == FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "a tensor of over %d dims",
                   FC_RANK_MAX);
  }
  tensor->dims[tensor->rank++] = (int64_t)dim;
  return FC_OK;
}

// TensorMetadata: {1 name, 2 datatype, 3 shape}
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
                                tensors_t *out, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  out->count = 0;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number != number) continue;
    if (out->count == TENSORS_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "a model of over %d tensors", TENSORS_MAX);
    }
    FC_TRY(read_tensor(field.bytes, &out->list[out->count++], err));
  }
}

static int ask_metadata(const fc_args_t *args, const fc_remote_t *server,
                        const name_t *name, fc_rpc_reply_t *reply) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  const bool failed = fc_proto_put_text(&text.sink, 1, name->model, NULL) ||
                      fc_proto_put_text(&text.sink, 2, name->version, NULL);
  const int exit_code = failed
                            ? no_memory()
                            : ask(args, server, FC_RPC_SERVICE "ModelMetadata",
                                  fc_text_str(&text), reply);
  fc_text_deinit(&text);
  return exit_code;
}

// ---------------------------------------------------------------------------
// Calls

// Its inputs and its outputs.
typedef struct model_t {
  fc_echo_t echoes[2];
  fc_frame_t *frames[2];
  fc_text_t request;
  fc_text_t response;
  fc_text_t answer;
} model_t;

// ModelMetadataResponse: {4 inputs, 5 outputs}
static fc_status_t open_model(model_t *model, fc_arena_t *arena,
                              fc_str_t metadata, fc_error_t *err) {
  tensors_t *tensors = fc_arena_alloc(arena, sizeof *tensors, 16);
  if (!tensors) return fc_fail_memory(err);
  for (uint32_t i = 0; i < 2; i++) {
    FC_TRY(read_tensors(metadata, 4 + i, tensors, err));
    FC_TRY(
        fc_echo_make(tensors->list, tensors->count, i, &model->echoes[i], err));
    FC_TRY(
        fc_frame_create(fc_allocator_system(), NULL, &model->frames[i], err));
    fc_frame_begin(model->frames[i], model->echoes[i].plan, NULL);
  }
  return FC_OK;
}

static void close_model(model_t *model) {
  for (int i = 0; i < 2; i++) {
    fc_frame_destroy(model->frames[i]);
    fc_echo_destroy(&model->echoes[i]);
  }
  fc_text_deinit(&model->request);
  fc_text_deinit(&model->response);
  fc_text_deinit(&model->answer);
}

static int complain(const fc_error_t *err) {
  return fc_complain_call(0, fc_code_info(err->code)->text, err->message, "",
                          err->has_pointer ? err->pointer : "",
                          err->byte_offset);
}

static int call(const fc_args_t *args, const fc_remote_t *server,
                const name_t *name, fc_str_t document, model_t *model) {
  fc_error_t err;
  fc_rpc_reply_t reply;
  fc_error_reset(&err);
  if (fc_frame_decode(model->frames[0], document, &err) ||
      fc_message_put_request(model->frames[0], name->model, name->version,
                             &model->request, &err)) {
    return complain(&err);
  }
  const int exit_code = ask(args, server, FC_RPC_SERVICE "ModelInfer",
                            fc_text_str(&model->request), &reply);
  if (exit_code) return exit_code;
  if (fc_message_put_answer(model->frames[1], model->frames[0], reply.message,
                            &model->response, &model->answer.sink, &err)) {
    return strange(server, &err);
  }
  return fc_output_print(args, fc_text_str(&model->answer));
}

// What a farcalld alone has, and over HTTP.
static int check_options(const fc_args_t *args) {
  static const struct {
    int option;
    const char *name;
  } kRows[] = {{FC_OPTION_EXAMPLE, "--example"},
               {FC_OPTION_ITERATE, "--iterate"},
               {FC_OPTION_PROFILE, "--profile"},
               {FC_OPTION_SESSION, "--session"},
               {FC_OPTION_CURL, "--curl"}};
  const char *name =
      args->verb == FC_VERB_CALL ? NULL : fc_verb_name(args->verb);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    if (fc_args_has(args, kRows[i].option)) name = kRows[i].name;
  }
  return name ? fc_complain(FC_EXIT_USAGE, "%s is of HTTP, not of gRPC", name)
              : FC_EXIT_OK;
}

int fc_rpc_call(const fc_args_t *args, const fc_remote_t *server) {
  fc_error_t err;
  name_t name;
  fc_rpc_reply_t reply;
  fc_str_t document;
  fc_error_reset(&err);
  int exit_code = check_options(args);
  if (!exit_code) exit_code = read_name(args, &name);
  if (!exit_code) exit_code = ask_metadata(args, server, &name, &reply);
  if (exit_code) return exit_code;
  model_t model = {.frames = {NULL}};
  fc_text_init(&model.request, fc_allocator_system(), MESSAGE_LIMIT);
  fc_text_init(&model.response, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&model.answer, fc_allocator_system(), SIZE_MAX);
  if (open_model(&model, args->arena, reply.message, &err)) {
    exit_code = strange(server, &err);
  } else {
    exit_code = fc_input_document(args, model.echoes[0].signature, &document);
    if (!exit_code) exit_code = call(args, server, &name, document, &model);
  }
  close_model(&model);
  return exit_code;
}

// ---------------------------------------------------------------------------
// Lists

typedef struct entry_t {
  fc_str_t name;
  fc_str_t version;
  fc_str_t state;
  fc_str_t reason;
} entry_t;

// RepositoryIndexResponse: {1 {1 name, 2 version, 3 state, 4 reason}}
static fc_status_t next_entry(fc_proto_t *wire, entry_t *out, bool *out_more,
                              fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {1, FC_PROTO_TEXT, offsetof(entry_t, name)},
      {2, FC_PROTO_TEXT, offsetof(entry_t, version)},
      {3, FC_PROTO_TEXT, offsetof(entry_t, state)},
      {4, FC_PROTO_TEXT, offsetof(entry_t, reason)}};
  fc_proto_field_t field;
  const fc_str_t none = FC_STR("");
  *out = (entry_t){none, none, none, none};
  do {
    FC_TRY(fc_proto_next(wire, &field, out_more, err));
    if (!*out_more) return FC_OK;
  } while (field.number != 1);
  return fc_proto_read(field.bytes, kRows, FC_ARRAY_COUNT(kRows), out, err);
}

#define WIDTH_MAX 64u  // of the column of names: a server may send any

static void print_entry(const entry_t *entry, size_t width) {
  fc_show(stdout, entry->name);
  const size_t size = entry->name.size;
  printf("%*s  ", size < width ? (int)(width - size) : 0, "");
  fc_show(stdout, entry->version.size ? entry->version : FC_STR("-"));
  fputs("  ", stdout);
  fc_show(stdout, entry->state.size ? entry->state : FC_STR("-"));
  if (entry->reason.size) fputs(": ", stdout);
  fc_show(stdout, entry->reason);
  putchar('\n');
}

int fc_rpc_ls(const fc_args_t *args, const fc_remote_t *server) {
  fc_error_t err;
  fc_rpc_reply_t reply;
  size_t width = 0;
  fc_error_reset(&err);
  if (fc_args_has(args, FC_OPTION_LS_JSON) ||
      fc_args_has(args, FC_OPTION_LONG)) {
    return fc_complain(FC_EXIT_USAGE, "--json and --long are of HTTP, not of "
                                      "gRPC");
  }
  const int exit_code =
      ask(args, server, FC_RPC_SERVICE "RepositoryIndex", FC_STR(""), &reply);
  if (exit_code) return exit_code;
  for (int pass = 0; pass < 2; pass++) {
    fc_proto_t wire = fc_proto_begin(reply.message);
    entry_t entry;
    bool more = true;
    while (more) {
      if (next_entry(&wire, &entry, &more, &err)) return strange(server, &err);
      if (more && pass) print_entry(&entry, width);
      if (entry.name.size > width) width = entry.name.size;
      if (width > WIDTH_MAX) width = WIDTH_MAX;
    }
  }
  return FC_EXIT_OK;
}
