// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4) by libnettle. It identifies modules and their functions: clients
// see the hash, and a sidecar may name the hash of its file. It also hashes secrets that
// have 256 random bits (docs/decisions/tokens.md). An object is used by one thread
// at a time.
#ifndef FARCALL_BASE_SHA256_H_
#define FARCALL_BASE_SHA256_H_

#include <nettle/sha2.h>

#include "farcall/base.h"

typedef struct fc_sha256_t {
  struct sha256_ctx context;
} fc_sha256_t;

void fc_sha256_init(fc_sha256_t *hash);
void fc_sha256_update(fc_sha256_t *hash, const void *data, size_t size);
// Writes 64 lower case hex digits and a terminator. `hash` must be initialised
// again before further use.
void fc_sha256_finish(fc_sha256_t *hash, char out_hex[65]);

// Hashes one whole buffer.
void fc_sha256_hex(const void *data, size_t size, char out_hex[65]);

// True when two digests of 64 hex digits are equal. The time depends neither on the
// answer nor on the place where they differ.
bool fc_sha256_same(const char a[64], const char b[64]);

#endif  // FARCALL_BASE_SHA256_H_
