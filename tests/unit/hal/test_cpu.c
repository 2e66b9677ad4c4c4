// SPDX-License-Identifier: Apache-2.0
//
// Processor features: what the system's own list says we have, we have; the
// feature lists of modules; the denormal switch.
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "hal/cpu.h"

// Features that this build hides, though /proc/cpuinfo may list them.
#define HIDDEN "," FARCALL_HIDE_CPU_FEATURES ","

typedef struct name_row_t {
  const char *name;  // LLVM's
  const char *proc;  // /proc/cpuinfo's
} name_row_t;

static const name_row_t names[] = {
    {"sse3", "pni"},          {"ssse3", "ssse3"},       {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},     {"avx", "avx"},           {"fma", "fma"},
    {"f16c", "f16c"},         {"avx2", "avx2"},         {"avx512f", "avx512f"},
    {"avx512bw", "avx512bw"}, {"avx512vl", "avx512vl"}, {"popcnt", "popcnt"},
    {"bmi", "bmi1"},          {"bmi2", "bmi2"},         {"movbe", "movbe"},
    {"aes", "aes"},           {"adx", "adx"},           {"sha", "sha_ni"},
    {"lzcnt", "abm"},         {"amx-tile", "amx_tile"}, {"gfni", "gfni"},
};

static void features_agree_with_the_system(void **state) {
  (void)state;
#if defined(__x86_64__)
  static char flags[1 << 14] = " ";
  FILE *file = fopen("/proc/cpuinfo", "r");
  assert_non_null(file);
  static char line[1 << 14];
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "flags", 5) != 0) continue;
    snprintf(flags, sizeof flags, "%s", line);
    break;
  }
  fclose(file);
  for (char *c = flags; *c; c++) *c = *c == '\n' ? ' ' : *c;
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  FC_TEST_EACH_ROW(const name_row_t, row, names) {
    char word[32], hidden[32];
    snprintf(word, sizeof word, " %s ", row->proc);
    snprintf(hidden, sizeof hidden, ",%s,", row->name);
    const bool has = strstr(flags, word) && !strstr(HIDDEN, hidden);
    const fc_cpu_answer_t wanted = has ? FC_CPU_YES : FC_CPU_NO;
    assert_int_equal(fc_cpu_has(&cpu, fc_str(row->name)), wanted);
  }
#else
  print_message("SKIPPED: feature names are x86-64's\n");
#endif
}

typedef struct list_row_t {
  const char *name;
  const char *features;
  const char *missing;  // NULL: no feature is missing
} list_row_t;

// What a processor without any feature lacks of each list.
static const list_row_t lists[] = {
    {"empty", "", NULL},
    {"not wanted", "-avx2,-sse4a", NULL},
    {"unknown", "+prefer-256-bit,+zu", NULL},
    {"one", "+avx2", ": avx2"},
    {"two", "+avx2,+fma", ": fma, avx2"},  // in the order of the table
    {"among others", "-avx512f,+unheard-of,+avx2,-fma", ": avx2"},
    {"odd commas", ",,+avx2,", ": avx2"},
    {"only a sign", "+", NULL},
    {"the last mention takes it away", "+avx2,-avx2", NULL},
    {"the last mention asks for it", "-avx2,+avx2", ": avx2"},
    {"a third mention", "+avx2,-avx2,+avx2", ": avx2"},
    {"asked for twice", "+avx2,+avx2", ": avx2"},
    {"of the same beginning", "+avx512vbmi,-avx512vbmi2", ": avx512vbmi"},
    {"a model's features, then what its machine has",
     "+amx-tile,+avx2,+fma,-amx-int8,-amx-tile,+avx2,-fma", ": avx2"},
};

static void missing_features_are_listed(void **state) {
  (void)state;
#if defined(__x86_64__)
  const fc_cpu_t bare = {{0}};
  FC_TEST_EACH_ROW(const list_row_t, row, lists) {
    fc_error_t err;
    fc_error_reset(&err);
    const fc_status_t status = fc_cpu_check(&bare, fc_str(row->features), &err);
    assert_int_equal(status != FC_OK, row->missing != NULL);
    if (!row->missing) continue;
    assert_int_equal(err.code, FC_CODE_CPU_FEATURES);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s; compile it with ", row->missing);
    assert_non_null(strstr(err.message, wanted));
    assert_non_null(strstr(err.message, "--iree-llvmcpu-target-cpu=host"));
  }
#else
  print_message("SKIPPED: feature names are x86-64's\n");
#endif
}

static float half_of_the_smallest(void) {
  volatile float smallest = 1.17549435e-38f;
  volatile float half = 0.5f;
  return smallest * half;
}

// However many features are missing, the message says what to do.
static void the_remedy_is_never_cut(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const fc_cpu_t bare = {{0}};
  char text[1024] = "", *end = text;
#define FC_CPU(name, bit, leaf, subleaf, reg, reg_bit, state) \
  end = stpcpy(end, "+" name ",");
#include "hal/cpu_x86_64.def"
#undef FC_CPU
  assert_true(end < text + sizeof text);
  fc_error_t err;
  fc_error_reset(&err);
  assert_int_not_equal(fc_cpu_check(&bare, fc_str(text), &err), FC_OK);
  assert_non_null(strstr(err.message, ": sse3, ssse3, "));
  assert_true(fc_str_ends(fc_str(err.message), FC_STR("=generic for any")));
#else
  print_message("SKIPPED: feature names are x86-64's\n");
#endif
}

static void denormals_flush_and_come_back(void **state) {
  (void)state;
  assert_true(half_of_the_smallest() != 0);
  const uint64_t before = fc_cpu_denormals_flush();
  const float flushed = half_of_the_smallest();
  fc_cpu_denormals_restore(before);
  assert_true(flushed == 0);
  assert_true(half_of_the_smallest() != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(features_agree_with_the_system),
      FC_TEST(missing_features_are_listed),
      FC_TEST(the_remedy_is_never_cut),
      FC_TEST(denormals_flush_and_come_back),
  };
  return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
