// SPDX-License-Identifier: Apache-2.0
//
// Elements that have fewer bits than their bytes hold: integers of odd widths and
// floats below a byte. The bits above the width are arbitrary in a module's elements;
// in farcall's they repeat the sign, or are zeros. Any thread.
#ifndef FARCALL_CORE_BASE_WIDTH_H_
#define FARCALL_CORE_BASE_WIDTH_H_

#include "farcall/type.h"

// True for a type whose elements have such unused bits. A boolean is not one of them: any
// byte but 0 is true.
static inline bool fc_width_is_odd(const fc_dtype_info_t *info) {
  return info->bits < 8 * info->size && info->class_ != FC_DTYPE_CLASS_BOOL;
}

// Loads the bytes of an element of up to 8 bytes without changing them.
static inline uint64_t fc_width_load(const fc_dtype_info_t *info,
                                     const void *element) {
  uint64_t bits = 0;
  switch (info->size) {
    case 1:
      memcpy(&bits, element, 1);
      break;
    case 2:
      memcpy(&bits, element, 2);
      break;
    case 4:
      memcpy(&bits, element, 4);
      break;
    default:
      memcpy(&bits, element, 8);
  }
  return bits;
}

// Returns `bits` with zeros above the width.
static inline uint64_t fc_width_cut(const fc_dtype_info_t *info,
                                    uint64_t bits) {
  return bits & UINT64_MAX >> (64u - info->bits);
}

// Returns `bits` with the sign repeated above the width, or with zeros there if the type
// has no sign.
static inline uint64_t fc_width_extend(const fc_dtype_info_t *info,
                                       uint64_t bits) {
  const unsigned unused = 64u - info->bits;
  if (!fc_dtype_is_signed(info)) return fc_width_cut(info, bits);
  return (uint64_t)((int64_t)(bits << unused) >> unused);
}

// Does the same as fc_width_extend for a type of one byte. It needs so few instructions
// that a loop that uses it is as fast as a loop that copies.
static inline uint8_t fc_width_extend_byte(const fc_dtype_info_t *info,
                                           uint8_t byte) {
  const unsigned sign = fc_dtype_is_signed(info) ? 1u << (info->bits - 1) : 0;
  return (uint8_t)(((byte & (0xffu >> (8u - info->bits))) ^ sign) - sign);
}

// Sets the bits above the width of each element to the sign or to zeros. Booleans
// become 0 or 1.
static inline void fc_width_fill(const fc_dtype_info_t *info, uint8_t *data,
                                 size_t count) {
  if (info->class_ == FC_DTYPE_CLASS_BOOL) {
    for (size_t i = 0; i < count; i++) data[i] = data[i] != 0;
    return;
  }
  if (info->size == 1) {
    const fc_dtype_info_t own = *info;  // `data` cannot change the copy
    for (size_t i = 0; i < count; i++) {
      data[i] = fc_width_extend_byte(&own, data[i]);
    }
    return;
  }
  for (size_t i = 0; i < count; i++, data += info->size) {
    const uint64_t bits = fc_width_extend(info, fc_width_load(info, data));
    memcpy(data, &bits, info->size);
  }
}

// True for an integer type that has numbers beyond 2^53. Some readers of JSON round
// these numbers, so they may be written as text.
static inline bool fc_width_is_great(const fc_dtype_info_t *info) {
  return fc_dtype_is_integer(info) && info->bits > 53;
}

// Returns the greatest magnitude of the positive numbers (with `negative`, of the
// negative numbers) of an integer or boolean type.
static inline uint64_t fc_width_most(const fc_dtype_info_t *info,
                                     bool negative) {
  if (!fc_dtype_is_signed(info)) {
    return negative ? 0 : fc_width_cut(info, UINT64_MAX);
  }
  return fc_width_cut(info, UINT64_MAX) / 2 + negative;
}

#endif  // FARCALL_CORE_BASE_WIDTH_H_
