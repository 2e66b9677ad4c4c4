// SPDX-License-Identifier: Apache-2.0
//
// Values that stay from call to call. The first byte chooses what the rest is:
//   0  rows of a desk that a worker wrote: each is refused, or is a value that can be
//      mapped, named and answered
//   1  a call document that names and keeps values, for a function that returns its
//      arguments and writes into one: an error is the client's fault, and afterwards
//      each row of the desk is valid and lies where the call may have placed it
//   2  a value that is put
//   3  a safetensors file that is imported
//   4  the bytes of a list that a function has overwritten
#include <unistd.h>

#include "marshal/kept_list.h"
#include "marshal/stored.h"
#include "marshal/values.h"
#include "model_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fc_limits_t kLimits = {.tensor_elements = 1 << 16,
                                    .tensor_size = 1 << 18,
                                    .result_size = 1 << 20,
                                    .arena_size = 1 << 18,
                                    .json_depth = 16,
                                    .json_keys = 64};
enum { GRANT = 1 << 22, BUDGET = 1 << 18 };

static struct {
  int file;
  fc_store_t store;
  fc_store_desk_t desk;
  fc_frame_t *frame;
  fc_plan_t *plan;
  fc_values_t put;
} world;

// f(x: tensor<?xf32>, inout y: tensor<2xf32>, z: any, state h: i64) ->
//   (tensor<?xf32>, state i64, any)
static fc_plan_t *make_function(void) {
  static const int64_t any[] = {FC_DIM_DYNAMIC}, two[] = {2};
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_error_t err;
  fc_builder_argument(b, FC_STR("x"),
                      fc_builder_tensor(b, FC_DTYPE_F32, 1, any), FC_ROLE_IN,
                      true, FC_RAW_NEXT);
  fc_builder_argument(b, FC_STR("h"), fc_builder_scalar(b, FC_DTYPE_I64),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  fc_builder_argument(b, FC_STR("z"), fc_builder_node(b, FC_TYPE_UNKNOWN),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  fc_builder_argument(b, FC_STR("y"),
                      fc_builder_tensor(b, FC_DTYPE_F32, 1, two), FC_ROLE_INOUT,
                      true, FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_tensor(b, FC_DTYPE_F32, 1, any),
                    FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_scalar(b, FC_DTYPE_I64),
                    FC_RAW_NEXT);
  fc_builder_result(b, FC_STR(""), fc_builder_node(b, FC_TYPE_UNKNOWN),
                    FC_RAW_NEXT);
  fc_builder_state(b, FC_STR("h"), 1, 1, 0, NULL, false);
  CHECK(fc_signature_build(b, &signature, &err) == FC_OK);
  fc_builder_destroy(b);
  CHECK(fc_plan_create(signature, fc_allocator_system(), &plan, &err) == FC_OK);
  return plan;
}

static void add(const char *name, const fc_value_t *value) {
  fc_store_row_t row;
  void *data;
  CHECK(fc_store_describe(fc_str(name), value, &row, NULL) == FC_OK);
  CHECK(fc_store_place(&world.store, &row, &data, NULL) == FC_OK);
  CHECK(fc_store_put(&world.store, &row, NULL) == FC_OK);
}

static void init(void) {
  fc_error_t err;
  CHECK(fc_store_make_slab(&world.file, &err) == FC_OK);
  fc_store_init(&world.store);
  fc_store_open(&world.store, world.file);
  CHECK(fc_frame_create(fc_allocator_system(), &kLimits, &world.frame, &err) ==
        FC_OK);
  world.plan = make_function();
  CHECK(fc_values_put(FC_STR("x"), fc_allocator_system(), &world.put, &err) ==
        FC_OK);
}

// Makes the values kv and shared of f32[2], n of i64, and b of three bytes.
static void begin(const fc_plan_t *plan) {
  static const int64_t two[] = {2};
  const fc_value_t tensor = {
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_F32, .rank = 1, .shape = two}};
  const fc_value_t scalar = {.kind = FC_VALUE_SCALAR, .dtype = FC_DTYPE_I64};
  const fc_value_t bytes = {.kind = FC_VALUE_BYTES, .bytes = FC_STR("abc")};
  world.desk = (fc_store_desk_t){.end = GRANT, .budget = BUDGET};
  fc_store_begin(&world.store, &world.desk);
  add("kv", &tensor);
  add("shared", &tensor);
  add("n", &scalar);
  add("b", &bytes);
  world.desk.rows[1].flags = FC_STORE_SHARED;
  fc_frame_begin(world.frame, plan, NULL);
  fc_frame_set_store(world.frame, &world.store);
}

static void end(fc_status_t status, const fc_error_t *err) {
  if (status != FC_OK) {
    CHECK(err->code > FC_CODE_METHOD_NOT_ALLOWED ||
          err->code == FC_CODE_TOO_MANY_REQUESTS);
    CHECK(err->code != FC_CODE_INTERNAL && err->code != FC_CODE_OUT_OF_MEMORY);
  }
  fc_frame_end(world.frame);
  CHECK(world.desk.count <= FC_STORE_ROWS && world.desk.next <= GRANT);
  for (uint32_t i = 0; i < world.desk.count; i++) {
    const fc_store_row_t *row = &world.desk.rows[i];
    CHECK(fc_store_verify(row, NULL) == FC_OK);
    CHECK(row->offset + row->size <= world.desk.next);
  }
  fc_store_end(&world.store);
  fc_store_punch(world.file, 0, GRANT);
}

// ---------------------------------------------------------------------------

static void run_rows(const uint8_t *data, size_t size) {
  for (; size >= sizeof(fc_store_row_t); size -= sizeof(fc_store_row_t)) {
    fc_store_row_t row;
    void *bytes;
    memcpy(&row, data, sizeof row);
    data += sizeof row;
    if (fc_store_verify(&row, NULL) != FC_OK) continue;
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 16);
    CHECK(fc_store_print(&row, &text.sink, NULL) == FC_OK);
    fc_text_deinit(&text);
    if (row.kind == FC_VALUE_OPAQUE) {  // its home knows its number
      CHECK(!row.size);
      continue;
    }
    CHECK(row.offset + row.size <= FC_STORE_SIZE_MAX);
    if (row.size > 1 << 20) continue;
    fc_store_begin(&world.store, &world.desk);
    CHECK(fc_store_map(&world.store, &row, &bytes, NULL) == FC_OK);
    for (uint64_t i = 0; i < row.size; i++) CHECK(!((uint8_t *)bytes)[i]);
  }
}

static void run_document(fc_str_t body) {
  fc_frame_t *frame = world.frame;
  fc_value_t results[4];
  size_t count;
  fc_error_t err;
  fc_error_reset(&err);
  begin(world.plan);
  fc_status_t status = fc_frame_decode(frame, body, &err);
  if (status == FC_OK) {
    fc_value_t *arguments = fc_frame_arguments(frame, &count);
    CHECK(count == 4);
    // Does what a function does that returns its arguments and adds one to the last.
    memcpy(results, arguments, sizeof results);
    ((float *)arguments[3].tensor.data)[0]++;
    fc_frame_set_results(frame, results, count);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 21);
    status = fc_frame_encode(frame, &text.sink, &err);
    fc_text_deinit(&text);
  }
  end(status, &err);
}

static void run_put(fc_str_t body) {
  fc_error_t err;
  fc_error_reset(&err);
  begin(world.put.plan);
  fc_status_t status = fc_values_decode(world.frame, body, &err);
  if (status == FC_OK) {
    status = fc_values_keep(world.frame, FC_STR("kv"), false, &err);
  }
  if (status == FC_OK) {
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 21);
    status = fc_frame_encode(world.frame, &text.sink, &err);
    fc_text_deinit(&text);
  }
  end(status, &err);
}

static void run_import(fc_str_t file) {
  fc_error_t err;
  fc_error_reset(&err);
  begin(world.put.plan);
  const fc_status_t status = file.size && file.data[0] == '{'
                                 ? fc_values_fill(world.frame, file, &err)
                                 : fc_values_import(world.frame, file, &err);
  end(status, &err);
}

static void run_list(fc_str_t bytes) {
  const fc_value_t given = {.kind = FC_VALUE_BYTES, .bytes = bytes};
  fc_store_row_t row;
  fc_value_t list;
  uint64_t size;
  void *data;
  begin(world.put.plan);
  CHECK(fc_store_describe(FC_STR("l"), &given, &row, NULL) == FC_OK);
  row.kind = FC_VALUE_LIST;
  if (fc_store_place(&world.store, &row, &data, NULL) == FC_OK) {
    if (bytes.size) memcpy(data, bytes.data, bytes.size);
    if (fc_kept_list_read(world.frame, NULL, &row, data, &list, NULL) ==
        FC_OK) {
      CHECK(fc_kept_list_measure(world.frame, &list, NULL, &size, NULL) ==
            FC_OK);
    }
  }
  end(FC_OK, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  if (!world.frame) init();
  const fc_str_t rest = fc_str_make((const char *)data + 1, size - 1);
  if (data[0] == 4) {
    run_list(rest);
    return 0;
  }
  switch (data[0] & 3) {
    case 0:
      run_rows(data + 1, size - 1);
      break;
    case 1:
      run_document(rest);
      break;
    case 2:
      run_put(rest);
      break;
    default:
      run_import(rest);
      break;
  }
  return 0;
}
