// SPDX-License-Identifier: Apache-2.0
//
// Reads "parameters":{"sequence_id":…,"sequence_start":…,"sequence_end":…} of a call. The
// loop does this before the call is queued, because the calls of a sequence are the calls
// of a session.
#include <string.h>

#include "dialect/oip.h"

typedef struct looking_t {
  fc_json_reader_t reader;
  fc_sequence_t *sequence;
  bool wants_id;
} looking_t;

static fc_status_t fail_size(looking_t *looking, fc_error_t *err) {
  return fc_json_fail(&looking->reader, err, FC_CODE_OUT_OF_RANGE,
                      "a sequence_id has at most %d bytes",
                      FC_SEQUENCE_NAME - 1);
}

static fc_status_t take_text(looking_t *looking, fc_error_t *err) {
  const fc_str_t text = looking->reader.text;
  fc_sequence_t *sequence = looking->sequence;
  if (!text.size) return FC_OK;
  // Unescaping does not make the text longer.
  if (text.size >= FC_SEQUENCE_NAME) return fail_size(looking, err);
  sequence->name[0] = 't';
  sequence->name_size =
      (uint8_t)(1 + fc_json_unescape(text, sequence->name + 1));
  return FC_OK;
}

static fc_status_t take_number(looking_t *looking, fc_json_token_t token,
                               fc_error_t *err) {
  uint64_t number;
  fc_sequence_t *sequence = looking->sequence;
  FC_TRY(fc_json_read_scalar(&looking->reader, token, FC_DTYPE_UI64, &number,
                             err));
  if (!number) return FC_OK;
  sequence->name[0] = 'n';
  memcpy(sequence->name + 1, &number, sizeof number);
  sequence->name_size = 1 + sizeof number;
  return FC_OK;
}

static fc_status_t read_id(void *context, fc_error_t *err) {
  looking_t *looking = context;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&looking->reader, &token, err));
  if (token == FC_JSON_NULL) return FC_OK;
  if (token == FC_JSON_STRING) return take_text(looking, err);
  if (token == FC_JSON_NUMBER) return take_number(looking, token, err);
  return fc_json_mismatch(&looking->reader, FC_CODE_TYPE_MISMATCH, token,
                          "a number or a text", err);
}

static fc_status_t read_flag(looking_t *looking, bool *out, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&looking->reader, &token, err));
  *out = token == FC_JSON_TRUE;
  looking->wants_id |= *out;
  if (*out || token == FC_JSON_FALSE || token == FC_JSON_NULL) return FC_OK;
  return fc_json_mismatch(&looking->reader, FC_CODE_TYPE_MISMATCH, token,
                          "true or false", err);
}

static fc_status_t read_start(void *context, fc_error_t *err) {
  looking_t *looking = context;
  return read_flag(looking, &looking->sequence->starts, err);
}

static fc_status_t read_end(void *context, fc_error_t *err) {
  looking_t *looking = context;
  return read_flag(looking, &looking->sequence->ends, err);
}

static fc_status_t read_parameters(void *context, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("sequence_id"), read_id, NULL},
      {FC_STR("sequence_start"), read_start, NULL},
      {FC_STR("sequence_end"), read_end, NULL},
  };
  looking_t *looking = context;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&looking->reader, &token, err));
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_skip(&looking->reader, token, err);
  }
  FC_TRY(fc_json_read_members(&looking->reader, kRows, FC_ARRAY_COUNT(kRows),
                              looking, err));
  if (looking->sequence->name_size || !looking->wants_id) return FC_OK;
  return fc_json_fail(&looking->reader, err, FC_CODE_MISSING_KEY,
                      "a sequence needs a 'sequence_id', a number but 0 or a "
                      "text");
}

// Does the document have the key? Searches for the key's rarest letter, because most
// documents lack it.
static bool names_sequence(fc_str_t text) {
  static const char kWord[] = "\"sequence_";
  const size_t before = 3, size = sizeof kWord - 1;
  const char *end = text.data + text.size;
  for (const char *at = text.data;
       at < end && (at = memchr(at, kWord[before], (size_t)(end - at))); at++) {
    if ((size_t)(at - text.data) >= before &&
        (size_t)(end - at) >= size - before &&
        !memcmp(at - before, kWord, size)) {
      return true;
    }
  }
  return false;
}

// A key that is written with escapes is not found here; the worker refuses it.
fc_status_t fc_oip_find_sequence(fc_str_t document, fc_sequence_t *out_sequence,
                                 fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("parameters"), read_parameters, NULL}};
  *out_sequence = (fc_sequence_t){0};
  if (!names_sequence(document)) return FC_OK;
  looking_t looking = {.sequence = out_sequence};
  return fc_oip_read(&looking.reader, document, kRows, FC_ARRAY_COUNT(kRows),
                     &looking, err);
}
