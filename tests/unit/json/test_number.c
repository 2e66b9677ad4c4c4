// SPDX-License-Identifier: Apache-2.0
//
// Number text to elements and back. Oracles: strtod and strtof of the C
// library, and values written down by hand.
#include "helpers/test.h"

#include <math.h>
#include <stdlib.h>

#include "json/number.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static const char *print(fc_dtype_t dtype, const void *element) {
  static char text[FC_NUMBER_CHARS_MAX + 1];
  *fc_number_print(dtype, element, text) = '\0';
  return text;
}

static void random_doubles_come_back(void **state) {
  (void)state;
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = next_random(), back;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    const char *text = print(FC_DTYPE_F64, &value);
    fc_error_t err;
    if (fc_number_parse(fc_str(text), FC_DTYPE_F64, &back, &err) ||
        back != bits || strtod(text, NULL) != value) {
      fail_msg("%a is printed %s", value, text);
    }
  }
}

static void random_floats_come_back(void **state) {
  (void)state;
  for (int i = 0; i < 200000; i++) {
    uint32_t bits = (uint32_t)next_random(), back;
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    const char *text = print(FC_DTYPE_F32, &value);
    fc_error_t err;
    if (fc_number_parse(fc_str(text), FC_DTYPE_F32, &back, &err) ||
        back != bits || strtof(text, NULL) != value) {
      fail_msg("%a is printed %s", (double)value, text);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(random_doubles_come_back),
      FC_TEST(random_floats_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
