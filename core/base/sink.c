// SPDX-License-Identifier: Apache-2.0
//
// fc_text_t, the sink that keeps everything in one growing block, and
// fc_sink_put. One thread at a time.
#include "farcall/base.h"

#define FIRST_CAPACITY 256

fc_status_t fc_sink_put(fc_sink_t *sink, fc_str_t text, fc_error_t *err) {
  FC_TRY(fc_sink_reserve(sink, text.size, err));
  if (text.size) memcpy(sink->cursor, text.data, text.size);
  sink->cursor += text.size;
  return FC_OK;
}

static fc_status_t text_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  fc_text_t *text = (fc_text_t *)sink;
  size_t used = fc_text_str(text).size;
  size_t capacity = text->data ? (size_t)(sink->end - text->data) : 0;
  size_t wanted;
  if (!fc_size_add(used, need, &wanted) || wanted > text->limit) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the text is over its limit of %zu bytes", text->limit);
  }
  size_t doubled = capacity > text->limit / 2 ? text->limit : capacity * 2;
  size_t next = doubled > wanted ? doubled : wanted;
  if (next < FIRST_CAPACITY) next = FIRST_CAPACITY;
  if (next > text->limit) next = text->limit;
  char *data = fc_realloc(text->allocator, text->data, used, next);
  if (!data) return fc_fail_memory(err);
  text->data = data;
  sink->cursor = data + used;
  sink->end = data + next;
  return FC_OK;
}

void fc_text_init(fc_text_t *text, fc_allocator_t allocator, size_t limit) {
  *text = (fc_text_t){
      .sink = {.grow = text_grow}, .allocator = allocator, .limit = limit};
}

void fc_text_deinit(fc_text_t *text) {
  if (text->data) fc_free(text->allocator, text->data);
  text->data = text->sink.cursor = text->sink.end = NULL;
}

void fc_text_reset(fc_text_t *text) { text->sink.cursor = text->data; }
