// SPDX-License-Identifier: Apache-2.0
//
// nghttp2 has checked names and values (RFC 9113, 8.2 and 8.3): no character in them
// could begin another line, pseudo fields come first and only once, and no field is
// about a connection. The rules for the contents are those of HTTP/1.
#include "http2/connection.h"

// An exchange keeps the names, so they are static.
static const struct {
  const char *name;
  fc_method_t method;
} kMethods[] = {
    {"GET", FC_METHOD_GET},       {"HEAD", FC_METHOD_HEAD},
    {"POST", FC_METHOD_POST},     {"DELETE", FC_METHOD_DELETE},
    {"PUT", FC_METHOD_PUT},       {"OPTIONS", FC_METHOD_OTHER},
    {"PATCH", FC_METHOD_OTHER},   {"TRACE", FC_METHOD_OTHER},
    {"CONNECT", FC_METHOD_OTHER},
};

static fc_status_t take_method(fc_request_t *request, fc_str_t text,
                               fc_error_t *err) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kMethods); i++) {
    if (!fc_str_equal(text, fc_str(kMethods[i].name))) continue;
    request->method = kMethods[i].method;
    request->method_name = kMethods[i].name;
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_HTTP_SYNTAX, "no method that is known");
}

// nghttp2 has checked the digits, and compares the length with the body.
static uint64_t read_length(fc_str_t text) {
  uint64_t length = 0;
  for (size_t i = 0; i < text.size; i++) {
    length = 10 * length + (uint64_t)(text.data[i] - '0');
  }
  return length;
}

static fc_status_t take(fc_head_t *head, fc_str_t name, fc_str_t value,
                        fc_error_t *err) {
  fc_request_t *request = &head->request;
  if (fc_str_equal(name, FC_STR(":method"))) {
    return take_method(request, value, err);
  }
  if (fc_str_equal(name, FC_STR(":path"))) head->target = value;
  else if (fc_str_equal(name, FC_STR(":authority"))) request->authority = value;
  if (name.data[0] == ':') return FC_OK;
  if (fc_str_equal(name, FC_STR("content-length"))) {
    head->has_length = true;
    request->length = read_length(value);
  }
  return fc_parser_take_field(request, name, value, err) ? FC_OK : err->status;
}

// Continues after an error, so that the id of the request is known.
static fc_status_t read_lines(fc_str_t text, fc_head_t *head, fc_error_t *err) {
  fc_status_t status = FC_OK;
  fc_error_t ignored;
  while (text.size) {
    const fc_str_t before = text;
    const fc_str_t line = fc_str_take(&text, '\n');
    const char *colon = memchr(line.data + 1, ':', line.size - 1);
    const size_t size = (size_t)(colon - line.data);
    const fc_str_t name = fc_str_make(line.data, size);
    // After the name come ": ", the value and the CR.
    const fc_str_t value =
        fc_request_trim(fc_str_make(colon + 2, line.size - size - 3));
    if (line.data[0] != ':' && !head->request.lines.size) {
      head->request.lines = before;
    }
    const fc_status_t each =
        take(head, name, value, status == FC_OK ? err : &ignored);
    if (status == FC_OK) status = each;
  }
  return status;
}

fc_status_t fc_http2_read_head(fc_str_t text, fc_head_t *head,
                               fc_error_t *err) {
  fc_request_t *request = &head->request;
  *head = (fc_head_t){
      .minor = 1, .keep_alive = true, .request = {.has_trailers = true}};
  request->method_name = request->path.data = "";
  request->lines = request->query = FC_STR("");
  FC_TRY(read_lines(text, head, err));
  fc_str_t *host = &request->fields[FC_FIELD_HOST];
  if (!host->data && request->authority.size) *host = request->authority;
  if (!head->target.data) {  // CONNECT has no target
    request->path = request->authority;
    return FC_OK;
  }
  if (head->target.data[0] != '/' && !fc_str_equal(head->target, FC_STR("*"))) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "the path must begin with '/'");
  }
  return fc_parser_check_head(head, err);
}

// ---------------------------------------------------------------------------
// Answers

static nghttp2_nv field_of(fc_str_t name, fc_str_t value) {
  return (nghttp2_nv){(uint8_t *)(uintptr_t)name.data,
                      (uint8_t *)(uintptr_t)value.data, name.size, value.size,
                      NGHTTP2_NV_FLAG_NONE};
}

// Has each answer its own value of the field? Then the connection's table of fields does
// not keep it: nghttp2 would compare all values that are kept with each new one.
static bool is_unique(fc_str_t name) {
  return fc_str_equal(name, FC_STR("X-Request-Id")) ||
         fc_str_equal(name, FC_STR("Server-Timing")) ||
         fc_str_equal(name, FC_STR("traceresponse"));
}

size_t fc_http2_read_lines(fc_str_t text, size_t count, nghttp2_nv *out) {
  fc_str_t line;
  while ((line = fc_str_take(&text, '\n')).size > 1) {
    FC_ASSERT(count < FC_HTTP2_FIELDS);
    const fc_str_t name = fc_str_take(&line, ':');
    // Without the blank in front and the CR behind.
    out[count] = field_of(name, fc_str_make(line.data + 1, line.size - 2));
    if (is_unique(name)) out[count].flags = NGHTTP2_NV_FLAG_NO_INDEX;
    count++;
  }
  return count;
}

size_t fc_http2_read_fields(fc_str_t text, nghttp2_nv *out) {
  const fc_str_t line = fc_str_take(&text, '\n');
  // "HTTP/1.1 200 OK"
  out[0] = field_of(FC_STR(":status"), fc_str_make(line.data + 9, 3));
  return fc_http2_read_lines(text, 1, out);
}
