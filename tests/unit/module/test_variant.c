// SPDX-License-Identifier: Apache-2.0
//
// Which variant of a module is chosen for a processor, and which lists are refused.
#include "module/variant.h"

#include <stdio.h>
#include <unistd.h>

#include "farcall/module.h"
#include "helpers/folder.h"

#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/"

// A processor with these features, named as in fc_cpu_check.
static fc_cpu_t processor(const char *features) {
  fc_cpu_t cpu = {{0}};
  for (uint64_t bit = 1; bit; bit <<= 1) {
    fc_cpu_t one = {{0}};
    one.words[FC_CPU_WORDS - 1] = bit;
    for (fc_str_t rest = fc_str(features); rest.size;) {
      if (fc_cpu_has(&one, fc_str_take(&rest, ',')) != FC_CPU_YES) continue;
      cpu.words[FC_CPU_WORDS - 1] |= bit;
    }
  }
  return cpu;
}

static void the_first_that_the_processor_runs_is_chosen(void **state) {
  (void)state;
#define V2 "cx16,sahf,popcnt,sse3,ssse3,sse4.1,sse4.2"
#define V3 V2 ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define LEVELS                                            \
  "{\"file\":\"v3.so\",\"cpu\":[\"x86-64-v3\"]},"         \
  "{\"file\":\"v2.so\",\"cpu\":[\"x86-64-v2\",\"aes\"]}," \
  "{\"file\":\"v1.so\",\"cpu\":[\"sse3\"]}"
  static const struct {
    const char *name;
    const char *features;
    const char *variants;
    const char *chosen;  // "": the file itself
  } rows[] = {
#if defined(__x86_64__)
    {"none is listed", V3, "", ""},
    {"the best", V3 ",aes", LEVELS, "v3.so"},
    {"a feature is missing of the level",
     V2 ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt", LEVELS, "v1.so"},
    {"a feature beside the level", V2 ",aes", LEVELS, "v2.so"},
    {"one feature", "sse3", LEVELS, "v1.so"},
    {"no feature", "", LEVELS, ""},
    {"no condition", "", "{\"file\":\"any.so\"}", "any.so"},
    {"the lowest level", "", "{\"file\":\"a.so\",\"cpu\":[\"x86-64\"]}",
     "a.so"},
    {"an empty condition", "", "{\"file\":\"a.so\",\"cpu\":[]}", "a.so"},
    {"the file itself", V3,
     "{\"file\":\"m.so\",\"cpu\":[\"avx2\"]},{\"file\":\"a.so\"}", ""},
    {"another than the file itself", V2,
     "{\"file\":\"m.so\",\"cpu\":[\"avx2\"]},{\"file\":\"a.so\"}", "a.so"},
    {"one for another architecture", "sse3",
     "{\"file\":\"s.so\",\"cpu\":[\"sve2\"]}," LEVELS, "v1.so"},
#else
#define DOT "{\"file\":\"d.so\",\"cpu\":[\"dotprod\"]}"
    {"none is listed", "dotprod", "", ""},
    {"one feature", "dotprod", DOT, "d.so"},
    {"no feature", "", DOT, ""},
    {"the best", "dotprod,i8mm",
     "{\"file\":\"i.so\",\"cpu\":[\"i8mm\",\"dotprod\"]}," DOT, "i.so"},
    {"for another architecture", "dotprod",
     "{\"file\":\"v3.so\",\"cpu\":[\"x86-64-v3\"]}," DOT, "d.so"},
    {"any of another architecture", "dotprod",
     "{\"file\":\"v1.so\",\"cpu\":[\"x86-64\"]}," DOT, "d.so"},
#endif
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char json[512];
    fc_variants_t variants;
    fc_error_t err;
    const fc_cpu_t cpu = processor(row->features);
    snprintf(json, sizeof json, "{\"farcall\":1,\"variants\":[%s]}",
             row->variants);
    fc_error_reset(&err);
    assert_int_equal(fc_variants_parse(fc_str(json), FC_STR("a/b/m.so"), &cpu,
                                       fc_allocator_system(), &variants, &err),
                     FC_OK);
    assert_string_equal(variants.chosen == FC_VARIANTS_MAX
                            ? ""
                            : variants.files[variants.chosen],
                        row->chosen);
  }
}

static void a_wrong_list_is_refused_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *variants;
    const char *says;
  } rows[] = {
      {"no list", "{}", "its sidecar, /variants: must be an array"},
      {"a name", "[\"a.so\"]", "its sidecar, /variants/0: must be an object"},
      {"no file", "[{\"file\":\"a\"},{\"cpu\":[]}]",
       "its sidecar, /variants/1/file: is missing"},
      {"a slip before the last file",
       "[{\"file\":\"a\",\"cpu\":1},{\"file\":1}]",
       "its sidecar, /variants/1/file: must be a string"},
      {"a number", "[{\"file\":1}]",
       "its sidecar, /variants/0/file: must be a string"},
      {"elsewhere", "[{\"file\":\"../a.so\"}]",
       "its sidecar, /variants/0/file: must be the name of a file"},
      {"in a folder", "[{\"file\":\"a/b.so\"}]",
       "its sidecar, /variants/0/file: must be the name of a file"},
      {"hidden", "[{\"file\":\".\"}]",
       "its sidecar, /variants/0/file: must be the name of a file"},
      {"nothing", "[{\"file\":\"\"}]",
       "its sidecar, /variants/0/file: must be the name of a file"},
      {"a zero", "[{\"file\":\"a\\u0000\"}]",
       "its sidecar, /variants/0/file: must be the name of a file"},
      {"one word", "[{\"file\":\"a\",\"cpu\":\"avx2\"}]",
       "its sidecar, /variants/0/cpu: must be an array"},
      {"numbers", "[{\"file\":\"a\",\"cpu\":[2]}]",
       "its sidecar, /variants/0/cpu: must be a list of names"},
      {"too many", "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]",
       "its sidecar, /variants: 17 elements, at most 16 are allowed"},
      {"a slip", "[{\"file\":\"a\",\"cpu\":[\"avx22\"]}]",
       "its sidecar, /variants/0/cpu: 'avx22' is no feature that is known"},
      {"a slip of one that is not chosen",
       "[{\"file\":\"a\"},{\"file\":\"b\",\"cpu\":[\"x86-64-v5\"]}]",
       "its sidecar, /variants/1/cpu: 'x86-64-v5' is no feature that is known"},
  };
  const fc_cpu_t cpu = {{0}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char json[512];
    fc_variants_t variants;
    fc_error_t err;
    fc_error_reset(&err);
    snprintf(json, sizeof json, "{\"farcall\":1,\"variants\":%s}",
             row->variants);
    assert_int_not_equal(
        fc_variants_parse(fc_str(json), FC_STR("m.so"), &cpu,
                          fc_allocator_system(), &variants, &err),
        FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_true(err.has_pointer);
    if (!strstr(err.message, row->says)) fail_msg("%s", err.message);
  }
}

static fc_status_t load(const char *name, fc_allocator_t allocator,
                        fc_module_t **out, fc_error_t *err) {
  fc_error_reset(err);
  return fc_module_load(NULL, fc_str(fc_test_in_folder(name)), NULL, allocator,
                        out, err);
}

static void the_module_is_that_of_the_variant(void **state) {
  (void)state;
  fc_module_t *module;
  fc_error_t err;
  fc_test_copy(CORPUS "vm/endless.vmfb", "m.vmfb");
  fc_test_copy(CORPUS "vm/ops.vmfb", "other.vmfb");
  assert_int_equal(load("other.vmfb", fc_allocator_system(), &module, &err),
                   FC_OK);
  char sha256[65];
  memcpy(sha256, fc_module_get_sha256(module), sizeof sha256);
  fc_module_release(module);

  fc_test_put("m.farcall.json", "{\"farcall\":1,\"functions\":[],"
                                "\"variants\":[{\"file\":\"other.vmfb\"}]}");
  assert_int_equal(load("m.vmfb", fc_allocator_system(), &module, &err), FC_OK);
  assert_string_equal(fc_module_get_sha256(module), sha256);
  assert_true(fc_str_equal(fc_module_get_name(module), FC_STR("m")));
  fc_module_release(module);

  // The variant's own sidecar is not used.
  fc_test_put("other.farcall.json",
              "{\"farcall\":1,\"functions\":[{\"name\":\"nothing\"}]}");
  assert_int_not_equal(load("m.vmfb", fc_allocator_system(), &module, &err),
                       FC_OK);
  assert_non_null(strstr(err.message, "the module has no function 'nothing'"));

  assert_int_equal(unlink(fc_test_in_folder("other.vmfb")), 0);
  assert_int_not_equal(load("m.vmfb", fc_allocator_system(), &module, &err),
                       FC_OK);
  assert_non_null(strstr(err.message, "m.vmfb: its variant 'other.vmfb': "));
}

static fc_status_t load_once(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  (void)context;
  fc_module_t *module;
  FC_TRY(load("m.vmfb", allocator, &module, err));
  fc_module_release(module);
  return FC_OK;
}

static void loading_a_variant_survives_any_failed_allocation(void **state) {
  (void)state;
  fc_test_copy(CORPUS "vm/endless.vmfb", "m.vmfb");
  fc_test_copy(CORPUS "vm/endless.vmfb", "other.vmfb");
  fc_test_put("m.farcall.json", "{\"farcall\":1,\"functions\":[],"
                                "\"variants\":[{\"file\":\"other.vmfb\"}]}");
  assert_true(fc_test_allocation_sweep(load_once, NULL) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_first_that_the_processor_runs_is_chosen),
      FC_TEST(a_wrong_list_is_refused_with_its_place),
      FC_TEST_IN_FOLDER(the_module_is_that_of_the_variant),
      FC_TEST_IN_FOLDER(loading_a_variant_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
