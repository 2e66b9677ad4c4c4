// SPDX-License-Identifier: Apache-2.0
//
// Zip files in memory, as far as .npz files are one: entries that are stored or
// deflated, found through the directory at the end. Nothing in a file is believed
// before it is checked. Not here: files of 4 GiB, several parts, encryption. Any
// thread.
#ifndef FARCALL_VALUE_ZIP_H_
#define FARCALL_VALUE_ZIP_H_

#include "base/inflate.h"

typedef struct fc_zip_t {
  fc_str_t file;
  size_t at;       // of the next entry of the directory
  size_t end;      // of the directory
  uint32_t count;  // entries still to come
  size_t used;     // up to here bytes belong to entries that came
} fc_zip_t;

typedef struct fc_zip_entry_t {
  fc_str_t name;    // in the file
  fc_str_t packed;  // in the file
  uint32_t size;    // once it is inflated
  uint32_t crc;
  bool deflated;
} fc_zip_entry_t;

// FC_CODE_BINARY_FRAMING says what is wrong, here and below.
fc_status_t fc_zip_open(fc_str_t file, fc_zip_t *out_zip, fc_error_t *err);
// *out_more is false when there is none left, and then *out_entry is not set.
fc_status_t fc_zip_next(fc_zip_t *zip, fc_zip_entry_t *out_entry,
                        bool *out_more, fc_error_t *err);
// The bytes of an entry: where they are stored, or inflated into `text`, at most
// `limit` of them. Their checksum is right.
fc_status_t fc_zip_read(const fc_zip_entry_t *entry, size_t limit,
                        fc_text_t *text, fc_str_t *out_bytes, fc_error_t *err);

// One entry to write, stored: `head` and `data` one after the other.
typedef struct fc_zip_part_t {
  fc_str_t name;
  fc_str_t head;
  fc_str_t data;
  uint32_t crc;     // set by fc_zip_print
  uint32_t offset;  // and that
} fc_zip_part_t;
// FC_CODE_RESULT_TOO_LARGE from 4 GiB on.
fc_status_t fc_zip_print(fc_zip_part_t *parts, uint32_t count, fc_sink_t *sink,
                         fc_error_t *err);

#endif  // FARCALL_VALUE_ZIP_H_
