// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of values that all readers share (read.h). Called by the readers of
// call documents and of protocols' requests, on a worker.
#include "marshal/read.h"

fc_status_t fc_read_text(fc_frame_t *frame, fc_str_t *out_text,
                         fc_error_t *err) {
  fc_str_t raw = frame->reader.text;
  *out_text = raw;
  if (!frame->reader.escaped) return FC_OK;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, raw.size + 1, 1, &memory, err));
  out_text->data = memory;
  return fc_json_unescape_text(&frame->reader, memory, &out_text->size, err);
}

fc_status_t fc_read_missing(fc_frame_t *frame, const char *name,
                            fc_error_t *err) {
  fc_status_t status = fc_json_fail(&frame->reader, err, FC_CODE_MISSING_KEY,
                                    "a typed value needs '%s'", name);
  fc_error_expected(err, "%s", name);
  return status;
}

fc_status_t fc_read_name(fc_frame_t *frame, fc_str_t *out_name,
                         fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token != FC_JSON_STRING) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            "the name of a value", err);
  }
  return fc_read_text(frame, out_name, err);
}

fc_status_t fc_read_reference(fc_frame_t *frame, const fc_op_t *op,
                              fc_value_t *dest, fc_error_t *err) {
  fc_str_t name;
  fc_json_token_t token;
  if (!frame->ways) return fc_read_stored(frame, op, FC_STR(""), dest, err);
  FC_TRY(fc_read_name(frame, &name, err));
  FC_TRY(fc_read_stored(frame, op, name, dest, err));
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token == FC_JSON_OBJECT_END) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                      "'ref' stands alone in its object");
}

fc_status_t fc_read_stored(fc_frame_t *frame, const fc_op_t *op, fc_str_t name,
                           fc_value_t *dest, fc_error_t *err) {
  if (frame->ways) return frame->ways->give(frame, op, name, dest, err);
  return fc_json_fail(&frame->reader, err, FC_CODE_REFERENCE_UNKNOWN,
                      "there are no values to name: the call belongs to no "
                      "session");
}

fc_status_t fc_list_grow(fc_frame_t *frame, fc_value_t **items, size_t count,
                         size_t *capacity, size_t first, fc_error_t *err) {
  if (count < *capacity) return FC_OK;
  const size_t wanted = *capacity ? *capacity * 2 : first;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, wanted, sizeof **items, &memory, err));
  if (count) memcpy(memory, *items, count * sizeof **items);
  *items = memory;
  *capacity = wanted;
  return FC_OK;
}

fc_status_t fc_list_set_array(fc_frame_t *frame, fc_value_t *items,
                              size_t count, const int64_t *dims, int32_t rank,
                              fc_value_t *dest, fc_error_t *err) {
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, (size_t)rank + 2, sizeof(fc_value_t), &memory,
                        err));
  fc_value_t *both = memory, *sizes = both + 2;
  for (int32_t i = 0; i < rank; i++) {
    sizes[i] = (fc_value_t){.kind = FC_VALUE_SCALAR,
                            .dtype = FC_DTYPE_I64,
                            .scalar = {.i64 = dims[i] < 0 ? 0 : dims[i]}};
  }
  fc_list_set(&both[0], items, count);
  fc_list_set(&both[1], sizes, (size_t)rank);
  fc_list_set(dest, both, 2);
  return FC_OK;
}

static const fc_str_t kRawSize = FC_STR("binary_data_size");

fc_status_t fc_read_split(fc_frame_t *frame, fc_str_t *body, uint64_t document,
                          fc_error_t *err) {
  if (document > body->size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "Inference-Header-Content-Length is %llu, the body has %zu "
                   "bytes",
                   (unsigned long long)document, body->size);
  }
  frame->raw =
      fc_str_make(body->data + document, body->size - (size_t)document);
  body->size = (size_t)document;
  return FC_OK;
}

fc_status_t fc_read_take_raw(fc_frame_t *frame, uint64_t size,
                             fc_str_t *out_bytes, fc_error_t *err) {
  if (size > frame->raw.size) {
    return fc_json_fail(&frame->reader, err, FC_CODE_BINARY_FRAMING,
                        "binary_data_size is %llu, the body has %zu bytes left",
                        (unsigned long long)size, frame->raw.size);
  }
  *out_bytes = fc_str_make(frame->raw.data, (size_t)size);
  frame->raw.data += size;
  frame->raw.size -= (size_t)size;
  return FC_OK;
}

fc_status_t fc_read_raw(fc_frame_t *frame, fc_str_t *out_bytes,
                        fc_error_t *err) {
  fc_json_token_t token;
  uint64_t size = 0;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_UI64, &size, err));
  return fc_read_take_raw(frame, size, out_bytes, err);
}

bool fc_read_names_raw(const fc_frame_t *frame) {
  return frame->framed && fc_json_text_is(&frame->reader, kRawSize);
}
