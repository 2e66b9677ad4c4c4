// SPDX-License-Identifier: Apache-2.0
#include "dialect/admission.h"

#include "pool/turn.h"

// The longest time that a client may ask for, some 32 years. It keeps sums of times
// within 64 bits.
#define TIMEOUT_MAX_MS 999999999999u

fc_status_t fc_admission_coding(const fc_request_t *request,
                                fc_admission_t *out_admission,
                                fc_error_t *err) {
  fc_str_t coding = request->fields[FC_FIELD_CONTENT_ENCODING];
  out_admission->body_coding = FC_CODING_NONE;
  out_admission->answer_coding = (uint8_t)fc_request_answer_coding(
      request->fields[FC_FIELD_ACCEPT_ENCODING]);
  if (!coding.size || fc_request_same_text(coding, FC_STR("identity"))) {
    return FC_OK;
  }
  out_admission->body_coding = (uint8_t)fc_request_coding(coding);
  if (out_admission->body_coding) return FC_OK;
  fc_status_t status =
      fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
              "a body is gzip, deflate or not compressed at all");
  fc_error_expected(err, "gzip or deflate");
  fc_error_got(err, coding);
  return status;
}

fc_status_t fc_admission_document(fc_str_t text, uint64_t *out_length,
                                  fc_error_t *err) {
  uint64_t value = 0;
  bool good = text.size > 0;
  for (size_t i = 0; i < text.size && good; i++) {
    const char c = text.data[i];
    good = c >= '0' && c <= '9' &&
           !__builtin_mul_overflow(value, 10u, &value) &&
           !__builtin_add_overflow(value, (uint64_t)(c - '0'), &value);
  }
  if (good && value != UINT64_MAX) {
    *out_length = value;
    return FC_OK;
  }
  fc_status_t status =
      fc_fail(err, FC_CODE_BINARY_FRAMING,
              "'Inference-Header-Content-Length' is a number of bytes");
  fc_error_got(err, text);
  return status;
}

fc_status_t fc_admission_message_coding(const fc_request_t *request,
                                        uint8_t *out_coding, fc_error_t *err) {
  const fc_str_t coding = request->fields[FC_FIELD_GRPC_ENCODING];
  *out_coding = FC_CODING_NONE;
  if (!coding.size || fc_request_same_text(coding, FC_STR("identity"))) {
    return FC_OK;
  }
  *out_coding = (uint8_t)fc_request_coding(coding);
  if (*out_coding) return FC_OK;
  const fc_status_t status =
      fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
              "a message is gzip, deflate or not compressed at all");
  fc_error_expected(err, "gzip or deflate");
  fc_error_got(err, coding);
  return status;
}

// Reads at most eight digits and the unit of grpc-timeout. Rounds up to 1 ms.
static fc_status_t read_grpc_timeout(fc_str_t text, uint64_t *out_ms,
                                     fc_error_t *err) {
  static const struct {
    char unit;
    uint32_t ms;       // milliseconds in one unit, or
    uint32_t of_a_ms;  // units in one millisecond
  } kUnits[] = {{'H', 3600000, 1}, {'M', 60000, 1}, {'S', 1000, 1},
                {'m', 1, 1},       {'u', 1, 1000},  {'n', 1, 1000000}};
  uint64_t value = 0;
  size_t i = 0;
  for (; i < text.size && i < 8 && text.data[i] >= '0' && text.data[i] <= '9';
       i++) {
    value = value * 10 + (uint64_t)(text.data[i] - '0');
  }
  for (size_t k = 0; k < FC_ARRAY_COUNT(kUnits) && i; k++) {
    if (i + 1 != text.size || text.data[i] != kUnits[k].unit) continue;
    const uint64_t ms =
        (value * kUnits[k].ms + kUnits[k].of_a_ms - 1) / kUnits[k].of_a_ms;
    *out_ms = !ms ? 1 : ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS;
    return FC_OK;
  }
  const fc_status_t status =
      fc_fail(err, FC_CODE_HTTP_SYNTAX,
              "'grpc-timeout' is at most 8 digits and one of H, M, S, m, u, n");
  fc_error_got(err, text);
  return status;
}

fc_status_t fc_admission_timeout(const fc_request_t *request, uint64_t *out_ms,
                                 fc_error_t *err) {
  const fc_str_t text = request->fields[FC_FIELD_TIMEOUT];
  const fc_str_t grpc = request->fields[FC_FIELD_GRPC_TIMEOUT];
  if (FC_UNLIKELY(grpc.data && fc_request_is_grpc(request))) {
    return read_grpc_timeout(grpc, out_ms, err);
  }
  if (!text.data) return FC_OK;
  uint64_t value = 0;
  bool good = text.size > 0 && text.size <= 12;
  for (size_t i = 0; i < text.size && good; i++) {
    good = text.data[i] >= '0' && text.data[i] <= '9';
    value = value * 10 + (uint64_t)(text.data[i] - '0');
  }
  if (good && value > 0) {
    *out_ms = value;
    return FC_OK;
  }
  fc_status_t status = fc_fail(
      err, FC_CODE_HTTP_SYNTAX,
      "'Farcall-Timeout-Ms' must be a whole number from 1 to 999999999999");
  fc_error_got(err, text);
  return status;
}

fc_status_t fc_admission_priority(const fc_request_t *request,
                                  const fc_priorities_t *range,
                                  int8_t *out_priority, fc_error_t *err) {
  const fc_str_t text = request->fields[FC_FIELD_PRIORITY];
  fc_status_t status = FC_OK;
  *out_priority = fc_priorities_default(range);
  if (!text.data) return FC_OK;
  if (!fc_priority_parse(text, out_priority)) {
    status = fc_fail(err, FC_CODE_HTTP_SYNTAX,
                     "'Farcall-Priority' must be a whole number from %d to %d",
                     FC_PRIORITY_MIN, FC_PRIORITY_MAX);
  } else if (*out_priority < range->low || *out_priority > range->high) {
    status = fc_fail(err, FC_CODE_FORBIDDEN,
                     "'Farcall-Priority' is %d, this client may choose from %d "
                     "to %d",
                     *out_priority, range->low, range->high);
  }
  if (status != FC_OK) fc_error_got(err, text);
  return status;
}

fc_status_t fc_admission_body(const fc_server_t *server,
                              const fc_request_t *request,
                              fc_admission_t *out_admission, fc_error_t *err) {
  const uint64_t body_max = server->options->max_body;
  if (!request->has_body) {
    return fc_fail(err, FC_CODE_LENGTH_REQUIRED,
                   "a call needs a body, and so a Content-Length");
  }
  if (request->length > body_max) {
    return fc_fail(
        err, FC_CODE_BODY_TOO_LARGE, "the body of %llu bytes exceeds %llu",
        (unsigned long long)request->length, (unsigned long long)body_max);
  }
  return fc_admission_timeout(request, &out_admission->timeout_ms, err);
}

// "TYPE or TYPE": the forms that are offered, each with the same word in front.
#define OR " or "
#define FC_PART_OFFERED_TEXT(text) OR text
#define FC_PART_APART_TEXT(text)
#define FC_PART_FORM(name, offer, type, subtype, before, last, after, error) \
  FC_PART_##offer##_TEXT(type "/" subtype)
static const char kForms[] =
#include "pool/part_form.def"
    ;
#undef FC_PART_FORM

fc_status_t fc_admission_parts(const fc_request_t *request,
                               fc_admission_t *out_admission, fc_error_t *err) {
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  uint32_t most = 0;
  out_admission->parts = FC_PART_FORM_FIRST;
  if (!accept.size) return FC_OK;
  for (int i = FC_PART_FORM_FIRST; i < FC_PART_FORM_COUNT; i++) {
    const fc_part_row_t *row = &fc_part_rows[i];
    if (row->offer != FC_PART_OFFERED) continue;
    const uint32_t weight = fc_request_weight(accept, row->type, row->subtype);
    if (weight <= most) continue;
    most = weight;
    out_admission->parts = (uint8_t)i;
  }
  if (most) return FC_OK;
  fc_status_t status =
      fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "an answer in parts is %s",
              kForms + sizeof OR - 1);
  fc_error_expected(err, "%.*s",
                    FC_STR_ARG(fc_part_rows[FC_PART_FORM_FIRST].text));
  fc_error_got(err, accept);
  return status;
}
