// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: the escapes of a string.
#ifndef FARCALL_CORE_JSON_ESCAPE_H_
#define FARCALL_CORE_JSON_ESCAPE_H_

#include "base/hex.h"
#include "base/utf8.h"

// Returns the value of four hex digits, which were checked before.
static inline uint32_t fc_json_unit_at(const char *p) {
  uint32_t unit = 0;
  for (int i = 0; i < 4; i++) unit = unit << 4 | (uint32_t)fc_hex_value(p[i]);
  return unit;
}

// Decodes the escape at *p (both escapes of a surrogate pair) into UTF-8 in `out`. The
// text was checked before. If there is no escape at *p, copies the byte. Moves *p past
// what it read, and returns how many bytes it wrote.
static inline size_t fc_json_decode_character(const char **p, char out[4]) {
  const char *here = *p;
  if (*here != '\\') {
    *p = here + 1;
    out[0] = *here;  // may be any byte of a UTF-8 sequence
    return 1;
  }
  static const char kEscapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
  if (here[1] != 'u') {
    *p = here + 2;
    for (const char *pair = kEscapes; *pair; pair += 2) {
      if (pair[0] == here[1]) out[0] = pair[1];
    }
    return 1;
  }
  uint32_t scalar = fc_json_unit_at(here + 2);
  *p = here + 6;
  if (scalar >= 0xD800 && scalar <= 0xDBFF) {
    scalar = 0x10000 + ((scalar - 0xD800) << 10) +
             (fc_json_unit_at(here + 8) - 0xDC00);
    *p = here + 12;
  }
  return (size_t)(fc_utf8_put(scalar, out) - out);
}

#endif  // FARCALL_CORE_JSON_ESCAPE_H_
