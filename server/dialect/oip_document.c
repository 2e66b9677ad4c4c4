// SPDX-License-Identifier: Apache-2.0
//
// The documents of /v2 about the server and its models.
#include "dialect/oip.h"

#include "dialect/admission.h"
#include "dialect/parts.h"
#include "dialect/place.h"
#include "dialect/ready.h"
#include "dialect/reflect.h"
#include "farcall/version.h"
#include "json/writer.h"
#include "marshal/model.h"
#include "marshal/oip.h"
#include "module/files.h"

// ---------------------------------------------------------------------------
// The server

static fc_status_t write_server(fc_sink_t *sink, fc_error_t *err) {
  static const char *const kExtensions[] = {FC_OIP_EXTENSIONS};
  FC_TRY(fc_json_print(sink, err,
                       "{'name':'farcalld','version':'%s','extensions':[",
                       fc_version()));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kExtensions); i++) {
    FC_TRY(fc_json_print(sink, err, "%s'%s'", i ? "," : "", kExtensions[i]));
  }
  return fc_json_print(sink, err, "]}");
}

static fc_status_t write_live(const fc_server_t *server, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_load_counts_t counts;
  const bool ready = fc_ready_check(server, &counts, NULL) == FC_OK;
  return fc_json_print(sink, err, "{'live':true,'ready':%s}",
                       ready ? "true" : "false");
}

static fc_status_t write_ready(const fc_server_t *server, fc_sink_t *sink,
                               fc_error_t *err) {
  fc_load_counts_t counts;
  FC_TRY(fc_ready_check(server, &counts, err));
  return fc_json_print(sink, err, "{'ready':true,'live':true}");
}

// ---------------------------------------------------------------------------
// Models

fc_status_t fc_oip_put_name(const fc_generation_t *generation,
                            const fc_function_t *function, fc_sink_t *sink,
                            fc_error_t *err) {
  const fc_module_t *module = function->module;
  uint32_t only;
  if (fc_place_only_function(generation, module, &only)) {
    return fc_json_write_string(sink, fc_module_get_name(module), err);
  }
  fc_text_t name;
  fc_text_init(&name, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = fc_sink_put(&name.sink, fc_module_get_name(module), err);
  if (status == FC_OK) status = fc_sink_put(&name.sink, FC_STR("."), err);
  if (status == FC_OK) status = fc_sink_put(&name.sink, function->name, err);
  if (status == FC_OK) {
    status = fc_json_write_string(sink, fc_text_str(&name), err);
  }
  fc_text_deinit(&name);
  return status;
}

static fc_status_t check_ready(const fc_generation_t *generation,
                               fc_error_t *err) {
  if (fc_generation_state(generation) == FC_GENERATION_READY ||
      fc_generation_is_coming(generation)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_NOT_READY, "module '%.*s' is being loaded",
                 FC_STR_ARG(generation->claim.name));
}

static fc_status_t write_model_ready(const fc_generation_t *generation,
                                     const fc_function_t *function,
                                     fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(check_ready(generation, err));
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  return fc_json_print(sink, err, ",'ready':true}");
}

fc_status_t fc_oip_check_model(const fc_function_t *function, fc_error_t *err) {
  const fc_model_t *model;
  if (function->plan) return fc_plan_model(function->plan, &model, err);
  const fc_signature_t *signature = function->signature;
  const fc_str_t reason = fc_signature_text(signature, signature->reason);
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "function '%.*s': %.*s",
                 FC_STR_ARG(function->name), FC_STR_ARG(reason));
}

// Writes all versions of the model's module, beginning with the requested one. For a
// draining generation, writes only its own version.
static fc_status_t write_versions(const fc_generation_t *generation,
                                  fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_write_string(sink, generation->claim.version, err));
  if (!generation->claim.current) return FC_OK;
  for (const fc_generation_t *g = generation->claim.sibling; g != generation;
       g = g->claim.sibling) {
    FC_TRY(fc_json_print(sink, err, ",'%.*s'", FC_STR_ARG(g->claim.version)));
  }
  return FC_OK;
}

static fc_status_t write_model(const fc_generation_t *generation,
                               const fc_function_t *function, fc_sink_t *sink,
                               fc_error_t *err) {
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(sink, err, ",'versions':["));
  FC_TRY(write_versions(generation, sink, err));
  FC_TRY(
      fc_json_print(sink, err, "],'platform':'farcall_%s',", generation->kind));
  FC_TRY(fc_oip_write_tensors(function->plan, sink, err));
  return fc_json_print(sink, err, "}");
}

// Lists, in parts. While its functions are listed, a generation may fail or get another
// module. So name and version are those of the module that has the functions.

// NULL: the function is no model.
static const fc_function_t *model_at(const fc_parts_t *parts, size_t index) {
  const fc_function_t *function = fc_module_function(parts->module, index);
  return fc_oip_check_model(function, NULL) == FC_OK ? function : NULL;
}

static fc_status_t begin_models(const fc_server_t *server, fc_sink_t *sink,
                                fc_error_t *err) {
  (void)server;
  return fc_json_print(sink, err, "{'models':[");
}

static fc_status_t begin_stats(const fc_server_t *server, fc_sink_t *sink,
                               fc_error_t *err) {
  (void)server;
  return fc_json_print(sink, err, "{'model_stats':[");
}

static fc_status_t begin_index(const fc_server_t *server, fc_sink_t *sink,
                               fc_error_t *err) {
  (void)server;
  return fc_json_print(sink, err, "[");
}

static fc_status_t put_ready(fc_parts_t *parts,
                             const fc_generation_t *generation, fc_sink_t *sink,
                             fc_error_t *err) {
  (void)sink;
  (void)err;
  if (fc_generation_state(generation) == FC_GENERATION_READY) {
    fc_parts_hold(parts, generation);
  }
  return FC_OK;
}

// Lists a module that is not loaded. The entry has the module's name, because its
// functions may be unknown.
static fc_status_t put_unknown(fc_parts_t *parts,
                               const fc_generation_t *generation,
                               fc_sink_t *sink, fc_error_t *err) {
  const fc_generation_state_t state = fc_generation_state(generation);
  const bool failed = state == FC_GENERATION_FAILED;
  const bool described = state == FC_GENERATION_DESCRIBED;
  FC_TRY(fc_parts_comma(parts, sink, err));
  return fc_json_print(sink, err, "{'name':'%.*s','state':'%s','reason':'%s'}",
                       FC_STR_ARG(generation->claim.name),
                       failed || described ? "UNAVAILABLE" : "LOADING",
                       failed      ? generation->error.message
                       : described ? "unloaded"
                                   : "");
}

// parts->flags of the index: the request asks only for ready models.
enum { ASKS_READY = 1 };

static fc_status_t put_indexed(fc_parts_t *parts,
                               const fc_generation_t *generation,
                               fc_sink_t *sink, fc_error_t *err) {
  if (parts->flags & ASKS_READY) {
    return put_ready(parts, generation, sink, err);
  }
  if (!generation->module ||
      fc_generation_state(generation) == FC_GENERATION_DESCRIBED) {
    return put_unknown(parts, generation, sink, err);
  }
  fc_parts_hold(parts, generation);
  return FC_OK;
}

static fc_status_t put_name(fc_parts_t *parts,
                            const fc_generation_t *generation, size_t index,
                            fc_sink_t *sink, fc_error_t *err) {
  const fc_function_t *function = model_at(parts, index);
  if (!function) return FC_OK;
  FC_TRY(fc_parts_comma(parts, sink, err));
  return fc_oip_put_name(generation, function, sink, err);
}

static fc_status_t put_stats(fc_parts_t *parts,
                             const fc_generation_t *generation, size_t index,
                             fc_sink_t *sink, fc_error_t *err) {
  const fc_function_t *function = model_at(parts, index);
  if (!function) return FC_OK;
  FC_TRY(fc_parts_comma(parts, sink, err));
  return fc_oip_write_statistics(parts->server, generation, function, sink,
                                 err);
}

static fc_status_t put_entry(fc_parts_t *parts,
                             const fc_generation_t *generation, size_t index,
                             fc_sink_t *sink, fc_error_t *err) {
  const bool ready = fc_generation_state(generation) == FC_GENERATION_READY;
  const fc_function_t *function = model_at(parts, index);
  if (!function) return FC_OK;
  FC_TRY(fc_parts_comma(parts, sink, err));
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  return fc_json_print(sink, err, ",'version':'%.*s','state':'%s','reason':''}",
                       FC_STR_ARG(fc_module_get_version(function->module)),
                       ready ? "READY" : "LOADING");
}

// Lists the modules that were unloaded by request, after all others. Loading one again
// removes it from this list.
static fc_status_t put_unloaded(fc_parts_t *parts, bool *out_more,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_modules_t *modules = parts->server->modules;
  *out_more = parts->pass == 0;
  if (*out_more || parts->flags & ASKS_READY) return FC_OK;
  for (const fc_put_away_t *gone = modules->put_away; gone; gone = gone->next) {
    fc_str_t name, version;
    fc_path_identify(gone->path, &name, &version);
    FC_TRY(fc_parts_comma(parts, sink, err));
    FC_TRY(fc_json_print(sink, err,
                         "{'name':'%.*s','version':'%.*s',"
                         "'state':'UNAVAILABLE','reason':'unloaded'}",
                         FC_STR_ARG(name), FC_STR_ARG(version)));
  }
  return FC_OK;
}

static const fc_parts_form_t kModels = {.begin = begin_models,
                                        .module = put_ready,
                                        .function = put_name,
                                        .end = "]}"};
static const fc_parts_form_t kStats = {.begin = begin_stats,
                                       .module = put_ready,
                                       .function = put_stats,
                                       .end = "]}"};
static const fc_parts_form_t kIndex = {.begin = begin_index,
                                       .pass = put_unloaded,
                                       .module = put_indexed,
                                       .function = put_entry,
                                       .end = "]"};

typedef struct filter_t {
  fc_json_reader_t reader;
  bool ready;
} filter_t;

static fc_status_t read_ready(void *context, fc_error_t *err) {
  filter_t *filter = context;
  return fc_oip_read_flag(&filter->reader, "ready", &filter->ready, err);
}

// The body {"ready":true} asks only for models that are ready.
static fc_status_t open_index(const fc_server_t *server, fc_str_t body,
                              fc_parts_t **out_parts, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {{FC_STR("ready"), read_ready, NULL}};
  filter_t filter;
  filter.ready = false;
  FC_TRY(fc_oip_read(&filter.reader, body, kRows, FC_ARRAY_COUNT(kRows),
                     &filter, err));
  return fc_parts_create(server, &kIndex, filter.ready ? ASKS_READY : 0,
                         out_parts, err);
}

// ---------------------------------------------------------------------------
// Choosing the document of a route

static fc_status_t write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(fc_oip_check_model(function, err));
  return fc_oip_write_config(generation, function, sink, err);
}

static fc_status_t write_statistics(const fc_server_t *server,
                                    const fc_generation_t *generation,
                                    const fc_function_t *function,
                                    fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_json_print(sink, err, "{'model_stats':["));
  FC_TRY(fc_oip_write_statistics(server, generation, function, sink, err));
  return fc_json_print(sink, err, "]}");
}

fc_status_t fc_oip_document(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_document_t *out_document, fc_sink_t *sink,
                            fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const fc_function_t *function =
      generation ? fc_module_function(generation->module, place->function)
                 : NULL;
  *out_document = (fc_document_t){.content_type = FC_STR("application/json")};
  switch ((int)place->route) {
#define FC_OIP_ROUTE(name, path, methods, scope, document) \
  case FC_ROUTE_##name:                                    \
    return document;
#include "dialect/route.def"
  }
  return fc_fail(err, FC_CODE_INTERNAL, "a route without a document");
}
