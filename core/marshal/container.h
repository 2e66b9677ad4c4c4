// SPDX-License-Identifier: Apache-2.0
//
// Values with parts: lists, tuples, dicts, arrays of references, and values of unknown
// type. Private to the marshaller.
#ifndef FARCALL_MARSHAL_CONTAINER_H_
#define FARCALL_MARSHAL_CONTAINER_H_

#include "marshal/frame.h"

// Reads a value of any kind, whose token was just read, to its end. It is stored at the
// op's place among the frame's arguments.
fc_status_t fc_container_read(fc_frame_t *frame, const fc_op_t *op,
                              fc_json_token_t token, fc_error_t *err);

// These read a dict whose entries stand among other members of an open object.
// fc_dict_read reads the value of the key `name`, which was just read. fc_dict_close
// checks that no key is missing.
fc_status_t fc_dict_open(fc_frame_t *frame, const fc_op_t *op,
                         fc_level_t *out_dict, fc_error_t *err);
fc_status_t fc_dict_read(fc_frame_t *frame, fc_level_t *dict, fc_str_t name,
                         fc_error_t *err);
fc_status_t fc_dict_close(fc_frame_t *frame, const fc_level_t *dict,
                          fc_error_t *err);

// Fails because `name`, which was just read, is none of `keys`. `what` says what kind of
// name it is. The message suggests the nearest of `keys`, or lists them when none is
// near. Without keys the message is `none`.
fc_status_t fc_container_unknown(fc_frame_t *frame, fc_code_t code,
                                 const char *what, fc_str_t name,
                                 const fc_plan_key_t *keys, uint32_t count,
                                 const char *none, fc_error_t *err);

#endif  // FARCALL_MARSHAL_CONTAINER_H_
