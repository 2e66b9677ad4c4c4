// SPDX-License-Identifier: Apache-2.0
#include "grpc/verbs.h"

#include <stddef.h>
#include <stdio.h>

#include "base/proto.h"
#include "file.h"
#include "grpc/model.h"
#include "input.h"

static int print_answer(const fc_args_t *args, const fc_remote_t *server,
                        const fc_rpc_model_t *model, fc_str_t message) {
  fc_error_t err;
  fc_text_t response, answer;
  fc_error_reset(&err);
  fc_text_init(&response, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&answer, fc_allocator_system(), SIZE_MAX);
  const int exit_code =
      fc_message_put_answer(model->frames[1], model->frames[0], message,
                            &response, &answer.sink, &err)
          ? fc_rpc_strange(server, &err)
          : fc_output_print(args, fc_text_str(&answer));
  // The frame may point into the response, so it ends first.
  fc_frame_end(model->frames[1]);
  fc_text_deinit(&response);
  fc_text_deinit(&answer);
  return exit_code;
}

int fc_rpc_call(const fc_args_t *args, const fc_remote_t *server) {
  fc_rpc_model_t model;
  fc_rpc_reply_t reply;
  int exit_code = fc_rpc_model_open(args, server, &model);
  if (!exit_code) exit_code = fc_rpc_model_ask(args, &model);
  if (!exit_code) {
    exit_code = fc_rpc_get(args, server, FC_RPC_SERVICE "ModelInfer",
                           fc_text_str(&model.request), &reply);
  }
  if (!exit_code) exit_code = print_answer(args, server, &model, reply.message);
  fc_rpc_model_close(&model);
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

// RepositoryIndexResponse has the fields {1 {1 name, 2 version, 3 state, 4 reason}}.
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

#define WIDTH_MAX 64u  // of the column of names: they may have any size

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
  const int exit_code = fc_rpc_get(
      args, server, FC_RPC_SERVICE "RepositoryIndex", FC_STR(""), &reply);
  if (exit_code) return exit_code;
  for (int pass = 0; pass < 2; pass++) {
    fc_proto_t wire = fc_proto_begin(reply.message);
    entry_t entry;
    bool more = true;
    while (more) {
      if (next_entry(&wire, &entry, &more, &err))
        return fc_rpc_strange(server, &err);
      if (more && pass) print_entry(&entry, width);
      if (entry.name.size > width) width = entry.name.size;
      if (width > WIDTH_MAX) width = WIDTH_MAX;
    }
  }
  return FC_EXIT_OK;
}
