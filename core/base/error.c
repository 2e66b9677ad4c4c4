// SPDX-License-Identifier: Apache-2.0
//
// fc_status_t and fc_error_t: the code table, and the calls that describe a
// failure once, in place, without the heap. Any thread.
#include "farcall/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const fc_code_info_t kCodes[FC_CODE_COUNT] = {
#define FC_CODE(name, text, status, title) \
  [FC_CODE_##name] = {text, title, status},
#include "farcall/error.def"
#undef FC_CODE
};

static const char *const kStatusNames[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    "DEFERRED",
    "INCOMPATIBLE",
};

const char *fc_status_name(fc_status_t status) {
  if ((size_t)status >= FC_ARRAY_COUNT(kStatusNames)) return "UNKNOWN";
  return kStatusNames[status];
}

const fc_code_info_t *fc_code_info(fc_code_t code) {
  if ((size_t)code >= FC_CODE_COUNT) code = FC_CODE_INTERNAL;
  return &kCodes[code];
}

void fc_error_reset(fc_error_t *err) {
  if (!err) return;
  err->status = FC_OK;
  err->code = FC_CODE_NONE;
  err->byte_offset = FC_NO_OFFSET;
  err->has_pointer = false;
  err->message[0] = err->pointer[0] = err->expected[0] = err->got[0] = '\0';
}

// Formats a text. A text that is too long is cut between two characters:
// vsnprintf cuts anywhere, and half a UTF-8 sequence is not valid in JSON.
FC_PRINTF(3, 0)
static void format_text(char *out, size_t capacity, const char *format,
                        va_list args) {
  int size = vsnprintf(out, capacity, format, args);
  if (size < 0) {
    out[0] = '\0';
    return;
  }
  if ((size_t)size < capacity) return;
  size_t end = capacity - 1;
  while (end > 0 && ((unsigned char)out[end - 1] & 0xC0) == 0x80) end--;
  if (end > 0 && ((unsigned char)out[end - 1] & 0xC0) == 0xC0) end--;
  else end = capacity - 1;
  out[end] = '\0';
}

FC_PRINTF(4, 0)
static fc_status_t fail(fc_error_t *err, fc_code_t code, fc_status_t status,
                        const char *format, va_list args) {
  if (!err) return status;
  fc_error_reset(err);
  err->status = status;
  err->code = code;
  format_text(err->message, sizeof err->message, format, args);
  return status;
}

fc_status_t fc_fail(fc_error_t *err, fc_code_t code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fc_status_t status =
      fail(err, code, fc_code_info(code)->status, format, args);
  va_end(args);
  return status;
}

fc_status_t fc_fail_as(fc_error_t *err, fc_code_t code, fc_status_t status,
                       const char *format, ...) {
  if (status == FC_OK) status = FC_INTERNAL;
  va_list args;
  va_start(args, format);
  status = fail(err, code, status, format, args);
  va_end(args);
  return status;
}

fc_status_t fc_fail_memory(fc_error_t *err) {
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "out of memory");
}

void fc_error_expected(fc_error_t *err, const char *format, ...) {
  if (!err) return;
  va_list args;
  va_start(args, format);
  format_text(err->expected, sizeof err->expected, format, args);
  va_end(args);
}

void fc_error_got(fc_error_t *err, fc_str_t client_text) {
  if (err) fc_escape(err->got, sizeof err->got, 64, client_text);
}

void fc_assert_fail(const char *text, const char *file, int line) {
  fprintf(stderr, "farcall: %s:%d: assertion failed: %s\n", file, line, text);
  abort();
}
