// SPDX-License-Identifier: Apache-2.0
//
// /v2/logging: which lines the log has. Each level can be silenced. Where lines go
// and how they look cannot be changed here; clients are told fixed values for that.
// Who may change the levels has been decided by exchange/privilege.h then.
#include "dialect/oip.h"

#include "dialect/admission.h"

static const char *const kLevels[] = {
    [FC_LOG_INFO] = "log_info",
    [FC_LOG_WARN] = "log_warning",
    [FC_LOG_ERROR] = "log_error",
};

// Settings that are not changed while the server runs. A client may send them
// back with the values it was told.
static const struct {
  const char *name;
  fc_json_token_t token;
  const char *text;  // of the number or string
} kFixed[] = {{"log_file", FC_JSON_STRING, ""},
              {"log_verbose_level", FC_JSON_NUMBER, "0"},
              {"log_format", FC_JSON_STRING, "default"}};

static int find_level(const fc_json_reader_t *reader) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLevels); i++) {
    if (fc_json_text_is(reader, fc_str(kLevels[i]))) return (int)i;
  }
  return -1;
}

static fc_status_t read_level(fc_json_reader_t *reader, int level, bool *silent,
                              unsigned *seen, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_admission_once(reader, kLevels[level], 1u << level, seen, err));
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_TRUE && token != FC_JSON_FALSE) {
    return fc_json_locate(reader,
                          fc_fail(err, FC_CODE_TYPE_MISMATCH,
                                  "'%s' is true or false", kLevels[level]),
                          err);
  }
  silent[level] = token == FC_JSON_FALSE;
  return FC_OK;
}

static fc_status_t read_other(fc_json_reader_t *reader, unsigned *seen,
                              fc_error_t *err) {
  fc_json_token_t token;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFixed); i++) {
    if (!fc_json_text_is(reader, fc_str(kFixed[i].name))) continue;
    const unsigned bit = 1u << (FC_ARRAY_COUNT(kLevels) + i);
    FC_TRY(fc_admission_once(reader, kFixed[i].name, bit, seen, err));
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == kFixed[i].token &&
        fc_str_equal(reader->text, fc_str(kFixed[i].text))) {
      return FC_OK;
    }
    return fc_json_locate(
        reader,
        fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                "'%s' is not changed while the server runs", kFixed[i].name),
        err);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, reader->text);
  fc_status_t status =
      fc_fail(err, FC_CODE_UNKNOWN_FIELD, "there is no setting '%s'", shown);
  fc_error_got(err, reader->text);
  return fc_json_locate(reader, status, err);
}

// Reads into `silent` which levels a body silences, and which no longer. The log is
// changed only after the whole body was good.
static fc_status_t read_settings(fc_str_t body, bool *silent, fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  unsigned seen = 0;
  FC_TRY(fc_oip_open(&reader, body, err));
  for (;;) {
    FC_TRY(fc_json_next(&reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    const int level = find_level(&reader);
    FC_TRY(level < 0 ? read_other(&reader, &seen, err)
                     : read_level(&reader, level, silent, &seen, err));
  }
  return fc_json_next(&reader, &token, err);
}

// Logs the change, as a warning, before it is made: so the log also says when
// warnings were silenced.
static void tell(fc_log_t *log, const bool *silent) {
  fc_log(log, FC_LOG_WARN, "log settings: info %s, warning %s, error %s",
         silent[FC_LOG_INFO] ? "off" : "on", silent[FC_LOG_WARN] ? "off" : "on",
         silent[FC_LOG_ERROR] ? "off" : "on");
}

fc_status_t fc_oip_log(const fc_server_t *server, fc_str_t body,
                       fc_sink_t *sink, fc_error_t *err) {
  fc_log_t *log = server->log;
  bool silent[FC_ARRAY_COUNT(kLevels)];
  _Static_assert(sizeof silent == sizeof log->silent, "one for each level");
  memcpy(silent, log->silent, sizeof silent);
  if (body.size) FC_TRY(read_settings(body, silent, err));
  if (memcmp(silent, log->silent, sizeof silent) != 0) {
    tell(log, silent);
    memcpy(log->silent, silent, sizeof silent);
  }
  FC_TRY(fc_sink_put(sink, FC_STR("{\"log_file\":\"\""), err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kLevels); i++) {
    FC_TRY(fc_sink_put(sink, FC_STR(",\""), err));
    FC_TRY(fc_sink_put(sink, fc_str(kLevels[i]), err));
    FC_TRY(fc_sink_put(sink, silent[i] ? FC_STR("\":false") : FC_STR("\":true"),
                       err));
  }
  return fc_sink_put(
      sink, FC_STR(",\"log_verbose_level\":0,\"log_format\":\"default\"}"),
      err);
}
