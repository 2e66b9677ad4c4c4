// SPDX-License-Identifier: Apache-2.0
//
// The order in which waiting calls are made. Rows of calls have their expected order.
// Then random changes are compared with plain lists that are searched from end to end.
#include "pool/flow.h"

#include <stdlib.h>

#include "helpers/test.h"

enum { JOBS = 64, MODULES = 2 };

typedef struct setting_t {
  fc_flow_table_t table;
  fc_flows_t flows[MODULES];
  fc_job_t jobs[JOBS];
} setting_t;

static setting_t *make_setting(void) {
  setting_t *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->table.key = 12345;
  for (int i = 0; i < MODULES; i++) s->flows[i].table = &s->table;
  return s;
}

// Each letter is a call of that caller: a capital has priority 1, one after '-' has -1.
static void put_all(setting_t *s, const char *calls, const char **names) {
  for (uint32_t i = 0; *calls; i++, calls++) {
    fc_job_t *job = &s->jobs[i];
    job->priority = 0;
    if (*calls == '-') {
      job->priority = -1;
      calls++;
    } else if (*calls < 'a') {
      job->priority = 1;
    }
    job->caller.bytes[3] = (uint8_t)(*calls | 0x20);
    names[i] = calls;
    fc_flows_put(&s->flows[0], job);
  }
}

static void callers_take_turns(void **state) {
  (void)state;
  static const struct {
    const char *name, *calls, *made;
    uint64_t cost, mean;
  } rows[] = {
      {"nothing", "", "", 1, 1},
      {"one caller", "aaaa", "aaaa", 1, 1},
      {"two", "aaaabb", "ababaa", 1, 1},
      {"three, as they came", "abcabcc", "abcabcc", 1, 1},
      {"one comes late", "aaaaaaaab", "abaaaaaaa", 1, 1},
      {"quick calls of a module that has dear ones", "aaaabbbb", "ababaabb", 1,
       2},
      {"dear calls", "aabb", "abab", 7, 7},
      {"dearer than any before", "aabb", "abab", 9, 7},
      {"priorities", "a-bCa-bC", "CCaabb", 1, 1},
      {"turns within each", "AABaab-a-a-b", "ABAabaaba", 1, 1},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    setting_t *s = make_setting();
    const char *names[JOBS];
    char made[JOBS + 1] = {0};
    fc_job_t *job;
    put_all(s, row->calls, names);
    for (size_t i = 0; (job = fc_flows_first(&s->flows[0])); i++) {
      made[i] = *names[job - s->jobs];
      fc_flows_take(&s->flows[0], job, row->cost, row->mean);
    }
    assert_string_equal(made, row->made);
    assert_int_equal(s->flows[0].count, 0);
    free(s);
  }
}

// One caller's calls take long, the other's are short: both get the same time.
static void turns_are_fair_in_time(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t dear, cheap, mean;
  } rows[] = {
      {"five times the mean", 20, 2, 4},
      {"the cheap ones are the mean", 10, 1, 1},
      {"the dear ones are the mean", 8, 1, 8},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    setting_t *s = make_setting();
    const char *names[JOBS];
    uint64_t spent[2] = {0};
    put_all(s, "aaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            names);
    for (;;) {
      fc_job_t *job = fc_flows_first(&s->flows[0]);
      const bool is_dear = *names[job - s->jobs] == 'a';
      const fc_flow_place_t place = fc_flows_place(&s->flows[0], job);
      if (place.own == 1) break;  // from now on only one of them waits
      const uint64_t cost = is_dear ? row->dear : row->cheap;
      fc_flows_take(&s->flows[0], job, cost, row->mean);
      spent[is_dear] += cost;
      assert_true(spent[0] <= spent[1] + row->dear + row->mean);
      assert_true(spent[1] <= spent[0] + row->dear + row->mean);
    }
    assert_true(spent[0] > 0 && spent[1] > 0);
    free(s);
  }
}

// A debt is limited, so that no caller waits for ever.
static void a_dear_call_is_paid_off(void **state) {
  (void)state;
  setting_t *s = make_setting();
  const char *names[JOBS];
  put_all(s, "aabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", names);
  int cheap = 0;
  for (int dear = 0; dear < 2;) {
    fc_job_t *job = fc_flows_first(&s->flows[0]);
    const bool is_dear = *names[job - s->jobs] == 'a';
    fc_flows_take(&s->flows[0], job, is_dear ? UINT64_MAX / 2 : 1, 1);
    dear += is_dear;
    cheap += !is_dear;
  }
  assert_in_range(cheap, 10, 20);
  free(s);
}

// A call that was not waited for kept other callers waiting. So its caller is charged,
// whether it has calls then or not, but not for ever, and only in this module.
static void who_kept_others_waiting_lets_them_pass(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool before;  // it is charged before its call comes, not after
    uint32_t generation;
    uint64_t cost;
    const char *made;
  } rows[] = {
      {"before", true, 0, 3, "bbbbab"},
      {"after", false, 0, 3, "bbbbab"},
      {"for ever so long", true, 0, UINT64_MAX, "bbbbba"},
      {"another module", true, 1, 3, "abbbbb"},
      {"nothing", true, 0, 0, "abbbbb"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    setting_t *s = make_setting();
    const char *names[JOBS];
    char made[JOBS + 1] = {0};
    fc_job_t *job;
    fc_owner_t a = {0};
    a.bytes[3] = 'a';
    if (row->before) {
      fc_flows_charge(&s->flows[0], row->generation, &a, row->cost, 1);
    }
    put_all(s, "abbbbb", names);
    if (!row->before) {
      fc_flows_charge(&s->flows[0], row->generation, &a, row->cost, 1);
    }
    for (size_t i = 0; (job = fc_flows_first(&s->flows[0])); i++) {
      made[i] = *names[job - s->jobs];
      fc_flows_take(&s->flows[0], job, 1, 1);
    }
    assert_string_equal(made, row->made);
    fc_flows_forgive(&s->table, 1);
    assert_int_equal(s->table.debt_count, 0);
    free(s);
  }
}

// A turn of a call is charged in full, however little calls of the function cost. But
// for many turns together a caller owes no more than the limit.
static void turns_are_paid_for(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool before;  // they are charged before the call comes, not after
    uint32_t turns;
    uint64_t spent, most;
    uint64_t passed;  // calls of the other caller that are made first
  } rows[] = {
      {"before", true, 1, 30, 50, 31},
      {"after", false, 1, 30, 50, 31},
      {"several", true, 2, 10, 50, 21},
      {"more than may be owed, before", true, 3, 30, 50, 51},
      {"more than may be owed, after", false, 3, 30, 50, 51},
      {"one that is too long", true, 1, UINT64_MAX, 50, 51},
      {"nothing", true, 1, 0, 50, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    setting_t *s = make_setting();
    const char *names[JOBS];
    const fc_owner_t a = {.bytes = {[3] = 'a'}};
    for (uint32_t i = 0; row->before && i < row->turns; i++) {
      fc_flows_charge_turn(&s->flows[0], 0, &a, row->spent, row->most);
    }
    put_all(s, "abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            names);
    for (uint32_t i = 0; !row->before && i < row->turns; i++) {
      fc_flows_charge_turn(&s->flows[0], 0, &a, row->spent, row->most);
    }
    uint64_t passed = 0;
    fc_job_t *job;
    while (*names[(job = fc_flows_first(&s->flows[0])) - s->jobs] == 'b') {
      fc_flows_take(&s->flows[0], job, 1, 1);
      passed++;
    }
    assert_int_equal(passed, row->passed);
    free(s);
  }
}

// The table of debts has a fixed size, however many callers are charged. It keeps the
// largest debts.
static void debts_are_bounded(void **state) {
  (void)state;
  setting_t *s = make_setting();
  for (uint32_t i = 1; i <= 4 * FC_FLOW_DEBTS; i++) {
    fc_owner_t caller = {0};
    memcpy(caller.bytes, &i, sizeof i);
    fc_flows_charge(&s->flows[0], 0, &caller, i, 1000);
    fc_flows_charge(&s->flows[0], 0, &caller, i, 1000);
    assert_true(s->table.debt_count <= FC_FLOW_DEBTS);
  }
  for (uint32_t i = 0; i < FC_FLOW_DEBTS; i++) {
    assert_true(s->table.debts[i].ns > 2 * 3 * FC_FLOW_DEBTS);
  }
  fc_flows_forgive(&s->table, 0);
  assert_int_equal(s->table.debt_count, 0);
  free(s);
}

static void a_call_that_comes_back_is_first(void **state) {
  (void)state;
  setting_t *s = make_setting();
  const char *names[JOBS];
  put_all(s, "abab", names);
  fc_job_t *a = fc_flows_first(&s->flows[0]);
  fc_flows_take(&s->flows[0], a, 1, 1);
  fc_job_t *b = fc_flows_first(&s->flows[0]);
  assert_ptr_equal(b, &s->jobs[1]);
  fc_flows_take(&s->flows[0], b, 1, 1);
  // Calls are put back as when a process ends: the newest first.
  fc_flows_put_back(&s->flows[0], b);
  fc_flows_put_back(&s->flows[0], a);
  assert_ptr_equal(fc_flows_first(&s->flows[0]), a);
  fc_flows_take(&s->flows[0], a, 1, 1);
  assert_ptr_equal(fc_flows_first(&s->flows[0]), b);
  // A call also comes first if its caller has no other call left.
  fc_flows_remove(&s->flows[0], &s->jobs[3]);
  fc_flows_take(&s->flows[0], b, 1, 1);
  fc_flows_put_back(&s->flows[0], b);
  assert_ptr_equal(fc_flows_first(&s->flows[0]), b);
  free(s);
}

static void places_are_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *calls;
    char caller;
    int8_t priority;
    fc_flow_place_t place;
    fc_flow_share_t share;
  } rows[] = {
      {"nobody waits", "", 'a', 0, {0, 0}, {0, 0}},
      {"behind its own", "aaa", 'a', 0, {3, 3}, {3, 0}},
      {"behind many of one other", "aaaaaaaa", 'b', 0, {0, 1}, {0, 1}},
      {"behind its own and as many", "aaaaaaaab", 'b', 0, {1, 3}, {1, 1}},
      {"behind fewer", "abbb", 'b', 0, {3, 4}, {3, 1}},
      {"behind higher ones", "AAAa", 'b', 0, {0, 4}, {0, 2}},
      {"before lower ones", "aaa", 'b', 1, {0, 0}, {0, 1}},
      {"its own of another priority", "aaa", 'a', 1, {0, 0}, {3, 0}},
      {"its own of all priorities", "aAA-ab", 'a', 0, {1, 4}, {4, 1}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    setting_t *s = make_setting();
    const char *names[JOBS];
    put_all(s, row->calls, names);
    fc_job_t job = {.priority = row->priority};
    job.caller.bytes[3] = (uint8_t)row->caller;
    const fc_flow_place_t place = fc_flows_place(&s->flows[0], &job);
    assert_int_equal(place.own, row->place.own);
    assert_int_equal(place.ahead, row->place.ahead);
    const fc_flow_share_t share = fc_flows_share(&s->flows[0], &job);
    assert_int_equal(share.own, row->share.own);
    assert_int_equal(share.others, row->share.others);
    free(s);
  }
}

// Checks what must hold in every state, by looking at all jobs.
static void check(const setting_t *s, const bool waits[JOBS]) {
  for (uint32_t m = 0; m < MODULES; m++) {
    const fc_flows_t *flows = &s->flows[m];
    uint32_t count = 0;
    int best = FC_PRIORITY_MIN - 1;
    for (uint32_t i = 0; i < JOBS; i++) {
      const fc_job_t *job = &s->jobs[i];
      if (!waits[i] || job->call.generation != m) continue;
      count++;
      if (job->priority > best) best = job->priority;
      const fc_flow_place_t place = fc_flows_place(flows, job);
      uint32_t own = 0;
      for (uint32_t k = 0; k < JOBS; k++) {
        const fc_job_t *other = &s->jobs[k];
        own += waits[k] && other->call.generation == m &&
               other->priority == job->priority &&
               other->caller.bytes[0] == job->caller.bytes[0];
      }
      assert_int_equal(place.own, own);
    }
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < FC_PRIORITIES; i++) waiting += flows->waiting[i];
    assert_int_equal(waiting, count);
    const fc_job_t *first = fc_flows_first(flows);
    assert_int_equal(first != NULL, count > 0);
    if (!first) continue;
    assert_true(waits[first - s->jobs]);
    assert_int_equal(first->priority, best);
  }
}

static void any_changes_keep_it_whole(void **state) {
  (void)state;
  setting_t *s = make_setting();
  bool waits[JOBS] = {false};
  uint64_t random = 42;
  for (int turn = 0; turn < 20000; turn++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t i = (uint32_t)(random >> 33) % JOBS;
    fc_job_t *job = &s->jobs[i];
    fc_flows_t *flows = &s->flows[(random >> 40) % MODULES];
    if (!waits[i]) {
      job->call.generation = (uint32_t)(flows - s->flows);
      job->priority = (int8_t)((int)((random >> 44) % 3) - 1);
      job->caller.bytes[0] = (uint8_t)((random >> 48) % 5);
      if ((random >> 52) % 8) {
        fc_flows_put(flows, job);
      } else {
        fc_flows_put_back(flows, job);
        if (job->priority == fc_flows_first(flows)->priority) {
          assert_ptr_equal(fc_flows_first(flows), job);
        }
      }
      waits[i] = true;
    } else if ((random >> 52) % 2) {
      fc_flows_remove(&s->flows[job->call.generation], job);
      waits[i] = false;
    } else if ((job = fc_flows_first(flows))) {
      fc_flows_take(flows, job, 1 + (random >> 56) % 4, 3);
      waits[job - s->jobs] = false;
    }
    if (turn % 16 == 0) check(s, waits);
  }
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(callers_take_turns),
      FC_TEST(turns_are_fair_in_time),
      FC_TEST(a_dear_call_is_paid_off),
      FC_TEST(who_kept_others_waiting_lets_them_pass),
      FC_TEST(turns_are_paid_for),
      FC_TEST(debts_are_bounded),
      FC_TEST(a_call_that_comes_back_is_first),
      FC_TEST(places_are_told),
      FC_TEST(any_changes_keep_it_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
