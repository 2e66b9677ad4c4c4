// SPDX-License-Identifier: Apache-2.0
#include "pool/guesses.h"

#include "config/limits.h"

#define SETS 256u  // a power of two
#define WAYS 4u

typedef struct guess_t {
  fc_owner_t client;
  uint64_t last_ns;   // time of its last wrong token
  uint64_t since_ns;  // time of the first wrong token that is counted
  uint32_t count;     // 0: free
} guess_t;

// A right token, with the client that sent it.
typedef struct guest_t {
  uint64_t mark;     // hash of client and token
  uint64_t last_ns;  // 0: free
} guest_t;

struct fc_guesses_t {
  fc_allocator_t allocator;
  uint64_t key;
  guess_t sets[SETS][WAYS];
  guest_t guests[SETS][WAYS];
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

static uint64_t mark_of(uint64_t key, const fc_owner_t *owner) {
  uint64_t high, low;
  memcpy(&high, owner->bytes, sizeof high);
  memcpy(&low, owner->bytes + sizeof high, sizeof low);
  uint64_t hash = (high ^ key) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32 ^ low) * 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 32;
}

// Returns the client's entry. If it has none, it gets one, which replaces another.
static guess_t *find(fc_guesses_t *guesses, const fc_owner_t *client) {
  const uint64_t mark = mark_of(guesses->key, client);
  guess_t *set = guesses->sets[mark & (SETS - 1)], *oldest = set;
  for (uint32_t i = 0; i < WAYS; i++) {
    if (!memcmp(&set[i].client, client, sizeof *client)) return &set[i];
    if (set[i].last_ns < oldest->last_ns) oldest = &set[i];
  }
  *oldest = (guess_t){.client = *client};
  return oldest;
}

// Returns the beginning of the minute that must pass without a wrong token. While the
// client is slowed, each wrong token starts a new minute.
static uint64_t since_ns(const guess_t *guess) {
  return guess->count > FC_LIMIT_GUESSES ? guess->last_ns : guess->since_ns;
}

static bool is_over(const guess_t *guess, uint64_t now_ns) {
  return now_ns - since_ns(guess) >= FC_LIMIT_GUESSES_MS * UINT64_C(1000000);
}

bool fc_guesses_note(fc_guesses_t *guesses, const fc_owner_t *client,
                     uint64_t now_ns) {
  guess_t *guess = find(guesses, client);
  if (!guess->count || is_over(guess, now_ns)) {
    guess->count = 0;
    guess->since_ns = now_ns;
  }
  guess->last_ns = now_ns;
  if (guess->count <= FC_LIMIT_GUESSES) guess->count++;
  return guess->count > FC_LIMIT_GUESSES;
}

static bool is_slowed(const fc_guesses_t *guesses, const fc_owner_t *client,
                      uint64_t now_ns) {
  const guess_t *set =
      guesses->sets[mark_of(guesses->key, client) & (SETS - 1)];
  for (uint32_t i = 0; i < WAYS; i++) {
    if (memcmp(&set[i].client, client, sizeof *client)) continue;
    return set[i].count > FC_LIMIT_GUESSES && !is_over(&set[i], now_ns);
  }
  return false;
}

bool fc_guesses_greet(fc_guesses_t *guesses, const fc_owner_t *client,
                      const fc_owner_t *token, bool waited, uint64_t now_ns) {
  const uint64_t mark = mark_of(mark_of(guesses->key, client), token);
  guest_t *set = guesses->guests[mark & (SETS - 1)], *oldest = set;
  for (uint32_t i = 0; i < WAYS; i++) {
    if (set[i].last_ns && set[i].mark == mark) {
      set[i].last_ns = now_ns;
      return false;
    }
    if (set[i].last_ns < oldest->last_ns) oldest = &set[i];
  }
  // A client that leaves during the wait has learnt nothing, and waits again.
  if (!waited && is_slowed(guesses, client, now_ns)) return true;
  *oldest = (guest_t){mark, now_ns};
  return false;
}
