// SPDX-License-Identifier: Apache-2.0
//
// Values of a store (state/store.h) in a call: those that a document names by {"ref":…},
// results that it keeps, and state that the function has whether or not anybody names it.
// Private to the marshaller and to those who run calls; belongs to one call.
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

// The call that was begun on the frame uses this store, whose call has begun; borrowed
// until fc_frame_end. NULL, as before: a {"ref":…} is FC_CODE_REFERENCE_UNKNOWN, and state
// is zeros that nobody keeps.
void fc_frame_set_store(fc_frame_t *frame, fc_store_t *store);

// Read the options "keep", {"0":NAME}, and "if_absent".
fc_status_t fc_stored_read_keep(fc_frame_t *frame, fc_error_t *err);
fc_status_t fc_stored_read_absent(fc_frame_t *frame, fc_error_t *err);
// Keeps an output under a name, as "keep" does; with `if_absent` there must be none of the
// name now.
fc_status_t fc_stored_keep(fc_frame_t *frame, uint32_t output, fc_str_t name,
                           bool if_absent, fc_error_t *err);
// For a call that is made in steps (iteration.h), each on a frame that was begun anew.
// A value that was given to an argument of the call, by numbers that hold as long as the
// call has its turn in its session.
typedef struct fc_stored_loan_t {
  uint32_t raw;  // argument
  uint32_t row;
} fc_stored_loan_t;
// Finds the next loan from *raw on, and moves that behind it. False: there is none.
bool fc_stored_next_loan(const fc_frame_t *frame, uint32_t *raw,
                         fc_stored_loan_t *out_loan);
// The argument is to have a copy of the value, which nobody writes into the store.
void fc_stored_end_loan(fc_frame_t *frame, uint32_t raw);
// Gives the value to the argument. FC_CODE_INTERNAL: there is no such argument or value.
fc_status_t fc_stored_lend(fc_frame_t *frame, const fc_stored_loan_t *loan,
                           fc_error_t *err);

// The function has returned. Checks what is to be kept, takes places for it and copies what
// may be copied already.
fc_status_t fc_stored_stage(fc_frame_t *frame, fc_error_t *err);
// Until fc_frame_end: an answer that was written is not yet whole, and who has it written
// calls fc_stored_commit.
void fc_stored_hold(fc_frame_t *frame);
// The call has succeeded: what was staged is in the store from now on.
void fc_stored_commit(fc_frame_t *frame);
// Between the two above. Does `memory` lie in a value that another takes the place of then?
bool fc_stored_replaces(const fc_frame_t *frame, const void *memory);

#endif  // FARCALL_MARSHAL_STORED_H_
