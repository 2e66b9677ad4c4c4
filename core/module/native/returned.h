// SPDX-License-Identifier: Apache-2.0
//
// How LLVM's own calling convention returns an aggregate. MLIR's functions use it when
// they have no C interface. Each part (an integer, a pointer or a float) has its own
// register; no C function returns a structure in this way. fc_returned_add finds the
// register of each part; fc_registers_call makes such a call. Planned at load, any
// thread; called on the worker's thread.
#ifndef FARCALL_MODULE_NATIVE_RETURNED_H_
#define FARCALL_MODULE_NATIVE_RETURNED_H_

#include "farcall/type.h"

typedef enum fc_processor_t {
  FC_PROCESSOR_X86_64,
  FC_PROCESSOR_AARCH64,
} fc_processor_t;

// For this processor: the number of integer registers for arguments, and whether the
// address of a demoted result is the first argument.
#if defined(__x86_64__)
#define FC_PROCESSOR FC_PROCESSOR_X86_64
#define FC_ARGUMENT_INTEGERS 6
#define FC_DEMOTED_IS_ARGUMENT true
#elif defined(__aarch64__)
#define FC_PROCESSOR FC_PROCESSOR_AARCH64
#define FC_ARGUMENT_INTEGERS 8
#define FC_DEMOTED_IS_ARGUMENT false
#endif
#define FC_ARGUMENT_VECTORS 8

typedef enum fc_bank_t {
  FC_BANK_INTEGER,  // rax, rdx, rcx; x0 to x7
  FC_BANK_VECTOR,   // xmm0 to xmm2; v0 to v7
  FC_BANK_X87,      // st0, st1
  FC_BANK_COUNT,
} fc_bank_t;

// How many registers of each bank the parts so far have taken. `demoted`: there are too
// few registers, so the function writes all parts to memory, whose address is passed.
typedef struct fc_returned_t {
  uint8_t taken[FC_BANK_COUNT];
  bool demoted;
} fc_returned_t;

typedef struct fc_register_t {
  uint8_t bank;  // fc_bank_t
  uint8_t index;
} fc_register_t;

// Finds the register of the next part: a scalar that is not complex, or FC_DTYPE_I64 for
// a pointer. The result is not valid once `returned` is demoted.
fc_register_t fc_returned_add(fc_returned_t *returned, fc_processor_t processor,
                              fc_dtype_t dtype);

// The registers of a call: arguments before it, parts of the result after it.
// The assembly code of fc_registers_call relies on the offsets of the members.
typedef struct fc_registers_t {
  uint64_t integers[8];  // arguments: x86-64 has 6
  _Alignas(16) uint8_t vectors[8][16];
  uint64_t memory;  // AArch64: the address for a demoted result
  _Alignas(16) uint8_t x87[2][16];
} fc_registers_t;

// Calls `entry` with the registers, and with `count` words of arguments on the stack.
// `x87` is the number of result parts in registers of the x87 unit (x86-64 only).
void fc_registers_call(void (*entry)(void), fc_registers_t *registers,
                       const uint64_t *stack, size_t count, size_t x87);

// Copies a part of `size` bytes from its register.
void fc_registers_get(const fc_registers_t *registers, fc_register_t place,
                      size_t size, void *out);

#endif  // FARCALL_MODULE_NATIVE_RETURNED_H_
