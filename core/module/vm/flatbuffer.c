// SPDX-License-Identifier: Apache-2.0
//
// The checked flatbuffer reader (format: flatbuffers.dev, "internals"). All
// arithmetic uses 64 bits for 32-bit positions, so that no sum can overflow.
// The reader does not know IREE's schema. Any thread.
#include "module/vm/flatbuffer.h"

#include <inttypes.h>

#include "base/load.h"

#define VTABLE_HEADER 4  // two u16: its own size, the table's

static fc_status_t refuse(fc_error_t *err, uint64_t offset, const char *what,
                          const char *problem) {
  fc_fail(err, FC_CODE_VMFB_INVALID, "%s: %s at byte %" PRIu64, what, problem,
          offset);
  if (err) err->byte_offset = offset;
  return FC_INVALID_ARGUMENT;
}

static bool inside(fc_fb_t buffer, uint64_t position, uint64_t size) {
  return position <= buffer.size && size <= buffer.size - position;
}

static fc_status_t open_table(fc_fb_t buffer, uint64_t position,
                              const char *what, fc_fb_table_t *out,
                              fc_error_t *err) {
  if (!inside(buffer, position, 4)) {
    return refuse(err, position, what, "table outside the file");
  }
  int32_t back = (int32_t)fc_load_u32(buffer.data + position);
  int64_t vtable = (int64_t)position - back;
  if (vtable < 0 || !inside(buffer, (uint64_t)vtable, VTABLE_HEADER)) {
    return refuse(err, position, what, "vtable outside the file");
  }
  uint32_t vtable_size = fc_load_u16(buffer.data + vtable);
  uint32_t table_size = fc_load_u16(buffer.data + vtable + 2);
  if (vtable_size < VTABLE_HEADER || vtable_size % 2 ||
      !inside(buffer, (uint64_t)vtable, vtable_size)) {
    return refuse(err, (uint64_t)vtable, what, "bad vtable size");
  }
  if (table_size < 4 || !inside(buffer, position, table_size)) {
    return refuse(err, position, what, "bad table size");
  }
  *out = (fc_fb_table_t){.buffer = buffer,
                         .position = (uint32_t)position,
                         .size = table_size,
                         .vtable = (uint32_t)vtable,
                         .field_count = (vtable_size - VTABLE_HEADER) / 2};
  return FC_OK;
}

fc_status_t fc_fb_root(fc_fb_t buffer, fc_fb_table_t *out_table,
                       fc_error_t *err) {
  if (!inside(buffer, 0, 8)) return refuse(err, 0, "module", "no root");
  return open_table(buffer, fc_load_u32(buffer.data), "module", out_table, err);
}

// Returns the offset of the field in the table; 0 when the field is absent.
static uint32_t field_offset(const fc_fb_table_t *table, uint32_t id) {
  if (id >= table->field_count) return 0;
  return fc_load_u16(table->buffer.data + table->vtable + VTABLE_HEADER +
                     2 * id);
}

bool fc_fb_has(const fc_fb_table_t *table, uint32_t id) {
  return field_offset(table, id) != 0;
}

// Finds the field's `size` inline bytes; *out is NULL when the field is absent.
static fc_status_t find_field(const fc_fb_table_t *table, uint32_t id,
                              const char *what, uint32_t size,
                              const uint8_t **out, fc_error_t *err) {
  uint32_t offset = field_offset(table, id);
  *out = NULL;
  if (!offset) return FC_OK;
  if (offset < 4 || offset > table->size || size > table->size - offset) {
    return refuse(err, table->position, what, "field outside its table");
  }
  *out = table->buffer.data + table->position + offset;
  return FC_OK;
}

fc_status_t fc_fb_u8(const fc_fb_table_t *table, uint32_t id, const char *what,
                     uint8_t fallback, uint8_t *out, fc_error_t *err) {
  const uint8_t *field;
  FC_TRY(find_field(table, id, what, 1, &field, err));
  *out = field ? *field : fallback;
  return FC_OK;
}

fc_status_t fc_fb_u32(const fc_fb_table_t *table, uint32_t id, const char *what,
                      uint32_t fallback, uint32_t *out, fc_error_t *err) {
  const uint8_t *field;
  FC_TRY(find_field(table, id, what, 4, &field, err));
  *out = field ? fc_load_u32(field) : fallback;
  return FC_OK;
}

fc_status_t fc_fb_u64(const fc_fb_table_t *table, uint32_t id, const char *what,
                      uint64_t fallback, uint64_t *out, fc_error_t *err) {
  const uint8_t *field;
  FC_TRY(find_field(table, id, what, 8, &field, err));
  *out = field ? fc_load_u64(field) : fallback;
  return FC_OK;
}

// Follows the field's offset; *out is 0 when the field is absent.
static fc_status_t follow(const fc_fb_table_t *table, uint32_t id,
                          const char *what, uint64_t *out, fc_error_t *err) {
  const uint8_t *field;
  FC_TRY(find_field(table, id, what, 4, &field, err));
  *out = 0;
  if (!field) return FC_OK;
  uint64_t position = (uint64_t)(field - table->buffer.data);
  *out = position + fc_load_u32(field);
  if (*out == position) return refuse(err, position, what, "null offset");
  return FC_OK;
}

static fc_status_t open_vector(fc_fb_t buffer, uint64_t position,
                               const char *what, uint32_t stride,
                               fc_fb_vector_t *out, fc_error_t *err) {
  if (!inside(buffer, position, 4)) {
    return refuse(err, position, what, "vector outside the file");
  }
  uint32_t count = fc_load_u32(buffer.data + position);
  if (!inside(buffer, position + 4, (uint64_t)count * stride)) {
    return refuse(err, position, what, "vector passes the end of the file");
  }
  *out = (fc_fb_vector_t){buffer, (uint32_t)position + 4, count};
  return FC_OK;
}

fc_status_t fc_fb_vector(const fc_fb_table_t *table, uint32_t id,
                         const char *what, uint32_t stride, fc_fb_vector_t *out,
                         fc_error_t *err) {
  uint64_t position;
  *out = (fc_fb_vector_t){0};
  FC_TRY(follow(table, id, what, &position, err));
  if (!position) return FC_OK;
  return open_vector(table->buffer, position, what, stride, out, err);
}

fc_status_t fc_fb_string(const fc_fb_table_t *table, uint32_t id,
                         const char *what, fc_str_t *out, fc_error_t *err) {
  fc_fb_vector_t bytes;
  *out = (fc_str_t){0};
  FC_TRY(fc_fb_vector(table, id, what, 1, &bytes, err));
  uint64_t *left = table->buffer.text_left;
  if (left && bytes.count > *left) {
    return refuse(err, bytes.position, what, "too much text in all");
  }
  if (left) *left -= bytes.count;
  if (bytes.count) {
    *out = fc_str_make((const char *)bytes.buffer.data + bytes.position,
                       bytes.count);
  }
  return FC_OK;
}

fc_status_t fc_fb_table(const fc_fb_table_t *table, uint32_t id,
                        const char *what, fc_fb_table_t *out, fc_error_t *err) {
  uint64_t position;
  *out = (fc_fb_table_t){0};
  FC_TRY(follow(table, id, what, &position, err));
  if (!position) return FC_OK;
  return open_table(table->buffer, position, what, out, err);
}

fc_status_t fc_fb_vector_table(const fc_fb_vector_t *vector, uint32_t index,
                               const char *what, fc_fb_table_t *out,
                               fc_error_t *err) {
  FC_ASSERT(index < vector->count);
  uint64_t position = vector->position + 4ull * index;
  uint64_t offset = fc_load_u32(vector->buffer.data + position);
  return open_table(vector->buffer, position + offset, what, out, err);
}
