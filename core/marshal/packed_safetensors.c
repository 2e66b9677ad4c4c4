// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes safetensors (value/safetensors.h). Gaps between the tensors'
// bytes are not allowed here.
#include <stdlib.h>

#include "json/writer.h"
#include "marshal/read.h"
#include "marshal/packed_item.h"
#include "value/safetensors.h"

// ---------------------------------------------------------------------------
// DECODE

typedef struct range_t {
  uint64_t begin;
  uint64_t end;
} range_t;

static fc_status_t read_tensor(const fc_safetensors_t *file,
                               fc_inputs_t *inputs, range_t *out_range,
                               fc_error_t *err) {
  fc_safetensor_t tensor;
  fc_str_t name;
  uint32_t number;
  FC_TRY(fc_read_text(inputs->frame, &name, err));
  FC_TRY(fc_inputs_find(inputs, name, &number, err));
  FC_TRY(fc_safetensors_read(file, &tensor, err));
  if (!tensor.dtype || tensor.rank < 0 || !tensor.bytes.data) {
    return fc_safetensors_fail(
        file, "a tensor has dtype, shape and data_offsets", err);
  }
  *out_range = (range_t){tensor.offset, tensor.offset + tensor.bytes.size};
  return fc_inputs_take(inputs, number, tensor.dtype, tensor.rank, tensor.dims,
                        tensor.bytes, err);
}

static int by_begin(const void *a, const void *b) {
  const range_t *left = a, *right = b;
  if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
  return left->end < right->end ? -1 : left->end > right->end;
}

// Checks that each byte of the data belongs to exactly one tensor.
static fc_status_t check_ranges(const fc_safetensors_t *file, range_t *ranges,
                                uint32_t count, fc_error_t *err) {
  uint64_t at = 0;
  if (count > 1) qsort(ranges, count, sizeof *ranges, by_begin);
  for (uint32_t i = 0; i < count; i++) {
    if (ranges[i].begin != at) {
      return fc_safetensors_fail(
          file, "data_offsets overlap, or leave bytes out", err);
    }
    at = ranges[i].end;
  }
  if (at == file->data.size) return FC_OK;
  return fc_safetensors_fail(file, "bytes of the data belong to no tensor",
                             err);
}

static fc_status_t read_tensors(const fc_safetensors_t *file,
                                fc_inputs_t *inputs, range_t *ranges,
                                fc_error_t *err) {
  uint32_t count = 0;
  for (;;) {
    bool more;
    FC_TRY(fc_safetensors_next(file, &more, err));
    if (!more) return check_ranges(file, ranges, count, err);
    FC_TRY(read_tensor(file, inputs, &ranges[count++], err));
  }
}

fc_status_t fc_packed_read_safetensors(fc_inputs_t *inputs, fc_str_t body,
                                       fc_error_t *err) {
  fc_safetensors_t file = {.reader = &inputs->frame->reader,
                           .code = FC_CODE_BINARY_FRAMING,
                           .lead = "safetensors: ",
                           .typed = true};
  fc_str_t head;
  void *ranges = NULL;
  if (!fc_safetensors_cut(body, &head, &file.data)) {
    return fc_safetensors_fail(
        &file, "its first eight bytes are not the size of its header", err);
  }
  FC_TRY(fc_frame_alloc(inputs->frame, inputs->model->input_count + (size_t)1,
                        sizeof(range_t), &ranges, err));
  fc_frame_read(inputs->frame, head.data, head.size);
  const fc_status_t status = read_tensors(&file, inputs, ranges, err);
  // The reader counts from the beginning of the JSON object. In the file, eight bytes
  // with the object's size stand before it.
  if (status != FC_OK && err && err->byte_offset != FC_NO_OFFSET) {
    err->byte_offset += sizeof(uint64_t);
  }
  return status;
}

// ---------------------------------------------------------------------------
// ENCODE

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t write_entry(fc_sink_t *sink, const fc_packed_item_t *item,
                               uint64_t begin, fc_error_t *err) {
  const fc_npy_t *array = &item->array;
  FC_TRY(fc_json_write_string(sink, item->name, err));
  FC_TRY(put(sink, ":{\"dtype\":\"", err));
  FC_TRY(put(sink, fc_safetensors_type(array->dtype), err));
  FC_TRY(put(sink, "\",\"shape\":[", err));
  for (int32_t i = 0; i < array->rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_i64(sink, array->shape[i], err));
  }
  FC_TRY(put(sink, "],\"data_offsets\":[", err));
  FC_TRY(fc_json_write_u64(sink, begin, err));
  FC_TRY(put(sink, ",", err));
  FC_TRY(fc_json_write_u64(sink, begin + array->data.size, err));
  return put(sink, "]}", err);
}

static fc_status_t write_head(fc_sink_t *sink, const fc_packed_item_t *items,
                              uint32_t count, fc_error_t *err) {
  uint64_t at = 0;
  FC_TRY(put(sink, "{", err));
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_entry(sink, &items[i], at, err));
    at += items[i].array.data.size;
  }
  return put(sink, "}", err);
}

// Writes the file. The header is padded with spaces, so that the data begins at a
// multiple of 64 bytes.
static fc_status_t write_file(fc_encoder_t *encoder, fc_text_t *head,
                              const fc_packed_item_t *items, uint32_t count,
                              fc_error_t *err) {
  FC_TRY(write_head(&head->sink, items, count, err));
  while ((fc_text_str(head).size + sizeof(uint64_t)) % 64) {
    FC_TRY(put(&head->sink, " ", err));
  }
  const fc_str_t text = fc_text_str(head);
  const uint64_t size = text.size;
  char bytes[sizeof size];
  memcpy(bytes, &size, sizeof size);
  FC_TRY(fc_sink_put(encoder->sink, fc_str_make(bytes, sizeof bytes), err));
  FC_TRY(fc_sink_put(encoder->sink, text, err));
  for (uint32_t i = 0; i + 1 < count; i++) {
    FC_TRY(fc_sink_put(encoder->sink, items[i].array.data, err));
  }
  return count ? fc_encoder_put_last(encoder, items[count - 1].array.data, err)
               : FC_OK;
}

fc_status_t fc_packed_write_safetensors(fc_encoder_t *encoder,
                                        const fc_packed_item_t *items,
                                        uint32_t count, fc_error_t *err) {
  fc_text_t head;
  fc_text_init(&head, encoder->frame->allocator, SIZE_MAX);
  const fc_status_t status = write_file(encoder, &head, items, count, err);
  fc_text_deinit(&head);
  return status;
}
