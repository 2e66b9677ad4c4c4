// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the ABI description of a native module: an error that names its
// place, or signatures that print and whose out arguments have a size.
#include <stdlib.h>

#include "abi/render.h"
#include "abi/sidecar.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A callable function can be given memory for each of its out arguments.
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

static void check_function(const fc_sidecar_function_t *function) {
  const fc_signature_t *signature = function->signature;
  CHECK(function->symbol.data[function->symbol.size] == '\0');
  CHECK(signature->callable || signature->reason.size);
  if (signature->callable) check_out(signature);
  for (uint32_t i = 0; i < signature->result_count; i++) {
    CHECK(function->ownership[i] <= FC_OWNERSHIP_BORROWED);
  }
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 24);
  CHECK(fc_signature_print_json(signature, FC_STR("m"), FC_STR("1"), &text.sink,
                                NULL) == FC_OK);
  CHECK(fc_signature_print_schema(signature, &text.sink, NULL) == FC_OK);
  CHECK(fc_signature_print_mlir(signature, &text.sink, NULL) == FC_OK);
  fc_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_error_t err = {0};
  fc_sidecar_t *sidecar = NULL;
  if (fc_sidecar_parse(fc_str_make((const char *)data, size), FC_SOURCE_SIDECAR,
                       fc_allocator_system(), &sidecar, &err) != FC_OK) {
    CHECK(err.code == FC_CODE_ABI_METADATA && err.has_pointer);
    return 0;
  }
  for (size_t i = 0; i < sidecar->function_count; i++) {
    check_function(&sidecar->functions[i]);
  }
  fc_sidecar_destroy(sidecar);
  return 0;
}
