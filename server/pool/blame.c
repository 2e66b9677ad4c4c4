// SPDX-License-Identifier: Apache-2.0
//
// The entries of the table are overwritten in turn. The table is short, so it is searched
// linearly. Reading a large body would take milliseconds, so its head is compared first.
#include "pool/blame.h"

#define MINUTE_NS (FC_LIMIT_HEALTHY_MS * 1000000ull)

void fc_blame_init(fc_blame_t *blame, const uint64_t key[2]) {
  *blame = (fc_blame_t){.key = {key[0], key[1]}};
}

static uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// This must be fast, because the loop waits for it: one multiplication for sixteen bytes.
static uint64_t digest_of(const fc_blame_t *blame, uint64_t what,
                          fc_str_t body) {
  uint64_t words[2], state = blame->key[0] ^ what;
  size_t at = 0;
  for (; body.size - at >= sizeof words; at += sizeof words) {
    memcpy(words, body.data + at, sizeof words);
    state = mix(words[0] ^ blame->key[1], words[1] ^ state);
  }
  words[0] = words[1] = 0;
  if (at < body.size) memcpy(words, body.data + at, body.size - at);
  // Zeros at the end of a body need not change the digest, because is_near compares the
  // sizes.
  return mix(words[0] ^ blame->key[1], words[1] ^ state);
}

static uint64_t digest_of_head(const fc_blame_t *blame, uint64_t what,
                               fc_str_t body) {
  if (body.size > FC_BLAME_HEAD) body.size = FC_BLAME_HEAD;
  return digest_of(blame, what, body);
}

// Is the entry about a call of this function with a body of this size, and still valid?
static bool is_near(const fc_blamed_t *entry, uint64_t what, size_t size,
                    uint64_t now_ns) {
  return entry->what == what && entry->size == size &&
         now_ns < entry->at_ns + MINUTE_NS;
}

void fc_blame_note(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns) {
  blame->entries[blame->next] =
      (fc_blamed_t){.digest = digest_of(blame, what, body),
                    .head = digest_of_head(blame, what, body),
                    .size = body.size,
                    .at_ns = now_ns,
                    .what = what};
  blame->next = (blame->next + 1) % FC_LIMIT_BLAMED;
  if (blame->count < FC_LIMIT_BLAMED) blame->count++;
  blame->until_ns = now_ns + MINUTE_NS;
  blame->changes++;
}

bool fc_blame_find(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns, uint64_t *out_at_ns) {
  if (now_ns >= blame->until_ns) {
    blame->until_ns = 0;
    blame->count = blame->next = 0;
    return false;
  }
  uint64_t head = 0, digest = 0;
  bool has_head = false, has_digest = false;
  for (uint32_t i = 0; i < blame->count; i++) {
    const fc_blamed_t *entry = &blame->entries[i];
    if (!is_near(entry, what, body.size, now_ns)) continue;
    if (!has_head) head = digest_of_head(blame, what, body);
    has_head = true;
    if (entry->head != head) continue;
    if (!has_digest) digest = digest_of(blame, what, body);
    has_digest = true;
    if (entry->digest != digest) continue;
    *out_at_ns = entry->at_ns;
    return true;
  }
  return false;
}
