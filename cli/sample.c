// SPDX-License-Identifier: Apache-2.0
//
// The example is farcall's own: nested no deeper than a signature, and of two keys,
// "args" or "kwargs", whose members are arguments.
#include "sample.h"

#include <yyjson.h>

#define SEED 0x9E3779B97F4A7C15u

// Marsaglia's xorshift64*.
static uint64_t draw(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (*state * 0x2545F4914F6CDD1Du) >> 32;
}

// What says how a tensor's numbers are to be read is no number to be drawn.
static bool is_head(const char *key) {
  return !strcmp(key, "dtype") || !strcmp(key, "shape");
}

static void draw_value(yyjson_mut_val *value, uint64_t *state) {
  yyjson_mut_val *key, *item;
  size_t index, count;
  if (yyjson_mut_is_real(value)) {
    yyjson_mut_set_real(value, ((double)(draw(state) % 256) - 128) / 64);
  } else if (yyjson_mut_is_int(value)) {
    yyjson_mut_set_uint(value, draw(state) % 8);
  } else if (yyjson_mut_is_bool(value)) {
    yyjson_mut_set_bool(value, draw(state) % 2);
  } else if (yyjson_mut_is_arr(value)) {
    yyjson_mut_arr_foreach(value, index, count, item) draw_value(item, state);
  } else if (yyjson_mut_is_obj(value)) {
    const bool typed = yyjson_mut_obj_get(value, "dtype") != NULL;
    yyjson_mut_obj_foreach(value, index, count, key, item) {
      if (!typed || !is_head(yyjson_mut_get_str(key))) draw_value(item, state);
    }
  }
}

fc_status_t fc_sample_draw(fc_str_t example, fc_sink_t *sink, fc_error_t *err) {
  uint64_t state = SEED;
  size_t size;
  yyjson_doc *doc = yyjson_read(example.data, example.size, 0);
  if (!doc) {
    return fc_fail(err, FC_CODE_JSON_SYNTAX, "the example is no JSON");
  }
  yyjson_mut_doc *drawn = yyjson_doc_mut_copy(doc, NULL);
  yyjson_doc_free(doc);
  if (drawn) draw_value(yyjson_mut_doc_get_root(drawn), &state);
  char *text = drawn ? yyjson_mut_write(drawn, 0, &size) : NULL;
  const fc_status_t status =
      text ? fc_sink_put(sink, fc_str_make(text, size), err)
           : fc_fail_memory(err);
  free(text);
  yyjson_mut_doc_free(drawn);
  return status;
}
