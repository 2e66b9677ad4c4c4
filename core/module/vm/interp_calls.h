// SPDX-License-Identifier: Apache-2.0
//
// How the interpreter passes values from frame to frame, and calls imports. Included
// only by interp.c, which is compiled twice.
#ifndef FARCALL_CORE_MODULE_VM_INTERP_CALLS_H_
#define FARCALL_CORE_MODULE_VM_INTERP_CALLS_H_

#include "base/profile.h"
#include "module/vm/operands.h"
#include "module/vm/steps.h"

#ifdef FC_VM_PROFILED
#define INTERPRET fc_vm_interpret_profiled
#define PROFILE(statement) statement

static void enter_function(const fc_vm_machine_t *m) {
  const fc_vm_function_t *function = m->frame->function;
  const fc_profile_place_t place = {
      .kind = FC_PROFILE_FUNCTION,
      .key = function,
      .index = (uint32_t)(function - m->context->module->functions),
      .name = function->name};
  fc_profile_enter(m->invocation->profile, &place);
}

static void enter_import(const fc_vm_machine_t *m,
                         const fc_vm_import_t *import) {
  const fc_profile_place_t place = {
      .kind = FC_PROFILE_IMPORT, .key = import, .name = import->full_name};
  fc_profile_enter(m->invocation->profile, &place);
}

static void leave_profiled(const fc_vm_machine_t *m) {
  fc_profile_leave(m->invocation->profile);
}
#else
#define INTERPRET fc_vm_interpret
#define PROFILE(statement) ((void)0)
#endif

// ---------------------------------------------------------------------------
// Refs

static inline void put_ref(fc_vm_object_t **place,
                           fc_vm_object_t *take_object) {
  fc_vm_object_t *old = *place;
  *place = take_object;
  fc_vm_release(old);
}

// Takes the reference that an operand passes on. With MOVE it is the register's own,
// and the register becomes null; otherwise it is a new reference.
static inline fc_vm_object_t *take_ref(fc_vm_object_t **refs, uint16_t reg) {
  fc_vm_object_t **place = &refs[reg & FC_VM_REF_MASK];
  if (!(reg & FC_VM_MOVE_BIT)) return fc_vm_retain(*place);
  fc_vm_object_t *object = *place;
  *place = NULL;
  return object;
}

// ---------------------------------------------------------------------------
// Calls

// The next free register of each bank in the callee's frame.
typedef struct next_registers_t {
  uint32_t cell;
  uint32_t ref;
} next_registers_t;

// Copies one value from a register of the caller's frame. `letter` tells its width.
static inline void pass_argument(char letter, uint16_t reg, fc_vm_frame_t *from,
                                 fc_vm_frame_t *to, next_registers_t *place) {
  switch (letter) {
    case 'r':
      to->refs[place->ref++] = take_ref(from->refs, reg);
      break;
    case 'I':
    case 'F':
      place->cell = (place->cell + 1) & ~1u;
      store_wide(&to->cells[place->cell], load_wide(&from->cells[reg]));
      place->cell += 2;
      break;
    default:
      to->cells[place->cell++] = from->cells[reg];
      break;
  }
}

static inline void pass_result(char letter, uint16_t reg, fc_vm_frame_t *from,
                               fc_vm_frame_t *to, uint16_t target) {
  switch (letter) {
    case 'r':
      put_ref(&to->refs[target & FC_VM_REF_MASK], take_ref(from->refs, reg));
      break;
    case 'I':
    case 'F':
      store_wide(&to->cells[target], load_wide(&from->cells[reg]));
      break;
    default:
      to->cells[target] = from->cells[reg];
      break;
  }
}

static void enter(const fc_vm_raw_t *arguments, fc_vm_frame_t *to) {
  fc_str_t letters = to->function->cconv.arguments;
  next_registers_t place = {0, 0};
  for (size_t i = 0; i < letters.size; i++) {
    switch (letters.data[i]) {
      case 'r':
        to->refs[place.ref++] = fc_vm_retain(arguments[i].ref);
        break;
      case 'I':
      case 'F':
        place.cell = (place.cell + 1) & ~1u;
        store_wide(&to->cells[place.cell], arguments[i].i64);
        place.cell += 2;
        break;
      default:
        to->cells[place.cell++] = arguments[i].i32;
        break;
    }
  }
}

// Copies the registers of a return, which are listed at `list`, to the results of the
// first frame's caller.
static void leave(fc_vm_frame_t *from, const uint8_t *list,
                  fc_vm_raw_t *results) {
  fc_str_t letters = from->function->cconv.results;
  for (size_t i = 0; i < letters.size; i++) {
    uint16_t reg = fc_load_u16(list + 2 * i);
    switch (letters.data[i]) {
      case 'r':
        results[i].ref = take_ref(from->refs, reg);
        break;
      case 'I':
      case 'F':
        results[i].i64 = load_wide(&from->cells[reg]);
        break;
      default:
        results[i].i64 = 0;
        results[i].i32 = from->cells[reg];
        break;
    }
  }
}

static void clear_results(const fc_vm_function_t *function,
                          fc_vm_raw_t *results) {
  size_t count = function->cconv.results.size;
  if (count) memset(results, 0, count * sizeof *results);
}

// The operands of a call of an import. A span stands as its values, one after another.
typedef struct native_operands_t {
  fc_vm_raw_t *values;
  bool *owned;  // true: the reference was moved out of its register
  uint32_t *spans;
  uint32_t count;
  uint32_t span_count;
} native_operands_t;

static void gather_one(native_operands_t *out, char letter, uint16_t reg,
                       fc_vm_frame_t *from) {
  fc_vm_raw_t *raw = &out->values[out->count];
  switch (letter) {
    case 'r':
      raw->ref = from->refs[reg & FC_VM_REF_MASK];
      if (reg & FC_VM_MOVE_BIT) {
        from->refs[reg & FC_VM_REF_MASK] = NULL;
        out->owned[out->count] = true;
      }
      break;
    case 'I':
    case 'F':
      raw->i64 = load_wide(&from->cells[reg]);
      break;
    default:
      raw->i32 = from->cells[reg];
      break;
  }
  out->count++;
}

static void gather(native_operands_t *out, fc_str_t letters,
                   const uint8_t *segments, const uint8_t *list,
                   fc_vm_frame_t *from) {
  uint32_t item = 0;
  for (size_t i = 0; i < letters.size; i++, item++) {
    if (letters.data[i] != 'C') {
      gather_one(out, letters.data[i], fc_load_u16(list), from);
      list += 2;
      continue;
    }
    size_t begin = i + 1;
    while (letters.data[i] != 'D') i++;
    uint32_t times = fc_load_u16(segments + 2 * (size_t)item);
    for (uint32_t k = 0; k < times; k++) {
      for (size_t j = begin; j < i; j++, list += 2) {
        gather_one(out, letters.data[j], fc_load_u16(list), from);
      }
    }
    out->spans[out->span_count++] = times;
  }
}

// Calls import `ordinal` with `count` operands at `list` and writes the results
// to the registers at `targets`.
static __attribute__((noinline)) fc_status_t call_native(
    fc_vm_machine_t *m, uint32_t ordinal, const uint8_t *segments,
    const uint8_t *list, uint32_t count, const uint8_t *targets,
    fc_error_t *err) {
  fc_vm_context_t *context = m->context;
  const fc_vm_import_t *import = &context->module->imports[ordinal];
  const fc_vm_binding_t *binding = &context->bindings[ordinal];
  if (!binding->function) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_NOT_FOUND,
                      "optional import '%.*s' is not provided",
                      FC_STR_ARG(import->full_name));
  }
  fc_str_t letters = import->cconv.arguments, returns = import->cconv.results;
  size_t raws = count + returns.size;
  size_t size = raws * sizeof(fc_vm_raw_t) + letters.size * sizeof(uint32_t) +
                count * sizeof(bool);
  fc_vm_stack_t *stack = m->invocation->stack;
  fc_vm_raw_t *memory = fc_vm_stack_alloc(stack, size, err);
  if (!memory) return FC_RESOURCE_EXHAUSTED;
  native_operands_t operands = {.values = memory,
                                .spans = (uint32_t *)(void *)(memory + raws)};
  operands.owned = (bool *)(operands.spans + letters.size);
  gather(&operands, letters, segments, list, m->frame);
  fc_vm_native_call_t call = {.context = context,
                              .heap = &context->heap,
                              .invocation = m->invocation,
                              .state = binding->state,
                              .arguments = memory,
                              .argument_count = count,
                              .spans = operands.spans,
                              .results = memory + count};
  fc_vm_return_ticks(m);  // the native may run bytecode, which also spends fuel
  PROFILE(enter_import(m, import));
  fc_status_t status = binding->function->call(&call, err);
  PROFILE(leave_profiled(m));
  fc_vm_grant_ticks(m);
  for (uint32_t i = 0; i < count; i++) {
    if (operands.owned[i]) fc_vm_release(memory[i].ref);
  }
  for (size_t i = 0; i < returns.size; i++) {
    uint16_t target = fc_load_u16(targets + 2 * i);
    fc_vm_raw_t result = call.results[i];
    bool is_ref = returns.data[i] == 'r';
    if (status != FC_OK) {
      if (is_ref) fc_vm_release(result.ref);
    } else if (is_ref) {
      put_ref(&m->frame->refs[target & FC_VM_REF_MASK], result.ref);
    } else if (returns.data[i] == 'I' || returns.data[i] == 'F') {
      store_wide(&m->frame->cells[target], result.i64);
    } else {
      m->frame->cells[target] = result.i32;
    }
  }
  fc_vm_stack_free(stack, memory, size);
  return status;
}

#endif  // FARCALL_CORE_MODULE_VM_INTERP_CALLS_H_
