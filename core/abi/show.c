// SPDX-License-Identifier: Apache-2.0
//
// Member "show" of a function in a document about a module: how results are best shown to
// people, as labels of classes. It changes nothing of a call. It becomes attribute "show"
// of the signature, which the explorer reads. One thread, at load.
#include <stdio.h>

#include "abi/document.h"

enum {
  SHOW_MAX = 64,
  LABELS_MAX = 1 << 16,
  TEXT_SIZE_MAX = 1 << 20,  // of the whole member
  RATE_MAX = 384000,
};

// Fails at member `key` of entry `index`.
static fc_status_t fault(const fc_doc_t *doc, size_t index, const char *key,
                         const char *what) {
  char place[40];
  snprintf(place, sizeof place, "show/%zu%s%s", index, *key ? "/" : "", key);
  return fc_doc_fault(doc, place, "%s", what);
}

static const char *check_labels(yyjson_val *labels) {
  const size_t count = yyjson_arr_size(labels);
  if (!yyjson_is_arr(labels) || !count || count > LABELS_MAX) {
    return "must be an array of 1 to 65536 texts";
  }
  yyjson_val *label = yyjson_arr_get_first(labels);
  for (size_t i = 0; i < count; i++, label = unsafe_yyjson_get_next(label)) {
    if (!yyjson_is_str(label)) return "must be an array of texts alone";
  }
  return NULL;
}

static const char *check_audio(yyjson_val *rate) {
  const bool good = yyjson_is_uint(rate) && yyjson_get_uint(rate) &&
                    yyjson_get_uint(rate) <= RATE_MAX;
  return good ? NULL : "must be samples a second, 1 to 384000";
}

static fc_status_t check_entry(const fc_doc_t *doc, size_t index,
                               yyjson_val *entry) {
  if (!yyjson_is_obj(entry)) return fault(doc, index, "", "must be an object");
  const char *at = yyjson_get_str(yyjson_obj_get(entry, "at"));
  if (!at || *at != '/') {
    return fault(doc, index, "at", "must be a JSON pointer into the results");
  }
  yyjson_val *labels = yyjson_obj_get(entry, "labels");
  yyjson_val *audio = yyjson_obj_get(entry, "audio");
  const char *wrong = labels ? check_labels(labels) : NULL;
  if (wrong) return fault(doc, index, "labels", wrong);
  wrong = audio ? check_audio(audio) : NULL;
  if (wrong) return fault(doc, index, "audio", wrong);
  if (labels || audio) return FC_OK;
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
