// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"

#include <stdio.h>

#include "module/native/returned.h"

#define REGISTERS FARCALL_SOURCE_DIR "/tests/corpus/returned/registers.txt"

static void print_place(fc_processor_t processor, fc_register_t place,
                        char *out, size_t capacity) {
  static const char *const integers[] = {"rax", "rdx", "rcx"};
  const bool arm = processor == FC_PROCESSOR_AARCH64;
  if (place.bank == FC_BANK_INTEGER && !arm) {
    assert_true(place.index < FC_ARRAY_COUNT(integers));
    snprintf(out, capacity, " %s", integers[place.index]);
    return;
  }
  static const char *const names[][FC_BANK_COUNT] = {{"", "xmm", "fp"},
                                                     {"x", "v", ""}};
  snprintf(out, capacity, " %s%u", names[arm][place.bank], place.index);
}

// Writes " rax xmm0" for "i64 f32". `parts` ends at " =".
static void plan(fc_processor_t processor, char *parts, char *out,
                 size_t capacity) {
  fc_returned_t returned = {0};
  size_t used = 0;
  char *rest = NULL;
  for (char *word = strtok_r(parts, " ", &rest); word && *word != '=';
       word = strtok_r(NULL, " ", &rest)) {
    const fc_dtype_t dtype = fc_dtype_find(fc_str(word));
    assert_int_not_equal(dtype, FC_DTYPE_NONE);
    const fc_register_t place = fc_returned_add(&returned, processor, dtype);
    if (returned.demoted) break;
    print_place(processor, place, out + used, capacity - used);
    used += strlen(out + used);
  }
  if (returned.demoted) snprintf(out, capacity, " memory");
}

static void places_are_those_of_llc(void **state) {
  (void)state;
  FILE *file = fopen(REGISTERS, "r");
  assert_non_null(file);
  char line[512], row[512], planned[512];
  size_t count = 0;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    snprintf(row, sizeof row, "%s", line);
    fc_test_row(row);
    char *parts = strchr(line, ' ') + 1;
    const char *expected = strstr(row, " = ") + 2;
    plan(fc_str_starts(fc_str(line), FC_STR("x86_64")) ? FC_PROCESSOR_X86_64
                                                       : FC_PROCESSOR_AARCH64,
         parts, planned, sizeof planned);
    assert_string_equal(planned, expected);
    count++;
  }
  fc_test_row(NULL);
  fclose(file);
  assert_true(count > 1500);
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(places_are_those_of_llc)};
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
