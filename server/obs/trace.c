// SPDX-License-Identifier: Apache-2.0
#include "obs/trace.h"

#include "base/hex.h"

// Reads 2 * size hex digits. Upper case is refused, as the specification requires. Sets
// *out_any if a byte is not zero.
static bool read_bytes(const char *text, size_t size, uint8_t *out,
                       bool *out_any) {
  *out_any = false;
  for (size_t i = 0; i < size; i++) {
    const char high = text[2 * i], low = text[2 * i + 1];
    const int first = fc_hex_value(high), second = fc_hex_value(low);
    const bool upper =
        (high >= 'A' && high <= 'F') || (low >= 'A' && low <= 'F');
    if (first < 0 || second < 0 || upper) return false;
    out[i] = (uint8_t)(first << 4 | second);
    if (out[i]) *out_any = true;
  }
  return true;
}

// The form is version "-" trace-id "-" parent-id "-" flags; later versions may add "-"
// and more.
bool fc_trace_parse(fc_str_t text, fc_trace_t *out_trace) {
  fc_trace_t trace = {.known = true};
  uint8_t version, flags;
  bool any;
  if (text.size < FC_TRACE_TEXT) return false;
  const char *at = text.data;
  if (at[2] != '-' || at[35] != '-' || at[52] != '-') return false;
  if (!read_bytes(at, 1, &version, &any) || version == 0xFF) return false;
  if (text.size > FC_TRACE_TEXT && (version == 0 || at[FC_TRACE_TEXT] != '-')) {
    return false;
  }
  if (!read_bytes(at + 3, FC_TRACE_ID, trace.id, &any) || !any) return false;
  if (!read_bytes(at + 36, FC_SPAN_ID, trace.parent, &any) || !any)
    return false;
  if (!read_bytes(at + 53, 1, &flags, &any)) return false;
  trace.sampled = flags & 1;
  *out_trace = trace;
  return true;
}

void fc_trace_print_id(const uint8_t *bytes, size_t size, char *out) {
  for (size_t i = 0; i < size; i++) fc_hex_put(out + 2 * i, bytes[i]);
}

void fc_trace_print(const fc_trace_t *trace, char *out) {
  memcpy(out, "00-", 3);
  fc_trace_print_id(trace->id, FC_TRACE_ID, out + 3);
  out[35] = out[52] = '-';
  fc_trace_print_id(trace->span, FC_SPAN_ID, out + 36);
  memcpy(out + 53, trace->sampled ? "01" : "00", 2);
}

// splitmix64
uint64_t fc_trace_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

void fc_trace_make_id(uint64_t *state, uint8_t *out, size_t size) {
  for (size_t i = 0; i < size; i += 8) {
    uint64_t part = fc_trace_random(state);
    if (!part) part = 1;
    memcpy(out + i, &part, sizeof part);
  }
}
