// SPDX-License-Identifier: Apache-2.0
//
// farcall._farcall.State: values that stay between calls of one module (fc_state_t). Only
// one call uses a state at a time: python/farcall/_state.py makes other threads wait. A
// call from within a call cannot wait, so it is refused here.
#include "extension.h"

#include <unistd.h>

PyTypeObject *fc_py_state_type;

typedef struct state_t {
  PyObject ob_base;
  fc_py_module_t *module;
  fc_state_t *state;  // NULL: closed
  bool taken;
  pid_t process;  // that made it: a fork cannot see its parent's calls
} state_t;

static state_t *state_of(PyObject *self) { return (state_t *)self; }

static fc_state_t *check(const state_t *self) {
  if (!self->state) {
    PyErr_SetString(PyExc_ValueError, "the state is closed");
    return NULL;
  }
  if (self->process != getpid()) {
    PyErr_SetString(PyExc_ValueError, "the state is another process's");
    return NULL;
  }
  if (self->taken) {
    PyErr_SetString(PyExc_RuntimeError, "a call uses the state");
    return NULL;
  }
  return self->state;
}

fc_state_t *fc_py_state_take(PyObject *object, const fc_py_module_t *module) {
  state_t *self = state_of(object);
  if (self->module != module) {
    PyErr_SetString(PyExc_ValueError, "the state is another module's");
    return NULL;
  }
  fc_state_t *state = check(self);
  if (state) self->taken = true;
  return state;
}

void fc_py_state_give(PyObject *object) { state_of(object)->taken = false; }

// ---------------------------------------------------------------------------
// The type

static PyObject *state_new(PyTypeObject *type, PyObject *args,
                           PyObject *kwargs) {
  (void)kwargs;
  PyObject *module;
  unsigned long long size_max;
  if (!PyArg_ParseTuple(args, "O!K:State", fc_py_module_type, &module,
                        &size_max)) {
    return NULL;
  }
  if (((fc_py_module_t *)module)->closed) {
    PyErr_SetString(PyExc_ValueError, "the module is closed");
    return NULL;
  }
  state_t *self = (state_t *)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->process = getpid();
  self->module = (fc_py_module_t *)Py_NewRef(module);
  fc_error_t err;
  const fc_state_options_t options = {.size_max = size_max};
  if (fc_state_create(&options, &self->state, &err) == FC_OK) {
    return (PyObject *)self;
  }
  Py_DECREF(self);
  return fc_py_raise(&err);
}

static void state_dealloc(PyObject *object) {
  state_t *self = state_of(object);
  PyTypeObject *type = Py_TYPE(object);
  fc_state_destroy(self->state);
  Py_XDECREF((PyObject *)self->module);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyObject *get_value(PyObject *object, PyObject *name) {
  fc_state_t *state = check(state_of(object));
  Py_ssize_t size;
  const char *text = state ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
  if (!text) return NULL;
  if (strlen(text) != (size_t)size) {
    PyErr_SetString(PyExc_ValueError, "the name has a zero byte");
    return NULL;
  }
  fc_tensor_t tensor;
  fc_error_t err;
  if (fc_state_get(state, text, &tensor, &err) != FC_OK) {
    return fc_py_raise(&err);
  }
  state_of(object)->taken = true;  // code may run while the array is made
  PyObject *array = fc_py_array_copy(&tensor);
  state_of(object)->taken = false;
  return array;
}

static PyObject *reset(PyObject *object, PyObject *unused) {
  (void)unused;
  fc_state_t *state = check(state_of(object));
  if (!state) return NULL;
  fc_state_reset(state);
  Py_RETURN_NONE;
}

static PyObject *close_state(PyObject *object, PyObject *unused) {
  (void)unused;
  state_t *self = state_of(object);
  const bool mine = self->process == getpid();
  if (!self->state) Py_RETURN_NONE;
  if (mine && !check(self)) return NULL;
  fc_state_destroy(self->state);
  self->state = NULL;
  Py_RETURN_NONE;
}

static PyObject *get_size(PyObject *object, void *unused) {
  (void)unused;
  const fc_state_t *state = check(state_of(object));
  return state ? PyLong_FromUnsignedLongLong(fc_state_size(state)) : NULL;
}

static PyMethodDef state_methods[] = {
    {"value", get_value, METH_O, "A copy of the value of that name."},
    {"reset", reset, METH_NOARGS, "Forgets all values."},
    {"close", close_state, METH_NOARGS, "No more calls use it."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef state_getters[] = {
    {"size", get_size, NULL, "Bytes that its values take.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot state_slots[] = {
    {Py_tp_new, (void *)state_new},
    {Py_tp_dealloc, (void *)state_dealloc},
    {Py_tp_methods, state_methods},
    {Py_tp_getset, state_getters},
    {0, NULL},
};
PyType_Spec fc_py_state_spec = {
    .name = "farcall._farcall.State",
    .basicsize = sizeof(state_t),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = state_slots,
};
