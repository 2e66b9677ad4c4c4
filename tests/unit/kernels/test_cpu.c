// SPDX-License-Identifier: Apache-2.0
//
// Processor features: those that the system lists are found. Also the feature lists of
// modules, and the switch for denormals.
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cpu.h"

// Features that this build ignores, though /proc/cpuinfo may list them.
#define HIDDEN "," FARCALL_HIDE_CPU_FEATURES ","

#if defined(__x86_64__)
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
}
#elif defined(__aarch64__)
// The processor's own registers. The system shows us the bits of features that it
// supports.
typedef struct field_row_t {
  const char *name;  // LLVM's
  int id;            // of registers()
  int shift;
  unsigned least;
} field_row_t;

enum { ISAR0, ISAR1, PFR0, ZFR0, REGISTER_COUNT };

static void read_registers(uint64_t out[REGISTER_COUNT]) {
  __asm__("mrs %0, ID_AA64ISAR0_EL1" : "=r"(out[ISAR0]));
  __asm__("mrs %0, ID_AA64ISAR1_EL1" : "=r"(out[ISAR1]));
  __asm__("mrs %0, ID_AA64PFR0_EL1" : "=r"(out[PFR0]));
  __asm__("mrs %0, S3_0_C0_C4_4" : "=r"(out[ZFR0]));
}

static const field_row_t names[] = {
    {"aes", ISAR0, 4, 1},      {"sha2", ISAR0, 12, 1},
    {"crc", ISAR0, 16, 1},     {"lse", ISAR0, 20, 2},
    {"rdm", ISAR0, 28, 1},     {"sha3", ISAR0, 32, 1},
    {"dotprod", ISAR0, 44, 1}, {"fp16fml", ISAR0, 48, 1},
    {"flagm", ISAR0, 52, 1},   {"altnzcv", ISAR0, 52, 2},
    {"rand", ISAR0, 60, 1},    {"ccpp", ISAR1, 0, 1},
    {"jsconv", ISAR1, 12, 1},  {"complxnum", ISAR1, 16, 1},
    {"rcpc", ISAR1, 20, 1},    {"fptoint", ISAR1, 32, 1},
    {"sb", ISAR1, 36, 1},      {"bf16", ISAR1, 44, 1},
    {"i8mm", ISAR1, 52, 1},    {"sve", PFR0, 32, 1},
    {"sve2", ZFR0, 0, 1},      {"f32mm", ZFR0, 52, 1},
    {"f64mm", ZFR0, 56, 1},
};

static void features_agree_with_the_system(void **state) {
  (void)state;
  uint64_t registers[REGISTER_COUNT];
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  read_registers(registers);
  // Every AArch64 processor that runs Debian has these two features.
  assert_int_equal(fc_cpu_has(&cpu, FC_STR("fp-armv8")), FC_CPU_YES);
  assert_int_equal(fc_cpu_has(&cpu, FC_STR("neon")), FC_CPU_YES);
  FC_TEST_EACH_ROW(const field_row_t, row, names) {
    char hidden[32];
    snprintf(hidden, sizeof hidden, ",%s,", row->name);
    const bool has = (registers[row->id] >> row->shift & 15) >= row->least &&
                     !strstr(HIDDEN, hidden);
    const fc_cpu_answer_t wanted = has ? FC_CPU_YES : FC_CPU_NO;
    assert_int_equal(fc_cpu_has(&cpu, fc_str(row->name)), wanted);
  }
}
#endif

// Four features: B comes before A in the table, and the name of C2 begins with C's.
#if defined(__x86_64__)
#define A "avx2"
#define B "fma"
#define C "avx512vbmi"
#define C2 "avx512vbmi2"
#define TABLE "kernels/cpu_x86_64.def"
#define TABLE_BEGINS ": sse3, ssse3, "
#else
#define A "dotprod"
#define B "fullfp16"
#define C "sve2"
#define C2 "sve2p1"
#define TABLE "kernels/cpu_aarch64.def"
#define TABLE_BEGINS ": fp-armv8, lse, "
#endif

typedef struct list_row_t {
  const char *name;
  const char *features;
  const char *missing;  // NULL: no feature is missing
} list_row_t;

// Which features of each list are missing on a processor that has none.
static const list_row_t lists[] = {
    {"empty", "", NULL},
    {"not wanted", "-" A ",-" C, NULL},
    {"unknown", "+prefer-256-bit,+zu", NULL},
    {"one", "+" A, ": " A},
    {"two", "+" A ",+" B, ": " B ", " A},  // in the order of the table
    {"among others", "-" C ",+unheard-of,+" A ",-" B, ": " A},
    {"odd commas", ",,+" A ",", ": " A},
    {"only a sign", "+", NULL},
    {"the last mention takes it away", "+" A ",-" A, NULL},
    {"the last mention asks for it", "-" A ",+" A, ": " A},
    {"a third mention", "+" A ",-" A ",+" A, ": " A},
    {"asked for twice", "+" A ",+" A, ": " A},
    {"of the same beginning", "+" C ",-" C2, ": " C},
    {"a model's features, then what its machine has",
     "+" C ",+" A ",+" B ",-" C2 ",-" C ",+" A ",-" B, ": " A},
};

static void missing_features_are_listed(void **state) {
  (void)state;
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
}

static float half_of_the_smallest(void) {
  volatile float smallest = 1.17549435e-38f;
  volatile float half = 0.5f;
  return smallest * half;
}

// However many features are missing, the message still says what to do.
static void the_remedy_is_never_cut(void **state) {
  (void)state;
  static const fc_cpu_t bare = {{0}};
  char text[1024] = "", *end = text;
#define FC_CPU(name, ...) end = stpcpy(end, "+" name ",");
#include TABLE
#undef FC_CPU
  assert_true(end < text + sizeof text);
  fc_error_t err;
  fc_error_reset(&err);
  assert_int_not_equal(fc_cpu_check(&bare, fc_str(text), &err), FC_OK);
  assert_non_null(strstr(err.message, TABLE_BEGINS));
  assert_true(fc_str_ends(fc_str(err.message), FC_STR("=generic for any")));
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
