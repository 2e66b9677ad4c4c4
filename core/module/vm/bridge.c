// SPDX-License-Identifier: Apache-2.0
//
// Converts arguments and results. What a module leaves in the bits above a narrow
// integer is undefined, so both directions extend by the declared type: iN and siN by
// sign, uiN and i1 by zero. Lists are walked with a stack of their own, never by
// recursion.
#include "module/vm/bridge.h"

#include <inttypes.h>

#define DEPTH_MAX 64  // of nested lists

// ---------------------------------------------------------------------------
// Numbers

static int64_t extend(uint64_t bits, const fc_dtype_info_t *info) {
  unsigned unused = 64u - info->bits;
  uint64_t high = bits << unused;
  return fc_dtype_is_signed(info) ? (int64_t)high >> unused
                                  : (int64_t)(high >> unused);
}

// A number as the VM keeps it: i64, f32 and f64 as they are, narrower integers as i32,
// and the bits of narrower floats as i32.
static fc_status_t number_in(const fc_value_t *value, fc_vm_value_t *out,
                             fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(value->dtype);
  *out = (fc_vm_value_t){.i64 = 0};
  switch (info->class_) {
    case FC_DTYPE_CLASS_FLOAT:
      if (value->dtype == FC_DTYPE_F32) {
        out->type = FC_VM_TYPE_F32;
        out->f32 = value->scalar.f32;
        return FC_OK;
      }
      if (value->dtype == FC_DTYPE_F64) {
        out->type = FC_VM_TYPE_F64;
        out->f64 = value->scalar.f64;
        return FC_OK;
      }
      out->type = FC_VM_TYPE_I32;
      out->i32 = info->bits == 16 ? value->scalar.u16 : value->scalar.u8;
      return FC_OK;
    case FC_DTYPE_CLASS_BOOL:
    case FC_DTYPE_CLASS_INT:
    case FC_DTYPE_CLASS_SINT:
    case FC_DTYPE_CLASS_UINT:
    case FC_DTYPE_CLASS_INDEX:
      break;
    default:
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "the VM has no numbers of type %s", info->text);
  }
  uint64_t bits = 0;
  memcpy(&bits, value->scalar.bytes, info->size);
  int64_t integer = extend(bits, info);
  out->type = info->bits == 64 ? FC_VM_TYPE_I64 : FC_VM_TYPE_I32;
  if (info->bits == 64) out->i64 = integer;
  else out->i32 = (int32_t)(uint32_t)(uint64_t)integer;
  return FC_OK;
}

static fc_dtype_t plain_dtype(fc_vm_type_t type) {
  switch (type) {
    case FC_VM_TYPE_I8:
      return FC_DTYPE_I8;
    case FC_VM_TYPE_I16:
      return FC_DTYPE_I16;
    case FC_VM_TYPE_I32:
      return FC_DTYPE_I32;
    case FC_VM_TYPE_I64:
      return FC_DTYPE_I64;
    case FC_VM_TYPE_F32:
      return FC_DTYPE_F32;
    case FC_VM_TYPE_F64:
      return FC_DTYPE_F64;
    default:
      return FC_DTYPE_NONE;
  }
}

static int64_t integer_of(fc_vm_value_t number) {
  switch (number.type) {
    case FC_VM_TYPE_I8:
      return number.i8;
    case FC_VM_TYPE_I16:
      return number.i16;
    case FC_VM_TYPE_I32:
      return number.i32;
    default:
      return number.i64;
  }
}

// With `declared` NONE the number keeps the type it has.
static fc_status_t number_out(fc_vm_value_t number, fc_dtype_t declared,
                              fc_value_t *out, fc_error_t *err) {
  fc_dtype_t dtype = declared ? declared : plain_dtype(number.type);
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  bool is_float =
      number.type == FC_VM_TYPE_F32 || number.type == FC_VM_TYPE_F64;
  bool wants_float = dtype == FC_DTYPE_F32 || dtype == FC_DTYPE_F64;
  *out = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = dtype};
  if (is_float != wants_float || info->bits > 64 ||
      info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "the module returned a number of type %s where %s is "
                   "declared",
                   fc_vm_type_info(number.type)->text, info->text);
  }
  if (dtype == FC_DTYPE_F32) {
    out->scalar.f32 =
        number.type == FC_VM_TYPE_F32 ? number.f32 : (float)number.f64;
  } else if (dtype == FC_DTYPE_F64) {
    out->scalar.f64 =
        number.type == FC_VM_TYPE_F64 ? number.f64 : (double)number.f32;
  } else {
    out->scalar.i64 = extend((uint64_t)integer_of(number), info);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Arguments

static fc_status_t refuse_value(const fc_value_t *value, fc_error_t *err) {
  const char *what =
      value->kind == FC_VALUE_OPAQUE ? "an opaque reference" : "this value";
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "%s cannot be passed to the VM",
                 what);
}

// The memory that arguments take: of the heap, or lent by the caller.
typedef struct in_t {
  fc_vm_heap_t *heap;
  fc_hal_loans_t *loans;
} in_t;

static fc_status_t buffer_in(fc_vm_heap_t *heap, const void *data, size_t size,
                             fc_vm_object_t **out, fc_error_t *err) {
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(heap, size, 16, &buffer, err));
  if (size) memcpy(buffer->data, data, size);
  *out = &buffer->object;
  return FC_OK;
}

// A vector<…> is passed as a !vm.buffer with the bytes of its elements.
static fc_status_t vector_in(fc_vm_heap_t *heap, const fc_tensor_t *tensor,
                             fc_vm_object_t **out, fc_error_t *err) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE, "the vector is too large");
  }
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(heap, size, 16, &buffer, err));
  if (size) fc_tensor_gather(tensor, buffer->data);
  *out = &buffer->object;
  return FC_OK;
}

// An object for anything but a number or a list.
static fc_status_t plain_ref_in(const in_t *in, const fc_value_t *value,
                                const fc_type_t *type, fc_vm_object_t **out,
                                fc_error_t *err) {
  *out = NULL;
  switch (value->kind) {
    case FC_VALUE_NULL:
      return FC_OK;
    case FC_VALUE_BYTES:
      return buffer_in(in->heap, value->bytes.data, value->bytes.size, out,
                       err);
    case FC_VALUE_TENSOR:
      if (type && type->kind == FC_TYPE_VECTOR) {
        return vector_in(in->heap, &value->tensor, out, err);
      }
      return fc_hal_tensor_in(in->heap, &value->tensor, in->loans, out, err);
    default:
      return refuse_value(value, err);
  }
}

typedef struct list_in_t {
  const fc_value_t *value;
  // The list around it holds the reference; list_in holds that of the outermost list.
  fc_vm_list_t *list;
  uint32_t next;
} list_in_t;

static fc_status_t open_list_in(fc_vm_heap_t *heap, const fc_value_t *value,
                                list_in_t *out, fc_error_t *err) {
  if (value->list.count > UINT32_MAX) return refuse_value(value, err);
  uint32_t count = (uint32_t)value->list.count;
  fc_vm_list_t *list;
  FC_TRY(fc_vm_list_create(heap, FC_VM_TYPE_VARIANT, count, &list, err));
  *out = (list_in_t){.value = value, .list = list};
  return fc_vm_list_resize(list, count, err);  // there is room: cannot fail
}

static fc_status_t item_in(const in_t *in, const fc_value_t *item,
                           fc_vm_list_t *list, uint32_t index,
                           fc_error_t *err) {
  if (item->kind == FC_VALUE_SCALAR) {
    fc_vm_value_t number;
    FC_TRY(number_in(item, &number, err));
    return fc_vm_list_set(list, index, number, err);
  }
  fc_vm_object_t *object;
  FC_TRY(plain_ref_in(in, item, NULL, &object, err));
  return fc_vm_list_set_ref(list, index, object, err);  // variants hold any
}

static fc_status_t fill_lists(const in_t *in, list_in_t *levels,
                              fc_error_t *err) {
  uint32_t depth = 1;
  while (depth) {
    list_in_t *level = &levels[depth - 1];
    if (level->next == level->value->list.count) {
      depth--;
      continue;
    }
    uint32_t index = level->next++;
    const fc_value_t *item = &level->value->list.items[index];
    if (item->kind != FC_VALUE_LIST) {
      FC_TRY(item_in(in, item, level->list, index, err));
      continue;
    }
    if (depth == DEPTH_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "lists are nested deeper than %d", DEPTH_MAX);
    }
    FC_TRY(open_list_in(in->heap, item, &levels[depth], err));
    FC_TRY(fc_vm_list_set_ref(level->list, index, &levels[depth].list->object,
                              err));
    depth++;
  }
  return FC_OK;
}

static fc_status_t list_in(const in_t *in, const fc_value_t *value,
                           fc_vm_object_t **out, fc_error_t *err) {
  list_in_t levels[DEPTH_MAX];
  FC_TRY(open_list_in(in->heap, value, &levels[0], err));
  fc_vm_object_t *root = &levels[0].list->object;
  fc_status_t status = fill_lists(in, levels, err);
  if (status != FC_OK) {
    fc_vm_release(root);
    return status;
  }
  *out = root;
  return FC_OK;
}

fc_status_t fc_vm_argument(fc_vm_heap_t *heap, const fc_value_t *value,
                           char letter, const fc_type_t *type,
                           fc_hal_loans_t *loans, fc_vm_raw_t *out,
                           fc_error_t *err) {
  const in_t in = {heap, loans};
  *out = (fc_vm_raw_t){.i64 = 0};
  if (letter == 'r') {
    if (value->kind == FC_VALUE_LIST) {
      return list_in(&in, value, &out->ref, err);
    }
    return plain_ref_in(&in, value, type, &out->ref, err);
  }
  fc_vm_value_t number = {.type = FC_VM_TYPE_NONE, .i64 = 0};
  if (value->kind == FC_VALUE_SCALAR) FC_TRY(number_in(value, &number, err));
  fc_vm_type_t wanted = letter == 'i'   ? FC_VM_TYPE_I32
                        : letter == 'I' ? FC_VM_TYPE_I64
                        : letter == 'f' ? FC_VM_TYPE_F32
                                        : FC_VM_TYPE_F64;
  if (number.type != wanted) {
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH, "the function takes a %s here",
                   fc_vm_type_info(wanted)->text);
  }
  out->i64 = number.i64;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Results

typedef struct out_t {
  fc_vm_invocation_t *invocation;
  fc_arena_t *arena;
  const fc_signature_t *signature;
  bool copy;
} out_t;

static const fc_type_t *node_at(const out_t *o, uint32_t node) {
  return node == FC_NODE_NONE ? NULL : fc_signature_node(o->signature, node);
}

static fc_dtype_t declared_dtype(const out_t *o, uint32_t node) {
  const fc_type_t *type = node_at(o, node);
  return type && type->kind == FC_TYPE_SCALAR ? (fc_dtype_t)type->dtype
                                              : FC_DTYPE_NONE;
}

static fc_status_t buffer_out(const out_t *o, const fc_vm_buffer_t *buffer,
                              uint32_t node, fc_value_t *out, fc_error_t *err) {
  const uint8_t *data = buffer->data;
  size_t size = (size_t)buffer->size;
  FC_TRY(fc_vm_work(o->invocation, size, err));
  if (o->copy) {
    uint8_t *copy = fc_arena_alloc(o->arena, size ? size : 1, 16);
    if (!copy) return fc_fail_memory(err);
    if (size) memcpy(copy, data, size);
    data = copy;
  }
  const fc_type_t *type = node_at(o, node);
  if (!type || type->kind != FC_TYPE_VECTOR) {
    *out = (fc_value_t){.kind = FC_VALUE_BYTES,
                        .bytes = fc_str_make((const char *)data, size)};
    return FC_OK;
  }
  const int64_t *dims = fc_signature_dims(o->signature, type);
  size_t count, wanted;
  if (!fc_shape_count(dims, type->rank, (fc_dtype_t)type->dtype, &count,
                      &wanted) ||
      wanted != size) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "the module returned %zu bytes for a vector", size);
  }
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR,
                      .tensor = {.dtype = (fc_dtype_t)type->dtype,
                                 .rank = type->rank,
                                 .shape = dims,
                                 .data = (void *)(uintptr_t)data}};
  return FC_OK;
}

typedef struct list_out_t {
  const fc_vm_list_t *list;
  fc_value_t *items;
  uint32_t next;
  uint32_t node;  // of the next item, FC_NODE_NONE if not described
  bool repeats;   // true: every item has that node
} list_out_t;

static fc_status_t open_list_out(const out_t *o, const fc_vm_list_t *list,
                                 uint32_t node, list_out_t *level,
                                 fc_value_t *out, fc_error_t *err) {
  FC_TRY(fc_vm_work(o->invocation, list->count * sizeof(fc_value_t), err));
  fc_value_t *items = fc_arena_alloc_array(
      o->arena, list->count ? list->count : 1, sizeof *items);
  if (!items) return fc_fail_memory(err);
  *out = (fc_value_t){.kind = FC_VALUE_LIST};
  out->list.items = items;
  out->list.count = list->count;
  const fc_type_t *type = node_at(o, node);
  *level = (list_out_t){.list = list, .items = items, .node = FC_NODE_NONE};
  if (type && (type->kind == FC_TYPE_LIST || type->kind == FC_TYPE_TUPLE ||
               type->kind == FC_TYPE_DICT)) {
    level->node = type->child;
    level->repeats = type->kind == FC_TYPE_LIST;
  }
  return FC_OK;
}

// Converts any result that is an object but a list.
static fc_status_t plain_ref_out(const out_t *o, fc_vm_object_t *object,
                                 uint32_t node, fc_value_t *out,
                                 fc_error_t *err) {
  if (!object) {
    *out = (fc_value_t){.kind = FC_VALUE_NULL};
    return FC_OK;
  }
  fc_vm_buffer_t *buffer = fc_vm_buffer_from(object);
  if (buffer) return buffer_out(o, buffer, node, out, err);
  if (object->type == FC_VM_TYPE_HAL_BUFFER_VIEW) {
    const fc_type_t *type = node_at(o, node);
    const bool tensor = type && type->kind == FC_TYPE_TENSOR;
    const fc_hal_view_t *view = (const fc_hal_view_t *)object;
    FC_TRY(fc_vm_work(o->invocation, view->buffer->size, err));
    return fc_hal_tensor_out(o->arena, view,
                             tensor ? (fc_dtype_t)type->dtype : FC_DTYPE_NONE,
                             o->copy, out, err);
  }
  *out = (fc_value_t){.kind = FC_VALUE_OPAQUE,
                      .bytes = fc_str(fc_vm_object_type_name(object))};
  return FC_OK;
}

static fc_status_t read_lists(const out_t *o, list_out_t *levels,
                              fc_error_t *err) {
  uint32_t depth = 1;
  while (depth) {
    list_out_t *level = &levels[depth - 1];
    if (level->next == level->list->count) {
      depth--;
      continue;
    }
    uint32_t node = level->node, index = level->next++;
    const fc_type_t *type = node_at(o, node);
    if (type && !level->repeats) level->node = type->next;
    fc_value_t *item = &level->items[index];
    fc_vm_variant_t element = fc_vm_list_peek(level->list, index);
    if (element.type == FC_VM_TYPE_NONE) {
      *item = (fc_value_t){.kind = FC_VALUE_NULL};
    } else if (element.type != FC_VM_TYPE_ANY_REF) {
      fc_vm_value_t number = {.type = element.type, .i64 = element.bits};
      FC_TRY(number_out(number, declared_dtype(o, node), item, err));
    } else if (!fc_vm_list_from(element.object)) {
      FC_TRY(plain_ref_out(o, element.object, node, item, err));
    } else if (depth == DEPTH_MAX) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "the module returned lists nested deeper than %d",
                     DEPTH_MAX);
    } else {
      FC_TRY(open_list_out(o, fc_vm_list_from(element.object), node,
                           &levels[depth], item, err));
      depth++;
    }
  }
  return FC_OK;
}

fc_status_t fc_vm_result(fc_vm_invocation_t *invocation, fc_arena_t *arena,
                         fc_vm_raw_t raw, char letter,
                         const fc_signature_t *signature, uint32_t node,
                         bool copy, fc_value_t *out, fc_error_t *err) {
  out_t o = {invocation, arena, signature, copy};
  fc_vm_value_t number = {.i64 = 0};
  switch (letter) {
    case 'r':
      break;
    case 'I':
      number.type = FC_VM_TYPE_I64;
      number.i64 = raw.i64;
      return number_out(number, declared_dtype(&o, node), out, err);
    case 'f':
      number.type = FC_VM_TYPE_F32;
      number.f32 = raw.f32;
      return number_out(number, declared_dtype(&o, node), out, err);
    case 'F':
      number.type = FC_VM_TYPE_F64;
      number.f64 = raw.f64;
      return number_out(number, declared_dtype(&o, node), out, err);
    default:
      number.type = FC_VM_TYPE_I32;
      number.i32 = raw.i32;
      return number_out(number, declared_dtype(&o, node), out, err);
  }
  fc_vm_list_t *list = fc_vm_list_from(raw.ref);
  if (!list) return plain_ref_out(&o, raw.ref, node, out, err);
  list_out_t levels[DEPTH_MAX];
  FC_TRY(open_list_out(&o, list, node, &levels[0], out, err));
  return read_lists(&o, levels, err);
}
