// SPDX-License-Identifier: Apache-2.0
//
// Reads member "show" of a function in a document about a module. It says how results
// are best shown to people, for example as labels of classes; it does not change calls.
// It becomes attribute "show" of the signature, which the explorer reads. One thread,
// at load.
#include <stdarg.h>
#include <stdio.h>

#include "abi/document.h"

enum {
  SHOW_MAX = 64,
  LABELS_MAX = 1 << 16,
  TEXT_SIZE_MAX = 1 << 20,  // of the whole member
  RATE_MIN = 3000,  // the least that browsers play (server/explorer/shown.js)
  RATE_MAX = 384000,
};

// Fails because of member `key` of entry `index`; with "" as `key`, because of the entry.
FC_PRINTF(4, 5)
static fc_status_t fault(const fc_doc_t *doc, size_t index, const char *key,
                         const char *format, ...) {
  char place[64], what[200];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  snprintf(place, sizeof place, "show/%zu%s%s", index, *key ? "/" : "", key);
  return fc_doc_fault(doc, place, "%s", what);
}

static fc_status_t check_at(const fc_doc_t *doc, size_t index, yyjson_val *at) {
  if (!yyjson_is_str(at)) {
    return fault(doc, index, "at", "%s, must be a JSON pointer into results",
                 at ? yyjson_get_type_desc(at) : "not there");
  }
  const fc_str_t text = fc_doc_text_of(at);
  if (text.size && *text.data == '/') return FC_OK;
  return fault(doc, index, "at", "'%s' is no JSON pointer into results",
               fc_doc_show(text).text);
}

static fc_status_t check_labels(const fc_doc_t *doc, size_t index,
                                yyjson_val *labels) {
  if (!yyjson_is_arr(labels)) {
    return fault(doc, index, "labels", "%s, must be an array",
                 yyjson_get_type_desc(labels));
  }
  const size_t count = yyjson_arr_size(labels);
  if (!count || count > LABELS_MAX) {
    return fault(doc, index, "labels", "%zu labels, it must be 1 to %d", count,
                 LABELS_MAX);
  }
  yyjson_val *label = yyjson_arr_get_first(labels);
  for (size_t i = 0; i < count; i++, label = unsafe_yyjson_get_next(label)) {
    if (yyjson_is_str(label)) continue;
    char key[40];
    snprintf(key, sizeof key, "labels/%zu", i);
    return fault(doc, index, key, "%s, must be a string",
                 yyjson_get_type_desc(label));
  }
  return FC_OK;
}

static fc_status_t check_audio(const fc_doc_t *doc, size_t index,
                               yyjson_val *rate) {
  if (!yyjson_is_num(rate)) {
    return fault(doc, index, "audio", "%s, must be a number",
                 yyjson_get_type_desc(rate));
  }
  const uint64_t whole = yyjson_get_uint(rate);
  if (yyjson_is_uint(rate) && whole >= RATE_MIN && whole <= RATE_MAX) {
    return FC_OK;
  }
  return fault(doc, index, "audio",
               "%.17g samples a second, must be a whole number, %d to %d",
               yyjson_get_num(rate), RATE_MIN, RATE_MAX);
}

static const struct {
  const char *key;
  fc_status_t (*check)(const fc_doc_t *doc, size_t index, yyjson_val *value);
} members[] = {
    {"at", check_at}, {"labels", check_labels}, {"audio", check_audio}};

static fc_status_t check_member(const fc_doc_t *doc, size_t index,
                                yyjson_val *key) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(members); i++) {
    if (!yyjson_equals_str(key, members[i].key)) continue;
    return members[i].check(doc, index, yyjson_obj_iter_get_val(key));
  }
  return fault(doc, index, "", "'%s' is none of: at, labels, audio",
               fc_doc_show(fc_doc_text_of(key)).text);
}

static fc_status_t check_entry(const fc_doc_t *doc, size_t index,
                               yyjson_val *entry) {
  if (!yyjson_is_obj(entry)) {
    return fault(doc, index, "", "%s, must be an object",
                 yyjson_get_type_desc(entry));
  }
  yyjson_obj_iter members_of = yyjson_obj_iter_with(entry);
  yyjson_val *key;
  while ((key = yyjson_obj_iter_next(&members_of))) {
    FC_TRY(check_member(doc, index, key));
  }
  if (!yyjson_obj_get(entry, "at")) return check_at(doc, index, NULL);
  if (yyjson_obj_get(entry, "labels") || yyjson_obj_get(entry, "audio")) {
    return FC_OK;
  }
  return fault(doc, index, "", "must have 'labels' or 'audio'");
}

fc_status_t fc_doc_showing(const fc_doc_t *doc, yyjson_val *object,
                           fc_builder_t *builder) {
  yyjson_val *list;
  FC_TRY(fc_doc_array(doc, object, "show", SHOW_MAX, &list));
  if (!list) return FC_OK;
  yyjson_val *entry = yyjson_arr_get_first(list);
  for (size_t i = 0; i < yyjson_arr_size(list); i++) {
    FC_TRY(check_entry(doc, i, entry));
    entry = unsafe_yyjson_get_next(entry);
  }
  const yyjson_alc *alc = &doc->json->alc;
  size_t size;
  char *text = yyjson_val_write_opts(list, 0, alc, &size, NULL);
  if (!text) return fc_fail_memory(doc->err);
  if (size <= TEXT_SIZE_MAX) {
    fc_builder_attr(builder, FC_STR("show"), fc_str_make(text, size));
  }
  alc->free(alc->ctx, text);
  if (size <= TEXT_SIZE_MAX) return FC_OK;
  return fc_doc_fault(doc, "show", "has %zu bytes, the limit is %d", size,
                      TEXT_SIZE_MAX);
}
