// SPDX-License-Identifier: Apache-2.0
//
// Hexadecimal digits. Any thread.
#ifndef FARCALL_BASE_HEX_H_
#define FARCALL_BASE_HEX_H_

#include <stdint.h>
#include <string.h>

// Returns the value of a digit in either case; -1 for any other character.
static inline int fc_hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = (char)(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// Writes the two digits of a byte, in lower case.
static inline void fc_hex_put(char out[2], uint8_t byte) {
  static const char kDigits[] = "0123456789abcdef";
  out[0] = kDigits[byte >> 4];
  out[1] = kDigits[byte & 15];
}

// Writes the eight digits of a word, in lower case, the highest first. Each
// nibble is spread to a byte of its own, and one sum turns all eight into digits.
static inline void fc_hex_put_u32(char out[8], uint32_t word) {
  uint64_t x = word;
  x = (x << 16 | x) & 0x0000FFFF0000FFFFu;
  x = (x << 8 | x) & 0x00FF00FF00FF00FFu;
  x = (x << 4 | x) & 0x0F0F0F0F0F0F0F0Fu;
  const uint64_t letters = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
  x = __builtin_bswap64(x + 0x3030303030303030u + letters * ('a' - '0' - 10));
  memcpy(out, &x, sizeof x);
}

#endif  // FARCALL_BASE_HEX_H_
