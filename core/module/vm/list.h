// SPDX-License-Identifier: Apache-2.0
//
// !vm.list: elements of one value type, of one ref type, of any ref type, or
// variants. Numbers are converted between widths as in IREE's lists. An integer that is
// read as a float, or a float that is read as an integer, reads as 0.
#ifndef FARCALL_CORE_MODULE_VM_LIST_H_
#define FARCALL_CORE_MODULE_VM_LIST_H_

#include "module/vm/object.h"

// A number with its type (a VALUE type), in the low bytes of the union.
typedef struct fc_vm_value_t {
  fc_vm_type_t type;
  union {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  };
} fc_vm_value_t;

// One element of a list of refs or variants. The type is NONE if nothing was set, or if
// the object was moved out.
typedef struct fc_vm_variant_t {
  fc_vm_type_t type;  // a VALUE type; ANY_REF: an object or null; NONE
  union {
    int64_t bits;
    fc_vm_object_t *object;
  };
} fc_vm_variant_t;

typedef struct fc_vm_list_t {
  fc_vm_object_t object;
  fc_vm_type_t element;  // VALUE, REF, ANY_REF or VARIANT
  uint32_t stride;
  uint32_t count;
  uint32_t capacity;
  uint8_t *data;
  struct fc_vm_list_t *next;  // in heap->lists, if this list may hold lists
  struct fc_vm_list_t *previous;
  struct fc_vm_list_t *next_dead;  // while the list is destroyed
} fc_vm_list_t;

fc_status_t fc_vm_list_create(fc_vm_heap_t *heap, fc_vm_type_t element,
                              uint32_t capacity, fc_vm_list_t **out,
                              fc_error_t *err) FC_MUST_CHECK;

// Returns the list of a ref; NULL when the ref is null or of another type.
static inline fc_vm_list_t *fc_vm_list_from(fc_vm_object_t *object) {
  return object && object->type == FC_VM_TYPE_LIST ? (fc_vm_list_t *)object
                                                   : NULL;
}

// Finds element `index` of a list whose elements are of exactly `type`, a VALUE type.
// NULL for other lists and indices: use fc_vm_list_get and _set for them. It is
// inline because most accesses to lists of numbers need nothing else.
static inline uint8_t *fc_vm_list_at(const fc_vm_list_t *list, uint32_t index,
                                     fc_vm_type_t type) {
  return list->element == type && index < list->count
             ? list->data + (size_t)index * list->stride
             : NULL;
}

fc_status_t fc_vm_list_reserve(fc_vm_list_t *list, uint32_t capacity,
                               fc_error_t *err) FC_MUST_CHECK;
// Changes the number of elements. New elements are zero, null or empty.
fc_status_t fc_vm_list_resize(fc_vm_list_t *list, uint32_t count,
                              fc_error_t *err) FC_MUST_CHECK;

// Reads the element as a number of `type`.
fc_status_t fc_vm_list_get(const fc_vm_list_t *list, uint32_t index,
                           fc_vm_type_t type, fc_vm_value_t *out,
                           fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_vm_list_set(fc_vm_list_t *list, uint32_t index,
                           fc_vm_value_t value, fc_error_t *err) FC_MUST_CHECK;
// Gets the object in an element. The caller gets one reference: with `move` the
// element's own, otherwise a new one.
fc_status_t fc_vm_list_get_ref(fc_vm_list_t *list, uint32_t index, bool move,
                               fc_vm_object_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Stores an object in an element. On success the element takes over the reference.
fc_status_t fc_vm_list_set_ref(fc_vm_list_t *list, uint32_t index,
                               fc_vm_object_t *take_object,
                               fc_error_t *err) FC_MUST_CHECK;
// Returns the element as it is stored, not converted. An object in it is borrowed.
fc_vm_variant_t fc_vm_list_peek(const fc_vm_list_t *list, uint32_t index);

#endif  // FARCALL_CORE_MODULE_VM_LIST_H_
