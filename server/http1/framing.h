// SPDX-License-Identifier: Apache-2.0
//
// The framing validator, before llhttp: a byte scanner that finds where a head and a
// chunked body end and refuses, at the first offending byte, lines that two HTTP parsers
// might take apart differently (RFC 9112 sections 2-7; llhttp alone lets extra spaces,
// other protocols, unbounded chunk lines and trailers pass). llhttp only ever sees bytes
// that went through here, and whole heads at once, so the verdict does not depend on how
// the bytes were split. What the fields of a head mean together is checked in parser.c.
// Used by receive.c on the loop thread. The scanner keeps no text but the name of a
// trailer, and never allocates.
#ifndef FARCALL_SERVER_HTTP1_FRAMING_H_
#define FARCALL_SERVER_HTTP1_FRAMING_H_

#include "farcall/base.h"

// A zeroed one is ready for a message.
typedef struct fc_framing_t {
  uint8_t state;
  uint8_t name_size;    // bytes of `name`, the trailer's name gathered so far
  char name[18];        // in lower case, cut at one more than forbidden ones
  uint32_t line_size;   // bytes of the part being scanned
  uint32_t size;        // bytes of the field lines or trailers, without LFs
  uint32_t fields;      // field lines; before the method: empty lines
  uint32_t extensions;  // bytes of all chunk extensions
  uint64_t offset;      // bytes of the message scanned so far
  uint64_t chunk;       // bytes of the chunk still to come
  uint64_t body;        // sum of the chunks announced
  uint64_t chunks;
} fc_framing_t;

// Goes on scanning a head. *out_used bytes were good; *out_done: the head's blank line
// was among them. Fails with FC_CODE_HTTP_SYNTAX, FC_CODE_URI_TOO_LONG or
// FC_CODE_HEADERS_TOO_LARGE.
fc_status_t fc_framing_head(fc_framing_t *framing, fc_str_t bytes,
                            size_t *out_used, bool *out_done, fc_error_t *err);
// Scans a chunked body in the same way, after its head. FC_CODE_HTTP_SYNTAX, or
// FC_CODE_BODY_TOO_LARGE when the chunks exceed `body_max`.
fc_status_t fc_framing_chunked(fc_framing_t *framing, fc_str_t bytes,
                               uint64_t body_max, size_t *out_used,
                               bool *out_done, fc_error_t *err);

#endif  // FARCALL_SERVER_HTTP1_FRAMING_H_
