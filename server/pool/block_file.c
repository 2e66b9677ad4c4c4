// SPDX-License-Identifier: Apache-2.0
//
// Blocks in files. Kept ones are in one list, the most recently returned first. The list
// has at most FC_LIMIT_KEPT_FILES entries, so it is searched linearly.
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "pool/block_table.h"
#include "pool/shared.h"

// ---------------------------------------------------------------------------
// The list of all files

static void list(fc_blocks_t *blocks, uint32_t block) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  entry->file_next = blocks->all_files;
  entry->file_before = FC_BLOCK_NONE;
  if (entry->file_next != FC_BLOCK_NONE) {
    fc_block_entry(blocks, entry->file_next)->file_before = block;
  }
  blocks->all_files = block;
}

void fc_block_file_unlist(fc_blocks_t *blocks, fc_block_entry_t *entry) {
  const uint32_t next = entry->file_next, before = entry->file_before;
  if (before == FC_BLOCK_NONE) blocks->all_files = next;
  else fc_block_entry(blocks, before)->file_next = next;
  if (next != FC_BLOCK_NONE) {
    fc_block_entry(blocks, next)->file_before = before;
  }
}

void fc_block_file_close(fc_block_entry_t *entry) {
  if (entry->mapped) munmap(entry->data, (size_t)entry->mapped);
  close(entry->file);
}

static bool map(fc_blocks_t *blocks, fc_block_entry_t *entry, uint64_t size,
                int protection) {
  void *data = mmap(NULL, (size_t)size, protection, MAP_SHARED, entry->file, 0);
  if (data == MAP_FAILED) return false;
  entry->data = data;
  entry->mapped = size;
  fc_block_advise(data,
                  size < FC_BLOCK_SMALL_PAGES ? size : FC_BLOCK_SMALL_PAGES,
                  MADV_NOHUGEPAGE);
  blocks->files++;
  return true;
}

// ---------------------------------------------------------------------------
// The list of kept files

// Removes the kept block to which `at` points from the list.
static uint32_t unlist(fc_blocks_t *blocks, uint32_t *at) {
  const uint32_t block = *at;
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  *at = entry->next;
  if (entry->mapped) FC_UNPOISON(entry->data, (size_t)entry->mapped);
  return block;
}

static uint32_t pop_kept(fc_blocks_t *blocks, uint64_t audience,
                         uint64_t size) {
  uint32_t *at = &blocks->kept_files;
  while (*at != FC_BLOCK_NONE) {
    fc_block_entry_t *entry = fc_block_entry(blocks, *at);
    if (entry->audience == audience && entry->size == size) {
      return unlist(blocks, at);
    }
    at = &entry->next;
  }
  return FC_BLOCK_NONE;
}

// Frees the mapped kept file that was kept longest, so that one file less is mapped.
// False: no kept file is mapped.
static bool drop_mapped(fc_blocks_t *blocks) {
  uint32_t *last = NULL, *at = &blocks->kept_files;
  for (; *at != FC_BLOCK_NONE; at = &fc_block_entry(blocks, *at)->next) {
    if (fc_block_entry(blocks, *at)->mapped) last = at;
  }
  if (!last) return false;
  fc_block_let_go(blocks, unlist(blocks, last));
  return true;
}

// Frees the kept files after the first FC_LIMIT_KEPT_FILES.
static void bound_kept(fc_blocks_t *blocks) {
  uint32_t *at = &blocks->kept_files;
  for (unsigned i = 0; *at != FC_BLOCK_NONE; i++) {
    if (i < FC_LIMIT_KEPT_FILES) at = &fc_block_entry(blocks, *at)->next;
    else fc_block_let_go(blocks, unlist(blocks, at));
  }
}

// Notes how much memory the file takes, because workers may write bytes that are not
// counted. The query takes a microsecond, for any size and whatever the worker does with
// the file meanwhile. False: the file takes over FC_LIMIT_FILE_SPARE more than was known.
static bool note_taken(fc_blocks_t *blocks, fc_block_entry_t *entry,
                       uint64_t taken) {
  const bool honest = taken <= entry->filled + FC_LIMIT_FILE_SPARE;
  blocks->kept += taken - entry->filled;
  entry->filled = taken;
  return honest;
}

static bool measure(fc_blocks_t *blocks, fc_block_entry_t *entry) {
  return note_taken(blocks, entry, fc_shared_taken(entry->file));
}

void fc_block_file_give(fc_blocks_t *blocks, uint32_t block) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  const bool wanted = entry->audience != FC_AUDIENCE_NONE &&
                      measure(blocks, entry) && entry->filled > 0 &&
                      blocks->kept <= blocks->budget;
  if (!wanted) {
    fc_block_let_go(blocks, block);
    return;
  }
  if (entry->mapped) FC_POISON(entry->data, (size_t)entry->mapped);
  entry->kept_ns = fc_clock_ns();
  entry->next = blocks->kept_files;
  blocks->kept_files = block;
  bound_kept(blocks);
}

// A measured kept file. A process may write to a file even while it is kept.
typedef struct sample_t {
  uint64_t serial;
  uint64_t kept_ns;
  int file;
  uint64_t taken;
} sample_t;

// Called under the lock, like all functions except fc_blocks_age.
static unsigned list_kept(const fc_blocks_t *blocks,
                          sample_t samples[FC_LIMIT_KEPT_FILES]) {
  unsigned count = 0;
  for (uint32_t i = blocks->kept_files;
       i != FC_BLOCK_NONE && count < FC_LIMIT_KEPT_FILES;) {
    const fc_block_entry_t *entry = fc_block_entry(blocks, i);
    samples[count++] =
        (sample_t){entry->serial, entry->kept_ns, entry->file, 0};
    i = entry->next;
  }
  return count;
}

// Returns the measurement of the file. NULL: it was used again meanwhile.
static const sample_t *find_sample(const fc_block_entry_t *entry,
                                   const sample_t *samples, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (samples[i].serial == entry->serial &&
        samples[i].kept_ns == entry->kept_ns) {
      return &samples[i];
    }
  }
  return NULL;
}

// Frees kept files that are older, too large, or beyond the budget.
static void drop_old(fc_blocks_t *blocks, uint64_t before_ns,
                     const sample_t *samples, unsigned count) {
  uint32_t *at = &blocks->kept_files;
  while (*at != FC_BLOCK_NONE) {
    fc_block_entry_t *entry = fc_block_entry(blocks, *at);
    const sample_t *sample = find_sample(entry, samples, count);
    const bool honest = !sample || note_taken(blocks, entry, sample->taken);
    const bool old = sample && entry->kept_ns < before_ns;
    if (honest && !old && blocks->kept <= blocks->budget) at = &entry->next;
    else fc_block_let_go(blocks, unlist(blocks, at));
  }
}

bool fc_blocks_age(fc_blocks_t *blocks, uint64_t before_ns) {
  sample_t samples[FC_LIMIT_KEPT_FILES];
  pthread_mutex_lock(&blocks->lock);
  const unsigned count = list_kept(blocks, samples);
  pthread_mutex_unlock(&blocks->lock);
  if (!count) return false;
  for (unsigned i = 0; i < count; i++) {
    samples[i].taken = fc_shared_taken(samples[i].file);
  }
  pthread_mutex_lock(&blocks->lock);
  drop_old(blocks, before_ns, samples, count);
  const bool kept = blocks->kept_files != FC_BLOCK_NONE;
  pthread_mutex_unlock(&blocks->lock);
  return kept;
}

static void drop_audience(fc_blocks_t *blocks, uint64_t audience) {
  uint32_t *at = &blocks->kept_files;
  while (*at != FC_BLOCK_NONE) {
    fc_block_entry_t *entry = fc_block_entry(blocks, *at);
    if (entry->audience != audience) at = &entry->next;
    else fc_block_let_go(blocks, unlist(blocks, at));
  }
}

uint64_t fc_blocks_audience(fc_blocks_t *blocks) {
  pthread_mutex_lock(&blocks->lock);
  const uint64_t audience = ++blocks->audiences;
  pthread_mutex_unlock(&blocks->lock);
  return audience;
}

void fc_blocks_disband(fc_blocks_t *blocks, uint64_t audience) {
  if (audience == FC_AUDIENCE_NONE) return;
  pthread_mutex_lock(&blocks->lock);
  drop_audience(blocks, audience);
  // Files in use are freed when they are given back.
  for (uint32_t i = blocks->all_files; i != FC_BLOCK_NONE;) {
    fc_block_entry_t *entry = fc_block_entry(blocks, i);
    if (entry->audience == audience) entry->audience = FC_AUDIENCE_NONE;
    i = entry->file_next;
  }
  pthread_mutex_unlock(&blocks->lock);
}

// ---------------------------------------------------------------------------
// Taking blocks in files

// Makes a block in a file that is not mapped yet. FC_BLOCK_NONE: FC_LIMIT_SHARED_FILES
// are mapped and in use, or no file can be made.
static uint32_t make(fc_blocks_t *blocks, uint64_t audience, uint64_t size) {
  if (blocks->files >= FC_LIMIT_SHARED_FILES && !drop_mapped(blocks)) {
    return FC_BLOCK_NONE;
  }
  const uint32_t index = fc_block_index_new(blocks);
  if (index == FC_BLOCK_NONE) return index;
  const int file = fc_shared_create("farcall-block", size + FC_BLOCK_TAIL);
  if (file < 0) {
    fc_block_index_free(blocks, index);
    return FC_BLOCK_NONE;
  }
  *fc_block_entry(blocks, index) =
      (fc_block_entry_t){.size = size,
                         .class_ = (uint8_t)fc_block_class_of(size),
                         .owner = FC_OWNER_NONE,
                         .audience = audience,
                         .serial = ++blocks->serials,
                         .file = file};
  list(blocks, index);
  return index;
}

uint32_t fc_block_file_take(fc_blocks_t *blocks, uint64_t audience,
                            uint64_t size) {
  uint32_t block = pop_kept(blocks, audience, size);
  if (block == FC_BLOCK_NONE) block = make(blocks, audience, size);
  if (block == FC_BLOCK_NONE) return block;
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  if (entry->mapped ||
      map(blocks, entry, size + FC_BLOCK_TAIL, PROT_READ | PROT_WRITE)) {
    return block;
  }
  fc_block_let_go(blocks, block);
  return FC_BLOCK_NONE;
}

int fc_block_file(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->file;
}

uint64_t fc_block_serial(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->serial;
}

uint64_t fc_block_filled(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->filled;
}

fc_status_t fc_block_lend(fc_blocks_t *blocks, uint64_t audience, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) {
  pthread_mutex_lock(&blocks->lock);
  uint32_t block = pop_kept(blocks, audience, size);
  if (block == FC_BLOCK_NONE) block = make(blocks, audience, size);
  pthread_mutex_unlock(&blocks->lock);
  if (block == FC_BLOCK_NONE) return fc_fail_memory(err);
  *out_block = block;
  return FC_OK;
}

// Makes the block's file readable. The whole file is mapped, so that a larger answer
// needs no new mapping: unmapping costs 40 us for each MiB that was read.
static bool map_to_read(fc_blocks_t *blocks, fc_block_entry_t *entry) {
  if (entry->mapped) return true;
  pthread_mutex_lock(&blocks->lock);
  const bool mapped = map(blocks, entry, entry->size, PROT_READ);
  pthread_mutex_unlock(&blocks->lock);
  return mapped;
}

fc_status_t fc_block_adopt(fc_blocks_t *blocks, uint32_t block, uint64_t size,
                           fc_error_t *err) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  FC_ASSERT(size <= entry->size && entry->counted == 0);
  if (!map_to_read(blocks, entry)) return fc_fail_memory(err);
  return fc_block_count_file(blocks, entry, size, err);
}
