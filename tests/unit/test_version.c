// SPDX-License-Identifier: Apache-2.0
//
// The header that a caller is compiled with and the library that it is linked with have
// the same version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "farcall/version.h"

static void header_and_library_agree(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", FARCALL_VERSION_MAJOR,
           FARCALL_VERSION_MINOR, FARCALL_VERSION_PATCH);
  assert_string_equal(text, FARCALL_VERSION);
  assert_string_equal(text, fc_version());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_and_library_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
