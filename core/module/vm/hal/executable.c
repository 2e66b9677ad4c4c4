// SPDX-License-Identifier: Apache-2.0
//
// Makes executables and runs dispatches. Workgroups of machine code may run on several
// threads at once (tiles), those of VMVX run one after the other. The counts that a
// kernel gets were checked here, the ranges of buffers by the caller (command.c,
// loader.c). A kernel of machine code is trusted not to leave them; a VMVX kernel is
// bytecode, and every access of it is checked.
#include "module/vm/hal/executable.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/profile.h"
#include "module/vm/bound.h"
#include "module/vm/context.h"
#include "module/vm/hal/calls.h"
#include "module/vm/hal/pool.h"
#include "module/vm/list.h"
#include "module/vm/verify.h"

#define VMVX_FORMAT "vmvx-bytecode-fb"
#define VMVX_CCONV "0rrriiiiiiiii_v"
#define VMVX_SET_CONSTANTS "__set_constants"
#define LOCAL_MEMORY_MAX (16u << 20)
#define WORK_PER_BYTE 16  // for reading and verifying a module
#define WORK_PER_NAME 64  // for comparing it

// A VMVX kernel: an exported function and what its attributes say.
typedef struct kernel_t {
  fc_str_t name;
  uint32_t function;
  uint32_t constant_count;
  uint32_t binding_count;
  uint32_t local_memory_size;
} kernel_t;

struct fc_hal_executable_t {
  fc_vm_object_t object;
  fc_library_t *library;   // machine code, or
  fc_vm_module_t *module;  // bytecode
  uint8_t *file;           // what `module` was read from
  size_t file_size;
  size_t tables_size;  // of `module` and `kernels`, counted in the heap
  fc_vm_context_t *context;
  kernel_t *kernels;
  uint32_t kernel_count;
  bool serial;  // the module has globals: a dispatch holds `lock`
  bool heavy;   // a function of it is too heavy for a call with a budget
  pthread_mutex_t lock;
};

static bool is_vmvx(fc_str_t format) {
  return fc_str_equal(format, FC_STR(VMVX_FORMAT));
}

bool fc_hal_format_is_supported(fc_str_t format) {
  return is_vmvx(format) ||
         (format.size && fc_str_equal(format, FC_STR(FC_HAL_ELF_FORMAT)));
}

static void drop_file(fc_hal_executable_t *executable) {
  if (!executable->file) return;
  fc_vm_heap_free(executable->object.heap, executable->file,
                  executable->file_size);
  executable->file = NULL;
}

static void destroy_executable(fc_vm_object_t *object) {
  fc_hal_executable_t *executable = (fc_hal_executable_t *)object;
  const fc_allocator_t allocator = object->heap->allocator;
  fc_library_close(executable->library);
  // The last reference can be released while no call is running, so __deinit gets a
  // stack of its own.
  fc_vm_context_close(executable->context);
  fc_vm_module_destroy(executable->module);
  fc_vm_heap_uncount(object->heap, executable->tables_size);
  drop_file(executable);
  fc_free(allocator, executable->kernels);
  pthread_mutex_destroy(&executable->lock);
  fc_vm_heap_free(object->heap, executable, sizeof *executable);
}

// ---------------------------------------------------------------------------
// Machine code

static fc_status_t open_library(const fc_hal_state_t *state,
                                fc_hal_executable_t *executable, fc_str_t data,
                                fc_str_t constants, fc_error_t *err) {
  const fc_allocator_t allocator = executable->object.heap->allocator;
  fc_elf_t *elf;
  FC_TRY(fc_elf_load(data, allocator, &elf, err));
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
                         &executable->library, err);
}

// The local memory of all parts of a dispatch. If the worker has a pool, the memory comes
// from that, so that a warm worker need not allocate it.
typedef struct scratch_t {
  void *memory;
  size_t size;
} scratch_t;

static fc_status_t take_scratch(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                                size_t size, scratch_t *out, fc_error_t *err) {
  *out = (scratch_t){.size = size};
  if (!size) return FC_OK;
  out->memory = pool ? fc_hal_pool_take(pool, size, &out->size, err)
                     : fc_vm_heap_alloc(heap, size, FC_HAL_ALIGNMENT, err);
  return out->memory ? FC_OK : FC_RESOURCE_EXHAUSTED;
}

static void give_scratch(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                         const scratch_t *scratch) {
  if (!scratch->memory) return;
  if (pool) fc_hal_pool_give(pool, scratch->memory, scratch->size);
  else fc_vm_heap_free(heap, scratch->memory, scratch->size);
}

// Counts the work of a kernel as the bytes of its bindings, because how long it will take
// is not known. Without this, a command buffer of many small grids would never look at
// the clock: such a grid does not do so itself.
static fc_status_t count_work(fc_vm_invocation_t *invocation,
                              const fc_hal_dispatch_t *dispatch,
                              fc_error_t *err) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    bytes += dispatch->binding_sizes[i];
  }
  return fc_vm_work(invocation, bytes, err);
}

static fc_status_t run_library(const fc_hal_executable_t *executable,
                               fc_vm_invocation_t *invocation,
                               const fc_hal_dispatch_t *dispatch,
                               fc_error_t *err) {
  FC_TRY(count_work(invocation, dispatch, err));
  const size_t index = (size_t)dispatch->function;
  const fc_library_t *library = executable->library;
  fc_vm_heap_t *heap = executable->object.heap;
  const uint32_t parts =
      fc_library_parts(library, index, dispatch->count, invocation->tiles);
  scratch_t scratch;
  FC_TRY(take_scratch(
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
  give_scratch(heap, invocation->pool, &scratch);
  return status;
}

// ---------------------------------------------------------------------------
// VMVX

// A decimal attribute; 0 when absent.
static fc_status_t read_attr(const fc_vm_function_t *function, fc_str_t key,
                             uint32_t limit, uint32_t *out, fc_error_t *err) {
  const fc_str_t text = fc_vm_function_attr(function, key);
  uint32_t value = 0;
  for (size_t i = 0; i < text.size; i++) {
    const char c = text.data[i];
    const uint32_t digit = (uint32_t)(c - '0');
    if (c < '0' || c > '9' || value > limit || value * 10 + digit > limit) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "kernel attribute '%.*s' is no number up to %" PRIu32,
                     FC_STR_ARG(key), limit);
    }
    value = value * 10 + digit;
  }
  *out = value;
  return FC_OK;
}

static fc_status_t read_kernel(const fc_vm_module_t *module,
                               const fc_vm_export_t *row, kernel_t *out,
                               fc_error_t *err) {
  const fc_vm_function_t *function = &module->functions[row->function];
  if (!fc_str_equal(function->cconv_text, FC_STR(VMVX_CCONV))) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "kernel '%.*s' is called as %.*s, expected " VMVX_CCONV,
                   FC_STR_ARG(row->name), FC_STR_ARG(function->cconv_text));
  }
  *out = (kernel_t){.name = row->name, .function = row->function};
  FC_TRY(read_attr(function, FC_STR("constant_count"),
                   FC_DISPATCH_CONSTANTS_MAX, &out->constant_count, err));
  FC_TRY(read_attr(function, FC_STR("binding_count"), FC_DISPATCH_BINDINGS_MAX,
                   &out->binding_count, err));
  return read_attr(function, FC_STR("local_memory"), LOCAL_MEMORY_MAX,
                   &out->local_memory_size, err);
}

// The hooks of the module are no kernels. They are told by their whole names, because
// names of kernels may begin with "_", too.
static bool is_hook(fc_str_t name) {
  return fc_str_equal(name, FC_STR("__init")) ||
         fc_str_equal(name, FC_STR("__deinit")) ||
         fc_str_equal(name, FC_STR("__notify")) ||
         fc_str_equal(name, FC_STR(VMVX_SET_CONSTANTS));
}

static fc_status_t read_kernels(fc_hal_executable_t *executable,
                                fc_error_t *err) {
  const fc_vm_module_t *module = executable->module;
  executable->kernels =
      fc_alloc_array(executable->object.heap->allocator, module->export_count,
                     sizeof *executable->kernels);
  if (!executable->kernels) return fc_fail_memory(err);
  for (uint32_t i = 0; i < module->export_count; i++) {
    if (is_hook(module->exports[i].name)) continue;
    FC_TRY(read_kernel(module, &module->exports[i],
                       &executable->kernels[executable->kernel_count], err));
    executable->kernel_count++;
  }
  return FC_OK;
}

static fc_status_t set_constants(fc_hal_executable_t *executable,
                                 fc_vm_invocation_t *invocation,
                                 fc_str_t constants, fc_error_t *err) {
  const fc_vm_export_t *setter =
      fc_vm_module_find(executable->module, FC_STR(VMVX_SET_CONSTANTS));
  if (!setter || !constants.size) return FC_OK;
  const fc_vm_function_t *function =
      &executable->module->functions[setter->function];
  if (!fc_str_equal(function->cconv.arguments, FC_STR("r")) ||
      function->cconv.results.size) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   VMVX_SET_CONSTANTS " is not called as 0r_v");
  }
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(&executable->context->heap, constants.size, 16,
                             &buffer, err));
  memcpy(buffer->data, constants.data, constants.size);
  const fc_vm_raw_t arguments[] = {{.ref = &buffer->object}};
  fc_vm_raw_t none[1];
  fc_status_t status = fc_vm_call(executable->context, invocation,
                                  setter->function, arguments, none, err);
  fc_vm_release(&buffer->object);
  return status;
}

// Counts the tables of the executable's module, and of its kernels, in the heap, because
// the calling module can make any number of executables of one constant.
static fc_status_t count_tables(fc_hal_executable_t *executable,
                                fc_error_t *err) {
  const fc_vm_module_t *module = executable->module;
  const size_t size =
      module->arena.used + module->export_count * sizeof *executable->kernels;
  if (!fc_vm_heap_count(executable->object.heap, size, err)) {
    return FC_RESOURCE_EXHAUSTED;
  }
  executable->tables_size = size;
  return FC_OK;
}

static fc_status_t open_vmvx(fc_hal_executable_t *executable,
                             fc_vm_invocation_t *invocation, fc_str_t data,
                             fc_str_t constants, fc_error_t *err) {
  static const fc_vm_native_module_t *const no_natives[] = {NULL};
  const fc_allocator_t allocator = executable->object.heap->allocator;
  FC_TRY(fc_vm_module_create((const uint8_t *)data.data, data.size, allocator,
                             &executable->module, err));
  FC_TRY(fc_vm_verify(executable->module, err));
  FC_TRY(count_tables(executable, err));
  FC_TRY(fc_vm_context_create_inner(executable->module, no_natives,
                                    executable->object.heap, invocation,
                                    &executable->context, err));
  executable->serial = executable->module->global_bytes > 0 ||
                       executable->module->global_refs > 0;
  executable->heavy = fc_vm_module_is_heavy(executable->module);
  FC_TRY(read_kernels(executable, err));
  return set_constants(executable, invocation, constants, err);
}

static void destroy_window(fc_vm_object_t *object) {
  fc_vm_heap_free(object->heap, object, sizeof(fc_vm_buffer_t));
}

// A !vm.buffer over memory of the dispatch. A kernel that keeps a reference is
// left with an empty buffer when the dispatch is over.
static fc_status_t open_window(fc_vm_heap_t *heap, void *data, size_t size,
                               fc_vm_buffer_t **out, fc_error_t *err) {
  fc_vm_buffer_t *window = fc_vm_heap_alloc(heap, sizeof *window, 16, err);
  if (!window) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&window->object, FC_VM_TYPE_BUFFER, destroy_window, heap);
  static uint8_t none[1];  // not NULL, which would read as out of range
  window->data = data ? data : none;
  window->size = size;
  *out = window;
  return FC_OK;
}

static void close_window(fc_vm_buffer_t *window) {
  if (!window) return;
  window->data = NULL;
  window->size = 0;
  fc_vm_release(&window->object);
}

// What every workgroup of one dispatch is given.
typedef struct vmvx_run_t {
  scratch_t scratch;
  fc_vm_buffer_t *local_memory;
  fc_vm_buffer_t *constants;
  fc_vm_list_t *bindings;
  fc_vm_buffer_t *windows[FC_DISPATCH_BINDINGS_MAX];
} vmvx_run_t;

static fc_status_t open_local_memory(const fc_hal_executable_t *executable,
                                     fc_hal_pool_t *pool, size_t size,
                                     vmvx_run_t *run, fc_error_t *err) {
  FC_TRY(take_scratch(executable->object.heap, pool, size, &run->scratch, err));
  if (size) memset(run->scratch.memory, 0, size);
  return open_window(&executable->context->heap, run->scratch.memory, size,
                     &run->local_memory, err);
}

static fc_status_t begin_run(const fc_hal_executable_t *executable,
                             fc_hal_pool_t *pool, const kernel_t *kernel,
                             const fc_hal_dispatch_t *dispatch, vmvx_run_t *run,
                             fc_error_t *err) {
  fc_vm_heap_t *heap = &executable->context->heap;
  FC_TRY(
      open_local_memory(executable, pool, kernel->local_memory_size, run, err));
  FC_TRY(open_window(heap, (void *)(uintptr_t)dispatch->constants,
                     dispatch->constant_count * sizeof(uint32_t),
                     &run->constants, err));
  run->constants->read_only = true;
  FC_TRY(fc_vm_list_create(heap, FC_VM_TYPE_BUFFER, dispatch->binding_count,
                           &run->bindings, err));
  FC_TRY(fc_vm_list_resize(run->bindings, dispatch->binding_count, err));
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    FC_TRY(open_window(heap, dispatch->bindings[i], dispatch->binding_sizes[i],
                       &run->windows[i], err));
    fc_vm_object_t *object = fc_vm_retain(&run->windows[i]->object);
    fc_status_t status = fc_vm_list_set_ref(run->bindings, i, object, err);
    if (status != FC_OK) {
      fc_vm_release(object);
      return status;
    }
  }
  return FC_OK;
}

static void end_run(const fc_hal_executable_t *executable, fc_hal_pool_t *pool,
                    vmvx_run_t *run) {
  if (run->bindings) fc_vm_release(&run->bindings->object);
  for (size_t i = 0; i < FC_ARRAY_COUNT(run->windows); i++) {
    close_window(run->windows[i]);
  }
  close_window(run->constants);
  close_window(run->local_memory);
  give_scratch(executable->object.heap, pool, &run->scratch);
}

static fc_status_t run_workgroups(const fc_hal_executable_t *executable,
                                  fc_vm_invocation_t *invocation,
                                  const kernel_t *kernel,
                                  const fc_hal_dispatch_t *dispatch,
                                  const vmvx_run_t *run, fc_error_t *err) {
  fc_vm_raw_t arguments[12] = {{.ref = &run->local_memory->object},
                               {.ref = &run->constants->object},
                               {.ref = &run->bindings->object}};
  fc_vm_raw_t none[1];
  for (size_t i = 0; i < 3; i++) {
    arguments[6 + i].i32 = 1;  // workgroup size
    arguments[9 + i].i32 = (int32_t)dispatch->count[i];
  }
  for (uint32_t z = 0; z < dispatch->count[2]; z++) {
    arguments[5].i32 = (int32_t)z;
    for (uint32_t y = 0; y < dispatch->count[1]; y++) {
      arguments[4].i32 = (int32_t)y;
      for (uint32_t x = 0; x < dispatch->count[0]; x++) {
        arguments[3].i32 = (int32_t)x;
        FC_TRY(fc_vm_call(executable->context, invocation, kernel->function,
                          arguments, none, err));
      }
    }
  }
  return FC_OK;
}

static fc_status_t run_vmvx(fc_hal_executable_t *executable,
                            fc_vm_invocation_t *invocation,
                            const fc_hal_dispatch_t *dispatch,
                            fc_error_t *err) {
  const kernel_t *kernel = &executable->kernels[dispatch->function];
  vmvx_run_t run = {0};
  // A dispatch that waits for another, or is over in the middle of what it changes, cannot
  // be given up.
  if (invocation->budget && (executable->serial || executable->heavy)) {
    return fc_vm_give_up(invocation, err);
  }
  FC_TRY(fc_vm_work(invocation, kernel->local_memory_size, err));
  if (executable->serial) pthread_mutex_lock(&executable->lock);
  fc_hal_pool_t *pool = invocation->pool;
  fc_status_t status = begin_run(executable, pool, kernel, dispatch, &run, err);
  if (status == FC_OK) {
    status =
        run_workgroups(executable, invocation, kernel, dispatch, &run, err);
  }
  end_run(executable, pool, &run);
  if (executable->serial) pthread_mutex_unlock(&executable->lock);
  return status;
}

// ---------------------------------------------------------------------------
// Machine code and VMVX

// Copies the bytes of the executable before they are verified. The constants of a large
// module lie in a mapping of its file: without the copy, a write to the file would change
// bytes that were verified.
static fc_status_t copy_file(fc_hal_executable_t *executable, fc_str_t data,
                             fc_str_t *out, fc_error_t *err) {
  executable->file_size = data.size + 1;
  executable->file =
      fc_vm_heap_alloc(executable->object.heap, executable->file_size, 64, err);
  if (!executable->file) return FC_RESOURCE_EXHAUSTED;
  if (data.size) memcpy(executable->file, data.data, data.size);
  *out = fc_str_make((const char *)executable->file, data.size);
  return FC_OK;
}

static fc_status_t open_executable(const fc_hal_state_t *state,
                                   fc_hal_executable_t *executable,
                                   fc_vm_invocation_t *invocation, bool vmvx,
                                   fc_str_t data, fc_str_t constants,
                                   fc_error_t *err) {
  FC_TRY(copy_file(executable, data, &data, err));
  if (vmvx) {
    return open_vmvx(executable, invocation, data, constants, err);
  }
  fc_status_t status = open_library(state, executable, data, constants, err);
  drop_file(executable);  // the mapped image is a copy, so the file can go
  return status;
}

fc_status_t fc_hal_executable_create(
    const fc_hal_state_t *state, fc_vm_heap_t *heap,
    fc_vm_invocation_t *invocation, fc_str_t format, fc_str_t data,
    fc_str_t constants, fc_hal_executable_t **out, fc_error_t *err) {
  // Whether the format is VMVX's is decided once: the format lies in memory of the
  // module, which another call of the module may write meanwhile.
  const bool vmvx = is_vmvx(format);
  if (!(vmvx || state->allow_native) || !fc_hal_format_is_supported(format)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, format);
    return fc_hal_fail(err, FC_UNIMPLEMENTED,
                       "executables of format '%s' do not run here%s", shown,
                       state->allow_native ? "" : " (native code is off)");
  }
  if (constants.size % sizeof(uint32_t)) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "executable constants of %zu bytes are no 32-bit words",
                       constants.size);
  }
  FC_TRY(fc_vm_work(invocation, (uint64_t)data.size * WORK_PER_BYTE, err));
  fc_hal_executable_t *executable =
      fc_vm_heap_alloc(heap, sizeof *executable, 16, err);
  if (!executable) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&executable->object, FC_VM_TYPE_HAL_EXECUTABLE,
                    destroy_executable, heap);
  pthread_mutex_init(&executable->lock, NULL);
  fc_status_t status = open_executable(state, executable, invocation, vmvx,
                                       data, constants, err);
  if (status != FC_OK) {
    fc_vm_release(&executable->object);
    return status;
  }
  *out = executable;
  return FC_OK;
}

fc_status_t fc_hal_executable_from_call(fc_vm_native_call_t *call,
                                        uint32_t first, fc_error_t *err) {
  fc_str_t format, data, constants;
  FC_TRY(fc_hal_text(call, first, &format, err));
  FC_TRY(fc_hal_text(call, first + 1, &data, err));
  FC_TRY(fc_hal_text(call, first + 2, &constants, err));
  const fc_vm_object_t *source = call->arguments[first + 1].ref;
  if (!source || !source->immortal) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "executables are made from constants of the module");
  }
  fc_hal_executable_t *executable;
  FC_TRY(fc_hal_executable_create(call->state, call->heap, call->invocation,
                                  format, data, constants, &executable, err));
  call->results[0].ref = &executable->object;
  return FC_OK;
}

static uint32_t function_count(const fc_hal_executable_t *executable) {
  return executable->library ? (uint32_t)fc_library_count(executable->library)
                             : executable->kernel_count;
}

static fc_str_t function_name(const fc_hal_executable_t *executable,
                              uint32_t index) {
  return executable->library ? fc_library_at(executable->library, index)->name
                             : executable->kernels[index].name;
}

fc_status_t fc_hal_executable_lookup(const fc_hal_executable_t *executable,
                                     fc_vm_invocation_t *invocation,
                                     fc_str_t name, int64_t *out_id,
                                     fc_error_t *err) {
  const uint64_t work = (uint64_t)function_count(executable) * WORK_PER_NAME;
  FC_TRY(fc_vm_work(invocation, work, err));
  for (uint32_t i = 0; i < function_count(executable); i++) {
    if (!fc_str_equal(function_name(executable, i), name)) continue;
    *out_id = i;
    return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_hal_fail(err, FC_NOT_FOUND, "the executable has no function '%s'",
                     shown);
}

static void enter_dispatch(const fc_hal_executable_t *executable,
                           fc_profile_t *profile,
                           const fc_hal_dispatch_t *dispatch) {
  const uint32_t index = (uint32_t)dispatch->function;
  fc_profile_place_t place = {.kind = FC_PROFILE_DISPATCH,
                              .key = executable,
                              .index = index,
                              .name = function_name(executable, index)};
  memcpy(place.grid, dispatch->count, sizeof place.grid);
  for (uint32_t i = 0; i < dispatch->binding_count; i++) {
    place.bytes += dispatch->binding_sizes[i];
  }
  fc_profile_enter(profile, &place);
}

static fc_status_t check_dispatch(const fc_hal_executable_t *executable,
                                  const fc_hal_dispatch_t *dispatch,
                                  fc_error_t *err) {
  const uint32_t count = function_count(executable);
  if (dispatch->function < 0 || dispatch->function >= (int64_t)count) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "dispatch of function %" PRId64 " of %" PRIu32,
                       dispatch->function, count);
  }
  const size_t index = (size_t)dispatch->function;
  const kernel_t *kernel =
      executable->library ? NULL : &executable->kernels[index];
  const fc_entry_point_t *entry =
      kernel ? NULL : fc_library_at(executable->library, index);
  const uint32_t constants =
      kernel ? kernel->constant_count : entry->constant_count;
  const uint32_t bindings =
      kernel ? kernel->binding_count : entry->binding_count;
  if (dispatch->constant_count != constants ||
      dispatch->binding_count != bindings) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "dispatch of function %zu with %" PRIu32
                       " constants and %" PRIu32 " bindings, it takes %" PRIu32
                       " and %" PRIu32,
                       index, dispatch->constant_count, dispatch->binding_count,
                       constants, bindings);
  }
  if (dispatch->count[2] > UINT16_MAX) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "dispatch of %" PRIu32 " workgroups in z, at most %d",
                       dispatch->count[2], UINT16_MAX);
  }
  return FC_OK;
}

fc_status_t fc_hal_executable_run(fc_hal_executable_t *executable,
                                  fc_vm_invocation_t *invocation,
                                  const fc_hal_dispatch_t *dispatch,
                                  fc_error_t *err) {
  FC_TRY(check_dispatch(executable, dispatch, err));
  const uint32_t *count = dispatch->count;
  // With a count of zero there is nothing to run. If that count is count[0],
  // run_workgroups would still loop over the other two, up to 2^48 times, and would never
  // look at the deadline: only its inner loop does.
  if (!count[0] || !count[1] || !count[2]) {
    return fc_vm_work(invocation, 0, err);
  }
  fc_profile_t *profile = invocation->profile;
  if (FC_UNLIKELY(profile)) enter_dispatch(executable, profile, dispatch);
  fc_status_t status = executable->library
                           ? run_library(executable, invocation, dispatch, err)
                           : run_vmvx(executable, invocation, dispatch, err);
  if (FC_UNLIKELY(profile)) fc_profile_leave(profile);
  return status;
}

// ---------------------------------------------------------------------------
// hal.executable.*

// (device, format, data, constants) in hal 5, later (device, affinity, format, …)
FC_HAL_CALL(executable_create_5) {
  return fc_hal_executable_from_call(call, 1, err);
}
FC_HAL_CALL(executable_create) {
  return fc_hal_executable_from_call(call, 2, err);
}

// (executable, name) -> id
FC_HAL_CALL(executable_lookup) {
  fc_hal_executable_t *executable;
  fc_str_t name;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_EXECUTABLE, false, &executable,
                         err));
  FC_TRY(fc_hal_text(call, 1, &name, err));
  return fc_hal_executable_lookup(executable, call->invocation, name,
                                  &call->results[0].i64, err);
}
