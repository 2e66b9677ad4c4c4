// SPDX-License-Identifier: Apache-2.0
//
// The interpreter: one flat function with a label for each opcode. The code at a label
// jumps to the next one through a table made from ops.def. Bytecode is read directly
// from the file's bytes. Called by context.c on a worker; a native may run bytecode
// again within a call.
//
// While an instruction runs, `ip` points after its opcode; it moves on only when the
// instruction is done. So after a failure `ip` tells which instruction failed.
//
// This file is compiled twice: interp_profiled.c makes a second function of it for
// calls that are profiled. So other calls need not check whether they are.
#include "module/vm/interp.h"

#include <math.h>

#include "module/vm/arithmetic.h"
#include "module/vm/failures.h"
#include "module/vm/interp_bodies.h"
#include "module/vm/interp_calls.h"
#include "module/vm/operands.h"

// Runs the instruction whose opcode is just before `ip`.
#define RESUME() goto *core_labels[ip[-1]]
// GO_ON continues with the instruction at `at`, NEXT with the instruction after the
// operands.
#define GO_ON(at)  \
  do {             \
    ip = (at) + 1; \
    RESUME();      \
  } while (0)
#define NEXT() GO_ON(ip + END)
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
// Counts bulk work before it is done, because a call with a budget must not begin work
// that it could not finish in time. `most` is the size of the object: if `bytes` is more,
// the instruction fails without work, so nothing is counted.
#define WORK(bytes, most)                                      \
  do {                                                         \
    const uint64_t bytes_ = (uint64_t)(bytes);                 \
    if (bytes_ <= (most)) TICK(bytes_ / FC_VM_BYTES_PER_TICK); \
  } while (0)

// Does the copies of a branch in order, because later ones may read what
// earlier ones wrote.
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

// These return the code after a list of registers, and after a list of copies.
static inline const uint8_t *skip_list(const uint8_t *list) {
  return list + 2 + 2 * (size_t)fc_load_u16(list);
}
static inline const uint8_t *skip_copies(const uint8_t *list) {
  return list + 2 + 4 * (size_t)fc_load_u16(list);
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

  // The target of a branch, `pc`, is the opcode Block (one byte). The first opcode to run
  // (one byte) follows it. `ip` must point after both, so it is base + pc.
  const uint8_t *base = m.frame->function->code + 2;
  int32_t *cells = m.frame->cells;
  fc_vm_object_t **refs = m.frame->refs;
  const uint8_t *ip = base;
  int64_t ticks = m.ticks;
  TICK(1);
  RESUME();

op_Block : {
  OPERANDS(Block);
  NEXT();
}
op_PrefixExtF32:
  goto *f32_labels[*ip++];
op_PrefixExtF64:
  goto *f64_labels[*ip++];

  // Globals
  GLOBAL_LOAD(GlobalLoadI32)
  GLOBAL_LOAD(GlobalLoadI64)
  GLOBAL_LOAD(GlobalLoadF32)
  GLOBAL_LOAD(GlobalLoadF64)
  GLOBAL_STORE(GlobalStoreI32)
  GLOBAL_STORE(GlobalStoreI64)
  GLOBAL_STORE(GlobalStoreF32)
  GLOBAL_STORE(GlobalStoreF64)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectI32)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectI64)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectF32)
  GLOBAL_LOAD_INDIRECT(GlobalLoadIndirectF64)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectI32)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectI64)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectF32)
  GLOBAL_STORE_INDIRECT(GlobalStoreIndirectF64)

  {
    // The MOVE bit of the result register takes the object out of the global.
    uint32_t global;
    fc_vm_type_t type;
    const uint8_t *end;
    uint16_t reg;
  op_GlobalLoadRef : {
    OPERANDS(GlobalLoadRef);
    global = WORD(0);
    type = TYPE(1);
    reg = REG(2);
    end = ip + END;
    goto load_ref;
  }
  op_GlobalLoadIndirectRef : {
    OPERANDS(GlobalLoadIndirectRef);
    global = U32(0);
    type = TYPE(1);
    reg = REG(2);
    end = ip + END;
  }
  load_ref:
    if (FC_UNLIKELY(global >= module->global_refs)) {
      TRY(fc_vm_global_error(global, module->global_refs, "ref", err));
    }
    fc_vm_object_t *object = context->global_refs[global];
    if (FC_UNLIKELY(!fc_vm_type_accepts(type, object))) {
      TRY(fc_vm_type_error(type, object, err));
    }
    if (reg & FC_VM_MOVE_BIT) context->global_refs[global] = NULL;
    else fc_vm_retain(object);
    put_ref(&refs[reg & FC_VM_REF_MASK], object);
    GO_ON(end);

  op_GlobalStoreRef : {
    OPERANDS(GlobalStoreRef);
    global = WORD(0);
    type = TYPE(1);
    reg = REG(2);
    end = ip + END;
    goto store_ref;
  }
  op_GlobalStoreIndirectRef : {
    OPERANDS(GlobalStoreIndirectRef);
    global = U32(0);
    type = TYPE(1);
    reg = REG(2);
    end = ip + END;
  }
  store_ref:
    if (FC_UNLIKELY(global >= module->global_refs)) {
      TRY(fc_vm_global_error(global, module->global_refs, "ref", err));
    }
    if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[reg & FC_VM_REF_MASK]))) {
      TRY(fc_vm_type_error(type, refs[reg & FC_VM_REF_MASK], err));
    }
    put_ref(&context->global_refs[global], take_ref(refs, reg));
    GO_ON(end);
  }

  // Constants
  CONST32(ConstI32)
  CONST32(ConstF32)
  CONST64(ConstI64)
  CONST64(ConstF64)
  CONST_ZERO(ConstI32Zero)
  CONST_ZERO(ConstI64Zero)
  CONST_ZERO(ConstF32Zero)
  CONST_ZERO(ConstF64Zero)
op_ConstRefZero : {
  OPERANDS(ConstRefZero);
  put_ref(&REF(0), NULL);
  NEXT();
}
op_ConstRefRodata : {
  OPERANDS(ConstRefRodata);
  put_ref(&REF(1), &module->rodata[WORD(0)].object);
  NEXT();
}

  // Refs
op_DiscardRefs : {
  OPERANDS(DiscardRefs);
  const uint8_t *list = LIST_OF(0), *end = skip_list(list);
  for (const uint8_t *entry = list + 2; entry < end; entry += 2) {
    put_ref(&refs[fc_load_u16(entry) & FC_VM_REF_MASK], NULL);
  }
  GO_ON(end);
}
op_AssignRef : {
  OPERANDS(AssignRef);
  fc_vm_object_t *object = take_ref(refs, REG(0));
  put_ref(&REF(1), object);
  NEXT();
}
op_CastAnyRef : {
  OPERANDS(CastAnyRef);
  fc_vm_type_t type = TYPE(1);
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, REF(0)))) {
    TRY(fc_vm_type_error(type, REF(0), err));
  }
  fc_vm_object_t *object = take_ref(refs, REG(0));
  put_ref(&REF(2), object);
  NEXT();
}
op_SelectRef : {
  OPERANDS(SelectRef);
  // A reference that should be moved but was not chosen is released.
  bool first = IN(0) != 0;
  uint16_t chosen = first ? REG(2) : REG(3), other = first ? REG(3) : REG(2);
  fc_vm_type_t type = TYPE(1);
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[chosen & FC_VM_REF_MASK]))) {
    TRY(fc_vm_type_error(type, refs[chosen & FC_VM_REF_MASK], err));
  }
  put_ref(&REF(4), take_ref(refs, chosen));
  if ((other & FC_VM_MOVE_BIT) &&
      (other & FC_VM_REF_MASK) != (REG(4) & FC_VM_REF_MASK)) {
    put_ref(&refs[other & FC_VM_REF_MASK], NULL);
  }
  NEXT();
}
op_SwitchRef : {
  OPERANDS(SwitchRef);
  const uint8_t *list = LIST_OF(3);
  uint32_t count = fc_load_u16(list), index = U32(0);
  const uint8_t *end = skip_list(list);
  uint16_t chosen =
      index < count ? fc_load_u16(list + 2 + 2 * (size_t)index) : REG(2);
  fc_vm_type_t type = TYPE(1);
  if (FC_UNLIKELY(!fc_vm_type_accepts(type, refs[chosen & FC_VM_REF_MASK]))) {
    TRY(fc_vm_type_error(type, refs[chosen & FC_VM_REF_MASK], err));
  }
  fc_vm_object_t *object = take_ref(refs, chosen);
  put_ref(&refs[fc_load_u16(end) & FC_VM_REF_MASK], object);
  GO_ON(end + 2);
}
op_CmpEQRef : {
  OPERANDS(CmpEQRef);
  PUT(2, REF(0) == REF(1));
  NEXT();
}
op_CmpNERef : {
  OPERANDS(CmpNERef);
  PUT(2, REF(0) != REF(1));
  NEXT();
}
op_CmpNZRef : {
  OPERANDS(CmpNZRef);
  PUT(1, REF(0) != NULL);
  NEXT();
}

  // Lists
op_ListAlloc : {
  OPERANDS(ListAlloc);
  fc_vm_list_t *list;
  WORK((uint64_t)U32(1) * sizeof(fc_vm_variant_t), context->heap.limit);
  TRY(fc_vm_list_create(&context->heap, TYPE(0), U32(1), &list, err));
  put_ref(&REF(2), &list->object);
  NEXT();
}
op_ListReserve : {
  OPERANDS(ListReserve);
  GET_LIST(list, 0);
  const uint64_t wanted = U32(1);
  if (wanted > list->capacity) {
    WORK(wanted * list->stride, context->heap.limit);
  }
  TRY(fc_vm_list_reserve(list, (uint32_t)wanted, err));
  NEXT();
}
op_ListSize : {
  OPERANDS(ListSize);
  GET_LIST(list, 0);
  PUT(1, list->count);
  NEXT();
}
op_ListResize : {
  OPERANDS(ListResize);
  GET_LIST(list, 0);
  const uint64_t wanted = U32(1);
  WORK((list->count + wanted) * list->stride, context->heap.limit);
  TRY(fc_vm_list_resize(list, (uint32_t)wanted, err));
  NEXT();
}
  LIST_GET(ListGetI32, I32, i32)
  LIST_GET(ListGetI64, I64, i64)
  LIST_GET(ListGetF32, F32, f32)
  LIST_GET(ListGetF64, F64, f64)
  LIST_SET(ListSetI32, I32, i32)
  LIST_SET(ListSetI64, I64, i64)
  LIST_SET(ListSetF32, F32, f32)
  LIST_SET(ListSetF64, F64, f64)
op_ListGetRef : {
  OPERANDS(ListGetRef);
  GET_LIST(list, 0);
  uint16_t reg = REG(3);
  fc_vm_object_t *object;
  TRY(fc_vm_list_get_ref(list, U32(1), reg & FC_VM_MOVE_BIT, &object, err));
  // An object of another type reads as null.
  if (!fc_vm_type_accepts(TYPE(2), object)) {
    fc_vm_release(object);
    object = NULL;
  }
  put_ref(&refs[reg & FC_VM_REF_MASK], object);
  NEXT();
}
op_ListSetRef : {
  OPERANDS(ListSetRef);
  GET_LIST(list, 0);
  // Keeps the list alive: `object` may be the list itself, with the only reference to it.
  fc_vm_object_t *held = fc_vm_retain(&list->object);
  fc_vm_object_t *object = take_ref(refs, REG(2));
  status = fc_vm_list_set_ref(list, U32(1), object, err);
  if (status != FC_OK) fc_vm_release(object);
  fc_vm_release(held);
  if (FC_UNLIKELY(status != FC_OK)) goto fail;
  NEXT();
}

  // Buffers
op_BufferAlloc : {
  OPERANDS(BufferAlloc);
  fc_vm_buffer_t *buffer;
  int64_t size = IN(0);
  WORK(size, context->heap.limit);
  TRY(fc_vm_buffer_create(&context->heap, (uint64_t)size, U32(1), &buffer,
                          err));
  put_ref(&REF(2), &buffer->object);
  NEXT();
}
op_BufferClone : {
  OPERANDS(BufferClone);
  GET_BUFFER(source, 0);
  fc_vm_buffer_t *buffer;
  int64_t size = IN(2);
  WORK(size, source->size);
  TRY(fc_vm_buffer_clone(&context->heap, source, IN(1), size, U32(3), &buffer,
                         err));
  put_ref(&REF(4), &buffer->object);
  NEXT();
}
op_BufferLength : {
  OPERANDS(BufferLength);
  GET_BUFFER(buffer, 0);
  PUT(1, buffer->size);
  NEXT();
}
op_BufferCopy : {
  OPERANDS(BufferCopy);
  GET_BUFFER(source, 0);
  GET_BUFFER(target, 2);
  int64_t size = IN(4);
  WORK(size, target->size);
  TRY(fc_vm_buffer_copy(source, IN(1), target, IN(3), size, err));
  NEXT();
}
op_BufferCompare : {
  OPERANDS(BufferCompare);
  GET_BUFFER(left, 0);
  GET_BUFFER(right, 2);
  int64_t size = IN(4);
  int32_t equal;
  WORK(size, left->size);
  TRY(fc_vm_buffer_compare(left, IN(1), right, IN(3), size, &equal, err));
  PUT(5, equal);
  NEXT();
}
op_BufferHash : {
  OPERANDS(BufferHash);
  GET_BUFFER(buffer, 0);
  int64_t size = IN(2), hash;
  WORK(size, buffer->size);
  TRY(fc_vm_buffer_hash(buffer, IN(1), size, &hash, err));
  PUT(3, hash);
  NEXT();
}
  BUFFER_FILL(BufferFillI8, uint8_t)
  BUFFER_FILL(BufferFillI16, uint16_t)
  BUFFER_FILL(BufferFillI32, uint32_t)
  BUFFER_FILL(BufferFillI64, uint64_t)
  BUFFER_FILL(BufferFillF32, float)
  BUFFER_FILL(BufferFillF64, double)
  BUFFER_LOAD(BufferLoadI8U, uint8_t)
  BUFFER_LOAD(BufferLoadI8S, int8_t)
  BUFFER_LOAD(BufferLoadI16U, uint16_t)
  BUFFER_LOAD(BufferLoadI16S, int16_t)
  BUFFER_LOAD(BufferLoadI32, int32_t)
  BUFFER_LOAD(BufferLoadI64, int64_t)
  BUFFER_LOAD(BufferLoadF32, float)
  BUFFER_LOAD(BufferLoadF64, double)
  BUFFER_STORE(BufferStoreI8, uint8_t)
  BUFFER_STORE(BufferStoreI16, uint16_t)
  BUFFER_STORE(BufferStoreI32, uint32_t)
  BUFFER_STORE(BufferStoreI64, uint64_t)
  BUFFER_STORE(BufferStoreF32, float)
  BUFFER_STORE(BufferStoreF64, double)

  // Selection
  SELECT(SelectI32)
  SELECT(SelectI64)
  SELECT(SelectF32)
  SELECT(SelectF64)
  SWITCH(SwitchI32)
  SWITCH(SwitchI64)
  SWITCH(SwitchF32)
  SWITCH(SwitchF64)

  // Arithmetic
#include "module/vm/arithmetic.def"

  // Branches. Backward branches count as steps.
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
op_Branch : {
  OPERANDS(Branch);
  TAKE_EDGE(EDGE(0));
}
op_Break:
op_Yield : {
  OPERANDS(Yield);
  TAKE_EDGE(EDGE(0));
}
op_CondBreak : {
  OPERANDS(CondBreak);
  TAKE_EDGE(EDGE(1));
}
op_CondBranch : {
  OPERANDS(CondBranch);
  if (IN(0)) TAKE_EDGE(EDGE(1));
  TAKE_EDGE(skip_copies(LIST_OF(2)));
}
op_BranchTable : {
  OPERANDS(BranchTable);
  uint32_t index = U32(0);
  const uint8_t *edge = EDGE(1), *next = skip_copies(LIST_OF(2));
  if (index < fc_load_u16(next)) {
    for (edge = next + 2; index > 0; index--) {
      edge = skip_copies(LIST(edge + 4));
    }
  }
  TAKE_EDGE(edge);
}

  {
    // Calls. In the bytecode a count stands before each list. These pointers point at
    // the counts: `list` at the count of operands, `target` at the count of results,
    // `segments` at the count of segment sizes (NULL: there are none). `next` is the
    // opcode with which the caller continues.
    const uint8_t *segments, *list, *target, *next;
    uint32_t callee;
    bool resumes;
  op_CallYieldable : {
    OPERANDS(CallYieldable);
    callee = WORD(0);
    segments = NULL;
    list = LIST_OF(1);
    resumes = true;
    goto call;
  }
  op_CallVariadic : {
    OPERANDS(CallVariadic);
    callee = WORD(0);
    segments = LIST_OF(1);
    list = skip_list(segments);
    resumes = false;
    goto call;
  }
  op_CallVariadicYieldable : {
    OPERANDS(CallVariadicYieldable);
    callee = WORD(0);
    segments = LIST_OF(1);
    list = skip_list(segments);
    resumes = true;
    goto call;
  }
  op_Call : {
    OPERANDS(Call);
    callee = WORD(0);
    segments = NULL;
    list = LIST_OF(1);
    resumes = false;
  }
  call:
    TICK(1);
    target = skip_list(list);
    if (resumes) {
      next = base + fc_load_u32(target) - 1;
      target = LIST(target + 4);
    } else {
      next = skip_list(target);
    }
    if (callee & FC_VM_IMPORT_BIT) {
      m.ticks = ticks;
      status = call_native(&m, callee & ~FC_VM_IMPORT_BIT,
                           segments ? segments + 2 : NULL, list + 2,
                           fc_load_u16(list), target + 2, err);
      ticks = m.ticks;
      if (FC_UNLIKELY(status != FC_OK)) goto fail;
      GO_ON(next);
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
  OPERANDS(Return);
  const uint8_t *list = LIST_OF(0) + 2;
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
  GO_ON(ip);
}

op_Fail : {
  OPERANDS(Fail);
  const uint8_t *text = BYTES(1), *end = text + COUNT(1);
  if (IN(0)) TRY(fc_vm_module_error(IN(0), text, COUNT(1), err));
  // `fail` with status 0 continues with the code after it. At the end of the function
  // there is no code, so the call fails.
  if (end == m.frame->function->code + m.frame->function->size) {
    TRY(fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INTERNAL,
                   "fail with status 0 at the end of the function"));
  }
  GO_ON(end);
}
op_ImportResolved : {
  OPERANDS(ImportResolved);
  uint32_t import = WORD(0) & ~FC_VM_IMPORT_BIT;
  PUT(1, context->bindings[import].function != NULL);
  NEXT();
}
op_Trace:
op_Print : {
  OPERANDS(Print);
  const uint8_t *list = LIST(BYTES(0) + COUNT(0)), *entry = list + 2;
  const uint8_t *end = skip_list(list);
  for (; entry < end; entry += 2) {
    uint16_t reg = fc_load_u16(entry);
    if ((reg & FC_VM_REF_BIT) && (reg & FC_VM_MOVE_BIT)) {
      put_ref(&refs[reg & FC_VM_REF_MASK], NULL);
    }
  }
  GO_ON(end);
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
