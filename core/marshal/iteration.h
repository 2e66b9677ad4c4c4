// SPDX-License-Identifier: Apache-2.0
//
// Calls a function many times in a row, on a worker. Results are fed to the arguments of
// the next step (repeat.h), and each step writes a line. A run makes as many steps as its
// caller wants. Between two runs only the block of fc_carry_t remains, so the next run
// may be on another frame, another instance, or in another process.
//
//   begin:  fc_frame_begin, fc_iteration_begin, fc_frame_end
//   then:   fc_iteration_run, until out->end is not FC_ITERATION_MORE
//
// Each step is a call like any other: its results and the text of its line are the same
// as if the step were a separate call.
#ifndef FARCALL_MARSHAL_ITERATION_H_
#define FARCALL_MARSHAL_ITERATION_H_

#include "marshal/carry.h"

#define FC_ITERATION_TIMES_MAX UINT64_C(10000000)

// With a store (fc_frame_set_store), a reference stands for the store's own memory in
// each step. Only the references of fed arguments are copied. State goes on
// from step to step. Results that the document keeps are those of the last step.

// DECODE: reads a call document with "repeat" into `carry`. `times_max` is the most steps
// that the document may request. Everything is checked, except dims and element types of
// a result that its type leaves open: they are checked when there is a result.
fc_status_t fc_iteration_begin(fc_frame_t *frame, fc_str_t body,
                               uint64_t times_max, fc_carry_t *carry,
                               fc_error_t *err);

typedef enum fc_iteration_end_t {
  FC_ITERATION_MORE,   // more steps are to be made
  FC_ITERATION_TIMES,  // the requested number of steps was made
  FC_ITERATION_UNTIL,  // the result that "until" names has its value
} fc_iteration_end_t;

typedef struct fc_iteration_t {
  const fc_plan_t *plan;  // the plan of fc_iteration_begin
  const fc_backend_t *backend;
  void *instance;
  size_t index;
  fc_store_t *store;               // of the call, NULL: none
  const fc_atomic_word_t *cancel;  // NULL: the run cannot be cancelled
  uint64_t deadline_ns;            // of each step of the run; 0: none
  // Called after each step that is followed by another one, with the number of steps
  // made; true ends the run. NULL: all steps are made.
  bool (*pause)(void *context, uint64_t steps);
  void *context;
  // The text before each line of a step, before the last line, and after each line: "",
  // "" and "\n", or "data: ", "data: " and "\n\n".
  fc_str_t before, last, after;
} fc_iteration_t;

typedef struct fc_iterated_t {
  fc_iteration_end_t end;
  uint64_t steps;  // number made so far, in all runs
  size_t written;  // bytes of whole lines that this run has written
} fc_iterated_t;

// CALL and ENCODE: makes the next steps and writes a line for each,
// {"step":N,"results":[…]}, N from 1, and after the last step
// {"done":"times"|"until","steps":N}. Ends the frame's call.
//
// Fails when a step fails; the message begins with the number of the step. If this run
// has made other steps before, it succeeds with what they have written, and the next
// run fails. With a store it fails at once when the step was stopped, because values
// may be half written. Bytes written after out->written are not a whole line: the
// caller removes them.
fc_status_t fc_iteration_run(const fc_iteration_t *iteration, fc_frame_t *frame,
                             fc_carry_t *carry, fc_sink_t *sink,
                             fc_iterated_t *out, fc_error_t *err);

#endif  // FARCALL_MARSHAL_ITERATION_H_
