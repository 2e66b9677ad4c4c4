// SPDX-License-Identifier: Apache-2.0
#include "config/priority.h"

bool fc_priority_parse(fc_str_t text, int8_t *out_priority) {
  const bool minus = text.size && text.data[0] == '-';
  if (text.size != (minus ? 2u : 1u)) return false;
  const int digit = text.data[text.size - 1] - '0';
  const int value = minus ? -digit : digit;
  if (digit < 0 || digit > 9 || value < FC_PRIORITY_MIN ||
      value > FC_PRIORITY_MAX) {
    return false;
  }
  *out_priority = (int8_t)value;
  return true;
}

bool fc_priorities_parse(fc_str_t text, fc_priorities_t *out_range) {
  const char *dots = memmem(text.data, text.size, "..", 2);
  fc_str_t low = text, high = text;
  if (dots) {
    low.size = (size_t)(dots - text.data);
    high = fc_str_make(dots + 2, text.size - low.size - 2);
  }
  fc_priorities_t range;
  if (!fc_priority_parse(low, &range.low) ||
      !fc_priority_parse(high, &range.high) || range.low > range.high) {
    return false;
  }
  *out_range = range;
  return true;
}

int8_t fc_priorities_default(const fc_priorities_t *range) {
  if (range->low > 0) return range->low;
  return range->high < 0 ? range->high : 0;
}
