// SPDX-License-Identifier: Apache-2.0
//
// Reads a request's document into flat values, in one pass. A row is a tensor without its
// first dim. Rows that are objects of inputs are kept until all have been read. Then the
// rows of each input are put one after the other into one tensor.
#include "marshal/bytes.h"
#include "marshal/inputs.h"
#include "marshal/leaf.h"
#include "marshal/read.h"
#include "marshal/tf.h"

#define NONE UINT32_MAX

typedef struct column_t {
  fc_op_t op;  // of one row
  fc_value_t *rows;
} column_t;

typedef struct request_t {
  fc_frame_t *frame;
  fc_inputs_t inputs;
  column_t *columns;  // by input
  size_t count;       // rows that are complete
  size_t capacity;
  const char *form;  // "inputs" or "instances"; NULL: neither was read
} request_t;

static fc_status_t next(request_t *request, fc_json_token_t *out_token,
                        fc_error_t *err) {
  return fc_json_next(&request->frame->reader, out_token, err);
}

// True when the rest of the document begins with these two words. White space before
// each word is skipped.
static bool is_next(const request_t *request, fc_str_t first, fc_str_t second) {
  const fc_json_reader_t *reader = &request->frame->reader;
  fc_str_t rest =
      fc_str_make(reader->cursor, (size_t)(reader->end - reader->cursor));
  const fc_str_t words[] = {first, second};
  for (size_t i = 0; i < FC_ARRAY_COUNT(words); i++) {
    while (rest.size && memchr(" \t\n\r", rest.data[0], 4)) {
      rest = fc_str_make(rest.data + 1, rest.size - 1);
    }
    if (!fc_str_starts(rest, words[i])) return false;
    rest = fc_str_make(rest.data + words[i].size, rest.size - words[i].size);
  }
  return true;
}

// ---------------------------------------------------------------------------
// One value

// Reads a BYTES: "text", {"b64":"…"}, or an array with one of these.
static fc_status_t read_bytes(request_t *request, const fc_op_t *op,
                              fc_json_token_t token, fc_value_t *dest,
                              fc_error_t *err) {
  const bool listed = token == FC_JSON_ARRAY_BEGIN;
  if (listed) FC_TRY(next(request, &token, err));
  FC_TRY(fc_bytes_decode(request->frame, op, token, dest, err));
  if (!listed) return FC_OK;
  FC_TRY(next(request, &token, err));
  if (token == FC_JSON_ARRAY_END) return FC_OK;
  return fc_json_fail(&request->frame->reader, err, FC_CODE_DATA_LENGTH,
                      "more than one element");
}

static fc_status_t read_value(request_t *request, const fc_op_t *op,
                              fc_json_token_t token, fc_value_t *dest,
                              fc_error_t *err) {
  *dest = (fc_value_t){0};
  return op->kind == FC_TYPE_BYTES
             ? read_bytes(request, op, token, dest, err)
             : fc_leaf_decode(request->frame, op, token, dest, err);
}

static fc_status_t read_whole(request_t *request, uint32_t number,
                              fc_json_token_t token, fc_error_t *err) {
  const fc_model_tensor_t *input = &request->inputs.model->inputs[number];
  fc_value_t value;
  fc_status_t status = read_value(request, input->op, token, &value, err);
  if (status != FC_OK) {
    return fc_inputs_name(&request->inputs, input, status, err);
  }
  return fc_inputs_store(&request->inputs, number, value, err);
}

// True when the model has one input, and its value stands here without the input's name.
// `object`: the value begins with a brace. Then it is an object of inputs by name,
// unless the input is BYTES and the object is its {"b64":…}. `brace` is "{" if the
// brace is still unread, "" if it was read.
static bool is_bare(const request_t *request, bool object, fc_str_t brace) {
  const fc_model_t *model = request->inputs.model;
  if (model->input_count != 1) return false;
  if (!object) return true;
  return model->inputs[0].op->kind == FC_TYPE_BYTES &&
         is_next(request, brace, FC_STR("\"b64\""));
}

// Reads the next name of an object of inputs, and the first token of the value.
// *out_number is NONE at the object's end.
static fc_status_t next_input(request_t *request, uint32_t *out_number,
                              fc_json_token_t *out_token, fc_error_t *err) {
  fc_str_t name;
  *out_number = NONE;
  FC_TRY(next(request, out_token, err));
  if (*out_token == FC_JSON_OBJECT_END) return FC_OK;
  FC_TRY(fc_read_text(request->frame, &name, err));
  FC_TRY(fc_inputs_find(&request->inputs, name, out_number, err));
  return next(request, out_token, err);
}

// ---------------------------------------------------------------------------
// By column

static fc_status_t read_columns(request_t *request, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  if (is_bare(request, token == FC_JSON_OBJECT_BEGIN, FC_STR(""))) {
    return read_whole(request, 0, token, err);
  }
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_mismatch(&request->frame->reader, FC_CODE_TYPE_MISMATCH,
                            token, "an object of inputs by name", err);
  }
  for (;;) {
    uint32_t number;
    FC_TRY(next_input(request, &number, &token, err));
    if (number == NONE) break;
    FC_TRY(read_whole(request, number, token, err));
  }
  return fc_inputs_check(&request->inputs, err);
}

// ---------------------------------------------------------------------------
// By row

static fc_status_t fail_rowless(request_t *request, uint32_t number,
                                fc_error_t *err) {
  const fc_status_t status =
      fc_fail(err, FC_CODE_SHAPE_MISMATCH,
              "it has no dim to count rows: send \"inputs\"");
  return fc_inputs_name(&request->inputs,
                        &request->inputs.model->inputs[number], status, err);
}

// Sets the type of one row of an input.
static fc_status_t open_column(request_t *request, uint32_t number,
                               fc_error_t *err) {
  fc_op_t *op = &request->columns[number].op;
  const fc_op_t *whole = request->inputs.model->inputs[number].op;
  *op = *whole;
  if (op->kind == FC_TYPE_BYTES) return FC_OK;
  if (op->kind == FC_TYPE_SCALAR || op->rank == 0) {
    return fail_rowless(request, number, err);
  }
  if (op->rank < 0) return FC_OK;
  op->whole = whole;
  op->lead = 1;
  op->rank--;
  op->dims++;
  op->kind = op->rank ? FC_TYPE_TENSOR : FC_TYPE_SCALAR;
  return FC_OK;
}

static fc_status_t open_columns(request_t *request, fc_error_t *err) {
  void *memory = NULL;
  const uint32_t count = request->inputs.model->input_count;
  FC_TRY(fc_frame_alloc(request->frame, count + (size_t)1, sizeof(column_t),
                        &memory, err));
  request->columns = memory;
  for (uint32_t i = 0; i < count; i++) FC_TRY(open_column(request, i, err));
  return FC_OK;
}

static fc_status_t grow_columns(request_t *request, fc_error_t *err) {
  if (request->count < request->capacity) return FC_OK;
  const size_t capacity = request->capacity ? 2 * request->capacity : 16;
  for (uint32_t i = 0; i < request->inputs.model->input_count; i++) {
    column_t *column = &request->columns[i];
    void *memory = NULL;
    FC_TRY(fc_frame_alloc(request->frame, capacity, sizeof(fc_value_t), &memory,
                          err));
    if (request->count) {
      memcpy(memory, column->rows, request->count * sizeof(fc_value_t));
    }
    column->rows = memory;
  }
  request->capacity = capacity;
  return FC_OK;
}

// Reads one row, {"name":…}. The opening brace was just read.
static fc_status_t read_row(request_t *request, fc_error_t *err) {
  fc_inputs_t *inputs = &request->inputs;
  fc_json_token_t token;
  FC_TRY(grow_columns(request, err));
  for (;;) {
    uint32_t number;
    FC_TRY(next_input(request, &number, &token, err));
    if (number == NONE) break;
    column_t *column = &request->columns[number];
    const fc_status_t status = read_value(request, &column->op, token,
                                          &column->rows[request->count], err);
    if (status != FC_OK) {
      return fc_inputs_name(inputs, &inputs->model->inputs[number], status,
                            err);
    }
    inputs->given[number] = 1;
    inputs->missing--;
  }
  FC_TRY(fc_inputs_check(inputs, err));
  // The next row must give all inputs again.
  inputs->missing = inputs->model->input_count;
  memset(inputs->given, 0, inputs->missing);
  request->count++;
  return FC_OK;
}

static fc_tensor_t row_of(const column_t *column, size_t row) {
  static const int64_t kNoDims[1];
  const fc_value_t *value = &column->rows[row];
  if (value->kind == FC_VALUE_TENSOR) return value->tensor;
  return (fc_tensor_t){.dtype = value->dtype,
                       .shape = kNoDims,
                       .data = (void *)(uintptr_t)value->scalar.bytes};
}

static bool same_shape(const fc_tensor_t *a, const fc_tensor_t *b) {
  return a->rank == b->rank &&
         (a->rank == 0 ||
          !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

static fc_status_t check_rows(request_t *request, uint32_t number,
                              fc_error_t *err) {
  const column_t *column = &request->columns[number];
  const fc_op_t *op = request->inputs.model->inputs[number].op;
  const fc_tensor_t first = row_of(column, 0);
  for (size_t i = 1; i < request->count; i++) {
    const fc_tensor_t row = row_of(column, i);
    if (i % 16384 == 0) FC_TRY(fc_stop_look(&request->frame->stop, err));
    if (row.dtype != first.dtype && op->dtype == FC_DTYPE_NONE) {
      return fc_fail(
          err, FC_CODE_DTYPE_MISMATCH, "row %zu is of %s, the first of %s", i,
          fc_dtype_info(row.dtype)->text, fc_dtype_info(first.dtype)->text);
    }
    if (same_shape(&first, &row)) continue;
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "row %zu has other dims than the first", i);
  }
  const int64_t wanted =
      op->rank > 0 ? fc_frame_dim(request->frame, op->dims[0]) : -1;
  if (wanted >= 0 && (uint64_t)wanted != request->count) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH, "%zu rows, dim 0 is %lld",
                   request->count, (long long)wanted);
  }
  return first.rank < FC_RANK_MAX
             ? FC_OK
             : fc_fail(err, FC_CODE_SHAPE_MISMATCH, "rank %d exceeds %d",
                       (int)first.rank + 1, FC_RANK_MAX);
}

// Makes one tensor of the rows of an input.
static fc_status_t stack(request_t *request, uint32_t number,
                         fc_value_t *out_value, fc_error_t *err) {
  fc_frame_t *frame = request->frame;
  const column_t *column = &request->columns[number];
  const fc_tensor_t first = row_of(column, 0);
  size_t count, size, total, elements;
  FC_TRY(check_rows(request, number, err));
  (void)fc_shape_count(first.shape, first.rank, first.dtype, &count, &size);
  const size_t limit = fc_frame_element_limit(frame, first.dtype);
  if (!fc_size_mul(count, request->count, &elements) || elements > limit ||
      !fc_size_mul(size, request->count, &total)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "the rows are over the limit of %zu elements", limit);
  }
  void *memory = NULL, *shape = NULL;
  FC_TRY(fc_frame_place(frame, first.dtype, total, &memory, err));
  for (size_t i = 0; i < request->count && size; i++) {
    if (i % 1024 == 1023) FC_TRY(fc_stop_look(&frame->stop, err));
    const fc_tensor_t row = row_of(column, i);
    FC_TRY(
        fc_frame_copy(frame, (char *)memory + i * size, row.data, size, err));
  }
  fc_frame_commit(frame, memory, total, total);
  FC_TRY(fc_frame_alloc(frame, (size_t)first.rank + 1, sizeof(int64_t), &shape,
                        err));
  int64_t *dims = shape;
  dims[0] = (int64_t)request->count;
  for (int32_t i = 0; i < first.rank; i++) dims[i + 1] = first.shape[i];
  *out_value = (fc_value_t){.kind = FC_VALUE_TENSOR,
                            .tensor = {.dtype = first.dtype,
                                       .rank = first.rank + 1,
                                       .shape = dims,
                                       .data = memory}};
  return FC_OK;
}

static fc_status_t store_rows(request_t *request, fc_error_t *err) {
  fc_inputs_t *inputs = &request->inputs;
  for (uint32_t i = 0; i < inputs->model->input_count; i++) {
    const fc_model_tensor_t *input = &inputs->model->inputs[i];
    fc_value_t value = request->columns[i].rows[0];
    fc_status_t status = FC_OK;
    if (input->op->kind != FC_TYPE_BYTES) {
      status = stack(request, i, &value, err);
    } else if (request->count != 1) {
      status = fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                       "%zu rows of what is one element", request->count);
    }
    if (status != FC_OK) return fc_inputs_name(inputs, input, status, err);
    FC_TRY(fc_inputs_store(inputs, i, value, err));
  }
  return FC_OK;
}

static fc_status_t read_rows(request_t *request, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  if (token != FC_JSON_ARRAY_BEGIN) {
    return fc_json_mismatch(&request->frame->reader, FC_CODE_TYPE_MISMATCH,
                            token, "an array of rows", err);
  }
  request->frame->by_rows = true;
  if (is_next(request, FC_STR("]"), FC_STR(""))) {
    return fc_json_fail(&request->frame->reader, err, FC_CODE_LENGTH_MISMATCH,
                        "there is no row");
  }
  // Rows without names: the array of rows is the whole value of the only input.
  const bool objects = is_next(request, FC_STR("{"), FC_STR(""));
  if (is_bare(request, objects, FC_STR("{"))) {
    const fc_op_t *op = request->inputs.model->inputs[0].op;
    if (op->kind != FC_TYPE_BYTES &&
        (op->kind == FC_TYPE_SCALAR || op->rank == 0)) {
      return fail_rowless(request, 0, err);
    }
    return read_whole(request, 0, token, err);
  }
  FC_TRY(open_columns(request, err));
  for (;;) {
    FC_TRY(next(request, &token, err));
    if (token == FC_JSON_ARRAY_END) return store_rows(request, err);
    if (token != FC_JSON_OBJECT_BEGIN) {
      return fc_json_mismatch(&request->frame->reader, FC_CODE_TYPE_MISMATCH,
                              token, "an object, a row of all inputs", err);
    }
    FC_TRY(read_row(request, err));
  }
}

// ---------------------------------------------------------------------------
// The document

static fc_status_t read_signature(request_t *request, fc_error_t *err) {
  fc_json_reader_t *reader = &request->frame->reader;
  fc_json_token_t token;
  FC_TRY(next(request, &token, err));
  if (token == FC_JSON_STRING &&
      (fc_json_text_is(reader, FC_STR("serving_default")) ||
       reader->text.size == 0)) {
    return FC_OK;
  }
  fc_status_t status =
      fc_json_fail(&request->frame->reader, err, FC_CODE_UNKNOWN_FIELD,
                   "a model has the one signature 'serving_default'");
  fc_error_expected(err, "serving_default");
  if (token == FC_JSON_STRING) fc_error_got(err, reader->text);
  return status;
}

static fc_status_t read_member(request_t *request, fc_error_t *err) {
  fc_json_reader_t *reader = &request->frame->reader;
  fc_json_token_t token;
  if (fc_json_text_is(reader, FC_STR("signature_name"))) {
    return read_signature(request, err);
  }
  const bool rows = fc_json_text_is(reader, FC_STR("instances"));
  if (!rows && !fc_json_text_is(reader, FC_STR("inputs"))) {
    FC_TRY(next(request, &token, err));
    return fc_json_skip(reader, token, err);
  }
  if (request->form) {
    return fc_json_fail(&request->frame->reader, err, FC_CODE_DUPLICATE_KEY,
                        "there is '%s' already: one of both is enough",
                        request->form);
  }
  request->form = rows ? "instances" : "inputs";
  return rows ? read_rows(request, err) : read_columns(request, err);
}

static fc_status_t read_document(request_t *request, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_expect(&request->frame->reader, FC_JSON_OBJECT_BEGIN,
                        FC_CODE_JSON_SCHEMA, err));
  for (;;) {
    FC_TRY(next(request, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    FC_TRY(read_member(request, err));
  }
  if (!request->form) {
    fc_status_t status =
        fc_json_fail(&request->frame->reader, err, FC_CODE_MISSING_KEY,
                     "'instances' or 'inputs' is missing");
    fc_error_expected(err, "'instances' or 'inputs'");
    return status;
  }
  return next(request, &token, err);
}

// Refuses a request in rows, before the function runs, if a result has no dim that can
// be cut into rows.
static fc_status_t check_results(const request_t *request, fc_error_t *err) {
  const fc_model_t *model = request->inputs.model;
  if (!request->frame->by_rows) return FC_OK;
  for (uint32_t i = 0; i < model->output_count; i++) {
    const fc_op_t *op = model->outputs[i].op;
    if (op->kind == FC_TYPE_BYTES ||
        (op->kind != FC_TYPE_SCALAR && op->rank != 0)) {
      continue;
    }
    char name[80];
    fc_escape(name, sizeof name, 64, model->outputs[i].name);
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "output '%s' has no dim to count rows: send \"inputs\"",
                   name);
  }
  return FC_OK;
}

fc_status_t fc_tf_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err) {
  request_t request = {.frame = frame};
  FC_TRY(fc_inputs_begin(&request.inputs, frame, err));
  FC_TRY(fc_model_check_arrays(request.inputs.model, err));
  frame->depth = 0;
  fc_frame_read(frame, body.data, body.size);
  FC_TRY(read_document(&request, err));
  FC_TRY(check_results(&request, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}
