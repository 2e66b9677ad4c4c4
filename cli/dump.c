// SPDX-License-Identifier: Apache-2.0
//
// farcall dump: prints a .vmfb as text, as far as it can be read, even if farcall would
// not run it; or extracts the machine code of its kernels; or prints the machine code of
// a native module.
#include <stdio.h>
#include <unistd.h>

#include "bytecode/selftest.h"
#include "crash.h"
#include "disassemble.h"
#include "file.h"
#include "tool.h"

#define DUMP_LIMIT ((size_t)1 << 30)

typedef struct kernels_t {
  const fc_disassembly_t *disassembly;
  size_t count;
} kernels_t;

static fc_status_t dump_kernel(void *context, uint32_t constant, fc_str_t elf,
                               fc_error_t *err) {
  kernels_t *kernels = context;
  fc_arena_t *arena = kernels->disassembly->args->arena;
  const char *path =
      fc_print(arena, "%s/kernels-%u.so", kernels->disassembly->work, constant);
  if (!path) return fc_fail_memory(err);
  FC_TRY(fc_file_write(arena, path, elf, err));
  printf("%svm.rodata[%u]  // %zub of machine code\n",
         kernels->count++ ? "\n" : "", constant, elf.size);
  return fc_disassemble(kernels->disassembly, path, NULL, err);
}

static fc_status_t dump_kernels(const fc_disassembly_t *disassembly,
                                const char *path, fc_error_t *err) {
  kernels_t kernels = {.disassembly = disassembly};
  FC_TRY(fc_vm_each_kernel(path, fc_allocator_system(), dump_kernel, &kernels,
                           err));
  if (!kernels.count) printf("%s has no kernels of machine code\n", path);
  return FC_OK;
}

static fc_status_t dump_bytecode(const char *path, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), DUMP_LIMIT);
  const fc_status_t status =
      fc_vm_dump_file(path, fc_allocator_system(), &text.sink, err);
  fc_show(stdout, fc_text_str(&text));
  fc_text_deinit(&text);
  return status;
}

// Prints the machine code of a native or VM module.
static int disassemble(const fc_args_t *args, bool native) {
  const char *path = args->words[0];
  const char *name = fc_args_get(args, FC_OPTION_DUMP_FUNCTION, NULL);
  fc_disassembly_t disassembly = {.work = NULL};
  fc_error_t err;
  fc_error_reset(&err);
  fc_tool_catch_signals();
  fc_status_t status = fc_disassembly_begin(args, &disassembly, &err);
  if (status == FC_OK) {
    status = native ? fc_disassemble(&disassembly, path, name, &err)
                    : dump_kernels(&disassembly, path, &err);
  }
  fc_disassembly_end(&disassembly);
  if (fc_tool_interrupted()) return 128 + fc_tool_interrupted();
  if (status == FC_OK) return FC_EXIT_OK;
  if (err.code == FC_CODE_NOT_FOUND) {
    return fc_complain(FC_EXIT_UNAVAILABLE, "%s", err.message);
  }
  return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
}

// Runs addr2line in place of this process. It prints "function at file:line", with ?? for
// unknown parts.
static int tell_place(const fc_args_t *args) {
  const char *offset = fc_args_get(args, FC_OPTION_DUMP_AT, NULL);
  const char *tool =
      fc_crash_tool(args->arena, fc_args_get(args, FC_OPTION_TOOLS, NULL));
  const char *const argv[] = {tool,           "-f",   "-p", "-e",
                              args->words[0], offset, NULL};
  if (strncmp(offset, "0x", 2) != 0 || !offset[2] ||
      strspn(offset + 2, "0123456789abcdef") != strlen(offset + 2)) {
    return fc_complain(FC_EXIT_USAGE, "--at=%s is no offset such as 0x1a2b",
                       offset);
  }
  if (tool) execv(tool, (char *const *)(uintptr_t)argv);
  return fc_complain(FC_EXIT_UNAVAILABLE,
                     "no addr2line and no llvm-addr2line: `apt install "
                     "binutils` installs one on Debian");
}

int fc_verb_dump(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "dump takes one FILE.vmfb or FILE.so");
  }
  const char *path = args->words[0];
  const bool native = fc_str_ends(fc_str(path), FC_STR(".so"));
  const bool at = fc_args_has(args, FC_OPTION_DUMP_AT);
  if (!native && (at || fc_args_has(args, FC_OPTION_DUMP_FUNCTION))) {
    return fc_complain(FC_EXIT_USAGE, "--%s is for a native module (.so)",
                       at ? "at" : "function");
  }
  if (at) return tell_place(args);
  if (native || fc_args_has(args, FC_OPTION_KERNELS)) {
    return disassemble(args, native);
  }
  fc_error_t err;
  fc_error_reset(&err);
  if (dump_bytecode(path, &err) == FC_OK) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_DATA, "%s: %s", path, err.message);
}
