// SPDX-License-Identifier: Apache-2.0
//
// Builds the signature of a group: functions that are one function to callers. It has
// what all of them have in common, with named or dynamic dims where they differ, and rows
// of sizes. Used while sizes.c reads a sidecar.
#ifndef FARCALL_CORE_ABI_WIDEN_H_
#define FARCALL_CORE_ABI_WIDEN_H_

#include "abi/document.h"
#include "abi/sizes.h"

typedef struct fc_group_t {
  fc_str_t name;  // by which callers call it
  const fc_entry_t *members;
  uint32_t count;  // 2 to FC_SIZES_MAX
  // A fc_batch_wish_t: whether the group's rows may be batched. If so, FC_BATCH_ATTR is
  // set.
  uint8_t batch;
  uint64_t delay_us;    // FC_BATCH_DELAY_ATTR
  bool found;           // by its functions' names: no sidecar declares it
  const int64_t *rows;  // said number of rows of each member; NULL: not said
} fc_group_t;

typedef enum fc_batch_wish_t {
  FC_BATCH_IF_IT_FITS,
  FC_BATCH_WANTED,
  FC_BATCH_NEVER,
} fc_batch_wish_t;

// Row i of the signature's sizes is that of member i. `names` has the names of the
// group's dims and arguments (NULL: there are none). `doc` stands at the group, and gets
// the error. The builder is reset. FC_CODE_ABI_METADATA when types of the members differ
// in more than sizes, when two members have the same sizes, or when rows are to be
// batched and the members differ in more than the number of rows.
fc_status_t fc_group_widen(const fc_group_t *group, fc_names_t *names,
                           fc_builder_t *builder, fc_allocator_t allocator,
                           const fc_doc_t *doc,
                           fc_signature_t **out_signature) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_WIDEN_H_
