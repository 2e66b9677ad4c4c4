// SPDX-License-Identifier: Apache-2.0
//
// The `hal_inline` module: buffers and views for modules that do their work
// immediately, without devices, queues or fences. Such a module uses a !hal.buffer
// through its storage, a !vm.buffer over the same bytes. On workers.
#include "module/vm/buffer.h"
#include "module/vm/hal/calls.h"
#include "module/vm/hal/hal.h"

// Operands: (buffer) -> its storage, in result `index`
static fc_status_t give_storage(fc_vm_native_call_t *call,
                                fc_hal_buffer_t *buffer, uint32_t index,
                                fc_error_t *err) {
  fc_vm_buffer_t *storage;
  FC_TRY(fc_hal_buffer_storage(buffer, &storage, err));
  call->results[index].ref = &storage->object;
  return FC_OK;
}

static fc_status_t allocate(fc_vm_native_call_t *call, int64_t size,
                            const uint8_t *data, fc_error_t *err) {
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_buffer_create_in(call->invocation, call->heap, size, &buffer,
                                 err));
  if (data && size) memcpy(buffer->data, data, (size_t)size);
  call->results[0].ref = &buffer->object;
  return give_storage(call, buffer, 1, err);
}

// Operands: (minimum alignment, size) -> (buffer, storage). The alignment is ignored,
// since all buffers are 64-byte aligned.
static fc_status_t buffer_allocate(fc_vm_native_call_t *call, fc_error_t *err) {
  return allocate(call, call->arguments[1].i64, NULL, err);
}

static fc_status_t source_range(fc_vm_native_call_t *call, uint32_t operand,
                                fc_vm_buffer_t **out_source, uint8_t **out_data,
                                fc_error_t *err) {
  const int64_t offset = call->arguments[operand + 1].i64;
  const int64_t size = call->arguments[operand + 2].i64;
  FC_TRY(fc_hal_argument(call, operand, FC_VM_TYPE_BUFFER, false, out_source,
                         err));
  *out_data = fc_vm_buffer_at(*out_source, offset, size, 1);
  if (*out_data) return FC_OK;
  return fc_vm_buffer_range_error(*out_source, offset, size, 1, err);
}

// Operands: (minimum alignment, source, offset, length) -> (buffer, storage)
static fc_status_t buffer_allocate_initialized(fc_vm_native_call_t *call,
                                               fc_error_t *err) {
  fc_vm_buffer_t *source;
  uint8_t *data;
  FC_TRY(source_range(call, 1, &source, &data, err));
  return allocate(call, call->arguments[3].i64, data, err);
}

// Operands: (source, offset, length)
static fc_status_t buffer_wrap(fc_vm_native_call_t *call, fc_error_t *err) {
  fc_vm_buffer_t *source;
  uint8_t *data;
  FC_TRY(source_range(call, 0, &source, &data, err));
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_buffer_wrap(call->heap, data, (uint64_t)call->arguments[2].i64,
                            &source->object, &buffer, err));
  call->results[0].ref = &buffer->object;
  return FC_OK;
}

static fc_status_t buffer_storage(fc_vm_native_call_t *call, fc_error_t *err) {
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER, false, &buffer, err));
  return give_storage(call, buffer, 0, err);
}

// Operands: (category, key) -> (known, value). There is no device; only the processor is
// known.
static fc_status_t device_query(fc_vm_native_call_t *call, fc_error_t *err) {
  fc_str_t category, key;
  FC_TRY(fc_hal_text(call, 0, &category, err));
  FC_TRY(fc_hal_text(call, 1, &key, err));
  if (!fc_str_equal(category, FC_STR("hal.cpu"))) return FC_OK;
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  const fc_cpu_answer_t answer = fc_cpu_has(&cpu, key);
  call->results[0].i32 = answer != FC_CPU_UNKNOWN;
  call->results[1].i64 = answer == FC_CPU_YES;
  return FC_OK;
}

static const fc_vm_native_function_t functions[] = {
    {"buffer.allocate", "0iI_rr", FC_VM_EFFECT_MAKE_VARIABLE, buffer_allocate},
    {"buffer.allocate.initialized", "0irII_rr", FC_VM_EFFECT_MAKE_VARIABLE,
     buffer_allocate_initialized},
    {"buffer.length", "0r_I", FC_VM_EFFECT_NONE, fc_hal_call_buffer_length},
    {"buffer.storage", "0r_r", FC_VM_EFFECT_NONE, buffer_storage},
    {"buffer.subspan", "0rII_r", FC_VM_EFFECT_NONE, fc_hal_call_buffer_subspan},
    {"buffer.wrap", "0rII_r", FC_VM_EFFECT_MAKE_VARIABLE_ALIAS, buffer_wrap},
    {"buffer_view.assert", "0rriiCID_v", FC_VM_EFFECT_NONE,
     fc_hal_call_view_assert},
    {"buffer_view.buffer", "0r_r", FC_VM_EFFECT_NONE, fc_hal_call_view_buffer},
    {"buffer_view.create", "0rIIiiCID_r", FC_VM_EFFECT_NONE,
     fc_hal_call_view_create},
    {"buffer_view.dim", "0ri_I", FC_VM_EFFECT_NONE, fc_hal_call_view_dim},
    {"buffer_view.element_type", "0r_i", FC_VM_EFFECT_NONE,
     fc_hal_call_view_element_type},
    {"buffer_view.encoding_type", "0r_i", FC_VM_EFFECT_NONE,
     fc_hal_call_view_encoding},
    {"buffer_view.rank", "0r_i", FC_VM_EFFECT_NONE, fc_hal_call_view_rank},
    {"buffer_view.trace", "0rCrD_v", FC_VM_EFFECT_NONE, fc_hal_call_nothing},
    {"device.query.i64", "0rr_iI", FC_VM_EFFECT_NONE, device_query},
};

const fc_vm_native_module_t fc_vm_hal_inline = {
    .name = "hal_inline",
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions)};
