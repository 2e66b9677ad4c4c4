// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 by RFC 3629. Any thread.
#ifndef FARCALL_BASE_UTF8_H_
#define FARCALL_BASE_UTF8_H_

#include "base/stop.h"

// Returns the length of the valid sequence at text[0]; 0 if it is not valid. Overlong
// forms, surrogates and values above U+10FFFF are not valid. `size` is at least 1.
static inline size_t fc_utf8_length(const char *text, size_t size) {
  const unsigned char *bytes = (const unsigned char *)text;
  unsigned char lead = bytes[0];
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || length > size) return 0;
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (bytes[1] < low || bytes[1] > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((bytes[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Returns the longest valid beginning of `text` of at most `most` bytes. No character is
// cut in two.
static inline fc_str_t fc_utf8_cut(fc_str_t text, size_t most) {
  size_t size = 0;
  while (size < text.size) {
    const size_t length = fc_utf8_length(text.data + size, text.size - size);
    if (!length || size + length > most) break;
    size += length;
  }
  return fc_str_make(text.data, size);
}

// True when all of `text` is valid.
bool fc_utf8_is_valid(fc_str_t text);
// Does the same as fc_utf8_is_valid, for a text that may be long. From time to time it
// checks whether the call must end (fc_stop_look).
fc_status_t fc_utf8_check(fc_str_t text, const fc_stop_t *stop, bool *out_valid,
                          fc_error_t *err);

// Writes a scalar value, which must not be a surrogate, as one to four bytes at
// `out`. Returns the end of these bytes.
static inline char *fc_utf8_put(uint32_t scalar, char *out) {
  if (scalar < 0x80) {
    *out++ = (char)scalar;
    return out;
  }
  if (scalar < 0x800) {
    *out++ = (char)(0xC0 | scalar >> 6);
  } else if (scalar < 0x10000) {
    *out++ = (char)(0xE0 | scalar >> 12);
    *out++ = (char)(0x80 | (scalar >> 6 & 0x3F));
  } else {
    *out++ = (char)(0xF0 | scalar >> 18);
    *out++ = (char)(0x80 | (scalar >> 12 & 0x3F));
    *out++ = (char)(0x80 | (scalar >> 6 & 0x3F));
  }
  *out++ = (char)(0x80 | (scalar & 0x3F));
  return out;
}

#endif  // FARCALL_BASE_UTF8_H_
