// SPDX-License-Identifier: Apache-2.0
//
// Keeps three records. The times of the last crashes and the number of calls at the last
// time steps decide about a quarantine, from the events of a minute. The number of
// failures in a row, without a healthy minute between, decides when the next process
// starts.
#include "pool/health.h"

#define MINUTE_NS (FC_LIMIT_HEALTHY_MS * 1000000ull)
#define STEP_NS (MINUTE_NS / (FC_HEALTH_STEPS - 1))

void fc_health_init(fc_health_t *health, uint32_t crash_limit,
                    uint64_t quarantine_ms) {
  *health = (fc_health_t){
      .limit = crash_limit < FC_LIMIT_CRASHES ? crash_limit : FC_LIMIT_CRASHES,
      .quarantine_ms = quarantine_ms};
}

// The first restart is at once, the next after FC_LIMIT_BACKOFF_MS, each further one
// after twice the previous wait, up to FC_LIMIT_BACKOFF_MAX_MS. The wait is varied by up
// to a fifth, so that modules which crash together do not start together again.
uint64_t fc_health_backoff_ns(uint32_t failures, uint64_t now_ns) {
  if (failures < 2) return 0;
  uint64_t ms = FC_LIMIT_BACKOFF_MS;
  for (uint32_t i = 2; i < failures && ms < FC_LIMIT_BACKOFF_MAX_MS; i++) {
    ms *= 2;
  }
  if (ms > FC_LIMIT_BACKOFF_MAX_MS) ms = FC_LIMIT_BACKOFF_MAX_MS;
  uint64_t fifth_ns = ms * 1000000u / 5;
  // A substitute for a random number: the upper bits of a product depend on all lower
  // bits of the time.
  uint64_t mixed = now_ns * 0x9E3779B97F4A7C15u >> 32;
  return 4 * fifth_ns + mixed % (2 * fifth_ns + 1);
}

static void note_failure(fc_health_t *health, uint64_t now_ns) {
  // The healthy time starts at the last failure, or at the restart if that was later.
  uint64_t since_ns = health->failed_ns > health->restart_ns
                          ? health->failed_ns
                          : health->restart_ns;
  if (now_ns > since_ns + MINUTE_NS) health->failures = 0;
  health->failed_ns = now_ns;
  if (health->failures < UINT32_MAX) health->failures++;
}

void fc_health_delay(fc_health_t *health, uint64_t now_ns) {
  note_failure(health, now_ns);
  uint64_t wait_ns = fc_health_backoff_ns(health->failures, now_ns);
  // An immediate restart would fail again in this turn of the loop.
  if (!wait_ns) wait_ns = FC_LIMIT_BACKOFF_MS * 1000000ull;
  health->restart_ns = now_ns + wait_ns;
}

// If crashes are not limited, a process is restarted at once. But if it ended before it
// served, the next one waits until FC_LIMIT_BACKOFF_MS after the previous failure, so
// that the loop is not kept busy. A successful start ends a row of failed starts.
static void note_start(fc_health_t *health, bool served, uint64_t now_ns) {
  const uint64_t wait_ns = FC_LIMIT_BACKOFF_MS * 1000000ull;
  if (!served) health->restart_ns = health->failed_ns + wait_ns;
  health->failures = 0;
  health->failed_ns = now_ns;
}

// Counts the crashes of the last minute, including the one at `now_ns`.
static uint32_t count_recent(const fc_health_t *health, uint64_t now_ns) {
  uint64_t known =
      health->crashes < FC_LIMIT_CRASHES ? health->crashes : FC_LIMIT_CRASHES;
  uint32_t count = 0;
  for (uint64_t i = 0; i < known; i++) {
    if (now_ns - health->crashed_ns[i] <= MINUTE_NS) count++;
  }
  return count;
}

void fc_health_look(fc_health_t *health, uint64_t calls, uint64_t now_ns) {
  const uint64_t step = now_ns / STEP_NS;
  // Steps older than the kept ones are skipped.
  if (step - health->step > FC_HEALTH_STEPS) {
    health->step = step - FC_HEALTH_STEPS;
  }
  while (health->step < step) {
    health->calls[++health->step % FC_HEALTH_STEPS] = calls;
  }
}

// Did too large a share of the last minute's calls crash, or of the last
// FC_LIMIT_SHARE_CALLS if the minute had fewer? A client whose data crashes a busy module
// must not stop it for all clients.
static bool is_large_share(const fc_health_t *health, uint64_t calls) {
  uint64_t window = calls - health->calls[(health->step + 1) % FC_HEALTH_STEPS];
  if (window < FC_LIMIT_SHARE_CALLS) window = FC_LIMIT_SHARE_CALLS;
  if (calls < window) return false;
  uint64_t known =
      health->crashes < FC_LIMIT_CRASHES ? health->crashes : FC_LIMIT_CRASHES;
  uint64_t crashed = 0;
  for (uint64_t i = 0; i < known; i++) {
    crashed += health->crashed_call[i] > calls - window;
  }
  return crashed * 100 > window * FC_LIMIT_SHARE;
}

static void quarantine(fc_health_t *health, uint64_t now_ns) {
  uint32_t doubled = health->quarantines < FC_LIMIT_QUARANTINES
                         ? health->quarantines
                         : FC_LIMIT_QUARANTINES;
  health->quarantines++;
  health->quarantined_ns =
      now_ns + (health->quarantine_ms << doubled) * 1000000u;
}

bool fc_health_crash(fc_health_t *health, bool served, uint64_t calls,
                     uint64_t now_ns) {
  const uint64_t index = health->crashes++ % FC_LIMIT_CRASHES;
  health->crashed_ns[index] = now_ns;
  health->crashed_call[index] = calls;
  fc_health_look(health, calls - 1, now_ns);
  if (health->limit) {
    note_failure(health, now_ns);
    health->restart_ns =
        now_ns + fc_health_backoff_ns(health->failures, now_ns);
  } else {
    note_start(health, served, now_ns);
  }
  // Processes that still run may crash during a quarantine; they must not begin a second
  // one.
  if (health->limit == 0 || health->quarantined_ns) return false;
  bool probation = now_ns <= health->probation_ns;
  if (!probation) health->quarantines = 0;
  uint32_t recent = count_recent(health, now_ns);
  if (recent < health->limit && !probation) return false;
  if (!is_large_share(health, calls)) return false;
  health->recent = recent;
  quarantine(health, now_ns);
  return true;
}

bool fc_health_recover(fc_health_t *health, uint64_t now_ns) {
  if (!health->quarantined_ns || health->quarantined_ns > now_ns) return false;
  health->quarantined_ns = 0;
  health->restart_ns = 0;
  health->probation_ns = now_ns + MINUTE_NS;
  return true;
}

uint32_t fc_health_retry_s(const fc_health_t *health, uint64_t now_ns) {
  if (!health->quarantined_ns) return 0;
  if (health->quarantined_ns <= now_ns) return 1;
  uint64_t left_ns = health->quarantined_ns - now_ns;
  return (uint32_t)((left_ns + 999999999u) / 1000000000u);
}
