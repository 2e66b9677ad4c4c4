// SPDX-License-Identifier: Apache-2.0
//
// Reads the results of an answer {"results":[…]}: tensors as arrays, and any result as
// text for people or for a comparison.
#ifndef FARCALL_CLI_RESULT_H_
#define FARCALL_CLI_RESULT_H_

#include "cli.h"
#include "json/reader.h"
#include "value/npy.h"

// Begins to read `answer`, which must stay valid. The next token is the first result, or
// the end of the array.
fc_status_t fc_result_open(fc_json_reader_t *reader, fc_str_t answer,
                           fc_error_t *err);

// Reads {"dtype":…,"shape":…,"data":…}, or "b64" instead of "data", in this order. The
// caller has read the '{'.
fc_status_t fc_result_read_tensor(fc_arena_t *arena, fc_json_reader_t *reader,
                                  fc_npy_t *out_array, fc_error_t *err);

typedef enum fc_result_form_t {
  FC_RESULT_NESTED,  // tensors as nested lists, even if the answer has "b64"
  // A tensor with a type is written as 2x512xf32=[[…]]. Of a large tensor only the ends
  // of each dim are written.
  FC_RESULT_ELIDED,
} fc_result_form_t;

// Writes the value that begins with `token`, which was just read.
fc_status_t fc_result_write(fc_arena_t *arena, fc_json_reader_t *reader,
                            fc_json_token_t token, fc_result_form_t form,
                            fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_CLI_RESULT_H_
