// SPDX-License-Identifier: Apache-2.0
//
// Reads the byte strings of an input, as JSON or raw. "data" may stand before "shape", so
// how deep it is nested is compared with "shape" only when both were read.
#include "marshal/strings.h"

#include "marshal/bytes.h"
#include "marshal/read.h"

// Makes room for one more byte string. A BYTES is only one.
static fc_status_t next_item(fc_frame_t *frame, fc_strings_t *texts,
                             fc_error_t *err) {
  if (texts->count < texts->capacity) return FC_OK;
  const bool one = texts->op->kind == FC_TYPE_BYTES;
  if (one && texts->count) {
    return fc_json_fail(&frame->reader, err, FC_CODE_DATA_LENGTH,
                        "more than one element");
  }
  return fc_list_grow(frame, &texts->items, texts->count, &texts->capacity,
                      one ? 1 : 16, err);
}

static const fc_op_t *element_of(const fc_strings_t *texts) {
  return texts->op->kind == FC_TYPE_BYTES ? texts->op : fc_op_child(texts->op);
}

static fc_status_t ragged(const fc_frame_t *frame, fc_error_t *err) {
  return fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                      "the elements are nested unevenly");
}

// The open arrays, by depth: how many elements each has so far.
typedef struct nesting_t {
  int32_t depth;
  bool known;  // the rank is known: an element was read, or an array has ended
  int64_t counts[FC_RANK_MAX];
} nesting_t;

static fc_status_t open_array(fc_frame_t *frame, const fc_strings_t *texts,
                              nesting_t *nesting, fc_error_t *err) {
  const int32_t most = nesting->known ? texts->rank : FC_RANK_MAX;
  if (nesting->depth >= most) return ragged(frame, err);
  nesting->counts[nesting->depth++] = 0;
  return FC_OK;
}

static fc_status_t close_array(fc_frame_t *frame, fc_strings_t *texts,
                               nesting_t *nesting, fc_error_t *err) {
  if (!nesting->known) texts->rank = nesting->depth;
  nesting->known = true;
  const int64_t count = nesting->counts[--nesting->depth];
  int64_t *dim = &texts->dims[nesting->depth];
  if (*dim < 0) *dim = count;
  return count == *dim ? FC_OK : ragged(frame, err);
}

static fc_status_t read_item(fc_frame_t *frame, fc_strings_t *texts,
                             nesting_t *nesting, fc_json_token_t token,
                             fc_error_t *err) {
  if (!nesting->known) texts->rank = nesting->depth;
  nesting->known = true;
  if (nesting->depth != texts->rank) return ragged(frame, err);
  FC_TRY(next_item(frame, texts, err));
  return fc_bytes_decode(frame, element_of(texts), token,
                         &texts->items[texts->count++], err);
}

fc_status_t fc_strings_read(fc_frame_t *frame, fc_strings_t *texts,
                            fc_json_token_t token, fc_error_t *err) {
  nesting_t nesting = {.depth = 0};
  for (int32_t i = 0; i < FC_RANK_MAX; i++) texts->dims[i] = -1;
  for (;;) {
    if (token == FC_JSON_ARRAY_END) {
      FC_TRY(close_array(frame, texts, &nesting, err));
    } else {
      if (nesting.depth) nesting.counts[nesting.depth - 1]++;
      FC_TRY(token == FC_JSON_ARRAY_BEGIN
                 ? open_array(frame, texts, &nesting, err)
                 : read_item(frame, texts, &nesting, token, err));
    }
    if (!nesting.depth) return FC_OK;
    FC_TRY(fc_json_next(&frame->reader, &token, err));
  }
}

static uint32_t read_u32(const char *data) {
  const uint8_t *bytes = (const uint8_t *)data;
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
         (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

fc_status_t fc_strings_add(fc_frame_t *frame, fc_strings_t *texts,
                           fc_str_t text, fc_error_t *err) {
  FC_TRY(next_item(frame, texts, err));
  FC_TRY(fc_bytes_take(frame, element_of(texts), text,
                       &texts->items[texts->count++], err));
  texts->rank = 1;
  texts->dims[0] = (int64_t)texts->count;
  return texts->count % 16384 ? FC_OK : fc_stop_look(&frame->stop, err);
}

fc_status_t fc_strings_take(fc_frame_t *frame, fc_strings_t *texts,
                            fc_str_t bytes, fc_error_t *err) {
  while (bytes.size) {
    if (bytes.size < 4 || read_u32(bytes.data) > bytes.size - 4) {
      return fc_json_fail(&frame->reader, err, FC_CODE_BINARY_FRAMING,
                          "an element of BYTES is its size in four bytes, and "
                          "so many bytes");
    }
    const fc_str_t text = fc_str_make(bytes.data + 4, read_u32(bytes.data));
    FC_TRY(fc_strings_add(frame, texts, text, err));
    bytes = fc_str_make(text.data + text.size, bytes.size - 4 - text.size);
  }
  return FC_OK;
}

fc_status_t fc_strings_check_one(fc_frame_t *frame, const fc_typed_t *typed,
                                 fc_error_t *err) {
  int32_t i = 0;
  while (i < typed->rank && typed->dims[i] == 1) i++;
  if (i == typed->rank) return FC_OK;
  fc_status_t status = fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                                    "one value has a shape of ones: [] or [1]");
  fc_error_expected(err, "[] or [1]");
  return status;
}

static fc_status_t check(const fc_frame_t *frame, const fc_strings_t *texts,
                         const fc_typed_t *typed, fc_error_t *err) {
  size_t count = 0, size;
  if (!fc_shape_count(typed->dims, typed->rank, FC_DTYPE_I8, &count, &size) ||
      count != texts->count) {
    fc_status_t status =
        fc_json_fail(&frame->reader, err, FC_CODE_DATA_LENGTH,
                     "%zu elements for a shape of %zu", texts->count, count);
    fc_error_expected(err, "%zu elements", count);
    return status;
  }
  if (texts->rank < 2 || (texts->rank == typed->rank &&
                          !memcmp(texts->dims, typed->dims,
                                  (size_t)texts->rank * sizeof *texts->dims))) {
    return FC_OK;
  }
  return fc_json_fail(&frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                      "the elements are nested in another way than the shape "
                      "says");
}

fc_status_t fc_strings_finish(fc_frame_t *frame, const fc_strings_t *texts,
                              const fc_typed_t *typed, fc_value_t *dest,
                              fc_error_t *err) {
  FC_TRY(check(frame, texts, typed, err));
  if (texts->op->kind == FC_TYPE_BYTES) {
    *dest = texts->items[0];
    return FC_OK;
  }
  if (texts->op->kind == FC_TYPE_LIST) {
    fc_list_set(dest, texts->items, texts->count);
    return FC_OK;
  }
  fc_frame_bind_dims(frame, texts->op, typed->dims);
  return fc_list_set_array(frame, texts->items, texts->count, typed->dims,
                           typed->rank, dest, err);
}
