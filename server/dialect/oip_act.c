// SPDX-License-Identifier: Apache-2.0
//
// The repository of /v2: load and unload. What they do is in modules/act.h; who may
// ask is decided before (exchange/privilege.h).
#include "dialect/oip.h"

#include "dialect/admission.h"

// Returns the module's name in `name`: all of it, or what stands before one of its
// dots, since a model is MODULE.FUNCTION and a module is loaded as a whole. A name
// with no known module in it is returned as it is.
fc_str_t fc_oip_act_module(const fc_server_t *server, fc_str_t name) {
  const fc_generations_t *all = &server->modules->generations;
  if (fc_generations_find(all, name)) return name;
  for (size_t dot = name.size; dot-- > 0;) {
    if (name.data[dot] != '.') continue;
    const fc_str_t module = fc_str_make(name.data, dot);
    if (fc_generations_find(all, module)) return module;
  }
  return name;
}

fc_status_t fc_oip_begin_act(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place, fc_str_t by,
                             fc_act_t **out_act, fc_error_t *err) {
  char text[FC_MODULE_NAME_MAX];
  fc_str_t name;
  FC_TRY(fc_route_module(server->routes, place->route, request->path, text,
                         &name, err));
  const bool loads = place->route == FC_ROUTE_OIP_LOAD;
  *out_act = fc_act_create(server->modules, loads ? FC_ACT_LOAD : FC_ACT_UNLOAD,
                           fc_oip_act_module(server, name), by);
  return *out_act ? FC_OK : fc_fail_memory(err);
}

// Reads the object "parameters". Clients send "unload_dependents", which is ignored,
// because no module here has dependents. Any other member, such as a configuration
// or a file of the client's own, is refused.
static fc_status_t read_parameters(fc_json_reader_t *reader, fc_error_t *err) {
  static const char kIgnored[] = "unload_dependents";
  fc_json_token_t token;
  unsigned seen = 0;
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    if (!fc_json_text_is(reader, fc_str(kIgnored))) {
      return fc_json_locate(
          reader,
          fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                  "a module is loaded as its file is: no configuration and no "
                  "file is taken from a request"),
          err);
    }
    FC_TRY(fc_admission_once(reader, kIgnored, 1, &seen, err));
    FC_TRY(fc_json_next(reader, &token, err));
    FC_TRY(fc_json_skip(reader, token, err));
  }
}

fc_status_t fc_oip_read_act(fc_act_t *act, fc_str_t body, fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  unsigned seen = 0;
  (void)act;
  if (body.size == 0) return FC_OK;
  FC_TRY(fc_oip_open(&reader, body, err));
  for (;;) {
    FC_TRY(fc_json_next(&reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    const bool known = fc_json_text_is(&reader, FC_STR("parameters"));
    if (known) {
      FC_TRY(fc_admission_once(&reader, "parameters", 1, &seen, err));
    }
    FC_TRY(fc_json_next(&reader, &token, err));
    if (known && token == FC_JSON_OBJECT_BEGIN) {
      FC_TRY(read_parameters(&reader, err));
    } else {
      FC_TRY(fc_json_skip(&reader, token, err));
    }
  }
  return fc_json_next(&reader, &token, err);
}

// The act has ended well, and clients are told no more than that.
fc_status_t fc_oip_tell_act(const fc_server_t *server, const fc_act_t *act,
                            fc_sink_t *sink, fc_error_t *err) {
  (void)server;
  (void)act;
  return fc_sink_put(sink, FC_STR("{}"), err);
}
