// SPDX-License-Identifier: Apache-2.0
//
// Records commands into an arena, and runs them. On workers.
#include "module/vm/hal/command.h"

#include <inttypes.h>

#include "base/load.h"

#define ARENA_BLOCK 1024
#define DISPATCH_BINDINGS FC_DISPATCH_BINDINGS_MAX

typedef enum command_kind_t {
  COMMAND_FILL,
  COMMAND_UPDATE,
  COMMAND_COPY,
  COMMAND_DISPATCH,
} command_kind_t;

// A command. The list is in recording order; bindings and data lie in the arena.
typedef struct command_t {
  struct command_t *next;
  command_kind_t kind;
  fc_hal_binding_t source;  // COPY; the counts of an indirect DISPATCH
  fc_hal_binding_t target;  // all but DISPATCH
  uint32_t pattern;
  int32_t pattern_size;
  const void *data;  // UPDATE
  fc_hal_executable_t *executable;
  int64_t function;
  uint32_t count[3];
  bool indirect;
  const uint32_t *constants;
  uint32_t constant_count;
  const fc_hal_binding_t *bindings;
  uint32_t binding_count;
} command_t;

struct fc_hal_command_buffer_t {
  fc_vm_object_t object;
  fc_arena_t arena;
  command_t *first;
  command_t **last;
  bool finalized;
};

// ---------------------------------------------------------------------------
// Recording

static void release_binding(const fc_hal_binding_t *binding) {
  if (binding->buffer) fc_vm_release(&binding->buffer->object);
}

static void destroy_commands(fc_vm_object_t *object) {
  fc_hal_command_buffer_t *commands = (fc_hal_command_buffer_t *)object;
  for (command_t *command = commands->first; command; command = command->next) {
    release_binding(&command->source);
    release_binding(&command->target);
    for (uint32_t i = 0; i < command->binding_count; i++) {
      release_binding(&command->bindings[i]);
    }
    fc_vm_release((fc_vm_object_t *)command->executable);
  }
  fc_arena_deinit(&commands->arena);
  fc_vm_heap_free(object->heap, commands, sizeof *commands);
}

fc_status_t fc_hal_command_buffer_create(fc_vm_heap_t *heap,
                                         fc_hal_command_buffer_t **out,
                                         fc_error_t *err) {
  fc_hal_command_buffer_t *commands =
      fc_vm_heap_alloc(heap, sizeof *commands, 16, err);
  if (!commands) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&commands->object, FC_VM_TYPE_HAL_COMMAND_BUFFER,
                    destroy_commands, heap);
  fc_arena_init(&commands->arena, fc_vm_heap_allocator(heap), ARENA_BLOCK,
                heap->limit);
  commands->last = &commands->first;
  *out = commands;
  return FC_OK;
}

// Allocates zeroed memory that lives as long as the command buffer. The arena allocates
// from the heap, whose limit also limits how much a module can record.
static void *take(fc_hal_command_buffer_t *commands, size_t count, size_t size,
                  fc_error_t *err) {
  void *memory = fc_arena_alloc_array(&commands->arena, count, size);
  fc_vm_heap_t *heap = commands->object.heap;
  // The arena does not say why it failed, so the heap is asked to count this size. If
  // the heap refuses, it writes its own error; if not, the system must be out of
  // memory.
  if (!memory && fc_vm_heap_count(heap, count * size, err)) {
    fc_vm_heap_uncount(heap, count * size);
    (void)fc_fail_memory(err);
  }
  return memory;
}

static fc_hal_binding_t keep(const fc_hal_binding_t *binding) {
  if (binding->buffer) fc_vm_retain(&binding->buffer->object);
  return *binding;
}

static fc_status_t add(fc_hal_command_buffer_t *commands, command_kind_t kind,
                       command_t **out, fc_error_t *err) {
  if (commands->finalized) {
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "the command buffer is finalized");
  }
  command_t *command = take(commands, 1, sizeof *command, err);
  if (!command) return FC_RESOURCE_EXHAUSTED;
  command->kind = kind;
  *out = command;
  return FC_OK;
}

// Adds a command whose buffers are already retained. From now on destroy_commands
// releases them.
static void link_command(fc_hal_command_buffer_t *commands,
                         command_t *command) {
  *commands->last = command;
  commands->last = &command->next;
}

static fc_status_t check_pattern(int32_t size, fc_error_t *err) {
  if (size == 1 || size == 2 || size == 4) return FC_OK;
  return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                     "fill pattern of %" PRId32 " bytes, not 1, 2 or 4", size);
}

fc_status_t fc_hal_record_fill(fc_hal_command_buffer_t *commands,
                               const fc_hal_binding_t *target, uint32_t pattern,
                               int32_t pattern_size, fc_error_t *err) {
  FC_TRY(check_pattern(pattern_size, err));
  command_t *command;
  FC_TRY(add(commands, COMMAND_FILL, &command, err));
  command->target = keep(target);
  command->pattern = pattern;
  command->pattern_size = pattern_size;
  link_command(commands, command);
  return FC_OK;
}

fc_status_t fc_hal_record_update(fc_hal_command_buffer_t *commands,
                                 const void *data,
                                 const fc_hal_binding_t *target,
                                 fc_error_t *err) {
  if (target->size < 0) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT, "update of %" PRId64 " bytes",
                       target->size);
  }
  command_t *command;
  FC_TRY(add(commands, COMMAND_UPDATE, &command, err));
  void *copy = take(commands, (size_t)target->size, 1, err);
  if (!copy) return FC_RESOURCE_EXHAUSTED;
  if (target->size) memcpy(copy, data, (size_t)target->size);
  command->data = copy;
  command->target = keep(target);
  link_command(commands, command);
  return FC_OK;
}

fc_status_t fc_hal_record_copy(fc_hal_command_buffer_t *commands,
                               const fc_hal_binding_t *source,
                               const fc_hal_binding_t *target,
                               fc_error_t *err) {
  command_t *command;
  FC_TRY(add(commands, COMMAND_COPY, &command, err));
  command->source = keep(source);
  command->target = keep(target);
  link_command(commands, command);
  return FC_OK;
}

static fc_status_t copy_operands(fc_hal_command_buffer_t *commands,
                                 const fc_hal_recorded_dispatch_t *dispatch,
                                 command_t *command, fc_error_t *err) {
  uint32_t *constants =
      take(commands, dispatch->constant_count, sizeof *constants, err);
  if (!constants) return FC_RESOURCE_EXHAUSTED;
  fc_hal_binding_t *bindings =
      take(commands, dispatch->binding_count, sizeof *bindings, err);
  if (!bindings) return FC_RESOURCE_EXHAUSTED;
  if (dispatch->constant_count) {
    memcpy(constants, dispatch->constants,
           dispatch->constant_count * sizeof *constants);
  }
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    bindings[i] = keep(&dispatch->bindings[i]);
  }
  command->constants = constants;
  command->constant_count = dispatch->constant_count;
  command->bindings = bindings;
  command->binding_count = dispatch->binding_count;
  return FC_OK;
}

fc_status_t fc_hal_record_dispatch(fc_hal_command_buffer_t *commands,
                                   const fc_hal_recorded_dispatch_t *dispatch,
                                   fc_error_t *err) {
  if (dispatch->constant_count > FC_DISPATCH_CONSTANTS_MAX ||
      dispatch->binding_count > DISPATCH_BINDINGS) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "dispatch with %" PRIu32 " constants and %" PRIu32
                       " bindings, at most %d and %d",
                       dispatch->constant_count, dispatch->binding_count,
                       FC_DISPATCH_CONSTANTS_MAX, DISPATCH_BINDINGS);
  }
  command_t *command;
  FC_TRY(add(commands, COMMAND_DISPATCH, &command, err));
  FC_TRY(copy_operands(commands, dispatch, command, err));
  fc_vm_retain((fc_vm_object_t *)dispatch->executable);
  command->executable = dispatch->executable;
  command->function = dispatch->function;
  memcpy(command->count, dispatch->count, sizeof command->count);
  command->indirect = dispatch->count_source != NULL;
  if (command->indirect) command->source = keep(dispatch->count_source);
  link_command(commands, command);
  return FC_OK;
}

fc_status_t fc_hal_command_buffer_finalize(fc_hal_command_buffer_t *commands,
                                           fc_error_t *err) {
  if (commands->finalized) {
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "the command buffer is already finalized");
  }
  commands->finalized = true;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Ranges

// Finds the bytes to which a binding refers in this run.
static fc_status_t resolve(const fc_hal_binding_t *binding,
                           const fc_hal_table_t *table, uint8_t **out_data,
                           uint64_t *out_size, fc_error_t *err) {
  if (binding->buffer) {
    return fc_hal_buffer_range(binding->buffer, binding->offset, binding->size,
                               out_data, out_size, err);
  }
  if (binding->slot < 0 || (uint32_t)binding->slot >= table->count ||
      !table->entries[binding->slot].buffer) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "binding slot %" PRId32 " of a table of %" PRIu32,
                       binding->slot, table->count);
  }
  const fc_hal_binding_t *entry = &table->entries[binding->slot];
  uint8_t *data;
  uint64_t size;
  FC_TRY(fc_hal_buffer_range(entry->buffer, entry->offset, entry->size, &data,
                             &size, err));
  const uint64_t rest = binding->offset < 0 || (uint64_t)binding->offset > size
                            ? UINT64_MAX
                            : size - (uint64_t)binding->offset;
  const uint64_t wanted = binding->size == -1 ? rest : (uint64_t)binding->size;
  if (rest == UINT64_MAX || binding->size < -1 || wanted > rest) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "range [%" PRId64 ", +%" PRId64
                       ") is outside binding slot %" PRId32 " of %" PRIu64
                       " bytes",
                       binding->offset, binding->size, binding->slot, size);
  }
  *out_data = data + binding->offset;
  *out_size = wanted;
  return FC_OK;
}

static fc_status_t fill(uint8_t *data, uint64_t size, int64_t offset,
                        uint32_t pattern, int32_t pattern_size,
                        fc_error_t *err) {
  if (size % (uint64_t)pattern_size || offset % pattern_size) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "fill of %" PRIu64 " bytes at %" PRId64
                       " with a pattern of %" PRId32,
                       size, offset, pattern_size);
  }
  if (pattern_size == 1) {
    memset(data, (int)(pattern & 0xFF), size);
    return FC_OK;
  }
  for (uint64_t i = 0; i < size; i += (uint64_t)pattern_size) {
    memcpy(data + i, &pattern, (size_t)pattern_size);
  }
  return FC_OK;
}

fc_status_t fc_hal_fill(fc_vm_invocation_t *invocation,
                        const fc_hal_buffer_t *target, int64_t offset,
                        int64_t size, uint32_t pattern, int32_t pattern_size,
                        fc_error_t *err) {
  uint8_t *data;
  uint64_t bytes;
  FC_TRY(check_pattern(pattern_size, err));
  FC_TRY(fc_hal_buffer_range(target, offset, size, &data, &bytes, err));
  FC_TRY(fc_vm_work(invocation, bytes, err));
  return fill(data, bytes, offset, pattern, pattern_size, err);
}

fc_status_t fc_hal_update(fc_vm_invocation_t *invocation, const void *data,
                          const fc_hal_buffer_t *target, int64_t offset,
                          int64_t size, fc_error_t *err) {
  uint8_t *to;
  uint64_t bytes;
  if (size < 0) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT, "update of %" PRId64 " bytes",
                       size);
  }
  FC_TRY(fc_hal_buffer_range(target, offset, size, &to, &bytes, err));
  FC_TRY(fc_vm_work(invocation, bytes, err));
  if (bytes) memcpy(to, data, bytes);
  return FC_OK;
}

fc_status_t fc_hal_copy(fc_vm_invocation_t *invocation,
                        const fc_hal_buffer_t *source, int64_t source_offset,
                        const fc_hal_buffer_t *target, int64_t target_offset,
                        int64_t size, fc_error_t *err) {
  uint8_t *from, *to;
  uint64_t bytes, same;
  FC_TRY(fc_hal_buffer_range(target, target_offset, size, &to, &bytes, err));
  FC_TRY(fc_hal_buffer_range(source, source_offset, (int64_t)bytes, &from,
                             &same, err));
  FC_TRY(fc_vm_work(invocation, bytes, err));
  if (bytes) memmove(to, from, bytes);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Running

static fc_status_t run_copy(const command_t *command,
                            fc_vm_invocation_t *invocation,
                            const fc_hal_table_t *table, fc_error_t *err) {
  uint8_t *from, *to;
  uint64_t bytes, same;
  FC_TRY(resolve(&command->target, table, &to, &bytes, err));
  fc_hal_binding_t source = command->source;
  source.size = (int64_t)bytes;
  FC_TRY(resolve(&source, table, &from, &same, err));
  FC_TRY(fc_vm_work(invocation, bytes, err));
  if (bytes) memmove(to, from, bytes);
  return FC_OK;
}

static fc_status_t read_counts(const command_t *command,
                               const fc_hal_table_t *table, uint32_t *count,
                               fc_error_t *err) {
  if (!command->indirect) {
    memcpy(count, command->count, sizeof command->count);
    return FC_OK;
  }
  uint8_t *data;
  uint64_t size;
  FC_TRY(resolve(&command->source, table, &data, &size, err));
  memcpy(count, data, 3 * sizeof *count);
  return FC_OK;
}

static fc_status_t run_dispatch(const command_t *command,
                                fc_vm_invocation_t *invocation,
                                const fc_hal_table_t *table, fc_error_t *err) {
  void *bindings[DISPATCH_BINDINGS];
  size_t sizes[DISPATCH_BINDINGS];
  for (uint32_t i = 0; i < command->binding_count; i++) {
    uint8_t *data;
    uint64_t size;
    FC_TRY(resolve(&command->bindings[i], table, &data, &size, err));
    bindings[i] = data;
    sizes[i] = (size_t)size;
  }
  fc_hal_dispatch_t dispatch = {.function = command->function,
                                .constants = command->constants,
                                .constant_count = command->constant_count,
                                .bindings = bindings,
                                .binding_sizes = sizes,
                                .binding_count = command->binding_count};
  FC_TRY(read_counts(command, table, dispatch.count, err));
  return fc_hal_executable_run(command->executable, invocation, &dispatch, err);
}

static fc_status_t run_command(const command_t *command,
                               fc_vm_invocation_t *invocation,
                               const fc_hal_table_t *table, fc_error_t *err) {
  uint8_t *data;
  uint64_t size;
  switch (command->kind) {
    case COMMAND_FILL:
      FC_TRY(resolve(&command->target, table, &data, &size, err));
      FC_TRY(fc_vm_work(invocation, size, err));
      return fill(data, size, command->target.offset, command->pattern,
                  command->pattern_size, err);
    case COMMAND_UPDATE:
      FC_TRY(resolve(&command->target, table, &data, &size, err));
      FC_TRY(fc_vm_work(invocation, size, err));
      if (size) memcpy(data, command->data, size);
      return FC_OK;
    case COMMAND_COPY:
      return run_copy(command, invocation, table, err);
    default:
      return run_dispatch(command, invocation, table, err);
  }
}

fc_status_t fc_hal_command_buffer_run(const fc_hal_command_buffer_t *commands,
                                      fc_vm_invocation_t *invocation,
                                      const fc_hal_table_t *table,
                                      fc_error_t *err) {
  if (!commands->finalized) {
    return fc_hal_fail(err, FC_FAILED_PRECONDITION,
                       "the command buffer is still being recorded");
  }
  // Flushes denormals, because IREE's runtime does so around dispatches. Otherwise a
  // kernel that meets denormals would have other results than in IREE.
  const uint64_t state = fc_cpu_denormals_flush();
  fc_status_t status = FC_OK;
  for (const command_t *command = commands->first; command && status == FC_OK;
       command = command->next) {
    status = run_command(command, invocation, table, err);
  }
  fc_cpu_denormals_restore(state);
  return status;
}
