// SPDX-License-Identifier: Apache-2.0
//
// safetensors: the size of a JSON object in eight bytes, the object, the tensors'
// bytes without gaps. https://github.com/huggingface/safetensors has the format.
#include <stdlib.h>

#include "base/load.h"
#include "json/writer.h"
#include "marshal/leaf.h"
#include "marshal/packed_item.h"

static const struct {
  const char *name;
  fc_dtype_t dtype;
} kTypes[] = {
    {"BOOL", FC_DTYPE_I1},
    {"U8", FC_DTYPE_UI8},
    {"I8", FC_DTYPE_I8},
    {"U16", FC_DTYPE_UI16},
    {"I16", FC_DTYPE_I16},
    {"U32", FC_DTYPE_UI32},
    {"I32", FC_DTYPE_I32},
    {"U64", FC_DTYPE_UI64},
    {"I64", FC_DTYPE_I64},
    {"F16", FC_DTYPE_F16},
    {"BF16", FC_DTYPE_BF16},
    {"F32", FC_DTYPE_F32},
    {"F64", FC_DTYPE_F64},
    {"F8_E5M2", FC_DTYPE_F8E5M2},
    {"F8_E4M3", FC_DTYPE_F8E4M3FN},
};

// The type under whose name safetensors has `dtype`: it has one name for iN and siN, and
// that of i64 for index, too.
static fc_dtype_t plain(fc_dtype_t dtype) {
  switch (dtype) {
    case FC_DTYPE_SI8:
      return FC_DTYPE_I8;
    case FC_DTYPE_SI16:
      return FC_DTYPE_I16;
    case FC_DTYPE_SI32:
      return FC_DTYPE_I32;
    case FC_DTYPE_SI64:
    case FC_DTYPE_INDEX:
      return FC_DTYPE_I64;
    default:
      return dtype;
  }
}

const char *fc_packed_safetensors_type(fc_dtype_t dtype) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (kTypes[i].dtype == plain(dtype)) return kTypes[i].name;
  }
  return "";
}

// ---------------------------------------------------------------------------
// DECODE

typedef struct range_t {
  uint64_t begin;
  uint64_t end;
} range_t;

typedef struct file_t {
  fc_inputs_t *inputs;
  fc_str_t data;  // behind the header
  range_t *ranges;
  uint32_t count;
} file_t;

static fc_json_reader_t *reader_of(const file_t *file) {
  return &file->inputs->frame->reader;
}

static fc_status_t malformed(const file_t *file, const char *what,
                             fc_error_t *err) {
  return fc_json_locate(
      reader_of(file),
      fc_fail(err, FC_CODE_BINARY_FRAMING, "safetensors: %s", what), err);
}

static fc_status_t expect(const file_t *file, fc_json_token_t wanted,
                          fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader_of(file), &token, err));
  if (token == wanted) return FC_OK;
  return fc_leaf_mismatch(file->inputs->frame, FC_CODE_BINARY_FRAMING, token,
                          fc_json_token_name(wanted), err);
}

typedef struct entry_t {
  fc_dtype_t dtype;
  bool has_shape;
  bool has_range;
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
  range_t range;
} entry_t;

static fc_status_t read_dtype(const file_t *file, entry_t *entry,
                              fc_error_t *err) {
  fc_json_reader_t *reader = reader_of(file);
  FC_TRY(expect(file, FC_JSON_STRING, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (fc_json_text_is(reader, fc_str(kTypes[i].name))) {
      entry->dtype = kTypes[i].dtype;
      return FC_OK;
    }
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, reader->text);
  return fc_json_locate(reader,
                        fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                                "no function takes dtype '%s'", shown),
                        err);
}

// Reads an array of at most `most` whole numbers.
static fc_status_t read_numbers(const file_t *file, uint64_t *out, size_t most,
                                size_t *out_count, fc_error_t *err) {
  fc_json_token_t stop = FC_JSON_ARRAY_END;
  FC_TRY(expect(file, FC_JSON_ARRAY_BEGIN, err));
  FC_TRY(fc_json_read_elements(reader_of(file), FC_DTYPE_UI64, out, most,
                               out_count, &stop, err));
  return stop == FC_JSON_ARRAY_END
             ? FC_OK
             : malformed(file, "expected an array of whole numbers", err);
}

static fc_status_t read_shape(const file_t *file, entry_t *entry,
                              fc_error_t *err) {
  uint64_t dims[FC_RANK_MAX + 1];
  size_t count = 0;
  FC_TRY(read_numbers(file, dims, FC_ARRAY_COUNT(dims), &count, err));
  if (count > FC_RANK_MAX) return malformed(file, "too many dims", err);
  for (size_t i = 0; i < count; i++) {
    if (dims[i] > INT64_MAX) return malformed(file, "too large a dim", err);
    entry->dims[i] = (int64_t)dims[i];
  }
  entry->rank = (int32_t)count;
  entry->has_shape = true;
  return FC_OK;
}

static fc_status_t read_range(const file_t *file, entry_t *entry,
                              fc_error_t *err) {
  uint64_t ends[3];
  size_t count = 0;
  FC_TRY(read_numbers(file, ends, FC_ARRAY_COUNT(ends), &count, err));
  if (count != 2 || ends[0] > ends[1] || ends[1] > file->data.size) {
    return malformed(file, "data_offsets are no range of the data", err);
  }
  entry->range = (range_t){ends[0], ends[1]};
  entry->has_range = true;
  return FC_OK;
}

static fc_status_t read_member(const file_t *file, entry_t *entry,
                               fc_error_t *err) {
  fc_json_reader_t *reader = reader_of(file);
  fc_json_token_t token;
  if (fc_json_text_is(reader, FC_STR("dtype"))) {
    return read_dtype(file, entry, err);
  }
  if (fc_json_text_is(reader, FC_STR("shape"))) {
    return read_shape(file, entry, err);
  }
  if (fc_json_text_is(reader, FC_STR("data_offsets"))) {
    return read_range(file, entry, err);
  }
  FC_TRY(fc_json_next(reader, &token, err));
  return fc_json_skip(reader, token, err);
}

static fc_status_t read_tensor(file_t *file, fc_error_t *err) {
  entry_t entry = {.dtype = FC_DTYPE_NONE};
  fc_json_token_t token;
  fc_str_t name;
  uint32_t number;
  FC_TRY(fc_leaf_text(file->inputs->frame, &name, err));
  FC_TRY(fc_inputs_find(file->inputs, name, &number, err));
  FC_TRY(expect(file, FC_JSON_OBJECT_BEGIN, err));
  for (;;) {
    FC_TRY(fc_json_next(reader_of(file), &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    FC_TRY(read_member(file, &entry, err));
  }
  if (!entry.dtype || !entry.has_shape || !entry.has_range) {
    return malformed(file, "a tensor has dtype, shape and data_offsets", err);
  }
  file->ranges[file->count++] = entry.range;
  const fc_str_t bytes =
      fc_str_make(file->data.data + entry.range.begin,
                  (size_t)(entry.range.end - entry.range.begin));
  return fc_inputs_take(file->inputs, number, entry.dtype, entry.rank,
                        entry.dims, bytes, err);
}

static int by_begin(const void *a, const void *b) {
  const range_t *left = a, *right = b;
  if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
  return left->end < right->end ? -1 : left->end > right->end;
}

// Checks that each byte of the data belongs to exactly one tensor.
static fc_status_t check_ranges(const file_t *file, fc_error_t *err) {
  uint64_t at = 0;
  if (file->count > 1) {
    qsort(file->ranges, file->count, sizeof *file->ranges, by_begin);
  }
  for (uint32_t i = 0; i < file->count; i++) {
    if (file->ranges[i].begin != at) {
      return malformed(file, "data_offsets overlap, or leave bytes out", err);
    }
    at = file->ranges[i].end;
  }
  if (at == file->data.size) return FC_OK;
  return malformed(file, "bytes of the data belong to no tensor", err);
}

static fc_status_t read_tensors(file_t *file, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(expect(file, FC_JSON_OBJECT_BEGIN, err));
  for (;;) {
    FC_TRY(fc_json_next(reader_of(file), &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    if (fc_json_text_is(reader_of(file), FC_STR("__metadata__"))) {
      FC_TRY(fc_json_next(reader_of(file), &token, err));
      FC_TRY(fc_json_skip(reader_of(file), token, err));
    } else {
      FC_TRY(read_tensor(file, err));
    }
  }
  FC_TRY(fc_json_next(reader_of(file), &token, err));
  return check_ranges(file, err);
}

fc_status_t fc_packed_read_safetensors(fc_inputs_t *inputs, fc_str_t body,
                                       fc_error_t *err) {
  file_t file = {.inputs = inputs};
  void *memory = NULL;
  uint64_t size = 0;
  if (body.size >= sizeof size) size = fc_load_u64((const uint8_t *)body.data);
  if (size < 2 || size > body.size - sizeof size) {
    return malformed(
        &file, "its first eight bytes are not the size of its header", err);
  }
  const char *head = body.data + sizeof size;
  file.data = fc_str_make(head + size, body.size - sizeof size - (size_t)size);
  FC_TRY(fc_frame_alloc(inputs->frame, inputs->model->input_count + (size_t)1,
                        sizeof(range_t), &memory, err));
  file.ranges = memory;
  fc_frame_read(inputs->frame, head, (size_t)size);
  const fc_status_t status = read_tensors(&file, err);
  // The reader counts from the JSON object on; in the file, its size stands before it.
  if (status != FC_OK && err && err->byte_offset != FC_NO_OFFSET) {
    err->byte_offset += sizeof size;
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
  FC_TRY(put(sink, fc_packed_safetensors_type(array->dtype), err));
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

// Spaces end the header, so that the data begins at a multiple of 64 bytes.
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
