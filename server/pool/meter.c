// SPDX-License-Identifier: Apache-2.0
//
// Each allocation begins with a head that has its size.
#include "pool/meter.h"

typedef struct head_t {
  size_t size;
  _Alignas(64) unsigned char data[];
} head_t;

// Counts `held` bytes from now on. False: the limit is reached, and nothing has changed.
static bool settle(fc_meter_t *meter, size_t held) {
  const uint64_t wanted = held > FC_METER_FREE ? held : 0;
  if (wanted > meter->charged) {
    if (!fc_blocks_charge(meter->blocks, wanted - meter->charged)) return false;
  } else if (wanted < meter->charged) {
    fc_blocks_discharge(meter->blocks, meter->charged - wanted);
  }
  meter->charged = wanted;
  meter->held = held;
  return true;
}

static void *allocate(void *context, size_t size, size_t alignment) {
  fc_meter_t *meter = context;
  size_t total, held;
  FC_ASSERT(alignment <= 64);
  if (!fc_size_add(size, sizeof(head_t), &total) ||
      !fc_size_add(meter->held, total, &held)) {
    return NULL;
  }
  if (!settle(meter, held)) {
    meter->refused = true;
    return NULL;
  }
  head_t *head = fc_alloc_aligned(meter->inner, total, 64);
  if (!head) {
    (void)settle(meter, held - total);
    return NULL;
  }
  head->size = total;
  return head->data;
}

static void release(void *context, void *memory) {
  fc_meter_t *meter = context;
  if (!memory) return;
  head_t *head = (head_t *)(void *)((unsigned char *)memory - sizeof(head_t));
  const size_t size = head->size;
  fc_free(meter->inner, head);
  (void)settle(meter, meter->held - size);
}

void fc_meter_init(fc_meter_t *meter, fc_allocator_t inner,
                   fc_blocks_t *blocks) {
  *meter = (fc_meter_t){.inner = inner, .blocks = blocks};
}

fc_allocator_t fc_meter_allocator(fc_meter_t *meter) {
  return (fc_allocator_t){meter, allocate, release};
}
