// SPDX-License-Identifier: Apache-2.0
#include "http1/pace.h"

#include "config/limits.h"

bool fc_pace_has_stopped(const fc_pace_t *pace, uint64_t now_ms,
                         uint64_t patience_ms) {
  return now_ms - pace->moved_ms >= patience_ms;
}

bool fc_pace_is_slow(const fc_pace_t *pace, uint64_t now_ms,
                     uint64_t grace_ms) {
  uint64_t elapsed_ms = now_ms - pace->began_ms;
  if (elapsed_ms < grace_ms) return false;
  return pace->bytes <= (elapsed_ms - grace_ms) * FC_LIMIT_RATE / 1000;
}
