// SPDX-License-Identifier: Apache-2.0
//
// Executables of VMVX: kernels are functions of a bytecode module. Workgroups run one
// after the other in the interpreter, which checks every access.
#include <inttypes.h>
#include <pthread.h>

#include "module/vm/bound.h"
#include "module/vm/context.h"
#include "module/vm/hal/executable_kind.h"
#include "module/vm/hal/scratch.h"
#include "module/vm/list.h"
#include "module/vm/verify.h"

#define VMVX_FORMAT "vmvx-bytecode-fb"
#define VMVX_CCONV "0rrriiiiiiiii_v"
#define VMVX_SET_CONSTANTS "__set_constants"
#define LOCAL_MEMORY_MAX (16u << 20)

// A VMVX kernel: an exported function and the facts in its attributes.
typedef struct kernel_t {
  fc_hal_kernel_t is;
  uint32_t function;
  uint32_t local_memory_size;
} kernel_t;

typedef struct vmvx_t {
  fc_hal_executable_t base;
  fc_vm_module_t *module;
  size_t tables_size;  // of `module` and `kernels`, counted in the heap
  fc_vm_context_t *context;
  kernel_t *kernels;
  uint32_t kernel_count;
  bool has_lock;
  bool serial;  // the module has globals: a dispatch holds `lock`
  bool heavy;   // one of its functions is too heavy for a call with a budget
  pthread_mutex_t lock;
} vmvx_t;

// Reads a decimal attribute; 0 when it is absent.
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
  *out = (kernel_t){.is.name = row->name, .function = row->function};
  FC_TRY(read_attr(function, FC_STR("constant_count"),
                   FC_DISPATCH_CONSTANTS_MAX, &out->is.constant_count, err));
  FC_TRY(read_attr(function, FC_STR("binding_count"), FC_DISPATCH_BINDINGS_MAX,
                   &out->is.binding_count, err));
  return read_attr(function, FC_STR("local_memory"), LOCAL_MEMORY_MAX,
                   &out->local_memory_size, err);
}

// True for a hook of the module, which is not a kernel. The whole name is compared,
// because names of kernels may also begin with "_".
static bool is_hook(fc_str_t name) {
  return fc_str_equal(name, FC_STR("__init")) ||
         fc_str_equal(name, FC_STR("__deinit")) ||
         fc_str_equal(name, FC_STR("__notify")) ||
         fc_str_equal(name, FC_STR(VMVX_SET_CONSTANTS));
}

static fc_status_t read_kernels(vmvx_t *vmvx, fc_error_t *err) {
  const fc_vm_module_t *module = vmvx->module;
  vmvx->kernels = fc_alloc_array(vmvx->base.object.heap->allocator,
                                 module->export_count, sizeof *vmvx->kernels);
  if (!vmvx->kernels) return fc_fail_memory(err);
  for (uint32_t i = 0; i < module->export_count; i++) {
    if (is_hook(module->exports[i].name)) continue;
    FC_TRY(read_kernel(module, &module->exports[i],
                       &vmvx->kernels[vmvx->kernel_count], err));
    vmvx->kernel_count++;
  }
  return FC_OK;
}

static fc_status_t set_constants(vmvx_t *vmvx, fc_vm_invocation_t *invocation,
                                 fc_str_t constants, fc_error_t *err) {
  const fc_vm_export_t *setter =
      fc_vm_module_find(vmvx->module, FC_STR(VMVX_SET_CONSTANTS));
  if (!setter || !constants.size) return FC_OK;
  const fc_vm_function_t *function = &vmvx->module->functions[setter->function];
  if (!fc_str_equal(function->cconv.arguments, FC_STR("r")) ||
      function->cconv.results.size) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   VMVX_SET_CONSTANTS " is not called as 0r_v");
  }
  fc_vm_buffer_t *buffer;
  FC_TRY(fc_vm_buffer_create(&vmvx->context->heap, constants.size, 16, &buffer,
                             err));
  memcpy(buffer->data, constants.data, constants.size);
  const fc_vm_raw_t arguments[] = {{.ref = &buffer->object}};
  fc_vm_raw_t none[1];
  fc_status_t status = fc_vm_call(vmvx->context, invocation, setter->function,
                                  arguments, none, err);
  fc_vm_release(&buffer->object);
  return status;
}

// Counts the memory of the executable's module and kernels in the heap, whose limit then
// holds for it: the calling module can make many executables from one constant.
static fc_status_t count_tables(vmvx_t *vmvx, fc_error_t *err) {
  const fc_vm_module_t *module = vmvx->module;
  const size_t size =
      module->arena.used + module->export_count * sizeof *vmvx->kernels;
  if (!fc_vm_heap_count(vmvx->base.object.heap, size, err)) {
    return FC_RESOURCE_EXHAUSTED;
  }
  vmvx->tables_size = size;
  return FC_OK;
}

static fc_status_t vmvx_open(fc_hal_executable_t *executable,
                             const fc_hal_state_t *state,
                             fc_vm_invocation_t *invocation, fc_str_t file,
                             fc_str_t constants, fc_error_t *err) {
  static const fc_vm_native_module_t *const no_natives[] = {NULL};
  (void)state;
  vmvx_t *vmvx = (vmvx_t *)executable;
  fc_vm_heap_t *heap = executable->object.heap;
  pthread_mutex_init(&vmvx->lock, NULL);
  vmvx->has_lock = true;
  FC_TRY(fc_vm_module_create((const uint8_t *)file.data, file.size,
                             heap->allocator, &vmvx->module, err));
  FC_TRY(fc_vm_verify(vmvx->module, err));
  FC_TRY(count_tables(vmvx, err));
  FC_TRY(fc_vm_context_create_inner(vmvx->module, no_natives, heap, invocation,
                                    &vmvx->context, err));
  vmvx->serial =
      vmvx->module->global_bytes > 0 || vmvx->module->global_refs > 0;
  vmvx->heavy = fc_vm_module_is_heavy(vmvx->module);
  FC_TRY(read_kernels(vmvx, err));
  return set_constants(vmvx, invocation, constants, err);
}

static void vmvx_close(fc_hal_executable_t *executable) {
  vmvx_t *vmvx = (vmvx_t *)executable;
  fc_vm_heap_t *heap = executable->object.heap;
  // The last reference may be released while no call is running, so __deinit
  // gets its own stack.
  fc_vm_context_close(vmvx->context);
  fc_vm_module_destroy(vmvx->module);
  fc_vm_heap_uncount(heap, vmvx->tables_size);
  fc_free(heap->allocator, vmvx->kernels);
  // This is also called when there was no memory to open the executable.
  if (vmvx->has_lock) pthread_mutex_destroy(&vmvx->lock);
}

static uint32_t vmvx_count(const fc_hal_executable_t *executable) {
  return ((const vmvx_t *)executable)->kernel_count;
}

static fc_hal_kernel_t vmvx_at(const fc_hal_executable_t *executable,
                               uint32_t index) {
  return ((const vmvx_t *)executable)->kernels[index].is;
}

static void destroy_window(fc_vm_object_t *object) {
  fc_vm_heap_free(object->heap, object, sizeof(fc_vm_buffer_t));
}

// Makes a !vm.buffer over memory of the dispatch. If a kernel keeps a
// reference, the buffer is empty after the dispatch.
static fc_status_t open_window(fc_vm_heap_t *heap, void *data, size_t size,
                               fc_vm_buffer_t **out, fc_error_t *err) {
  fc_vm_buffer_t *window = fc_vm_heap_alloc(heap, sizeof *window, 16, err);
  if (!window) return FC_RESOURCE_EXHAUSTED;
  fc_vm_object_init(&window->object, FC_VM_TYPE_BUFFER, destroy_window, heap);
  static uint8_t none[1];  // NULL would mean out of range
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

// The arguments of every workgroup of one dispatch.
typedef struct vmvx_run_t {
  fc_hal_scratch_t scratch;
  fc_vm_buffer_t *local_memory;
  fc_vm_buffer_t *constants;
  fc_vm_list_t *bindings;
  fc_vm_buffer_t *windows[FC_DISPATCH_BINDINGS_MAX];
} vmvx_run_t;

static fc_status_t open_local_memory(const vmvx_t *vmvx, fc_hal_pool_t *pool,
                                     size_t size, vmvx_run_t *run,
                                     fc_error_t *err) {
  FC_TRY(fc_hal_scratch_take(vmvx->base.object.heap, pool, size, &run->scratch,
                             err));
  if (size) memset(run->scratch.memory, 0, size);
  return open_window(&vmvx->context->heap, run->scratch.memory, size,
                     &run->local_memory, err);
}

static fc_status_t begin_run(const vmvx_t *vmvx, fc_hal_pool_t *pool,
                             const kernel_t *kernel,
                             const fc_hal_dispatch_t *dispatch, vmvx_run_t *run,
                             fc_error_t *err) {
  fc_vm_heap_t *heap = &vmvx->context->heap;
  FC_TRY(open_local_memory(vmvx, pool, kernel->local_memory_size, run, err));
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

static void end_run(const vmvx_t *vmvx, fc_hal_pool_t *pool, vmvx_run_t *run) {
  if (run->bindings) fc_vm_release(&run->bindings->object);
  for (size_t i = 0; i < FC_ARRAY_COUNT(run->windows); i++) {
    close_window(run->windows[i]);
  }
  close_window(run->constants);
  close_window(run->local_memory);
  fc_hal_scratch_give(vmvx->base.object.heap, pool, &run->scratch);
}

static fc_status_t run_workgroups(const vmvx_t *vmvx,
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
        FC_TRY(fc_vm_call(vmvx->context, invocation, kernel->function,
                          arguments, none, err));
      }
    }
  }
  return FC_OK;
}

static fc_status_t vmvx_run(fc_hal_executable_t *executable,
                            fc_vm_invocation_t *invocation,
                            const fc_hal_dispatch_t *dispatch,
                            fc_error_t *err) {
  vmvx_t *vmvx = (vmvx_t *)executable;
  const kernel_t *kernel = &vmvx->kernels[dispatch->function];
  vmvx_run_t run = {0};
  // A call with a budget can be given up, but not while a dispatch waits for another one
  // or is in the middle of a change. So such dispatches do not begin in it.
  if (invocation->budget && (vmvx->serial || vmvx->heavy)) {
    return fc_vm_give_up(invocation, err);
  }
  FC_TRY(fc_vm_work(invocation, kernel->local_memory_size, err));
  if (vmvx->serial) pthread_mutex_lock(&vmvx->lock);
  fc_hal_pool_t *pool = invocation->pool;
  fc_status_t status = begin_run(vmvx, pool, kernel, dispatch, &run, err);
  if (status == FC_OK) {
    status = run_workgroups(vmvx, invocation, kernel, dispatch, &run, err);
  }
  end_run(vmvx, pool, &run);
  if (vmvx->serial) pthread_mutex_unlock(&vmvx->lock);
  return status;
}

const fc_hal_kind_t fc_hal_kind_vmvx = {
    .format = {VMVX_FORMAT, sizeof VMVX_FORMAT - 1},
    .keeps_file = true,
    .size = sizeof(vmvx_t),
    .open = vmvx_open,
    .close = vmvx_close,
    .count = vmvx_count,
    .at = vmvx_at,
    .run = vmvx_run,
};
