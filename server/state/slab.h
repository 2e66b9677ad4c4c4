// SPDX-License-Identifier: Apache-2.0
//
// The slab of a generation: one file without a name, in which the values of all its
// sessions lie. A place is a range of pages that is granted once and never again, so a
// mapping that a worker keeps never shows the bytes of another. Whoever has a place counts:
// a fork shares places. What nobody has any more is given back to the system beside the
// loop. The loop's thread.
#ifndef FARCALL_SERVER_STATE_SLAB_H_
#define FARCALL_SERVER_STATE_SLAB_H_

#include "control/nursery.h"
#include "pool/claim.h"

typedef struct fc_store_place_t fc_store_place_t;

// Pages of a slab. `page` and `size` are whole pages.
struct fc_store_place_t {
  uint64_t page;
  uint64_t size;
  uint32_t counts;         // how many values lie here
  fc_store_place_t *next;  // of those that nobody has any more
};

typedef struct fc_slab_t {
  fc_claim_slab_t claim;
  fc_allocator_t allocator;
  // Gives memory back; NULL: this is done at once, as tests want it.
  fc_nursery_t *nursery;
  uint64_t generation;     // its serial
  uint32_t index;          // and its index
  bool spoiled;            // a worker has written beyond what was granted
  struct fc_slab_t *next;  // in the list of all
  struct fc_slab_t **list;
  uint64_t cursor;  // nothing was granted from here on
  uint32_t holds;   // sessions, and an order that is on its way
  fc_store_place_t *dead;
  // The nursery's while `order` is on its way
  fc_store_place_t *punched;  // what it gives back
  fc_store_place_t *walk;     // the first of these of which there may be more
  uint64_t at;                // so far into that
  fc_order_t order;
  bool ordered;
  bool closing;  // the file is closed soon: nothing is given back before
} fc_slab_t;

// A slab of a generation with half of its addresses left, which `list` has or gets.
// `serial` is of a new slab alone. The caller holds it. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_slab_find(fc_slab_t **list, uint64_t generation, uint32_t index,
                         fc_allocator_t allocator, uint64_t serial,
                         fc_nursery_t *nursery, fc_slab_t **out_slab,
                         fc_error_t *err) FC_MUST_CHECK;
static inline fc_slab_t *fc_slab_hold(fc_slab_t *slab) {
  slab->holds++;
  return slab;
}
// The last one closes the file. NULL is allowed.
void fc_slab_release(fc_slab_t *slab);
// The nursery has stopped: from now on memory goes back with the file.
void fc_slabs_stop(fc_slab_t *list);
// No session is left: frees slabs whose memory it has not
// given back.
void fc_slabs_deinit(fc_slab_t **list);

// Grants `size` bytes, whole pages, that nobody was granted before. False: the slab has no
// more addresses.
bool fc_slab_grant(fc_slab_t *slab, uint64_t size, uint64_t *out_page);
// What was granted last and not used, from `page` on, may be granted again: only if
// nothing was granted since. Nobody has written there.
void fc_slab_return(fc_slab_t *slab, uint64_t page, uint64_t end);

// Makes a place of pages that were granted, with a count of one. NULL: out of memory.
fc_store_place_t *fc_slab_place(fc_slab_t *slab, uint64_t page, uint64_t size);
// One less has it. NULL is allowed. The last one has its memory given back.
void fc_slab_leave(fc_slab_t *slab, fc_store_place_t *place);
// Gives pages back that are of no place. Without memory to note them this is done at once.
void fc_slab_clear(fc_slab_t *slab, uint64_t page, uint64_t size);

// Has it more pages than were granted, and SPARE bytes? Then all that it has is given back:
// the caller says that all its values are lost, and gets no session with it any more.
bool fc_slab_is_greedy(const fc_slab_t *slab);
void fc_slab_spoil(fc_slab_t *slab);

#endif  // FARCALL_SERVER_STATE_SLAB_H_
