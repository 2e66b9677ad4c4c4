// SPDX-License-Identifier: Apache-2.0
//
// Converts results to Python objects. A large tensor stays in the memory of its call, so
// no other call can use that instance (the seat, extension.h) until the tensor is freed.
// A small one is copied: that is faster than making another instance.
#include "extension.h"

#include "base/width.h"

// Tensors of fewer bytes are copied.
#define KEPT_MIN 16384
// The most seats that results of one module may keep; further results are copied.
#define LEASES_MAX 16

// True if a part of the tensor is in an argument's memory, to which the caller may write.
static bool is_argument(const fc_py_run_t *run, const void *data, size_t size) {
  const char *low = data, *high = low + size;
  for (size_t i = 0; i < run->part_count; i++) {
    const fc_py_part_t *part = &run->parts[i];
    if (part->low < high && low < part->high) return true;
  }
  return false;
}

static bool stays(const fc_py_run_t *run, const fc_tensor_t *tensor,
                  size_t size) {
  const fc_module_info_t *info = fc_module_get_info(run->module->module);
  const fc_dtype_info_t *dtype = fc_dtype_info(tensor->dtype);
  return !run->has_state && size >= KEPT_MIN && fc_tensor_is_dense(tensor) &&
         (uintptr_t)tensor->data % fc_dtype_size(tensor->dtype) == 0 &&
         (run->lease || run->module->leased < LEASES_MAX) &&
         // The next call may change results of a module with state.
         !info->serial && !info->private_state &&
         // Elements of other types are in memory that the next run of the call writes to.
         dtype->bits == 8u * dtype->size &&
         !is_argument(run, tensor->data, size);
}

// Returns the memory of a result. With `run` NULL it is always a copy.
static PyObject *memory_of(fc_py_run_t *run, const fc_tensor_t *tensor,
                           size_t count, size_t size) {
  if (run && stays(run, tensor, size)) {
    if (!run->lease) {
      run->lease = fc_py_lease_create(run->module, run->seat, run->call);
      if (!run->lease) return NULL;
    }
    return fc_py_memory_borrow(tensor->data, size, run->lease);
  }
  PyObject *memory = fc_py_memory_create(size);
  if (!memory || !count) return memory;
  fc_tensor_gather(tensor, fc_py_memory_data(memory));
  return memory;
}

static PyObject *shape_of(const fc_tensor_t *tensor) {
  PyObject *shape = PyTuple_New(tensor->rank);
  for (int32_t i = 0; shape && i < tensor->rank; i++) {
    PyObject *dim = PyLong_FromLongLong(tensor->shape[i]);
    if (!dim || PyTuple_SetItem(shape, i, dim) < 0) Py_CLEAR(shape);
  }
  return shape;
}

static PyObject *array_of(fc_py_run_t *run, const fc_tensor_t *tensor) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return PyErr_NoMemory();
  }
  PyObject *array = NULL;
  PyObject *dtype = fc_py_dtype(tensor->dtype);
  PyObject *shape = dtype ? shape_of(tensor) : NULL;
  PyObject *memory = shape ? memory_of(run, tensor, count, size) : NULL;
  if (memory) {
    array = PyObject_CallFunctionObjArgs(fc_py_given.ndarray, shape, dtype,
                                         memory, NULL);
  }
  Py_XDECREF(shape);
  Py_XDECREF(memory);
  return array;
}

PyObject *fc_py_array_copy(const fc_tensor_t *tensor) {
  return array_of(NULL, tensor);
}

static PyObject *scalar_of(fc_dtype_t dtype, const fc_scalar_t *scalar) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  double parts[2] = {0};
  float singles[2];
  switch (dtype) {
    case FC_DTYPE_I1:
      return PyBool_FromLong(scalar->u8 & 1);
    case FC_DTYPE_F16:
      return PyFloat_FromDouble((double)fc_half_to_float(scalar->u16));
    case FC_DTYPE_BF16:
      return PyFloat_FromDouble((double)fc_bfloat_to_float(scalar->u16));
    case FC_DTYPE_F32:
      return PyFloat_FromDouble((double)scalar->f32);
    case FC_DTYPE_F64:
      return PyFloat_FromDouble(scalar->f64);
    case FC_DTYPE_C64:
      memcpy(singles, scalar->bytes, sizeof singles);
      return PyComplex_FromDoubles((double)singles[0], (double)singles[1]);
    case FC_DTYPE_C128:
      memcpy(parts, scalar->bytes, sizeof parts);
      return PyComplex_FromDoubles(parts[0], parts[1]);
    default:
      break;
  }
  if (!fc_dtype_is_integer(info)) {
    return fc_py_fail(FC_CODE_UNSUPPORTED_TYPE, NULL,
                      "a scalar of %s cannot be given to Python", info->text);
  }
  const uint64_t bits = fc_width_extend(info, scalar->u64);
  return fc_dtype_is_signed(info) ? PyLong_FromLongLong((int64_t)bits)
                                  : PyLong_FromUnsignedLongLong(bits);
}

// Converts a value that is not a list.
static PyObject *leaf_of(fc_py_run_t *run, const fc_value_t *value) {
  switch (value->kind) {
    case FC_VALUE_SCALAR:
      return scalar_of(value->dtype, &value->scalar);
    case FC_VALUE_TENSOR:
      return array_of(run, &value->tensor);
    case FC_VALUE_BYTES:
      return PyBytes_FromStringAndSize(value->bytes.data,
                                       (Py_ssize_t)value->bytes.size);
    case FC_VALUE_NULL:
      return Py_NewRef(Py_None);
    default:
      return fc_py_fail(
          FC_CODE_UNSUPPORTED_TYPE, NULL,
          "a result is %.*s, which Python has nothing for",
          (int)(value->bytes.size > 100 ? 100 : value->bytes.size),
          value->bytes.data ? value->bytes.data : "");
  }
}

typedef struct level_t {
  PyObject *list;  // borrowed from the list above
  const fc_value_t *next;
  size_t left;
} level_t;

static PyObject *list_of(fc_py_run_t *run, const fc_value_t *value) {
  level_t levels[FC_TYPE_DEPTH_MAX];
  PyObject *all = PyList_New(0);
  if (!all) return NULL;
  uint32_t depth = 1;
  levels[0] = (level_t){all, value->list.items, value->list.count};
  while (depth) {
    level_t *level = &levels[depth - 1];
    if (!level->left) {
      depth--;
      continue;
    }
    const fc_value_t *item = level->next++;
    level->left--;
    PyObject *object =
        item->kind == FC_VALUE_LIST ? PyList_New(0) : leaf_of(run, item);
    const bool added = object && PyList_Append(level->list, object) == 0;
    Py_XDECREF(object);
    if (!added) goto failed;
    if (item->kind != FC_VALUE_LIST) continue;
    if (depth == FC_TYPE_DEPTH_MAX) {
      fc_py_fail(FC_CODE_BAD_RESULT, NULL, "lists are nested deeper than %d",
                 FC_TYPE_DEPTH_MAX);
      goto failed;
    }
    levels[depth++] = (level_t){object, item->list.items, item->list.count};
  }
  return all;
failed:
  Py_DECREF(all);
  return NULL;
}

PyObject *fc_py_result_get(fc_py_run_t *run, const char *path) {
  const fc_value_t *value;
  fc_error_t err;
  if (fc_call_get_value(run->call, path, &value, &err) != FC_OK) {
    return fc_py_raise(&err);
  }
  return value->kind == FC_VALUE_LIST ? list_of(run, value)
                                      : leaf_of(run, value);
}
