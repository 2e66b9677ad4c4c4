// SPDX-License-Identifier: Apache-2.0
//
// A function as a model: its leaves as lists of tensors with names, in the order
// of the flat call. So protocols of tensors (OIP, npz) see a function. Made
// from a plan on first use, then immutable; any thread.
#ifndef FARCALL_MARSHAL_MODEL_H_
#define FARCALL_MARSHAL_MODEL_H_

#include "marshal/leaves.h"

// A leaf, which is sent as a tensor. A SCALAR has no dims. The shape of BYTES depends on
// the protocol: [1] in the Open Inference Protocol, a row of ui8 in npy and safetensors.
// A LIST or REFARRAY of BYTES is a tensor only in the Open Inference Protocol. A leaf of
// unknown type is a TENSOR of rank FC_RANK_DYNAMIC and dtype NONE: its value states
// both.
typedef struct fc_model_tensor_t {
  // The leaf's path (farcall/call.h). If two leaves of the arguments have the same
  // path, the names of all inputs are paths by position. The same holds for results and
  // outputs.
  fc_str_t name;
  const fc_op_t *op;
  const fc_leaf_way_t *way;
} fc_model_tensor_t;

typedef struct fc_model_t fc_model_t;
struct fc_model_t {
  fc_arena_t arena;
  fc_leaves_t arguments;
  fc_leaves_t results;
  const fc_model_tensor_t *inputs;
  const fc_model_tensor_t *outputs;
  uint32_t input_count;
  uint32_t output_count;
  bool has_texts;             // some tensor has several byte strings
  const uint32_t *input_of;   // by leaf: its input; UINT32_MAX: not sent
  const uint32_t *output_of;  // by leaf: number of the output
  // Why the function is not a model; FC_CODE_NONE if it is one.
  fc_error_t refused;
};

// Makes the model on first use. The model belongs to the plan and lives as long.
// FC_CODE_UNSUPPORTED_TYPE when a value of the function is not a tensor, such as a list
// of tensors, or has an element type that the Open Inference Protocol does not have;
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_plan_model(const fc_plan_t *plan, const fc_model_t **out_model,
                          fc_error_t *err);
void fc_model_destroy(fc_model_t *model);  // NULL is allowed

// Checks a model for a protocol whose arrays cannot have byte strings as elements.
// FC_CODE_UNSUPPORTED_TYPE when a tensor of the model has several byte strings.
fc_status_t fc_model_check_arrays(const fc_model_t *model, fc_error_t *err);

// True when the elements are byte strings: a BYTES, or a LIST or REFARRAY of them.
bool fc_model_is_text(const fc_op_t *op);
// fc_model_is_any: true for a leaf of unknown type. Only in the Open Inference Protocol
// can its value be byte strings. They are read as the type fc_model_texts, a list, or as
// a single BYTES if there is only one.
bool fc_model_is_any(const fc_op_t *op);
const fc_op_t *fc_model_texts(void);
// Returns the type as which a value of unknown type is written: a BYTES, or a LIST of
// BYTES. NULL if the value is neither.
const fc_op_t *fc_model_texts_of(const fc_value_t *value);
// Returns the name of an input's or output's type in the Open Inference Protocol, never
// "". It is "ANY" if only the value states the type.
const char *fc_model_datatype(const fc_op_t *op);
// Returns the shape in the protocol's metadata. Dims of any size are negative. [-1] also
// stands for a shape of any rank, which the metadata cannot express.
const int64_t *fc_model_shape(const fc_op_t *op, int32_t *out_rank);
// Finds the input or output of which `name` is a path. Pass `arguments` and `input_of`
// for an input, `results` and `output_of` for an output. UINT32_MAX if there is none.
uint32_t fc_model_find(const fc_leaves_t *leaves, const uint32_t *of,
                       fc_str_t name);
// Returns the name that somebody may have meant; "" if none is near.
fc_str_t fc_model_nearest(const fc_model_tensor_t *tensors, uint32_t count,
                          fc_str_t name);

#endif  // FARCALL_MARSHAL_MODEL_H_
