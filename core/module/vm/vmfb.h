// SPDX-License-Identifier: Apache-2.0
//
// One .vmfb file as the interpreter sees it: types, imports, exports, functions
// and constants. All indices are in range. Immutable; any thread. Bytecode is
// checked elsewhere (verify.h).
#ifndef FARCALL_CORE_MODULE_VM_VMFB_H_
#define FARCALL_CORE_MODULE_VM_VMFB_H_

#include "module/snapshot.h"
#include "module/vm/buffer.h"

// The bits of `requirements` in fc_vm_module_t and fc_vm_function_t.
enum {
  FC_VM_REQUIRES_F32 = 1 << 0,
  FC_VM_REQUIRES_F64 = 1 << 1,
  FC_VM_REQUIRES_YIELD = 1 << 2,
  FC_VM_REQUIRES_UNWIND = 1 << 3,
};

// The two sides of a calling convention like "0ri_I": one character for each value,
// i I f F r. Only arguments of imports may have spans C…D, of any number of values.
typedef struct fc_vm_cconv_t {
  fc_str_t arguments;
  fc_str_t results;
} fc_vm_cconv_t;

// Splits a convention into its two sides; "" has no arguments and no results.
// `spans` says whether C…D is allowed in the arguments.
fc_status_t fc_vm_cconv_parse(fc_str_t text, bool spans, fc_vm_cconv_t *out,
                              fc_error_t *err) FC_MUST_CHECK;

// Counts the registers that a function's arguments need. They fill each bank
// from 0; a 64-bit value begins at an even cell.
void fc_vm_count_registers(fc_str_t letters, uint64_t *out_cells,
                           uint64_t *out_refs);

typedef struct fc_vm_attr_t {
  fc_str_t key;
  fc_str_t value;
} fc_vm_attr_t;

typedef struct fc_vm_function_t {
  const uint8_t *code;
  uint32_t size;
  uint32_t requirements;
  uint32_t block_count;
  uint16_t cell_count;  // 32-bit registers
  uint16_t ref_count;
  fc_vm_cconv_t cconv;
  fc_str_t cconv_text;
  fc_str_t name;  // of the first export of this function, else ""
  const fc_vm_attr_t *attrs;
  uint32_t attr_count;
  uint64_t described_size;  // about how many bytes one export of it counts
} fc_vm_function_t;

typedef struct fc_vm_export_t {
  fc_str_t name;
  uint32_t function;
} fc_vm_export_t;

typedef struct fc_vm_import_t {
  fc_str_t full_name;
  fc_str_t module;  // before the first '.'
  fc_str_t name;    // after it
  fc_vm_cconv_t cconv;
  fc_str_t cconv_text;
  bool optional;
} fc_vm_import_t;

typedef struct fc_vm_dependency_t {
  fc_str_t name;
  uint32_t minimum_version;
  bool optional;
} fc_vm_dependency_t;

typedef struct fc_vm_type_def_t {
  fc_str_t name;
  fc_vm_type_t type;
} fc_vm_type_def_t;

typedef struct fc_vm_module_t {
  fc_allocator_t allocator;
  fc_str_t name;
  uint32_t version;
  uint32_t bytecode_version;  // major << 16 | minor; one of releases.def
  uint32_t requirements;
  const fc_vm_attr_t *attrs;
  uint32_t attr_count;
  fc_vm_type_def_t *types;
  uint32_t type_count;
  fc_vm_dependency_t *dependencies;
  uint32_t dependency_count;
  fc_vm_import_t *imports;
  uint32_t import_count;
  fc_vm_export_t *exports;         // no two of one name
  const fc_vm_export_t **by_name;  // the exports, sorted by name
  uint32_t export_count;
  fc_vm_function_t *functions;
  uint32_t function_count;
  fc_vm_buffer_t *rodata;  // constants, as objects
  uint32_t rodata_count;
  uint32_t global_bytes;
  uint32_t global_refs;
  bool has_elf;      // at least one constant is an ELF file
  uint8_t *head;     // copy of all but external constants, or NULL
  fc_arena_t arena;  // of the arrays above, and of constants in the file
} fc_vm_module_t;

// Reads the file; `data` is borrowed and must outlive the module. Fails with
// FC_CODE_VMFB_VERSION for bytecode of another version, or for unknown features or
// types, and with FC_CODE_VMFB_INVALID, naming the table, for anything malformed.
fc_status_t fc_vm_module_create(const uint8_t *data, size_t size,
                                fc_allocator_t allocator,
                                fc_vm_module_t **out_module,
                                fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_vm_module_create for a file, which must stay open. If the file is
// not sealed, everything except the external constants is copied. Only the first four
// bytes of each such constant are read. So a write to the file changes what the module
// computes, but not what was verified. FC_CODE_MODULE_PATH when the file cannot be read.
fc_status_t fc_vm_module_open(const fc_snapshot_t *file,
                              fc_allocator_t allocator,
                              fc_vm_module_t **out_module,
                              fc_error_t *err) FC_MUST_CHECK;
void fc_vm_module_destroy(fc_vm_module_t *module);

static inline uint32_t fc_vm_module_major(const fc_vm_module_t *module) {
  return module->bytecode_version >> 16;
}
// Finds the export of that name; NULL when there is none.
const fc_vm_export_t *fc_vm_module_find(const fc_vm_module_t *module,
                                        fc_str_t name);
// Returns the attribute's value; if it occurs twice, the first one. "" when absent.
fc_str_t fc_vm_function_attr(const fc_vm_function_t *function, fc_str_t key);

#endif  // FARCALL_CORE_MODULE_VM_VMFB_H_
