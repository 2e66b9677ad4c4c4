// SPDX-License-Identifier: Apache-2.0
//
// Files that are sent to a worker process; both sides are in this test. A call gets the
// body that was sent for it and no other, whatever a module does to the socket.
#include "pool/handoff.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "helpers/files.h"
#include "helpers/shortage.h"
#include "helpers/test.h"
#include "pool/shared.h"

#define BODY ((uint64_t)1 << 20)
#define RESULT ((uint64_t)2 << 20)

static const fc_ring_setup_t kSetup = {.body_size = BODY,
                                       .result_size = RESULT};

typedef struct pair_t {
  int loop;
  uint32_t sent;
  fc_inbox_t inbox;
} pair_t;

static void open_pair(pair_t *pair) {
  int ends[2];
  fc_error_t error;
  assert_true(fc_handoff_open(ends));
  *pair = (pair_t){.loop = ends[0]};
  assert_int_equal(fc_inbox_open(ends[1], &kSetup, &pair->inbox, &error),
                   FC_OK);
}

static long page_size;  // 0: this machine's
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) {
  return page_size && name == _SC_PAGESIZE ? page_size : __real_sysconf(name);
}

static void close_pair(pair_t *pair) {
  fc_inbox_close(&pair->inbox);
  fc_inbox_close(&pair->inbox);  // twice is allowed
  close(pair->loop);
}

// Makes a file whose first byte is `byte`.
static int make_file(uint64_t size, char byte) {
  const int file = fc_shared_create("test", size + FC_BLOCK_TAIL);
  assert_int_equal(pwrite(file, &byte, 1, 0), 1);
  return file;
}

// The shelf of a body follows from its byte: that of b is 1.
static uint32_t shelf_of(char byte) { return (uint32_t)(byte - 'a'); }

static bool send_one(pair_t *pair, fc_handoff_kind_t kind, char byte) {
  const bool body = kind == FC_HANDOFF_BODY;
  const int file = make_file(body ? BODY : RESULT, byte);
  const bool sent = fc_handoff_send(pair->loop, pair->sent + 1, kind,
                                    body ? shelf_of(byte) : 0, file);
  pair->sent += sent;
  close(file);
  return sent;
}

// Takes a call that must get the body `wanted`. '-': its body is not in a file.
static fc_status_t take(pair_t *pair, uint32_t files, char wanted,
                        fc_error_t *err) {
  static fc_ring_slot_t slot;
  slot.files = files;
  slot.slot.call.body =
      (fc_piece_t){wanted == '-' ? FC_RING_BODY_BLOCK(0)
                                 : FC_RING_BODY_FILE(shelf_of(wanted)),
                   0, BODY};
  return fc_inbox_take(&pair->inbox, &slot, err);
}

static uint8_t *body_of(const pair_t *pair) {
  return pair->inbox.shelves[pair->inbox.shelf].room.data;
}

// What a module does to its end of the socket before the worker reads from it.
typedef enum deed_t {
  DEED_NONE,
  DEED_TAKE_FIRST,
  DEED_TAKE_ALL,
  DEED_SHUT,
  DEED_CLOSE,
} deed_t;

static void steal(int end) {
  char room[64];
  struct iovec part = {room, sizeof room};
  char control[64];
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
  assert_true(recvmsg(end, &message, MSG_DONTWAIT) > 0);
  int file;
  memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  // Who steals the file can write to it, but cannot change its size.
  assert_int_equal(ftruncate(file, 0), -1);
  assert_int_equal(ftruncate(file, 1 << 30), -1);
  close(file);
}

static void do_to(pair_t *pair, deed_t deed) {
  const int end = pair->inbox.end;
  switch (deed) {
    case DEED_NONE:
      return;
    case DEED_TAKE_FIRST:
      steal(end);
      return;
    case DEED_TAKE_ALL:
      for (uint32_t i = 0; i < pair->sent; i++) steal(end);
      return;
    case DEED_SHUT:
      shutdown(end, SHUT_RDWR);
      return;
    case DEED_CLOSE:
      assert_true(dup2(pair->loop, end) == end);  // now it is another file
      return;
  }
}

// Sends the messages 1, 2, …: b and c are bodies, A is the file of an answer. Then
// makes calls. Each is written as the NUMBER of messages that were sent before it, and
// the body that it needs or "-". The result is the body that it gets, "-" for none or
// "!" for a failure.
static void each_call_gets_its_body(void **state) {
  (void)state;
  static const struct {
    const char *name, *sent, *calls, *got;
    bool has_answer_file;
    deed_t deed;
  } rows[] = {
      {"nothing", "", "0-0-", "--", false, DEED_NONE},
      {"one", "b", "1b", "b", false, DEED_NONE},
      {"two", "bc", "1b2c", "bc", false, DEED_NONE},
      {"small ones between", "bc", "0-1b1-2c2-", "-b-c-", false, DEED_NONE},
      {"an answer's file before", "Ab", "1-2b", "-b", true, DEED_NONE},
      {"and behind", "bA", "1b2-", "b-", true, DEED_NONE},
      {"not yet", "bA", "1b", "b", false, DEED_NONE},
      {"and at once", "Ab", "2b", "b", true, DEED_NONE},
      {"one that no call wants", "bc", "2c", "c", false, DEED_NONE},
      {"nor this", "bc", "2-", "-", false, DEED_NONE},
      {"one again", "bc", "1b2c2b2b2c", "bcbbc", false, DEED_NONE},
      {"one that was not sent", "b", "1c1b", "!b", false, DEED_NONE},
      {"the first is stolen", "bc", "1b2c", "!!", false, DEED_TAKE_FIRST},
      {"that of an answer is", "Ab", "2b", "b", false, DEED_TAKE_FIRST},
      {"all are", "Abc", "2b3c3-", "!!-", false, DEED_TAKE_ALL},
      {"the end is shut", "b", "1b1-", "b-", false, DEED_SHUT},
      {"it is closed", "b", "1b1-", "!-", false, DEED_CLOSE},
  };
  const unsigned before = fc_test_open_files();
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair);
    for (const char *at = row->sent; *at; at++) {
      assert_true(send_one(
          &pair, *at == 'A' ? FC_HANDOFF_ANSWER : FC_HANDOFF_BODY, *at));
    }
    do_to(&pair, row->deed);
    const char *got = row->got;
    for (const char *at = row->calls; *at; at += 2, got++) {
      fc_error_t error;
      const fc_status_t status =
          take(&pair, (uint32_t)(at[0] - '0'), at[1], &error);
      assert_int_equal(status == FC_OK, *got != '!');
      if (status != FC_OK) assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
      assert_int_equal(pair.inbox.shelf < FC_RING_SHELVES, *got >= 'a');
      if (*got >= 'a') assert_int_equal(body_of(&pair)[0], *got);
      fc_inbox_end(&pair.inbox, false);
      assert_int_equal(pair.inbox.shelf, FC_RING_SHELVES);
    }
    assert_int_equal(pair.inbox.mapped[0], row->has_answer_file);
    close_pair(&pair);
    assert_int_equal(fc_test_open_files(), before);
  }
}

static bool all_are(const uint8_t *data, size_t size, uint32_t byte) {
  return data[0] == byte && memcmp(data, data + 1, size - 1) == 0;
}

// A function may write to its arguments, and these may be in the body. The next call
// must see what the loop has written since, even if no message was sent.
static void what_a_call_does_to_its_body_nobody_else_sees(void **state) {
  (void)state;
  pair_t pair;
  fc_error_t error;
  open_pair(&pair);
  const int file = make_file(BODY, 'b');
  uint8_t *theirs = mmap(NULL, BODY + FC_BLOCK_TAIL, PROT_READ | PROT_WRITE,
                         MAP_SHARED, file, 0);
  assert_true(theirs != MAP_FAILED);
  assert_true(fc_handoff_send(pair.loop, 1, FC_HANDOFF_BODY, 1, file));
  for (uint32_t i = 1; i <= 8; i++) {
    memset(theirs, (int)i, BODY);
    assert_int_equal(take(&pair, 1, 'b', &error), FC_OK);
    uint8_t *data = body_of(&pair);
    assert_true(all_are(data, BODY, i));
    // The call changes one byte, all bytes, or none.
    if (i % 3 == 1) data[BODY / 2] = 'x';
    if (i % 3 == 2) memset(data, 'x', BODY + FC_BLOCK_TAIL);
    if (i % 3) assert_false(fc_inbox_is_as_sent(&pair.inbox));
    fc_inbox_end(&pair.inbox, false);
    assert_true(all_are(theirs, BODY, i));
  }
  munmap(theirs, BODY + FC_BLOCK_TAIL);
  close(file);
  close_pair(&pair);
}

// A body that nobody wrote to is recognized as unchanged. Page faults of other causes
// may prevent that, so one success in many tries is enough.
static void a_body_that_stays_is_known(void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator has faults of its own");
  pair_t pair;
  fc_error_t error;
  unsigned known = 0;
  open_pair(&pair);
  assert_true(send_one(&pair, FC_HANDOFF_BODY, 'b'));
  assert_false(fc_inbox_is_as_sent(&pair.inbox));
  for (unsigned i = 0; i < 100; i++) {
    assert_int_equal(take(&pair, 1, 'b', &error), FC_OK);
    known += fc_inbox_is_as_sent(&pair.inbox);
    fc_inbox_end(&pair.inbox, false);
    // It is not known whether a body in the ring is unchanged.
    assert_int_equal(take(&pair, 1, '-', &error), FC_OK);
    assert_false(fc_inbox_is_as_sent(&pair.inbox));
    fc_inbox_end(&pair.inbox, false);
  }
  assert_true(known > 0);
  close_pair(&pair);
}

// A body of the largest size that begins later in its file is there completely, even if
// a shorter body was on the shelf before.
static void a_body_may_begin_later(void **state) {
  (void)state;
  pair_t pair;
  fc_error_t error;
  open_pair(&pair);
  const int file = make_file(FC_BLOCK_ALIGN + BODY, 'b');
  assert_true(fc_handoff_send(pair.loop, 1, FC_HANDOFF_BODY, 0, file));
  static const uint64_t kSizes[] = {1, 600000, 5, BODY};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSizes); i++) {
    const fc_ring_slot_t slot = {
        .files = 1,
        .tray = FC_RING_TRAYS,
        .slot = {.call = {.body = {FC_RING_BODY_FILE(0), 63, kSizes[i]}}}};
    assert_int_equal(fc_inbox_take(&pair.inbox, &slot, &error), FC_OK);
    memset(body_of(&pair), 'x', 63 + kSizes[i] + FC_BLOCK_TAIL);
    fc_inbox_end(&pair.inbox, false);
  }
  const fc_ring_slot_t longer = {
      .files = 1,
      .slot = {.call = {.body = {FC_RING_BODY_FILE(0), 63, 2 * BODY}}}};
  assert_int_equal(fc_inbox_take(&pair.inbox, &longer, &error),
                   FC_RESOURCE_EXHAUSTED);
  close(file);
  close_pair(&pair);
}

static fc_status_t take_tray(pair_t *pair, uint32_t files, uint32_t tray) {
  fc_error_t error;
  const fc_ring_slot_t slot = {
      .files = files,
      .tray = tray,
      .slot = {.call = {.body = {FC_RING_BODY_BLOCK(0), 0, 0}}}};
  return fc_inbox_take(&pair->inbox, &slot, &error);
}

// A file stays mapped in its tray, however the calls end.
static void an_answer_finds_its_file_mapped(void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator ignores madvise");
  static const struct {
    const char *name;
    bool asked, answered;
  } rows[] = {
      {"not asked for", false, false},
      {"answered", true, true},
      {"failed", true, false},
  };
  const unsigned before = fc_test_open_files();
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair);
    uint8_t *data = pair.inbox.answers[1].data;
    assert_int_equal(fc_inbox_more(&pair.inbox), FC_BLOCK_NONE);
    const int file = make_file(RESULT, 'f');
    assert_true(fc_handoff_send(pair.loop, 1, FC_HANDOFF_ANSWER, 1, file));
    for (unsigned i = 0; i < 3; i++) {
      assert_int_equal(take_tray(&pair, 1, 1), FC_OK);
      if (row->asked) {
        assert_int_equal(fc_inbox_more(&pair.inbox), FC_RING_ANSWER_FILE(1));
        memset(data, 'a' + (int)i, RESULT);
        assert_true(fc_shared_taken(file) >= RESULT);
      }
      fc_inbox_end(&pair.inbox, row->answered);
      // What a failed call wrote is gone; an answer is still there.
      assert_int_equal(fc_shared_taken(file) >= RESULT, row->answered);
      assert_int_equal(data[0], !row->asked     ? 'f'
                                : row->answered ? 'a' + i
                                                : 0);
      // A call that was lent no tray gets none, whatever is mapped.
      assert_int_equal(take_tray(&pair, 1, FC_RING_TRAYS), FC_OK);
      assert_int_equal(fc_inbox_more(&pair.inbox), FC_BLOCK_NONE);
      fc_inbox_end(&pair.inbox, false);
      assert_int_equal(take_tray(&pair, 1, 0), FC_OK);
      assert_int_equal(fc_inbox_more(&pair.inbox), FC_BLOCK_NONE);
      fc_inbox_end(&pair.inbox, false);
      assert_int_equal(fc_shared_taken(file) >= RESULT, row->answered);
    }
    close(file);
    close_pair(&pair);
    assert_int_equal(fc_test_open_files(), before);
  }
}

static void a_tray_has_the_file_sent_last(void **state) {
  (void)state;
  pair_t pair;
  open_pair(&pair);
  int files[2];
  for (uint32_t i = 0; i < 2; i++) {
    files[i] = make_file(RESULT, (char)('a' + i));
    assert_true(
        fc_handoff_send(pair.loop, i + 1, FC_HANDOFF_ANSWER, 3, files[i]));
  }
  for (uint32_t i = 0; i < 2; i++) {
    assert_int_equal(take_tray(&pair, i + 1, 3), FC_OK);
    assert_int_equal(fc_inbox_more(&pair.inbox), FC_RING_ANSWER_FILE(3));
    assert_int_equal(pair.inbox.answers[3].data[0], 'a' + i);
    pair.inbox.answers[3].data[0] = 'x';
    fc_inbox_end(&pair.inbox, true);
    char byte = 0;
    assert_int_equal(pread(files[i], &byte, 1, 0), 1);
    assert_int_equal(byte, 'x');
    close(files[i]);
  }
  close_pair(&pair);
}

// If the module has stolen a message, it is unknown which tray that was for. So no
// answer may be written to a tray: the loop might look for it in another file.
static void after_a_theft_nothing_is_in_the_trays(void **state) {
  (void)state;
  static const struct {
    const char *name;
    deed_t deed;
    uint32_t left;
  } rows[] = {{"none was taken", DEED_NONE, 2},
              {"the first of two", DEED_TAKE_FIRST, 1},
              {"both", DEED_TAKE_ALL, 0}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair);
    const int file = make_file(RESULT, 'f');
    assert_true(fc_handoff_send(pair.loop, 1, FC_HANDOFF_ANSWER, 0, file));
    assert_int_equal(take_tray(&pair, 1, 0), FC_OK);
    assert_true(pair.inbox.mapped[0]);
    assert_true(fc_handoff_send(pair.loop, 2, FC_HANDOFF_ANSWER, 0, file));
    assert_true(fc_handoff_send(pair.loop, 3, FC_HANDOFF_ANSWER, 1, file));
    pair.sent = 2;
    do_to(&pair, row->deed);
    assert_int_equal(take_tray(&pair, 3, 0), FC_OK);
    assert_int_equal(pair.inbox.mapped[0], row->left == 2);
    assert_int_equal(pair.inbox.mapped[1], row->left >= 1);
    close(file);
    close_pair(&pair);
  }
}

// The module has opened as many files as it may.
static void without_descriptors_a_call_fails_alone(void **state) {
  (void)state;
  pair_t pair;
  fc_error_t error;
  fc_test_shortage_t shortage;
  open_pair(&pair);
  for (int i = 0; i < 3; i++)
    assert_true(send_one(&pair, FC_HANDOFF_BODY, 'b'));
  assert_true(send_one(&pair, FC_HANDOFF_ANSWER, 'A'));
  fc_test_shortage_begin(&shortage, 64);
  const fc_status_t first = take(&pair, 1, 'b', &error);
  fc_inbox_end(&pair.inbox, false);
  fc_test_shortage_ease(&shortage);
  const fc_status_t second = take(&pair, 2, 'b', &error);
  fc_inbox_end(&pair.inbox, false);
  const fc_status_t third = take(&pair, 3, 'b', &error);
  fc_inbox_end(&pair.inbox, false);
  fc_test_shortage_end(&shortage);
  assert_int_equal(first, FC_RESOURCE_EXHAUSTED);
  assert_int_equal(second, FC_OK);
  assert_int_equal(third, FC_OK);
  close_pair(&pair);
}

// The inbox reserves its addresses when it is opened. So calls get their files even if
// the process has no free address left.
static void without_addresses_a_call_goes_on(void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator ignores RLIMIT_AS");
#if !FC_SANITIZED  // their shadow takes terabytes
  pair_t pair;
  fc_error_t error;
  struct rlimit before;
  open_pair(&pair);
  assert_true(send_one(&pair, FC_HANDOFF_ANSWER, 'A'));
  assert_true(send_one(&pair, FC_HANDOFF_BODY, 'b'));
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  unsigned long long used = 0;
  FILE *facts = fopen("/proc/self/statm", "r");
  assert_int_equal(fscanf(facts, "%llu", &used), 1);
  fclose(facts);
  const struct rlimit none = {used * 4096, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
  const bool refused = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0) == MAP_FAILED;
  const fc_status_t status = take(&pair, 2, 'b', &error);
  const uint32_t more = fc_inbox_more(&pair.inbox);
  fc_inbox_end(&pair.inbox, false);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_true(refused);
  assert_int_equal(status, FC_OK);
  assert_int_equal(more, FC_RING_ANSWER_FILE(0));
  close_pair(&pair);
  const fc_ring_setup_t huge = {.body_size = (uint64_t)1 << 50,
                                .result_size = RESULT};
  fc_inbox_t inbox;
  assert_int_equal(fc_inbox_open(-1, &huge, &inbox, &error),
                   FC_RESOURCE_EXHAUSTED);
#endif
}

// A send must not make the loop wait or raise a signal, and the loop must not receive
// anything from a module.
static void a_worker_cannot_hold_the_loop_up(void **state) {
  (void)state;
  static const struct {
    const char *name;
    deed_t deed;
  } rows[] = {{"shut", DEED_SHUT}, {"closed", DEED_CLOSE}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    pair_t pair;
    open_pair(&pair);
    do_to(&pair, row->deed);
    assert_false(send_one(&pair, FC_HANDOFF_BODY, 'b'));
    close_pair(&pair);
  }
  pair_t pair;
  open_pair(&pair);
  assert_int_equal(send(pair.inbox.end, "x", 1, MSG_NOSIGNAL), -1);
  unsigned sent = 0;
  while (send_one(&pair, FC_HANDOFF_BODY, 'b')) assert_true(++sent < 100000);
  assert_true(sent > FC_RING_SLOTS);
  close_pair(&pair);
}

// Files are mapped at page boundaries, and pages may have 64 KiB.
static void room_is_made_in_whole_pages(void **state) {
  (void)state;
  pair_t pair;
  page_size = 65536;
  open_pair(&pair);
  page_size = 0;
  const uint8_t *begin = pair.inbox.shelves[0].room.data;
  for (uint32_t i = 0; i < FC_RING_SHELVES; i++) {
    const fc_span_t room = pair.inbox.shelves[i].room;
    assert_int_equal((size_t)(room.data - begin) % 65536, 0);
    assert_int_equal(room.size % 65536, 0);
  }
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    const fc_span_t answer = pair.inbox.answers[i];
    assert_int_equal((size_t)(answer.data - begin) % 65536, 0);
    assert_int_equal(answer.size % 65536, 0);
  }
  close_pair(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(room_is_made_in_whole_pages),
      FC_TEST(each_call_gets_its_body),
      FC_TEST(what_a_call_does_to_its_body_nobody_else_sees),
      FC_TEST(a_body_that_stays_is_known),
      FC_TEST(a_body_may_begin_later),
      FC_TEST(an_answer_finds_its_file_mapped),
      FC_TEST(a_tray_has_the_file_sent_last),
      FC_TEST(after_a_theft_nothing_is_in_the_trays),
      FC_TEST(without_descriptors_a_call_fails_alone),
      FC_TEST(without_addresses_a_call_goes_on),
      FC_TEST(a_worker_cannot_hold_the_loop_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
