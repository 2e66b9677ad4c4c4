// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes files of arrays (packed.h). An array has the name of an input or
// output of the model.
#include "marshal/packed.h"

#include <stdio.h>

#include "marshal/packed_item.h"
#include "value/safetensors.h"
#include "value/zip.h"

// ---------------------------------------------------------------------------
// DECODE

static fc_status_t take_array(fc_inputs_t *inputs, uint32_t number,
                              fc_str_t file, fc_error_t *err) {
  fc_npy_t array;
  fc_frame_t *frame = inputs->frame;
  const fc_model_tensor_t *tensor = &inputs->model->inputs[number];
  const fc_status_t status =
      fc_npy_parse(&frame->tensors, file, &frame->stop, &array, err);
  if (status != FC_OK) return fc_inputs_name(inputs, tensor, status, err);
  // If its elements had to be rearranged, the array lies outside of the file.
  const uintptr_t at = (uintptr_t)array.data.data, from = (uintptr_t)file.data;
  const bool moved = at < from || at > from + file.size;
  if (moved) frame->copied += array.data.size;
  return fc_inputs_take(inputs, number, array.dtype, array.rank, array.shape,
                        array.data, err);
}

static fc_status_t read_npy(fc_inputs_t *inputs, fc_str_t body,
                            fc_error_t *err) {
  if (inputs->model->input_count != 1) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "a .npy file is one input, the function has %u: send an "
                   ".npz file",
                   inputs->model->input_count);
  }
  return take_array(inputs, 0, body, err);
}

// Finds an input by a name that numpy.savez gives to an array without a name: arr_0,
// arr_1, … They are inputs by position, unless an input itself has such a name.
static bool find_numbered(const fc_inputs_t *inputs, fc_str_t name,
                          uint32_t *out_number) {
  const fc_model_t *model = inputs->model;
  static const fc_str_t kLead = FC_STR("arr_");
  if (!fc_str_starts(name, kLead) || name.size == kLead.size) return false;
  if (fc_model_find(&model->arguments, model->input_of, name) != UINT32_MAX) {
    return false;
  }
  uint32_t number = 0;
  for (size_t i = kLead.size; i < name.size; i++) {
    const char c = name.data[i];
    if (c < '0' || c > '9' || number >= model->input_count) return false;
    number = number * 10 + (uint32_t)(c - '0');
  }
  *out_number = number;
  return number < model->input_count && !inputs->given[number];
}

static fc_status_t read_entry(fc_inputs_t *inputs, const fc_zip_entry_t *entry,
                              fc_error_t *err) {
  static const fc_str_t kSuffix = FC_STR(".npy");
  fc_frame_t *frame = inputs->frame;
  fc_str_t name = entry->name, file;
  uint32_t number;
  if (fc_str_ends(name, kSuffix)) name.size -= kSuffix.size;
  if (!find_numbered(inputs, name, &number)) {
    FC_TRY(fc_inputs_find(inputs, name, &number, err));
  }
  if (!entry->deflated) {
    FC_TRY(fc_zip_read(entry, SIZE_MAX, NULL, &frame->stop, &file, err));
    return take_array(inputs, number, file, err);
  }
  if (entry->size > inputs->allowance) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "an entry has %u bytes; only %zu more may come from "
                   "decompressing the body",
                   entry->size, inputs->allowance);
  }
  inputs->allowance -= entry->size;
  // Inflated bytes are moved to aligned memory of the call, so that an element is
  // aligned if its offset in the file is.
  fc_text_t text;
  fc_text_init(&text, frame->allocator, SIZE_MAX);
  fc_status_t status =
      fc_zip_read(entry, entry->size, &text, &frame->stop, &file, err);
  if (status == FC_OK) {
    char *own = fc_arena_alloc(&frame->tensors, file.size + 1, 64);
    status = own ? fc_frame_copy(frame, own, file.data, file.size, err)
                 : fc_fail_memory(err);
    file.data = own;
  }
  fc_text_deinit(&text);
  return status == FC_OK ? take_array(inputs, number, file, err) : status;
}

static fc_status_t read_npz(fc_inputs_t *inputs, fc_str_t body,
                            fc_error_t *err) {
  fc_zip_t zip;
  fc_zip_entry_t entry;
  bool more;
  FC_TRY(fc_zip_open(body, &zip, err));
  for (;;) {
    FC_TRY(fc_zip_next(&zip, &entry, &more, err));
    if (!more) return FC_OK;
    FC_TRY(read_entry(inputs, &entry, err));
  }
}

fc_status_t fc_packed_decode(fc_frame_t *frame, fc_packed_t form, fc_str_t body,
                             size_t most, fc_error_t *err) {
  static fc_status_t (*const kRead[FC_PACKED_COUNT])(fc_inputs_t *, fc_str_t,
                                                     fc_error_t *) = {
      [FC_PACKED_NPY] = read_npy,
      [FC_PACKED_NPZ] = read_npz,
      [FC_PACKED_SAFETENSORS] = fc_packed_read_safetensors};
  fc_inputs_t inputs;
  const size_t bound = fc_inflate_bound(body.size);
  FC_TRY(fc_inputs_begin(&inputs, frame, err));
  FC_TRY(fc_model_check_arrays(inputs.model, err));
  inputs.allowance = most < bound ? most : bound;
  // The reader gets an empty document, so that errors about .npy and .npz files
  // have offset 0 and pointer "".
  fc_frame_read(frame, body.data, 0);
  FC_TRY(kRead[form](&inputs, body, err));
  FC_TRY(fc_inputs_check(&inputs, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// ENCODE

static fc_dtype_t dtype_of(const fc_op_t *op) {
  return op->kind == FC_TYPE_BYTES ? FC_DTYPE_UI8 : (fc_dtype_t)op->dtype;
}

static fc_status_t refuse(const fc_model_tensor_t *output, const char *form,
                          fc_error_t *err) {
  char name[80];
  fc_escape(name, sizeof name, 64, output->name);
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "%s has no element type %s, which result '%s' has", form,
                 fc_dtype_info(dtype_of(output->op))->text, name);
}

fc_status_t fc_packed_check(const fc_frame_t *frame, fc_packed_t form,
                            fc_error_t *err) {
  const fc_model_t *model;
  if (!frame->plan) return fc_frame_fail_idle(err);
  FC_TRY(fc_plan_model(frame->plan, &model, err));
  FC_TRY(fc_model_check_arrays(model, err));
  if (form == FC_PACKED_NPY && model->output_count != 1) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "a .npy file is one result, the function has %u: accept "
                   "application/x-npz",
                   model->output_count);
  }
  for (uint32_t i = 0; i < model->output_count; i++) {
    const fc_dtype_t dtype = dtype_of(model->outputs[i].op);
    const bool safe = form == FC_PACKED_SAFETENSORS;
    const char *type =
        safe ? fc_safetensors_type(dtype) : fc_dtype_info(dtype)->npy;
    if (!type[0]) {
      return refuse(&model->outputs[i], safe ? "safetensors" : "NumPy", err);
    }
  }
  return FC_OK;
}

static fc_status_t read_output(fc_encoder_t *encoder,
                               const fc_model_tensor_t *output,
                               fc_packed_item_t *out_item, fc_error_t *err) {
  const fc_value_t *value = NULL;
  fc_npy_t *array = &out_item->array;
  out_item->name = output->name;
  array->dtype = dtype_of(output->op);
  FC_TRY(fc_encoder_find(encoder, output->way, &value, err));
  if (output->op->kind == FC_TYPE_BYTES) {
    FC_TRY(fc_encoder_bytes(encoder, output->op, value, &array->data, err));
    array->rank = 1;
    array->shape[0] = (int64_t)array->data.size;
    return FC_OK;
  }
  fc_tensor_t tensor;
  size_t count, size = 0;
  FC_TRY(fc_encoder_tensor(encoder, output->op, value, &tensor, &count, &size,
                           err));
  array->rank = tensor.rank;
  for (int32_t i = 0; i < tensor.rank; i++) array->shape[i] = tensor.shape[i];
  array->data = fc_str_make(tensor.data, size);
  return FC_OK;
}

static fc_status_t write_npz(fc_encoder_t *encoder,
                             const fc_packed_item_t *items, uint32_t count,
                             fc_error_t *err) {
  fc_frame_t *frame = encoder->frame;
  void *memory = NULL, *text = NULL;
  FC_TRY(fc_frame_alloc(frame, count + (size_t)1, sizeof(fc_zip_part_t),
                        &memory, err));
  fc_zip_part_t *parts = memory;
  for (uint32_t i = 0; i < count; i++) {
    const fc_str_t name = items[i].name;
    size_t head = 0;
    FC_TRY(
        fc_frame_alloc(frame, name.size + 5 + FC_NPY_HEAD_MAX, 1, &text, err));
    char *entry = text, *bytes = entry + name.size + 5;
    memcpy(entry, name.data, name.size);
    memcpy(entry + name.size, ".npy", 5);
    FC_TRY(fc_npy_print_head(&items[i].array, bytes, &head, err));
    parts[i] = (fc_zip_part_t){.name = fc_str_make(entry, name.size + 4),
                               .head = fc_str_make(bytes, head),
                               .data = items[i].array.data};
  }
  return fc_zip_print(parts, count, encoder->sink, err);
}

static fc_status_t write_npy(fc_encoder_t *encoder,
                             const fc_packed_item_t *items, uint32_t count,
                             fc_error_t *err) {
  (void)count;
  char head[FC_NPY_HEAD_MAX];
  size_t size = 0;
  const fc_npy_t *array = &items[0].array;
  FC_TRY(fc_npy_print_head(array, head, &size, err));
  FC_TRY(fc_sink_put(encoder->sink, fc_str_make(head, size), err));
  return fc_encoder_put_last(encoder, array->data, err);
}

static fc_status_t write_all(fc_encoder_t *encoder, fc_packed_t form,
                             const fc_model_t *model, fc_error_t *err) {
  static fc_status_t (*const kWrite[FC_PACKED_COUNT])(
      fc_encoder_t *, const fc_packed_item_t *, uint32_t, fc_error_t *) = {
      [FC_PACKED_NPY] = write_npy,
      [FC_PACKED_NPZ] = write_npz,
      [FC_PACKED_SAFETENSORS] = fc_packed_write_safetensors};
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(encoder->frame, model->output_count + (size_t)1,
                        sizeof(fc_packed_item_t), &memory, err));
  fc_packed_item_t *items = memory;
  for (uint32_t i = 0; i < model->output_count; i++) {
    FC_TRY(read_output(encoder, &model->outputs[i], &items[i], err));
  }
  return kWrite[form](encoder, items, model->output_count, err);
}

fc_status_t fc_packed_encode(fc_frame_t *frame, fc_packed_t form,
                             fc_sink_t *sink, fc_error_t *err) {
  const fc_model_t *model;
  fc_encoder_t encoder;
  FC_TRY(fc_packed_check(frame, form, err));
  FC_TRY(fc_plan_model(frame->plan, &model, err));
  FC_TRY(fc_encoder_begin(&encoder, frame, sink, err));
  return fc_encoder_end(&encoder, write_all(&encoder, form, model, err), err);
}
