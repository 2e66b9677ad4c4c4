// SPDX-License-Identifier: Apache-2.0
//
// The readers of single members. The author of a document may make mistakes, so
// every member is checked before its value is used.
#include "abi/document.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hex.h"

// ---------------------------------------------------------------------------
// Faults

// Prints the JSON pointer of member `key` of the object being read.
static void place_print(const fc_doc_t *doc, const char *key, char *out,
                        size_t capacity) {
  char list[48] = "";
  char function[48] = "";
  if (doc->function >= 0) {
    snprintf(function, sizeof function, "/%s/%" PRId64,
             doc->functions ? doc->functions : "functions", doc->function);
  }
  if (doc->list) {
    snprintf(list, sizeof list, "/%s/%zu", doc->list, doc->item);
  }
  snprintf(out, capacity, "%s%s%s%s", function, list, key[0] ? "/" : "", key);
}

fc_status_t fc_doc_fault(const fc_doc_t *doc, const char *key,
                         const char *format, ...) {
  char place[128];
  char what[240];
  place_print(doc, key, place, sizeof place);
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  fc_status_t status =
      fc_fail(doc->err, FC_CODE_ABI_METADATA, "%s%s%s: %s",
              doc->whose ? doc->whose : "", doc->whose ? ", " : "",
              place[0] ? place : "the document", what);
  if (doc->err) {
    doc->err->has_pointer = true;
    snprintf(doc->err->pointer, sizeof doc->err->pointer, "%s", place);
  }
  return status;
}

// ---------------------------------------------------------------------------
// Members

fc_shown_t fc_doc_show(fc_str_t name) {
  fc_shown_t shown;
  fc_escape(shown.text, sizeof shown.text, 64, name);
  return shown;
}

fc_status_t fc_doc_text(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, fc_str_t *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_str(value)) return fc_doc_fault(doc, key, "must be a string");
  *out = fc_doc_text_of(value);
  return FC_OK;
}

fc_status_t fc_doc_bool(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, bool *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_bool(value))
    return fc_doc_fault(doc, key, "must be true or false");
  *out = yyjson_get_bool(value);
  return FC_OK;
}

fc_status_t fc_doc_size(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  if (!yyjson_is_uint(value)) {
    return fc_doc_fault(doc, key, "must be an integer, 0 or more");
  }
  *out = yyjson_get_uint(value);
  return FC_OK;
}

fc_status_t fc_doc_choice(const fc_doc_t *doc, yyjson_val *object,
                          const char *key, const char *const *names,
                          unsigned count, unsigned *out) {
  fc_str_t text = {0};
  FC_TRY(fc_doc_text(doc, object, key, &text));
  if (!text.data) return FC_OK;
  char known[100] = "";
  size_t used = 0;
  for (unsigned i = 0; i < count; i++) {
    if (fc_str_equal(text, fc_str(names[i]))) {
      *out = i;
      return FC_OK;
    }
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                             i ? ", " : "", names[i]);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, text);
  return fc_doc_fault(doc, key, "'%s' is none of: %s", shown, known);
}

fc_status_t fc_doc_array(const fc_doc_t *doc, yyjson_val *object,
                         const char *key, size_t limit, yyjson_val **out) {
  *out = yyjson_obj_get(object, key);
  if (!*out) return FC_OK;
  if (!yyjson_is_arr(*out)) return fc_doc_fault(doc, key, "must be an array");
  if (yyjson_arr_size(*out) <= limit) return FC_OK;
  return fc_doc_fault(doc, key, "%zu elements, at most %zu are allowed",
                      yyjson_arr_size(*out), limit);
}

fc_status_t fc_doc_dim(const fc_doc_t *doc, yyjson_val *entry, int index,
                       int64_t have, fc_builder_t *builder, int64_t *out) {
  *out = have;
  if (yyjson_is_null(entry)) return FC_OK;
  if (yyjson_is_str(entry) && yyjson_get_len(entry)) {
    if (have >= 0) {
      return fc_doc_fault(doc, "dims", "dim %d has a size in the type, no name",
                          index);
    }
    if (yyjson_get_len(entry) > FC_DIM_NAME_SIZE_MAX) {
      return fc_doc_fault(doc, "dims",
                          "the name of dim %d has %zu bytes, at most %d are "
                          "allowed",
                          index, yyjson_get_len(entry), FC_DIM_NAME_SIZE_MAX);
    }
    *out = fc_builder_dim_name(builder, fc_doc_text_of(entry));
    return FC_OK;
  }
  if (!yyjson_is_uint(entry) || yyjson_get_uint(entry) > INT64_MAX) {
    return fc_doc_fault(doc, "dims", "dim %d must be a size, a name or null",
                        index);
  }
  *out = (int64_t)yyjson_get_uint(entry);
  if (have < 0 || have == *out) return FC_OK;
  return fc_doc_fault(doc, "dims",
                      "dim %d is %" PRId64 ", %" PRId64 " in the type", index,
                      *out, have);
}

// ---------------------------------------------------------------------------
// The document

static void *alc_malloc(void *context, size_t size) {
  return fc_alloc_aligned(*(fc_allocator_t *)context, size, 16);
}
static void *alc_realloc(void *context, void *memory, size_t old_size,
                         size_t size) {
  return fc_realloc(*(fc_allocator_t *)context, memory, old_size, size);
}
static void alc_free(void *context, void *memory) {
  fc_free(*(fc_allocator_t *)context, memory);
}

yyjson_alc fc_doc_alc(fc_allocator_t *allocator) {
  return (yyjson_alc){alc_malloc, alc_realloc, alc_free, allocator};
}

// Parses the JSON. The document that yyjson makes keeps a pointer to `allocator`.
static fc_status_t read_json(fc_doc_t *doc, fc_str_t json,
                             fc_allocator_t *allocator) {
  if (json.size > FC_SIDECAR_SIZE_MAX) {
    return fc_doc_fault(doc, "", "%zu bytes, at most %u are read", json.size,
                        FC_SIDECAR_SIZE_MAX);
  }
  const yyjson_alc alc = fc_doc_alc(allocator);
  yyjson_read_err failure = {0};
  // Without YYJSON_READ_INSITU yyjson does not write to the text.
  yyjson_doc *document = yyjson_read_opts((char *)(uintptr_t)json.data,
                                          json.size, 0, &alc, &failure);
  if (document) {
    doc->json = document;
    return FC_OK;
  }
  if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
    return fc_fail_memory(doc->err);
  }
  fc_status_t status = fc_doc_fault(doc, "", "not JSON: %s at byte %zu",
                                    failure.msg, failure.pos);
  if (doc->err) doc->err->byte_offset = failure.pos;
  return status;
}

static bool same_hex(fc_str_t text, const char *hex) {
  if (text.size != strlen(hex)) return false;
  for (size_t i = 0; i < text.size; i++) {
    // This makes a letter lower case; a digit already has the bit.
    if ((text.data[i] | 0x20) != hex[i]) return false;
  }
  return true;
}

static bool is_sha256(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if (fc_hex_value(text.data[i]) < 0) return false;
  }
  return text.size == 64;
}

static fc_status_t read_head(fc_doc_t *doc, yyjson_val *root) {
  static const char *const abis[] = {"", "mlir-memref", "module"};
  if (!yyjson_is_obj(root)) return fc_doc_fault(doc, "", "must be an object");
  yyjson_val *format = yyjson_obj_get(root, "farcall");
  if (!yyjson_is_uint(format)) {
    return fc_doc_fault(doc, "farcall", "must be the number of the format");
  }
  if (yyjson_get_uint(format) != 1) {
    return fc_doc_fault(doc, "farcall", "format %" PRIu64 ", only 1 is known",
                        yyjson_get_uint(format));
  }
  unsigned abi = FC_DOC_ABI_UNSAID;
  FC_TRY(fc_doc_choice(doc, root, "abi", abis + 1, 2, &abi));
  if (yyjson_obj_get(root, "abi")) doc->abi = (fc_doc_abi_t)(abi + 1);
  FC_TRY(fc_doc_text(doc, root, "so_sha256", &doc->so_sha256));
  if (doc->so_sha256.size && !is_sha256(doc->so_sha256)) {
    return fc_doc_fault(doc, "so_sha256", "must be 64 hex digits");
  }
  return FC_OK;
}

fc_status_t fc_doc_open(fc_doc_t *doc, fc_str_t text, fc_allocator_t *allocator,
                        fc_error_t *err) {
  *doc = (fc_doc_t){.err = err, .whose = doc->whose, .function = -1};
  FC_TRY(read_json(doc, text, allocator));
  fc_status_t status = read_head(doc, yyjson_doc_get_root(doc->json));
  if (status == FC_OK) return FC_OK;
  yyjson_doc_free(doc->json);
  doc->json = NULL;
  return status;
}

fc_status_t fc_doc_check_hash(fc_str_t wanted, const char *actual,
                              fc_error_t *err) {
  if (wanted.size == 0 || same_hex(wanted, actual)) return FC_OK;
  return fc_fail(err, FC_CODE_ABI_METADATA,
                 "its sidecar describes another build: so_sha256 is %.12s…, "
                 "the file's %.12s…; compile again, or remove the sidecar",
                 wanted.data, actual);
}
