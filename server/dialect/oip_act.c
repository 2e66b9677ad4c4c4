// SPDX-License-Identifier: Apache-2.0
//
// The repository of /v2: load and unload. modules/act.h says what they do;
// exchange/privilege.h has already checked who may ask for them.
#include "dialect/oip.h"

// Returns the module's name in `name`: the whole name, or the part before one of its
// dots, because a model is MODULE.FUNCTION and a module is loaded as a whole. If no known
// module is in the name, returns it unchanged.
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

static fc_status_t skip(void *reader, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  return fc_json_skip(reader, token, err);
}

// Clients send "unload_dependents", which is ignored: no module here has dependents. Any
// other member, such as a configuration or a file from the client, is refused.
static fc_status_t read_parameters(void *reader, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("unload_dependents"), skip, NULL},
      {{0},
       NULL,
       "a module is loaded as its file is: no configuration and no file is taken "
       "from a request"}};
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  return token == FC_JSON_OBJECT_BEGIN
             ? fc_json_read_members(reader, kRows, FC_ARRAY_COUNT(kRows),
                                    reader, err)
             : fc_json_skip(reader, token, err);
}

fc_status_t fc_oip_read_act(fc_act_t *act, fc_str_t body, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("parameters"), read_parameters, NULL}};
  fc_json_reader_t reader;
  (void)act;
  return fc_oip_read(&reader, body, kRows, FC_ARRAY_COUNT(kRows), &reader, err);
}

// Clients of this protocol expect no more than {} after a success.
fc_status_t fc_oip_tell_act(const fc_server_t *server, const fc_act_t *act,
                            fc_sink_t *sink, fc_error_t *err) {
  (void)server;
  (void)act;
  return fc_sink_put(sink, FC_STR("{}"), err);
}
