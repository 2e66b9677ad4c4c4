// SPDX-License-Identifier: Apache-2.0
//
// Verify, then interpret with fuel. An input that looks like a .vmfb is opened
// as one; any other is read as choices of a program, so that most inputs reach
// the interpreter. Nothing that verifies may trip a sanitizer.
#include <stdlib.h>
#include <string.h>

#include "module/vm/analysis.h"
#include "module/vm/archive.h"
#include "module/vm/context.h"
#include "module/vm/disasm.h"
#include "module/vm/recover.h"
#include "module/vm/signature.h"
#include "module/vm/verify.h"
#include "module/vm/yieldable_test.h"

#define FUEL 500
#define HEAP ((size_t)32 << 10)
#define DUMP ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fc_vm_native_module_t *const natives[] = {&fc_vm_yieldable_test,
                                                       NULL};

// ---------------------------------------------------------------------------
// Running whatever verified

static void make_arguments(fc_vm_context_t *context, fc_str_t letters,
                           fc_vm_slot_t *slots) {
  for (size_t i = 0; i < letters.size; i++) {
    slots[i].i64 = (int64_t)i * 3 - 1;
    if (letters.data[i] != 'r') continue;
    slots[i].ref = NULL;
    fc_vm_list_t *list;
    fc_vm_buffer_t *buffer;
    if (i % 3 == 0 && !fc_vm_list_create(&context->heap, FC_VM_TYPE_VARIANT, 2,
                                         &list, NULL)) {
      slots[i].ref = &list->object;
    } else if (i % 3 == 1 &&
               !fc_vm_buffer_create(&context->heap, 16, 16, &buffer, NULL)) {
      slots[i].ref = &buffer->object;
    }
  }
}

static void release(fc_str_t letters, fc_vm_slot_t *slots) {
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] == 'r') fc_vm_release(slots[i].ref);
  }
}

static void call(fc_vm_context_t *context, fc_vm_stack_t *stack,
                 uint32_t function) {
  const fc_vm_cconv_t *cconv = &context->module->functions[function].cconv;
  fc_vm_slot_t *arguments =
      calloc(cconv->arguments.size + 1, sizeof *arguments);
  fc_vm_slot_t *results = calloc(cconv->results.size + 1, sizeof *results);
  if (!arguments || !results) abort();
  make_arguments(context, cconv->arguments, arguments);
  fc_vm_invocation_t invocation = {.stack = stack, .fuel = FUEL};
  fc_error_t err;
  fc_status_t status =
      fc_vm_call(context, &invocation, function, arguments, results, &err);
  if (status == FC_OK) release(cconv->results, results);
  release(cconv->arguments, arguments);
  if (stack->depth || stack->size) abort();  // it unwinds to the end
  free(arguments);
  free(results);
}

static void run(const fc_vm_module_t *module) {
  fc_vm_stack_t stack;
  fc_vm_context_t *context = NULL;
  fc_vm_stack_init(&stack, fc_allocator_system(), 64 << 10, 64);
  fc_vm_invocation_t invocation = {.stack = &stack, .fuel = FUEL};
  fc_error_t err;
  if (fc_vm_context_create(module, natives, fc_allocator_system(), HEAP,
                           &invocation, &context, &err) == FC_OK) {
    for (uint32_t i = 0; i < module->function_count && i < 64; i++) {
      call(context, &stack, i);
    }
    invocation.fuel = FUEL;
    fc_vm_context_destroy(context, &invocation);
  }
  fc_vm_stack_deinit(&stack);
}

// What else reads verified modules.
static void analyse(const fc_vm_module_t *module) {
  bool stateful;
  fc_error_t err;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), DUMP);
  (void)!fc_vm_dump(module, &text.sink, &err);
  fc_text_deinit(&text);
  (void)!fc_vm_module_is_stateful(module, &stateful, &err);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  size_t budget = 1 << 16;
  for (uint32_t i = 0; i < module->export_count && i < 64; i++) {
    fc_arena_t arena;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    fc_signature_t *signature = NULL;
    (void)!fc_vm_signature_create(module, &module->exports[i], (fc_str_t){0},
                                  true, builder, &budget, &arena, &signature,
                                  &err);
    fc_signature_destroy(signature);
    fc_arena_deinit(&arena);
  }
  fc_builder_destroy(builder);
}

static void try_file(const uint8_t *data, size_t size) {
  fc_error_t err;
  fc_vm_module_t *module = NULL;
  if (fc_vm_module_create(data, size, fc_allocator_system(), &module, &err)) {
    return;
  }
  if (fc_vm_verify(module, &err) == FC_OK) {
    analyse(module);
    run(module);
  }
  fc_vm_module_destroy(module);
}

// ---------------------------------------------------------------------------
// Programs made of choices

#define CODE_MAX 8192u
#define BLOCKS_MAX 8u
#define CELLS 12u
#define REFS 5u
#define FUNCTIONS 3u
#define GLOBAL_BYTES 40u
#define GLOBAL_REFS 3u

typedef struct maker_t {
  const uint8_t *data;
  size_t size;
  uint8_t code[CODE_MAX];
  uint32_t at;
  uint32_t blocks[BLOCKS_MAX];
  uint32_t block_count;
  struct {
    uint32_t at;
    uint32_t block;
  } targets[CODE_MAX / 4];
  uint32_t target_count;
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
} maker_t;

static uint32_t choose(maker_t *m, uint32_t count) {
  if (!m->size) return 0;
  m->size--;
  return *m->data++ % count;
}

static void put(maker_t *m, uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes && m->at < CODE_MAX; i++) {
    m->code[m->at++] = (uint8_t)(value >> (8 * i));
  }
}

static void align(maker_t *m) {
  if (m->at % 2) put(m, 0, 1);
}

static void put_register(maker_t *m, char kind) {
  uint32_t stray = choose(m, 64) == 63 ? choose(m, 256) : 0;  // may not verify
  switch (kind) {
    case 'r':
    case 'R':
    case 'm':
    case 'M': {
      uint32_t move = choose(m, 3) == 0 ? FC_VM_MOVE_BIT : 0;
      if (kind == 'r' || kind == 'R') move = 0;
      put(m, FC_VM_REF_BIT | move | (choose(m, REFS) + stray), 2);
      return;
    }
    case 'l':
    case 'L':
    case 'd':
    case 'D':
      put(m, choose(m, CELLS / 2) * 2 + stray, 2);
      return;
    default:
      put(m, choose(m, CELLS) + stray, 2);
      return;
  }
}

// A register for a letter of a calling convention.
static void put_value(maker_t *m, char letter, bool operand) {
  char kind = letter == 'I' ? 'l' : letter == 'F' ? 'd' : letter;
  put_register(m, kind == 'r' && operand ? 'm' : kind);
}

static void put_plain_list(maker_t *m, fc_str_t letters, bool operand) {
  align(m);
  put(m, letters.size, 2);
  for (size_t i = 0; i < letters.size; i++) {
    put_value(m, letters.data[i], operand);
  }
}

static void put_copies(maker_t *m) {
  uint32_t count = choose(m, 4);
  align(m);
  put(m, count, 2);
  for (uint32_t i = 0; i < count; i++) {
    bool ref = choose(m, 2);
    put_register(m, ref ? 'm' : 'i');
    put_register(m, ref ? 'r' : 'i');
  }
}

static void put_target(maker_t *m) {
  if (m->target_count < CODE_MAX / 4) {
    m->targets[m->target_count].at = m->at;
    m->targets[m->target_count++].block = choose(m, BLOCKS_MAX);
  }
  put(m, 0, 4);
}

static const fc_vm_cconv_t *put_callee(maker_t *m, bool variadic) {
  const fc_vm_module_t *module = m->module;
  if (variadic || choose(m, 3) == 0) {
    uint32_t import = variadic ? 1 : choose(m, 2) * 2;
    put(m, FC_VM_IMPORT_BIT | import, 4);
    return &module->imports[import].cconv;
  }
  uint32_t function = choose(m, FUNCTIONS);
  put(m, function, 4);
  return &module->functions[function].cconv;
}

static void put_list(maker_t *m, char element) {
  uint32_t count = choose(m, 5);
  align(m);
  put(m, count, 2);
  for (uint32_t i = 0; i < count; i++) {
    char kind = element == '?'   ? (choose(m, 2) ? 'm' : 'i')
                : element == 'r' ? 'm'
                                 : element;
    put_register(m, kind);
  }
}

// 0CiDi_i with the values chosen.
static void put_spans(maker_t *m) {
  uint32_t count = choose(m, 4);
  align(m);
  put(m, 2, 2);
  put(m, count, 2);
  put(m, FC_VM_NOT_A_SPAN, 2);
  align(m);
  put(m, count + 1, 2);
  for (uint32_t i = 0; i <= count; i++) put_register(m, 'i');
}

static void put_instruction(maker_t *m, const fc_vm_op_t *op) {
  uint32_t set = (uint32_t)op->opcode >> 8;
  if (set == FC_VM_SET_F32) put(m, FC_VM_OP_PrefixExtF32 & 0xFF, 1);
  if (set == FC_VM_SET_F64) put(m, FC_VM_OP_PrefixExtF64 & 0xFF, 1);
  put(m, (uint32_t)op->opcode & 0xFF, 1);
  bool variadic = op->opcode == FC_VM_OP_CallVariadic ||
                  op->opcode == FC_VM_OP_CallVariadicYieldable;
  const fc_vm_cconv_t *callee = NULL;
  uint32_t cases = 0;
  for (const char *c = op->fields; *c; c++) {
    switch (*c) {
      case 'a':
      case 'e':
        put(m, choose(m, 256) - 128u, 4);
        break;
      case 'A':
      case 'E':
        put(m, (uint64_t)choose(m, 256) - 128u, 8);
        break;
      case 'g':
        put(m,
            c[1] == 't' ? choose(m, GLOBAL_REFS) : choose(m, GLOBAL_BYTES - 7),
            4);
        break;
      case 'k':
        put(m, choose(m, m->module->rodata_count), 4);
        break;
      case 't':
        put(m, choose(m, m->module->type_count), 4);
        break;
      case 'p':
        put(m, FC_VM_IMPORT_BIT | choose(m, 3), 4);
        break;
      case 'c':
        callee = put_callee(m, variadic);
        break;
      case 's':
        put(m, 1, 2);
        put(m, choose(m, 256), 1);
        break;
      case 'n':
        put(m, cases = choose(m, 4), 2);
        break;
      case 'b':
        put_target(m);
        break;
      case 'B':
        put_copies(m);
        break;
      case 'T':
        for (uint32_t i = 0; i < cases; i++) {
          put_target(m);
          put_copies(m);
        }
        break;
      case 'S':
        put_spans(m);
        break;
      case '#':
        put_plain_list(m, callee->results, false);
        break;
      case '*':
        c++;
        if (variadic) break;
        if (callee) put_plain_list(m, callee->arguments, true);
        else if (op->opcode == FC_VM_OP_Return) {
          put_plain_list(m, m->function->cconv.results, true);
        } else {
          put_list(m, *c);
        }
        break;
      default:
        put_register(m, *c);
        break;
    }
  }
}

// All opcodes that end a block, or all that do not.
static const fc_vm_op_t *choose_op(maker_t *m, bool terminator) {
  static const fc_vm_op_t *ops[2][FC_VM_SET_COUNT * 256];
  static uint32_t counts[2];
  bool empty = !counts[1];
  for (uint32_t i = 0; empty && i < FC_VM_SET_COUNT * 256; i++) {
    const fc_vm_op_t *op =
        fc_vm_op_find((fc_vm_opcode_set_t)(i / 256), (uint8_t)i);
    if (!op || !op->mnemonic[0]) continue;
    bool ends = fc_vm_op_is_terminator(op->opcode);
    ops[ends][counts[ends]++] = op;
  }
  if (!m->size && terminator) {
    return fc_vm_op_find(FC_VM_SET_CORE, FC_VM_OP_Return & 0xFF);
  }
  uint32_t index = choose(m, 256) << 8 | choose(m, 256);
  return ops[terminator][index % counts[terminator]];
}

static void make_function(maker_t *m, fc_vm_function_t *function) {
  m->at = m->target_count = 0;
  m->function = function;
  m->block_count = 1 + choose(m, BLOCKS_MAX);
  for (uint32_t i = 0; i < m->block_count; i++) {
    m->blocks[i] = m->at;
    put(m, FC_VM_OP_Block & 0xFF, 1);
    for (uint32_t k = choose(m, 16); k > 0 && m->at < CODE_MAX / 2; k--) {
      put_instruction(m, choose_op(m, false));
    }
    put_instruction(m, choose_op(m, true));
  }
  for (uint32_t i = 0; i < m->target_count; i++) {
    uint32_t pc = m->blocks[m->targets[i].block % m->block_count];
    if (m->targets[i].at + 4 <= CODE_MAX) {
      memcpy(m->code + m->targets[i].at, &pc, sizeof pc);
    }
  }
  function->size = m->at;
  function->block_count = m->block_count;
  uint8_t *code = malloc(m->at);  // exactly, so that reading on shows
  if (!code) abort();
  memcpy(code, m->code, m->at);
  function->code = code;
}

static void try_program(const uint8_t *data, size_t size) {
  static const char *const conventions[FUNCTIONS] = {"0v_v", "0iIr_rI",
                                                     "0rfFr_fr"};
  static const char *const imported[] = {"0ii_i", "0CiDi_i", "0rI_r"};
  static const uint8_t constant[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  fc_vm_type_def_t types[FC_VM_TYPE_COUNT - 1] = {{{0}, 0}};
  fc_vm_import_t imports[3] = {{.optional = true},
                               {.optional = true},
                               {.full_name = FC_STR("no.such"),
                                .module = FC_STR("no"),
                                .name = FC_STR("such"),
                                .optional = true}};
  fc_vm_function_t functions[FUNCTIONS] = {{0}};
  fc_vm_buffer_t rodata[2];
  fc_vm_module_t module = {.allocator = fc_allocator_system(),
                           .name = FC_STR("fuzz"),
                           .types = types,
                           .type_count = FC_VM_TYPE_COUNT - 1,
                           .imports = imports,
                           .import_count = 3,
                           .functions = functions,
                           .function_count = FUNCTIONS,
                           .rodata = rodata,
                           .rodata_count = 2,
                           .global_bytes = GLOBAL_BYTES,
                           .global_refs = GLOBAL_REFS};
  fc_vm_buffer_init_constant(&rodata[0], constant, sizeof constant);
  fc_vm_buffer_init_constant(&rodata[1], constant, 0);
  for (uint32_t i = 0; i < FC_VM_TYPE_COUNT - 1; i++) {
    types[i].type = (fc_vm_type_t)(i + 1);
    types[i].name = fc_str(fc_vm_type_info(types[i].type)->text);
  }
  fc_error_t err;
  for (uint32_t i = 0; i < 3; i++) {
    imports[i].cconv_text = fc_str(imported[i]);
    if (fc_vm_cconv_parse(fc_str(imported[i]), true, &imports[i].cconv, &err)) {
      abort();
    }
    if (i == 2) continue;
    imports[i].module = FC_STR("yieldable_test");
    imports[i].name = fc_str(fc_vm_yieldable_test.functions[i].name);
  }
  static maker_t maker;
  maker.data = data;
  maker.size = size;
  maker.module = &module;
  module.bytecode_version = (15 + choose(&maker, 3)) << 16;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    functions[i].cconv_text = fc_str(conventions[i]);
    functions[i].cell_count = CELLS;
    functions[i].ref_count = REFS;
    functions[i].requirements = FC_VM_REQUIRES_F32 | FC_VM_REQUIRES_F64;
    if (fc_vm_cconv_parse(fc_str(conventions[i]), false, &functions[i].cconv,
                          &err)) {
      abort();
    }
  }
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    make_function(&maker, &functions[i]);
  }
  if (fc_vm_verify(&module, &err) == FC_OK) {
    if (size % 16 == 0) analyse(&module);  // it is slow
    run(&module);
  }
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    free((void *)(uintptr_t)functions[i].code);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fc_vm_archive_sniff(data, size)) try_file(data, size);
  else try_program(data, size);
  return 0;
}
