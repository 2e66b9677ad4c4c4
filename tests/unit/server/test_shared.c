// SPDX-License-Identifier: Apache-2.0
//
// Memory that two processes share, and the blocks that lie in it.
#include "pool/shared.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/limits.h"
#include "helpers/shortage.h"
#include "helpers/test.h"
#include "pool/block.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static unsigned open_files(void) {
  unsigned count = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (directory && readdir(directory)) count++;
  if (directory) closedir(directory);
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

// However many bytes are given back at a time, those behind the used ones keep
// their contents.
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

static uint32_t take(fc_blocks_t *blocks, uint64_t now, uint64_t size) {
  uint32_t block = FC_BLOCK_NONE;
  fc_error_t error;
  assert_int_equal(
      fc_block_take_shared(blocks, NULL, now, size, &block, &error), FC_OK);
  return block;
}

static uint32_t lend(fc_blocks_t *blocks, uint64_t size) {
  uint32_t block = FC_BLOCK_NONE;
  fc_error_t error;
  assert_int_equal(fc_block_lend(blocks, size, &block, &error), FC_OK);
  return block;
}

static void release_all(fc_blocks_t *blocks) {
  while (fc_blocks_release(blocks, MIB)) continue;
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
  const unsigned before = open_files();
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
    // A worker may still see the block's file, so it is not used again.
    assert_int_equal(fc_blocks_usage(blocks).taken, 0);
    if (fd >= 0) assert_int_equal(fc_blocks_usage(blocks).kept, 0);
    fc_blocks_destroy(blocks);
    assert_int_equal(open_files(), before);
  }
}

// The length of the body is not known, so its block grows, at last into a file.
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

// A file is given back in steps, and with it what a worker wrote where nothing
// was counted.
static void a_file_is_given_back_bit_by_bit(void **state) {
  (void)state;
  const unsigned before = open_files();
  fc_blocks_t *blocks = make(64 * MIB);
  const uint32_t block = take(blocks, 64 * KIB, 16 * MIB);
  const int theirs = dup(fc_block_file(blocks, block));
  uint8_t *data = map(theirs, 16 * MIB);
  memset(data, 1, 4 * MIB);
  memset(data + 12 * MIB, 1, 4 * MIB);
  fc_block_give(blocks, block);
  for (uint64_t left = 8; left > 1; left--) {
    assert_true(fc_blocks_release(blocks, 4 * MIB));
    assert_int_equal(fc_shared_taken(theirs), (left - 1) * MIB);
  }
  release_all(blocks);
  assert_int_equal(fc_shared_taken(theirs), 0);
  // Nobody is stopped by SIGBUS: the file stays as long as somebody has it.
  data[8 * MIB] = 2;
  munmap(data, 16 * MIB);
  close(theirs);
  fc_blocks_destroy(blocks);
  assert_int_equal(open_files(), before);
}

static void without_descriptors_blocks_lie_elsewhere(void **state) {
  (void)state;
  fc_blocks_t *blocks = make(64 * MIB);
  fc_test_shortage_t shortage;
  fc_error_t error;
  uint32_t lent;
  fc_test_shortage_begin(&shortage, 64);
  const uint32_t block = take(blocks, 64 * KIB, 4 * MIB);
  const fc_status_t status = fc_block_lend(blocks, MIB, &lent, &error);
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
  assert_int_not_equal(fc_block_lend(blocks, MIB, &lent, &error), FC_OK);
  fc_block_give(blocks, taken[0]);
  release_all(blocks);
  taken[0] = take(blocks, MIB, MIB);
  assert_true(fc_block_file(blocks, taken[0]) >= 0);
  for (unsigned i = 0; i <= FC_LIMIT_SHARED_FILES; i++) {
    fc_block_give(blocks, taken[i]);
  }
  fc_blocks_destroy(blocks);
}

static void what_is_lent_counts_once_it_is_adopted(void **state) {
  (void)state;
  const unsigned before = open_files();
  fc_blocks_t *blocks = make(4 * MIB);
  fc_error_t error;
  uint32_t block = lend(blocks, 256 * MIB);
  assert_int_equal(fc_blocks_usage(blocks).taken, 0);
  uint8_t *data = map(fc_block_file(blocks, block), 256 * MIB);
  memset(data, 7, 3 * MIB);
  assert_int_equal(fc_block_adopt(blocks, block, 3 * MIB, &error), FC_OK);
  assert_int_equal(fc_blocks_usage(blocks).taken, 4 * MIB);
  assert_int_equal(fc_block_data(blocks, block)[3 * MIB - 1], 7);
  // The worker may still change what it wrote.
  data[0] = 8;
  assert_int_equal(fc_block_data(blocks, block)[0], 8);
  munmap(data, 256 * MIB);

  // There is no room for more: the block is as it was.
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
  release_all(blocks);
  assert_int_equal(open_files(), before);
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
      FC_TEST(what_is_lent_counts_once_it_is_adopted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
