// SPDX-License-Identifier: Apache-2.0
#include "helpers/flat.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct out_t {
  char *at;
  char *end;
} out_t;

FC_PRINTF(2, 3)
static void put(out_t *out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int size = vsnprintf(out->at, (size_t)(out->end - out->at), format, args);
  va_end(args);
  if (size < 0) return;
  bool cut = size >= out->end - out->at;
  out->at = cut ? out->end - 1 : out->at + size;
}

static void put_part(out_t *out, fc_dtype_t dtype, const void *element) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  fc_scalar_t scalar = {0};
  memcpy(scalar.bytes, element, info->size);
  if (info->class_ == FC_DTYPE_CLASS_UINT ||
      info->class_ == FC_DTYPE_CLASS_BOOL) {
    put(out, "%" PRIu64, scalar.u64);
  } else if (dtype == FC_DTYPE_F32) {
    put(out, "%.9g", (double)scalar.f32);
  } else if (dtype == FC_DTYPE_F64) {
    put(out, "%.17g", scalar.f64);
  } else if (info->class_ == FC_DTYPE_CLASS_FLOAT) {
    put(out, "0x%0*x", info->size * 2, (unsigned)scalar.u16);
  } else if (info->size == 1) {
    put(out, "%d", scalar.i8);
  } else if (info->size == 2) {
    put(out, "%d", scalar.i16);
  } else if (info->size == 4) {
    put(out, "%" PRId32, scalar.i32);
  } else {
    put(out, "%" PRId64, scalar.i64);
  }
}

static void put_element(out_t *out, fc_dtype_t dtype, const void *element) {
  const uint8_t *bytes = element;
  if (dtype != FC_DTYPE_C64 && dtype != FC_DTYPE_C128) {
    put_part(out, dtype, bytes);
    return;
  }
  fc_dtype_t part = dtype == FC_DTYPE_C64 ? FC_DTYPE_F32 : FC_DTYPE_F64;
  put_part(out, part, bytes);
  put(out, "+");
  put_part(out, part, bytes + fc_dtype_size(part));
  put(out, "i");
}

static void put_tensor(out_t *out, const fc_tensor_t *tensor) {
  size_t count = 1, size = fc_dtype_size(tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; i++) {
    put(out, "%" PRId64 "x", tensor->shape[i]);
    count *= (size_t)tensor->shape[i];
  }
  if (!tensor->rank) put(out, "x");
  put(out, "%s[", fc_dtype_info(tensor->dtype)->text);
  for (size_t i = 0; i < count; i++) {
    put(out, i ? " " : "");
    put_element(out, tensor->dtype, (const uint8_t *)tensor->data + i * size);
  }
  put(out, "]");
}

// NOLINTNEXTLINE(misc-no-recursion): the depth is a test's own.
static void put_value(out_t *out, const fc_value_t *value) {
  switch (value->kind) {
    case FC_VALUE_NULL:
      put(out, "null");
      break;
    case FC_VALUE_SCALAR:
      put(out, "%s:", fc_dtype_info(value->dtype)->text);
      put_element(out, value->dtype, value->scalar.bytes);
      break;
    case FC_VALUE_TENSOR:
      put_tensor(out, &value->tensor);
      break;
    case FC_VALUE_BYTES:
      put(out, "\"%.*s\"", FC_STR_ARG(value->bytes));
      break;
    case FC_VALUE_OPAQUE:
      put(out, "opaque");
      break;
    case FC_VALUE_LIST:
      put(out, "(");
      for (size_t i = 0; i < value->list.count; i++) {
        put(out, i ? ", " : "");
        put_value(out, &value->list.items[i]);
      }
      put(out, ")");
      break;
  }
}

void fc_test_flat(const fc_value_t *values, size_t count, char *out,
                  size_t capacity) {
  out_t text = {out, out + capacity};
  *out = '\0';
  for (size_t i = 0; i < count; i++) {
    put(&text, i ? "; " : "");
    put_value(&text, &values[i]);
  }
}
