// SPDX-License-Identifier: Apache-2.0
#include "dialect/openapi_errors.h"

#include "json/writer.h"
#include "obs/code.h"

// Can a call have this error?
static bool is_of_calls(const fc_code_traits_t *row) {
  return row->about != FC_CODE_ABOUT_MESSAGE &&
         row->about != FC_CODE_ABOUT_LOADING;
}

// Is this the first row of its status whose code a call can have?
static bool begins_status(const fc_code_traits_t *row) {
  if (!is_of_calls(row)) return false;
  for (const fc_code_traits_t *before = fc_code_rows; before < row; before++) {
    if (before->status == row->status && is_of_calls(before)) return false;
  }
  return true;
}

fc_status_t fc_openapi_put_refusals(fc_sink_t *sink, fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(fc_code_rows); i++) {
    if (!begins_status(&fc_code_rows[i])) continue;
    const int status = fc_code_rows[i].status;
    FC_TRY(fc_json_print(sink, err,
                         ",'%d':{'$ref':'#/components/responses/%d'}", status,
                         status));
  }
  return fc_json_print(sink, err,
                       ",'default':{'$ref':'#/components/responses/problem'}");
}

static const char kProblem[] =
    "\",\"content\":{\"application/problem+json\":{\"schema\":"
    "{\"$ref\":\"#/components/schemas/Problem\"}}}}";

// Writes the codes of a status with their titles: "Invalid JSON (json_syntax), …".
static fc_status_t put_codes(int status, fc_sink_t *sink, fc_error_t *err) {
  const char *comma = "";
  for (size_t i = 0; i < FC_ARRAY_COUNT(fc_code_rows); i++) {
    if (fc_code_rows[i].status != status) continue;
    const fc_code_info_t *info = fc_code_info(fc_code_rows[i].code);
    FC_TRY(
        fc_json_print(sink, err, "%s%s (%s)", comma, info->title, info->text));
    comma = ", ";
  }
  return FC_OK;
}

fc_status_t fc_openapi_put_responses(fc_sink_t *sink, fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(fc_code_rows); i++) {
    if (!begins_status(&fc_code_rows[i])) continue;
    FC_TRY(fc_json_print(sink, err, "'%d':{'description':'",
                         fc_code_rows[i].status));
    FC_TRY(put_codes(fc_code_rows[i].status, sink, err));
    FC_TRY(fc_json_print(sink, err, "%s,", kProblem));
  }
  return fc_json_print(sink, err, "'problem':{'description':'Any other error%s",
                       kProblem);
}

fc_status_t fc_openapi_put_problem(fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      "{'type':'object','title':'Problem','properties':{'type':"
      "{'type':'string'},'title':{'type':'string'},"
      "'status':{'type':'integer'},'code':{'type':'string','enum':["));
  const char *comma = "\"";
  for (size_t i = 0; i < FC_ARRAY_COUNT(fc_code_rows); i++) {
    if (fc_code_rows[i].code == FC_CODE_NONE) continue;
    FC_TRY(fc_json_print(sink, err, "%s%s", comma,
                         fc_code_info(fc_code_rows[i].code)->text));
    comma = "\",\"";
  }
  return fc_json_print(
      sink, err,
      "']},'detail':{'type':'string'},'pointer':{'type':'string'},"
      "'byte_offset':{'type':'integer'},'expected':{'type':'string'},"
      "'got':{'type':'string'},'step':{'type':'integer'},"
      "'module':{'type':'string'},"
      "'function':{'type':'string'},'stop':{'type':'string'},"
      "'request_id':{'type':'string'},'error':{'type':'string'}},"
      "'required':['type','title','status','code','detail','error']}");
}
