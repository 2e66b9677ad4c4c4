// SPDX-License-Identifier: Apache-2.0
//
// !vm.list (IREE runtime/src/iree/vm/list.c). Called by the interpreter, by native
// modules, and at the beginning and end of calls. Several calls may read a list at
// once, if none of them changes it (analysis.h).
#include "module/vm/list.h"

#include <inttypes.h>

static bool holds_values(const fc_vm_list_t *list) {
  return fc_vm_type_info(list->element)->kind == FC_VM_TYPE_KIND_VALUE;
}

// True for a list that may be part of a cycle of references. Only lists that hold lists
// can be, since no object of another type holds a list.
static bool may_hold_lists(const fc_vm_list_t *list) {
  return list->element == FC_VM_TYPE_LIST ||
         list->element == FC_VM_TYPE_ANY_REF ||
         list->element == FC_VM_TYPE_VARIANT;
}

static fc_vm_variant_t *variant_at(const fc_vm_list_t *list, uint32_t index) {
  return (fc_vm_variant_t *)(void *)(list->data + (size_t)index * list->stride);
}

static void link_list(fc_vm_list_t *list) {
  fc_vm_heap_t *heap = list->object.heap;
  pthread_mutex_lock(&heap->lock);
  list->next = heap->lists;
  if (list->next) list->next->previous = list;
  heap->lists = list;
  pthread_mutex_unlock(&heap->lock);
}

static void unlink_list(fc_vm_list_t *list) {
  fc_vm_heap_t *heap = list->object.heap;
  pthread_mutex_lock(&heap->lock);
  if (list->next) list->next->previous = list->previous;
  if (list->previous) {
    list->previous->next = list->next;
  } else {
    heap->lists = list->next;
  }
  pthread_mutex_unlock(&heap->lock);
}

// Destroys a list without recursion. A list can hold the only reference to another list,
// and so on, and recursion could use up the C stack. So lists to be destroyed wait in a
// chain.
static void destroy(fc_vm_object_t *object) {
  static _Thread_local fc_vm_list_t *dead;
  static _Thread_local bool busy;
  ((fc_vm_list_t *)object)->next_dead = dead;
  dead = (fc_vm_list_t *)object;
  if (busy) return;
  busy = true;
  while (dead) {
    fc_vm_list_t *list = dead;
    dead = list->next_dead;
    if (may_hold_lists(list)) unlink_list(list);
    if (!holds_values(list)) {
      for (uint32_t i = 0; i < list->count; i++) {
        fc_vm_variant_t *element = variant_at(list, i);
        if (element->type == FC_VM_TYPE_ANY_REF) fc_vm_release(element->object);
      }
    }
    fc_vm_heap_free(list->object.heap, list->data,
                    (size_t)list->capacity * list->stride);
    fc_vm_heap_free(list->object.heap, list, sizeof *list);
  }
  busy = false;
}

fc_status_t fc_vm_list_create(fc_vm_heap_t *heap, fc_vm_type_t element,
                              uint32_t capacity, fc_vm_list_t **out,
                              fc_error_t *err) {
  fc_vm_list_t *list = fc_vm_heap_alloc(heap, sizeof *list, 16, err);
  if (!list) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&list->object, FC_VM_TYPE_LIST, destroy, heap);
  list->element = element;
  list->stride = holds_values(list) ? fc_vm_type_info(element)->size
                                    : (uint32_t)sizeof(fc_vm_variant_t);
  if (may_hold_lists(list)) link_list(list);
  fc_status_t status = fc_vm_list_reserve(list, capacity, err);
  if (status != FC_OK) {
    fc_vm_release(&list->object);
    return status;
  }
  *out = list;
  return FC_OK;
}

fc_status_t fc_vm_list_reserve(fc_vm_list_t *list, uint32_t capacity,
                               fc_error_t *err) {
  if (capacity <= list->capacity) return FC_OK;
  fc_vm_heap_t *heap = list->object.heap;
  size_t old_size = (size_t)list->capacity * list->stride;
  size_t new_size = (size_t)capacity * list->stride;
  uint8_t *data = fc_vm_heap_alloc(heap, new_size, 16, err);
  if (!data) return FC_RESOURCE_EXHAUSTED;
  if (old_size) memcpy(data, list->data, old_size);
  fc_vm_heap_free(heap, list->data, old_size);
  list->data = data;
  list->capacity = capacity;
  return FC_OK;
}

fc_status_t fc_vm_list_resize(fc_vm_list_t *list, uint32_t count,
                              fc_error_t *err) {
  if (count > list->capacity) {
    uint32_t doubled =
        list->capacity > UINT32_MAX / 2 ? UINT32_MAX : list->capacity * 2;
    // Doubling is optional: if there is no memory for it, only `count` is reserved.
    if (doubled <= count || fc_vm_list_reserve(list, doubled, NULL) != FC_OK) {
      FC_TRY(fc_vm_list_reserve(list, count, err));
    }
  }
  // Removed elements are cleared, so that elements added later are empty.
  for (uint32_t i = count; i < list->count && !holds_values(list); i++) {
    fc_vm_variant_t *element = variant_at(list, i);
    if (element->type == FC_VM_TYPE_ANY_REF) fc_vm_release(element->object);
  }
  if (count < list->count) {
    memset(list->data + (size_t)count * list->stride, 0,
           (size_t)(list->count - count) * list->stride);
  }
  list->count = count;
  return FC_OK;
}

static fc_status_t check_index(const fc_vm_list_t *list, uint32_t index,
                               fc_error_t *err) {
  if (FC_LIKELY(index < list->count)) return FC_OK;
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
                    "index %" PRIu32 " is outside a list of %" PRIu32, index,
                    list->count);
}

static fc_status_t wrong_kind(const fc_vm_list_t *list, uint32_t index,
                              const char *wanted, fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_FAILED_PRECONDITION,
                    "element %" PRIu32 " of a list of %s is not a %s", index,
                    fc_vm_type_info(list->element)->text, wanted);
}

static fc_vm_value_t convert(fc_vm_value_t from, fc_vm_type_t type) {
  if (from.type == type) return from;
  fc_vm_value_t to = {.type = type, .i64 = 0};
  int64_t integer = 0;
  switch (from.type) {
    case FC_VM_TYPE_I8:
      integer = from.i8;
      break;
    case FC_VM_TYPE_I16:
      integer = from.i16;
      break;
    case FC_VM_TYPE_I32:
      integer = from.i32;
      break;
    case FC_VM_TYPE_I64:
      integer = from.i64;
      break;
    case FC_VM_TYPE_F32:
      if (type == FC_VM_TYPE_F64) to.f64 = (double)from.f32;
      return to;
    case FC_VM_TYPE_F64:
      if (type == FC_VM_TYPE_F32) to.f32 = (float)from.f64;
      return to;
    default:
      return to;
  }
  switch (type) {
    case FC_VM_TYPE_I8:
      to.i8 = (int8_t)integer;
      break;
    case FC_VM_TYPE_I16:
      to.i16 = (int16_t)integer;
      break;
    case FC_VM_TYPE_I32:
      to.i32 = (int32_t)integer;
      break;
    case FC_VM_TYPE_I64:
      to.i64 = integer;
      break;
    default:
      break;
  }
  return to;
}

fc_status_t fc_vm_list_get(const fc_vm_list_t *list, uint32_t index,
                           fc_vm_type_t type, fc_vm_value_t *out,
                           fc_error_t *err) {
  FC_TRY(check_index(list, index, err));
  fc_vm_value_t value = {.type = list->element, .i64 = 0};
  if (holds_values(list)) {
    memcpy(&value.i64, list->data + (size_t)index * list->stride, list->stride);
  } else {
    const fc_vm_variant_t *element = variant_at(list, index);
    if (fc_vm_type_info(element->type)->kind != FC_VM_TYPE_KIND_VALUE) {
      return wrong_kind(list, index, "number", err);
    }
    value.type = element->type;
    value.i64 = element->bits;
  }
  *out = convert(value, type);
  return FC_OK;
}

fc_status_t fc_vm_list_set(fc_vm_list_t *list, uint32_t index,
                           fc_vm_value_t value, fc_error_t *err) {
  FC_TRY(check_index(list, index, err));
  if (holds_values(list)) {
    fc_vm_value_t converted = convert(value, list->element);
    memcpy(list->data + (size_t)index * list->stride, &converted.i64,
           list->stride);
    return FC_OK;
  }
  if (list->element != FC_VM_TYPE_VARIANT) {
    return wrong_kind(list, index, "number", err);
  }
  fc_vm_variant_t *element = variant_at(list, index);
  fc_vm_variant_t old = *element;
  *element = (fc_vm_variant_t){.type = value.type, .bits = value.i64};
  if (old.type == FC_VM_TYPE_ANY_REF) fc_vm_release(old.object);
  return FC_OK;
}

fc_status_t fc_vm_list_get_ref(fc_vm_list_t *list, uint32_t index, bool move,
                               fc_vm_object_t **out, fc_error_t *err) {
  FC_TRY(check_index(list, index, err));
  if (holds_values(list)) return wrong_kind(list, index, "reference", err);
  fc_vm_variant_t *element = variant_at(list, index);
  if (element->type == FC_VM_TYPE_NONE) {
    *out = NULL;
    return FC_OK;
  }
  if (element->type != FC_VM_TYPE_ANY_REF) {
    return wrong_kind(list, index, "reference", err);
  }
  if (move) {
    *out = element->object;
    *element = (fc_vm_variant_t){.type = FC_VM_TYPE_NONE};
  } else {
    *out = fc_vm_retain(element->object);
  }
  return FC_OK;
}

fc_status_t fc_vm_list_set_ref(fc_vm_list_t *list, uint32_t index,
                               fc_vm_object_t *take_object, fc_error_t *err) {
  FC_TRY(check_index(list, index, err));
  if (holds_values(list)) return wrong_kind(list, index, "reference", err);
  if (!fc_vm_type_accepts(list->element, take_object)) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INVALID_ARGUMENT,
                      "a list of %s cannot hold a %s",
                      fc_vm_type_info(list->element)->text,
                      fc_vm_object_type_name(take_object));
  }
  fc_vm_variant_t *element = variant_at(list, index);
  fc_vm_variant_t old = *element;
  *element =
      (fc_vm_variant_t){.type = FC_VM_TYPE_ANY_REF, .object = take_object};
  if (old.type == FC_VM_TYPE_ANY_REF) fc_vm_release(old.object);
  return FC_OK;
}

fc_vm_variant_t fc_vm_list_peek(const fc_vm_list_t *list, uint32_t index) {
  FC_ASSERT(index < list->count);
  if (!holds_values(list)) return *variant_at(list, index);
  fc_vm_variant_t element = {.type = list->element};
  memcpy(&element.bits, list->data + (size_t)index * list->stride,
         list->stride);
  return element;
}
