// SPDX-License-Identifier: Apache-2.0
//
// Hexadecimal digits. Any thread.
#ifndef FARCALL_BASE_HEX_H_
#define FARCALL_BASE_HEX_H_

#include <stdint.h>

// The value of a digit of either case, -1 of another character.
static inline int fc_hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = (char)(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// The two digits of a byte, in lower case.
static inline void fc_hex_put(char out[2], uint8_t byte) {
  static const char kDigits[] = "0123456789abcdef";
  out[0] = kDigits[byte >> 4];
  out[1] = kDigits[byte & 15];
}

#endif  // FARCALL_BASE_HEX_H_
