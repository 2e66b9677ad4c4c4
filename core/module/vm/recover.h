// SPDX-License-Identifier: Apache-2.0
//
// Infers types of functions without a declaration. Compiled code asserts the element
// type and shape of every tensor argument, and states those of every tensor that
// it makes. In both cases everything except dynamic dims is a constant in the code. For
// some arguments the code also shows that the function overwrites them. Used at load,
// any thread.
#ifndef FARCALL_CORE_MODULE_VM_RECOVER_H_
#define FARCALL_CORE_MODULE_VM_RECOVER_H_

#include "farcall/type.h"
#include "module/vm/vmfb.h"
#include "module/vm/ops.h"

typedef struct fc_vm_shape_t {
  bool known;
  fc_dtype_t dtype;
  int32_t rank;
  int64_t dims[FC_RANK_MAX];  // FC_DIM_DYNAMIC where it is no constant
} fc_vm_shape_t;

typedef struct fc_vm_dim_t {
  uint32_t argument;  // index of its letter in the calling convention
  uint32_t dim;       // below FC_RANK_MAX
} fc_vm_dim_t;

// Two dims that must be equal: a call in which they differ fails.
typedef struct fc_vm_equal_t {
  fc_vm_dim_t left;
  fc_vm_dim_t right;
} fc_vm_equal_t;

// What was inferred: one entry for each letter of the calling convention. The entries of
// numbers are never known.
typedef struct fc_vm_recovered_t {
  fc_vm_shape_t *arguments;
  fc_vm_shape_t *results;
  int32_t *passed;          // the result's argument; -1: none, or unknown
  bool *written;            // true for arguments that are certainly overwritten
  bool any;                 // true: something is known
  fc_vm_equal_t equal[16];  // further ones are not noted
  uint32_t equal_count;
} fc_vm_recovered_t;

// The budget for all functions of a module together; an instruction costs about one.
#define FC_VM_RECOVER_BUDGET ((size_t)1 << 22)

// Infers the types of a function of a verified module. Memory comes from the arena.
// Nothing is inferred for a function that is too large, or if the budget is already
// spent. If the budget ends during the work, no result is known. Fails only when out of
// memory.
fc_status_t fc_vm_recover(const fc_vm_module_t *module, uint32_t function,
                          size_t *budget, fc_arena_t *arena,
                          fc_vm_recovered_t *out,
                          fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_RECOVER_H_
