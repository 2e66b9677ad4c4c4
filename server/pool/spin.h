// SPDX-License-Identifier: Apache-2.0
//
// How a worker polls for its next call before it sleeps, the same in threads and
// processes. A wake-up takes tens of microseconds, while polling sees a changed word at
// once. If calls are rare, a worker polls only now and then, so that polling costs
// little.
//   for (bool on = fc_spin_begin(&spin); on; on = fc_spin_more(&spin)) {
//     if (there) return fc_spin_hit(&spin);
//   }
#ifndef FARCALL_SERVER_POOL_SPIN_H_
#define FARCALL_SERVER_POOL_SPIN_H_

#include "farcall/base.h"

typedef struct fc_spin_t {
  uint32_t ns;      // the longest time to poll; 0: the worker does not poll
  uint32_t misses;  // waits in a row during which no call came while polling
  uint32_t looks;
  uint64_t until_ns;
} fc_spin_t;

enum {
  // After this many misses in a row a worker polls only one time in FC_SPIN_RARELY.
  FC_SPIN_MISSES = 16,
  FC_SPIN_RARELY = 16,
  FC_SPIN_LOOKS = 32,  // polls between two looks at the clock
};

static inline bool fc_spin_begin(fc_spin_t *spin) {
  if (!spin->ns) return false;
  if (spin->misses++ >= FC_SPIN_MISSES && spin->misses % FC_SPIN_RARELY) {
    return false;
  }
  spin->until_ns = fc_clock_ns() + spin->ns;
  return true;
}

static inline bool fc_spin_more(fc_spin_t *spin) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
  return ++spin->looks % FC_SPIN_LOOKS || fc_clock_ns() < spin->until_ns;
}

static inline bool fc_spin_hit(fc_spin_t *spin) {
  spin->misses = 0;
  return true;
}

#endif  // FARCALL_SERVER_POOL_SPIN_H_
