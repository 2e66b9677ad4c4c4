// SPDX-License-Identifier: Apache-2.0
//
// Lines are put together from the bytes of all reads, and cut at FC_OUTPUT_LINE
// bytes. Escaping is the log's work.
#include "pool/output.h"

#include <errno.h>
#include <unistd.h>

#define READ_SIZE 4096
#define READS 16

void fc_output_init(fc_output_t *output, fc_log_t *log, fc_str_t module,
                    int pid) {
  *output = (fc_output_t){.log = log, .module = module, .pid = pid};
}

static void say_dropped(fc_output_t *output) {
  if (!output->dropped) return;
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", output->module),
      FC_LOG_NUMBER("pid", (uint64_t)output->pid),
      FC_LOG_NUMBER("lines", output->dropped),
  };
  fc_log_fields(output->log, FC_LOG_WARN,
                FC_STR("the module prints too much: lines were dropped"),
                fields, FC_ARRAY_COUNT(fields));
  output->dropped = 0;
}

static void end_line(fc_output_t *output) {
  if (output->size == 0) return;
  memcpy(output->last, output->line, output->size);
  output->last_size = output->size;
  output->size = 0;
  uint64_t second = fc_clock_ns() / 1000000000u;
  if (second != output->second) {
    output->second = second;
    output->lines = 0;
    say_dropped(output);
  }
  if (output->lines++ >= FC_OUTPUT_LINES) {
    output->dropped++;
    return;
  }
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", output->module),
      FC_LOG_NUMBER("pid", (uint64_t)output->pid),
      FC_LOG_TEXT("text", fc_str_make(output->last, output->last_size)),
  };
  fc_log_fields(output->log, FC_LOG_INFO, FC_STR("module output"), fields,
                FC_ARRAY_COUNT(fields));
}

bool fc_output_read(fc_output_t *output, int descriptor) {
  char bytes[READ_SIZE];
  for (int i = 0; i < READS; i++) {
    ssize_t size = read(descriptor, bytes, sizeof bytes);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    for (ssize_t k = 0; k < size; k++) {
      if (bytes[k] == '\n') end_line(output);
      else if (output->size < FC_OUTPUT_LINE) {
        output->line[output->size++] = bytes[k];
      }
    }
  }
  return true;
}

void fc_output_finish(fc_output_t *output) {
  end_line(output);
  say_dropped(output);
}
