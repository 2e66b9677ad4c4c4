// SPDX-License-Identifier: Apache-2.0
//
// A line is built on the stack in a buffer of fixed size, and appended to the log's
// buffer. Text from clients goes through fc_escape, whose output is safe on a terminal.
#include "obs/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define VALUE_MAX 256  // characters of one value

typedef struct line_t {
  char *cursor;
  char *end;  // keeps room for a quote, a brace and the line feed
} line_t;

static void put(line_t *line, fc_str_t text) {
  size_t room = (size_t)(line->end - line->cursor);
  size_t size = text.size < room ? text.size : room;
  memcpy(line->cursor, text.data, size);
  line->cursor += size;
}

static void put_number(line_t *line, uint64_t value) {
  char digits[24];
  int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
  put(line, fc_str_make(digits, (size_t)size));
}

// Writes the text escaped, at most VALUE_MAX characters. If there is not enough room,
// nothing is written, because a cut could split an escape. fc_escape writes \" and \\ as
// JSON does. It also writes \xNN, whose backslash must be doubled in JSON.
static void put_escaped(line_t *line, fc_str_t text, bool json) {
  char escaped[VALUE_MAX * 4 + 8], twice[VALUE_MAX * 5 + 8];
  size_t size = fc_escape(escaped, sizeof escaped, VALUE_MAX, text);
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    twice[used++] = escaped[i];
    if (escaped[i] != '\\' || i + 1 == size) continue;
    if (json && escaped[i + 1] == 'x') twice[used++] = '\\';
    twice[used++] = escaped[++i];
  }
  if (used <= (size_t)(line->end - line->cursor)) {
    put(line, fc_str_make(twice, used));
  }
}

static void put_time(line_t *line) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct tm utc;
  gmtime_r(&now.tv_sec, &utc);
  char text[64];
  int size =
      snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
               utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
               utc.tm_min, utc.tm_sec, (int)(now.tv_nsec / 1000000));
  put(line, fc_str_make(text, (size_t)size));
}

fc_status_t fc_log_init(fc_log_t *log, fc_allocator_t allocator, int descriptor,
                        bool json, fc_error_t *err) {
  *log = (fc_log_t){
      .descriptor = descriptor, .json = json, .allocator = allocator};
  log->buffer = fc_alloc(allocator, FC_LOG_BUFFER);
  return log->buffer ? FC_OK : fc_fail_memory(err);
}

void fc_log_deinit(fc_log_t *log) {
  if (!log->buffer) return;
  fc_log_flush(log);
  fc_free(log->allocator, log->buffer);
  log->buffer = NULL;
}

static const char *level_name(fc_log_level_t level) {
  static const char *const kNames[] = {"info", "warn", "error"};
  return kNames[level];
}

// poll reports a pipe as writable if PIPE_BUF bytes can be written without waiting.
#define WRITE_MAX 4096

static void drain(fc_log_t *log) {
  size_t done = 0;
  while (done < log->size) {
    struct pollfd file = {.fd = log->descriptor, .events = POLLOUT};
    const int ready = poll(&file, 1, 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || !(file.revents & POLLOUT)) break;
    size_t size = log->size - done < WRITE_MAX ? log->size - done : WRITE_MAX;
    ssize_t count = write(log->descriptor, log->buffer + done, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += (size_t)count;
  }
  log->size -= done;
  memmove(log->buffer, log->buffer + done, log->size);
}

static void append(fc_log_t *log, fc_str_t line) {
  if (line.size > FC_LOG_BUFFER - log->size) drain(log);
  if (line.size > FC_LOG_BUFFER - log->size) {
    log->dropped++;
    log->lost++;
    return;
  }
  memcpy(log->buffer + log->size, line.data, line.size);
  log->size += line.size;
}

void fc_log_fields(fc_log_t *log, fc_log_level_t level, fc_str_t message,
                   const fc_log_field_t *fields, size_t count) {
  if (log->silent[level]) return;
  char text[FC_LOG_LINE_MAX];
  line_t line = {text, text + sizeof text - 4};
  if (log->json) {
    put(&line, FC_STR("{\"ts\":\""));
    put_time(&line);
    put(&line, FC_STR("\",\"level\":\""));
    put(&line, fc_str(level_name(level)));
    put(&line, FC_STR("\",\"msg\":\""));
    put_escaped(&line, message, log->json);
    put(&line, FC_STR("\""));
  } else {
    put_time(&line);
    put(&line, FC_STR(" "));
    put(&line, fc_str(level_name(level)));
    put(&line, FC_STR(" "));
    put_escaped(&line, message, log->json);
  }
  for (size_t i = 0; i < count; i++) {
    const fc_log_field_t *field = &fields[i];
    if (!field->has_number && field->text.size == 0) continue;
    // Stops unless there is room for a key and a value without escapes, so that no member
    // is cut. A longer escaped value is left out, but its key stays.
    if (line.end - line.cursor < VALUE_MAX + 64) break;
    put(&line, log->json ? FC_STR(",\"") : FC_STR(" "));
    put(&line, fc_str(field->key));
    put(&line, log->json ? FC_STR("\":") : FC_STR("="));
    if (field->has_number) {
      put_number(&line, field->number);
      continue;
    }
    if (log->json) put(&line, FC_STR("\""));
    put_escaped(&line, field->text, log->json);
    if (log->json) *line.cursor++ = '"';
  }
  if (log->json) *line.cursor++ = '}';
  *line.cursor++ = '\n';
  append(log, fc_str_make(text, (size_t)(line.cursor - text)));
}

void fc_log(fc_log_t *log, fc_log_level_t level, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  int size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (size < 0) return;
  size_t length = (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
  fc_log_fields(log, level, fc_str_make(text, length), NULL, 0);
}

void fc_log_flush(fc_log_t *log) {
  drain(log);
  if (log->dropped == 0 || log->size) return;
  uint64_t dropped = log->dropped;
  log->dropped = 0;
  fc_log(log, FC_LOG_WARN, "%llu log lines dropped",
         (unsigned long long)dropped);
}
