// SPDX-License-Identifier: Apache-2.0
//
// How a module is tried out: the calls come from its sidecar and a file of calls.
#include "helpers/folder.h"

#include <unistd.h>

#include "module/proof.h"

#define MODULE \
  FARCALL_SOURCE_DIR "/tests/corpus/iree/releases/scalars-3.0.0.vmfb"
#define SIDECAR(members) \
  "{\"farcall\":1,\"abi\":\"module\",\"functions\":[]" members "}"

// Two examples: one without results, and one with.
#define FACT                                                            \
  ",\"examples\":[{\"function\":\"fact\",\"name\":\"a\",\"args\":[1]}," \
  "{\"function\":\"fact\",\"name\":\"b\",\"args\":[3],\"results\":[6]}]"

typedef struct case_t {
  const char *name;
  const char *sidecar;  // NULL: there is none
  const char *beside;   // m.tests.jsonl
  const char *from;     // of the option; "FILE": a file with one call
  int tests;            // calls; -1: no tests
  uint32_t warm_up;
  bool goes_back;
  const char *message;  // of a refusal
} case_t;

static const case_t kCases[] = {
    {.name = "nothing", .from = "auto", .tests = -1},
    {.name = "a file", .beside = "{}\n{}\n", .from = "auto", .tests = 2},
    {.name = "it is off", .beside = "{", .from = "off", .tests = -1},
    {.name = "a file of the option", .beside = "{", .from = "FILE", .tests = 1},
    {.name = "the sidecar before the file",
     .sidecar =
         SIDECAR(",\"self_test\":[{\"args\":[1.50]},{},{}],\"warm_up\":7"),
     .beside = "{",
     .from = "auto",
     .tests = 3,
     .warm_up = 7},
    {.name = "the option before the sidecar",
     .sidecar = SIDECAR(",\"self_test\":3,\"rollback\":\"on-crash\""),
     .from = "FILE",
     .tests = 1,
     .goes_back = true},
    {.name = "no list",
     .sidecar = SIDECAR(",\"self_test\":{}"),
     .from = "auto",
     .message = "its sidecar: /self_test must be a list of calls"},
    {.name = "no call",
     .sidecar = SIDECAR(",\"self_test\":[{},{\"resuls\":[]}]"),
     .from = "auto",
     .message = "its sidecar: /self_test/1: no member 'resuls': did you "
                "mean 'results'?"},
    {.name = "examples with results",
     .sidecar = SIDECAR(FACT ",\"self_test\":[{\"args\":[1.50]},{}]"),
     .from = "auto",
     .tests = 3},
    {.name = "examples and a file",
     .sidecar = SIDECAR(FACT),
     .beside = "{}\n",
     .from = "auto",
     .tests = 2},
    {.name = "examples alone",
     .sidecar = SIDECAR(FACT),
     .from = "auto",
     .tests = 1},
    {.name = "the option before the examples",
     .sidecar = SIDECAR(FACT),
     .from = "off",
     .tests = -1},
    {.name = "no number",
     .sidecar = SIDECAR(",\"warm_up\":1.5"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "a text for a number",
     .sidecar = SIDECAR(",\"warm_up\":\"3\""),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "a list for a number",
     .sidecar = SIDECAR(",\"warm_up\":[1,2,3]"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "an object for a number",
     .sidecar = SIDECAR(",\"warm_up\":{\"a\":1}"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "a bool for a number",
     .sidecar = SIDECAR(",\"warm_up\":true"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "a negative number for a number",
     .sidecar = SIDECAR(",\"warm_up\":-1"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "an exponent for a number",
     .sidecar = SIDECAR(",\"warm_up\":1e9"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "null for a number",
     .sidecar = SIDECAR(",\"warm_up\":null"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "an empty file", .beside = "", .from = "auto", .tests = -1},
    {.name = "an empty list",
     .sidecar = SIDECAR(",\"self_test\":[]"),
     .from = "auto",
     .tests = 0},
    {.name = "a large number",
     .sidecar = SIDECAR(",\"warm_up\":1001"),
     .from = "off",
     .message = "its sidecar: 'warm_up' must be a number up to 1000"},
    {.name = "no rollback",
     .sidecar = SIDECAR(",\"rollback\":true"),
     .from = "off",
     .message = "its sidecar: 'rollback' must be \"on-crash\" or \"never\""},
    {.name = "a broken file",
     .beside = "{}\n{",
     .from = "auto",
     .message = "m.tests.jsonl: line 2: not JSON: unexpected end of data at "
                "byte 1"},
    {.name = "no file of the option",
     .from = "/nonexistent/calls",
     .message = "calls: "},
};

static void put_or_remove(const char *name, const char *text) {
  if (text) fc_test_put(name, text);
  else (void)unlink(fc_test_in_folder(name));
}

static fc_module_t *load(const case_t *row) {
  fc_module_t *module;
  fc_error_t err = {0};
  put_or_remove("m.farcall.json", row->sidecar);
  put_or_remove("m.tests.jsonl", row->beside);
  if (fc_module_load(NULL, fc_str(fc_test_in_folder("m.vmfb")), NULL,
                     fc_allocator_system(), &module, &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  return module;
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  fc_proof_t proof = {0};
  FC_TRY(fc_proof_read(context, FC_STR("auto"), allocator, &proof, err));
  fc_proof_deinit(&proof);
  return FC_OK;
}

static void reads_what_is_said(void **state) {
  (void)state;
  fc_test_copy(MODULE, "m.vmfb");
  fc_test_put("one", "{}");
  FC_TEST_EACH_ROW(const case_t, row, kCases) {
    fc_module_t *module = load(row);
    fc_proof_t proof = {0};
    fc_error_t err = {0};
    const char *from = row->from;
    if (!strcmp(from, "FILE")) from = fc_test_in_folder("one");
    const fc_status_t status = fc_proof_read(
        module, fc_str(from), fc_allocator_system(), &proof, &err);
    if (row->message) {
      assert_int_equal(err.code, FC_CODE_SELF_TEST_FAILED);
      assert_true(fc_str_starts(fc_str(err.message), fc_str(row->message)));
    } else {
      if (status != FC_OK) fail_msg("%s", err.message);
      assert_int_equal(proof.tests ? (int)proof.tests->count : -1, row->tests);
      assert_int_equal(proof.warm_up, row->warm_up);
      assert_int_equal(proof.rollback_on_crash, row->goes_back);
      if (!strcmp(row->from, "auto") && row->tests > 2) {
        assert_true(fc_str_equal(proof.tests->calls[0].body,
                                 FC_STR("{\"args\":[1.50]}")));
        assert_true(fc_test_allocation_sweep(attempt, module) > 3);
      }
    }
    fc_proof_deinit(&proof);
    fc_module_release(module);
  }
}

static void examples_are_calls_of_each_function(void **state) {
  (void)state;
  fc_module_t *module;
  fc_expectations_t *calls;
  assert_int_equal(fc_module_load(NULL, FC_STR(MODULE), NULL,
                                  fc_allocator_system(), &module, NULL),
                   FC_OK);
  assert_int_equal(
      fc_proof_examples(module, fc_allocator_system(), &calls, NULL), FC_OK);
  assert_true(calls->count > 3);
  for (size_t i = 0; i < calls->count; i++) {
    const fc_function_t *function;
    assert_int_equal(
        fc_expected_function(&calls->calls[i], module, &function, NULL), FC_OK);
    assert_true(calls->calls[i].body.size > 0);
    assert_int_equal(calls->calls[i].results.size, 0);
  }
  fc_expectations_destroy(calls);
  fc_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(reads_what_is_said),
      FC_TEST(examples_are_calls_of_each_function)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
