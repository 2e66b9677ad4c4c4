// SPDX-License-Identifier: Apache-2.0
//
// fc_backend_native: shared objects with memref-shaped functions. Opening reads
// the file and its ABI text, loads the file unless it is only described, and prepares
// its functions. A call of a serial function locks the module until call_end.
// call_end frees the results that the call allocated. The loading thread opens;
// instances belong to workers.
#include "module/native/native.h"

#include <pthread.h>
#include <stdatomic.h>

#include "abi/document.h"
#include "abi/sidecar.h"
#include "module/native/function.h"
#include "module/native/dylib.h"

#define EMBEDDED_SYMBOL FC_STR("__farcall_abi")
#define SIDECAR_SUFFIX ".farcall.json"

typedef struct native_module_t {
  fc_allocator_t allocator;
  fc_module_info_t info;
  fc_sidecar_t *sidecar;
  fc_signature_t **signatures;
  fc_native_function_t *functions;
  bool *serial;  // by function: true if its calls hold `lock`
  fc_dylib_t dylib;
  pthread_mutex_t lock;
  bool lock_made;
  _Atomic(uint64_t) allocated;
  _Atomic(uint64_t) freed;
  _Atomic(uint64_t) leaked;
} native_module_t;

typedef struct native_instance_t {
  fc_allocator_t allocator;
  native_module_t *module;
  fc_hook_t hook;
  bool locked;
} native_instance_t;

// ---------------------------------------------------------------------------
// The ABI text

static fc_status_t read_embedded(native_module_t *module,
                                 const fc_module_source_t *source,
                                 const fc_so_t *elf, fc_names_t *names,
                                 fc_error_t *err) {
  fc_str_t embedded;
  if (fc_so_text(elf, EMBEDDED_SYMBOL, &embedded)) {
    return fc_sidecar_parse(embedded, FC_SOURCE_EMBEDDED, names,
                            module->allocator, &module->sidecar, err);
  }
  if (names) {
    return fc_fail(
        err, FC_CODE_ABI_METADATA,
        "its sidecar gives names to what the module says itself, and "
        "there is no __farcall_abi inside");
  }
  return fc_fail(err, FC_CODE_ABI_METADATA,
                 "nothing says what its functions take: no %.*s" SIDECAR_SUFFIX
                 " beside it and no __farcall_abi inside. `farcall compile` "
                 "writes both; docs/abi.md says how to write one by hand",
                 FC_STR_ARG(source->name));
}

static fc_status_t read_sidecar(native_module_t *module,
                                const fc_module_source_t *source,
                                fc_error_t *err) {
  FC_TRY(fc_sidecar_parse(source->sidecar.bytes, FC_SOURCE_SIDECAR, NULL,
                          module->allocator, &module->sidecar, err));
  return fc_doc_check_hash(module->sidecar->so_sha256, source->sha256, err);
}

// Reads the module's description. If a sidecar describes the module, the embedded
// description is not used. A sidecar that has only names gives them to the embedded
// description.
static fc_status_t read_abi(native_module_t *module,
                            const fc_module_source_t *source,
                            const fc_so_t *elf, fc_error_t *err) {
  const fc_str_t sidecar = source->sidecar.bytes;
  if (!sidecar.data) return read_embedded(module, source, elf, NULL, err);
  fc_names_t *names = NULL;
  fc_status_t status =
      fc_names_parse(sidecar, false, module->allocator, &names, err);
  if (status == FC_NOT_FOUND) return read_sidecar(module, source, err);
  if (status == FC_OK) {
    status = fc_doc_check_hash(names->so_sha256, source->sha256, err);
  }
  if (status == FC_OK) {
    status = read_embedded(module, source, elf, names, err);
  }
  fc_names_destroy(names);
  return status;
}

// ---------------------------------------------------------------------------
// Opening

// Checks that the described functions are in the module. A description that names a
// missing function belongs to another module: by the rest of it, farcall would read
// memory with wrong types.
static fc_status_t check_functions(const native_module_t *module,
                                   const fc_so_t *elf, fc_error_t *err) {
  const fc_sidecar_t *sidecar = module->sidecar;
  for (size_t i = 0; i < sidecar->function_count; i++) {
    const fc_sidecar_function_t *function = &sidecar->functions[i];
    if (!function->signature->callable ||
        fc_so_exports(elf, function->symbol)) {
      continue;
    }
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "its description names symbol '%.*s' for '%.*s', which it "
                   "does not export",
                   FC_STR_ARG(function->symbol), FC_STR_ARG(function->name));
  }
  return FC_OK;
}

static bool borrows(const fc_sidecar_function_t *function) {
  for (uint32_t i = 0; i < function->signature->result_count; i++) {
    if (function->ownership[i] == FC_OWNERSHIP_BORROWED) return true;
  }
  return false;
}

static fc_status_t prepare(native_module_t *module, size_t index,
                           bool has_state, fc_error_t *err) {
  fc_sidecar_function_t *declared = &module->sidecar->functions[index];
  fc_native_function_t *function = &module->functions[index];
  module->serial[index] = declared->threads == FC_THREADING_SERIAL ||
                          (declared->threads == FC_THREADING_AUTO && has_state);
  module->info.serial = module->info.serial || module->serial[index];
  module->info.holds_results = module->info.serial;
  if (!declared->signature->callable) return FC_OK;
  function->signature = declared->signature;
  function->cc = declared->cc;
  function->ownership = declared->ownership;
  function->fpenv = module->sidecar->ftz ? FC_FPENV_FLUSH : FC_FPENV_DEFAULT;
  function->exact =
      module->sidecar->pure && module->dylib.leavable && !borrows(declared);
  FC_TRY(fc_native_prepare(function, module->allocator, err));
  if (module->info.described) return FC_OK;
  function->entry = (void (*)(void))(uintptr_t)fc_dylib_find(
      &module->dylib, declared->symbol.data);
  if (!function->entry) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "symbol '%.*s' has no address",
                   FC_STR_ARG(declared->symbol));
  }
  return FC_OK;
}

static fc_status_t prepare_all(native_module_t *module, const fc_so_t *elf,
                               fc_error_t *err) {
  const size_t count = module->sidecar->function_count;
  module->signatures =
      fc_alloc_array(module->allocator, count, sizeof *module->signatures);
  module->functions =
      fc_alloc_array(module->allocator, count, sizeof *module->functions);
  module->serial =
      fc_alloc_array(module->allocator, count, sizeof *module->serial);
  if (!module->signatures || !module->functions || !module->serial) {
    return fc_fail_memory(err);
  }
  module->info.count = count;
  const bool has_state = fc_so_state_size(elf) > 0;
  for (size_t i = 0; i < count; i++) {
    module->signatures[i] = module->sidecar->functions[i].signature;
    FC_TRY(prepare(module, i, has_state, err));
  }
  module->info.signatures = module->signatures;
  module->info.runs_native = true;
  module->info.endless = true;
  module->info.warning = FC_STR("");
  return FC_OK;
}

static void native_close(void *opened) {
  native_module_t *module = opened;
  if (!module) return;
  for (size_t i = 0; module->functions && i < module->info.count; i++) {
    fc_native_unprepare(&module->functions[i], module->allocator);
  }
  fc_dylib_close(&module->dylib);
  fc_free(module->allocator, module->functions);
  fc_free(module->allocator, (void *)module->signatures);
  fc_free(module->allocator, module->serial);
  fc_sidecar_destroy(module->sidecar);
  if (module->lock_made) pthread_mutex_destroy(&module->lock);
  fc_free(module->allocator, module);
}

static fc_status_t fill(native_module_t *module,
                        const fc_module_source_t *source, fc_error_t *err) {
  fc_so_t elf;
  FC_TRY(fc_so_parse(source->file.bytes, &elf, err));
  if (source->alone && fc_so_loads_others(&elf)) {
    return fc_fail(err, FC_CODE_MODULE_UNTRUSTED,
                   "it names libraries outside the system's folders ($ORIGIN, "
                   "RUNPATH or a path), which would be loaded unasked");
  }
  FC_TRY(read_abi(module, source, &elf, err));
  FC_TRY(check_functions(module, &elf, err));
  FC_TRY(fc_dylib_check(&elf, &module->dylib, err));
  module->info.described = source->describe_native;
  if (!source->describe_native) {
    FC_TRY(fc_dylib_open(&module->dylib, &source->file, &elf, source->path,
                         module->allocator, err));
  }
  return prepare_all(module, &elf, err);
}

static fc_status_t native_probe(fc_str_t head, fc_error_t *err) {
  if (fc_so_is(head)) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "not an ELF file");
}

static fc_status_t native_open(const fc_module_source_t *source,
                               fc_allocator_t allocator, void **out_module,
                               fc_error_t *err) {
  native_module_t *module = fc_alloc(allocator, sizeof *module);
  if (!module) return fc_fail_memory(err);
  module->allocator = allocator;
  module->lock_made = pthread_mutex_init(&module->lock, NULL) == 0;
  fc_status_t status = fill(module, source, err);
  if (status != FC_OK) {
    native_close(module);
    return status;
  }
  *out_module = module;
  return FC_OK;
}

static const fc_module_info_t *native_describe(const void *opened) {
  const native_module_t *module = opened;
  return &module->info;
}

// ---------------------------------------------------------------------------
// Calling

static fc_status_t native_instance_create(void *opened,
                                          fc_allocator_t allocator,
                                          void **out_instance,
                                          fc_error_t *err) {
  const native_module_t *module = opened;
  if (module->info.described) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "the module was described, not loaded: its functions run in "
                   "a worker process");
  }
  native_instance_t *instance = fc_alloc(allocator, sizeof *instance);
  if (!instance) return fc_fail_memory(err);
  instance->allocator = allocator;
  instance->module = opened;
  fc_own_init(&instance->hook.own, allocator);
  *out_instance = instance;
  return FC_OK;
}

static const fc_module_info_t *native_inspect(const void *created) {
  return &((const native_instance_t *)created)->module->info;
}

static void native_instance_destroy(void *created) {
  native_instance_t *instance = created;
  if (!instance) return;
  fc_own_deinit(&instance->hook.own);
  fc_free(instance->allocator, instance);
}

// A call of a serial function holds the lock from here to call_end, because results may
// be views of the module's own data.
static fc_status_t native_call(void *created, size_t index,
                               fc_backend_call_t *call, fc_error_t *err) {
  native_instance_t *instance = created;
  native_module_t *module = instance->module;
  FC_ASSERT(index < module->info.count);
  const fc_native_function_t *function = &module->functions[index];
  if (!function->signature) {
    const fc_signature_t *signature = module->signatures[index];
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "%.*s", FC_STR_ARG(reason));
  }
  if (module->serial[index]) {
    pthread_mutex_lock(&module->lock);
    instance->locked = true;
  }
  fc_status_t status =
      fc_native_run(function, &module->dylib, &instance->hook, call, err);
  if (status != FC_OK) instance->hook.failed = true;
  return status;
}

typedef struct sweep_t {
  const native_module_t *module;
  bool exact;
  bool failed;
  uint64_t freed;
  uint64_t leaked;
} sweep_t;

// Frees a block after the results are encoded, if it is the memory of a result. Any other
// block is a leak, unless the call failed. A leaked block is freed only if the function
// is `exact` (function.h), because then no later call can use it.
static void sweep(void *context, const fc_own_block_t *block) {
  sweep_t *work = context;
  if (!block->returned && !work->failed) work->leaked++;
  if (!block->returned && !work->exact) return;
  work->module->dylib.heap.free(block->data);
  work->freed++;
}

static void native_call_end(void *created, size_t index,
                            fc_backend_call_t *call) {
  (void)call;
  native_instance_t *instance = created;
  native_module_t *module = instance->module;
  fc_hook_t *hook = &instance->hook;
  sweep_t work = {module, module->functions[index].exact, hook->failed,
                  hook->freed, 0};
  fc_own_clear(&hook->own, sweep, &work);
  if (hook->allocated || work.freed) {
    atomic_fetch_add_explicit(&module->allocated, hook->allocated,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&module->freed, work.freed, memory_order_relaxed);
    atomic_fetch_add_explicit(&module->leaked, work.leaked,
                              memory_order_relaxed);
  }
  hook->allocated = hook->freed = 0;
  if (!instance->locked) return;
  instance->locked = false;
  pthread_mutex_unlock(&module->lock);
}

fc_native_counts_t fc_native_get_counts(const void *opened) {
  const native_module_t *module = opened;
  return (fc_native_counts_t){
      atomic_load_explicit(&module->allocated, memory_order_relaxed),
      atomic_load_explicit(&module->freed, memory_order_relaxed),
      atomic_load_explicit(&module->leaked, memory_order_relaxed)};
}

const fc_backend_t fc_backend_native = {
    .kind = "native",
    .title = "shared object",
    .suffix = ".so",
    .sidecar_suffix = SIDECAR_SUFFIX,
    .probe = native_probe,
    .open = native_open,
    .describe = native_describe,
    .instance_create = native_instance_create,
    .inspect = native_inspect,
    .call = native_call,
    .call_end = native_call_end,
    .instance_destroy = native_instance_destroy,
    .close = native_close,
};
