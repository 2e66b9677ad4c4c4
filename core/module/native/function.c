// SPDX-License-Identifier: Apache-2.0
//
// Calls compiled functions through libffi, as prepare.c has planned. If LLVM returns a
// value in a way that no C function does, returned.c makes the call.
#include "module/native/function.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "module/native/message.h"
#include "module/native/plain.h"

#define STACK_MAX (64u << 20)  // if the limit of the stack is higher

// What a call needs while it runs. The struct and its arrays lie in the call's arena.
typedef struct native_call_t {
  const fc_native_function_t *function;
  const fc_dylib_t *dylib;
  fc_hook_t *hook;
  fc_memref_cell_t *cells;   // of the arguments
  void **borrowed;           // the `allocated` address of each memref argument
  void **values;             // the arguments for libffi or a packed function
  uint8_t *structure;        // of the results
  fc_scalar_t direct;        // the result in a register
  void *structure_cell;      // points to `structure`
  fc_registers_t registers;  // of a call by LLVM's convention
  uint64_t *stack;
  size_t stack_count;
  uint64_t words[];  // memory of `borrowed`, `values`, `stack` and `cells`
} native_call_t;

// Returns zeroed memory, aligned for vectors, because a function may write a whole vector
// at once.
static uint8_t *zeroed(fc_arena_t *arena, size_t size) {
  uint8_t *bytes = fc_arena_alloc(arena, size, FC_MEMREF_ALIGNMENT);
  if (bytes) memset(bytes, 0, size);
  return bytes;
}

static fc_status_t allocate_frame(const fc_native_function_t *function,
                                  fc_arena_t *arena, native_call_t **out_frame,
                                  fc_error_t *err) {
  const size_t count = function->signature->argument_count;
  const size_t values = function->value_count + 1;
  const size_t stack = function->by_llvm ? function->type_count : 0;
  const size_t words = count + values + stack;
  native_call_t *running =
      fc_arena_alloc_array(arena, 1,
                           sizeof *running + words * sizeof(uint64_t) +
                               count * sizeof *running->cells);
  if (!running) return fc_fail_memory(err);
  running->borrowed = (void **)running->words;
  running->values = running->borrowed + count;
  running->stack = running->words + count + values;
  running->cells = (fc_memref_cell_t *)(void *)(running->words + words);
  // Zeroed, so that a result that the function does not write has a NULL address.
  running->structure =
      zeroed(arena, function->structure.size + sizeof(fc_scalar_t));
  if (!running->structure) return fc_fail_memory(err);
  *out_frame = running;
  return FC_OK;
}

static void **put_memref(const fc_native_function_t *function,
                         const fc_type_t *type, fc_memref_cell_t *cell,
                         void **next) {
  fc_memref_t *descriptor = cell->descriptor;
  if (function->cc == FC_CC_BAREPTR) {
    *next++ = &descriptor->aligned;
  } else if (function->cc != FC_CC_EXPANDED) {
    *next++ = &cell->data;
  } else if (type->rank == FC_RANK_DYNAMIC) {
    *next++ = &cell->unranked.rank;
    *next++ = &cell->unranked.descriptor;
  } else {
    *next++ = &descriptor->allocated;
    *next++ = &descriptor->aligned;
    *next++ = &descriptor->offset;
    for (int32_t i = 0; i < 2 * fc_memref_rank(type); i++) {
      *next++ = &descriptor->words[i];
    }
  }
  return next;
}

static void **put_rows(const fc_native_function_t *function,
                       const fc_type_t *type, uint8_t *rows, void **next) {
  const bool packed = function->cc == FC_CC_PACKED;
  const size_t size =
      packed ? FC_VECTOR_ROW : fc_vector_size(function->signature, type);
  for (size_t at = 0; at < size; at += FC_VECTOR_ROW) *next++ = rows + at;
  return next;
}

// Gets the bytes of a scalar argument. `value` is extended by its sign, as it must be in
// a register. Compiled code that reads it from memory expects zeros there instead.
static fc_status_t get_scalar(const fc_native_function_t *function,
                              const fc_value_t *value, fc_arena_t *arena,
                              uint8_t **out_bytes, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(value->dtype);
  *out_bytes = (uint8_t *)(uintptr_t)value->scalar.bytes;
  if (function->cc != FC_CC_PACKED || info->bits >= 8u * info->size) {
    return FC_OK;
  }
  fc_scalar_t *copy = fc_arena_alloc_array(arena, 1, sizeof *copy);
  if (!copy) return fc_fail_memory(err);
  *copy = fc_scalar_cut(value->dtype, &value->scalar);
  *out_bytes = copy->bytes;
  return FC_OK;
}

static fc_status_t put_arguments(native_call_t *running,
                                 const fc_backend_call_t *call,
                                 fc_error_t *err) {
  const fc_native_function_t *function = running->function;
  const fc_signature_t *signature = function->signature;
  void **next = running->values;
  if (function->by_pointer) {
    running->structure_cell = running->structure;
    *next++ = &running->structure_cell;
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_type_t *type = fc_native_argument(signature, i);
    const fc_value_t *value =
        &call->arguments[signature->arguments[i].raw_index];
    fc_memref_cell_t *cell = &running->cells[i];
    FC_TRY(fc_memref_argument(signature, i, value, call->guard, call->arena,
                              cell, err));
    if (type->kind == FC_TYPE_TENSOR) {
      running->borrowed[i] = cell->descriptor->allocated;
      next = put_memref(function, type, cell, next);
      continue;
    }
    if (fc_native_is_vector(type)) {
      next = put_rows(function, type, cell->rows, next);
      continue;
    }
    uint8_t *bytes;
    FC_TRY(get_scalar(function, value, call->arena, &bytes, err));
    *next++ = bytes;
    if (fc_native_is_complex(type) && function->cc != FC_CC_PACKED) {
      *next++ = bytes + fc_dtype_size((fc_dtype_t)type->dtype) / 2;
    }
  }
  if (function->cc != FC_CC_PACKED) return FC_OK;
  *next++ = function->in_memory ? (void *)running->structure : &running->direct;
  return FC_OK;
}

// Returns the contents of a register for an argument: integers are extended to 8 bytes.
static uint64_t widen(const ffi_type *type, const void *value) {
  uint64_t word = 0;
  memcpy(&word, value, type->size);
  const unsigned unused = 64 - 8 * (unsigned)type->size;
  const bool is_signed = type == &ffi_type_sint8 || type == &ffi_type_sint16 ||
                         type == &ffi_type_sint32;
  if (is_signed) word = (uint64_t)((int64_t)(word << unused) >> unused);
  return word;
}

// Puts the flat arguments into the registers and on the stack of the C convention.
// LLVM's convention is the same for scalars.
static void spread(native_call_t *running) {
  const fc_native_function_t *function = running->function;
  fc_registers_t *registers = &running->registers;
  size_t integers = 0, vectors = 0;
  registers->memory = (uint64_t)(uintptr_t)running->structure;
  for (uint32_t i = 0; i < function->type_count; i++) {
    const ffi_type *type = function->types[i];
    // A row of a vector. The description was checked: it fits.
    if (type->type == FFI_TYPE_STRUCT) {
      FC_ASSERT(vectors < FC_ARGUMENT_VECTORS);
      memcpy(registers->vectors[vectors++], running->values[i], FC_VECTOR_ROW);
      continue;
    }
    const uint64_t word = widen(type, running->values[i]);
    const bool is_float = type == &ffi_type_float || type == &ffi_type_double;
    if (is_float && vectors < FC_ARGUMENT_VECTORS) {
      memcpy(registers->vectors[vectors++], &word, sizeof word);
    } else if (!is_float && integers < FC_ARGUMENT_INTEGERS) {
      registers->integers[integers++] = word;
    } else {
      running->stack[running->stack_count++] = word;
    }
  }
}

static void enter_by_llvm(native_call_t *running) {
  const fc_native_function_t *function = running->function;
  fc_registers_call(
      function->entry, &running->registers, running->stack,
      running->stack_count,
      function->returned.demoted ? 0 : function->returned.taken[FC_BANK_X87]);
  for (uint32_t i = 0; i < function->part_count; i++) {
    const fc_returned_part_t *part = &function->parts[i];
    fc_registers_get(&running->registers, part->place, part->size,
                     running->structure + part->offset);
  }
}

static void enter(void *context) {
  native_call_t *running = context;
  const fc_native_function_t *function = running->function;
  if (function->by_llvm) {
    enter_by_llvm(running);
    return;
  }
  const ffi_cif *cif = &function->cif;
  void *packed = &running->values;
  void **values = function->cc == FC_CC_PACKED ? &packed : running->values;
  if (function->plain) {
    fc_plain_call(cif, function->entry, values);
  } else {
    ffi_call((ffi_cif *)(uintptr_t)cif, function->entry, &running->direct,
             values);
  }
}

// Runs the function in the floating-point state that it needs, and restores the
// thread's own state afterwards.
static fc_hook_outcome_t run_in_its_fpenv(native_call_t *running) {
  const fc_fpenv_t before = fc_fpenv_get();
  const fc_fpenv_t wanted = running->function->fpenv;
  if (!fc_fpenv_equal(before, wanted)) fc_fpenv_set(wanted);
  fc_hook_outcome_t outcome = fc_hook_run(running->hook, enter, running);
  fc_direction_reset();
  if (!fc_fpenv_equal(fc_fpenv_get(), before)) fc_fpenv_set(before);
  return outcome;
}

// Fails and names the arguments' shapes, from which the wrong size was computed.
static fc_status_t fail_arguments(const native_call_t *running,
                                  const char *what, fc_error_t *err) {
  const fc_signature_t *signature = running->function->signature;
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
                    "'%.*s': %s: the arguments do not fit together",
                    FC_STR_ARG(fc_signature_text(signature, signature->name)),
                    what);
}

static fc_status_t run(native_call_t *running, fc_error_t *err) {
  fc_hook_t *hook = running->hook;
  const fc_signature_t *signature = running->function->signature;
  fc_str_t name = fc_signature_text(signature, signature->name);
  hook->heap = &running->dylib->heap;
  hook->leavable = running->dylib->leavable;
  hook->exact = running->function->exact;
  hook->borrowed = running->borrowed;
  hook->lent_count = signature->argument_count;
  switch (run_in_its_fpenv(running)) {
    case FC_HOOK_RETURNED:
      break;
    case FC_HOOK_ABORTED:
      return fc_native_aborted(name, fc_str_make(hook->text, hook->text_size),
                               err);
    case FC_HOOK_OUT_OF_MEMORY:
      if (hook->size > PTRDIFF_MAX) {  // a negative count of elements
        return fail_arguments(running, "it computed a negative size", err);
      }
      return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
                        "'%.*s' could not allocate %zu bytes", FC_STR_ARG(name),
                        hook->size);
  }
  if (hook->freed_foreign) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "'%.*s' tried to free memory that is not its own",
                   FC_STR_ARG(name));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Results

// True when `data` is near this frame, for the first thread, whose stack may grow to its
// limit. Memory counts as stack if its distance from this frame is below the limit (but
// at most STACK_MAX).
static bool is_near_frame(const uint8_t *data) {
  struct rlimit limit = {0};
  const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  const uintptr_t at = (uintptr_t)data;
  (void)getrlimit(RLIMIT_STACK, &limit);
  const uint64_t most =
      limit.rlim_cur < STACK_MAX ? limit.rlim_cur : (uint64_t)STACK_MAX;
  return (at > frame ? at - frame : frame - at) < most;
}

// True for memory on this thread's stack. Generated code returns such an address only if
// a function returns a pointer to its own stack frame. Used only for memory of which
// nothing else is known. The first thread is treated separately, since pthread_getattr_np
// would look for its stack in /proc, which a worker process may not read.
static bool is_on_stack(fc_span_t bytes) {
  if (gettid() == getpid()) return is_near_frame(bytes.data);
  pthread_attr_t attributes;
  void *low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return false;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return bytes.data >= (uint8_t *)low && bytes.data < (uint8_t *)low + size;
}

// Checks that a result's `bytes` may be read. By its descriptor they belong to the block
// at `allocated`, whose entry in the table of blocks is `own` (NULL: it has none). Memory
// of which nothing is known is refused if the function is exact, or if the memory is on
// this thread's stack.
static fc_status_t check_memory(const native_call_t *running,
                                const fc_own_block_t *own,
                                const void *allocated, fc_span_t bytes,
                                uint32_t result, fc_error_t *err) {
  bool known = own != NULL;
  if (own && fc_span_holds((fc_span_t){own->data, own->size}, bytes)) {
    return FC_OK;
  }
  for (uint32_t i = 0; i < running->function->signature->argument_count; i++) {
    if (!running->borrowed[i] || running->borrowed[i] != allocated) continue;
    known = true;
    if (fc_span_holds(running->cells[i].block, bytes)) return FC_OK;
  }
  if (known) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u spans %zu bytes, not all inside its memory",
                   result, bytes.size);
  }
  if (fc_dylib_contains(running->dylib, bytes)) return FC_OK;
  if (running->function->exact || is_on_stack(bytes)) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u rests on memory that is neither fresh, an "
                   "argument's nor the module's",
                   result);
  }
  return FC_OK;
}

// Checks sizes of dynamic dims that are negative. The function computed them from the
// arguments, so the arguments are at fault. If there are none, the module is at fault.
static fc_status_t check_computed_sizes(const native_call_t *running,
                                        const fc_memref_t *descriptor,
                                        int32_t rank, uint32_t result,
                                        fc_error_t *err) {
  const fc_signature_t *signature = running->function->signature;
  const fc_type_t *type = fc_native_result(signature, result);
  const int64_t *dims = fc_signature_dims(signature, type);
  if (signature->argument_count == 0) return FC_OK;
  for (int32_t i = 0; i < rank; i++) {
    const bool open = type->rank == FC_RANK_DYNAMIC || dims[i] < 0;
    if (descriptor->words[i] >= 0 || !open) continue;
    char what[80];
    snprintf(what, sizeof what,
             "dim %" PRId32 " of result %" PRIu32 " would be %" PRId64, i,
             result, descriptor->words[i]);
    return fail_arguments(running, what, err);
  }
  return FC_OK;
}

static fc_status_t get_ranked(const native_call_t *running,
                              const fc_memref_t *descriptor, int32_t rank,
                              uint32_t result, fc_arena_t *arena,
                              fc_value_t *out, fc_error_t *err) {
  const fc_signature_t *signature = running->function->signature;
  fc_span_t bytes;
  const fc_type_t *type = fc_native_result(signature, result);
  FC_TRY(check_computed_sizes(running, descriptor, rank, result, err));
  FC_TRY(fc_memref_read(descriptor, rank, signature, type, result, &out->tensor,
                        &bytes, err));
  if (FC_UNLIKELY(type->flavor)) {
    FC_TRY(fc_memref_widen(signature, type, arena, &out->tensor, err));
  }
  out->kind = FC_VALUE_TENSOR;
  fc_own_block_t *own = fc_own_find(&running->hook->own, descriptor->allocated);
  if (own) {
    own->returned =
        running->function->ownership[result] != FC_OWNERSHIP_BORROWED;
  }
  if (bytes.size == 0) return FC_OK;
  return check_memory(running, own, descriptor->allocated, bytes, result, err);
}

static fc_status_t get_unranked(const native_call_t *running,
                                const fc_memref_unranked_t *unranked,
                                uint32_t result, fc_arena_t *arena,
                                fc_value_t *out, fc_error_t *err) {
  if (unranked->rank < 0 || unranked->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: rank %" PRId64 " is not in [0,%d]", result,
                   unranked->rank, FC_RANK_MAX);
  }
  const int32_t rank = (int32_t)unranked->rank;
  fc_memref_t *descriptor = unranked->descriptor;
  if (!descriptor || (uintptr_t)descriptor % _Alignof(fc_memref_t) != 0) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: no descriptor behind its rank", result);
  }
  fc_own_block_t *own = fc_own_find(&running->hook->own, descriptor);
  if (own) own->returned = true;
  bool passed = false;  // true: the descriptor is that of an argument
  for (uint32_t i = 0; i < running->function->signature->argument_count; i++) {
    passed = passed || (running->cells[i].descriptor == descriptor &&
                        running->cells[i].unranked.rank == rank);
  }
  if (!passed) {
    fc_span_t bytes = {(uint8_t *)descriptor, fc_memref_size(rank)};
    FC_TRY(check_memory(running, own, descriptor, bytes, result, err));
  }
  return get_ranked(running, descriptor, rank, result, arena, out, err);
}

// Reads a result that is a bare pointer: it is `allocated`, and sizes, strides and offset
// come from the type. In an aligned allocation, the data may begin some bytes after the
// pointer, and MLIR does not say how many. Such a result is refused: its block is larger
// than its contents.
static fc_status_t get_bare(const native_call_t *running, const void *from,
                            uint32_t index, fc_arena_t *arena, fc_value_t *out,
                            fc_error_t *err) {
  const fc_signature_t *signature = running->function->signature;
  const fc_type_t *type = fc_native_result(signature, index);
  const int64_t *dims = fc_signature_dims(signature, type);
  const bool strided = type->flags & FC_TYPE_STRIDED;
  const fc_tensor_t tensor = {.rank = fc_memref_rank(type),
                              .shape = dims,
                              .strides = strided ? dims + type->rank : NULL};
  fc_memref_t *descriptor =
      fc_arena_alloc(arena, fc_memref_size(type->rank), _Alignof(fc_memref_t));
  if (!descriptor) return fc_fail_memory(err);
  fc_memref_build(&tensor, descriptor);
  memcpy(&descriptor->allocated, from, sizeof descriptor->allocated);
  descriptor->aligned = descriptor->allocated;
  if (strided) descriptor->offset = dims[2 * type->rank];
  FC_TRY(get_ranked(running, descriptor, tensor.rank, index, arena, out, err));
  const fc_own_block_t *own =
      fc_own_find(&running->hook->own, descriptor->allocated);
  size_t count, size;
  if (strided || !own ||
      !fc_shape_count(dims, type->rank, (fc_dtype_t)type->dtype, &count,
                      &size) ||
      own->size == size) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "result %" PRIu32 " has %zu bytes in a block of %zu: a bare "
                 "pointer does not say where they begin",
                 index, size, own->size);
}

static fc_status_t get_result(const native_call_t *running, uint32_t index,
                              fc_arena_t *arena, fc_value_t *out,
                              fc_error_t *err) {
  const fc_native_function_t *function = running->function;
  const fc_type_t *type = fc_native_result(function->signature, index);
  const void *from = function->in_memory
                         ? running->structure + function->offsets[index]
                         : running->direct.bytes;
  if (type->kind == FC_TYPE_SCALAR) {
    *out =
        (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = (fc_dtype_t)type->dtype};
    out->scalar = fc_scalar_load(out->dtype, from);
    return FC_OK;
  }
  if (fc_native_is_vector(type)) {
    *out = (fc_value_t){.kind = FC_VALUE_TENSOR};
    out->tensor = (fc_tensor_t){(fc_dtype_t)type->dtype, type->rank,
                                fc_signature_dims(function->signature, type),
                                NULL, (void *)(uintptr_t)from};
    return FC_OK;
  }
  if (function->cc == FC_CC_BAREPTR) {
    return get_bare(running, from, index, arena, out, err);
  }
  if (type->rank == FC_RANK_DYNAMIC) {
    return get_unranked(running, from, index, arena, out, err);
  }
  return get_ranked(running, from, fc_memref_rank(type), index, arena, out,
                    err);
}

static fc_status_t get_results(const native_call_t *running,
                               fc_backend_call_t *call, fc_error_t *err) {
  const fc_signature_t *signature = running->function->signature;
  for (uint32_t i = 0; i < signature->result_count; i++) {
    fc_value_t *out = &call->results[signature->results[i].raw_index];
    FC_TRY(get_result(running, i, call->arena, out, err));
  }
  size_t next = signature->raw_result_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    if (!fc_role_is_answered(signature->arguments[i].role)) continue;
    const fc_type_t *type = fc_native_argument(signature, i);
    const fc_value_t *value =
        &call->arguments[signature->arguments[i].raw_index];
    fc_value_t *out = &call->results[next++];
    *out = *value;
    if (type->kind != FC_TYPE_TENSOR) continue;
    out->tensor =
        fc_memref_view(running->cells[i].kept,
                       value->tensor.rank - type->flavor, value->tensor.dtype);
    FC_TRY(fc_memref_widen(signature, type, call->arena, &out->tensor, err));
  }
  return FC_OK;
}

fc_status_t fc_native_run(const fc_native_function_t *function,
                          const fc_dylib_t *dylib, fc_hook_t *hook,
                          fc_backend_call_t *call, fc_error_t *err) {
  native_call_t *running = NULL;
  FC_TRY(allocate_frame(function, call->arena, &running, err));
  running->function = function;
  running->dylib = dylib;
  running->hook = hook;
  FC_TRY(put_arguments(running, call, err));
  if (function->by_llvm) spread(running);
  FC_TRY(run(running, err));
  return get_results(running, call, err);
}
