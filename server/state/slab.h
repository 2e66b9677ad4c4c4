// SPDX-License-Identifier: Apache-2.0
//
// The slab of a generation: one file without a name, in which the values of all its
// sessions lie. A place is a range of pages that is granted once and never again. So
// an old mapping of a place in a worker never shows the bytes of another value. A place
// counts the values that lie in it: a fork shares places. The nursery gives places
// without values back to the system. Loop thread.
#ifndef FARCALL_SERVER_STATE_SLAB_H_
#define FARCALL_SERVER_STATE_SLAB_H_

#include "control/nursery.h"
#include "pool/claim.h"

typedef struct fc_store_place_t fc_store_place_t;

// A range of whole pages of a slab; `page` and `size` are in bytes.
struct fc_store_place_t {
  uint64_t page;
  uint64_t size;
  uint32_t counts;         // values that lie here
  fc_store_place_t *next;  // links the places without values
};

typedef struct fc_slab_t {
  fc_claim_slab_t claim;
  fc_allocator_t allocator;
  // Gives memory back; NULL: this is done at once (tests).
  fc_nursery_t *nursery;
  // Serial of the generation, or of the newest one to which its sessions went over.
  uint64_t generation;
  bool spoiled;            // a worker has written beyond what was granted
  struct fc_slab_t *next;  // in the list of all slabs
  struct fc_slab_t **list;
  uint64_t cursor;  // nothing was granted from here on
  uint32_t holds;   // by sessions, and by an order that is on its way
  fc_store_place_t *dead;
  // Used by the nursery while `order` is on its way
  fc_store_place_t *punched;  // the places that are given back
  fc_store_place_t *walk;     // the place among these that is given back now
  uint64_t at;                // how far that place was given back, bytes
  fc_order_t order;
  bool ordered;
  bool closing;  // the file will be closed soon: nothing is given back before
} fc_slab_t;

// Finds a slab of the generation in *list with at least half of its addresses left, or
// makes one with the serial number `serial` and adds it to the list. The caller holds
// the slab. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_slab_find(fc_slab_t **list, uint64_t generation,
                         fc_allocator_t allocator, uint64_t serial,
                         fc_nursery_t *nursery, fc_slab_t **out_slab,
                         fc_error_t *err) FC_MUST_CHECK;
static inline fc_slab_t *fc_slab_hold(fc_slab_t *slab) {
  slab->holds++;
  return slab;
}
// Releases a hold; the last one closes the file. NULL is allowed.
void fc_slab_release(fc_slab_t *slab);
// Call it when the nursery has stopped: from now on memory is only given back with the
// file.
void fc_slabs_stop(fc_slab_t *list);
// Frees the slabs whose memory the nursery has not given back. No session may be left.
void fc_slabs_deinit(fc_slab_t **list);

// Grants `size` bytes, whole pages, that were never granted before. False: the slab has
// no more addresses.
bool fc_slab_grant(fc_slab_t *slab, uint64_t size, uint64_t *out_page);
// Allows the unused end of the last grant, from `page` on, to be granted again. Nobody
// may have written there. Does nothing if more was granted since.
void fc_slab_return(fc_slab_t *slab, uint64_t page, uint64_t end);

// Makes a place of granted pages, with a count of one. NULL: there is no memory.
fc_store_place_t *fc_slab_place(fc_slab_t *slab, uint64_t page, uint64_t size);
// Subtracts one from the count of the place; at 0 its memory is given back. NULL is
// allowed.
void fc_slab_leave(fc_slab_t *slab, fc_store_place_t *place);
// Gives back pages that belong to no place: at once if there is no memory to note them.
void fc_slab_clear(fc_slab_t *slab, uint64_t page, uint64_t size);

// Has the slab more pages than were granted, by more than SPARE bytes? Then the caller
// must call fc_slab_spoil, which gives all pages back: all values in the slab are lost,
// and it gets no more sessions.
bool fc_slab_is_greedy(const fc_slab_t *slab);
void fc_slab_spoil(fc_slab_t *slab);

#endif  // FARCALL_SERVER_STATE_SLAB_H_
