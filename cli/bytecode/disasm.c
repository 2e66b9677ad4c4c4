// SPDX-License-Identifier: Apache-2.0
//
// The disassembler: one loop over the decoder. ops.def has the text form of each opcode.
// Only the command line and tests call it.
#include "bytecode/disasm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct printer_t {
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
  fc_sink_t *sink;
  uint32_t *blocks;  // pc of each block marker, ascending
  uint32_t block_count;
} printer_t;

static fc_status_t print(fc_sink_t *sink, fc_error_t *err, const char *format,
                         ...) FC_PRINTF(3, 4);
static fc_status_t print_arguments(fc_sink_t *sink, fc_error_t *err,
                                   const char *format, va_list arguments)
    FC_PRINTF(3, 0);

static fc_status_t print_arguments(fc_sink_t *sink, fc_error_t *err,
                                   const char *format, va_list arguments) {
  char text[160];
  int length = vsnprintf(text, sizeof text, format, arguments);
  size_t size = length < 0 ? 0 : (size_t)length;
  if (size >= sizeof text) size = sizeof text - 1;
  return fc_sink_put(sink, fc_str_make(text, size), err);
}

static fc_status_t print(fc_sink_t *sink, fc_error_t *err, const char *format,
                         ...) {
  va_list arguments;
  va_start(arguments, format);
  fc_status_t status = print_arguments(sink, err, format, arguments);
  va_end(arguments);
  return status;
}

static fc_status_t put(fc_sink_t *sink, fc_error_t *err, const char *text) {
  return fc_sink_put(sink, fc_str(text), err);
}

// ---------------------------------------------------------------------------
// Operands

// `kind` is the operand's letter in ops.def, which gives the width of the value. If it is
// 0 or '?', the width is not known and only the first cell is printed.
static fc_status_t print_register(printer_t *p, uint32_t reg, char kind,
                                  fc_error_t *err) {
  if (reg & FC_VM_REF_BIT) {
    return print(p->sink, err, reg & FC_VM_MOVE_BIT ? "%%R%u" : "%%r%u",
                 (unsigned)(reg & FC_VM_REF_MASK));
  }
  if (kind && strchr("lLdD", kind)) {
    return print(p->sink, err, "%%i%u:%u", reg, reg + 1);
  }
  return print(p->sink, err, "%%i%u", reg);
}

static fc_status_t print_function_name(printer_t *p, uint32_t ordinal,
                                       fc_error_t *err) {
  const fc_vm_module_t *module = p->module;
  if (ordinal & FC_VM_IMPORT_BIT) {
    uint32_t import = ordinal & ~FC_VM_IMPORT_BIT;
    if (import >= module->import_count) {
      return print(p->sink, err, "import:%" PRIu32, import);
    }
    return fc_sink_put(p->sink, module->imports[import].full_name, err);
  }
  FC_TRY(fc_sink_put(p->sink, module->name, err));
  if (ordinal >= module->function_count ||
      !module->functions[ordinal].name.size) {
    return print(p->sink, err, ":%" PRIu32, ordinal);
  }
  FC_TRY(put(p->sink, err, "."));
  return fc_sink_put(p->sink, module->functions[ordinal].name, err);
}

static fc_status_t print_block(printer_t *p, uint32_t pc, fc_error_t *err) {
  uint32_t low = 0, high = p->block_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->blocks[middle] < pc) low = middle + 1;
    else high = middle;
  }
  if (low < p->block_count && p->blocks[low] == pc) {
    return print(p->sink, err, "^bb%" PRIu32, low);
  }
  return print(p->sink, err, "^%08" PRIX32, pc);
}

static fc_status_t print_copies(printer_t *p, uint32_t pc, uint32_t count,
                                fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *pair = p->function->code + pc + 4 * (size_t)i;
    if (i) FC_TRY(put(p->sink, err, ", "));
    FC_TRY(print_register(p, fc_load_u16(pair), 0, err));
    FC_TRY(put(p->sink, err, "->"));
    FC_TRY(print_register(p, fc_load_u16(pair + 2), 0, err));
  }
  return FC_OK;
}

static fc_status_t print_list(printer_t *p, const fc_vm_field_t *field,
                              fc_error_t *err) {
  for (uint32_t i = 0; i < field->count; i++) {
    uint16_t entry = fc_vm_list_entry(p->function->code, field, i);
    if (i) FC_TRY(put(p->sink, err, ", "));
    if (field->kind == 'S') FC_TRY(print(p->sink, err, "%u", entry));
    else FC_TRY(print_register(p, entry, field->element, err));
  }
  return FC_OK;
}

static fc_status_t print_cases(printer_t *p, const fc_vm_field_t *field,
                               fc_error_t *err) {
  uint32_t pc = field->pc;
  for (uint32_t i = 0; i < field->count; i++) {
    fc_vm_edge_t edge;
    fc_vm_next_case(p->function->code, &pc, &edge);
    FC_TRY(print(p->sink, err, ", %" PRIu32 ": ", i));
    FC_TRY(print_block(p, edge.target, err));
    FC_TRY(put(p->sink, err, "("));
    FC_TRY(print_copies(p, edge.copies_pc, edge.copy_count, err));
    FC_TRY(put(p->sink, err, ")"));
  }
  return FC_OK;
}

static fc_status_t print_string(printer_t *p, const fc_vm_field_t *field,
                                fc_error_t *err) {
  FC_TRY(put(p->sink, err, "\""));
  const char *text = (const char *)p->function->code + field->pc;
  FC_TRY(fc_sink_put(p->sink, fc_str_make(text, field->count), err));
  return put(p->sink, err, "\"");
}

static fc_status_t print_type(printer_t *p, uint64_t type, fc_error_t *err) {
  if (type >= p->module->type_count) {
    return print(p->sink, err, "type:%" PRIu64, type);
  }
  return fc_sink_put(p->sink, p->module->types[type].name, err);
}

static fc_status_t print_float(printer_t *p, const fc_vm_field_t *field,
                               fc_error_t *err) {
  float narrow;
  double wide;
  uint32_t bits = (uint32_t)field->value;
  memcpy(&narrow, &bits, sizeof narrow);
  memcpy(&wide, &field->value, sizeof wide);
  if (field->kind == 'E') return print(p->sink, err, "%.17g", wide);
  return print(p->sink, err, "%.9g", (double)narrow);
}

static fc_status_t print_field(printer_t *p, const fc_vm_field_t *field,
                               fc_error_t *err) {
  uint64_t value = field->value;
  switch (field->kind) {
    case 'a':
      return print(p->sink, err, "%" PRId32 "  // 0x%08" PRIX32, (int32_t)value,
                   (uint32_t)value);
    case 'A':
      return print(p->sink, err, "%" PRId64 "  // 0x%016" PRIX64,
                   (int64_t)value, value);
    case 'e':
    case 'E':
      return print_float(p, field, err);
    case 'g':
      return print(p->sink, err, "%" PRIu64, value);
    case 'k':
      FC_TRY(print(p->sink, err, "%" PRIu64, value));
      if (value >= p->module->rodata_count) return FC_OK;
      return print(p->sink, err, "  // %" PRIu64 "b",
                   p->module->rodata[value].size);
    case 't':
      return print_type(p, value, err);
    case 'c':
    case 'p':
      return print_function_name(p, (uint32_t)value, err);
    case 'b':
      return print_block(p, (uint32_t)value, err);
    case 's':
      return print_string(p, field, err);
    case 'B':
      return print_copies(p, field->pc, field->count, err);
    case 'T':
      return print_cases(p, field, err);
    case '*':
    case '#':
    case 'S':
      return print_list(p, field, err);
    default:
      return print_register(p, (uint32_t)value, field->kind, err);
  }
}

// ---------------------------------------------------------------------------
// Instructions

static bool is_result(char kind) { return kind && strchr("ILFDRM#", kind); }

// Prints "results = vm.mnemonic operands".
static fc_status_t print_plain(printer_t *p, const fc_vm_instruction_t *in,
                               fc_error_t *err) {
  for (uint32_t i = 0; i < in->field_count; i++) {
    if (!is_result(in->fields[i].kind)) continue;
    FC_TRY(print_field(p, &in->fields[i], err));
    FC_TRY(put(p->sink, err, " = "));
  }
  FC_TRY(print(p->sink, err, "vm.%s", in->op->mnemonic));
  const char *before = " ";
  for (uint32_t i = 0; i < in->field_count; i++) {
    if (is_result(in->fields[i].kind)) continue;
    FC_TRY(put(p->sink, err, before));
    FC_TRY(print_field(p, &in->fields[i], err));
    before = ", ";
  }
  return FC_OK;
}

static fc_status_t print_text(printer_t *p, const fc_vm_instruction_t *in,
                              fc_error_t *err) {
  for (const char *c = in->op->text; *c; c++) {
    if (*c == '%') {
      FC_TRY(print(p->sink, err, "vm.%s", in->op->mnemonic));
      continue;
    }
    bool is_field = strchr("$=~", *c) && c[1] >= '0' && c[1] <= '9';
    if (!is_field) {
      FC_TRY(fc_sink_put(p->sink, fc_str_make(c, 1), err));
      continue;
    }
    const fc_vm_field_t *field = &in->fields[c[1] - '0'];
    char form = *c++;
    if (form != '$' && field->count == 0) continue;
    if (form == '~') FC_TRY(put(p->sink, err, " "));
    FC_TRY(print_field(p, field, err));
    if (form == '=') FC_TRY(put(p->sink, err, " = "));
  }
  return FC_OK;
}

static fc_status_t find_blocks(printer_t *p, fc_arena_t *arena,
                               fc_error_t *err) {
  const fc_vm_function_t *function = p->function;
  p->blocks = fc_arena_alloc_array(arena, function->size, sizeof *p->blocks);
  if (!p->blocks) return fc_fail_memory(err);
  for (uint32_t pc = 0; pc < function->size;) {
    fc_vm_instruction_t in;
    FC_TRY(fc_vm_decode(function->code, function->size, pc, &in, err));
    if (in.op->flow == FC_VM_FLOW_BLOCK) p->blocks[p->block_count++] = pc;
    pc = in.next;
  }
  return FC_OK;
}

static fc_status_t print_code(printer_t *p, fc_error_t *err) {
  const fc_vm_function_t *function = p->function;
  for (uint32_t pc = 0; pc < function->size;) {
    fc_vm_instruction_t in;
    FC_TRY(fc_vm_decode(function->code, function->size, pc, &in, err));
    FC_TRY(print(p->sink, err, "[%08" PRIX32 "]", pc));
    if (in.op->flow == FC_VM_FLOW_BLOCK) {
      FC_TRY(print_block(p, pc, err));
      FC_TRY(put(p->sink, err, ":"));
    } else {
      FC_TRY(put(p->sink, err, "  "));
      FC_TRY(in.op->text[0] ? print_text(p, &in, err)
                            : print_plain(p, &in, err));
    }
    FC_TRY(put(p->sink, err, "\n"));
    pc = in.next;
  }
  return FC_OK;
}

fc_status_t fc_vm_disassemble(const fc_vm_module_t *module, uint32_t function,
                              fc_sink_t *sink, fc_error_t *err) {
  FC_ASSERT(function < module->function_count);
  printer_t printer = {
      .module = module, .function = &module->functions[function], .sink = sink};
  fc_arena_t arena;
  fc_arena_init(&arena, module->allocator, 4096, SIZE_MAX);
  fc_status_t status = find_blocks(&printer, &arena, err);
  if (status == FC_OK) status = print_code(&printer, err);
  fc_arena_deinit(&arena);
  return status;
}

// ---------------------------------------------------------------------------
// The module around the code

static fc_status_t print_half(fc_sink_t *sink, fc_str_t half, fc_error_t *err) {
  static const struct {
    char letter;
    const char *text;
  } names[] = {{'i', "i32"},
               {'I', "i64"},
               {'f', "f32"},
               {'F', "f64"},
               {'r', "!vm.ref<?>"}};
  for (size_t i = 0; i < half.size; i++) {
    if (i) FC_TRY(put(sink, err, ", "));
    for (size_t k = 0; k < FC_ARRAY_COUNT(names); k++) {
      if (names[k].letter == half.data[i]) {
        FC_TRY(put(sink, err, names[k].text));
      }
    }
  }
  return FC_OK;
}

static fc_status_t dump_function(const fc_vm_module_t *module, uint32_t ordinal,
                                 fc_sink_t *sink, fc_error_t *err) {
  const fc_vm_function_t *function = &module->functions[ordinal];
  FC_TRY(put(sink, err, "\n"));
  for (uint32_t i = 0; i < module->export_count; i++) {
    if (module->exports[i].function != ordinal) continue;
    FC_TRY(put(sink, err, "vm.export @"));
    FC_TRY(fc_sink_put(sink, module->exports[i].name, err));
    FC_TRY(put(sink, err, "\n"));
  }
  FC_TRY(put(sink, err, "vm.func @"));
  if (function->name.size) FC_TRY(fc_sink_put(sink, function->name, err));
  else FC_TRY(print(sink, err, "%" PRIu32, ordinal));
  FC_TRY(put(sink, err, "("));
  FC_TRY(print_half(sink, function->cconv.arguments, err));
  FC_TRY(put(sink, err, ") -> ("));
  FC_TRY(print_half(sink, function->cconv.results, err));
  FC_TRY(put(sink, err, ") {\n"));
  FC_TRY(fc_vm_disassemble(module, ordinal, sink, err));
  return put(sink, err, "}\n");
}

fc_status_t fc_vm_dump(const fc_vm_module_t *module, fc_sink_t *sink,
                       fc_error_t *err) {
  FC_TRY(put(sink, err, "vm.module @"));
  FC_TRY(fc_sink_put(sink, module->name, err));
  FC_TRY(print(sink, err, " version %" PRIu32 "  // bytecode %" PRIu32 ".0\n",
               module->version, fc_vm_module_major(module)));
  for (uint32_t i = 0; i < module->dependency_count; i++) {
    const fc_vm_dependency_t *dependency = &module->dependencies[i];
    FC_TRY(put(sink, err, "vm.dependency @"));
    FC_TRY(fc_sink_put(sink, dependency->name, err));
    FC_TRY(print(sink, err, " version %" PRIu32 "%s\n",
                 dependency->minimum_version,
                 dependency->optional ? " optional" : ""));
  }
  for (uint32_t i = 0; i < module->type_count; i++) {
    FC_TRY(put(sink, err, "vm.type "));
    FC_TRY(fc_sink_put(sink, module->types[i].name, err));
    FC_TRY(put(sink, err, "\n"));
  }
  for (uint32_t i = 0; i < module->import_count; i++) {
    const fc_vm_import_t *import = &module->imports[i];
    FC_TRY(put(sink, err,
               import->optional ? "vm.import optional @" : "vm.import @"));
    FC_TRY(fc_sink_put(sink, import->full_name, err));
    FC_TRY(put(sink, err, " cconv \""));
    FC_TRY(fc_sink_put(sink, import->cconv_text, err));
    FC_TRY(put(sink, err, "\"\n"));
  }
  for (uint32_t i = 0; i < module->rodata_count; i++) {
    FC_TRY(print(sink, err, "vm.rodata[%" PRIu32 "]  // %" PRIu64 "b\n", i,
                 module->rodata[i].size));
  }
  for (uint32_t i = 0; i < module->function_count; i++) {
    FC_TRY(dump_function(module, i, sink, err));
  }
  return FC_OK;
}
