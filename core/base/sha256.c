// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of libnettle, with digests as text. Any thread.
#include "base/sha256.h"

#include <nettle/memops.h>
#include <nettle/version.h>

#include "base/hex.h"

void fc_sha256_init(fc_sha256_t *hash) { sha256_init(&hash->context); }

void fc_sha256_update(fc_sha256_t *hash, const void *data, size_t size) {
  sha256_update(&hash->context, size, data);
}

void fc_sha256_finish(fc_sha256_t *hash, char out_hex[65]) {
  uint8_t digest[SHA256_DIGEST_SIZE];
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(&hash->context, digest);
#else
  sha256_digest(&hash->context, sizeof digest, digest);
#endif
  for (size_t i = 0; i < sizeof digest; i++) {
    fc_hex_put(out_hex + 2 * i, digest[i]);
  }
  out_hex[64] = '\0';
}

void fc_sha256_hex(const void *data, size_t size, char out_hex[65]) {
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  fc_sha256_update(&hash, data, size);
  fc_sha256_finish(&hash, out_hex);
}

bool fc_sha256_same(const char a[64], const char b[64]) {
  return memeql_sec(a, b, 64);
}
