// SPDX-License-Identifier: Apache-2.0
//
// The interpreter: one flat function with a label for each opcode. The code at
// a label jumps to the next one through a table made from ops.def. Bytecode is
// read as it lies in the file. Called by context.c on a worker; a native may
// run bytecode again within a call.
//
// While an instruction runs, `ip` points behind its opcode; it moves on only
// when the instruction is done. So after a failure `ip` tells which instruction
// failed.
//
// This file is compiled twice. interp_profiled.c makes of it the function for calls that
// are profiled, so that other calls need not ask whether they are.
#include "module/vm/interp.h"

#include <math.h>

#include "module/vm/arithmetic.h"
#include "module/vm/failures.h"
#include "module/vm/interp_calls.h"

// Operands by their byte offset behind the opcode.
#define U16(at) fc_load_u16(ip + (at))
#define U32(at) fc_load_u32(ip + (at))
#define I32(at) cells[U16(at)]
#define I64(at) load_wide(&cells[U16(at)])
#define F32(at) load_f32(&cells[U16(at)])
#define F64(at) load_f64(&cells[U16(at)])
#define REF(at) refs[U16(at) & FC_VM_REF_MASK]
#define SET_I32(at, value) (cells[U16(at)] = (int32_t)(value))
#define SET_I64(at, value) store_wide(&cells[U16(at)], (int64_t)(value))
#define SET_F32(at, value) store_f32(&cells[U16(at)], (value))
#define SET_F64(at, value) store_f64(&cells[U16(at)], (value))

// Runs the instruction whose opcode is just before `ip`.
#define RESUME() goto *core_labels[ip[-1]]
#define DISPATCH() NEXT(0)
#define NEXT(bytes)    \
  do {                 \
    ip += (bytes) + 1; \
    RESUME();          \
  } while (0)
#define TRY(expression)                          \
  do {                                           \
    status = (expression);                       \
    if (FC_UNLIKELY(status != FC_OK)) goto fail; \
  } while (0)
#define TICK(count)                                     \
  do {                                                  \
    if (FC_UNLIKELY((ticks -= (int64_t)(count)) < 0)) { \
      m.ticks = ticks;                                  \
      status = fc_vm_poll(&m, err);                     \
      ticks = m.ticks;                                  \
      if (status != FC_OK) goto fail;                   \
    }                                                   \
  } while (0)
// Counts bulk work before it is done: a call with a budget must not begin what it could not
// end in time. More bytes than the object has are not worked on, but an error.
#define WORK(bytes, most)                                      \
  do {                                                         \
    const uint64_t bytes_ = (uint64_t)(bytes);                 \
    if (bytes_ <= (most)) TICK(bytes_ / FC_VM_BYTES_PER_TICK); \
  } while (0)
// The list at `at`, rounded up to an even address: a count, then entries. Code
// starts at an even address, so that even offsets are even addresses.
#define LIST(at) ((const uint8_t *)(((uintptr_t)(at) + 1) & ~(uintptr_t)1))

static inline float load_f32(const int32_t *cell) {
  float value;
  memcpy(&value, cell, sizeof value);
  return value;
}
static inline double load_f64(const int32_t *cell) {
  double value;
  memcpy(&value, cell, sizeof value);
  return value;
}
static inline void store_f32(int32_t *cell, float value) {
  memcpy(cell, &value, sizeof value);
}
static inline void store_f64(int32_t *cell, double value) {
  memcpy(cell, &value, sizeof value);
}

// Does the copies of a branch in order: later ones read what earlier ones
// wrote.
static inline void copy_registers(const uint8_t *list, int32_t *cells,
                                  fc_vm_object_t **refs) {
  uint32_t count = fc_load_u16(list);
  const uint8_t *pair = list + 2;
  for (const uint8_t *end = pair + 4 * (size_t)count; pair < end; pair += 4) {
    uint16_t source = fc_load_u16(pair), target = fc_load_u16(pair + 2);
    if (source & FC_VM_REF_BIT) {
      put_ref(&refs[target & FC_VM_REF_MASK], take_ref(refs, source));
    } else {
      cells[target] = cells[source];
    }
  }
}

static inline const uint8_t *skip_copies(const uint8_t *list) {
  return list + 2 + 4 * (size_t)fc_load_u16(list);
}

// The macros from UNARY to DIVIDE_UNSIGNED make the code of an opcode that computes its
// result from the operands `a`, `b` and `c` with one expression or operator.
#define UNARY(name, in, type, out, expression) \
  op_##name : {                                \
    type a = (type)in(0);                      \
    SET_##out(2, expression);                  \
    NEXT(4);                                   \
  }
#define BINARY(name, in, type, out, expression) \
  op_##name : {                                 \
    type a = (type)in(0), b = (type)in(2);      \
    SET_##out(4, expression);                   \
    NEXT(6);                                    \
  }
// A comparison is mostly followed by the branch that uses its result. That one is
// jumped to directly, not through the table.
#define COMPARE(name, in, type, expression)                \
  op_##name : {                                            \
    type a = (type)in(0), b = (type)in(2);                 \
    SET_I32(4, expression);                                \
    ip += 7;                                               \
    if (ip[-1] == FC_VM_OP_CondBranch) goto op_CondBranch; \
    RESUME();                                              \
  }
#define TERNARY(name, in, type, out, expression)            \
  op_##name : {                                             \
    type a = (type)in(0), b = (type)in(2), c = (type)in(4); \
    SET_##out(6, expression);                               \
    NEXT(8);                                                \
  }
#define SHIFT(name, in, type, expression)                   \
  op_##name : {                                             \
    type a = (type)in(0);                                   \
    uint32_t b = (uint32_t)I32(2) & (sizeof(type) * 8 - 1); \
    SET_##in(4, expression);                                \
    NEXT(6);                                                \
  }
#define POWER(name, in, function)         \
  op_##name : {                           \
    SET_##in(4, function(in(0), I64(2))); \
    NEXT(6);                              \
  }
#define DIVIDE_SIGNED(name, in, type, check, operator) \
  op_##name : {                                        \
    type a = in(0), b = in(2);                         \
    if (FC_UNLIKELY(!check(a, b))) {                   \
      TRY(fc_vm_division_error(b == 0, err));          \
    }                                                  \
    SET_##in(4, a operator b);                         \
    NEXT(6);                                           \
  }
#define DIVIDE_UNSIGNED(name, in, type, operator)                  \
  op_##name : {                                                    \
    type a = (type)in(0), b = (type)in(2);                         \
    if (FC_UNLIKELY(b == 0)) TRY(fc_vm_division_error(true, err)); \
    SET_##in(4, a operator b);                                     \
    NEXT(6);                                                       \
  }
#define SELECT(name, in)                 \
  op_##name : {                          \
    SET_##in(6, I32(0) ? in(2) : in(4)); \
    NEXT(8);                             \
  }
#define SWITCH(name, in)                                          \
  op_##name : {                                                   \
    const uint8_t *list = LIST(ip + 4);                           \
    uint32_t count = fc_load_u16(list), index = (uint32_t)I32(0); \
    const uint8_t *chosen =                                       \
        index < count ? list + 2 + 2 * (size_t)index : ip + 2;    \
    int64_t bits = 0;                                             \
    memcpy(&bits, &cells[fc_load_u16(chosen)], SIZE_##in);        \
    ip = list + 2 + 2 * (size_t)count;                            \
    memcpy(&cells[U16(0)], &bits, SIZE_##in);                     \
    NEXT(2);                                                      \
  }
#define SIZE_I32 4
#define SIZE_I64 8
#define SIZE_F32 4
#define SIZE_F64 8

#define GLOBAL_LOAD(name, in)                                     \
  op_##name : {                                                   \
    memcpy(&cells[U16(4)], context->globals + U32(0), SIZE_##in); \
    NEXT(6);                                                      \
  }
#define GLOBAL_STORE(name, in)                                    \
  op_##name : {                                                   \
    memcpy(context->globals + U32(0), &cells[U16(4)], SIZE_##in); \
    NEXT(6);                                                      \
  }
#define GLOBAL_AT(in)                                                 \
  uint32_t offset = (uint32_t)I32(0);                                 \
  uint32_t bytes = context->module->global_bytes;                     \
  if (FC_UNLIKELY(bytes < SIZE_##in || offset > bytes - SIZE_##in)) { \
    TRY(fc_vm_global_error(offset, bytes, "offset", err));            \
  }
#define GLOBAL_LOAD_INDIRECT(name, in)                            \
  op_##name : {                                                   \
    GLOBAL_AT(in)                                                 \
    memcpy(&cells[U16(2)], context->globals + offset, SIZE_##in); \
    NEXT(4);                                                      \
  }
#define GLOBAL_STORE_INDIRECT(name, in)                           \
  op_##name : {                                                   \
    GLOBAL_AT(in)                                                 \
    memcpy(context->globals + offset, &cells[U16(2)], SIZE_##in); \
    NEXT(4);                                                      \
  }

#define GET_LIST(list, at)                       \
  fc_vm_list_t *list = fc_vm_list_from(REF(at)); \
  if (FC_UNLIKELY(!list)) TRY(fc_vm_null_error("list", REF(at), err))
#define LIST_GET(name, kind, member, out)                                  \
  op_##name : {                                                            \
    GET_LIST(list, 0);                                                     \
    uint32_t index = (uint32_t)I32(2);                                     \
    fc_vm_value_t value;                                                   \
    const uint8_t *at = fc_vm_list_at(list, index, FC_VM_TYPE_##kind);     \
    if (FC_LIKELY(at)) memcpy(&value.member, at, sizeof value.member);     \
    else TRY(fc_vm_list_get(list, index, FC_VM_TYPE_##kind, &value, err)); \
    SET_##out(4, value.member);                                            \
    NEXT(6);                                                               \
  }
#define LIST_SET(name, kind, member, in)                               \
  op_##name : {                                                        \
    GET_LIST(list, 0);                                                 \
    uint32_t index = (uint32_t)I32(2);                                 \
    fc_vm_value_t value = {.type = FC_VM_TYPE_##kind, .i64 = 0};       \
    value.member = in(4);                                              \
    uint8_t *at = fc_vm_list_at(list, index, FC_VM_TYPE_##kind);       \
    if (FC_LIKELY(at)) memcpy(at, &value.member, sizeof value.member); \
    else TRY(fc_vm_list_set(list, index, value, err));                 \
    NEXT(6);                                                           \
  }

#define GET_BUFFER(buffer, at)                         \
  fc_vm_buffer_t *buffer = fc_vm_buffer_from(REF(at)); \
  if (FC_UNLIKELY(!buffer)) TRY(fc_vm_null_error("buffer", REF(at), err))
#define BUFFER_LOAD(name, type, out)                                        \
  op_##name : {                                                             \
    GET_BUFFER(buffer, 0);                                                  \
    int64_t offset = I64(2);                                                \
    const uint8_t *from = fc_vm_buffer_at(buffer, offset, 1, sizeof(type)); \
    if (FC_UNLIKELY(!from)) {                                               \
      TRY(fc_vm_buffer_range_error(buffer, offset, 1, sizeof(type), err));  \
    }                                                                       \
    type value;                                                             \
    memcpy(&value, from, sizeof value);                                     \
    SET_##out(4, value);                                                    \
    NEXT(6);                                                                \
  }
#define BUFFER_STORE(name, type, in)                                       \
  op_##name : {                                                            \
    GET_BUFFER(buffer, 0);                                                 \
    int64_t offset = I64(2);                                               \
    if (FC_UNLIKELY(buffer->read_only)) {                                  \
      TRY(fc_vm_buffer_read_only_error(err));                              \
    }                                                                      \
    uint8_t *to = fc_vm_buffer_at(buffer, offset, 1, sizeof(type));        \
    if (FC_UNLIKELY(!to)) {                                                \
      TRY(fc_vm_buffer_range_error(buffer, offset, 1, sizeof(type), err)); \
    }                                                                      \
    type value = (type)in(4);                                              \
    memcpy(to, &value, sizeof value);                                      \
    NEXT(6);                                                               \
  }
#define BUFFER_FILL(name, type, in)                                            \
  op_##name : {                                                                \
    GET_BUFFER(buffer, 0);                                                     \
    type value = (type)in(6);                                                  \
    uint64_t pattern = 0;                                                      \
    memcpy(&pattern, &value, sizeof value);                                    \
    int64_t count = I64(4);                                                    \
    WORK((uint64_t)count * sizeof value, buffer->size);                        \
    TRY(fc_vm_buffer_fill(buffer, I64(2), count, sizeof value, pattern, err)); \
    NEXT(8);                                                                   \
  }

fc_status_t INTERPRET(fc_vm_context_t *context, fc_vm_invocation_t *invocation,
                      uint32_t function, const fc_vm_raw_t *arguments,
                      fc_vm_raw_t *results, fc_error_t *err) {
#define LABEL_CORE(opcode, name) [opcode] = &&op_##name,
#define LABEL_F32(opcode, name)
#define LABEL_F64(opcode, name)
#define FC_VM_OP(set, opcode, name, mnemonic, fields, text, since, flow, \
                 effect)                                                 \
  LABEL_##set(opcode, name)
  static const void *const core_labels[256] = {
#include "module/vm/ops.def"
  };
#undef LABEL_CORE
#undef LABEL_F32
#define LABEL_CORE(opcode, name)
#define LABEL_F32(opcode, name) [opcode] = &&op_##name,
  static const void *const f32_labels[256] = {
#include "module/vm/ops.def"
  };
#undef LABEL_F32
#undef LABEL_F64
#define LABEL_F32(opcode, name)
#define LABEL_F64(opcode, name) [opcode] = &&op_##name,
  static const void *const f64_labels[256] = {
#include "module/vm/ops.def"
  };
#undef FC_VM_OP

  const fc_vm_module_t *module = context->module;
  fc_vm_stack_t *stack = invocation->stack;
  fc_status_t status = FC_OK;
  fc_vm_machine_t m = {.context = context, .invocation = invocation};
  fc_vm_grant_ticks(&m);
  m.frame = fc_vm_stack_push(stack, &module->functions[function], err);
  if (!m.frame) {
    clear_results(&module->functions[function], results);
    return FC_RESOURCE_EXHAUSTED;
  }
  PROFILE(enter_function(&m));
  enter(arguments, m.frame);

  // At the target of a branch, `pc`, there is the opcode Block, and after it the first
  // opcode to run: one byte each. `ip` must point behind both, so it is base + pc.
  const uint8_t *base = m.frame->function->code + 2;
  int32_t *cells = m.frame->cells;
  fc_vm_object_t **refs = m.frame->refs;
  const uint8_t *ip = base;
  int64_t ticks = m.ticks;
  TICK(1);
  RESUME();

op_Block:
  DISPATCH();
op_PrefixExtF32:
  goto *f32_labels[*ip++];
op_PrefixExtF64:
  goto *f64_labels[*ip++];

  // Globals
  GLOBAL_LOAD(GlobalLoadI32, I32)
  GLOBAL_LOAD(GlobalLoadI64, I64)
  GLOBAL_LOAD(GlobalLoadF32, F32)
  GLOBAL_LOAD(GlobalLoadF64, F64)
  GLOBAL_STORE(GlobalStoreI32, I32)
  GLOBAL_STORE(GlobalStoreI64, I64)
  GLOBAL_STORE(GlobalStoreF32, F32)
  GLOBAL_STORE(GlobalStoreF64, F64)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectI32, I32)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectI64, I64)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectF32, F32)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectF64, F64)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectI32, I32)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectI64, I64)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectF32, F32)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectF64, F64)

  {
    // MOVE on the result of a load takes the object out of the global.
    uint32_t global;
    fc_vm_type_t type;
    const uint8_t *end;
    uint16_t reg;
  op_GlobalLoadRef:
    global = U32(0);
    end = ip + 10;
    goto load_ref;
  op_GlobalLoadIndirectRef:
    global = (uint32_t)I32(0);
    end = ip + 8;
  load_ref:
    if (FC_UNLIKELY(global >= module->global_refs)) {
      TRY(fc_vm_global_error(global, module->global_refs, "ref", err));
    }
    type = module->types[fc_load_u32(end - 6)].type;
    reg = fc_load_u16(end - 2);
    fc_vm_object_t *object = context->global_refs[global];
    if (FC_UNLIKELY(!fc_vm_type_accepts(type, object))) {
      TRY(fc_vm_type_error(type, object, err));
    }
    if (reg & FC_VM_MOVE_BIT) context->global_refs[global] = NULL;
    else fc_vm_retain(object);
    put_ref(&refs[reg & FC_VM_REF_MASK], object);
    ip = end;
    DISPATCH();

  op_GlobalStoreRef:
    global = U32(0);
    end = ip + 10;
    goto store_ref;
  op_GlobalStoreIndirectRef:
    global = (uint32_t)I32(0);
    end = ip + 8;
  store_ref:
    if (FC_UNLIKELY(global >= module->global_refs)) {
      TRY(fc_vm_global_error(global, module->global_refs, "ref", err));
    }
    type = module->types[fc_load_u32(end - 6)].type;
    reg = fc_load_u16(end - 2);
    if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[reg & FC_VM_REF_MASK]))) {
      TRY(fc_vm_type_error(type, refs[reg & FC_VM_REF_MASK], err));
    }
    put_ref(&context->global_refs[global], take_ref(refs, reg));
    ip = end;
    DISPATCH();
  }

  // Constants
op_ConstI32:
  SET_I32(4, U32(0));
  NEXT(6);
op_ConstI32Zero:
  SET_I32(0, 0);
  NEXT(2);
op_ConstI64:
  SET_I64(8, fc_load_u64(ip));
  NEXT(10);
op_ConstI64Zero:
  SET_I64(0, 0);
  NEXT(2);
op_ConstF32:
  SET_I32(4, U32(0));
  NEXT(6);
op_ConstF32Zero:
  SET_I32(0, 0);
  NEXT(2);
op_ConstF64:
  SET_I64(8, fc_load_u64(ip));
  NEXT(10);
op_ConstF64Zero:
  SET_I64(0, 0);
  NEXT(2);
op_ConstRefZero:
  put_ref(&REF(0), NULL);
  NEXT(2);
op_ConstRefRodata:
  put_ref(&REF(4), &module->rodata[U32(0)].object);
  NEXT(6);

  // Refs
op_DiscardRefs : {
  const uint8_t *entry = LIST(ip) + 2;
  const uint8_t *end = entry + 2 * (size_t)fc_load_u16(entry - 2);
  for (; entry < end; entry += 2) {
    put_ref(&refs[fc_load_u16(entry) & FC_VM_REF_MASK], NULL);
  }
  ip = end;
  DISPATCH();
}
op_AssignRef : {
  fc_vm_object_t *object = take_ref(refs, U16(0));
  put_ref(&REF(2), object);
  NEXT(4);
}
op_CastAnyRef : {
  fc_vm_type_t type = module->types[U32(2)].type;
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, REF(0)))) {
    TRY(fc_vm_type_error(type, REF(0), err));
  }
  fc_vm_object_t *object = take_ref(refs, U16(0));
  put_ref(&REF(6), object);
  NEXT(8);
}
op_SelectRef : {
  // A reference that is not chosen, but was to be moved, is released.
  bool first = I32(0) != 0;
  uint16_t chosen = first ? U16(6) : U16(8), other = first ? U16(8) : U16(6);
  fc_vm_type_t type = module->types[U32(2)].type;
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[chosen & FC_VM_REF_MASK]))) {
    TRY(fc_vm_type_error(type, refs[chosen & FC_VM_REF_MASK], err));
  }
  put_ref(&REF(10), take_ref(refs, chosen));
  if ((other & FC_VM_MOVE_BIT) &&
      (other & FC_VM_REF_MASK) != (U16(10) & FC_VM_REF_MASK)) {
    put_ref(&refs[other & FC_VM_REF_MASK], NULL);
  }
  NEXT(12);
}
op_SwitchRef : {
  const uint8_t *list = LIST(ip + 8);
  uint32_t count = fc_load_u16(list), index = (uint32_t)I32(0);
  const uint8_t *end = list + 2 + 2 * (size_t)count;
  uint16_t chosen =
      index < count ? fc_load_u16(list + 2 + 2 * (size_t)index) : U16(6);
  fc_vm_type_t type = module->types[U32(2)].type;
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[chosen & FC_VM_REF_MASK]))) {
    TRY(fc_vm_type_error(type, refs[chosen & FC_VM_REF_MASK], err));
  }
  fc_vm_object_t *object = take_ref(refs, chosen);
  ip = end;
  put_ref(&REF(0), object);
  NEXT(2);
}
op_CmpEQRef:
  SET_I32(4, REF(0) == REF(2));
  NEXT(6);
op_CmpNERef:
  SET_I32(4, REF(0) != REF(2));
  NEXT(6);
op_CmpNZRef:
  SET_I32(2, REF(0) != NULL);
  NEXT(4);

  // Lists
op_ListAlloc : {
  fc_vm_list_t *list;
  WORK((uint64_t)(uint32_t)I32(4) * sizeof(fc_vm_variant_t),
       context->heap.limit);
  TRY(fc_vm_list_create(&context->heap, module->types[U32(0)].type,
                        (uint32_t)I32(4), &list, err));
  put_ref(&REF(6), &list->object);
  NEXT(8);
}
op_ListReserve : {
  GET_LIST(list, 0);
  const uint64_t wanted = (uint32_t)I32(2);
  if (wanted > list->capacity) {
    WORK(wanted * list->stride, context->heap.limit);
  }
  TRY(fc_vm_list_reserve(list, (uint32_t)wanted, err));
  NEXT(4);
}
op_ListSize : {
  GET_LIST(list, 0);
  SET_I32(2, list->count);
  NEXT(4);
}
op_ListResize : {
  GET_LIST(list, 0);
  const uint64_t wanted = (uint32_t)I32(2);
  WORK((list->count + wanted) * list->stride, context->heap.limit);
  TRY(fc_vm_list_resize(list, (uint32_t)wanted, err));
  NEXT(4);
}
  LIST_GET(ListGetI32, I32, i32, I32)
  LIST_GET(ListGetI64, I64, i64, I64)
  LIST_GET(ListGetF32, F32, f32, F32)
  LIST_GET(ListGetF64, F64, f64, F64)
  LIST_SET(ListSetI32, I32, i32, I32)
  LIST_SET(ListSetI64, I64, i64, I64)
  LIST_SET(ListSetF32, F32, f32, F32)
  LIST_SET(ListSetF64, F64, f64, F64)
op_ListGetRef : {
  GET_LIST(list, 0);
  uint16_t reg = U16(8);
  fc_vm_object_t *object;
  TRY(fc_vm_list_get_ref(list, (uint32_t)I32(2), reg & FC_VM_MOVE_BIT, &object,
                         err));
  // An object of another type reads as null.
  if (!fc_vm_type_accepts(module->types[U32(4)].type, object)) {
    fc_vm_release(object);
    object = NULL;
  }
  put_ref(&refs[reg & FC_VM_REF_MASK], object);
  NEXT(10);
}
op_ListSetRef : {
  GET_LIST(list, 0);
  // Keeps the list alive: `object` can be the list itself, and its reference the last.
  fc_vm_object_t *held = fc_vm_retain(&list->object);
  fc_vm_object_t *object = take_ref(refs, U16(4));
  status = fc_vm_list_set_ref(list, (uint32_t)I32(2), object, err);
  if (status != FC_OK) fc_vm_release(object);
  fc_vm_release(held);
  if (FC_UNLIKELY(status != FC_OK)) goto fail;
  NEXT(6);
}

  // Buffers
op_BufferAlloc : {
  fc_vm_buffer_t *buffer;
  int64_t size = I64(0);
  WORK(size, context->heap.limit);
  TRY(fc_vm_buffer_create(&context->heap, (uint64_t)size, (uint32_t)I32(2),
                          &buffer, err));
  put_ref(&REF(4), &buffer->object);
  NEXT(6);
}
op_BufferClone : {
  GET_BUFFER(source, 0);
  fc_vm_buffer_t *buffer;
  int64_t size = I64(4);
  WORK(size, source->size);
  TRY(fc_vm_buffer_clone(&context->heap, source, I64(2), size, (uint32_t)I32(6),
                         &buffer, err));
  put_ref(&REF(8), &buffer->object);
  NEXT(10);
}
op_BufferLength : {
  GET_BUFFER(buffer, 0);
  SET_I64(2, buffer->size);
  NEXT(4);
}
op_BufferCopy : {
  GET_BUFFER(source, 0);
  GET_BUFFER(target, 4);
  int64_t size = I64(8);
  WORK(size, target->size);
  TRY(fc_vm_buffer_copy(source, I64(2), target, I64(6), size, err));
  NEXT(10);
}
op_BufferCompare : {
  GET_BUFFER(left, 0);
  GET_BUFFER(right, 4);
  int64_t size = I64(8);
  int32_t equal;
  WORK(size, left->size);
  TRY(fc_vm_buffer_compare(left, I64(2), right, I64(6), size, &equal, err));
  SET_I32(10, equal);
  NEXT(12);
}
op_BufferHash : {
  GET_BUFFER(buffer, 0);
  int64_t size = I64(4), hash;
  WORK(size, buffer->size);
  TRY(fc_vm_buffer_hash(buffer, I64(2), size, &hash, err));
  SET_I64(6, hash);
  NEXT(8);
}
  BUFFER_FILL(BufferFillI8, uint8_t, I32)
  BUFFER_FILL(BufferFillI16, uint16_t, I32)
  BUFFER_FILL(BufferFillI32, uint32_t, I32)
  BUFFER_FILL(BufferFillI64, uint64_t, I64)
  BUFFER_FILL(BufferFillF32, float, F32)
  BUFFER_FILL(BufferFillF64, double, F64)
  BUFFER_LOAD(BufferLoadI8U, uint8_t, I32)
  BUFFER_LOAD(BufferLoadI8S, int8_t, I32)
  BUFFER_LOAD(BufferLoadI16U, uint16_t, I32)
  BUFFER_LOAD(BufferLoadI16S, int16_t, I32)
  BUFFER_LOAD(BufferLoadI32, int32_t, I32)
  BUFFER_LOAD(BufferLoadI64, int64_t, I64)
  BUFFER_LOAD(BufferLoadF32, float, F32)
  BUFFER_LOAD(BufferLoadF64, double, F64)
  BUFFER_STORE(BufferStoreI8, uint8_t, I32)
  BUFFER_STORE(BufferStoreI16, uint16_t, I32)
  BUFFER_STORE(BufferStoreI32, uint32_t, I32)
  BUFFER_STORE(BufferStoreI64, uint64_t, I64)
  BUFFER_STORE(BufferStoreF32, float, F32)
  BUFFER_STORE(BufferStoreF64, double, F64)

  // Selection
  SELECT(SelectI32, I32)
  SELECT(SelectI64, I64)
  SELECT(SelectF32, F32)
  SELECT(SelectF64, F64)
  SWITCH(SwitchI32, I32)
  SWITCH(SwitchI64, I64)
  SWITCH(SwitchF32, F32)
  SWITCH(SwitchF64, F64)

  // Integers
  BINARY(AddI32, I32, uint32_t, I32, a + b)
  BINARY(SubI32, I32, uint32_t, I32, a - b)
  BINARY(MulI32, I32, uint32_t, I32, a * b)
  DIVIDE_SIGNED(DivI32S, I32, int32_t, fc_vm_divides_i32, /)
  DIVIDE_SIGNED(RemI32S, I32, int32_t, fc_vm_divides_i32, %)
  DIVIDE_UNSIGNED(DivI32U, I32, uint32_t, /)
  DIVIDE_UNSIGNED(RemI32U, I32, uint32_t, %)
  TERNARY(FMAI32, I32, uint32_t, I32, a * b + c)
  UNARY(AbsI32, I32, int32_t, I32, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
  BINARY(MinI32S, I32, int32_t, I32, b < a ? b : a)
  BINARY(MinI32U, I32, uint32_t, I32, b < a ? b : a)
  BINARY(MaxI32S, I32, int32_t, I32, a < b ? b : a)
  BINARY(MaxI32U, I32, uint32_t, I32, a < b ? b : a)
  UNARY(NotI32, I32, uint32_t, I32, ~a)
  BINARY(AndI32, I32, uint32_t, I32, a & b)
  BINARY(OrI32, I32, uint32_t, I32, a | b)
  BINARY(XorI32, I32, uint32_t, I32, a ^ b)
  UNARY(CtlzI32, I32, uint32_t, I32, fc_vm_clz32(a))
  SHIFT(ShlI32, I32, uint32_t, a << b)
  SHIFT(ShrI32S, I32, int32_t, a >> b)
  SHIFT(ShrI32U, I32, uint32_t, a >> b)
  BINARY(AddI64, I64, uint64_t, I64, a + b)
  BINARY(SubI64, I64, uint64_t, I64, a - b)
  BINARY(MulI64, I64, uint64_t, I64, a * b)
  DIVIDE_SIGNED(DivI64S, I64, int64_t, fc_vm_divides_i64, /)
  DIVIDE_SIGNED(RemI64S, I64, int64_t, fc_vm_divides_i64, %)
  DIVIDE_UNSIGNED(DivI64U, I64, uint64_t, /)
  DIVIDE_UNSIGNED(RemI64U, I64, uint64_t, %)
  TERNARY(FMAI64, I64, uint64_t, I64, a * b + c)
  UNARY(AbsI64, I64, int64_t, I64, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
  BINARY(MinI64S, I64, int64_t, I64, b < a ? b : a)
  BINARY(MinI64U, I64, uint64_t, I64, b < a ? b : a)
  BINARY(MaxI64S, I64, int64_t, I64, a < b ? b : a)
  BINARY(MaxI64U, I64, uint64_t, I64, a < b ? b : a)
  UNARY(NotI64, I64, uint64_t, I64, ~a)
  BINARY(AndI64, I64, uint64_t, I64, a & b)
  BINARY(OrI64, I64, uint64_t, I64, a | b)
  BINARY(XorI64, I64, uint64_t, I64, a ^ b)
  UNARY(CtlzI64, I64, uint64_t, I64, fc_vm_clz64(a))
  SHIFT(ShlI64, I64, uint64_t, a << b)
  SHIFT(ShrI64S, I64, int64_t, a >> b)
  SHIFT(ShrI64U, I64, uint64_t, a >> b)

  // Widths
  UNARY(TruncI32I8, I32, uint32_t, I32, a & 0xFF)
  UNARY(TruncI32I16, I32, uint32_t, I32, a & 0xFFFF)
  UNARY(TruncI64I32, I64, uint64_t, I32, (uint32_t)a)
  UNARY(ExtI8I32S, I32, uint32_t, I32, (int8_t)a)
  UNARY(ExtI8I32U, I32, uint32_t, I32, (uint8_t)a)
  UNARY(ExtI16I32S, I32, uint32_t, I32, (int16_t)a)
  UNARY(ExtI16I32U, I32, uint32_t, I32, (uint16_t)a)
  UNARY(ExtI32I64S, I32, int32_t, I64, a)
  UNARY(ExtI32I64U, I32, uint32_t, I64, a)

  // Comparisons of integers
  COMPARE(CmpEQI32, I32, int32_t, a == b)
  COMPARE(CmpNEI32, I32, int32_t, a != b)
  COMPARE(CmpLTI32S, I32, int32_t, a < b)
  COMPARE(CmpLTI32U, I32, uint32_t, a < b)
  UNARY(CmpNZI32, I32, int32_t, I32, a != 0)
  COMPARE(CmpEQI64, I64, int64_t, a == b)
  COMPARE(CmpNEI64, I64, int64_t, a != b)
  COMPARE(CmpLTI64S, I64, int64_t, a < b)
  COMPARE(CmpLTI64U, I64, uint64_t, a < b)
  UNARY(CmpNZI64, I64, int64_t, I32, a != 0)

  // Floats. With NaN, min and max give the first operand, comparisons named U are
  // true, those named O are false but for CmpNE. Rem is IEEE's remainder.
#define FLOATS(T, type, f)                                       \
  BINARY(Add##T, T, type, T, a + b)                              \
  BINARY(Sub##T, T, type, T, a - b)                              \
  BINARY(Mul##T, T, type, T, a *b)                               \
  BINARY(Div##T, T, type, T, a / b)                              \
  BINARY(Rem##T, T, type, T, remainder##f(a, b))                 \
  TERNARY(FMA##T, T, type, T, fc_vm_fma##f(a, b, c))             \
  UNARY(Abs##T, T, type, T, fabs##f(a))                          \
  UNARY(Neg##T, T, type, T, -a)                                  \
  UNARY(Ceil##T, T, type, T, ceil##f(a))                         \
  UNARY(Floor##T, T, type, T, floor##f(a))                       \
  UNARY(Round##T, T, type, T, round##f(a))                       \
  UNARY(Round##T##Even, T, type, T, rint##f(a))                  \
  BINARY(Min##T, T, type, T, b < a ? b : a)                      \
  BINARY(Max##T, T, type, T, a < b ? b : a)                      \
  UNARY(Atan##T, T, type, T, atan##f(a))                         \
  BINARY(Atan2##T, T, type, T, atan2##f(a, b))                   \
  UNARY(Cos##T, T, type, T, cos##f(a))                           \
  UNARY(Sin##T, T, type, T, sin##f(a))                           \
  UNARY(Exp##T, T, type, T, exp##f(a))                           \
  UNARY(Exp2##T, T, type, T, exp2##f(a))                         \
  UNARY(ExpM1##T, T, type, T, expm1##f(a))                       \
  UNARY(Log##T, T, type, T, log##f(a))                           \
  UNARY(Log10##T, T, type, T, log10##f(a))                       \
  UNARY(Log1p##T, T, type, T, log1p##f(a))                       \
  UNARY(Log2##T, T, type, T, log2##f(a))                         \
  BINARY(Pow##T, T, type, T, pow##f(a, b))                       \
  POWER(FPowI##T, T, fc_vm_powi##f)                              \
  UNARY(Rsqrt##T, T, type, T, 1 / sqrt##f(a))                    \
  UNARY(Sqrt##T, T, type, T, sqrt##f(a))                         \
  UNARY(Tanh##T, T, type, T, tanh##f(a))                         \
  UNARY(Erf##T, T, type, T, erf##f(a))                           \
  BINARY(CmpEQ##T##O, T, type, I32, a == b)                      \
  BINARY(CmpEQ##T##U, T, type, I32, isunordered(a, b) || a == b) \
  BINARY(CmpNE##T##O, T, type, I32, a != b)                      \
  BINARY(CmpNE##T##U, T, type, I32, isunordered(a, b) || a != b) \
  BINARY(CmpLT##T##O, T, type, I32, isless(a, b))                \
  BINARY(CmpLT##T##U, T, type, I32, !isgreaterequal(a, b))       \
  BINARY(CmpLTE##T##O, T, type, I32, islessequal(a, b))          \
  BINARY(CmpLTE##T##U, T, type, I32, !isgreater(a, b))           \
  UNARY(CmpNaN##T, T, type, I32, isnan(a))
  FLOATS(F32, float, f)
  FLOATS(F64, double, )

  // Between integers and floats. To an integer, halves round away from zero.
  UNARY(CastSI32F32, I32, int32_t, F32, (float)a)
  UNARY(CastUI32F32, I32, uint32_t, F32, (float)a)
  UNARY(CastSI64F32, I64, int64_t, F32, (float)a)
  UNARY(CastUI64F32, I64, uint64_t, F32, (float)a)
  UNARY(CastF32SI32, F32, double, I32, fc_vm_round_i64(a))
  UNARY(CastF32UI32, F32, double, I32, fc_vm_round_i64(a))
  UNARY(CastF32SI64, F32, double, I64, fc_vm_round_i64(a))
  UNARY(CastF32UI64, F32, double, I64, fc_vm_round_u64(a))
  UNARY(BitcastI32F32, I32, int32_t, I32, a)
  UNARY(BitcastF32I32, I32, int32_t, I32, a)
  UNARY(TruncF64F32, F64, double, F32, (float)a)
  UNARY(ExtF32F64, F32, double, F64, a)
  UNARY(CastSI32F64, I32, int32_t, F64, (double)a)
  UNARY(CastUI32F64, I32, uint32_t, F64, (double)a)
  UNARY(CastSI64F64, I64, int64_t, F64, (double)a)
  UNARY(CastUI64F64, I64, uint64_t, F64, (double)a)
  UNARY(CastF64SI32, F64, double, I32, fc_vm_round_i64(a))
  UNARY(CastF64UI32, F64, double, I32, fc_vm_round_i64(a))
  UNARY(CastF64SI64, F64, double, I64, fc_vm_round_i64(a))
  UNARY(CastF64UI64, F64, double, I64, fc_vm_round_u64(a))
  UNARY(BitcastI64F64, I64, int64_t, I64, a)
  UNARY(BitcastF64I64, I64, int64_t, I64, a)

  // Branches. Those that go back count as steps.
#define TAKE_EDGE(at)                                        \
  do {                                                       \
    const uint8_t *edge_ = (at), *copies_ = LIST(edge_ + 4); \
    if (fc_load_u16(copies_)) {                              \
      copy_registers(copies_, cells, refs);                  \
    }                                                        \
    edge_ = base + fc_load_u32(edge_);                       \
    if (edge_ <= ip) TICK(1);                                \
    ip = edge_;                                              \
    RESUME();                                                \
  } while (0)
op_Branch:
  TAKE_EDGE(ip);
op_Break:
op_Yield:
  TAKE_EDGE(ip);
op_CondBreak:
  TAKE_EDGE(ip + 2);
op_CondBranch:
  if (I32(0)) TAKE_EDGE(ip + 2);
  TAKE_EDGE(skip_copies(LIST(ip + 6)));
op_BranchTable : {
  uint32_t index = (uint32_t)I32(0);
  const uint8_t *edge = ip + 2, *next = skip_copies(LIST(edge + 4));
  if (index < fc_load_u16(next)) {
    for (edge = next + 2; index > 0; index--) {
      edge = skip_copies(LIST(edge + 4));
    }
  }
  TAKE_EDGE(edge);
}

  {
    // Calls. In the bytecode a count stands before each list. These pointers are at the
    // counts: `list` of the operands, `target` of the results, `segments` of the segment
    // sizes (NULL: none). `next` is the opcode that the caller goes on with.
    const uint8_t *segments, *list, *target, *next;
    uint32_t callee;
    bool resumes;
  op_CallYieldable:
    segments = NULL;
    list = LIST(ip + 4);
    resumes = true;
    goto call;
  op_CallVariadic:
    segments = LIST(ip + 4);
    list = LIST(segments + 2 + 2 * (size_t)fc_load_u16(segments));
    resumes = false;
    goto call;
  op_CallVariadicYieldable:
    segments = LIST(ip + 4);
    list = LIST(segments + 2 + 2 * (size_t)fc_load_u16(segments));
    resumes = true;
    goto call;
  op_Call:
    segments = NULL;
    list = LIST(ip + 4);
    resumes = false;
  call:
    TICK(1);
    callee = U32(0);
    target = list + 2 + 2 * (size_t)fc_load_u16(list);
    if (resumes) {
      next = base + fc_load_u32(target) - 1;
      target = LIST(target + 4);
    } else {
      target = LIST(target);
      next = target + 2 + 2 * (size_t)fc_load_u16(target);
    }
    if (callee & FC_VM_IMPORT_BIT) {
      m.ticks = ticks;
      status = call_native(&m, callee & ~FC_VM_IMPORT_BIT,
                           segments ? segments + 2 : NULL, list + 2,
                           fc_load_u16(list), target + 2, err);
      ticks = m.ticks;
      if (FC_UNLIKELY(status != FC_OK)) goto fail;
      ip = next;
      DISPATCH();
    }
    fc_vm_frame_t *frame =
        fc_vm_stack_push(stack, &module->functions[callee], err);
    if (FC_UNLIKELY(!frame)) TRY(FC_RESOURCE_EXHAUSTED);
    fc_str_t letters = frame->function->cconv.arguments;
    next_registers_t place = {0, 0};
    for (size_t i = 0; i < letters.size; i++) {
      pass_argument(letters.data[i], fc_load_u16(list + 2 + 2 * i), m.frame,
                    frame, &place);
    }
    frame->caller = m.frame;
    frame->results = target + 2;
    frame->next = next;
    m.frame = frame;
    PROFILE(enter_function(&m));
    base = frame->function->code + 2;
    cells = frame->cells;
    refs = frame->refs;
    ip = base;
    RESUME();
  }

op_Return : {
  const uint8_t *list = LIST(ip) + 2;
  fc_vm_frame_t *frame = m.frame, *caller = frame->caller;
  PROFILE(leave_profiled(&m));
  if (!caller) {
    leave(frame, list, results);
    fc_vm_stack_pop(stack, frame);
    m.ticks = ticks;
    fc_vm_return_ticks(&m);
    return FC_OK;
  }
  fc_str_t letters = frame->function->cconv.results;
  for (size_t i = 0; i < letters.size; i++) {
    pass_result(letters.data[i], fc_load_u16(list + 2 * i), frame, caller,
                fc_load_u16(frame->results + 2 * i));
  }
  ip = frame->next;
  fc_vm_stack_pop(stack, frame);
  m.frame = caller;
  base = caller->function->code + 2;
  cells = caller->cells;
  refs = caller->refs;
  DISPATCH();
}

op_Fail : {
  uint32_t size = U16(2);
  if (I32(0)) TRY(fc_vm_module_error(I32(0), ip + 4, size, err));
  // A fail with status 0 goes on with the code behind it. At the end of the function
  // there is none, so the call fails.
  if (ip + 4 + size == m.frame->function->code + m.frame->function->size) {
    TRY(fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INTERNAL,
                   "fail with status 0 at the end of the function"));
  }
  NEXT(4 + (size_t)size);
}
op_ImportResolved : {
  uint32_t import = U32(0) & ~FC_VM_IMPORT_BIT;
  SET_I32(4, context->bindings[import].function != NULL);
  NEXT(6);
}
op_Trace:
op_Print : {
  const uint8_t *entry = LIST(ip + 2 + U16(0)) + 2;
  const uint8_t *end = entry + 2 * (size_t)fc_load_u16(entry - 2);
  for (; entry < end; entry += 2) {
    uint16_t reg = fc_load_u16(entry);
    if ((reg & FC_VM_REF_BIT) && (reg & FC_VM_MOVE_BIT)) {
      put_ref(&refs[reg & FC_VM_REF_MASK], NULL);
    }
  }
  ip = end;
  DISPATCH();
}

fail:
  fc_vm_add_place(m.frame, ip, err);
  while (m.frame) {
    fc_vm_frame_t *caller = m.frame->caller;
    fc_vm_stack_pop(stack, m.frame);
    m.frame = caller;
    PROFILE(leave_profiled(&m));
  }
  m.ticks = ticks;
  fc_vm_return_ticks(&m);
  clear_results(&module->functions[function], results);
  return status;
}
