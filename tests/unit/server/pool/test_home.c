// SPDX-License-Identifier: Apache-2.0
//
// Sessions at the homes of their references: with a worker that is honest, one that ends,
// and one that lies. The objects count who has them.
#include "pool/home.h"

#include <unistd.h>

#include "helpers/test.h"
#include "state/session.h"

#define GENERATION 5

static int let_go_count;

static void let_go(void *context, void *module) {
  (void)context;
  (void)module;
  let_go_count++;
}

static fc_sessions_t make_all(void) {
  return (fc_sessions_t){.allocator = fc_allocator_system(),
                         .limits = fc_session_limits(80, 1u << 26, 1u << 20),
                         .claims = &fc_session_claims,
                         .let_go = let_go};
}

static fc_session_t *make_as(fc_sessions_t *all, bool checkpoint,
                             uint8_t owner) {
  const fc_session_wish_t wish = {.generation = 7,
                                  .index = GENERATION,
                                  .module = &let_go_count,
                                  .owner.bytes = {owner},
                                  .checkpoint = checkpoint};
  fc_session_t *session;
  fc_error_t err;
  assert_int_equal(fc_session_create(all, &wish, 1, &session, &err), FC_OK);
  return session;
}

static fc_session_t *make(fc_sessions_t *all, bool checkpoint) {
  return make_as(all, checkpoint, 0);
}

// A worker, and the home that the loop has of it.
typedef struct worker_t {
  fc_home_t home;
  fc_references_t references;
  fc_store_t store;
  fc_store_desk_t desk;
} worker_t;

static void drop(fc_home_t *home, uint64_t number) {
  worker_t *worker = (worker_t *)(void *)home;
  (void)fc_references_drop(&worker->references, number);
  fc_references_free(&worker->references);
}

static uint32_t count_kept(const fc_home_t *home) { return home->kept; }

static void open_worker(worker_t *worker, uint32_t refusal) {
  static const fc_home_class_t kClass = {drop, count_kept};
  *worker = (worker_t){0};
  fc_home_init(&worker->home, &kClass, fc_allocator_system(), GENERATION,
               refusal);
  fc_references_init(&worker->references, fc_allocator_system());
  fc_store_init(&worker->store);
}

static void close_worker(worker_t *worker) {
  fc_home_leave(&worker->home);
  fc_references_deinit(&worker->references);
  fc_store_deinit(&worker->store);
}

static void count(void *object, int change) { *(int *)object += change; }

static void begin(worker_t *worker, fc_session_t *session, uint32_t wanted) {
  session->claim.held = true;
  session->claim.class_->lay(&session->claim, &worker->desk);
  fc_home_grant(&worker->home, &session->claim, wanted, &worker->desk);
  fc_store_open(&worker->store, session->claim.slab->file);
  fc_store_begin(&worker->store, &worker->desk);
  worker->store.references = &worker->references;
}

static fc_status_t keep(worker_t *worker, const char *name, int *object,
                        fc_error_t *err) {
  const fc_value_t value = {.kind = FC_VALUE_OPAQUE,
                            .opaque = {FC_STR("!vm.list"), object, count}};
  fc_store_row_t row;
  assert_int_equal(fc_store_describe(fc_str(name), &value, &row, err), FC_OK);
  FC_TRY(
      fc_store_refer(&worker->store, &row, object ? &value.opaque : NULL, err));
  return fc_store_put(&worker->store, &row, err);
}

static bool end(worker_t *worker, fc_session_t *session, fc_status_t status) {
  fc_outcome_t outcome = {.status = status, .stage = FC_STAGE_ENCODE};
  fc_error_t err;
  fc_store_end(&worker->store);
  const bool honest = session->claim.class_->take(
      &session->claim, &worker->desk, &outcome, &err);
  fc_home_end_grant(&session->claim, worker->desk.reference);
  session->claim.held = false;
  return honest;
}

static void keep_in(worker_t *worker, fc_session_t *session, const char *name,
                    int *object) {
  fc_error_t err;
  begin(worker, session, 2);
  assert_int_equal(keep(worker, name, object, &err), FC_OK);
  assert_true(end(worker, session, FC_OK));
}

static void a_reference_stays_until_its_value_goes(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker;
  int objects[3] = {0};
  fc_error_t err;
  open_worker(&worker, 0);
  fc_session_t *one = make(&all, false), *other = make(&all, false);
  keep_in(&worker, one, "a", &objects[0]);
  keep_in(&worker, one, "b", &objects[1]);
  keep_in(&worker, other, "a", &objects[2]);
  assert_ptr_equal(one->claim.bond.home, &worker.home);
  assert_int_equal(worker.home.kept, 3);
  keep_in(&worker, one, "a", &objects[1]);
  assert_int_equal(objects[0], 0);
  assert_int_equal(objects[1], 2);
  assert_int_equal(fc_session_remove(one, FC_STR("a"), &err), FC_OK);
  assert_int_equal(objects[1], 1);
  keep_in(&worker, one, "b", NULL);
  assert_int_equal(objects[1], 0);
  assert_null(one->claim.bond.home);
  fc_session_end(other, FC_SESSION_END_DELETED);
  assert_int_equal(objects[2], 0);
  assert_null(worker.home.first);
  assert_int_equal(worker.home.kept + worker.home.granted, 0);
  assert_int_equal(fc_references_count(&worker.references), 0);
  fc_sessions_deinit(&all);
  close_worker(&worker);
}

static void what_a_call_does_not_leave_is_freed(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker;
  int object = 0;
  fc_error_t err;
  open_worker(&worker, 0);
  fc_session_t *session = make(&all, false);
  begin(&worker, session, 2);
  assert_int_equal(keep(&worker, "a", &object, &err), FC_OK);
  assert_true(end(&worker, session, FC_INTERNAL));
  assert_int_equal(object, 0);
  begin(&worker, session, 1);
  assert_int_equal(keep(&worker, "a", &object, &err), FC_OK);
  assert_int_not_equal(keep(&worker, "b", &object, &err), FC_OK);
  fc_session_end(session, FC_SESSION_END_DELETED);
  assert_int_equal(object, 1);  // the call still runs
  assert_true(end(&worker, session, FC_OK));
  assert_int_equal(object, 0);
  assert_int_equal(worker.home.granted, 0);
  session->claim.class_->idle(&session->claim);
  assert_int_equal(all.count, 0);
  fc_sessions_deinit(&all);
  close_worker(&worker);
}

static void expect_lost(const fc_session_t *session) {
  fc_error_t err;
  assert_int_not_equal(fc_session_check(session, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  assert_non_null(strstr(err.message, "opaque references"));
  assert_true(session->claim.class_->refuse(&session->claim, &err));
  assert_true(fc_session_is_lost(session));
}

// All are lost at once, though they are told one after another.
static void a_home_takes_its_sessions_along(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker, next;
  int object = 0;
  fc_error_t err;
  open_worker(&worker, 0);
  open_worker(&next, 0);
  fc_session_t *lost[4], *kept = make(&all, false), *none = make(&all, false),
                         *fork;
  for (int i = 0; i < 4; i++) {
    lost[i] = make(&all, false);
    keep_in(&worker, lost[i], "a", &object);
  }
  keep_in(&next, kept, "a", &object);
  fc_home_end(&worker.home);
  for (int i = 0; i < 4; i++) expect_lost(lost[i]);
  const fc_session_wish_t wish = {.generation = 7, .module = &let_go_count};
  assert_int_not_equal(fc_session_fork(lost[0], &wish, 1, &fork, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  // The last one ends before it is told.
  fc_session_end(lost[3], FC_SESSION_END_DELETED);
  for (uint32_t told = 1; told < 3; told++) {
    assert_int_equal(fc_home_lose(&worker.home, 1), 1);
    assert_int_equal(all.ends[FC_SESSION_END_WORKER], told);
  }
  assert_int_equal(fc_home_lose(&worker.home, 3), 1);
  assert_int_equal(fc_home_lose(&worker.home, 3), 0);
  assert_int_equal(all.ends[FC_SESSION_END_WORKER], 3);
  for (int i = 0; i < 3; i++) {
    expect_lost(lost[i]);
    assert_int_equal(lost[i]->count, 0);
  }
  assert_int_equal(fc_session_check(kept, &err), FC_OK);
  assert_int_equal(fc_session_check(none, &err), FC_OK);
  fc_home_leave(&next.home);  // as when the server ends
  fc_sessions_deinit(&all);
  close_worker(&worker);
  close_worker(&next);
  assert_int_equal(object, 0);
}

static void a_session_that_has_one_stays_where_it_is(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker;
  int object = 0, next;
  fc_error_t err;
  fc_session_t *fork;
  open_worker(&worker, 0);
  fc_session_t *bound = make(&all, false), *runs = make(&all, false),
               *free = make(&all, false);
  keep_in(&worker, bound, "a", &object);
  begin(&worker, runs, 1);
  assert_int_equal(fc_sessions_pass(&all, &let_go_count, &next, 8, 9), 1);
  assert_ptr_equal(free->module, &next);
  assert_true(end(&worker, runs, FC_OK));
  // A call that was given to the old generation keeps nothing there.
  begin(&worker, free, 1);
  assert_int_not_equal(keep(&worker, "a", &object, &err), FC_OK);
  assert_non_null(strstr(err.message, "replaced"));
  assert_true(end(&worker, free, FC_INTERNAL));
  const fc_session_wish_t wish = {.generation = 7, .module = &let_go_count};
  assert_int_not_equal(fc_session_fork(bound, &wish, 1, &fork, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_TYPE_MISMATCH);
  fc_sessions_deinit(&all);
  close_worker(&worker);
  assert_int_equal(object, 0);
}

// Its slab is shared with a session that went over, and the generation of that one may be
// gone by now, or its index be another module's.
static void what_takes_too_much_is_found_by_a_session_that_is_left(
    void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker;
  int object = 0, next;
  uint32_t index;
  fc_error_t err;
  static const char bytes[1 << 20];
  open_worker(&worker, 0);
  fc_session_t *bound = make(&all, false), *goes = make(&all, false);
  keep_in(&worker, bound, "a", &object);
  assert_ptr_equal(bound->slab, goes->slab);
  assert_int_equal(fc_sessions_pass(&all, &let_go_count, &next, 8, 9), 1);
  fc_session_end(goes, FC_SESSION_END_DELETED);
  assert_int_equal(all.count, 1);
  assert_false(fc_sessions_weigh(&all, &index));
  for (int64_t i = 0; i < 32; i++) {
    assert_int_equal(pwrite(bound->slab->claim.file, bytes, sizeof bytes,
                            (1ll << 40) + i * (int64_t)sizeof bytes),
                     sizeof bytes);
  }
  assert_true(fc_sessions_weigh(&all, &index));
  assert_int_equal(index, GENERATION);
  assert_int_not_equal(fc_session_check(bound, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  assert_int_equal(object, 0);
  fc_sessions_deinit(&all);
  close_worker(&worker);
}

static void calls_wait_for_their_home_in_order(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker;
  fc_session_t *sessions[4];
  int object = 0;
  open_worker(&worker, 0);
  assert_null(fc_home_pop(&worker.home));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++) {
      if (!round) sessions[i] = make(&all, false);
      if (!round) keep_in(&worker, sessions[i], "a", &object);
      fc_home_wait(&sessions[i]->claim);
      if (i == 1) {
        assert_ptr_equal(fc_home_pop(&worker.home), &sessions[0]->claim);
      }
    }
    for (int i = 1; i < 4; i++) {
      assert_ptr_equal(fc_home_pop(&worker.home), &sessions[i]->claim);
    }
    assert_null(fc_home_pop(&worker.home));
  }
  fc_sessions_deinit(&all);
  close_worker(&worker);
}

typedef struct refusal_row_t {
  const char *name;
  bool checkpoint;
  uint32_t refusal, kept;
  fc_code_t code;
  const char *text;
} refusal_row_t;

static const refusal_row_t kRefused[] = {
    {"checkpoint", true, 0, 0, FC_CODE_TYPE_MISMATCH, "checkpoint"},
    {"fresh", false, FC_STORE_REFUSES_FRESH, 0, FC_CODE_UNSUPPORTED_TYPE,
     "--fresh"},
    {"private", false, FC_STORE_REFUSES_PRIVATE, 0, FC_CODE_UNSUPPORTED_TYPE,
     "--vm-state=private"},
    {"full", false, 0, FC_REFERENCES_MAX, FC_CODE_TOO_MANY_REQUESTS, "4096"},
};

static void a_call_that_may_keep_none_says_why(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const refusal_row_t, row, kRefused) {
    fc_sessions_t all = make_all();
    worker_t worker;
    int object = 0;
    fc_error_t err;
    open_worker(&worker, row->refusal);
    worker.home.kept = row->kept;
    fc_session_t *session = make(&all, row->checkpoint);
    begin(&worker, session, 1);
    assert_int_not_equal(keep(&worker, "a", &object, &err), FC_OK);
    assert_int_equal(err.code, row->code);
    assert_non_null(strstr(err.message, row->text));
    assert_true(end(&worker, session, FC_INTERNAL));
    assert_int_equal(object, 0);
    fc_sessions_deinit(&all);
    close_worker(&worker);
  }
}

// A call of the session leaves `count` references, whatever values it has.
static void hold(worker_t *worker, fc_session_t *session, uint32_t count) {
  fc_claim_t *claim = &session->claim;
  while (count) {
    const uint32_t part = count < FC_STORE_ROWS ? count : FC_STORE_ROWS;
    fc_home_grant(&worker->home, claim, part, &worker->desk);
    assert_int_equal(worker->desk.references, part);
    for (uint32_t i = 0; i < part; i++) {
      fc_home_keep(claim, worker->desk.reference + i);
    }
    fc_home_end_grant(claim, 0);
    count -= part;
  }
}

static void expect_grant(worker_t *worker, fc_session_t *session,
                         uint32_t wanted, uint32_t granted, uint32_t refusal) {
  fc_home_grant(&worker->home, &session->claim, wanted, &worker->desk);
  assert_int_equal(worker->desk.references, granted);
  if (granted < wanted) assert_int_equal(worker->desk.refusal, refusal);
}

static void no_client_has_more_than_its_share(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  worker_t worker, next;
  int object = 0;
  fc_error_t err;
  open_worker(&worker, 0);
  open_worker(&next, 0);
  fc_session_t *one = make_as(&all, false, 1), *two = make_as(&all, false, 1),
               *three = make_as(&all, false, 1),
               *other = make_as(&all, false, 2);
  hold(&worker, one, FC_REFERENCES_SHARE - 12);
  const uint64_t number = worker.desk.reference;
  expect_grant(&worker, two, 20, 12, FC_STORE_REFUSES_SHARE);
  expect_grant(&worker, three, 1, 0, FC_STORE_REFUSES_SHARE);
  fc_home_end_grant(&three->claim, 0);
  expect_grant(&next, three, 20, 20, 0);  // each worker has shares of its own
  fc_home_end_grant(&three->claim, 0);
  hold(&worker, other, FC_REFERENCES_SHARE);
  fc_home_keep(&two->claim, two->claim.bond.grant.first);
  fc_home_end_grant(&two->claim, 0);
  expect_grant(&worker, two, 20, 11, FC_STORE_REFUSES_SHARE);
  fc_home_end_grant(&two->claim, 0);
  hold(&worker, two, 11);
  begin(&worker, three, 1);
  assert_int_not_equal(keep(&worker, "a", &object, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_non_null(strstr(err.message, "512"));
  assert_true(end(&worker, three, FC_INTERNAL));
  fc_home_drop(&one->claim, number);
  keep_in(&worker, three, "a", &object);
  fc_home_end(&worker.home);
  assert_int_equal(fc_home_lose(&worker.home, 5), 4);
  assert_int_equal(worker.home.owners.count, 0);
  fc_sessions_deinit(&all);
  close_worker(&worker);
  close_worker(&next);
  assert_int_equal(object, 0);
}

static void a_call_that_cannot_be_counted_keeps_none(void **state) {
  (void)state;
  fc_sessions_t all = make_all();
  fc_test_allocator_t memory;
  worker_t worker;
  int object = 0;
  fc_error_t err;
  open_worker(&worker, 0);
  worker.home.owners.allocator = fc_test_allocator_init(&memory, 1);
  fc_session_t *session = make(&all, false);
  begin(&worker, session, 1);
  assert_int_not_equal(keep(&worker, "a", &object, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_OUT_OF_MEMORY);
  assert_true(end(&worker, session, FC_RESOURCE_EXHAUSTED));
  keep_in(&worker, session, "a", &object);  // there is memory again
  fc_sessions_deinit(&all);
  close_worker(&worker);
  assert_int_equal(object, 0);
}

typedef struct lie_row_t {
  const char *name;
  void (*tell)(fc_store_desk_t *desk);
} lie_row_t;

#define LIE(name, change) \
  static void name(fc_store_desk_t *desk) { change; }
LIE(not_granted, desk->rows[0].reference += 2)
LIE(earlier, desk->rows[0].reference--)
LIE(twice, desk->rows[1].reference = desk->rows[0].reference)
LIE(with_bytes, desk->rows[0].size = 8)
LIE(with_dims, desk->rows[0].rank = 1)
LIE(of_a_dtype, desk->rows[0].dtype = FC_DTYPE_F32)
LIE(without_type, desk->rows[0].type[0] = 0)
LIE(a_type_without_end,
    memset(desk->rows[0].type, 'x', sizeof desk->rows[0].type))
LIE(a_type_of_control_bytes, desk->rows[0].type[1] = '\n')

static const lie_row_t kLies[] = {
    {"a number that was not granted", not_granted},
    {"a number of before", earlier},
    {"one number twice", twice},
    {"bytes", with_bytes},
    {"dims", with_dims},
    {"a dtype", of_a_dtype},
    {"no type", without_type},
    {"a type without end", a_type_without_end},
    {"a type of control bytes", a_type_of_control_bytes},
};

static void a_lie_about_a_reference_is_noticed(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const lie_row_t, row, kLies) {
    fc_sessions_t all = make_all();
    worker_t worker;
    int objects[2] = {0};
    fc_error_t err;
    open_worker(&worker, 0);
    worker.home.next = 100;
    fc_session_t *session = make(&all, false);
    begin(&worker, session, 2);
    assert_int_equal(keep(&worker, "a", &objects[0], &err), FC_OK);
    assert_int_equal(keep(&worker, "b", &objects[1], &err), FC_OK);
    row->tell(&worker.desk);
    assert_false(end(&worker, session, FC_OK));
    assert_int_equal(session->count, 0);
    assert_int_equal(worker.home.kept + worker.home.granted, 0);
    fc_sessions_deinit(&all);
    close_worker(&worker);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_reference_stays_until_its_value_goes),
      FC_TEST(what_a_call_does_not_leave_is_freed),
      FC_TEST(a_home_takes_its_sessions_along),
      FC_TEST(a_session_that_has_one_stays_where_it_is),
      FC_TEST(what_takes_too_much_is_found_by_a_session_that_is_left),
      FC_TEST(calls_wait_for_their_home_in_order),
      FC_TEST(a_call_that_may_keep_none_says_why),
      FC_TEST(no_client_has_more_than_its_share),
      FC_TEST(a_call_that_cannot_be_counted_keeps_none),
      FC_TEST(a_lie_about_a_reference_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
