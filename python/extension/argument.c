// SPDX-License-Identifier: Apache-2.0
//
// Converts Python objects to the arguments of a call. An object with a buffer of the
// right elements is passed in place. For all other objects `coerce`
// (python/farcall/_arrays.py) makes an array, or raises an error.
#include "extension.h"

#include <math.h>
#include <stdio.h>

static bool out_of_memory(void) {
  PyErr_NoMemory();
  return false;
}

// ---------------------------------------------------------------------------
// Elements

// Returns NumPy's letter for the kind of a buffer's elements; 0: another kind.
static char kind_of(const char *format) {
  if (!format) return 'u';
  if (*format == '@' || *format == '=' || *format == '<') format++;
  const bool complex_ = *format == 'Z';
  if (complex_) format++;
  if (!format[0] || format[1]) return 0;
  if (complex_) return strchr("fd", *format) ? 'c' : 0;
  if (*format == '?') return 'b';
  if (strchr("bhilqn", *format)) return 'i';
  if (strchr("BHILQN", *format)) return 'u';
  return strchr("efd", *format) ? 'f' : 0;
}

// Returns the dtype of a buffer's elements: `wanted`, if they can be read as that.
// FC_DTYPE_NONE: they cannot be read.
static fc_dtype_t match(const Py_buffer *view, fc_dtype_t wanted) {
  const char kind = kind_of(view->format);
  if (!kind || view->itemsize > 16) return FC_DTYPE_NONE;
  if (wanted == FC_DTYPE_NONE) {
    char npy[8];
    const int size =
        snprintf(npy, sizeof npy, "%c%c%d", view->itemsize == 1 ? '|' : '<',
                 kind, (int)view->itemsize);
    return fc_dtype_from_npy(fc_str_make(npy, (size_t)size));
  }
  const fc_dtype_info_t *info = fc_dtype_info(wanted);
  if (!info->npy[0] || info->size != view->itemsize) return FC_DTYPE_NONE;
  const bool any_sign = info->class_ == FC_DTYPE_CLASS_INT && kind == 'u';
  return info->npy[1] == kind || any_sign ? wanted : FC_DTYPE_NONE;
}

// ---------------------------------------------------------------------------
// Tensors

// Records the address range of the caller's bytes.
static void note_range(fc_py_part_t *part, const fc_tensor_t *tensor) {
  const Py_buffer *view = &part->view;
  part->low = part->high = view->buf;
  for (int i = 0; i < view->ndim; i++) {
    if (view->shape[i] == 0) return;
    const Py_ssize_t stride =
        tensor->strides ? view->strides[i] : 0;  // dense: see the end
    const Py_ssize_t reach = (view->shape[i] - 1) * stride;
    if (reach < 0) part->low += reach;
    else part->high += reach;
  }
  part->high += tensor->strides ? view->itemsize : view->len;
}

// Reads the strides. False: they are no multiples of an element's size.
static bool read_strides(const Py_buffer *view, int64_t *strides,
                         fc_tensor_t *tensor) {
  tensor->strides = NULL;
  if (!view->strides || view->ndim == 0) return true;
  for (int i = 0; i < view->ndim; i++) {
    if (view->strides[i] % view->itemsize != 0) return false;
    strides[i] = view->strides[i] / view->itemsize;
  }
  tensor->strides = strides;
  if (fc_tensor_is_dense(tensor)) tensor->strides = NULL;
  return true;
}

// Copies an argument that the function writes to: the caller's array stays unchanged, and
// the written copy is a result.
static bool copy_tensor(fc_py_part_t *part, fc_tensor_t *tensor) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return out_of_memory();
  }
  PyObject *memory = fc_py_memory_create(size);
  if (!memory) return false;
  if (count) fc_tensor_gather(tensor, fc_py_memory_data(memory));
  part->kept = memory;
  tensor->strides = NULL;
  tensor->data = fc_py_memory_data(memory);
  part->low = tensor->data;
  part->high = part->low + size;
  return true;
}

static bool set_view(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                     fc_dtype_t dtype, fc_py_part_t *part) {
  const Py_buffer *view = &part->view;
  int64_t shape[FC_RANK_MAX], strides[FC_RANK_MAX];
  if (view->ndim > FC_RANK_MAX) {
    fc_py_fail(FC_CODE_SHAPE_MISMATCH, leaf->path, "%d dims, at most %d can be",
               view->ndim, FC_RANK_MAX);
    return false;
  }
  fc_tensor_t tensor = {dtype, view->ndim, shape, NULL, view->buf};
  for (int i = 0; i < view->ndim; i++) shape[i] = view->shape[i];
  if (!read_strides(view, strides, &tensor)) {
    fc_py_fail(FC_CODE_TYPE_MISMATCH, leaf->path,
               "elements lie between multiples of their size");
    return false;
  }
  note_range(part, &tensor);
  if (leaf->role != FC_ROLE_IN && !copy_tensor(part, &tensor)) return false;
  fc_error_t err;
  if (fc_call_set_leaf(call, index, &tensor, &err) == FC_OK) return true;
  fc_py_raise(&err);
  return false;
}

// Gets the buffer of an array that `coerce` makes from the object.
static fc_dtype_t coerce(const fc_leaf_t *leaf, PyObject *object,
                         PyObject *casting, fc_py_part_t *part) {
  const char *wanted = leaf->dtype ? fc_dtype_info(leaf->dtype)->text : NULL;
  PyObject *pair = PyObject_CallFunction(fc_py_given.coerce, "OzsO", object,
                                         wanted, leaf->path, casting);
  if (!pair) return FC_DTYPE_NONE;
  const char *text;
  PyObject *array;
  fc_dtype_t dtype = FC_DTYPE_NONE;
  if (PyArg_ParseTuple(pair, "Os", &array, &text) &&
      PyObject_GetBuffer(array, &part->view, PyBUF_STRIDES) == 0) {
    dtype = fc_dtype_find(fc_str(text));
    if (fc_dtype_size(dtype) != (size_t)part->view.itemsize) {
      PyErr_Format(PyExc_SystemError, "coerce made no %s", text);
      dtype = FC_DTYPE_NONE;
    }
  }
  Py_DECREF(pair);
  return dtype;
}

// Gets a buffer of the object into part->view. Returns its dtype; FC_DTYPE_NONE: an
// exception is set.
static fc_dtype_t view_object(const fc_leaf_t *leaf, PyObject *object,
                              PyObject *casting, fc_py_part_t *part) {
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &part->view, PyBUF_FORMAT | PyBUF_STRIDES)) {
      PyErr_Clear();
    } else {
      const fc_dtype_t dtype = match(&part->view, leaf->dtype);
      if (dtype != FC_DTYPE_NONE) return dtype;
      PyBuffer_Release(&part->view);
    }
  }
  return coerce(leaf, object, casting, part);
}

static bool set_tensor(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                       PyObject *object, PyObject *casting,
                       fc_py_part_t *part) {
  const fc_dtype_t dtype = view_object(leaf, object, casting, part);
  return dtype != FC_DTYPE_NONE && set_view(call, index, leaf, dtype, part);
}

// ---------------------------------------------------------------------------
// Scalars

static bool out_of_range(const fc_leaf_t *leaf, PyObject *object) {
  PyErr_Clear();
  PyObject *shown = PyObject_Repr(object);
  const char *text = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
  if (!text) {  // Python does not print numbers of thousands of digits
    PyErr_Clear();
    text = "the number";
  }
  fc_py_fail(FC_CODE_OUT_OF_RANGE, leaf->path, "%.64s is no %s", text,
             fc_dtype_info(leaf->dtype)->text);
  Py_XDECREF(shown);
  return false;
}

// Raises an error that names the object's type. An exception that is not about the type,
// such as KeyboardInterrupt, stays set instead.
static bool wrong_type(const fc_leaf_t *leaf, const char *wanted,
                       PyObject *object) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) &&
      !PyErr_ExceptionMatches(PyExc_ValueError)) {
    return false;
  }
  PyErr_Clear();
  PyObject *type = PyType_GetName(Py_TYPE(object));
  const char *text = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
  if (text) {
    fc_py_fail(FC_CODE_TYPE_MISMATCH, leaf->path, "expected %s, found %.64s",
               wanted, text);
  }
  Py_XDECREF(type);
  return false;
}

// Reads an integer of any Python type. A signless integer must be in the signed range.
static bool read_integer(const fc_leaf_t *leaf, PyObject *object,
                         fc_scalar_t *out) {
  const fc_dtype_info_t *info = fc_dtype_info(leaf->dtype);
  PyObject *number = PyNumber_Index(object);
  if (!number) return wrong_type(leaf, "an integer", object);
  bool fits;
  const unsigned bits = info->bits;
  if (fc_dtype_is_signed(info)) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    const long long most = INT64_MAX >> (64 - bits);
    fits = !overflow && value <= most && value >= -most - 1;
    out->i64 = value;
  } else {
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    fits = !PyErr_Occurred() && value <= UINT64_MAX >> (64 - bits);
    out->u64 = value;
  }
  Py_DECREF(number);
  return fits || out_of_range(leaf, object);
}

static bool read_bool(const fc_leaf_t *leaf, PyObject *object,
                      fc_scalar_t *out) {
  PyObject *number = PyNumber_Index(object);
  long value = number ? PyLong_AsLong(number) : -1;
  Py_XDECREF(number);
  if (!number) {  // numpy.bool_ has no __index__
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Clear();
    Py_buffer view;
    if (PyObject_CheckBuffer(object) &&
        PyObject_GetBuffer(object, &view, PyBUF_FORMAT) == 0) {
      if (view.itemsize == 1 && view.len == 1 && view.ndim == 0 &&
          kind_of(view.format) == 'b') {
        value = *(const uint8_t *)view.buf;
      }
      PyBuffer_Release(&view);
    }
  }
  PyErr_Clear();
  out->u8 = value == 1;
  return value == 0 || value == 1 || wrong_type(leaf, "a bool", object);
}

// Writes the number as a float. False: it is larger than the largest finite float.
static bool round_float(fc_dtype_t dtype, double value, void *out) {
  uint16_t half;
  float single = 0;
  bool whole = !isfinite(value);
  switch (dtype) {
    case FC_DTYPE_F64:
      memcpy(out, &value, sizeof value);
      return true;
    case FC_DTYPE_F32:
      single = (float)value;
      memcpy(out, &single, sizeof single);
      return whole || isfinite(single);
    case FC_DTYPE_F16:
      half = fc_half_from_double(value);
      single = fc_half_to_float(half);
      break;
    default:
      half = fc_bfloat_from_double(value);
      single = fc_bfloat_to_float(half);
      break;
  }
  memcpy(out, &half, sizeof half);
  return whole || isfinite(single);
}

// `value` is what Python made of the object. True if it is infinite although the object
// is finite, for example a NumPy longdouble above the largest f64. An object that cannot
// be compared counts as infinite.
static bool was_finite(PyObject *object, double value) {
  if (!object || !isinf(value) || PyFloat_CheckExact(object)) return false;
  PyObject *infinity = PyFloat_FromDouble(value);
  const int less = infinity ? PyObject_RichCompareBool(
                                  object, infinity, value > 0 ? Py_LT : Py_GT)
                            : -1;
  if (less < 0) PyErr_Clear();
  Py_XDECREF(infinity);
  return less == 1;
}

// Like was_finite, for one part of a complex number.
static bool part_was_finite(PyObject *object, const char *name, double value) {
  PyObject *part = isinf(value) ? PyObject_GetAttrString(object, name) : NULL;
  PyErr_Clear();
  const bool was = was_finite(part, value);
  Py_XDECREF(part);
  return was;
}

static bool read_float(const fc_leaf_t *leaf, PyObject *object,
                       fc_scalar_t *out) {
  const double value = PyFloat_AsDouble(object);
  if (PyErr_Occurred()) {
    return PyErr_ExceptionMatches(PyExc_OverflowError)
               ? out_of_range(leaf, object)
               : wrong_type(leaf, "a number", object);
  }
  if (was_finite(object, value)) return out_of_range(leaf, object);
  if (leaf->dtype == FC_DTYPE_F32 && PyLong_Check(object)) {
    // Rounds only once. The f64 nearest to the integer may lie halfway between two f32,
    // and rounding it again may give the wrong one.
    int beyond;
    const long long whole = PyLong_AsLongLongAndOverflow(object, &beyond);
    const float single = (float)whole;
    if (!beyond) memcpy(out->bytes, &single, sizeof single);
    if (!beyond) return true;
  }
  return round_float(leaf->dtype, value, out->bytes) ||
         out_of_range(leaf, object);
}

static bool read_complex(const fc_leaf_t *leaf, PyObject *object,
                         fc_scalar_t *out) {
  if (PyUnicode_Check(object)) {
    return wrong_type(leaf, "a complex number", object);
  }
  // The stable ABI can read the parts only of a complex object.
  PyObject *number =
      PyObject_CallFunction((PyObject *)&PyComplex_Type, "O", object);
  if (!number) return wrong_type(leaf, "a complex number", object);
  const double re = PyComplex_RealAsDouble(number);
  const double im = PyComplex_ImagAsDouble(number);
  Py_DECREF(number);
  if (part_was_finite(object, "real", re) ||
      part_was_finite(object, "imag", im)) {
    return out_of_range(leaf, object);
  }
  const fc_dtype_t part = fc_dtype_info(leaf->dtype)->part;
  return (round_float(part, re, out->bytes) &&
          round_float(part, im, out->bytes + fc_dtype_size(part))) ||
         out_of_range(leaf, object);
}

static bool read_scalar(const fc_leaf_t *leaf, PyObject *object,
                        fc_scalar_t *out) {
  const fc_dtype_info_t *info = fc_dtype_info(leaf->dtype);
  *out = (fc_scalar_t){0};
  switch (info->class_) {
    case FC_DTYPE_CLASS_BOOL:
      return read_bool(leaf, object, out);
    case FC_DTYPE_CLASS_FLOAT:
      if (info->size == 1) break;
      return read_float(leaf, object, out);
    case FC_DTYPE_CLASS_COMPLEX:
      return read_complex(leaf, object, out);
    case FC_DTYPE_CLASS_NONE:
      break;
    default:
      return read_integer(leaf, object, out);
  }
  fc_py_fail(FC_CODE_UNSUPPORTED_TYPE, leaf->path,
             "a scalar of %s cannot be given from Python", info->text);
  return false;
}

static bool set_scalar(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                       PyObject *object, fc_py_part_t *part) {
  if (!read_scalar(leaf, object, &part->scalar)) return false;
  const fc_tensor_t tensor = {leaf->dtype, 0, NULL, NULL, part->scalar.bytes};
  fc_error_t err;
  if (fc_call_set_leaf(call, index, &tensor, &err) == FC_OK) return true;
  fc_py_raise(&err);
  return false;
}

// ---------------------------------------------------------------------------
// Lists and bytes

static bool copy_bytes(PyObject *object, fc_arena_t *arena, fc_value_t *out) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return false;
  char *copy = fc_arena_alloc(arena, (size_t)size + 1, 1);
  if (!copy) return out_of_memory();
  memcpy(copy, data, (size_t)size);
  *out = (fc_value_t){.kind = FC_VALUE_BYTES};
  out->bytes = fc_str_make(copy, (size_t)size);
  return true;
}

static bool copy_scalar(fc_dtype_t dtype, const Py_buffer *view,
                        fc_value_t *out) {
  *out = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = dtype};
  memcpy(out->scalar.bytes, view->buf, fc_dtype_size(dtype));
  return true;
}

static bool copy_array(fc_dtype_t dtype, const Py_buffer *view,
                       fc_arena_t *arena, fc_value_t *out) {
  int64_t *shape =
      fc_arena_alloc_array(arena, (size_t)view->ndim + 1, sizeof *shape);
  void *data =
      fc_arena_alloc(arena, (size_t)view->len + 1, FC_TENSOR_ALIGNMENT);
  if (!shape || !data) return out_of_memory();
  if (PyBuffer_ToContiguous(data, view, view->len, 'C') < 0) return false;
  for (int i = 0; i < view->ndim; i++) shape[i] = view->shape[i];
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR};
  out->tensor = (fc_tensor_t){dtype, view->ndim, shape, NULL, data};
  return true;
}

// Copies an array as a tensor, and a NumPy scalar as a scalar.
static bool copy_elements(const fc_leaf_t *leaf, PyObject *object,
                          fc_arena_t *arena, fc_value_t *out) {
  fc_leaf_t untyped = {.kind = FC_TYPE_UNKNOWN, .rank = FC_RANK_DYNAMIC};
  untyped.path = leaf->path;
  fc_py_part_t part = {0};
  const fc_dtype_t dtype = view_object(&untyped, object, Py_None, &part);
  const int is_array = PyObject_IsInstance(object, fc_py_given.ndarray);
  const bool copied = dtype != FC_DTYPE_NONE && is_array >= 0 &&
                      (is_array ? copy_array(dtype, &part.view, arena, out)
                                : copy_scalar(dtype, &part.view, out));
  fc_py_part_deinit(&part);
  return copied;
}

typedef struct level_t {
  PyObject *list;  // borrowed from the list above
  fc_value_t *items;
  Py_ssize_t next, count;
} level_t;

static bool open_list(PyObject *list, fc_arena_t *arena, fc_value_t *out,
                      level_t *level) {
  const Py_ssize_t count = PyList_Size(list);
  fc_value_t *items =
      fc_arena_alloc_array(arena, (size_t)count + 1, sizeof *items);
  if (!items) return out_of_memory();
  *out = (fc_value_t){.kind = FC_VALUE_LIST};
  out->list.items = items;
  out->list.count = (size_t)count;
  *level = (level_t){list, items, 0, count};
  return true;
}

// Copies a value made by _structure.py: None, bytes, arrays, NumPy scalars, and lists of
// these.
static bool copy_value(const fc_leaf_t *leaf, PyObject *object,
                       fc_arena_t *arena, fc_value_t *out) {
  level_t levels[FC_TYPE_DEPTH_MAX];
  uint32_t depth = 0;
  for (;;) {
    bool copied = true;
    if (PyList_CheckExact(object)) {
      if (depth == FC_TYPE_DEPTH_MAX) {
        fc_py_fail(FC_CODE_TYPE_MISMATCH, leaf->path,
                   "lists are nested deeper than %d", FC_TYPE_DEPTH_MAX);
        return false;
      }
      copied = open_list(object, arena, out, &levels[depth++]);
    } else if (object == Py_None) {
      *out = (fc_value_t){.kind = FC_VALUE_NULL};
    } else if (PyBytes_CheckExact(object)) {
      copied = copy_bytes(object, arena, out);
    } else {
      copied = copy_elements(leaf, object, arena, out);
    }
    if (!copied) return false;
    while (depth && levels[depth - 1].next == levels[depth - 1].count) depth--;
    if (!depth) return true;
    level_t *level = &levels[depth - 1];
    object = PyList_GetItem(level->list, level->next);
    if (!object) return false;
    out = &level->items[level->next++];
  }
}

static bool set_value(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                      PyObject *object, fc_arena_t *arena) {
  fc_value_t value;
  if (!copy_value(leaf, object, arena, &value)) return false;
  fc_error_t err;
  const fc_status_t status =
      value.kind == FC_VALUE_TENSOR
          ? fc_call_set_leaf(call, index, &value.tensor, &err)
          : fc_call_set_value(call, leaf->path, &value, &err);
  if (status == FC_OK) return true;
  fc_py_raise(&err);
  return false;
}

// ---------------------------------------------------------------------------

bool fc_py_argument_set(fc_call_t *call, size_t index, const fc_leaf_t *leaf,
                        PyObject *object, PyObject *casting, fc_arena_t *arena,
                        fc_py_part_t *part) {
  switch (leaf->kind) {
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return set_tensor(call, index, leaf, object, casting, part);
    case FC_TYPE_SCALAR:
      return set_scalar(call, index, leaf, object, part);
    case FC_TYPE_NULL:
    case FC_TYPE_TUPLE:
    case FC_TYPE_DICT:
      return true;  // _structure.py has checked it; nothing is passed
    default:
      // Copies are freed after the call, so every result is copied: any result may point
      // to them.
      part->low = NULL;
      part->high = (const char *)UINTPTR_MAX;
      return set_value(call, index, leaf, object, arena);
  }
}

void fc_py_part_deinit(fc_py_part_t *part) {
  if (part->view.obj) PyBuffer_Release(&part->view);
  Py_CLEAR(part->kept);
}
