// SPDX-License-Identifier: Apache-2.0
//
// Shared by packed.c and packed_safetensors.c only.
#ifndef FARCALL_MARSHAL_PACKED_ITEM_H_
#define FARCALL_MARSHAL_PACKED_ITEM_H_

#include "marshal/encoder.h"
#include "marshal/inputs.h"
#include "value/npy.h"

// A result: its name, and its value as an array. A BYTES is a row of ui8.
typedef struct fc_packed_item_t {
  fc_str_t name;
  fc_npy_t array;
} fc_packed_item_t;

fc_status_t fc_packed_read_safetensors(fc_inputs_t *inputs, fc_str_t body,
                                       fc_error_t *err);
fc_status_t fc_packed_write_safetensors(fc_encoder_t *encoder,
                                        const fc_packed_item_t *items,
                                        uint32_t count, fc_error_t *err);

#endif  // FARCALL_MARSHAL_PACKED_ITEM_H_
