// SPDX-License-Identifier: Apache-2.0
//
// fc_sha256_t. Any thread.
#include "base/sha256.h"

// The first 32 bits of the fractional parts of the cube roots of the first 64
// primes (FIPS 180-4, 4.2.2).
static const uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned count) {
  return word >> count | word << (32 - count);
}

static uint32_t load_be(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | bytes[3];
}

static void take_block(uint32_t state[8], const uint8_t block[64]) {
  uint32_t w[64], s[8];
  for (size_t i = 0; i < 16; i++) w[i] = load_be(block + 4 * i);
  for (size_t i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    a = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
    b = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  memcpy(s, state, sizeof s);
  for (size_t i = 0; i < 64; i++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    uint32_t one = s[7] + e + choice + kRound[i] + w[i];
    memmove(s + 1, s, 7 * sizeof s[0]);
    s[4] += one;
    s[0] = one + a + majority;
  }
  for (size_t i = 0; i < 8; i++) state[i] += s[i];
}

void fc_sha256_init(fc_sha256_t *hash) {
  static const uint32_t kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                     0xa54ff53a, 0x510e527f, 0x9b05688c,
                                     0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, kStart, sizeof kStart);
  hash->size = 0;
}

void fc_sha256_update(fc_sha256_t *hash, const void *data, size_t size) {
  const uint8_t *bytes = data;
  size_t held = hash->size % sizeof hash->block;
  hash->size += size;
  while (size) {
    size_t room = sizeof hash->block - held;
    size_t take = size < room ? size : room;
    memcpy(hash->block + held, bytes, take);
    bytes += take;
    size -= take;
    held += take;
    if (held < sizeof hash->block) return;
    take_block(hash->state, hash->block);
    held = 0;
  }
}

void fc_sha256_finish(fc_sha256_t *hash, char out_hex[65]) {
  static const char kHex[] = "0123456789abcdef";
  static const uint8_t kPadding[64] = {0x80};
  uint64_t bits = hash->size * 8;
  uint8_t length[8];
  for (unsigned i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  size_t held = hash->size % 64;
  fc_sha256_update(hash, kPadding, held < 56 ? 56 - held : 120 - held);
  fc_sha256_update(hash, length, sizeof length);
  for (unsigned i = 0; i < 64; i++) {
    out_hex[i] = kHex[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
  }
  out_hex[64] = '\0';
}

void fc_sha256_hex(const void *data, size_t size, char out_hex[65]) {
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  fc_sha256_update(&hash, data, size);
  fc_sha256_finish(&hash, out_hex);
}
