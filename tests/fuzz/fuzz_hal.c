// SPDX-License-Identifier: Apache-2.0
//
// Calls the functions that bytecode may import. The arguments have the right letters,
// but nothing else need be right: any object or none, any number, spans of any length.
// Objects that a call returns are arguments of later calls. The module is a real one,
// so that its kernels can be loaded and dispatched.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/vm/context.h"
#include "module/vm/hal/hal.h"
#include "module/vm/hal/io_parameters.h"
#include "module/vm/hal/pool.h"
#include "module/vm/list.h"
#include "module/vm/verify.h"

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)
#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus"
#define HEAP ((size_t)4 << 20)
#define FUEL 20000
#define OBJECTS 24u     // results of calls that are kept
#define ARGUMENTS 256u  // of one call
#define CALLS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_vm_native_module_t io_parameters;
static const fc_vm_native_module_t *const natives[] = {
    &fc_vm_hal_sandboxed, &fc_vm_hal_inline, &fc_vm_hal_loader_sandboxed,
    &io_parameters, NULL};

typedef struct fixture_t {
  fc_vm_module_t *module;
  fc_vm_context_t *context;
  fc_vm_stack_t stack;
  fc_hal_archives_t archives;
  fc_vm_invocation_t invocation;
  size_t live;  // objects of the module itself
  fc_vm_object_t *objects[OBJECTS];
  uint32_t next;  // index of the object to be replaced next
} fixture_t;

typedef struct input_t {
  const uint8_t *at;
  size_t left;
} input_t;

static uint8_t take(input_t *input) {
  if (!input->left) return 0;
  input->left--;
  return *input->at++;
}

static int64_t take_number(input_t *input) {
  static const int64_t numbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    8,
                                    16,
                                    64,
                                    256,
                                    4096,
                                    65535,
                                    65536,
                                    -1,
                                    -2,
                                    -64,
                                    INT32_MAX,
                                    INT32_MIN,
                                    UINT32_MAX,
                                    INT64_MAX,
                                    INT64_MIN,
                                    1LL << 20,
                                    1LL << 32,
                                    INT64_MAX / 2,
                                    0x21000020,
                                    0x10000020,
                                    0x10000008,
                                    0x10000001};
  const uint8_t byte = take(input);
  const size_t count = FC_ARRAY_COUNT(numbers);
  return byte < count ? numbers[byte] : byte - (int64_t)count;
}

// Takes one of the module's constants, one of the objects that calls returned, or null.
static fc_vm_object_t *take_object(const fixture_t *f, input_t *input) {
  const uint32_t constants = f->module->rodata_count;
  const uint32_t index = take(input) % (constants + OBJECTS);
  return index < OBJECTS ? f->objects[index]
                         : &f->module->rodata[index - OBJECTS].object;
}

static void keep(fixture_t *f, fc_vm_object_t *object) {
  if (!object) return;
  fc_vm_object_t **place = &f->objects[f->next++ % OBJECTS];
  fc_vm_release(*place);
  *place = object;
}

static void add_argument(const fixture_t *f, char letter, input_t *input,
                         fc_vm_native_call_t *call, fc_vm_raw_t *values) {
  if (call->argument_count == ARGUMENTS) return;
  fc_vm_raw_t *value = &values[call->argument_count++];
  *value = (fc_vm_raw_t){.i64 = 0};
  if (letter == 'r') value->ref = take_object(f, input);
  else if (letter == 'i') value->i32 = (int32_t)take_number(input);
  else value->i64 = take_number(input);
}

static void add_arguments(const fixture_t *f, fc_str_t letters, input_t *input,
                          fc_vm_native_call_t *call, fc_vm_raw_t *values,
                          uint32_t *spans) {
  uint32_t span_count = 0;
  for (size_t i = 0; i < letters.size; i++) {
    if (letters.data[i] != 'C') {
      add_argument(f, letters.data[i], input, call, values);
      continue;
    }
    const size_t begin = i + 1;
    while (letters.data[i] != 'D') i++;
    const uint32_t width = (uint32_t)(i - begin);
    const uint32_t room = (ARGUMENTS / 2 - 16) / width;
    uint32_t times = take(input);
    times = times < 0xF0 ? times % 4 : room;
    for (uint32_t k = 0; k < times * width; k++) {
      add_argument(f, letters.data[begin + k % width], input, call, values);
    }
    spans[span_count++] = times;
  }
}

static void call_one(fixture_t *f, input_t *input) {
  const size_t which = take(input) % (FC_ARRAY_COUNT(natives) - 1);
  const fc_vm_native_module_t *native = natives[which];
  const fc_vm_native_function_t *function =
      &native->functions[take(input) % native->function_count];
  fc_vm_cconv_t cconv;
  CHECK(!fc_vm_cconv_parse(fc_str(function->cconv), true, &cconv, NULL));
  fc_vm_raw_t values[ARGUMENTS], results[8] = {{.i64 = 0}};
  uint32_t spans[8] = {0};
  fc_vm_native_call_t call = {.context = f->context,
                              .heap = &f->context->heap,
                              .invocation = &f->invocation,
                              .state = f->context->native_states[which],
                              .arguments = values,
                              .spans = spans,
                              .results = results};
  add_arguments(f, cconv.arguments, input, &call, values, spans);
  fc_error_t err = {0};
  const fc_status_t status = function->call(&call, &err);
  CHECK(status == FC_OK || err.message[0]);
  CHECK(!f->stack.depth && !f->stack.size);
  for (size_t i = 0; i < cconv.results.size; i++) {
    if (cconv.results.data[i] == 'r') keep(f, results[i].ref);
  }
}

static uint8_t *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  CHECK(file && !fseek(file, 0, SEEK_END));
  const long size = ftell(file);
  CHECK(size > 0);
  rewind(file);
  uint8_t *data = malloc((size_t)size);
  CHECK(data && fread(data, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  *out_size = (size_t)size;
  return data;
}

static fixture_t *get_fixture(void) {
  static fixture_t fixture;
  fixture_t *f = &fixture;
  if (f->context) return f;
  const fc_allocator_t allocator = fc_allocator_system();
  size_t size;
  fc_error_t err;
  uint8_t *data =
      read_file(CORPUS "/iree/releases/versions-3.13.0-vmvx.vmfb", &size);
  CHECK(!fc_hal_archives_open(&f->archives, FC_STR(CORPUS "/irpa/data.irpa"),
                              allocator, &err));
  io_parameters = fc_vm_io_parameters;
  io_parameters.shared = &f->archives;
  fc_vm_stack_init(&f->stack, allocator, FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  f->invocation = (fc_vm_invocation_t){.stack = &f->stack, .fuel = UINT64_MAX};
  CHECK(!fc_vm_module_create(data, size, allocator, &f->module, &err) &&
        !fc_vm_verify(f->module, &err) &&
        !fc_vm_context_create(f->module, natives, allocator, HEAP,
                              &f->invocation, &f->context, &err));
  f->live = fc_vm_context_live_objects(f->context);
  return f;
}

// Makes what programs make first: buffers of the VM and buffers of the device.
static void make_first_objects(fixture_t *f) {
  static const size_t sizes[] = {1, 16, 64, 4096};
  fc_vm_heap_t *heap = &f->context->heap;
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    fc_vm_buffer_t *buffer;
    fc_hal_buffer_t *device_buffer;
    CHECK(!fc_vm_buffer_create(heap, sizes[i], 16, &buffer, NULL) &&
          !fc_hal_buffer_create(heap, (int64_t)sizes[i], &device_buffer, NULL));
    memset(buffer->data, (int)i, sizes[i]);
    keep(f, &buffer->object);
    keep(f, &device_buffer->object);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fixture_t *f = get_fixture();
  input_t input = {data, size};
  f->next = 0;
  CHECK(!fc_hal_pool_create(&f->context->heap, &f->invocation.pool, NULL));
  make_first_objects(f);
  f->invocation.fuel = FUEL;
  f->invocation.guard = take(&input) & 1;
  for (int i = 0; i < CALLS && input.left; i++) call_one(f, &input);
  for (size_t i = 0; i < OBJECTS; i++) {
    fc_vm_release(f->objects[i]);
    f->objects[i] = NULL;
  }
  fc_hal_pool_release(f->invocation.pool);
  CHECK(fc_vm_context_live_objects(f->context) == f->live);
  return 0;
}
