// SPDX-License-Identifier: Apache-2.0
//
// Which calls are recognized as one that ended a process. The test drives the clock.
#include "pool/blame.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/test.h"

#define SECOND 1000000000ull
#define BEGIN (12345 * SECOND + 678)

static const uint64_t kKey[2] = {0x0123456789ABCDEFu, 0xFEDCBA9876543210u};

static bool find(fc_blame_t *blame, uint32_t function, const char *body,
                 uint64_t now_ns) {
  uint64_t at_ns;
  return fc_blame_find(blame, function, fc_str(body), now_ns, &at_ns);
}

static void one_call_is_known_and_no_other(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t function;
    const char *body;
    bool known;
  } rows[] = {
      {"the same", 3, "[7,0] and more than sixteen bytes", true},
      {"another function", 4, "[7,0] and more than sixteen bytes", false},
      {"another byte", 3, "[7,1] and more than sixteen bytes", false},
      {"another last byte", 3, "[7,0] and more than sixteen byteS", false},
      {"a byte less", 3, "[7,0] and more than sixteen byte", false},
      {"a byte more", 3, "[7,0] and more than sixteen bytes ", false},
      {"the first sixteen", 3, "[7,0] and more t", false},
      {"nothing", 3, "", false},
  };
  fc_blame_t blame;
  fc_blame_init(&blame, kKey);
  fc_blame_note(&blame, 3, fc_str(rows[0].body), BEGIN);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(find(&blame, row->function, row->body, BEGIN + 1),
                     row->known);
  }
}

// Lengths around the steps of the hash. A body with one more zero is another body.
static void every_length_is_known(void **state) {
  (void)state;
  static char bytes[70];
  for (size_t size = 0; size < sizeof bytes; size++) {
    fc_blame_t blame;
    uint64_t at_ns;
    fc_blame_init(&blame, kKey);
    fc_blame_note(&blame, 0, fc_str_make(bytes, size), BEGIN);
    for (size_t other = 0; other < sizeof bytes; other++) {
      assert_int_equal(fc_blame_find(&blame, 0, fc_str_make(bytes, other),
                                     BEGIN + 5, &at_ns),
                       other == size);
    }
    // A change of any byte makes another body.
    for (size_t at = 0; at < size; at++) {
      bytes[at] = 1;
      assert_false(fc_blame_find(&blame, 0, fc_str_make(bytes, size), BEGIN + 5,
                                 &at_ns));
      bytes[at] = 0;
    }
  }
}

static void a_body_that_need_not_be_read_is_not(void **state) {
  (void)state;
  fc_blame_t blame;
  uint64_t at_ns;
  fc_blame_init(&blame, kKey);
  const fc_str_t nowhere = fc_str_make((const char *)(uintptr_t)16, 1u << 30);
  assert_int_equal(blame.until_ns, 0);
  assert_false(fc_blame_find(&blame, 0, nowhere, BEGIN, &at_ns));
  // After all entries were forgotten, the body is not found.
  fc_blame_note(&blame, 0, FC_STR("[1]"), BEGIN);
  assert_int_not_equal(blame.until_ns, 0);
  assert_false(fc_blame_find(&blame, 0, nowhere, BEGIN + 60 * SECOND, &at_ns));
  assert_int_equal(blame.until_ns, 0);
  assert_int_equal(blame.changes, 1);
}

// A body that begins differently is not read further. One of another size or function
// is not read at all.
static void a_large_body_is_not_read_to_its_end(void **state) {
  (void)state;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 2 * page;
  char *body = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fc_blame_t blame;
  uint64_t at_ns;
  assert_true(body != MAP_FAILED);
  fc_blame_init(&blame, kKey);
  fc_blame_note(&blame, 0, fc_str_make(body, size), BEGIN);
  body[size - 1] = 1;
  assert_false(
      fc_blame_find(&blame, 0, fc_str_make(body, size), BEGIN + 1, &at_ns));
  body[size - 1] = 0;
  assert_true(
      fc_blame_find(&blame, 0, fc_str_make(body, size), BEGIN + 1, &at_ns));
  body[7] = 1;
  assert_int_equal(mprotect(body + page, page, PROT_NONE), 0);
  assert_false(
      fc_blame_find(&blame, 0, fc_str_make(body, size), BEGIN + 1, &at_ns));
  assert_int_equal(mprotect(body, page, PROT_NONE), 0);
  assert_false(
      fc_blame_find(&blame, 1, fc_str_make(body, size), BEGIN + 1, &at_ns));
  assert_false(
      fc_blame_find(&blame, 0, fc_str_make(body, size - 1), BEGIN + 1, &at_ns));
  munmap(body, size);
}

static void it_is_forgotten_after_a_minute(void **state) {
  (void)state;
  fc_blame_t blame;
  uint64_t at_ns = 0;
  fc_blame_init(&blame, kKey);
  fc_blame_note(&blame, 1, FC_STR("[1]"), BEGIN);
  fc_blame_note(&blame, 1, FC_STR("[2]"), BEGIN + 30 * SECOND);
  assert_true(find(&blame, 1, "[1]", BEGIN + 60 * SECOND - 1));
  assert_false(find(&blame, 1, "[1]", BEGIN + 60 * SECOND));
  assert_true(
      fc_blame_find(&blame, 1, FC_STR("[2]"), BEGIN + 60 * SECOND, &at_ns));
  assert_true(at_ns == BEGIN + 30 * SECOND);
  assert_false(find(&blame, 1, "[2]", BEGIN + 90 * SECOND));
  // After another crash the body is found again.
  fc_blame_note(&blame, 1, FC_STR("[1]"), BEGIN + 200 * SECOND);
  assert_true(find(&blame, 1, "[1]", BEGIN + 201 * SECOND));
  assert_false(find(&blame, 1, "[2]", BEGIN + 201 * SECOND));
}

static void the_oldest_make_room(void **state) {
  (void)state;
  fc_blame_t blame;
  fc_blame_init(&blame, kKey);
  char body[16];
  const int count = 3 * FC_LIMIT_BLAMED / 2;
  for (int i = 0; i < count; i++) {
    snprintf(body, sizeof body, "[%d]", i);
    fc_blame_note(&blame, 0, fc_str(body), BEGIN);
  }
  for (int i = 0; i < count; i++) {
    snprintf(body, sizeof body, "[%d]", i);
    assert_int_equal(find(&blame, 0, body, BEGIN + 1),
                     i >= count - FC_LIMIT_BLAMED);
  }
}

// The digest of a body in one server reveals nothing about another server's.
static void keys_matter(void **state) {
  (void)state;
  const uint64_t other[2] = {kKey[0], kKey[1] + 1};
  fc_blame_t one, two;
  fc_blame_init(&one, kKey);
  fc_blame_init(&two, other);
  fc_blame_note(&one, 0, FC_STR("[1]"), BEGIN);
  fc_blame_note(&two, 0, FC_STR("[1]"), BEGIN);
  assert_true(one.entries[0].digest != two.entries[0].digest);
}

// Compares digests, so that equal ones become neighbours in the sorted array.
static int by_digest(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void bodies_that_are_alike_differ(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  static uint64_t digests[COUNT];
  fc_blame_t blame;
  fc_blame_init(&blame, kKey);
  for (int i = 0; i < COUNT; i++) {
    char body[64];
    snprintf(body, sizeof body, "{\"args\":[%d,%d],\"kwargs\":{}}", i % 500,
             i / 500);
    fc_blame_note(&blame, 0, fc_str(body), BEGIN);
    digests[i] =
        blame.entries[(blame.next + FC_LIMIT_BLAMED - 1) % FC_LIMIT_BLAMED]
            .digest;
  }
  qsort(digests, COUNT, sizeof *digests, by_digest);
  for (int i = 1; i < COUNT; i++) assert_true(digests[i] != digests[i - 1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(one_call_is_known_and_no_other),
      FC_TEST(every_length_is_known),
      FC_TEST(a_body_that_need_not_be_read_is_not),
      FC_TEST(a_large_body_is_not_read_to_its_end),
      FC_TEST(it_is_forgotten_after_a_minute),
      FC_TEST(the_oldest_make_room),
      FC_TEST(keys_matter),
      FC_TEST(bodies_that_are_alike_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
