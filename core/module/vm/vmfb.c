// SPDX-License-Identifier: Apache-2.0
//
// Reads the flatbuffer of a .vmfb into fc_vm_module_t (IREE
// runtime/src/iree/schemas/bytecode_module_def.fbs). Called when a module is opened.
// Strings and code stay where they were read: in the file, or in our copy of it
// (`head`). The tables of the module are allocated here.
#include "module/vm/vmfb.h"

#include <inttypes.h>
#include <stdlib.h>

#include "abi/cconv.h"
#include "base/utf8.h"
#include "module/vm/archive.h"
#include "module/vm/flatbuffer.h"
#include "base/load.h"
#include "module/vm/ops.h"

#define DESCRIPTOR_SIZE 20
#define FUNCTION_COUNT_MAX 65535u
#define CELL_COUNT_MAX 0x7FFF  // the number of a cell has 15 bits
#define REF_COUNT_MAX 0x3FFF   // the number of a ref has 14 bits
#define GLOBAL_BYTES_MAX (64u << 20)
#define GLOBAL_REFS_MAX (1u << 20)
// The most bytes that all references in a file may name together. A file can refer to the
// same bytes many times: to text, to code that functions share, to a function that has
// many exports. Real files refer to each once. `least` is allowed for a file of any size.
#define REFERRED_MAX(least, size) ((uint64_t)(least) + 4 * (uint64_t)(size))
#define TEXT_SIZE_MIN (1 << 20)
#define CODE_SIZE_MIN (1 << 20)
// The same limit for exports, each of which gets a signature. An export counts about as
// many bytes as it would have in a file whose exports share nothing.
#define EXPORTED_SIZE_MIN (64 << 10)
#define EXPORT_SIZE 64
#define VALUE_SIZE 16  // for each letter of a calling convention
#define ATTR_SIZE 16   // for each attribute, beside its text
// The most letters of a convention with spans. Each call of such an import walks over the
// spans, so the convention must be short.
#define SPANS_SIZE_MAX 256
#define REQUIREMENTS_KNOWN                                                     \
  ((uint32_t)(FC_VM_REQUIRES_F32 | FC_VM_REQUIRES_F64 | FC_VM_REQUIRES_YIELD | \
              FC_VM_REQUIRES_UNWIND))

// Numbers of the fields of BytecodeModuleDef; a union has two.
enum {
  MODULE_NAME = 0,
  MODULE_VERSION = 1,
  MODULE_REQUIREMENTS = 2,
  MODULE_ATTRS = 3,
  MODULE_TYPES = 4,
  MODULE_DEPENDENCIES = 5,
  MODULE_IMPORTS = 6,
  MODULE_EXPORTS = 7,
  MODULE_SIGNATURES = 8,
  MODULE_RODATA = 9,
  MODULE_STATE = 11,
  MODULE_DESCRIPTORS = 12,
  MODULE_BYTECODE_VERSION = 13,
  MODULE_BYTECODE = 14,
};

static fc_status_t invalid(fc_error_t *err, const char *what, uint32_t index,
                           const char *problem) {
  return fc_fail(err, FC_CODE_VMFB_INVALID, "%s[%" PRIu32 "]: %s", what, index,
                 problem);
}

// True for text without NUL. Names must be text, because they are written to JSON and
// logs.
static bool is_text(fc_str_t text) {
  return fc_utf8_is_valid(text) &&
         (text.size == 0 || !memchr(text.data, '\0', text.size));
}

static fc_status_t read_name(const fc_fb_table_t *table, uint32_t id,
                             const char *what, fc_str_t *out, fc_error_t *err) {
  FC_TRY(fc_fb_string(table, id, what, out, err));
  if (!out->size) return fc_fail(err, FC_CODE_VMFB_INVALID, "%s: empty", what);
  if (!is_text(*out)) {
    return fc_fail(err, FC_CODE_VMFB_INVALID, "%s: not UTF-8", what);
  }
  return FC_OK;
}

// Reads a vector of tables, and allocates a zeroed array with `size` bytes for each
// table. The array is not NULL even if the vector is empty.
static fc_status_t read_table_vector(fc_vm_module_t *module,
                                     const fc_fb_table_t *table, uint32_t id,
                                     const char *what, size_t size,
                                     fc_fb_vector_t *out_vector,
                                     void *out_array, uint32_t *out_count,
                                     fc_error_t *err) {
  FC_TRY(fc_fb_vector(table, id, what, 4, out_vector, err));
  void *array = fc_arena_alloc_array(&module->arena, out_vector->count, size);
  if (!array) return fc_fail_memory(err);
  memcpy(out_array, &array, sizeof array);
  *out_count = out_vector->count;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Calling conventions

// Empties a side of a convention that is only "v", which means no value. False when a v
// stands among other letters.
static bool trim_void(fc_str_t *side) {
  if (fc_str_equal(*side, FC_STR("v"))) side->size = 0;
  return !side->size || !memchr(side->data, 'v', side->size);
}

static bool has_empty_span(fc_str_t side) {
  for (size_t i = 1; i < side.size; i++) {
    if (side.data[i - 1] == 'C' && side.data[i] == 'D') return true;
  }
  return false;
}

fc_status_t fc_vm_cconv_parse(fc_str_t text, bool spans, fc_vm_cconv_t *out,
                              fc_error_t *err) {
  fc_cconv_t cconv;
  FC_TRY(fc_cconv_parse(text, &cconv, err));
  *out = (fc_vm_cconv_t){cconv.arguments, cconv.results};
  if (!trim_void(&out->arguments) || !trim_void(&out->results) ||
      (cconv.variadic && !spans)) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "calling convention with a void or a span out of place");
  }
  if (cconv.variadic &&
      (text.size > SPANS_SIZE_MAX || has_empty_span(out->arguments))) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "calling convention of %zu bytes with spans, at most %d, or "
                   "an empty span",
                   text.size, SPANS_SIZE_MAX);
  }
  return FC_OK;
}

static fc_status_t read_attrs(fc_vm_module_t *module,
                              const fc_fb_table_t *table, uint32_t id,
                              const fc_vm_attr_t **out, uint32_t *out_count,
                              fc_error_t *err) {
  fc_fb_vector_t vector;
  fc_vm_attr_t *attrs;
  FC_TRY(read_table_vector(module, table, id, "attrs", sizeof *attrs, &vector,
                           &attrs, out_count, err));
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t attr;
    FC_TRY(fc_fb_vector_table(&vector, i, "attrs", &attr, err));
    FC_TRY(fc_fb_string(&attr, 0, "attrs.key", &attrs[i].key, err));
    FC_TRY(fc_fb_string(&attr, 1, "attrs.value", &attrs[i].value, err));
    if (!is_text(attrs[i].key) || !is_text(attrs[i].value)) {
      return invalid(err, "attrs", i, "not UTF-8");
    }
  }
  *out = attrs;
  return FC_OK;
}

// Reads the calling convention in a FunctionSignatureDef.
static fc_status_t read_cconv(const fc_fb_table_t *signature, const char *what,
                              uint32_t index, bool spans, fc_str_t *out_text,
                              fc_vm_cconv_t *out, fc_error_t *err) {
  FC_TRY(fc_fb_string(signature, 0, what, out_text, err));
  if (fc_vm_cconv_parse(*out_text, spans, out, err) != FC_OK) {
    char shown[80];
    fc_escape(shown, sizeof shown, 48, *out_text);
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%s[%" PRIu32 "]: '%s' is no calling convention", what,
                   index, shown);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Tables, in the order in which they depend on each other

static fc_status_t read_head(fc_vm_module_t *module, const fc_fb_table_t *def,
                             fc_error_t *err) {
  uint32_t bytecode;
  FC_TRY(fc_fb_u32(def, MODULE_BYTECODE_VERSION, "bytecode_version", 0,
                   &bytecode, err));
  if (!fc_vm_bytecode_find(bytecode)) {
    const fc_vm_bytecode_t *first = &fc_vm_bytecodes[0];
    const fc_vm_bytecode_t *last = &fc_vm_bytecodes[fc_vm_bytecode_count - 1];
    return fc_fail(err, FC_CODE_VMFB_VERSION,
                   "bytecode %" PRIu32 ".%" PRIu32
                   "; this farcall reads %" PRIu32 ".0 to %" PRIu32
                   ".0 (IREE %s to %s)",
                   bytecode >> 16, bytecode & 0xFFFF, first->major, last->major,
                   first->first_release, last->last_release);
  }
  module->bytecode_version = bytecode;
  FC_TRY(read_name(def, MODULE_NAME, "name", &module->name, err));
  FC_TRY(fc_fb_u32(def, MODULE_VERSION, "version", 0, &module->version, err));
  FC_TRY(fc_fb_u32(def, MODULE_REQUIREMENTS, "requirements", 0,
                   &module->requirements, err));
  if (module->requirements & ~REQUIREMENTS_KNOWN) {
    return fc_fail(err, FC_CODE_VMFB_VERSION,
                   "the module requires features 0x%" PRIX32
                   ", known are 0x%" PRIX32,
                   module->requirements, REQUIREMENTS_KNOWN);
  }
  return read_attrs(module, def, MODULE_ATTRS, &module->attrs,
                    &module->attr_count, err);
}

static fc_status_t read_types(fc_vm_module_t *module, const fc_fb_table_t *def,
                              fc_error_t *err) {
  fc_fb_vector_t vector;
  FC_TRY(read_table_vector(module, def, MODULE_TYPES, "types",
                           sizeof *module->types, &vector, &module->types,
                           &module->type_count, err));
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t table;
    fc_vm_type_def_t *type = &module->types[i];
    FC_TRY(fc_fb_vector_table(&vector, i, "types", &table, err));
    FC_TRY(read_name(&table, 0, "types.full_name", &type->name, err));
    type->type = fc_vm_type_find(type->name);
    if (type->type == FC_VM_TYPE_NONE) {
      char shown[100];
      fc_escape(shown, sizeof shown, 64, type->name);
      return fc_fail(err, FC_CODE_VMFB_VERSION,
                     "types[%" PRIu32 "]: unknown type '%s'", i, shown);
    }
  }
  return FC_OK;
}

static fc_status_t read_dependencies(fc_vm_module_t *module,
                                     const fc_fb_table_t *def,
                                     fc_error_t *err) {
  fc_fb_vector_t vector;
  FC_TRY(read_table_vector(module, def, MODULE_DEPENDENCIES, "dependencies",
                           sizeof *module->dependencies, &vector,
                           &module->dependencies, &module->dependency_count,
                           err));
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t table;
    uint32_t flags;
    fc_vm_dependency_t *dependency = &module->dependencies[i];
    FC_TRY(fc_fb_vector_table(&vector, i, "dependencies", &table, err));
    FC_TRY(read_name(&table, 0, "dependencies.name", &dependency->name, err));
    FC_TRY(fc_fb_u32(&table, 1, "dependencies.minimum_version", 0,
                     &dependency->minimum_version, err));
    FC_TRY(fc_fb_u32(&table, 2, "dependencies.flags", 1, &flags, err));
    dependency->optional = (flags & 2) != 0;
  }
  return FC_OK;
}

static fc_status_t read_imports(fc_vm_module_t *module,
                                const fc_fb_table_t *def, fc_error_t *err) {
  fc_fb_vector_t vector;
  FC_TRY(read_table_vector(module, def, MODULE_IMPORTS, "imported_functions",
                           sizeof *module->imports, &vector, &module->imports,
                           &module->import_count, err));
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t table, signature;
    uint32_t flags;
    fc_vm_import_t *import = &module->imports[i];
    FC_TRY(fc_fb_vector_table(&vector, i, "imported_functions", &table, err));
    FC_TRY(read_name(&table, 0, "imported_functions.full_name",
                     &import->full_name, err));
    FC_TRY(fc_fb_table(&table, 1, "imported_functions.signature", &signature,
                       err));
    FC_TRY(read_cconv(&signature, "imported_functions", i, true,
                      &import->cconv_text, &import->cconv, err));
    FC_TRY(fc_fb_u32(&table, 2, "imported_functions.flags", 1, &flags, err));
    import->optional = (flags & 2) != 0;
    fc_str_t name = import->full_name;
    const char *dot = memchr(name.data, '.', name.size);
    if (!dot) return invalid(err, "imported_functions", i, "no module name");
    size_t length = (size_t)(dot - name.data);
    import->module = fc_str_make(name.data, length);
    import->name = fc_str_make(dot + 1, name.size - length - 1);
  }
  return FC_OK;
}

static bool is_elf(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {0x7F, 'E', 'L', 'F'};
  return size >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

// Adds a constant that lies outside the flatbuffer. With `file`, its first bytes
// are read from the file: reading them through the mapping would end the process
// if the file was cut short.
static fc_status_t add_external(fc_vm_module_t *module, uint32_t index,
                                const fc_vm_archive_t *archive,
                                const fc_snapshot_t *file, size_t offset,
                                size_t length, fc_error_t *err) {
  const uint8_t *data = archive->data + offset;
  uint8_t start[4] = {0};
  if (!file) {
    module->has_elf = module->has_elf || is_elf(data, length);
  } else {
    data = (const uint8_t *)file->bytes.data + offset;
    if (length >= sizeof start &&
        !fc_snapshot_read(file, offset, start, sizeof start)) {
      return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read all of it");
    }
    module->has_elf = module->has_elf || is_elf(start, sizeof start);
  }
  fc_vm_buffer_init_constant(&module->rodata[index], data, length);
  return FC_OK;
}

static fc_status_t read_rodata(fc_vm_module_t *module, const fc_fb_table_t *def,
                               const fc_vm_archive_t *archive,
                               const fc_snapshot_t *file, fc_error_t *err) {
  fc_fb_vector_t vector;
  FC_TRY(read_table_vector(module, def, MODULE_RODATA, "rodata_segments",
                           sizeof *module->rodata, &vector, &module->rodata,
                           &module->rodata_count, err));
  size_t room = archive->size - archive->rodata;
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t table;
    fc_fb_vector_t embedded;
    uint8_t compression;
    FC_TRY(fc_fb_vector_table(&vector, i, "rodata_segments", &table, err));
    FC_TRY(fc_fb_u8(&table, 0, "rodata_segments.compression", 0, &compression,
                    err));
    if (compression > 1) {
      return invalid(err, "rodata_segments", i, "compressed");
    }
    if (fc_fb_has(&table, 2)) {
      FC_TRY(fc_fb_vector(&table, 2, "rodata_segments.embedded_data", 1,
                          &embedded, err));
      // Kernels may write into constants. This constant lies among tables and
      // code that were verified; in a hostile file it may even overlap them. So it is
      // copied.
      uint8_t *data = fc_arena_alloc(&module->arena, embedded.count + 1u, 64);
      if (!data) return fc_fail_memory(err);
      if (embedded.count) {
        memcpy(data, embedded.buffer.data + embedded.position, embedded.count);
      }
      module->has_elf = module->has_elf || is_elf(data, embedded.count);
      fc_vm_buffer_init_constant(&module->rodata[i], data, embedded.count);
      continue;
    }
    uint64_t offset, length;
    FC_TRY(fc_fb_u64(&table, 3, "rodata_segments.external_data_offset", 0,
                     &offset, err));
    FC_TRY(fc_fb_u64(&table, 4, "rodata_segments.external_data_length", 0,
                     &length, err));
    if (offset > room || length > room - offset) {
      return invalid(err, "rodata_segments", i, "passes the end of the file");
    }
    FC_TRY(add_external(module, i, archive, file, archive->rodata + offset,
                        (size_t)length, err));
  }
  return FC_OK;
}

static fc_status_t read_state(fc_vm_module_t *module, const fc_fb_table_t *def,
                              fc_error_t *err) {
  fc_fb_table_t table;
  FC_TRY(fc_fb_table(def, MODULE_STATE, "module_state", &table, err));
  FC_TRY(fc_fb_u32(&table, 0, "module_state.global_bytes_capacity", 0,
                   &module->global_bytes, err));
  FC_TRY(fc_fb_u32(&table, 1, "module_state.global_ref_count", 0,
                   &module->global_refs, err));
  // The schema's numbers are int32: negative ones are also over the limit.
  if (module->global_bytes > GLOBAL_BYTES_MAX ||
      module->global_refs > GLOBAL_REFS_MAX) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "module_state: %" PRIu32 " bytes and %" PRIu32
                   " refs of globals, at most %u and %u",
                   module->global_bytes, module->global_refs, GLOBAL_BYTES_MAX,
                   GLOBAL_REFS_MAX);
  }
  return FC_OK;
}

// Reads a FunctionDescriptor: i32 offset, i32 length, u32 requirements, then
// i16 reserved, blocks, cells and refs. The numbers are signed in the schema.
static fc_status_t read_descriptor(const uint8_t *at, fc_fb_vector_t code,
                                   uint32_t index, fc_vm_function_t *function,
                                   fc_error_t *err) {
  uint32_t offset = fc_load_u32(at), length = fc_load_u32(at + 4);
  const char *what = "function_descriptors";
  if (offset > code.count || length == 0 || length > code.count - offset) {
    return invalid(err, what, index, "code outside bytecode_data");
  }
  function->code = code.buffer.data + code.position + offset;
  function->size = length;
  function->requirements = fc_load_u32(at + 8);
  function->block_count = fc_load_u16(at + 14);
  function->cell_count = fc_load_u16(at + 16);
  function->ref_count = fc_load_u16(at + 18);
  if (function->requirements & ~REQUIREMENTS_KNOWN) {
    return invalid(err, what, index, "unknown requirements");
  }
  if (function->block_count == 0 || function->block_count > INT16_MAX) {
    return invalid(err, what, index, "block count outside 1 to 32767");
  }
  if (function->cell_count > CELL_COUNT_MAX ||
      function->ref_count > REF_COUNT_MAX) {
    return invalid(err, what, index, "too many registers");
  }
  return FC_OK;
}

void fc_vm_count_registers(fc_str_t letters, uint64_t *out_cells,
                           uint64_t *out_refs) {
  *out_cells = *out_refs = 0;
  for (size_t i = 0; i < letters.size; i++) {
    switch (letters.data[i]) {
      case 'I':
      case 'F':
        *out_cells = (*out_cells + 1) / 2 * 2 + 2;
        break;
      case 'r':
        ++*out_refs;
        break;
      default:
        ++*out_cells;
        break;
    }
  }
}

// Raises the register counts to what the arguments need: an argument that is
// never read may lie after the declared registers.
static fc_status_t make_room(uint32_t index, fc_vm_function_t *function,
                             fc_error_t *err) {
  uint64_t cells, refs;
  fc_vm_count_registers(function->cconv.arguments, &cells, &refs);
  if (cells > CELL_COUNT_MAX || refs > REF_COUNT_MAX) {
    return invalid(err, "function_signatures", index, "too many arguments");
  }
  if (function->cell_count < cells) function->cell_count = (uint16_t)cells;
  // An odd count is rounded up, because an assembler may count only the first of the two
  // cells of a 64-bit value at the end.
  if (function->cell_count < CELL_COUNT_MAX) {
    function->cell_count = (uint16_t)((function->cell_count + 1) & ~1);
  }
  if (function->ref_count < refs) function->ref_count = (uint16_t)refs;
  return FC_OK;
}

// Returns how many bytes an export of the function counts, without its name; see
// EXPORTED_SIZE_MIN.
static uint64_t described_size(const fc_vm_function_t *function) {
  uint64_t size =
      EXPORT_SIZE + VALUE_SIZE * (uint64_t)function->cconv_text.size;
  for (uint32_t i = 0; i < function->attr_count; i++) {
    const fc_vm_attr_t *attr = &function->attrs[i];
    size += ATTR_SIZE + attr->key.size + attr->value.size;
  }
  return size;
}

static fc_status_t read_functions(fc_vm_module_t *module,
                                  const fc_fb_table_t *def, fc_error_t *err) {
  fc_fb_vector_t signatures, descriptors, code;
  FC_TRY(read_table_vector(module, def, MODULE_SIGNATURES,
                           "function_signatures", sizeof *module->functions,
                           &signatures, &module->functions,
                           &module->function_count, err));
  FC_TRY(fc_fb_vector(def, MODULE_DESCRIPTORS, "function_descriptors",
                      DESCRIPTOR_SIZE, &descriptors, err));
  FC_TRY(fc_fb_vector(def, MODULE_BYTECODE, "bytecode_data", 1, &code, err));
  if (descriptors.count != signatures.count ||
      signatures.count > FUNCTION_COUNT_MAX) {
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "%" PRIu32 " function_signatures for %" PRIu32
                   " function_descriptors, at most %u",
                   signatures.count, descriptors.count, FUNCTION_COUNT_MAX);
  }
  uint64_t total = 0;
  for (uint32_t i = 0; i < signatures.count; i++) {
    fc_fb_table_t signature;
    fc_vm_function_t *function = &module->functions[i];
    FC_TRY(fc_fb_vector_table(&signatures, i, "function_signatures", &signature,
                              err));
    FC_TRY(read_cconv(&signature, "function_signatures", i, false,
                      &function->cconv_text, &function->cconv, err));
    FC_TRY(read_attrs(module, &signature, 1, &function->attrs,
                      &function->attr_count, err));
    FC_TRY(read_descriptor(descriptors.buffer.data + descriptors.position +
                               (size_t)i * DESCRIPTOR_SIZE,
                           code, i, function, err));
    FC_TRY(make_room(i, function, err));
    function->described_size = described_size(function);
    total += function->size;
  }
  const uint64_t most = REFERRED_MAX(CODE_SIZE_MIN, code.count);
  if (total <= most) return FC_OK;
  return fc_fail(err, FC_CODE_VMFB_INVALID,
                 "functions of %" PRIu64 " bytes in all, at most %" PRIu64,
                 total, most);
}

static int compare_exports(const void *left, const void *right) {
  const fc_vm_export_t *const *x = left, *const *y = right;
  return fc_str_compare((*x)->name, (*y)->name);
}

static fc_status_t sort_exports(fc_vm_module_t *module, fc_error_t *err) {
  const uint32_t count = module->export_count;
  module->by_name =
      fc_arena_alloc_array(&module->arena, count, sizeof *module->by_name);
  if (!module->by_name) return fc_fail_memory(err);
  for (uint32_t i = 0; i < count; i++) module->by_name[i] = &module->exports[i];
  qsort(module->by_name, count, sizeof *module->by_name, compare_exports);
  for (uint32_t i = 1; i < count; i++) {
    const fc_vm_export_t *const *pair = &module->by_name[i - 1];
    if (compare_exports(&pair[0], &pair[1]) != 0) continue;
    char shown[100];
    fc_escape(shown, sizeof shown, 64, pair[0]->name);
    return fc_fail(err, FC_CODE_VMFB_INVALID,
                   "exported_functions: two are named '%s'", shown);
  }
  return FC_OK;
}

static fc_status_t read_exports(fc_vm_module_t *module,
                                const fc_fb_table_t *def, fc_error_t *err) {
  fc_fb_vector_t vector;
  FC_TRY(read_table_vector(module, def, MODULE_EXPORTS, "exported_functions",
                           sizeof *module->exports, &vector, &module->exports,
                           &module->export_count, err));
  uint64_t total = 0;
  const uint64_t most = REFERRED_MAX(EXPORTED_SIZE_MIN, def->buffer.size);
  for (uint32_t i = 0; i < vector.count; i++) {
    fc_fb_table_t table;
    fc_vm_export_t *export = &module->exports[i];
    FC_TRY(fc_fb_vector_table(&vector, i, "exported_functions", &table, err));
    FC_TRY(read_name(&table, 0, "exported_functions.local_name", &export->name,
                     err));
    FC_TRY(fc_fb_u32(&table, 1, "exported_functions.internal_ordinal", 0,
                     &export->function, err));
    if (export->function >= module->function_count) {
      return invalid(err, "exported_functions", i, "no such function");
    }
    fc_vm_function_t *function = &module->functions[export->function];
    if (!function->name.size) function->name = export->name;
    total += export->name.size + function->described_size;
    if (total > most) {
      return fc_fail(err, FC_CODE_VMFB_INVALID,
                     "exported_functions: the first %" PRIu32
                     " describe %" PRIu64 " bytes, at most %" PRIu64,
                     i + 1, total, most);
    }
  }
  return sort_exports(module, err);
}

// Copies the file up to its external constants. The bytes that say how far to
// copy are read only once, because they might be different at a second reading.
static fc_status_t copy_head(fc_vm_module_t *module, const fc_snapshot_t *file,
                             fc_vm_archive_t *out_archive, fc_error_t *err) {
  const size_t size = file->bytes.size;
  const size_t start = size < FC_VM_ARCHIVE_START ? size : FC_VM_ARCHIVE_START;
  module->head = fc_alloc_aligned(module->allocator, start, 64);
  if (!module->head) return fc_fail_memory(err);
  bool read = fc_snapshot_read(file, 0, module->head, start);
  if (read) {
    FC_TRY(fc_vm_archive_parse(module->head, size, out_archive, err));
    const size_t end = out_archive->flatbuffer + out_archive->flatbuffer_size;
    uint8_t *head =
        fc_alloc_aligned(module->allocator, end > start ? end : start, 64);
    if (!head) return fc_fail_memory(err);
    memcpy(head, module->head, start);
    fc_free(module->allocator, module->head);
    out_archive->data = module->head = head;
    read = end <= start ||
           fc_snapshot_read(file, start, head + start, end - start);
  }
  if (read) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read all of it");
}

static fc_status_t read_module(fc_vm_module_t *module, const uint8_t *data,
                               size_t size, const fc_snapshot_t *file,
                               fc_error_t *err) {
  fc_vm_archive_t archive;
  fc_fb_table_t def;
  if (file) {
    FC_TRY(copy_head(module, file, &archive, err));
  } else {
    FC_TRY(fc_vm_archive_parse(data, size, &archive, err));
  }
  uint64_t text_left = REFERRED_MAX(TEXT_SIZE_MIN, archive.flatbuffer_size);
  fc_fb_t buffer = {archive.data + archive.flatbuffer,
                    (uint32_t)archive.flatbuffer_size, &text_left};
  FC_TRY(fc_fb_root(buffer, &def, err));
  FC_TRY(read_head(module, &def, err));
  FC_TRY(read_types(module, &def, err));
  FC_TRY(read_dependencies(module, &def, err));
  FC_TRY(read_imports(module, &def, err));
  FC_TRY(read_rodata(module, &def, &archive, file, err));
  FC_TRY(read_state(module, &def, err));
  FC_TRY(read_functions(module, &def, err));
  return read_exports(module, &def, err);
}

// Reads a module. If `file` is not NULL, the file is not sealed and could be written to
// meanwhile, so the file is read instead of `data`. If `file` is NULL, the bytes at
// `data` do not change.
static fc_status_t create(const uint8_t *data, size_t size,
                          const fc_snapshot_t *file, fc_allocator_t allocator,
                          fc_vm_module_t **out_module, fc_error_t *err) {
  fc_vm_module_t *module = fc_alloc(allocator, sizeof *module);
  if (!module) return fc_fail_memory(err);
  module->allocator = allocator;
  // Vectors of a hostile file may share bytes, so memory is limited by the file's size.
  // A real file needs at most five times its own size.
  size_t limit = (size_t)1 << 20;
  if (!fc_size_add(limit, size < SIZE_MAX / 16 ? size * 16 : size, &limit)) {
    limit = SIZE_MAX;
  }
  fc_arena_init(&module->arena, allocator, 16 << 10, limit);
  fc_status_t status = read_module(module, data, size, file, err);
  if (status != FC_OK) {
    fc_vm_module_destroy(module);
    return status;
  }
  *out_module = module;
  return FC_OK;
}

fc_status_t fc_vm_module_create(const uint8_t *data, size_t size,
                                fc_allocator_t allocator,
                                fc_vm_module_t **out_module, fc_error_t *err) {
  return create(data, size, NULL, allocator, out_module, err);
}

fc_status_t fc_vm_module_open(const fc_snapshot_t *file,
                              fc_allocator_t allocator,
                              fc_vm_module_t **out_module, fc_error_t *err) {
  return create((const uint8_t *)file->bytes.data, file->bytes.size,
                file->sealed ? NULL : file, allocator, out_module, err);
}

void fc_vm_module_destroy(fc_vm_module_t *module) {
  if (!module) return;
  fc_arena_deinit(&module->arena);
  fc_free(module->allocator, module->head);
  fc_free(module->allocator, module);
}

const fc_vm_export_t *fc_vm_module_find(const fc_vm_module_t *module,
                                        fc_str_t name) {
  const fc_vm_export_t named = {.name = name}, *key = &named;
  const fc_vm_export_t *const *found =
      module->export_count
          ? bsearch(&key, module->by_name, module->export_count,
                    sizeof *module->by_name, compare_exports)
          : NULL;
  return found ? *found : NULL;
}

fc_str_t fc_vm_function_attr(const fc_vm_function_t *function, fc_str_t key) {
  for (uint32_t i = 0; i < function->attr_count; i++) {
    if (fc_str_equal(function->attrs[i].key, key)) {
      return function->attrs[i].value;
    }
  }
  return (fc_str_t){0};
}
