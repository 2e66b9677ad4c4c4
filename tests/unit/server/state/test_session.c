// SPDX-License-Identifier: Apache-2.0
//
// Sessions, with workers that are honest (they use core/state), that are killed, and
// that lie. The test computes beside them what each session must hold.
#include "state/session.h"

#include <unistd.h>

#include "config/limits.h"
#include "helpers/test.h"
#include "pool/shared.h"

#define SIZE 5000u  // of the toy's value, in bytes: two pages
#define MILLION 1000000u

static int let_go_count;

static void let_go(void *context, void *module) {
  (void)context;
  (void)module;
  let_go_count++;
}

static fc_sessions_t make_all(fc_allocator_t allocator) {
  let_go_count = 0;
  return (fc_sessions_t){.allocator = allocator,
                         .limits = fc_session_limits(80, 64 * MILLION, MILLION),
                         .claims = &fc_session_claims,
                         .let_go = let_go};
}

static fc_owner_t owner_of(uint8_t name) {
  return (fc_owner_t){.bytes = {name}};
}

static fc_session_wish_t wish_of(uint8_t owner, uint64_t generation) {
  return (fc_session_wish_t){.generation = generation,
                             .index = 5,
                             .module = &let_go_count,
                             .owner = owner_of(owner)};
}

static fc_session_t *make(fc_sessions_t *all, uint8_t owner) {
  const fc_session_wish_t wish = wish_of(owner, 7);
  fc_session_t *session;
  fc_error_t err;
  assert_int_equal(fc_session_create(all, &wish, 1, &session, &err), FC_OK);
  return session;
}

// ---------------------------------------------------------------------------
// The toy: each call adds its session's number to every byte of the value "sum".

typedef struct toy_t {
  fc_store_t store;
  fc_store_desk_t desk;
} toy_t;

#define DONE (&(fc_outcome_t){.status = FC_OK, .stage = FC_STAGE_ENCODE})

static uint8_t *open_sum(toy_t *toy, fc_error_t *err) {
  fc_store_row_t *row = fc_store_find(&toy->desk, FC_STR("sum"));
  void *data;
  if (row) {
    assert_int_equal(fc_store_own(&toy->store, row, NULL, &data, err), FC_OK);
    return data;
  }
  const int64_t dims[] = {SIZE};
  const fc_value_t value = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_UI8, .rank = 1, .shape = dims}};
  fc_store_row_t fresh;
  assert_int_equal(fc_store_describe(FC_STR("sum"), &value, &fresh, err),
                   FC_OK);
  if (fc_store_place(&toy->store, &fresh, &data, err) != FC_OK) return NULL;
  assert_int_equal(fc_store_put(&toy->store, &fresh, err), FC_OK);
  return data;
}

static void begin(toy_t *toy, fc_session_t *session) {
  session->claim.held = true;
  session->claim.class_->lay(&session->claim, &toy->desk);
  fc_store_open(&toy->store, session->claim.slab->file);
  fc_store_begin(&toy->store, &toy->desk);
}

static void end(fc_session_t *session) { session->claim.held = false; }

// Makes one whole call. Returns its answer: the first byte, which all others must
// equal.
static int call(toy_t *toy, fc_session_t *session, uint8_t number) {
  fc_error_t err;
  begin(toy, session);
  uint8_t *sum = open_sum(toy, &err);
  assert_non_null(sum);
  for (uint32_t i = 1; i < SIZE; i++) assert_int_equal(sum[i], sum[0]);
  for (uint32_t i = 0; i < SIZE; i++) sum[i] = (uint8_t)(sum[i] + number);
  fc_store_end(&toy->store);
  if (!session->claim.class_->take(&session->claim, &toy->desk, DONE, &err)) {
    fail_msg("%s", err.message);
  }
  end(session);
  return sum[0];
}

static uint64_t taken(const fc_sessions_t *all) {
  return all->slabs ? fc_shared_taken(all->slabs->claim.file) : 0;
}

// Makes a call that adds to "sum" and then ends as `outcome` says. NULL: its process
// crashes.
static void break_off(toy_t *toy, fc_session_t *session,
                      const fc_outcome_t *outcome) {
  fc_error_t err;
  fc_outcome_t told;
  begin(toy, session);
  memset(open_sum(toy, &err), 99, SIZE / 2);
  fc_store_end(&toy->store);
  if (outcome) told = *outcome;
  if (!outcome) {
    session->claim.class_->lose(&session->claim, FC_STR("f"), FC_LOSS_CRASH);
  } else if (!session->claim.class_->take(&session->claim, &toy->desk, &told,
                                          &err)) {
    fail_msg("%s", err.message);
  }
  end(session);
}

static void sessions_keep_what_their_calls_made(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toys[2];
  fc_session_t *sessions[5];
  uint8_t oracle[5] = {0};
  fc_store_init(&toys[0].store);
  fc_store_init(&toys[1].store);
  for (uint8_t i = 0; i < 4; i++) sessions[i] = make(&all, i);
  uint32_t random = 1;
  for (int step = 0; step < 400; step++) {
    random = random * 1664525 + 1013904223;
    const uint8_t i = (uint8_t)((random >> 16) % 4);
    oracle[i] = (uint8_t)(oracle[i] + i + 1);
    assert_int_equal(call(&toys[random >> 20 & 1], sessions[i], i + 1),
                     oracle[i]);
  }
  // Each of the four sessions has two pages, wherever they are.
  assert_int_equal(taken(&all), 4 * 2 * FC_STORE_PAGE);
  assert_int_equal(all.bytes, 4 * 2 * FC_STORE_PAGE);
  for (int i = 0; i < 4; i++)
    fc_session_end(sessions[i], FC_SESSION_END_DELETED);
  assert_int_equal(all.bytes, 0);
  assert_int_equal(all.count, 0);
  assert_null(all.slabs);
  assert_int_equal(let_go_count, 4);
  assert_int_equal(all.ends[FC_SESSION_END_DELETED], 4);
  fc_store_deinit(&toys[0].store);
  fc_store_deinit(&toys[1].store);
  fc_sessions_deinit(&all);
}

static void sessions_end_with_their_connection(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  fc_session_t *first = NULL, *other = NULL, *sessions[6];
  fc_error_t err;
  for (size_t i = 0; i < FC_ARRAY_COUNT(sessions); i++) {
    fc_session_wish_t wish = wish_of(1, 7);
    wish.bond = i < 5 ? &first : &other;
    assert_int_equal(fc_session_create(&all, &wish, 1, &sessions[i], &err),
                     FC_OK);
  }
  fc_session_t *free = make(&all, 1);
  // The last session, the first and one between them have ended before.
  fc_session_end(sessions[0], FC_SESSION_END_DELETED);
  fc_session_end(sessions[4], FC_SESSION_END_IDLE);
  fc_session_end(sessions[2], FC_SESSION_END_DELETED);
  fc_session_pin(sessions[1]);
  fc_sessions_end_bound(&first);
  assert_null(first);
  assert_int_equal(all.ends[FC_SESSION_END_CONNECTION], 2);
  assert_int_equal(all.count, 3);
  assert_true(sessions[1]->ended);
  assert_false(free->ended || sessions[5]->ended);
  fc_session_unpin(sessions[1], 1);
  assert_int_equal(all.count, 2);
  fc_sessions_deinit(&all);
  assert_null(other);
}

// When a connection ends, some of its sessions end at once. The others can no longer be
// found, and fc_sessions_look ends them.
static void many_end_with_their_connection(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  fc_session_t *first = NULL, *made[2 * FC_LIMIT_BOUND_ENDS], *found;
  const fc_owner_t owner = owner_of(0);
  char id[FC_SESSION_ID_SIZE];
  fc_error_t err;
  for (size_t i = 0; i < FC_ARRAY_COUNT(made); i++) {
    fc_session_wish_t wish = wish_of((uint8_t)(i / 8), 7);
    wish.bond = &first;
    assert_int_equal(fc_session_create(&all, &wish, 1, &made[i], &err), FC_OK);
  }
  fc_session_print_id(made[0], id);
  fc_sessions_end_bound(&first);
  assert_null(first);
  assert_int_equal(all.count, FC_LIMIT_BOUND_ENDS);
  assert_int_equal(fc_session_find(&all, fc_str_make(id, sizeof id), &owner, 1,
                                   &found, &err),
                   FC_NOT_FOUND);
  fc_sessions_look(&all, UINT32_MAX, 1);
  assert_int_equal(all.count, 0);
  assert_int_equal(all.ends[FC_SESSION_END_CONNECTION], FC_ARRAY_COUNT(made));
  fc_sessions_deinit(&all);
}

// Keeps a value of `size` bytes, as an honest worker would.
static void keep(toy_t *toy, const char *name, int64_t size) {
  const fc_value_t value = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_UI8, .rank = 1, .shape = &size}};
  fc_store_row_t row;
  fc_error_t err;
  void *data;
  assert_int_equal(fc_store_describe(fc_str(name), &value, &row, &err), FC_OK);
  assert_int_equal(fc_store_place(&toy->store, &row, &data, &err), FC_OK);
  if (size) memset(data, 1, (size_t)size);
  assert_int_equal(fc_store_put(&toy->store, &row, &err), FC_OK);
}

static void keep_in(toy_t *toy, fc_session_t *session, const char *name,
                    int64_t size) {
  fc_error_t err;
  begin(toy, session);
  keep(toy, name, size);
  assert_true(
      session->claim.class_->take(&session->claim, &toy->desk, DONE, &err));
  end(session);
}

static void a_value_without_bytes_has_no_place(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_store_init(&toy.store);
  fc_session_t *full = make(&all, 1), *empty = make(&all, 2);
  keep_in(&toy, full, "v", SIZE);
  keep_in(&toy, empty, "e", 0);
  assert_null(fc_session_value(empty, FC_STR("e"))->place);
  keep_in(&toy, full, "v", 0);
  assert_null(fc_session_value(full, FC_STR("v"))->place);
  assert_int_equal(taken(&all), 0);
  keep_in(&toy, full, "v", SIZE);
  fc_session_end(empty, FC_SESSION_END_DELETED);
  assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
  fc_session_end(full, FC_SESSION_END_DELETED);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// Two sessions have calls at the same time, so no call can give back the addresses that
// it has not used.
static void addresses_last(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toys[2];
  fc_error_t err;
  fc_session_t *sessions[2];
  for (uint8_t i = 0; i < 2; i++) {
    fc_store_init(&toys[i].store);
    sessions[i] = make(&all, i);
  }
  for (int round = 0; round < 1000; round++) {
    for (int i = 0; i < 2; i++) begin(&toys[i], sessions[i]);
    for (int i = 0; i < 2; i++) {
      keep(&toys[i], "v", SIZE);
      assert_true(fc_session_claims.take(&sessions[i]->claim, &toys[i].desk,
                                         DONE, &err));
      end(sessions[i]);
    }
  }
  // Each of 2000 calls uses three pages, though it may use 8 MB.
  assert_true(all.slabs->cursor < 128 * MILLION);
  assert_int_equal(taken(&all), 2 * 2 * FC_STORE_PAGE);
  for (int i = 0; i < 2; i++) fc_store_deinit(&toys[i].store);
  fc_sessions_deinit(&all);
}

// Two calls of one owner run at the same time. Each was granted all of the remaining
// bytes, but what both keep must still be within the owner's share.
static void calls_share_what_is_left(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toys[2];
  fc_error_t err;
  fc_session_t *sessions[2];
  all.limits.owner_memory = 5 * FC_STORE_PAGE;
  for (int i = 0; i < 2; i++) {
    fc_store_init(&toys[i].store);
    sessions[i] = make(&all, 1);
  }
  assert_int_equal(call(&toys[1], sessions[1], 7), 7);
  for (int i = 0; i < 2; i++) begin(&toys[i], sessions[i]);
  for (int i = 0; i < 2; i++) {
    fc_outcome_t told = *DONE;
    told.more = true;
    keep(&toys[i], "v", (int64_t)(2 * FC_STORE_PAGE));
    assert_true(fc_session_claims.take(&sessions[i]->claim, &toys[i].desk,
                                       &told, &err));
    end(sessions[i]);
    assert_int_equal(told.status, i ? FC_RESOURCE_EXHAUSTED : FC_OK);
    assert_int_equal(told.more, !i);
    if (i) assert_int_equal(told.error.code, FC_CODE_TOO_MANY_REQUESTS);
    assert_int_equal(all.bytes, 4 * FC_STORE_PAGE);
    assert_int_equal(taken(&all), 4 * FC_STORE_PAGE);
  }
  // The refused call has changed nothing, and a call that needs no more memory still
  // runs.
  assert_null(fc_session_value(sessions[1], FC_STR("v")));
  assert_int_equal(call(&toys[1], sessions[1], 1), 8);
  for (int i = 0; i < 2; i++) fc_store_deinit(&toys[i].store);
  fc_sessions_deinit(&all);
}

static void new_sessions_get_new_addresses(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_session_t *old = make(&all, 1), *fork;
  fc_slab_t *slab = all.slabs;
  const fc_session_wish_t wish = wish_of(1, 7);
  fc_store_init(&toy.store);
  assert_int_equal(call(&toy, old, 3), 3);
  slab->cursor = FC_STORE_SIZE_MAX / 2;
  assert_ptr_equal(make(&all, 2)->slab, slab);
  slab->cursor += FC_STORE_PAGE;
  assert_ptr_not_equal(make(&all, 2)->slab, slab);
  // The values of a fork stay in the slab where they were.
  assert_int_equal(fc_session_fork(old, &wish, 1, &fork, &err), FC_OK);
  assert_ptr_equal(fork->slab, slab);
  assert_int_equal(call(&toy, fork, 4), 7);
  assert_int_equal(call(&toy, old, 1), 4);
  // Old sessions may use what is left of the slab, and after that only their own
  // values.
  fc_session_t *last = make(&all, 3);
  slab->cursor = FC_STORE_SIZE_MAX - 2 * FC_STORE_PAGE;
  fc_session_reset(old);
  assert_int_equal(fc_session_fork(fork, &wish, 1, &old, &err), FC_OK);
  begin(&toy, old);
  assert_int_equal(toy.desk.budget, 0);
  assert_true(fc_session_claims.take(&old->claim, &toy.desk, DONE, &err));
  end(old);
  assert_int_equal(old->count, 1);
  assert_int_equal(call(&toy, last, 9), 9);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void a_fork_has_its_own_history(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  fc_session_t *one = make(&all, 1), *two, *three;
  assert_int_equal(call(&toy, one, 3), 3);
  const fc_session_wish_t wish = wish_of(1, 7);
  assert_int_equal(fc_session_fork(one, &wish, 1, &two, &err), FC_OK);
  assert_int_equal(fc_session_fork(one, &wish, 1, &three, &err), FC_OK);
  assert_int_equal(two->step, 1);
  // Nothing has been copied yet.
  assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
  assert_int_equal(all.bytes, 3 * 2 * FC_STORE_PAGE);
  assert_int_equal(call(&toy, one, 1), 4);
  assert_int_equal(toy.store.copied, SIZE);
  assert_int_equal(call(&toy, two, 5), 8);
  assert_int_equal(call(&toy, one, 1), 5);
  // The last session that has the value writes to it in place.
  assert_int_equal(call(&toy, three, 7), 10);
  assert_int_equal(toy.store.copied, 2 * SIZE);
  assert_int_equal(taken(&all), 3 * 2 * FC_STORE_PAGE);
  fc_session_reset(one);
  assert_int_equal(call(&toy, one, 9), 9);
  fc_session_end(one, FC_SESSION_END_DELETED);
  fc_session_end(two, FC_SESSION_END_DELETED);
  assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
  fc_session_end(three, FC_SESSION_END_DELETED);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void values_are_removed_by_name(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  assert_int_equal(call(&toy, session, 3), 3);
  keep_in(&toy, session, "other", SIZE);
  assert_int_equal(fc_session_remove(session, FC_STR("sum"), &err), FC_OK);
  assert_int_equal(session->count, 1);
  assert_int_equal(all.bytes, 2 * FC_STORE_PAGE);
  assert_non_null(fc_session_value(session, FC_STR("other")));
  assert_int_equal(call(&toy, session, 1), 1);
  assert_int_not_equal(fc_session_remove(session, FC_STR("none"), &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_REFERENCE_UNKNOWN);
  fc_session_end(session, FC_SESSION_END_DELETED);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// ---------------------------------------------------------------------------
// Calls that fail, and workers that are killed

static void a_failed_call_leaves_nothing_new(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_outcome_t failed = {.status = FC_INTERNAL, .stage = FC_STAGE_CALL};
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  begin(&toy, session);
  memset(open_sum(&toy, &err), 1, SIZE);
  assert_true(
      session->claim.class_->take(&session->claim, &toy.desk, &failed, &err));
  end(session);
  assert_int_equal(session->count, 0);
  assert_int_equal(session->step, 1);  // the function may have done anything
  assert_int_equal(taken(&all), 0);
  fc_outcome_t refused = {.status = FC_INTERNAL, .stage = FC_STAGE_DECODE};
  begin(&toy, session);
  assert_true(
      session->claim.class_->take(&session->claim, &toy.desk, &refused, &err));
  end(session);
  assert_int_equal(session->step, 1);
  assert_int_equal(call(&toy, session, 4), 4);
  fc_session_end(session, FC_SESSION_END_DELETED);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void a_crash_loses_the_session_and_no_other(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  fc_session_t *one = make(&all, 1), *two, *other;
  assert_int_equal(call(&toy, one, 3), 3);
  const fc_session_wish_t wish = wish_of(1, 7);
  assert_int_equal(fc_session_fork(one, &wish, 1, &two, &err), FC_OK);
  begin(&toy, one);
  memset(open_sum(&toy, &err), 0xFF, SIZE / 2);
  one->claim.class_->lose(&one->claim, FC_STR("step"), FC_LOSS_CRASH);
  end(one);
  assert_int_not_equal(fc_session_check(one, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  assert_string_equal(
      err.message, "the session is lost: its call of 'step' at step 1 crashed");
  assert_true(one->claim.class_->refuse(&one->claim, &err));
  assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
  assert_int_not_equal(fc_session_fork(one, &wish, 1, &other, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  assert_int_equal(call(&toy, two, 1), 4);
  // The session is found, and reports its loss, until its time is over.
  char id[FC_SESSION_ID_SIZE];
  const fc_owner_t owner = owner_of(1);
  fc_session_print_id(one, id);
  assert_int_equal(fc_session_find(&all, fc_str_make(id, sizeof id), &owner, 2,
                                   &other, &err),
                   FC_OK);
  assert_ptr_equal(other, one);
  fc_sessions_look(&all, 100, 2 * MILLION);
  assert_int_equal(all.count, 0);
  assert_int_equal(all.ends[FC_SESSION_END_CRASH], 1);
  assert_int_equal(all.ends[FC_SESSION_END_IDLE], 1);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// Describes a value of `size` bytes and requests a place for it.
static fc_code_t place(toy_t *toy, const char *name, int64_t size,
                       fc_store_row_t *out_row) {
  const fc_value_t value = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_UI8, .rank = 1, .shape = &size}};
  fc_error_t err;
  void *data;
  assert_int_equal(fc_store_describe(fc_str(name), &value, out_row, &err),
                   FC_OK);
  const fc_status_t status = fc_store_place(&toy->store, out_row, &data, &err);
  return status == FC_OK ? FC_CODE_NONE : err.code;
}

// A shared value that is copied or replaced needs no more bytes than before. But a full
// session has no room for new values, whatever its worker says.
static void check_full(fc_sessions_t *all, fc_session_t *one, bool frees) {
  static toy_t toy;
  fc_error_t err;
  fc_store_row_t row;
  fc_store_init(&toy.store);
  begin(&toy, one);
  assert_int_equal(place(&toy, "new", 1, &row), FC_CODE_TOO_MANY_REQUESTS);
  assert_int_equal(place(&toy, "sum", 3 * FC_STORE_PAGE, &row),
                   FC_CODE_TOO_MANY_REQUESTS);
  keep(&toy, "sum", SIZE);
  assert_int_equal(place(&toy, "new", 1, &row), FC_CODE_TOO_MANY_REQUESTS);
  // Meanwhile another session that shared the value ends.
  for (uint32_t i = 0; frees && i < all->capacity; i++) {
    if (!all->places[i] || all->places[i] == one) continue;
    fc_session_end(all->places[i], FC_SESSION_END_DELETED);
  }
  assert_true(one->claim.class_->take(&one->claim, &toy.desk, DONE, &err));
  end(one);
  assert_int_equal(one->bytes, 2 * FC_STORE_PAGE);
  assert_int_equal(call(&toy, one, 3), 4);
  fc_store_deinit(&toy.store);
}

static void a_shared_value_is_no_room_for_new_ones(void **state) {
  (void)state;
  for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
    fc_sessions_t all = make_all(fc_allocator_system());
    static toy_t toy;
    fc_error_t err;
    fc_session_wish_t wish = wish_of(1, 7);
    wish.max_bytes = 2 * FC_STORE_PAGE;
    wish.checkpoint = checkpoint;
    fc_store_init(&toy.store);
    fc_session_t *one, *two;
    assert_int_equal(fc_session_create(&all, &wish, 1, &one, &err), FC_OK);
    assert_int_equal(call(&toy, one, 3), 3);
    assert_int_equal(fc_session_fork(one, &wish, 1, &two, &err), FC_OK);
    check_full(&all, one, true);
    assert_int_equal(fc_session_fork(one, &wish, 1, &two, &err), FC_OK);
    begin(&toy, one);
    // The worker lies: it keeps another value in that place.
    toy.desk.budget = one->budget;
    keep(&toy, "new", SIZE);
    assert_false(one->claim.class_->take(&one->claim, &toy.desk, DONE, &err));
    assert_non_null(strstr(err.message, "size"));
    one->claim.class_->lose(&one->claim, FC_STR("f"), FC_LOSS_LIE);
    end(one);
    fc_store_deinit(&toy.store);
    fc_sessions_deinit(&all);
  }
}

static void a_checkpointed_session_undoes_what_fails(void **state) {
  (void)state;
  static const fc_outcome_t outcomes[] = {
      {.status = FC_INTERNAL, .stage = FC_STAGE_CALL},
      {.status = FC_DEADLINE_EXCEEDED, .stage = FC_STAGE_CALL},
      {.status = FC_CANCELLED, .stage = FC_STAGE_CALL},
      {.status = FC_INTERNAL, .stage = FC_STAGE_ENCODE}};
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_store_init(&toy.store);
  fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *session;
  fc_error_t err;
  wish.checkpoint = true;
  assert_int_equal(fc_session_create(&all, &wish, 1, &session, &err), FC_OK);
  for (size_t i = 0; i <= FC_ARRAY_COUNT(outcomes); i++) {
    assert_int_equal(call(&toy, session, 3), 3 * (i + 1));
    break_off(&toy, session,
              i < FC_ARRAY_COUNT(outcomes) ? &outcomes[i] : NULL);
    assert_false(session->lost);
    assert_int_equal(session->step, i + 1);
    // Neither a half-written value nor a page of it is left.
    assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
    assert_int_equal(all.slabs->claim.allowed, 2 * FC_STORE_PAGE);
  }
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static bool is_gone;

static bool is_replaced(void *context, const void *module, bool *out_gone) {
  (void)context;
  (void)module;
  *out_gone = is_gone;
  return true;
}

static void sessions_of_a_replaced_module_end(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  const fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *one = make(&all, 1), *two;
  fc_error_t err;
  is_gone = false;
  all.is_replaced = is_replaced;
  all.drain_ns = 10;
  fc_sessions_look(&all, 100, 5);
  assert_int_equal(fc_session_fork(one, &wish, 8, &two, &err), FC_OK);
  fc_sessions_look(&all, 100, 14);
  assert_int_equal(all.count, 2);
  // A fork has no more time left than its origin.
  fc_sessions_look(&all, 100, 15);
  assert_int_equal(all.count, 0);
  (void)make(&all, 1);
  fc_sessions_look(&all, 100, 20);
  assert_int_equal(all.count, 1);
  is_gone = true;
  fc_sessions_look(&all, 100, 20);
  assert_int_equal(all.count, 0);
  assert_int_equal(all.ends[FC_SESSION_END_DRAINED], 3);
  fc_sessions_deinit(&all);
}

static void sessions_pass_to_the_next_generation_with_their_slab(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  static int next;
  fc_store_init(&toy.store);
  fc_session_t *one = make(&all, 1), *two = make(&all, 2), *stays, *later;
  fc_session_wish_t other = wish_of(3, 6), wish = wish_of(3, 8);
  fc_error_t err;
  other.module = &other;
  wish.module = &next;
  wish.index = 9;
  assert_int_equal(fc_session_create(&all, &other, 1, &stays, &err), FC_OK);
  assert_int_equal(call(&toy, one, 1), 1);
  begin(&toy, two);  // a call of it runs meanwhile
  memset(open_sum(&toy, &err), 5, SIZE);
  assert_int_equal(fc_sessions_pass(&all, &let_go_count, &next, 8, 9), 2);
  assert_ptr_equal(one->module, &next);
  assert_ptr_equal(stays->module, &other);
  assert_int_equal(stays->slab->generation, 6);
  fc_store_end(&toy.store);
  assert_true(fc_session_claims.take(&two->claim, &toy.desk, DONE, &err));
  end(two);
  assert_int_equal(call(&toy, one, 1), 2);
  assert_int_equal(call(&toy, two, 1), 6);
  // All sessions of the new generation use one slab, so its workers need only that one.
  assert_int_equal(fc_session_create(&all, &wish, 1, &later, &err), FC_OK);
  assert_ptr_equal(later->slab, one->slab);
  assert_int_equal(later->claim.bond.generation, 9);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void its_time_begins_when_its_calls_have_ended(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  const uint64_t before_ns = fc_clock_ns();
  assert_int_equal(call(&toy, session, 3), 3);
  fc_session_claims.idle(&session->claim);
  assert_true(session->used_ns >= before_ns);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void a_stopped_interpreter_loses_the_session(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_outcome_t stopped = {.status = FC_DEADLINE_EXCEEDED,
                          .stage = FC_STAGE_CALL};
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  assert_int_equal(call(&toy, session, 3), 3);
  begin(&toy, session);
  memset(open_sum(&toy, &err), 1, SIZE / 2);
  assert_true(
      session->claim.class_->take(&session->claim, &toy.desk, &stopped, &err));
  end(session);
  assert_int_not_equal(fc_session_check(session, &err), FC_OK);
  assert_string_equal(
      err.message, "the session is lost: its call at step 1 was ended at the "
                   "server's deadline");
  assert_int_equal(taken(&all), 0);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void an_end_waits_for_the_call_that_runs(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  assert_int_equal(call(&toy, session, 3), 3);
  begin(&toy, session);
  fc_session_end(session, FC_SESSION_END_DELETED);
  memset(open_sum(&toy, &err), 1, SIZE);
  assert_int_equal(all.count, 1);
  assert_true(session->claim.class_->refuse(&session->claim, &err));
  assert_int_equal(err.code, FC_CODE_SESSION_NOT_FOUND);
  assert_true(
      session->claim.class_->take(&session->claim, &toy.desk, DONE, &err));
  assert_int_equal(taken(&all), 0);
  end(session);
  session->claim.class_->idle(&session->claim);
  assert_int_equal(all.count, 0);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// ---------------------------------------------------------------------------
// A worker that lies

typedef struct lie_row_t {
  const char *name;
  void (*tell)(fc_store_desk_t *desk);
} lie_row_t;

static void fewer(fc_store_desk_t *d) { d->count = 0; }
static void too_many(fc_store_desk_t *d) { d->count = FC_STORE_ROWS + 1; }
static void endless(fc_store_desk_t *d) { d->count = UINT32_MAX; }
static void back(fc_store_desk_t *d) { d->next = 0; }
static void beyond(fc_store_desk_t *d) { d->next = d->end + FC_STORE_PAGE; }
static void crooked(fc_store_desk_t *d) { d->next += 1; }
static void added(fc_store_desk_t *d) { d->rows[d->count++].change = 0; }
static void changed(fc_store_desk_t *d) { d->rows[1].change = 0x80; }
static void named(fc_store_desk_t *d) {
  d->rows[2] = d->rows[1];
  d->count = 3;
}
static void unnamed(fc_store_desk_t *d) { d->rows[1].name_size = 200; }
static void ranked(fc_store_desk_t *d) { d->rows[1].rank = 200; }
static void typed(fc_store_desk_t *d) { d->rows[1].dtype = 250; }
static void negative(fc_store_desk_t *d) { d->rows[1].dims[0] = -1; }
static void large(fc_store_desk_t *d) { d->rows[1].size = UINT64_MAX; }
static void wide(fc_store_desk_t *d) { d->rows[1].dims[0] = INT64_MAX; }
static void elsewhere(fc_store_desk_t *d) {
  d->rows[1].offset = d->rows[0].offset;
}
static void outside(fc_store_desk_t *d) {
  d->rows[1].offset += 8 * FC_STORE_PAGE;
}
static void twice(fc_store_desk_t *d) {
  d->rows[2] = d->rows[1];
  d->rows[2].name[0] = 'z';
  d->count = 3;
}

// The session has the value "old" (row 0), and the call makes "sum" (row 1).
static const lie_row_t kLies[] = {
    {"fewer rows", fewer},
    {"too many rows", too_many},
    {"endless", endless},
    {"next goes back", back},
    {"next beyond", beyond},
    {"next within a page", crooked},
    {"added, not new", added},
    {"unknown change", changed},
    {"one more of a name", named},
    {"no end of a name", unnamed},
    {"rank", ranked},
    {"dtype", typed},
    {"negative dim", negative},
    {"size", large},
    {"dims overflow", wide},
    {"another's place", elsewhere},
    {"place not granted", outside},
    {"one place twice", twice},
};

static void a_desk_that_lies_is_noticed(void **state) {
  (void)state;
  static toy_t toy;
  fc_error_t err;
  FC_TEST_EACH_ROW(const lie_row_t, row, kLies) {
    fc_sessions_t all = make_all(fc_allocator_system());
    fc_store_init(&toy.store);
    memset(&toy.desk, 0, sizeof toy.desk);
    fc_session_t *session = make(&all, 1), *other = make(&all, 2);
    keep_in(&toy, session, "old", SIZE);
    assert_int_equal(call(&toy, other, 4), 4);
    begin(&toy, session);
    assert_non_null(open_sum(&toy, &err));
    row->tell(&toy.desk);
    assert_false(
        session->claim.class_->take(&session->claim, &toy.desk, DONE, &err));
    assert_int_equal(err.code, FC_CODE_WORKER_CRASHED);
    session->claim.class_->lose(&session->claim, FC_STR("f"), FC_LOSS_LIE);
    end(session);
    assert_int_equal(call(&toy, other, 4), 8);
    assert_int_equal(taken(&all), 2 * FC_STORE_PAGE);
    fc_session_end(other, FC_SESSION_END_DELETED);
    fc_session_end(session, FC_SESSION_END_DELETED);
    assert_int_equal(all.count, 0);
    fc_store_deinit(&toy.store);
    fc_sessions_deinit(&all);
  }
}

static void a_row_that_was_there_keeps_its_name(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  const fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *session = make(&all, 1), *fork;
  assert_int_equal(call(&toy, session, 3), 3);
  assert_int_equal(fc_session_fork(session, &wish, 1, &fork, &err), FC_OK);
  begin(&toy, session);
  assert_non_null(open_sum(&toy, &err));  // copied: the row is new
  toy.desk.rows[0].name[2] = 'x';
  assert_false(
      session->claim.class_->take(&session->claim, &toy.desk, DONE, &err));
  session->claim.class_->lose(&session->claim, FC_STR("f"), FC_LOSS_LIE);
  end(session);
  assert_int_equal(call(&toy, fork, 1), 4);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

static void a_worker_that_takes_more_spoils_the_slab(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  uint32_t index = 0;
  fc_store_init(&toy.store);
  fc_session_t *one = make(&all, 1), *two = make(&all, 2);
  assert_int_equal(call(&toy, one, 3), 3);
  assert_false(fc_sessions_weigh(&all, &index));
  const fc_slab_t *slab = all.slabs;
  static char bytes[1 << 20];
  begin(&toy, one);
  for (int64_t i = 0; i < 32; i++) {
    assert_int_equal(pwrite(slab->claim.file, bytes, sizeof bytes,
                            (1ll << 40) + i * (int64_t)sizeof bytes),
                     sizeof bytes);
  }
  // The call may use what it was granted.
  const uint64_t budget = one->budget;
  assert_true(budget < 16 * MILLION);
  // The slab is not weighed while the nursery works on it.
  all.slabs->ordered = true;
  assert_true(fc_sessions_weigh(&all, &index));
  assert_int_equal(index, 5);
  all.slabs->ordered = false;
  fc_slab_clear(all.slabs, 0, FC_STORE_PAGE);
  assert_int_equal(fc_shared_taken(slab->claim.file), 0);
  assert_int_not_equal(fc_session_check(two, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_LOST);
  // The call ends after all.
  assert_true(one->claim.class_->take(&one->claim, &toy.desk, DONE, &err));
  end(one);
  assert_int_equal(one->count, 0);
  assert_false(fc_sessions_weigh(&all, &index));
  fc_session_t *fresh = make(&all, 3);
  assert_ptr_not_equal(fresh->slab, slab);
  assert_int_equal(call(&toy, fresh, 9), 9);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// ---------------------------------------------------------------------------
// Names, shares and steps

static void only_its_owner_finds_a_session(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *open = make(&all, 1), *owned, *found;
  char id[FC_SESSION_ID_SIZE];
  fc_error_t err;
  wish.owned = true;
  assert_int_equal(fc_session_create(&all, &wish, 1, &owned, &err), FC_OK);
  const fc_owner_t mine = owner_of(1), theirs = owner_of(2);
  struct {
    const fc_session_t *session;
    const fc_owner_t *owner;
    uint64_t now_ns;
    bool found;
  } rows[] = {{open, &mine, 1, true},       {open, &theirs, 1, true},
              {owned, &mine, 1, true},      {owned, &theirs, 1, false},
              {open, &mine, MILLION, true}, {open, &mine, 3 * MILLION, false}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_session_print_id(rows[i].session, id);
    const bool ok =
        fc_session_find(&all, fc_str_make(id, sizeof id), rows[i].owner,
                        rows[i].now_ns, &found, &err) == FC_OK;
    assert_int_equal(ok, rows[i].found);
    if (!ok) assert_int_equal(err.code, FC_CODE_SESSION_NOT_FOUND);
  }
  const char *const wrong[] = {"", "0", "zz345678901234567890123456789012",
                               "00000000000000000000000000000000"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(wrong); i++) {
    assert_int_not_equal(
        fc_session_find(&all, fc_str(wrong[i]), &mine, 1, &found, &err), FC_OK);
  }
  fc_sessions_deinit(&all);
  assert_int_equal(let_go_count, 2);
}

// If a sequence begins again while a call of the old one runs, the new one is another
// session with the same id. A search finds the new one, also after the table has grown.
static void a_sequence_is_found_by_its_name(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  const fc_owner_t owners[] = {owner_of(1), owner_of(2)};
  const fc_str_t names[] = {FC_STR("n1"), FC_STR("t1"), FC_STR("ab")};
  char ids[12][FC_SESSION_ID_SIZE], again[FC_SESSION_ID_SIZE];
  fc_session_t *sessions[12], *found;
  fc_error_t err;
  for (uint32_t i = 0; i < 12; i++) {
    // The module "a" with the name "bab" must differ from the module "ab" with "ab".
    const fc_str_t module = i < 6 ? FC_STR("a") : FC_STR("ab");
    assert_int_equal(fc_session_id_of(&all, &owners[i & 1], module,
                                      names[i / 2 % 3], ids[i], &err),
                     FC_OK);
    assert_int_equal(fc_session_id_of(&all, &owners[i & 1], module,
                                      names[i / 2 % 3], again, &err),
                     FC_OK);
    assert_memory_equal(ids[i], again, sizeof again);
    for (uint32_t k = 0; k < i; k++) {
      assert_memory_not_equal(ids[i], ids[k], sizeof again);
    }
    const fc_str_t id = fc_str_make(ids[i], sizeof ids[i]);
    fc_session_t *before = make(&all, (uint8_t)(1 + (i & 1)));
    fc_session_name(before, id);
    before->claim.held = true;
    fc_session_end(before, FC_SESSION_END_DELETED);
    sessions[i] = make(&all, (uint8_t)(1 + (i & 1)));
    fc_session_name(sessions[i], id);
    before->claim.held = i % 3 == 0;
    if (!before->claim.held) before->claim.class_->idle(&before->claim);
  }
  for (uint32_t i = 0; i < 12; i++) {
    const fc_str_t id = fc_str_make(ids[i], sizeof ids[i]);
    assert_int_equal(fc_session_find(&all, id, &owners[i & 1], 1, &found, &err),
                     FC_OK);
    assert_ptr_equal(found, sessions[i]);
    fc_session_end(found, FC_SESSION_END_DELETED);
    assert_int_equal(fc_session_find(&all, id, &owners[i & 1], 1, &found, &err),
                     FC_NOT_FOUND);
  }
  fc_sessions_deinit(&all);
}

// Its requests go on, although another session has the id by now.
static void a_retired_session_ends_after_its_requests(void **state) {
  (void)state;
  for (uint32_t pins = 0; pins <= 2; pins++) {
    fc_sessions_t all = make_all(fc_allocator_system());
    const fc_owner_t owner = owner_of(1);
    const fc_str_t id = FC_STR("0123456789abcdef0123456789abcdef");
    fc_session_t *found, *before = make(&all, 1), *after;
    fc_error_t err;
    fc_session_name(before, id);
    for (uint32_t i = 0; i < pins; i++) fc_session_pin(before);
    fc_session_retire(before);
    assert_int_equal(all.count, pins ? 1 : 0);
    assert_int_equal(fc_session_find(&all, id, &owner, 1, &found, &err),
                     FC_NOT_FOUND);
    after = make(&all, 1);
    fc_session_name(after, id);
    for (uint32_t left = pins; left; left--) {
      assert_int_equal(fc_session_check(before, &err), FC_OK);
      assert_int_equal(all.count, 2);
      fc_session_unpin(before, 1);
    }
    assert_int_equal(all.count, 1);
    assert_int_equal(all.ends[FC_SESSION_END_DELETED], 1);
    assert_int_equal(fc_session_find(&all, id, &owner, 1, &found, &err), FC_OK);
    assert_ptr_equal(found, after);
    // One that is ended meanwhile ends once.
    fc_session_pin(after);
    fc_session_retire(after);
    fc_session_end(after, FC_SESSION_END_IDLE);
    assert_int_equal(all.count, 1);
    fc_session_unpin(after, 1);
    assert_int_equal(all.count, 0);
    assert_int_equal(all.ends[FC_SESSION_END_DELETED], 1);
    fc_sessions_deinit(&all);
  }
}

static void shares_and_limits_have_numbers(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *session;
  fc_error_t err;
  for (int i = 0; i < 10; i++) (void)make(&all, 1);
  assert_int_not_equal(fc_session_create(&all, &wish, 1, &session, &err),
                       FC_OK);
  assert_int_equal(err.code, FC_CODE_TOO_MANY_REQUESTS);
  assert_string_equal(err.message,
                      "the client has 10 sessions, and may have 10");
  for (uint8_t i = 0; i < 70; i++) (void)make(&all, 2 + i);
  wish.owner = owner_of(200);
  assert_int_not_equal(fc_session_create(&all, &wish, 1, &session, &err),
                       FC_OK);
  assert_int_equal(err.code, FC_CODE_OVERLOADED);
  fc_sessions_deinit(&all);
}

static void a_call_takes_no_more_than_is_left(void **state) {
  (void)state;
  static toy_t toy;
  fc_error_t err;
  struct {
    uint64_t memory, share, own;
    fc_code_t code;
  } rows[] = {{64 * MILLION, 64 * MILLION, 4096, FC_CODE_TOO_MANY_REQUESTS},
              {64 * MILLION, 4096, 0, FC_CODE_TOO_MANY_REQUESTS},
              {4096, 64 * MILLION, 0, FC_CODE_OVERLOADED}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_sessions_t all = make_all(fc_allocator_system());
    all.limits.memory = rows[i].memory;
    all.limits.owner_memory = rows[i].share;
    fc_session_wish_t wish = wish_of(1, 7);
    wish.max_bytes = rows[i].own;
    fc_session_t *session;
    fc_store_init(&toy.store);
    assert_int_equal(fc_session_create(&all, &wish, 1, &session, &err), FC_OK);
    begin(&toy, session);
    assert_null(open_sum(&toy, &err));
    assert_int_equal(err.code, rows[i].code);
    fc_store_deinit(&toy.store);
    session->claim.held = false;
    fc_sessions_deinit(&all);
  }
}

static void a_step_is_that_of_the_next_call(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  static toy_t toy;
  fc_error_t err;
  fc_store_init(&toy.store);
  fc_session_t *session = make(&all, 1);
  assert_int_equal(fc_session_check_step(session, 0, &err), FC_OK);
  assert_int_equal(call(&toy, session, 1), 1);
  assert_int_equal(fc_session_check_step(session, 1, &err), FC_OK);
  assert_int_not_equal(fc_session_check_step(session, 0, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SESSION_BUSY);
  assert_string_equal(err.message,
                      "the call is for step 0, the session is at step 1");
  begin(&toy, session);
  assert_int_not_equal(fc_session_check_step(session, 1, &err), FC_OK);
  end(session);
  fc_store_deinit(&toy.store);
  fc_sessions_deinit(&all);
}

// ---------------------------------------------------------------------------
// Memory

static fc_status_t live(fc_sessions_t *all, toy_t *toy, fc_error_t *err) {
  const fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *one, *two;
  FC_TRY(fc_session_create(all, &wish, 1, &one, err));
  begin(toy, one);
  (void)open_sum(toy, err);
  assert_true(one->claim.class_->take(&one->claim, &toy->desk, DONE, err));
  end(one);
  if (one->lost) return fc_fail_memory(err);
  FC_TRY(fc_session_fork(one, &wish, 1, &two, err));
  return FC_OK;
}

// A call of a checkpointed session writes 7 and keeps a value. There may be no memory
// for that; then nothing of it may be left.
static fc_status_t live_on(fc_sessions_t *all, toy_t *toy, fc_error_t *err) {
  fc_session_wish_t wish = wish_of(1, 7);
  fc_session_t *session;
  wish.checkpoint = true;
  FC_TRY(fc_session_create(all, &wish, 1, &session, err));
  for (uint8_t step = 0; step < 2; step++) {
    fc_outcome_t outcome = *DONE;
    begin(toy, session);
    const uint8_t *had = open_sum(toy, err);
    assert_int_equal(had[0], step ? 7 : 0);
    memset(open_sum(toy, err), 7 + step, SIZE);
    fc_store_end(&toy->store);
    assert_true(session->claim.class_->take(&session->claim, &toy->desk,
                                            &outcome, &outcome.error));
    end(session);
    assert_false(session->lost);
    const uint8_t steps = outcome.status == FC_OK ? step + 1 : step;
    assert_int_equal(session->step, steps);
    assert_int_equal(session->count, steps ? 1 : 0);
    assert_int_equal(taken(all), steps ? 2 * FC_STORE_PAGE : 0);
    *err = outcome.error;
    if (outcome.status != FC_OK) return outcome.status;
  }
  return FC_OK;
}

static fc_status_t attempt_on(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  toy_t *toy = context;
  fc_sessions_t all = make_all(allocator);
  fc_store_init(&toy->store);
  const fc_status_t status = live_on(&all, toy, err);
  fc_store_deinit(&toy->store);
  fc_sessions_deinit(&all);
  return status;
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  toy_t *toy = context;
  fc_sessions_t all = make_all(allocator);
  fc_store_init(&toy->store);
  const fc_status_t status = live(&all, toy, err);
  fc_store_deinit(&toy->store);
  fc_sessions_deinit(&all);
  return status;
}

static void each_failed_allocation_is_an_error(void **state) {
  (void)state;
  static toy_t toy;
  assert_true(fc_test_allocation_sweep(attempt, &toy) > 8);
  assert_true(fc_test_allocation_sweep(attempt_on, &toy) > 8);
}

static void many_come_and_go(void **state) {
  (void)state;
  fc_sessions_t all = make_all(fc_allocator_system());
  all.limits = fc_session_limits(10000, 64 * MILLION, MILLION);
  all.limits.owner_sessions = 10000;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 10000; i++) (void)make(&all, 1);
    assert_int_equal(all.count, 10000);
    fc_sessions_look(&all, UINT32_MAX, 3 * MILLION);
    assert_int_equal(all.count, 0);
    assert_null(all.slabs);
  }
  assert_int_equal(let_go_count, 20000);
  fc_sessions_deinit(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(sessions_keep_what_their_calls_made),
      FC_TEST(a_value_without_bytes_has_no_place),
      FC_TEST(addresses_last),
      FC_TEST(calls_share_what_is_left),
      FC_TEST(new_sessions_get_new_addresses),
      FC_TEST(a_fork_has_its_own_history),
      FC_TEST(values_are_removed_by_name),
      FC_TEST(a_failed_call_leaves_nothing_new),
      FC_TEST(a_crash_loses_the_session_and_no_other),
      FC_TEST(a_shared_value_is_no_room_for_new_ones),
      FC_TEST(a_checkpointed_session_undoes_what_fails),
      FC_TEST(sessions_of_a_replaced_module_end),
      FC_TEST(sessions_pass_to_the_next_generation_with_their_slab),
      FC_TEST(its_time_begins_when_its_calls_have_ended),
      FC_TEST(a_stopped_interpreter_loses_the_session),
      FC_TEST(an_end_waits_for_the_call_that_runs),
      FC_TEST(a_desk_that_lies_is_noticed),
      FC_TEST(a_row_that_was_there_keeps_its_name),
      FC_TEST(a_worker_that_takes_more_spoils_the_slab),
      FC_TEST(only_its_owner_finds_a_session),
      FC_TEST(a_sequence_is_found_by_its_name),
      FC_TEST(a_retired_session_ends_after_its_requests),
      FC_TEST(shares_and_limits_have_numbers),
      FC_TEST(a_call_takes_no_more_than_is_left),
      FC_TEST(a_step_is_that_of_the_next_call),
      FC_TEST(sessions_end_with_their_connection),
      FC_TEST(many_end_with_their_connection),
      FC_TEST(each_failed_allocation_is_an_error),
      FC_TEST(many_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
