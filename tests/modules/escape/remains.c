// SPDX-License-Identifier: Apache-2.0
//
// Searches the memory and files that the module can read for what others left there:
// bodies of other calls, the server's key and its variables.
#include <sys/mman.h>

#include "escape.h"

extern char **environ;

// These texts must not be in this object itself, so each byte is one higher here.
static const char kBody[] = "382939293956:156345";       // 2718281828459045234
static const char kKey[] = "QSJWBUF!LFZ";                // PRIVATE KEY
static const char kVariable[] = "tfdsfu!pg!uif!tfswfs";  // secret of the server

static int matches(const char *at, const char *hidden) {
  size_t i = 0;
  while (hidden[i] && (char)(at[i] + 1) == hidden[i]) i++;
  return !hidden[i];
}
static int has(const char *begin, const char *end, const char *hidden) {
  const char *last = end - strlen(hidden);
  for (const char *at = begin; at <= last; at++) {
    if ((char)(*at + 1) == hidden[0] && matches(at, hidden)) return 1;
  }
  return 0;
}

// Pages of shared memory that nobody has touched are skipped: reading one would
// allocate it. A text that crosses a page boundary is found with its first page.
#define PAGE 4096ul
#define PAGES 4096ul
static int find_in(const char *begin, size_t size, int is_shared,
                   const char *hidden) {
  static unsigned char touched[PAGES];
  if (!is_shared) return has(begin, begin + size, hidden);
  for (size_t at = 0; at < size; at += PAGES * PAGE) {
    size_t part = size - at < PAGES * PAGE ? size - at : PAGES * PAGE;
    if (mincore((void *)(begin + at), part, touched)) continue;
    for (size_t i = 0; i < part / PAGE; i++) {
      size_t reach = PAGE;
      if (i + 1 < part / PAGE && (touched[i + 1] & 1)) reach += 32;
      const char *page = begin + at + i * PAGE;
      if ((touched[i] & 1) && has(page, page + reach, hidden)) return 1;
    }
  }
  return 0;
}
static int32_t find_in_memory(const char *hidden) {
  char line[512], mode[8];
  unsigned long begin, end;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) return errno;
  int32_t result = NOTHING;
  while (result && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3) continue;
    if (mode[0] != 'r' || mode[1] != 'w') continue;
    // The address sanitizer's notes occupy terabytes of addresses.
    if (mode[3] != 's' && end - begin > 1ul << 30) continue;
    if (find_in((const char *)begin, end - begin, mode[3] == 's', hidden)) {
      result = 0;
    }
  }
  fclose(maps);
  return result;
}
// Files without a name exist as long as they have a descriptor.
static int32_t find_in_files(const char *hidden) {
  static char text[65536];
  int32_t result = NOTHING;
  for (int fd = 0; fd < 256 && result; fd++) {
    ssize_t size = pread(fd, text, sizeof text, 0);
    if (size > 0 && has(text, text + size, hidden)) result = 0;
  }
  memset(text, 0, sizeof text);
  return result;
}

static volatile int64_t kept;
__attribute__((visibility("default"))) int64_t _mlir_ciface_take(int64_t body) {
  return kept = body;
}
KIND(kept_argument) { return kept == 0 ? NOTHING : 0; }
KIND(body_in_memory) { return find_in_memory(kBody); }
KIND(body_in_files) { return find_in_files(kBody); }
KIND(key_in_memory) { return find_in_memory(kKey); }
KIND(key_in_files) { return find_in_files(kKey); }
KIND(variable_in_memory) { return find_in_memory(kVariable); }
KIND(variables) {
  for (char **each = environ; each && *each; each++) {
    if (has(*each, *each + strlen(*each), kVariable)) return 0;
  }
  return NOTHING;
}
KIND(variable_file) { return opens("/proc/self/environ"); }
