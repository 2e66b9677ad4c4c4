// SPDX-License-Identifier: Apache-2.0
//
// Plans how a function is called: libffi's types of its arguments, the structure of its
// results, and the registers in which LLVM returns these. The register rules are MLIR's
// and LLVM's on x86-64 and aarch64; docs/native.md describes them.
#include "module/native/function.h"
#include "module/native/plain.h"

static bool has_vectors(const fc_signature_t *signature) {
  bool found = false;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    found |= fc_native_is_vector(fc_native_argument(signature, i));
  }
  for (uint32_t i = 0; i < signature->result_count; i++) {
    found |= fc_native_is_vector(fc_native_result(signature, i));
  }
  return found;
}

// True when there is no result, or one result that is returned in a register.
static bool returns_directly(const fc_signature_t *signature) {
  if (signature->result_count == 0) return true;
  const fc_type_t *type = fc_native_result(signature, 0);
  return signature->result_count == 1 &&
         (fc_native_is_vector(type) ||
          (type->kind == FC_TYPE_SCALAR && !fc_native_is_complex(type)));
}

// Returns libffi's type for a scalar. Compiled MLIR extends narrow integers itself. C
// compiled by clang expects the caller to extend them: signed integers by their sign,
// others by zero. Half floats are in the low half of a float register.
static ffi_type *scalar_ffi_type(fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const bool is_float = info->class_ == FC_DTYPE_CLASS_FLOAT;
  const bool is_signed = fc_dtype_is_signed(info);
  switch (info->size) {
    case 1:
      return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2:
      if (is_float) return &ffi_type_float;
      return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4:
      if (is_float) return &ffi_type_float;
      return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default:
      return is_float ? &ffi_type_double : &ffi_type_sint64;
  }
}

// One row of a VECTOR: it fills a vector register. Only LLVM's convention has such
// arguments.
static ffi_type *row_parts[] = {&ffi_type_double, &ffi_type_double, NULL};
static ffi_type row_ffi_type = {.size = FC_VECTOR_ROW,
                                .alignment = FC_VECTOR_ROW,
                                .type = FFI_TYPE_STRUCT,
                                .elements = row_parts};

static uint32_t add_type(fc_native_function_t *function, ffi_type *type) {
  if (function->types) function->types[function->type_count] = type;
  return function->type_count++;
}

static void add_argument_types(fc_native_function_t *function,
                               const fc_type_t *type) {
  if (fc_native_is_complex(type)) {  // {re, im} are two arguments
    ffi_type *part =
        scalar_ffi_type(fc_dtype_info((fc_dtype_t)type->dtype)->part);
    add_type(function, part);
    add_type(function, part);
  } else if (fc_native_is_vector(type)) {
    size_t size = fc_vector_size(function->signature, type);
    for (; size; size -= FC_VECTOR_ROW) add_type(function, &row_ffi_type);
  } else if (type->kind == FC_TYPE_SCALAR) {
    add_type(function, scalar_ffi_type((fc_dtype_t)type->dtype));
  } else if (function->cc != FC_CC_EXPANDED) {
    add_type(function, &ffi_type_pointer);
  } else if (type->rank == FC_RANK_DYNAMIC) {
    add_type(function, &ffi_type_sint64);
    add_type(function, &ffi_type_pointer);
  } else {
    add_type(function, &ffi_type_pointer);
    add_type(function, &ffi_type_pointer);
    for (int32_t i = 0; i < 1 + 2 * fc_memref_rank(type); i++) {
      add_type(function, &ffi_type_sint64);
    }
  }
}

// ---------------------------------------------------------------------------
// Values returned by LLVM's convention

static void put_part(fc_native_function_t *function, fc_returned_part_t part) {
  if (function->parts) function->parts[function->part_count] = part;
  function->part_count++;
}

static void add_part(fc_native_function_t *function, uint32_t offset,
                     fc_dtype_t dtype) {
  const fc_returned_part_t part = {
      .offset = offset,
      .size = (uint8_t)fc_dtype_size(dtype),
      .place = fc_returned_add(&function->returned, FC_PROCESSOR, dtype)};
  put_part(function, part);
}

// Adds the rows of a vector that is the only result.
static void add_rows(fc_native_function_t *function, const fc_type_t *type) {
  const size_t size = fc_vector_size(function->signature, type);
  for (uint32_t at = 0; at < size; at += FC_VECTOR_ROW) {
    put_part(function,
             (fc_returned_part_t){
                 .offset = at,
                 .size = FC_VECTOR_ROW,
                 .place = {FC_BANK_VECTOR, (uint8_t)(at / FC_VECTOR_ROW)}});
  }
}

// Adds the parts of a result. All parts of a descriptor have 8 bytes. A ranked descriptor
// has three parts, then its sizes and strides; an unranked one has two; a bare pointer is
// one part.
static void add_parts_of(fc_native_function_t *function, const fc_type_t *type,
                         uint32_t offset) {
  const fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  const fc_dtype_t part = fc_dtype_info(dtype)->part;
  if (fc_native_is_vector(type)) {
    add_rows(function, type);
    return;
  }
  if (type->kind == FC_TYPE_SCALAR) {
    add_part(function, offset, part);
    if (part != dtype) {
      add_part(function, offset + (uint32_t)fc_dtype_size(part), part);
    }
    return;
  }
  const uint32_t count = function->cc == FC_CC_BAREPTR ? 1
                         : type->rank == FC_RANK_DYNAMIC
                             ? 2
                             : 3 + 2 * (uint32_t)fc_memref_rank(type);
  for (uint32_t i = 0; i < count; i++) {
    add_part(function, offset + 8 * i, FC_DTYPE_I64);
  }
}

static void add_parts(fc_native_function_t *function) {
  const fc_signature_t *signature = function->signature;
  function->part_count = 0;
  function->returned = (fc_returned_t){0};
  for (uint32_t i = 0; i < signature->result_count; i++) {
    add_parts_of(function, fc_native_result(signature, i),
                 function->offsets[i]);
  }
}

static fc_status_t plan_parts(fc_native_function_t *function,
                              fc_allocator_t allocator, fc_error_t *err) {
  add_parts(function);
  if (function->returned.demoted) {
    function->by_pointer = FC_DEMOTED_IS_ARGUMENT;
    function->part_count = 0;
    return FC_OK;
  }
  function->parts = fc_alloc_array(allocator, function->part_count,
                                   sizeof(fc_returned_part_t));
  if (!function->parts) return fc_fail_memory(err);
  add_parts(function);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Preparing

static void add_types(fc_native_function_t *function) {
  const fc_signature_t *signature = function->signature;
  function->type_count = 0;
  if (function->by_pointer) add_type(function, &ffi_type_pointer);
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    add_argument_types(function, fc_native_argument(signature, i));
  }
}

// Adds the type of a result to the structure. For a bare pointer it adds a pointer in
// place of a descriptor.
static uint32_t add_result(fc_native_function_t *function,
                           const fc_type_t *type) {
  static const fc_type_t kPointer = {.kind = FC_TYPE_SCALAR,
                                     .dtype = FC_DTYPE_I64};
  const bool bare =
      function->cc == FC_CC_BAREPTR && type->kind == FC_TYPE_TENSOR;
  return fc_layout_add(&function->structure, function->signature,
                       bare ? &kPointer : type);
}

static fc_status_t prepare_results(fc_native_function_t *function,
                                   fc_allocator_t allocator, fc_error_t *err) {
  const fc_signature_t *signature = function->signature;
  function->offsets =
      fc_alloc_array(allocator, signature->result_count, sizeof(uint32_t));
  if (!function->offsets) return fc_fail_memory(err);
  for (uint32_t i = 0; i < signature->result_count; i++) {
    function->offsets[i] = add_result(function, fc_native_result(signature, i));
  }
  function->structured = !returns_directly(signature);
  const bool vectors = has_vectors(signature);
  function->by_llvm = function->structured && (function->cc == FC_CC_EXPANDED ||
                                               function->cc == FC_CC_BAREPTR);
  function->by_pointer = function->structured && !function->by_llvm;
  function->by_llvm |= vectors && function->cc == FC_CC_CIFACE;
  function->in_memory = function->structured || vectors;
  if (!function->by_llvm || function->by_pointer) return FC_OK;
  return plan_parts(function, allocator, err);
}

static fc_status_t prepare_types(fc_native_function_t *function,
                                 fc_allocator_t allocator, fc_error_t *err) {
  add_types(function);
  function->types =
      fc_alloc_array(allocator, function->type_count + 1, sizeof(ffi_type *));
  if (!function->types) return fc_fail_memory(err);
  add_types(function);
  return FC_OK;
}

fc_status_t fc_native_prepare(fc_native_function_t *function,
                              fc_allocator_t allocator, fc_error_t *err) {
  const fc_signature_t *signature = function->signature;
  FC_TRY(prepare_results(function, allocator, err));
  FC_TRY(prepare_types(function, allocator, err));
  ffi_type *returned = &ffi_type_void;
  const bool direct = !function->structured && signature->result_count > 0;
  const bool in_register = direct && !function->by_llvm;
  function->value_count = function->type_count;
  if (function->cc == FC_CC_PACKED) {
    // void f(void **): the array has an entry for the structure of results, if there is
    // one, then one for each argument, then one for the direct result.
    function->value_count =
        function->by_pointer + signature->argument_count + direct;
    function->types[0] = &ffi_type_pointer;
    function->type_count = 1;
  } else if (in_register) {
    returned =
        scalar_ffi_type((fc_dtype_t)fc_native_result(signature, 0)->dtype);
  }
  if (ffi_prep_cif(&function->cif, FFI_DEFAULT_ABI, function->type_count,
                   returned, function->types) != FFI_OK) {
    return fc_fail(err, FC_CODE_INTERNAL, "libffi refuses '%.*s'",
                   FC_STR_ARG(fc_signature_text(signature, signature->name)));
  }
  function->plain = fc_plain_is(&function->cif);
  return FC_OK;
}

void fc_native_unprepare(fc_native_function_t *function,
                         fc_allocator_t allocator) {
  fc_free(allocator, (void *)function->types);
  fc_free(allocator, function->offsets);
  fc_free(allocator, function->parts);
  function->types = NULL;
  function->offsets = NULL;
  function->parts = NULL;
}
