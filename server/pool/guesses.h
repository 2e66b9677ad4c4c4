// SPDX-License-Identifier: Apache-2.0
//
// Which clients send tokens that are not known, and how often; and which right tokens came
// from where, as those of a client that guesses could be guessed: were they answered at
// once, who leaves before the answer to a wrong one would not be slowed. The tables are
// made for the first wrong token and never grow: what is not in them takes the place of
// what came longest ago, among a few. Loop thread.
#ifndef FARCALL_SERVER_POOL_GUESSES_H_
#define FARCALL_SERVER_POOL_GUESSES_H_

#include "pool/owner.h"

typedef struct fc_guesses_t fc_guesses_t;

// `key` is random, so that nobody can choose whose place is taken. NULL: there is no
// memory.
fc_guesses_t *fc_guesses_create(fc_allocator_t allocator, uint64_t key);
// NULL is allowed.
void fc_guesses_destroy(fc_guesses_t *guesses);
// Notes a wrong token. True: the client has sent more than FC_LIMIT_GUESSES of them, and
// never has a minute passed without one since; so this one's answer is to wait.
bool fc_guesses_note(fc_guesses_t *guesses, const fc_owner_t *client,
                     uint64_t now_ns);
// Notes a right one; `token` are bytes that no other token has. True: it is to wait, too,
// because its client has sent more wrong ones than that, and this one has not come from
// there lately. `waited`: it has waited so.
bool fc_guesses_greet(fc_guesses_t *guesses, const fc_owner_t *client,
                      const fc_owner_t *token, bool waited, uint64_t now_ns);

#endif  // FARCALL_SERVER_POOL_GUESSES_H_
