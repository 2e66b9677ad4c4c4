// SPDX-License-Identifier: Apache-2.0
//
// The ABI description of a native module: `<module>.farcall.json` beside it, or the
// same JSON embedded as `__farcall_abi`. Read once at load, any thread; the format is
// in docs/abi.md. The reader opens neither the module nor other files: the native
// backend supplies the text and compares so_sha256 itself. The other form of the file,
// which only adds names, is read by names.h.
#ifndef FARCALL_ABI_SIDECAR_H_
#define FARCALL_ABI_SIDECAR_H_

#include "abi/names.h"

// How a function is called.
typedef enum fc_cc_t {
  FC_CC_CIFACE,    // _mlir_ciface_*: C, memrefs by pointer to descriptor
  FC_CC_PACKED,    // void f(void **): pointers to arguments, then the result
  FC_CC_EXPANDED,  // memrefs as their descriptor's words
  FC_CC_BAREPTR,   // memrefs as one pointer each
} fc_cc_t;

typedef enum fc_threading_t {
  FC_THREADING_AUTO,  // the description does not say
  FC_THREADING_REENTRANT,
  FC_THREADING_SERIAL,
} fc_threading_t;

// Who frees the memory of a memref result.
typedef enum fc_ownership_t {
  FC_OWNERSHIP_AUTO,  // found out by tracking allocations
  FC_OWNERSHIP_OWNED,
  FC_OWNERSHIP_BORROWED,
} fc_ownership_t;

typedef struct fc_sidecar_function_t {
  fc_str_t name;
  fc_str_t symbol;  // NUL-terminated
  fc_cc_t cc;
  fc_threading_t threads;
  const uint8_t *ownership;   // fc_ownership_t of each result
  fc_signature_t *signature;  // a caller that takes it over sets this to NULL
} fc_sidecar_function_t;

typedef struct fc_sidecar_t {
  fc_allocator_t allocator;
  bool pure;           // the module keeps nothing from call to call
  bool checked;        // compiled with run-time verification
  bool ftz;            // needs denormals flushed to zero
  uint8_t alignment;   // of tensors' memory in bytes; elements may need more
  fc_str_t so_sha256;  // 64 hex digits, or empty
  fc_str_t compiler;
  fc_sidecar_function_t *functions;
  size_t function_count;
  uint8_t *ownership;  // of all functions' results
  void *document;      // owns the texts
} fc_sidecar_t;

// Reads a description. `source` is FC_SOURCE_SIDECAR or FC_SOURCE_EMBEDDED. `names`, if
// not NULL, are applied to the functions described. FC_CODE_ABI_METADATA names the place
// of a fault as a JSON pointer. A function whose types cannot be passed is
// listed but not callable. Nothing points into `json` afterwards.
fc_status_t fc_sidecar_parse(fc_str_t json, fc_source_t source,
                             fc_names_t *names, fc_allocator_t allocator,
                             fc_sidecar_t **out_sidecar,
                             fc_error_t *err) FC_MUST_CHECK;
void fc_sidecar_destroy(fc_sidecar_t *sidecar);  // NULL is allowed

#endif  // FARCALL_ABI_SIDECAR_H_
