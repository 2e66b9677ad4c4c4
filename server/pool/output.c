// SPDX-License-Identifier: Apache-2.0
//
// Lines are assembled from the bytes of several reads, and cut at FC_OUTPUT_LINE bytes.
// The log escapes them.
#include "pool/output.h"

#include <errno.h>
#include <unistd.h>

#define READ_SIZE 4096
#define SECOND_NS 1000000000u

// Tells the log how many lines were dropped.
static void tell_dropped(fc_output_t *output) {
  output->told_dropped += output->dropped;
  output->dropped = 0;
}

// The clock is read once for all lines of a read. So output->told has room for all lines
// that a second allows.
static void begin(fc_output_t *output, uint64_t second) {
  FC_ASSERT(fc_output_is_empty(output));
  if (second == output->second) return;
  output->second = second;
  output->lines = 0;
}

static void end_line(fc_output_t *output) {
  if (output->size == 0) return;
  memcpy(output->last, output->line, output->size);
  output->last_size = output->size;
  output->size = 0;
  if (output->lines++ >= FC_OUTPUT_LINES) {
    output->dropped++;
    return;
  }
  tell_dropped(output);
  char *at = output->told + output->told_size;
  memcpy(at, output->last, output->last_size);
  at[output->last_size] = '\n';
  output->told_size += output->last_size + 1;
}

static void take(fc_output_t *output, const char *bytes, size_t size) {
  while (size) {
    const char *feed = memchr(bytes, '\n', size);
    const size_t part = feed ? (size_t)(feed - bytes) : size;
    const size_t room = FC_OUTPUT_LINE - output->size;
    memcpy(output->line + output->size, bytes, part < room ? part : room);
    output->size += (uint32_t)(part < room ? part : room);
    if (feed) end_line(output);
    bytes += part + (feed != NULL);
    size -= part + (feed != NULL);
  }
}

// Reads up to `most` bytes. *out_size is the number of bytes read. False: no more will
// come.
static bool read_some(fc_output_t *output, int descriptor, size_t most,
                      size_t *out_size) {
  char bytes[READ_SIZE];
  *out_size = 0;
  while (*out_size < most) {
    const size_t left = most - *out_size;
    const ssize_t size =
        read(descriptor, bytes, left < sizeof bytes ? left : sizeof bytes);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    take(output, bytes, (size_t)size);
    *out_size += (size_t)size;
  }
  return true;
}

bool fc_output_read(fc_output_t *output, int descriptor, fc_output_rate_t *rate,
                    uint64_t *out_due_ns) {
  const uint64_t second = fc_clock_ns() / SECOND_NS;
  size_t size;
  if (rate->second != second) *rate = (fc_output_rate_t){.second = second};
  begin(output, second);
  const uint64_t left = FC_OUTPUT_RATE - rate->size;
  const bool more = read_some(
      output, descriptor, left < FC_OUTPUT_READ ? left : FC_OUTPUT_READ, &size);
  rate->size += size;
  *out_due_ns =
      rate->size < FC_OUTPUT_RATE ? 0 : (second + 1) * (uint64_t)SECOND_NS;
  return more;
}

void fc_output_finish(fc_output_t *output, int descriptor) {
  size_t size;
  begin(output, fc_clock_ns() / SECOND_NS);
  (void)read_some(output, descriptor, FC_OUTPUT_READ, &size);
  end_line(output);
  tell_dropped(output);
}

bool fc_output_is_empty(const fc_output_t *output) {
  return !output->told_size && !output->told_dropped;
}

void fc_output_log(fc_output_t *output, fc_log_t *log, fc_str_t module,
                   int pid) {
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", module),
      FC_LOG_NUMBER("pid", (uint64_t)pid),
      FC_LOG_NUMBER("lines", output->told_dropped),
  };
  fc_str_t left = fc_str_make(output->told, output->told_size);
  if (output->told_dropped) {
    fc_log_fields(log, FC_LOG_WARN,
                  FC_STR("the module prints too much: lines were dropped"),
                  fields, FC_ARRAY_COUNT(fields));
  }
  while (left.size) {
    fields[2] = FC_LOG_TEXT("text", fc_str_take(&left, '\n'));
    fc_log_fields(log, FC_LOG_INFO, FC_STR("module output"), fields,
                  FC_ARRAY_COUNT(fields));
  }
  output->told_dropped = output->told_size = 0;
}
