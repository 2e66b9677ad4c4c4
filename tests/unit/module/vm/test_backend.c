// SPDX-License-Identifier: Apache-2.0
//
// The vm backend from outside: what it lists, and calls from JSON to JSON.
#include "module/vm/backend.h"

#include <unistd.h>

#include "farcall/module.h"
#include "kernels/cpu.h"
#include "module/vm/files.h"
#include "helpers/types.h"

typedef struct opened_t {
  fc_module_t *loaded;
  void *module;  // its handle
  const fc_module_info_t *info;
  void *instance;
  fc_frame_t *frame;
} opened_t;

// Options for the modules that are opened from now on.
static const char *parameters = "";
static const char *vm_state = "auto";

static const fc_backend_t *const kinds[] = {&fc_backend_vm, NULL};

// NULL: the file cannot be loaded.
static fc_module_t *load(const char *path, bool allow_native, fc_error_t *err) {
  const fc_setting_t settings[] = {
      {FC_STR("vm.parameters"), fc_str(parameters)},
      {FC_STR("vm.state"), fc_str(vm_state)}};
  const fc_module_options_t options = {
      .forbid_native = !allow_native,
      .settings = settings,
      .setting_count = FC_ARRAY_COUNT(settings)};
  fc_module_t *module = NULL;
  return fc_module_load(kinds, fc_str(path), &options, fc_allocator_system(),
                        &module, err)
             ? NULL
             : module;
}

static opened_t open_module(const char *path, bool instance) {
  fc_error_t err = {0};
  opened_t opened = {.loaded = load(path, true, &err)};
  if (!opened.loaded) fail_msg("%s: %s", path, err.message);
  opened.module = fc_module_get_handle(opened.loaded);
  opened.info = fc_module_get_info(opened.loaded);
  fc_limits_t limits = fc_limits_default();
  assert_int_equal(
      fc_frame_create(fc_allocator_system(), &limits, &opened.frame, &err),
      FC_OK);
  if (instance &&
      fc_backend_vm.instance_create(opened.module, fc_allocator_system(),
                                    &opened.instance, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  return opened;
}

static void close_module(opened_t *opened) {
  fc_frame_destroy(opened->frame);
  if (opened->instance) fc_backend_vm.instance_destroy(opened->instance);
  fc_module_release(opened->loaded);
}

static const fc_signature_t *find(const opened_t *opened, const char *name,
                                  size_t *out_index) {
  for (size_t i = 0; i < opened->info->count; i++) {
    const fc_signature_t *signature = opened->info->signatures[i];
    if (fc_str_equal(fc_signature_text(signature, signature->name),
                     fc_str(name))) {
      *out_index = i;
      return signature;
    }
  }
  fail_msg("no function %s", name);
  return NULL;
}

// ---------------------------------------------------------------------------

typedef struct call_row_t {
  const char *name;
  const char *function;
  const char *body;
  const char *answer;  // or the start of the error's message
} call_row_t;

static const call_row_t calls[] = {
    {"i64", "fact", "[10]", "{\"results\":[3628800]}"},
    {"wrapped i64", "fact", "[21]", "{\"results\":[-4249290049419214848]}"},
    {"f32", "hyp", "[3,4]", "{\"results\":[5.0]}"},
    {"a dict made of a list", "pair", "{\"kwargs\":{\"a\":3,\"b\":2.5}}",
     "{\"results\":[{\"a\":3,\"b\":2.5}]}"},
    {"lists both ways", "swap", "{\"kwargs\":{\"x\":{\"p\":1.5,\"q\":3}}}",
     "{\"results\":[[3,1.5]]}"},
    {"stateful", "add_total", "[5]", "{\"results\":[5]}"},
    {"stateful, again", "add_total", "[7]", "{\"results\":[12]}"},
    {"division", "divide", "[7,-2]", "{\"results\":[-3]}"},
    {"division by zero", "divide", "[7,0]", "integer division by zero"},
    {"division after that", "divide", "[9,2]", "{\"results\":[4]}"},
};

static void expect_call(const char *path, opened_t *opened,
                        const call_row_t *row) {
  fc_error_t err = {0};
  size_t index = 0;
  const fc_signature_t *signature = find(opened, row->function, &index);
  fc_plan_t *plan = NULL;
  fc_status_t status =
      fc_plan_create(signature, fc_allocator_system(), &plan, &err);
  if (status) fail_msg("%s %s: %s", path, row->function, err.message);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  fc_frame_begin(opened->frame, plan, NULL);
  status = fc_frame_decode(opened->frame, fc_str(row->body), &err);
  if (status == FC_OK) {
    status = fc_frame_invoke(opened->frame, &fc_backend_vm, opened->instance,
                             index, NULL, 0, &err);
  }
  if (status == FC_OK) {
    status = fc_frame_encode(opened->frame, &text.sink, &err);
  }
  fc_frame_end(opened->frame);
  fc_str_t got = status ? fc_str(err.message) : fc_text_str(&text);
  fc_str_t wanted = fc_str(row->answer);
  if (!fc_str_starts(got, wanted) || (!status && got.size != wanted.size)) {
    fail_msg("%s: wanted %s, got %.*s", path, row->answer, FC_STR_ARG(got));
  }
  fc_text_deinit(&text);
  fc_plan_destroy(plan);
}

static void call_scalars(const char *path, const uint8_t *data, size_t size,
                         void *context) {
  (void)data;
  (void)size;
  size_t *count = context;
  if (!strstr(path, "/scalars-")) return;
  opened_t opened = open_module(path, true);
  assert_true(opened.info->serial);
  FC_TEST_EACH_ROW(const call_row_t, row, calls) {
    expect_call(path, &opened, row);
  }
  close_module(&opened);
  ++*count;
}

static void calls_answer_in_every_release(void **state) {
  (void)state;
  size_t count = 0;
  each_module(CORPUS "/releases", call_scalars, &count);
  assert_int_equal(count, 15);
}

// ---------------------------------------------------------------------------
// Execution models other than the default one

static const call_row_t inline_rows[] = {
    {"static", "mul4", "[[1,2,3,4],[2,2,2,2]]",
     "{\"results\":[[2.0,4.0,6.0,8.0]]}"},
    {"dynamic", "matmul", "[[[1,2,3],[4,5,6]],[[1,0],[0,1],[1,1]]]",
     "{\"results\":[[[4.0,5.0],[10.0,11.0]]]}"},
    {"another shape", "matmul", "[[[2]],[[3,4,5]]]",
     "{\"results\":[[[6.0,8.0,10.0]]]}"},
    {"no elements", "matmul", "[{\"shape\":[0,2],\"data\":[]},[[1],[1]]]",
     "{\"results\":[[]]}"},
    {"a global", "next", "[[1,5]]", "{\"results\":[[1,5]]}"},
    {"a global, again", "next", "[[1,-2]]", "{\"results\":[[2,3]]}"},
    {"the argument", "same", "[[1,-2,3]]", "{\"results\":[[1,-2,3]]}"},
    {"a constant", "table", "[[1,5,6,0]]", "{\"results\":[[2.5,7.5,9.5,4.5]]}"},
    {"the global after that", "next", "[[0,0]]", "{\"results\":[[2,3]]}"},
};

static const call_row_t async_rows[] = {
    {"fences only", "mul4", "[[1,2,3,4],[2,2,2,2]]",
     "{\"results\":[[2.0,4.0,6.0,8.0]]}"},
    {"both forms", "twice", "[[1,-2]]", "{\"results\":[[2,-4]]}"},
    {"$async alone", "thrice$async", "[[1,-2]]", "{\"results\":[[3,-6]]}"},
};

static void call_rows(const char *model, const call_row_t *rows, size_t count,
                      bool serial) {
  static const char *const backends[] = {"llvm-cpu", "vmvx"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(backends); i++) {
    char name[64], path[512];
    snprintf(name, sizeof name, "%s/%s-%s.vmfb", model, model, backends[i]);
    corpus_path(name, path);
    opened_t opened = open_module(path, true);
    assert_int_equal(opened.info->serial, serial);
    for (size_t row = 0; row < count; row++) {
      fc_test_row(rows[row].name);
      expect_call(path, &opened, &rows[row]);
    }
    fc_test_row(NULL);
    close_module(&opened);
  }
}

static void modules_without_a_device_answer(void **state) {
  (void)state;
  call_rows("inline", inline_rows, FC_ARRAY_COUNT(inline_rows), true);
}

static void functions_with_fences_answer(void **state) {
  (void)state;
  call_rows("async", async_rows, FC_ARRAY_COUNT(async_rows), false);
}

// ---------------------------------------------------------------------------
// Functions whose caller provides memory for results

static const call_row_t made_rows[] = {
    {"storage between arguments", "add", "[[1,2,3,4],[5,5,5,5]]",
     "{\"results\":[[6.0,7.0,8.0,9.0]]}"},
    {"a view of storage", "second", "[[1,2,3]]",
     "{\"results\":[[2.0,4.0,6.0],[1.0,4.0,9.0]]}"},
    {"storage without bytes", "second", "[[]]", "{\"results\":[[],[]]}"},
    {"a size in an argument", "repeat", "[7,3]",
     "{\"results\":[[7.0,7.0,7.0]]}"},
    {"a size of zero", "repeat", "[7,0]", "{\"results\":[[]]}"},
    {"a negative size", "repeat", "[7,-1]",
     "OUT_OF_RANGE: tensor: buffer of 0 bytes, at least -4"},
    {"more than there may be", "repeat", "[7,1000000000000]",
     "4000000000000 bytes more are over the module's limit of"},
    {"transients of one size", "fixed", "[[[1,2],[0,1]]]",
     "{\"results\":[[[1.0,6.0],[0.0,1.0]]]}"},
    {"transients by shape, and storage", "both",
     "[[[1,2],[3,4]],[[1,1],[0,1]]]", "{\"results\":[[[1.0,4.0],[3.0,10.0]]]}"},
    {"no rows", "both", "[{\"shape\":[0,2],\"data\":[]},[[1,1],[0,1]]]",
     "{\"results\":[[]]}"},
    {"transients that it needs none of", "none", "[[1,2]]",
     "{\"results\":[[2.0,4.0]]}"},
};

static const call_row_t torch_rows[] = {
    {"transients that nothing declares", "main",
     "[[[1,2],[3,4]],[[1,1],[0,1]]]", "{\"results\":[[[1.0,4.0],[3.0,10.0]]]}"},
};

static void memory_that_functions_want_is_made(void **state) {
  (void)state;
  static const char *const files[] = {"storage-vmvx", "storage-async"};
  size_t index;
  char path[512];
  for (size_t i = 0; i < FC_ARRAY_COUNT(files); i++) {
    snprintf(path, sizeof path, CORPUS "/storage/%s.vmfb", files[i]);
    opened_t opened = open_module(path, true);
    assert_int_equal(opened.info->count, 6);   // without those that say a size
    for (int round = 0; round < 2; round++) {  // the second time, from the pool
      FC_TEST_EACH_ROW(const call_row_t, row, made_rows) {
        // In this file `second` returns the view that it is given. The shape of its
        // result is unknown, so it cannot be called.
        if (i == 1 && !strcmp(row->function, "second")) {
          assert_false(find(&opened, row->function, &index)->callable);
          continue;
        }
        expect_call(path, &opened, row);
      }
    }
    close_module(&opened);
  }
  opened_t opened = open_module(CORPUS "/storage/torch-vmvx.vmfb", true);
  assert_int_equal(opened.info->count, 1);
  expect_call("torch", &opened, &torch_rows[0]);
  close_module(&opened);
}

static void inline_modules_do_not_say_what_results_need(void **state) {
  (void)state;
  const char *path = CORPUS "/storage/storage-inline.vmfb";
  opened_t opened = open_module(path, true);
  FC_TEST_EACH_ROW(const call_row_t, row, made_rows) {
    size_t index;
    const fc_signature_t *signature = find(&opened, row->function, &index);
    const bool scratch =
        !strcmp(row->function, "fixed") || !strcmp(row->function, "none");
    assert_int_equal(signature->callable, scratch);
    if (scratch) expect_call(path, &opened, row);
  }
  close_module(&opened);
}

static void the_async_form_is_hidden_beside_the_other(void **state) {
  (void)state;
  opened_t opened = open_module(CORPUS "/async/async-vmvx.vmfb", false);
  assert_int_equal(opened.info->count, 3);
  for (size_t i = 0; i < opened.info->count; i++) {
    const fc_signature_t *signature = opened.info->signatures[i];
    assert_true(signature->async);
    assert_false(fc_str_equal(fc_signature_text(signature, signature->name),
                              FC_STR("twice$async")));
  }
  close_module(&opened);
}

static fc_status_t call_next(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  fc_module_t *loaded;
  void *instance = NULL;
  FC_TRY(fc_module_load(kinds, fc_str(context), NULL, allocator, &loaded, err));
  void *module = fc_module_get_handle(loaded);
  fc_status_t status =
      fc_backend_vm.instance_create(module, allocator, &instance, err);
  size_t index = 0;
  while (status == FC_OK &&
         !fc_str_equal(
             fc_signature_text(
                 fc_backend_vm.describe(module)->signatures[index],
                 fc_backend_vm.describe(module)->signatures[index]->name),
             FC_STR("next"))) {
    index++;
  }
  int32_t data[] = {1, 2};
  const int64_t shape[] = {2};
  const fc_value_t argument = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {
          .dtype = FC_DTYPE_I32, .rank = 1, .shape = shape, .data = data}};
  fc_value_t result;
  fc_arena_t arena;
  fc_arena_init(&arena, allocator, 4096, SIZE_MAX);
  fc_backend_call_t call = {.arguments = &argument,
                            .argument_count = 1,
                            .results = &result,
                            .result_count = 1,
                            .arena = &arena};
  if (status == FC_OK) {
    status = fc_backend_vm.call(instance, index, &call, err);
    fc_backend_vm.call_end(instance, index, &call);
  }
  fc_arena_deinit(&arena);
  if (instance) fc_backend_vm.instance_destroy(instance);
  fc_module_release(loaded);
  return status;
}

static fc_status_t call_both(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  void *instance = NULL;
  fc_module_t *loaded = NULL;
  size_t index = 0;
  FC_TRY(fc_module_load(kinds, fc_str(context), NULL, allocator, &loaded, err));
  void *module = fc_module_get_handle(loaded);
  const fc_module_info_t *info = fc_module_get_info(loaded);
  while (!fc_str_equal(
      fc_signature_text(info->signatures[index], info->signatures[index]->name),
      FC_STR("both"))) {
    index++;
  }
  fc_status_t status =
      fc_backend_vm.instance_create(module, allocator, &instance, err);
  float data[] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2};
  const fc_value_t square = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {
          .dtype = FC_DTYPE_F32, .rank = 2, .shape = shape, .data = data}};
  const fc_value_t arguments[4] = {square, square};
  fc_value_t result;
  fc_arena_t arena;
  fc_arena_init(&arena, allocator, 4096, SIZE_MAX);
  fc_backend_call_t call = {.arguments = arguments,
                            .argument_count = FC_ARRAY_COUNT(arguments),
                            .results = &result,
                            .result_count = 1,
                            .arena = &arena};
  if (status == FC_OK) {
    status = fc_backend_vm.call(instance, index, &call, err);
    fc_backend_vm.call_end(instance, index, &call);
  }
  fc_arena_deinit(&arena);
  if (instance) fc_backend_vm.instance_destroy(instance);
  fc_module_release(loaded);
  return status;
}

static void memory_that_functions_want_survives_failing_allocations(
    void **state) {
  (void)state;
  char path[] = CORPUS "/storage/storage-vmvx.vmfb";
  assert_true(fc_test_allocation_sweep(call_both, path) > 10);
}

static void calls_without_a_device_survive_failing_allocations(void **state) {
  (void)state;
  char path[] = CORPUS "/inline/inline-vmvx.vmfb";
  assert_true(fc_test_allocation_sweep(call_next, path) > 10);
}

// ---------------------------------------------------------------------------

static const call_row_t data_rows[] = {
    {"data", "dense", "[[[1,2,3,4]]]", "{\"results\":[[[22.0,37.0]]]}"},
    {"data, again", "dense", "[[[0,0,0,1]]]", "{\"results\":[[[12.0,23.0]]]}"},
};

static const call_row_t splat_rows[] = {
    {"a pattern", "dense", "[[[1,2,3,4]]]", "{\"results\":[[[20.0,20.0]]]}"},
};

#define IRPA FARCALL_SOURCE_DIR "/tests/corpus/irpa/data.irpa"
#define SPLAT FARCALL_SOURCE_DIR "/tests/corpus/irpa/splat.irpa"
#define SAFETENSORS \
  FARCALL_SOURCE_DIR "/tests/corpus/safetensors/data.safetensors"

static void parameters_come_from_archives(void **state) {
  (void)state;
  static const char *const lists[] = {IRPA, "model=" IRPA,
                                      "other=" SPLAT ",model=" SAFETENSORS};
  for (size_t i = 0; i < FC_ARRAY_COUNT(lists); i++) {
    parameters = lists[i];
    call_rows("parameters", data_rows, FC_ARRAY_COUNT(data_rows), false);
  }
  parameters = SPLAT "," IRPA;
  call_rows("parameters", splat_rows, FC_ARRAY_COUNT(splat_rows), false);
  parameters = "";
}

typedef struct missing_row_t {
  const char *name;
  const char *parameters;
  const char *message;
} missing_row_t;

static const missing_row_t missing_rows[] = {
    {"none", "",
     "NOT_FOUND: the module needs parameter 'w' of scope 'model': give "
     "--parameters=model=FILE with it"},
    {"another scope", "other=" IRPA,
     "NOT_FOUND: the module needs parameter 'w' of scope 'model'"},
};

static void missing_parameters_are_named(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const missing_row_t, row, missing_rows) {
    parameters = row->parameters;
    opened_t opened =
        open_module(CORPUS "/parameters/parameters-vmvx.vmfb", false);
    fc_error_t err = {0};
    assert_int_not_equal(
        fc_backend_vm.instance_create(opened.module, fc_allocator_system(),
                                      &opened.instance, &err),
        FC_OK);
    opened.instance = NULL;
    if (!fc_str_starts(fc_str(err.message), fc_str(row->message))) {
      fail_msg("%s", err.message);
    }
    close_module(&opened);
  }
  parameters = "/nowhere.irpa";
  fc_error_t err = {0};
  assert_null(load(CORPUS "/parameters/parameters-vmvx.vmfb", true, &err));
  assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
  parameters = "";
}

// ---------------------------------------------------------------------------

typedef struct text_row_t {
  const char *name;  // of the function
  const char *file;
  const char *text;
} text_row_t;

static const text_row_t texts[] = {
    {"fact", "scalars-2.9.0.vmfb", "fact(input0: i64) -> i64"},
    {"pair", "scalars-3.13.0.vmfb", "pair(a: i32, b: f32) -> {a: i32, b: f32}"},
    {"mul4", "versions-2.9.0-llvm-cpu.vmfb",
     "mul4(input0: tensor<4xf32>, input1: tensor<4xf32>) -> tensor<4xf32>"},
    {"matmul", "versions-3.13.0-vmvx.vmfb",
     "matmul(input0: tensor<?x?xf32>, input1: tensor<?x?xf32>) -> "
     "tensor<?x?xf32>"},
    {"twice", "half-3.4.0-llvm-cpu.vmfb",
     "twice(input0: tensor<2xf16>, input1: tensor<2xbf16>) -> (output0: "
     "tensor<2xf16>, output1: tensor<2xbf16>)"},
};

static void functions_are_listed(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const text_row_t, row, texts) {
    char path[512];
    snprintf(path, sizeof path, "%s/releases/%s", CORPUS, row->file);
    opened_t opened = open_module(path, false);
    size_t index = 0;
    const fc_signature_t *signature = find(&opened, row->name, &index);
    assert_string_equal(fc_test_signature_text(signature), row->text);
    close_module(&opened);
  }
}

// Writes a corpus module to a file of its own, with `known` replaced by `other`.
static void write_changed(char *path, const char *file, const char *known,
                          const char *other) {
  size_t size = 0;
  uint8_t *data = read_file(file, &size);
  assert_non_null(data);
  char *at = memmem(data, size, known, strlen(known));
  assert_non_null(at);
  memcpy(at, other, strlen(other));
  int fd = mkstemps(path, (int)strlen(".vmfb"));
  assert_true(fd >= 0);
  assert_int_equal(write(fd, data, size), (ssize_t)size);
  close(fd);
  free(data);
}

static void a_missing_import_is_the_reason(void **state) {
  (void)state;
  char path[] = "/tmp/farcall-test-XXXXXX.vmfb";
  write_changed(path, CORPUS "/releases/versions-3.13.0-vmvx.vmfb",
                "hal.fence.create", "hal.fence.creats");
  opened_t opened = open_module(path, false);
  unlink(path);
  size_t index = 0;
  const fc_signature_t *signature = find(&opened, "mul4", &index);
  assert_false(signature->callable);
  fc_str_t reason = fc_signature_text(signature, signature->reason);
  assert_true(fc_str_equal(
      reason, FC_STR("import 'hal.fence.creats' is not provided")));
  close_module(&opened);
}

// ---------------------------------------------------------------------------
// Machine code

#define LLVM_CPU FC_TEST_NATIVE "/releases/versions-3.13.0-llvm-cpu.vmfb"
#define VMVX CORPUS "/releases/versions-3.13.0-vmvx.vmfb"

typedef struct safe_row_t {
  const char *name;  // of the function
  const char *file;
  bool safe;
  bool trusts_dims;
} safe_row_t;

static const safe_row_t safe_rows[] = {
    {"mul4", LLVM_CPU, false, false},
    {"matmul", LLVM_CPU, false, true},
    {"mixed", LLVM_CPU, false, false},
    {"matmul", VMVX, true, false},
    {"fact", CORPUS "/releases/scalars-3.13.0.vmfb", true, false},
};

static void machine_code_is_not_memory_safe(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const safe_row_t, row, safe_rows) {
    opened_t opened = open_module(row->file, false);
    size_t index = 0;
    const fc_signature_t *signature = find(&opened, row->name, &index);
    assert_true(signature->memory_known);
    assert_int_equal(signature->memory_safe, row->safe);
    assert_int_equal(signature->trusts_dims, row->trusts_dims);
    const bool native = strcmp(row->file, LLVM_CPU) == 0;
    assert_int_equal(opened.info->runs_native, native);
    assert_false(opened.info->endless);
    fc_str_t warning = opened.info->warning;
    assert_int_equal(
        fc_str_starts(warning, FC_STR("1 of 6 functions are machine code with "
                                      "dynamic shapes")),
        native);
    if (!native) assert_int_equal(warning.size, 0);
    close_module(&opened);
  }
}

typedef struct named_row_t {
  const char *name;
  const char *a, *b;  // dims of the two arguments of matmul
  bool warns;
} named_row_t;

static const named_row_t named_rows[] = {
    {"all dims have names", "[\"m\",\"k\"]", "[\"k\",\"n\"]", false},
    {"those that must agree", "[null,\"k\"]", "[\"k\",null]", false},
    {"an argument has none", "[\"m\",\"k\"]", "[null,null]", true},
};

// The warning tells the remedy, and disappears once that is done.
static void named_dims_are_no_warning(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const named_row_t, row, named_rows) {
    char path[] = "/tmp/farcall-test-XXXXXX.vmfb", sidecar[64], json[512];
    write_changed(path, LLVM_CPU, "cpu_features", "cpu_features");
    snprintf(sidecar, sizeof sidecar, "%.*s.farcall.json",
             (int)(strlen(path) - strlen(".vmfb")), path);
    snprintf(json, sizeof json,
             "{\"farcall\":1,\"functions\":[{\"name\":"
             "\"matmul\",\"args\":[{\"dims\":%s},{\"dims\":%s}]}]}",
             row->a, row->b);
    FILE *file = fopen(sidecar, "w");
    assert_non_null(file);
    assert_true(fputs(json, file) >= 0);
    assert_int_equal(fclose(file), 0);
    opened_t opened = open_module(path, false);
    unlink(path);
    unlink(sidecar);
    const fc_str_t advice = FC_STR("one name, in \"dims\" of a sidecar");
    const fc_str_t warning = opened.info->warning;
    assert_int_equal(fc_str_ends(warning, advice), row->warns);
    close_module(&opened);
  }
}

static void machine_code_can_be_refused(void **state) {
  (void)state;
  fc_error_t err = {0};
  assert_null(load(LLVM_CPU, false, &err));
  assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
  assert_non_null(strstr(err.message, "contains machine code"));
  fc_module_t *module = load(VMVX, false, &err);
  assert_non_null(module);
  fc_module_release(module);
}

// A module may want machine code but contain none, if nothing was left to compile.
static void modules_without_kernels_answer(void **state) {
  (void)state;
  static const call_row_t row = {"flat", "flat", "[[[1,2,3],[4,5,6]]]",
                                 "{\"results\":[[1.0,2.0,3.0,4.0,5.0,6.0]]}"};
  const char *path = FC_TEST_NATIVE "/kernelless/kernelless-llvm-cpu.vmfb";
  fc_error_t err = {0};
  fc_module_t *module = load(path, false, &err);
  assert_non_null(module);
  fc_module_release(module);
  opened_t opened = open_module(path, true);
  assert_false(opened.info->runs_native);
  expect_call(path, &opened, &row);
  close_module(&opened);
}

#if defined(__x86_64__)
#define OTHER "aarch64", "embedded-elf-arm_64"
#define OURS "x86_64"
#else
#define OTHER "x86_64", "embedded-elf-x86_64"
#define OURS "aarch64"
#endif

typedef struct device_row_t {
  const char *name;    // tests/corpus/iree/device/double-NAME.vmfb
  const char *format;  // NULL: runs here
} device_row_t;

static const device_row_t devices[] = {
    {"vulkan", "vulkan-spirv-fb"},
    {OTHER},
    {OURS, NULL},
};

// The error says why the functions cannot be called. __init is not run: it would fail.
static void functions_for_other_devices_say_so(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const device_row_t, row, devices) {
    char path[512];
    size_t index;
    snprintf(path, sizeof path, CORPUS "/device/double-%s.vmfb", row->name);
    opened_t opened = open_module(path, false);
    const fc_signature_t *signature = find(&opened, "double", &index);
    assert_int_equal(signature->callable, !row->format);
    if (row->format) {
      char reason[256], wanted[64];
      snprintf(reason, sizeof reason, "%.*s",
               FC_STR_ARG(fc_signature_text(signature, signature->reason)));
      snprintf(wanted, sizeof wanted, "compiled for '%s'", row->format);
      assert_non_null(strstr(reason, wanted));
      assert_non_null(strstr(reason, "--iree-hal-target-device=local "
                                     "--iree-hal-local-target-device-backends="
                                     "llvm-cpu"));
      fc_error_t err = {0};
      assert_int_equal(
          fc_backend_vm.instance_create(opened.module, fc_allocator_system(),
                                        &opened.instance, &err),
          FC_UNIMPLEMENTED);
      assert_string_equal(err.message, reason);
      assert_int_equal(opened.info->warning.size, 0);
    }
    close_module(&opened);
  }
}

// A feature that this processor lacks: no processor has all of these. NULL: unknown.
static const char *missing_feature(void) {
  static const char *const names[] = {"fma4", "avx512f", "amx-tile",
                                      "sme2", "sve2p1",  "bf16"};
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    if (fc_cpu_has(&cpu, fc_str(names[i])) == FC_CPU_NO) return names[i];
  }
  return NULL;
}

#if defined(__aarch64__)
#define NO_FEATURES "cpu_features = \"+reserve-x18\", data_layout"
#else
#define NO_FEATURES "cpu_features = \"\", data_layout"
#endif

static void missing_processor_features_are_a_load_error(void **state) {
  (void)state;
  const char *missing = missing_feature();
  if (!missing) {
    print_message("SKIPPED: no feature is known to be missing here\n");
    return;
  }
  // The new text is at most as long as the old one, so what follows keeps its offset.
  char path[] = "/tmp/farcall-test-XXXXXX.vmfb", text[64];
  snprintf(text, sizeof text, "cpu_features = \"+%s\"", missing);
  assert_true(strlen(text) < strlen(NO_FEATURES));
  write_changed(path, LLVM_CPU, NO_FEATURES, text);
  fc_error_t err = {0};
  assert_null(load(path, true, &err));
  unlink(path);
  assert_int_equal(err.code, FC_CODE_CPU_FEATURES);
  const char *named = strstr(err.message, missing);
  assert_non_null(named);
  assert_memory_equal(named + strlen(missing), ";", 1);  // no other is named
}

static void features_that_are_not_told_are_a_warning(void **state) {
  (void)state;
  char path[] = "/tmp/farcall-test-XXXXXX.vmfb";
  write_changed(path, LLVM_CPU, NO_FEATURES, "cpu_featured");
  opened_t opened = open_module(path, false);
  unlink(path);
  assert_true(fc_str_ends(opened.info->warning,
                          FC_STR("does not say which processor it was "
                                 "compiled for")));
  close_module(&opened);
}

// ---------------------------------------------------------------------------
// Two workers of one module that adds to a buffer of its own

static int32_t add(void *instance, int32_t by) {
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  const fc_value_t argument = {
      .kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I32, .scalar.i64 = by};
  fc_value_t result = {0};
  fc_backend_call_t call = {.arguments = &argument,
                            .argument_count = 1,
                            .results = &result,
                            .result_count = 1,
                            .arena = &arena};
  fc_error_t err = {0};
  if (fc_backend_vm.call(instance, 0, &call, &err)) fail_msg("%s", err.message);
  const int32_t sum = (int32_t)result.scalar.i64;
  fc_backend_vm.call_end(instance, 0, &call);
  fc_arena_deinit(&arena);
  return sum;
}

typedef struct policy_row_t {
  const char *name;
  const char *policy;
  const char *file;
  bool serial;
  int32_t second;  // what the second worker's first call gives
} policy_row_t;

static const policy_row_t policies[] = {
    {"auto", "auto", "written", true, 3},
    {"shared", "shared", "written", true, 3},
    {"private", "private", "written", false, 2},
    {"auto, no state", "auto", "read", false, 0},
    {"shared, no state", "shared", "read", true, 0},
    {"private, no state", "private", "read", false, 0},
};

static void state_is_shared_as_asked(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const policy_row_t, row, policies) {
    char path[512];
    fc_error_t err = {0};
    fc_module_t *module;
    void *first = NULL, *second = NULL;
    snprintf(path, sizeof path, CORPUS "/state/%s.vmfb", row->file);
    const fc_setting_t setting = {FC_STR("vm.state"), fc_str(row->policy)};
    const fc_module_options_t options = {.settings = &setting,
                                         .setting_count = 1};
    if (fc_module_load(kinds, fc_str(path), &options, fc_allocator_system(),
                       &module, &err)) {
      fail_msg("%s", err.message);
    }
    assert_int_equal(fc_module_get_info(module)->serial, row->serial);
    void *handle = fc_module_get_handle(module);
    if (fc_backend_vm.instance_create(handle, fc_allocator_system(), &first,
                                      &err) ||
        fc_backend_vm.instance_create(handle, fc_allocator_system(), &second,
                                      &err)) {
      fail_msg("%s", err.message);
    }
    add(first, 1);
    assert_int_equal(add(second, 2), row->second);
    fc_backend_vm.instance_destroy(first);
    fc_backend_vm.instance_destroy(second);
    fc_module_release(module);
  }
}

static const call_row_t kept_rows[] = {
    {"the first worker's first", "next", "[[9]]", "{\"results\":[[1,2,4,9]]}"},
    {"the second's", "next", "[[9]]", "{\"results\":[[2,4,9,9]]}"},
    {"the first's second", "next", "[[9]]", "{\"results\":[[4,9,9,9]]}"},
    {"one of a third", "next", "[[0]]", "{\"results\":[[0,9,9,9]]}"},
};

static const call_row_t own_rows[] = {
    {"the first worker's first", "next", "[[9]]", "{\"results\":[[1,2,4,9]]}"},
    {"the second's", "next", "[[9]]", "{\"results\":[[1,2,4,9]]}"},
    {"the first's second", "next", "[[9]]", "{\"results\":[[2,4,9,9]]}"},
    {"one of a third", "next", "[[0]]", "{\"results\":[[0,1,2,4]]}"},
};

// The compiler lets kernels write into some constants. With vm.state=private each
// instance has a copy of these.
static void constants_are_state_of_who_has_its_own(void **state) {
  (void)state;
  static const char path[] = CORPUS "/state/constant.vmfb";
  static const call_row_t *const rows[] = {kept_rows, own_rows};
  static const size_t callers[] = {0, 1, 0, 2};
  for (size_t own = 0; own < 2; own++) {
    fc_error_t err = {0};
    void *instances[3];
    vm_state = own ? "private" : "auto";
    opened_t opened = open_module(path, false);
    vm_state = "auto";
    for (size_t i = 0; i < FC_ARRAY_COUNT(instances); i++) {
      assert_int_equal(
          fc_backend_vm.instance_create(opened.module, fc_allocator_system(),
                                        &instances[i], &err),
          FC_OK);
    }
    for (size_t i = 0; i < FC_ARRAY_COUNT(callers); i++) {
      fc_test_row(rows[own][i].name);
      opened.instance = instances[callers[i]];
      expect_call(path, &opened, &rows[own][i]);
    }
    fc_test_row(NULL);
    for (size_t i = 0; i < FC_ARRAY_COUNT(instances); i++) {
      fc_backend_vm.instance_destroy(instances[i]);
    }
    opened.instance = NULL;
    close_module(&opened);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(machine_code_is_not_memory_safe),
      FC_TEST(named_dims_are_no_warning),
      FC_TEST(state_is_shared_as_asked),
      FC_TEST(constants_are_state_of_who_has_its_own),
      FC_TEST(machine_code_can_be_refused),
      FC_TEST(modules_without_kernels_answer),
      FC_TEST(functions_for_other_devices_say_so),
      FC_TEST(missing_processor_features_are_a_load_error),
      FC_TEST(features_that_are_not_told_are_a_warning),
      FC_TEST(calls_answer_in_every_release),
      FC_TEST(modules_without_a_device_answer),
      FC_TEST(functions_with_fences_answer),
      FC_TEST(memory_that_functions_want_is_made),
      FC_TEST(inline_modules_do_not_say_what_results_need),
      FC_TEST(the_async_form_is_hidden_beside_the_other),
      FC_TEST(memory_that_functions_want_survives_failing_allocations),
      FC_TEST(calls_without_a_device_survive_failing_allocations),
      FC_TEST(parameters_come_from_archives),
      FC_TEST(missing_parameters_are_named),
      FC_TEST(functions_are_listed),
      FC_TEST(a_missing_import_is_the_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
