// SPDX-License-Identifier: Apache-2.0
//
// Files that the loop gives to a worker process: large bodies of calls, and files for
// large answers. They are sent through a socket that the process got at its start, one
// numbered message each. A slot of the ring says how many messages had been sent when its
// call was given. The loop only sends and never waits: if a file cannot be sent, the
// bytes go through the ring. The process maps a file of bodies at a shelf, and a file for
// answers at a tray. The file stays mapped there until the loop sends another file for
// that place, or messages are missing. A slot names the shelf of its body and the tray in
// which its answer may continue. All addresses are reserved before the module is loaded,
// so that a module which has used up its address space can still be called.
//
// A shelf is mapped privately, because a function may write to arguments that are in the
// body: the loop must find its body unchanged. The first write to a page causes a fault,
// and all pages are present before the call. So if the process had no fault during the
// call, the body is unchanged; otherwise the pages are dropped.
#ifndef FARCALL_SERVER_POOL_HANDOFF_H_
#define FARCALL_SERVER_POOL_HANDOFF_H_

#include "pool/ring.h"

typedef enum fc_handoff_kind_t {
  FC_HANDOFF_BODY,
  FC_HANDOFF_ANSWER,
  // The file of sessions' values (claim.h); replaces the earlier one.
  FC_HANDOFF_SLAB,
} fc_handoff_kind_t;

// ---------------------------------------------------------------------------
// The loop

// Makes the two ends, the loop's and the worker's. False: see errno.
bool fc_handoff_open(int out_ends[2]) FC_MUST_CHECK;
// Sends message `number` with `file`, which the caller keeps. `place` is the shelf or
// tray at which the worker maps it. False: the message was not sent. Either the worker
// has closed its end (EPIPE, ECONNRESET), or there is no room now: too many messages are
// in the socket, or too many files are being sent; see errno.
bool fc_handoff_send(int end, uint32_t number, fc_handoff_kind_t kind,
                     uint32_t place, int file) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// The worker

// The place where a file of bodies is mapped.
typedef struct fc_shelf_t {
  fc_span_t room;  // addresses set aside
  // A file is mapped there, and its first `open` bytes may be used.
  bool mapped;
  size_t open;
  size_t present;  // bytes from the beginning whose pages are mapped
} fc_shelf_t;

typedef struct fc_inbox_t {
  int end;
  uint32_t received;  // number of the newest message that came or was given up
  fc_shelf_t shelves[FC_RING_SHELVES];
  uint32_t shelf;   // of the body of the running call; FC_RING_SHELVES: none
  uint64_t faults;  // faults of the process before the running call began
  fc_span_t answers[FC_RING_TRAYS];  // addresses set aside for files of answers
  bool mapped[FC_RING_TRAYS];        // is a file mapped there?
  uint32_t tray;   // for the answer of the running call; FC_RING_TRAYS: none
  bool written;    // the answer may have bytes in that tray
  int slab;        // the file of sessions' values; -1: none
  uint64_t slabs;  // how many such files came
} fc_inbox_t;

// Returns how many bytes of addresses an inbox reserves.
uint64_t fc_inbox_size(const fc_ring_setup_t *setup);
// Takes ownership of the worker's `end` and reserves addresses.
fc_status_t fc_inbox_open(int end, const fc_ring_setup_t *setup,
                          fc_inbox_t *out_inbox, fc_error_t *err) FC_MUST_CHECK;
// A zeroed inbox is allowed.
void fc_inbox_close(fc_inbox_t *inbox);
// Call it before a call is run: receives the files that were sent before the call was
// given, and maps the call's body if it is in a file. FC_CODE_OUT_OF_MEMORY: the body
// cannot be mapped.
fc_status_t fc_inbox_take(fc_inbox_t *inbox, const fc_ring_slot_t *slot,
                          fc_error_t *err) FC_MUST_CHECK;
// Returns the block in which the answer of the running call may continue, or
// FC_BLOCK_NONE. `context` is the inbox.
uint32_t fc_inbox_more(void *context);
// Is the body of the running call in a file, and unchanged? `context` is the inbox.
bool fc_inbox_is_as_sent(void *context);
// Call it after the call: drops changes that the call may have made to the body. Unless a
// part of the answer is in the call's tray (`answered`), the memory that the call used
// there is given back to the system.
void fc_inbox_end(fc_inbox_t *inbox, bool answered);

#endif  // FARCALL_SERVER_POOL_HANDOFF_H_
