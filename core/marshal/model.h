// SPDX-License-Identifier: Apache-2.0
//
// A function as a model: its leaves as lists of tensors that have names, in the
// order of the flat call. Protocols of tensors (OIP, npz) see a function in this way.
// Made from a plan when it is first asked for, then immutable; any thread.
#ifndef FARCALL_MARSHAL_MODEL_H_
#define FARCALL_MARSHAL_MODEL_H_

#include "marshal/leaves.h"

// A leaf is sent as a tensor. A SCALAR has no dims. The shape of BYTES depends on the
// protocol: [1] in the Open Inference Protocol, a row of ui8 in npy and safetensors. A
// LIST or REFARRAY of BYTES is a tensor in the Open Inference Protocol alone. A leaf of
// unknown type is a TENSOR of rank FC_RANK_DYNAMIC and dtype NONE: its value says both.
typedef struct fc_model_tensor_t {
  // Its path (farcall/call.h). If two leaves of the arguments have one path, all inputs
  // have their paths by position; with leaves of the results, all outputs.
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
  bool has_texts;             // a tensor has several byte strings
  const uint32_t *input_of;   // by leaf, UINT32_MAX: it is not sent
  const uint32_t *output_of;  // by leaf
  // Why the function is no model: FC_CODE_NONE when it is one.
  fc_error_t refused;
};

// Makes the model when it is first asked for. The model belongs to the plan and lives
// as long. FC_CODE_UNSUPPORTED_TYPE when a value of the function is no tensor, such as
// a list of tensors, or has an element type that the Open Inference Protocol lacks;
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_plan_model(const fc_plan_t *plan, const fc_model_t **out_model,
                          fc_error_t *err);
void fc_model_destroy(fc_model_t *model);  // NULL is allowed

// FC_CODE_UNSUPPORTED_TYPE for a protocol whose arrays have no byte strings as elements,
// when a tensor of the model has several.
fc_status_t fc_model_check_arrays(const fc_model_t *model, fc_error_t *err);

// True when the elements are byte strings: a BYTES, or a LIST or REFARRAY of them.
bool fc_model_is_text(const fc_op_t *op);
// True for a leaf of unknown type. If its value are byte strings, it is read as this
// list of them, in the Open Inference Protocol alone; one is a value of its own.
bool fc_model_is_any(const fc_op_t *op);
const fc_op_t *fc_model_texts(void);
// What a value of unknown type is written as: a BYTES, a LIST of them; NULL: neither.
const fc_op_t *fc_model_texts_of(const fc_value_t *value);
// The name of an input's or output's type in the Open Inference Protocol, never "":
// "ANY" where the value says it.
const char *fc_model_datatype(const fc_op_t *op);
// The shape that the protocol's metadata says. It cannot say that any number of dims will
// do: [-1] stands for it. Dims of any size are negative.
const int64_t *fc_model_shape(const fc_op_t *op, int32_t *out_rank);
// The number of the input (with `arguments` and `input_of`) or output (with `results`
// and `output_of`) of which `name` is a path, UINT32_MAX if there is none.
uint32_t fc_model_find(const fc_leaves_t *leaves, const uint32_t *of,
                       fc_str_t name);
// The name that somebody may have meant; "" if none is near.
fc_str_t fc_model_nearest(const fc_model_tensor_t *tensors, uint32_t count,
                          fc_str_t name);

#endif  // FARCALL_MARSHAL_MODEL_H_
