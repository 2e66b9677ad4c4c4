// SPDX-License-Identifier: Apache-2.0
//
// The examples of one function, and the generated call for a function that has none.
#include <stdio.h>

#include "abi/render.h"
#include "module/examples.h"

const fc_expected_call_t *fc_example_next(const fc_function_t *function,
                                          const fc_expected_call_t *after) {
  return function->module
             ? fc_examples_next(fc_module_examples(function->module),
                                function->name, after)
             : NULL;
}

static fc_status_t fail_unknown(const fc_function_t *function, fc_str_t name,
                                fc_error_t *err) {
  char list[200] = "none", shown[80], one[80];
  int size = 0;
  const fc_expected_call_t *it = NULL;
  while ((it = fc_example_next(function, it)) && size < 110) {
    fc_escape(one, sizeof one, 64, it->name);
    size += snprintf(list + size, sizeof list - (size_t)size, "%s'%s'",
                     size ? ", " : "", one);
  }
  fc_escape(shown, sizeof shown, 64, name);
  const fc_status_t status =
      fc_fail(err, FC_CODE_UNKNOWN_FIELD,
              "no example '%s' of function '%.*s': there is %s%s", shown,
              FC_STR_ARG(function->name), list, it ? " and others" : "");
  fc_error_got(err, name);
  return status;
}

fc_status_t fc_example_print(const fc_function_t *function, fc_str_t name,
                             size_t most, fc_sink_t *sink, fc_error_t *err) {
  const fc_expected_call_t *call = fc_example_next(function, NULL);
  if (!name.size && !call) {
    return fc_signature_print_example_below(function->signature, most, sink,
                                            err);
  }
  while (name.size && call && !fc_str_equal(call->name, name)) {
    call = fc_example_next(function, call);
  }
  if (!call) return fail_unknown(function, name, err);
  if (call->body.size <= most) return fc_sink_put(sink, call->body, err);
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                 "the example has %zu bytes, at most %zu fit", call->body.size,
                 most);
}

fc_status_t fc_function_print_json(const fc_function_t *function,
                                   fc_sink_t *sink, fc_error_t *err) {
  const fc_signature_t *signature = function->signature;
  const fc_str_t module = fc_module_get_name(function->module);
  const fc_str_t version = fc_module_get_version(function->module);
  if (!fc_example_next(function, NULL)) {
    return fc_signature_print_json(signature, module, version, sink, err);
  }
  fc_text_t text;
  fc_text_init(&text, signature->allocator, SIZE_MAX);
  fc_status_t status =
      fc_signature_print_json(signature, module, version, &text.sink, err);
  if (status == FC_OK) {
    const fc_str_t whole = fc_text_str(&text);
    status = fc_sink_put(sink, fc_str_make(whole.data, whole.size - 1), err);
  }
  fc_text_deinit(&text);
  FC_TRY(status);
  FC_TRY(fc_sink_put(sink, FC_STR(",\"examples\":"), err));
  FC_TRY(fc_examples_put_names(fc_module_examples(function->module),
                               function->name, sink, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}
