// SPDX-License-Identifier: Apache-2.0
//
// Reads safetensors files: the size of a JSON object in eight bytes, the object, the
// bytes of the tensors. The format: https://github.com/huggingface/safetensors. A file
// may come from anywhere: nothing in it is believed before it is checked. Any thread.
#ifndef FARCALL_VALUE_SAFETENSORS_H_
#define FARCALL_VALUE_SAFETENSORS_H_

#include "json/reader.h"

// A file whose JSON object is being read.
typedef struct fc_safetensors_t {
  fc_json_reader_t *reader;  // the caller has fed it the object
  fc_str_t data;             // the bytes after the object
  fc_code_t code;            // of errors about the format
  const char *lead;          // begins their messages
  bool typed;                // types and shapes are read, not skipped
} fc_safetensors_t;

typedef struct fc_safetensor_t {
  fc_dtype_t dtype;  // FC_DTYPE_NONE: not stated
  int32_t rank;      // below 0: not stated
  int64_t dims[FC_RANK_MAX];
  fc_str_t bytes;   // data NULL: not stated
  uint64_t offset;  // of `bytes` in the data
} fc_safetensor_t;

// Cuts a file into its object and its data. False when its first eight bytes are not
// the size of an object that fits in the file.
bool fc_safetensors_cut(fc_str_t file, fc_str_t *out_head, fc_str_t *out_data);
// Moves to the next tensor, whose name is then the reader's text. *out_more is false
// after the last tensor, when the object has ended.
fc_status_t fc_safetensors_next(const fc_safetensors_t *file, bool *out_more,
                                fc_error_t *err) FC_MUST_CHECK;
// Reads the tensor whose name was just read. FC_CODE_DTYPE_MISMATCH when farcall does
// not have the element type.
fc_status_t fc_safetensors_read(const fc_safetensors_t *file,
                                fc_safetensor_t *out_tensor,
                                fc_error_t *err) FC_MUST_CHECK;
// Fails because the file breaks a rule of the format.
fc_status_t fc_safetensors_fail(const fc_safetensors_t *file, const char *what,
                                fc_error_t *err);

// Returns the name of the type in safetensors; "" when the format does not have the type.
const char *fc_safetensors_type(fc_dtype_t dtype);

#endif  // FARCALL_VALUE_SAFETENSORS_H_
