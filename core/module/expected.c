// SPDX-License-Identifier: Apache-2.0
//
// One call with its expected answer: finds its function, and checks the answer.
#include <stdio.h>

#include "module/expect.h"

fc_status_t fc_expected_function(const fc_expected_call_t *call,
                                 const fc_module_t *module,
                                 const fc_function_t **out_function,
                                 fc_error_t *err) {
  const fc_function_t *function = NULL;
  if (call->function.size) {
    function = fc_module_find(module, call->function);
  } else if (fc_module_function_count(module) == 1) {
    function = fc_module_function(module, 0);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, call->function);
  if (!function) {
    return fc_fail(
        err, FC_CODE_FUNCTION_NOT_FOUND,
        shown[0] ? "there is no function '%s'" : "which function is not said%s",
        shown);
  }
  if (!function->plan) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "function '%s' cannot be called", shown);
  }
  *out_function = function;
  return FC_OK;
}

// Prints which call it is: "line 3 ('f')" or "example 'a seven' ('f')".
static void print_name(const fc_expected_call_t *call, char out[180]) {
  char shown[80], name[80];
  fc_escape(shown, sizeof shown, 64, call->function);
  fc_escape(name, sizeof name, 64, call->name);
  const int size = call->name.size ? snprintf(out, 180, "example '%s'", name)
                                   : snprintf(out, 180, "line %u", call->line);
  if (shown[0]) snprintf(out + size, 180 - (size_t)size, " ('%s')", shown);
}

fc_status_t fc_expected_fail(const fc_expected_call_t *call,
                             const fc_error_t *error, fc_error_t *err) {
  char name[180], why[200];
  print_name(call, name);
  snprintf(why, sizeof why, "%.199s", error->message);
  const char *code = fc_code_info(error->code)->text;
  const fc_status_t status =
      fc_fail(err, FC_CODE_SELF_TEST_FAILED, "%s: %s: %s", name, code, why);
  if (call->error.size) {
    fc_error_expected(err, "%.*s", FC_STR_ARG(call->error));
  }
  fc_error_got(err, fc_str(code));
  return status;
}

static fc_status_t fail_difference(const fc_expected_call_t *call,
                                   const fc_comparison_t *found,
                                   fc_error_t *err) {
  char name[180];
  print_name(call, name);
  const fc_status_t status =
      fc_fail(err, FC_CODE_SELF_TEST_FAILED, "%s, %.100s: expected %s, got %s",
              name, found->pointer, found->expected, found->got);
  if (err) {
    err->has_pointer = true;
    memcpy(err->pointer, found->pointer, sizeof found->pointer);
  }
  fc_error_expected(err, "%s", found->expected);
  fc_error_got(err, fc_str(found->got));
  return status;
}

fc_status_t fc_expected_check(const fc_expected_call_t *call,
                              const fc_signature_t *signature, fc_str_t answer,
                              const fc_error_t *error, fc_allocator_t allocator,
                              fc_error_t *err) {
  char name[180];
  fc_comparison_t found;
  if (error) {
    const char *code = fc_code_info(error->code)->text;
    if (fc_str_equal(call->error, fc_str(code))) return FC_OK;
    return fc_expected_fail(call, error, err);
  }
  if (call->error.size) {
    print_name(call, name);
    const fc_status_t status = fc_fail(
        err, FC_CODE_SELF_TEST_FAILED,
        "%s: expected %.64s, and it did not fail", name, call->error.data);
    fc_error_expected(err, "%.*s", FC_STR_ARG(call->error));
    fc_error_got(err, FC_STR("results"));
    return status;
  }
  if (!call->results.size) return FC_OK;
  fc_error_t why;
  if (fc_compare_results(signature, call->results, answer, &call->tolerance,
                         allocator, &found, &why) != FC_OK) {
    if (why.code != FC_CODE_OUT_OF_MEMORY) {
      return fc_expected_fail(call, &why, err);
    }
    return fc_fail_memory(err);
  }
  return found.different ? fail_difference(call, &found, err) : FC_OK;
}
