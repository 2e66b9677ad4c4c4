// SPDX-License-Identifier: Apache-2.0
//
// These functions call a module's functions from your own program, with tensors in your
// own memory: no JSON, no server. docs/embedding.md shows how.
//
//   fc_module_open      one file, once; any thread may use the module
//   fc_instance_create  one for each thread that makes calls
//   fc_call_create      one for each function an instance calls
//   fc_call_set …       arguments; they stay set from run to run
//   fc_call_run         as often as wanted; once warm, farcall allocates nothing
//                       for a small call
//   fc_call_get …       results, until the instance makes its next call
//
// An instance and its calls belong to one thread at a time. If a second thread runs a
// call of an instance while the first is still running one, it gets
// FC_FAILED_PRECONDITION. Instances of one module may run at once. Calls of a module
// that keeps state wait for each other, unless vm.state (fc_setting_t) or the module's
// sidecar says otherwise.
//
// Machine code runs in this process: a module that crashes ends it.
#ifndef FARCALL_CALL_H_
#define FARCALL_CALL_H_

#include "farcall/module.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// A tensor whose address is a multiple of this number of bytes is never copied
// for being unaligned (fc_signature_t.alignment says what a function needs).
#define FC_TENSOR_ALIGNMENT 64

// Loads a file as fc_module_load does, with every kind of module and the system's
// memory. NULL as `options`: the defaults. Release the module with fc_module_release
// when you will make no more calls of its functions.
fc_status_t fc_module_open(const char *path, const fc_module_options_t *options,
                           fc_module_t **out_module,
                           fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Instances

typedef struct fc_instance_t fc_instance_t;

// Options of an instance. A zeroed struct has the defaults.
typedef struct fc_instance_options_t {
  // The memory of the instance and its calls. Zero: the system's allocator.
  fc_allocator_t allocator;
  // Threads that share the work of one call, borrowed; NULL: none.
  const fc_tiles_t *tiles;
} fc_instance_options_t;

// Retains the module. The first instance of a .vmfb runs the module's __init, if there
// is one; with vm.state=private each instance runs it.
fc_status_t fc_instance_create(fc_module_t *module,
                               const fc_instance_options_t *options,
                               fc_instance_t **out_instance,
                               fc_error_t *err) FC_MUST_CHECK;
// The calls made with the instance stay valid until they are destroyed. NULL is allowed.
void fc_instance_destroy(fc_instance_t *instance);

// ---------------------------------------------------------------------------
// Calls

typedef struct fc_call_t fc_call_t;

// Fails with FC_CODE_FUNCTION_NOT_FOUND, which names the nearest function if one is
// near, or with FC_CODE_UNSUPPORTED_TYPE, which says why the function is not callable.
fc_status_t fc_call_create(fc_instance_t *instance, const char *function,
                           fc_call_t **out_call, fc_error_t *err) FC_MUST_CHECK;
void fc_call_destroy(fc_call_t *call);  // NULL is allowed

// Returns the function, with its signature.
const fc_function_t *fc_call_function(const fc_call_t *call);

// A place for one value: an argument or a result, or a part of an argument or result
// that is a tuple, list or dict. A leaf never changes, and lives as long as the call.
typedef struct fc_leaf_t {
  // The path names the leaf: first the name of its argument or result, then the keys and
  // indices that lead to the leaf: "image", "boxes/3/score". In a name or key `~1` stands
  // for a slash and `~0` for a tilde. The position, "0", replaces an empty key, and a
  // name that is empty or has digits only. The functions below accept the position of any
  // argument or result instead of its name, but not instead of another key. If a result
  // and the final contents of an argument have the same path, use their positions.
  const char *path;
  fc_type_kind_t kind;
  fc_dtype_t dtype;     // of a SCALAR, TENSOR or VECTOR; NONE: any
  fc_role_t role;       // of an argument; FC_ROLE_OUT for a result
  int32_t rank;         // FC_RANK_DYNAMIC: any
  const int64_t *dims;  // below 0: any size; equal codes below -1: equal sizes
} fc_leaf_t;

// All leaves of the arguments. FC_ROLE_OUT leaves are among them, but need not be set.
// A NULL, or an empty TUPLE or DICT, is set from the beginning and cannot be set again.
// The parts of a LIST, a REFARRAY or an UNKNOWN are not listed: only a value has parts.
const fc_leaf_t *fc_call_arguments(const fc_call_t *call, size_t *out_count);
// All leaves that fc_call_get can read: results, then the final contents of OUT
// and INOUT arguments.
const fc_leaf_t *fc_call_results(const fc_call_t *call, size_t *out_count);

// Sets the argument at `path`, a tensor or, with rank 0, a scalar. Shape and
// strides are copied. The elements are borrowed: every run reads them until the
// argument is set again, so after a change of the elements you need not set the
// argument again. A run writes to an INOUT or OUT argument. Machine code may
// write to other arguments as well, unless the module's description promises
// that it does not.
//
// Elements that are not dense, or not aligned as the function needs, are copied
// by each run; those of an INOUT or OUT argument must be dense and aligned.
// This function checks the dtype, the rank, the dims that the type fixes, that
// no size overflows, and that all elements lie where a program can have memory.
// fc_call_run checks dims that must be equal, but not inside a tuple or dict
// that is one value of the flat call.
fc_status_t fc_call_set(fc_call_t *call, const char *path,
                        const fc_tensor_t *tensor, fc_error_t *err);
// fc_call_set for the leaf of this number in the list of fc_call_arguments.
fc_status_t fc_call_set_leaf(fc_call_t *call, size_t leaf,
                             const fc_tensor_t *tensor, fc_error_t *err);
// Sets a value of any kind: a tensor as fc_call_set does, FC_VALUE_SCALAR for a SCALAR
// of its dtype, FC_VALUE_BYTES for a BYTES or UNKNOWN, FC_VALUE_LIST for a LIST,
// REFARRAY or UNKNOWN, FC_VALUE_NULL for an UNKNOWN. Tensors in a list must be dense,
// without strides, and aligned as the function needs. The value is copied. What it
// points to is borrowed, like the elements in fc_call_set.
fc_status_t fc_call_set_value(fc_call_t *call, const char *path,
                              const fc_value_t *value, fc_error_t *err);
// Forgets every argument, and the results.
void fc_call_clear(fc_call_t *call);

// ---------------------------------------------------------------------------
// State

// The values that stay from call to call: arguments that a sidecar calls "state". A
// function writes into the state's own memory; only results that become arguments are
// copied. A state belongs to one thread at a time, the thread of the instances whose
// calls use it. All these calls must be of one module, since a name stands for the same
// value in each of its functions.
typedef struct fc_state_t fc_state_t;

// Options of a state. A zeroed struct has the defaults.
typedef struct fc_state_options_t {
  fc_allocator_t allocator;  // of the state itself; zero: the system's
  uint64_t size_max;         // bytes of the values, in whole pages; 0: 1 GiB
} fc_state_options_t;

// Creates an empty state. FC_CODE_OUT_OF_MEMORY when the system has no memory for it.
// NULL as `options`: the defaults.
fc_status_t fc_state_create(const fc_state_options_t *options,
                            fc_state_t **out_state,
                            fc_error_t *err) FC_MUST_CHECK;
// Frees a state. NULL is allowed. No call may use the state afterwards.
void fc_state_destroy(fc_state_t *state);
// Forgets all values: the next call that uses the state begins with zeros.
void fc_state_reset(fc_state_t *state);
// Returns how many bytes the values take, in whole pages.
uint64_t fc_state_size(const fc_state_t *state);
// Gets a value, borrowed: its shape and elements stay until the next call that uses the
// state, or until fc_state_reset. FC_CODE_REFERENCE_UNKNOWN: no value has this name
// (yet).
fc_status_t fc_state_get(fc_state_t *state, const char *name,
                         fc_tensor_t *out_tensor, fc_error_t *err);

// Runs of the call use this state from now on; it is borrowed. With NULL, the initial
// setting, each run begins with zeros of its own, which are not kept. A run that fails
// may have written into values that the function changes in place; values that results
// replace are unchanged.
void fc_call_use_state(fc_call_t *call, fc_state_t *state);

// A request to a run to stop. Zeroed: nobody has asked.
typedef struct fc_cancel_t {
  fc_atomic_word_t word;
} fc_cancel_t;
// May be called from any thread, or from a signal handler.
void fc_cancel_request(fc_cancel_t *cancel);
void fc_cancel_reset(fc_cancel_t *cancel);  // before it is used again

// Options of a run. A zeroed struct has the defaults.
typedef struct fc_run_options_t {
  uint64_t deadline_ns;       // on fc_clock_ns' clock; 0: none
  const fc_cancel_t *cancel;  // must outlive the run
} fc_run_options_t;

// Runs the function with the arguments set. NULL as `options`: the defaults. The results
// of every call of the instance become invalid. The run checks the deadline and `cancel`
// in loops and calls of bytecode, and between batches of workgroups of the bytecode's
// kernels (FC_DEADLINE_EXCEEDED, FC_CANCELLED); it never checks them while the machine
// code of a .so runs. FC_CODE_MISSING_ARGUMENT names the first argument that is not set.
fc_status_t fc_call_run(fc_call_t *call, const fc_run_options_t *options,
                        fc_error_t *err) FC_MUST_CHECK;

// The result at `path` as a tensor; a scalar has rank 0. Shape, strides (in
// elements, NULL: dense) and elements are borrowed: they stay until the
// instance runs a call, or fc_call_end. The elements may lie in an argument's
// memory. FC_FAILED_PRECONDITION: there are no results, because this call has not
// run, or failed, or was ended or cleared, or because another call of the instance
// has run since.
fc_status_t fc_call_get(const fc_call_t *call, const char *path,
                        fc_tensor_t *out_tensor, fc_error_t *err);
// The result at `path` as a value of any kind. The value is borrowed until the instance
// runs a call, or fc_call_end. For an item of a list, here and in fc_call_get, the path
// ends with the item's index: "boxes/3".
fc_status_t fc_call_get_value(const fc_call_t *call, const char *path,
                              const fc_value_t **out_value, fc_error_t *err);
// Releases the results now instead of at the next run. Idempotent.
void fc_call_end(fc_call_t *call);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_CALL_H_
