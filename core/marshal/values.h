// SPDX-License-Identifier: Apache-2.0
//
// Calls that run no function: they answer values of a store, or put values into it.
// Such a call has a signature and a plan of its own, so it is decoded and encoded in
// every form that calls have. One worker:
//
//   get:     fc_values_get, fc_frame_begin, fc_frame_set_store, fc_values_read, encode
//   put:     fc_values_put, fc_frame_begin, fc_frame_set_store, fc_values_decode or
//            fc_packed_decode, fc_values_keep, encode: {"results":[{"ref":…}]}
//   import:  fc_values_put, fc_frame_begin, fc_frame_set_store, fc_values_import or
//            fc_values_fill
//
// and in the end fc_frame_end, then fc_values_deinit.
#ifndef FARCALL_MARSHAL_VALUES_H_
#define FARCALL_MARSHAL_VALUES_H_

#include "marshal/frame.h"

typedef struct fc_values_t {
  fc_signature_t *signature;
  fc_plan_t *plan;
  // If a slice is cut from a value: its first element in each dim.
  int64_t first[FC_RANK_MAX];
} fc_values_t;

// Makes a call whose result is the value `name`; with an empty `name`, the results are
// all values of the desk. `slice` cuts a tensor in its first dims: "2", "0:4" or ":"
// for each, with commas between; empty: no cut. FC_CODE_REFERENCE_UNKNOWN;
// FC_CODE_UNKNOWN_FIELD for a wrong slice.
fc_status_t fc_values_get(const fc_store_desk_t *desk, fc_str_t name,
                          fc_str_t slice, fc_allocator_t allocator,
                          fc_values_t *out_values,
                          fc_error_t *err) FC_MUST_CHECK;
// Makes a call whose argument is one value of any type. In files the value is called
// `name`.
fc_status_t fc_values_put(fc_str_t name, fc_allocator_t allocator,
                          fc_values_t *out_values,
                          fc_error_t *err) FC_MUST_CHECK;
void fc_values_deinit(fc_values_t *values);  // zeroed is allowed

// Makes the values the results of the frame's call. In JSON they state their types.
fc_status_t fc_values_read(const fc_values_t *values, fc_frame_t *frame,
                           fc_error_t *err);

// DECODE: one value as JSON that states its type: {"dtype","shape","data"|"b64"} or
// {"bytes"}.
fc_status_t fc_values_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err);
// Puts the decoded value into the store under `name` when the call is encoded.
// FC_CODE_JSON_SCHEMA when `name` is not a valid name; FC_CODE_PRECONDITION_FAILED when
// `if_absent` is true and a value has this name.
fc_status_t fc_values_keep(fc_frame_t *frame, fc_str_t name, bool if_absent,
                           fc_error_t *err);
// Puts each tensor of a safetensors file into the store immediately.
fc_status_t fc_values_import(fc_frame_t *frame, fc_str_t file, fc_error_t *err);
// Puts the values of {"values":{NAME:…}} into the store immediately, each as
// fc_values_decode reads it. Other members are skipped.
fc_status_t fc_values_fill(fc_frame_t *frame, fc_str_t document,
                           fc_error_t *err);

#endif  // FARCALL_MARSHAL_VALUES_H_
