// SPDX-License-Identifier: Apache-2.0
//
// Tells where a document is wrong: gives the reader's errors their byte offset and the
// JSON pointer to the reader's position.
#include "json/where.h"

#include "base/utf8.h"
#include "json/escape.h"
#include "json/number.h"

fc_status_t fc_json_fail_at(const fc_json_reader_t *reader, const char *at,
                            fc_status_t status, fc_error_t *err) {
  if (!err) return status;
  err->byte_offset = fc_json_offset_of(reader, at);
  return fc_json_locate(reader, status, err);
}

// Copies the text at `at` for a message: up to 12 letters, or one character.
static const char *show(const fc_json_reader_t *reader, const char *at,
                        char out[48]) {
  const char *end = at;
  while (end < reader->end && end - at < 12 &&
         ((*end | 0x20) >= 'a' && (*end | 0x20) <= 'z')) {
    end++;
  }
  if (end == at) end++;
  if ((unsigned char)*at >= 0x80) {
    size_t length = fc_utf8_length(at, (size_t)(reader->end - at));
    if (length) end = at + length;
  }
  fc_escape(out, 48, 16, fc_str_make(at, (size_t)(end - at)));
  return out;
}

fc_status_t fc_json_fail_unexpected(const fc_json_reader_t *reader,
                                    const char *at, const char *wanted,
                                    fc_error_t *err) {
  fc_status_t status;
  char shown[48];
  if (at == reader->end) {
    if (fc_json_offset_of(reader, at) == 0) {
      status = fc_fail(err, FC_CODE_JSON_SYNTAX, "the document is empty");
    } else {
      status = fc_fail(err, FC_CODE_JSON_SYNTAX,
                       "the document ends where %s is expected", wanted);
    }
    return fc_json_fail_at(reader, at, status, err);
  }
  fc_str_t rest = fc_str_make(at, (size_t)(reader->end - at));
  if (fc_json_offset_of(reader, at) == 0 &&
      fc_str_starts(rest, FC_STR("\xEF\xBB\xBF"))) {
    status = fc_fail(err, FC_CODE_JSON_SYNTAX,
                     "the document begins with a byte order mark");
  } else if (fc_str_starts(rest, FC_STR("NaN")) ||
             fc_str_starts(rest, FC_STR("Infinity")) ||
             fc_str_starts(rest, FC_STR("-Infinity"))) {
    const char *word = *at == 'N'   ? "NaN"
                       : *at == '-' ? "-Infinity"
                                    : "Infinity";
    status = fc_fail(err, FC_CODE_JSON_SYNTAX,
                     "JSON has no bare %s: write \"%s\"", word, word);
  } else {
    status = fc_fail(err, FC_CODE_JSON_SYNTAX,
                     "unexpected '%s' where %s is expected",
                     show(reader, at, shown), wanted);
  }
  return fc_json_fail_at(reader, at, status, err);
}

fc_status_t fc_json_locate(const fc_json_reader_t *reader, fc_status_t status,
                           fc_error_t *err) {
  if (!err) return status;
  if (err->byte_offset == FC_NO_OFFSET) err->byte_offset = reader->token_offset;
  if (!err->has_pointer) {
    err->has_pointer = true;
    fc_json_pointer(reader, err->pointer, sizeof err->pointer);
  }
  return status;
}

typedef struct pointer_t {
  char *at;
  char *end;  // of the room, without the byte for the terminator
  bool full;
} pointer_t;

// Appends the whole piece. If it does not fit, the pointer ends: later pieces
// are left out as well.
static void append(pointer_t *pointer, const char *piece, size_t size) {
  if (pointer->full || (size_t)(pointer->end - pointer->at) < size) {
    pointer->full = true;
    return;
  }
  memcpy(pointer->at, piece, size);
  pointer->at += size;
}

// Appends a key. Each character is one piece, so that a cut keeps whole characters.
// U+0000 would end the C string, so it stays an escape.
static void append_key(pointer_t *pointer, fc_str_t key) {
  const char *p = key.data, *end = p + key.size;
  while (p < end) {
    char piece[4] = {0};
    size_t size = 0;
    if (*p == '\\') {
      size = fc_json_decode_character(&p, piece);
    } else {
      size = fc_utf8_length(p, (size_t)(end - p));
      memcpy(piece, p, size);
      p += size;
    }
    if (piece[0] == '~') append(pointer, "~0", 2);
    else if (piece[0] == '/') append(pointer, "~1", 2);
    else if (piece[0] == '\0') append(pointer, "\\u0000", 6);
    else append(pointer, piece, size);
  }
}

size_t fc_json_pointer(const fc_json_reader_t *reader, char *out,
                       size_t capacity) {
  if (capacity == 0) return 0;
  pointer_t pointer = {out, out + capacity - 1, false};
  for (uint32_t i = 0; i < reader->depth; i++) {
    const fc_json_level_t *level = &reader->levels[i];
    // A container that has just begun has no current element.
    bool begun =
        i + 1 < reader->depth || (reader->state != FC_JSON_AT_FIRST_VALUE &&
                                  reader->state != FC_JSON_AT_FIRST_KEY);
    if (!begun) break;
    append(&pointer, "/", 1);
    if (level->is_object) {
      append_key(&pointer, level->key);
    } else {
      char number[FC_NUMBER_CHARS_MAX];
      char *end = fc_number_print_u64(level->index, number);
      append(&pointer, number, (size_t)(end - number));
    }
  }
  *pointer.at = '\0';
  return (size_t)(pointer.at - out);
}
