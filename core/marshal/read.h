// SPDX-License-Identifier: Apache-2.0
//
// Shared by the readers of values: the text of a token, lists, raw bytes after the
// document. Private to the marshaller.
#ifndef FARCALL_MARSHAL_READ_H_
#define FARCALL_MARSHAL_READ_H_

#include "marshal/frame.h"

// Gets the content of the string or key just read, unescaped. It is valid as long as the
// call.
fc_status_t fc_read_text(fc_frame_t *frame, fc_str_t *out_text,
                         fc_error_t *err);
// Reads the name of a value of a store.
fc_status_t fc_read_name(fc_frame_t *frame, fc_str_t *out_name,
                         fc_error_t *err);
// Gives an argument the value of this name in the call's store.
// FC_CODE_REFERENCE_UNKNOWN: the call has no store, or the store has no value of this
// name. FC_CODE_TYPE_MISMATCH: the value has another type. FC_CODE_DUPLICATE_ARGUMENT:
// the value is given twice, and the function may write to it.
fc_status_t fc_read_stored(fc_frame_t *frame, const fc_op_t *op, fc_str_t name,
                           fc_value_t *dest, fc_error_t *err);
// Reads {"ref":NAME}, whose key was just read, to its end, and calls fc_read_stored.
fc_status_t fc_read_reference(fc_frame_t *frame, const fc_op_t *op,
                              fc_value_t *dest, fc_error_t *err);
// Fails because the member `name` of a value is missing.
fc_status_t fc_read_missing(fc_frame_t *frame, const char *name,
                            fc_error_t *err);

// Makes room for one more item after `count` items: for `first` items at the beginning,
// then for twice as many each time.
fc_status_t fc_list_grow(fc_frame_t *frame, fc_value_t **items, size_t count,
                         size_t *capacity, size_t first, fc_error_t *err);
static inline void fc_list_set(fc_value_t *dest, fc_value_t *items,
                               size_t count) {
  if (!dest) return;
  *dest = (fc_value_t){.kind = FC_VALUE_LIST, .list = {items, count}};
}
// Makes an array of references a list of two lists: its elements and its dims. Dims
// inside an empty array are unknown: they are below 0 in `dims`, and 0 in the list.
fc_status_t fc_list_set_array(fc_frame_t *frame, fc_value_t *items,
                              size_t count, const int64_t *dims, int32_t rank,
                              fc_value_t *dest, fc_error_t *err);

// Cuts *body after its first `document` bytes, which are the document; the rest are the
// call's raw bytes. FC_CODE_BINARY_FRAMING when the body is shorter.
fc_status_t fc_read_split(fc_frame_t *frame, fc_str_t *body, uint64_t document,
                          fc_error_t *err);
// True when the key just read is "binary_data_size", and raw bytes may follow the
// document.
bool fc_read_names_raw(const fc_frame_t *frame);
// fc_read_take_raw gets the next `size` raw bytes. fc_read_raw reads the value of
// "binary_data_size", and gets that many bytes. FC_CODE_BINARY_FRAMING when there are
// fewer.
fc_status_t fc_read_take_raw(fc_frame_t *frame, uint64_t size,
                             fc_str_t *out_bytes, fc_error_t *err);
fc_status_t fc_read_raw(fc_frame_t *frame, fc_str_t *out_bytes,
                        fc_error_t *err);

#endif  // FARCALL_MARSHAL_READ_H_
