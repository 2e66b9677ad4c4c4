// SPDX-License-Identifier: Apache-2.0
//
// Unaligned little-endian loads. A file may promise an alignment that does not
// hold in memory, so no pointer is cast here. The host is little-endian.
#ifndef FARCALL_BASE_LOAD_H_
#define FARCALL_BASE_LOAD_H_

#include "farcall/base.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "farcall runs on little-endian hosts"
#endif

static inline uint16_t fc_load_u16(const uint8_t *p) {
  uint16_t value;
  memcpy(&value, p, sizeof value);
  return value;
}
static inline uint32_t fc_load_u32(const uint8_t *p) {
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return value;
}
static inline uint64_t fc_load_u64(const uint8_t *p) {
  uint64_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

#endif  // FARCALL_BASE_LOAD_H_
