// SPDX-License-Identifier: Apache-2.0
#include "pool/home.h"

#include "pool/claim.h"

void fc_home_init(fc_home_t *home, const fc_home_class_t *class_,
                  uint32_t generation, uint32_t refusal) {
  *home = (fc_home_t){.class_ = class_,
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

static void unbind(fc_claim_t *claim) {
  fc_bond_t *bond = &claim->bond;
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

void fc_home_grant(fc_home_t *home, fc_claim_t *claim, uint32_t wanted,
                   fc_store_desk_t *desk) {
  const uint32_t used = home->class_->count(home) + home->granted;
  const uint32_t room = used < FC_REFERENCES_MAX ? FC_REFERENCES_MAX - used : 0;
  uint32_t refusal = claim->bond.refusal;
  if (!refusal) refusal = home->refusal;
  if (!refusal && claim->bond.generation != home->generation) {
    refusal = FC_STORE_REFUSES_REPLACED;
  }
  if (refusal) wanted = 0;
  if (wanted > FC_STORE_ROWS) wanted = FC_STORE_ROWS;
  if (wanted > room) wanted = room;
  desk->reference = home->next;
  desk->references = wanted;
  desk->refusal = refusal ? refusal : FC_STORE_REFUSES_MORE;
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
  if (--claim->bond.references == 0) unbind(claim);
}

void fc_home_end_grant(fc_claim_t *claim, uint64_t used) {
  const fc_home_grant_t grant = claim->bond.grant;
  if (!grant.home) return;
  claim->bond.grant = (fc_home_grant_t){0};
  grant.home->granted -= grant.count;
  for (uint32_t i = 0; i < grant.count && grant.first + i < used; i++) {
    if (grant.kept & UINT64_C(1) << i) continue;
    grant.home->class_->drop(grant.home, grant.first + i);
  }
}
