// SPDX-License-Identifier: Apache-2.0
#include "modules/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Bytes that a process has in memory for itself. What it shares, as the program
// and the module's file, is in memory once for all processes. 0 when the
// process is gone, and its memory with it.
static uint64_t private_bytes(int pid) {
  char path[32], text[128];
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  char *at = strchr(text, ' ');  // the first number is the address space
  if (!at) return 0;
  const uint64_t resident = strtoull(at, &at, 10);
  const uint64_t shared = strtoull(at, NULL, 10);
  if (shared > resident) return 0;
  return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t fc_modules_memory(const fc_modules_t *modules,
                           const fc_generation_t *generation) {
  uint64_t bytes = 0;
  fc_host_worker_t worker;
  if (!generation->module) return 0;
  bytes += fc_module_get_files(generation->module).digest.size;
  if (!generation->in_pool) return bytes;
  const fc_host_t *host =
      fc_pool_host(modules->options.pool, generation->index);
  for (uint32_t i = 0; host && fc_host_worker(host, i, &worker); i++) {
    bytes += private_bytes(worker.pid);
  }
  return bytes;
}
