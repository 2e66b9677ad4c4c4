// SPDX-License-Identifier: Apache-2.0
//
// A call that runs no function: it reads values of its session, or puts some into it
// (marshal/values.h). What is to be done stands before the body of the call, written by
// the loop; invocation.h names no function then. A worker.
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

// The body keeps its alignment behind it.
typedef struct fc_value_order_t {
  uint8_t kind;
  uint8_t name_size;
  uint8_t slice_size;
  bool if_absent;
  char name[FC_STORE_NAME_MAX + 1];
  char slice[124];
} fc_value_order_t;
_Static_assert(sizeof(fc_value_order_t) % FC_STORE_ALIGNMENT == 0, "aligned");

// The name of the function that an invocation names, "" if it names none.
static inline fc_str_t fc_order_function(const fc_module_t *module,
                                         uint32_t function) {
  return function < fc_module_function_count(module)
             ? fc_module_function(module, function)->name
             : FC_STR("");
}
// Reads what stands before a body. False: it is no order.
bool fc_order_read(fc_str_t body, fc_value_order_t *out_order);
// Makes the plan of the call.
fc_status_t fc_order_plan(const fc_value_order_t *order,
                          const fc_store_desk_t *desk, fc_allocator_t allocator,
                          fc_values_t *out_values, fc_error_t *err);
// DECODE, on a frame that was begun with the plan and has the store. `decode` reads the
// value of a PUT, in whatever form it came.
fc_status_t fc_order_decode(
    const fc_value_order_t *order, const fc_values_t *values, fc_frame_t *frame,
    fc_str_t body, const uint8_t *parameters,
    fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err),
    fc_error_t *err);
// Has the call an answer of its own? Else the loop writes one.
static inline bool fc_order_answers(const fc_value_order_t *order) {
  return order->kind <= FC_ORDER_PUT;
}

#endif  // FARCALL_SERVER_POOL_ORDER_H_
