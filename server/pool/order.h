// SPDX-License-Identifier: Apache-2.0
//
// A call that runs no function: it reads values of its session, or writes values into it
// (marshal/values.h). Its order, written by the loop, is in front of the call's body; the
// function of its invocation is then out of range. A worker.
#ifndef FARCALL_SERVER_POOL_ORDER_H_
#define FARCALL_SERVER_POOL_ORDER_H_

#include "farcall/module.h"
#include "marshal/values.h"

typedef enum fc_order_kind_t {
  FC_ORDER_GET,     // one value, or all if it has no name
  FC_ORDER_PUT,     // the body is a value
  FC_ORDER_IMPORT,  // the body is a safetensors file
  FC_ORDER_FILL,    // the body is a document with "values"
} fc_order_kind_t;

// The size keeps the body after the order aligned.
typedef struct fc_value_order_t {
  uint8_t kind;
  uint8_t name_size;
  uint8_t slice_size;
  bool if_absent;
  char name[FC_STORE_NAME_MAX + 1];
  char slice[124];
} fc_value_order_t;
_Static_assert(sizeof(fc_value_order_t) % FC_STORE_ALIGNMENT == 0, "aligned");

// Returns the name of the function in an invocation, "" if there is none.
static inline fc_str_t fc_order_function(const fc_module_t *module,
                                         uint32_t function) {
  return function < fc_module_function_count(module)
             ? fc_module_function(module, function)->name
             : FC_STR("");
}
// The most references that a call of the function may keep; 0 of a call that runs none.
static inline uint32_t fc_order_references(const fc_module_t *module,
                                           uint32_t function) {
  if (function >= fc_module_function_count(module)) return 0;
  const fc_plan_t *plan = fc_module_function(module, function)->plan;
  return plan ? fc_plan_references(plan) : 0;
}
// Reads the order in front of a body. False: it is malformed.
bool fc_order_read(fc_str_t body, fc_value_order_t *out_order);
// Makes the plan of the call.
fc_status_t fc_order_plan(const fc_value_order_t *order,
                          const fc_store_desk_t *desk, fc_allocator_t allocator,
                          fc_values_t *out_values, fc_error_t *err);
// Does the work of stage DECODE. The frame was begun with the plan and has the store.
// Only a PUT calls `decode`, which reads the value: the dialect knows its format.
fc_status_t fc_order_decode(
    const fc_value_order_t *order, const fc_values_t *values, fc_frame_t *frame,
    fc_str_t body, const uint8_t *parameters,
    fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err),
    fc_error_t *err);
// Does the call write an answer? Otherwise the loop writes one.
static inline bool fc_order_answers(const fc_value_order_t *order) {
  return order->kind <= FC_ORDER_PUT;
}

#endif  // FARCALL_SERVER_POOL_ORDER_H_
