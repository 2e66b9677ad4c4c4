// SPDX-License-Identifier: Apache-2.0
//
// The vm backend. A module has one context, which is made together with the first
// instance, so a process that only lists a module never runs its __init. An
// instance is a worker's stack and its memory. Calls of a stateless module share
// the context without a lock; calls of a stateful module hold the module's lock.
// With private state every instance has a context of its own and needs no lock.
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
#include "module/vm/recover.h"
#include "module/vm/signature.h"
#include "module/vm/verify.h"

// Seconds for __init. Once __init took longer, every new instance is refused.
#define INIT_SECONDS 9  // less than a server gives a worker process to start
// Files of more bytes are mapped, not copied, because they are mostly weights.
#define SEALED_MAX ((size_t)16 << 20)
// Names of options.
#define STATE "vm.state"
#define PARAMETERS "vm.parameters"
#define HEAP "vm.heap"

const fc_vm_native_module_t *const fc_vm_natives[] = {
    &fc_vm_hal, &fc_vm_hal_inline, &fc_vm_hal_loader, &fc_vm_io_parameters,
    NULL};

// One function that the module lists. `signatures` has its signature at the same index.
typedef struct listed_t {
  uint32_t function;
  uint32_t *argument_nodes;  // by raw index, FC_NODE_NONE if not described
  uint32_t *result_nodes;
  // fc_role_t by raw index; NULL where callers bring all that the function takes.
  uint8_t *roles;
  fc_vm_transients_t transients;
} listed_t;

typedef struct module_t {
  fc_allocator_t allocator;
  fc_vm_module_t *module;
  const fc_vm_native_module_t *natives[FC_ARRAY_COUNT(fc_vm_natives)];
  fc_vm_native_module_t io_parameters;  // with this module's archives
  fc_hal_archives_t archives;
  fc_signature_t **signatures;
  listed_t *listed;
  fc_arena_t arena;   // of the arrays `signatures` and `listed`, and of nodes
  fc_names_t *names;  // of the sidecar, while the module is opened; or NULL
  fc_module_info_t info;
  fc_error_t
      refusal;  // why no function can be called; code FC_CODE_NONE: some can
  char warning[480];
  size_t heap_size;      // that a context may hold; 0: the default
  fc_snapshot_t file;    // of the source; the caller of vm_open closes it
  _Atomic(bool) lent;    // relaxed; some instance has taken `module` as its own
  pthread_mutex_t lock;  // guards `context`; held by calls, when info.serial
  _Atomic(bool) hangs;   // relaxed; __init ran into its deadline
  fc_vm_context_t *context;  // of all instances; NULL: none yet, or private
} module_t;

typedef struct instance_t {
  module_t *module;
  fc_allocator_t allocator;
  fc_vm_stack_t stack;
  fc_vm_context_t *context;  // the module's or its own
  fc_snapshot_t file;        // of an instance with constants of its own
  fc_vm_module_t *own;       // what was read from that file, or NULL
  fc_hal_pool_t *pool;       // on the context's heap
  fc_vm_cache_t cache;       // blocks of any heap
  fc_profile_t *profile;     // of the call that runs; NULL: it has none
} instance_t;

// What one call holds until its results have been encoded.
typedef struct state_t {
  fc_vm_raw_t *arguments;
  fc_vm_raw_t *results;
  fc_hal_loans_t loans;
} state_t;

// ---------------------------------------------------------------------------
// Listing

static void fill_nodes(uint32_t *nodes, size_t count,
                       const fc_signature_t *signature,
                       const fc_param_t *params, uint32_t param_count) {
  for (size_t i = 0; i < count; i++) nodes[i] = FC_NODE_NONE;
  for (uint32_t i = 0; i < param_count; i++) {
    if (params[i].raw_index >= 0) {
      nodes[params[i].raw_index] = params[i].type;
      continue;
    }
    fc_walk_t walk;
    fc_walk_init(&walk, signature->nodes, params[i].type);
    while (fc_walk_next(&walk)) {
      if (walk.leave || walk.type->raw_index < 0) continue;
      nodes[walk.type->raw_index] = (uint32_t)(walk.type - signature->nodes);
    }
  }
}

// Notes which arguments are memory that is made for each call.
static fc_status_t note_made(module_t *m, const fc_vm_export_t *export,
                             const fc_signature_t *signature, listed_t *listed,
                             fc_error_t *err) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->role != FC_ROLE_TRANSIENT && param->role != FC_ROLE_STORAGE) {
      continue;
    }
    if (!listed->roles) {
      listed->roles =
          fc_arena_alloc_array(&m->arena, signature->raw_argument_count, 1);
      if (!listed->roles) return fc_fail_memory(err);
    }
    listed->roles[param->raw_index] = param->role;
  }
  listed->transients = fc_vm_transients_find(m->module, export);
  return FC_OK;
}

static fc_status_t list_export(module_t *m, const fc_vm_export_t *export,
                               fc_str_t reason, fc_builder_t *builder,
                               size_t *budget, fc_arena_t *scratch,
                               fc_error_t *err) {
  size_t index = m->info.count;
  fc_signature_t *signature;
  fc_arena_reset(scratch);
  FC_TRY(fc_vm_signature_create(m->module, export, reason, m->info.runs_native,
                                m->names, builder, budget, scratch, &signature,
                                err));
  m->signatures[index] = signature;
  m->info.count = index + 1;
  listed_t *listed = &m->listed[index];
  size_t arguments = signature->raw_argument_count;
  size_t results = signature->raw_result_count;
  listed->function = export->function;
  listed->argument_nodes =
      fc_arena_alloc_array(&m->arena, arguments, sizeof(uint32_t));
  listed->result_nodes =
      fc_arena_alloc_array(&m->arena, results, sizeof(uint32_t));
  if (!listed->argument_nodes || !listed->result_nodes) {
    return fc_fail_memory(err);
  }
  fill_nodes(listed->argument_nodes, arguments, signature, signature->arguments,
             signature->argument_count);
  fill_nodes(listed->result_nodes, results, signature, signature->results,
             signature->result_count);
  return note_made(m, export, signature, listed, err);
}

static fc_status_t list_exports(module_t *m, fc_str_t reason,
                                fc_builder_t *builder, fc_arena_t *scratch,
                                fc_error_t *err) {
  const fc_vm_module_t *module = m->module;
  size_t budget = FC_VM_RECOVER_BUDGET;
  m->signatures = fc_arena_alloc_array(&m->arena, module->export_count,
                                       sizeof(fc_signature_t *));
  m->listed =
      fc_arena_alloc_array(&m->arena, module->export_count, sizeof(listed_t));
  if (!m->signatures || !m->listed) return fc_fail_memory(err);
  m->info.signatures = m->signatures;
  for (uint32_t i = 0; i < module->export_count; i++) {
    const fc_vm_export_t *export = &module->exports[i];
    if (!fc_vm_export_is_listed(module, export)) continue;
    FC_TRY(list_export(m, export, reason, builder, &budget, scratch, err));
  }
  return FC_OK;
}

static fc_status_t list(module_t *m, fc_error_t *err) {
  fc_str_t reason = {0};
  if (fc_vm_bind(m->module, m->natives, &m->refusal) != FC_OK ||
      fc_hal_check_formats(m->module, &m->refusal) != FC_OK) {
    reason = fc_str(m->refusal.message);
  }
  fc_builder_t *builder = fc_builder_create(m->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_arena_t scratch;
  fc_arena_init(&scratch, m->allocator, 64 << 10, SIZE_MAX);
  fc_status_t status = list_exports(m, reason, builder, &scratch, err);
  fc_arena_deinit(&scratch);
  fc_builder_destroy(builder);
  return status;
}

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

// Picks the natives this module may use from those the server provides.
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

// Machine code is refused where it is forbidden or could not run. *out_stated is false
// when there is machine code and nothing in the module says which processor it was
// compiled for.
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

// How many tensors with dims this argument has. Sets *out_unnamed when one of them
// has dynamic dims and no dim with a name. One name is enough: it shows that somebody has
// looked at the other dims of that tensor, too.
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

// True when the dims of two arguments may disagree without anybody's checking that.
static bool may_disagree(const fc_signature_t *signature) {
  size_t tensors = 0;
  bool unnamed = false;
  if (!signature->trusts_dims) return false;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    tensors += count_tensors(signature, signature->arguments[i].type, &unnamed);
  }
  return tensors > 1 && unnamed;
}

// Writes the warnings that the log shows once for the module.
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

// True when calls of the module read mapped files. Reading a page that lies beyond
// the end of a file that was cut short ends the process.
static bool maps_files(const module_t *m, const fc_module_source_t *source) {
  bool archives = false;
  for (uint32_t i = 0; i < m->module->import_count; i++) {
    archives = archives || fc_str_equal(m->module->imports[i].module,
                                        fc_str(fc_vm_io_parameters.name));
  }
  return !source->file.sealed ||
         (archives && fc_source_setting(source, PARAMETERS).size > 0);
}

// The sidecar may give names to what the module describes. A sidecar that describes a
// native module belongs to a .so file of the same name. Of such a sidecar only the list
// FC_NAMES_CONFIGURED is used: the loader of the module put it there (configured.h).
static fc_status_t read_names(module_t *m, const fc_module_source_t *source,
                              bool *out_foreign, fc_error_t *err) {
  *out_foreign = false;
  if (!source->sidecar.bytes.data) return FC_OK;
  const fc_status_t status =
      fc_names_parse(source->sidecar.bytes, true, m->allocator, &m->names, err);
  *out_foreign = status == FC_NOT_FOUND;
  if (*out_foreign) {  // what the configuration says of the module is of this one
    const fc_status_t configured =
        fc_names_parse_list(source->sidecar.bytes, FC_NAMES_CONFIGURED,
                            m->allocator, &m->names, err);
    return configured == FC_NOT_FOUND ? FC_OK : configured;
  }
  FC_TRY(status);
  return fc_doc_check_hash(m->names->so_sha256, source->sha256, err);
}

// Applies the option vm.state: whether instances share the module's state. When this is
// called, info.serial says whether the module has state.
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

// Finds out what bounds the time of calls, for each function that is listed. Nothing does
// where calls take turns, or where their state is an instance's: what a call that was
// given up had changed would stay. Nor where machine code runs, or pages of a file are
// waited for.
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
    // What says the size of transients runs besides.
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
  // code that somebody writes into a mapped file after the check above would run.
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
  FC_TRY(list(m, err));
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

// Reads the module again, so that this instance has constants of its own: kernels
// can write into them, so they belong to the instance's state. That needs a sealed
// file, whose bytes are still those that were verified. A mapped file could have
// changed since, so its constants stay shared.
static fc_status_t read_again(instance_t *instance, fc_error_t *err) {
  const module_t *m = instance->module;
  FC_TRY(
      fc_snapshot_make(m->file.fd, SIZE_MAX, SEALED_MAX, &instance->file, err));
  FC_TRY(fc_snapshot_allow_writes(&instance->file, err));
  FC_TRY(fc_vm_module_open(&instance->file, instance->allocator, &instance->own,
                           err));
  return fc_vm_verify(instance->own, err);
}

// What a context may hold: weights that __init packs, and what calls make. Nothing said:
// half of the memory there is.
static size_t heap_size(const module_t *m) {
  return m->heap_size ? m->heap_size : (size_t)(fc_quota_memory_here() / 2);
}

// A module that was compiled for several devices looks for each of them by its ordinal in
// __init, and fails at the second.
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
  // If __init ran into its deadline once, it is not run again.
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

// ---------------------------------------------------------------------------
// Calls

static void release_refs(fc_str_t letters, fc_vm_raw_t *values) {
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] != 'r') continue;
    fc_vm_release(values[i].ref);
    values[i].ref = NULL;
  }
}

// The last two arguments of an async function are a wait fence, which stays null (there
// is nothing to wait for), and the fence that the function signals.
static fc_status_t add_fences(const instance_t *instance,
                              const fc_backend_call_t *call, state_t *state,
                              fc_error_t *err) {
  fc_hal_fence_t *fence;
  FC_TRY(fc_hal_fence_create(&instance->context->heap, &fence, err));
  state->arguments[call->argument_count + 1].ref = &fence->object;
  return FC_OK;
}

static fc_status_t check_fence(const fc_backend_call_t *call,
                               const state_t *state, fc_error_t *err) {
  const fc_hal_fence_t *fence =
      (const fc_hal_fence_t *)state->arguments[call->argument_count + 1].ref;
  if (fence->failure != FC_OK) {
    return fc_hal_fail(err, fence->failure, "the call failed");
  }
  if (fence->signaled) return FC_OK;
  return fc_hal_fail(err, FC_INTERNAL,
                     "the function returned without signalling its fence");
}

// Scratch memory of as many bytes as the module says. The other arguments are there.
static fc_status_t make_transients(const instance_t *instance,
                                   const listed_t *listed,
                                   const fc_backend_call_t *call,
                                   fc_vm_invocation_t *invocation,
                                   state_t *state, fc_hal_buffer_t **out,
                                   fc_error_t *err) {
  const fc_vm_export_t *sizer = listed->transients.size_function;
  int64_t size = listed->transients.size;
  if (sizer) {
    const fc_vm_cconv_t *cconv =
        &instance->module->module->functions[sizer->function].cconv;
    fc_vm_raw_t *arguments = fc_arena_alloc_array(
        call->arena, cconv->arguments.size, sizeof *arguments);
    if (!arguments) return fc_fail_memory(err);
    memcpy(arguments, state->arguments,
           call->argument_count * sizeof *arguments);
    fc_vm_raw_t result;
    FC_TRY(fc_vm_call(instance->context, invocation, sizer->function, arguments,
                      &result, err));
    size = cconv->results.data[0] == 'I' ? result.i64 : result.i32;
  }
  return fc_hal_buffer_create_in(invocation, &instance->context->heap, size,
                                 out, err);
}

// A view without elements, for a module that takes one where it wants a buffer.
static fc_status_t view_of(fc_hal_buffer_t *take_buffer, fc_vm_object_t **out,
                           fc_error_t *err) {
  static const int64_t kNone[] = {0};
  fc_hal_view_t *view;
  const fc_status_t status =
      fc_hal_view_create(take_buffer, 0, 0, 1, kNone, &view, err);
  fc_vm_release(&take_buffer->object);
  if (status == FC_OK) *out = &view->object;
  return status;
}

static fc_status_t make_argument(const instance_t *instance, size_t index,
                                 size_t raw, const fc_backend_call_t *call,
                                 fc_vm_invocation_t *invocation, state_t *state,
                                 fc_error_t *err) {
  const listed_t *listed = &instance->module->listed[index];
  const fc_type_t *type = fc_signature_node(instance->module->signatures[index],
                                            listed->argument_nodes[raw]);
  fc_hal_buffer_t *buffer;
  if (listed->roles[raw] == FC_ROLE_TRANSIENT) {
    FC_TRY(make_transients(instance, listed, call, invocation, state, &buffer,
                           err));
  } else {
    FC_TRY(
        fc_hal_buffer_create_awaited(&instance->context->heap, &buffer, err));
  }
  if (type->kind != FC_TYPE_OPAQUE) {
    return view_of(buffer, &state->arguments[raw].ref, err);
  }
  state->arguments[raw].ref = &buffer->object;
  return FC_OK;
}

static bool is_made(const listed_t *listed, size_t raw) {
  return FC_UNLIKELY(listed->roles) && listed->roles[raw];
}

// Makes what callers do not bring, when the other arguments are there.
static __attribute__((noinline)) fc_status_t make_arguments(
    const instance_t *instance, size_t index, const fc_backend_call_t *call,
    fc_vm_invocation_t *invocation, state_t *state, fc_error_t *err) {
  const listed_t *listed = &instance->module->listed[index];
  for (size_t i = 0; i < call->argument_count; i++) {
    if (!is_made(listed, i)) continue;
    FC_TRY(make_argument(instance, index, i, call, invocation, state, err));
  }
  return FC_OK;
}

// Elements below a byte are packed in the view, so what the function wrote is not in the
// caller's tensor; else the view has the tensor's memory.
static bool is_packed(const fc_value_t *value) {
  const fc_dtype_info_t *info = fc_dtype_info(value->tensor.dtype);
  return info->bits < 8 * info->size && info->class_ != FC_DTYPE_CLASS_BOOL;
}

// Gives back the arguments that the function may have written into.
static fc_status_t get_finals(fc_vm_invocation_t *invocation,
                              const fc_signature_t *signature,
                              fc_backend_call_t *call, const state_t *state,
                              fc_error_t *err) {
  size_t next = signature->raw_result_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role)) continue;
    const fc_value_t *value = &call->arguments[param->raw_index];
    fc_value_t *out = &call->results[next++];
    *out = *value;
    if (value->kind != FC_VALUE_TENSOR || !is_packed(value)) continue;
    FC_TRY(fc_vm_result(invocation, call->arena,
                        state->arguments[param->raw_index], 'r', signature,
                        param->type, false, out, err));
  }
  return FC_OK;
}

static fc_status_t run(instance_t *instance, size_t index,
                       fc_backend_call_t *call, state_t *state,
                       fc_error_t *err) {
  module_t *m = instance->module;
  const listed_t *listed = &m->listed[index];
  const fc_signature_t *signature = m->signatures[index];
  const fc_vm_cconv_t *cconv = &m->module->functions[listed->function].cconv;
  fc_vm_invocation_t invocation = {.stack = &instance->stack,
                                   .cancel = call->cancel,
                                   .deadline_ns = call->deadline_ns,
                                   .fuel = UINT64_MAX,
                                   .budget = call->budget,
                                   .pool = instance->pool,
                                   .guard = call->guard,
                                   .tiles = call->tiles,
                                   .profile = instance->profile};
  state->loans.invocation = &invocation;
  for (size_t i = 0; i < call->argument_count; i++) {
    if (is_made(listed, i)) continue;
    FC_TRY(fc_vm_argument(&instance->context->heap, &call->arguments[i],
                          cconv->arguments.data[i], signature,
                          listed->argument_nodes[i], &state->loans,
                          &state->arguments[i], err));
  }
  if (FC_UNLIKELY(listed->roles)) {
    FC_TRY(make_arguments(instance, index, call, &invocation, state, err));
  }
  if (signature->async) FC_TRY(add_fences(instance, call, state, err));
  if (FC_UNLIKELY(instance->profile)) {
    FC_TRY(fc_vm_call_profiled(instance->context, &invocation, listed->function,
                               state->arguments, state->results, err));
  } else {
    FC_TRY(fc_vm_call(instance->context, &invocation, listed->function,
                      state->arguments, state->results, err));
  }
  if (signature->async) FC_TRY(check_fence(call, state, err));
  for (size_t i = 0; i < cconv->results.size; i++) {
    FC_TRY(fc_vm_result(&invocation, call->arena, state->results[i],
                        cconv->results.data[i], signature,
                        listed->result_nodes[i], m->info.serial,
                        &call->results[i], err));
  }
  return get_finals(&invocation, signature, call, state, err);
}

static __attribute__((noinline)) fc_status_t vm_call(void *handle, size_t index,
                                                     fc_backend_call_t *call,
                                                     fc_error_t *err) {
  instance_t *instance = handle;
  module_t *m = instance->module;
  const fc_signature_t *signature = m->signatures[index];
  const fc_vm_cconv_t *cconv =
      &m->module->functions[m->listed[index].function].cconv;
  call->state = NULL;
  if (!signature->callable) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "%.*s",
                   FC_STR_ARG(fc_signature_text(signature, signature->reason)));
  }
  const size_t fences = signature->async ? 2 : 0;
  if (call->argument_count + fences != cconv->arguments.size ||
      call->result_count < cconv->results.size) {
    return fc_fail(err, FC_CODE_INTERNAL,
                   "%zu arguments and %zu results for a function of %zu and "
                   "%zu",
                   call->argument_count + fences, call->result_count,
                   cconv->arguments.size, cconv->results.size);
  }
  state_t *state = fc_arena_alloc_array(call->arena, 1, sizeof *state);
  if (!state) return fc_fail_memory(err);
  state->arguments = fc_arena_alloc_array(
      call->arena, cconv->arguments.size + cconv->results.size + 1,
      sizeof(fc_vm_raw_t));
  if (!state->arguments) return fc_fail_memory(err);
  state->results = state->arguments + cconv->arguments.size;
  state->loans.arena = call->arena;
  call->state = state;
  fc_vm_cache_t *before = fc_vm_cache_use(&instance->cache);
  if (m->info.serial) pthread_mutex_lock(&m->lock);
  fc_status_t status = run(instance, index, call, state, err);
  if (m->info.serial) {
    // If the module has kept an argument, whose bytes belong to this call, the
    // argument gets a copy of these bytes while the lock is held, before another call
    // can see the argument.
    release_refs(cconv->arguments, state->arguments);
    fc_hal_loans_end(&state->loans);
    pthread_mutex_unlock(&m->lock);
  }
  fc_vm_cache_use(before);
  return status;
}

// Calls vm_call, which is not inlined: so it exists once, and the compiler can inline
// `run` into it.
static fc_status_t vm_call_profiled(void *handle, size_t index,
                                    fc_backend_call_t *call,
                                    fc_profile_t *profile, fc_error_t *err) {
  instance_t *instance = handle;
  instance->profile = profile;
  const fc_status_t status = vm_call(handle, index, call, err);
  instance->profile = NULL;
  return status;
}

static void vm_call_end(void *handle, size_t index, fc_backend_call_t *call) {
  instance_t *instance = handle;
  const module_t *m = instance->module;
  const fc_vm_cconv_t *cconv =
      &m->module->functions[m->listed[index].function].cconv;
  state_t *state = call->state;
  if (!state) return;
  call->state = NULL;
  fc_vm_cache_t *before = fc_vm_cache_use(&instance->cache);
  release_refs(cconv->arguments, state->arguments);
  release_refs(cconv->results, state->results);
  fc_hal_loans_end(&state->loans);
  fc_vm_cache_use(before);
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
    .call = vm_call,
    .call_end = vm_call_end,
    .instance_destroy = vm_instance_destroy,
    .close = vm_close,
    .call_profiled = vm_call_profiled,
};
