// SPDX-License-Identifier: Apache-2.0
//
// The module farcall._farcall: its types, the objects that Python passes to it, and its
// errors.
#include "extension.h"

#include <stdarg.h>
#include <stdio.h>

fc_py_given_t fc_py_given;

// Returns the text, or None if it is empty. Text from a module or a client may be cut in
// the middle of a character.
static PyObject *text_of(const char *text) {
  if (!text || !text[0]) return Py_NewRef(Py_None);
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *fc_py_raise(const fc_error_t *err) {
  PyObject *message = text_of(err->message);
  PyObject *pointer =
      err->has_pointer
          ? PyUnicode_DecodeUTF8(err->pointer, (Py_ssize_t)strlen(err->pointer),
                                 "replace")
          : Py_NewRef(Py_None);
  PyObject *expected = text_of(err->expected);
  PyObject *got = text_of(err->got);
  PyObject *error = NULL;
  if (message && pointer && expected && got) {
    error = PyObject_CallFunction(fc_py_given.error, "OsOOO", message,
                                  fc_code_info(err->code)->text, pointer,
                                  expected, got);
  }
  if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_XDECREF(error);
  Py_XDECREF(message);
  Py_XDECREF(pointer);
  Py_XDECREF(expected);
  Py_XDECREF(got);
  return NULL;
}

PyObject *fc_py_fail(fc_code_t code, const char *path, const char *format,
                     ...) {
  fc_error_t err;
  char message[sizeof err.message];
  // A path begins with the argument's name, or its number.
  const int size = path ? (int)strcspn(path, "/") : 0;
  const char *quote =
      path && strspn(path, "0123456789") < (size_t)size ? "'" : "";
  const int at =
      path ? snprintf(message, sizeof message, "argument %s%.*s%s: ", quote,
                      size > 64 ? 64 : size, path, quote)
           : 0;
  va_list list;
  va_start(list, format);
  vsnprintf(message + at, sizeof message - (size_t)at, format, list);
  va_end(list);
  fc_fail(&err, code, "%s", message);
  if (path) {
    snprintf(err.pointer, sizeof err.pointer, "/%s", path);
    err.has_pointer = true;
  }
  return fc_py_raise(&err);
}

PyObject *fc_py_str(fc_str_t text) {
  return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "replace");
}

PyObject *fc_py_dtype(fc_dtype_t dtype) {
  PyObject **known = &fc_py_given.dtypes[dtype];
  if (!*known) {
    PyObject *made = PyObject_CallFunction(fc_py_given.dtype, "s",
                                           fc_dtype_info(dtype)->text);
    if (*known) Py_XDECREF(made);  // another thread was first
    else *known = made;
  }
  return *known;
}

static PyObject *given(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *error, *ndarray, *dtype, *coerce;
  if (!PyArg_ParseTuple(args, "OOOO", &error, &ndarray, &dtype, &coerce)) {
    return NULL;
  }
  fc_py_given = (fc_py_given_t){.error = Py_NewRef(error),
                                .ndarray = Py_NewRef(ndarray),
                                .dtype = Py_NewRef(dtype),
                                .coerce = Py_NewRef(coerce)};
  Py_RETURN_NONE;
}

static PyObject *memory(PyObject *self, PyObject *size) {
  (void)self;
  const size_t wanted = PyLong_AsSize_t(size);
  if (wanted == (size_t)-1 && PyErr_Occurred()) return NULL;
  PyObject *memory = fc_py_memory_create(wanted);
  PyObject *view = memory ? PyMemoryView_FromObject(memory) : NULL;
  Py_XDECREF(memory);
  return view;
}

static bool str_of(PyObject *object, fc_str_t *out) {
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text) *out = fc_str_make(text, (size_t)size);
  return text != NULL;
}

static PyObject *nearest(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *text, *names, *found = Py_None;
  fc_str_t wanted, name;
  if (!PyArg_ParseTuple(args, "OO!", &text, &PyList_Type, &names) ||
      !str_of(text, &wanted)) {
    return NULL;
  }
  fc_nearest_t search = fc_nearest_begin(wanted);
  for (Py_ssize_t i = 0; i < PyList_Size(names); i++) {
    PyObject *each = PyList_GetItem(names, i);
    if (!str_of(each, &name)) return NULL;
    if (fc_nearest_offer(&search, name)) found = each;
  }
  return Py_NewRef(found);
}

static PyMethodDef methods[] = {
    {"given", given, METH_VARARGS, "given(Error, ndarray, dtype, coerce)"},
    {"memory", memory, METH_O,
     "memory(size): bytes at a multiple of 64, not zeroed, to be written to"},
    {"nearest", nearest, METH_VARARGS,
     "nearest(wanted, names): the name that may have been meant, or None"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_farcall",
    .m_doc = "Modules of farcall, with flat arguments and results.",
    .m_size = -1,
    .m_methods = methods,
};

static bool add_type(PyObject *module, PyType_Spec *spec, const char *name,
                     PyTypeObject **out_type) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return false;
  if (out_type) *out_type = (PyTypeObject *)Py_NewRef(type);
  const int added = PyModule_AddObjectRef(module, name, type);
  Py_DECREF(type);
  return added == 0;
}

PyMODINIT_FUNC PyInit__farcall(void);  // the import calls it
PyMODINIT_FUNC PyInit__farcall(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module &&
      add_type(module, &fc_py_module_spec, "Module", &fc_py_module_type) &&
      add_type(module, &fc_py_function_spec, "Function", NULL) &&
      add_type(module, &fc_py_state_spec, "State", &fc_py_state_type) &&
      add_type(module, &fc_py_memory_spec, "Memory", &fc_py_memory_type) &&
      add_type(module, &fc_py_lease_spec, "Lease", &fc_py_lease_type) &&
      PyModule_AddStringConstant(module, "version", FARCALL_VERSION) == 0) {
    return module;
  }
  Py_XDECREF(module);
  return NULL;
}
