// SPDX-License-Identifier: Apache-2.0
//
// What an executable library may demand of the runtime (tests/modules/kernel). How its
// kernels run is tested in server/tiles.
#include "kernels/library.h"

#include <stdio.h>

#include "helpers/test.h"

#define KERNELS FARCALL_BUILD_DIR "/tests/modules/kernel/"

static fc_status_t open_and_close(const char *path, fc_error_t *err) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static _Alignas(16) char bytes[1 << 16];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fc_elf_t *elf;
  FC_TRY(
      fc_elf_load(fc_str_make(bytes, size), fc_allocator_system(), &elf, err));
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  fc_library_t *library;
  FC_TRY(fc_library_open(elf, &cpu, NULL, 0, fc_allocator_system(), &library,
                         err));
  fc_library_close(library);
  return FC_OK;
}

// The runtime offers no imports, so a library is loaded only if all its imports are
// optional.
static void imports_must_be_optional(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *message;
  } rows[] = {
      {KERNELS "tiles.elf", NULL},
      {KERNELS "optional.elf", NULL},
      {KERNELS "needed.elf", "executable import three is not available"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err;
    fc_error_reset(&err);
    const fc_status_t status = open_and_close(row->name, &err);
    assert_int_equal(status == FC_OK, row->message == NULL);
    if (row->message) assert_string_equal(err.message, row->message);
  }
}

// Tables at unaligned addresses, where no compiler puts them, are not read.
static void tables_must_be_aligned(void **state) {
  (void)state;
  static const char *const rows[] = {"the library", "header",     "imports",
                                     "functions",   "attributes", "names"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i]);
    char path[512];
    fc_error_t err;
    snprintf(path, sizeof path, KERNELS "skewed-%zu.elf", i + 1);
    assert_int_not_equal(open_and_close(path, &err), FC_OK);
    assert_string_equal(err.message,
                        "executable library: its tables are not aligned");
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(imports_must_be_optional),
      FC_TEST(tables_must_be_aligned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
