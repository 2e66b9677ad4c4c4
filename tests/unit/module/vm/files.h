// SPDX-License-Identifier: Apache-2.0
//
// Reads the .vmfb files of tests/corpus/iree, and of the corpus of other people's
// programs that the variable FARCALL_IREE_CORPUS names.
#ifndef FARCALL_TESTS_MODULE_VM_FILES_H_
#define FARCALL_TESTS_MODULE_VM_FILES_H_

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/test.h"

#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/iree"

// The path of a corpus file. Files with machine code exist for each processor: this is
// the one for ours.
static inline const char *corpus_path(const char *name, char out[512]) {
  const char *folder = FC_TEST_NATIVE;
  if (!strstr(name, "llvm-cpu")) folder = CORPUS;
  snprintf(out, 512, "%s/%s", folder, name);
  return out;
}

// The path of a folder in the corpus that is not part of the project. Skips the test if
// FARCALL_IREE_CORPUS is not set.
static inline const char *outside(const char *folder, char out[512]) {
  const char *corpus = getenv("FARCALL_IREE_CORPUS");
  if (!corpus || !*corpus) fc_test_skip("FARCALL_IREE_CORPUS names no folder");
  snprintf(out, 512, "%s/%s", corpus ? corpus : "", folder);
  return out;
}

// Reads a whole file. NULL: there is none. The caller frees it.
static inline uint8_t *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  assert_true(size >= 0);
  rewind(file);
  uint8_t *data = malloc(size ? (size_t)size : 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, (size_t)size, file), (size_t)size);
  fclose(file);
  *out_size = (size_t)size;
  return data;
}

// Calls `each` for every .vmfb of the folder. Returns their number; 0 also if there is
// no such folder.
static inline size_t each_module(const char *folder,
                                 void (*each)(const char *path,
                                              const uint8_t *data, size_t size,
                                              void *context),
                                 void *context) {
  DIR *dir = opendir(folder);
  if (!dir) return 0;
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 5, ".vmfb")) continue;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    assert_non_null(data);
    each(path, data, size, context);
    free(data);
    count++;
  }
  closedir(dir);
  return count;
}

#endif  // FARCALL_TESTS_MODULE_VM_FILES_H_
