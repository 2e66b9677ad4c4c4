// SPDX-License-Identifier: Apache-2.0
//
// Functions that write into their arguments: in which calls the arguments are compared,
// and what the error says.
#include "marshal/written.h"

#include "helpers/call.h"
#include "helpers/test.h"
#include "marshal/frame.h"

// Adds one to the first byte of the last argument that has memory. If that is a list,
// to the first byte of its last item.
static fc_status_t write_last(void *instance, size_t index,
                              fc_backend_call_t *call, fc_error_t *err) {
  const fc_value_t *value = &call->arguments[call->argument_count - 1];
  while (value->kind == FC_VALUE_SCALAR) value--;
  while (value->kind == FC_VALUE_LIST) {
    value = &value->list.items[value->list.count - 1];
  }
  uint8_t *bytes = value->tensor.data;
  bytes[0]++;
  return fc_backend_echo.call(instance, index, call, err);
}

// Does the same, but the results are not the arguments.
static fc_status_t write_and_drop(void *instance, size_t index,
                                  fc_backend_call_t *call, fc_error_t *err) {
  FC_TRY(write_last(instance, index, call, err));
  for (size_t i = 0; i < call->result_count; i++) {
    call->results[i] = (fc_value_t){.kind = FC_VALUE_NULL};
  }
  return FC_OK;
}

static fc_backend_t writer(void) {
  fc_backend_t backend = fc_backend_echo;
  backend.call = write_and_drop;
  return backend;
}

static fc_status_t run(fc_test_call_t *call, const fc_backend_t *backend,
                       const char *body, fc_error_t *err) {
  FC_TRY(fc_test_call_decode(call, fc_str(body), err));
  return fc_frame_invoke(call->frame, backend, &call->echo, 0, NULL, 0, err);
}

typedef struct row_t {
  const char *name, *types, *body;
  const char *message;  // NULL: the call succeeds
} row_t;

static const row_t rows[] = {
    {"in", "x: tensor<2xi8> -> tensor<2xi8>", "[[1,2]]",
     "argument 0 ('x'): the function wrote into it, and its role is 'in'; in "
     "the sidecar, {\"name\":\"f\",\"args\":[{\"role\":\"inout\"}]} answers "
     "what it holds then, \"scratch\" lets it be lost"},
    {"the second", "i32, tensor<2xf64> -> i32", "[1,[2,3]]",
     "\"args\":[{},{\"role\":\"inout\"}]"},
    {"the first of three", "tensor<2xi8>, i8, i8 -> i8", "[[1,2],3,4]",
     "\"args\":[{\"role\":\"inout\"},{},{}]"},
    {"the tenth", "i8, i8, i8, i8, i8, i8, i8, i8, i8, tensor<1xi8> -> i8",
     "[1,2,3,4,5,6,7,8,9,[1]]", "\"args\":[…,{\"role\":\"inout\"}]"},
    {"scratch", "scratch x: tensor<2xi8> -> tensor<2xi8>", "[[1,2]]", NULL},
    {"inout", "inout x: tensor<2xi8> -> tensor<2xi8>", "[[1,2]]", NULL},
    {"in a list", "[tensor<1xi8>] -> [tensor<1xi8>]", "[[[1],[2],[3]]]",
     "argument 0: the function wrote"},
    {"in a tree", "{a: i8@0, b: tensor<1xi8>@1} -> i8", "[{\"a\":1,\"b\":[1]}]",
     "argument 0: the function wrote"},
    {"of a root", "root {a: i8@0, b: tensor<1xi8>@1} -> i8",
     "{\"kwargs\":{\"a\":1,\"b\":[1]}}", NULL},
    {"below a byte", "tensor<2xi4> -> i8", "[[1,2]]", NULL},
    {"without a type", "any -> i8",
     "[{\"dtype\":\"i8\",\"shape\":[1],\"data\":[1]}]", "argument 0"},
};

static void what_is_written_is_refused(void **state) {
  (void)state;
  const fc_backend_t backend = writer();
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    for (int guard = 0; guard < 2; guard++) {
      fc_test_call_t call;
      fc_error_t err = {0};
      fc_test_call_init(&call, row->types, NULL);
      fc_frame_set_guard(call.frame, guard);
      const fc_status_t status = run(&call, &backend, row->body, &err);
      assert_int_equal(status == FC_OK, row->message == NULL);
      if (row->message) {
        assert_int_equal(err.code, FC_CODE_ARGUMENT_WRITTEN);
        if (!strstr(err.message, row->message)) fail_msg("%s", err.message);
      }
      fc_test_call_deinit(&call);
    }
  }
}

// Compilers write a result into the memory of an argument that is no longer needed.
static void what_is_a_result_is_not_lost(void **state) {
  (void)state;
  fc_backend_t backend = writer();
  backend.call = write_last;
  fc_test_call_t call;
  fc_error_t err;
  fc_test_call_init(&call, "tensor<2xi8> -> tensor<2xi8>", NULL);
  assert_int_equal(run(&call, &backend, "[[1,2]]", &err), FC_OK);
  fc_test_call_deinit(&call);
}

// An argument that is known to be unchanged is not compared.
static void a_certain_role_is_believed(void **state) {
  (void)state;
  const fc_backend_t backend = writer();
  fc_test_call_t call;
  fc_error_t err;
  fc_test_call_init(&call, "tensor<1xi8> -> i8", NULL);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_builder_copy(builder, call.signature);
  fc_builder_role(builder, 0, FC_ROLE_IN, true);
  fc_plan_destroy(call.plan);
  fc_signature_destroy(call.signature);
  assert_int_equal(fc_signature_build(builder, &call.signature, &err), FC_OK);
  fc_builder_destroy(builder);
  assert_int_equal(
      fc_plan_create(call.signature, fc_allocator_system(), &call.plan, &err),
      FC_OK);
  assert_int_equal(run(&call, &backend, "[[1]]", &err), FC_OK);
  fc_test_call_deinit(&call);
}

// A change of any byte of a tensor is noticed.
static void every_byte_is_looked_at(void **state) {
  (void)state;
  fc_test_call_t call;
  fc_error_t err;
  fc_test_call_init(&call, "tensor<?xi8> -> i8", NULL);
  for (size_t size = 1; size < 200; size += 1 + size / 8) {
    uint8_t bytes[200] = {0};
    const int64_t shape[] = {(int64_t)size};
    fc_value_t value = {
        .kind = FC_VALUE_TENSOR,
        .tensor = {
            .dtype = FC_DTYPE_I8, .rank = 1, .shape = shape, .data = bytes}};
    for (size_t at = 0; at < size; at++) {
      fc_frame_begin(call.frame, call.plan, NULL);
      assert_int_equal(fc_written_begin(call.frame, &value, &err), FC_OK);
      assert_int_equal(fc_written_check(call.frame, &value, &err), FC_OK);
      bytes[at] ^= 0x80;
      assert_int_equal(fc_written_check(call.frame, &value, &err),
                       FC_DATA_LOSS);
    }
  }
  fc_test_call_deinit(&call);
}

static size_t count_refused(fc_test_call_t *call, const fc_backend_t *backend,
                            size_t calls) {
  size_t refused = 0;
  fc_error_t err;
  for (size_t i = 0; i < calls; i++) {
    if (run(call, backend, "[[1]]", &err) == FC_OK) continue;
    assert_int_equal(err.code, FC_CODE_ARGUMENT_WRITTEN);
    refused++;
  }
  return refused;
}

// A function that begins to write only after the first calls is noticed, and from then
// on all its calls are compared.
static void one_of_many_is_compared_for_ever(void **state) {
  (void)state;
  const fc_backend_t backend = writer();
  fc_test_call_t call;
  fc_test_call_init(&call, "tensor<1xi8> -> i8", NULL);
  // The dice is set because it is made of the frame's address: with some addresses the
  // very first call is compared.
  call.frame->dice = 1;
  assert_int_equal(count_refused(&call, &fc_backend_echo, FC_WRITTEN_FIRST), 0);
  size_t unnoticed = 0;
  while (!count_refused(&call, &backend, 1)) unnoticed++;
  assert_true(unnoticed > 0 && unnoticed < 20 * FC_WRITTEN_EVERY);
  assert_int_equal(count_refused(&call, &backend, 100), 100);
  assert_int_equal(count_refused(&call, &fc_backend_echo, 100), 0);
  assert_int_equal(count_refused(&call, &backend, 100), 100);
  fc_test_call_deinit(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_refused),
      cmocka_unit_test(what_is_a_result_is_not_lost),
      cmocka_unit_test(a_certain_role_is_believed),
      cmocka_unit_test(every_byte_is_looked_at),
      cmocka_unit_test(one_of_many_is_compared_for_ever),
  };
  return cmocka_run_group_tests_name("written", tests, NULL, NULL);
}
