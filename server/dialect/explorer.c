// SPDX-License-Identifier: Apache-2.0
//
// The files are kept as gzip only. For the few clients that do not ask for gzip, a
// file is unpacked each time.
#include "dialect/explorer.h"

#include "dialect/query.h"

// server/explorer/pack.cmake writes explorer_files.inc: an FC_EXPLORER_FILE for each file.
#define FC_EXPLORER_FILE(name, digest, size, ...) \
  static const uint8_t k##name[] = {__VA_ARGS__};
#include "explorer_files.inc"
#undef FC_EXPLORER_FILE

typedef struct file_t {
  const char *digest;
  size_t size;  // unpacked
  const uint8_t *bytes;
  size_t packed;
} file_t;

enum {
#define FC_EXPLORER_FILE(name, digest, size, ...) FILE_##name,
#include "explorer_files.inc"
#undef FC_EXPLORER_FILE
};

static const file_t kFiles[] = {
#define FC_EXPLORER_FILE(name, digest, size, ...) \
  {digest, size, k##name, sizeof k##name},
#include "explorer_files.inc"
#undef FC_EXPLORER_FILE
};

static const struct {
  fc_route_t route;
  int file;
  const char *type;
} kRows[] = {
    {FC_ROUTE_INDEX, FILE_PAGE, "text/html; charset=utf-8"},
    {FC_ROUTE_EXPLORER_SCRIPT, FILE_SCRIPT, "text/javascript; charset=utf-8"},
    {FC_ROUTE_EXPLORER_STYLE, FILE_STYLE, "text/css; charset=utf-8"},
    {FC_ROUTE_EXPLORER_ICON, FILE_ICON, "image/svg+xml"},
};

bool fc_explorer_is_asked(const fc_request_t *request,
                          const fc_place_t *place) {
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  if (place->route != FC_ROUTE_INDEX) {
    return place->route == FC_ROUTE_EXPLORER_SCRIPT ||
           place->route == FC_ROUTE_EXPLORER_STYLE ||
           place->route == FC_ROUTE_EXPLORER_ICON;
  }
  return accept.size &&
         fc_request_weight(accept, FC_STR("text"), FC_STR("html")) >
             fc_request_weight(accept, FC_STR("application"), FC_STR("json"));
}

static fc_status_t put_unpacked(const file_t *file, fc_allocator_t allocator,
                                fc_sink_t *sink, fc_error_t *err) {
  fc_text_t text;
  // A text that is exactly full grows before the end of the gzip data is found, so the
  // limit is larger than the file.
  fc_text_init(&text, allocator, 2 * file->size + 4096);
  fc_status_t status = fc_inflate(
      FC_CODING_GZIP, fc_str_make((const char *)file->bytes, file->packed),
      file->size, &text, NULL, err);
  if (status == FC_OK) status = fc_sink_put(sink, fc_text_str(&text), err);
  fc_text_deinit(&text);
  return status;
}

fc_status_t fc_explorer_document(const fc_server_t *server,
                                 const fc_request_t *request,
                                 const fc_place_t *place,
                                 fc_document_t *out_document, fc_sink_t *sink,
                                 fc_error_t *err) {
  size_t row = 0;
  while (kRows[row].route != place->route) row++;
  const file_t *file = &kFiles[kRows[row].file];
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT_ENCODING];
  const bool packed = fc_request_answer_coding(accept) == FC_CODING_GZIP;
  // The plain and the gzip form have the same tag, so the tag is weak.
  *out_document = (fc_document_t){.content_type = fc_str(kRows[row].type),
                                  .digest = fc_str(file->digest),
                                  .weak_digest = true,
                                  .is_page = true};
  FC_TRY(fc_query_check(request, out_document->digest,
                        &out_document->not_modified, err));
  if (out_document->not_modified) return FC_OK;
  if (!packed) {
    return put_unpacked(file, server->modules->generations.allocator, sink,
                        err);
  }
  out_document->coding = FC_CODING_GZIP;
  return fc_sink_put(sink, fc_str_make((const char *)file->bytes, file->packed),
                     err);
}
