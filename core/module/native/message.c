// SPDX-License-Identifier: Apache-2.0
//
// Turns
//   ERROR: Runtime op verification failed
//   %0 = memref.load %arg0[%arg1] : memref<?xf32>
//   ^ out-of-bounds access
//   Location: loc("/tmp/x/model.mlir":3:95)
// into
//   out-of-bounds access at model.mlir:3:95: %0 = memref.load %arg0[%arg1] …
#include "module/native/message.h"

#include <stdio.h>

#define OP_SIZE_MAX 120

static bool contains(fc_str_t text, const char *word) {
  return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

static fc_str_t next_line(fc_str_t *text) {
  const char *end = memchr(text->data, '\n', text->size);
  size_t size = end ? (size_t)(end - text->data) : text->size;
  fc_str_t line = fc_str_make(text->data, size);
  size += end ? 1 : 0;
  *text = fc_str_make(text->data + size, text->size - size);
  return line;
}

static bool is_path_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || (c != '\0' && strchr("/._-+~@%", c));
}

// Finds the beginning of the last name in the path at `at`, even if a '/' ends the path;
// `at` if the path has no name.
static size_t find_name(fc_str_t text, size_t at) {
  size_t name = at;
  for (size_t i = at + 1; i < text.size && is_path_byte(text.data[i]); i++) {
    if (text.data[i] != '/' && text.data[i - 1] == '/') name = i;
  }
  return name;
}

// Copies text as one line. Absolute paths are reduced to their last name; newlines and
// other control bytes become spaces. Returns the size written, at most capacity - 1;
// NUL-terminated.
static size_t copy_clean(char *out, size_t capacity, fc_str_t text) {
  size_t size = 0;
  for (size_t i = 0; i < text.size && size + 1 < capacity; i++) {
    const bool starts = i == 0 || !is_path_byte(text.data[i - 1]);
    if (text.data[i] == '/' && starts) i = find_name(text, i);
    const unsigned char byte = (unsigned char)text.data[i];
    out[size++] = byte < 0x20 || byte == 0x7f ? ' ' : (char)byte;
  }
  out[size] = '\0';
  return size;
}

static bool take(fc_str_t *text, const char *prefix) {
  fc_str_t start = fc_str(prefix);
  if (!fc_str_starts(*text, start)) return false;
  text->data += start.size;
  text->size -= start.size;
  return true;
}

// Copies a location without loc(…) and quotes: loc("model.mlir":3:95) becomes
// model.mlir:3:95.
static void copy_location(char *out, size_t capacity, fc_str_t text) {
  char clean[160];
  fc_str_t rest = fc_str_make(clean, copy_clean(clean, sizeof clean, text));
  if (take(&rest, "loc(") && rest.size > 0) rest.size--;
  size_t size = 0;
  for (size_t i = 0; i < rest.size && size + 1 < capacity; i++) {
    if (rest.data[i] != '"') out[size++] = rest.data[i];
  }
  out[size] = '\0';
}

// Writes a report of MLIR as one line. Of any other text it joins the lines.
// Returns the size written, at most capacity - 1.
static size_t digest(char *out, size_t capacity, fc_str_t text) {
  fc_str_t rest = text;
  fc_str_t first = next_line(&rest);
  if (!contains(first, "Runtime op verification failed")) {
    while (text.size && text.data[text.size - 1] == '\n') text.size--;
    return copy_clean(out, capacity, text);
  }
  char location[120] = "";
  char what[160] = "runtime check failed";
  char op[OP_SIZE_MAX + 1] = "";
  while (rest.size) {
    fc_str_t line = next_line(&rest);
    if (take(&line, "^ ")) {
      copy_clean(what, sizeof what, line);
    } else if (take(&line, "Location: ")) {
      copy_location(location, sizeof location, line);
    } else if (!op[0]) {
      const char *place = memmem(line.data, line.size, " loc(", 5);
      if (place) line.size = (size_t)(place - line.data);
      copy_clean(op, sizeof op, line);
    }
  }
  int size =
      snprintf(out, capacity, "%s%s%s%s%s", what, location[0] ? " at " : "",
               location, op[0] ? ": " : "", op);
  return size < 0 ? 0 : (size_t)size < capacity ? (size_t)size : capacity - 1;
}

static bool is_ascii(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if ((unsigned char)text.data[i] >= 0x80) return false;
  }
  return true;
}

fc_status_t fc_native_aborted(fc_str_t function, fc_str_t text,
                              fc_error_t *err) {
  char line[300];
  char escaped[340];
  size_t size = digest(line, sizeof line, text);
  fc_str_t shown = fc_str_make(line, size);
  if (!size) shown = FC_STR("it called abort");
  if (!is_ascii(shown)) {  // the module may print any bytes
    size = fc_escape(escaped, sizeof escaped, sizeof escaped, shown);
    shown = fc_str_make(escaped, size);
  }
  const bool range = contains(text, "out-of-bounds") ||
                     contains(text, "out of bounds") ||
                     contains(text, "integer division");
  return fc_fail_as(err, FC_CODE_CALL_FAILED,
                    range ? FC_OUT_OF_RANGE : FC_FAILED_PRECONDITION,
                    "'%.*s': %.*s", FC_STR_ARG(function), FC_STR_ARG(shown));
}
