// SPDX-License-Identifier: Apache-2.0
//
// Zip files in memory, as far as .npz files need them: entries that are stored or
// deflated, found through the directory at the end. Nothing in a file is believed before
// it is checked. Not supported: files of 4 GiB, several parts, encryption. Any thread.
#ifndef FARCALL_VALUE_ZIP_H_
#define FARCALL_VALUE_ZIP_H_

#include "base/inflate.h"

typedef struct fc_zip_t {
  fc_str_t file;
  size_t at;       // where the directory's next entry begins
  size_t end;      // where the directory ends
  uint32_t count;  // entries still to come
  size_t used;     // where the bytes of the previous entry end
} fc_zip_t;

typedef struct fc_zip_entry_t {
  fc_str_t name;    // in the file
  fc_str_t packed;  // in the file
  uint32_t size;    // once it is inflated
  uint32_t crc;
  bool deflated;
} fc_zip_entry_t;

// Finds the directory. fc_zip_open, fc_zip_next and fc_zip_read fail with
// FC_CODE_BINARY_FRAMING when the file is no zip file of this kind; the message says what
// is wrong.
fc_status_t fc_zip_open(fc_str_t file, fc_zip_t *out_zip, fc_error_t *err);
// Reads the next entry of the directory. *out_more is false when there is none,
// and then *out_entry is not set.
fc_status_t fc_zip_next(fc_zip_t *zip, fc_zip_entry_t *out_entry,
                        bool *out_more, fc_error_t *err);
// Reads the content of an entry and checks its size and checksum. A stored entry stays
// in the file: *out_bytes points there, `limit` does not count, and `text` may be NULL.
// A deflated entry is decompressed and appended to `text`, at most `limit` bytes (for
// the errors see fc_inflate), and *out_bytes points there until `text` is written to
// again. From time to time it checks whether the call must end (fc_stop_look).
fc_status_t fc_zip_read(const fc_zip_entry_t *entry, size_t limit,
                        fc_text_t *text, const fc_stop_t *stop,
                        fc_str_t *out_bytes, fc_error_t *err);

// One entry to write, without compression: `head` and `data` one after the other.
typedef struct fc_zip_part_t {
  fc_str_t name;
  fc_str_t head;
  fc_str_t data;
  uint32_t crc;     // set by fc_zip_print
  uint32_t offset;  // set by fc_zip_print
} fc_zip_part_t;
// Writes a zip file of these entries. FC_CODE_RESULT_TOO_LARGE from 4 GiB or 65536
// entries on, or when a name has 65536 bytes or more.
fc_status_t fc_zip_print(fc_zip_part_t *parts, uint32_t count, fc_sink_t *sink,
                         fc_error_t *err);

#endif  // FARCALL_VALUE_ZIP_H_
