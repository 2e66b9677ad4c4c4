// SPDX-License-Identifier: Apache-2.0
//
// Converts arguments and results. The bits above a narrow integer that a module returns
// are undefined, so both directions extend by the declared type: iN and siN by sign,
// uiN and i1 by zero. Lists are walked with an explicit stack, never by recursion.
#include "module/vm/bridge.h"

#include <inttypes.h>

#include "abi/walk.h"
#include "base/width.h"

#define DEPTH_MAX 64  // of nested lists

// ---------------------------------------------------------------------------
// Numbers

// Converts a number to the VM's form: i64, f32 and f64 are unchanged, narrower integers
// become i32, and narrower floats become an i32 with their bits.
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
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "IREE has no numbers of type %s: a tensor may have such "
                     "elements",
                     info->text);
  }
  uint64_t bits = 0;
  memcpy(&bits, value->scalar.bytes, info->size);
  int64_t integer = (int64_t)fc_width_extend(info, bits);
  out->type = info->bits > 32 ? FC_VM_TYPE_I64 : FC_VM_TYPE_I32;
  if (info->bits > 32) out->i64 = integer;
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

// Converts a number to a value of type `declared`, or of the number's own type if that is
// NONE.
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
    out->scalar.u64 = fc_width_extend(info, (uint64_t)integer_of(number));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Arguments

static fc_status_t refuse_value(const fc_value_t *value, fc_error_t *err) {
  if (value->kind == FC_VALUE_SCALAR) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "the function takes a tensor, a list or bytes here, not a "
                   "number: a tensor has a shape, []");
  }
  return fc_fail(
      err, FC_CODE_UNSUPPORTED_TYPE, "%s cannot be passed to IREE",
      value->kind == FC_VALUE_OPAQUE ? "an opaque reference" : "this value");
}

// What is needed to convert arguments: the heap for their memory, the loans of memory
// that the caller lends, and the signature that describes the arguments.
typedef struct in_t {
  fc_vm_heap_t *heap;
  fc_hal_loans_t *loans;
  const fc_signature_t *signature;
} in_t;

// Returns the type of the value; NULL when the signature does not describe it.
static const fc_type_t *type_at(const fc_signature_t *signature,
                                uint32_t node) {
  return node == FC_NODE_NONE ? NULL : fc_signature_node(signature, node);
}

// The nodes that describe a list's items: the first node, and whether it describes all
// items.
typedef struct items_t {
  uint32_t node;  // FC_NODE_NONE if not described
  bool repeats;
} items_t;

static items_t items_of(const fc_type_t *type) {
  items_t items = {FC_NODE_NONE, false};
  if (type && (type->kind == FC_TYPE_LIST || type->kind == FC_TYPE_TUPLE ||
               type->kind == FC_TYPE_DICT)) {
    items = (items_t){type->child, type->kind == FC_TYPE_LIST};
  }
  return items;
}

static void next_item(items_t *items, const fc_type_t *type) {
  if (type && !items->repeats) items->node = type->next;
}

static fc_status_t buffer_in(fc_vm_heap_t *heap, const void *data, size_t size,
                             fc_vm_object_t **out, fc_error_t *err) {
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(heap, size, 16, &buffer, err));
  if (size) memcpy(buffer->data, data, size);
  *out = &buffer->object;
  return FC_OK;
}

// Makes a string of IREE: a list with an i8 for each byte.
static fc_status_t string_in(fc_vm_heap_t *heap, fc_str_t bytes,
                             fc_vm_object_t **out, fc_error_t *err) {
  if (bytes.size > UINT32_MAX) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE, "the text is too large");
  }
  const uint32_t count = (uint32_t)bytes.size;
  fc_vm_list_t *list;
  FC_TRY(fc_vm_list_create(heap, FC_VM_TYPE_I8, count, &list, err));
  fc_status_t status = fc_vm_list_resize(list, count, err);
  for (uint32_t i = 0; status == FC_OK && i < count; i++) {
    const fc_vm_value_t value = {.type = FC_VM_TYPE_I8,
                                 .i8 = (int8_t)bytes.data[i]};
    status = fc_vm_list_set(list, i, value, err);
  }
  if (status != FC_OK) {
    fc_vm_release(&list->object);
    return status;
  }
  *out = &list->object;
  return FC_OK;
}

// Makes a vector<…>, which is passed as a !vm.buffer with the bytes of its elements.
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

// Makes the object for a value that is not a number or a list.
static fc_status_t plain_ref_in(const in_t *in, const fc_value_t *value,
                                const fc_type_t *type, fc_vm_object_t **out,
                                fc_error_t *err) {
  *out = NULL;
  switch (value->kind) {
    case FC_VALUE_NULL:
      return FC_OK;
    case FC_VALUE_BYTES:
      if (type && type->kind == FC_TYPE_BYTES && type->flavor == FC_FLAVOR_I8) {
        return string_in(in->heap, value->bytes, out, err);
      }
      return buffer_in(in->heap, value->bytes.data, value->bytes.size, out,
                       err);
    case FC_VALUE_TENSOR:
      if (type && type->kind == FC_TYPE_VECTOR) {
        return vector_in(in->heap, &value->tensor, out, err);
      }
      return fc_hal_tensor_in(in->heap, &value->tensor, in->loans, out, err);
    case FC_VALUE_OPAQUE:
      if (!value->opaque.object) return refuse_value(value, err);
      *out = fc_vm_retain(value->opaque.object);
      return FC_OK;
    default:
      return refuse_value(value, err);
  }
}

typedef struct list_in_t {
  const fc_value_t *value;
  // Borrowed: the list around this one holds the reference; list_in holds that of the
  // outermost list.
  fc_vm_list_t *list;
  uint32_t next;
  items_t items;
} list_in_t;

static fc_status_t open_list_in(fc_vm_heap_t *heap, const fc_value_t *value,
                                const fc_type_t *type, list_in_t *out,
                                fc_error_t *err) {
  if (value->list.count > UINT32_MAX) return refuse_value(value, err);
  uint32_t count = (uint32_t)value->list.count;
  fc_vm_list_t *list;
  FC_TRY(fc_vm_list_create(heap, FC_VM_TYPE_VARIANT, count, &list, err));
  *out = (list_in_t){.value = value, .list = list, .items = items_of(type)};
  return fc_vm_list_resize(list, count, err);  // never fails: there is room
}

static fc_status_t item_in(const in_t *in, const fc_value_t *item,
                           const fc_type_t *type, fc_vm_list_t *list,
                           uint32_t index, fc_error_t *err) {
  if (item->kind == FC_VALUE_SCALAR) {
    fc_vm_value_t number;
    FC_TRY(number_in(item, &number, err));
    return fc_vm_list_set(list, index, number, err);
  }
  fc_vm_object_t *object;
  FC_TRY(plain_ref_in(in, item, type, &object, err));
  return fc_vm_list_set_ref(list, index, object, err);  // variants: any type
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
    const fc_type_t *type = type_at(in->signature, level->items.node);
    next_item(&level->items, type);
    if (item->kind != FC_VALUE_LIST) {
      FC_TRY(item_in(in, item, type, level->list, index, err));
      continue;
    }
    if (depth == DEPTH_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "lists are nested deeper than %d", DEPTH_MAX);
    }
    FC_TRY(open_list_in(in->heap, item, type, &levels[depth], err));
    FC_TRY(fc_vm_list_set_ref(level->list, index, &levels[depth].list->object,
                              err));
    depth++;
  }
  return FC_OK;
}

static fc_status_t list_in(const in_t *in, const fc_value_t *value,
                           const fc_type_t *type, fc_vm_object_t **out,
                           fc_error_t *err) {
  list_in_t levels[DEPTH_MAX];
  FC_TRY(open_list_in(in->heap, value, type, &levels[0], err));
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
                           char letter, const fc_signature_t *signature,
                           uint32_t node, fc_hal_loans_t *loans,
                           fc_vm_raw_t *out, fc_error_t *err) {
  const in_t in = {heap, loans, signature};
  const fc_type_t *type = type_at(signature, node);
  *out = (fc_vm_raw_t){.i64 = 0};
  if (letter == 'r') {
    if (value->kind == FC_VALUE_LIST) {
      return list_in(&in, value, type, &out->ref, err);
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
  return type_at(o->signature, node);
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
  items_t nodes;
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
  *level = (list_out_t){
      .list = list, .items = items, .nodes = items_of(node_at(o, node))};
  return FC_OK;
}

static void count_object(void *object, int change) {
  if (change > 0) fc_vm_retain(object);
  else fc_vm_release(object);
}

static bool is_opaque(const fc_type_t *type) {
  return type && type->kind == FC_TYPE_OPAQUE;
}

// Gives an object as what it is declared to be, or, if that says nothing, as what it is.
static fc_status_t opaque_out(const out_t *o, fc_vm_object_t *object,
                              const fc_type_t *type, fc_value_t *out,
                              fc_error_t *err) {
  fc_str_t name = fc_str(fc_vm_object_type_name(object));
  if (is_opaque(type)) {
    const fc_str_t declared = fc_signature_text(o->signature, type->text);
    const fc_vm_type_t wanted = fc_vm_type_find(declared);
    if (wanted && !fc_vm_type_accepts(wanted, object)) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "the module returned %.*s where %.*s is declared",
                     FC_STR_ARG(name), FC_STR_ARG(declared));
    }
    if (!fc_opaque_is_any(declared)) name = declared;
  }
  *out = (fc_value_t){
      .kind = FC_VALUE_OPAQUE,
      .opaque = {.type = name, .object = object, .count = count_object}};
  return FC_OK;
}

// Converts a result that is an object, except a list that is one by value.
static fc_status_t plain_ref_out(const out_t *o, fc_vm_object_t *object,
                                 uint32_t node, fc_value_t *out,
                                 fc_error_t *err) {
  if (!object) {
    *out = (fc_value_t){.kind = FC_VALUE_NULL};
    return FC_OK;
  }
  if (is_opaque(node_at(o, node))) {
    return opaque_out(o, object, node_at(o, node), out, err);
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
  return opaque_out(o, object, NULL, out, err);
}

// Reads a string of IREE. A list with elements other than i8 is not a string.
static fc_status_t string_out(const out_t *o, const fc_vm_list_t *list,
                              fc_value_t *out, fc_error_t *err) {
  FC_TRY(fc_vm_work(o->invocation, list->count, err));
  char *bytes = fc_arena_alloc(o->arena, list->count ? list->count : 1, 16);
  if (!bytes) return fc_fail_memory(err);
  for (uint32_t i = 0; i < list->count; i++) {
    const fc_vm_variant_t element = fc_vm_list_peek(list, i);
    if (element.type != FC_VM_TYPE_I8) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "the module returned a list of another type than i8");
    }
    bytes[i] = (char)(uint8_t)element.bits;
  }
  *out = (fc_value_t){.kind = FC_VALUE_BYTES,
                      .bytes = fc_str_make(bytes, list->count)};
  return FC_OK;
}

static bool is_string(const fc_type_t *type) {
  return type && type->kind == FC_TYPE_BYTES && type->flavor == FC_FLAVOR_I8;
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
    uint32_t node = level->nodes.node, index = level->next++;
    const fc_type_t *type = node_at(o, node);
    next_item(&level->nodes, type);
    fc_value_t *item = &level->items[index];
    fc_vm_variant_t element = fc_vm_list_peek(level->list, index);
    if (element.type == FC_VM_TYPE_NONE) {
      *item = (fc_value_t){.kind = FC_VALUE_NULL};
    } else if (element.type != FC_VM_TYPE_ANY_REF) {
      fc_vm_value_t number = {.type = element.type, .i64 = element.bits};
      FC_TRY(number_out(number, declared_dtype(o, node), item, err));
    } else if (is_opaque(type) || !fc_vm_list_from(element.object)) {
      FC_TRY(plain_ref_out(o, element.object, node, item, err));
    } else if (is_string(type)) {
      FC_TRY(string_out(o, fc_vm_list_from(element.object), item, err));
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

static fc_status_t ref_out(const out_t *o, fc_vm_object_t *object,
                           uint32_t node, fc_value_t *out, fc_error_t *err) {
  fc_vm_list_t *list = fc_vm_list_from(object);
  if (!list || is_opaque(node_at(o, node))) {
    return plain_ref_out(o, object, node, out, err);
  }
  if (is_string(node_at(o, node))) return string_out(o, list, out, err);
  list_out_t levels[DEPTH_MAX];
  FC_TRY(open_list_out(o, list, node, &levels[0], out, err));
  return read_lists(o, levels, err);
}

// Finds the node of a slot that was returned without its structure. A structure of one
// slot is a list of one, but compilers have also returned the slot itself. FC_NODE_NONE
// if this did not happen. `list` is the result if the result is a list.
static uint32_t inlined_slot(const out_t *o, const fc_vm_list_t *list,
                             uint32_t node) {
  const fc_type_t *type = node_at(o, node);
  if (!type || type->child_count != 1 ||
      (type->kind != FC_TYPE_TUPLE && type->kind != FC_TYPE_DICT)) {
    return FC_NODE_NONE;
  }
  const fc_type_t *slot = node_at(o, type->child);
  if (!list) return type->child;
  const bool lists = fc_type_kind_nests(slot->kind) || is_string(slot);
  if (!lists) return FC_NODE_NONE;
  if (list->count != 1) return type->child;
  const fc_vm_variant_t only = fc_vm_list_peek(list, 0);
  const bool inner =
      only.type == FC_VM_TYPE_ANY_REF && fc_vm_list_from(only.object);
  return inner ? FC_NODE_NONE : type->child;
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
  const uint32_t slot = inlined_slot(&o, list, node);
  if (slot == FC_NODE_NONE) return ref_out(&o, raw.ref, node, out, err);
  fc_value_t *only = fc_arena_alloc_array(arena, 1, sizeof *only);
  if (!only) return fc_fail_memory(err);
  FC_TRY(ref_out(&o, raw.ref, slot, only, err));
  *out =
      (fc_value_t){.kind = FC_VALUE_LIST, .list = {.items = only, .count = 1}};
  return FC_OK;
}
