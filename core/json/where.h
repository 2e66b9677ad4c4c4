// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: shared by reader.c and where.c.
#ifndef FARCALL_CORE_JSON_WHERE_H_
#define FARCALL_CORE_JSON_WHERE_H_

#include "json/reader.h"

// The reader's states. A name tells what may come next.
enum {
  FC_JSON_AT_VALUE,        // a value
  FC_JSON_AT_FIRST_VALUE,  // a value or ]
  FC_JSON_AT_FIRST_KEY,    // a key or }
  FC_JSON_AT_KEY,          // a key
  FC_JSON_AT_COLON,
  FC_JSON_AT_COMMA,  // a comma or the container's end; outside, the document's end
};

static inline uint64_t fc_json_offset_of(const fc_json_reader_t *reader,
                                         const char *at) {
  return reader->base + (uint64_t)(at - reader->begin);
}

// Adds the offset of `at` and the pointer to an error whose message is already written.
// Returns `status`.
fc_status_t fc_json_fail_at(const fc_json_reader_t *reader, const char *at,
                            fc_status_t status, fc_error_t *err);
// Fails because the text at `at` is not `wanted`.
fc_status_t fc_json_fail_unexpected(const fc_json_reader_t *reader,
                                    const char *at, const char *wanted,
                                    fc_error_t *err);
#endif  // FARCALL_CORE_JSON_WHERE_H_
