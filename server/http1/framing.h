// SPDX-License-Identifier: Apache-2.0
//
// The framing validator runs before llhttp. It scans bytes, finds the end of a head and
// of a chunked body, and refuses, at the first bad byte, lines that two HTTP parsers
// might read differently (RFC 9112 sections 2-7). llhttp itself would accept extra
// spaces, other protocols, and chunk lines and trailers of any length. llhttp gets only
// bytes that passed here, and only whole heads, so the result does not depend on how the
// bytes were split. parser.c checks the fields of a head against each other. Used by
// receive.c on the loop thread. The scanner stores no text except the name of a trailer,
// and never allocates.
#ifndef FARCALL_SERVER_HTTP1_FRAMING_H_
#define FARCALL_SERVER_HTTP1_FRAMING_H_

#include "farcall/base.h"

// A zeroed struct is ready for a message.
typedef struct fc_framing_t {
  uint8_t state;
  uint8_t name_size;  // bytes of `name`, the trailer's name gathered so far
  // In lower case, cut one byte after the longest forbidden name.
  char name[18];
  uint32_t line_size;   // bytes of the part being scanned
  uint32_t size;        // bytes of the field lines or trailers, without LFs
  uint32_t fields;      // field lines; before the method: empty lines
  uint32_t extensions;  // bytes of all chunk extensions
  uint64_t offset;      // bytes of the message scanned so far
  uint64_t chunk;       // bytes of the chunk still to come
  uint64_t body;        // sum of the chunks announced
  uint64_t chunks;
} fc_framing_t;

// Continues scanning a head. *out_used bytes were valid. *out_done: they end with the
// head's blank line. FC_CODE_HTTP_SYNTAX, FC_CODE_URI_TOO_LONG or
// FC_CODE_HEADERS_TOO_LARGE.
fc_status_t fc_framing_head(fc_framing_t *framing, fc_str_t bytes,
                            size_t *out_used, bool *out_done, fc_error_t *err);
// Was the head refused at the place of the version, before it said "HTTP/"?
bool fc_framing_lacks_version(const fc_framing_t *framing);
// Scans a chunked body in the same way, after the head. FC_CODE_HTTP_SYNTAX.
// FC_CODE_BODY_TOO_LARGE: the chunks exceed `body_max`.
fc_status_t fc_framing_chunked(fc_framing_t *framing, fc_str_t bytes,
                               uint64_t body_max, size_t *out_used,
                               bool *out_done, fc_error_t *err);

#endif  // FARCALL_SERVER_HTTP1_FRAMING_H_
