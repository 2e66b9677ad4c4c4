// SPDX-License-Identifier: Apache-2.0
//
// Memory that two processes share, and blocks that lie in it.
#include "pool/shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "config/limits.h"
#include "helpers/files.h"
#include "helpers/shortage.h"
#include "helpers/test.h"
#include "pool/block.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

// The number of blocks whose file is mapped in this process.
static unsigned mapped_files(void) {
  char line[512];
  unsigned count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps)) {
    // A mapping may be listed in two lines; only one of them begins at offset 0.
    count += strstr(line, " 00000000 ") && strstr(line, "memfd:farcall-block");
  }
  fclose(maps);
  return count;
}

static uint8_t *map(int fd, uint64_t size) {
  void *data =
      mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_ptr_not_equal(data, MAP_FAILED);
  return data;
}

static void its_size_is_sealed(void **state) {
  (void)state;
  const int fd = fc_shared_create("test", 5000);
  assert_true(fd >= 0);
  assert_int_equal(lseek(fd, 0, SEEK_END), 8192);
  assert_int_equal(fc_shared_taken(fd), 0);
  assert_int_equal(ftruncate(fd, 4096), -1);
  assert_int_equal(ftruncate(fd, 1 << 20), -1);
  assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
  assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
  close(fd);
}

// However many bytes are given back at a time, the bytes after the used ones keep their
// contents.
static void what_is_given_back_is_what_was_used(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t begin, used, most;
    unsigned steps;
  } rows[] = {
      {"all at once", 0, 300 * KIB, UINT64_MAX, 1},
      {"in steps", 0, 300 * KIB, 64 * KIB, 5},
      {"the last step ends early", 0, 260 * KIB, 256 * KIB, 2},
      {"from within", 256 * KIB, 256 * KIB, 256 * KIB, 1},
      {"half a page", 4 * KIB, 1, 4 * KIB, 1},
      {"nothing", 256 * KIB, 0, 4 * KIB, 0},
      {"as much as there is", 0, MIB, 300 * KIB, 4},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const int fd = fc_shared_create("test", MIB);
    uint8_t *data = map(fd, MIB);
    memset(data, 1, MIB);
    uint64_t at = 0;
    unsigned steps = row->used > 0;
    while (fc_shared_scrub(fd, row->begin, row->used, row->most, &at)) steps++;
    assert_int_equal(steps, row->steps);
    const uint64_t end = row->begin + (row->used + 4095) / 4096 * 4096;
    assert_int_equal(fc_shared_taken(fd), MIB - (end - row->begin));
    for (uint64_t i = 0; i < MIB; i += 4096) {
      assert_int_equal(data[i], i < row->begin || i >= end);
    }
    munmap(data, MIB);
    close(fd);
  }
}

// ---------------------------------------------------------------------------
// Blocks

static fc_blocks_t *make(uint64_t limit) {
  fc_blocks_t *blocks;
  fc_error_t error;
  assert_int_equal(
      fc_blocks_create(fc_allocator_system(), limit, limit, &blocks, &error),
      FC_OK);
  return blocks;
}

#define OURS 1001u
#define THEIRS 1002u

static uint32_t take_for(fc_blocks_t *blocks, uint64_t audience, uint64_t now,
                         uint64_t size) {
  uint32_t block = FC_BLOCK_NONE;
  fc_error_t error;
  assert_int_equal(
      fc_block_take_shared(blocks, NULL, audience, now, size, &block, &error),
      FC_OK);
  return block;
}

static uint32_t take(fc_blocks_t *blocks, uint64_t now, uint64_t size) {
  return take_for(blocks, OURS, now, size);
}

static uint32_t lend(fc_blocks_t *blocks, uint64_t size) {
  uint32_t block = FC_BLOCK_NONE;
  fc_error_t error;
  assert_int_equal(fc_block_lend(blocks, OURS, size, &block, &error), FC_OK);
  return block;
}

static void release_all(fc_blocks_t *blocks) {
  while (fc_blocks_release_file(blocks, MIB)) continue;
}

static void large_blocks_lie_in_files(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t now, size;
    bool in_file;
  } rows[] = {
      {"small", 100, 100, false},
      {"as large as is copied", 64 * KIB, FC_LIMIT_SHARED, false},
      {"larger", 64 * KIB, FC_LIMIT_SHARED + 1, true},
      {"all of it now", 4 * MIB, 4 * MIB, true},
      {"not a power of two", 64 * KIB, 5 * MIB + 1, true},
  };
  const unsigned before = fc_test_open_files();
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_blocks_t *blocks = make(64 * MIB);
    const uint32_t block = take(blocks, row->now, row->size);
    const int fd = fc_block_file(blocks, block);
    assert_int_equal(fd >= 0, row->in_file);
    if (fd >= 0) {
      const size_t size = fc_block_size(blocks, block);
      assert_true(size >= row->size);
      assert_true(lseek(fd, 0, SEEK_END) >= (off_t)(size + FC_BLOCK_TAIL));
      uint8_t *data = fc_block_data(blocks, block), byte = 0;
      assert_true(fc_blocks_usage(blocks).taken < 2 * row->now);
      data[size + FC_BLOCK_TAIL - 1] = 9;
      assert_int_equal(pread(fd, &byte, 1, (off_t)(size + FC_BLOCK_TAIL - 1)),
                       1);
      assert_int_equal(byte, 9);
    }
    fc_block_give(blocks, block);
    assert_int_equal(fc_blocks_usage(blocks).taken, 0);
    fc_blocks_destroy(blocks);
    assert_int_equal(fc_test_open_files(), before);
  }
}

// The body's length is not known, so its block grows, and is finally moved into a file.
static void a_block_grows_into_a_file(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  uint32_t block = take(blocks, 0, 0);
  uint64_t used = 0;
  for (uint64_t size = 4 * KIB; size <= 4 * MIB; size *= 2) {
    fc_error_t error;
    assert_int_equal(
        fc_block_grow(blocks, NULL, &block, used, size, size, &error), FC_OK);
    memset(fc_block_data(blocks, block) + used, (int)(size >> 12),
           (size_t)(size - used));
    used = size;
    assert_int_equal(fc_block_file(blocks, block) >= 0, size > FC_LIMIT_SHARED);
  }
  for (uint64_t size = 8 * KIB; size <= 4 * MIB; size *= 2) {
    assert_int_equal(fc_block_data(blocks, block)[size - 1],
                     (uint8_t)(size >> 12));
  }
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

// A file's memory is given back in steps. That includes pages that a worker wrote
// outside the counted part.
static void a_file_is_given_back_bit_by_bit(void **state) {
  (void)state;
  const unsigned before = fc_test_open_files();
  fc_blocks_t *blocks = make(64 * MIB);
  const uint32_t block = take(blocks, 64 * KIB, 16 * MIB);
  const int theirs = dup(fc_block_file(blocks, block));
  uint8_t *data = map(theirs, 16 * MIB);
  memset(data, 1, 4 * MIB);
  memset(data + 12 * MIB, 1, 4 * MIB);
  fc_blocks_disband(blocks, OURS);
  fc_block_give(blocks, block);
  for (uint64_t left = 8; left > 1; left--) {
    assert_true(fc_blocks_release_file(blocks, MIB));
    assert_int_equal(fc_shared_taken(theirs), (left - 1) * MIB);
  }
  release_all(blocks);
  assert_int_equal(fc_shared_taken(theirs), 0);
  // Writing does not raise SIGBUS: the file stays as long as somebody has it open.
  data[8 * MIB] = 2;
  munmap(data, 16 * MIB);
  close(theirs);
  fc_blocks_destroy(blocks);
  assert_int_equal(fc_test_open_files(), before);
}

static void without_descriptors_blocks_lie_elsewhere(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  fc_test_shortage_t shortage;
  fc_error_t error;
  uint32_t lent;
  fc_test_shortage_begin(&shortage, 64);
  const uint32_t block = take(blocks, 64 * KIB, 4 * MIB);
  const fc_status_t status = fc_block_lend(blocks, OURS, MIB, &lent, &error);
  fc_test_shortage_end(&shortage);
  assert_int_equal(fc_block_file(blocks, block), -1);
  assert_int_equal(fc_block_size(blocks, block), 4 * MIB);
  assert_int_equal(status, FC_RESOURCE_EXHAUSTED);
  assert_int_equal(error.code, FC_CODE_OUT_OF_MEMORY);
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

static void so_many_blocks_lie_in_files(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(256 * MIB);
  uint32_t taken[FC_LIMIT_SHARED_FILES + 1];
  for (unsigned i = 0; i <= FC_LIMIT_SHARED_FILES; i++) {
    taken[i] = take(blocks, MIB, MIB);
    assert_int_equal(fc_block_file(blocks, taken[i]) >= 0,
                     i < FC_LIMIT_SHARED_FILES);
  }
  uint32_t lent;
  fc_error_t error;
  assert_int_not_equal(fc_block_lend(blocks, OURS, MIB, &lent, &error), FC_OK);
  fc_block_give(blocks, taken[0]);
  taken[0] = take(blocks, MIB, MIB);
  assert_true(fc_block_file(blocks, taken[0]) >= 0);
  for (unsigned i = 0; i <= FC_LIMIT_SHARED_FILES; i++) {
    fc_block_give(blocks, taken[i]);
  }
  fc_blocks_destroy(blocks);
}

// Files that are only kept for other processes give way to files that are needed.
static void kept_files_take_no_place(void **state) {
  (void)state;
  const unsigned before = fc_test_open_files();
  fc_blocks_t *blocks = make(256 * MIB);
  uint32_t taken[FC_LIMIT_SHARED_FILES];
  fc_error_t error;
  for (unsigned i = 0; i < FC_LIMIT_KEPT_FILES; i++) {
    assert_int_equal(
        fc_block_take_shared(blocks, NULL, THEIRS, MIB, MIB, &taken[i], &error),
        FC_OK);
    memset(fc_block_data(blocks, taken[i]), 1, MIB);
  }
  for (unsigned i = 0; i < FC_LIMIT_KEPT_FILES; i++) {
    fc_block_give(blocks, taken[i]);
  }
  assert_int_equal(fc_test_open_files(), before + FC_LIMIT_KEPT_FILES);
  for (unsigned i = 0; i < FC_LIMIT_SHARED_FILES; i++) {
    taken[i] = take(blocks, MIB, MIB);
    assert_true(fc_block_file(blocks, taken[i]) >= 0);
  }
  // Nothing was unmapped yet, because that takes long. It is done when they are
  // released.
  assert_int_equal(mapped_files(), FC_LIMIT_KEPT_FILES + FC_LIMIT_SHARED_FILES);
  const uint32_t more = take(blocks, MIB, MIB);
  assert_int_equal(fc_block_file(blocks, more), -1);
  fc_block_give(blocks, more);
  fc_blocks_trim(blocks, 0);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  release_all(blocks);
  assert_int_equal(fc_test_open_files(), before + FC_LIMIT_SHARED_FILES);
  assert_int_equal(mapped_files(), FC_LIMIT_SHARED_FILES);
  fc_blocks_disband(blocks, OURS);
  for (unsigned i = 0; i < FC_LIMIT_SHARED_FILES; i++) {
    memset(fc_block_data(blocks, taken[i]), 1, MIB);
    fc_block_give(blocks, taken[i]);
  }
  release_all(blocks);
  assert_int_equal(fc_test_open_files(), before);
  fc_blocks_destroy(blocks);
}

static void what_is_lent_counts_once_it_is_adopted(void **state) {
  (void)state;
  const unsigned before = fc_test_open_files();
  fc_blocks_t *blocks = make(4 * MIB);
  fc_error_t error;
  uint32_t block = lend(blocks, 256 * MIB);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  uint8_t *data = map(fc_block_file(blocks, block), 256 * MIB);
  memset(data, 7, 3 * MIB);
  assert_int_equal(fc_block_adopt(blocks, block, 3 * MIB, &error), FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).taken, 4 * MIB);
  assert_int_equal(fc_block_data(blocks, block)[3 * MIB - 1], 7);
  // The worker can still change what it wrote.
  data[0] = 8;
  assert_int_equal(fc_block_data(blocks, block)[0], 8);
  munmap(data, 256 * MIB);

  // There is no room to adopt a second block; this changes nothing.
  uint32_t other = lend(blocks, 256 * MIB);
  assert_int_equal(fc_block_adopt(blocks, other, MIB, &error),
                   FC_RESOURCE_EXHAUSTED);
  assert_int_equal(error.code, FC_CODE_OVERLOADED);
  fc_block_give(blocks, block);
  assert_int_equal(fc_block_adopt(blocks, other, MIB, &error), FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).taken, MIB);
  fc_block_give(blocks, other);

  block = lend(blocks, MIB);  // and never used
  fc_block_give(blocks, block);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  fc_blocks_disband(blocks, OURS);
  release_all(blocks);
  assert_int_equal(fc_blocks_usage(blocks).kept, 0);
  assert_int_equal(fc_test_open_files(), before);
  fc_blocks_destroy(blocks);
}

// ---------------------------------------------------------------------------
// Files that are reused

// Receives a body of 3 MiB into the block and gives the block back.
static void use(fc_blocks_t *blocks, uint32_t block, char byte) {
  fc_error_t error;
  assert_int_equal(
      fc_block_grow(blocks, NULL, &block, MIB, 3 * MIB, 3 * MIB, &error),
      FC_OK);
  memset(fc_block_data(blocks, block), byte, 3 * MIB);
  fc_block_give(blocks, block);
}

static uint32_t take_body(fc_blocks_t *blocks, uint64_t audience) {
  return take_for(blocks, audience, MIB, 3 * MIB);
}

static void the_next_body_finds_file_and_mapping(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  uint32_t block = take_body(blocks, OURS);
  const uint64_t serial = fc_block_serial(blocks, block);
  const int file = fc_block_file(blocks, block);
  const uint8_t *data = fc_block_data(blocks, block);
  for (unsigned i = 0; i < 3; i++) {
    use(blocks, block, 'a');
    // A kept file counts with the memory that it really has.
    assert_int_equal(fc_blocks_usage(blocks).taken, 0);
    assert_int_equal(fc_blocks_usage(blocks).kept, fc_shared_taken(file));
    assert_int_equal(fc_blocks_usage(blocks).kept, 3 * MIB);
    assert_false(fc_blocks_has_dying_files(blocks));
    block = take_body(blocks, OURS);
    assert_int_equal(fc_block_serial(blocks, block), serial);
    assert_int_equal(fc_block_file(blocks, block), file);
    assert_ptr_equal(fc_block_data(blocks, block), data);
    assert_int_equal(fc_blocks_usage(blocks).taken, MIB);
    assert_int_equal(fc_blocks_usage(blocks).kept, 2 * MIB);
  }
  // A body of another size gets another file.
  const uint32_t other = take(blocks, 5 * MIB, 5 * MIB);
  assert_int_not_equal(fc_block_serial(blocks, other), serial);
  fc_block_give(blocks, other);
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

static void an_answers_file_stays_mapped(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  fc_error_t error;
  uint32_t block = lend(blocks, 32 * MIB);
  const uint64_t serial = fc_block_serial(blocks, block);
  const uint8_t *was = NULL;
  // Answers may vary in size without a new mapping.
  for (uint64_t size = 3 * MIB; size < 6 * MIB; size += 256 * KIB) {
    uint8_t *data = map(fc_block_file(blocks, block), 32 * MIB);
    memset(data, (int)(size >> 18), (size_t)size);
    munmap(data, 32 * MIB);
    assert_int_equal(fc_block_adopt(blocks, block, size, &error), FC_OK);
    if (was) assert_ptr_equal(fc_block_data(blocks, block), was);
    was = fc_block_data(blocks, block);
    assert_int_equal(was[size - 1], (uint8_t)(size >> 18));
    fc_block_give(blocks, block);
    assert_int_equal(fc_blocks_usage(blocks).kept, size);
    block = lend(blocks, 32 * MIB);
    assert_int_equal(fc_block_serial(blocks, block), serial);
    assert_int_equal(fc_block_filled(blocks, block), size);
  }
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

// A file is given only to those who may see what is left in it.
static void nobody_else_is_given_a_file(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  const uint64_t ours = fc_blocks_audience(blocks),
                 theirs = fc_blocks_audience(blocks);
  assert_true(ours != FC_AUDIENCE_NONE && theirs != ours);
  uint32_t block = take_body(blocks, ours);
  const uint64_t serial = fc_block_serial(blocks, block);
  use(blocks, block, 's');
  const uint32_t other = take_body(blocks, theirs);
  assert_int_not_equal(fc_block_serial(blocks, other), serial);
  for (uint64_t i = 0; i < 4 * MIB; i++) {
    assert_int_equal(fc_block_data(blocks, other)[i], 0);
  }
  // A block without an audience is not in a file, and is not moved into this one later.
  const uint32_t plain = take_body(blocks, FC_AUDIENCE_NONE);
  assert_int_equal(fc_block_file(blocks, plain), -1);
  fc_block_give(blocks, plain);
  fc_block_give(blocks, other);
  block = take_body(blocks, ours);
  assert_int_equal(fc_block_serial(blocks, block), serial);
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

typedef enum leaving_t {
  AGED,
  DISBANDED,
  DISBANDED_BEFORE,
  SPOILED,
  SPOILED_LATER
} leaving_t;

// The memory of a file that is no longer needed is given back, even if a worker still
// has the file open.
static void memory_of_files_comes_back(void **state) {
  (void)state;
  static const struct {
    const char *name;
    leaving_t how;
  } rows[] = {
      {"not used for long", AGED},
      {"the process has ended", DISBANDED},
      {"while the file was in use", DISBANDED_BEFORE},
      {"a worker has filled it", SPOILED},
      {"a worker fills it while it is kept", SPOILED_LATER},
  };
  const unsigned before = fc_test_open_files();
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_blocks_t *blocks = make(64 * MIB);
    fc_error_t error;
    const uint64_t began_ns = fc_clock_ns();
    const uint32_t other = take_body(blocks, THEIRS);
    const uint32_t block = lend(blocks, 32 * MIB);
    const int theirs = dup(fc_block_file(blocks, block));
    use(blocks, other, 'o');
    uint8_t *data = map(theirs, 32 * MIB);
    memset(data, 1, 3 * MIB);
    assert_int_equal(fc_block_adopt(blocks, block, 3 * MIB, &error), FC_OK);
    if (row->how == SPOILED) memset(data, 1, 12 * MIB);
    if (row->how == DISBANDED_BEFORE) fc_blocks_disband(blocks, OURS);
    fc_block_give(blocks, block);
    if (row->how == SPOILED_LATER) memset(data, 1, 12 * MIB);
    (void)fc_blocks_age(blocks, began_ns);  // not so long
    if (row->how == DISBANDED) fc_blocks_disband(blocks, OURS);
    if (row->how == AGED) (void)fc_blocks_age(blocks, UINT64_MAX);
    release_all(blocks);
    assert_int_equal(fc_shared_taken(theirs), 0);
    assert_int_equal(fc_blocks_usage(blocks).kept,
                     row->how == AGED ? 0 : 3 * MIB);
    munmap(data, 32 * MIB);
    close(theirs);
    fc_blocks_destroy(blocks);
    assert_int_equal(fc_test_open_files(), before);
  }
}

static void so_many_files_are_kept(void **state) {
  (void)state;
  enum { COUNT = FC_LIMIT_KEPT_FILES + 8 };
  const unsigned before = fc_test_open_files();
  fc_blocks_t *blocks = make(256 * MIB);
  uint32_t taken[COUNT];
  for (unsigned i = 0; i < COUNT; i++) taken[i] = take(blocks, MIB, MIB);
  for (unsigned i = 0; i < COUNT; i++) {
    memset(fc_block_data(blocks, taken[i]), 1, MIB);
    fc_block_give(blocks, taken[i]);
  }
  release_all(blocks);
  assert_int_equal(fc_test_open_files(), before + FC_LIMIT_KEPT_FILES);
  assert_int_equal(fc_blocks_usage(blocks).kept, FC_LIMIT_KEPT_FILES * MIB);
  fc_blocks_destroy(blocks);
  // The kept files have no more bytes than the budget, either.
  fc_error_t error;
  assert_int_equal(fc_blocks_create(fc_allocator_system(), 256 * MIB, 4 * MIB,
                                    &blocks, &error),
                   FC_OK);
  for (unsigned i = 0; i < COUNT; i++) taken[i] = take(blocks, MIB, MIB);
  for (unsigned i = 0; i < COUNT; i++) {
    memset(fc_block_data(blocks, taken[i]), 1, MIB);
    fc_block_give(blocks, taken[i]);
  }
  release_all(blocks);
  assert_int_equal(fc_blocks_usage(blocks).kept, 4 * MIB);
  assert_int_equal(fc_test_open_files(), before + 4);
  fc_blocks_destroy(blocks);
  assert_int_equal(fc_test_open_files(), before);
}

// The address sanitizer reports any use of a kept block.
static void a_kept_file_is_forbidden(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  uint32_t block = take_body(blocks, OURS);
  uint8_t *data = fc_block_data(blocks, block);
  use(blocks, block, 'a');
  assert_int_equal(FC_IS_POISONED(data), FC_ASAN);
  assert_int_equal(FC_IS_POISONED(data + 4 * MIB - 1), FC_ASAN);
  block = take_body(blocks, OURS);
  assert_false(FC_IS_POISONED(data));
  assert_false(FC_IS_POISONED(data + 4 * MIB + FC_BLOCK_TAIL - 1));
  fc_block_give(blocks, block);
  fc_blocks_destroy(blocks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(its_size_is_sealed),
      FC_TEST(what_is_given_back_is_what_was_used),
      FC_TEST(large_blocks_lie_in_files),
      FC_TEST(a_block_grows_into_a_file),
      FC_TEST(a_file_is_given_back_bit_by_bit),
      FC_TEST(without_descriptors_blocks_lie_elsewhere),
      FC_TEST(so_many_blocks_lie_in_files),
      FC_TEST(kept_files_take_no_place),
      FC_TEST(what_is_lent_counts_once_it_is_adopted),
      FC_TEST(the_next_body_finds_file_and_mapping),
      FC_TEST(an_answers_file_stays_mapped),
      FC_TEST(nobody_else_is_given_a_file),
      FC_TEST(memory_of_files_comes_back),
      FC_TEST(so_many_files_are_kept),
      FC_TEST(a_kept_file_is_forbidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
