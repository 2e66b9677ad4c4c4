// SPDX-License-Identifier: Apache-2.0
//
// The inputs of one call. Each input is found by its name (model.h). Every protocol of
// tensors fills in its inputs with these functions. Private to the marshaller.
#ifndef FARCALL_MARSHAL_INPUTS_H_
#define FARCALL_MARSHAL_INPUTS_H_

#include "marshal/model.h"
#include "marshal/typed.h"

typedef struct fc_inputs_t {
  fc_frame_t *frame;
  const fc_model_t *model;
  uint8_t *given;    // by input
  uint32_t missing;  // inputs not given
  size_t allowance;  // bytes that decompressed parts of the body may still have
} fc_inputs_t;

// Begins the inputs of a call, and places the arguments that clients do not send,
// such as an empty tuple. FC_CODE_UNSUPPORTED_TYPE when the function is not a model.
fc_status_t fc_inputs_begin(fc_inputs_t *inputs, fc_frame_t *frame,
                            fc_error_t *err);

// True when the input is a single value, so that its shape may be [] or [1].
bool fc_inputs_is_one(const fc_model_tensor_t *tensor);
// Begins to read an input as a tensor. Fills in `op`, which must stay as long as
// `typed`. For an input of a single value, or a LIST, `op` allows any dims, so that []
// and [1] are both read. Call fc_inputs_check_one when the dims are known, except
// for bytes that came as a row of ui8.
void fc_inputs_open(const fc_model_tensor_t *tensor, const fc_str_t *members,
                    fc_op_t *op, fc_typed_t *typed);
fc_status_t fc_inputs_check_one(const fc_inputs_t *inputs,
                                const fc_typed_t *typed, fc_error_t *err);
// Stores `value` as the argument of the input, and counts the input as given.
fc_status_t fc_inputs_store(fc_inputs_t *inputs, uint32_t number,
                            fc_value_t value, fc_error_t *err);
// Makes `bytes` a whole input, without a copy: they must stay as long as the call. They
// are dense row-major elements of `dtype`, or ui8 for a BYTES. The error names the input.
fc_status_t fc_inputs_take(fc_inputs_t *inputs, uint32_t number,
                           fc_dtype_t dtype, int32_t rank, const int64_t *dims,
                           fc_str_t bytes, fc_error_t *err);

// Finds the input of that name. FC_CODE_UNKNOWN_ARGUMENT when there is none,
// _DUPLICATE_ARGUMENT when it was given already.
fc_status_t fc_inputs_find(const fc_inputs_t *inputs, fc_str_t name,
                           uint32_t *out_number, fc_error_t *err);
// FC_CODE_DUPLICATE_ARGUMENT when the input, which the request calls `name`, was given
// already.
fc_status_t fc_inputs_check_once(const fc_inputs_t *inputs, uint32_t number,
                                 fc_str_t name, fc_error_t *err);
// FC_CODE_MISSING_ARGUMENT when an input was not given; the message names the first.
fc_status_t fc_inputs_check(const fc_inputs_t *inputs, fc_error_t *err);
// Fails because no `what` has that name.
fc_status_t fc_inputs_unknown(const fc_inputs_t *inputs, const char *what,
                              fc_str_t name, const fc_model_tensor_t *tensors,
                              uint32_t count, fc_error_t *err);
// Puts "input 'x': " before the message of an error that is about the input's value or
// raw bytes, and locates the error. Does nothing if `tensor` is NULL.
fc_status_t fc_inputs_name(const fc_inputs_t *inputs,
                           const fc_model_tensor_t *tensor, fc_status_t status,
                           fc_error_t *err);

#endif  // FARCALL_MARSHAL_INPUTS_H_
