// SPDX-License-Identifier: Apache-2.0
//
// Calls functions of a module with arguments and results written as text, so that a
// test is one row. Scalars are numbers (complex: `1,2`), tensors are `2x3: 1 2 3 4 5 6`
// (rank 0: `: 1`), and values are separated by `;`. Results are read by their strides.
#ifndef FARCALL_TESTS_UNIT_MODULE_NATIVE_CALLER_H_
#define FARCALL_TESTS_UNIT_MODULE_NATIVE_CALLER_H_

#include "helpers/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "farcall/module.h"

#define CALLER_MODULES FARCALL_BUILD_DIR "/tests/modules/native/"
#define CALLER_VALUES 32

typedef struct caller_t {
  fc_module_t *loaded;
  void *module;  // its handle
  void *instance;
  const fc_module_info_t *info;
  fc_arena_t arena;
  fc_value_t arguments[CALLER_VALUES];
  fc_value_t results[CALLER_VALUES];
  fc_backend_call_t call;
  size_t index;
  fc_error_t err;
  char text[4096];
} caller_t;

static inline fc_status_t caller_open_path(caller_t *caller, const char *path,
                                           fc_allocator_t allocator) {
  memset(caller, 0, sizeof *caller);
  static const fc_backend_t *const backends[] = {&fc_backend_native, NULL};
  fc_status_t status = fc_module_load(backends, fc_str(path), NULL, allocator,
                                      &caller->loaded, &caller->err);
  if (status) return status;
  caller->module = fc_module_get_handle(caller->loaded);
  caller->info = fc_module_get_info(caller->loaded);
  status = fc_backend_native.instance_create(caller->module, allocator,
                                             &caller->instance, &caller->err);
  if (status) {
    fc_module_release(caller->loaded);
    return status;
  }
  fc_arena_init(&caller->arena, allocator, 4096, (size_t)64 << 20);
  return FC_OK;
}

static inline void caller_open(caller_t *caller, const char *name) {
  char path[512];
  snprintf(path, sizeof path, CALLER_MODULES "%s.so", name);
  if (caller_open_path(caller, path, fc_allocator_system())) {
    fail_msg("%s: %s", name, caller->err.message);
  }
}

static inline void caller_close(caller_t *caller) {
  fc_backend_native.instance_destroy(caller->instance);
  fc_module_release(caller->loaded);
  fc_arena_deinit(&caller->arena);
}

static inline size_t caller_find(const caller_t *caller, const char *name) {
  for (size_t i = 0; i < caller->info->count; i++) {
    const fc_signature_t *signature = caller->info->signatures[i];
    if (fc_str_equal(fc_signature_text(signature, signature->name),
                     fc_str(name))) {
      return i;
    }
  }
  fail_msg("no function %s", name);
  return 0;
}

static inline void caller_put(fc_dtype_t dtype, const char **text,
                              uint8_t *out) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  char *end;
  double value = strtod(*text, &end);
  float single = (float)value;
  uint16_t half = dtype == FC_DTYPE_BF16 ? fc_bfloat_from_float(single)
                                         : fc_half_from_float(single);
  if (info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    double imaginary = strtod(end + 1, &end);
    float pair[2] = {single, (float)imaginary};
    if (dtype == FC_DTYPE_C64) memcpy(out, pair, sizeof pair);
    else memcpy(out, (double[]){value, imaginary}, 16);
  } else if (info->class_ == FC_DTYPE_CLASS_FLOAT && info->size > 1) {
    if (info->size == 2) memcpy(out, &half, 2);
    else if (info->size == 4) memcpy(out, &single, 4);
    else memcpy(out, &value, 8);
  } else {
    int64_t integer = strtoll(*text, &end, 10);
    memcpy(out, &integer, info->size);
  }
  *text = end;
}

static inline void caller_get(fc_dtype_t dtype, const uint8_t *from, char *out,
                              size_t capacity) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  float single[2];
  double both[2];
  uint16_t half;
  memcpy(&half, from, 2 < info->size ? 2 : info->size);
  memcpy(single, from, info->size < 8 ? info->size : 8);
  memcpy(both, from, info->size);
  if (dtype == FC_DTYPE_C64) {
    snprintf(out, capacity, "%g,%g", (double)single[0], (double)single[1]);
  } else if (dtype == FC_DTYPE_C128) {
    snprintf(out, capacity, "%g,%g", both[0], both[1]);
  } else if (info->class_ == FC_DTYPE_CLASS_FLOAT && info->size > 1) {
    double value = info->size == 8          ? both[0]
                   : info->size == 4        ? (double)single[0]
                   : dtype == FC_DTYPE_BF16 ? (double)fc_bfloat_to_float(half)
                                            : (double)fc_half_to_float(half);
    snprintf(out, capacity, "%.9g", value);
  } else {
    const bool is_signed = info->class_ == FC_DTYPE_CLASS_INT ||
                           info->class_ == FC_DTYPE_CLASS_SINT ||
                           info->class_ == FC_DTYPE_CLASS_INDEX;
    int64_t value = 0;
    memcpy(&value, from, info->size);
    const unsigned spare = 64u - 8u * info->size;
    if (is_signed) value = (int64_t)((uint64_t)value << spare) >> spare;
    snprintf(out, capacity, "%" PRId64, value);
  }
}

static inline void caller_parse_tensor(caller_t *caller, const fc_type_t *type,
                                       const char **text, fc_value_t *out) {
  int64_t *shape =
      fc_arena_alloc_array(&caller->arena, FC_RANK_MAX + 1, sizeof *shape);
  int32_t rank = 0;
  const char *p = *text;
  while (*p != ':') {
    char *end;
    shape[rank++] = strtoll(p, &end, 10);
    p = *end == 'x' ? end + 1 : end;
  }
  p++;
  const fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  size_t count, size;
  assert_true(fc_shape_count(shape, rank, dtype, &count, &size));
  uint8_t *data = fc_arena_alloc(&caller->arena, size ? size : 1, 64);
  for (size_t i = 0; i < count; i++) {
    caller_put(dtype, &p, data + i * fc_dtype_size(dtype));
  }
  *text = p;
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR};
  out->tensor = (fc_tensor_t){dtype, rank, shape, NULL, data};
}

// Calls the function. The results are valid until caller_end.
static inline fc_status_t caller_call(caller_t *caller, const char *name,
                                      const char *arguments) {
  caller->index = caller_find(caller, name);
  const fc_signature_t *signature = caller->info->signatures[caller->index];
  fc_arena_reset(&caller->arena);
  size_t finals = 0;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_type_t *type =
        fc_signature_node(signature, signature->arguments[i].type);
    finals += signature->arguments[i].role != FC_ROLE_IN;
    while (*arguments == ' ' || *arguments == ';') arguments++;
    fc_value_t *value = &caller->arguments[i];
    if (type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR) {
      caller_parse_tensor(caller, type, &arguments, value);
      continue;
    }
    *value =
        (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = (fc_dtype_t)type->dtype};
    caller_put(value->dtype, &arguments, value->scalar.bytes);
  }
  caller->call =
      (fc_backend_call_t){.arguments = caller->arguments,
                          .argument_count = signature->argument_count,
                          .results = caller->results,
                          .result_count = signature->result_count + finals,
                          .arena = &caller->arena};
  memset(caller->results, 0xA5, sizeof caller->results);
  return fc_backend_native.call(caller->instance, caller->index, &caller->call,
                                &caller->err);
}

static inline void caller_end(caller_t *caller) {
  fc_backend_native.call_end(caller->instance, caller->index, &caller->call);
}

static inline void caller_append(caller_t *caller, const char *text) {
  size_t used = strlen(caller->text);
  snprintf(caller->text + used, sizeof caller->text - used, "%s", text);
}

static inline void caller_print(caller_t *caller, const fc_value_t *value) {
  char item[64];
  if (value->kind == FC_VALUE_SCALAR) {
    caller_get(value->dtype, value->scalar.bytes, item, sizeof item);
    caller_append(caller, item);
    return;
  }
  assert_int_equal(value->kind, FC_VALUE_TENSOR);
  const fc_tensor_t *tensor = &value->tensor;
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) {
    snprintf(item, sizeof item, "%s%" PRId64, i ? "x" : "", tensor->shape[i]);
    caller_append(caller, item);
    count *= tensor->shape[i];
  }
  caller_append(caller, ":");
  for (int64_t k = 0; k < count; k++) {
    int64_t rest = k, at = tensor->strides ? 0 : k;
    for (int32_t i = tensor->rank; tensor->strides && i-- > 0;) {
      at += rest % tensor->shape[i] * tensor->strides[i];
      rest /= tensor->shape[i];
    }
    const int64_t size = (int64_t)fc_dtype_size(tensor->dtype);
    caller_get(tensor->dtype, (const uint8_t *)tensor->data + at * size, item,
               sizeof item);
    caller_append(caller, " ");
    caller_append(caller, item);
  }
}

// Calls the function and returns the results as text; a failure as "code: message".
static inline const char *caller_run(caller_t *caller, const char *name,
                                     const char *arguments) {
  caller->text[0] = '\0';
  if (caller_call(caller, name, arguments) != FC_OK) {
    caller_append(caller, fc_code_info(caller->err.code)->text);
    caller_append(caller, ": ");
    caller_append(caller, caller->err.message);
  } else {
    for (size_t i = 0; i < caller->call.result_count; i++) {
      if (i) caller_append(caller, "; ");
      caller_print(caller, &caller->results[i]);
    }
  }
  caller_end(caller);
  return caller->text;
}

#endif  // FARCALL_TESTS_UNIT_MODULE_NATIVE_CALLER_H_
