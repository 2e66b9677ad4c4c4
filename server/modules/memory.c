// SPDX-License-Identifier: Apache-2.0
#include "modules/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Reads a process's bytes in memory, and how many of them may be shared. Gives 0 if the
// file cannot be read, for example because the process has ended.
static void read_memory(const char *path, uint64_t *out_resident,
                        uint64_t *out_shared) {
  char text[128];
  *out_resident = *out_shared = 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return;
  text[size] = '\0';
  char *at = strchr(text, ' ');  // the first number is the address space
  if (!at) return;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  *out_resident = strtoull(at, &at, 10) * page;
  *out_shared = strtoull(at, NULL, 10) * page;
}

// Returns the bytes that a process has in memory for itself. Shared memory, such as the
// program and the module's file, exists once for all processes.
static uint64_t private_bytes(int pid) {
  char path[32];
  uint64_t resident, shared;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  read_memory(path, &resident, &shared);
  return shared > resident ? 0 : resident - shared;
}

uint64_t fc_memory_resident(void) {
  uint64_t resident, shared;
  read_memory("/proc/self/statm", &resident, &shared);
  return resident;
}

uint64_t fc_modules_memory(const fc_modules_t *modules,
                           const fc_generation_t *generation) {
  uint64_t bytes = 0;
  fc_host_worker_t worker;
  if (!generation->module) return 0;
  bytes += fc_module_get_files(generation->module).digest.size;
  if (!fc_step_in_pool(generation->step)) return bytes;
  const fc_host_t *host =
      fc_pool_host(modules->options.pool, generation->index);
  for (uint32_t i = 0; host && fc_host_worker(host, i, &worker); i++) {
    bytes += private_bytes(worker.pid);
  }
  return bytes;
}
