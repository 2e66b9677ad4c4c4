// SPDX-License-Identifier: Apache-2.0
//
// Hexadecimal digits, compared with those of printf.
#include "base/hex.h"

#include <stdio.h>

#include "helpers/test.h"

static void every_byte_is_as_printf_writes_it(void **state) {
  (void)state;
  for (unsigned byte = 0; byte < 256; byte++) {
    char wanted[3], out[2];
    snprintf(wanted, sizeof wanted, "%02x", byte);
    fc_hex_put(out, (uint8_t)byte);
    assert_memory_equal(out, wanted, sizeof out);
    for (int i = 0; i < 2; i++) {
      const unsigned digit = i ? byte & 15 : byte >> 4;
      assert_int_equal(fc_hex_value(out[i]), digit);
    }
  }
}

static void words_are_as_printf_writes_them(void **state) {
  (void)state;
  static const uint32_t kWords[] = {0,          1,          0x9A9A9A9A,
                                    0xA9A9A9A9, 0x01234567, 0x89ABCDEF,
                                    0xFFFFFFFF, 0x80000000, 0xF0E1D2C3};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    char wanted[9], out[8];
    snprintf(wanted, sizeof wanted, "%08x", kWords[i]);
    fc_hex_put_u32(out, kWords[i]);
    assert_memory_equal(out, wanted, sizeof out);
  }
  for (uint32_t word = 1, i = 0; i < 100000; i++) {
    char wanted[9], out[8];
    word = word * 1664525u + 1013904223u;
    snprintf(wanted, sizeof wanted, "%08x", word);
    fc_hex_put_u32(out, word);
    assert_memory_equal(out, wanted, sizeof out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_byte_is_as_printf_writes_it),
      FC_TEST(words_are_as_printf_writes_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
