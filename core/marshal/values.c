// SPDX-License-Identifier: Apache-2.0
//
// See values.h. The answer for a value comes from a plan whose only result has the
// value's type. So JSON, .npy and safetensors need no code of their own here.
#include "marshal/values.h"

#include "abi/state.h"
#include "marshal/container.h"
#include "marshal/kept_list.h"
#include "marshal/read.h"
#include "marshal/stored.h"
#include "marshal/stored_value.h"
#include "marshal/typed.h"
#include "value/safetensors.h"

void fc_values_deinit(fc_values_t *values) {
  fc_plan_destroy(values->plan);
  fc_signature_destroy(values->signature);
  *values = (fc_values_t){0};
}

// ---------------------------------------------------------------------------
// Slices

// Reads a number of digits. If there are no digits, *out is unchanged.
static bool read_size(fc_str_t *text, int64_t *out) {
  size_t at = 0;
  int64_t size = 0;
  for (; at < text->size && text->data[at] >= '0' && text->data[at] <= '9';
       at++) {
    if (at == 18) return false;
    size = 10 * size + (text->data[at] - '0');
  }
  if (at) *out = size;
  *text = fc_str_make(text->data + at, text->size - at);
  return true;
}

// Finds the elements that `part` selects of a dim of `size` elements. False: `part` is
// malformed or outside the dim.
static bool cut_dim(fc_str_t part, int64_t size, int64_t *out_first,
                    int64_t *out_count) {
  int64_t first = 0, end = size;
  const bool one = !memchr(part.data, ':', part.size);
  if (!part.size || !read_size(&part, &first)) return false;
  if (one) {
    end = first + 1;
  } else {
    part = fc_str_make(part.data + 1, part.size - 1);
    if (!read_size(&part, &end)) return false;
  }
  if (part.size || first > end || end > size) return false;
  *out_first = first;
  *out_count = end - first;
  return true;
}

static fc_status_t cut(fc_store_row_t *row, fc_str_t slice, int64_t *first,
                       fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, slice);
  for (uint8_t i = 0; slice.size; i++) {
    const fc_str_t part = fc_str_take(&slice, ',');
    if (row->kind == FC_VALUE_TENSOR && i < row->rank &&
        cut_dim(part, row->dims[i], &first[i], &row->dims[i])) {
      continue;
    }
    fc_status_t status =
        fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                "slice '%s' does not fit value '%s': for each dim it has a "
                "place, as 2, or a range within it, as 0:4",
                shown, row->name);
    return status;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Plans

static void add_result(fc_builder_t *builder, const fc_store_row_t *row) {
  uint32_t node;
  if (row->kind == FC_VALUE_BYTES) {
    node = fc_builder_bytes(builder, FC_FLAVOR_RAW);
  } else if (row->kind == FC_VALUE_LIST) {
    node = fc_builder_node(builder, FC_TYPE_UNKNOWN);
  } else if (row->kind == FC_VALUE_SCALAR) {
    node = fc_builder_scalar(builder, row->dtype);
  } else {
    node = fc_builder_tensor(builder, row->dtype, row->rank, row->dims);
  }
  fc_builder_result(builder, fc_store_name(row), node, FC_RAW_NEXT);
}

static fc_status_t build(fc_builder_t *builder, fc_values_t *values,
                         fc_error_t *err) {
  fc_status_t status = fc_signature_build(builder, &values->signature, err);
  const fc_allocator_t allocator =
      status == FC_OK ? values->signature->allocator : (fc_allocator_t){0};
  if (status == FC_OK) {
    status = fc_plan_create(values->signature, allocator, &values->plan, err);
  }
  fc_builder_destroy(builder);
  if (status != FC_OK) fc_values_deinit(values);
  return status;
}

fc_status_t fc_values_get(const fc_store_desk_t *desk, fc_str_t name,
                          fc_str_t slice, fc_allocator_t allocator,
                          fc_values_t *out_values, fc_error_t *err) {
  fc_values_t values = {0};
  fc_store_row_t cutted;
  fc_builder_t *builder = fc_builder_create(allocator);
  if (!builder) return fc_fail_memory(err);
  fc_status_t status = FC_OK;
  bool found = !name.size;
  for (uint32_t i = 0; i < desk->count && status == FC_OK; i++) {
    if (name.size && !fc_str_equal(fc_store_name(&desk->rows[i]), name)) {
      continue;
    }
    found = true;
    cutted = desk->rows[i];
    if (cutted.kind == FC_VALUE_OPAQUE) {
      status = fc_fail(err, FC_CODE_TYPE_MISMATCH,
                       "value '%s' is an opaque reference (%s), which has no "
                       "bytes",
                       cutted.name, cutted.type);
      continue;
    }
    status = cut(&cutted, slice, values.first, err);
    add_result(builder, &cutted);
  }
  if (!found) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, name);
    status = fc_fail(err, FC_CODE_REFERENCE_UNKNOWN, "there is no value '%s'",
                     shown);
  }
  if (status != FC_OK) {
    fc_builder_destroy(builder);
    return status;
  }
  FC_TRY(build(builder, &values, err));
  *out_values = values;
  return FC_OK;
}

fc_status_t fc_values_put(fc_str_t name, fc_allocator_t allocator,
                          fc_values_t *out_values, fc_error_t *err) {
  fc_values_t values = {0};
  fc_builder_t *builder = fc_builder_create(allocator);
  if (!builder) return fc_fail_memory(err);
  fc_builder_argument(builder, name, fc_builder_node(builder, FC_TYPE_UNKNOWN),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  fc_builder_result(builder, name, fc_builder_node(builder, FC_TYPE_UNKNOWN),
                    FC_RAW_NEXT);
  FC_TRY(build(builder, &values, err));
  *out_values = values;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Reading

// Makes the view of a tensor that a slice selects. Its strides are those of the whole
// tensor.
static fc_status_t view(fc_frame_t *frame, const fc_op_t *op,
                        const fc_store_row_t *row, const int64_t *first,
                        uint8_t *data, fc_value_t *out, fc_error_t *err) {
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, row->rank + (size_t)1, sizeof(int64_t), &memory,
                        err));
  int64_t *strides = memory, stride = 1, at = 0;
  for (int i = row->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    at += first[i] * stride;
    stride *= row->dims[i];
  }
  data = data ? data + at * (int64_t)fc_dtype_size(row->dtype) : NULL;
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR,
                      .tensor = {.dtype = row->dtype,
                                 .rank = row->rank,
                                 .shape = op->dims,
                                 .strides = row->rank ? strides : NULL,
                                 .data = data}};
  return FC_OK;
}

static fc_status_t read_row(fc_frame_t *frame, const fc_values_t *values,
                            const fc_op_t *op, const fc_store_row_t *row,
                            fc_value_t *out, fc_error_t *err) {
  void *data;
  FC_TRY(fc_store_map(frame->store, row, &data, err));
  if (row->kind == FC_VALUE_TENSOR) {
    return view(frame, op, row, values->first, data, out, err);
  }
  return row->kind == FC_VALUE_LIST
             ? fc_kept_list_read(frame, op, row, data, out, err)
             : fc_stored_set(frame, NULL, row, data, out, err);
}

fc_status_t fc_values_read(const fc_values_t *values, fc_frame_t *frame,
                           fc_error_t *err) {
  const fc_plan_t *plan = values->plan;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, plan->output_count + (size_t)1,
                        sizeof(fc_value_t), &memory, err));
  fc_value_t *results = memory;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const fc_plan_param_t *output = &plan->outputs[i];
    const fc_store_row_t *row = fc_store_find(frame->store->desk, output->name);
    if (!row) {
      return fc_fail(err, FC_CODE_INTERNAL,
                     "a value went while it was to be read");
    }
    FC_TRY(read_row(frame, values, output->op, row, &results[i], err));
  }
  fc_frame_set_results(frame, results, plan->output_count);
  frame->options.results = FC_RESULTS_TYPED;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing

// Reads a value whose token was just read. Refuses a kind that a store cannot hold.
static fc_status_t read_value(fc_frame_t *frame, fc_json_token_t token,
                              fc_error_t *err) {
  const fc_op_t *op = frame->plan->inputs[0].op;
  FC_TRY(fc_container_read(frame, op, token, err));
  const uint8_t kind = (uint8_t)frame->arguments[op->raw].kind;
  if (kind == FC_VALUE_TENSOR || kind == FC_VALUE_SCALAR ||
      kind == FC_VALUE_BYTES || kind == FC_VALUE_LIST) {
    return FC_OK;
  }
  return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                          "a tensor, a scalar, a list or bytes", err);
}

fc_status_t fc_values_decode(fc_frame_t *frame, fc_str_t body,
                             fc_error_t *err) {
  fc_json_token_t token;
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  fc_frame_read(frame, body.data, body.size);
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(read_value(frame, token, err));
  return fc_json_next(&frame->reader, &token, err);
}

fc_status_t fc_values_keep(fc_frame_t *frame, fc_str_t name, bool if_absent,
                           fc_error_t *err) {
  FC_TRY(fc_stored_keep(frame, 0, name, if_absent, err));
  fc_frame_set_results(frame, frame->arguments, 1);
  return FC_OK;
}

// Places a value in the store, and its bytes.
static fc_status_t place(fc_frame_t *frame, fc_str_t name,
                         const fc_value_t *value, fc_error_t *err) {
  const bool list = value->kind == FC_VALUE_LIST;
  fc_value_t typed = *value;
  fc_store_row_t row;
  uint64_t size;
  void *data;
  if (list) {
    FC_TRY(fc_kept_list_measure(frame, value, NULL, &size, err));
    typed =
        (fc_value_t){.kind = FC_VALUE_BYTES, .bytes = {.size = (size_t)size}};
  }
  FC_TRY(fc_store_describe(name, &typed, &row, err));
  row.kind = (uint8_t)value->kind;
  FC_TRY(fc_store_place(frame->store, &row, &data, err));
  if (list) {
    FC_TRY(fc_kept_list_write(frame, value, NULL, data, err));
  } else if (row.size) {
    const void *from = value->kind == FC_VALUE_TENSOR ? value->tensor.data
                       : value->kind == FC_VALUE_SCALAR
                           ? value->scalar.bytes
                           : (const void *)value->bytes.data;
    FC_TRY(fc_frame_copy(frame, data, from, row.size, err));
  }
  return fc_store_put(frame->store, &row, err);
}

// Puts a tensor of a file into the store.
static fc_status_t import_one(fc_frame_t *frame, fc_str_t name,
                              const fc_safetensor_t *tensor, fc_error_t *err) {
  static const fc_op_t any = {.kind = FC_TYPE_TENSOR,
                              .rank = FC_RANK_DYNAMIC,
                              .raw = FC_RAW_NONE,
                              .span = 1};
  fc_typed_t typed;
  fc_value_t value;
  fc_typed_begin(&typed, &any, NULL);
  FC_TRY(fc_typed_state(frame, &typed, tensor->dtype, tensor->rank,
                        tensor->dims, err));
  FC_TRY(fc_typed_take(frame, &typed, tensor->bytes, &value, err));
  return place(frame, name, &value, err);
}

fc_status_t fc_values_import(fc_frame_t *frame, fc_str_t file,
                             fc_error_t *err) {
  fc_safetensors_t reader = {.reader = &frame->reader,
                             .code = FC_CODE_BINARY_FRAMING,
                             .lead = "safetensors: ",
                             .typed = true};
  fc_str_t head, name;
  bool more;
  if (!fc_safetensors_cut(file, &head, &reader.data)) {
    return fc_safetensors_fail(
        &reader, "its first eight bytes are not the size of its header", err);
  }
  fc_frame_read(frame, head.data, head.size);
  for (;;) {
    fc_safetensor_t tensor;
    FC_TRY(fc_safetensors_next(&reader, &more, err));
    if (!more) return FC_OK;
    FC_TRY(fc_read_text(frame, &name, err));
    if (!fc_state_name_is_valid(name) ||
        fc_store_find(frame->store->desk, name)) {
      return fc_safetensors_fail(
          &reader, "a tensor has a name that no value can have, or has now",
          err);
    }
    FC_TRY(fc_safetensors_read(&reader, &tensor, err));
    if (!tensor.dtype || tensor.rank < 0 || !tensor.bytes.data) {
      return fc_safetensors_fail(
          &reader, "a tensor has dtype, shape and data_offsets", err);
    }
    FC_TRY(import_one(frame, name, &tensor, err));
  }
}

static fc_status_t fill_one(fc_frame_t *frame, fc_error_t *err) {
  const fc_op_t *op = frame->plan->inputs[0].op;
  char text[FC_STORE_NAME_MAX];
  fc_json_token_t token;
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
  if (!fc_state_name_is_valid(name) ||
      fc_store_find(frame->store->desk, name)) {
    return fc_json_fail(
        &frame->reader, err, FC_CODE_JSON_SCHEMA,
        "a value has a name that no value can have, or has now");
  }
  memcpy(text, name.data, name.size);
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(read_value(frame, token, err));
  return place(frame, fc_str_make(text, name.size), &frame->arguments[op->raw],
               err);
}

static fc_status_t fill(void *context, fc_error_t *err) {
  fc_frame_t *frame = context;
  fc_json_token_t token;
  FC_TRY(fc_json_expect(&frame->reader, FC_JSON_OBJECT_BEGIN,
                        FC_CODE_JSON_SCHEMA, err));
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(fill_one(frame, err));
  }
}

fc_status_t fc_values_fill(fc_frame_t *frame, fc_str_t document,
                           fc_error_t *err) {
  static const fc_json_member_t members[] = {{FC_STR("values"), fill, NULL}};
  fc_json_token_t token;
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  fc_frame_read(frame, document.data, document.size);
  FC_TRY(fc_json_expect(&frame->reader, FC_JSON_OBJECT_BEGIN,
                        FC_CODE_JSON_SCHEMA, err));
  FC_TRY(fc_json_read_members(&frame->reader, members, FC_ARRAY_COUNT(members),
                              frame, err));
  return fc_json_next(&frame->reader, &token, err);
}
