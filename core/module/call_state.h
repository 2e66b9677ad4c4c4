// SPDX-License-Identifier: Apache-2.0
//
// The struct of fc_call_t (farcall/call.h), for call.c and call_arguments.c.
#ifndef FARCALL_CORE_MODULE_CALL_STATE_H_
#define FARCALL_CORE_MODULE_CALL_STATE_H_

#include "farcall/call.h"
#include "marshal/leaves.h"
#include "module/instance.h"

// Memory that grows as needed, and is freed with the call. Growing loses its contents.
typedef struct fc_call_buffer_t {
  void *data;
  size_t size;
} fc_call_buffer_t;

typedef struct fc_call_argument_t {
  fc_value_t *dest;  // in the flat call; NULL: the value is not passed
  bool set;
  bool copied;       // each run passes `copy`, not the caller's elements
  fc_value_t given;  // its shape and strides point into `dims`
  int64_t *dims;     // room for a shape and strides
  fc_call_buffer_t copy;
} fc_call_argument_t;

struct fc_call_t {
  fc_instance_t *instance;
  const fc_function_t *function;
  fc_arena_t arena;  // memory that stays as long as the call
  fc_leaves_t arguments;
  fc_leaves_t results;
  fc_call_argument_t *given;  // by argument leaf
  fc_value_t *flat;           // the arguments of the flat call
  fc_state_t *state;          // NULL: each run begins with zeros of its own
  fc_call_buffer_t *
      storage;  // by place()'s `leaf`: of OUT arguments that are not set, and state
  // The results of the last run. Each has two buffers, for the elements and the shape
  // of a tensor that is copied.
  fc_value_t *kept;
  fc_call_buffer_t *kept_buffers;
};

// Adds to the error which argument it is about, and which part of that argument.
fc_status_t fc_call_locate(const fc_call_t *call, uint32_t leaf,
                           fc_status_t status, fc_error_t *err);
// Sets the arguments whose type has only one value.
void fc_call_set_constants(fc_call_t *call);

#endif  // FARCALL_CORE_MODULE_CALL_STATE_H_
