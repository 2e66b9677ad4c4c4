// SPDX-License-Identifier: Apache-2.0
//
// !hal.command_buffer: commands that are recorded once and may be run many times, even
// by several calls at once. So running them does not change the command buffer. A
// binding names a buffer, or a slot of the binding table that is passed to the run.
#ifndef FARCALL_CORE_MODULE_VM_HAL_COMMAND_H_
#define FARCALL_CORE_MODULE_VM_HAL_COMMAND_H_

#include "module/vm/hal/executable.h"

// A range of a buffer. If `buffer` is NULL, it is a range of the buffer in entry `slot`
// of the table that is passed to the run.
typedef struct fc_hal_binding_t {
  fc_hal_buffer_t *buffer;
  int32_t slot;
  int64_t offset;
  int64_t size;  // -1: to the end of the buffer
} fc_hal_binding_t;

// Makes a binding of the buffer in operand `buffer` of a call. If that is null, the
// binding uses `slot`.
fc_status_t fc_hal_binding_argument(const fc_vm_native_call_t *call,
                                    uint32_t buffer, int32_t slot,
                                    int64_t offset, int64_t size,
                                    fc_hal_binding_t *out,
                                    fc_error_t *err) FC_MUST_CHECK;

typedef struct fc_hal_table_t {
  const fc_hal_binding_t *entries;  // slots are unused
  uint32_t count;
} fc_hal_table_t;

typedef struct fc_hal_command_buffer_t fc_hal_command_buffer_t;

fc_status_t fc_hal_command_buffer_create(fc_vm_heap_t *heap,
                                         fc_hal_command_buffer_t **out,
                                         fc_error_t *err) FC_MUST_CHECK;

// The functions fc_hal_record_* record commands. All objects are retained, all data is
// copied. After finalize, recording fails.
fc_status_t fc_hal_record_fill(fc_hal_command_buffer_t *commands,
                               const fc_hal_binding_t *target, uint32_t pattern,
                               int32_t pattern_size,
                               fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_hal_record_update(fc_hal_command_buffer_t *commands,
                                 const void *data,
                                 const fc_hal_binding_t *target,
                                 fc_error_t *err) FC_MUST_CHECK;
// The source range gets the size of `target`.
fc_status_t fc_hal_record_copy(fc_hal_command_buffer_t *commands,
                               const fc_hal_binding_t *source,
                               const fc_hal_binding_t *target,
                               fc_error_t *err) FC_MUST_CHECK;

typedef struct fc_hal_recorded_dispatch_t {
  fc_hal_executable_t *executable;
  int64_t function;
  uint32_t count[3];
  const fc_hal_binding_t *count_source;  // 3 words in a buffer; NULL: `count`
  const uint32_t *constants;
  uint32_t constant_count;
  const fc_hal_binding_t *bindings;
  uint32_t binding_count;
} fc_hal_recorded_dispatch_t;
fc_status_t fc_hal_record_dispatch(fc_hal_command_buffer_t *commands,
                                   const fc_hal_recorded_dispatch_t *dispatch,
                                   fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_hal_command_buffer_finalize(fc_hal_command_buffer_t *commands,
                                           fc_error_t *err) FC_MUST_CHECK;

// Runs the commands in order until one fails, with denormals flushed. Every range is
// checked right before its use. FAILED_PRECONDITION before finalize.
fc_status_t fc_hal_command_buffer_run(const fc_hal_command_buffer_t *commands,
                                      fc_vm_invocation_t *invocation,
                                      const fc_hal_table_t *table,
                                      fc_error_t *err) FC_MUST_CHECK;

// Fill, update and copy immediately, for the queue operations.
fc_status_t fc_hal_fill(fc_vm_invocation_t *invocation,
                        const fc_hal_buffer_t *target, int64_t offset,
                        int64_t size, uint32_t pattern, int32_t pattern_size,
                        fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_hal_update(fc_vm_invocation_t *invocation, const void *data,
                          const fc_hal_buffer_t *target, int64_t offset,
                          int64_t size, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_hal_copy(fc_vm_invocation_t *invocation,
                        const fc_hal_buffer_t *source, int64_t source_offset,
                        const fc_hal_buffer_t *target, int64_t target_offset,
                        int64_t size, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_COMMAND_H_
