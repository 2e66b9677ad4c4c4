// SPDX-License-Identifier: Apache-2.0
//
// Feeds every file of the folders on the command line to a fuzz target, so that presets
// without libFuzzer still test what fuzzing once found. A missing or empty folder is a
// failure: such a test would check nothing.
// missing or empty is a failure: such a test would check nothing.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return -1;
  }
  uint8_t *data = NULL;
  size_t size = 0, capacity = 0, got;
  do {
    if (size == capacity) {
      capacity = capacity ? 2 * capacity : 4096;
      data = realloc(data, capacity);
      if (!data) abort();
    }
    got = fread(data + size, 1, capacity - size, file);
    size += got;
  } while (got);
  fclose(file);

  // The copy has the exact size, so the address sanitizer sees a read past its end.
  uint8_t *exact = malloc(size ? size : 1);
  if (!exact) abort();
  for (size_t i = 0; i < size; i++) exact[i] = data[i];
  free(data);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return 0;
}

static long replay_folder(const char *folder) {
  DIR *dir = opendir(folder);
  if (!dir) {
    perror(folder);
    return -1;
  }
  long count = 0;
  for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
    if (entry->d_name[0] == '.') continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    fprintf(stderr, "%s\n", path);  // the last line names the failing file
    count = replay_file(path) ? -1 : count + 1;
  }
  closedir(dir);
  return count;
}

int main(int argc, char **argv) {
  long total = 0;
  for (int i = 1; i < argc; i++) {
    long count = replay_folder(argv[i]);
    if (count < 0) return 1;
    total += count;
  }
  printf("%ld inputs\n", total);
  return total ? 0 : 1;
}
