// SPDX-License-Identifier: Apache-2.0
//
// The head is written from the beginning of its room and then moved up to the body,
// because its size is not known before. Moving some 300 bytes costs little, and code that
// formats backwards would be hard to read.
#include "http1/response.h"

#include <stddef.h>

#include "json/number.h"

static const struct {
  int status;
  fc_str_t reason;
} kReasons[] = {
    {200, FC_STR("OK")},
    {201, FC_STR("Created")},
    {204, FC_STR("No Content")},
    {304, FC_STR("Not Modified")},
    {400, FC_STR("Bad Request")},
    {401, FC_STR("Unauthorized")},
    {403, FC_STR("Forbidden")},
    {404, FC_STR("Not Found")},
    {405, FC_STR("Method Not Allowed")},
    {406, FC_STR("Not Acceptable")},
    {408, FC_STR("Request Timeout")},
    {409, FC_STR("Conflict")},
    {410, FC_STR("Gone")},
    {411, FC_STR("Length Required")},
    {412, FC_STR("Precondition Failed")},
    {413, FC_STR("Content Too Large")},
    {414, FC_STR("URI Too Long")},
    {415, FC_STR("Unsupported Media Type")},
    {417, FC_STR("Expectation Failed")},
    {421, FC_STR("Misdirected Request")},
    {422, FC_STR("Unprocessable Content")},
    {429, FC_STR("Too Many Requests")},
    {431, FC_STR("Request Header Fields Too Large")},
    {500, FC_STR("Internal Server Error")},
    {501, FC_STR("Not Implemented")},
    {502, FC_STR("Bad Gateway")},
    {503, FC_STR("Service Unavailable")},
    {504, FC_STR("Gateway Timeout")},
};

fc_str_t fc_response_reason(int status) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kReasons); i++) {
    if (kReasons[i].status == status) return kReasons[i].reason;
  }
  return FC_STR("Unknown");
}

static inline char *put(char *out, fc_str_t text) {
  memcpy(out, text.data, text.size);
  return out + text.size;
}

static char *put_digits(char *out, unsigned value, unsigned count) {
  for (unsigned i = count; i-- > 0; value /= 10) {
    out[i] = (char)('0' + value % 10);
  }
  return out + count;
}

static char *put_three(char *out, unsigned value) {
  const unsigned tens = value / 10, hundreds = value / 100;
  *out++ = (char)('0' + hundreds);
  *out++ = (char)('0' + tens - 10 * hundreds);
  *out++ = (char)('0' + value - 10 * tens);
  return out;
}

// Prints milliseconds with three decimals.
static char *put_ms(char *out, uint64_t ns) {
  out = fc_number_print_u64(ns / 1000000u, out);
  *out++ = '.';
  return put_three(out, (unsigned)(ns / 1000u % 1000u));
}

// The times of a request in which no stage took a millisecond.
static const char kQuick[] =
#define FC_STAGE(name, text) text ";dur=0.000,"
#include "pool/stage.def"
#undef FC_STAGE
    ;
// The places of the times in kQuick.
typedef struct quick_t {
#define FC_STAGE(name, text) char name[sizeof text ";dur=0.000," - 1];
#include "pool/stage.def"
#undef FC_STAGE
} quick_t;
static const uint8_t kQuickEnds[] = {
#define FC_STAGE(name, text) \
  offsetof(quick_t, name) + sizeof((quick_t *)NULL)->name - 1,
#include "pool/stage.def"
#undef FC_STAGE
};

static bool is_quick(const uint64_t *spent_ns) {
  uint64_t any = 0;
  for (unsigned i = 0; i < FC_STAGE_COUNT; i++) any |= spent_ns[i];
  return any < 1u << 19;  // ns; above that, a few more are quick
}

// Nearly all requests are quick, and printing each time separately costs more.
static char *put_quick_times(char *out, const uint64_t *spent_ns) {
  memcpy(out, kQuick, sizeof kQuick - 1);
  for (unsigned i = 0; i < FC_STAGE_COUNT; i++) {
    put_three(out + kQuickEnds[i] - 3, (uint32_t)spent_ns[i] / 1000u);
  }
  return out + sizeof kQuick - 2;  // without the last comma
}

static char *put_times(char *out, const uint64_t *spent_ns) {
  if (is_quick(spent_ns)) return put_quick_times(out, spent_ns);
#define FC_STAGE(name, text)            \
  if (FC_STAGE_##name) *out++ = ',';    \
  out = put(out, FC_STR(text ";dur=")); \
  out = put_ms(out, spent_ns[FC_STAGE_##name]);
#include "pool/stage.def"
#undef FC_STAGE
  return out;
}

// The rows of the batch, and how many rows were computed for them.
static char *put_batch(char *out, const fc_batched_t *batch) {
  out = put(out, FC_STR(",batch;desc=\""));
  out = fc_number_print_u64(batch->rows, out);
  *out++ = '/';
  out = fc_number_print_u64(batch->computed, out);
  *out++ = '"';
  return out;
}

// ---------------------------------------------------------------------------
// Values of fields, for answer_field.def

static char *put_timing(char *out, const fc_answer_t *answer) {
  out = put_times(out, answer->spent_ns);
  return FC_UNLIKELY(answer->batch != NULL) ? put_batch(out, answer->batch)
                                            : out;
}

static char *put_tag(char *out, const fc_answer_t *answer) {
  if (answer->weak_digest) out = put(out, FC_STR("W/"));
  *out++ = '"';
  out = put(out, answer->digest);
  *out++ = '"';
  return out;
}

static char *put_trace(char *out, const fc_trace_t *trace) {
  fc_trace_print(trace, out);
  return out + FC_TRACE_TEXT;
}

static char *put_session(char *out, const fc_session_t *session) {
  fc_session_print_id(session, out);
  return out + FC_SESSION_ID_SIZE;
}

static bool is_preflight(const fc_answer_t *answer) {
  return answer->origin.size && answer->is_preflight;
}

// "Name, Name": each with the comma in front.
#define EXPOSED(name) ", " name
#define HIDDEN(name)
#define FC_ANSWER_FIELD(name, read, when, value) read(name)
static const char kExposed[] =
#include "http1/answer_field.def"
    ;
#undef FC_ANSWER_FIELD
#undef EXPOSED
#undef HIDDEN

static char *put_exposed(char *out) {
  return put(out, fc_str_make(kExposed + 2, sizeof kExposed - 3));
}

// ---------------------------------------------------------------------------

char *fc_response_chunk(uint64_t size, char *end) {
  static const char kDigits[] = "0123456789abcdef";
  *--end = '\n';
  *--end = '\r';
  do *--end = kDigits[size & 15];
  while (size >>= 4);
  return end;
}

char *fc_response_head(const fc_response_head_t *head, char *end) {
  // Every field is bounded, and all together are below FC_LIMIT_HEAD: 128 bytes of
  // request id, 55 of a trace, eight times of at most 18 characters each, 35 of a batch,
  // a digest, a session id, a list of methods, a code, an origin, and the fields for
  // pages.
  const fc_answer_t *answer = head->answer;
  char *begin = end - FC_LIMIT_HEAD;
  char *out = put(begin, FC_STR("HTTP/1.1 "));
  out = put_three(out, (unsigned)answer->status);
  *out++ = ' ';
  out = put(out, fc_response_reason(answer->status));
  out = put(out, FC_STR("\r\n"));
#define FC_ANSWER_FIELD(name, read, when, value) \
  if (when) {                                    \
    out = put(out, FC_STR(name ": "));           \
    out = value;                                 \
    out = put(out, FC_STR("\r\n"));              \
  }
#include "http1/answer_field.def"
#undef FC_ANSWER_FIELD
  out = put(out, FC_STR("\r\n"));
  if (head->in_chunks && head->length) {
    char line[FC_RESPONSE_CHUNK];
    const char *first = fc_response_chunk(head->length, line + sizeof line);
    out = put(out, fc_str_make(first, (size_t)(line + sizeof line - first)));
  }
  size_t size = (size_t)(out - begin);
  FC_ASSERT(size <= FC_LIMIT_HEAD);
  return memmove(end - size, begin, size);
}

// Converts days since 1970-01-01 to a date (proleptic Gregorian calendar).
void fc_response_date(int64_t unix_s, char out[FC_RESPONSE_DATE_SIZE]) {
  static const char kDays[] = "ThuFriSatSunMonTueWed";
  static const char kMonths[] = "MarAprMayJunJulAugSepOctNovDecJanFeb";
  int64_t days = unix_s / 86400;
  unsigned seconds = (unsigned)(unix_s % 86400);
  // Counted in eras of 400 years that begin on 1 March.
  int64_t shifted = days + 719468;
  int64_t era = shifted / 146097;
  unsigned day = (unsigned)(shifted - era * 146097);
  unsigned year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  unsigned in_year = day - (365 * year + year / 4 - year / 100);
  unsigned month = (5 * in_year + 2) / 153;  // counted from March
  unsigned in_month = in_year - (153 * month + 2) / 5 + 1;
  unsigned full = (unsigned)(era * 400) + year + (month >= 10);

  char *p = out;
  p = put(p, fc_str_make(kDays + 3 * (days % 7), 3));
  p = put(p, FC_STR(", "));
  p = put_digits(p, in_month, 2);
  *p++ = ' ';
  p = put(p, fc_str_make(kMonths + (size_t)3 * month, 3));
  *p++ = ' ';
  p = put_digits(p, full, 4);
  *p++ = ' ';
  p = put_digits(p, seconds / 3600, 2);
  *p++ = ':';
  p = put_digits(p, seconds / 60 % 60, 2);
  *p++ = ':';
  p = put_digits(p, seconds % 60, 2);
  p = put(p, FC_STR(" GMT"));
  *p = '\0';
}
