// SPDX-License-Identifier: Apache-2.0
//
// There is one state machine for heads and one for chunked bodies. They take a byte at a
// time, with a fast loop for the insides of targets, names, values and chunk data. Each
// state accepts only bytes that RFC 9110 and 9112 allow at that place, within limits.
// Anything else is an error; there are no lenient modes.
#include "http1/framing.h"

#include "base/hex.h"
#include "config/limits.h"

enum {
  // Head
  FRAMING_START,  // leading CRLFs, or the method
  FRAMING_START_LF,
  FRAMING_METHOD,
  FRAMING_TARGET,
  FRAMING_VERSION,
  FRAMING_REQUEST_LF,
  FRAMING_FIELD,  // first byte of a field line, or of the blank line
  FRAMING_NAME,
  FRAMING_VALUE,
  FRAMING_FIELD_LF,
  FRAMING_END_LF,
  FRAMING_HEAD_DONE,
  // Chunked body
  FRAMING_CHUNK_SIZE,
  FRAMING_CHUNK_EXTENSION,
  FRAMING_CHUNK_LF,
  FRAMING_CHUNK_DATA,
  FRAMING_CHUNK_DATA_CR,
  FRAMING_CHUNK_DATA_LF,
  FRAMING_TRAILER,
  FRAMING_TRAILER_NAME,
  FRAMING_TRAILER_VALUE,
  FRAMING_TRAILER_LF,
  FRAMING_TRAILERS_END_LF,
  FRAMING_BODY_DONE,
};

static bool is_upper(uint8_t c) { return c >= 'A' && c <= 'Z'; }

// The parts of a head in which a byte may occur. This is a table because nearly every
// byte of a head is looked up.
enum {
  IN_TOKEN = 1 << 0,   // RFC 9110 5.6.2
  IN_TARGET = 1 << 1,  // visible ASCII
  IN_VALUE = 1 << 2,   // RFC 9110 5.5: VCHAR, obs-text, space and tab
};
#define IS_VISIBLE(c) ((c) > ' ' && (c) < 0x7F)
#define IS_DELIMITER(c)                                                      \
  ((c) == '"' || (c) == '(' || (c) == ')' || (c) == ',' || (c) == '/' ||     \
   ((c) >= ':' && (c) <= '@') || ((c) >= '[' && (c) <= ']') || (c) == '{' || \
   (c) == '}')
#define CLASS(c)                                        \
  ((IS_VISIBLE(c) && !IS_DELIMITER(c) ? IN_TOKEN : 0) | \
   (IS_VISIBLE(c) ? IN_TARGET : 0) |                    \
   (((c) >= ' ' && (c) != 0x7F) || (c) == '\t' ? IN_VALUE : 0))
#define FOUR(c) CLASS(c), CLASS((c) + 1), CLASS((c) + 2), CLASS((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
static const uint8_t kClasses[256] = {
    SIXTEEN(0x00), SIXTEEN(0x10), SIXTEEN(0x20), SIXTEEN(0x30),
    SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
    SIXTEEN(0x80), SIXTEEN(0x90), SIXTEEN(0xA0), SIXTEEN(0xB0),
    SIXTEEN(0xC0), SIXTEEN(0xD0), SIXTEEN(0xE0), SIXTEEN(0xF0)};

static bool is_token(uint8_t c) { return kClasses[c] & IN_TOKEN; }
static bool is_target(uint8_t c) { return kClasses[c] & IN_TARGET; }
static bool is_value(uint8_t c) { return kClasses[c] & IN_VALUE; }

static fc_status_t refuse(const fc_framing_t *framing, const char *what,
                          fc_error_t *err) {
  fc_status_t status = fc_fail(err, FC_CODE_HTTP_SYNTAX, "%s at byte %llu",
                               what, (unsigned long long)framing->offset);
  if (err) err->byte_offset = framing->offset;
  return status;
}

static fc_status_t count_field_byte(fc_framing_t *framing, fc_error_t *err) {
  if (++framing->size <= FC_LIMIT_HEADERS) return FC_OK;
  return fc_fail(err, FC_CODE_HEADERS_TOO_LARGE,
                 "the header fields exceed %u bytes", FC_LIMIT_HEADERS);
}

static fc_status_t scan_start(fc_framing_t *framing, uint8_t c,
                              fc_error_t *err) {
  if (c == '\r') {
    if (framing->fields == FC_LIMIT_LEADING_CRLFS) {
      return refuse(framing, "too many empty lines before a request", err);
    }
    framing->fields++;
    framing->state = FRAMING_START_LF;
    return FC_OK;
  }
  if (!is_upper(c)) return refuse(framing, "no method", err);
  framing->fields = 0;
  framing->line_size = 1;
  framing->state = FRAMING_METHOD;
  return FC_OK;
}

static fc_status_t scan_method(fc_framing_t *framing, uint8_t c,
                               fc_error_t *err) {
  if (c == ' ') {
    framing->line_size = 0;
    framing->state = FRAMING_TARGET;
    return FC_OK;
  }
  if (!is_upper(c) && c != '-' && c != '_') {
    return refuse(framing, "a method is made of capital letters", err);
  }
  if (++framing->line_size > FC_LIMIT_METHOD) {
    return refuse(framing, "unknown method", err);
  }
  return FC_OK;
}

static fc_status_t scan_target(fc_framing_t *framing, uint8_t c,
                               fc_error_t *err) {
  if (c == ' ') {
    if (framing->line_size == 0) {
      return refuse(framing, "two spaces after the method", err);
    }
    framing->line_size = 0;
    framing->state = FRAMING_VERSION;
    return FC_OK;
  }
  if (c == '\r' || c == '\n') return refuse(framing, "no HTTP version", err);
  if (!is_target(c)) {
    return refuse(framing, "a byte that must be percent-encoded", err);
  }
  if (++framing->line_size <= FC_LIMIT_TARGET) return FC_OK;
  return fc_fail(err, FC_CODE_URI_TOO_LONG,
                 "the request target exceeds %u bytes", FC_LIMIT_TARGET);
}

static fc_status_t scan_version(fc_framing_t *framing, uint8_t c,
                                fc_error_t *err) {
  static const char kVersion[] = "HTTP/1.";
  if (framing->line_size < sizeof kVersion - 1) {
    if (c == kVersion[framing->line_size]) {
      framing->line_size++;
      return FC_OK;
    }
    return refuse(framing,
                  c == ' ' ? "two spaces before the version"
                           : "only HTTP/1.0 and HTTP/1.1 are spoken here",
                  err);
  }
  if (framing->line_size == sizeof kVersion - 1 && (c == '0' || c == '1')) {
    framing->line_size++;
    return FC_OK;
  }
  if (framing->line_size == sizeof kVersion && c == '\r') {
    framing->state = FRAMING_REQUEST_LF;
    return FC_OK;
  }
  return refuse(framing, "only HTTP/1.0 and HTTP/1.1 are spoken here", err);
}

static fc_status_t scan_field(fc_framing_t *framing, uint8_t c,
                              fc_error_t *err) {
  if (c == '\r') {
    framing->state = FRAMING_END_LF;
    return FC_OK;
  }
  if (c == ' ' || c == '\t') {
    return refuse(framing, "a folded header line", err);
  }
  if (!is_token(c)) return refuse(framing, "no header name", err);
  if (++framing->fields > FC_LIMIT_FIELDS) {
    return fc_fail(err, FC_CODE_HEADERS_TOO_LARGE, "more than %d header fields",
                   FC_LIMIT_FIELDS);
  }
  framing->state = FRAMING_NAME;
  return count_field_byte(framing, err);
}

static fc_status_t scan_name(fc_framing_t *framing, uint8_t c,
                             fc_error_t *err) {
  if (c == ':') framing->state = FRAMING_VALUE;
  else if (!is_token(c)) {
    return refuse(framing, "a byte no header name may hold", err);
  }
  return count_field_byte(framing, err);
}

static fc_status_t scan_value(fc_framing_t *framing, uint8_t c,
                              fc_error_t *err) {
  if (c == '\r') framing->state = FRAMING_FIELD_LF;
  else if (!is_value(c)) {
    return refuse(framing, "a byte no header value may hold", err);
  }
  return count_field_byte(framing, err);
}

static fc_status_t scan_lf(fc_framing_t *framing, uint8_t c, uint8_t next,
                           fc_error_t *err) {
  if (c != '\n') return refuse(framing, "CR without LF", err);
  framing->state = next;
  return FC_OK;
}

static fc_status_t scan_head_byte(fc_framing_t *framing, uint8_t c,
                                  fc_error_t *err) {
  switch (framing->state) {
    case FRAMING_START:
      return scan_start(framing, c, err);
    case FRAMING_START_LF:
      return scan_lf(framing, c, FRAMING_START, err);
    case FRAMING_METHOD:
      return scan_method(framing, c, err);
    case FRAMING_TARGET:
      return scan_target(framing, c, err);
    case FRAMING_VERSION:
      return scan_version(framing, c, err);
    case FRAMING_REQUEST_LF:
      return scan_lf(framing, c, FRAMING_FIELD, err);
    case FRAMING_FIELD:
      return scan_field(framing, c, err);
    case FRAMING_NAME:
      return scan_name(framing, c, err);
    case FRAMING_VALUE:
      return scan_value(framing, c, err);
    case FRAMING_FIELD_LF:
      return scan_lf(framing, c, FRAMING_FIELD, err);
    default:
      return scan_lf(framing, c, FRAMING_HEAD_DONE, err);
  }
}

// Returns how many bytes from the beginning are from `least` to '~', in steps of eight.
static size_t count_eights(const uint8_t *bytes, size_t size, char least) {
  const uint64_t ones = UINT64_MAX / 0xFF;
  size_t count = 0;
  for (; size - count >= 8; count += 8) {
    uint64_t at;
    memcpy(&at, bytes + count, sizeof at);
    // A byte outside the bounds has its top bit set in one of these three words. A
    // carry can only change the bytes after it.
    if ((at | (at + ones) | (at - ones * (uint8_t)least)) & ones * 0x80) break;
  }
  return count;
}

// Returns how many bytes from the beginning are in the class. The loop takes four at a
// time, because most bytes of every head pass here.
static size_t count_class(const uint8_t *bytes, size_t size, uint8_t class_) {
  size_t count = 0;
  for (; size - count >= 4; count += 4) {
    const uint8_t *at = bytes + count;
    if (!(kClasses[at[0]] & class_)) return count;
    if (!(kClasses[at[1]] & class_)) return count + 1;
    if (!(kClasses[at[2]] & class_)) return count + 2;
    if (!(kClasses[at[3]] & class_)) return count + 3;
  }
  while (count < size && kClasses[bytes[count]] & class_) count++;
  return count;
}

// For each state, the class of bytes that continue its part of the head; 0: every byte
// may change the state.
static const uint8_t kInside[FRAMING_HEAD_DONE] = {
    [FRAMING_TARGET] = IN_TARGET,
    [FRAMING_NAME] = IN_TOKEN,
    [FRAMING_VALUE] = IN_VALUE,
};

// Skips bytes that continue the present target, name or value, and returns their number.
// They are counted, but `state` stays. The byte that ends the part, or exceeds a limit,
// is left to scan_head_byte.
static size_t scan_inside(fc_framing_t *framing, const char *bytes,
                          size_t size) {
  const bool in_target = framing->state == FRAMING_TARGET;
  uint32_t *counted = in_target ? &framing->line_size : &framing->size;
  const uint32_t limit = in_target ? FC_LIMIT_TARGET : FC_LIMIT_HEADERS;
  if (size > limit - *counted) size = limit - *counted;
  const uint8_t *at = (const uint8_t *)bytes;
  size_t count = in_target ? count_eights(at, size, '!') : 0;
  count += count_class(at + count, size - count, kInside[framing->state]);
  *counted += (uint32_t)count;
  framing->offset += count;
  return count;
}

// Skips the version and the line's end, if all its bytes are here and are valid.
// Otherwise returns 0.
static size_t scan_version_line(fc_framing_t *framing, fc_str_t rest) {
  const fc_str_t line = FC_STR("HTTP/1.x\r\n");
  if (framing->line_size || rest.size < line.size ||
      memcmp(rest.data, line.data, 7) != 0 ||
      (rest.data[7] != '0' && rest.data[7] != '1') ||
      memcmp(rest.data + 8, line.data + 8, 2) != 0) {
    return 0;
  }
  framing->state = FRAMING_FIELD;
  framing->offset += line.size;
  return line.size;
}

// Skips a whole field line and returns its size, if the line is complete, plain and
// within the limits. Otherwise returns 0: scan_head_byte then scans it byte by byte,
// and finds the error.
static size_t scan_line(fc_framing_t *framing, fc_str_t rest) {
  const uint8_t *bytes = (const uint8_t *)rest.data;
  const size_t name = count_class(bytes, rest.size, IN_TOKEN);
  if (name == 0 || name == rest.size || bytes[name] != ':') return 0;
  const size_t value = name + 1;
  size_t end = value + count_eights(bytes + value, rest.size - value, ' ');
  end += count_class(bytes + end, rest.size - end, IN_VALUE);
  if (rest.size - end < 2 || bytes[end] != '\r' || bytes[end + 1] != '\n' ||
      framing->fields == FC_LIMIT_FIELDS ||
      end >= FC_LIMIT_HEADERS - framing->size) {
    return 0;
  }
  framing->fields++;
  framing->size += (uint32_t)end + 1;  // without the line feed
  framing->offset += end + 2;
  return end + 2;
}

// Skips the version and field lines that are complete and valid. Returns their size.
static size_t scan_run(fc_framing_t *framing, fc_str_t rest) {
  size_t used = 0;
  if (framing->state == FRAMING_VERSION)
    used = scan_version_line(framing, rest);
  while (framing->state == FRAMING_FIELD) {
    const fc_str_t lines = {rest.data + used, rest.size - used};
    const size_t size = scan_line(framing, lines);
    if (!size) return used;
    used += size;
  }
  if (!kInside[framing->state]) return used;
  return used + scan_inside(framing, rest.data, rest.size);
}

fc_status_t fc_framing_head(fc_framing_t *framing, fc_str_t bytes,
                            size_t *out_used, bool *out_done, fc_error_t *err) {
  fc_status_t status = FC_OK;
  size_t used = 0;
  while (framing->state != FRAMING_HEAD_DONE) {
    used += scan_run(framing, (fc_str_t){bytes.data + used, bytes.size - used});
    if (used == bytes.size) break;
    status = scan_head_byte(framing, (uint8_t)bytes.data[used], err);
    if (status != FC_OK) break;
    used++;
    framing->offset++;
  }
  *out_used = used;
  *out_done = framing->state == FRAMING_HEAD_DONE;
  return status;
}

bool fc_framing_lacks_version(const fc_framing_t *framing) {
  return framing->state == FRAMING_VERSION &&
         framing->line_size < sizeof "HTTP/" - 1;
}

// ---------------------------------------------------------------------------
// Chunked bodies

static fc_status_t begin_chunk(fc_framing_t *framing, uint64_t body_max,
                               fc_error_t *err) {
  if (framing->chunk > body_max || framing->body > body_max - framing->chunk) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE, "the body exceeds %llu bytes",
                   (unsigned long long)body_max);
  }
  framing->body += framing->chunk;
  if (++framing->chunks >
      FC_LIMIT_CHUNKS + framing->body / FC_LIMIT_CHUNK_BYTES) {
    return refuse(framing, "too many small chunks", err);
  }
  return FC_OK;
}

static fc_status_t scan_chunk_size(fc_framing_t *framing, uint8_t c,
                                   uint64_t body_max, fc_error_t *err) {
  int digit = fc_hex_value((char)c);
  if (digit >= 0) {
    if (++framing->line_size > FC_LIMIT_CHUNK_DIGITS) {
      return refuse(framing, "a chunk size of too many digits", err);
    }
    framing->chunk = framing->chunk << 4 | (uint64_t)digit;
    return FC_OK;
  }
  if (framing->line_size == 0 || (c != ';' && c != '\r')) {
    return refuse(framing, "no chunk size", err);
  }
  framing->state = c == ';' ? FRAMING_CHUNK_EXTENSION : FRAMING_CHUNK_LF;
  if (c == ';') framing->extensions++;
  return begin_chunk(framing, body_max, err);
}

static fc_status_t scan_extension(fc_framing_t *framing, uint8_t c,
                                  fc_error_t *err) {
  if (c == '\r') {
    framing->state = FRAMING_CHUNK_LF;
    return FC_OK;
  }
  if (!is_value(c))
    return refuse(framing, "a byte no chunk line may hold", err);
  if (++framing->extensions > FC_LIMIT_CHUNK_EXTENSIONS) {
    return refuse(framing, "chunk extensions are too long", err);
  }
  return FC_OK;
}

static fc_status_t count_trailer_byte(fc_framing_t *framing, fc_error_t *err) {
  if (++framing->size <= FC_LIMIT_TRAILERS) return FC_OK;
  return refuse(framing, "trailers are too long", err);
}

// RFC 9110 6.5.1: fields about framing, routing or the body's form must not come after
// the body.
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

static fc_status_t scan_trailer_name(fc_framing_t *framing, uint8_t c,
                                     fc_error_t *err) {
  if (c == ':') {
    if (is_forbidden_trailer(fc_str_make(framing->name, framing->name_size))) {
      return refuse(framing, "a field that no trailer may hold", err);
    }
    framing->state = FRAMING_TRAILER_VALUE;
    return count_trailer_byte(framing, err);
  }
  if (!is_token(c))
    return refuse(framing, "a byte no header name may hold", err);
  // The buffer holds one byte more than the longest forbidden name, so that a longer name
  // is not mistaken for that name.
  if (framing->name_size < sizeof framing->name) {
    framing->name[framing->name_size++] = (char)(is_upper(c) ? c | 0x20 : c);
  }
  return count_trailer_byte(framing, err);
}

static fc_status_t scan_trailer(fc_framing_t *framing, uint8_t c,
                                fc_error_t *err) {
  if (c == '\r') {
    framing->state = FRAMING_TRAILERS_END_LF;
    return FC_OK;
  }
  if (c == ' ' || c == '\t') {
    return refuse(framing, "a folded header line", err);
  }
  if (c == ':') return refuse(framing, "no header name", err);
  framing->name_size = 0;
  framing->state = FRAMING_TRAILER_NAME;
  return scan_trailer_name(framing, c, err);
}

static fc_status_t scan_trailer_value(fc_framing_t *framing, uint8_t c,
                                      fc_error_t *err) {
  if (c == '\r') framing->state = FRAMING_TRAILER_LF;
  else if (!is_value(c)) {
    return refuse(framing, "a byte no header value may hold", err);
  }
  return count_trailer_byte(framing, err);
}

static fc_status_t scan_body_byte(fc_framing_t *framing, uint8_t c,
                                  uint64_t body_max, fc_error_t *err) {
  switch (framing->state) {
    case FRAMING_CHUNK_SIZE:
      return scan_chunk_size(framing, c, body_max, err);
    case FRAMING_CHUNK_EXTENSION:
      return scan_extension(framing, c, err);
    case FRAMING_CHUNK_LF:
      return scan_lf(framing, c,
                     framing->chunk ? FRAMING_CHUNK_DATA : FRAMING_TRAILER,
                     err);
    case FRAMING_CHUNK_DATA_CR:
      if (c != '\r') return refuse(framing, "chunk data longer than said", err);
      framing->state = FRAMING_CHUNK_DATA_LF;
      return FC_OK;
    case FRAMING_CHUNK_DATA_LF:
      framing->line_size = 0;
      return scan_lf(framing, c, FRAMING_CHUNK_SIZE, err);
    case FRAMING_TRAILER:
      return scan_trailer(framing, c, err);
    case FRAMING_TRAILER_NAME:
      return scan_trailer_name(framing, c, err);
    case FRAMING_TRAILER_VALUE:
      return scan_trailer_value(framing, c, err);
    case FRAMING_TRAILER_LF:
      return scan_lf(framing, c, FRAMING_TRAILER, err);
    default:
      return scan_lf(framing, c, FRAMING_BODY_DONE, err);
  }
}

fc_status_t fc_framing_chunked(fc_framing_t *framing, fc_str_t bytes,
                               uint64_t body_max, size_t *out_used,
                               bool *out_done, fc_error_t *err) {
  if (framing->state == FRAMING_HEAD_DONE) {
    framing->state = FRAMING_CHUNK_SIZE;
    framing->line_size = framing->size = 0;
    framing->chunk = 0;
  }
  fc_status_t status = FC_OK;
  size_t used = 0;
  while (used < bytes.size && framing->state != FRAMING_BODY_DONE) {
    if (framing->state == FRAMING_CHUNK_DATA) {
      uint64_t run = bytes.size - used;
      if (run > framing->chunk) run = framing->chunk;
      framing->chunk -= run;
      framing->offset += run;
      used += (size_t)run;
      if (framing->chunk == 0) framing->state = FRAMING_CHUNK_DATA_CR;
      continue;
    }
    status = scan_body_byte(framing, (uint8_t)bytes.data[used], body_max, err);
    if (status != FC_OK) break;
    used++;
    framing->offset++;
  }
  *out_used = used;
  *out_done = framing->state == FRAMING_BODY_DONE;
  return status;
}
