// SPDX-License-Identifier: Apache-2.0
//
// Reads safetensors (safetensors.h), for bodies of calls and archives of parameters.
#include "value/safetensors.h"

#include "base/load.h"

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

// Returns the type whose name safetensors uses for `dtype`. The format has one name
// for iN and siN, and uses the name of i64 also for index.
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

const char *fc_safetensors_type(fc_dtype_t dtype) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (kTypes[i].dtype == plain(dtype)) return kTypes[i].name;
  }
  return "";
}

fc_status_t fc_safetensors_fail(const fc_safetensors_t *file, const char *what,
                                fc_error_t *err) {
  return fc_json_fail(file->reader, err, file->code, "%s%s", file->lead, what);
}

static fc_status_t expect(const fc_safetensors_t *file, fc_json_token_t wanted,
                          fc_error_t *err) {
  return fc_json_expect(file->reader, wanted, file->code, err);
}

// ---------------------------------------------------------------------------
// A tensor

typedef struct entry_t {
  const fc_safetensors_t *file;
  fc_safetensor_t *tensor;
} entry_t;

static fc_status_t read_dtype(void *context, fc_error_t *err) {
  const entry_t *entry = context;
  fc_json_reader_t *reader = entry->file->reader;
  FC_TRY(expect(entry->file, FC_JSON_STRING, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (fc_json_text_is(reader, fc_str(kTypes[i].name))) {
      entry->tensor->dtype = kTypes[i].dtype;
      return FC_OK;
    }
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, reader->text);
  return fc_json_fail(reader, err, FC_CODE_DTYPE_MISMATCH,
                      "no function takes dtype '%s'", shown);
}

// Reads an array of at most `most` whole numbers.
static fc_status_t read_numbers(const fc_safetensors_t *file, uint64_t *out,
                                size_t most, size_t *out_count,
                                fc_error_t *err) {
  fc_json_token_t stop = FC_JSON_ARRAY_END;
  FC_TRY(expect(file, FC_JSON_ARRAY_BEGIN, err));
  FC_TRY(fc_json_read_elements(file->reader, FC_DTYPE_UI64, out, most,
                               out_count, &stop, err));
  return stop == FC_JSON_ARRAY_END || *out_count == most
             ? FC_OK
             : fc_safetensors_fail(file, "expected an array of whole numbers",
                                   err);
}

static fc_status_t read_shape(void *context, fc_error_t *err) {
  const entry_t *entry = context;
  fc_safetensor_t *tensor = entry->tensor;
  uint64_t dims[FC_RANK_MAX + 1];
  size_t count = 0;
  FC_TRY(read_numbers(entry->file, dims, FC_ARRAY_COUNT(dims), &count, err));
  if (count > FC_RANK_MAX) {
    return fc_safetensors_fail(entry->file, "too many dims", err);
  }
  for (size_t i = 0; i < count; i++) {
    if (dims[i] > INT64_MAX) {
      return fc_safetensors_fail(entry->file, "too large a dim", err);
    }
    tensor->dims[i] = (int64_t)dims[i];
  }
  tensor->rank = (int32_t)count;
  return FC_OK;
}

// Reads [begin, end], the range of a tensor in the data.
static fc_status_t read_range(void *context, fc_error_t *err) {
  const entry_t *entry = context;
  const fc_str_t data = entry->file->data;
  uint64_t ends[3];
  size_t count = 0;
  FC_TRY(read_numbers(entry->file, ends, FC_ARRAY_COUNT(ends), &count, err));
  if (count != 2 || ends[0] > ends[1] || ends[1] > data.size) {
    return fc_safetensors_fail(entry->file,
                               "data_offsets are no range of the data", err);
  }
  entry->tensor->offset = ends[0];
  entry->tensor->bytes =
      fc_str_make(data.data + ends[0], (size_t)(ends[1] - ends[0]));
  return FC_OK;
}

fc_status_t fc_safetensors_read(const fc_safetensors_t *file,
                                fc_safetensor_t *out_tensor, fc_error_t *err) {
  static const fc_json_member_t kRows[] = {
      {FC_STR("data_offsets"), read_range, NULL},
      {FC_STR("dtype"), read_dtype, NULL},
      {FC_STR("shape"), read_shape, NULL}};
  entry_t entry = {file, out_tensor};
  out_tensor->dtype = FC_DTYPE_NONE;
  out_tensor->rank = -1;
  out_tensor->bytes = (fc_str_t){0};
  FC_TRY(expect(file, FC_JSON_OBJECT_BEGIN, err));
  return fc_json_read_members(file->reader, kRows,
                              file->typed ? FC_ARRAY_COUNT(kRows) : 1, &entry,
                              err);
}

// ---------------------------------------------------------------------------
// The file

bool fc_safetensors_cut(fc_str_t file, fc_str_t *out_head, fc_str_t *out_data) {
  uint64_t size = 0;
  if (file.size >= sizeof size) size = fc_load_u64((const uint8_t *)file.data);
  if (size < 2 || size > file.size - sizeof size) return false;
  *out_head = fc_str_make(file.data + sizeof size, (size_t)size);
  *out_data = fc_str_make(out_head->data + size,
                          file.size - sizeof size - (size_t)size);
  return true;
}

fc_status_t fc_safetensors_next(const fc_safetensors_t *file, bool *out_more,
                                fc_error_t *err) {
  fc_json_token_t token;
  if (!file->reader->depth) FC_TRY(expect(file, FC_JSON_OBJECT_BEGIN, err));
  for (;;) {
    FC_TRY(fc_json_next(file->reader, &token, err));
    *out_more = token == FC_JSON_KEY;
    if (!*out_more) return fc_json_next(file->reader, &token, err);
    if (!fc_json_text_is(file->reader, FC_STR("__metadata__"))) return FC_OK;
    FC_TRY(fc_json_next(file->reader, &token, err));
    FC_TRY(fc_json_skip(file->reader, token, err));
  }
}
