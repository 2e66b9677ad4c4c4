// SPDX-License-Identifier: Apache-2.0
//
// The last FC_LIMIT_BLAMED calls that ended a process of a module. Each is refused for a
// minute. So sending such a call again costs no process, and a module that crashes only
// on one client's data stays in service for others. A call is recognised by its function,
// the step of its session (if any), and the bytes of its body. While the table has a call
// of the same function and size, the first FC_BLAME_HEAD bytes of other bodies are read
// too. Has no clock: the caller passes the time. Used by the process host; loop thread.
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
  uint64_t until_ns;  // when the newest entry expires; 0: there is none
  // The number of entries ever made. If it has changed, a waiting call is looked up
  // again.
  uint32_t changes;
  // Private to blame.c
  uint64_t key[2];
  uint32_t count;  // entries, FC_LIMIT_BLAMED at most
  uint32_t next;   // index of the entry to overwrite next
  fc_blamed_t entries[FC_LIMIT_BLAMED];
} fc_blame_t;

// `key` is the key of the hash of bodies. It must be secret: otherwise somebody could
// make a body with the hash of another body.
void fc_blame_init(fc_blame_t *blame, const uint64_t key[2]);
// Records a call that ended a process. A full table drops its oldest entry. `what` is the
// number of the function, combined with everything else that distinguishes the call.
void fc_blame_note(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns);
// True if a call with this `what` and `body` has ended a process within the last minute;
// *out_at_ns is the time of that end.
bool fc_blame_find(fc_blame_t *blame, uint64_t what, fc_str_t body,
                   uint64_t now_ns, uint64_t *out_at_ns);

#endif  // FARCALL_SERVER_POOL_BLAME_H_
