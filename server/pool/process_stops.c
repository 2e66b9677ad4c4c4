// SPDX-License-Identifier: Apache-2.0
//
// Reports the system calls that the jail of a module's processes has refused. A worker
// sets a bit for the number of each refused call (jail/stop.c). The loop reads the bits
// now and then, and when the process has ended. The worker can write this memory, so a
// module can set any bit. So only calls that a filter in force can refuse are logged, as
// the worker's statement, and at most FC_LIMIT_STOPS for a module.
#include <stdio.h>

#include "config/limits.h"
#include "pool/process_hosts.h"

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
                FC_STR("a worker says that the jail stopped a system call of "
                       "its module"),
                fields, FC_ARRAY_COUNT(fields));
}

static void log_rest(const fc_child_t *child, uint32_t count) {
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", child->host->name),
      FC_LOG_NUMBER("pid", (uint64_t)child->process.pid),
      FC_LOG_NUMBER("more", count),
  };
  fc_log_fields(child->host->options->log, FC_LOG_WARN,
                FC_STR("a worker says that the jail stopped more system calls "
                       "of its module: no others are listed"),
                fields, FC_ARRAY_COUNT(fields));
}

void fc_child_read_stops(fc_child_t *child) {
  const fc_ring_setup_t *setup = &child->ring.setup;
  const fc_jail_stops_t *stops = &child->ring.head->stops;
  fc_process_host_t *host = child->host;
  uint32_t more = 0;
  for (uint32_t i = 0; i < FC_ARRAY_COUNT(stops->calls); i++) {
    uint64_t fresh =
        atomic_load_explicit(&stops->calls[i], memory_order_relaxed) &
        ~host->stopped[i];
    for (; fresh; fresh &= fresh - 1) {
      const uint32_t bit = (uint32_t)__builtin_ctzll(fresh);
      if (!fc_jail_may_stop((fc_sandbox_t)setup->sandbox, setup->jail_parts,
                            child->serving, 64 * i + bit)) {
        continue;
      }
      host->stopped[i] |= UINT64_C(1) << bit;
      if (host->stops++ < FC_LIMIT_STOPS) log_stop(child, 64 * i + bit);
      else more++;
    }
  }
  if (!more || host->stops_told) return;
  host->stops_told = true;
  log_rest(child, more);
}
