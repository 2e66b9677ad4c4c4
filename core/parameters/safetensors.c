// SPDX-License-Identifier: Apache-2.0
//
// The safetensors format: a 64-bit size, a JSON object of so many bytes that gives
// each tensor's name and byte range, then the bytes. The object also has types and
// shapes, which are skipped: the module knows those. Called by parameters.c.
#include "parameters/parameters.h"
#include "json/reader.h"

#define HEADER_MAX ((uint64_t)100 << 20)  // the format's own limit
#define DEPTH_MAX 16
#define TENSORS_MAX (1u << 20)

typedef struct header_t {
  fc_json_reader_t json;
  fc_parameters_t *archive;
  uint8_t *data;  // behind the header
  uint64_t size;
} header_t;

static fc_status_t expect(header_t *h, fc_json_token_t wanted,
                          fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&h->json, &token, err));
  if (token == wanted) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "%s where %s is expected",
                 fc_json_token_name(token), fc_json_token_name(wanted));
}

static fc_status_t skip_value(header_t *h, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(&h->json, &token, err));
  return fc_json_skip(&h->json, token, err);
}

// Reads [begin, end], which count from the end of the header.
static fc_status_t read_offsets(header_t *h, fc_parameter_t *item,
                                fc_error_t *err) {
  uint64_t range[3];
  size_t count = 0;
  fc_json_token_t stop;
  FC_TRY(expect(h, FC_JSON_ARRAY_BEGIN, err));
  FC_TRY(fc_json_read_elements(&h->json, FC_DTYPE_UI64, range, 3, &count, &stop,
                               err));
  if (count != 2 || stop != FC_JSON_ARRAY_END || range[0] > range[1] ||
      range[1] > h->size) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "data_offsets are no range of the file's data");
  }
  item->data = h->data + range[0];
  item->size = range[1] - range[0];
  return FC_OK;
}

// Decodes the key that was just read, the name of a tensor.
static fc_status_t read_name(header_t *h, fc_str_t *out, fc_error_t *err) {
  const fc_str_t raw = h->json.text;
  *out = raw;
  if (!h->json.escaped) return FC_OK;
  char *text = fc_arena_alloc(&h->archive->arena, raw.size + 1, 1);
  if (!text) return fc_fail_memory(err);
  *out = fc_str_make(text, fc_json_unescape(raw, text));
  return FC_OK;
}

static fc_status_t read_tensor(header_t *h, fc_error_t *err) {
  fc_parameter_t item = {.data = NULL};
  fc_json_token_t token;
  FC_TRY(read_name(h, &item.key, err));
  FC_TRY(expect(h, FC_JSON_OBJECT_BEGIN, err));
  for (;;) {
    FC_TRY(fc_json_next(&h->json, &token, err));
    if (token != FC_JSON_KEY) break;
    if (fc_json_text_is(&h->json, FC_STR("data_offsets"))) {
      FC_TRY(read_offsets(h, &item, err));
    } else {
      FC_TRY(skip_value(h, err));
    }
  }
  if (!item.data) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "a tensor has no data_offsets");
  }
  return fc_parameters_append(h->archive, &item, err);
}

static fc_status_t read_tensors(header_t *h, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(expect(h, FC_JSON_OBJECT_BEGIN, err));
  for (;;) {
    FC_TRY(fc_json_next(&h->json, &token, err));
    if (token != FC_JSON_KEY) break;
    if (fc_json_text_is(&h->json, FC_STR("__metadata__"))) {
      FC_TRY(skip_value(h, err));
    } else {
      FC_TRY(read_tensor(h, err));
    }
  }
  return expect(h, FC_JSON_END, err);
}

fc_status_t fc_safetensors_read(fc_parameters_t *archive, fc_error_t *err) {
  uint64_t size = 0;
  if (archive->size >= sizeof size) memcpy(&size, archive->data, sizeof size);
  if (size < 2 || size > HEADER_MAX || size > archive->size - sizeof size) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "neither an .irpa nor a .safetensors file");
  }
  header_t h = {.archive = archive,
                .data = archive->data + sizeof size + size,
                .size = archive->size - sizeof size - size};
  // The reader looks twice at some bytes. The file may be written to in
  // between, so the reader gets a copy.
  const fc_str_t text = fc_arena_copy(
      &archive->arena,
      fc_str_make((const char *)archive->data + sizeof size, (size_t)size));
  if (!text.data) return fc_fail_memory(err);
  fc_json_reader_init(&h.json, DEPTH_MAX, TENSORS_MAX);
  fc_json_reader_feed(&h.json, text.data, text.size, true);
  fc_error_t why = {0};
  fc_status_t status = read_tensors(&h, &why);
  if (status == FC_OK) return FC_OK;
  if (why.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(err);
  return fc_fail(err, FC_CODE_MODULE_LOAD, "safetensors header: %s",
                 why.message);
}
