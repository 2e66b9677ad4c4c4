// SPDX-License-Identifier: Apache-2.0
//
// Counts wrong tokens of clients, and remembers from which client each right token came.
// Answers to a client that guesses are delayed, also answers to a right token, which may
// be a guess. If right tokens were answered at once, the client would not wait for other
// answers: a token without a quick answer would be a wrong one. The tables are made for
// the first wrong token and never grow: a new entry replaces the oldest of a few. Loop
// thread.
#ifndef FARCALL_SERVER_POOL_GUESSES_H_
#define FARCALL_SERVER_POOL_GUESSES_H_

#include "pool/owner.h"

typedef struct fc_guesses_t fc_guesses_t;

// `key` is random, so that nobody can choose whose entry is replaced. NULL: there is no
// memory.
fc_guesses_t *fc_guesses_create(fc_allocator_t allocator, uint64_t key);
// NULL is allowed.
void fc_guesses_destroy(fc_guesses_t *guesses);
// Notes a wrong token. True: this answer must be delayed, because the client has sent
// more than FC_LIMIT_GUESSES wrong tokens, and no minute without one has passed since.
bool fc_guesses_note(fc_guesses_t *guesses, const fc_owner_t *client,
                     uint64_t now_ns);
// Notes a right token; `token` are bytes that no other token has. True: its answer must
// be delayed too, because its client has sent so many wrong tokens, and has not used this
// right one lately. `waited`: the answer was delayed already.
bool fc_guesses_greet(fc_guesses_t *guesses, const fc_owner_t *client,
                      const fc_owner_t *token, bool waited, uint64_t now_ns);

#endif  // FARCALL_SERVER_POOL_GUESSES_H_
