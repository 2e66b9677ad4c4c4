// SPDX-License-Identifier: Apache-2.0
//
// The ring is a sealed memfd that a worker process and the loop both map. It has slots
// that are used in turn, each with one area for the body and one for the answer, and the
// words by which each side wakes the other. The loop trusts nothing in it: data from a
// worker is copied out before it is checked and used, and is never used as an address.
// The loop computes the places of bodies and answers without reading the ring.
//
// A slot goes FREE -> READY (loop) -> BUSY -> DONE (worker) -> FREE (loop). In both
// wake-ups each side writes one word and then reads the other side's (as in Dekker's
// algorithm), so all these accesses are sequentially consistent:
//   loop:   state = READY;  if (worker_asleep) { bell++; futex wake }
//   worker: seen = bell; state READY? else worker_asleep = 1; state READY? else
//           futex wait(bell, seen); worker_asleep = 0
// A reference that is dropped (`dropped`) wakes the worker as a slot that is READY does.
//   worker: state = DONE;  if (exchange(loop_asleep, 0)) write the eventfd
//   loop:   loop_asleep = 1; any slot DONE? else wait for events; loop_asleep = 0
#ifndef FARCALL_SERVER_POOL_RING_H_
#define FARCALL_SERVER_POOL_RING_H_

#include "farcall/module.h"
#include "jail/jail.h"
#include "pool/slot.h"
#include "pool/spin.h"
#include "state/store.h"

#define FC_RING_SLOTS 16

typedef enum fc_ring_state_t {
  FC_RING_FREE,
  FC_RING_READY,
  FC_RING_BUSY,
  FC_RING_DONE,
} fc_ring_state_t;

// The state of a worker.
typedef enum fc_ring_phase_t {
  FC_RING_LOADING,
  FC_RING_SERVING,  // `digest` is set
  FC_RING_FAILED,   // `error` is set: the module cannot be loaded
} fc_ring_phase_t;

// The settings of a worker. The loop writes them before it starts the worker.
typedef struct fc_ring_setup_t {
  uint64_t body_size;    // most bytes of a body
  uint64_t result_size;  // most bytes of an answer
  uint64_t call_memory;  // most bytes for the values of a call; 0: no limit
  // Bytes of addresses, besides the ring and the inbox (handoff.h); 0: no limit.
  uint64_t memory_limit;
  uint64_t state_size;   // bytes that values of sessions may have
  uint64_t heap;         // bytes that a .vmfb may hold; 0: the default
  uint64_t cpu_limit_s;  // of processor time; 0: not limited
  uint32_t spin_ns;  // how long the worker polls for a call before it sleeps
  uint8_t forbid_native;
  uint8_t guard;            // fc_guard_policy_t
  uint8_t tiles;            // threads for one call
  uint8_t fresh;            // the process makes one call
  uint8_t sandbox;          // fc_sandbox_t
  uint32_t jail_parts;      // the parts that must work (fc_jail_facts_t)
  uint32_t user, group;     // to run as; 0: the server's
  fc_file_digest_t digest;  // of the module
} fc_ring_setup_t;

typedef enum fc_fault_class_t {
  FC_FAULT_NONE,   // the signal has no address
  FC_FAULT_NULL,   // near address zero
  FC_FAULT_STACK,  // near the stack pointer
  FC_FAULT_ELSEWHERE,
  FC_FAULT_COUNT
} fc_fault_class_t;

// The report of a worker's signal handler when a signal ends it.
typedef struct fc_fault_t {
  uint32_t signal;  // 0: no signal was seen
  uint32_t class_;
  uint32_t in_module;  // 1: the module's code ran, `offset` bytes from its base
  uint64_t offset;
} fc_fault_t;

typedef struct fc_ring_slot_t {
  _Alignas(64) _Atomic uint32_t state;  // fc_ring_state_t, hands the slot over
  // How many files had been sent when the call was given (handoff.h).
  uint32_t files;
  // The tray of the file in which the answer may continue; FC_RING_TRAYS: there is none.
  uint32_t tray;
  fc_slot_t slot;
} fc_ring_slot_t;

typedef struct fc_ring_head_t {
  fc_ring_setup_t setup;
  _Alignas(64) _Atomic uint32_t bell;  // the worker's futex
  _Atomic uint32_t worker_asleep;
  _Alignas(64) _Atomic uint32_t loop_asleep;
  // fc_ring_phase_t; the worker stores it with release order.
  _Alignas(64) _Atomic uint32_t phase;
  char digest[FC_DIGEST_SIZE];
  fc_error_t error;
  fc_fault_t fault;
  fc_jail_stops_t stops;
  fc_ring_slot_t slots[FC_RING_SLOTS];
  // References that the worker must free: how many of them the loop has written in all,
  // how many the worker has freed, and their numbers. `drops` cannot overflow, because the
  // loop gives out no more numbers than fit (fc_home_grant).
  _Alignas(64) _Atomic uint32_t dropped;
  _Atomic uint32_t freed;
  uint64_t drops[FC_REFERENCES_MAX];
} fc_ring_head_t;

// One side's view of a ring. Each side has its own members, so they do not change when
// the other side overwrites the memory at `base` and `head`.
typedef struct fc_ring_t {
  int fd;
  uint8_t *base;
  size_t size;
  fc_ring_setup_t setup;
  fc_ring_head_t *head;
  // Members of the loop
  uint32_t files;    // how many files the loop has sent
  uint32_t tray;     // fc_ring_slot_t.tray of the call that is given next
  bool holds;        // calls are not published until fc_ring_release
  uint32_t dropped;  // fc_ring_head_t.dropped
  // Members of the worker
  uint32_t next;   // the slot to run
  uint32_t freed;  // fc_ring_head_t.freed, and those that were taken since
  fc_spin_t spin;
} fc_ring_t;

// Makes a ring. Its pages are allocated when they are touched.
fc_status_t fc_ring_create(const fc_ring_setup_t *setup, fc_ring_t *out_ring,
                           fc_error_t *err) FC_MUST_CHECK;
// Opens the worker's side of a ring; `fd` is from fc_ring_create. The ring owns `fd` from
// now on.
fc_status_t fc_ring_open(int fd, fc_ring_t *out_ring,
                         fc_error_t *err) FC_MUST_CHECK;
// Unmaps and closes. Accepts a zeroed ring.
void fc_ring_close(fc_ring_t *ring);
// Returns the bytes of memory that a ring uses, whichever side touched them. With an
// honest worker this is at most FC_RING_SPARE more than its calls may fill: for the head,
// and for areas that keep their memory.
uint64_t fc_ring_taken(const fc_ring_t *ring);
#define FC_RING_SPARE (16u << 20)
// A call that fills more than this of an area has the area's memory given back
// afterwards.
#define FC_RING_KEPT (256u << 10)
// Returns the bytes of a ring with this setup.
uint64_t fc_ring_size(const fc_ring_setup_t *setup);

// Return the areas of a slot for a body and for an answer, tail included. An answer
// begins FC_LIMIT_HEAD bytes into its area.
fc_span_t fc_ring_body(const fc_ring_t *ring, uint32_t slot);
fc_span_t fc_ring_answer(const fc_ring_t *ring, uint32_t slot);
// Returns the desk of a slot's call with FC_CALL_SESSION.
fc_store_desk_t *fc_ring_desk(const fc_ring_t *ring, uint32_t slot);
// The blocks that a slot of the ring can name: areas of bodies, areas of answers, files
// of bodies by their shelves, and files of answers by their trays (handoff.h).
#define FC_RING_BODY_BLOCK(slot) (slot)
#define FC_RING_ANSWER_BLOCK(slot) (FC_RING_SLOTS + (slot))
#define FC_RING_BODY_FILE(shelf) (2 * FC_RING_SLOTS + (shelf))
#define FC_RING_ANSWER_FILE(tray) (FC_RING_BODY_FILE(FC_RING_SHELVES) + (tray))
#define FC_RING_BLOCKS FC_RING_ANSWER_FILE(FC_RING_TRAYS)
// The most files of bodies that a process has mapped: one for each call that it may have.
#define FC_RING_SHELVES ((uint32_t)FC_RING_SLOTS)
// The most files for answers that a process has mapped.
#define FC_RING_TRAYS 4u
// If an answer has more bytes than this, the rest is put into the file of its tray, if
// it has one. So the area of the slot keeps its memory (FC_RING_KEPT).
#define FC_RING_FIRST FC_RING_KEPT

static inline uint32_t fc_ring_state(const fc_ring_t *ring, uint32_t slot) {
  return atomic_load(&ring->head->slots[slot].state);
}

// ---------------------------------------------------------------------------
// The worker

// Waits until the next slot is READY, makes it BUSY and returns its index; or FC_SLOT_NONE
// when there are references to be freed and no slot is READY.
uint32_t fc_ring_take(fc_ring_t *ring);
// True when there are references to be freed (ring_drops.c).
bool fc_ring_has_drops(const fc_ring_t *ring);
// Takes the number of one. False: there is none.
bool fc_ring_take_drop(fc_ring_t *ring, uint64_t *out_number);
// Tells the loop that all references that were taken are freed.
void fc_ring_note_freed(fc_ring_t *ring);
// Call it after fc_ring_take: also takes the slots in a batch with that one. Returns
// their number.
uint32_t fc_ring_take_mates(fc_ring_t *ring, uint32_t first);
// Makes the slot DONE. True: the loop sleeps, and the caller must wake it.
bool fc_ring_done(fc_ring_t *ring, uint32_t slot);

// ---------------------------------------------------------------------------
// The loop

// Writes a part of a body, before fc_ring_publish. The slot must be FREE.
void fc_ring_write(fc_ring_t *ring, uint32_t slot, uint64_t offset,
                   fc_str_t part);
// Gives the worker a call whose body of `size` bytes was written before. The worker is
// not notified yet.
void fc_ring_publish(fc_ring_t *ring, uint32_t slot,
                     const fc_invocation_t *call, uint64_t size);
// Gives the worker a call whose body is in the file of this shelf.
void fc_ring_publish_file(fc_ring_t *ring, uint32_t slot,
                          const fc_invocation_t *call, uint32_t shelf);
// Does fc_ring_write and fc_ring_publish, for a body in one piece: `body` replaces the
// call's own and must fit. The slot must be FREE.
void fc_ring_put(fc_ring_t *ring, uint32_t slot, const fc_invocation_t *call,
                 fc_str_t body);
// Publishes `count` held slots from `first` on as a batch (host.h). The first is
// published last, so that a worker which finds the first one READY has all.
void fc_ring_release(fc_ring_t *ring, uint32_t first, uint32_t count);
// Tells the worker to free a reference. fc_ring_notify must follow.
void fc_ring_drop(fc_ring_t *ring, uint64_t number);
// Returns how many of these references the worker has not freed.
uint32_t fc_ring_drops(const fc_ring_t *ring);
// Wakes the worker if it sleeps. Call it after any number of slots were published, or
// references dropped.
void fc_ring_notify(fc_ring_t *ring);
// fc_ring_sleep is called before the loop waits for events, fc_ring_wake afterwards.
// False: one of `count` slots from `first` on is DONE, so the loop must not wait.
bool fc_ring_sleep(fc_ring_t *ring, uint32_t first, uint32_t count);
void fc_ring_wake(fc_ring_t *ring);

// The loop's data about a call that it put into a slot.
typedef struct fc_ring_call_t {
  uint64_t sent_ns;
  uint64_t body_size;
  uint64_t deadline_ns;  // 0: none
  uint64_t steps;        // fc_invocation_t.steps
  uint8_t flags;
  bool parts;    // the call answers in parts
  bool batched;  // the call is in a batch
  bool awaited;  // somebody waits for the call, and it was not taken back
  bool lent;     // the worker has a file for the answer, in `tray`
  uint32_t tray;
  bool in_file;  // the body lies in the file of `shelf`, from `body_offset` on
  uint32_t shelf;
  uint32_t body_offset;
} fc_ring_call_t;

// The place of an answer: bytes in the area of its slot (fc_ring_answer), from
// FC_LIMIT_HEAD on; then bytes in the lent file; then bytes of the body's file, from
// `body_at` on, which are bytes of the body.
typedef struct fc_ring_sizes_t {
  uint64_t in_area;
  uint64_t in_file;  // 0: none; a lent file then stays lent
  uint64_t in_body;
  uint32_t body_at;
  // The state that a turn has left (outcome.more): bytes of the area for the slot's body.
  uint64_t carry;
  uint32_t carry_at;
} fc_ring_sizes_t;

// Copies the outcome of a DONE slot into `out` and checks it. It has no pieces:
// `out_sizes` gives the place of the answer. Impossible times are corrected. False and
// `err`: an honest worker writes no such outcome.
bool fc_ring_read(const fc_ring_t *ring, uint32_t slot,
                  const fc_ring_call_t *call, fc_outcome_t *out,
                  fc_ring_sizes_t *out_sizes, fc_error_t *err);
// Returns how many steps the worker reports for the call of a slot, in all its turns; at
// least the number at its beginning.
uint64_t fc_ring_steps(const fc_ring_t *ring, uint32_t slot,
                       const fc_ring_call_t *call);
// Gives memory of an area that was filled up to `used` back to the system: up to `most`
// bytes from *at on. Moves *at past these bytes. An area filled up to FC_RING_KEPT
// keeps its memory. False: there is no more to give.
bool fc_ring_scrub(const fc_ring_t *ring, fc_span_t area, uint64_t used,
                   uint64_t most, uint64_t *at);
// Gives up to `most` bytes of a ring whose worker has ended back to the system, head
// included. False: there is no more to give.
bool fc_ring_empty(const fc_ring_t *ring, uint64_t most);
// Makes the slot FREE again. Its areas must have been emptied (fc_ring_scrub).
void fc_ring_free(fc_ring_t *ring, uint32_t slot);

// Returns the state that a worker reports, always a value of the enumeration. Sets
// `out_digest` or `err` accordingly. The error is safe to show.
fc_ring_phase_t fc_ring_phase(const fc_ring_t *ring,
                              char out_digest[FC_DIGEST_SIZE], fc_error_t *err);
// Returns the report of the worker's signal handler. If signal or class is out of range,
// everything reads as zero; if `in_module` or `offset` is, these two do.
fc_fault_t fc_ring_fault(const fc_ring_t *ring);

#endif  // FARCALL_SERVER_POOL_RING_H_
