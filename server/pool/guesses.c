// SPDX-License-Identifier: Apache-2.0
#include "pool/guesses.h"

#include "config/limits.h"

#define SETS 256u  // a power of two
#define WAYS 4u

typedef struct guess_t {
  fc_owner_t client;
  uint64_t last_ns;   // of its last wrong token
  uint64_t since_ns;  // of the first that is counted
  uint32_t count;     // 0: free
} guess_t;

struct fc_guesses_t {
  fc_allocator_t allocator;
  uint64_t key;
  guess_t sets[SETS][WAYS];
};

fc_guesses_t *fc_guesses_create(fc_allocator_t allocator, uint64_t key) {
  fc_guesses_t *made = fc_alloc(allocator, sizeof *made);
  if (!made) return NULL;
  made->allocator = allocator;
  made->key = key;
  return made;
}

void fc_guesses_destroy(fc_guesses_t *guesses) {
  if (guesses) fc_free(guesses->allocator, guesses);
}

static guess_t *set_of(fc_guesses_t *guesses, const fc_owner_t *client) {
  uint64_t high, low;
  memcpy(&high, client->bytes, sizeof high);
  memcpy(&low, client->bytes + sizeof high, sizeof low);
  uint64_t hash = (high ^ guesses->key) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32 ^ low) * 0xBF58476D1CE4E5B9u;
  return guesses->sets[hash >> 32 & (SETS - 1)];
}

// The client's entry, or the one in whose place it comes.
static guess_t *find(fc_guesses_t *guesses, const fc_owner_t *client) {
  guess_t *set = set_of(guesses, client), *oldest = set;
  for (uint32_t i = 0; i < WAYS; i++) {
    if (!memcmp(&set[i].client, client, sizeof *client)) return &set[i];
    if (set[i].last_ns < oldest->last_ns) oldest = &set[i];
  }
  *oldest = (guess_t){.client = *client};
  return oldest;
}

bool fc_guesses_note(fc_guesses_t *guesses, const fc_owner_t *client,
                     uint64_t now_ns) {
  const uint64_t window_ns = FC_LIMIT_GUESSES_MS * UINT64_C(1000000);
  guess_t *guess = find(guesses, client);
  // While the client is slowed, the minute begins anew with each wrong token.
  const uint64_t from_ns =
      guess->count > FC_LIMIT_GUESSES ? guess->last_ns : guess->since_ns;
  if (!guess->count || now_ns - from_ns >= window_ns) {
    guess->count = 0;
    guess->since_ns = now_ns;
  }
  guess->last_ns = now_ns;
  if (guess->count <= FC_LIMIT_GUESSES) guess->count++;
  return guess->count > FC_LIMIT_GUESSES;
}
