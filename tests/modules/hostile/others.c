// SPDX-License-Identifier: Apache-2.0
//
// Attacks the server and the workers of other modules. The result is the error of the
// attempt; 0: it succeeded. For several attempts it is the number that succeeded.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

static int32_t error_of(long result) { return result < 0 ? errno : 0; }

KIND(parent_scheduler) {
  struct sched_param none = {0};
  return error_of(sched_setscheduler(getppid(), SCHED_IDLE, &none));
}
KIND(own_scheduler) {
  struct sched_param none = {0};
  return error_of(sched_setscheduler(0, SCHED_IDLE, &none));
}
KIND(parent_affinity) {
  cpu_set_t set;
  if (sched_getaffinity(getppid(), sizeof set, &set)) return -1;
  return error_of(sched_setaffinity(getppid(), sizeof set, &set));
}
KIND(own_affinity) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return -1;
  return error_of(sched_setaffinity(0, sizeof set, &set));
}
KIND(parent_priority) {
  return error_of(setpriority(PRIO_PROCESS, getppid(), 5));
}
KIND(group_priority) { return error_of(setpriority(PRIO_PGRP, 0, 5)); }
KIND(ring) {
  struct io_uring_params parameters = {0};
  return error_of(syscall(SYS_io_uring_setup, 1, &parameters));
}

static int32_t try_open(int pid, const char *name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = open(path, flags);
  if (fd < 0) return errno;
  if (flags == O_WRONLY && write(fd, "777", 3) < 0) return errno;
  close(fd);
  return 0;
}
KIND(parent_memory) { return try_open(getppid(), "mem", O_RDWR); }
KIND(parent_addresses) { return try_open(getppid(), "maps", O_RDONLY); }
KIND(parent_environment) { return try_open(getppid(), "environ", O_RDONLY); }
KIND(parent_oom) { return try_open(getppid(), "oom_score_adj", O_WRONLY); }

static int32_t count_files(int pid) {
  int32_t done = 0;
  for (int i = 0; i < 256; i++) {
    char name[16];
    snprintf(name, sizeof name, "fd/%d", i);
    // O_NONBLOCK: otherwise opening a pipe waits until somebody writes to it.
    done += try_open(pid, name, O_RDWR | O_NONBLOCK) == 0;
  }
  return done;
}
KIND(parent_files) { return count_files(getppid()); }

// The memory and files of all other workers.
KIND(sibling_memory) {
  int32_t done = 0, seen = 0;
  DIR *processes = opendir("/proc");
  struct dirent *entry;
  while (processes && (entry = readdir(processes))) {
    int pid = atoi(entry->d_name);
    if (pid <= 0 || pid == getpid() || pid == getppid()) continue;
    seen++;
    done += try_open(pid, "mem", O_RDWR) == 0;
    done += count_files(pid);
  }
  if (processes) closedir(processes);
  return seen ? done : -1;
}
