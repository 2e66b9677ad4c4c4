// SPDX-License-Identifier: Apache-2.0
//
// An opened module. Shared by backend.c, backend_call.c and listing.c.
#ifndef FARCALL_CORE_MODULE_VM_OPENED_H_
#define FARCALL_CORE_MODULE_VM_OPENED_H_

#include <pthread.h>

#include "abi/names.h"
#include "farcall/backend.h"
#include "module/snapshot.h"
#include "module/vm/bridge.h"
#include "module/vm/cache.h"
#include "module/vm/context.h"
#include "module/vm/exports.h"
#include "module/vm/hal/io_parameters.h"
#include "module/vm/hal/pool.h"

#define FC_VM_NATIVES 5  // entries of fc_vm_natives, with its NULL

// One function that the module lists. Its signature is in `signatures` at the same index.
typedef struct fc_vm_listed_t {
  uint32_t function;
  uint32_t *argument_nodes;  // by raw index; FC_NODE_NONE: not described
  uint32_t *result_nodes;
  // fc_role_t by raw index; NULL if callers send all arguments of the function.
  uint8_t *roles;
  fc_vm_transients_t transients;
} fc_vm_listed_t;

typedef struct fc_vm_opened_t {
  fc_allocator_t allocator;
  fc_vm_module_t *module;
  const fc_vm_native_module_t *natives[FC_VM_NATIVES];
  fc_vm_native_module_t io_parameters;  // with this module's archives
  fc_hal_archives_t archives;
  fc_signature_t **signatures;
  fc_vm_listed_t *listed;
  fc_arena_t arena;   // memory of `signatures`, `listed` and their nodes
  fc_names_t *names;  // of the sidecar, while the module is opened; or NULL
  fc_module_info_t info;
  fc_error_t
      refusal;  // why no function can be called; code FC_CODE_NONE: some can be
  char warning[480];
  size_t heap_size;      // the most bytes a context may hold; 0: the default
  fc_snapshot_t file;    // the module's file; the caller of vm_open closes it
  _Atomic(bool) lent;    // relaxed; an instance uses `module` as its own
  pthread_mutex_t lock;  // guards `context`; calls hold it if info.serial
  _Atomic(bool) hangs;   // relaxed; __init once reached its deadline
  fc_vm_context_t *context;  // shared by all instances; NULL: none (yet)
} fc_vm_opened_t;

// The instance of one worker.
typedef struct fc_vm_instance_t {
  fc_vm_opened_t *module;
  fc_allocator_t allocator;
  fc_vm_stack_t stack;
  fc_vm_context_t *context;  // the module's or its own
  fc_snapshot_t file;        // if the instance has constants of its own
  fc_vm_module_t *own;       // the module read from `file`, or NULL
  fc_hal_pool_t *pool;       // its blocks come from the context's heap
  fc_vm_cache_t cache;       // blocks of any heap
  fc_profile_t *profile;     // of the running call; NULL: it is not measured
} fc_vm_instance_t;

// Makes the signatures of the exports. If none can be called, notes the reason.
fc_status_t fc_vm_opened_list(fc_vm_opened_t *m, fc_error_t *err) FC_MUST_CHECK;

// The functions `call` and `call_profiled` of fc_backend_t (backend_call.c).
fc_status_t fc_vm_backend_call(void *handle, size_t index,
                               fc_backend_call_t *call, fc_error_t *err);
fc_status_t fc_vm_backend_call_profiled(void *handle, size_t index,
                                        fc_backend_call_t *call,
                                        fc_profile_t *profile, fc_error_t *err);
void fc_vm_backend_call_end(void *handle, size_t index,
                            fc_backend_call_t *call);

#endif  // FARCALL_CORE_MODULE_VM_OPENED_H_
