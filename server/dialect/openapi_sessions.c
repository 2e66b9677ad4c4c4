// SPDX-License-Identifier: Apache-2.0
#include "dialect/openapi_sessions.h"

#include <stdio.h>
#include <string.h>

#include "dialect/openapi_errors.h"
#include "json/writer.h"

typedef struct operation_t {
  // Appended to a session's path; NULL: the path of the row before.
  const char *path;
  const char *method;
  const char *id;
  const char *summary;
  const char *takes;  // schema of its body; NULL: it has none
  int status;
  const char *type;   // of the answer
  const char *gives;  // its schema; NULL: any object
} operation_t;

static const operation_t kOperations[] = {
    {"", "post", "makeSession", "Makes a session", "NewSession", 201, NULL,
     "Session"},
    {NULL, "get", "listSessions", "The client's own", NULL, 200, NULL, NULL},
    {"/{session}", "get", "showSession", "Its values, step and times", NULL,
     200, NULL, "Session"},
    {NULL, "delete", "endSession", "Ends it", NULL, 200, NULL, NULL},
    {"/{session}/fork", "post", "forkSession", "Another one with its values",
     NULL, 201, NULL, "Session"},
    {"/{session}/reset", "post", "resetSession", "Lets its values go", NULL,
     200, NULL, "Session"},
    {"/{session}/export", "get", "exportSession",
     "All values, as a safetensors file", NULL, 200,
     "application/x-safetensors", NULL},
    {"/{session}/values/{value}", "get", "readValue", "A value", NULL, 200,
     NULL, NULL},
    {NULL, "put", "putValue", "Puts a value", "Value", 200, NULL, NULL},
    {NULL, "delete", "removeValue", "Lets a value go", NULL, 200, NULL,
     "Session"},
};

static fc_status_t put_names_in_path(const char *path, fc_sink_t *sink,
                                     fc_error_t *err) {
  static const char *const kNames[] = {"module", "session", "value"};
  const char *comma = "";
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    char mark[16];
    snprintf(mark, sizeof mark, "{%s}", kNames[i]);
    if (i && !strstr(path, mark)) continue;
    FC_TRY(fc_json_print(sink, err,
                         "%s{'name':'%s','in':'path','required':true,"
                         "'schema':{'type':'string','minLength':1}}",
                         comma, kNames[i]));
    comma = ",";
  }
  return FC_OK;
}

// The query parameters for making a session when the body is a file of values, or is
// empty.
static const char kMakingQuery[] =
    "'parameters':["
    "{'name':'ttl_ms','in':'query','schema':{'type':'integer','minimum':1}},"
    "{'name':'max_bytes','in':'query','schema':{'type':'integer',"
    "'minimum':1}},"
    "{'name':'checkpoint','in':'query','schema':{'type':'boolean'}},"
    "{'name':'ends_with_connection','in':'query',"
    "'schema':{'type':'boolean'}}],";

static fc_status_t put_operation(const operation_t *row, fc_sink_t *sink,
                                 fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      ",'%s':{'operationId':'%s','tags':['sessions'],'summary':'%s',",
      row->method, row->id, row->summary));
  if (row == kOperations) FC_TRY(fc_json_print(sink, err, kMakingQuery));
  if (row->takes) {
    FC_TRY(
        fc_json_print(sink, err,
                      "'requestBody':{'content':{'application/json':{'schema':{"
                      "'$ref':'#/components/schemas/%s'}}}},",
                      row->takes));
  }
  FC_TRY(fc_json_print(sink, err,
                       "'responses':{'%d':{'description':'%s','content':{"
                       "'%s':{'schema':{",
                       row->status, row->summary,
                       row->type ? row->type : "application/json"));
  FC_TRY(row->gives
             ? fc_json_print(sink, err, "'$ref':'#/components/schemas/%s'}}}}",
                             row->gives)
             : fc_json_print(sink, err, "'type':'%s'}}}}",
                             row->type ? "string" : "object"));
  FC_TRY(fc_openapi_put_refusals(sink, err));
  return fc_json_print(sink, err, "}}");
}

fc_status_t fc_openapi_put_session_paths(fc_sink_t *sink, fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOperations); i++) {
    const operation_t *row = &kOperations[i];
    if (row->path) {
      FC_TRY(fc_json_print(
          sink, err, "%s'/api/v1/modules/{module}/sessions%s':{'parameters':[",
          i ? "}," : "", row->path));
      FC_TRY(put_names_in_path(row->path, sink, err));
      FC_TRY(fc_json_print(sink, err, "]"));
    }
    FC_TRY(put_operation(row, sink, err));
  }
  return fc_json_print(sink, err, "}");
}

static const char kSchemas[] =
    ",'Session':{'type':'object','properties':{'session':{'type':'string'},"
    "'step':{'type':'integer'},'ttl_ms':{'type':'integer'},"
    "'idle_ms':{'type':'integer'},'ends_ms':{'type':'integer'},"
    "'max_bytes':{'type':'integer'},'checkpoint':{'type':'boolean'},"
    "'ends_with_connection':{'type':'boolean'},"
    "'bytes':{'type':'integer'},'values':{'type':'object',"
    "'additionalProperties':{'type':'object','properties':{"
    "'type':{'type':'object'},'bytes':{'type':'integer'}},"
    "'required':['type','bytes']}}},'required':['session','step','ttl_ms',"
    "'idle_ms','max_bytes','bytes','values']},"
    "'NewSession':{'type':'object','properties':{"
    "'ttl_ms':{'type':'integer','minimum':1},"
    "'max_bytes':{'type':'integer','minimum':1},"
    "'checkpoint':{'type':'boolean'},"
    "'ends_with_connection':{'type':'boolean'},'values':{'type':'object',"
    "'additionalProperties':{'$ref':'#/components/schemas/Value'}}},"
    "'additionalProperties':false},"
    "'Value':{'type':'object','description':'a value with its type'}";

fc_status_t fc_openapi_put_session_schemas(fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(sink, err, kSchemas);
}
