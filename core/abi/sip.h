// SPDX-License-Identifier: Apache-2.0
//
// Functions of raw.c that sip.c uses. Not public.
#ifndef FARCALL_CORE_ABI_SIP_H_
#define FARCALL_CORE_ABI_SIP_H_

#include "farcall/abi.h"

// The items of a raw signature as nodes without a parent: item i of a side is
// node `first + i`.
typedef struct fc_raw_nodes_t {
  uint32_t first;
  uint32_t count;
} fc_raw_nodes_t;

fc_status_t fc_raw_build_nodes(fc_str_t text, fc_builder_t *builder,
                               fc_raw_nodes_t *out_arguments,
                               fc_raw_nodes_t *out_results, fc_error_t *err);

#endif  // FARCALL_CORE_ABI_SIP_H_
