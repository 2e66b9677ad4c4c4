// SPDX-License-Identifier: Apache-2.0
//
// One state machine for heads and one for chunked bodies, a byte at a time,
// with a fast run through the insides of targets, values and chunk data. Each
// state names the grammar of RFC 9110 and 9112 it stands for; anything else is
// an error, there are no lenient modes.
#include "http/gate.h"

#include "base/hex.h"
#include "limits.h"

enum {
  // Head
  GATE_START,  // leading CRLFs, or the method
  GATE_START_LF,
  GATE_METHOD,
  GATE_TARGET,
  GATE_VERSION,
  GATE_REQUEST_LF,
  GATE_FIELD,  // first byte of a field line, or of the blank line
  GATE_NAME,
  GATE_VALUE,
  GATE_FIELD_LF,
  GATE_END_LF,
  GATE_HEAD_DONE,
  // Chunked body
  GATE_CHUNK_SIZE,
  GATE_CHUNK_EXTENSION,
  GATE_CHUNK_LF,
  GATE_CHUNK_DATA,
  GATE_CHUNK_DATA_CR,
  GATE_CHUNK_DATA_LF,
  GATE_TRAILER,
  GATE_TRAILER_NAME,
  GATE_TRAILER_VALUE,
  GATE_TRAILER_LF,
  GATE_TRAILERS_END_LF,
  GATE_BODY_DONE,
};

static bool is_upper(uint8_t c) { return c >= 'A' && c <= 'Z'; }
static bool is_letter(uint8_t c) { return (uint8_t)((c | 0x20) - 'a') < 26; }
// RFC 9110 5.6.2: those that are neither letter nor '-'.
static bool is_rare_token(uint8_t c) {
  return c > ' ' && c < 0x7F && strchr("0123456789!#$%&'*+.^_`|~", c) != NULL;
}
static bool is_token(uint8_t c) {
  return is_letter(c) || c == '-' || is_rare_token(c);
}
static bool is_target(uint8_t c) { return c > ' ' && c < 0x7F; }
// RFC 9110 5.5: field-vchar, space and tab, and obs-text.
static bool is_value(uint8_t c) { return (c >= ' ' && c != 0x7F) || c == '\t'; }

static fc_status_t refuse(const fc_gate_t *gate, const char *what,
                          fc_error_t *err) {
  fc_status_t status = fc_fail(err, FC_CODE_HTTP_SYNTAX, "%s at byte %llu",
                               what, (unsigned long long)gate->offset);
  if (err) err->byte_offset = gate->offset;
  return status;
}

static fc_status_t count_field_byte(fc_gate_t *gate, fc_error_t *err) {
  if (++gate->size <= FC_LIMIT_HEADERS) return FC_OK;
  return fc_fail(err, FC_CODE_HEADERS_TOO_LARGE,
                 "the header fields exceed %u bytes", FC_LIMIT_HEADERS);
}

static fc_status_t scan_start(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == '\r') {
    if (gate->fields == FC_LIMIT_LEADING_CRLFS) {
      return refuse(gate, "too many empty lines before a request", err);
    }
    gate->fields++;
    gate->state = GATE_START_LF;
    return FC_OK;
  }
  if (!is_upper(c)) return refuse(gate, "no method", err);
  gate->fields = 0;
  gate->line_size = 1;
  gate->state = GATE_METHOD;
  return FC_OK;
}

static fc_status_t scan_method(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == ' ') {
    gate->line_size = 0;
    gate->state = GATE_TARGET;
    return FC_OK;
  }
  if (!is_upper(c) && c != '-' && c != '_') {
    return refuse(gate, "a method is made of capital letters", err);
  }
  if (++gate->line_size > FC_LIMIT_METHOD) {
    return refuse(gate, "unknown method", err);
  }
  return FC_OK;
}

static fc_status_t scan_target(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == ' ') {
    if (gate->line_size == 0) {
      return refuse(gate, "two spaces after the method", err);
    }
    gate->line_size = 0;
    gate->state = GATE_VERSION;
    return FC_OK;
  }
  if (c == '\r' || c == '\n') return refuse(gate, "no HTTP version", err);
  if (!is_target(c)) {
    return refuse(gate, "a byte that must be percent-encoded", err);
  }
  if (++gate->line_size <= FC_LIMIT_TARGET) return FC_OK;
  return fc_fail(err, FC_CODE_URI_TOO_LONG,
                 "the request target exceeds %u bytes", FC_LIMIT_TARGET);
}

static fc_status_t scan_version(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  static const char kVersion[] = "HTTP/1.";
  if (gate->line_size < sizeof kVersion - 1) {
    if (c == kVersion[gate->line_size]) {
      gate->line_size++;
      return FC_OK;
    }
    return refuse(gate,
                  c == ' ' ? "two spaces before the version"
                           : "only HTTP/1.0 and HTTP/1.1 are spoken here",
                  err);
  }
  if (gate->line_size == sizeof kVersion - 1 && (c == '0' || c == '1')) {
    gate->line_size++;
    return FC_OK;
  }
  if (gate->line_size == sizeof kVersion && c == '\r') {
    gate->state = GATE_REQUEST_LF;
    return FC_OK;
  }
  return refuse(gate, "only HTTP/1.0 and HTTP/1.1 are spoken here", err);
}

static fc_status_t scan_field(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == '\r') {
    gate->state = GATE_END_LF;
    return FC_OK;
  }
  if (c == ' ' || c == '\t') {
    return refuse(gate, "a folded header line", err);
  }
  if (!is_token(c)) return refuse(gate, "no header name", err);
  if (++gate->fields > FC_LIMIT_FIELDS) {
    return fc_fail(err, FC_CODE_HEADERS_TOO_LARGE, "more than %d header fields",
                   FC_LIMIT_FIELDS);
  }
  gate->state = GATE_NAME;
  return count_field_byte(gate, err);
}

static fc_status_t scan_name(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == ':') gate->state = GATE_VALUE;
  else if (!is_token(c)) {
    return refuse(gate, "a byte no header name may hold", err);
  }
  return count_field_byte(gate, err);
}

static fc_status_t scan_value(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == '\r') gate->state = GATE_FIELD_LF;
  else if (!is_value(c)) {
    return refuse(gate, "a byte no header value may hold", err);
  }
  return count_field_byte(gate, err);
}

static fc_status_t scan_lf(fc_gate_t *gate, uint8_t c, uint8_t next,
                           fc_error_t *err) {
  if (c != '\n') return refuse(gate, "CR without LF", err);
  gate->state = next;
  return FC_OK;
}

static fc_status_t scan_head_byte(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  switch (gate->state) {
    case GATE_START:
      return scan_start(gate, c, err);
    case GATE_START_LF:
      return scan_lf(gate, c, GATE_START, err);
    case GATE_METHOD:
      return scan_method(gate, c, err);
    case GATE_TARGET:
      return scan_target(gate, c, err);
    case GATE_VERSION:
      return scan_version(gate, c, err);
    case GATE_REQUEST_LF:
      return scan_lf(gate, c, GATE_FIELD, err);
    case GATE_FIELD:
      return scan_field(gate, c, err);
    case GATE_NAME:
      return scan_name(gate, c, err);
    case GATE_VALUE:
      return scan_value(gate, c, err);
    case GATE_FIELD_LF:
      return scan_lf(gate, c, GATE_FIELD, err);
    default:
      return scan_lf(gate, c, GATE_HEAD_DONE, err);
  }
}

// How many bytes go on with the target, name or value that the gate is inside
// of: they are counted and change no state. What ends it, or is one too many,
// is left to scan_head_byte.
static size_t scan_inside(fc_gate_t *gate, const char *bytes, size_t size) {
  size_t count = 0, room;
  switch (gate->state) {
    case GATE_TARGET:
      room = FC_LIMIT_TARGET - gate->line_size;
      if (room > size) room = size;
      while (count < room && is_target((uint8_t)bytes[count])) count++;
      gate->line_size += (uint32_t)count;
      break;
    case GATE_NAME:
      room = FC_LIMIT_HEADERS - gate->size;
      if (room > size) room = size;
      while (count < room && is_token((uint8_t)bytes[count])) count++;
      gate->size += (uint32_t)count;
      break;
    case GATE_VALUE:
      room = FC_LIMIT_HEADERS - gate->size;
      if (room > size) room = size;
      while (count < room && is_value((uint8_t)bytes[count])) count++;
      gate->size += (uint32_t)count;
      break;
    default:
      break;
  }
  gate->offset += count;
  return count;
}

fc_status_t fc_gate_head(fc_gate_t *gate, fc_str_t bytes, size_t *out_used,
                         bool *out_done, fc_error_t *err) {
  fc_status_t status = FC_OK;
  size_t used = 0;
  while (gate->state != GATE_HEAD_DONE) {
    used += scan_inside(gate, bytes.data + used, bytes.size - used);
    if (used == bytes.size) break;
    status = scan_head_byte(gate, (uint8_t)bytes.data[used], err);
    if (status != FC_OK) break;
    used++;
    gate->offset++;
  }
  *out_used = used;
  *out_done = gate->state == GATE_HEAD_DONE;
  return status;
}

// ---------------------------------------------------------------------------

static fc_status_t begin_chunk(fc_gate_t *gate, uint64_t body_max,
                               fc_error_t *err) {
  if (gate->chunk > body_max || gate->body > body_max - gate->chunk) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE, "the body exceeds %llu bytes",
                   (unsigned long long)body_max);
  }
  gate->body += gate->chunk;
  if (++gate->chunks > FC_LIMIT_CHUNKS + gate->body / FC_LIMIT_CHUNK_BYTES) {
    return refuse(gate, "too many small chunks", err);
  }
  return FC_OK;
}

static fc_status_t scan_chunk_size(fc_gate_t *gate, uint8_t c,
                                   uint64_t body_max, fc_error_t *err) {
  int digit = fc_hex_value((char)c);
  if (digit >= 0) {
    if (++gate->line_size > FC_LIMIT_CHUNK_DIGITS) {
      return refuse(gate, "a chunk size of too many digits", err);
    }
    gate->chunk = gate->chunk << 4 | (uint64_t)digit;
    return FC_OK;
  }
  if (gate->line_size == 0 || (c != ';' && c != '\r')) {
    return refuse(gate, "no chunk size", err);
  }
  gate->state = c == ';' ? GATE_CHUNK_EXTENSION : GATE_CHUNK_LF;
  if (c == ';') gate->extensions++;
  return begin_chunk(gate, body_max, err);
}

static fc_status_t scan_extension(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == '\r') {
    gate->state = GATE_CHUNK_LF;
    return FC_OK;
  }
  if (!is_value(c)) return refuse(gate, "a byte no chunk line may hold", err);
  if (++gate->extensions > FC_LIMIT_CHUNK_EXTENSIONS) {
    return refuse(gate, "chunk extensions are too long", err);
  }
  return FC_OK;
}

static fc_status_t count_trailer_byte(fc_gate_t *gate, fc_error_t *err) {
  if (++gate->size <= FC_LIMIT_TRAILERS) return FC_OK;
  return refuse(gate, "trailers are too long", err);
}

// RFC 9110 6.5.1: fields that frame, route or describe the body may not come
// after it.
static bool is_forbidden_trailer(fc_str_t name) {
  static const char *const kNames[] = {
      "content-length",   "transfer-encoding", "host",   "content-type",
      "content-encoding", "trailer",           "expect", "connection",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    if (fc_str_equal(name, fc_str(kNames[i]))) return true;
  }
  return false;
}

static fc_status_t scan_trailer_name(fc_gate_t *gate, uint8_t c,
                                     fc_error_t *err) {
  if (c == ':') {
    if (is_forbidden_trailer(fc_str_make(gate->name, gate->name_size))) {
      return refuse(gate, "a field that no trailer may hold", err);
    }
    gate->state = GATE_TRAILER_VALUE;
    return count_trailer_byte(gate, err);
  }
  if (!is_token(c)) return refuse(gate, "a byte no header name may hold", err);
  // One past the longest forbidden name is enough to tell them apart.
  if (gate->name_size < sizeof gate->name) {
    gate->name[gate->name_size++] = (char)(is_upper(c) ? c | 0x20 : c);
  }
  return count_trailer_byte(gate, err);
}

static fc_status_t scan_trailer(fc_gate_t *gate, uint8_t c, fc_error_t *err) {
  if (c == '\r') {
    gate->state = GATE_TRAILERS_END_LF;
    return FC_OK;
  }
  if (c == ' ' || c == '\t') {
    return refuse(gate, "a folded header line", err);
  }
  if (c == ':') return refuse(gate, "no header name", err);
  gate->name_size = 0;
  gate->state = GATE_TRAILER_NAME;
  return scan_trailer_name(gate, c, err);
}

static fc_status_t scan_trailer_value(fc_gate_t *gate, uint8_t c,
                                      fc_error_t *err) {
  if (c == '\r') gate->state = GATE_TRAILER_LF;
  else if (!is_value(c)) {
    return refuse(gate, "a byte no header value may hold", err);
  }
  return count_trailer_byte(gate, err);
}

static fc_status_t scan_body_byte(fc_gate_t *gate, uint8_t c, uint64_t body_max,
                                  fc_error_t *err) {
  switch (gate->state) {
    case GATE_CHUNK_SIZE:
      return scan_chunk_size(gate, c, body_max, err);
    case GATE_CHUNK_EXTENSION:
      return scan_extension(gate, c, err);
    case GATE_CHUNK_LF:
      return scan_lf(gate, c, gate->chunk ? GATE_CHUNK_DATA : GATE_TRAILER,
                     err);
    case GATE_CHUNK_DATA_CR:
      if (c != '\r') return refuse(gate, "chunk data longer than said", err);
      gate->state = GATE_CHUNK_DATA_LF;
      return FC_OK;
    case GATE_CHUNK_DATA_LF:
      gate->line_size = 0;
      gate->chunk = 0;
      return scan_lf(gate, c, GATE_CHUNK_SIZE, err);
    case GATE_TRAILER:
      return scan_trailer(gate, c, err);
    case GATE_TRAILER_NAME:
      return scan_trailer_name(gate, c, err);
    case GATE_TRAILER_VALUE:
      return scan_trailer_value(gate, c, err);
    case GATE_TRAILER_LF:
      return scan_lf(gate, c, GATE_TRAILER, err);
    default:
      return scan_lf(gate, c, GATE_BODY_DONE, err);
  }
}

fc_status_t fc_gate_chunked(fc_gate_t *gate, fc_str_t bytes, uint64_t body_max,
                            size_t *out_used, bool *out_done, fc_error_t *err) {
  if (gate->state == GATE_HEAD_DONE) {
    gate->state = GATE_CHUNK_SIZE;
    gate->line_size = gate->size = 0;
    gate->chunk = 0;
  }
  fc_status_t status = FC_OK;
  size_t used = 0;
  while (used < bytes.size && gate->state != GATE_BODY_DONE) {
    if (gate->state == GATE_CHUNK_DATA) {
      uint64_t run = bytes.size - used;
      if (run > gate->chunk) run = gate->chunk;
      gate->chunk -= run;
      gate->offset += run;
      used += (size_t)run;
      if (gate->chunk == 0) gate->state = GATE_CHUNK_DATA_CR;
      continue;
    }
    status = scan_body_byte(gate, (uint8_t)bytes.data[used], body_max, err);
    if (status != FC_OK) break;
    used++;
    gate->offset++;
  }
  *out_used = used;
  *out_done = gate->state == GATE_BODY_DONE;
  return status;
}
