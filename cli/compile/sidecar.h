// SPDX-License-Identifier: Apache-2.0
//
// The ABI description that `farcall compile` writes beside a module and into it.
#ifndef FARCALL_CLI_COMPILE_SIDECAR_H_
#define FARCALL_CLI_COMPILE_SIDECAR_H_

#include "compile/mlir/text.h"

// A second file of the module, for processors with more instructions.
typedef struct fc_variant_draft_t {
  const char *file;
  const char *cpu;  // LLVM's name
} fc_variant_draft_t;

// The content of the sidecar.
typedef struct fc_sidecar_draft_t {
  const fc_mlir_module_t *module;  // bufferized; names and roles resolved
  const char *compiler;            // "mlir 22.1.8"
  bool pure;     // calls no foreign functions, and has no state between calls
  bool checked;  // has run-time checks
  bool plainly_aligned;  // fc_ir_is_plainly_aligned
  uint64_t max_frame;    // bytes of the largest stack frame of any function
  const char
      *sha256;  // of the .so; NULL: neither it nor the variants are written
  const fc_variant_draft_t *variants;  // the best first
  size_t variant_count;
} fc_sidecar_draft_t;

// Gives names, roles and dims to the public functions with a body of `lowered`. They come
// from `source`, the same module before bufferization, and from the source text.
// FC_CODE_ABI_METADATA: an attribute contradicts the function.
fc_status_t fc_sidecar_draft_resolve(fc_arena_t *arena, fc_str_t source_text,
                                     const fc_mlir_module_t *source,
                                     fc_mlir_module_t *lowered,
                                     fc_error_t *err);

// Writes the description as JSON into the arena; with `pretty`, indented.
fc_status_t fc_sidecar_draft_print(fc_arena_t *arena,
                                   const fc_sidecar_draft_t *draft, bool pretty,
                                   fc_str_t *out_json, fc_error_t *err);

// Makes LLVM IR that exports `json` as the C string __farcall_abi.
fc_status_t fc_sidecar_draft_embed(fc_arena_t *arena, fc_str_t json,
                                   fc_str_t *out_ir, fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_SIDECAR_H_
