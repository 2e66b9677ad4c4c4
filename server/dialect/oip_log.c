// SPDX-License-Identifier: Apache-2.0
//
// /v2/logging: turns levels of the log on and off. The log's destination and format
// cannot be changed here; clients get fixed values for them. exchange/privilege.h has
// already checked who may change levels.
#include "dialect/oip.h"

static const char *const kLevels[] = {
    [FC_LOG_INFO] = "log_info",
    [FC_LOG_WARN] = "log_warning",
    [FC_LOG_ERROR] = "log_error",
};

// Settings that cannot change while the server runs. A client may send them back with the
// values that it got.
static const struct {
  const char *name;
  fc_json_token_t token;
  const char *text;  // of the number or string, as JSON has it
} kFixed[] = {{"log_file", FC_JSON_STRING, ""},
              {"log_verbose_level", FC_JSON_NUMBER, "0"},
              {"log_format", FC_JSON_STRING, "default"}};

typedef struct change_t {
  fc_json_reader_t reader;
  bool silent[FC_ARRAY_COUNT(kLevels)];
} change_t;

static fc_status_t read_level(void *context, fc_error_t *err) {
  change_t *change = context;
  size_t level = 0;
  bool wanted;
  while (!fc_json_text_is(&change->reader, fc_str(kLevels[level]))) level++;
  FC_TRY(fc_oip_read_flag(&change->reader, kLevels[level], &wanted, err));
  change->silent[level] = !wanted;
  return FC_OK;
}

static fc_status_t read_fixed(void *context, fc_error_t *err) {
  fc_json_reader_t *reader = &((change_t *)context)->reader;
  fc_json_token_t token;
  size_t i = 0;
  while (!fc_json_text_is(reader, fc_str(kFixed[i].name))) i++;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == kFixed[i].token &&
      fc_str_equal(reader->text, fc_str(kFixed[i].text))) {
    return FC_OK;
  }
  return fc_json_fail(reader, err, FC_CODE_UNKNOWN_FIELD,
                      "'%s' is not changed while the server runs",
                      kFixed[i].name);
}

static fc_status_t refuse(void *context, fc_error_t *err) {
  const fc_json_reader_t *reader = &((change_t *)context)->reader;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, reader->text);
  const fc_status_t status = fc_json_fail(reader, err, FC_CODE_UNKNOWN_FIELD,
                                          "there is no setting '%s'", shown);
  fc_error_got(err, reader->text);
  return status;
}

static const fc_json_member_t kSettings[] = {
    {FC_STR("log_info"), read_level, NULL},
    {FC_STR("log_warning"), read_level, NULL},
    {FC_STR("log_error"), read_level, NULL},
    {FC_STR("log_file"), read_fixed, NULL},
    {FC_STR("log_verbose_level"), read_fixed, NULL},
    {FC_STR("log_format"), read_fixed, NULL},
    {{0}, refuse, NULL}};

// Logs the change as a warning before it is made, so that the log also shows when
// warnings were turned off.
static void tell(fc_log_t *log, const bool *silent) {
  fc_log(log, FC_LOG_WARN, "log settings: info %s, warning %s, error %s",
         silent[FC_LOG_INFO] ? "off" : "on", silent[FC_LOG_WARN] ? "off" : "on",
         silent[FC_LOG_ERROR] ? "off" : "on");
}

fc_status_t fc_oip_log(const fc_server_t *server, fc_str_t body,
                       fc_sink_t *sink, fc_error_t *err) {
  fc_log_t *log = server->log;
  change_t change;
  const bool *silent = change.silent;
  _Static_assert(sizeof change.silent == sizeof log->silent,
                 "one for each level");
  memcpy(change.silent, log->silent, sizeof change.silent);
  // The log is changed only if the whole body was valid.
  FC_TRY(fc_oip_read(&change.reader, body, kSettings, FC_ARRAY_COUNT(kSettings),
                     &change, err));
  if (memcmp(silent, log->silent, sizeof change.silent) != 0) {
    tell(log, silent);
    memcpy(log->silent, silent, sizeof change.silent);
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
