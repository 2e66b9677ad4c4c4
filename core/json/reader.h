// SPDX-License-Identifier: Apache-2.0
//
// A pull reader of RFC 8259 JSON over bytes that come from a client. All state
// is in the struct; the reader never recurses and never allocates. Every syntax
// error is FC_CODE_JSON_SYNTAX with the byte offset. fc_json_pointer tells at
// any time at which place of the document the reader is. One thread at a time.
#ifndef FARCALL_JSON_READER_H_
#define FARCALL_JSON_READER_H_

#include "base/stop.h"
#include "farcall/type.h"

#define FC_JSON_DEPTH_MAX 128

typedef enum fc_json_token_t {
  FC_JSON_END,        // after the one top-level value
  FC_JSON_NEED_MORE,  // only if the span was not the last
  FC_JSON_NULL,
  FC_JSON_FALSE,
  FC_JSON_TRUE,
  FC_JSON_NUMBER,  // text is the literal
  FC_JSON_STRING,  // text is what stands between the quotes, still escaped
  FC_JSON_KEY,     // as STRING; always followed by the member's value
  FC_JSON_ARRAY_BEGIN,
  FC_JSON_ARRAY_END,
  FC_JSON_OBJECT_BEGIN,
  FC_JSON_OBJECT_END,
} fc_json_token_t;

// Returns the name of a token in messages: "array", "string", …
const char *fc_json_token_name(fc_json_token_t token);

typedef struct fc_json_level_t {
  fc_str_t key;    // current member of an object, still escaped
  uint64_t index;  // in an array, the current element; in an object, members
  bool is_object;
} fc_json_level_t;

typedef struct fc_json_reader_t {
  const char *begin;   // of the span that is being read
  const char *cursor;  // next byte
  const char *end;
  uint64_t base;  // offset of `begin` in the document
  bool last;
  bool escaped;   // the last STRING or KEY has escapes
  fc_str_t text;  // of the last NUMBER, STRING or KEY; points into the span
  uint64_t token_offset;  // where the last token began, in the document
  uint32_t depth;         // number of open containers
  uint32_t depth_limit;
  uint32_t key_limit;  // members of one object
  uint8_t state;       // private to the reader (where.h)
  const char *look;    // here it checks next whether the call must end
  const fc_stop_t *stop;
  fc_json_level_t levels[FC_JSON_DEPTH_MAX];
} fc_json_reader_t;

// `depth_limit` is at most FC_JSON_DEPTH_MAX.
void fc_json_reader_init(fc_json_reader_t *reader, uint32_t depth_limit,
                         uint32_t key_limit);
// Gives the reader the next (or only) span of the document; `last`: it is the last one.
// The span must begin with the bytes of an unfinished token (the reader leaves
// `cursor` there when it needs more) and stay until the next feed. No byte at or after
// data + size is read. In the JSON pointer of an error, a key that lies in an earlier
// span is printed as an ellipsis.
void fc_json_reader_feed(fc_json_reader_t *reader, const char *data,
                         size_t size, bool last);

// Reads the next token. Fails with FC_CODE_JSON_SYNTAX, _JSON_TOO_DEEP or
// _JSON_TOO_MANY_KEYS, with offset and pointer.
fc_status_t fc_json_next(fc_json_reader_t *reader, fc_json_token_t *out_token,
                         fc_error_t *err);

// Skips to the end of the value that begins with `token`, the token just read,
// and checks its syntax. Duplicate keys inside the value are allowed. The span
// must be the last one.
fc_status_t fc_json_skip(fc_json_reader_t *reader, fc_json_token_t token,
                         fc_error_t *err);

// Fails with "expected X, found Y" at the token just read.
fc_status_t fc_json_mismatch(const fc_json_reader_t *reader, fc_code_t code,
                             fc_json_token_t token, const char *expected,
                             fc_error_t *err);
// Fails with `code` unless `token`, which was just read, is `wanted`.
static inline fc_status_t fc_json_check(const fc_json_reader_t *reader,
                                        fc_json_token_t token,
                                        fc_json_token_t wanted, fc_code_t code,
                                        fc_error_t *err) {
  if (token == wanted) return FC_OK;
  return fc_json_mismatch(reader, code, token, fc_json_token_name(wanted), err);
}
// Reads the next token, which must be `wanted`. If it is another token, fails with
// `code`.
fc_status_t fc_json_expect(fc_json_reader_t *reader, fc_json_token_t wanted,
                           fc_code_t code, fc_error_t *err);

// How to read one member of an object.
typedef struct fc_json_member_t {
  fc_str_t name;  // data NULL, in the last row: all other members
  // Reads the member's value; its key was just read, and is the reader's text.
  fc_status_t (*read)(void *context, fc_error_t *err);
  const char *refusal;  // instead: the message of FC_CODE_UNKNOWN_FIELD
} fc_json_member_t;
// Reads an object, whose brace was just read, to its end. Members without a row are
// skipped. A member with a row may come only once, else FC_CODE_DUPLICATE_KEY. At most
// 64 rows.
fc_status_t fc_json_read_members(fc_json_reader_t *reader,
                                 const fc_json_member_t *members, size_t count,
                                 void *context, fc_error_t *err);

// Reads many elements at once. Call it right after FC_JSON_ARRAY_BEGIN or inside an
// array. It reads scalar elements straight into `out`, up to `capacity` of them: numbers;
// true/false for i1; "NaN" and the like for floats; decimal strings for integers of more
// than 53 bits. Not for complex types. *out_stop says why it stopped:
//   FC_JSON_ARRAY_END   the array ended and its end was consumed
//   FC_JSON_NUMBER      `capacity` elements were read and another one follows
//   another token       the next element is of that kind (null, an array, text
//                       where text is not accepted, …); it was not consumed
//   FC_JSON_NEED_MORE   the span ended
// Errors about values (out_of_range, type_mismatch) have pointer and offset.
fc_status_t fc_json_read_elements(fc_json_reader_t *reader, fc_dtype_t dtype,
                                  void *out, size_t capacity, size_t *out_count,
                                  fc_json_token_t *out_stop, fc_error_t *err);
// Does the same as fc_json_read_elements for a type whose sign is open. A plain number
// that types[0] cannot hold is read as types[1], if types[1] is not NONE, and then the
// two change places. Any other element that types[0] refuses is an error about types[0].
fc_status_t fc_json_read_signless(fc_json_reader_t *reader, fc_dtype_t types[2],
                                  void *out, size_t capacity, size_t *out_count,
                                  fc_json_token_t *out_stop, fc_error_t *err);
// Reads one scalar, whose token was just read, by the rules of
// fc_json_read_elements.
fc_status_t fc_json_read_scalar(fc_json_reader_t *reader, fc_json_token_t token,
                                fc_dtype_t dtype, void *out, fc_error_t *err);

// From the next feed on, reading fails once the call must end (fc_stop_look). `stop` is
// borrowed. Call this after fc_json_reader_init.
static inline void fc_json_reader_watch(fc_json_reader_t *reader,
                                        const fc_stop_t *stop) {
  reader->stop = stop;
}

// Copies the position of a reader, so that the reader can return there after looking
// ahead.
void fc_json_reader_copy(fc_json_reader_t *dest,
                         const fc_json_reader_t *source);

// Decodes the escapes in `raw`, the text of a STRING or KEY, and returns the size of
// the result. `out` has room for raw.size bytes. Never fails, since the reader checked
// the escapes.
size_t fc_json_unescape(fc_str_t raw, char *out);
// Does the same as fc_json_unescape for the text of the reader's last STRING or KEY,
// which may be long. From time to time it checks whether the call must end.
fc_status_t fc_json_unescape_text(const fc_json_reader_t *reader, char *out,
                                  size_t *out_size, fc_error_t *err);
// True when the text of the last STRING or KEY, with its escapes decoded, equals `plain`.
bool fc_json_escaped_text_is(const fc_json_reader_t *reader, fc_str_t plain);
static inline bool fc_json_text_is(const fc_json_reader_t *reader,
                                   fc_str_t plain) {
  return FC_LIKELY(!reader->escaped) ? fc_str_equal(reader->text, plain)
                                     : fc_json_escaped_text_is(reader, plain);
}

// Writes the RFC 6901 pointer to the reader's position: the value or the key that was
// just read, or the container that just began or ended. NUL-terminated, cut at
// `capacity` bytes. Returns its length.
size_t fc_json_pointer(const fc_json_reader_t *reader, char *out,
                       size_t capacity);
// Adds fc_json_pointer and the offset of the token just read to an error, unless it
// already has them. Returns `status`.
fc_status_t fc_json_locate(const fc_json_reader_t *reader, fc_status_t status,
                           fc_error_t *err);
// Does the same as fc_fail, and adds pointer and offset.
#define fc_json_fail(reader, err, code, ...) \
  fc_json_locate(reader, fc_fail(err, code, __VA_ARGS__), err)

#endif  // FARCALL_JSON_READER_H_
