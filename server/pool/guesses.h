// SPDX-License-Identifier: Apache-2.0
//
// Counts wrong tokens of clients, and remembers from which client each right token came.
// A right token of a client that guesses may have been guessed. If it were answered at
// once, the client could leave before the answer to a wrong one, and guessing would not
// be slowed. The tables are made for the first wrong token and never grow: a new entry
// replaces the oldest of a few. Loop thread.
#ifndef FARCALL_SERVER_POOL_GUESSES_H_
#define FARCALL_SERVER_POOL_GUESSES_H_

#include "pool/owner.h"

typedef struct fc_guesses_t fc_guesses_t;

// `key` is random, so that nobody can choose whose entry is replaced. NULL: there is no
// memory.
fc_guesses_t *fc_guesses_create(fc_allocator_t allocator, uint64_t key);
// NULL is allowed.
void fc_guesses_destroy(fc_guesses_t *guesses);
// Notes a wrong token. True: the client has sent more than FC_LIMIT_GUESSES of them,
// without a minute free of them since, so this answer must be delayed.
bool fc_guesses_note(fc_guesses_t *guesses, const fc_owner_t *client,
                     uint64_t now_ns);
// Notes a right token; `token` are bytes that no other token has. True: its answer must
// be delayed too, because its client has sent that many wrong ones and has not used this
// token lately. `waited`: it was delayed already.
bool fc_guesses_greet(fc_guesses_t *guesses, const fc_owner_t *client,
                      const fc_owner_t *token, bool waited, uint64_t now_ns);

#endif  // FARCALL_SERVER_POOL_GUESSES_H_
