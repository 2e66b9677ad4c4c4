// SPDX-License-Identifier: Apache-2.0
//
// farcall._farcall.Module: a loaded file and its free seats. A call takes a seat and
// gives it back. So there are as many seats as calls ever ran at the same time, and one
// for each call whose results still use its memory. A closed module makes no more calls;
// its memory is freed when the last seat is given back.
#include "extension.h"
#include "module/examples.h"

PyTypeObject *fc_py_module_type;

static fc_py_module_t *module_of(PyObject *self) {
  return (fc_py_module_t *)self;
}

// ---------------------------------------------------------------------------
// Seats

static void seat_destroy(const fc_py_module_t *module, fc_py_seat_t *seat) {
  const size_t count = fc_module_function_count(module->module);
  for (size_t i = 0; i < count; i++) fc_call_destroy(seat->calls[i]);
  fc_instance_destroy(seat->instance);
  PyMem_Free(seat);
}

static fc_py_seat_t *seat_create(fc_py_module_t *module) {
  const size_t count = fc_module_function_count(module->module);
  fc_py_seat_t *seat =
      PyMem_Calloc(1, sizeof *seat + count * sizeof seat->calls[0]);
  if (!seat) {
    PyErr_NoMemory();
    return NULL;
  }
  fc_error_t err;
  fc_status_t status;
  // The first instance may run the module's initialiser.
  Py_BEGIN_ALLOW_THREADS;
  status = fc_instance_create(module->module, NULL, &seat->instance, &err);
  Py_END_ALLOW_THREADS;
  if (status == FC_OK) return seat;
  PyMem_Free(seat);
  fc_py_raise(&err);
  return NULL;
}

// Called after a seat was given back. Releases a closed module with the last one.
static void leave(fc_py_module_t *module) {
  if (--module->taken || !module->closed) return;
  fc_module_release(module->module);
  module->module = NULL;
}

static bool check_open(const fc_py_module_t *module) {
  if (!module->closed) return true;
  PyErr_SetString(PyExc_ValueError, "the module is closed");
  return false;
}

fc_py_seat_t *fc_py_seat_take(fc_py_module_t *module, size_t function) {
  if (!check_open(module)) return NULL;
  module->taken++;
  fc_py_seat_t *seat = module->free;
  if (seat) {
    module->free = seat->next;
  } else {
    seat = seat_create(module);
    if (!seat) {
      leave(module);
      return NULL;
    }
  }
  if (seat->calls[function]) return seat;
  const fc_str_t name = fc_module_function(module->module, function)->name;
  char *text = PyMem_Calloc(1, name.size + 1);
  fc_error_t err;
  fc_status_t status = FC_RESOURCE_EXHAUSTED;
  if (text) {
    memcpy(text, name.data, name.size);
    status = fc_call_create(seat->instance, text, &seat->calls[function], &err);
    PyMem_Free(text);
  } else {
    status = fc_fail_memory(&err);
  }
  if (status == FC_OK) return seat;
  fc_py_seat_give(module, seat);
  fc_py_raise(&err);
  return NULL;
}

void fc_py_seat_give(fc_py_module_t *module, fc_py_seat_t *seat) {
  if (module->closed) {
    seat_destroy(module, seat);
  } else {
    seat->next = module->free;
    module->free = seat;
  }
  leave(module);
}

static void destroy_free(fc_py_module_t *module) {
  while (module->free) {
    fc_py_seat_t *seat = module->free;
    module->free = seat->next;
    seat_destroy(module, seat);
  }
}

// ---------------------------------------------------------------------------
// The type

#define SETTINGS_MAX 8

// Reads a dict of names and values. The settings point to the dict's texts, so they are
// valid as long as the dict.
static bool read_settings(PyObject *dict, fc_setting_t *settings,
                          size_t *out_count) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  *out_count = 0;
  while (PyDict_Next(dict, &at, &name, &value)) {
    Py_ssize_t name_size, value_size;
    const char *name_text = PyUnicode_AsUTF8AndSize(name, &name_size);
    const char *value_text =
        name_text ? PyUnicode_AsUTF8AndSize(value, &value_size) : NULL;
    if (!value_text) return false;
    if (*out_count == SETTINGS_MAX) {
      PyErr_Format(PyExc_ValueError, "more than %d settings", SETTINGS_MAX);
      return false;
    }
    settings[(*out_count)++] =
        (fc_setting_t){fc_str_make(name_text, (size_t)name_size),
                       fc_str_make(value_text, (size_t)value_size)};
  }
  return true;
}

static fc_status_t check_sha256(const fc_module_t *module, const char *wanted,
                                fc_error_t *err) {
  const char *sha256 = fc_module_get_sha256(module);
  if (strcmp(sha256, wanted) == 0) return FC_OK;
  const fc_str_t name = fc_module_get_name(module);
  return fc_fail(err, FC_CODE_PRECONDITION_FAILED,
                 "%.*s: its SHA-256 is %s, that of the module that was pickled "
                 "is %.64s",
                 (int)name.size, name.data, sha256, wanted);
}

// Opens a file with this SHA-256, or any file if `sha256` is "". Code of a file with
// another sum does not run: the file is first only described and hashed, and then exactly
// the hashed bytes are loaded.
static fc_status_t open_module(const char *path,
                               const fc_module_options_t *options,
                               const char *sha256, fc_module_t **out_module,
                               fc_error_t *err) {
  if (!sha256[0]) return fc_module_open(path, options, out_module, err);
  fc_module_options_t describing = *options;
  describing.describe_native = true;
  fc_module_t *described;
  FC_TRY(fc_module_open(path, &describing, &described, err));
  fc_status_t status = check_sha256(described, sha256, err);
  if (status == FC_OK) {
    const fc_module_files_t files = fc_module_get_files(described);
    status =
        fc_module_load_files(NULL, fc_module_get_path(described), &files,
                             options, fc_allocator_system(), out_module, err);
  }
  fc_module_release(described);
  return status;
}

static PyObject *module_new(PyTypeObject *type, PyObject *args,
                            PyObject *kwargs) {
  (void)kwargs;
  PyObject *path, *settings;
  int native;
  const char *sha256;
  if (!PyArg_ParseTuple(args, "O&pO!s:Module", PyUnicode_FSConverter, &path,
                        &native, &PyDict_Type, &settings, &sha256)) {
    return NULL;
  }
  fc_setting_t given[SETTINGS_MAX];
  fc_module_options_t options = {.forbid_native = !native, .settings = given};
  PyObject *self = NULL;
  if (read_settings(settings, given, &options.setting_count)) {
    self = PyType_GenericAlloc(type, 0);
  }
  if (self) {
    const char *text = PyBytes_AsString(path);
    fc_error_t err;
    fc_status_t status;
    fc_module_t *module = NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = open_module(text, &options, sha256, &module, &err);
    Py_END_ALLOW_THREADS;
    module_of(self)->module = module;
    if (status != FC_OK) {
      Py_DECREF(self);
      self = fc_py_raise(&err);
    }
  }
  Py_DECREF(path);
  return self;
}

static void module_dealloc(PyObject *object) {
  fc_py_module_t *self = module_of(object);
  PyTypeObject *type = Py_TYPE(object);
  destroy_free(self);
  fc_module_release(self->module);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyObject *signature_json(const fc_module_t *module, size_t index) {
  const fc_function_t *function = fc_module_function(module, index);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_error_t err;
  const fc_status_t status = fc_function_print_json(function, &text.sink, &err);
  PyObject *json =
      status == FC_OK ? fc_py_str(fc_text_str(&text)) : fc_py_raise(&err);
  fc_text_deinit(&text);
  return json;
}

static PyObject *signatures(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!check_open(module_of(self))) return NULL;
  const fc_module_t *module = module_of(self)->module;
  const size_t count = fc_module_function_count(module);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *json = signature_json(module, i);
    if (!json || PyList_Append(list, json) < 0) Py_CLEAR(list);
    Py_XDECREF(json);
  }
  return list;
}

static PyObject *close_module(PyObject *object, PyObject *unused) {
  (void)unused;
  fc_py_module_t *self = module_of(object);
  if (self->closed) Py_RETURN_NONE;
  destroy_free(self);
  self->taken++;
  self->closed = true;
  leave(self);
  Py_RETURN_NONE;
}

#define GETTER(what, value)                                       \
  static PyObject *get_##what(PyObject *self, void *unused) {     \
    (void)unused;                                                 \
    const fc_module_t *module = module_of(self)->module;          \
    return check_open(module_of(self)) ? fc_py_str(value) : NULL; \
  }
GETTER(name, fc_module_get_name(module))
GETTER(version, fc_module_get_version(module))
GETTER(path, fc_module_get_path(module))
GETTER(kind, fc_str(fc_module_get_kind(module)))
GETTER(sha256, fc_str(fc_module_get_sha256(module)))

static PyObject *get_leased(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLong(module_of(self)->leased);
}

static PyMethodDef module_methods[] = {
    {"signatures", signatures, METH_NOARGS,
     "The signature of each function, as JSON (docs/abi.md)."},
    {"close", close_module, METH_NOARGS, "No more calls are made."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef module_getters[] = {
    {"name", get_name, NULL, "The file's name, without its extension.", NULL},
    {"version", get_version, NULL, "Its version, \"1\" if it has none.", NULL},
    {"path", get_path, NULL, "The file it was loaded from.", NULL},
    {"kind", get_kind, NULL, "\"vm\" or \"native\".", NULL},
    {"sha256", get_sha256, NULL, "The file's SHA-256.", NULL},
    {"_leased", get_leased, NULL, "Calls whose memory results keep.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot module_slots[] = {
    {Py_tp_new, (void *)module_new},
    {Py_tp_dealloc, (void *)module_dealloc},
    {Py_tp_methods, module_methods},
    {Py_tp_getset, module_getters},
    {0, NULL},
};
PyType_Spec fc_py_module_spec = {
    .name = "farcall._farcall.Module",
    .basicsize = sizeof(fc_py_module_t),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = module_slots,
};
