// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

const fc_unit_t fc_units_bytes[] = {
    {"", 1},           {"B", 1},        {"k", 1u << 10},   {"K", 1u << 10},
    {"KiB", 1u << 10}, {"M", 1u << 20}, {"MiB", 1u << 20}, {"G", 1u << 30},
    {"GiB", 1u << 30}, {NULL, 0}};

static bool parse_digits(fc_str_t *text, uint64_t *out) {
  uint64_t value = 0;
  size_t used = 0;
  while (used < text->size && text->data[used] >= '0' &&
         text->data[used] <= '9') {
    if (__builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, (uint64_t)(text->data[used] - '0'),
                               &value)) {
      return false;
    }
    used++;
  }
  text->data += used;
  text->size -= used;
  *out = value;
  return used > 0;
}

bool fc_units_parse(fc_str_t text, const fc_unit_t *units, uint64_t limit,
                    uint64_t *out) {
  uint64_t value;
  if (!parse_digits(&text, &value)) return false;
  for (const fc_unit_t *unit = units; unit->text; unit++) {
    if (!fc_str_equal(text, fc_str(unit->text))) continue;
    if (__builtin_mul_overflow(value, unit->factor, &value)) return false;
    *out = value;
    return value <= limit;
  }
  return false;
}
