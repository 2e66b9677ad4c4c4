// SPDX-License-Identifier: Apache-2.0
//
// An example is a call with a name, so expect.c reads it. Its arguments are decoded like
// those of a request. Its results are compared with what the
// module answers only when the example is tried (proof.h).
#include "module/examples.h"

#include <stdio.h>

#include "abi/document.h"
#include "abi/print.h"
#include "farcall/codec.h"
#include "json/writer.h"

#define PLACE "/examples"

// ---------------------------------------------------------------------------
// Checks against the module

// Fails because of a member of example `index`, to which `pointer` points; with "" as
// `pointer`, because of the whole example.
static fc_status_t fail(const fc_expectations_t *examples, size_t index,
                        const char *pointer, const char *why, fc_error_t *err) {
  char name[80], place[200], text[200];
  fc_escape(name, sizeof name, 64, examples->calls[index].name);
  snprintf(place, sizeof place, PLACE "/%zu%.150s", index, pointer);
  snprintf(text, sizeof text, "%.199s", why);
  const fc_status_t status =
      fc_fail(err, FC_CODE_ABI_METADATA, "its sidecar, %s: example '%s': %s",
              place, name, text);
  if (err) {
    err->has_pointer = true;
    snprintf(err->pointer, sizeof err->pointer, "%s", place);
  }
  return status;
}

// Checks the example's name, and that it names its function. In a module of one function
// it need not.
static fc_status_t check_name(const fc_expectations_t *examples, size_t index,
                              bool one_function, fc_error_t *err) {
  const fc_expected_call_t *call = &examples->calls[index];
  if (!call->name.size || call->name.size > FC_EXAMPLE_NAME_MAX) {
    return fail(examples, index, "/name", "a name of 1 to 128 bytes is missing",
                err);
  }
  for (size_t i = 0; i < index; i++) {
    if (fc_str_equal(examples->calls[i].name, call->name) &&
        (one_function ||
         fc_str_equal(examples->calls[i].function, call->function))) {
      return fail(examples, index, "/name",
                  "another example of the function has this name", err);
    }
  }
  return FC_OK;
}

// Checks that the example has a result for each result of the function and for each
// argument that the function writes.
static fc_status_t check_count(const fc_function_t *function,
                               const fc_expectations_t *examples, size_t index,
                               fc_allocator_t allocator, fc_error_t *err) {
  const fc_signature_t *signature = function->signature;
  const fc_str_t results = examples->calls[index].results;
  const yyjson_alc alc = fc_doc_alc(&allocator);
  yyjson_doc *doc =
      yyjson_read_opts((char *)(uintptr_t)results.data, results.size,
                       YYJSON_READ_NUMBER_AS_RAW, &alc, NULL);
  // The text was printed from JSON, so parsing fails only when memory is short.
  if (!doc) return fc_fail_memory(err);
  const size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
  size_t wanted = 0;
  for (const fc_param_t *at = NULL; (at = fc_result_next(signature, at));) {
    wanted++;
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    wanted += fc_role_is_answered(signature->arguments[i].role);
  }
  yyjson_doc_free(doc);
  return count == wanted
             ? FC_OK
             : fail(examples, index, "/results",
                    "the function has another number of results", err);
}

static bool is_of(const fc_expected_call_t *call, fc_str_t function) {
  return !call->function.size || fc_str_equal(call->function, function);
}

// Finds the function that an example names; NULL after an error.
static const fc_function_t *find(const fc_function_t *functions, size_t count,
                                 const fc_expectations_t *examples,
                                 size_t index, fc_error_t *err) {
  const fc_expected_call_t *call = &examples->calls[index];
  const fc_function_t *found = NULL;
  char why[120], shown[80];
  for (size_t i = 0; i < count && !found; i++) {
    if (is_of(call, functions[i].name)) found = &functions[i];
  }
  fc_escape(shown, sizeof shown, 64, call->function);
  if (!call->function.size && count != 1) {
    (void)fail(examples, index, "", "which function is not said", err);
    return NULL;
  }
  if (found && found->plan) return found;
  snprintf(
      why, sizeof why,
      found ? "function '%s' cannot be called" : "there is no function '%s'",
      shown);
  (void)fail(examples, index, "/function", why, err);
  return NULL;
}

static fc_status_t check_call(const fc_function_t *functions, size_t count,
                              const fc_expectations_t *examples, size_t index,
                              fc_frame_t *frame, fc_allocator_t allocator,
                              fc_error_t *err) {
  const fc_expected_call_t *call = &examples->calls[index];
  fc_error_t why;
  fc_error_reset(&why);
  FC_TRY(check_name(examples, index, count == 1, err));
  if (call->error.size) {
    return fail(examples, index, "/error", "an example is answered", err);
  }
  const fc_function_t *function = find(functions, count, examples, index, err);
  if (!function) return FC_INVALID_ARGUMENT;
  fc_frame_begin(frame, function->plan, NULL);
  if (fc_frame_decode(frame, call->body, &why) != FC_OK) {
    if (why.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(err);
    return fail(examples, index, why.has_pointer ? why.pointer : "",
                why.message, err);
  }
  return call->results.size
             ? check_count(function, examples, index, allocator, err)
             : FC_OK;
}

static fc_status_t check_all(const fc_function_t *functions, size_t count,
                             const fc_expectations_t *examples,
                             fc_allocator_t allocator, fc_error_t *err) {
  fc_frame_t *frame;
  if (examples->count > FC_EXAMPLES_MAX) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "its sidecar, " PLACE ": %zu examples, at most %d are read",
                   examples->count, FC_EXAMPLES_MAX);
  }
  FC_TRY(fc_frame_create(allocator, NULL, &frame, err));
  fc_status_t status = FC_OK;
  for (size_t i = 0; i < examples->count && status == FC_OK; i++) {
    status = check_call(functions, count, examples, i, frame, allocator, err);
  }
  fc_frame_destroy(frame);
  return status;
}

// ---------------------------------------------------------------------------
// The list

static fc_status_t read_list(yyjson_val *list, fc_allocator_t allocator,
                             fc_expectations_t **out_examples,
                             fc_error_t *err) {
  fc_error_t why;
  if (fc_expectations_read(list, PLACE, allocator, out_examples, &why) ==
      FC_OK) {
    return FC_OK;
  }
  if (why.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(err);
  return fc_fail(err, FC_CODE_ABI_METADATA, "its sidecar, %s", why.message);
}

fc_status_t fc_examples_read(const fc_function_t *functions, size_t count,
                             fc_str_t sidecar, fc_allocator_t allocator,
                             fc_expectations_t **out_examples,
                             fc_error_t *err) {
  static const char kWord[] = "\"examples\"";
  *out_examples = NULL;
  // Few sidecars have examples, and some sidecars are large, so the word "examples" is
  // searched first.
  if (!sidecar.size ||
      !memmem(sidecar.data, sidecar.size, kWord, sizeof kWord - 1)) {
    return FC_OK;
  }
  const yyjson_alc alc = fc_doc_alc(&allocator);
  yyjson_doc *doc =
      yyjson_read_opts((char *)(uintptr_t)sidecar.data, sidecar.size,
                       YYJSON_READ_NUMBER_AS_RAW, &alc, NULL);
  // The backend has parsed the sidecar before, so parsing fails only when memory is
  // short.
  if (!doc) return fc_fail_memory(err);
  yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(doc), "examples");
  fc_expectations_t *made = NULL;
  fc_status_t status = list ? read_list(list, allocator, &made, err) : FC_OK;
  yyjson_doc_free(doc);
  if (made) status = check_all(functions, count, made, allocator, err);
  if (status == FC_OK) *out_examples = made;
  else fc_expectations_destroy(made);
  return status;
}

const fc_expected_call_t *fc_examples_next(const fc_expectations_t *examples,
                                           fc_str_t function,
                                           const fc_expected_call_t *after) {
  if (!examples) return NULL;
  const fc_expected_call_t *at = after ? after + 1 : examples->calls;
  for (; at < examples->calls + examples->count; at++) {
    if (is_of(at, function)) return at;
  }
  return NULL;
}

fc_status_t fc_examples_put_names(const fc_expectations_t *examples,
                                  fc_str_t function, fc_sink_t *sink,
                                  fc_error_t *err) {
  const char *before = "[";
  const fc_expected_call_t *it = NULL;
  while ((it = fc_examples_next(examples, function, it))) {
    FC_TRY(fc_sink_put(sink, fc_str(before), err));
    FC_TRY(fc_json_write_string(sink, it->name, err));
    before = ",";
  }
  return fc_sink_put(sink, FC_STR("]"), err);
}
