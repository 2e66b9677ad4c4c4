// SPDX-License-Identifier: Apache-2.0
//
// `farcall test` calls the functions of a file that take and return nothing, one by one.
// `farcall dump` prints the disassembly of a file, or extracts its kernels. One thread.
#include "bytecode/selftest.h"

#include "bytecode/check.h"
#include "bytecode/disasm.h"
#include "module/snapshot.h"
#include "module/vm/backend.h"
#include "module/vm/context.h"
#include "module/vm/verify.h"

#define NATIVES_MAX 16

typedef struct tester_t {
  fc_snapshot_t file;
  fc_vm_module_t *module;
  fc_vm_stack_t stack;
  fc_vm_invocation_t invocation;
  fc_vm_context_t *context;
  const fc_vm_native_module_t *natives[NATIVES_MAX];
} tester_t;

static fc_status_t open_file(tester_t *t, const char *path,
                             fc_allocator_t allocator, fc_error_t *err) {
  fc_vm_stack_init(&t->stack, allocator, FC_VM_STACK_SIZE, FC_VM_STACK_DEPTH);
  t->invocation = (fc_vm_invocation_t){.stack = &t->stack, .fuel = UINT64_MAX};
  size_t count = 0;
  while (fc_vm_natives[count]) {
    t->natives[count] = fc_vm_natives[count];
    FC_ASSERT(++count < NATIVES_MAX - 1);
  }
  t->natives[count] = &fc_vm_check;
  FC_TRY(fc_snapshot_open(path, &t->file, err));
  FC_TRY(fc_vm_module_create((const uint8_t *)t->file.bytes.data,
                             t->file.bytes.size, allocator, &t->module, err));
  FC_TRY(fc_snapshot_allow_writes(&t->file, err));
  FC_TRY(fc_vm_verify(t->module, err));
  return fc_vm_context_create(t->module, t->natives, allocator, FC_VM_HEAP_SIZE,
                              &t->invocation, &t->context, err);
}

static void close_file(tester_t *t) {
  fc_vm_context_destroy(t->context, &t->invocation);
  fc_vm_module_destroy(t->module);
  fc_vm_stack_deinit(&t->stack);
  fc_snapshot_close(&t->file);
}

static bool run_one(tester_t *t, const fc_vm_export_t *export,
                    fc_vm_test_t *test, fc_error_t *err) {
  fc_vm_raw_t none[1];
  fc_error_reset(err);
  fc_status_t status =
      fc_vm_call(t->context, &t->invocation, export->function, none, none, err);
  bool must_fail = fc_str_starts(export->name, FC_STR("fail_"));
  *test = (fc_vm_test_t){.name = export->name};
  test->err = status == FC_OK ? NULL : err;
  // A time-out, or a lack of system memory, is not the module's own failure.
  bool failed = status != FC_OK && err->code == FC_CODE_CALL_FAILED;
  test->ok = must_fail ? failed : status == FC_OK;
  return test->ok;
}

fc_status_t fc_vm_test_file(const char *path, fc_allocator_t allocator,
                            void (*each)(void *context,
                                         const fc_vm_test_t *test),
                            void *context, size_t *out_count, size_t *out_wrong,
                            fc_error_t *err) {
  tester_t t = {.file = FC_SNAPSHOT_NONE};
  *out_count = *out_wrong = 0;
  fc_status_t status = open_file(&t, path, allocator, err);
  for (uint32_t i = 0; status == FC_OK && i < t.module->export_count; i++) {
    const fc_vm_export_t *export = &t.module->exports[i];
    const fc_vm_cconv_t *cconv = &t.module->functions[export->function].cconv;
    if (fc_str_starts(export->name, FC_STR("__"))) continue;
    if (cconv->arguments.size || cconv->results.size) continue;
    fc_vm_test_t test;
    fc_error_t why;
    *out_wrong += !run_one(&t, export, &test, &why);
    ++*out_count;
    each(context, &test);
  }
  close_file(&t);
  return status;
}

// The state of reading a file that need not verify.
typedef struct reader_t {
  fc_snapshot_t file;
  fc_vm_module_t *module;
} reader_t;

static fc_status_t begin_reading(const char *path, fc_allocator_t allocator,
                                 reader_t *out_reader, fc_error_t *err) {
  reader_t reader = {.file = FC_SNAPSHOT_NONE};
  FC_TRY(fc_snapshot_open(path, &reader.file, err));
  const fc_status_t status = fc_vm_module_create(
      (const uint8_t *)reader.file.bytes.data, reader.file.bytes.size,
      allocator, &reader.module, err);
  if (status) fc_snapshot_close(&reader.file);
  else *out_reader = reader;
  return status;
}

static void end_reading(reader_t *reader) {
  fc_vm_module_destroy(reader->module);
  fc_snapshot_close(&reader->file);
}

fc_status_t fc_vm_dump_file(const char *path, fc_allocator_t allocator,
                            fc_sink_t *sink, fc_error_t *err) {
  reader_t reader;
  FC_TRY(begin_reading(path, allocator, &reader, err));
  const fc_status_t status = fc_vm_dump(reader.module, sink, err);
  end_reading(&reader);
  return status;
}

fc_status_t fc_vm_each_kernel(const char *path, fc_allocator_t allocator,
                              fc_status_t (*each)(void *context,
                                                  uint32_t constant,
                                                  fc_str_t elf,
                                                  fc_error_t *err),
                              void *context, fc_error_t *err) {
  static const fc_str_t kMagic = {"\177ELF", 4};
  reader_t reader;
  fc_status_t status = FC_OK;
  FC_TRY(begin_reading(path, allocator, &reader, err));
  for (uint32_t i = 0; status == FC_OK && i < reader.module->rodata_count;
       i++) {
    const fc_vm_buffer_t *constant = &reader.module->rodata[i];
    const fc_str_t bytes =
        fc_str_make((const char *)constant->data, constant->size);
    if (fc_str_starts(bytes, kMagic)) status = each(context, i, bytes, err);
  }
  end_reading(&reader);
  return status;
}
