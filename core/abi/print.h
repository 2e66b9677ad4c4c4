// SPDX-License-Identifier: Apache-2.0
//
// Shared by the renderings of a signature: names of kinds and roles, and the
// arguments as a caller sees them. Only reads finished signatures; any thread.
#ifndef FARCALL_ABI_PRINT_H_
#define FARCALL_ABI_PRINT_H_

#include "farcall/type.h"

const char *fc_role_name(fc_role_t role);            // "inout"
const char *fc_type_kind_name(fc_type_kind_t kind);  // "tensor"

// Returns the TUPLE or DICT whose children are the arguments of a root_tree signature;
// NULL when the signature has no such root.
const fc_type_t *fc_signature_root(const fc_signature_t *signature);

// Walks through the arguments as callers see them: those of a root_tree
// signature are the children of its root. A zeroed fc_argument_t stands before the first
// argument.
typedef struct fc_argument_t {
  fc_param_t param;
  uint32_t position;
  bool started;
} fc_argument_t;
bool fc_argument_next(const fc_signature_t *signature, fc_argument_t *at);
// Returns the result after `result`, or the first if `result` is NULL, of those that are
// in the answer of a call. NULL at the end.
const fc_param_t *fc_result_next(const fc_signature_t *signature,
                                 const fc_param_t *result);
// True when a function can write into an argument of this type, so that the
// argument's final contents can be a result.
static inline bool fc_type_may_be_written(const fc_type_t *type) {
  return type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_UNKNOWN;
}
// True when the client sends this argument.
static inline bool fc_param_is_sent(const fc_param_t *param) {
  return fc_role_is_sent(param->role);
}

// Prints a TENSOR or VECTOR as MLIR does, without the names of dims.
fc_status_t fc_tensor_print_mlir(const fc_signature_t *signature,
                                 const fc_type_t *type, fc_sink_t *sink,
                                 fc_error_t *err);

// True for a dim whose sizes are in the rows of the signature's sizes. In a call the
// dim must have one of these sizes, or any size if the rows are batched.
static inline bool fc_dim_is_sized(const fc_signature_t *signature,
                                   int64_t dim) {
  return signature->size_count && fc_dim_is_named(dim) &&
         signature->sizes[fc_dim_name(dim)] >= 0;
}
// An attribute of a function that stands for several functions, which differ only in
// their number of rows. It tells whether a row's answer depends on the other rows.
// "exact" or "approximate": it is proved that the answer does not depend on them, so a
// call may have any number of rows. "unproved": not known yet. "off: " and a reason: rows
// are not batched.
#define FC_BATCH_ATTR "batch"
// The attribute that tells how long calls wait for others to be batched with. It is set
// only if the sidecar says so.
#define FC_BATCH_DELAY_ATTR "max_queue_delay_microseconds"
#define FC_BATCH_DELAY_MAX 1000000
#define FC_BATCH_UNPROVED "unproved"
#define FC_BATCH_EXACT "exact"
#define FC_BATCH_APPROXIMATE "approximate"
#define FC_BATCH_OFF "off: "
bool fc_signature_batches(const fc_signature_t *signature);
// False when the function does not batch, or must not.
bool fc_signature_may_batch(const fc_signature_t *signature);
// Prints the sizes of a row, "8" or "1x16". With NULL as `row`, prints the
// names of the sizes, "[batch]" or "[m]x[n]".
fc_status_t fc_signature_print_sizes(const fc_signature_t *signature,
                                     const int64_t *row, fc_sink_t *sink,
                                     fc_error_t *err);
// Prints the sizes of all rows: "1, 8 or 32". If the function batches, it prints "1 or
// more, by " before the sizes.
fc_status_t fc_signature_print_rows(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_ABI_PRINT_H_
