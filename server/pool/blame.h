// SPDX-License-Identifier: Apache-2.0
//
// Calls that ended a process of a module, the last FC_LIMIT_BLAMED. Each is refused for a
// minute, so that sending the call again costs nobody a process, and a module that only
// one client's data crashes stays in service for others. A call is recognised by its
// function, the step of its session if it has one, and the bytes of its body; of bodies of
// other calls the first FC_BLAME_HEAD bytes are read, while there is a call of this
// function and size to recognise. Works on the times it is given. Belongs to the process
// host; the loop's thread.
#ifndef FARCALL_SERVER_POOL_BLAME_H_
#define FARCALL_SERVER_POOL_BLAME_H_

#include "farcall/base.h"
#include "config/limits.h"

#define FC_BLAME_HEAD 4096u

typedef struct fc_blamed_t {
  uint64_t digest;
  uint64_t head;  // digest of the first FC_BLAME_HEAD bytes of the body
  uint64_t size;
  uint64_t at_ns;
  uint64_t what;
} fc_blamed_t;

typedef struct fc_blame_t {
  uint64_t until_ns;  // the last entry is forgotten then; 0: there is none
  // Entries ever made; a waiting call is looked up again when there are more.
  uint32_t changes;
  // Private to blame.c
  uint64_t key[2];
  uint32_t count;  // entries, FC_LIMIT_BLAMED at most
  uint32_t next;   // index of the entry to overwrite next
  fc_blamed_t entries[FC_LIMIT_BLAMED];
} fc_blame_t;

// The key is secret, so that nobody can make a body that is taken for another
// one.
void fc_blame_init(fc_blame_t *blame, const uint64_t key[2]);
// Records a call that ended a process. In a full table the oldest is forgotten. `what` is
// the number of its function, changed by what else makes it another call.
void fc_blame_note(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns);
// True when such a call is known to have ended a process within the last minute;
// *out_at_ns is when.
bool fc_blame_find(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns, uint64_t *out_at_ns);

#endif  // FARCALL_SERVER_POOL_BLAME_H_
