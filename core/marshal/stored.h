// SPDX-License-Identifier: Apache-2.0
//
// Values of a store (state/store.h) in a call: those that a document names by {"ref":…},
// results that it keeps, and state, which the function has even if no document names it.
// Private to the marshaller and to the code that runs calls; belongs to one call.
#ifndef FARCALL_MARSHAL_STORED_H_
#define FARCALL_MARSHAL_STORED_H_

#include "marshal/frame.h"

// A result that goes into the store when the call has succeeded.
typedef struct fc_stored_keep_t {
  const fc_op_t *op;
  uint32_t number;     // of fc_plan_t.outputs; of a state's result UINT32_MAX
  fc_store_row_t row;  // from fc_stored_stage on
  const void *from;    // to be copied to `to` at the end; NULL: it lies there
  void *to;
  bool in_place;  // to where the value of this name is
} fc_stored_keep_t;

typedef struct fc_stored_t {
  uint8_t used[FC_STORE_ROWS];  // what the call does with a row: FC_STORED_*
  uint8_t *row_of;              // by raw argument: 1 + its row; 0: it is none
  fc_stored_keep_t *keeps;      // of the document, then of states
  uint32_t keep_count, keep_capacity;
  bool if_absent;  // no name that the document keeps may be in use
} fc_stored_t;

// Makes the call that was begun on the frame use this store, whose call has begun;
// borrowed until fc_frame_end. With NULL, the initial value, a {"ref":…} is
// FC_CODE_REFERENCE_UNKNOWN, and state is zeros that are not kept.
void fc_frame_set_store(fc_frame_t *frame, fc_store_t *store);

// Read the options "keep", {"0":NAME}, and "if_absent".
fc_status_t fc_stored_read_keep(fc_frame_t *frame, fc_error_t *err);
fc_status_t fc_stored_read_absent(fc_frame_t *frame, fc_error_t *err);
// Keeps an output under a name, as "keep" does. With `if_absent`, no value may have
// this name now.
fc_status_t fc_stored_keep(fc_frame_t *frame, uint32_t output, fc_str_t name,
                           bool if_absent, fc_error_t *err);
// A value that was given to an argument of a call. It is for a call that is made in
// steps (iteration.h), each on a frame that was begun anew. The numbers are valid as
// long as the call has its turn in its session.
typedef struct fc_stored_loan_t {
  uint32_t raw;  // argument
  uint32_t row;
} fc_stored_loan_t;
// Finds the next loan from *raw on, and moves *raw after it. False: there is none.
bool fc_stored_next_loan(const fc_frame_t *frame, uint32_t *raw,
                         fc_stored_loan_t *out_loan);
// Ends the loan: the argument gets a copy of the value, and writes to the copy
// do not reach the store.
void fc_stored_end_loan(fc_frame_t *frame, uint32_t raw);
// Gives the value to the argument. FC_CODE_INTERNAL: the argument or the value does not
// exist.
fc_status_t fc_stored_lend(fc_frame_t *frame, const fc_stored_loan_t *loan,
                           fc_error_t *err);

// Called when the function has returned. Checks the results that will be kept, takes
// places for them, and copies those that may be copied already.
fc_status_t fc_stored_stage(fc_frame_t *frame, fc_error_t *err);
// Delays the commit until fc_frame_end, for an answer that is not complete when it was
// written. The code that completes it calls fc_stored_commit.
void fc_stored_hold(fc_frame_t *frame);
// Puts the staged values into the store. Called when the call has succeeded.
void fc_stored_commit(fc_frame_t *frame);
// True when `memory` lies in a value that the commit will replace. Called between
// fc_stored_stage and fc_stored_commit.
bool fc_stored_replaces(const fc_frame_t *frame, const void *memory);

#endif  // FARCALL_MARSHAL_STORED_H_
