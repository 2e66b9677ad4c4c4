// SPDX-License-Identifier: Apache-2.0
//
// The pull reader. Each call of fc_json_next consumes at most one token. If a
// token is incomplete, `cursor` stays at the token's start, so a document may arrive in
// pieces. No byte at or after `end` is read. One thread at a time.
#include "json/reader.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "base/width.h"
#include "json/decimal.h"
#include "json/escape.h"
#include "json/number.h"
#include "json/plain.h"
#include "json/where.h"

static const char *const kNames[] = {
    [FC_JSON_END] = "the end of the document",
    [FC_JSON_NEED_MORE] = "the end of the data",
    [FC_JSON_NULL] = "null",
    [FC_JSON_FALSE] = "false",
    [FC_JSON_TRUE] = "true",
    [FC_JSON_NUMBER] = "a number",
    [FC_JSON_STRING] = "a string",
    [FC_JSON_KEY] = "a key",
    [FC_JSON_ARRAY_BEGIN] = "an array",
    [FC_JSON_ARRAY_END] = "the end of an array",
    [FC_JSON_OBJECT_BEGIN] = "an object",
    [FC_JSON_OBJECT_END] = "the end of an object",
};

const char *fc_json_token_name(fc_json_token_t token) {
  return (size_t)token < FC_ARRAY_COUNT(kNames) ? kNames[token] : "nothing";
}

void fc_json_reader_init(fc_json_reader_t *reader, uint32_t depth_limit,
                         uint32_t key_limit) {
  FC_ASSERT(depth_limit <= FC_JSON_DEPTH_MAX);
  // The levels need no clearing: each is set when it is entered.
  memset(reader, 0, offsetof(fc_json_reader_t, levels));
  reader->depth_limit = depth_limit;
  reader->key_limit = key_limit;
  reader->state = FC_JSON_AT_VALUE;
}

static void set_look(fc_json_reader_t *reader, const char *at) {
  const size_t rest = (size_t)(reader->end - at);
  const bool looks = reader->stop && rest > FC_STOP_STEP;
  reader->look = looks ? at + FC_STOP_STEP : reader->end;
}

// Checks whether the call must end. Called when the reader has reached `at`.
static fc_status_t look(fc_json_reader_t *reader, const char *at,
                        fc_error_t *err) {
  set_look(reader, at);
  return fc_stop_look(reader->stop, err);
}

void fc_json_reader_feed(fc_json_reader_t *reader, const char *data,
                         size_t size, bool last) {
  reader->base += (uint64_t)(reader->cursor - reader->begin);
  reader->begin = reader->cursor = data;
  reader->end = data + size;
  reader->last = last;
  reader->text = (fc_str_t){0};
  set_look(reader, data);
  // The keys of open objects lie in earlier spans, which the caller may now free.
  for (uint32_t i = 0; i < reader->depth; i++) {
    reader->levels[i].key = FC_STR("\xE2\x80\xA6");
  }
}

void fc_json_reader_copy(fc_json_reader_t *dest,
                         const fc_json_reader_t *source) {
  const size_t levels = source->depth * sizeof source->levels[0];
  memcpy(dest, source, offsetof(fc_json_reader_t, levels) + levels);
}

// ---------------------------------------------------------------------------
// Strings

// The outcome of scanning a token.
typedef enum scan_t {
  SCAN_DONE,
  SCAN_NEED_MORE,
  SCAN_BAD,
  SCAN_PAUSE  // at the place of the next check whether the call must end
} scan_t;

// Reads \uXXXX at `p`. On an error, *at becomes the first byte that is not a hex digit.
static scan_t scan_unit(const char *p, const char *end, const char **at,
                        uint32_t *out) {
  for (int i = 2; i < 6; i++) {
    if (p + i >= end) return SCAN_NEED_MORE;
    if (fc_hex_value(p[i]) < 0) {
      *at = p + i;
      return SCAN_BAD;
    }
  }
  *out = fc_json_unit_at(p + 2);
  return SCAN_DONE;
}

// Checks the escape whose backslash is at *p (for a surrogate pair, both escapes), and
// moves *p past it. On an error, *at is the place, and *complaint is the text for the
// message.
static scan_t scan_escape(const char **p, const char *end, const char **at,
                          const char **complaint) {
  const char *here = *p;
  *at = here;
  if (end - here < 2) return SCAN_NEED_MORE;
  if (here[1] != 'u') {
    *complaint = "is no escape";
    if (!memchr("\"\\/bfnrt", here[1], 8)) return SCAN_BAD;
    *p = here + 2;
    return SCAN_DONE;
  }
  uint32_t unit, low;
  *complaint = "is no hexadecimal digit";
  scan_t scan = scan_unit(here, end, at, &unit);
  if (scan != SCAN_DONE) return scan;
  *p = here + 6;
  if (unit < 0xD800 || unit > 0xDFFF) return SCAN_DONE;
  *complaint = "begins a lone surrogate";
  if (unit > 0xDBFF) return SCAN_BAD;
  if (here + 6 == end || (here[6] == '\\' && here + 7 == end)) {
    return SCAN_NEED_MORE;
  }
  if (here[6] != '\\' || here[7] != 'u') return SCAN_BAD;
  *complaint = "is no hexadecimal digit";
  scan = scan_unit(here + 6, end, at, &low);
  if (scan != SCAN_DONE) return scan;
  *complaint = "begins a lone surrogate";
  *at = here;
  if (low < 0xDC00 || low > 0xDFFF) return SCAN_BAD;
  *p = here + 12;
  return SCAN_DONE;
}

// Scans a string from *from on, which is after the opening quote, and sets *out_escaped
// if the string has an escape. *from becomes the closing quote or, if the scan pauses,
// `pause` or a little after it.
static scan_t scan_string(const char **from, const char *end, const char *pause,
                          bool last, bool *out_escaped, const char **at,
                          const char **complaint) {
  const char *p = *from;
  for (;;) {
    p += fc_plain_size(p, pause);
    *from = p;
    if (p == end) return SCAN_NEED_MORE;
    if (FC_UNLIKELY(p >= pause)) return SCAN_PAUSE;
    unsigned char c = (unsigned char)*p;
    if (c == '"') return SCAN_DONE;
    if (c == '\\') {
      *out_escaped = true;
      scan_t scan = scan_escape(&p, end, at, complaint);
      if (scan != SCAN_DONE) return scan;
    } else if (c < 0x20) {
      *at = p;
      *complaint = "is a control character";
      return SCAN_BAD;
    } else {
      size_t length = fc_utf8_length(p, (size_t)(end - p));
      *at = p;
      *complaint = "is not UTF-8";
      if (length == 0 && !last && end - p < 4) return SCAN_NEED_MORE;
      if (length == 0) return SCAN_BAD;
      p += length;
    }
  }
}

// Reads the string whose opening quote is at `p`. Fills in text and escaped;
// *out_end is after the closing quote.
static fc_status_t read_string(fc_json_reader_t *reader, const char *p,
                               const char **out_end, bool *need_more,
                               fc_error_t *err) {
  const char *close = p + 1, *at = NULL, *complaint = NULL;
  bool escaped = false;
  scan_t scan;
  *need_more = false;
  while ((scan = scan_string(&close, reader->end, reader->look, reader->last,
                             &escaped, &at, &complaint)) == SCAN_PAUSE) {
    FC_TRY(look(reader, close, err));
  }
  if (scan == SCAN_NEED_MORE) {
    if (!reader->last) {
      *need_more = true;
      return FC_OK;
    }
    fc_status_t status =
        fc_fail(err, FC_CODE_JSON_SYNTAX, "a string without its closing quote");
    return fc_json_fail_at(reader, p, status, err);
  }
  if (scan == SCAN_BAD) {
    char shown[48];
    size_t rest = (size_t)(reader->end - at), size = 1;
    if (*at == '\\') size = rest > 1 && at[1] == 'u' ? 6 : 2;
    if (size > rest) size = rest;
    fc_escape(shown, sizeof shown, 12, fc_str_make(at, size));
    fc_status_t status = fc_fail(err, FC_CODE_JSON_SYNTAX,
                                 "'%s' in a string %s", shown, complaint);
    return fc_json_fail_at(reader, at, status, err);
  }
  reader->text = fc_str_make(p + 1, (size_t)(close - p - 1));
  reader->escaped = escaped;
  *out_end = close + 1;
  return FC_OK;
}

// Decodes from *p on, up to `end` or a little after it. Returns the end of the output.
static char *unescape(const char **p, const char *end, char *out) {
  while (*p < end) {
    char piece[4];
    size_t size = fc_json_decode_character(p, piece);
    memcpy(out, piece, size);
    out += size;
  }
  return out;
}

size_t fc_json_unescape(fc_str_t raw, char *out) {
  const char *p = raw.data;
  return (size_t)(unescape(&p, p + raw.size, out) - out);
}

fc_status_t fc_json_unescape_text(const fc_json_reader_t *reader, char *out,
                                  size_t *out_size, fc_error_t *err) {
  const char *p = reader->text.data, *end = p + reader->text.size;
  char *at = out;
  while ((size_t)(end - p) > FC_STOP_STEP) {
    at = unescape(&p, p + FC_STOP_STEP, at);
    FC_TRY(fc_stop_look(reader->stop, err));
  }
  *out_size = (size_t)(unescape(&p, end, at) - out);
  return FC_OK;
}

bool fc_json_escaped_text_is(const fc_json_reader_t *reader, fc_str_t plain) {
  const char *p = reader->text.data, *end = p + reader->text.size;
  size_t matched = 0;
  while (p < end) {
    char piece[4];
    size_t size = fc_json_decode_character(&p, piece);
    if (plain.size - matched < size ||
        memcmp(plain.data + matched, piece, size) != 0) {
      return false;
    }
    matched += size;
  }
  return matched == plain.size;
}

// ---------------------------------------------------------------------------
// Numbers and words

// Checks the grammar of a number byte by byte, to find the place of the first mistake.
// `p` is a digit or a minus.
static scan_t scan_number(const char *p, const char *end, bool last,
                          const char **out_end, const char **wanted) {
  scan_t open = last ? SCAN_BAD : SCAN_NEED_MORE;
  *wanted = "a digit";
  if (*p == '-') p++;
  *out_end = p;
  if (p == end) return open;
  if (!fc_is_digit(*p)) return SCAN_BAD;
  if (*p++ != '0') {
    while (p < end && fc_is_digit(*p)) p++;
  } else if (p < end && fc_is_digit(*p)) {
    *out_end = p;
    *wanted = "no digit after a leading 0";
    return SCAN_BAD;
  }
  if (p < end && *p == '.') {
    *out_end = ++p;
    if (p == end) return open;
    if (!fc_is_digit(*p)) return SCAN_BAD;
    while (p < end && fc_is_digit(*p)) p++;
  }
  if (p < end && (*p | 0x20) == 'e') {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    *out_end = p;
    if (p == end) return open;
    if (!fc_is_digit(*p)) return SCAN_BAD;
    while (p < end && fc_is_digit(*p)) p++;
  }
  *out_end = p;
  return p == end && !last ? SCAN_NEED_MORE : SCAN_DONE;
}

// Reads true, false or null at `p`, which is a letter.
static scan_t scan_word(const char *p, const char *end, const char **out_end,
                        fc_json_token_t *out_token) {
  static const struct {
    fc_str_t text;
    fc_json_token_t token;
  } kWords[] = {
      {{"null", 4}, FC_JSON_NULL},
      {{"true", 4}, FC_JSON_TRUE},
      {{"false", 5}, FC_JSON_FALSE},
  };
  fc_str_t rest = fc_str_make(p, (size_t)(end - p));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    if (fc_str_starts(rest, kWords[i].text)) {
      *out_end = p + kWords[i].text.size;
      *out_token = kWords[i].token;
      return SCAN_DONE;
    }
    if (fc_str_starts(kWords[i].text, rest)) return SCAN_NEED_MORE;
  }
  return SCAN_BAD;
}

// ---------------------------------------------------------------------------
// Tokens

static fc_json_level_t *top_level(fc_json_reader_t *reader) {
  return &reader->levels[reader->depth - 1];
}

static fc_status_t open_container(fc_json_reader_t *reader, bool is_object,
                                  fc_error_t *err) {
  if (reader->depth == reader->depth_limit) {
    fc_status_t status =
        fc_fail(err, FC_CODE_JSON_TOO_DEEP, "nested deeper than %u levels",
                reader->depth_limit);
    return fc_json_fail_at(reader, reader->cursor, status, err);
  }
  reader->levels[reader->depth++] = (fc_json_level_t){.is_object = is_object};
  reader->cursor++;
  reader->state = is_object ? FC_JSON_AT_FIRST_KEY : FC_JSON_AT_FIRST_VALUE;
  return FC_OK;
}

static void close_container(fc_json_reader_t *reader) {
  reader->depth--;
  reader->cursor++;
  reader->state = FC_JSON_AT_COMMA;
}

static fc_status_t next_key(fc_json_reader_t *reader,
                            fc_json_token_t *out_token, fc_error_t *err) {
  const char *end = reader->cursor;
  bool need_more;
  fc_json_level_t *level = top_level(reader);
  if (*reader->cursor != '"') {
    return fc_json_fail_unexpected(reader, reader->cursor, "a key in quotes",
                                   err);
  }
  FC_TRY(read_string(reader, reader->cursor, &end, &need_more, err));
  if (need_more) {
    *out_token = FC_JSON_NEED_MORE;
    return FC_OK;
  }
  if (level->index == reader->key_limit) {
    fc_status_t status =
        fc_fail(err, FC_CODE_JSON_TOO_MANY_KEYS,
                "an object with more than %u members", reader->key_limit);
    return fc_json_fail_at(reader, reader->cursor, status, err);
  }
  level->key = reader->text;
  level->index++;
  reader->cursor = end;
  reader->state = FC_JSON_AT_COLON;
  *out_token = FC_JSON_KEY;
  return FC_OK;
}

static fc_status_t next_value(fc_json_reader_t *reader,
                              fc_json_token_t *out_token, fc_error_t *err) {
  const char *p = reader->cursor, *end = p;
  const char *wanted = "a value";
  bool need_more = false;
  scan_t scan = SCAN_DONE;
  switch (*p) {
    case '[':
      *out_token = FC_JSON_ARRAY_BEGIN;
      return open_container(reader, false, err);
    case '{':
      *out_token = FC_JSON_OBJECT_BEGIN;
      return open_container(reader, true, err);
    case '"':
      *out_token = FC_JSON_STRING;
      FC_TRY(read_string(reader, p, &end, &need_more, err));
      if (need_more) scan = SCAN_NEED_MORE;
      break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      *out_token = FC_JSON_NUMBER;
      scan = scan_number(p, reader->end, reader->last, &end, &wanted);
      if (scan == SCAN_BAD) {
        // The error points at the minus, so that the message shows all of an
        // unquoted -Infinity.
        if (end < reader->end && *end == 'I') end = p;
        return fc_json_fail_unexpected(reader, end, wanted, err);
      }
      reader->text = fc_str_make(p, (size_t)(end - p));
      break;
    default:
      scan = scan_word(p, reader->end, &end, out_token);
      if (scan == SCAN_BAD || (scan == SCAN_NEED_MORE && reader->last)) {
        return fc_json_fail_unexpected(reader, p, wanted, err);
      }
      break;
  }
  if (scan == SCAN_NEED_MORE) {
    *out_token = FC_JSON_NEED_MORE;
    return FC_OK;
  }
  reader->cursor = end;
  reader->state = FC_JSON_AT_COMMA;
  return FC_OK;
}

// Returns what is expected in the reader's state, for messages.
static const char *wanted_at(const fc_json_reader_t *reader) {
  switch (reader->state) {
    case FC_JSON_AT_FIRST_VALUE:
      return "a value or ']'";
    case FC_JSON_AT_FIRST_KEY:
      return "a key in quotes or '}'";
    case FC_JSON_AT_KEY:
      return "a key in quotes";
    case FC_JSON_AT_COLON:
      return "':'";
    case FC_JSON_AT_COMMA:
      if (reader->depth == 0) return "the end of the document";
      return reader->levels[reader->depth - 1].is_object ? "',' or '}'"
                                                         : "',' or ']'";
    default:
      return "a value";
  }
}

// Checks whether the call must end. If the bytes end at `p`, sets *out_token to
// FC_JSON_END or FC_JSON_NEED_MORE instead, and fails if the document is incomplete and
// no more bytes will come.
static fc_status_t pause_at(fc_json_reader_t *reader, const char *p,
                            fc_json_token_t *out_token, fc_error_t *err) {
  if (p < reader->end) return look(reader, p, err);
  *out_token = reader->last ? FC_JSON_END : FC_JSON_NEED_MORE;
  const bool complete = reader->state == FC_JSON_AT_COMMA && !reader->depth;
  if (complete || !reader->last) return FC_OK;
  return fc_json_fail_unexpected(reader, p, wanted_at(reader), err);
}

// Consumes white space and punctuation, but stops at the place of the next check of the
// deadline. True: a token stands at `cursor`.
static inline bool reach_token(fc_json_reader_t *reader) {
  for (const char *p = reader->cursor;; p++) {
    while (p < reader->look &&
           (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
      p++;
    }
    reader->cursor = p;
    if (FC_UNLIKELY(p >= reader->look)) return false;
    if (reader->state == FC_JSON_AT_COLON) {
      if (*p != ':') return false;
      reader->state = FC_JSON_AT_VALUE;
    } else if (reader->state == FC_JSON_AT_COMMA) {
      if (!reader->depth) return false;
      fc_json_level_t *level = top_level(reader);
      if (*p == (level->is_object ? '}' : ']')) return true;
      if (*p != ',') return false;
      if (!level->is_object) level->index++;
      reader->state = level->is_object ? FC_JSON_AT_KEY : FC_JSON_AT_VALUE;
    } else {
      return true;
    }
  }
}

// Goes on after reach_token has stopped without a token.
static __attribute__((noinline)) fc_status_t go_on(fc_json_reader_t *reader,
                                                   fc_json_token_t *out_token,
                                                   fc_error_t *err) {
  do {
    if (reader->cursor < reader->look) {
      return fc_json_fail_unexpected(reader, reader->cursor, wanted_at(reader),
                                     err);
    }
    FC_TRY(pause_at(reader, reader->cursor, out_token, err));
  } while (*out_token == FC_JSON_NULL && !reach_token(reader));
  return FC_OK;
}

// Consumes white space and punctuation until a token stands at `cursor`. *out_token is
// FC_JSON_END or _NEED_MORE when there is no token; otherwise it is
// FC_JSON_NULL, whatever the token is.
static inline fc_status_t approach(fc_json_reader_t *reader,
                                   fc_json_token_t *out_token,
                                   fc_error_t *err) {
  *out_token = FC_JSON_NULL;
  return FC_LIKELY(reach_token(reader)) ? FC_OK : go_on(reader, out_token, err);
}

fc_status_t fc_json_next(fc_json_reader_t *reader, fc_json_token_t *out_token,
                         fc_error_t *err) {
  FC_TRY(approach(reader, out_token, err));
  if (*out_token == FC_JSON_END || *out_token == FC_JSON_NEED_MORE) {
    return FC_OK;
  }
  const char *p = reader->cursor;
  reader->token_offset = fc_json_offset_of(reader, p);
  switch (reader->state) {
    case FC_JSON_AT_COMMA:  // approach() has stopped at the container's end
      *out_token =
          top_level(reader)->is_object ? FC_JSON_OBJECT_END : FC_JSON_ARRAY_END;
      close_container(reader);
      return FC_OK;
    case FC_JSON_AT_FIRST_KEY:
      if (*p == '}') {
        *out_token = FC_JSON_OBJECT_END;
        close_container(reader);
        return FC_OK;
      }
      return next_key(reader, out_token, err);
    case FC_JSON_AT_KEY:
      return next_key(reader, out_token, err);
    case FC_JSON_AT_FIRST_VALUE:
      if (*p == ']') {
        *out_token = FC_JSON_ARRAY_END;
        close_container(reader);
        return FC_OK;
      }
      reader->state = FC_JSON_AT_VALUE;
      return next_value(reader, out_token, err);
    default:
      return next_value(reader, out_token, err);
  }
}

fc_status_t fc_json_skip(fc_json_reader_t *reader, fc_json_token_t token,
                         fc_error_t *err) {
  if (token != FC_JSON_ARRAY_BEGIN && token != FC_JSON_OBJECT_BEGIN) {
    return FC_OK;
  }
  FC_ASSERT(reader->last);
  const uint32_t outside = reader->depth - 1;
  while (reader->depth > outside) FC_TRY(fc_json_next(reader, &token, err));
  return FC_OK;
}

fc_status_t fc_json_mismatch(const fc_json_reader_t *reader, fc_code_t code,
                             fc_json_token_t token, const char *expected,
                             fc_error_t *err) {
  const char *found = fc_json_token_name(token);
  const fc_status_t status =
      fc_json_fail(reader, err, code, "expected %s, found %s", expected, found);
  fc_error_expected(err, "%s", expected);
  const bool has_text = token == FC_JSON_NUMBER || token == FC_JSON_STRING;
  fc_error_got(err, has_text ? reader->text : fc_str(found));
  return status;
}

fc_status_t fc_json_expect(fc_json_reader_t *reader, fc_json_token_t wanted,
                           fc_code_t code, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  return fc_json_check(reader, token, wanted, code, err);
}

fc_status_t fc_json_read_members(fc_json_reader_t *reader,
                                 const fc_json_member_t *members, size_t count,
                                 void *context, fc_error_t *err) {
  fc_json_token_t token;
  uint64_t seen = 0;
  FC_ASSERT(count <= 64);
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    const fc_json_member_t *member = members, *end = members + count;
    while (member < end && member->name.data &&
           !fc_json_text_is(reader, member->name)) {
      member++;
    }
    const bool named = member < end && member->name.data;
    const uint64_t bit = named ? UINT64_C(1) << (member - members) : 0;
    if (seen & bit) {
      return fc_json_fail(reader, err, FC_CODE_DUPLICATE_KEY,
                          "'%.*s' is given twice", FC_STR_ARG(member->name));
    }
    seen |= bit;
    if (member == end) {
      FC_TRY(fc_json_next(reader, &token, err));
      FC_TRY(fc_json_skip(reader, token, err));
    } else if (member->refusal) {
      return fc_json_fail(reader, err, FC_CODE_UNKNOWN_FIELD, "%s",
                          member->refusal);
    } else {
      FC_TRY(member->read(context, err));
    }
  }
}

// ---------------------------------------------------------------------------
// Elements

static fc_status_t mismatch(const fc_json_reader_t *reader,
                            fc_json_token_t token, fc_dtype_t dtype,
                            fc_error_t *err) {
  const char *text = fc_dtype_info(dtype)->text;
  fc_status_t status =
      fc_fail(err, FC_CODE_TYPE_MISMATCH, "%s where %s is wanted",
              fc_json_token_name(token), text);
  fc_error_expected(err, "%s", text);
  fc_error_got(err, fc_str(fc_json_token_name(token)));
  return fc_json_locate(reader, status, err);
}

// True for a decimal integer, which 64-bit types accept in quotes.
static bool is_integer_text(fc_str_t text) {
  const char *p = text.data, *end = p + text.size;
  if (p < end && *p == '-') p++;
  if (p == end || (*p == '0' && end - p > 1)) return false;
  while (p < end && fc_is_digit(*p)) p++;
  return p == end;
}

static bool takes_strings(fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  return info->class_ == FC_DTYPE_CLASS_FLOAT || fc_width_is_great(info);
}

static fc_status_t read_quoted(const fc_json_reader_t *reader, fc_dtype_t dtype,
                               void *out, fc_error_t *err) {
  char buffer[128];
  fc_str_t text = reader->text;
  if (reader->escaped && text.size <= sizeof buffer) {
    text = fc_str_make(buffer, fc_json_unescape(text, buffer));
  }
  bool is_float = fc_dtype_info(dtype)->class_ == FC_DTYPE_CLASS_FLOAT;
  if (!is_float && is_integer_text(text)) {
    return fc_number_parse(text, dtype, out, err);
  }
  return fc_number_parse_special(text, dtype, out, err);
}

fc_status_t fc_json_read_scalar(fc_json_reader_t *reader, fc_json_token_t token,
                                fc_dtype_t dtype, void *out, fc_error_t *err) {
  fc_status_t status = FC_OK;
  if (token == FC_JSON_NUMBER) {
    status = fc_number_parse(reader->text, dtype, out, err);
  } else if (token == FC_JSON_STRING && takes_strings(dtype)) {
    status = read_quoted(reader, dtype, out, err);
  } else if (dtype == FC_DTYPE_I1 &&
             (token == FC_JSON_TRUE || token == FC_JSON_FALSE)) {
    *(uint8_t *)out = token == FC_JSON_TRUE;
  } else {
    return mismatch(reader, token, dtype, err);
  }
  return status ? fc_json_locate(reader, status, err) : FC_OK;
}

// Returns the kind of value that begins with `c`.
static fc_json_token_t kind_at(char c) {
  switch (c) {
    case '"':
      return FC_JSON_STRING;
    case '[':
      return FC_JSON_ARRAY_BEGIN;
    case '{':
      return FC_JSON_OBJECT_BEGIN;
    case 't':
      return FC_JSON_TRUE;
    case 'f':
      return FC_JSON_FALSE;
    case 'n':
      return FC_JSON_NULL;
    default:
      return FC_JSON_NUMBER;  // or a mistake, which is noticed when it is read
  }
}

static bool is_element(fc_json_token_t kind, fc_dtype_t dtype) {
  switch (kind) {
    case FC_JSON_NUMBER:
      return true;
    case FC_JSON_STRING:
      return takes_strings(dtype);
    case FC_JSON_TRUE:
    case FC_JSON_FALSE:
      return dtype == FC_DTYPE_I1;
    default:
      return false;
  }
}

// The number of elements that are read between two checks whether the call must end.
#define RUN_MAX ((size_t)16384)

// Reads plain numbers. If types[0] cannot hold the next number, types[1] is tried.
static size_t read_run(fc_json_reader_t *reader, fc_dtype_t types[2], void *out,
                       size_t capacity, bool *out_at_element) {
  size_t run = fc_number_parse_run(types[0], reader->begin, &reader->cursor,
                                   reader->end, out, capacity, out_at_element);
  if (FC_LIKELY(run || types[1] == FC_DTYPE_NONE)) return run;
  run = fc_number_parse_run(types[1], reader->begin, &reader->cursor,
                            reader->end, out, capacity, out_at_element);
  if (run) {
    const fc_dtype_t first = types[0];
    types[0] = types[1];
    types[1] = first;
  }
  return run;
}

fc_status_t fc_json_read_elements(fc_json_reader_t *reader, fc_dtype_t dtype,
                                  void *out, size_t capacity, size_t *out_count,
                                  fc_json_token_t *out_stop, fc_error_t *err) {
  fc_dtype_t types[2] = {dtype, FC_DTYPE_NONE};
  return fc_json_read_signless(reader, types, out, capacity, out_count,
                               out_stop, err);
}

fc_status_t fc_json_read_signless(fc_json_reader_t *reader, fc_dtype_t types[2],
                                  void *out, size_t capacity, size_t *out_count,
                                  fc_json_token_t *out_stop, fc_error_t *err) {
  FC_ASSERT(reader->depth && !top_level(reader)->is_object);
  const size_t size = fc_dtype_size(types[0]);
  fc_json_level_t *level = top_level(reader);
  char *at = out;
  size_t count = 0;
  for (;;) {
    fc_json_token_t token;
    FC_TRY(approach(reader, &token, err));
    *out_count = count;
    *out_stop = token;
    if (token == FC_JSON_NEED_MORE) return FC_OK;
    char next = *reader->cursor;
    if (reader->state == FC_JSON_AT_COMMA ||
        (reader->state == FC_JSON_AT_FIRST_VALUE && next == ']')) {
      return fc_json_next(reader, out_stop, err);
    }
    fc_json_token_t kind = kind_at(next);
    bool number = next == '-' || fc_is_digit(next);
    if (kind == FC_JSON_NUMBER && !number) {
      return fc_json_next(reader, out_stop, err);  // a mistake
    }
    if (!is_element(kind, types[0]) || count == capacity) {
      *out_stop = is_element(kind, types[0]) ? FC_JSON_NUMBER : kind;
      return FC_OK;
    }

    bool at_element;
    const size_t left = capacity - count;
    const size_t run = read_run(reader, types, at,
                                left < RUN_MAX ? left : RUN_MAX, &at_element);
    if (run) {
      at += run * size;
      count += run;
      level->index += at_element ? run : run - 1;
      reader->state = at_element ? FC_JSON_AT_VALUE : FC_JSON_AT_COMMA;
      // Most rows end here, so this saves another turn of the loop.
      if (!at_element && *reader->cursor == ']') {
        reader->token_offset = fc_json_offset_of(reader, reader->cursor);
        close_container(reader);
        *out_count = count;
        *out_stop = FC_JSON_ARRAY_END;
        return FC_OK;
      }
      continue;
    }

    // Reads one element the slow way: a string, a boolean, a mistake or the end
    // of the span.
    FC_TRY(fc_json_next(reader, out_stop, err));
    if (*out_stop == FC_JSON_NEED_MORE) return FC_OK;
    FC_TRY(fc_json_read_scalar(reader, *out_stop, types[0], at, err));
    at += size;
    count++;
  }
}
