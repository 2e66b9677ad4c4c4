// SPDX-License-Identifier: Apache-2.0
//
// What the jail of a module's processes has stopped. A worker sets a bit for each number
// of a system call (jail/stop.c); the loop looks now and then, and when the process has
// ended. The bits are in memory that the worker may write: a module can set any.
#include <stdio.h>

#include "pool/process_host.h"

static void log_stop(const fc_child_t *child, uint32_t number) {
  const fc_process_host_t *host = child->host;
  const char *known = fc_jail_call_name(number);
  char text[16];
  snprintf(text, sizeof text, "%u", number);
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", host->name),
      FC_LOG_NUMBER("pid", (uint64_t)child->process.pid),
      FC_LOG_TEXT("call", fc_str(known ? known : text)),
  };
  fc_log_fields(host->options->log, FC_LOG_WARN,
                FC_STR("the jail stopped a system call of a module"), fields,
                FC_ARRAY_COUNT(fields));
}

void fc_child_read_stops(fc_child_t *child) {
  const fc_jail_stops_t *stops = &child->ring.head->stops;
  uint64_t *logged = child->host->stopped;
  for (uint32_t i = 0; i < FC_ARRAY_COUNT(stops->calls); i++) {
    uint64_t fresh =
        atomic_load_explicit(&stops->calls[i], memory_order_relaxed) &
        ~logged[i];
    logged[i] |= fresh;
    for (; fresh; fresh &= fresh - 1) {
      log_stop(child, 64 * i + (uint32_t)__builtin_ctzll(fresh));
    }
  }
}
