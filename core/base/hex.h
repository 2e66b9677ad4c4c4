// SPDX-License-Identifier: Apache-2.0
//
// Hexadecimal digits. Any thread.
#ifndef FARCALL_BASE_HEX_H_
#define FARCALL_BASE_HEX_H_

// The value of a digit of either case, -1 of another character.
static inline int fc_hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = (char)(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

#endif  // FARCALL_BASE_HEX_H_
