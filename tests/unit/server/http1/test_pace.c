// SPDX-License-Identifier: Apache-2.0
//
// Which clients count as stopped and which as too slow, at every time that matters.
#include "http1/pace.h"

#include "helpers/test.h"
#include "config/limits.h"

#define BEGAN 5000u  // the clock of a loop does not begin at 0
#define PATIENCE 1000u

typedef struct note_t {
  uint64_t at_ms;  // since the beginning
  uint64_t bytes;
} note_t;

static const struct row_t {
  const char *name;
  note_t notes[4];
  uint64_t now_ms;
  bool stopped;
  bool slow;
} rows[] = {
    {"at the beginning", {{0}}, 0, false, false},
    {"nothing yet", {{0}}, 999, false, false},
    {"nothing at all", {{0}}, 1000, true, true},
    {"one byte", {{500, 1}}, 1000, false, false},
    {"one byte, and then nothing", {{500, 1}}, 1500, true, true},
    {"one byte, a moment before", {{500, 1}}, 1499, false, true},
    {"looked at again without a new byte",
     {{500, 1}, {900, 1}},
     1500,
     true,
     true},
    {"a byte now and then",
     {{900, 1}, {1800, 2}, {2700, 3}},
     2800,
     false,
     true},
    {"just above the least rate",
     {{1900, FC_LIMIT_RATE + 1}},
     2000,
     false,
     false},
    {"just the least rate", {{1900, FC_LIMIT_RATE}}, 2000, false, true},
    {"much at once, and then nothing", {{0, 1u << 30}}, 1000, true, false},
    {"much for a long time",
     {{1000, 1u << 20}, {2000, 2u << 20}, {60000, 60u << 20}},
     60500,
     false,
     false},
};

static void who_stops_and_who_is_slow(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const struct row_t, row, rows) {
    fc_pace_t pace;
    fc_pace_begin(&pace, BEGAN);
    for (size_t i = 0; i < FC_ARRAY_COUNT(row->notes); i++) {
      const note_t *note = &row->notes[i];
      if (note->bytes) fc_pace_note(&pace, note->bytes, BEGAN + note->at_ms);
    }
    uint64_t now_ms = BEGAN + row->now_ms;
    assert_int_equal(fc_pace_has_stopped(&pace, now_ms, PATIENCE),
                     row->stopped);
    assert_int_equal(fc_pace_is_slow(&pace, now_ms, PATIENCE), row->slow);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(who_stops_and_who_is_slow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
