// SPDX-License-Identifier: Apache-2.0
//
// The vm backend. A module has one context, which is made together with the
// first instance, so a process that only lists a module never runs its __init.
// An instance is a worker's stack and its memory. Calls of a stateless module
// share the context without a lock; calls of a stateful module hold the module's
// lock. With private state every instance has its own context and needs no lock.
#include "module/vm/backend.h"

#include <pthread.h>
#include <stdio.h>

#include "abi/document.h"
#include "abi/walk.h"
#include "base/quota.h"
#include "base/units.h"
#include "module/snapshot.h"
#include "module/vm/analysis.h"
#include "module/vm/archive.h"
#include "module/vm/bound.h"
#include "module/vm/bridge.h"
#include "module/vm/cache.h"
#include "module/vm/context.h"
#include "module/vm/hal/hal.h"
#include "module/vm/hal/io_parameters.h"
#include "module/vm/hal/pool.h"
#include "module/vm/hal/preflight.h"
#include "module/vm/opened.h"
#include "module/vm/verify.h"

// Seconds for __init. If __init once took longer, no more instances are made.
#define INIT_SECONDS 9  // less than a server gives a worker process to start
// Files of more bytes are mapped, not copied, because they are mostly weights.
#define SEALED_MAX ((size_t)16 << 20)
// The names of the options.
#define STATE "vm.state"
#define PARAMETERS "vm.parameters"
#define HEAP "vm.heap"

const fc_vm_native_module_t *const fc_vm_natives[] = {
    &fc_vm_hal, &fc_vm_hal_inline, &fc_vm_hal_loader, &fc_vm_io_parameters,
    NULL};

_Static_assert(FC_ARRAY_COUNT(fc_vm_natives) == FC_VM_NATIVES, "opened.h");

typedef fc_vm_opened_t module_t;

typedef fc_vm_instance_t instance_t;

// ---------------------------------------------------------------------------
// Modules

static void vm_close(void *handle) {
  module_t *m = handle;
  fc_vm_context_close(m->context);
  for (size_t i = 0; i < m->info.count; i++) {
    fc_signature_destroy(m->signatures[i]);
  }
  fc_arena_deinit(&m->arena);
  fc_names_destroy(m->names);
  fc_vm_module_destroy(m->module);
  fc_hal_archives_close(&m->archives);
  pthread_mutex_destroy(&m->lock);
  fc_free(m->allocator, m);
}

// Chooses which of the server's natives this module may use.
static void choose_natives(module_t *m, bool allow_native) {
  m->io_parameters = fc_vm_io_parameters;
  m->io_parameters.shared = &m->archives;
  for (size_t i = 0; i < FC_ARRAY_COUNT(fc_vm_natives); i++) {
    const fc_vm_native_module_t *native = fc_vm_natives[i];
    if (native == &fc_vm_io_parameters) native = &m->io_parameters;
    if (native == &fc_vm_hal && !allow_native) native = &fc_vm_hal_sandboxed;
    if (native == &fc_vm_hal_loader && !allow_native) {
      native = &fc_vm_hal_loader_sandboxed;
    }
    m->natives[i] = native;
  }
}

// Refuses machine code if it is forbidden or cannot run here. *out_stated is false if
// there is machine code, but the module does not say for which processor it was
// compiled.
static fc_status_t check_machine_code(module_t *m, bool allowed,
                                      bool *out_stated, fc_error_t *err) {
  *out_stated = true;
  m->info.runs_native = m->module->has_elf;
  if (!m->info.runs_native) return FC_OK;
  if (!allowed) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "the module contains machine code, which is not allowed "
                   "here; compile it for vmvx");
  }
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  return fc_hal_check_features(m->module, &cpu, out_stated, err);
}

// Counts the tensors with dims in this argument. Sets *out_unnamed when one of them has
// dynamic dims but no named dim. One name is enough: it shows that the author of the
// names has considered this tensor.
static size_t count_tensors(const fc_signature_t *signature, uint32_t node,
                            bool *out_unnamed) {
  size_t count = 0;
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    const fc_type_t *type = walk.type;
    if (walk.leave || type->kind != FC_TYPE_TENSOR || !type->rank) continue;
    count++;
    const int64_t *dims = fc_signature_dims(signature, type);
    bool dynamic = type->rank < 0, named = false;
    for (int32_t i = 0; i < type->rank; i++) {
      dynamic = dynamic || dims[i] < 0;
      named = named || fc_dim_is_named(dims[i]);
    }
    if (dynamic && !named) *out_unnamed = true;
  }
  return count;
}

// True when dims of two arguments may disagree without being noticed.
static bool may_disagree(const fc_signature_t *signature) {
  size_t tensors = 0;
  bool unnamed = false;
  if (!signature->trusts_dims) return false;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    tensors += count_tensors(signature, signature->arguments[i].type, &unnamed);
  }
  return tensors > 1 && unnamed;
}

// Writes the warnings that are logged once for the module.
static void warn(module_t *m, bool features_stated, bool foreign_sidecar) {
  size_t trusting = 0, callable = 0, used = 0;
  for (size_t i = 0; i < m->info.count; i++) {
    if (may_disagree(m->signatures[i])) trusting++;
    if (m->signatures[i]->callable) callable++;
  }
  char *text = m->warning;
  const size_t size = sizeof m->warning;  // room for all three texts
  if (trusting) {
    used += (size_t)snprintf(
        text, size,
        "%zu of %zu functions are machine code with dynamic shapes, which does "
        "not check that the dims of its arguments agree: give those that must "
        "one name, in \"dims\" of a sidecar",
        trusting, m->info.count);
  }
  if (!features_stated && callable) {
    used += (size_t)snprintf(
        text + used, size - used,
        "%sthe module's machine code does not say which processor it was "
        "compiled for",
        used ? "; " : "");
  }
  if (foreign_sidecar) {
    used += (size_t)snprintf(text + used, size - used,
                             "%sits sidecar describes a native module and is "
                             "not used: \"abi\" is \"module\" where it is to "
                             "give names",
                             used ? "; " : "");
  }
  m->info.warning = fc_str_make(text, used);
}

// True when calls of the module read mapped files. If such a file is cut short,
// reading a page after its end ends the process.
static bool maps_files(const module_t *m, const fc_module_source_t *source) {
  bool archives = false;
  for (uint32_t i = 0; i < m->module->import_count; i++) {
    archives = archives || fc_str_equal(m->module->imports[i].module,
                                        fc_str(fc_vm_io_parameters.name));
  }
  return !source->file.sealed ||
         (archives && fc_source_setting(source, PARAMETERS).size > 0);
}

// Reads the sidecar, if it adds names to the module's own description. A sidecar that
// describes a native module belongs to a .so file of the same name, and is not used.
static fc_status_t read_names(module_t *m, const fc_module_source_t *source,
                              bool *out_foreign, fc_error_t *err) {
  *out_foreign = false;
  if (!source->sidecar.bytes.data) return FC_OK;
  const fc_status_t status =
      fc_names_parse(source->sidecar.bytes, true, m->allocator, &m->names, err);
  *out_foreign = status == FC_NOT_FOUND;
  if (*out_foreign) return FC_OK;
  FC_TRY(status);
  return fc_doc_check_hash(m->names->so_sha256, source->sha256, err);
}

// Applies the option vm.state, which says whether instances share the module's state.
// Before the call, info.serial must say whether the module has state.
static fc_status_t choose_state(module_t *m, fc_str_t state, fc_error_t *err) {
  if (fc_str_equal(state, FC_STR("shared"))) {
    m->info.serial = true;
  } else if (fc_str_equal(state, FC_STR("private"))) {
    m->info.private_state = true;
    m->info.serial = false;
  } else if (state.size && !fc_str_equal(state, FC_STR("auto"))) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, state);
    return fc_fail_as(err, FC_CODE_MODULE_LOAD, FC_INVALID_ARGUMENT,
                      "'" STATE "' is '%s': auto, shared or private", shown);
  }
  return FC_OK;
}

// Applies the option vm.heap.
static fc_status_t choose_heap(module_t *m, fc_str_t heap, fc_error_t *err) {
  uint64_t size = 0;
  if (heap.size &&
      !fc_units_parse(heap, fc_units_bytes, FC_UNITS_BYTES_MAX, &size)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, heap);
    return fc_fail_as(err, FC_CODE_MODULE_LOAD, FC_INVALID_ARGUMENT,
                      "'" HEAP "' is '%s': bytes, as 65536, 64k, 2M or 1G",
                      shown);
  }
  m->heap_size = (size_t)size;
  return FC_OK;
}

// Finds out, for each listed function, what limits the time of its calls. There is no
// limit if calls take turns, or if the state belongs to an instance: such a call must not
// be given up, because its changes would stay. Nor is there one if machine code runs,
// or if calls may wait for pages of a file.
static fc_status_t bound(module_t *m, bool waits, fc_error_t *err) {
  if (m->info.serial || m->info.private_state || m->info.runs_native || waits) {
    return FC_OK;
  }
  uint8_t *all = fc_alloc(m->allocator, m->module->function_count + 1u);
  uint8_t *listed = fc_arena_alloc_array(&m->arena, m->info.count + 1, 1);
  fc_status_t status = all && listed ? FC_OK : fc_fail_memory(err);
  if (status == FC_OK) {
    status = fc_vm_module_bound(m->module, fc_vm_natives, all, err);
  }
  for (size_t i = 0; status == FC_OK && i < m->info.count; i++) {
    // A call of a function that needs transients may first run another function, which
    // computes their size: then there is no limit.
    if (!m->listed[i].transients.size_function) {
      listed[i] = all[m->listed[i].function];
    }
  }
  fc_free(m->allocator, all);
  if (status == FC_OK) m->info.bounds = listed;
  return status;
}

static fc_status_t fill(module_t *m, const fc_module_source_t *source,
                        fc_error_t *err) {
  bool features_stated;
  m->file = source->file;
  FC_TRY(fc_vm_module_open(&source->file, m->allocator, &m->module, err));
  FC_TRY(fc_vm_verify(m->module, err));
  FC_TRY(
      fc_vm_module_is_stateful(m->module, fc_vm_natives, &m->info.serial, err));
  FC_TRY(choose_state(m, fc_source_setting(source, STATE), err));
  FC_TRY(choose_heap(m, fc_source_setting(source, HEAP), err));
  FC_TRY(check_machine_code(m, source->allow_native, &features_stated, err));
  // A module without machine code gets natives that refuse to run any. Otherwise machine
  // code that is written into a mapped file after the check above could run.
  choose_natives(m, m->info.runs_native);
  m->info.described =
      source->describe_native && (m->info.runs_native || maps_files(m, source));
  if (!m->info.described) {
    FC_TRY(fc_snapshot_allow_writes(&source->file, err));
    FC_TRY(fc_hal_archives_open(&m->archives,
                                fc_source_setting(source, PARAMETERS),
                                m->allocator, err));
  }
  bool foreign;
  FC_TRY(read_names(m, source, &foreign, err));
  FC_TRY(fc_vm_opened_list(m, err));
  FC_TRY(bound(m, maps_files(m, source), err));
  if (m->names) FC_TRY(fc_names_finish(m->names, err));
  fc_names_destroy(m->names);
  m->names = NULL;
  warn(m, features_stated, foreign);
  return FC_OK;
}

static fc_status_t vm_probe(fc_str_t head, fc_error_t *err) {
  const uint8_t *data = (const uint8_t *)head.data;
  fc_vm_archive_t archive;
  if (fc_vm_archive_sniff(data, head.size)) return FC_OK;
  if (fc_str_starts(head, FC_STR("IREEVM\0"))) {
    return fc_fail(
        err, FC_CODE_MODULE_LOAD,
        "a Core VM module of the HRX system, another format than the "
        "bytecode that iree-compile writes: farcall cannot run it");
  }
  return fc_vm_archive_parse(data, head.size, &archive, err);
}

static fc_status_t vm_open(const fc_module_source_t *source,
                           fc_allocator_t allocator, void **out_module,
                           fc_error_t *err) {
  module_t *m = fc_alloc(allocator, sizeof *m);
  if (!m) return fc_fail_memory(err);
  m->allocator = allocator;
  pthread_mutex_init(&m->lock, NULL);
  fc_arena_init(&m->arena, allocator, 4096, SIZE_MAX);
  fc_status_t status = fill(m, source, err);
  if (status != FC_OK) {
    vm_close(m);
    return status;
  }
  *out_module = m;
  return FC_OK;
}

static const fc_module_info_t *vm_describe(const void *module) {
  return &((const module_t *)module)->info;
}

// ---------------------------------------------------------------------------
// Instances

static void vm_instance_destroy(void *handle) {
  instance_t *instance = handle;
  fc_hal_pool_release(instance->pool);
  if (instance->module->info.private_state)
    fc_vm_context_close(instance->context);
  fc_vm_module_destroy(instance->own);
  fc_snapshot_close(&instance->file);
  fc_vm_stack_deinit(&instance->stack);
  fc_vm_cache_deinit(&instance->cache);
  fc_free(instance->allocator, instance);
}

// Reads the module again, so that this instance has its own constants: kernels
// can write into constants, so they belong to the instance's state. This needs
// a sealed file, which still has the bytes that were verified. A mapped file
// could have changed since, so its constants stay shared.
static fc_status_t read_again(instance_t *instance, fc_error_t *err) {
  const module_t *m = instance->module;
  FC_TRY(
      fc_snapshot_make(m->file.fd, SIZE_MAX, SEALED_MAX, &instance->file, err));
  FC_TRY(fc_snapshot_allow_writes(&instance->file, err));
  FC_TRY(fc_vm_module_open(&instance->file, instance->allocator, &instance->own,
                           err));
  return fc_vm_verify(instance->own, err);
}

// Returns the most bytes that a context may hold: the weights that __init packs, and what
// calls make. The default is half of the memory of this machine, or of its control group.
static size_t heap_size(const module_t *m) {
  return m->heap_size ? m->heap_size : (size_t)(fc_quota_memory_here() / 2);
}

// Adds a hint to the error of a module that was compiled for several devices: its
// __init looks for each device by its ordinal, and does not find the second.
static void say_devices(fc_error_t *why) {
  if (!strstr(why->message, "HAL device `") ||
      !strstr(why->message, "{ordinal = ")) {
    return;
  }
  char said[sizeof why->message];
  memcpy(said, why->message, sizeof said);
  said[sizeof said - 1] = '\0';
  fc_fail_as(
      why, why->code, why->status,
      "the module is compiled for several local devices, and farcall has "
      "one, the processor of this machine: %s",
      said);
}

static fc_status_t create_context(instance_t *instance,
                                  const fc_vm_module_t *module,
                                  fc_vm_context_t **out_context,
                                  fc_error_t *err) {
  module_t *m = instance->module;
  fc_vm_invocation_t invocation = {
      .stack = &instance->stack,
      .deadline_ns = fc_clock_ns() + INIT_SECONDS * UINT64_C(1000000000),
      .fuel = UINT64_MAX};
  fc_error_t why = {0};
  fc_status_t status = FC_OK;
  // After __init has once exceeded its deadline, it is not run again.
  bool hangs = atomic_load_explicit(&m->hangs, memory_order_relaxed);
  if (!hangs) {
    status = fc_vm_context_create(module, m->natives, m->allocator,
                                  heap_size(m), &invocation, out_context, &why);
    hangs = why.code == FC_CODE_DEADLINE_EXCEEDED;
  }
  if (hangs) {
    atomic_store_explicit(&m->hangs, true, memory_order_relaxed);
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "the module's __init did not end within %d s", INIT_SECONDS);
  }
  if (status != FC_OK) say_devices(&why);
  if (status != FC_OK && err) *err = why;
  return status;
}

static fc_status_t choose_context(instance_t *instance, fc_error_t *err) {
  module_t *m = instance->module;
  if (m->info.private_state) {
    const bool lent =
        atomic_exchange_explicit(&m->lent, true, memory_order_relaxed);
    if (lent && m->file.sealed) FC_TRY(read_again(instance, err));
    return create_context(instance, instance->own ? instance->own : m->module,
                          &instance->context, err);
  }
  pthread_mutex_lock(&m->lock);
  fc_status_t status = FC_OK;
  if (!m->context) {
    status = create_context(instance, m->module, &m->context, err);
  }
  instance->context = m->context;
  pthread_mutex_unlock(&m->lock);
  return status;
}

static fc_status_t vm_instance_create(void *handle, fc_allocator_t allocator,
                                      void **out_instance, fc_error_t *err) {
  module_t *m = handle;
  if (m->info.described) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "the module was described, not loaded: its functions run in "
                   "a worker process");
  }
  if (m->refusal.code != FC_CODE_NONE) {
    return fc_fail(err, m->refusal.code, "%s", m->refusal.message);
  }
  instance_t *instance = fc_alloc(allocator, sizeof *instance);
  if (!instance) return fc_fail_memory(err);
  instance->module = m;
  instance->allocator = allocator;
  fc_vm_stack_init(&instance->stack, allocator, FC_VM_STACK_SIZE,
                   FC_VM_STACK_DEPTH);
  fc_status_t status = choose_context(instance, err);
  if (status == FC_OK) {
    status = fc_hal_pool_create(&instance->context->heap, &instance->pool, err);
  }
  if (status != FC_OK) {
    vm_instance_destroy(instance);
    return status;
  }
  *out_instance = instance;
  return FC_OK;
}

static const fc_module_info_t *vm_inspect(const void *handle) {
  return &((const instance_t *)handle)->module->info;
}

static const char *const kSettings[] = {STATE, PARAMETERS, HEAP, NULL};

const fc_backend_t fc_backend_vm = {
    .kind = "vm",
    .title = "IREE module",
    .suffix = ".vmfb",
    .sidecar_suffix = ".farcall.json",
    .settings = kSettings,
    .sealed_max = SEALED_MAX,
    .probe = vm_probe,
    .open = vm_open,
    .describe = vm_describe,
    .instance_create = vm_instance_create,
    .inspect = vm_inspect,
    .call = fc_vm_backend_call,
    .call_end = fc_vm_backend_call_end,
    .instance_destroy = vm_instance_destroy,
    .close = vm_close,
    .call_profiled = fc_vm_backend_call_profiled,
};
