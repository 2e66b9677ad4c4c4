// SPDX-License-Identifier: Apache-2.0
//
// gRPC: documents about all models, loading and unloading, and the settings of log and
// traces. The rules are those of /v2 (oip_document.c, oip_act.c, oip_log.c).
#include <stddef.h>

#include "base/proto.h"
#include "dialect/grpc.h"
#include "dialect/oip.h"
#include "dialect/parts.h"
#include "dialect/place.h"
#include "json/writer.h"
#include "module/files.h"

// ---------------------------------------------------------------------------
// Lists. The answer is one message, and its size comes before it. So all parts are
// gathered before the message is sent (exchange/draft.c).

// ModelIndex: {1 name, 2 version, 3 state, 4 reason}
static fc_status_t put_index(const fc_str_t texts[4], fc_sink_t *sink,
                             fc_error_t *err) {
  size_t size = 0;
  for (uint32_t i = 0; i < 4; i++) {
    if (texts[i].size) size += fc_proto_bytes_size(i + 1, texts[i].size);
  }
  FC_TRY(fc_proto_put_head(sink, 1, size, err));
  for (uint32_t i = 0; i < 4; i++) {
    FC_TRY(fc_proto_put_text(sink, i + 1, texts[i], err));
  }
  return FC_OK;
}

// parts->flags of the index: the request asks only for ready models.
enum { ASKS_READY = 1 };

static fc_status_t index_module(fc_parts_t *parts,
                                const fc_generation_t *generation,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_generation_state_t state = fc_generation_state(generation);
  const bool described = state == FC_GENERATION_DESCRIBED;
  const bool failed = state == FC_GENERATION_FAILED;
  if (generation->module && !described &&
      (state == FC_GENERATION_READY || !(parts->flags & ASKS_READY))) {
    fc_parts_hold(parts, generation);
    return FC_OK;
  }
  if (parts->flags & ASKS_READY) return FC_OK;
  const fc_str_t texts[4] = {
      generation->claim.name, FC_STR(""),
      failed || described ? FC_STR("UNAVAILABLE") : FC_STR("LOADING"),
      fc_str(failed      ? generation->error.message
             : described ? "unloaded"
                         : "")};
  return put_index(texts, sink, err);
}

static const fc_function_t *model_at(const fc_parts_t *parts, size_t index) {
  const fc_function_t *function = fc_module_function(parts->module, index);
  return fc_oip_check_model(function, NULL) == FC_OK ? function : NULL;
}

static fc_status_t index_model(fc_parts_t *parts,
                               const fc_generation_t *generation, size_t index,
                               fc_sink_t *sink, fc_error_t *err) {
  const bool ready = fc_generation_state(generation) == FC_GENERATION_READY;
  const fc_function_t *function = model_at(parts, index);
  char pair[FC_OIP_NAME_MAX];
  uint32_t only;
  if (!function) return FC_OK;
  const bool alone =
      fc_place_only_function(generation, function->module, &only);
  const fc_str_t texts[4] = {fc_oip_model_name(function, alone, pair),
                             fc_module_get_version(function->module),
                             ready ? FC_STR("READY") : FC_STR("LOADING"),
                             FC_STR("")};
  return put_index(texts, sink, err);
}

static fc_status_t index_unloaded(fc_parts_t *parts, bool *out_more,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_modules_t *modules = parts->server->modules;
  *out_more = parts->pass == 0;
  if (*out_more || parts->flags & ASKS_READY) return FC_OK;
  for (const fc_put_away_t *gone = modules->put_away; gone; gone = gone->next) {
    fc_str_t texts[4] = {{0}, {0}, FC_STR("UNAVAILABLE"), FC_STR("unloaded")};
    fc_path_identify(gone->path, &texts[0], &texts[1]);
    FC_TRY(put_index(texts, sink, err));
  }
  return FC_OK;
}

// RepositoryIndexRequest: {1 repository_name, 2 ready}
fc_status_t fc_grpc_open_index(const fc_server_t *server, fc_str_t body,
                               fc_parts_t **out_parts, fc_error_t *err) {
  static const fc_parts_form_t kIndex = {.pass = index_unloaded,
                                         .module = index_module,
                                         .function = index_model,
                                         .end = ""};
  static const fc_proto_row_t kRow = {2, FC_PROTO_VALUE, 0};
  uint64_t ready = 0;
  FC_TRY(fc_proto_read(body, &kRow, 1, &ready, err));
  return fc_parts_create(server, &kIndex, ready ? ASKS_READY : 0, out_parts,
                         err);
}

static fc_status_t hold_ready(fc_parts_t *parts,
                              const fc_generation_t *generation,
                              fc_sink_t *sink, fc_error_t *err) {
  (void)sink, (void)err;
  if (fc_generation_state(generation) == FC_GENERATION_READY) {
    fc_parts_hold(parts, generation);
  }
  return FC_OK;
}

static fc_status_t put_statistics(fc_parts_t *parts,
                                  const fc_generation_t *generation,
                                  size_t index, fc_sink_t *sink,
                                  fc_error_t *err) {
  const fc_function_t *function = model_at(parts, index);
  if (!function) return FC_OK;
  return fc_grpc_write_statistics(parts->server, generation, function, sink,
                                  err);
}

fc_status_t fc_grpc_open_statistics(const fc_server_t *server,
                                    fc_parts_t **out_parts, fc_error_t *err) {
  static const fc_parts_form_t kStatistics = {
      .module = hold_ready, .function = put_statistics, .end = ""};
  return fc_parts_create(server, &kStatistics, 0, out_parts, err);
}

// ---------------------------------------------------------------------------
// Load and unload

fc_status_t fc_grpc_begin_act(const fc_server_t *server,
                              const fc_request_t *request,
                              const fc_place_t *place, fc_str_t by,
                              fc_act_t **out_act, fc_error_t *err) {
  char kept[FC_ROUTE_KEPT];
  fc_route_names_t names = {0};
  bool more;
  FC_TRY(fc_grpc_peek(fc_message_names, request, kept, &names, &more, err));
  const bool loads = place->route == FC_ROUTE_GRPC_LOAD;
  const fc_str_t name = fc_route_act_name(&names);
  if (!name.size || name.size > FC_MODULE_NAME_MAX) {
    return fc_fail(err, FC_CODE_MODULE_NOT_FOUND,
                   "a module's name has 1 to %d characters",
                   FC_MODULE_NAME_MAX);
  }
  *out_act = fc_act_create(server->modules, loads ? FC_ACT_LOAD : FC_ACT_UNLOAD,
                           fc_oip_act_module(server, name), by);
  return *out_act ? FC_OK : fc_fail_memory(err);
}

// Field 3 is a map of parameters. All are refused except "unload_dependents", which is
// ignored.
fc_status_t fc_grpc_read_act(fc_act_t *act, fc_str_t body, fc_error_t *err) {
  static const fc_proto_row_t kKey = {1, FC_PROTO_TEXT, 0};
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  bool more = true;
  (void)act;
  for (;;) {
    fc_str_t key = FC_STR("");
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    if (field.number != 3) continue;
    FC_TRY(fc_proto_read(field.bytes, &kKey, 1, &key, err));
    if (fc_str_equal(key, FC_STR("unload_dependents"))) continue;
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "a module is loaded as its file is: no configuration and no "
                   "file is taken from a request");
  }
}

// KServe's answer: {1 model_name, 2 isLoaded or isUnloaded}. Triton's is empty.
fc_status_t fc_grpc_tell_act(const fc_server_t *server, const fc_act_t *act,
                             fc_sink_t *sink, fc_error_t *err) {
  (void)server;
  FC_TRY(fc_proto_put_text(sink, 1, act->name, err));
  return fc_proto_put_value(sink, 2, true, err);
}

// ---------------------------------------------------------------------------
// Settings. Field 1 is a map from names to values.

typedef struct setting_t {
  const char *name;
  fc_str_t value;  // the encoded message of the value
} setting_t;

static fc_status_t put_setting(const char *name, fc_str_t value,
                               fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_proto_put_head(
      sink, 1,
      fc_proto_bytes_size(1, strlen(name)) + fc_proto_bytes_size(2, value.size),
      err));
  FC_TRY(fc_proto_put_bytes(sink, 1, fc_str(name), err));
  return fc_proto_put_bytes(sink, 2, value, err);
}

// Each value is a message whose field 1 is a list of texts.
fc_status_t fc_grpc_write_trace(fc_sink_t *sink, fc_error_t *err) {
  static const setting_t kRows[] = {{"trace_level", FC_STR("\x0a\x03OFF")},
                                    {"trace_rate", FC_STR("\x0a\x04"
                                                          "1000")},
                                    {"trace_count", FC_STR("\x0a\x02-1")},
                                    {"log_frequency", FC_STR("\x0a\x01"
                                                             "0")},
                                    {"trace_file", FC_STR("\x0a\x00")},
                                    {"trace_mode", FC_STR("\x0a\x06triton")}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    FC_TRY(put_setting(kRows[i].name, kRows[i].value, sink, err));
  }
  return FC_OK;
}

typedef struct entry_t {
  fc_str_t name, value;
} entry_t;

// Writes a setting as a JSON member. The value is one of the fields 1 (true or false),
// 2 (a number) and 3 (a text).
static fc_status_t put_member(fc_str_t message, fc_text_t *json,
                              fc_error_t *err) {
  static const fc_proto_row_t kRows[] = {
      {1, FC_PROTO_TEXT, offsetof(entry_t, name)},
      {2, FC_PROTO_TEXT, offsetof(entry_t, value)}};
  const bool first = fc_text_str(json).size == 1;
  entry_t entry = {{0}, {0}};
  fc_proto_field_t field = {.type = FC_PROTO_BYTES};
  bool more;
  FC_TRY(fc_proto_read(message, kRows, FC_ARRAY_COUNT(kRows), &entry, err));
  fc_proto_t wire = fc_proto_begin(entry.value);
  FC_TRY(fc_proto_next(&wire, &field, &more, err));
  FC_TRY(fc_json_print(&json->sink, err, "%s'%.*s':", first ? "" : ",",
                       FC_STR_ARG(entry.name)));
  if (field.type == FC_PROTO_BYTES) {
    return fc_json_print(&json->sink, err, "'%.*s'", FC_STR_ARG(field.bytes));
  }
  if (field.number == 1) {
    return fc_json_print(&json->sink, err, field.value ? "true" : "false");
  }
  return fc_json_write_u64(&json->sink, field.value, err);
}

// Writes the JSON body by which /v2/logging would make the same change.
static fc_status_t gather(fc_str_t body, fc_text_t *json, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  bool more;
  FC_TRY(fc_sink_put(&json->sink, FC_STR("{"), err));
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return fc_sink_put(&json->sink, FC_STR("}"), err);
    if (field.number == 1) FC_TRY(put_member(field.bytes, json, err));
  }
}

static fc_status_t change(const fc_server_t *server, fc_str_t body,
                          fc_text_t *json, fc_error_t *err) {
  fc_text_t ignored;
  FC_TRY(gather(body, json, err));
  fc_text_init(&ignored, fc_allocator_system(), 4096);
  const fc_status_t status =
      fc_oip_log(server, fc_text_str(json), &ignored.sink, err);
  fc_text_deinit(&ignored);
  return status;
}

fc_status_t fc_grpc_log(const fc_server_t *server, fc_str_t body,
                        fc_sink_t *sink, fc_error_t *err) {
  const fc_log_t *log = server->log;
  fc_text_t json;
  fc_text_init(&json, fc_allocator_system(), FC_LIMIT_ASKING);
  const fc_status_t status =
      body.size ? change(server, body, &json, err) : FC_OK;
  fc_text_deinit(&json);
  FC_TRY(status);
#define FLAG(level) log->silent[level] ? FC_STR("\x08\x00") : FC_STR("\x08\x01")
  const setting_t rows[] = {{"log_file", FC_STR("\x1a\x00")},
                            {"log_info", FLAG(FC_LOG_INFO)},
                            {"log_warning", FLAG(FC_LOG_WARN)},
                            {"log_error", FLAG(FC_LOG_ERROR)},
                            {"log_verbose_level", FC_STR("\x10\x00")},
                            {"log_format", FC_STR("\x1a\x07"
                                                  "default")}};
#undef FLAG
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    FC_TRY(put_setting(rows[i].name, rows[i].value, sink, err));
  }
  return FC_OK;
}
