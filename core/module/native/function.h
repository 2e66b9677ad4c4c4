// SPDX-License-Identifier: Apache-2.0
//
// One function of a native module. It is prepared at load (prepare.c), so that a call
// (function.c) only fills cells, makes one ffi_call and checks what was returned.
// Prepared functions are immutable; a call runs on its instance's thread.
#ifndef FARCALL_MODULE_NATIVE_FUNCTION_H_
#define FARCALL_MODULE_NATIVE_FUNCTION_H_

#include <ffi.h>

#include "abi/sidecar.h"
#include "farcall/backend.h"
#include "module/native/cell.h"
#include "module/native/dylib.h"
#include "module/native/fpenv.h"
#include "module/native/returned.h"

// One part of the value that a function returns by LLVM's convention.
typedef struct fc_returned_part_t {
  uint32_t offset;  // in the structure of results
  uint8_t size;
  fc_register_t place;
} fc_returned_part_t;

typedef struct fc_native_function_t {
  const fc_signature_t *signature;
  fc_cc_t cc;
  // True if the function uses only memory that farcall knows: the module's description
  // says that the module is pure and that this function borrows no result, and the module
  // imports only harmless names (libc.h).
  bool exact;
  const uint8_t *ownership;  // fc_ownership_t of each result, from the sidecar
  fc_fpenv_t fpenv;          // the floating-point state to run in
  void (*entry)(void);
  ffi_cif cif;
  bool plain;        // fc_plain_call can call it
  ffi_type **types;  // of the flat arguments
  uint32_t type_count;
  uint32_t value_count;   // entries of the array of arguments
  bool structured;        // the results are written to a structure
  bool by_pointer;        // the structure's address is the first argument
  fc_layout_t structure;  // layout of that structure
  uint32_t *offsets;      // of each result in the structure
  bool by_llvm;           // by LLVM's convention for aggregates and vectors
  bool in_memory;         // the results are read from the structure itself
  fc_returned_t returned;
  // In registers; there are none if `returned` is demoted.
  fc_returned_part_t *parts;
  uint32_t part_count;
} fc_native_function_t;

// Types of the arguments and results, by number.
static inline const fc_type_t *fc_native_argument(
    const fc_signature_t *signature, uint32_t index) {
  return fc_signature_node(signature, signature->arguments[index].type);
}

static inline const fc_type_t *fc_native_result(const fc_signature_t *signature,
                                                uint32_t index) {
  return fc_signature_node(signature, signature->results[index].type);
}

static inline bool fc_native_is_vector(const fc_type_t *type) {
  return type->kind == FC_TYPE_VECTOR;
}

static inline bool fc_native_is_complex(const fc_type_t *type) {
  return type->kind == FC_TYPE_SCALAR &&
         fc_dtype_info((fc_dtype_t)type->dtype)->class_ ==
             FC_DTYPE_CLASS_COMPLEX;
}

// Prepares a callable function. The caller sets the members before `entry` first;
// the others must be zero. The caller sets `entry` before the function is run.
fc_status_t fc_native_prepare(fc_native_function_t *function,
                              fc_allocator_t allocator, fc_error_t *err);
void fc_native_unprepare(fc_native_function_t *function,
                         fc_allocator_t allocator);

// Runs the function and writes call->results. The results may lie in blocks that the
// table hook->own lists until the caller clears the table. The table may list blocks
// even after a failure.
fc_status_t fc_native_run(const fc_native_function_t *function,
                          const fc_dylib_t *dylib, fc_hook_t *hook,
                          fc_backend_call_t *call, fc_error_t *err);

#endif  // FARCALL_MODULE_NATIVE_FUNCTION_H_
