// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the ABI description of a native module: an error with its place, or
// signatures that can be printed and whose out arguments have a size. Also as names for
// a module that has types already: an error, or a signature that is printed and read
// back, in which dims that had to be equal still have to be. Also as the sizes of the
// described functions: an error, or a listing in which each function is found once and
// each row of sizes belongs to its function.
#include <stdlib.h>

#include "abi/names.h"
#include "abi/render.h"
#include "abi/sidecar.h"
#include "abi/sizes.h"
#include "module/variant.h"
#include "farcall/abi.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// For a callable function, memory can be allocated for each of its out arguments.
static void check_out(const fc_signature_t *signature) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->role != FC_ROLE_OUT) continue;
    const fc_type_t *type = fc_signature_node(signature, param->type);
    CHECK(type->kind == FC_TYPE_TENSOR && type->rank >= 0);
    for (int32_t k = 0; k < type->rank; k++) {
      CHECK(fc_signature_dims(signature, type)[k] != FC_DIM_DYNAMIC);
    }
  }
}

static void check_text(const fc_signature_t *signature) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 24);
  CHECK(fc_signature_print_json(signature, FC_STR("m"), FC_STR("1"), &text.sink,
                                NULL) == FC_OK);
  CHECK(fc_signature_print_schema(signature, &text.sink, NULL) == FC_OK);
  CHECK(fc_signature_print_mlir(signature, &text.sink, NULL) == FC_OK);
  fc_text_deinit(&text);
}

static void check_function(const fc_sidecar_function_t *function) {
  const fc_signature_t *signature = function->signature;
  CHECK(function->symbol.data[function->symbol.size] == '\0');
  CHECK(signature->callable || signature->reason.size);
  if (signature->callable) check_out(signature);
  for (uint32_t i = 0; i < signature->result_count; i++) {
    CHECK(function->ownership[i] <= FC_OWNERSHIP_BORROWED);
  }
  check_text(signature);
}

// Describes f(tensor<?x?xf32>, x: tensor<Nx3xi8>, i8) -> (tensor<?xNxf32>,
// [tensor<Nxi8>]).
static fc_signature_t *describe(fc_builder_t *builder) {
  const int64_t n = fc_builder_dim_name(builder, FC_STR("N"));
  const int64_t free_dims[] = {FC_DIM_DYNAMIC, FC_DIM_DYNAMIC};
  const int64_t rows[] = {n, 3}, columns[] = {FC_DIM_DYNAMIC, n};
  const fc_str_t none = {0};
  fc_builder_name(builder, FC_STR("f"));
  fc_builder_argument(builder, none,
                      fc_builder_tensor(builder, FC_DTYPE_F32, 2, free_dims),
                      FC_ROLE_IN, false, FC_RAW_NEXT);
  fc_builder_argument(builder, FC_STR("x"),
                      fc_builder_tensor(builder, FC_DTYPE_I8, 2, rows),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  fc_builder_argument(builder, none, fc_builder_scalar(builder, FC_DTYPE_I8),
                      FC_ROLE_IN, false, FC_RAW_NEXT);
  fc_builder_result(builder, none,
                    fc_builder_tensor(builder, FC_DTYPE_F32, 2, columns),
                    FC_RAW_NEXT);
  const uint32_t list = fc_builder_node(builder, FC_TYPE_LIST);
  fc_builder_append(builder, list,
                    fc_builder_tensor(builder, FC_DTYPE_I8, 1, rows));
  fc_builder_result(builder, none, list, FC_RAW_NEXT);
  fc_signature_t *signature = NULL;
  CHECK(fc_signature_build(builder, &signature, NULL) == FC_OK);
  return signature;
}

static int64_t dim_of(const fc_signature_t *signature, const fc_param_t *param,
                      int32_t dim) {
  const fc_type_t *type = fc_signature_node(signature, param->type);
  if (type->kind == FC_TYPE_LIST) {
    type = fc_signature_node(signature, type->child);
  }
  return fc_signature_dims(signature, type)[dim];
}

static void check_named(const fc_signature_t *s, fc_builder_t *builder) {
  fc_text_t text, again;
  fc_text_init(&text, fc_allocator_system(), 1 << 24);
  fc_text_init(&again, fc_allocator_system(), 1 << 24);
  const int64_t n = dim_of(s, &s->arguments[1], 0);
  CHECK(n >= 0 || fc_dim_is_named(n));
  CHECK(dim_of(s, &s->results[0], 1) == n && dim_of(s, &s->results[1], 0) == n);
  CHECK(dim_of(s, &s->arguments[1], 1) == 3);
  CHECK(fc_signature_print_json(s, FC_STR(""), FC_STR(""), &text.sink, NULL) ==
        FC_OK);
  fc_builder_reset(builder);
  fc_signature_t *read = NULL;
  CHECK(fc_signature_parse_json(fc_text_str(&text), builder, NULL) == FC_OK);
  CHECK(fc_signature_build(builder, &read, NULL) == FC_OK);
  CHECK(fc_signature_print_json(read, FC_STR(""), FC_STR(""), &again.sink,
                                NULL) == FC_OK);
  CHECK(fc_str_equal(fc_text_str(&text), fc_text_str(&again)));
  fc_signature_destroy(read);
  fc_text_deinit(&text);
  fc_text_deinit(&again);
}

// Tries the types that the document has for a function. If there are any, each value of
// the flat call is used once, so the signature can be printed.
static void try_description(const fc_names_t *names, fc_builder_t *builder) {
  fc_error_t err = {0};
  fc_signature_t *signature = NULL;
  fc_builder_reset(builder);
  const fc_status_t status =
      fc_names_describe(names, FC_STR("f"), builder, &err);
  if (status == FC_NOT_FOUND) return;
  CHECK(status == FC_OK ||
        (err.code == FC_CODE_ABI_METADATA && err.has_pointer));
  if (status != FC_OK || fc_signature_build(builder, &signature, &err)) return;
  check_text(signature);
  fc_signature_destroy(signature);
}

static void try_names(fc_str_t json) {
  fc_error_t err = {0};
  fc_names_t *names = NULL;
  const fc_status_t status =
      fc_names_parse(json, true, fc_allocator_system(), &names, &err);
  CHECK(status == FC_OK || status == FC_NOT_FOUND ||
        (err.code == FC_CODE_ABI_METADATA && err.has_pointer));
  if (status != FC_OK) return;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *first = describe(builder), *second = NULL;
  bool named;
  if (fc_names_apply(names, FC_STR("f"), first, builder, &named, &err)) {
    CHECK(named && err.code == FC_CODE_ABI_METADATA && err.has_pointer);
  } else if (fc_signature_build(builder, &second, &err)) {
    CHECK(named && err.code == FC_CODE_ABI_METADATA);
  } else {
    check_named(second, builder);
  }
  CHECK(fc_names_finish(names, &err) == FC_OK || names->count > named);
  try_description(names, builder);
  fc_signature_destroy(first);
  fc_signature_destroy(second);
  fc_builder_destroy(builder);
  fc_names_destroy(names);
}

// The tensor type of an argument. NULL: the argument is not a tensor.
static const fc_type_t *tensor_of(const fc_signature_t *signature,
                                  const fc_param_t *param) {
  const fc_type_t *type = fc_signature_node(signature, param->type);
  return type->kind == FC_TYPE_TENSOR && type->rank > 0 ? type : NULL;
}

// A call with the sizes of a row must fit that row's function.
static void check_row(const fc_signature_t *s, uint32_t row,
                      const fc_signature_t *member) {
  const int64_t *sizes = s->sizes + row * (size_t)s->dim_name_count;
  CHECK(member->callable && member->argument_count == s->argument_count);
  for (uint32_t i = 0; i < s->argument_count; i++) {
    const fc_type_t *type = tensor_of(s, &s->arguments[i]);
    const fc_type_t *mine = tensor_of(member, &member->arguments[i]);
    CHECK(!type == !mine);
    for (int32_t k = 0; type && k < type->rank; k++) {
      const int64_t dim = fc_signature_dims(s, type)[k];
      const int64_t has = fc_signature_dims(member, mine)[k];
      const int64_t size = fc_dim_is_named(dim) ? sizes[fc_dim_name(dim)] : dim;
      CHECK(has < 0 || size == has);
    }
  }
}

static void try_sizes(fc_str_t json, const fc_sidecar_t *sidecar) {
  const size_t count = sidecar->function_count;
  fc_signature_t **signatures = calloc(count + 1, sizeof *signatures);
  size_t *seen = calloc(count + 1, sizeof *seen);
  fc_sizes_t *sizes = NULL;
  fc_error_t err = {0};
  CHECK(signatures && seen);
  for (size_t i = 0; i < count; i++) {
    signatures[i] = sidecar->functions[i].signature;
  }
  const fc_status_t status = fc_sizes_create(
      json, signatures, count, fc_allocator_system(), &sizes, &err);
  CHECK(status == FC_OK ||
        (err.code == FC_CODE_ABI_METADATA && err.has_pointer));
  for (size_t i = 0; sizes && i < sizes->count; i++) {
    const fc_signature_t *signature = sizes->listed[i].signature;
    const uint32_t rows = signature->size_count;
    for (uint32_t k = 0; k < (rows ? rows : 1); k++) {
      const fc_entry_t *entry = &sizes->listed[i].entries[k];
      CHECK(entry->index < count && !seen[entry->index]++);
      CHECK(entry->signature == signatures[entry->index]);
      if (rows) check_row(signature, k, entry->signature);
    }
    check_text(signature);
  }
  for (size_t i = 0; sizes && i < count; i++) CHECK(seen[i] == 1);
  fc_sizes_destroy(sizes);
  free(signatures);
  free(seen);
}

static void try_variants(fc_str_t json) {
  const fc_cpu_t cpu = {{0}};
  fc_error_t err = {0};
  fc_variants_t variants;
  const fc_status_t status =
      fc_variants_parse(json, FC_STR("folder/model.so"), &cpu,
                        fc_allocator_system(), &variants, &err);
  CHECK(status == FC_OK ||
        (err.code == FC_CODE_ABI_METADATA && err.has_pointer));
  if (status != FC_OK) return;
  CHECK(variants.count <= FC_VARIANTS_MAX);
  CHECK(variants.chosen < variants.count || variants.chosen == FC_VARIANTS_MAX);
  for (uint32_t i = 0; i < variants.count; i++) {
    CHECK(variants.files[i][0] && !strchr(variants.files[i], '/'));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_error_t err = {0};
  try_names(fc_str_make((const char *)data, size));
  try_variants(fc_str_make((const char *)data, size));
  fc_sidecar_t *sidecar = NULL;
  if (fc_sidecar_parse(fc_str_make((const char *)data, size), FC_SOURCE_SIDECAR,
                       NULL, fc_allocator_system(), &sidecar, &err) != FC_OK) {
    CHECK(err.code == FC_CODE_ABI_METADATA && err.has_pointer);
    return 0;
  }
  for (size_t i = 0; i < sidecar->function_count; i++) {
    check_function(&sidecar->functions[i]);
  }
  try_sizes(fc_str_make((const char *)data, size), sidecar);
  fc_sidecar_destroy(sidecar);
  return 0;
}
