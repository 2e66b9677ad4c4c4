// SPDX-License-Identifier: Apache-2.0
//
// all_floats [STEP]: prints and reads all 2^32 f32 (or each STEP-th) with the functions
// that serve arrays, and 10^7 random f64, on two threads. The bits must come back; NaNs
// must print as NaN. strtof and strtod also read each 256th f32 and every f64. The fast
// way to the shortest digits must give those of Schubfach, and a row must have the
// texts of its elements. Prints how many values it saw.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/number.h"
#include "json/shortest.h"

#define THREADS 2
#define BATCH 256
#define DOUBLES 10000000

static uint64_t step = 1;
static _Atomic uint64_t seen;  // values that came back
static _Atomic uint64_t bad;

static void complain(const char *type, double value, const char *text) {
  if (atomic_fetch_add(&bad, 1) < 10) {
    printf("%s %a is printed %s\n", type, value, text);
  }
}

static bool same_float(float a, float b) {
  uint32_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y;
}

static bool same_double(double a, double b) {
  uint64_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y;
}

// True if a row has the texts of its elements, with commas between them.
static bool is_joined(const float *values, size_t count, const char *row,
                      const char *end) {
  for (size_t i = 0; i < count; i++) {
    char alone[FC_NUMBER_CHARS_MAX];
    const ptrdiff_t size =
        fc_number_print(FC_DTYPE_F32, &values[i], alone) - alone;
    if (i && *row++ != ',') return false;
    if (end - row < size || memcmp(row, alone, (size_t)size)) return false;
    row += size;
  }
  return row == end;
}

// Prints `count` finite values as one row, and reads the row back.
static void check_floats(const float *values, size_t count) {
  char text[(BATCH + 1) * FC_NUMBER_CHARS_MAX];
  float back[BATCH];
  char *end =
      fc_number_print_run(FC_DTYPE_F32, values, sizeof *values, count, text);
  if (!is_joined(values, count, text, end)) {
    complain("f32", (double)values[0], "in a row");
  }
  *end = ']';
  end[1] = '\0';
  const char *cursor = text;
  bool at_element;
  size_t got = fc_number_parse_run(FC_DTYPE_F32, text, &cursor, end + 1, back,
                                   count, &at_element);
  if (got == count && cursor == end && !at_element &&
      !memcmp(back, values, count * sizeof *values)) {
    float first = strtof(text, NULL);
    if (!same_float(first, values[0])) {
      complain("f32", (double)values[0], text);
    }
    atomic_fetch_add(&seen, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    end = fc_number_print(FC_DTYPE_F32, &values[i], text);
    *end = '\0';
    float value = strtof(text, NULL);
    fc_str_t literal = {text, (size_t)(end - text)};
    if (!same_float(value, values[i]) ||
        fc_number_parse(literal, FC_DTYPE_F32, &value, NULL) ||
        !same_float(value, values[i])) {
      complain("f32", (double)values[i], text);
    }
  }
}

static bool same_decimal(fc_shortest_t a, fc_shortest_t b) {
  for (; a.digits % 10 == 0; a.digits /= 10) a.exponent++;
  for (; b.digits % 10 == 0; b.digits /= 10) b.exponent++;
  return a.digits == b.digits && a.exponent == b.exponent;
}

// Compares the digits of a positive value with those of the fast way, if that has any.
static void check_digits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t hidden = 1u << 23, fraction = bits & (hidden - 1);
  int field = (int)(bits >> 23), exponent = field - 150;
  if (field == 0 || field >= 255 || fraction == 0) return;
  if (!same_decimal(fc_shortest_f32(fraction | hidden, exponent),
                    fc_shortest_narrow(fraction | hidden, exponent, false,
                                       !(fraction & 1)))) {
    complain("f32", (double)value, "in other digits");
  }
}

static void check_double_digits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint64_t hidden = UINT64_C(1) << 52, fraction = bits & (hidden - 1);
  int field = (int)(bits >> 52) & 0x7FF, exponent = field - 1075;
  if (field == 0 || field == 0x7FF || fraction == 0) return;
  if (!same_decimal(fc_shortest_f64(fraction | hidden, exponent),
                    fc_shortest_wide(fraction | hidden, exponent, false,
                                     !(fraction & 1)))) {
    complain("f64", value, "in other digits");
  }
}

static void check_special(float value) {
  char text[FC_NUMBER_CHARS_MAX];
  *fc_number_print(FC_DTYPE_F32, &value, text) = '\0';
  const char *wanted = isnan(value)  ? "\"NaN\""
                       : value < 0.f ? "\"-Infinity\""
                                     : "\"Infinity\"";
  if (strcmp(text, wanted) != 0) complain("f32", (double)value, text);
  else atomic_fetch_add(&seen, 1);
}

static void *walk_floats(void *part) {
  const uint64_t all = UINT64_C(1) << 32, first = (uintptr_t)part;
  float batch[BATCH];
  size_t count = 0;
  for (uint64_t i = first * step; i < all; i += THREADS * step) {
    uint32_t bits = (uint32_t)i;
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
      check_special(value);
      continue;
    }
    check_digits(value);
    batch[count++] = value;
    if (count < BATCH) continue;
    check_floats(batch, count);
    count = 0;
  }
  if (count) check_floats(batch, count);
  return NULL;
}

static void *walk_doubles(void *part) {
  uint64_t random = 88172645463325252u + (uintptr_t)part;
  for (size_t i = 0; i < DOUBLES / THREADS; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    double value, back;
    memcpy(&value, &random, sizeof value);
    if (!isfinite(value)) continue;
    check_double_digits(value);
    char text[FC_NUMBER_CHARS_MAX + 1];
    char *end = fc_number_print(FC_DTYPE_F64, &value, text);
    *end = '\0';
    fc_str_t literal = {text, (size_t)(end - text)};
    double wanted = strtod(text, NULL);
    if (fc_number_parse(literal, FC_DTYPE_F64, &back, NULL) ||
        !same_double(back, value) || !same_double(wanted, value)) {
      complain("f64", value, text);
    } else {
      atomic_fetch_add(&seen, 1);
    }
  }
  return NULL;
}

static uint64_t run(void *(*walk)(void *part)) {
  pthread_t threads[THREADS];
  atomic_store(&seen, 0);
  for (uintptr_t i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, walk, (void *)i)) abort();
  }
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return atomic_load(&seen);
}

int main(int argc, char **argv) {
  if (argc > 1) step = strtoull(argv[1], NULL, 10);
  if (step == 0) return 64;
  const uint64_t wanted = ((UINT64_C(1) << 32) + step - 1) / step;
  uint64_t floats = run(walk_floats);
  printf("%llu of %llu f32 came back\n", (unsigned long long)floats,
         (unsigned long long)wanted);
  uint64_t doubles = run(walk_doubles);
  printf("%llu random f64 came back\n", (unsigned long long)doubles);
  if (floats != wanted || doubles < DOUBLES / 10 * 9) return 1;
  return atomic_load(&bad) != 0;
}
