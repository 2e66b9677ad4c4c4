// SPDX-License-Identifier: Apache-2.0
//
// String helpers: order, edit distance for nearest-name hints, and escaping of
// text that came from a client. Any thread.
#include "farcall/base.h"

#include "base/hex.h"
#include "base/utf8.h"

#define DISTANCE_NAME_MAX 128

int fc_str_compare(fc_str_t a, fc_str_t b) {
  size_t common = a.size < b.size ? a.size : b.size;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  if (order) return order;
  return (a.size > b.size) - (a.size < b.size);
}

// Computes the distance of optimal string alignment. The three rows of `rows` hold the
// last rows of the matrix in turn. Only cells at most `limit` from the diagonal are
// computed: other cells cannot be within the limit. Their neighbours are set to limit +
// 1.
unsigned fc_str_distance(fc_str_t a, fc_str_t b, unsigned limit) {
  const unsigned over = limit + 1;
  if (a.size > DISTANCE_NAME_MAX || b.size > DISTANCE_NAME_MAX) return over;
  unsigned rows[3][DISTANCE_NAME_MAX + 2], least = 0;
  for (size_t j = 0; j <= b.size; j++) rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= a.size; i++) {
    unsigned *row = rows[i % 3];
    const unsigned *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
    const size_t from = i > limit ? i - limit : 1;
    const size_t to = i + limit < b.size ? i + limit : b.size;
    const unsigned least_above = least;
    least = row[from - 1] = from == 1 ? (unsigned)i : over;
    for (size_t j = from; j <= to; j++) {
      unsigned best = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      const bool swapped = i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
                           a.data[i - 2] == b.data[j - 1];
      if (swapped && second[j - 2] + 1 < best) best = second[j - 2] + 1;
      row[j] = best;
      if (best < least) least = best;
    }
    row[to + 1] = over;
    // The minima of both rows are needed, because a swap looks two rows back.
    if (least > limit && least_above > limit) return over;
  }
  const size_t apart = a.size > b.size ? a.size - b.size : b.size - a.size;
  const unsigned distance = apart > limit ? over : rows[a.size % 3][b.size];
  return distance > limit ? over : distance;
}

bool fc_utf8_is_valid(fc_str_t text) {
  size_t i = 0;
  while (i < text.size) {
    uint64_t word;
    if (text.size - i >= sizeof word) {
      memcpy(&word, text.data + i, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        i += sizeof word;
        continue;
      }
    }
    size_t length = fc_utf8_length(text.data + i, text.size - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

fc_status_t fc_utf8_check(fc_str_t text, const fc_stop_t *stop, bool *out_valid,
                          fc_error_t *err) {
  *out_valid = true;
  while (text.size > FC_STOP_STEP && *out_valid) {
    // The part must not end inside a character. A character has at most three bytes after
    // its first.
    size_t part = FC_STOP_STEP;
    for (int i = 0; i < 3 && ((unsigned char)text.data[part] & 0xC0) == 0x80;
         i++) {
      part--;
    }
    *out_valid = fc_utf8_is_valid(fc_str_make(text.data, part));
    text = fc_str_make(text.data + part, text.size - part);
    FC_TRY(fc_stop_look(stop, err));
  }
  *out_valid = *out_valid && fc_utf8_is_valid(text);
  return FC_OK;
}

// True when one of the first two bytes of `a` is one of the first two of `b`. Otherwise
// the names are not likely to differ only by a typing error.
static bool begins_alike(fc_str_t a, fc_str_t b) {
  for (size_t i = 0; i < 2 && i < a.size; i++) {
    for (size_t j = 0; j < 2 && j < b.size; j++) {
      if (a.data[i] == b.data[j]) return true;
    }
  }
  return false;
}

// True when `name` may be a misspelling of the wanted name. At least one byte must match:
// 'x' is not a typing error for 'y'.
static bool is_near(fc_nearest_t *search, fc_str_t name,
                    unsigned *out_distance) {
  const fc_str_t wanted = search->wanted;
  const size_t longer = name.size > wanted.size ? name.size : wanted.size;
  const size_t shorter = name.size > wanted.size ? wanted.size : name.size;
  if (longer - shorter > search->limit || !begins_alike(name, wanted) ||
      search->compared == FC_NEAREST_MAX) {
    return false;
  }
  search->compared++;
  *out_distance = fc_str_distance(wanted, name, search->limit);
  return *out_distance <= search->limit && *out_distance < longer;
}

bool fc_nearest_offer(fc_nearest_t *search, fc_str_t name) {
  unsigned distance = 0;
  const bool near = is_near(search, name, &distance);
  const bool begins = !search->any && search->wanted.size &&
                      fc_str_starts(name, search->wanted);
  if (!near && !begins) return false;
  search->any = true;
  // From now on only a nearer name can replace this one. After an equal name none can.
  if (near) search->limit = distance ? distance - 1 : 0;
  return true;
}

static size_t escape_byte(char out[4], unsigned char byte) {
  if (byte == '"' || byte == '\\') {
    out[0] = '\\';
    out[1] = (char)byte;
    return 2;
  }
  out[0] = '\\';
  out[1] = 'x';
  fc_hex_put(out + 2, byte);
  return 4;
}

static uint32_t scalar_of(const unsigned char *at, size_t length) {
  uint32_t scalar = length < 2 ? at[0] : at[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) scalar = scalar << 6 | (at[i] & 0x3Fu);
  return scalar;
}

// True for controls above ASCII (terminals read U+009B as ESC [), and for invisible
// characters that change what a reader sees, such as those that reverse the direction of
// text.
static bool is_unseen(uint32_t scalar) {
  static const uint32_t kRanges[][2] = {
      {0x80, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
      {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},
      {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRanges); i++) {
    if (scalar >= kRanges[i][0] && scalar <= kRanges[i][1]) return true;
  }
  return false;
}

// Writes \uXXXX for `scalar`, which must be below U+10000.
static size_t escape_scalar(char out[6], uint32_t scalar) {
  out[0] = '\\';
  out[1] = 'u';
  fc_hex_put(out + 2, (uint8_t)(scalar >> 8));
  fc_hex_put(out + 4, (uint8_t)scalar);
  return 6;
}

size_t fc_escape(char *out, size_t capacity, size_t limit, fc_str_t text) {
  static const char kEllipsis[] = "\xE2\x80\xA6";
  const size_t reserve = sizeof kEllipsis;  // with the terminator
  size_t written = 0, characters = 0, i = 0;
  if (capacity == 0) return 0;
  while (i < text.size) {
    const unsigned char *at = (const unsigned char *)text.data + i;
    char piece[6];
    const size_t length = fc_utf8_length(text.data + i, text.size - i);
    const bool plain =
        length == 1 && *at >= 0x20 && *at != 0x7F && *at != '"' && *at != '\\';
    const uint32_t scalar = length > 1 ? scalar_of(at, length) : 0;
    size_t size = length;
    if (length < 2 && !plain) size = escape_byte(piece, *at);
    else if (scalar && is_unseen(scalar)) size = escape_scalar(piece, scalar);
    else memcpy(piece, at, length);
    if (characters == limit || written + size + reserve > capacity) break;
    memcpy(out + written, piece, size);
    written += size;
    characters++;
    i += length ? length : 1;
  }
  if (i < text.size && capacity >= reserve) {
    memcpy(out + written, kEllipsis, sizeof kEllipsis - 1);
    written += sizeof kEllipsis - 1;
  }
  out[written] = '\0';
  return written;
}
