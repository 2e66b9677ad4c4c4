// SPDX-License-Identifier: Apache-2.0
//
// Finds the registers of returned aggregates, and calls functions that return them. The
// rules are LLVM's RetCC_X86_64_C and RetCC_AArch64_AAPCS; tests/corpus/returned has code
// that llc made by them.
#include "module/native/returned.h"

#include <stddef.h>

// A bank accepts a part while fewer than `limit` of its registers are taken.
typedef struct rule_t {
  uint8_t bank;
  uint8_t limit;
} rule_t;

// By processor, then by class of part: integers, halves, other floats. A part goes to the
// first bank that has a free register.
enum { INTEGERS, HALVES, FLOATS, CLASS_COUNT, BANKS_MAX = 2 };
static const rule_t kRules[][CLASS_COUNT][BANKS_MAX] = {
    [FC_PROCESSOR_X86_64] = {[INTEGERS] = {{FC_BANK_INTEGER, 3}},
                             [HALVES] = {{FC_BANK_VECTOR, 3}},
                             [FLOATS] = {{FC_BANK_VECTOR, 2},
                                         {FC_BANK_X87, 2}}},
    [FC_PROCESSOR_AARCH64] = {[INTEGERS] = {{FC_BANK_INTEGER, 8}},
                              [HALVES] = {{FC_BANK_VECTOR, 8}},
                              [FLOATS] = {{FC_BANK_VECTOR, 8}}},
};

fc_register_t fc_returned_add(fc_returned_t *returned, fc_processor_t processor,
                              fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const bool is_float = info->class_ == FC_DTYPE_CLASS_FLOAT && info->size > 1;
  const int class_ = !is_float ? INTEGERS : info->size == 2 ? HALVES : FLOATS;
  const rule_t *rules = kRules[processor][class_];
  for (int i = 0; i < BANKS_MAX; i++) {
    uint8_t *taken = &returned->taken[rules[i].bank];
    if (*taken < rules[i].limit)
      return (fc_register_t){rules[i].bank, (*taken)++};
  }
  returned->demoted = true;
  return (fc_register_t){0};
}

void fc_registers_get(const fc_registers_t *registers, fc_register_t place,
                      size_t size, void *out) {
  const void *from = &registers->integers[place.index];
  if (place.bank == FC_BANK_VECTOR) from = registers->vectors[place.index];
#if defined(__x86_64__)
  if (place.bank == FC_BANK_X87) {
    long double wide;
    memcpy(&wide, registers->x87[place.index], sizeof wide);
    const float single = (float)wide;
    const double both = (double)wide;
    memcpy(out, size == sizeof single ? (const void *)&single : &both, size);
    return;
  }
#endif
  memcpy(out, from, size);
}

_Static_assert(offsetof(fc_registers_t, vectors) == 64, "the code below");
_Static_assert(offsetof(fc_registers_t, memory) == 192, "the code below");
_Static_assert(offsetof(fc_registers_t, x87) == 208, "the code below");

#define FUNCTION(name)                                                \
  ".text\n.p2align 4\n.globl " name "\n.hidden " name "\n.type " name \
  ", %function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ", .-" name "\n"

#if defined(__x86_64__)
// Arguments: rdi entry, rsi registers, rdx stack, rcx count, r8 x87
__asm__(FUNCTION(
    "fc_registers_call") "endbr64\n"
                         "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
                         "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
                         "pushq %rbx\n.cfi_offset %rbx, -24\n"
                         "pushq %r12\n.cfi_offset %r12, -32\n"
                         "movq %rdi, %r11\n"
                         "movq %rsi, %rbx\n"
                         "movq %r8, %r12\n"
                         // An even number of words keeps the stack aligned to 16 bytes.
                         "leaq 1(%rcx), %rax\n"
                         "andq $-2, %rax\n"
                         "shlq $3, %rax\n"
                         "subq %rax, %rsp\n"
                         "xorl %eax, %eax\n"
                         "1: cmpq %rcx, %rax\n"
                         "jae 2f\n"
                         "movq (%rdx,%rax,8), %r10\n"
                         "movq %r10, (%rsp,%rax,8)\n"
                         "incq %rax\n"
                         "jmp 1b\n"
                         "2: movups 64(%rbx), %xmm0\n"
                         "movups 80(%rbx), %xmm1\n"
                         "movups 96(%rbx), %xmm2\n"
                         "movups 112(%rbx), %xmm3\n"
                         "movups 128(%rbx), %xmm4\n"
                         "movups 144(%rbx), %xmm5\n"
                         "movups 160(%rbx), %xmm6\n"
                         "movups 176(%rbx), %xmm7\n"
                         "movq (%rbx), %rdi\n"
                         "movq 8(%rbx), %rsi\n"
                         "movq 16(%rbx), %rdx\n"
                         "movq 24(%rbx), %rcx\n"
                         "movq 32(%rbx), %r8\n"
                         "movq 40(%rbx), %r9\n"
                         "call *%r11\n"
                         "movq %rax, (%rbx)\n"
                         "movq %rdx, 8(%rbx)\n"
                         "movq %rcx, 16(%rbx)\n"
                         "movups %xmm0, 64(%rbx)\n"
                         "movups %xmm1, 80(%rbx)\n"
                         "movups %xmm2, 96(%rbx)\n"
                         "testq %r12, %r12\n"
                         "jz 3f\n"
                         "fstpt 208(%rbx)\n"
                         "decq %r12\n"
                         "jz 3f\n"
                         "fstpt 224(%rbx)\n"
                         "3: leaq -16(%rbp), %rsp\n"
                         "popq %r12\n"
                         "popq %rbx\n"
                         "popq %rbp\n.cfi_def_cfa %rsp, 8\n"
                         "ret\n" END("fc_registers_call"));
#elif defined(__aarch64__)
// Arguments: x0 entry, x1 registers, x2 stack, x3 count
__asm__(FUNCTION(
    "fc_registers_call") "hint #34\n"  // bti c
                         "stp x29, x30, [sp, #-32]!\n"
                         ".cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"
                         "mov x29, sp\n.cfi_def_cfa_register 29\n"
                         "str x19, [sp, #16]\n.cfi_offset 19, -16\n"
                         "mov x19, x1\n"
                         "mov x16, x0\n"
                         // An even number of words keeps the stack aligned to 16 bytes.
                         "add x9, x3, #1\n"
                         "and x9, x9, #-2\n"
                         "lsl x9, x9, #3\n"
                         "sub sp, sp, x9\n"
                         "mov x10, #0\n"
                         "mov x12, sp\n"
                         "1: cmp x10, x3\n"
                         "b.hs 2f\n"
                         "ldr x11, [x2, x10, lsl #3]\n"
                         "str x11, [x12, x10, lsl #3]\n"
                         "add x10, x10, #1\n"
                         "b 1b\n"
                         "2: ldp q0, q1, [x19, #64]\n"
                         "ldp q2, q3, [x19, #96]\n"
                         "ldp q4, q5, [x19, #128]\n"
                         "ldp q6, q7, [x19, #160]\n"
                         "ldr x8, [x19, #192]\n"
                         "ldp x0, x1, [x19]\n"
                         "ldp x2, x3, [x19, #16]\n"
                         "ldp x4, x5, [x19, #32]\n"
                         "ldp x6, x7, [x19, #48]\n"
                         "blr x16\n"
                         "stp x0, x1, [x19]\n"
                         "stp x2, x3, [x19, #16]\n"
                         "stp x4, x5, [x19, #32]\n"
                         "stp x6, x7, [x19, #48]\n"
                         "stp q0, q1, [x19, #64]\n"
                         "stp q2, q3, [x19, #96]\n"
                         "stp q4, q5, [x19, #128]\n"
                         "stp q6, q7, [x19, #160]\n"
                         "mov sp, x29\n"
                         "ldr x19, [sp, #16]\n"
                         "ldp x29, x30, [sp], #32\n.cfi_def_cfa 31, 0\n"
                         "ret\n" END("fc_registers_call"));
#endif
