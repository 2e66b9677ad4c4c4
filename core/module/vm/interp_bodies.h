// SPDX-License-Identifier: Apache-2.0
//
// The code of similar opcodes. Each macro makes the label and the block of an opcode from
// its name and from the part in which the opcodes differ. Included only by interp.c; the
// macros use its TRY, WORK and NEXT.
#ifndef FARCALL_CORE_MODULE_VM_INTERP_BODIES_H_
#define FARCALL_CORE_MODULE_VM_INTERP_BODIES_H_

#include "module/vm/operands.h"

// The macros from UNARY to POWER make the code of the rows of arithmetic.def. Such an
// opcode computes its result from the operands `a`, `b` and `c` with one expression or
// operator.
#define UNARY(name, type, expression) \
  op_##name : {                       \
    OPERANDS(name);                   \
    type a = (type)IN(0);             \
    PUT(1, expression);               \
    NEXT();                           \
  }
#define BINARY(name, type, expression)     \
  op_##name : {                            \
    OPERANDS(name);                        \
    type a = (type)IN(0), b = (type)IN(1); \
    PUT(2, expression);                    \
    NEXT();                                \
  }
// A comparison is usually followed by the branch that uses its result. So the code
// tests for that branch and jumps to it directly, not through the table.
#define COMPARE(name, type, expression)                    \
  op_##name : {                                            \
    OPERANDS(name);                                        \
    type a = (type)IN(0), b = (type)IN(1);                 \
    PUT(2, expression);                                    \
    ip += END + 1;                                         \
    if (ip[-1] == FC_VM_OP_CondBranch) goto op_CondBranch; \
    RESUME();                                              \
  }
#define TERNARY(name, type, expression)                     \
  op_##name : {                                             \
    OPERANDS(name);                                         \
    type a = (type)IN(0), b = (type)IN(1), c = (type)IN(2); \
    PUT(3, expression);                                     \
    NEXT();                                                 \
  }
#define SHIFT(name, type, expression)                      \
  op_##name : {                                            \
    OPERANDS(name);                                        \
    type a = (type)IN(0);                                  \
    uint32_t b = (uint32_t)IN(1) & (sizeof(type) * 8 - 1); \
    PUT(2, expression);                                    \
    NEXT();                                                \
  }
#define DIVIDE_SIGNED(name, type, check, operator) \
  op_##name : {                                    \
    OPERANDS(name);                                \
    type a = IN(0), b = IN(1);                     \
    if (FC_UNLIKELY(!check(a, b))) {               \
      TRY(fc_vm_division_error(b == 0, err));      \
    }                                              \
    type quotient = a operator b;                  \
    PUT(2, quotient);                              \
    NEXT();                                        \
  }
#define DIVIDE_UNSIGNED(name, type, operator)                      \
  op_##name : {                                                    \
    OPERANDS(name);                                                \
    type a = (type)IN(0), b = (type)IN(1);                         \
    if (FC_UNLIKELY(b == 0)) TRY(fc_vm_division_error(true, err)); \
    type quotient = a operator b;                                  \
    PUT(2, quotient);                                              \
    NEXT();                                                        \
  }
// Copies the bits of a value to a register of another bank.
#define BITCAST(name, type)              \
  op_##name : {                          \
    OPERANDS(name);                      \
    type bits;                           \
    memcpy(&bits, CELL(0), sizeof bits); \
    memcpy(CELL(1), &bits, sizeof bits); \
    NEXT();                              \
  }
#define POWER(name, function)       \
  op_##name : {                     \
    OPERANDS(name);                 \
    PUT(2, function(IN(0), IN(1))); \
    NEXT();                         \
  }
#define CONST32(name)            \
  op_##name : {                  \
    OPERANDS(name);              \
    *CELL(1) = (int32_t)WORD(0); \
    NEXT();                      \
  }
#define CONST64(name)                      \
  op_##name : {                            \
    OPERANDS(name);                        \
    store_wide(CELL(1), (int64_t)LONG(0)); \
    NEXT();                                \
  }
#define CONST_ZERO(name)          \
  op_##name : {                   \
    OPERANDS(name);               \
    memset(CELL(0), 0, WIDTH(0)); \
    NEXT();                       \
  }
#define SELECT(name)               \
  op_##name : {                    \
    OPERANDS(name);                \
    PUT(3, IN(0) ? IN(1) : IN(2)); \
    NEXT();                        \
  }
// The result register is not at a fixed place: it stands after the list.
#define SWITCH(name)                                                        \
  op_##name : {                                                             \
    OPERANDS(name);                                                         \
    const uint8_t *list = LIST_OF(2);                                       \
    uint32_t count = fc_load_u16(list), index = U32(0);                     \
    const uint8_t *end = skip_list(list);                                   \
    uint16_t chosen =                                                       \
        index < count ? fc_load_u16(list + 2 + 2 * (size_t)index) : REG(1); \
    int64_t bits = 0;                                                       \
    memcpy(&bits, &cells[chosen], WIDTH(1));                                \
    memcpy(&cells[fc_load_u16(end)], &bits, WIDTH(1));                      \
    GO_ON(end + 2);                                                         \
  }

#define GLOBAL_LOAD(name)                                  \
  op_##name : {                                            \
    OPERANDS(name);                                        \
    memcpy(CELL(1), context->globals + WORD(0), WIDTH(1)); \
    NEXT();                                                \
  }
#define GLOBAL_STORE(name)                                 \
  op_##name : {                                            \
    OPERANDS(name);                                        \
    memcpy(context->globals + WORD(0), CELL(1), WIDTH(1)); \
    NEXT();                                                \
  }
#define GLOBAL_AT()                                                 \
  uint32_t offset = U32(0);                                         \
  uint32_t bytes = context->module->global_bytes;                   \
  if (FC_UNLIKELY(bytes < WIDTH(1) || offset > bytes - WIDTH(1))) { \
    TRY(fc_vm_global_error(offset, bytes, "offset", err));          \
  }
#define GLOBAL_LOAD_INDIRECT(name)                        \
  op_##name : {                                           \
    OPERANDS(name);                                       \
    GLOBAL_AT()                                           \
    memcpy(CELL(1), context->globals + offset, WIDTH(1)); \
    NEXT();                                               \
  }
#define GLOBAL_STORE_INDIRECT(name)                       \
  op_##name : {                                           \
    OPERANDS(name);                                       \
    GLOBAL_AT()                                           \
    memcpy(context->globals + offset, CELL(1), WIDTH(1)); \
    NEXT();                                               \
  }

#define GET_LIST(list, n)                       \
  fc_vm_list_t *list = fc_vm_list_from(REF(n)); \
  if (FC_UNLIKELY(!list)) TRY(fc_vm_null_error("list", REF(n), err))
#define LIST_GET(name, kind, member)                                       \
  op_##name : {                                                            \
    OPERANDS(name);                                                        \
    GET_LIST(list, 0);                                                     \
    uint32_t index = U32(1);                                               \
    fc_vm_value_t value;                                                   \
    const uint8_t *at = fc_vm_list_at(list, index, FC_VM_TYPE_##kind);     \
    if (FC_LIKELY(at)) memcpy(&value.member, at, sizeof value.member);     \
    else TRY(fc_vm_list_get(list, index, FC_VM_TYPE_##kind, &value, err)); \
    PUT(2, value.member);                                                  \
    NEXT();                                                                \
  }
#define LIST_SET(name, kind, member)                                   \
  op_##name : {                                                        \
    OPERANDS(name);                                                    \
    GET_LIST(list, 0);                                                 \
    uint32_t index = U32(1);                                           \
    fc_vm_value_t value = {.type = FC_VM_TYPE_##kind, .i64 = 0};       \
    value.member = IN(2);                                              \
    uint8_t *at = fc_vm_list_at(list, index, FC_VM_TYPE_##kind);       \
    if (FC_LIKELY(at)) memcpy(at, &value.member, sizeof value.member); \
    else TRY(fc_vm_list_set(list, index, value, err));                 \
    NEXT();                                                            \
  }

#define GET_BUFFER(buffer, n)                         \
  fc_vm_buffer_t *buffer = fc_vm_buffer_from(REF(n)); \
  if (FC_UNLIKELY(!buffer)) TRY(fc_vm_null_error("buffer", REF(n), err))
#define BUFFER_LOAD(name, type)                                             \
  op_##name : {                                                             \
    OPERANDS(name);                                                         \
    GET_BUFFER(buffer, 0);                                                  \
    int64_t offset = IN(1);                                                 \
    const uint8_t *from = fc_vm_buffer_at(buffer, offset, 1, sizeof(type)); \
    if (FC_UNLIKELY(!from)) {                                               \
      TRY(fc_vm_buffer_range_error(buffer, offset, 1, sizeof(type), err));  \
    }                                                                       \
    type value;                                                             \
    memcpy(&value, from, sizeof value);                                     \
    PUT(2, value);                                                          \
    NEXT();                                                                 \
  }
#define BUFFER_STORE(name, type)                                           \
  op_##name : {                                                            \
    OPERANDS(name);                                                        \
    GET_BUFFER(buffer, 0);                                                 \
    int64_t offset = IN(1);                                                \
    if (FC_UNLIKELY(buffer->read_only)) {                                  \
      TRY(fc_vm_buffer_read_only_error(err));                              \
    }                                                                      \
    uint8_t *to = fc_vm_buffer_at(buffer, offset, 1, sizeof(type));        \
    if (FC_UNLIKELY(!to)) {                                                \
      TRY(fc_vm_buffer_range_error(buffer, offset, 1, sizeof(type), err)); \
    }                                                                      \
    type value = (type)IN(2);                                              \
    memcpy(to, &value, sizeof value);                                      \
    NEXT();                                                                \
  }
#define BUFFER_FILL(name, type)                                               \
  op_##name : {                                                               \
    OPERANDS(name);                                                           \
    GET_BUFFER(buffer, 0);                                                    \
    type value = (type)IN(3);                                                 \
    uint64_t pattern = 0;                                                     \
    memcpy(&pattern, &value, sizeof value);                                   \
    int64_t count = IN(2);                                                    \
    WORK((uint64_t)count * sizeof value, buffer->size);                       \
    TRY(fc_vm_buffer_fill(buffer, IN(1), count, sizeof value, pattern, err)); \
    NEXT();                                                                   \
  }

#endif  // FARCALL_CORE_MODULE_VM_INTERP_BODIES_H_
