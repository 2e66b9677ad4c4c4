// SPDX-License-Identifier: Apache-2.0
//
// `load` makes a buffer of each parameter: over the mapped file if the bytes are aligned
// as kernels need them, otherwise a copy. `gather` always copies, into a buffer
// of the module. `scatter` is refused: archives are never written to. Keys and ranges
// come from the module and are checked here. Archives are opened with the module;
// everything else runs on workers.
#include "module/vm/hal/io_parameters.h"

#include <inttypes.h>

#define KEY_SIZE 8    // {u32 offset, u32 size} in the key data
#define SPAN_SIZE 24  // {u64 offset in parameter, u64 in buffer, u64 size}

// ---------------------------------------------------------------------------
// Archives

// Opens an archive for one scope, "SCOPE=FILE", or for every scope, "FILE". If a '/'
// stands before the '=', the whole text is the path of a FILE.
static fc_status_t open_one(fc_hal_archives_t *archives, fc_str_t text,
                            fc_error_t *err) {
  fc_hal_archive_t *archive = &archives->items[archives->count];
  const char *equals = memchr(text.data, '=', text.size);
  const size_t before = equals ? (size_t)(equals - text.data) : 0;
  if (equals && !memchr(text.data, '/', before)) {
    archive->scope =
        fc_arena_copy(&archives->arena, fc_str_make(text.data, before));
    if (!archive->scope.data) return fc_fail_memory(err);
    text = fc_str_make(equals + 1, text.size - before - 1);
  }
  char *path = fc_arena_alloc(&archives->arena, text.size + 1, 1);
  if (!path) return fc_fail_memory(err);
  memcpy(path, text.data, text.size);
  path[text.size] = '\0';
  FC_TRY(fc_parameters_open(&archive->file, path, archives->allocator, err));
  fc_vm_buffer_init_constant(&archive->owner, archive->file.data,
                             archive->file.size);
  archives->count++;
  return FC_OK;
}

fc_status_t fc_hal_archives_open(fc_hal_archives_t *archives, fc_str_t list,
                                 fc_allocator_t allocator, fc_error_t *err) {
  *archives = (fc_hal_archives_t){.allocator = allocator};
  fc_arena_init(&archives->arena, allocator, 1024, SIZE_MAX);
  if (!list.size) return FC_OK;
  size_t count = 1;
  for (size_t i = 0; i < list.size; i++) count += list.data[i] == ',';
  archives->items = fc_alloc_array(allocator, count, sizeof *archives->items);
  if (!archives->items) return fc_fail_memory(err);
  while (list.size) {
    FC_TRY(open_one(archives, fc_str_take(&list, ','), err));
  }
  return FC_OK;
}

void fc_hal_archives_close(fc_hal_archives_t *archives) {
  for (size_t i = 0; i < archives->count; i++) {
    fc_parameters_close(&archives->items[i].file);
  }
  if (archives->items) fc_free(archives->allocator, archives->items);
  fc_arena_deinit(&archives->arena);
  *archives = (fc_hal_archives_t){.count = 0};
}

// ---------------------------------------------------------------------------
// Requests

typedef struct parameter_request_t {
  fc_hal_fence_t *wait;
  fc_hal_fence_t *signal;
  fc_str_t scope;
  fc_str_t keys;
  fc_str_t key_data;
  fc_str_t spans;
  size_t count;
} parameter_request_t;

// One parameter of a request, and the range of it that is requested.
typedef struct wanted_t {
  const fc_hal_archive_t *archive;
  const fc_parameter_t *parameter;
  uint64_t offset;
  uint64_t target_offset;
  uint64_t size;
} wanted_t;

// Operands: (device, affinity, wait, signal, …, scope, …, key table, key data, spans)
static fc_status_t read_request(const fc_vm_native_call_t *call, uint32_t scope,
                                uint32_t keys, parameter_request_t *out,
                                fc_error_t *err) {
  FC_TRY(fc_hal_argument(call, 2, FC_VM_TYPE_HAL_FENCE, true, &out->wait, err));
  FC_TRY(
      fc_hal_argument(call, 3, FC_VM_TYPE_HAL_FENCE, true, &out->signal, err));
  FC_TRY(fc_hal_text(call, scope, &out->scope, err));
  FC_TRY(fc_hal_text(call, keys, &out->keys, err));
  FC_TRY(fc_hal_text(call, keys + 1, &out->key_data, err));
  FC_TRY(fc_hal_text(call, keys + 2, &out->spans, err));
  out->count = out->keys.size / KEY_SIZE;
  if (out->keys.size % KEY_SIZE || out->spans.size % SPAN_SIZE ||
      out->spans.size / SPAN_SIZE != out->count || out->count > UINT32_MAX) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "a key table of %zu bytes with spans of %zu",
                       out->keys.size, out->spans.size);
  }
  return fc_hal_await(out->wait, err);
}

static fc_status_t find_parameter(const fc_hal_archives_t *archives,
                                  fc_str_t scope, fc_str_t key, wanted_t *out,
                                  fc_error_t *err) {
  for (size_t i = 0; archives && i < archives->count; i++) {
    const fc_hal_archive_t *archive = &archives->items[i];
    if (archive->scope.data && !fc_str_equal(archive->scope, scope)) continue;
    out->parameter = fc_parameters_find(&archive->file, key);
    out->archive = archive;
    if (out->parameter) return FC_OK;
  }
  char shown_scope[64], shown_key[128];
  fc_escape(shown_scope, sizeof shown_scope, 40, scope);
  fc_escape(shown_key, sizeof shown_key, 80, key);
  return fc_hal_fail(err, FC_NOT_FOUND,
                     "the module needs parameter '%s' of scope '%s': give "
                     "--parameters=%s=FILE with it",
                     shown_key, shown_scope, shown_scope);
}

static fc_status_t read_key(const parameter_request_t *request, size_t index,
                            fc_str_t *out, fc_error_t *err) {
  uint32_t key[2];
  memcpy(key, request->keys.data + index * KEY_SIZE, sizeof key);
  if (key[0] > request->key_data.size ||
      key[1] > request->key_data.size - key[0]) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "key %zu lies outside the key data", index);
  }
  *out = fc_str_make(request->key_data.data + key[0], key[1]);
  return FC_OK;
}

static fc_status_t want(const fc_hal_archives_t *archives,
                        const parameter_request_t *request, size_t index,
                        wanted_t *out, fc_error_t *err) {
  fc_str_t key;
  uint64_t span[3];
  FC_TRY(read_key(request, index, &key, err));
  FC_TRY(find_parameter(archives, request->scope, key, out, err));
  memcpy(span, request->spans.data + index * SPAN_SIZE, sizeof span);
  out->offset = span[0];
  out->target_offset = span[1];
  out->size = span[2];
  const uint64_t have = out->parameter->size;
  if (out->offset > have || out->size > have - out->offset) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "bytes %" PRIu64 " to +%" PRIu64
                       " of a parameter of %" PRIu64 " bytes",
                       out->offset, out->size, have);
  }
  return FC_OK;
}

// Returns the work of getting a parameter, for fc_vm_work: the bytes that are used, and
// the bytes of the index in which it was found. Archives searched before that one are not
// counted.
static uint64_t work_of(const wanted_t *wanted) {
  return wanted->size + wanted->archive->file.count * sizeof(fc_parameter_t);
}

static void read_bytes(const wanted_t *wanted, uint8_t *out) {
  const fc_parameter_t *parameter = wanted->parameter;
  if (parameter->data) {
    if (wanted->size)
      memcpy(out, parameter->data + wanted->offset, wanted->size);
    return;
  }
  for (uint64_t i = 0; i < wanted->size; i++) {
    out[i] = parameter->pattern[(wanted->offset + i) % parameter->pattern_size];
  }
}

static fc_status_t make_buffer(fc_vm_heap_t *heap, const wanted_t *wanted,
                               fc_hal_buffer_t **out, fc_error_t *err) {
  uint8_t *data = wanted->parameter->data;
  if (data) data += wanted->offset;
  if (data && (uintptr_t)data % FC_HAL_ALIGNMENT == 0) {
    fc_vm_object_t *owner =
        (fc_vm_object_t *)(uintptr_t)&wanted->archive->owner.object;
    return fc_hal_buffer_wrap(heap, data, wanted->size, owner, out, err);
  }
  if (wanted->size > INT64_MAX) return fc_fail_memory(err);
  FC_TRY(fc_hal_buffer_create(heap, (int64_t)wanted->size, out, err));
  read_bytes(wanted, (*out)->data);
  return FC_OK;
}

static fc_status_t fill_list(const fc_vm_native_call_t *call,
                             const parameter_request_t *request,
                             fc_vm_list_t *list, fc_error_t *err) {
  for (uint32_t i = 0; i < (uint32_t)request->count; i++) {
    wanted_t wanted;
    fc_hal_buffer_t *buffer;
    FC_TRY(want(call->state, request, i, &wanted, err));
    FC_TRY(fc_vm_work(call->invocation, work_of(&wanted), err));
    FC_TRY(make_buffer(call->heap, &wanted, &buffer, err));
    fc_status_t status = fc_vm_list_set_ref(list, i, &buffer->object, err);
    if (status != FC_OK) {
      fc_vm_release(&buffer->object);
      return status;
    }
  }
  return FC_OK;
}

// Operands: (…, target affinity, memory types, usage, …) -> list of buffers
static fc_status_t load(fc_vm_native_call_t *call, fc_error_t *err) {
  parameter_request_t request;
  fc_vm_list_t *list;
  FC_TRY(read_request(call, 4, 8, &request, err));
  FC_TRY(fc_vm_list_create(call->heap, FC_VM_TYPE_HAL_BUFFER,
                           (uint32_t)request.count, &list, err));
  call->results[0].ref = &list->object;
  fc_status_t status = fc_vm_list_resize(list, (uint32_t)request.count, err);
  if (status == FC_OK) status = fill_list(call, &request, list, err);
  fc_hal_signal(request.signal, status);
  return status;
}

static fc_status_t gather_all(const fc_vm_native_call_t *call,
                              const parameter_request_t *request,
                              const fc_hal_buffer_t *target, fc_error_t *err) {
  for (size_t i = 0; i < request->count; i++) {
    wanted_t wanted;
    uint8_t *out;
    uint64_t size;
    FC_TRY(want(call->state, request, i, &wanted, err));
    FC_TRY(fc_vm_work(call->invocation, work_of(&wanted), err));
    if (wanted.size > INT64_MAX) return fc_fail_memory(err);
    FC_TRY(fc_hal_buffer_range(target, (int64_t)wanted.target_offset,
                               (int64_t)wanted.size, &out, &size, err));
    read_bytes(&wanted, out);
  }
  return FC_OK;
}

// Operands: (…, target buffer, …)
static fc_status_t gather(fc_vm_native_call_t *call, fc_error_t *err) {
  parameter_request_t request;
  const fc_hal_buffer_t *target;
  FC_TRY(read_request(call, 4, 6, &request, err));
  FC_TRY(fc_hal_argument(call, 5, FC_VM_TYPE_HAL_BUFFER, false, &target, err));
  fc_status_t status = gather_all(call, &request, target, err);
  fc_hal_signal(request.signal, status);
  return status;
}

// Refuses to write to archives, because other calls and other servers use them.
// IREE's tools also refuse this.
static fc_status_t refuse_first(const fc_vm_native_call_t *call,
                                const parameter_request_t *request,
                                fc_error_t *err) {
  fc_str_t key;
  wanted_t wanted;
  if (!request->count) return FC_OK;
  FC_TRY(read_key(request, 0, &key, err));
  FC_TRY(find_parameter(call->state, request->scope, key, &wanted, err));
  char shown[128];
  fc_escape(shown, sizeof shown, 80, key);
  return fc_hal_fail(err, FC_PERMISSION_DENIED,
                     "the module writes parameter '%s': archives are read only",
                     shown);
}

// Operands: (…, source buffer, scope, …)
static fc_status_t scatter(fc_vm_native_call_t *call, fc_error_t *err) {
  parameter_request_t request;
  const fc_hal_buffer_t *source;
  FC_TRY(read_request(call, 5, 6, &request, err));
  FC_TRY(fc_hal_argument(call, 4, FC_VM_TYPE_HAL_BUFFER, false, &source, err));
  fc_status_t status = refuse_first(call, &request, err);
  fc_hal_signal(request.signal, status);
  return status;
}

static const fc_vm_native_function_t functions[] = {
    {"gather", "0rIrrrrrrr_v", FC_VM_EFFECT_LONG | FC_VM_EFFECT_FENCE_DEVICE,
     gather},
    {"load", "0rIrrrIiirrr_r",
     FC_VM_EFFECT_LONG | FC_VM_EFFECT_FENCE_MAKE_DEVICE_AS(7), load},
    {"scatter", "0rIrrrrrrr_v", FC_VM_EFFECT_LONG | FC_VM_EFFECT_FENCE,
     scatter},
};

const fc_vm_native_module_t fc_vm_io_parameters = {
    .name = "io_parameters",
    .functions = functions,
    .function_count = FC_ARRAY_COUNT(functions)};
