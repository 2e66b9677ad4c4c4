// SPDX-License-Identifier: Apache-2.0
//
// Weights of an ONNX model whose bytes are in another file.
#ifndef FARCALL_CLI_DOCTOR_ONNX_OUTSIDE_H_
#define FARCALL_CLI_DOCTOR_ONNX_OUTSIDE_H_

#include "doctor/checkup.h"

typedef struct fc_onnx_outside_t {
  fc_str_t location;  // a path below the model's folder
  uint64_t offset, length;
} fc_onnx_outside_t;

// Reads one entry of TensorProto.external_data. Each entry sets one member of `outside`.
void fc_onnx_read_outside(fc_str_t bytes, fc_onnx_outside_t *outside);
// Adds findings about the file of weight `name`.
void fc_onnx_check_outside(fc_checkup_t *checkup, fc_str_t name,
                           const fc_onnx_outside_t *outside);

#endif  // FARCALL_CLI_DOCTOR_ONNX_OUTSIDE_H_
