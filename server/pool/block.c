// SPDX-License-Identifier: Apache-2.0
//
// Size classes are powers of two from 4 KiB, so a block above 4 KiB counts for less than
// twice the requested size. The tail is outside the class, so that a body of 64 MiB needs
// no block of 128 MiB. There is one mutex: the loop and the threads take and give a block
// or two a call, and more only if an answer outgrows its block.
#include <sys/mman.h>

#include "base/sanitize.h"
#include "pool/block_table.h"

// Makes a block, under the lock. The block does not count as in use yet.
static uint32_t new_block(fc_blocks_t *blocks, unsigned class_) {
  uint32_t index = fc_block_index_new(blocks);
  if (index == FC_BLOCK_NONE) return index;
  fc_block_entry_t *entry = fc_block_entry(blocks, index);
  uint64_t size = fc_block_class_bytes(class_);
  uint8_t *data =
      fc_alloc_aligned(blocks->allocator, (size_t)size + FC_BLOCK_TAIL, 64);
  *entry = (fc_block_entry_t){.data = data,
                              .size = size,
                              .class_ = (uint8_t)class_,
                              .owner = FC_OWNER_NONE,
                              .file = -1};
  if (data) return index;
  fc_block_index_free(blocks, index);
  return FC_BLOCK_NONE;
}

// Makes a large block for bytes that may never come. FC_BLOCK_NONE: blocks of this class
// are not large, or none can be made.
static uint32_t reserve(fc_blocks_t *blocks, unsigned class_) {
  if (class_ >= FC_BLOCK_CLASSES ||
      fc_block_class_bytes(class_) < FC_BLOCK_LARGE) {
    return FC_BLOCK_NONE;
  }
  const uint32_t block = new_block(blocks, class_);
  if (block == FC_BLOCK_NONE) return block;
  const uint64_t size = fc_block_class_bytes(class_);
  fc_block_advise(fc_block_entry(blocks, block)->data,
                  size < FC_BLOCK_SMALL_PAGES ? size : FC_BLOCK_SMALL_PAGES,
                  MADV_NOHUGEPAGE);
  return block;
}

// ---------------------------------------------------------------------------
// Taking blocks

// A request for memory.
typedef struct request_t {
  const fc_owner_t *owner;  // NULL: nobody's
  uint64_t now;             // bytes to count
  uint64_t size;            // bytes to have in the end
  unsigned class_;          // class of `now`
  uint64_t audience;
  uint64_t old_counted;  // bytes counted of the block that is to grow, if any
  uint32_t old_owner;    // of that block
} request_t;

static request_t make_request(const fc_owner_t *owner, uint64_t now,
                              uint64_t size) {
  unsigned class_ = fc_block_class_of(now);
  // Blocks of the smallest class have no owner.
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

// Called under the lock, like all functions from here to take().
static verdict_t judge(const fc_blocks_t *blocks, const request_t *request) {
  if (request->class_ == 0) return VERDICT_FITS;
  if (request->class_ == FC_BLOCK_CLASSES || request->now > blocks->limit) {
    return VERDICT_TOO_LARGE;
  }
  uint64_t bytes = fc_block_class_bytes(request->class_);
  if (request->owner) {
    uint64_t held = fc_owners_held(&blocks->owners, request->owner);
    if (request->old_owner != FC_OWNER_NONE) held -= request->old_counted;
    // An owner without blocks may have one request above the share.
    if (held && held + bytes > blocks->share) return VERDICT_SHARE;
  }
  uint64_t others = blocks->taken - request->old_counted;
  return others + bytes > blocks->limit ? VERDICT_LIMIT : VERDICT_FITS;
}

static uint32_t pop_kept(fc_blocks_t *blocks, unsigned class_) {
  if (class_ == FC_BLOCK_CLASSES) return FC_BLOCK_NONE;
  uint32_t block = blocks->heads[class_];
  if (block == FC_BLOCK_NONE) return block;
  FC_UNPOISON(fc_block_entry(blocks, block)->data,
              (size_t)fc_block_class_bytes(class_) + FC_BLOCK_TAIL);
  blocks->heads[class_] = fc_block_entry(blocks, block)->next;
  return block;
}

// Makes the entry count `bytes` from now on. False: there is no memory to store the
// owner.
static bool count(fc_blocks_t *blocks, fc_block_entry_t *entry,
                  const fc_owner_t *owner, uint64_t bytes) {
  uint64_t more = bytes - entry->counted;
  if (owner) {
    // The owner now also owns the earlier bytes of a block without an owner.
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
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  fc_owners_release(&blocks->owners, entry->owner, entry->counted);
  blocks->taken -= entry->counted;
  blocks->kept += entry->counted;
  entry->counted = 0;
  entry->owner = FC_OWNER_NONE;
  if (entry->file >= 0) {
    fc_block_file_give(blocks, block);
    return;
  }
  // A block of which less than half was filled has too little memory to be worth keeping.
  if (blocks->kept > blocks->budget || entry->filled < entry->size / 2) {
    fc_block_let_go(blocks, block);
    return;
  }
  // The address sanitizer then reports code that still uses the address.
  FC_POISON(entry->data,
            (size_t)fc_block_class_bytes(entry->class_) + FC_BLOCK_TAIL);
  entry->next = blocks->heads[entry->class_];
  blocks->heads[entry->class_] = block;
}

// Takes a block in a file. FC_BLOCK_NONE: no file is wanted, or none can be made.
static uint32_t take_file(fc_blocks_t *blocks, const request_t *request) {
  const unsigned class_ = fc_block_class_of(request->size);
  const bool large =
      request->size > FC_LIMIT_SHARED && class_ < FC_BLOCK_CLASSES;
  if (request->audience == FC_AUDIENCE_NONE || !large) return FC_BLOCK_NONE;
  return fc_block_file_take(blocks, request->audience,
                            fc_block_class_bytes(class_));
}

static verdict_t take(fc_blocks_t *blocks, const request_t *request,
                      uint32_t *out_block) {
  verdict_t verdict = judge(blocks, request);
  if (verdict != VERDICT_FITS) return verdict;
  uint32_t block = take_file(blocks, request);
  if (block == FC_BLOCK_NONE && request->size > request->now) {
    block = pop_kept(blocks, fc_block_class_of(request->size));
  }
  if (block == FC_BLOCK_NONE && request->size > request->now) {
    block = reserve(blocks, fc_block_class_of(request->size));
  }
  if (block == FC_BLOCK_NONE) block = pop_kept(blocks, request->class_);
  if (block == FC_BLOCK_NONE) block = new_block(blocks, request->class_);
  if (block == FC_BLOCK_NONE) return VERDICT_MEMORY;
  if (!count(blocks, fc_block_entry(blocks, block), request->owner,
             fc_block_class_bytes(request->class_))) {
    give(blocks, block);
    return VERDICT_MEMORY;
  }
  fc_block_entry(blocks, block)->audience = request->audience;
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
                                 uint64_t audience, uint64_t now, uint64_t size,
                                 uint32_t *out_block, fc_error_t *err) {
  request_t request = make_request(owner, now, size);
  request.audience = audience;
  return fulfil(blocks, &request, out_block, err);
}

// Counts more bytes of a block that is large enough for them.
static fc_status_t count_more(fc_blocks_t *blocks, const request_t *request,
                              fc_block_entry_t *entry, fc_error_t *err) {
  pthread_mutex_lock(&blocks->lock);
  verdict_t verdict = judge(blocks, request);
  if (verdict == VERDICT_FITS &&
      !count(blocks, entry, request->owner,
             fc_block_class_bytes(request->class_))) {
    verdict = VERDICT_MEMORY;
  }
  pthread_mutex_unlock(&blocks->lock);
  return describe(blocks, request, verdict, err);
}

fc_status_t fc_block_count_file(fc_blocks_t *blocks, fc_block_entry_t *entry,
                                uint64_t size, fc_error_t *err) {
  const request_t request = make_request(NULL, size, size);
  return count_more(blocks, &request, entry, err);
}

fc_status_t fc_block_grow(fc_blocks_t *blocks, const fc_owner_t *owner,
                          uint32_t *block, uint64_t used, uint64_t now,
                          uint64_t size, fc_error_t *err) {
  fc_block_entry_t *entry = fc_block_entry(blocks, *block);
  request_t request = make_request(owner, now, size);
  request.old_counted = entry->counted;
  request.old_owner = entry->owner;
  request.audience = entry->audience;
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

fc_status_t fc_block_own(fc_blocks_t *blocks, const fc_owner_t *owner,
                         uint32_t block, fc_error_t *err) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  request_t request = make_request(owner, entry->counted, entry->counted);
  request.old_counted = entry->counted;
  return entry->owner == FC_OWNER_NONE
             ? count_more(blocks, &request, entry, err)
             : FC_OK;
}

bool fc_blocks_charge(fc_blocks_t *blocks, uint64_t size) {
  pthread_mutex_lock(&blocks->lock);
  const bool fits =
      blocks->taken <= blocks->limit && size <= blocks->limit - blocks->taken;
  if (fits) blocks->taken += size;
  pthread_mutex_unlock(&blocks->lock);
  return fits;
}

void fc_blocks_discharge(fc_blocks_t *blocks, uint64_t size) {
  pthread_mutex_lock(&blocks->lock);
  blocks->taken -= size;
  pthread_mutex_unlock(&blocks->lock);
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
