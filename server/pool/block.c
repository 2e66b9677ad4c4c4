// SPDX-License-Identifier: Apache-2.0
//
// Power-of-two classes from 4 KiB: what is counted is less than twice what is
// asked for. The tail lies outside the class, so that a body of 64 MiB needs no
// block of 128 MiB. One mutex: the loop takes and gives a block or two a call,
// workers only when an answer outgrows its block.
#include "pool/block.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "config/limits.h"
#include "pool/shared.h"

#define CLASS_COUNT 23    // up to 16 GiB
#define CHUNK_SIZE 256u   // entries of one piece of the table
#define CHUNK_COUNT 256u  // pieces: at most 65,536 blocks
#define PAGE 4096u
// Blocks of at least this size are memory mapped of their own: their pages are
// taken as they are touched, and are given back bit by bit.
#define LARGE (1u << 20)
// So many bytes at the beginning of such a block get small pages, so that a
// client which announces much and sends little takes little memory.
#define SMALL_PAGES (4u << 20)
_Static_assert(FC_LIMIT_SHARED * 2 == LARGE, "shared blocks are large ones");

typedef struct entry_t {
  uint8_t *data;      // NULL: the index is free
  uint64_t size;      // usable bytes
  uint32_t next;      // in a list of kept or dying blocks, or of free indices
  uint64_t counted;   // bytes that count as in use
  uint64_t filled;    // bytes ever counted; those not in use count as kept
  uint64_t released;  // bytes given back to the system, of a dying block
  uint64_t mapped;    // bytes of `file` that are mapped at `data`
  uint32_t owner;     // on whose account they count; FC_OWNER_NONE: nobody's
  int file;           // that it lies in, -1: in memory of the allocator
  bool shared;        // fc_block_take_shared
  uint8_t class_;
} entry_t;

struct fc_blocks_t {
  fc_allocator_t allocator;
  pthread_mutex_t lock;
  uint64_t limit;
  uint64_t share;
  uint64_t budget;
  uint64_t taken;
  uint64_t kept;
  fc_owners_t owners;
  bool fixed;                   // fc_blocks_create_fixed: nothing can be taken
  uint32_t heads[CLASS_COUNT];  // kept blocks, last in first out
  _Atomic uint32_t dying;  // large blocks to be released; the loop takes them
  _Atomic uint32_t files;  // blocks whose file is mapped
  _Atomic uint64_t copied;
  uint32_t free_index;
  uint32_t count;                // indices ever handed out
  entry_t *chunks[CHUNK_COUNT];  // never move: readers need no lock
};

static uint64_t class_bytes(unsigned class_) {
  return (uint64_t)FC_BLOCK_SMALLEST << class_;
}

// The smallest class of at least `size` bytes; CLASS_COUNT: there is none.
static unsigned class_of(uint64_t size) {
  unsigned class_ = 0;
  while (class_ < CLASS_COUNT && class_bytes(class_) < size) class_++;
  return class_;
}

static entry_t *entry_at(const fc_blocks_t *blocks, uint32_t block) {
  return &blocks->chunks[block / CHUNK_SIZE][block % CHUNK_SIZE];
}

fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) {
  fc_blocks_t *blocks = fc_alloc(allocator, sizeof *blocks);
  if (!blocks) return fc_fail_memory(err);
  blocks->allocator = allocator;
  blocks->limit = limit;
  blocks->share = limit;
  blocks->owners.allocator = allocator;
  blocks->budget = budget;
  blocks->dying = blocks->free_index = FC_BLOCK_NONE;
  for (unsigned i = 0; i < CLASS_COUNT; i++) blocks->heads[i] = FC_BLOCK_NONE;
  pthread_mutex_init(&blocks->lock, NULL);
  *out_blocks = blocks;
  return FC_OK;
}

fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks, fc_error_t *err) {
  FC_ASSERT(count <= CHUNK_SIZE);
  fc_blocks_t *blocks;
  FC_TRY(fc_blocks_create(allocator, 0, 0, &blocks, err));
  blocks->fixed = true;
  blocks->chunks[0] =
      fc_alloc_array(allocator, count, sizeof *blocks->chunks[0]);
  if (!blocks->chunks[0]) {
    fc_blocks_destroy(blocks);
    return fc_fail_memory(err);
  }
  for (uint32_t i = 0; i < count; i++) {
    FC_ASSERT(spans[i].size > FC_BLOCK_TAIL);
    blocks->chunks[0][i] = (entry_t){.data = spans[i].data,
                                     .size = spans[i].size - FC_BLOCK_TAIL,
                                     .file = -1};
  }
  blocks->count = count;
  *out_blocks = blocks;
  return FC_OK;
}

void fc_blocks_set_share(fc_blocks_t *blocks, uint64_t share) {
  blocks->share = share;
}

void fc_blocks_destroy(fc_blocks_t *blocks) {
  if (!blocks) return;
  FC_ASSERT(blocks->taken == 0);
  fc_blocks_trim(blocks, 0);
  while (fc_blocks_release(blocks, UINT64_MAX)) continue;
  for (unsigned i = 0; i < CHUNK_COUNT; i++) {
    fc_free(blocks->allocator, blocks->chunks[i]);
  }
  fc_owners_deinit(&blocks->owners);
  pthread_mutex_destroy(&blocks->lock);
  fc_free(blocks->allocator, blocks);
}

// Finds a free index, under the lock. FC_BLOCK_NONE: none can be had.
static uint32_t new_index(fc_blocks_t *blocks) {
  if (blocks->free_index != FC_BLOCK_NONE) {
    uint32_t index = blocks->free_index;
    blocks->free_index = entry_at(blocks, index)->next;
    return index;
  }
  if (blocks->count == CHUNK_SIZE * CHUNK_COUNT) return FC_BLOCK_NONE;
  entry_t **chunk = &blocks->chunks[blocks->count / CHUNK_SIZE];
  if (!*chunk) {
    *chunk = fc_alloc_array(blocks->allocator, CHUNK_SIZE, sizeof **chunk);
    if (!*chunk) return FC_BLOCK_NONE;
  }
  return blocks->count++;
}

static void free_index(fc_blocks_t *blocks, uint32_t index) {
  entry_t *entry = entry_at(blocks, index);
  entry->data = NULL;
  entry->next = blocks->free_index;
  blocks->free_index = index;
}

// Makes a block, under the lock. It does not count as in use yet.
static uint32_t new_block(fc_blocks_t *blocks, unsigned class_) {
  uint32_t index = new_index(blocks);
  if (index == FC_BLOCK_NONE) return index;
  entry_t *entry = entry_at(blocks, index);
  uint64_t size = class_bytes(class_);
  uint8_t *data =
      fc_alloc_aligned(blocks->allocator, (size_t)size + FC_BLOCK_TAIL, 64);
  *entry = (entry_t){.data = data,
                     .size = size,
                     .class_ = (uint8_t)class_,
                     .owner = FC_OWNER_NONE,
                     .file = -1};
  if (data) return index;
  free_index(blocks, index);
  return FC_BLOCK_NONE;
}

// Makes a block in a file, under the lock. The file is not mapped yet.
static uint32_t new_file(fc_blocks_t *blocks, uint64_t size) {
  if (blocks->files >= FC_LIMIT_SHARED_FILES) return FC_BLOCK_NONE;
  const uint32_t index = new_index(blocks);
  if (index == FC_BLOCK_NONE) return index;
  const int file = fc_shared_create("farcall-block", size + FC_BLOCK_TAIL);
  if (file < 0) {
    free_index(blocks, index);
    return FC_BLOCK_NONE;
  }
  *entry_at(blocks, index) = (entry_t){.size = size,
                                       .class_ = (uint8_t)class_of(size),
                                       .owner = FC_OWNER_NONE,
                                       .file = file};
  return index;
}

// Calls madvise for the whole pages among the `size` bytes from `begin` on.
static void advise(uint8_t *begin, uint64_t size, int advice) {
  uint8_t *first = begin + (PAGE - (uintptr_t)begin % PAGE) % PAGE;
  uint8_t *end = begin + size - (uintptr_t)(begin + size) % PAGE;
  if (end > first) (void)madvise(first, (size_t)(end - first), advice);
}

static bool map_file(fc_blocks_t *blocks, entry_t *entry, uint64_t size,
                     int protection) {
  void *data = mmap(NULL, (size_t)size, protection, MAP_SHARED, entry->file, 0);
  if (data == MAP_FAILED) return false;
  entry->data = data;
  entry->mapped = size;
  advise(data, size < SMALL_PAGES ? size : SMALL_PAGES, MADV_NOHUGEPAGE);
  blocks->files++;
  return true;
}

static void unmap_file(fc_blocks_t *blocks, entry_t *entry) {
  if (!entry->mapped) return;
  munmap(entry->data, (size_t)entry->mapped);
  entry->mapped = 0;
  blocks->files--;
}

// Takes a large block for bytes that may never come. FC_BLOCK_NONE: blocks of
// this class are not large, or there is no memory.
static uint32_t reserve(fc_blocks_t *blocks, unsigned class_) {
  if (class_ >= CLASS_COUNT || class_bytes(class_) < LARGE) {
    return FC_BLOCK_NONE;
  }
  const uint32_t block = new_block(blocks, class_);
  if (block == FC_BLOCK_NONE) return block;
  const uint64_t size = class_bytes(class_);
  advise(entry_at(blocks, block)->data, size < SMALL_PAGES ? size : SMALL_PAGES,
         MADV_NOHUGEPAGE);
  return block;
}

// Frees a block that does not count as kept any more.
static void free_block(fc_blocks_t *blocks, uint32_t block) {
  entry_t *entry = entry_at(blocks, block);
  if (entry->file < 0) {
    FC_UNPOISON(entry->data,
                (size_t)class_bytes(entry->class_) + FC_BLOCK_TAIL);
    fc_free(blocks->allocator, entry->data);
  } else {
    unmap_file(blocks, entry);
    close(entry->file);
  }
  free_index(blocks, block);
}

// Frees a block that is in no list, or has it freed later.
static void let_go(fc_blocks_t *blocks, uint32_t block) {
  entry_t *entry = entry_at(blocks, block);
  blocks->kept -= entry->filled;
  if (entry->file < 0 ? entry->filled <= LARGE
                      : fc_shared_taken(entry->file) == 0) {
    free_block(blocks, block);
    return;
  }
  entry->next = blocks->dying;
  blocks->dying = block;
}

// ---------------------------------------------------------------------------
// Taking

// A request for memory.
typedef struct request_t {
  const fc_owner_t *owner;  // NULL: nobody's
  uint64_t now;             // bytes to count
  uint64_t size;            // bytes to have in the end
  unsigned class_;          // class of `now`
  bool shared;
  uint64_t old_counted;  // bytes counted of the block that is to grow
  uint32_t old_owner;
} request_t;

static request_t make_request(const fc_owner_t *owner, uint64_t now,
                              uint64_t size) {
  unsigned class_ = class_of(now);
  // Blocks of the smallest class are counted to nobody.
  return (request_t){.owner = class_ ? owner : NULL,
                     .now = now,
                     .size = size,
                     .class_ = class_,
                     .old_owner = FC_OWNER_NONE};
}

typedef enum verdict_t {
  VERDICT_FITS,
  VERDICT_TOO_LARGE,
  VERDICT_SHARE,
  VERDICT_LIMIT,
  VERDICT_MEMORY,
} verdict_t;

static fc_status_t describe(const fc_blocks_t *blocks, const request_t *request,
                            verdict_t verdict, fc_error_t *err) {
  switch (verdict) {
    case VERDICT_FITS:
      return FC_OK;
    case VERDICT_TOO_LARGE:
      return fc_fail(err, FC_CODE_OVERLOADED,
                     "%llu bytes exceed the memory for calls in flight",
                     (unsigned long long)request->now);
    case VERDICT_SHARE:
      return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                     "requests of one client may hold %llu bytes",
                     (unsigned long long)blocks->share);
    case VERDICT_LIMIT:
      return fc_fail(err, FC_CODE_OVERLOADED,
                     "calls in flight hold all of %llu bytes",
                     (unsigned long long)blocks->limit);
    case VERDICT_MEMORY:
      break;
  }
  return fc_fail_memory(err);
}

// Under the lock, as are the functions from here to take().
static verdict_t judge(const fc_blocks_t *blocks, const request_t *request) {
  if (request->class_ == 0) return VERDICT_FITS;
  if (request->class_ == CLASS_COUNT || request->now > blocks->limit) {
    return VERDICT_TOO_LARGE;
  }
  uint64_t bytes = class_bytes(request->class_);
  if (request->owner) {
    uint64_t held = fc_owners_held(&blocks->owners, request->owner);
    if (request->old_owner != FC_OWNER_NONE) held -= request->old_counted;
    // An owner that holds nothing may make one request of any size.
    if (held && held + bytes > blocks->share) return VERDICT_SHARE;
  }
  uint64_t others = blocks->taken - request->old_counted;
  return others + bytes > blocks->limit ? VERDICT_LIMIT : VERDICT_FITS;
}

static uint32_t pop_kept(fc_blocks_t *blocks, unsigned class_) {
  if (class_ == CLASS_COUNT) return FC_BLOCK_NONE;
  uint32_t block = blocks->heads[class_];
  if (block == FC_BLOCK_NONE) return block;
  FC_UNPOISON(entry_at(blocks, block)->data,
              (size_t)class_bytes(class_) + FC_BLOCK_TAIL);
  blocks->heads[class_] = entry_at(blocks, block)->next;
  return block;
}

// Counts `bytes` for the entry from now on. False: no memory to note the owner.
static bool count(fc_blocks_t *blocks, entry_t *entry, const fc_owner_t *owner,
                  uint64_t bytes) {
  uint64_t more = bytes - entry->counted;
  if (owner) {
    // Bytes of a block that nobody owned are now the owner's.
    uint64_t theirs = entry->owner == FC_OWNER_NONE ? bytes : more;
    uint32_t index = fc_owners_charge(&blocks->owners, owner, theirs);
    if (index == FC_OWNER_NONE) return false;
    FC_ASSERT(entry->owner == FC_OWNER_NONE || entry->owner == index);
    entry->owner = index;
  }
  const uint64_t filled = bytes > entry->filled ? bytes : entry->filled;
  blocks->kept += filled - bytes - (entry->filled - entry->counted);
  blocks->taken += more;
  entry->counted = bytes;
  entry->filled = filled;
  return true;
}

static void give(fc_blocks_t *blocks, uint32_t block) {
  entry_t *entry = entry_at(blocks, block);
  fc_owners_release(&blocks->owners, entry->owner, entry->counted);
  blocks->taken -= entry->counted;
  blocks->kept += entry->counted;
  entry->counted = 0;
  entry->owner = FC_OWNER_NONE;
  // A block that was hardly filled has next to nothing to use again; and a
  // worker may still see what lies in a file.
  if (blocks->kept > blocks->budget || entry->filled < entry->size / 2 ||
      entry->file >= 0) {
    let_go(blocks, block);
    return;
  }
  // The address sanitizer reports a holder that uses the address later.
  FC_POISON(entry->data, (size_t)class_bytes(entry->class_) + FC_BLOCK_TAIL);
  entry->next = blocks->heads[entry->class_];
  blocks->heads[entry->class_] = block;
}

// Takes a block in a file. FC_BLOCK_NONE: none is wanted, or none can be had.
static uint32_t take_file(fc_blocks_t *blocks, const request_t *request) {
  const unsigned class_ = class_of(request->size);
  const bool large = request->size > FC_LIMIT_SHARED && class_ < CLASS_COUNT;
  if (!request->shared || !large) return FC_BLOCK_NONE;
  const uint64_t size = class_bytes(class_);
  const uint32_t block = new_file(blocks, size);
  const int access = PROT_READ | PROT_WRITE;
  if (block == FC_BLOCK_NONE) return block;
  if (map_file(blocks, entry_at(blocks, block), size + FC_BLOCK_TAIL, access))
    return block;
  free_block(blocks, block);
  return FC_BLOCK_NONE;
}

static verdict_t take(fc_blocks_t *blocks, const request_t *request,
                      uint32_t *out_block) {
  verdict_t verdict = judge(blocks, request);
  if (verdict != VERDICT_FITS) return verdict;
  uint32_t block = take_file(blocks, request);
  if (block == FC_BLOCK_NONE && request->size > request->now) {
    block = pop_kept(blocks, class_of(request->size));
  }
  if (block == FC_BLOCK_NONE && request->size > request->now) {
    block = reserve(blocks, class_of(request->size));
  }
  if (block == FC_BLOCK_NONE) block = pop_kept(blocks, request->class_);
  if (block == FC_BLOCK_NONE) block = new_block(blocks, request->class_);
  if (block == FC_BLOCK_NONE) return VERDICT_MEMORY;
  if (!count(blocks, entry_at(blocks, block), request->owner,
             class_bytes(request->class_))) {
    give(blocks, block);
    return VERDICT_MEMORY;
  }
  entry_at(blocks, block)->shared = request->shared;
  *out_block = block;
  return VERDICT_FITS;
}

static fc_status_t fulfil(fc_blocks_t *blocks, const request_t *request,
                          uint32_t *out_block, fc_error_t *err) {
  if (blocks->fixed) {
    return fc_fail(err, FC_CODE_OVERLOADED, "these blocks are all there are");
  }
  pthread_mutex_lock(&blocks->lock);
  verdict_t verdict = take(blocks, request, out_block);
  pthread_mutex_unlock(&blocks->lock);
  if (verdict == VERDICT_FITS) return FC_OK;
  return describe(blocks, request, verdict, err);
}

fc_status_t fc_block_take(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) {
  return fc_block_take_for(blocks, NULL, size, size, out_block, err);
}

fc_status_t fc_block_take_for(fc_blocks_t *blocks, const fc_owner_t *owner,
                              uint64_t now, uint64_t size, uint32_t *out_block,
                              fc_error_t *err) {
  const request_t request = make_request(owner, now, size);
  return fulfil(blocks, &request, out_block, err);
}

fc_status_t fc_block_take_shared(fc_blocks_t *blocks, const fc_owner_t *owner,
                                 uint64_t now, uint64_t size,
                                 uint32_t *out_block, fc_error_t *err) {
  request_t request = make_request(owner, now, size);
  request.shared = true;
  return fulfil(blocks, &request, out_block, err);
}

// Counts more bytes of a block that is large enough for them.
static fc_status_t count_more(fc_blocks_t *blocks, const request_t *request,
                              entry_t *entry, fc_error_t *err) {
  pthread_mutex_lock(&blocks->lock);
  verdict_t verdict = judge(blocks, request);
  if (verdict == VERDICT_FITS &&
      !count(blocks, entry, request->owner, class_bytes(request->class_))) {
    verdict = VERDICT_MEMORY;
  }
  pthread_mutex_unlock(&blocks->lock);
  return describe(blocks, request, verdict, err);
}

fc_status_t fc_block_grow(fc_blocks_t *blocks, const fc_owner_t *owner,
                          uint32_t *block, uint64_t used, uint64_t now,
                          uint64_t size, fc_error_t *err) {
  entry_t *entry = entry_at(blocks, *block);
  request_t request = make_request(owner, now, size);
  request.old_counted = entry->counted;
  request.old_owner = entry->owner;
  request.shared = entry->shared;
  if (now <= entry->counted) return FC_OK;
  if (now <= entry->size) return count_more(blocks, &request, entry, err);
  uint32_t grown;
  FC_TRY(fulfil(blocks, &request, &grown, err));
  memcpy(fc_block_data(blocks, grown), fc_block_data(blocks, *block),
         (size_t)used);
  fc_blocks_note_copied(blocks, used);
  fc_block_give(blocks, *block);
  *block = grown;
  return FC_OK;
}

fc_status_t fc_blocks_check(fc_blocks_t *blocks, const fc_owner_t *owner,
                            uint64_t size, fc_error_t *err) {
  const request_t request = make_request(owner, size, size);
  pthread_mutex_lock(&blocks->lock);
  verdict_t verdict = judge(blocks, &request);
  pthread_mutex_unlock(&blocks->lock);
  return describe(blocks, &request, verdict, err);
}

void fc_block_give(fc_blocks_t *blocks, uint32_t block) {
  if (block == FC_BLOCK_NONE || blocks->fixed) return;
  pthread_mutex_lock(&blocks->lock);
  give(blocks, block);
  pthread_mutex_unlock(&blocks->lock);
}

uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block) {
  return entry_at(blocks, block)->data;
}

size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block) {
  return (size_t)entry_at(blocks, block)->size;
}

uint64_t fc_block_counted(const fc_blocks_t *blocks, uint32_t block) {
  return entry_at(blocks, block)->counted;
}

int fc_block_file(const fc_blocks_t *blocks, uint32_t block) {
  return entry_at(blocks, block)->file;
}

fc_status_t fc_block_lend(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) {
  pthread_mutex_lock(&blocks->lock);
  const uint32_t block = new_file(blocks, size);
  pthread_mutex_unlock(&blocks->lock);
  if (block == FC_BLOCK_NONE) return fc_fail_memory(err);
  *out_block = block;
  return FC_OK;
}

fc_status_t fc_block_adopt(fc_blocks_t *blocks, uint32_t block, uint64_t size,
                           fc_error_t *err) {
  entry_t *entry = entry_at(blocks, block);
  const request_t request = make_request(NULL, size, size);
  FC_ASSERT(size <= entry->size && !entry->mapped);
  if (!map_file(blocks, entry, size, PROT_READ)) return fc_fail_memory(err);
  const fc_status_t status = count_more(blocks, &request, entry, err);
  if (status != FC_OK) unmap_file(blocks, entry);
  return status;
}

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks) {
  pthread_mutex_lock(&blocks->lock);
  fc_blocks_usage_t usage = {
      blocks->taken, blocks->kept, blocks->limit, blocks->share,
      atomic_load_explicit(&blocks->copied, memory_order_relaxed)};
  pthread_mutex_unlock(&blocks->lock);
  return usage;
}

void fc_blocks_trim(fc_blocks_t *blocks, size_t size) {
  pthread_mutex_lock(&blocks->lock);
  for (unsigned i = 0; i < CLASS_COUNT; i++) {
    if (class_bytes(i) <= size) continue;
    while (blocks->heads[i] != FC_BLOCK_NONE) {
      uint32_t block = blocks->heads[i];
      blocks->heads[i] = entry_at(blocks, block)->next;
      let_go(blocks, block);
    }
  }
  pthread_mutex_unlock(&blocks->lock);
}

// Gives up to `most` bytes of a dying block back. True: there is more.
static bool release_some(entry_t *entry, uint64_t most) {
  // All of a file goes, since a worker may have written more than was counted.
  // A page of it takes four times as long, so only a quarter goes at a time.
  if (entry->file >= 0) {
    return fc_shared_scrub(entry->file, 0, entry->size + FC_BLOCK_TAIL,
                           most / 4, &entry->released);
  }
  const uint64_t left = entry->size - entry->released;
  if (left <= most) return false;
  advise(entry->data + entry->released, most, MADV_DONTNEED);
  entry->released += most;
  return true;
}

// The block is in no list while its pages go, so no lock is held.
bool fc_blocks_release(fc_blocks_t *blocks, uint64_t most) {
  if (blocks->dying == FC_BLOCK_NONE) return false;  // nearly always
  pthread_mutex_lock(&blocks->lock);
  const uint32_t block = blocks->dying;
  blocks->dying = entry_at(blocks, block)->next;
  pthread_mutex_unlock(&blocks->lock);
  const bool some = release_some(entry_at(blocks, block), most);
  pthread_mutex_lock(&blocks->lock);
  if (some) {
    entry_t *entry = entry_at(blocks, block);
    entry->next = blocks->dying;
    blocks->dying = block;
  } else {
    free_block(blocks, block);
  }
  const bool more = blocks->dying != FC_BLOCK_NONE;
  pthread_mutex_unlock(&blocks->lock);
  return more;
}

void fc_blocks_note_copied(fc_blocks_t *blocks, uint64_t size) {
  atomic_fetch_add_explicit(&blocks->copied, size, memory_order_relaxed);
}
