// SPDX-License-Identifier: Apache-2.0
//
// The examples in a sidecar: how they are read, and what is refused.
#include "module/examples.h"

#include <stdio.h>

#include "helpers/folder.h"

#define MODULE \
  FARCALL_SOURCE_DIR "/tests/corpus/iree/releases/scalars-3.0.0.vmfb"
#define BEGIN "{\"farcall\":1,\"abi\":\"module\",\"functions\":[],\"examples\":"
#define TWO                                                                         \
  BEGIN                                                                             \
  "[{\"function\":\"fact\",\"name\":\"the first\",\"args\":[5],\"results\":[120]}," \
  "{\"function\":\"hyp\",\"name\":\"a \\\"b\\\"/c\",\"args\":[3.50,4e0]},"          \
  "{\"function\":\"fact\",\"name\":\"large\",\"args\":[9007199254740993]}]}"

static fc_status_t load(const char *sidecar, fc_allocator_t allocator,
                        fc_module_t **out_module, fc_error_t *err) {
  fc_test_put("m.farcall.json", sidecar);
  fc_error_reset(err);
  return fc_module_load(NULL, fc_str(fc_test_in_folder("m.vmfb")), NULL,
                        allocator, out_module, err);
}

static fc_module_t *load_two(void) {
  fc_module_t *module;
  fc_error_t err;
  fc_test_copy(MODULE, "m.vmfb");
  if (load(TWO, fc_allocator_system(), &module, &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  return module;
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *list, *message, *pointer;
  } rows[] = {
      {"no list", "{}", "/examples must be a list of calls", NULL},
      {"no call", "[1]", "/examples/0: must be an object", NULL},
      {"a wrong member", "[{\"arg\":[1]}]",
       "/examples/0: no member 'arg': did you mean 'args'?", NULL},
      {"no name", "[{\"function\":\"fact\",\"args\":[1]}]",
       "/examples/0/name: example '': a name of 1 to 128 bytes is missing",
       "/examples/0/name"},
      {"a name twice",
       "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1]},"
       "{\"function\":\"hyp\",\"name\":\"a\",\"args\":[1,2]},"
       "{\"function\":\"fact\",\"name\":\"a\",\"args\":[2]}]",
       "/examples/2/name: example 'a': another example of the function has "
       "this name",
       "/examples/2/name"},
      {"no function", "[{\"name\":\"a\",\"args\":[1]}]",
       "/examples/0: example 'a': which function is not said", "/examples/0"},
      {"an unknown function", "[{\"function\":\"f\",\"name\":\"a\"}]",
       "/examples/0/function: example 'a': there is no function 'f'",
       "/examples/0/function"},
      {"an argument of another type",
       "[{\"function\":\"hyp\",\"name\":\"a\",\"args\":[1,\"x\"]}]",
       "/examples/0/args/1: example 'a': ", "/examples/0/args/1"},
      {"an argument too few", "[{\"function\":\"hyp\",\"name\":\"a\"}]",
       "/examples/0/args: example 'a': ", "/examples/0/args"},
      {"an argument too many",
       "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1,2]}]",
       "/examples/0/args/1: example 'a': ", "/examples/0/args/1"},
      {"an unknown name of an argument",
       "[{\"function\":\"pair\",\"name\":\"a\",\"kwargs\":{\"a\":1,\"c\":2}}]",
       "/examples/0/kwargs/c: example 'a': ", "/examples/0/kwargs/c"},
      {"a result too many",
       "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1],"
       "\"results\":[1,2]}]",
       "/examples/0/results: example 'a': the function has another number of "
       "results",
       "/examples/0/results"},
      {"an error",
       "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1],"
       "\"error\":\"call_failed\"}]",
       "/examples/0/error: example 'a': an example is answered",
       "/examples/0/error"},
      {"an empty error",
       "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1],\"error\":\"\"}]",
       "/examples/0: 'error' must not be empty", NULL},
  };
  fc_test_copy(MODULE, "m.vmfb");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_module_t *module;
    fc_error_t err;
    char text[1024], wanted[256];
    snprintf(text, sizeof text, BEGIN "%s}", row->list);
    snprintf(wanted, sizeof wanted, "m.vmfb: its sidecar, %s", row->message);
    assert_int_not_equal(load(text, fc_allocator_system(), &module, &err),
                         FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    if (!fc_str_starts(fc_str(err.message), fc_str(wanted))) {
      fail_msg("%s: %s", row->name, err.message);
    }
    if (row->pointer) assert_string_equal(err.pointer, row->pointer);
  }
}

// An example of a module's only function may leave out the function's name. It still
// belongs to that function, so its own name must be unique there.
static void the_only_function_has_each_name_once(void **state) {
  (void)state;
  static const char *const kSecond[] = {"b", "a"};
  fc_test_copy(FARCALL_SOURCE_DIR "/examples/iree/matmul.vmfb", "m.vmfb");
  for (int twice = 0; twice < 2; twice++) {
    fc_module_t *module;
    fc_error_t err;
    char text[512];
    snprintf(text, sizeof text,
             BEGIN
             "[{\"function\":\"matmul\",\"name\":\"a\",\"args\":[[[1]],[[1]]]},"
             "{\"name\":\"%s\",\"args\":[[[1]],[[1]]]}]}",
             kSecond[twice]);
    const fc_status_t status = load(text, fc_allocator_system(), &module, &err);
    if ((status == FC_OK) == twice) fail_msg("%s", err.message);
    if (twice) assert_string_equal(err.pointer, "/examples/1/name");
    else fc_module_release(module);
  }
}

static void there_is_a_limit(void **state) {
  (void)state;
  fc_module_t *module;
  fc_error_t err;
  fc_text_t text;
  fc_test_copy(MODULE, "m.vmfb");
  for (int count = FC_EXAMPLES_MAX; count <= FC_EXAMPLES_MAX + 1; count++) {
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(fc_sink_put(&text.sink, FC_STR(BEGIN "["), NULL), FC_OK);
    for (int i = 0; i < count; i++) {
      char one[100];
      snprintf(one, sizeof one,
               "%s{\"function\":\"fact\",\"name\":\"%d\",\"args\":[1]}",
               i ? "," : "", i);
      assert_int_equal(fc_sink_put(&text.sink, fc_str(one), NULL), FC_OK);
    }
    assert_int_equal(fc_sink_put(&text.sink, fc_str_make("]}", 3), NULL),
                     FC_OK);
    const bool fits = count <= FC_EXAMPLES_MAX;
    assert_int_equal(load(fc_text_str(&text).data, fc_allocator_system(),
                          &module, &err) == FC_OK,
                     fits);
    fc_text_deinit(&text);
    if (fits) fc_module_release(module);
  }
  assert_string_equal(err.message,
                      "m.vmfb: its sidecar, /examples: 65 examples, at most 64 "
                      "are read");
}

// Numbers are returned as they were written.
static void an_example_is_found_by_name(void **state) {
  (void)state;
  static const struct {
    const char *name, *function, *example;
    size_t most;
    const char *text;  // NULL: `message`
    const char *message;
  } rows[] = {
      {"the first", "fact", "", 100, "{\"args\":[5]}", NULL},
      {"the last", "fact", "large", 100, "{\"args\":[9007199254740993]}", NULL},
      {"any name", "hyp", "a \"b\"/c", 100, "{\"args\":[3.50,4e0]}", NULL},
      {"none", "divide", "", 100, "{\"kwargs\":{\"input0\":0,\"input1\":0}}",
       NULL},
      {"of another function", "fact", "a \"b\"/c", 100, NULL,
       "no example 'a \\\"b\\\"/c' of function 'fact': there is 'the first', "
       "'large'"},
      {"of none", "divide", "x", 100, NULL,
       "no example 'x' of function 'divide': there is none"},
      {"it just fits", "fact", "", 12, "{\"args\":[5]}", NULL},
      {"too large", "fact", "", 11, NULL,
       "the example has 12 bytes, at most 11 fit"},
  };
  fc_module_t *module = load_two();
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_text_t text;
    fc_error_t err;
    fc_error_reset(&err);
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    const fc_function_t *function =
        fc_module_find(module, fc_str(row->function));
    const fc_status_t status = fc_example_print(function, fc_str(row->example),
                                                row->most, &text.sink, &err);
    assert_int_equal(status == FC_OK, row->text != NULL);
    if (row->message) assert_string_equal(err.message, row->message);
    if (row->text) {
      assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->text)));
    }
    fc_text_deinit(&text);
  }
  fc_module_release(module);
}

static void names_stand_in_the_document(void **state) {
  (void)state;
  static const char *const ends[][2] = {
      {"fact", "\"memory_safe\":true,\"examples\":[\"the first\",\"large\"]}"},
      {"hyp", "\"memory_safe\":true,\"examples\":[\"a \\\"b\\\"/c\"]}"},
      {"divide", "\"memory_safe\":true}"}};
  fc_module_t *module = load_two();
  for (size_t i = 0; i < FC_ARRAY_COUNT(ends); i++) {
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(
        fc_function_print_json(fc_module_find(module, fc_str(ends[i][0])),
                               &text.sink, NULL),
        FC_OK);
    assert_true(fc_str_ends(fc_text_str(&text), fc_str(ends[i][1])));
    fc_text_deinit(&text);
  }
  fc_module_release(module);
}

// With other examples the document is another one, so a client that has the old one
// must get the new one.
static void a_digest_knows_the_examples(void **state) {
  (void)state;
  static const char *const kTexts[] = {
      BEGIN "[]}",
      BEGIN "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[5]}]}",
      BEGIN "[{\"function\":\"fact\",\"name\":\"a\",\"args\":[6]}]}",
      BEGIN "[{\"function\":\"fact\",\"name\":\"b\",\"args\":[6]}]}"};
  char digests[FC_ARRAY_COUNT(kTexts)][2][FC_DIGEST_SIZE];
  fc_test_copy(MODULE, "m.vmfb");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTexts); i++) {
    fc_module_t *module;
    fc_error_t err;
    assert_int_equal(load(kTexts[i], fc_allocator_system(), &module, &err),
                     FC_OK);
    for (int k = 0; k < 2; k++) {
      const fc_function_t *function =
          fc_module_find(module, fc_str(k ? "divide" : "fact"));
      memcpy(digests[i][k], fc_function_get_digest(function).data,
             FC_DIGEST_SIZE);
    }
    fc_module_release(module);
    for (size_t j = 0; j < i; j++) {
      assert_memory_not_equal(digests[i][0], digests[j][0], FC_DIGEST_SIZE);
      assert_memory_equal(digests[i][1], digests[j][1], FC_DIGEST_SIZE);
    }
  }
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  fc_expectations_t *examples;
  FC_TRY(fc_examples_read(fc_module_function(context, 0),
                          fc_module_function_count(context), FC_STR(TWO),
                          allocator, &examples, err));
  fc_expectations_destroy(examples);
  return FC_OK;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  fc_module_t *module = load_two();
  assert_true(fc_test_allocation_sweep(attempt, module) > 5);
  fc_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(what_does_not_fit_is_refused),
      FC_TEST_IN_FOLDER(the_only_function_has_each_name_once),
      FC_TEST_IN_FOLDER(there_is_a_limit),
      FC_TEST_IN_FOLDER(an_example_is_found_by_name),
      FC_TEST_IN_FOLDER(names_stand_in_the_document),
      FC_TEST_IN_FOLDER(a_digest_knows_the_examples),
      FC_TEST_IN_FOLDER(every_failing_allocation_is_survived)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
