// SPDX-License-Identifier: Apache-2.0
#include "helpers/carry.h"

static fc_status_t move(fc_carry_t *carry, size_t capacity, fc_error_t *err) {
  const fc_allocator_t *allocator = carry->context;
  uint8_t *data = fc_alloc_aligned(*allocator, capacity, 64);
  if (!data) return fc_fail_memory(err);
  memset(data, 0xA5, capacity);
  if (carry->size) memcpy(data, carry->data, carry->size);
  if (carry->data) memset(carry->data, 0x5A, carry->capacity);
  fc_free(*allocator, carry->data);
  carry->data = data;
  carry->capacity = capacity;
  return FC_OK;
}

void fc_test_carry_init(fc_carry_t *carry, fc_allocator_t *allocator) {
  *carry = (fc_carry_t){.grow = move, .context = allocator};
}

void fc_test_carry_deinit(fc_carry_t *carry) {
  const fc_allocator_t *allocator = carry->context;
  fc_free(*allocator, carry->data);
}

bool fc_test_carry_move(fc_carry_t *carry) {
  const fc_carry_t kept = *carry;
  *carry = (fc_carry_t){.data = kept.data,
                        .size = kept.size,
                        .capacity = kept.capacity,
                        .grow = kept.grow,
                        .context = kept.context};
  return move(carry, kept.size, NULL) == FC_OK;
}
