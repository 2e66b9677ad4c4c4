// SPDX-License-Identifier: Apache-2.0
#include "pool/home.h"

#include "pool/claim.h"

void fc_home_init(fc_home_t *home, const fc_home_class_t *class_,
                  fc_allocator_t allocator, uint32_t generation,
                  uint32_t refusal) {
  *home = (fc_home_t){.class_ = class_,
                      .owners = {.allocator = allocator},
                      .generation = generation,
                      .refusal = refusal,
                      .next = 1};
}

static void bind(fc_home_t *home, fc_claim_t *claim) {
  fc_bond_t *bond = &claim->bond;
  bond->home = home;
  bond->at = &home->first;
  bond->next = home->first;
  if (home->first) home->first->bond.at = &bond->next;
  home->first = claim;
}

// The owner of the claim's session has `count` references or granted numbers less.
static void uncount(fc_home_t *home, const fc_claim_t *claim, uint32_t count) {
  if (count) fc_owners_release(&home->owners, claim->bond.entry, count);
}

static void unbind(fc_claim_t *claim) {
  fc_bond_t *bond = &claim->bond;
  uncount(bond->home, claim, bond->references);
  *bond->at = bond->next;
  if (bond->next) bond->next->bond.at = bond->at;
  bond->home = NULL;
  bond->next = NULL;
  bond->references = 0;
}

void fc_home_end(fc_home_t *home) { home->ended = true; }

uint32_t fc_home_lose(fc_home_t *home, uint32_t most) {
  uint32_t count = 0;
  for (; home->first && count < most; count++) {
    fc_claim_t *claim = home->first;
    unbind(claim);
    claim->class_->lose(claim, FC_STR(""), FC_LOSS_WORKER);
  }
  return count;
}

bool fc_home_has_ended(const fc_claim_t *claim) {
  return claim->bond.home && claim->bond.home->ended;
}

void fc_home_leave(fc_home_t *home) {
  while (home->first) unbind(home->first);
  fc_owners_deinit(&home->owners);
}

void fc_home_wait(fc_claim_t *claim) {
  fc_home_t *home = claim->bond.home;
  claim->bond.next_waiting = NULL;
  claim->bond.waited = true;
  if (home->waits_last) home->waits_last->bond.next_waiting = claim;
  else home->waits_first = claim;
  home->waits_last = claim;
}

fc_claim_t *fc_home_pop(fc_home_t *home) {
  fc_claim_t *claim = home->waits_first;
  if (!claim) return NULL;
  home->waits_first = claim->bond.next_waiting;
  if (!home->waits_first) home->waits_last = NULL;
  return claim;
}

// Why the home keeps no references for the claim at all; 0: it does.
static uint32_t refusal_of(const fc_home_t *home, const fc_claim_t *claim) {
  if (claim->bond.refusal) return claim->bond.refusal;
  if (home->refusal) return home->refusal;
  const bool is_own = claim->bond.generation == home->generation;
  return is_own ? FC_STORE_REFUSES_NONE : FC_STORE_REFUSES_REPLACED;
}

// Returns how many more references may be kept for the owner of the claim's session, and
// the reason for the limit.
static uint32_t room_of(const fc_home_t *home, const fc_claim_t *claim,
                        uint32_t *out_refusal) {
  const uint32_t used = home->class_->count(home) + home->granted;
  const uint32_t room = used < FC_REFERENCES_MAX ? FC_REFERENCES_MAX - used : 0;
  const uint64_t has = fc_owners_held(&home->owners, claim->bond.owner);
  const uint64_t left =
      has < FC_REFERENCES_SHARE ? FC_REFERENCES_SHARE - has : 0;
  *out_refusal = left <= room ? FC_STORE_REFUSES_SHARE : FC_STORE_REFUSES_MORE;
  return left < room ? (uint32_t)left : room;
}

// Counts the numbers for the owner of the claim's session. False: no memory.
static bool count_for_owner(fc_home_t *home, fc_claim_t *claim,
                            uint32_t count) {
  fc_bond_t *bond = &claim->bond;
  bond->entry = fc_owners_charge(&home->owners, bond->owner, count);
  return bond->entry != FC_OWNER_NONE;
}

void fc_home_grant(fc_home_t *home, fc_claim_t *claim, uint32_t wanted,
                   fc_store_desk_t *desk) {
  uint32_t refusal = refusal_of(home, claim);
  if (refusal) wanted = 0;
  if (wanted > FC_STORE_ROWS) wanted = FC_STORE_ROWS;
  if (wanted) {
    const uint32_t room = room_of(home, claim, &refusal);
    if (wanted > room) wanted = room;
  }
  if (wanted && !count_for_owner(home, claim, wanted)) {
    wanted = 0;
    refusal = FC_STORE_REFUSES_MEMORY;
  }
  desk->reference = home->next;
  desk->references = wanted;
  desk->refusal = refusal;
  claim->bond.grant =
      (fc_home_grant_t){.home = home, .first = home->next, .count = wanted};
  home->next += wanted;
  home->granted += wanted;
}

static uint64_t bit_of(const fc_home_grant_t *grant, uint64_t number) {
  const uint64_t at = number - grant->first;
  return grant->home && at < grant->count ? UINT64_C(1) << at : 0;
}

bool fc_home_is_granted(const fc_claim_t *claim, uint64_t number,
                        uint64_t *seen) {
  const uint64_t bit = bit_of(&claim->bond.grant, number);
  const bool good = bit && !(*seen & bit);
  *seen |= bit;
  return good;
}

void fc_home_keep(fc_claim_t *claim, uint64_t number) {
  fc_home_grant_t *grant = &claim->bond.grant;
  grant->kept |= bit_of(grant, number);
  if (!claim->bond.home) bind(grant->home, claim);
  claim->bond.references++;
  grant->home->kept++;
}

void fc_home_drop(fc_claim_t *claim, uint64_t number) {
  fc_home_t *home = claim->bond.home;
  if (!home || !number) return;
  if (!home->ended) home->class_->drop(home, number);
  home->kept--;
  uncount(home, claim, 1);
  if (--claim->bond.references == 0) unbind(claim);
}

void fc_home_end_grant(fc_claim_t *claim, uint64_t used) {
  const fc_home_grant_t grant = claim->bond.grant;
  if (!grant.home) return;
  claim->bond.grant = (fc_home_grant_t){0};
  grant.home->granted -= grant.count;
  uncount(grant.home, claim,
          grant.count - (uint32_t)__builtin_popcountll(grant.kept));
  for (uint32_t i = 0; i < grant.count && grant.first + i < used; i++) {
    if (grant.kept & UINT64_C(1) << i) continue;
    grant.home->class_->drop(grant.home, grant.first + i);
  }
}
