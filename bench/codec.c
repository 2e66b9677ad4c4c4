// SPDX-License-Identifier: Apache-2.0
//
// bench_codec TYPE read|write TIMES: reads or writes 4,096 numbers of f32, f64, i32 or
// i64 as JSON, TIMES times. The difference of two runs gives the cost of one number
// (bench/codec).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "farcall/abi.h"
#include "farcall/codec.h"
#include "json/reader.h"
#include "json/writer.h"

#define COUNT 4096

static union {
  float f32[COUNT];
  double f64[COUNT];
  int32_t i32[COUNT];
  int64_t i64[COUNT];
} values, read_back;

static void check(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "bench_codec: %s\n", what);
  exit(1);
}

// Floats have a normal distribution, integers all lengths.
static void make_values(fc_dtype_t dtype) {
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < COUNT; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double part = (double)((state >> 11) + 1) * 0x1p-53;
    const double normal = sqrt(-2 * log(part)) * cos(0.1 * i);
    switch (dtype) {
      case FC_DTYPE_F32:
        values.f32[i] = (float)normal;
        break;
      case FC_DTYPE_F64:
        values.f64[i] = normal;
        break;
      case FC_DTYPE_I32:
        values.i32[i] = (int32_t)(uint32_t)state >> (i % 32);
        break;
      default:
        values.i64[i] = (int64_t)state >> (i % 64);
        break;
    }
  }
}

static void write_all(fc_dtype_t dtype, fc_text_t *text) {
  fc_error_t err;
  const int64_t shape[] = {COUNT};
  fc_text_reset(text);
  check(!fc_json_write_array(&text->sink, dtype, 1, shape, NULL, &values, false,
                             &err),
        err.message);
}

static void read_all(fc_dtype_t dtype, fc_str_t text) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_error_t err;
  size_t count = 0;
  fc_json_reader_init(&reader, 4, 4);
  fc_json_reader_feed(&reader, text.data, text.size, true);
  check(!fc_json_next(&reader, &token, &err), err.message);
  check(!fc_json_read_elements(&reader, dtype, &read_back, COUNT, &count,
                               &token, &err),
        err.message);
  check(count == COUNT && token == FC_JSON_ARRAY_END, "elements missing");
}

int main(int argc, char **argv) {
  check(argc == 4, "TYPE read|write TIMES");
  const fc_dtype_t dtype = fc_dtype_find(fc_str(argv[1]));
  check(dtype == FC_DTYPE_F32 || dtype == FC_DTYPE_F64 ||
            dtype == FC_DTYPE_I32 || dtype == FC_DTYPE_I64,
        "TYPE is f32, f64, i32 or i64");
  const bool reads = !strcmp(argv[2], "read");
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  make_values(dtype);
  write_all(dtype, &text);
  for (long left = strtol(argv[3], NULL, 10); left > 0; left--) {
    if (reads) read_all(dtype, fc_text_str(&text));
    else write_all(dtype, &text);
  }
  read_all(dtype, fc_text_str(&text));
  check(!memcmp(&values, &read_back, COUNT * fc_dtype_size(dtype)),
        "values differ");
  fc_text_deinit(&text);
  return 0;
}
