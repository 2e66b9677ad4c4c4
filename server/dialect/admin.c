// SPDX-License-Identifier: Apache-2.0
//
// The admin routes of /api/v1: load, unload, reload, promote, rollback. modules/act.h
// says what they do; exchange/privilege.h has already checked who may ask for them.
#include "dialect/parameter.h"
#include "dialect/problem.h"
#include "dialect/reflect.h"
#include "json/reader.h"
#include "json/writer.h"
#include "obs/code.h"

static fc_status_t match(const fc_request_t *request, const fc_place_t *place,
                         fc_error_t *err) {
  return fc_parameter_check(place->route, request->method, request->query, err);
}

static fc_act_kind_t kind_of(fc_route_t route) {
  switch ((int)route) {
#define FC_ADMIN_ROUTE(name, path, kind) \
  case FC_ROUTE_##name:                  \
    return kind;
#include "dialect/route.def"
  }
  return FC_ACT_RELOAD_ALL;
}

static fc_status_t begin_act(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place, fc_str_t by,
                             fc_act_t **out_act, fc_error_t *err) {
  char text[FC_MODULE_NAME_MAX];
  fc_str_t name;
  FC_TRY(fc_route_module(server->routes, place->route, request->path, text,
                         &name, err));
  *out_act = fc_act_create(server->modules, kind_of(place->route), name, by);
  if (!*out_act) return fc_fail_memory(err);
  (*out_act)->forced = fc_str_equal(
      fc_request_query(request->query, FC_STR("force")), FC_STR("1"));
  return FC_OK;
}

static fc_str_t act_module(const fc_server_t *server, fc_str_t name) {
  (void)server;
  return fc_str_take(&name, '@');
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

typedef struct alias_t {
  fc_json_reader_t reader;
  fc_act_t *act;
} alias_t;

static fc_status_t refuse(void *context, fc_error_t *err) {
  return fc_json_fail(&((alias_t *)context)->reader, err, FC_CODE_JSON_SCHEMA,
                      "the body is empty, {} or {\"alias\":TEXT}");
}

static fc_status_t read_name(void *context, fc_error_t *err) {
  alias_t *alias = context;
  fc_json_reader_t *reader = &alias->reader;
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_STRING) return refuse(context, err);
  if (!fc_is_alias(reader->text)) {
    return fc_json_fail(reader, err, FC_CODE_TYPE_MISMATCH,
                        "an alias is a letter, then letters, digits, '_' and "
                        "'-', at most %d",
                        FC_ALIAS_MAX);
  }
  memcpy(alias->act->alias, reader->text.data, reader->text.size);
  return FC_OK;
}

// Reads a body {"alias":"stable"}, {} or nothing.
static fc_status_t read_alias(fc_act_t *act, fc_str_t body, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {{FC_STR("alias"), read_name, NULL},
                                           {{0}, refuse, NULL}};
  alias_t alias;
  fc_json_token_t token;
  if (body.size == 0) return FC_OK;
  alias.act = act;
  fc_json_reader_init(&alias.reader, 4, 16);
  fc_json_reader_feed(&alias.reader, body.data, body.size, true);
  FC_TRY(fc_json_next(&alias.reader, &token, err));
  if (token != FC_JSON_OBJECT_BEGIN) return refuse(&alias, err);
  FC_TRY(fc_json_read_members(&alias.reader, kRows, FC_ARRAY_COUNT(kRows),
                              &alias, err));
  return fc_json_next(&alias.reader, &token, err);
}

// PROMOTE and ROLLBACK may name an alias. The body of any other act is empty or {}, which
// some programs send instead of nothing.
static fc_status_t read_act(fc_act_t *act, fc_str_t body, fc_error_t *err) {
  static const char kNothing[] = "{}";
  size_t seen = 0;
  if (act->kind == FC_ACT_PROMOTE || act->kind == FC_ACT_ROLLBACK) {
    return read_alias(act, body, err);
  }
  for (size_t i = 0; i < body.size; i++) {
    if (is_blank(body.data[i])) continue;
    if (seen < 2 && body.data[i] == kNothing[seen]) {
      seen++;
      continue;
    }
    return fc_fail(err, FC_CODE_JSON_SCHEMA, "the body is empty or {}");
  }
  if (seen != 1) return FC_OK;
  return fc_fail(err, FC_CODE_JSON_SYNTAX, "the body ends within an object");
}

static fc_status_t tell_all(const fc_act_t *act, fc_sink_t *sink,
                            fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "{'loaded':%u", act->loaded));
  if (act->described) {
    FC_TRY(fc_json_print(sink, err, ",'described':%u", act->described));
  }
  return fc_json_print(sink, err, ",'unchanged':%u,'unloaded':%u}",
                       act->unchanged, act->unloaded);
}

static fc_status_t put_member(fc_sink_t *sink, const char *lead, fc_str_t text,
                              fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, fc_str(lead), err));
  return text.size ? fc_json_write_string(sink, text, err)
                   : fc_sink_put(sink, FC_STR("null"), err);
}

static fc_status_t tell_decision(const fc_act_t *act, fc_sink_t *sink,
                                 fc_error_t *err) {
  fc_str_t rest = act->name;
  FC_TRY(put_member(sink, "{\"name\":", fc_str_take(&rest, '@'), err));
  FC_TRY(put_member(sink, ",\"alias\":", fc_str(act->alias), err));
  FC_TRY(put_member(sink, ",\"version\":", fc_str(act->version), err));
  FC_TRY(put_member(sink, ",\"before\":", fc_str(act->previous), err));
  FC_TRY(put_member(
      sink, ",\"unloaded\":", fc_str(act->unloaded ? act->previous : ""), err));
  return fc_sink_put(sink,
                     act->persistent ? FC_STR(",\"persistent\":true}")
                                     : FC_STR(",\"persistent\":false}"),
                     err);
}

// Writes the answer. For an act about all modules, it says how many modules were loaded,
// left and unloaded; for PROMOTE and ROLLBACK, what was decided. For others it describes
// the module as GET does, or says that the module is unloaded if no module has the name
// any more.
static fc_status_t tell_act(const fc_server_t *server, const fc_act_t *act,
                            fc_sink_t *sink, fc_error_t *err) {
  if (act->name.size == 0) return tell_all(act, sink, err);
  if (act->kind == FC_ACT_PROMOTE || act->kind == FC_ACT_ROLLBACK) {
    return tell_decision(act, sink, err);
  }
  const fc_generation_t *generation =
      fc_generations_find(&server->modules->generations, act->name);
  if (generation) {
    return fc_reflect_write_module(server, generation->index, sink, err);
  }
  return fc_json_print(sink, err, "{'name':'%.*s','state':'unloaded'}",
                       FC_STR_ARG(act->name));
}

const fc_dialect_t fc_dialect_admin = {
    .name = "admin",
    .match = match,
    .begin_act = begin_act,
    .act_module = act_module,
    .read_act = read_act,
    .tell_act = tell_act,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
