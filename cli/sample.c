// SPDX-License-Identifier: Apache-2.0
//
// The example is written by farcall, so it is processed as text: only numbers and bools
// change.
#include "sample.h"

#include "file.h"

#define SEED 0x9E3779B97F4A7C15u

// The beginning of a typed tensor in the example. Its sizes must not be drawn.
static const fc_str_t kTyped = {"{\"dtype\":\"f32\",\"shape\":[", 24};

// Marsaglia's xorshift64*.
static uint64_t draw(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (*state * 0x2545F4914F6CDD1Du) >> 32;
}

static bool starts(fc_str_t text, fc_str_t with) {
  return text.size >= with.size && !memcmp(text.data, with.data, with.size);
}

static bool is_number(char c) {
  return c && strchr("+-.0123456789eE", c) != NULL;
}

// Returns the size of the number or bool at the beginning; 0: there is none.
static size_t size_of_value(fc_str_t text) {
  size_t size = 0;
  if (starts(text, FC_STR("true"))) return 4;
  if (starts(text, FC_STR("false"))) return 5;
  while (size < text.size && is_number(text.data[size])) size++;
  return size;
}

// Returns the size of text that stays unchanged: a string, the shape of a tensor, or one
// byte.
static size_t size_of_rest(fc_str_t text) {
  size_t size = 1;
  if (starts(text, kTyped)) {
    while (size < text.size && text.data[size] != ']') size++;
  } else if (text.data[0] == '"') {
    while (size < text.size && text.data[size] != '"') {
      size += text.data[size] == '\\' ? 2 : 1;
    }
    size++;
  }
  return size < text.size ? size : text.size;
}

static fc_status_t put_drawn(fc_str_t value, bool integers, uint64_t number,
                             fc_sink_t *sink, fc_error_t *err) {
  if (value.data[0] == 't' || value.data[0] == 'f') {
    return fc_print_to(sink, err, "%s", number % 2 ? "true" : "false");
  }
  if (!memchr(value.data, '.', value.size)) {
    return integers ? fc_print_to(sink, err, "%d", (int)(number % 8))
                    : fc_sink_put(sink, value, err);
  }
  return fc_print_to(sink, err, "%.6f", ((double)(number % 256) - 128) / 64);
}

fc_status_t fc_sample_draw(fc_str_t example, bool integers, fc_sink_t *sink,
                           fc_error_t *err) {
  uint64_t state = SEED;
  while (example.size) {
    size_t size = size_of_value(example);
    const bool drawn = size > 0;
    if (!drawn) size = size_of_rest(example);
    const fc_str_t part = fc_str_make(example.data, size);
    FC_TRY(drawn ? put_drawn(part, integers, draw(&state), sink, err)
                 : fc_sink_put(sink, part, err));
    example = fc_str_make(example.data + size, example.size - size);
  }
  return FC_OK;
}
