// SPDX-License-Identifier: Apache-2.0
//
// The ring of a worker process; both sides are in this test. Calls get through
// whichever side is asleep or awake, and nothing is believed that a worker could write.
#include "pool/ring.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/stop.h"
#include "helpers/test.h"
#include "config/limits.h"
#include "obs/spans.h"

#define BODY 1000
#define RESULT 2000

typedef struct pair_t {
  fc_ring_t loop;
  fc_ring_t worker;
  int bell;
} pair_t;

static void open_pair(pair_t *pair, uint32_t spin_ns) {
  const fc_ring_setup_t setup = {
      .body_size = BODY, .result_size = RESULT, .spin_ns = spin_ns};
  fc_error_t error;
  assert_int_equal(fc_ring_create(&setup, &pair->loop, &error), FC_OK);
  assert_int_equal(fc_ring_open(dup(pair->loop.fd), &pair->worker, &error),
                   FC_OK);
  pair->bell = eventfd(0, EFD_CLOEXEC);
  assert_true(pair->bell >= 0);
}

static void close_pair(pair_t *pair) {
  fc_ring_close(&pair->loop);
  fc_ring_close(&pair->worker);
  close(pair->bell);
}

static void put(pair_t *pair, uint32_t slot, const char *body) {
  const fc_invocation_t call = {.function = 7, .deadline_ns = 99};
  fc_ring_put(&pair->loop, slot, &call, fc_str(body));
  fc_ring_notify(&pair->loop);
}

// Answers as a worker would, with the body that came.
static void answer(pair_t *pair, uint32_t index) {
  fc_slot_t *slot = &pair->worker.head->slots[index].slot;
  const uint8_t *body = fc_ring_body(&pair->worker, index).data;
  memcpy(fc_ring_answer(&pair->worker, index).data + FC_LIMIT_HEAD, body,
         slot->call.body.size);
  slot->outcome.status = FC_OK;
  slot->outcome.stage = FC_STAGE_ENCODE;
  slot->outcome.piece_count = 1;
  slot->outcome.document = 0;
  slot->outcome.pieces[0] =
      (fc_piece_t){slot->answer_block, FC_LIMIT_HEAD, slot->call.body.size};
  slot->outcome.began_ns = fc_clock_ns();
}

static void a_ring_is_sealed_and_has_one_layout(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair, 0);
  assert_int_equal(ftruncate(pair.loop.fd, 0), -1);
  assert_int_equal(ftruncate(pair.loop.fd, 1 << 30), -1);
  assert_int_equal(pair.loop.size, fc_ring_size(&pair.loop.setup));
  assert_int_equal(pair.worker.setup.body_size, BODY);
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    fc_span_t body = fc_ring_body(&pair.loop, i);
    fc_span_t result = fc_ring_answer(&pair.loop, i);
    assert_true(body.size >= BODY + FC_BLOCK_TAIL);
    assert_int_equal(result.size, FC_LIMIT_HEAD + RESULT + FC_BLOCK_TAIL);
    // All areas lie inside the memory, and none overlaps another.
    memset(body.data, (int)i + 1, body.size);
    memset(result.data, (int)i + 101, result.size);
  }
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    fc_span_t body = fc_ring_body(&pair.worker, i);
    fc_span_t result = fc_ring_answer(&pair.worker, i);
    assert_int_equal(body.data[0], i + 1);
    assert_int_equal(body.data[body.size - 1], i + 1);
    assert_int_equal(result.data[0], i + 101);
    assert_int_equal(result.data[result.size - 1], i + 101);
    assert_int_equal(fc_ring_state(&pair.loop, i), FC_RING_FREE);
  }
  // A worker refuses a layout that is not the one it computes itself.
  fc_ring_t other;
  fc_error_t error;
  pair.loop.head->setup.body_size = 1 << 20;
  assert_int_not_equal(fc_ring_open(dup(pair.loop.fd), &other, &error), FC_OK);
  close_pair(&pair);
}

static void scrub(const fc_ring_t *ring, fc_span_t area, uint64_t used) {
  uint64_t at = 0;
  while (fc_ring_scrub(ring, area, used, 1 << 20, &at)) continue;
}

static void what_is_touched_is_counted_until_it_is_given_back(void **state) {
  (void)state;
  const fc_ring_setup_t setup = {.body_size = 4 << 20, .result_size = 8 << 20};
  fc_ring_t loop, worker;
  fc_error_t error;
  assert_int_equal(fc_ring_create(&setup, &loop, &error), FC_OK);
  assert_int_equal(fc_ring_open(dup(loop.fd), &worker, &error), FC_OK);
  // The ring's own head counts, too. Its pages count once they are touched, so 64 KiB
  // may be added.
  const uint64_t head = fc_ring_taken(&loop) + (64 << 10);
  assert_true(head <= 128 << 10);
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    fc_span_t body = fc_ring_body(&worker, i);
    fc_span_t answer = fc_ring_answer(&worker, i);
    memset(body.data, 1, body.size);
    memset(answer.data, 1, answer.size);
    uint64_t taken = fc_ring_taken(&loop);
    assert_true(taken >= body.size + answer.size);
    scrub(&loop, fc_ring_body(&loop, i), body.size);
    scrub(&loop, fc_ring_answer(&loop, i), answer.size);
    assert_true(fc_ring_taken(&loop) <= head);
  }
  // Neither the memory that an idle ring keeps nor one full slot is suspicious.
  for (uint32_t i = 0; i < FC_RING_SLOTS; i++) {
    memset(fc_ring_body(&worker, i).data, 1, 256 << 10);
    memset(fc_ring_answer(&worker, i).data, 1, 256 << 10);
    scrub(&loop, fc_ring_body(&loop, i), 256 << 10);
    scrub(&loop, fc_ring_answer(&loop, i), 256 << 10);
  }
  assert_true(fc_ring_taken(&loop) <= FC_RING_SPARE);
  fc_ring_close(&loop);
  fc_ring_close(&worker);
}

static void a_call_goes_through_as_it_is(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair, 0);
  // Whatever the previous call may have left must not matter.
  fc_slot_t *slot = &pair.worker.head->slots[0].slot;
  fc_span_t area = fc_ring_body(&pair.worker, 0);
  memset(area.data, 0xFF, area.size);
  memset(slot, 0xFF, sizeof *slot);
  put(&pair, 0, "[1,2]");
  assert_int_equal(slot->outcome.piece_count, 0);
  assert_int_equal(atomic_load(&slot->cancel), 0);
  assert_int_equal(atomic_load(&slot->begun), FC_BEGUN_NOT);
  assert_int_equal(fc_ring_state(&pair.loop, 0), FC_RING_READY);
  assert_int_equal(fc_ring_take(&pair.worker), 0);
  assert_int_equal(fc_ring_state(&pair.loop, 0), FC_RING_BUSY);
  assert_int_equal(slot->call.function, 7);
  assert_int_equal(slot->call.deadline_ns, 99);
  assert_int_equal(slot->call.body.block, FC_RING_BODY_BLOCK(0));
  assert_int_equal(slot->call.body.size, 5);
  // The decoder may read up to FC_BLOCK_TAIL bytes past the body, so these must be
  // zero.
  const uint8_t *body = fc_ring_body(&pair.worker, 0).data;
  assert_int_equal(body[5], 0);
  assert_int_equal(body[5 + FC_BLOCK_TAIL - 1], 0);
  answer(&pair, 0);
  assert_false(fc_ring_done(&pair.worker, 0));

  const fc_ring_call_t call = {.sent_ns = 1, .body_size = 5};
  fc_outcome_t out;
  fc_ring_sizes_t sizes;
  fc_error_t error;
  assert_true(fc_ring_read(&pair.loop, 0, &call, &out, &sizes, &error));
  assert_int_equal(out.status, FC_OK);
  assert_int_equal(sizes.in_area, 5);
  fc_ring_free(&pair.loop, 0);
  assert_int_equal(fc_ring_state(&pair.worker, 0), FC_RING_FREE);
  close_pair(&pair);
}

// A batch that begins near the end of the ring and wraps, followed by a single call.
static void a_batch_is_taken_whole(void **state) {
  (void)state;
  enum { FIRST = FC_RING_SLOTS - 2, CALLS = 3 };
  pair_t pair;
  open_pair(&pair, 0);
  pair.worker.next = FIRST;
  pair.loop.holds = true;
  for (uint32_t i = 0; i < CALLS; i++) {
    put(&pair, (FIRST + i) % FC_RING_SLOTS, "[]");
    assert_int_equal(fc_ring_state(&pair.loop, (FIRST + i) % FC_RING_SLOTS),
                     FC_RING_FREE);
  }
  fc_ring_release(&pair.loop, FIRST, CALLS);
  put(&pair, (FIRST + CALLS) % FC_RING_SLOTS, "[]");
  assert_int_equal(fc_ring_take(&pair.worker), FIRST);
  assert_int_equal(fc_ring_take_mates(&pair.worker, FIRST), CALLS - 1);
  for (uint32_t i = 0; i <= CALLS; i++) {
    assert_int_equal(fc_ring_state(&pair.loop, (FIRST + i) % FC_RING_SLOTS),
                     i < CALLS ? FC_RING_BUSY : FC_RING_READY);
  }
  // A single call has no mates, whether it was held or not.
  const uint32_t last = fc_ring_take(&pair.worker);
  assert_int_equal(fc_ring_take_mates(&pair.worker, last), 0);
  pair.loop.holds = true;
  put(&pair, last + 1, "[]");
  fc_ring_release(&pair.loop, last + 1, 1);
  assert_int_equal(fc_ring_take(&pair.worker), last + 1);
  assert_int_equal(fc_ring_take_mates(&pair.worker, last + 1), 0);
  close_pair(&pair);
}

static void a_loop_that_waits_is_woken_once(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair, 0);
  for (uint32_t i = 0; i < 3; i++) put(&pair, i, "x");
  assert_true(fc_ring_sleep(&pair.loop, 0, 3));
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(fc_ring_take(&pair.worker), i);
    assert_int_equal(fc_ring_done(&pair.worker, i), i == 0);
  }
  // The answer was there before the loop went to sleep, so it must not sleep.
  fc_ring_wake(&pair.loop);
  assert_false(fc_ring_sleep(&pair.loop, 0, 3));
  close_pair(&pair);
}

// ---------------------------------------------------------------------------
// Many calls, where both sides sleep whenever they may

#define CALLS 30000

static void *work(void *context) {
  pair_t *pair = context;
  for (uint32_t i = 0; i < CALLS; i++) {
    uint32_t slot = fc_ring_take(&pair->worker);
    answer(pair, slot);
    if (fc_ring_done(&pair->worker, slot)) eventfd_write(pair->bell, 1);
  }
  return NULL;
}

static void take_answers(pair_t *pair, uint32_t *first, uint32_t *count,
                         uint32_t *done) {
  while (*count && fc_ring_state(&pair->loop, *first) == FC_RING_DONE) {
    const fc_ring_call_t call = {.body_size = 8};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    fc_error_t error;
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%08u", (*done)++);
    assert_true(fc_ring_read(&pair->loop, *first, &call, &out, &sizes, &error));
    assert_int_equal(sizes.in_area, 8);
    assert_memory_equal(
        fc_ring_answer(&pair->loop, *first).data + FC_LIMIT_HEAD, wanted, 8);
    fc_ring_free(&pair->loop, *first);
    *first = (*first + 1) % FC_RING_SLOTS;
    --*count;
  }
}

static void no_call_is_slept_through(void **state) {
  (void)state;
  static const uint32_t kSpins[] = {0, 1000, 50000};
  for (size_t row = 0; row < FC_ARRAY_COUNT(kSpins); row++) {
    pair_t pair;
    open_pair(&pair, kSpins[row]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, &pair), 0);
    uint32_t first = 0, count = 0, sent = 0, done = 0, seed = 1;
    while (done < CALLS) {
      seed = seed * 1103515245u + 12345u;
      uint32_t batch = 1 + (seed >> 16) % FC_RING_SLOTS;
      for (; batch && count < FC_RING_SLOTS && sent < CALLS; batch--) {
        char body[16];
        snprintf(body, sizeof body, "%08u", sent++);
        const fc_invocation_t call = {0};
        fc_ring_put(&pair.loop, (first + count++) % FC_RING_SLOTS, &call,
                    fc_str(body));
      }
      fc_ring_notify(&pair.loop);
      if (count && fc_ring_sleep(&pair.loop, first, count)) {
        uint64_t rung;
        // If a wake-up were lost, this would wait for ever.
        assert_int_equal(eventfd_read(pair.bell, &rung), 0);
      }
      fc_ring_wake(&pair.loop);
      take_answers(&pair, &first, &count, &done);
    }
    pthread_join(thread, NULL);
    close_pair(&pair);
  }
}

// ---------------------------------------------------------------------------
// Lies of a worker

typedef enum lie_t {
  LIE_NONE,
  LIE_STATUS,
  LIE_STATUS_HUGE,
  LIE_STAGE_EARLY,
  LIE_STAGE_LATE,
  LIE_NO_PIECE,
  LIE_MANY_PIECES,
  LIE_BLOCK,
  LIE_BODY_BLOCK,
  LIE_OFFSET,
  LIE_LENGTH,
  LIE_LENGTH_HUGE,
  LIE_DOCUMENT,
  LIE_SPANS,
  LIE_SPANS_PART,
  LIE_SPANS_BEYOND,
  LIE_SPANS_UNASKED,  // which nobody reads
  LIE_CODE,
  LIE_CODE_NONE,
  LIE_CODE_OF_THE_LOOP,
  LIE_CODE_NEGATIVE,
  LIE_OTHER_STATUS,
  LIE_BOOL,
  LIE_MESSAGE,
  LIE_POINTER,
  LIE_EXPECTED,
  LIE_GOT,
  LIE_NAME,
  LIE_NAME_TEXT,
  LIE_VALIDATED,
  LIE_CANCELLED_BEFORE,
  LIE_CANCELLED,
  LIE_LATE,
  LIE_LATE_BEFORE,  // of the turn before, which is none
} lie_t;

static void fail_honestly(fc_slot_t *slot) {
  slot->outcome.status =
      fc_fail(&slot->outcome.error, FC_CODE_OUT_OF_RANGE, "too much");
  slot->outcome.stage = FC_STAGE_DECODE;
  slot->outcome.piece_count = 0;
  slot->outcome.name_size = 0;
}

static void tell(fc_slot_t *slot, lie_t lie) {
  if (lie >= LIE_CODE && lie < LIE_VALIDATED) fail_honestly(slot);
  fc_error_t *error = &slot->outcome.error;
  fc_piece_t *piece = &slot->outcome.pieces[0];
  switch (lie) {
    case LIE_NONE:
      break;
    case LIE_STATUS:
      slot->outcome.status = (fc_status_t)(FC_INCOMPATIBLE + 1);
      break;
    case LIE_STATUS_HUGE:
      memset(&slot->outcome.status, 0xFF, sizeof slot->outcome.status);
      break;
    case LIE_STAGE_EARLY:
      slot->outcome.stage = FC_STAGE_READ;
      break;
    case LIE_STAGE_LATE:
      slot->outcome.stage = 200;
      break;
    case LIE_NO_PIECE:
      slot->outcome.piece_count = 0;
      break;
    case LIE_MANY_PIECES:
      slot->outcome.piece_count = FC_PIECES_MAX + 1;
      break;
    case LIE_BLOCK:
      piece->block = UINT32_MAX;
      break;
    case LIE_BODY_BLOCK:
      piece->block = FC_RING_BODY_BLOCK(0);
      break;
    case LIE_OFFSET:
      piece->offset = 0;
      break;
    case LIE_LENGTH:
      piece->size = RESULT + 1;
      break;
    case LIE_LENGTH_HUGE:
      piece->size = UINT64_MAX;
      break;
    case LIE_CODE:
      error->code = FC_CODE_COUNT;
      break;
    case LIE_CODE_NONE:
      error->code = FC_CODE_NONE;
      break;
    case LIE_CODE_OF_THE_LOOP:
      error->code = FC_CODE_UNAUTHORIZED;
      break;
    case LIE_CODE_NEGATIVE:
      memset(&error->code, 0xFF, sizeof error->code);
      break;
    case LIE_OTHER_STATUS:
      error->status = FC_UNIMPLEMENTED;
      break;
    case LIE_BOOL:
      memset(&error->has_pointer, 7, 1);
      break;
    case LIE_DOCUMENT:
      slot->outcome.document = piece->size + 1;
      break;
    case LIE_SPANS:
      slot->outcome.spans_size =
          (FC_SPANS_DISPATCHES + 1) * (uint32_t)sizeof(fc_dispatch_span_t);
      break;
    case LIE_SPANS_PART:
      slot->outcome.spans_size = 3;
      break;
    case LIE_SPANS_BEYOND:
    case LIE_SPANS_UNASKED:
      slot->outcome.spans_size = sizeof(fc_dispatch_span_t);
      break;
    case LIE_NAME:
      slot->outcome.name_size = FC_OUTCOME_NAME + 1;
      break;
    case LIE_NAME_TEXT:
      memset(slot->outcome.name, 0xC3, sizeof slot->outcome.name);
      slot->outcome.name_size = 7;
      break;
    case LIE_MESSAGE:
      memset(error->message, 'A', sizeof error->message);
      break;
    case LIE_POINTER:
      memset(error->pointer, 'A', sizeof error->pointer);
      break;
    case LIE_EXPECTED:
      memset(error->expected, 'A', sizeof error->expected);
      break;
    case LIE_GOT:
      memset(error->got, 'A', sizeof error->got);
      break;
    case LIE_VALIDATED:  // an answer to ?validate=only
      break;
    case LIE_CANCELLED_BEFORE:
      slot->outcome.status =
          fc_fail_as(error, FC_CODE_INTERNAL, FC_CANCELLED, "nobody");
      break;
    case LIE_CANCELLED:
      atomic_store(&slot->cancel, 1);
      slot->outcome.status = fc_stop_fail(FC_CANCELLED, error);
      break;
    case LIE_LATE:
    case LIE_LATE_BEFORE:
      slot->outcome.status = fc_stop_fail(FC_DEADLINE_EXCEEDED, error);
      break;
  }
}

static void lies_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    lie_t lie;
    const char *says;
  } rows[] = {
      {"none", LIE_NONE, NULL},
      {"a status", LIE_STATUS, "status 19"},
      {"a huge status", LIE_STATUS_HUGE, "status 4294967295"},
      {"a stage before", LIE_STAGE_EARLY, "stage 0"},
      {"a stage that is none", LIE_STAGE_LATE, "stage 200"},
      {"no piece", LIE_NO_PIECE, "pieces 0"},
      {"many pieces", LIE_MANY_PIECES, "pieces 13"},
      {"a block", LIE_BLOCK, "block 4294967295"},
      {"the body's block", LIE_BODY_BLOCK, "block 0"},
      {"an offset", LIE_OFFSET, "offset 0"},
      {"a length", LIE_LENGTH, "length 2001"},
      {"a huge length", LIE_LENGTH_HUGE, "length 18446744073709551615"},
      {"a document beyond the answer", LIE_DOCUMENT, "document "},
      {"many spans", LIE_SPANS, "spans 8320"},
      {"a part of a span", LIE_SPANS_PART, "spans 3"},
      {"spans beyond the answer", LIE_SPANS_BEYOND, "spans 128"},
      {"spans nobody asked for", LIE_SPANS_UNASKED, NULL},
      {"a code", LIE_CODE, "code"},
      {"no code", LIE_CODE_NONE, "code 0"},
      {"a code of the loop's", LIE_CODE_OF_THE_LOOP, "code"},
      {"a negative code", LIE_CODE_NEGATIVE, "code 4294967295"},
      {"two statuses", LIE_OTHER_STATUS, "status 12"},
      {"a bool that is 7", LIE_BOOL, "error"},
      {"a message without end", LIE_MESSAGE, "without an end"},
      {"a pointer without end", LIE_POINTER, "without an end"},
      {"an expectation without end", LIE_EXPECTED, "without an end"},
      {"client text without end", LIE_GOT, "without an end"},
      {"a long name", LIE_NAME, "name 65"},
      {"a name that is no text", LIE_NAME_TEXT, "name 7"},
      {"an answer nobody asked for", LIE_VALIDATED, "pieces 1"},
      {"cancelled by nobody before", LIE_CANCELLED_BEFORE, "cancelled 1"},
      {"cancelled by nobody", LIE_CANCELLED, "cancelled 1"},
      {"late before the deadline", LIE_LATE, "deadline 0"},
      {"late in the turn before", LIE_LATE_BEFORE, NULL},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair, 0);
    put(&pair, 0, "[1]");
    (void)fc_ring_take(&pair.worker);
    answer(&pair, 0);
    tell(&pair.worker.head->slots[0].slot, row->lie);
    const fc_ring_call_t call = {
        .body_size = 3,
        .awaited = true,
        .parts = row->lie == LIE_LATE_BEFORE,
        .flags = row->lie == LIE_VALIDATED     ? FC_CALL_VALIDATE
                 : row->lie == LIE_LATE_BEFORE ? FC_CALL_LATER
                 : row->lie == LIE_SPANS_UNASKED
                     ? 0
                     : FC_CALL_PROFILE | FC_CALL_TRACED};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    fc_error_t error;
    bool good = fc_ring_read(&pair.loop, 0, &call, &out, &sizes, &error);
    assert_int_equal(good, row->says == NULL);
    if (row->says) {
      assert_int_equal(error.code, FC_CODE_WORKER_CRASHED);
      assert_non_null(strstr(error.message, row->says));
    }
    // Values that were read from an answer are within their bounds, even if it is a
    // lie.
    assert_in_range(out.name_size, 0, sizeof out.name);
    close_pair(&pair);
  }
}

// The second piece of an answer may be in the file that the loop has lent.
static void an_answer_may_go_on_in_a_file(void **state) {
  (void)state;
  enum { MOST = FC_RING_FIRST - FC_LIMIT_HEAD, ALL = 1 << 20 };
  static const struct {
    const char *name;
    bool lent;
    uint32_t count;
    fc_piece_t pieces[2];
    uint64_t document;
    const char *says;  // NULL: good
  } rows[] = {
      {"it does", true, 2, {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}}, 16, NULL},
      {"it need not", true, 1, {{16, FC_LIMIT_HEAD, ALL}, {0}}, 0, NULL},
      {"nothing before",
       true,
       2,
       {{16, FC_LIMIT_HEAD, 0}, {48, 0, 7}},
       0,
       NULL},
      {"all of both",
       true,
       2,
       {{16, FC_LIMIT_HEAD, MOST}, {48, 0, ALL - MOST}},
       0,
       NULL},
      {"none was lent",
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}},
       0,
       "pieces 2"},
      {"three", true, 3, {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}}, 0, "pieces 3"},
      {"the body's file",
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {32, 0, 7}},
       0,
       "block 32"},
      {"an area", true, 2, {{16, FC_LIMIT_HEAD, 9}, {17, 0, 7}}, 0, "block 17"},
      {"an offset",
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {48, 8, 7}},
       0,
       "offset 8"},
      {"nothing", true, 2, {{16, FC_LIMIT_HEAD, 9}, {48, 0, 0}}, 0, "length 0"},
      {"one more",
       true,
       2,
       {{16, FC_LIMIT_HEAD, MOST}, {48, 0, ALL - MOST + 1}},
       0,
       "length"},
      {"a sum that wraps",
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {48, 0, UINT64_MAX - 4}},
       0,
       "length"},
      {"more than goes before it",
       true,
       2,
       {{16, FC_LIMIT_HEAD, MOST + 1}, {48, 0, 7}},
       0,
       "length"},
      {"a document beyond both",
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}},
       17,
       "document 17"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_ring_setup_t setup = {.body_size = BODY, .result_size = ALL};
    fc_ring_t ring;
    fc_error_t error;
    assert_int_equal(fc_ring_create(&setup, &ring, &error), FC_OK);
    fc_outcome_t *said = &ring.head->slots[0].slot.outcome;
    said->stage = FC_STAGE_ENCODE;
    said->piece_count = row->count;
    said->document = row->document;
    memcpy(said->pieces, row->pieces, sizeof row->pieces);
    const fc_ring_call_t call = {.awaited = true, .lent = row->lent};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    const bool good = fc_ring_read(&ring, 0, &call, &out, &sizes, &error);
    assert_int_equal(good, row->says == NULL);
    if (row->says) assert_non_null(strstr(error.message, row->says));
    assert_int_equal(sizes.in_area, good ? row->pieces[0].size : 0);
    assert_int_equal(sizes.in_file, good ? row->pieces[1].size : 0);
    fc_ring_close(&ring);
  }
}

// The last piece of an answer may be in the body's file. The body is the bytes 100 to
// 599 of the file on shelf 2.
static void an_answer_may_end_in_the_body(void **state) {
  (void)state;
  enum { ALL = 1 << 20 };
  static const struct {
    const char *name;
    bool in_file, lent;
    uint32_t count;
    fc_piece_t pieces[3];
    uint64_t document;
    const char *says;  // NULL: good
  } rows[] = {
      {"all of it",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 100, 500}},
       9,
       NULL},
      {"its end",
       true,
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 599, 1}},
       0,
       NULL},
      {"behind an answer's file",
       true,
       true,
       3,
       {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}, {34, 200, 50}},
       66,
       NULL},
      {"before it",
       true,
       true,
       3,
       {{16, FC_LIMIT_HEAD, 9}, {34, 200, 50}, {48, 0, 7}},
       0,
       "block 34"},
      {"twice",
       true,
       true,
       3,
       {{16, FC_LIMIT_HEAD, 9}, {34, 200, 50}, {34, 200, 50}},
       0,
       "block 34"},
      {"an answer's file that was not lent",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {48, 0, 7}},
       0,
       "block 48"},
      {"alone", true, false, 1, {{34, 100, 50}}, 0, "block 34"},
      {"not in a file",
       false,
       true,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 100, 500}},
       0,
       "block 34"},
      {"another shelf",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {35, 100, 500}},
       0,
       "block 35"},
      {"too early",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 99, 5}},
       0,
       "offset 99"},
      {"too late",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 601, 1}},
       0,
       "offset 601"},
      {"nothing",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 600, 0}},
       0,
       "length 0"},
      {"too long",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 300, 301}},
       0,
       "length 301"},
      {"a sum that wraps",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 300, UINT64_MAX - 4}},
       0,
       "length"},
      {"a document beyond",
       true,
       false,
       2,
       {{16, FC_LIMIT_HEAD, 9}, {34, 300, 30}},
       40,
       "document 40"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_ring_setup_t setup = {.body_size = BODY, .result_size = ALL};
    fc_ring_t ring;
    fc_error_t error;
    assert_int_equal(fc_ring_create(&setup, &ring, &error), FC_OK);
    fc_outcome_t *said = &ring.head->slots[0].slot.outcome;
    said->stage = FC_STAGE_ENCODE;
    said->piece_count = row->count;
    said->document = row->document;
    memcpy(said->pieces, row->pieces, sizeof row->pieces);
    fc_ring_call_t call = {.awaited = true,
                           .lent = row->lent,
                           .in_file = row->in_file,
                           .shelf = 2,
                           .body_offset = 100,
                           .body_size = 500};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    // A call in parts may have its carry where the body was, so no piece may lie there.
    call.parts = true;
    if (row->in_file && row->count > 1) {
      assert_false(fc_ring_read(&ring, 0, &call, &out, &sizes, &error));
    }
    call.parts = false;
    const bool good = fc_ring_read(&ring, 0, &call, &out, &sizes, &error);
    assert_int_equal(good, row->says == NULL);
    if (row->says) assert_non_null(strstr(error.message, row->says));
    const fc_piece_t *last = &row->pieces[row->count - 1];
    assert_int_equal(sizes.in_body, good ? last->size : 0);
    assert_int_equal(sizes.body_at, good ? last->offset : 0);
    assert_int_equal(sizes.in_file, good && row->count == 3 ? 7 : 0);
    fc_ring_close(&ring);
  }
}

// What a turn keeps for the next turn must lie in its slot's area for the body. Only
// calls in parts may keep anything.
static void what_a_turn_leaves_is_checked(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_piece_t carry;
    bool parts;
    uint8_t more;
    uint64_t left;  // what is believed
    const char *says;
  } rows[] = {
      {"at the beginning", {0, 0, 30}, true, 1, 30, NULL},
      {"behind the body", {0, 64, 30}, true, 1, 30, NULL},
      {"a bool of another value", {0, 0, 30}, true, 77, 30, NULL},
      {"no more", {9, 9, 9}, true, 0, 0, NULL},
      {"of a call in one", {9, 9, 9}, false, 1, 0, NULL},
      {"of another slot", {1, 0, 30}, true, 1, 0, "block 1"},
      {"in the area of an answer", {16, 0, 30}, true, 1, 0, "block 16"},
      {"nothing", {0, 0, 0}, true, 1, 0, "length 0"},
      {"not aligned", {0, 8, 30}, true, 1, 0, "offset 8"},
      {"beyond", {0, 1u << 30, 30}, true, 1, 0, "offset"},
      {"longer than the area", {0, 64, 1u << 30}, true, 1, 0, "length"},
      {"a sum that wraps", {0, 64, UINT64_MAX - 4}, true, 1, 0, "length"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_ring_setup_t setup = {.body_size = BODY, .result_size = BODY};
    fc_ring_t ring;
    fc_error_t error;
    assert_int_equal(fc_ring_create(&setup, &ring, &error), FC_OK);
    fc_slot_t *slot = &ring.head->slots[0].slot;
    slot->outcome.stage = FC_STAGE_CALL;
    slot->outcome.piece_count = 1;
    slot->outcome.pieces[0] = (fc_piece_t){16, FC_LIMIT_HEAD, 9};
    memcpy(&slot->outcome.more, &row->more, 1);
    slot->call.body = row->carry;
    atomic_store(&slot->steps, 3);
    const fc_ring_call_t call = {
        .awaited = true, .parts = row->parts, .steps = 5};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    // The steps before this turn cannot be undone, and a turn makes at least one.
    assert_int_equal(fc_ring_steps(&ring, 0, &call), 5);
    if (row->parts && row->more) {
      assert_false(fc_ring_read(&ring, 0, &call, &out, &sizes, &error));
      assert_non_null(strstr(error.message, "steps 5"));
    }
    atomic_store(&slot->steps, 8);
    assert_int_equal(fc_ring_steps(&ring, 0, &call), 8);
    const bool good = fc_ring_read(&ring, 0, &call, &out, &sizes, &error);
    assert_int_equal(good, row->says == NULL);
    if (row->says) assert_non_null(strstr(error.message, row->says));
    assert_int_equal(sizes.carry, good ? row->left : 0);
    if (good) assert_int_equal(out.more, row->left != 0);
    fc_ring_close(&ring);
  }
}

// The loop believes "cancelled" and "the deadline passed" only if it no longer waits
// for the call, if the deadline has passed, or if the module itself may have cancelled:
// then the cancel word is not set.
static void ends_from_outside_are_believed_if_they_can_be(void **state) {
  (void)state;
  const uint64_t late_ns = 1, early_ns = UINT64_MAX;
  static const struct {
    const char *name;
    fc_code_t code;
    fc_status_t status;
    uint32_t word;
    bool awaited, late, good;
  } rows[] = {
      {"dropped before", FC_CODE_INTERNAL, FC_CANCELLED, 1, false, false, true},
      {"dropped", FC_CODE_CALL_FAILED, FC_CANCELLED, 1, false, false, true},
      {"its own status", FC_CODE_CALL_FAILED, FC_CANCELLED, 0, true, false,
       true},
      {"the word", FC_CODE_CALL_FAILED, FC_CANCELLED, 1, true, false, false},
      {"taken back", FC_CODE_INTERNAL, FC_CANCELLED, 0, true, false, false},
      {"late", FC_CODE_DEADLINE_EXCEEDED, FC_DEADLINE_EXCEEDED, 0, true, true,
       true},
      {"late and cancelled", FC_CODE_DEADLINE_EXCEEDED, FC_DEADLINE_EXCEEDED, 1,
       false, true, true},
      {"not late", FC_CODE_DEADLINE_EXCEEDED, FC_DEADLINE_EXCEEDED, 0, true,
       false, false},
      {"not late, dropped", FC_CODE_DEADLINE_EXCEEDED, FC_DEADLINE_EXCEEDED, 1,
       false, false, true},
      {"a bug", FC_CODE_INTERNAL, FC_INTERNAL, 1, true, false, true},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair, 0);
    put(&pair, 0, "[1]");
    (void)fc_ring_take(&pair.worker);
    fc_slot_t *slot = &pair.worker.head->slots[0].slot;
    slot->outcome.status =
        fc_fail_as(&slot->outcome.error, row->code, row->status, "ended");
    slot->outcome.stage = FC_STAGE_CALL;
    atomic_store(&slot->cancel, row->word);
    const fc_ring_call_t call = {.awaited = row->awaited,
                                 .deadline_ns = row->late ? late_ns : early_ns};
    fc_outcome_t out;
    fc_ring_sizes_t sizes;
    fc_error_t error;
    bool good = fc_ring_read(&pair.loop, 0, &call, &out, &sizes, &error);
    assert_int_equal(good, row->good);
    close_pair(&pair);
  }
}

static void what_is_only_shown_is_made_fit(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair, 0);
  put(&pair, 0, "[1]");
  (void)fc_ring_take(&pair.worker);
  answer(&pair, 0);
  fc_slot_t *slot = &pair.worker.head->slots[0].slot;
  fail_honestly(slot);
  memcpy(slot->outcome.error.message, "a\nb\x1b[1m\xff\xc3\xa9", 11);
  slot->outcome.error.byte_offset = 1u << 30;

  uint64_t sent_ns = fc_clock_ns();
  const fc_ring_call_t call = {.sent_ns = sent_ns, .body_size = 3};
  fc_outcome_t out;
  fc_ring_sizes_t sizes;
  uint64_t now_ns;
  fc_error_t error;
  const uint64_t times[] = {UINT64_MAX, sent_ns};
  for (size_t row = 0; row < FC_ARRAY_COUNT(times); row++) {
    slot->outcome.began_ns = 5;
    for (int i = 0; i < FC_STAGE_COUNT; i++) {
      slot->outcome.spent_ns[i] = times[row];
    }
    assert_true(fc_ring_read(&pair.loop, 0, &call, &out, &sizes, &error));
    now_ns = fc_clock_ns();
    assert_string_equal(out.error.message, "a?b?[1m?\xc3\xa9");
    assert_true(out.error.byte_offset == FC_NO_OFFSET);
    assert_true(out.began_ns == sent_ns);
    for (int i = 0; i < FC_STAGE_COUNT; i++) {
      assert_true(out.spent_ns[i] <= now_ns - sent_ns);
      now_ns -= out.spent_ns[i];
    }
  }
  close_pair(&pair);
}

static void a_first_word_may_be_anything(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair, 0);
  fc_ring_head_t *head = pair.worker.head;
  char digest[FC_DIGEST_SIZE];
  fc_error_t error;
  assert_int_equal(fc_ring_phase(&pair.loop, digest, &error), FC_RING_LOADING);
  atomic_store(&head->phase, 77);
  assert_int_equal(fc_ring_phase(&pair.loop, digest, &error), FC_RING_LOADING);
  // The phase is FAILED, but the error is invalid.
  atomic_store(&head->phase, FC_RING_FAILED);
  assert_int_equal(fc_ring_phase(&pair.loop, digest, &error), FC_RING_FAILED);
  assert_int_equal(error.code, FC_CODE_MODULE_LOAD);
  memset(&head->error, 0xFF, sizeof head->error);
  assert_int_equal(fc_ring_phase(&pair.loop, digest, &error), FC_RING_FAILED);
  assert_int_equal(error.code, FC_CODE_MODULE_LOAD);
  (void)fc_fail(&head->error, FC_CODE_SYMBOL_CLASH, "'div'");
  assert_int_equal(fc_ring_phase(&pair.loop, digest, &error), FC_RING_FAILED);
  assert_int_equal(error.code, FC_CODE_SYMBOL_CLASH);

  head->fault = (fc_fault_t){.signal = 11, .in_module = 1, .offset = 0x1234};
  assert_int_equal(fc_ring_fault(&pair.loop).offset, 0x1234);
  head->fault.offset = UINT64_MAX;
  assert_int_equal(fc_ring_fault(&pair.loop).in_module, 0);
  head->fault.class_ = FC_FAULT_COUNT;
  assert_int_equal(fc_ring_fault(&pair.loop).signal, 0);
  close_pair(&pair);
}

#define DROPS (3 * FC_REFERENCES_MAX)

// Takes references until it has had DROPS of them, and checks that they come in order.
static void *free_all(void *context) {
  pair_t *pair = context;
  uint64_t number, next = 1;
  while (next <= DROPS) {
    assert_int_equal(fc_ring_take(&pair->worker), FC_SLOT_NONE);
    while (fc_ring_take_drop(&pair->worker, &number)) {
      assert_int_equal(number, next++);
    }
    fc_ring_note_freed(&pair->worker);
  }
  return NULL;
}

// A worker that sleeps is woken for them, and none is lost.
static void references_go_to_a_worker_without_calls(void **state) {
  (void)state;
  pair_t pair;
  pthread_t thread;
  open_pair(&pair, 0);
  assert_int_equal(pthread_create(&thread, NULL, free_all, &pair), 0);
  for (uint64_t number = 1; number <= DROPS; number++) {
    while (fc_ring_drops(&pair.loop) == FC_REFERENCES_MAX) sched_yield();
    fc_ring_drop(&pair.loop, number);
    fc_ring_notify(&pair.loop);
  }
  pthread_join(thread, NULL);
  assert_int_equal(fc_ring_drops(&pair.loop), 0);
  // What a worker says of them is bounded.
  atomic_store(&pair.worker.head->freed, DROPS + 7);
  assert_int_equal(fc_ring_drops(&pair.loop), FC_REFERENCES_MAX);
  close_pair(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_ring_is_sealed_and_has_one_layout),
      FC_TEST(what_is_touched_is_counted_until_it_is_given_back),
      FC_TEST(a_call_goes_through_as_it_is),
      FC_TEST(a_batch_is_taken_whole),
      FC_TEST(a_loop_that_waits_is_woken_once),
      FC_TEST(no_call_is_slept_through),
      FC_TEST(lies_are_refused),
      FC_TEST(an_answer_may_go_on_in_a_file),
      FC_TEST(an_answer_may_end_in_the_body),
      FC_TEST(what_a_turn_leaves_is_checked),
      FC_TEST(ends_from_outside_are_believed_if_they_can_be),
      FC_TEST(what_is_only_shown_is_made_fit),
      FC_TEST(a_first_word_may_be_anything),
      FC_TEST(references_go_to_a_worker_without_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
