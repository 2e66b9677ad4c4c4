// SPDX-License-Identifier: Apache-2.0
//
// bench_num [COUNT]: measures nanoseconds per element for reading JSON text into a typed
// buffer and for writing it, against the C library and yyjson (document and copy). All
// take turns in one run on one thread. Ratios are the other's time divided by ours. What
// farcall and the C library read is compared bit for bit with what was written. Then
// measures whole calls, DECODE and ENCODE of f32 in several forms, which should take
// little more time than their numbers. f32 are also read as Python writes them: with the
// digits of an f64, and a blank after each comma.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <yyjson.h>

#include "farcall/abi.h"
#include "farcall/codec.h"
#include "json/number.h"
#include "json/reader.h"
#include "json/writer.h"

#define ROUNDS 7

typedef struct set_t {
  const char *name;
  fc_dtype_t dtype;
  size_t count;
  void *values;
  void *out;
  fc_text_t text;  // the values as JSON
  fc_text_t scratch;
} set_t;

static uint64_t random_state = 88172645463325252u;

static double uniform(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-53;
}

static double gaussian(void) {
  return sqrt(-2 * log(uniform() + 1e-300)) *
         cos(6.283185307179586 * uniform());
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void check(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "bench_num: %s\n", what);
  exit(1);
}

// ---------------------------------------------------------------------------
// The competitors

static void ours_in(set_t *set) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_error_t err;
  size_t count = 0;
  fc_str_t text = fc_text_str(&set->text);
  fc_json_reader_init(&reader, 4, 4);
  fc_json_reader_feed(&reader, text.data, text.size, true);
  check(!fc_json_next(&reader, &token, &err), err.message);
  check(!fc_json_read_elements(&reader, set->dtype, set->out, set->count,
                               &count, &token, &err),
        err.message);
  check(count == set->count && token == FC_JSON_ARRAY_END, "elements missing");
}

static void libc_in(set_t *set) {
  const char *p = set->text.data + 1;
  char *end;
  for (size_t i = 0; i < set->count; i++, p = end + 1) {
    if (set->dtype == FC_DTYPE_F32) ((float *)set->out)[i] = strtof(p, &end);
    if (set->dtype == FC_DTYPE_F64) ((double *)set->out)[i] = strtod(p, &end);
    if (set->dtype == FC_DTYPE_I32)
      ((int32_t *)set->out)[i] = (int32_t)strtol(p, &end, 10);
    if (set->dtype == FC_DTYPE_I64)
      ((int64_t *)set->out)[i] = strtoll(p, &end, 10);
  }
}

static void yyjson_in(set_t *set) {
  fc_str_t text = fc_text_str(&set->text);
  yyjson_doc *doc = yyjson_read(text.data, text.size, 0);
  yyjson_val *array = yyjson_doc_get_root(doc), *item;
  size_t i, count;
  yyjson_arr_foreach(array, i, count, item) {
    if (set->dtype == FC_DTYPE_F32)
      ((float *)set->out)[i] = (float)yyjson_get_num(item);
    if (set->dtype == FC_DTYPE_F64)
      ((double *)set->out)[i] = yyjson_get_num(item);
    if (set->dtype == FC_DTYPE_I32)
      ((int32_t *)set->out)[i] = (int32_t)yyjson_get_sint(item);
    if (set->dtype == FC_DTYPE_I64)
      ((int64_t *)set->out)[i] = yyjson_get_sint(item);
  }
  yyjson_doc_free(doc);
}

static void ours_out(set_t *set) {
  fc_error_t err;
  const int64_t shape[] = {(int64_t)set->count};
  fc_text_reset(&set->scratch);
  check(!fc_json_write_array(&set->scratch.sink, set->dtype, 1, shape, NULL,
                             set->values, false, &err),
        err.message);
}

static void libc_out(set_t *set) {
  static char text[64];
  for (size_t i = 0; i < set->count; i++) {
    if (set->dtype == FC_DTYPE_F32)
      snprintf(text, sizeof text, "%.9g", (double)((float *)set->values)[i]);
    if (set->dtype == FC_DTYPE_F64)
      snprintf(text, sizeof text, "%.17g", ((double *)set->values)[i]);
    if (set->dtype == FC_DTYPE_I32)
      snprintf(text, sizeof text, "%d", ((int32_t *)set->values)[i]);
    if (set->dtype == FC_DTYPE_I64)
      snprintf(text, sizeof text, "%lld",
               (long long)((int64_t *)set->values)[i]);
  }
}

static void yyjson_out(set_t *set) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *array = NULL;
  if (set->dtype == FC_DTYPE_F32)
    array = yyjson_mut_arr_with_float(doc, set->values, set->count);
  if (set->dtype == FC_DTYPE_F64)
    array = yyjson_mut_arr_with_double(doc, set->values, set->count);
  if (set->dtype == FC_DTYPE_I32)
    array = yyjson_mut_arr_with_sint32(doc, set->values, set->count);
  if (set->dtype == FC_DTYPE_I64)
    array = yyjson_mut_arr_with_sint64(doc, set->values, set->count);
  yyjson_mut_doc_set_root(doc, array);
  free(yyjson_mut_write(doc, 0, NULL));
  yyjson_mut_doc_free(doc);
}

// ---------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef void (*work_t)(set_t *set);

static void measure(set_t *set, const char *what, const work_t work[3],
                    bool in) {
  double times[3][ROUNDS], best[3];
  const size_t size = set->count * fc_dtype_size(set->dtype);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 3; i++) {
      memset(set->out, 0, size);
      double start = now();
      work[i](set);
      times[i][round] = now() - start;
      // yyjson reads f32 as f64 and so rounds twice.
      if (in && i < 2)
        check(!memcmp(set->out, set->values, size), "values differ");
    }
  }
  for (int i = 0; i < 3; i++) {
    qsort(times[i], ROUNDS, sizeof(double), by_size);
    best[i] = times[i][ROUNDS / 2] / (double)set->count;
  }
  printf("%-22s %-5s %8.2f ns %8.2f (%5.2fx) %8.2f (%5.2fx)\n", set->name, what,
         best[0], best[1], best[1] / best[0], best[2], best[2] / best[0]);
}

static double six_decimals(size_t i) {
  (void)i;
  return round(uniform() * 1e6) / 1e6;
}
static double normal(size_t i) {
  (void)i;
  return gaussian();
}
static double small_whole(size_t i) {
  (void)i;
  return floor(uniform() * 256);
}
static double mixed_whole(size_t i) {
  (void)i;
  return ldexp(uniform() - 0.5, (int)(uniform() * 63));
}

// ---------------------------------------------------------------------------
// Whole calls

static fc_plan_t *make_plan(fc_signature_t **out_signature) {
  static const char kIdentity[] =
      "{\"name\":\"identity\",\"source\":\"sidecar\",\"arguments\":[{"
      "\"position\":0,\"name\":\"x\",\"role\":\"in\",\"keyword\":true,"
      "\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":[null,null]}}],"
      "\"results\":[{\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\","
      "\"shape\":[null,null]}}]}";
  fc_error_t err;
  fc_plan_t *plan = NULL;
  fc_allocator_t allocator = fc_allocator_system();
  fc_builder_t *builder = fc_builder_create(allocator);
  check(builder && !fc_signature_parse_json(fc_str(kIdentity), builder, &err) &&
            !fc_signature_build(builder, out_signature, &err) &&
            !fc_plan_create(*out_signature, allocator, &plan, &err),
        "no plan");
  fc_builder_destroy(builder);
  return plan;
}

// Writes a call document of `count` numbers in rows of `width`: nested, or flat
// with a shape (`typed`).
static void write_call(fc_text_t *text, size_t count, int64_t width,
                       bool typed) {
  int64_t shape[] = {(int64_t)count / width, width};
  char head[80];
  snprintf(head, sizeof head,
           "[{\"shape\":[%lld,%lld],\"data\":", (long long)shape[0],
           (long long)shape[1]);
  float *values = calloc(count, sizeof *values);
  check(values, "out of memory");
  for (size_t i = 0; i < count; i++) values[i] = (float)six_decimals(i);
  int64_t flat = shape[0] * shape[1];
  fc_sink_t *sink = &text->sink;
  fc_error_t err;
  check(!fc_sink_put(sink, fc_str(typed ? head : "["), &err) &&
            !fc_json_write_array(sink, FC_DTYPE_F32, typed ? 1 : 2,
                                 typed ? &flat : shape, NULL, values, false,
                                 &err) &&
            !fc_sink_put(sink, fc_str(typed ? "}]" : "]"), &err),
        "out of memory");
  free(values);
}

static void measure_call(size_t count, int64_t width, bool typed) {
  fc_error_t err;
  fc_signature_t *signature;
  fc_plan_t *plan = make_plan(&signature);
  fc_frame_t *frame;
  fc_text_t body, answer;
  double times[2][ROUNDS];
  check(!fc_frame_create(fc_allocator_system(), NULL, &frame, &err), "memory");
  fc_text_init(&body, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&answer, fc_allocator_system(), SIZE_MAX);
  write_call(&body, count, width, typed);
  for (int round = 0; round < ROUNDS; round++) {
    double start = now();
    fc_frame_begin(frame, plan, NULL);
    check(!fc_frame_decode(frame, fc_text_str(&body), &err), err.message);
    times[0][round] = now() - start;
    size_t arguments;
    fc_value_t *values = fc_frame_arguments(frame, &arguments);
    fc_frame_set_results(frame, values, arguments);
    fc_text_reset(&answer);
    start = now();
    check(!fc_frame_encode(frame, &answer.sink, &err), err.message);
    times[1][round] = now() - start;
    fc_frame_end(frame);
  }
  for (int i = 0; i < 2; i++) {
    qsort(times[i], ROUNDS, sizeof(double), by_size);
  }
  printf("call, %s of %-6lld decode %6.2f ns  encode %6.2f ns\n",
         typed ? "flat, rows" : "nested rows", (long long)width,
         times[0][ROUNDS / 2] / (double)count,
         times[1][ROUNDS / 2] / (double)count);
  fc_text_deinit(&body);
  fc_text_deinit(&answer);
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  fc_signature_destroy(signature);
}

// ---------------------------------------------------------------------------

typedef struct row_t {
  const char *name;
  fc_dtype_t dtype;
  double (*value)(size_t);
  bool python;  // only read, in Python's form
} row_t;

static void fill(const row_t *row, set_t *set) {
  for (size_t i = 0; i < set->count; i++) {
    double value = row->value(i);
    if (set->dtype == FC_DTYPE_F32) ((float *)set->values)[i] = (float)value;
    if (set->dtype == FC_DTYPE_F64) ((double *)set->values)[i] = value;
    if (set->dtype == FC_DTYPE_I32)
      ((int32_t *)set->values)[i] = (int32_t)value;
    if (set->dtype == FC_DTYPE_I64)
      ((int64_t *)set->values)[i] = (int64_t)value;
  }
}

// Writes the text that will be read.
static void write_text(const row_t *row, set_t *set) {
  fc_sink_t *sink = &set->text.sink;
  ours_out(set);
  bool fine = true;
  if (row->python) {
    for (size_t i = 0; i < set->count && fine; i++) {
      const double wide = (double)((float *)set->values)[i];
      fine = !fc_sink_put(sink, i ? FC_STR(", ") : FC_STR("["), NULL) &&
             !fc_json_write_element(sink, FC_DTYPE_F64, &wide, false, NULL);
    }
    fine = fine && !fc_sink_put(sink, FC_STR("]"), NULL);
  } else {
    fine = !fc_sink_put(sink, fc_text_str(&set->scratch), NULL);
  }
  check(fine && !fc_sink_put(sink, fc_str_make("", 1), NULL), "memory");
  sink->cursor--;  // the NUL stays after the text, for the C library
}

static void measure_row(const row_t *row, size_t count) {
  set_t set = {.name = row->name, .dtype = row->dtype, .count = count};
  set.values = calloc(count, 8);
  set.out = calloc(count, 8);
  check(set.values && set.out, "out of memory");
  fill(row, &set);
  fc_text_init(&set.text, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&set.scratch, fc_allocator_system(), SIZE_MAX);
  write_text(row, &set);
  measure(&set, "read", (const work_t[]){ours_in, libc_in, yyjson_in}, true);
  if (!row->python) {
    measure(&set, "write", (const work_t[]){ours_out, libc_out, yyjson_out},
            false);
  }
  fc_text_deinit(&set.text);
  fc_text_deinit(&set.scratch);
  free(set.values);
  free(set.out);
}

int main(int argc, char **argv) {
  static const row_t kRows[] = {
      {"f32 0.123456", FC_DTYPE_F32, six_decimals, false},
      {"f32 gaussian", FC_DTYPE_F32, normal, false},
      {"f32 0..255", FC_DTYPE_F32, small_whole, false},
      {"f32 gaussian, Python", FC_DTYPE_F32, normal, true},
      {"f64 gaussian", FC_DTYPE_F64, normal, false},
      {"f64 0.123456", FC_DTYPE_F64, six_decimals, false},
      {"i32 0..255", FC_DTYPE_I32, small_whole, false},
      {"i64 mixed", FC_DTYPE_I64, mixed_whole, false},
  };
  size_t elements = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
  printf(
      "%zu elements, median of %d      farcall          libc            yyjson\n",
      elements, ROUNDS);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    measure_row(&kRows[i], elements);
  }
  for (int64_t width = 2; width <= 1000; width = width == 2 ? 10 : 10 * width) {
    measure_call(elements, width, false);
  }
  measure_call(elements, 1000, true);
  return 0;
}
