// SPDX-License-Identifier: Apache-2.0
//
// farcall._farcall.Function: a function of a module as a Python callable. A call binds
// its arguments by position and name, sets them, and runs without the global lock. It
// returns nothing, the single result, or a tuple of the results.
#include "abi/render.h"
#include "extension.h"
#include "module/examples.h"

typedef struct function_t {
  PyObject ob_base;
  fc_py_module_t *module;
  size_t index;           // in the module's listing
  Py_ssize_t positional;  // number of inputs that may be given by position
  Py_ssize_t input_count;
  PyObject *keywords;  // dict: the name of an input -> its number
  PyObject *bind;      // (args, kwargs): raises the error that they have
  PyObject *flatten;  // (tuple of inputs) -> tuple of argument leaves, or None:
                      // each input is a leaf
  PyObject *build;    // (list of result leaves) -> the results, or None: each
                      // leaf is a result
  PyObject *casting;  // for fc_py_argument_set
  Py_ssize_t path_count;
  char **paths;  // of result leaves; texts of `path_texts`
  PyObject *path_texts;
} function_t;

static function_t *function_of(PyObject *self) { return (function_t *)self; }

// ---------------------------------------------------------------------------
// Binding

static bool bind_name(const function_t *self, PyObject *key, PyObject *value,
                      PyObject **inputs) {
  PyObject *number = PyDict_GetItemWithError(self->keywords, key);
  if (!number) return false;
  const Py_ssize_t at = PyLong_AsSsize_t(number);
  if (at < 0 || at >= self->input_count || inputs[at]) return false;
  inputs[at] = value;
  return true;
}

// Puts the arguments in the order of the function's inputs, borrowed. False: they do not
// fit the inputs.
static bool bind(const function_t *self, PyObject *args, PyObject *kwargs,
                 PyObject **inputs) {
  const Py_ssize_t count = PyTuple_Size(args);
  if (count > self->positional) return false;
  for (Py_ssize_t i = 0; i < count; i++) inputs[i] = PyTuple_GetItem(args, i);
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
    if (!bind_name(self, key, value, inputs)) return false;
  }
  for (Py_ssize_t i = 0; i < self->input_count; i++) {
    if (!inputs[i]) return false;
  }
  return true;
}

// Calls `bind`, so that the error is the same as for functions of a server.
static void refuse(const function_t *self, PyObject *args, PyObject *kwargs) {
  if (PyErr_Occurred()) return;
  PyObject *names = kwargs ? Py_NewRef(kwargs) : PyDict_New();
  PyObject *bound =
      names ? PyObject_CallFunctionObjArgs(self->bind, args, names, NULL)
            : NULL;
  if (bound) PyErr_SetString(PyExc_SystemError, "the arguments do fit");
  Py_XDECREF(bound);
  Py_XDECREF(names);
}

// ---------------------------------------------------------------------------
// A call

// Sets every given argument leaf. OUT arguments are not given; their leaves come last.
static bool set_leaves(const function_t *self, fc_call_t *call,
                       PyObject *const *objects, size_t count,
                       fc_arena_t *arena, fc_py_part_t *parts) {
  size_t total;
  const fc_leaf_t *leaves = fc_call_arguments(call, &total);
  if (count > total) {
    PyErr_Format(PyExc_SystemError, "%zu values for %zu arguments", count,
                 total);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!fc_py_argument_set(call, i, &leaves[i], objects[i], self->casting,
                            arena, &parts[i])) {
      return false;
    }
  }
  return true;
}

static PyObject *get_results(const function_t *self, fc_py_run_t *run) {
  if (self->path_count == 1 && self->build == Py_None) {
    return fc_py_result_get(run, self->paths[0]);
  }
  PyObject *results = PyTuple_New(self->path_count);
  for (Py_ssize_t i = 0; results && i < self->path_count; i++) {
    PyObject *result = fc_py_result_get(run, self->paths[i]);
    if (!result || PyTuple_SetItem(results, i, result) < 0) Py_CLEAR(results);
  }
  if (!results) return NULL;
  if (self->build == Py_None && self->path_count) return results;
  PyObject *built = NULL;
  if (self->build != Py_None) {
    built = PyObject_CallFunctionObjArgs(self->build, results, NULL);
  } else {
    built = Py_NewRef(Py_None);
  }
  Py_DECREF(results);
  return built;
}

static PyObject *run(const function_t *self, fc_call_t *call,
                     fc_py_seat_t *seat, const fc_py_part_t *parts,
                     size_t part_count, bool has_state, bool *out_leased) {
  fc_error_t err;
  fc_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = fc_call_run(call, NULL, &err);
  Py_END_ALLOW_THREADS;
  if (status != FC_OK) return fc_py_raise(&err);
  fc_py_run_t done = {self->module, seat, call,     parts,
                      part_count,   NULL, has_state};
  PyObject *results = get_results(self, &done);
  *out_leased = done.lease != NULL;
  if (done.lease)
    Py_DECREF(done.lease);  // gives the seat back if no result keeps it
  else fc_call_end(call);
  return results;
}

// Like `run`, with a state that no other call uses meanwhile; NULL: no state.
static PyObject *run_with(const function_t *self, PyObject *state,
                          fc_call_t *call, fc_py_seat_t *seat,
                          const fc_py_part_t *parts, size_t part_count,
                          bool *out_leased) {
  if (!state) {
    return run(self, call, seat, parts, part_count, false, out_leased);
  }
  fc_state_t *taken = fc_py_state_take(state, self->module);
  if (!taken) return NULL;
  fc_call_use_state(call, taken);
  PyObject *results =
      run(self, call, seat, parts, part_count, true, out_leased);
  fc_call_end(call);
  fc_call_use_state(call, NULL);
  fc_py_state_give(state);
  return results;
}

// Makes a call with the argument leaves.
static PyObject *call_leaves(const function_t *self, PyObject *state,
                             PyObject *const *objects, size_t count) {
  fc_py_part_t few[8] = {0}, *parts = few;
  if (count > FC_ARRAY_COUNT(few)) {
    parts = PyMem_Calloc(count, sizeof *parts);
    if (!parts) return PyErr_NoMemory();
  }
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  PyObject *results = NULL;
  bool leased = false;
  fc_py_seat_t *seat = fc_py_seat_take(self->module, self->index);
  if (seat) {
    fc_call_t *call = seat->calls[self->index];
    if (set_leaves(self, call, objects, count, &arena, parts)) {
      results = run_with(self, state, call, seat, parts, count, &leased);
    }
    if (!leased) fc_py_seat_give(self->module, seat);
  }
  for (size_t i = 0; i < count; i++) fc_py_part_deinit(&parts[i]);
  fc_arena_deinit(&arena);
  if (parts != few) PyMem_Free(parts);
  return results;
}

// Calls `flatten` to make leaves of the inputs, and makes a call with them.
static PyObject *call_structured(const function_t *self, PyObject *state,
                                 PyObject *const *inputs) {
  PyObject *given = PyTuple_New(self->input_count);
  for (Py_ssize_t i = 0; given && i < self->input_count; i++) {
    if (PyTuple_SetItem(given, i, Py_NewRef(inputs[i])) < 0) Py_CLEAR(given);
  }
  PyObject *leaves =
      given ? PyObject_CallFunctionObjArgs(self->flatten, given, NULL) : NULL;
  Py_XDECREF(given);
  const Py_ssize_t count = leaves ? PyTuple_Size(leaves) : -1;
  PyObject *results = NULL;
  PyObject **objects =
      count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *objects);
  if (objects) {
    for (Py_ssize_t i = 0; i < count; i++) {
      objects[i] = PyTuple_GetItem(leaves, i);
    }
    results = call_leaves(self, state, objects, (size_t)count);
    PyMem_Free(objects);
  } else if (count >= 0) {
    PyErr_NoMemory();
  }
  Py_XDECREF(leaves);
  return results;
}

static PyObject *call_bound(const function_t *self, PyObject *state,
                            PyObject *args, PyObject *kwargs) {
  PyObject *few[8] = {0}, **inputs = few;
  if (self->input_count > (Py_ssize_t)FC_ARRAY_COUNT(few)) {
    inputs = PyMem_Calloc((size_t)self->input_count, sizeof(PyObject *));
    if (!inputs) return PyErr_NoMemory();
  }
  PyObject *results = NULL;
  if (bind(self, args, kwargs, inputs)) {
    results = self->flatten == Py_None
                  ? call_leaves(self, state, inputs, (size_t)self->input_count)
                  : call_structured(self, state, inputs);
  } else {
    refuse(self, args, kwargs);
  }
  if (inputs != few) PyMem_Free(inputs);
  return results;
}

static PyObject *function_call(PyObject *object, PyObject *args,
                               PyObject *kwargs) {
  return call_bound(function_of(object), NULL, args, kwargs);
}

static PyObject *call_with(PyObject *object, PyObject *given) {
  PyObject *state, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "O!O!O!:call_with", fc_py_state_type, &state,
                        &PyTuple_Type, &args, &PyDict_Type, &kwargs)) {
    return NULL;
  }
  return call_bound(function_of(object), state, args, kwargs);
}

static PyObject *example(PyObject *object, PyObject *name) {
  const function_t *self = function_of(object);
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return NULL;
  if (self->module->closed) {
    PyErr_SetString(PyExc_ValueError, "the module is closed");
    return NULL;
  }
  fc_text_t json;
  fc_text_init(&json, fc_allocator_system(), SIZE_MAX);
  fc_error_t err;
  const fc_status_t status = fc_example_print(
      fc_module_function(self->module->module, self->index),
      fc_str_make(text, (size_t)size), FC_EXAMPLE_SIZE_MAX, &json.sink, &err);
  PyObject *printed =
      status == FC_OK ? fc_py_str(fc_text_str(&json)) : fc_py_raise(&err);
  fc_text_deinit(&json);
  return printed;
}

// ---------------------------------------------------------------------------
// The type

// Fills self->paths with the texts of a tuple of str.
static bool read_paths(function_t *self, PyObject *texts) {
  const Py_ssize_t count = PyTuple_Size(texts);
  self->paths = PyMem_Calloc((size_t)count + 1, sizeof self->paths[0]);
  if (!self->paths) {
    PyErr_NoMemory();
    return false;
  }
  self->path_texts = Py_NewRef(texts);
  for (Py_ssize_t i = 0; i < count; i++) {
    self->paths[i] = (char *)(uintptr_t)PyUnicode_AsUTF8AndSize(
        PyTuple_GetItem(texts, i), NULL);
    if (!self->paths[i]) return false;
  }
  self->path_count = count;
  return true;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args,
                              PyObject *kwargs) {
  (void)kwargs;
  PyObject *module, *keywords, *paths, *bind, *flatten, *build, *casting;
  Py_ssize_t index, positional, count;
  if (!PyArg_ParseTuple(args, "OnnnO!O!OOOU:Function", &module, &index,
                        &positional, &count, &PyDict_Type, &keywords,
                        &PyTuple_Type, &paths, &bind, &flatten, &build,
                        &casting)) {
    return NULL;
  }
  const int is_module =
      PyObject_IsInstance(module, (PyObject *)fc_py_module_type);
  if (is_module < 0) return NULL;
  if (is_module && ((fc_py_module_t *)module)->closed) {
    PyErr_SetString(PyExc_ValueError, "the module is closed");
    return NULL;
  }
  const fc_module_t *opened =
      is_module ? ((fc_py_module_t *)module)->module : NULL;
  if (!opened || index < 0 || positional < 0 || positional > count ||
      (size_t)index >= fc_module_function_count(opened)) {
    PyErr_SetString(PyExc_ValueError, "no such function of a module");
    return NULL;
  }
  function_t *self = (function_t *)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->module = (fc_py_module_t *)Py_NewRef(module);
  self->index = (size_t)index;
  self->positional = positional;
  self->input_count = count;
  self->keywords = Py_NewRef(keywords);
  self->bind = Py_NewRef(bind);
  self->flatten = Py_NewRef(flatten);
  self->build = Py_NewRef(build);
  self->casting = Py_NewRef(casting);
  if (read_paths(self, paths)) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

// There is no tp_clear: a reference cycle through this object is broken elsewhere, at the
// __dict__ of a subclass or in the closures.
static int function_traverse(PyObject *object, visitproc visit, void *arg) {
  const function_t *self = function_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->keywords);
  Py_VISIT(self->bind);
  Py_VISIT(self->flatten);
  Py_VISIT(self->build);
  return 0;
}

static void function_dealloc(PyObject *object) {
  function_t *self = function_of(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF((PyObject *)self->module);
  Py_XDECREF(self->keywords);
  Py_XDECREF(self->bind);
  Py_XDECREF(self->flatten);
  Py_XDECREF(self->build);
  Py_XDECREF(self->casting);
  Py_XDECREF(self->path_texts);
  PyMem_Free(self->paths);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyMethodDef function_methods[] = {
    {"call_with", call_with, METH_VARARGS,
     "call_with(state, args, kwargs): the results of a call with a State."},
    {"example_text", example, METH_O,
     "example_text(name): a call that it takes, as JSON (docs/http.md)."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot function_slots[] = {
    {Py_tp_new, (void *)function_new},
    {Py_tp_dealloc, (void *)function_dealloc},
    {Py_tp_traverse, (void *)function_traverse},
    {Py_tp_call, (void *)function_call},
    {Py_tp_methods, function_methods},
    {0, NULL},
};
PyType_Spec fc_py_function_spec = {
    .name = "farcall._farcall.Function",
    .basicsize = sizeof(function_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = function_slots,
};
