// SPDX-License-Identifier: Apache-2.0
//
// How many bytes of a file are read and hashed by loading. Calls of libnettle's SHA-256
// are counted (linked with --wrap).
#include "helpers/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "farcall/module.h"

#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/"
#define VMVX FARCALL_SOURCE_DIR "/tests/corpus/iree/async/async-vmvx.vmfb"

static const fc_backend_t *const backends[] = {&fc_backend_native,
                                               &fc_backend_vm, NULL};

static size_t hashed;

void __real_nettle_sha256_update(struct sha256_ctx *context, size_t size,
                                 const uint8_t *data);
void __wrap_nettle_sha256_update(struct sha256_ctx *context, size_t size,
                                 const uint8_t *data);
void __wrap_nettle_sha256_update(struct sha256_ctx *context, size_t size,
                                 const uint8_t *data) {
  hashed += size;
  __real_nettle_sha256_update(context, size, data);
}

// ---------------------------------------------------------------------------

static fc_module_t *describe(const char *path) {
  const fc_module_options_t options = {.describe_native = true};
  fc_error_t err = {0};
  fc_module_t *module = NULL;
  if (fc_module_load(backends, fc_str(path), &options, fc_allocator_system(),
                     &module, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  return module;
}

// Loads the files as a worker process does.
static fc_module_t *load(const fc_module_t *module) {
  const fc_module_files_t files = fc_module_get_files(module);
  fc_error_t err = {0};
  fc_module_t *again = NULL;
  if (fc_module_load_files(backends, fc_module_get_path(module), &files, NULL,
                           fc_allocator_system(), &again, &err)) {
    fail_msg("%s", err.message);
  }
  return again;
}

// Copies owner.so and writes a sidecar that names the file's hash.
static void put_vouched(void) {
  fc_test_copy(NATIVE "owner.so", "a.so");
  char command[1024];
  snprintf(command, sizeof command,
           "sha=$(sha256sum < '%s' | cut -c -64); "
           "sed \"1s/{/{\\\"so_sha256\\\":\\\"$sha\\\",/\" '%s' > '%s/%s'",
           fc_test_in_folder("a.so"), NATIVE "owner.farcall.json",
           fc_test_folder(), "a.farcall.json");
  assert_int_equal(system(command), 0);
}

// Describing a file hashes it. Loading it afterwards hashes only the descriptions of
// functions, each time.
static void a_file_is_hashed_once(void **state) {
  (void)state;
  put_vouched();
  fc_test_copy(VMVX, "a.vmfb");
  static const struct { const char *name; } rows[] = {{"a.so"}, {"a.vmfb"}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    struct stat info;
    assert_int_equal(stat(fc_test_in_folder(row->name), &info), 0);
    hashed = 0;
    fc_module_t *first = describe(fc_test_in_folder(row->name));
    const size_t with_file = hashed;
    hashed = 0;
    fc_module_t *second = load(first);
    assert_int_equal(with_file - hashed, info.st_size);
    assert_true(hashed < (size_t)info.st_size);
    assert_string_equal(fc_module_get_sha256(first),
                        fc_module_get_sha256(second));
    assert_true(fc_str_equal(fc_module_get_digest(first),
                             fc_module_get_digest(second)));
    fc_module_release(first);
    fc_module_release(second);
  }
}

// A file that is too large to be copied is hashed again at loading only if somebody has
// written to it.
static void a_large_file_that_was_written_to_is_hashed_again(void **state) {
  (void)state;
  const off_t size = (off_t)17 << 20;
  fc_test_copy(VMVX, "a.vmfb");
  assert_int_equal(truncate(fc_test_in_folder("a.vmfb"), size), 0);
  const struct timespec long_ago[] = {{1, 0}, {1, 0}};
  assert_int_equal(
      utimensat(AT_FDCWD, fc_test_in_folder("a.vmfb"), long_ago, 0), 0);
  fc_module_t *first = describe(fc_test_in_folder("a.vmfb"));
  for (int written = 0; written < 2; written++) {
    if (written) {
      const int fd = open(fc_test_in_folder("a.vmfb"), O_WRONLY | O_CLOEXEC);
      assert_int_equal(pwrite(fd, "x", 1, size - 1), 1);
      close(fd);
    }
    hashed = 0;
    fc_module_t *second = load(first);
    assert_int_equal(hashed >= (size_t)size, written);
    assert_int_equal(
        strcmp(fc_module_get_sha256(first), fc_module_get_sha256(second)) != 0,
        written);
    fc_module_release(second);
  }
  fc_module_release(first);
}

// ---------------------------------------------------------------------------
// Files are recognized by their first bytes

// How many bytes this process has read from files so far, by any system call.
static uint64_t bytes_read(void) {
  unsigned long long count = 0;
  FILE *file = fopen("/proc/self/io", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "rchar: %llu", &count), 1);
  fclose(file);
  return count;
}

// How many pages of the file are in memory. 0: nobody has read it.
static size_t pages_in_memory(const char *path, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  const size_t pages = size / (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *resident = calloc(pages, 1);
  assert_non_null(resident);
  assert_int_equal(mincore(mapped, size, resident), 0);
  size_t count = 0;
  for (size_t i = 0; i < pages; i++) count += resident[i] & 1;
  free(resident);
  munmap(mapped, size);
  close(fd);
  return count;
}

static void what_is_no_module_is_not_read(void **state) {
  (void)state;
  const size_t size = (size_t)3 << 30;
  static const struct {
    const char *name;
    const char *message;
    fc_code_t code;
  } rows[] = {
      {"a.vmfb", "a.vmfb: no flatbuffer with the identifier IREE at byte 4",
       FC_CODE_VMFB_INVALID},
      {"a.so", "a.so: not an ELF file", FC_CODE_MODULE_LOAD},
      {"a",
       "a: not a module: no shared object (*.so) and no IREE "
       "module (*.vmfb)",
       FC_CODE_MODULE_PATH},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const int fd = open(fc_test_in_folder(row->name), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
    fc_error_t err = {0};
    fc_module_t *module;
    const uint64_t before = bytes_read();
    assert_int_not_equal(
        fc_module_load(backends, fc_str(fc_test_in_folder(row->name)), NULL,
                       fc_allocator_system(), &module, &err),
        FC_OK);
    const uint64_t read = bytes_read() - before;
    assert_string_equal(err.message, row->message);
    assert_int_equal(err.code, row->code);
    // At most one page of the file was read, and the text of /proc.
    assert_in_range(read, 1, 8192);
    // The kernel may read ahead.
    assert_in_range(pages_in_memory(fc_test_in_folder(row->name), size), 0,
                    1024);
  }
}

// The name of a file does not matter.
static void files_are_known_by_their_bytes(void **state) {
  (void)state;
  static const struct {
    const char *name;  // the file
    const char *as;
    const char *kind;
  } rows[] = {
      {VMVX, "a", "vm"},
      {VMVX, "a.so", "vm"},
      {NATIVE "embedded.so", "a.vmfb", "native"},
      {NATIVE "embedded.so", "a", "native"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_test_copy(row->name, row->as);
    fc_module_t *module = describe(fc_test_in_folder(row->as));
    assert_string_equal(fc_module_get_kind(module), row->kind);
    fc_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(a_file_is_hashed_once),
      FC_TEST_IN_FOLDER(a_large_file_that_was_written_to_is_hashed_again),
      FC_TEST_IN_FOLDER(what_is_no_module_is_not_read),
      FC_TEST_IN_FOLDER(files_are_known_by_their_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
