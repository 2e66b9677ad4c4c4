// SPDX-License-Identifier: Apache-2.0
//
// Executables of machine code, in an embedded ELF. Workgroups may run on several
// threads at once (fc_tiles_t). A kernel is trusted to stay within its buffers.
#include "kernels/library.h"
#include "module/vm/context.h"
#include "module/vm/hal/executable_kind.h"
#include "module/vm/hal/scratch.h"

typedef struct elf_t {
  fc_hal_executable_t base;
  fc_library_t *library;
} elf_t;

static fc_status_t elf_open(fc_hal_executable_t *executable,
                            const fc_hal_state_t *state,
                            fc_vm_invocation_t *invocation, fc_str_t file,
                            fc_str_t constants, fc_error_t *err) {
  (void)invocation;
  const fc_allocator_t allocator = executable->object.heap->allocator;
  fc_elf_t *elf;
  FC_TRY(fc_elf_load(file, allocator, &elf, err));
  uint32_t words[256];
  const size_t count = constants.size / sizeof words[0];
  if (count > FC_ARRAY_COUNT(words)) {
    fc_elf_unload(elf);
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "%zu executable constants, at most %zu", count,
                       FC_ARRAY_COUNT(words));
  }
  if (count) memcpy(words, constants.data, count * sizeof words[0]);
  return fc_library_open(elf, &state->cpu, words, count, allocator,
                         &((elf_t *)executable)->library, err);
}

static void elf_close(fc_hal_executable_t *executable) {
  fc_library_close(((elf_t *)executable)->library);
}

static uint32_t elf_count(const fc_hal_executable_t *executable) {
  return (uint32_t)fc_library_count(((const elf_t *)executable)->library);
}

static fc_hal_kernel_t elf_at(const fc_hal_executable_t *executable,
                              uint32_t index) {
  const fc_entry_point_t *entry =
      fc_library_at(((const elf_t *)executable)->library, index);
  return (fc_hal_kernel_t){entry->name, entry->constant_count,
                           entry->binding_count};
}

// Counts the work of a kernel as the bytes of its bindings, because its time is not
// known. Without this, a command buffer of many small grids would never check the
// clock, since a small grid does not check it.
static fc_status_t count_work(fc_vm_invocation_t *invocation,
                              const fc_hal_dispatch_t *dispatch,
                              fc_error_t *err) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    bytes += dispatch->binding_sizes[i];
  }
  return fc_vm_work(invocation, bytes, err);
}

static fc_status_t elf_run(fc_hal_executable_t *executable,
                           fc_vm_invocation_t *invocation,
                           const fc_hal_dispatch_t *dispatch, fc_error_t *err) {
  FC_TRY(count_work(invocation, dispatch, err));
  const size_t index = (size_t)dispatch->function;
  const fc_library_t *library = ((const elf_t *)executable)->library;
  fc_vm_heap_t *heap = executable->object.heap;
  const uint32_t parts =
      fc_library_parts(library, index, dispatch->count, invocation->tiles);
  fc_hal_scratch_t scratch;
  FC_TRY(fc_hal_scratch_take(
      heap, invocation->pool,
      (size_t)parts * fc_library_at(library, index)->local_memory_size,
      &scratch, err));
  const fc_grid_t grid = {
      .count = {dispatch->count[0], dispatch->count[1], dispatch->count[2]},
      .constants = dispatch->constants,
      .bindings = dispatch->bindings,
      .binding_sizes = dispatch->binding_sizes,
      .local_memory = scratch.memory,
      .parts = parts,
      .tiles = invocation->tiles,
      .cancel = invocation->cancel,
      .deadline_ns = invocation->deadline_ns};
  fc_status_t status = fc_library_run(library, index, &grid, err);
  fc_hal_scratch_give(heap, invocation->pool, &scratch);
  return status;
}

const fc_hal_kind_t fc_hal_kind_elf = {
    .format = {FC_HAL_ELF_FORMAT, sizeof FC_HAL_ELF_FORMAT - 1},
    .native = true,
    .size = sizeof(elf_t),
    .open = elf_open,
    .close = elf_close,
    .count = elf_count,
    .at = elf_at,
    .run = elf_run,
};
