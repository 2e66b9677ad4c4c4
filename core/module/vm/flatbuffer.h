// SPDX-License-Identifier: Apache-2.0
//
// A reader of flatbuffers that checks every access against the buffer, so hostile bytes
// need no check before. Used when a module is read: at load, and when a VMVX
// executable is made. Positions are offsets from the start of the buffer. Every failure
// is FC_CODE_VMFB_INVALID with the byte offset in the buffer and `what`, the path of
// the field.
#ifndef FARCALL_CORE_MODULE_VM_FLATBUFFER_H_
#define FARCALL_CORE_MODULE_VM_FLATBUFFER_H_

#include "farcall/base.h"

typedef struct fc_fb_t {
  const uint8_t *data;  // borrowed
  uint32_t size;
  // How many more bytes of strings may be read; NULL: no limit. The limit is needed
  // because many tables can name the same long string, which is read again for each.
  uint64_t *text_left;
} fc_fb_t;

// A table whose extent and vtable lie in the buffer. A zeroed table stands for an absent
// one: all its fields are absent.
typedef struct fc_fb_table_t {
  fc_fb_t buffer;
  uint32_t position;
  uint32_t size;  // bytes of the inline part
  uint32_t vtable;
  uint32_t field_count;
} fc_fb_table_t;

// A vector of `count` elements at `position`. Each has the `stride` that was passed to
// fc_fb_vector, and all of them lie in the buffer.
typedef struct fc_fb_vector_t {
  fc_fb_t buffer;
  uint32_t position;
  uint32_t count;
} fc_fb_vector_t;

fc_status_t fc_fb_root(fc_fb_t buffer, fc_fb_table_t *out_table,
                       fc_error_t *err) FC_MUST_CHECK;
bool fc_fb_has(const fc_fb_table_t *table, uint32_t id);

// Reads a number; `fallback` if the field is absent.
fc_status_t fc_fb_u8(const fc_fb_table_t *table, uint32_t id, const char *what,
                     uint8_t fallback, uint8_t *out,
                     fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_fb_u32(const fc_fb_table_t *table, uint32_t id, const char *what,
                      uint32_t fallback, uint32_t *out,
                      fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_fb_u64(const fc_fb_table_t *table, uint32_t id, const char *what,
                      uint64_t fallback, uint64_t *out,
                      fc_error_t *err) FC_MUST_CHECK;

// Reads a string, table or vector; *out is zeroed if the field is absent.
fc_status_t fc_fb_string(const fc_fb_table_t *table, uint32_t id,
                         const char *what, fc_str_t *out,
                         fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_fb_table(const fc_fb_table_t *table, uint32_t id,
                        const char *what, fc_fb_table_t *out,
                        fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_fb_vector(const fc_fb_table_t *table, uint32_t id,
                         const char *what, uint32_t stride, fc_fb_vector_t *out,
                         fc_error_t *err) FC_MUST_CHECK;
// Element `index` < count of a vector of tables (stride 4).
fc_status_t fc_fb_vector_table(const fc_fb_vector_t *vector, uint32_t index,
                               const char *what, fc_fb_table_t *out,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_FLATBUFFER_H_
