// SPDX-License-Identifier: Apache-2.0
#include "dialect/request.h"

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

// Returns 0x20 in each of the eight bytes of `text` that is an ASCII letter, and 0 in
// the others.
static uint64_t letters(uint64_t text) {
  const uint64_t ones = 0x0101010101010101u, low = ones * 0x7F;
  const uint64_t folded = (text | ones * 0x20) & low;
  const uint64_t from_a = folded + ones * (0x80 - 'a');
  const uint64_t past_z = folded + ones * (0x80 - 'z' - 1);
  return (from_a & ~past_z & ~text & ones * 0x80) >> 2;
}

static bool same_eight(const char *a, const char *b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return ((x ^ y) & ~letters(x)) == 0;
}

bool fc_request_same_text(fc_str_t a, fc_str_t b) {
  if (a.size != b.size) return false;
  if (a.size < 8) {
    for (size_t i = 0; i < a.size; i++) {
      if (lower(a.data[i]) != lower(b.data[i])) return false;
    }
    return true;
  }
  for (size_t i = 0; i + 8 < a.size; i += 8) {
    if (!same_eight(a.data + i, b.data + i)) return false;
  }
  // Compares the last eight bytes, some of which may have been compared already.
  return same_eight(a.data + a.size - 8, b.data + b.size - 8);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

fc_str_t fc_request_trim(fc_str_t text) {
  while (text.size && is_blank(text.data[0])) text.data++, text.size--;
  while (text.size && is_blank(text.data[text.size - 1])) text.size--;
  return text;
}

// Returns the weight in an item's parameters ("q=0.5"), in thousandths; 1000 if there is
// none, or none that can be read.
static uint32_t weight_of(fc_str_t parameters) {
  while (parameters.size) {
    fc_str_t one = fc_request_trim(fc_str_take(&parameters, ';'));
    if (one.size < 3 || lower(one.data[0]) != 'q' || one.data[1] != '=') {
      continue;
    }
    uint32_t weight = 0, unit = 1000;
    for (size_t i = 2; i < one.size; i++) {
      const char c = one.data[i];
      if (c == '.' && i == 3) continue;
      if (c < '0' || c > '9' || (i > 2 && one.data[3] != '.')) return 1000;
      weight += (uint32_t)(c - '0') * unit;
      unit /= 10;
    }
    return weight < 1000 ? weight : 1000;
  }
  return 1000;
}

// Returns how closely a media range matches a type: 3 exactly, 2 its main type, 1
// anything, 0 not at all.
static int range_closeness(fc_str_t range, fc_str_t type, fc_str_t subtype) {
  const char *slash = range.size ? memchr(range.data, '/', range.size) : NULL;
  if (!slash) return 0;
  const size_t head = (size_t)(slash - range.data);
  fc_str_t left = fc_str_make(range.data, head);
  fc_str_t right = fc_str_make(slash + 1, range.size - head - 1);
  const bool any = fc_str_equal(right, FC_STR("*"));
  if (any && fc_str_equal(left, FC_STR("*"))) return 1;
  if (!fc_request_same_text(left, type)) return 0;
  if (any) return 2;
  return fc_request_same_text(right, subtype) ? 3 : 0;
}

// RFC 9110 12.5.1: of the ranges that match a type, the closest one decides.
uint32_t fc_request_weight(fc_str_t accept, fc_str_t type, fc_str_t subtype) {
  if (accept.size == 0) return 1000;
  int closest = 0;
  uint32_t weight = 0;
  while (accept.size) {
    fc_str_t parameters = fc_request_trim(fc_str_take(&accept, ','));
    fc_str_t range = fc_request_trim(fc_str_take(&parameters, ';'));
    const int closeness = range_closeness(range, type, subtype);
    if (closeness < closest || !closeness) continue;
    const uint32_t here = weight_of(parameters);
    if (closeness > closest || here > weight) weight = here;
    closest = closeness;
  }
  return weight;
}

fc_coding_t fc_request_coding(fc_str_t text) {
  static const struct {
    fc_str_t name;
    fc_coding_t coding;
  } kCodings[] = {{FC_STR("gzip"), FC_CODING_GZIP},
                  {FC_STR("x-gzip"), FC_CODING_GZIP},
                  {FC_STR("deflate"), FC_CODING_DEFLATE}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kCodings); i++) {
    if (fc_request_same_text(text, kCodings[i].name)) return kCodings[i].coding;
  }
  return FC_CODING_NONE;
}

// RFC 9110 12.5.3: "*" means every coding that is not named. The answer is compressed if
// a coding is wanted, and, where "identity" is named, is wanted at least as much as
// "identity".
fc_coding_t fc_request_answer_coding(fc_str_t accept) {
  if (accept.size == 0) return FC_CODING_NONE;
  uint32_t weights[FC_CODING_DEFLATE + 1] = {0}, any = 0;
  bool named[FC_CODING_DEFLATE + 1] = {false};
  while (accept.size) {
    fc_str_t parameters = fc_request_trim(fc_str_take(&accept, ','));
    fc_str_t name = fc_request_trim(fc_str_take(&parameters, ';'));
    const uint32_t weight = weight_of(parameters);
    const fc_coding_t coding = fc_request_coding(name);
    if (fc_str_equal(name, FC_STR("*"))) any = weight;
    if (!coding && !fc_request_same_text(name, FC_STR("identity"))) continue;
    if (weight > weights[coding]) weights[coding] = weight;
    named[coding] = true;
  }
  fc_coding_t best = FC_CODING_NONE;
  for (int i = FC_CODING_GZIP; i <= FC_CODING_DEFLATE; i++) {
    if (!named[i]) weights[i] = any;
    const bool better = best ? weights[i] > weights[best]
                             : weights[i] && weights[i] >= weights[best];
    if (better) best = (fc_coding_t)i;
  }
  return best;
}

fc_str_t fc_request_query(fc_str_t query, fc_str_t key) {
  while (query.size) {
    const char *mark = memchr(query.data, '&', query.size);
    size_t size = mark ? (size_t)(mark - query.data) : query.size;
    fc_str_t pair = fc_str_make(query.data, size);
    if (fc_str_starts(pair, key)) {
      if (pair.size == key.size) return fc_str_make(pair.data + size, 0);
      if (pair.data[key.size] == '=') {
        return fc_str_make(pair.data + key.size + 1, pair.size - key.size - 1);
      }
    }
    if (!mark) break;
    query = fc_str_make(mark + 1, query.size - size - 1);
  }
  return (fc_str_t){0};
}

bool fc_request_is_grpc(const fc_request_t *request) {
  static const fc_str_t kType = FC_STR("application/grpc");
  fc_str_t type = request->fields[FC_FIELD_CONTENT_TYPE];
  if (!request->has_trailers || type.size < kType.size) return false;
  const char next = type.size > kType.size ? type.data[kType.size] : ';';
  type.size = kType.size;
  return fc_request_same_text(type, kType) &&
         (next == ';' || next == '+' || next == ' ');
}

uint32_t fc_message_size(fc_str_t head) {
  uint32_t size = 0;
  for (size_t i = 1; i < FC_MESSAGE_HEAD; i++) {
    size = size << 8 | (uint8_t)head.data[i];
  }
  return size;
}
