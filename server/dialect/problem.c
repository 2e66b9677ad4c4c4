// SPDX-License-Identifier: Apache-2.0
//
// Writes an RFC 9457 problem without nested members; `error` repeats `detail` for
// clients of other protocols. The detail of an internal error is only logged: the
// client gets the request id, which finds the log line.
#include "dialect/problem.h"

#include "json/writer.h"

static fc_status_t put_text(fc_sink_t *sink, const char *key, fc_str_t value,
                            fc_error_t *err) {
  if (value.size == 0) return FC_OK;
  return fc_json_print(sink, err, ",'%s':'%.*s'", key, FC_STR_ARG(value));
}

fc_status_t fc_problem_write(const fc_problem_t *problem, fc_sink_t *sink,
                             fc_error_t *err) {
  const fc_error_t *error = problem->error;
  const fc_code_info_t *info = fc_code_info(error->code);
  bool secret = error->code == FC_CODE_INTERNAL;
  fc_str_t detail = secret ? FC_STR("internal error") : fc_str(error->message);

  FC_TRY(fc_json_print(
      sink, err, "{'type':'urn:farcall:error:%s','title':'%s','status':%d",
      info->text, info->title, problem->status));
  FC_TRY(put_text(sink, "code", fc_str(info->text), err));
  FC_TRY(put_text(sink, "detail", detail, err));
  if (!secret) {
    if (error->has_pointer) {  // an empty pointer names the whole document
      FC_TRY(fc_json_print(sink, err, ",'pointer':'%s'", error->pointer));
    }
    if (error->byte_offset != FC_NO_OFFSET) {
      FC_TRY(
          fc_json_print(sink, err, ",'byte_offset':%lu", error->byte_offset));
    }
    FC_TRY(put_text(sink, "expected", fc_str(error->expected), err));
    FC_TRY(put_text(sink, "got", fc_str(error->got), err));
  }
  FC_TRY(put_text(sink, "module", problem->module, err));
  FC_TRY(put_text(sink, "function", problem->function, err));
  if (problem->stage)
    FC_TRY(put_text(sink, "stop", fc_str(problem->stage), err));
  if (problem->step) {
    FC_TRY(fc_json_print(sink, err, ",'step':%lu", problem->step));
  }
  FC_TRY(put_text(sink, "request_id", problem->request_id, err));
  FC_TRY(put_text(sink, "id", problem->name, err));
  FC_TRY(put_text(sink, "error", detail, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}
