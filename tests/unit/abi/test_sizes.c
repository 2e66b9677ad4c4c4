// SPDX-License-Identifier: Apache-2.0
//
// Functions that are declared to be sizes of one function: what callers see of them,
// and which declarations are refused.
#include "abi/sizes.h"

#include <stdio.h>

#include "abi/print.h"
#include "helpers/test.h"
#include "helpers/types.h"

#define FUNCTIONS_MAX 5

// A function's name, a space, and its types.
typedef const char *function_t;

static fc_signature_t *read(function_t function, fc_allocator_t allocator) {
  const char *types = strchr(function, ' ') + 1;
  fc_builder_t *builder = fc_builder_create(allocator);
  fc_signature_t *first = fc_test_build(builder, types), *named = NULL;
  if (strchr(types, 'S')) {  // a dim of a name with more than a letter
    fc_builder_replace_dim(builder, fc_builder_dim_name(builder, FC_STR("S")),
                           fc_builder_dim_name(builder, FC_STR("size")));
  }
  fc_builder_name(builder,
                  fc_str_make(function, (size_t)(types - 1 - function)));
  fc_builder_attr(builder, FC_STR("cc"), FC_STR("ciface"));
  fc_builder_attr(builder, FC_STR("symbol"), fc_str(function));
  // The delay in the module's own metadata must not count as one of its sidecar.
  fc_builder_attr(builder, FC_STR(FC_BATCH_DELAY_ATTR), FC_STR("20000000"));
  assert_int_equal(fc_signature_build(builder, &named, NULL), FC_OK);
  fc_signature_destroy(first);
  fc_builder_destroy(builder);
  return named;
}

typedef struct module_t {
  fc_signature_t *signatures[FUNCTIONS_MAX];
  size_t count;
  char json[1024];
} module_t;

static void module_init(module_t *module, const function_t *functions,
                        const char *sizes) {
  *module = (module_t){.count = 0};
  while (module->count < FUNCTIONS_MAX && functions[module->count]) {
    module->signatures[module->count] =
        read(functions[module->count], fc_allocator_system());
    module->count++;
  }
  snprintf(module->json, sizeof module->json,
           "{\"farcall\":1,\"abi\":\"module\",\"functions\":[]%s%s}",
           *sizes ? ",\"sizes\":" : "", sizes);
}

static void module_deinit(module_t *module) {
  for (size_t i = 0; i < module->count; i++) {
    fc_signature_destroy(module->signatures[i]);
  }
}

static fc_status_t create(const module_t *module, fc_allocator_t allocator,
                          fc_sizes_t **out_sizes, fc_error_t *err) {
  fc_error_reset(err);
  return fc_sizes_create(fc_str(module->json), module->signatures,
                         module->count, allocator, out_sizes, err);
}

// Prints each listed function on a line, followed by the indices of the module's
// functions that it stands for.
static void print(const fc_sizes_t *sizes, fc_text_t *text) {
  for (size_t i = 0; i < sizes->count; i++) {
    const fc_sized_t *listed = &sizes->listed[i];
    const uint32_t rows = listed->signature->size_count;
    assert_int_equal(
        fc_signature_print_text(listed->signature, &text->sink, NULL), FC_OK);
    for (uint32_t k = 0; k < (rows ? rows : 1); k++) {
      char shown[24];
      snprintf(shown, sizeof shown, " #%zu", listed->entries[k].index);
      assert_int_equal(fc_sink_put(&text->sink, fc_str(shown), NULL), FC_OK);
    }
    assert_int_equal(fc_sink_put(&text->sink, FC_STR("\n"), NULL), FC_OK);
  }
}

#define F "\"functions\":"
#define AB "[{\"name\":\"f\"," F "[\"a\",\"b\"]}]"

static void callers_see_one_function(void **state) {
  (void)state;
  static const struct {
    const char *name;
    function_t functions[FUNCTIONS_MAX];
    const char *sizes;
    const char *listing;
  } rows[] = {
      {"one dim",
       {"a x: tensor<1x4xf32> -> tensor<1x2xf32>",
        "b x: tensor<8x4xf32> -> tensor<8x2xf32>",
        "c x: tensor<32x4xf32> -> tensor<32x2xf32>"},
       "[{\"name\":\"f\"," F "[\"a\",\"b\",\"c\"]}]",
       "f(x: tensor<[size]x4xf32>) -> tensor<[size]x2xf32> where [size] is 1, "
       "8 or 32 #0 #1 #2\n"},
      {"it has a name",
       {"a tensor<1xf32> ->", "b tensor<8xf32> ->"},
       "[{\"name\":\"f\"," F
       "[\"a\",\"b\"],\"args\":[{\"name\":\"x\",\"dims\":[\"batch\"]}]}]",
       "f(x: tensor<[batch]xf32>) -> () where [batch] is 1 or 8 #0 #1\n"},
      {"the order is that of the list",
       {"a tensor<1xf32> ->", "b tensor<8xf32> ->"},
       "[{\"name\":\"f\"," F "[\"b\",\"a\"]}]",
       "f(tensor<[size]xf32>) -> () where [size] is 8 or 1 #1 #0\n"},
      {"others stay where they are",
       {"z i8 ->", "a tensor<1xf32> ->", "y i8 ->", "b tensor<8xf32> ->",
        "x i8 ->"},
       AB,
       "z(i8) -> () #0\nf(tensor<[size]xf32>) -> () where [size] is 1 or 8 #1 #3\n"
       "y(i8) -> () #2\nx(i8) -> () #4\n"},
      {"two dims, each in its own way",
       {"a tensor<1x16xf32> -> tensor<16xf32>",
        "b tensor<8x16xf32> -> tensor<16xf32>",
        "c tensor<8x32xf32> -> tensor<32xf32>"},
       "[{\"name\":\"f\"," F "[\"a\",\"b\",\"c\"]}]",
       "f(tensor<[size]x[size1]xf32>) -> tensor<[size1]xf32> where "
       "[size]x[size1] is 1x16, 8x16 or 8x32 #0 #1 #2\n"},
      {"two dims in one way",
       {"a tensor<1x1xf32>, tensor<1xi8> ->",
        "b tensor<8x8xf32>, tensor<8xi8> ->"},
       AB,
       "f(tensor<[size]x[size]xf32>, tensor<[size]xi8>) -> () where [size] is "
       "1 or 8 #0 #1\n"},
      {"a result that no argument tells",
       {"a tensor<1xf32> -> tensor<2xf32>",
        "b tensor<8xf32> -> tensor<16xf32>"},
       AB,
       "f(tensor<[size]xf32>) -> tensor<?xf32> where [size] is 1 or 8 #0 #1\n"},
      {"dims that were dynamic stay so",
       {"a tensor<1x?xNxf32> -> tensor<Nxf32>",
        "b tensor<8x?xNxf32> -> tensor<Nxf32>"},
       AB,
       "f(tensor<[size]x?x[N]xf32>) -> tensor<[N]xf32> where [size] is 1 or 8 "
       "#0 #1\n"},
      {"the name is taken",
       {"a tensor<1xSxf32> ->", "b tensor<8xSxf32> ->"},
       AB,
       "f(tensor<[size1]x[size]xf32>) -> () where [size1] is 1 or 8 #0 #1\n"},
      {"storage of the same size",
       {"a tensor<1xf32>, out y: tensor<1xf32> ->",
        "b tensor<8xf32>, out y: tensor<8xf32> ->"},
       AB,
       "f(tensor<[size]xf32>, out y: tensor<[size]xf32>) -> () where [size] is "
       "1 or 8 #0 #1\n"},
      {"no element at all",
       {"a tensor<0xf32> ->", "b tensor<8xf32> ->"},
       AB,
       "f(tensor<[size]xf32>) -> () where [size] is 0 or 8 #0 #1\n"},
      {"the name of a member",
       {"a tensor<1xf32> ->", "b tensor<8xf32> ->"},
       "[{\"name\":\"b\"," F "[\"a\",\"b\"]}]",
       "b(tensor<[size]xf32>) -> () where [size] is 1 or 8 #0 #1\n"},
      {"two of them",
       {"a tensor<1xf32> ->", "c i8, tensor<1xi8> ->", "b tensor<8xf32> ->",
        "d i8, tensor<2xi8> ->"},
       "[{\"name\":\"g\"," F "[\"c\",\"d\"]},{\"name\":\"f\"," F
       "[\"a\",\"b\"]}]",
       "f(tensor<[size]xf32>) -> () where [size] is 1 or 8 #0 #2\n"
       "g(i8, tensor<[size]xi8>) -> () where [size] is 1 or 2 #1 #3\n"},
      {"by their number of rows",
       {"a tensor<8x4xf32> -> tensor<8xf32>",
        "b tensor<1x4xf32> -> tensor<1xf32>"},
       "[{\"name\":\"f\",\"batch\":{\"8\":\"a\",\"1\":\"b\"}}]",
       "f(tensor<[size]x4xf32>) -> tensor<[size]xf32> where [size] is 1 or 8 "
       "#1 #0\na(tensor<8x4xf32>) -> tensor<8xf32> #0\n"
       "b(tensor<1x4xf32>) -> tensor<1xf32> #1\n"},
      {"by their names",
       {"z i8 ->", "f_bs10 tensor<10xf32> -> tensor<10xf32>",
        "f_bs1 tensor<1xf32> -> tensor<1xf32>", "g_bs1 i8 ->"},
       "",
       "z(i8) -> () #0\nf(tensor<[batch]xf32>) -> tensor<[batch]xf32> where "
       "[batch] is 1 or 10 #2 #1\nf_bs10(tensor<10xf32>) -> tensor<10xf32> #1\n"
       "f_bs1(tensor<1xf32>) -> tensor<1xf32> #2\ng_bs1(i8) -> () #3\n"},
      {"by their names, with more in the sidecar",
       {"f_bs2 tensor<2xf32> -> tensor<2xf32>",
        "f_bs1 tensor<1xf32> -> tensor<1xf32>"},
       "[{\"name\":\"f\",\"args\":[{\"name\":\"x\",\"dims\":[\"n\"]}]}]",
       "f(x: tensor<[n]xf32>) -> tensor<[n]xf32> where [n] is 1 or 2 #1 #0\n"
       "f_bs2(tensor<2xf32>) -> tensor<2xf32> #0\n"
       "f_bs1(tensor<1xf32>) -> tensor<1xf32> #1\n"},
      {"leaves of a tree",
       {"a root {x: tensor<1xf32>@0} ->", "b root {x: tensor<8xf32>@0} ->"},
       AB,
       "f(x: tensor<[size]xf32>) -> () where [size] is 1 or 8 #0 #1\n"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    module_t module;
    fc_sizes_t *sizes;
    fc_error_t err;
    fc_text_t text;
    module_init(&module, row->functions, row->sizes);
    if (create(&module, fc_allocator_system(), &sizes, &err) != FC_OK) {
      fail_msg("%s", err.message);
    }
    fc_text_init(&text, fc_allocator_system(), 4096);
    print(sizes, &text);
    char shown[2048];
    snprintf(shown, sizeof shown, "%.*s", FC_STR_ARG(fc_text_str(&text)));
    assert_string_equal(shown, row->listing);
    fc_text_deinit(&text);
    fc_sizes_destroy(sizes);
    module_deinit(&module);
  }
}

// Names alone do not join functions if more than the number of rows differs, or if a
// cache may be written to.
static void names_alone_are_not_enough(void **state) {
  (void)state;
  static const function_t kRows[][FUNCTIONS_MAX] = {
      {"f_bs1 tensor<1xf32> -> tensor<1xf32>"},
      {"f_bs1 tensor<1xf32> -> tensor<1xf32>",
       "f_bs02 tensor<2xf32> -> tensor<2xf32>"},
      {"f_bs1 tensor<1xf32> -> tensor<1xf32>",
       "f_bs3 tensor<2xf32> -> tensor<2xf32>"},
      {"f_bs1 tensor<1xf32> -> tensor<1xf32>",
       "f_bs2 tensor<2xf64> -> tensor<2xf64>"},
      {"f_bs1 tensor<1xf32>, tensor<9xf32> -> tensor<1xf32>",
       "f_bs2 tensor<2xf32>, tensor<9xf32> -> tensor<2xf32>"},
      {"f i8 ->", "f_bs1 tensor<1xf32> -> tensor<1xf32>",
       "f_bs2 tensor<2xf32> -> tensor<2xf32>"},
      {"_bs1 tensor<1xf32> -> tensor<1xf32>",
       "_bs2 tensor<2xf32> -> tensor<2xf32>"},
      {"f_bs1000000000 tensor<1xf32> -> tensor<1xf32>",
       "f_bs2 tensor<2xf32> -> tensor<2xf32>"},
      {"f_bs1 tensor<1xf32> ->", "f_bs2 tensor<2xf32> ->"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    module_t module;
    fc_sizes_t *sizes = (fc_sizes_t *)(void *)&module;
    fc_error_t err;
    module_init(&module, kRows[i], "");
    assert_int_equal(create(&module, fc_allocator_system(), &sizes, &err),
                     FC_OK);
    if (sizes) fail_msg("row %zu is grouped", i);
    module_deinit(&module);
  }
}

static void most_modules_have_none(void **state) {
  (void)state;
  static const function_t functions[FUNCTIONS_MAX] = {"sizes tensor<1xf32> ->"};
  static const char *const kSizes[] = {"", "[]", "[],\"x\":\"sizes\""};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSizes); i++) {
    module_t module;
    fc_sizes_t *sizes = (fc_sizes_t *)(void *)&module;
    fc_error_t err;
    module_init(&module, functions, kSizes[i]);
    assert_int_equal(create(&module, fc_allocator_system(), &sizes, &err),
                     FC_OK);
    assert_null(sizes);
    module_deinit(&module);
  }
  fc_sizes_destroy(NULL);
}

#define SAYS(place, text) "its sidecar, /sizes/" place ": " text
#define ONE "a tensor<1xf32> ->"
#define EIGHT "b tensor<8xf32> ->"

#define NO_DELAYS                                                \
  "there is none here: sizes are chosen by what they cost, and " \
  "calls as they came"
#define WANTED "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"exact\"}]"
#define CANNOT                                                              \
  ": functions are batched that differ in the first dim of tensors alone, " \
  "which each result has"

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    function_t functions[FUNCTIONS_MAX];
    const char *sizes;
    const char *says;
  } rows[] = {
      {"no list", {ONE, EIGHT}, "{}", "its sidecar, /sizes: must be an array"},
      {"no name", {ONE, EIGHT}, "[{}]", SAYS("0/name", "is missing")},
      {"no functions",
       {ONE, EIGHT},
       "[{\"name\":\"f\"}]",
       SAYS("0/functions", "is missing")},
      {"a word",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "\"a\"}]",
       SAYS("0/functions", "must be an array")},
      {"one function",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\"]}]",
       SAYS("0/functions", "1 functions, at least 2 are needed")},
      {"a number",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",2]}]",
       SAYS("0/functions", "must be a list of names")},
      {"a slip",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"c\"]}]",
       SAYS("0/functions", "the module has no function 'c'")},
      {"twice",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\",\"a\"]}]",
       SAYS("0/functions", "function 'a' comes twice")},
      {"in two lists",
       {ONE, EIGHT, "c tensor<9xf32> ->"},
       "[{\"name\":\"g\"," F "[\"c\",\"a\"]},{\"name\":\"f\"," F
       "[\"a\",\"b\"]}]",
       SAYS("0/functions", "function 'a' comes twice")},
      {"one name twice",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"]},{\"name\":\"f\"}]",
       SAYS("1/name", "function 0 has the same name")},
      {"the name of another",
       {ONE, EIGHT, "f i8 ->"},
       AB,
       SAYS("0/name", "the module has another function 'f'")},
      {"another number of arguments",
       {ONE, "b tensor<8xf32>, i8 ->"},
       AB,
       SAYS("0/functions",
            "'b' takes or returns another number of values than 'a', or is "
            "called in another way")},
      {"another type",
       {ONE, "b tensor<8xf64> ->"},
       AB,
       SAYS("0/functions", "argument 0 is tensor<8xf64> in 'b', tensor<1xf32> "
                           "in the first: only dims may differ")},
      {"another type of result",
       {ONE "i8", EIGHT "i16"},
       AB,
       SAYS("0/functions",
            "result 0 is i16 in 'b', i8 in the first: only dims may differ")},
      {"another rank",
       {ONE, "b tensor<8x1xf32> ->"},
       AB,
       SAYS("0/functions", "argument 0 is tensor<8x1xf32> in 'b', "
                           "tensor<1xf32> in the first: only dims may differ")},
      {"another role",
       {"a tensor<1xf32>, y: tensor<2xf32> ->",
        "b tensor<8xf32>, inout y: tensor<2xf32> ->"},
       AB,
       SAYS("0/functions", "argument 1 has another role in 'b' than in 'a'")},
      {"the same sizes",
       {ONE, EIGHT, "c tensor<8xf32> ->"},
       "[{\"name\":\"f\"," F "[\"b\",\"a\",\"c\"]}]",
       SAYS("0/functions", "'b' and 'c' take the same sizes")},
      {"nothing differs",
       {"a i8 ->", "b i8 ->"},
       AB,
       SAYS("0/functions", "'a' and 'b' take the same sizes")},
      {"results alone differ",
       {ONE " tensor<1xf32>", "b tensor<1xf32> -> tensor<2xf32>"},
       AB,
       SAYS("0/functions", "'a' and 'b' take the same sizes")},
      {"a dynamic dim",
       {ONE, "b tensor<?xf32> ->"},
       AB,
       SAYS("0/functions", "dim 0 of argument 0 is ? in 'b', the first has 1")},
      {"dims that agree otherwise",
       {"a tensor<1xNxMxf32>, tensor<Nxf32> ->",
        "b tensor<8xNxMxf32>, tensor<Mxf32> ->"},
       AB,
       SAYS("0/functions", "dim 0 of argument 1 is ? in 'b', the first has ?")},
      {"in a list",
       {"a [tensor<1xf32>] ->", "b [tensor<8xf32>] ->"},
       AB,
       SAYS("0/functions", "dim 0 of argument 0 is 8 in 'b', and it may not "
                           "differ there: the first has 1")},
      {"a vector",
       {"a vector<4xf32> ->", "b vector<8xf32> ->"},
       AB,
       SAYS("0/functions", "dim 0 of argument 0 is 8 in 'b', and it may not "
                           "differ there: the first has 4")},
      {"storage of a size nobody says",
       {"a tensor<1xf32>, out y: tensor<1xf32> ->",
        "b tensor<8xf32>, out y: tensor<9xf32> ->"},
       AB,
       SAYS("0/functions",
            "dim 0 of argument 1 is 1 in 'a', and no argument the caller sends "
            "differs so: the next has 9")},
      {"a size for all",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"args\":[{\"dims\":[1]}]}]",
       SAYS("0/functions",
            "dim 0 of argument 0 is 8 in 'b', and the list gives it the size "
            "1")},
      {"one name for two",
       {"a tensor<1x16xf32> ->", "b tensor<8x16xf32> ->",
        "c tensor<8x32xf32> ->"},
       "[{\"name\":\"f\"," F
       "[\"a\",\"b\",\"c\"],\"args\":[{\"dims\":[\"n\",\"n\"]}]}]",
       SAYS("0/functions", "dim 1 of argument 0 is 16 in 'a', and another dim "
                           "of its name 1")},
      {"one name for a result",
       {"a tensor<1xf32> -> tensor<2xf32>",
        "b tensor<8xf32> -> tensor<16xf32>"},
       "[{\"name\":\"f\"," F
       "[\"a\",\"b\"],\"args\":[{\"dims\":[\"n\"]}],\"results\":[{\"dims\":"
       "[\"n\"]}]}]",
       SAYS("0/functions", "dim 0 of result 0 is 2 in 'a', and another dim of "
                           "its name 1")},
      {"names for another function",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"args\":[{},{}]}]",
       SAYS("0/args", "2 entries, the function has 1")},
      {"batched by nothing known",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"mean\"}]",
       SAYS("0/batch", "'mean' is none of: exact, approximate, off")},
      {"another dim than the first",
       {"a tensor<2x1xf32> -> tensor<1xf32>",
        "b tensor<2x8xf32> -> tensor<8xf32>"},
       WANTED,
       SAYS("0/batch", "argument 0 differs otherwise" CANNOT)},
      {"two dims",
       {"a tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>",
        "b tensor<8xf32>, tensor<9xf32> -> tensor<8xf32>"},
       WANTED,
       SAYS("0/batch", "argument 1 differs otherwise" CANNOT)},
      {"what is written to",
       {"a inout x: tensor<1xf32> ->", "b inout x: tensor<8xf32> ->"},
       WANTED,
       SAYS("0/batch", "argument 0 differs otherwise" CANNOT)},
      {"storage",
       {"a tensor<1xf32>, out y: tensor<1xf32> ->",
        "b tensor<8xf32>, out y: tensor<8xf32> ->"},
       WANTED,
       SAYS("0/batch", "argument 1 differs otherwise" CANNOT)},
      {"storage of one size",
       {"a tensor<1xf32>, out y: tensor<1xf32> -> tensor<1xf32>",
        "b tensor<8xf32>, out y: tensor<1xf32> -> tensor<8xf32>"},
       WANTED,
       SAYS("0/batch", "argument 1 is written to" CANNOT)},
      {"a result that is larger",
       {"a tensor<1xf32> -> tensor<2xf32>",
        "b tensor<8xf32> -> tensor<16xf32>"},
       WANTED,
       SAYS("0/batch", "result 0 differs otherwise" CANNOT)},
      {"a result without rows",
       {"a tensor<1xf32> -> tensor<1xf32>, f32",
        "b tensor<8xf32> -> tensor<8xf32>, f32"},
       WANTED,
       SAYS("0/batch", "result 1 has no rows" CANNOT)},
      {"a list of results",
       {"a tensor<1xf32> -> [tensor<1xf32>]",
        "b tensor<8xf32> -> [tensor<8xf32>]"},
       WANTED,
       SAYS("0/batch", "result 0 differs otherwise" CANNOT)},
      {"a list beside them",
       {"a tensor<1xf32>, [i8] -> tensor<1xf32>",
        "b tensor<8xf32>, [i8] -> tensor<8xf32>"},
       WANTED,
       SAYS("0/batch", "argument 1 is a list" CANNOT)},
      {"another number of rows than is said",
       {"a tensor<1xf32> -> tensor<1xf32>", "b tensor<8xf32> -> tensor<8xf32>"},
       "[{\"name\":\"f\",\"batch\":{\"1\":\"a\",\"4\":\"b\"}}]",
       SAYS("0/batch", "'b' has 8 rows, it is said to have 4")},
      {"no number of rows",
       {ONE, EIGHT},
       "[{\"name\":\"f\",\"batch\":{\"one\":\"a\",\"8\":\"b\"}}]",
       SAYS("0/batch", "it has functions by their number of rows, as in "
                       "{\"1\":\"f_bs1\",\"4\":\"f_bs4\"}")},
      {"a delay",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],"
       "\"max_queue_delay_microseconds\":1000001}]",
       SAYS("0/max_queue_delay_microseconds", "must be 0 to 1000000")},
      {"a delay that is no number",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],"
       "\"max_queue_delay_microseconds\":\"1\"}]",
       SAYS("0/max_queue_delay_microseconds", "must be 0 to 1000000")},
      {"sizes to wait for",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],"
       "\"max_queue_delay_microseconds\":0,\"preferred_batch_size\":[8]}]",
       SAYS("0/preferred_batch_size", NO_DELAYS)},
      {"no tolerance",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"approximate\"}]",
       SAYS("0/tolerance", "is missing: how far rows may differ, as in "
                           "{\"abs\":1e-6,\"rel\":1e-5}")},
      {"a negative tolerance",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"approximate\","
       "\"tolerance\":{\"abs\":-1}}]",
       SAYS("0/tolerance", "'abs' is -1, it must be at least 0")},
      {"a word for a tolerance",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"approximate\","
       "\"tolerance\":{\"abs\":0,\"rel\":\"1\"}}]",
       SAYS("0/tolerance", "'rel' must be a number")},
      {"a slip in a tolerance",
       {ONE, EIGHT},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"batch\":\"approximate\","
       "\"tolerance\":{\"abz\":1}}]",
       SAYS("0/tolerance", "'abz' is none of: abs, rel")},
      {"batched by a list",
       {ONE, EIGHT},
       "[{\"name\":\"f\",\"batch\":[\"a\",\"b\"]}]",
       SAYS("0/batch", "must be exact, approximate, off, or functions by their "
                       "number of rows")},
      {"the name of a member that stays listed",
       {"a tensor<1xf32> -> tensor<1xf32>", "b tensor<8xf32> -> tensor<8xf32>"},
       "[{\"name\":\"b\",\"batch\":{\"1\":\"a\",\"8\":\"b\"}}]",
       SAYS("0/name", "the module has another function 'b'")},
      {"two arguments of one name",
       {"a x: tensor<1xf32>, y: i8 ->", "b x: tensor<8xf32>, y: i8 ->"},
       "[{\"name\":\"f\"," F "[\"a\",\"b\"],\"args\":[{\"name\":\"y\"},{}]}]",
       SAYS("0", "arguments 0 and 1 are both named 'y'")},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    module_t module;
    fc_sizes_t *sizes;
    fc_error_t err;
    module_init(&module, row->functions, row->sizes);
    assert_int_not_equal(create(&module, fc_allocator_system(), &sizes, &err),
                         FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_true(err.has_pointer);
    assert_null(sizes);
    assert_string_equal(err.message, row->says);
    module_deinit(&module);
  }
}

static void a_function_that_cannot_be_called_is_refused(void **state) {
  (void)state;
  static const function_t functions[FUNCTIONS_MAX] = {ONE, EIGHT};
  module_t module;
  fc_sizes_t *sizes;
  fc_error_t err;
  module_init(&module, functions, AB);
  module.signatures[1]->callable = false;
  assert_int_not_equal(create(&module, fc_allocator_system(), &sizes, &err),
                       FC_OK);
  assert_string_equal(err.message,
                      SAYS("0/functions", "function 'b' is not callable: "));
  module_deinit(&module);
}

static void too_many_ways_to_differ_are_refused(void **state) {
  (void)state;
  char functions[17][200];
  fc_signature_t *signatures[17];
  char names[200] = "";
  char json[400];
  // In function i, dim i is 2 and all others are 1.
  for (int i = 0; i < 17; i++) {
    int used = snprintf(functions[i], sizeof functions[i], "f%d tensor<", i);
    for (int k = 0; k < 17; k++) {
      used += snprintf(functions[i] + used, sizeof functions[i] - (size_t)used,
                       "%dx", 1 + (i == k));
    }
    snprintf(functions[i] + used, sizeof functions[i] - (size_t)used, "i8> ->");
    signatures[i] = read(functions[i], fc_allocator_system());
    const size_t size = strlen(names);
    snprintf(names + size, sizeof names - size, "%s\"f%d\"", i ? "," : "", i);
  }
  snprintf(json, sizeof json,
           "{\"farcall\":1,\"sizes\":[{\"name\":\"f\"," F "[%s]}]}", names);
  fc_sizes_t *sizes;
  fc_error_t err;
  assert_int_not_equal(fc_sizes_create(fc_str(json), signatures, 17,
                                       fc_allocator_system(), &sizes, &err),
                       FC_OK);
  assert_string_equal(
      err.message,
      SAYS("0/functions", "more than 16 dims differ, each in its own way"));
  for (int i = 0; i < 17; i++) fc_signature_destroy(signatures[i]);
}

// The published function is only as safe as the least safe of its functions, and has a
// property only if all of them have it.
static void the_least_of_all_holds(void **state) {
  (void)state;
  static const function_t functions[FUNCTIONS_MAX] = {ONE, EIGHT};
  module_t module;
  fc_sizes_t *sizes;
  fc_error_t err;
  module_init(&module, functions, AB);
  for (int i = 0; i < 2; i++) {
    module.signatures[i]->memory_known = true;
    module.signatures[i]->memory_safe = i == 0;
    module.signatures[i]->trusts_dims = i == 1;
    module.signatures[i]->alignment = i ? 16 : 1;
  }
  assert_int_equal(create(&module, fc_allocator_system(), &sizes, &err), FC_OK);
  const fc_signature_t *f = sizes->listed[0].signature;
  assert_true(f->memory_known && !f->memory_safe && f->trusts_dims);
  assert_int_equal(f->alignment, 16);
  assert_int_equal(f->attr_count, 1);
  assert_true(
      fc_str_equal(fc_signature_attr(f, FC_STR("cc")), FC_STR("ciface")));
  fc_sizes_destroy(sizes);
  module_deinit(&module);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  fc_sizes_t *sizes;
  FC_TRY(create(context, allocator, &sizes, err));
  fc_sizes_destroy(sizes);
  return FC_OK;
}

static void sizes_survive_every_failing_allocation(void **state) {
  (void)state;
  static const function_t functions[FUNCTIONS_MAX] = {
      "h_bs1 tensor<1xf32> -> tensor<1xf32>",
      "a tensor<1xf32> -> tensor<1xf32>", "b tensor<8xf32> -> tensor<8xf32>",
      "h_bs2 tensor<2xf32> -> tensor<2xf32>", "d tensor<2xi8> ->"};
  module_t module;
  module_init(&module, functions,
              "[{\"name\":\"f\"," F
              "[\"a\",\"b\"],\"args\":[{\"name\":\"x\",\"dims\":[\"n\"]}]},"
              "{\"name\":\"h\",\"batch\":\"approximate\","
              "\"tolerance\":{\"abs\":1e-6,\"rel\":1}}]");
  assert_true(fc_test_allocation_sweep(attempt, &module) > 20);
  module_deinit(&module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(callers_see_one_function),
      FC_TEST(names_alone_are_not_enough),
      FC_TEST(most_modules_have_none),
      FC_TEST(what_does_not_fit_is_refused),
      FC_TEST(a_function_that_cannot_be_called_is_refused),
      FC_TEST(too_many_ways_to_differ_are_refused),
      FC_TEST(the_least_of_all_holds),
      FC_TEST(sizes_survive_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
