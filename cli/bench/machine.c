// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// Reads the value of the first line "model name : …" of /proc/cpuinfo.
static void read_model(char *out, size_t size) {
  char line[512];
  FILE *file = fopen("/proc/cpuinfo", "re");
  out[0] = '\0';
  while (file && !out[0] && fgets(line, sizeof line, file)) {
    const char *value = strchr(line, ':');
    if (!value || strncmp(line, "model name", 10) != 0) continue;
    value += 1 + strspn(value + 1, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
  }
  if (file) fclose(file);
}

void fc_bench_machine_read(fc_bench_machine_t *out_machine) {
  struct utsname names;
  struct tm calendar;
  const time_t now = time(NULL);
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  *out_machine = (fc_bench_machine_t){
      .processors = processors > 0 ? (unsigned)processors : 0};
  read_model(out_machine->cpu, sizeof out_machine->cpu);
  if (!uname(&names)) {
    snprintf(out_machine->kernel, sizeof out_machine->kernel, "%s %s",
             names.sysname, names.release);
  }
  if (gmtime_r(&now, &calendar)) {
    strftime(out_machine->date, sizeof out_machine->date, "%Y-%m-%dT%H:%M:%SZ",
             &calendar);
  }
}
