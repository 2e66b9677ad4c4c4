// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON into a sink: strings escaped, base64, elements of any dtype, whole
// strided arrays as nested lists. The caller writes the punctuation between values by
// fc_sink_put, except in fc_json_print and fc_json_write_array. One thread at a time.
#ifndef FARCALL_JSON_WRITER_H_
#define FARCALL_JSON_WRITER_H_

#include <stdarg.h>

#include "base/stop.h"
#include "farcall/type.h"

// Writes `text` in quotes, escaped. Bytes outside UTF-8 become U+FFFD; if that
// matters, call fc_utf8_is_valid (base/utf8.h) first.
fc_status_t fc_json_write_string(fc_sink_t *sink, fc_str_t text,
                                 fc_error_t *err);
// Writes a document from a format, in which ' stands for a quote:
// {'name':'%s','size':%u}. Conversions are %s, %.*s, %d, %u, %ld, %lu and %zu; integers
// of 64 bits are long. A text that fills its quotes, '%s' or '%.*s', is escaped; other
// texts are written as they are.
fc_status_t fc_json_print(fc_sink_t *sink, fc_error_t *err, const char *format,
                          ...) FC_PRINTF(3, 4);
fc_status_t fc_json_vprint(fc_sink_t *sink, fc_error_t *err, const char *format,
                           va_list args) FC_PRINTF(3, 0);
// Writes the bytes as RFC 4648 base64, padded, in quotes.
fc_status_t fc_json_write_base64(fc_sink_t *sink, const void *data, size_t size,
                                 fc_error_t *err);
// Decodes RFC 4648 base64 (padding required, no whitespace) into `out`, which has room
// for size / 4 * 3 bytes. FC_CODE_BASE64 with the position of the wrong character, or
// with the size if it is not a multiple of 4. From time to time it checks whether the
// call must end (fc_stop_look).
fc_status_t fc_base64_decode(fc_str_t text, uint8_t *out, const fc_stop_t *stop,
                             size_t *out_size, fc_error_t *err);
fc_status_t fc_json_write_i64(fc_sink_t *sink, int64_t value, fc_error_t *err);
fc_status_t fc_json_write_u64(fc_sink_t *sink, uint64_t value, fc_error_t *err);
// Writes one element. With `int_strings`, integers of more than 53 bits are put in quotes.
fc_status_t fc_json_write_element(fc_sink_t *sink, fc_dtype_t dtype,
                                  const void *element, bool int_strings,
                                  fc_error_t *err);
// Writes nested arrays, `rank` deep; for rank 0 only the element. `strides` count
// elements, NULL means dense row-major; `data` is the address of element (0,…,0). `rank`
// is at most FC_RANK_MAX. A dim of 0 contains no arrays: shape (2, 0, 3) gives [[],[]].
fc_status_t fc_json_write_array(fc_sink_t *sink, fc_dtype_t dtype, int32_t rank,
                                const int64_t *shape, const int64_t *strides,
                                const void *data, bool int_strings,
                                fc_error_t *err);

#endif  // FARCALL_JSON_WRITER_H_
