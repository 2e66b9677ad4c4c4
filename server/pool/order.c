// SPDX-License-Identifier: Apache-2.0
#include "pool/order.h"

static fc_str_t name_of(const fc_value_order_t *order) {
  return fc_str_make(order->name, order->name_size);
}

bool fc_order_read(fc_str_t body, fc_value_order_t *out_order) {
  if (body.size < sizeof *out_order) return false;
  memcpy(out_order, body.data, sizeof *out_order);
  return out_order->kind <= FC_ORDER_FILL &&
         out_order->name_size <= sizeof out_order->name &&
         out_order->slice_size <= sizeof out_order->slice;
}

fc_status_t fc_order_plan(const fc_value_order_t *order,
                          const fc_store_desk_t *desk, fc_allocator_t allocator,
                          fc_values_t *out_values, fc_error_t *err) {
  if (order->kind != FC_ORDER_GET) {
    return fc_values_put(name_of(order), allocator, out_values, err);
  }
  return fc_values_get(desk, name_of(order),
                       fc_str_make(order->slice, order->slice_size), allocator,
                       out_values, err);
}

fc_status_t fc_order_decode(
    const fc_value_order_t *order, const fc_values_t *values, fc_frame_t *frame,
    fc_str_t body, const uint8_t *parameters,
    fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err),
    fc_error_t *err) {
  switch ((fc_order_kind_t)order->kind) {
    case FC_ORDER_GET:
      return fc_values_read(values, frame, err);
    case FC_ORDER_PUT:
      FC_TRY(decode(frame, body, parameters, err));
      return fc_values_keep(frame, name_of(order), order->if_absent, err);
    case FC_ORDER_IMPORT:
      return fc_values_import(frame, body, err);
    case FC_ORDER_FILL:
      break;
  }
  return fc_values_fill(frame, body, err);
}
