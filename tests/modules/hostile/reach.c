// SPDX-License-Identifier: Apache-2.0
//
// Attacks what its process shares with the server: the ring and descriptors.
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hostile.h"
#include "pool/ring.h"

#define EDGE ((size_t)8 << 20)

typedef struct span_t {
  char *data;
  size_t size;
} span_t;

// Finds every writable shared mapping of this process.
static size_t find_shared(span_t *spans, size_t limit) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], mode[8];
  unsigned long begin, end;
  size_t count = 0;
  while (maps && fgets(line, sizeof line, maps) && count < limit) {
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) == 3 &&
        strcmp(mode, "rw-s") == 0) {
      spans[count++] = (span_t){(char *)begin, end - begin};
    }
  }
  if (maps) fclose(maps);
  return count;
}
static span_t spans[64];
static size_t span_count;

// Fills both ends of each mapping, but not the gigabytes between, which nobody has
// touched.
static int32_t fill(int byte) {
  span_count = find_shared(spans, 64);
  for (size_t i = 0; i < span_count; i++) {
    size_t size = spans[i].size < EDGE ? spans[i].size : EDGE;
    memset(spans[i].data, byte, size);
    memset(spans[i].data + spans[i].size - size, byte, size);
  }
  return (int32_t)span_count;
}
KIND(ring_zeros) { return fill(0); }
KIND(ring_ones) { return fill(0xff); }
KIND(ring_letters) { return fill('A'); }

// In each round, sets every word of the first pages to a small, a large or a negative
// number: whether it is a length, an index or a state.
static void spoil(uint32_t round) {
  static const uint32_t kValues[] = {
      0, 1, 2, 3, 4, 255, 4096, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8};
  for (size_t i = 0; i < span_count; i++) {
    volatile uint32_t *words = (volatile uint32_t *)spans[i].data;
    size_t count = spans[i].size / 4 < 16384 ? spans[i].size / 4 : 16384;
    for (size_t w = 0; w < count; w++) {
      words[w] = kValues[(w * 2654435761u + round) % 11];
    }
  }
}
KIND(ring_numbers) {
  span_count = find_shared(spans, 64);
  spoil((uint32_t)a);
  return (int32_t)span_count;
}
// Touches all shared memory, a gigabyte in a quarter of a second, and then waits, so
// that the server can notice.
static void *take_all(void *context) {
  for (size_t i = 0; i < span_count; i++) {
    for (size_t at = 0; at < spans[i].size; at += 4096) {
      *(volatile char *)(spans[i].data + at) += 0;
      if (at % EDGE == 0) usleep(2000);
    }
  }
  sleep(5);
  return context;
}
KIND(ring_taken) {
  span_count = find_shared(spans, 64);
  take_all(NULL);
  return (int32_t)span_count;
}
KIND(ring_taken_later) {
  pthread_t thread;
  span_count = find_shared(spans, 64);
  return pthread_create(&thread, NULL, take_all, NULL);
}
static void *spoil_for_ever(void *context) {
  for (uint32_t round = 0;; round++) {
    spoil(round);
    if (round % 64 == 0) usleep(100);
  }
  return context;
}
KIND(ring_numbers_later) {
  pthread_t thread;
  span_count = find_shared(spans, 64);
  if (pthread_create(&thread, NULL, spoil_for_ever, NULL)) return -1;
  usleep(20000);
  return (int32_t)span_count;
}

// Sets the cancel words of all slots again and again.
static void *cancel_for_ever(void *context) {
  for (;;) {
    for (size_t i = 0; i < span_count; i++) {
      fc_ring_head_t *head = (fc_ring_head_t *)spans[i].data;
      if (spans[i].size < sizeof *head) continue;
      for (int s = 0; s < FC_RING_SLOTS; s++) {
        atomic_store(&head->slots[s].slot.cancel, 1);
      }
    }
  }
  return context;
}
KIND(ring_cancelled_later) {
  pthread_t thread;
  span_count = find_shared(spans, 64);
  return pthread_create(&thread, NULL, cancel_for_ever, NULL);
}
// Gives every slot a deadline that passed long ago, again and again.
static void *be_late_for_ever(void *context) {
  for (;;) {
    for (size_t i = 0; i < span_count; i++) {
      fc_ring_head_t *head = (fc_ring_head_t *)spans[i].data;
      if (spans[i].size < sizeof *head) continue;
      for (int s = 0; s < FC_RING_SLOTS; s++) {
        *(volatile uint64_t *)&head->slots[s].slot.call.deadline_ns = 1;
      }
    }
  }
  return context;
}
KIND(ring_late_later) {
  pthread_t thread;
  span_count = find_shared(spans, 64);
  return pthread_create(&thread, NULL, be_late_for_ever, NULL);
}
KIND(ring_unmapped) {
  span_count = find_shared(spans, 64);
  for (size_t i = 0; i < span_count; i++) munmap(spans[i].data, spans[i].size);
  return (int32_t)span_count;
}
// Makes the shared files smaller, so that reading them raises SIGBUS.
KIND(ring_truncated) {
  int32_t done = 0;
  for (int fd = 0; fd < 1024; fd++) done += ftruncate(fd, 0) == 0;
  return done;
}
KIND(ring_grown) {
  int32_t done = 0;
  for (int fd = 3; fd < 1024; fd++) {
    done += ftruncate(fd, (off_t)1 << 40) == 0;
  }
  return done;
}

KIND(close_all) {
  for (int fd = 0; fd < 1024; fd++) close(fd);
  return 1;
}
KIND(replace_all) {
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 64; fd++) {
    if (fd != null && fcntl(fd, F_GETFD) != -1) dup2(null, fd);
  }
  return 1;
}
KIND(open_all) {
  while (open("/dev/null", O_RDONLY) >= 0) continue;
  return 1;
}

// Eventfds are recognized by their name.
static bool is_bell(int fd) {
  char path[64], name[64] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, name, sizeof name - 1) > 0 && strstr(name, "eventfd");
}
// Fills the counter of each eventfd, so that a blocking write to it would wait.
KIND(bell_flooded) {
  uint64_t most = 0xfffffffffffffffe;
  for (int fd = 0; fd < 64; fd++) {
    for (int i = 0; is_bell(fd) && i < 100; i++) {
      if (write(fd, &most, 8) < 0) break;
    }
  }
  return 1;
}
static void *drain_for_ever(void *context) {
  uint64_t value;
  for (;;) {
    for (int fd = 0; fd < 64; fd++) {
      if (is_bell(fd)) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        for (int i = 0; i < 1000; i++) {
          if (read(fd, &value, 8) < 0) usleep(1);
        }
      }
    }
  }
  return context;
}
KIND(bell_drained) {
  pthread_t thread;
  return pthread_create(&thread, NULL, drain_for_ever, NULL);
}
static void *ring_for_ever(void *context) {
  uint64_t one = 1;
  for (;;) {
    for (int fd = 0; fd < 64; fd++) {
      for (int i = 0; is_bell(fd) && i < 1000; i++) {
        if (write(fd, &one, 8) < 0) break;
      }
    }
  }
  return context;
}
KIND(bell_rung) {
  pthread_t thread;
  return pthread_create(&thread, NULL, ring_for_ever, NULL);
}
