// SPDX-License-Identifier: Apache-2.0
//
// Decides when the next process of a crashing module may start, and when the module's
// calls are refused for a while. Has no clock: the caller passes the time. Used by the
// process host; loop thread.
#ifndef FARCALL_SERVER_POOL_HEALTH_H_
#define FARCALL_SERVER_POOL_HEALTH_H_

#include "farcall/base.h"
#include "config/limits.h"

// The steps of the last minute, and the one before it.
#define FC_HEALTH_STEPS 13

typedef struct fc_health_t {
  // This many crashes within FC_LIMIT_HEALTHY_MS quarantine the module, if more than
  // FC_LIMIT_SHARE % of its calls in that time crashed (of its last FC_LIMIT_SHARE_CALLS
  // calls if there were fewer). A module that never had so many calls is not quarantined.
  // On probation one crash is enough, with the same share. 0: the module is never
  // quarantined.
  uint32_t limit;
  uint64_t quarantine_ms;  // how long the first quarantine lasts
  uint64_t restart_ns;     // no process is started before this time
  // Calls are refused until this time; 0: they are not refused.
  uint64_t quarantined_ns;
  uint32_t recent;  // crashes within a minute that led to the quarantine
  // Private to health.c
  uint64_t probation_ns;  // until then the share alone decides, not the limit
  // Quarantines in a row: each began within a minute after the end of the previous one.
  uint32_t quarantines;
  // Failures in a row, without a healthy minute between them. Without a limit: failed
  // starts in a row.
  uint32_t failures;
  uint64_t failed_ns;  // time of the last failure
  uint64_t crashes;    // ever
  // Times of the last crashes, overwritten in turn.
  uint64_t crashed_ns[FC_LIMIT_CRASHES];
  // For each crash: the number of its call, counted from the first.
  uint64_t crashed_call[FC_LIMIT_CRASHES];
  uint64_t step;                    // number of the current time step
  uint64_t calls[FC_HEALTH_STEPS];  // calls that had ended when each step began
} fc_health_t;

// A `crash_limit` above FC_LIMIT_CRASHES counts as FC_LIMIT_CRASHES.
void fc_health_init(fc_health_t *health, uint32_t crash_limit,
                    uint64_t quarantine_ms);
// Notes that `calls` calls have ended in total. Must be called at least once a step (5 s)
// while calls end.
void fc_health_look(fc_health_t *health, uint64_t calls, uint64_t now_ns);
// Notes that a process crashed; `served`: after it had begun to serve. The crashed call
// is one of the `calls` that have ended. True: the module is quarantined from now on.
bool fc_health_crash(fc_health_t *health, bool served, uint64_t calls,
                     uint64_t now_ns);
// Returns how long the next try waits after this many failures in a row.
uint64_t fc_health_backoff_ns(uint32_t failures, uint64_t now_ns);
// Notes that a process could not even be started: the next start is delayed.
void fc_health_delay(fc_health_t *health, uint64_t now_ns);
// Ends a quarantine whose time is over. True: a quarantine ended, and the module is now
// on probation.
bool fc_health_recover(fc_health_t *health, uint64_t now_ns);
// Returns how many seconds remain of a quarantine, at least 1; 0: there is none.
uint32_t fc_health_retry_s(const fc_health_t *health, uint64_t now_ns);

#endif  // FARCALL_SERVER_POOL_HEALTH_H_
