// SPDX-License-Identifier: Apache-2.0
//
// The plan: a signature compiled into a linear array of ops that decode and encode
// interpret without recursion. Each argument and result has one op for each node of its
// type, in preorder; OUT and INOUT arguments have ops as results, too. Not public.
// Immutable once its entries are set, except for its model (model.h) and a counter
// (written.h); any thread.
#ifndef FARCALL_MARSHAL_PLAN_H_
#define FARCALL_MARSHAL_PLAN_H_

#include <stdatomic.h>

#include "abi/sizes.h"
#include "farcall/codec.h"
#include "farcall/value.h"

typedef struct fc_op_t {
  uint8_t kind;    // fc_type_kind_t
  uint8_t dtype;   // fc_dtype_t; NONE when the source named none
  uint8_t flavor;  // fc_flavor_t
  uint8_t lead;    // number of dims of `whole` before the dims of this row
  int32_t rank;
  // The index of the value among the values of the flat call (its raw index). FC_RAW_NONE
  // if it is not one of them: an item of the container that it is in, a container whose
  // leaves have raw indices themselves, or a NULL.
  int32_t raw;
  uint32_t span;  // ops of the subtree, itself included
  uint32_t child_count;
  uint32_t keys;  // DICT: its first entry of fc_plan_t.keys
  const int64_t *dims;
  fc_str_t key;   // in a DICT
  fc_str_t text;  // of an OPAQUE: its type
  // If this op is a row of a tensor that was made for a request and is in no plan: the
  // whole tensor, whose dims messages name.
  const struct fc_op_t *whole;
} fc_op_t;

static inline const fc_op_t *fc_op_child(const fc_op_t *op) { return op + 1; }
static inline const fc_op_t *fc_op_next(const fc_op_t *op) {
  return op + op->span;
}

// A name. Lists of names are sorted bytewise, for binary search.
typedef struct fc_plan_key_t {
  fc_str_t name;
  const fc_op_t *op;
  uint32_t ordinal;  // number of the op among its siblings, or as the list says
} fc_plan_key_t;

// An argument or a result.
typedef struct fc_plan_param_t {
  fc_str_t name;
  const fc_op_t *op;
  uint32_t number;  // of the argument or result, counted from 0
} fc_plan_param_t;

// An argument that stays from call to call (fc_state_decl_t).
typedef struct fc_plan_state_t {
  fc_str_t name;
  fc_plan_param_t param;  // the argument
  const fc_op_t *result;  // NULL: the function writes into the argument
  const int64_t *shape;   // of its first zeros
} fc_plan_state_t;

// The initial value of a state; a tensor has no data yet, and a reference is null.
static inline fc_value_t fc_plan_zeros(const fc_plan_state_t *state) {
  const fc_op_t *op = state->param.op;
  if (op->kind == FC_TYPE_OPAQUE) return (fc_value_t){.kind = FC_VALUE_NULL};
  if (op->kind == FC_TYPE_SCALAR) {
    return (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
  }
  return (fc_value_t){
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = op->dtype, .rank = op->rank, .shape = state->shape}};
}

// What threads that share a plan change; all else of it is const to them.
typedef struct fc_plan_live_t {
  _Atomic(struct fc_model_t *) model;  // NULL until it is first needed
  _Atomic(uint32_t) compared;  // number of compared calls, relaxed (written.c)
} fc_plan_live_t;

struct fc_plan_t {
  fc_allocator_t allocator;
  const fc_signature_t *signature;
  const fc_op_t *ops;
  const fc_plan_key_t *keys;
  // The values that the client sends, in order. Only the first
  // `positional_count` may be given by position.
  const fc_plan_param_t *inputs;
  uint32_t input_count;
  uint32_t positional_count;
  // The inputs that may be given by name; `ordinal` is the number of the input.
  const fc_plan_key_t *keywords;
  uint32_t keyword_count;
  const fc_op_t *root_dict;  // the root of a root_tree, if it is a DICT
  // The last input, if it is a DICT that takes the keywords of a call; else NULL.
  const fc_plan_param_t *rest;
  // The values that the client gets: results, then final contents of OUT and INOUT.
  const fc_plan_param_t *outputs;
  uint32_t output_count;
  uint32_t final_count;  // number of the outputs that are final contents
  // OUT arguments: the decoder places their storage.
  const fc_plan_param_t *stores;
  uint32_t store_count;
  const fc_plan_state_t *states;
  uint32_t state_count;
  fc_plan_live_t *live;
  bool lends;  // the function gets some memory that it must not write to
  // The functions that run calls, one for each row of the signature's sizes. NULL: the
  // signature's own function runs all calls. Borrowed; set right after
  // fc_plan_create.
  const fc_entry_t *entries;
  struct fc_batch_t *batch;  // NULL: rows cannot be batched
};
typedef struct fc_batch_t fc_batch_t;

// Finds a name in a list; NULL when the list does not have it.
const fc_plan_key_t *fc_plan_find(const fc_plan_key_t *keys, uint32_t count,
                                  fc_str_t name);
// Finds the nearest name; empty if none is near.
fc_str_t fc_plan_nearest(const fc_plan_key_t *keys, uint32_t count,
                         fc_str_t name);

// True for a value whose memory the function gets. It may write to the memory of a
// tensor; other values are copies.
static inline bool fc_op_is_lent(const fc_op_t *op) {
  return op->raw >= 0 && op->kind != FC_TYPE_SCALAR &&
         op->kind != FC_TYPE_BYTES && op->kind != FC_TYPE_NULL;
}
// True for an argument whose role `in` is not certain (fc_param_t): the function might
// write to it. Parts of a tree have no roles.
bool fc_plan_doubts(const fc_plan_t *plan, const fc_plan_param_t *input);

// The most results of a call that may be opaque references, state included.
uint32_t fc_plan_references(const fc_plan_t *plan);

// Puts "argument 0 ('x'): " before the message. `err` is not NULL.
void fc_plan_name_argument(const fc_plan_param_t *input, fc_error_t *err);
// Prints "argument 0 ('x')" or "result 1": the argument or result that `op` is,
// or is a part of. Prints "a value" for the storage of an OUT argument.
void fc_plan_print_owner(const fc_plan_t *plan, const fc_op_t *op, char *out,
                         size_t capacity);

#endif  // FARCALL_MARSHAL_PLAN_H_
