// SPDX-License-Identifier: Apache-2.0
//
// The memory of arrays. A numpy.ndarray keeps a reference to the object with its
// elements, so that object lives as long as the last array.
#include "extension.h"

PyTypeObject *fc_py_memory_type;
PyTypeObject *fc_py_lease_type;

typedef struct fc_py_memory_t {
  PyObject ob_base;
  void *data;
  size_t size;
  PyObject *owner;  // of `data`; NULL: this object
} fc_py_memory_t;

static fc_py_memory_t *create(void) {
  return (fc_py_memory_t *)PyType_GenericAlloc(fc_py_memory_type, 0);
}

PyObject *fc_py_memory_create(size_t size) {
  if (size > PY_SSIZE_T_MAX) return PyErr_NoMemory();
  fc_py_memory_t *self = create();
  if (!self) return NULL;
  self->size = size;
  self->data = fc_alloc_aligned(fc_allocator_system(), size ? size : 1,
                                FC_TENSOR_ALIGNMENT);
  if (self->data) return (PyObject *)self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

PyObject *fc_py_memory_borrow(void *data, size_t size, PyObject *owner) {
  fc_py_memory_t *self = create();
  if (!self) return NULL;
  self->data = data;
  self->size = size;
  self->owner = Py_NewRef(owner);
  return (PyObject *)self;
}

void *fc_py_memory_data(PyObject *memory) {
  return ((fc_py_memory_t *)memory)->data;
}

static void memory_dealloc(PyObject *object) {
  fc_py_memory_t *self = (fc_py_memory_t *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (!self->owner) fc_free(fc_allocator_system(), self->data);
  Py_XDECREF(self->owner);
  PyObject_Free(object);
  Py_DECREF(type);
}

static int get_buffer(PyObject *object, Py_buffer *view, int flags) {
  fc_py_memory_t *self = (fc_py_memory_t *)object;
  return PyBuffer_FillInfo(view, object, self->data, (Py_ssize_t)self->size,
                           self->owner != NULL, flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, (void *)memory_dealloc},
    {Py_bf_getbuffer, (void *)get_buffer},
    {0, NULL},
};
PyType_Spec fc_py_memory_spec = {
    .name = "farcall._farcall.Memory",
    .basicsize = sizeof(fc_py_memory_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots,
};

// ---------------------------------------------------------------------------
// Leases

typedef struct lease_t {
  PyObject ob_base;
  fc_py_module_t *module;
  fc_py_seat_t *seat;
  fc_call_t *call;
} lease_t;

PyObject *fc_py_lease_create(fc_py_module_t *module, fc_py_seat_t *seat,
                             fc_call_t *call) {
  lease_t *self = (lease_t *)PyType_GenericAlloc(fc_py_lease_type, 0);
  if (!self) return NULL;
  self->module = (fc_py_module_t *)Py_NewRef((PyObject *)module);
  self->seat = seat;
  self->call = call;
  module->leased++;
  return (PyObject *)self;
}

static void lease_dealloc(PyObject *object) {
  lease_t *self = (lease_t *)object;
  PyTypeObject *type = Py_TYPE(object);
  fc_call_end(self->call);
  self->module->leased--;
  fc_py_seat_give(self->module, self->seat);
  Py_DECREF((PyObject *)self->module);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyType_Slot lease_slots[] = {
    {Py_tp_dealloc, (void *)lease_dealloc},
    {0, NULL},
};
PyType_Spec fc_py_lease_spec = {
    .name = "farcall._farcall.Lease",
    .basicsize = sizeof(lease_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = lease_slots,
};
