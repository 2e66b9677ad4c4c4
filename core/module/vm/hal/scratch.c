// SPDX-License-Identifier: Apache-2.0
//
// Local memory of dispatches: see scratch.h. On workers.
#include "module/vm/hal/scratch.h"

#include "module/vm/hal/objects.h"

fc_status_t fc_hal_scratch_take(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                                size_t size, fc_hal_scratch_t *out,
                                fc_error_t *err) {
  *out = (fc_hal_scratch_t){.size = size};
  if (!size) return FC_OK;
  out->memory = pool ? fc_hal_pool_take(pool, size, &out->size, err)
                     : fc_vm_heap_alloc(heap, size, FC_HAL_ALIGNMENT, err);
  return out->memory ? FC_OK : FC_RESOURCE_EXHAUSTED;
}

void fc_hal_scratch_give(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                         const fc_hal_scratch_t *scratch) {
  if (!scratch->memory) return;
  if (pool) fc_hal_pool_give(pool, scratch->memory, scratch->size);
  else fc_vm_heap_free(heap, scratch->memory, scratch->size);
}
