// SPDX-License-Identifier: Apache-2.0
//
// Reads tests from the sidecar or from a file, and adds the examples that have results.
#include "module/proof.h"

#include <stdio.h>
#include <unistd.h>

#include "abi/document.h"
#include "module/examples.h"
#include "module/files.h"
#include "module/snapshot.h"

#define SUFFIX ".tests.jsonl"

static fc_status_t fail(const char *where, const fc_error_t *why,
                        fc_error_t *err) {
  if (why->code == FC_CODE_OUT_OF_MEMORY) {
    *err = *why;
    return why->status;
  }
  char text[sizeof why->message];
  memcpy(text, why->message, sizeof text);
  return fc_fail(err, FC_CODE_SELF_TEST_FAILED, "%.80s: %.240s", where, text);
}

// ---------------------------------------------------------------------------
// The sidecar

// Reads a whole number, which may have only digits, from a value that keeps its spelling.
static bool read_count(yyjson_val *value, uint32_t most, uint32_t *out) {
  if (!yyjson_is_raw(value)) return false;
  const char *text = yyjson_get_raw(value);
  const size_t size = yyjson_get_len(value);
  uint32_t count = 0;
  for (size_t i = 0; i < size && count <= most; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    count = count * 10 + (uint32_t)(text[i] - '0');
  }
  *out = count;
  return size && count <= most;
}

static fc_status_t read_members(yyjson_val *root, bool tests,
                                fc_allocator_t allocator, fc_proof_t *proof,
                                fc_error_t *err) {
  yyjson_val *warm_up = yyjson_obj_get(root, "warm_up");
  yyjson_val *rollback = yyjson_obj_get(root, "rollback");
  yyjson_val *list = yyjson_obj_get(root, "self_test");
  if (warm_up && !read_count(warm_up, FC_WARM_UP_MAX, &proof->warm_up)) {
    return fc_fail(err, FC_CODE_SELF_TEST_FAILED,
                   "its sidecar: 'warm_up' must be a number up to %d",
                   FC_WARM_UP_MAX);
  }
  proof->rollback_on_crash = yyjson_equals_str(rollback, "on-crash");
  if (rollback && !proof->rollback_on_crash &&
      !yyjson_equals_str(rollback, "never")) {
    return fc_fail(err, FC_CODE_SELF_TEST_FAILED,
                   "its sidecar: 'rollback' must be \"on-crash\" or \"never\"");
  }
  fc_error_t why;
  if (!tests || !list ||
      fc_expectations_read(list, "/self_test", allocator, &proof->tests,
                           &why) == FC_OK) {
    return FC_OK;
  }
  return fail("its sidecar", &why, err);
}

// The sidecar was parsed before, when the module was opened. So if it cannot be parsed
// now, memory is short.
static fc_status_t read_sidecar(const fc_module_t *module, bool tests,
                                fc_allocator_t allocator, fc_proof_t *proof,
                                fc_error_t *err) {
  const int file = fc_module_get_files(module).sidecar;
  fc_snapshot_t sidecar = FC_SNAPSHOT_NONE;
  if (file < 0) return FC_OK;
  FC_TRY(fc_snapshot_make(file, FC_SIDECAR_SIZE_MAX, 0, &sidecar, err));
  const yyjson_alc alc = fc_doc_alc(&allocator);
  yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)sidecar.bytes.data,
                                     sidecar.bytes.size,
                                     YYJSON_READ_NUMBER_AS_RAW, &alc, NULL);
  fc_snapshot_close(&sidecar);
  if (!doc) return fc_fail_memory(err);
  const fc_status_t status =
      read_members(yyjson_doc_get_root(doc), tests, allocator, proof, err);
  yyjson_doc_free(doc);
  return status;
}

// ---------------------------------------------------------------------------
// A file

// Makes the path X.tests.jsonl from X.so. False: there is no such file.
static bool find_beside(fc_str_t path, char out[FC_PATH_SIZE_MAX]) {
  size_t size = path.size;
  while (size && path.data[size - 1] != '.' && path.data[size - 1] != '/') {
    size--;
  }
  if (!size || path.data[size - 1] == '/') return false;
  const int made = snprintf(out, FC_PATH_SIZE_MAX, "%.*s" SUFFIX,
                            (int)(size - 1), path.data);
  return made < FC_PATH_SIZE_MAX && !access(out, F_OK);
}

static fc_status_t read_file(const char *path, fc_allocator_t allocator,
                             fc_proof_t *proof, fc_error_t *err) {
  fc_snapshot_t file = FC_SNAPSHOT_NONE;
  fc_error_t why;
  const fc_str_t base = fc_path_file(fc_str(path));
  int opened;
  fc_status_t status = fc_snapshot_open_file(path, &opened, &why);
  if (status != FC_OK) return fail(base.data, &why, err);
  if (lseek(opened, 0, SEEK_END) == 0) {  // an empty file has no calls
    close(opened);
    return FC_OK;
  }
  status = fc_snapshot_make(opened, FC_EXPECT_SIZE_MAX, 0, &file, &why);
  close(opened);
  if (status != FC_OK) return fail(base.data, &why, err);
  status = fc_expectations_parse(file.bytes, allocator, &proof->tests, &why);
  fc_snapshot_close(&file);
  return status == FC_OK ? FC_OK : fail(base.data, &why, err);
}

// Adds the module's examples that have results to the tests. The module still owns
// their texts.
static fc_status_t add_examples(const fc_module_t *module,
                                fc_allocator_t allocator, fc_proof_t *proof,
                                fc_error_t *err) {
  const fc_expectations_t *examples = fc_module_examples(module);
  size_t more = 0;
  for (size_t i = 0; examples && i < examples->count; i++) {
    more += examples->calls[i].results.size > 0;
  }
  if (!more) return FC_OK;
  if (!proof->tests) {
    FC_TRY(fc_expectations_parse(FC_STR(""), allocator, &proof->tests, err));
  }
  fc_expectations_t *tests = proof->tests;
  fc_expected_call_t *calls =
      fc_arena_alloc_array(&tests->arena, tests->count + more, sizeof *calls);
  if (!calls) return fc_fail_memory(err);
  memcpy(calls, tests->calls, tests->count * sizeof *calls);
  tests->calls = calls;
  for (size_t i = 0; i < examples->count; i++) {
    const fc_expected_call_t *example = &examples->calls[i];
    if (example->results.size) calls[tests->count++] = *example;
  }
  return FC_OK;
}

fc_status_t fc_proof_read(const fc_module_t *module, fc_str_t from,
                          fc_allocator_t allocator, fc_proof_t *out_proof,
                          fc_error_t *err) {
  char path[FC_PATH_SIZE_MAX];
  fc_proof_t proof = {0};
  const bool any = fc_str_equal(from, FC_STR("auto"));
  bool has_file = any && find_beside(fc_module_get_path(module), path);
  if (!any && !fc_str_equal(from, FC_STR("off"))) {
    has_file = snprintf(path, sizeof path, "%.*s", FC_STR_ARG(from)) > 0;
  }
  fc_status_t status = read_sidecar(module, any, allocator, &proof, err);
  if (status == FC_OK && !proof.tests && has_file) {
    status = read_file(path, allocator, &proof, err);
  }
  if (status == FC_OK && any) {
    status = add_examples(module, allocator, &proof, err);
  }
  if (status == FC_OK) *out_proof = proof;
  else fc_proof_deinit(&proof);
  return status;
}

// ---------------------------------------------------------------------------
// Examples

static fc_status_t keep_example(const fc_function_t *function,
                                fc_expectations_t *made, fc_text_t *text) {
  fc_expected_call_t *call = &made->calls[made->count];
  fc_text_reset(text);
  FC_TRY(fc_example_print(function, FC_STR(""), FC_PROOF_EXAMPLE_MAX,
                          &text->sink, NULL));
  call->line = (uint32_t)made->count + 1;
  call->function = fc_arena_copy(&made->arena, function->name);
  call->body = fc_arena_copy(&made->arena, fc_text_str(text));
  if (!call->function.data || !call->body.data) return FC_RESOURCE_EXHAUSTED;
  made->count++;
  return FC_OK;
}

fc_status_t fc_proof_examples(const fc_module_t *module,
                              fc_allocator_t allocator,
                              fc_expectations_t **out_calls, fc_error_t *err) {
  const size_t count = fc_module_function_count(module);
  fc_expectations_t *made;
  fc_text_t text;
  FC_TRY(fc_expectations_parse(FC_STR(""), allocator, &made, err));
  made->calls = fc_arena_alloc_array(&made->arena, count ? count : 1,
                                     sizeof *made->calls);
  if (!made->calls) {
    fc_expectations_destroy(made);
    return fc_fail_memory(err);
  }
  fc_text_init(&text, allocator, FC_PROOF_EXAMPLE_MAX);
  for (size_t i = 0; i < count; i++) {
    const fc_function_t *function = fc_module_function(module, i);
    // If the example is too large, or memory is short, the function gets no call.
    if (function->plan) (void)keep_example(function, made, &text);
  }
  fc_text_deinit(&text);
  *out_calls = made;
  return FC_OK;
}

void fc_proof_deinit(fc_proof_t *proof) {
  fc_expectations_destroy(proof->tests);
  *proof = (fc_proof_t){0};
}
