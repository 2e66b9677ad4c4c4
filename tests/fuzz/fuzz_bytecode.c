// SPDX-License-Identifier: Apache-2.0
//
// Verifies function bodies and interprets them with fuel, in a module that is made only
// once, so that this is fast. A body that verifies must not trip a sanitizer, nor leave
// the stack in use or an object alive. An input is
//
//   version, shape, flags, then for each function: u16 blocks, u16 size, code
//
// bytecode_maker.h makes and changes such inputs so that most of them verify. fuzz_vmfb
// tests whole files.
//
// With preset fuzz this does some thousand executions a second. It does about fifty
// thousand without the address sanitizer and the tracing of comparisons, which the
// mutator does not need:
//
//   cmake --preset fuzz -B build/fast -DCMAKE_BUILD_TYPE=Release
//     -DCMAKE_C_FLAGS_RELEASE=-O2 -DFARCALL_SANITIZE=undefined
//     "-DCMAKE_C_FLAGS=-fsanitize-trap=undefined -fno-sanitize-coverage=trace-cmp"
//   cmake --build build/fast --target fuzz_bytecode
//   build/fast/tests/fuzz_bytecode -max_len=640 -entropic=0 -use_counters=0
//     -reduce_inputs=0 -runs=100000000 FOLDER tests/corpus/bytecode
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytecode_maker.h"
#include "module/vm/verify.h"
#include "vm_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t size_max,
                                 unsigned int seed);
// libFuzzer has this function. A replay does not, and does not mutate inputs.
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
                                              size_t size_max);

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

#define FUNCTIONS 3u
#define FUEL 100
#define HEAP ((size_t)32 << 10)
#define GLOBAL_BYTES 40u
#define GLOBAL_REFS 3u
#define HEADER 3u
#define BODY_HEADER 4u
#define FLAG_ANALYSE 1u  // disassemble and look for signatures as well

// ---------------------------------------------------------------------------
// Imports: harmless functions with every form of calling convention

static fc_status_t add(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  call->results[0].i32 = (int32_t)((uint32_t)call->arguments[0].i32 +
                                   (uint32_t)call->arguments[1].i32);
  return FC_OK;
}

static fc_status_t sum(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  uint32_t total = 0;
  for (uint32_t i = 0; i <= call->spans[0]; i++) {
    total += (uint32_t)call->arguments[i].i32;
  }
  call->results[0].i32 = (int32_t)total;
  return FC_OK;
}

static fc_status_t hand_back(fc_vm_native_call_t *call, fc_error_t *err) {
  call->results[0].ref = fc_vm_retain(call->arguments[0].ref);
  if (call->arguments[1].i64 != 1) return FC_OK;
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_ABORTED, "with a result");
}

// 0CrIDfF_rF: returns the last ref of the pairs, and a number.
static fc_status_t last_pair(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  uint32_t pairs = call->spans[0];
  const fc_vm_raw_t *rest = call->arguments + 2 * (size_t)pairs;
  CHECK(call->argument_count == 2 * pairs + 2);
  if (pairs) call->results[0].ref = fc_vm_retain(rest[-2].ref);
  call->results[1].f64 = (double)rest[0].f32 + rest[1].f64;
  return FC_OK;
}

static fc_status_t make_list(fc_vm_native_call_t *call, fc_error_t *err) {
  fc_vm_list_t *list;
  FC_TRY(fc_vm_list_create(call->heap, FC_VM_TYPE_ANY_REF, 3, &list, err));
  call->results[0].ref = &list->object;
  return FC_OK;
}

static void run_function(fc_vm_context_t *context,
                         fc_vm_invocation_t *invocation, uint32_t function);

// A native module may run bytecode itself, on the same stack.
static fc_status_t nest(fc_vm_native_call_t *call, fc_error_t *err) {
  (void)err;
  run_function(call->context, call->invocation,
               (uint32_t)call->arguments[0].i32 % FUNCTIONS);
  return FC_OK;
}

static const fc_vm_native_function_t native_functions[] = {
    {"add", "0ii_i", FC_VM_EFFECT_NONE, add},
    {"sum", "0CiDi_i", FC_VM_EFFECT_NONE, sum},
    {"hand_back", "0rI_r", FC_VM_EFFECT_NONE, hand_back},
    {"last_pair", "0CrIDfF_rF", FC_VM_EFFECT_NONE, last_pair},
    {"make_list", "0v_r", FC_VM_EFFECT_NONE, make_list},
    {"nest", "0i_v", FC_VM_EFFECT_NONE, nest},
};
static const fc_vm_native_module_t native = {
    .name = "test",
    .functions = native_functions,
    .function_count = FC_ARRAY_COUNT(native_functions)};
static const fc_vm_native_module_t *const natives[] = {&native, NULL};

static const struct {
  const char *name;
  const char *cconv;
} imported[] = {
    {"add", "0ii_i"},       {"sum", "0CiDi_i"},          {"not_there", "0rI_r"},
    {"hand_back", "0rI_r"}, {"last_pair", "0CrIDfF_rF"}, {"make_list", "0v_r"},
    {"nest", "0i_v"}};

// ---------------------------------------------------------------------------
// The module

// Calling conventions and registers of the functions. There are enough registers for
// all arguments.
typedef struct shape_t {
  const char *cconv[FUNCTIONS];
  uint16_t cells;
  uint16_t refs;
} shape_t;

static const shape_t shapes[] = {
    {{"0v_v", "0iIr_rI", "0rfFr_fr"}, 12, 5},
    {{"0r_r", "0IFI_FIr", "0rrr_rrr"}, 16, 4},
    {{"0iI_Ii", "0rIr_v", "0v_rrrI"}, 7, 3},
    {{"0iifF_v", "0I_i", "0v_v"}, 6, 1},
    {{"0rrrrrrr_r", "0IIIIIIII_F", "0riririri_IIrr"}, 16, 7},
    {{"0r_v", "0v_r", "0iii_iii"}, 300, 150},
    {{"0I_I", "0ii_i", "0v_v"}, 64, 16},  // conventions of real modules, too
};

// The code ends at the end of its memory, so that a read past it is noticed in every
// build.
typedef struct guard_t {
  uint8_t *end;
} guard_t;

typedef struct fixture_t {
  fc_vm_module_t module;
  fc_vm_function_t functions[FUNCTIONS];
  fc_vm_cconv_t cconvs[FC_ARRAY_COUNT(shapes)][FUNCTIONS];
  fc_vm_import_t imports[FC_ARRAY_COUNT(imported)];
  fc_vm_type_def_t types[FC_VM_TYPE_COUNT - 1];
  fc_vm_export_t exports[FUNCTIONS];
  const fc_vm_export_t *by_name[FUNCTIONS];
  fc_vm_buffer_t rodata[2];
  guard_t guards[FUNCTIONS];
  fc_vm_stack_t stack;
  fc_vm_context_t *context;
} fixture_t;

static guard_t make_guard(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = (UINT16_MAX + page) / page * page;
  uint8_t *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && !mprotect(memory + room, page, PROT_NONE));
  return (guard_t){memory + room};
}

static void make_tables(fixture_t *f) {
  for (uint32_t i = 0; i < FC_VM_TYPE_COUNT - 1; i++) {
    f->types[i].type = (fc_vm_type_t)(i + 1);
    f->types[i].name = fc_str(fc_vm_type_info(f->types[i].type)->text);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(imported); i++) {
    fc_vm_import_t *import = &f->imports[i];
    *import = (fc_vm_import_t){.full_name = fc_str(imported[i].name),
                               .module = FC_STR("test"),
                               .name = fc_str(imported[i].name),
                               .cconv_text = fc_str(imported[i].cconv),
                               .optional = true};
    CHECK(!fc_vm_cconv_parse(import->cconv_text, true, &import->cconv, NULL));
  }
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    f->guards[i] = make_guard();
    f->exports[i] = (fc_vm_export_t){FC_STR("f"), i};
    f->by_name[i] = &f->exports[i];
    for (size_t k = 0; k < FC_ARRAY_COUNT(shapes); k++) {
      CHECK(!fc_vm_cconv_parse(fc_str(shapes[k].cconv[i]), false,
                               &f->cconvs[k][i], NULL));
    }
  }
  // The constants are in memory of exactly their size.
  uint8_t *constant = malloc(9);
  CHECK(constant);
  for (uint8_t i = 0; i < 9; i++) constant[i] = (uint8_t)(i + 1);
  fc_vm_buffer_init_constant(&f->rodata[0], constant, 9);
  fc_vm_buffer_init_constant(&f->rodata[1], constant, 0);
}

static fixture_t *get_fixture(void) {
  static fixture_t fixture;
  fixture_t *f = &fixture;
  if (f->context) return f;
  make_tables(f);
  f->module = (fc_vm_module_t){.allocator = fc_allocator_system(),
                               .name = FC_STR("fuzz"),
                               .bytecode_version = 17u << 16,
                               .types = f->types,
                               .type_count = FC_ARRAY_COUNT(f->types),
                               .imports = f->imports,
                               .import_count = FC_ARRAY_COUNT(f->imports),
                               .exports = f->exports,
                               .by_name = f->by_name,
                               .export_count = FUNCTIONS,
                               .functions = f->functions,
                               .function_count = FUNCTIONS,
                               .rodata = f->rodata,
                               .rodata_count = FC_ARRAY_COUNT(f->rodata),
                               .global_bytes = GLOBAL_BYTES,
                               .global_refs = GLOBAL_REFS};
  fc_vm_stack_init(&f->stack, fc_allocator_system(), (size_t)24 << 10, 24);
  fc_vm_invocation_t invocation = {.stack = &f->stack, .fuel = FUEL};
  CHECK(!fc_vm_context_create(&f->module, natives, fc_allocator_system(), HEAP,
                              &invocation, &f->context, NULL));
  return f;
}

static void set_shape(fixture_t *f, uint8_t version, uint8_t shape) {
  shape %= FC_ARRAY_COUNT(shapes);
  f->module.bytecode_version =
      fc_vm_bytecodes[version % fc_vm_bytecode_count].major << 16;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    fc_vm_function_t *function = &f->functions[i];
    function->cell_count = shapes[shape].cells;
    function->ref_count = shapes[shape].refs;
    function->requirements = FC_VM_REQUIRES_F32 | FC_VM_REQUIRES_F64;
    function->cconv = f->cconvs[shape][i];
    function->cconv_text = fc_str(shapes[shape].cconv[i]);
  }
}

// ---------------------------------------------------------------------------
// Inputs

typedef struct body_t {
  uint32_t blocks;
  uint32_t size;
  const uint8_t *code;
} body_t;

static uint32_t take_u16(const uint8_t **data, size_t *size) {
  if (*size < 2) return 0;
  uint32_t value = fc_load_u16(*data);
  *data += 2;
  *size -= 2;
  return value;
}

static void read_bodies(const uint8_t *data, size_t size,
                        body_t bodies[FUNCTIONS]) {
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    bodies[i].blocks = take_u16(&data, &size);
    bodies[i].size = take_u16(&data, &size);
    if (bodies[i].size > size) bodies[i].size = (uint32_t)size;
    bodies[i].code = data;
    data += bodies[i].size;
    size -= bodies[i].size;
  }
}

// ---------------------------------------------------------------------------
// Running

static void run_function(fc_vm_context_t *context,
                         fc_vm_invocation_t *invocation, uint32_t function) {
  const fc_vm_cconv_t *cconv = &context->module->functions[function].cconv;
  fc_vm_raw_t arguments[8], results[8];
  make_arguments(context, cconv->arguments, arguments);
  memset(results, 0xAB, sizeof results);
  fc_error_t err;
  (void)!fc_vm_call(context, invocation, function, arguments, results, &err);
  release_refs(cconv->results, results);  // null where the call failed
  release_refs(cconv->arguments, arguments);
}

static void run_all(fixture_t *f) {
  fc_vm_context_t *context = f->context;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    fc_vm_invocation_t invocation = {.stack = &f->stack, .fuel = FUEL};
    run_function(context, &invocation, i);
    CHECK(!f->stack.depth && !f->stack.size);  // the stack must be empty
  }
  for (uint32_t i = 0; i < GLOBAL_REFS; i++) {
    fc_vm_release(context->global_refs[i]);
    context->global_refs[i] = NULL;
  }
  memset(context->globals, 0, GLOBAL_BYTES);
  // Frees the heap as at the end of a context, but the context stays.
  if (context->heap.lists) {
    fc_vm_heap_deinit(&context->heap);
    pthread_mutex_init(&context->heap.lock, NULL);
  }
  CHECK(fc_vm_context_live_objects(context) == 0);
  CHECK(atomic_load(&context->heap.bytes) ==
        GLOBAL_BYTES + GLOBAL_REFS * sizeof(fc_vm_object_t *));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEADER) return 0;
  fixture_t *f = get_fixture();
  set_shape(f, data[0], data[1]);
  body_t bodies[FUNCTIONS];
  read_bodies(data + HEADER, size - HEADER, bodies);
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    if (!bodies[i].size) return 0;  // the reader of files refuses it
    // Code must start at an even address. If its size is odd, there is one byte between
    // its end and the guard.
    uint8_t *code = f->guards[i].end - (bodies[i].size + 1) / 2 * 2;
    memcpy(code, bodies[i].code, bodies[i].size);
    f->functions[i].code = code;
    f->functions[i].size = bodies[i].size;
    f->functions[i].block_count = bodies[i].blocks;
  }
  fc_error_t err;
  if (fc_vm_verify(&f->module, &err)) return 0;
  if (data[2] & FLAG_ANALYSE) analyse(&f->module);
  run_all(f);
  return 0;
}

// ---------------------------------------------------------------------------
// Mutation

typedef struct writer_t {
  uint8_t *data;
  size_t size;
  size_t size_max;
} writer_t;

static void write_bytes(writer_t *w, const void *bytes, size_t size) {
  if (size > w->size_max - w->size) size = w->size_max - w->size;
  if (size) memcpy(w->data + w->size, bytes, size);
  w->size += size;
}

static void write_body(writer_t *w, uint32_t blocks, const uint8_t *code,
                       uint32_t size) {
  uint16_t head[2] = {(uint16_t)blocks, (uint16_t)size};
  write_bytes(w, head, sizeof head);
  write_bytes(w, code, size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed) {
  static maker_t maker;
  static uint8_t old[1 << 16];
  maker_t *m = &maker;
  fixture_t *f = get_fixture();
  m->random =
      ((uint64_t)seed << 32 | seed) * 2862933555777941757u + 3037000493u;
  m->module = &f->module;
  if (size > sizeof old) size = sizeof old;
  if (size >= HEADER && choose(m, 16) == 0) {
    return LLVMFuzzerMutate(data, size, size_max);
  }
  bool fresh = size < HEADER + 4 * FUNCTIONS || choose(m, 200) == 0;
  uint8_t header[HEADER] = {(uint8_t)choose(m, 3),
                            (uint8_t)choose(m, FC_ARRAY_COUNT(shapes)),
                            choose(m, 64) == 0 ? FLAG_ANALYSE : 0};
  if (!fresh) memcpy(header, data, 2);
  memcpy(old, data, size);
  set_shape(f, header[0], header[1]);
  body_t bodies[FUNCTIONS] = {{0}};
  if (!fresh) read_bodies(old + HEADER, size - HEADER, bodies);

  writer_t w = {data, 0, size_max};
  write_bytes(&w, header, HEADER);
  uint32_t chosen = choose(m, FUNCTIONS);
  size_t room = size_max - HEADER, others = 0;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    if (i != chosen) others += BODY_HEADER + bodies[i].size;
  }
  room = fresh ? room / FUNCTIONS : others < room ? room - others : 0;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    if (!fresh && i != chosen) {
      write_body(&w, bodies[i].blocks, bodies[i].code, bodies[i].size);
      continue;
    }
    if (fresh || choose(m, 20) == 0 ||
        !edit_function(m, &f->functions[i], bodies[i].code, bodies[i].size)) {
      make_function(m, &f->functions[i]);
    }
    if (m->at + BODY_HEADER > room) make_least_function(m, &f->functions[i]);
    write_body(&w, m->block_count, m->code, m->at);
  }
  return w.size;
}

// Combines two inputs: the first one with one function of the second. 0: their
// functions have different calling conventions.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t size_max,
                                 unsigned int seed) {
  if (size1 < HEADER || size2 < HEADER || data1[1] != data2[1]) return 0;
  body_t first[FUNCTIONS], second[FUNCTIONS];
  read_bodies(data1 + HEADER, size1 - HEADER, first);
  read_bodies(data2 + HEADER, size2 - HEADER, second);
  first[seed % FUNCTIONS] = second[seed % FUNCTIONS];
  writer_t w = {out, 0, size_max};
  write_bytes(&w, data1, HEADER);
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    write_body(&w, first[i].blocks, first[i].code, first[i].size);
  }
  return w.size;
}
