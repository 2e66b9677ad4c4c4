// SPDX-License-Identifier: Apache-2.0
//
// Reads lines "dtype literal" and prints for each the element's bytes in hex, or the
// error code. For "dtype #bits" it prints the text of the element with these bits, in
// hex. integers.py and narrow.py send the lines and know the answers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/number.h"

static void answer(fc_str_t line) {
  const char *space = memchr(line.data, ' ', line.size);
  if (!space) return;
  size_t size = (size_t)(space - line.data);
  fc_dtype_t dtype = fc_dtype_find(fc_str_make(line.data, size));
  fc_str_t literal = {space + 1, line.size - size - 1};
  uint64_t bits = 0;
  fc_error_t err;
  if (literal.size && literal.data[0] == '#') {
    char text[FC_NUMBER_CHARS_MAX];
    bits = strtoull(literal.data + 1, NULL, 16);
    char *end = fc_number_print(dtype, &bits, text);
    printf("%.*s\n", (int)(end - text), text);
    return;
  }
  if (fc_number_parse(literal, dtype, &bits, &err) == FC_OK) {
    printf("%llx\n", (unsigned long long)bits);
  } else {
    printf("%s\n", fc_code_info(err.code)->text);
  }
}

int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    answer(fc_str_make(line, strcspn(line, "\n")));
  }
  return 0;
}
