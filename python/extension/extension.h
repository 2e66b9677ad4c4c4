// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the Python extension, which offers farcall's embedding API
// (farcall/call.h) to Python, using the stable ABI. The extension knows only flat values:
// python/farcall/_structure.py makes dicts and tuples from them. Every function is called
// with Python's global lock held, unless its comment says otherwise. Functions that
// return an object return a new reference, or NULL with an exception set.
#ifndef FARCALL_EXTENSION_H_
#define FARCALL_EXTENSION_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <farcall/farcall.h>

// Objects that python/farcall/__init__.py passes once, before any other call.
typedef struct fc_py_given_t {
  PyObject *error;    // farcall.Error
  PyObject *ndarray;  // numpy.ndarray
  PyObject *dtype;    // (text of a dtype) -> numpy.dtype
  PyObject *coerce;   // (object, text of a dtype or None, path, casting) ->
                      // (array, text of its dtype)
  PyObject *dtypes[FC_DTYPE_COUNT];  // results of `dtype`; NULL: not asked yet
} fc_py_given_t;
extern fc_py_given_t fc_py_given;

// Raises farcall.Error. Always returns NULL.
PyObject *fc_py_raise(const fc_error_t *err);
// Raises farcall.Error about the argument at `path`, if that is not NULL.
PyObject *fc_py_fail(fc_code_t code, const char *path, const char *format, ...)
    FC_PRINTF(3, 4);
PyObject *fc_py_str(fc_str_t text);
// Returns the numpy.dtype of the elements, a borrowed reference.
PyObject *fc_py_dtype(fc_dtype_t dtype);

// ---------------------------------------------------------------------------
// Modules and seats

// An instance and its calls. One thread at a time uses a seat.
typedef struct fc_py_seat_t {
  struct fc_py_seat_t *next;  // of the free seats
  fc_instance_t *instance;
  fc_call_t *calls[];  // one for each function; NULL until it is called
} fc_py_seat_t;

// farcall._farcall.Module
typedef struct fc_py_module_t {
  PyObject ob_base;
  fc_module_t *module;
  fc_py_seat_t *free;
  uint32_t leased;  // seats kept by results
  uint32_t taken;   // seats used by calls or kept by results
  bool closed;      // `module` is NULL once no seat is taken
} fc_py_module_t;

extern PyType_Spec fc_py_module_spec;
extern PyTypeObject *fc_py_module_type;
// Takes a free seat, or makes one, releasing the global lock meanwhile. The seat has a
// call of the function. NULL: an exception is set, for example because the module is
// closed.
fc_py_seat_t *fc_py_seat_take(fc_py_module_t *module, size_t function);
void fc_py_seat_give(fc_py_module_t *module, fc_py_seat_t *seat);

// ---------------------------------------------------------------------------
// Functions

extern PyType_Spec fc_py_function_spec;

// ---------------------------------------------------------------------------
// State

// farcall._farcall.State
extern PyType_Spec fc_py_state_spec;
extern PyTypeObject *fc_py_state_type;
// Takes the state for a call of the module, until it is given back. NULL: an exception is
// set, because the state belongs to another module, is closed, or is used by another
// call.
fc_state_t *fc_py_state_take(PyObject *state, const fc_py_module_t *module);
void fc_py_state_give(PyObject *state);

// ---------------------------------------------------------------------------
// Arguments

// The data of one argument leaf, kept until the run is over.
typedef struct fc_py_part_t {
  Py_buffer view;  // `obj` is NULL without a buffer
  PyObject *kept;  // an object made for the argument, or NULL
  fc_scalar_t scalar;
  const char *low;  // the caller's bytes, from `low` to `high`
  const char *high;
} fc_py_part_t;

// Sets one argument of a call. `casting` is a rule of NumPy ("no", "safe", ...): it says
// which element types may be converted to the argument's. False: a Python exception is
// set.
bool fc_py_argument_set(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                        PyObject *object, PyObject *casting, fc_arena_t *arena,
                        fc_py_part_t *part);
void fc_py_part_deinit(fc_py_part_t *part);

// ---------------------------------------------------------------------------
// Results

// farcall._farcall.Memory: the bytes of arrays. This object or a call owns them. It
// exports one flat buffer.
extern PyType_Spec fc_py_memory_spec;
extern PyTypeObject *fc_py_memory_type;
// Makes an object with its own memory: not zeroed, aligned to FC_TENSOR_ALIGNMENT,
// writable.
PyObject *fc_py_memory_create(size_t size);
// Makes an object for borrowed memory, which is valid as long as `owner` lives. It is
// read-only, because it may be a constant or a weight of the module.
PyObject *fc_py_memory_borrow(void *data, size_t size, PyObject *owner);
void *fc_py_memory_data(PyObject *memory);

// farcall._farcall.Lease: keeps a seat from other calls, for results in its memory. When
// the last result is freed, the lease ends the call and gives the seat back.
extern PyType_Spec fc_py_lease_spec;
extern PyTypeObject *fc_py_lease_type;
PyObject *fc_py_lease_create(fc_py_module_t *module, fc_py_seat_t *seat,
                             fc_call_t *call);

// One run and its results.
typedef struct fc_py_run_t {
  fc_py_module_t *module;
  fc_py_seat_t *seat;
  fc_call_t *call;
  const fc_py_part_t *parts;
  size_t part_count;
  PyObject *lease;  // NULL until a result keeps the seat
  bool has_state;   // results may lie in its memory, so all are copied
} fc_py_run_t;

// Returns a copy of the tensor as an array.
PyObject *fc_py_array_copy(const fc_tensor_t *tensor);
// Returns the result at `path`.
PyObject *fc_py_result_get(fc_py_run_t *run, const char *path);

#endif  // FARCALL_EXTENSION_H_
