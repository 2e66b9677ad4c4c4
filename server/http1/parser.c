// SPDX-License-Identifier: Apache-2.0
//
// llhttp splits the head, and this file interprets it. A target, host, length or coding
// that two readers could understand differently is refused (RFC 9112 sections 3, 6).
#include "http1/parser.h"

#include "config/address.h"
#include "config/limits.h"

static const struct {
  fc_str_t name;
  bool once;
} kFields[FC_FIELD_COUNT] = {
#define FC_FIELD(id, text, once_) \
  [FC_FIELD_##id] = {{text, sizeof(text) - 1}, once_},
#include "dialect/field.def"
#undef FC_FIELD
};

// The sizes of the names in kFields: only names of the wanted size are compared.
static const uint8_t kSizes[FC_FIELD_COUNT] = {
#define FC_FIELD(id, text, once_) [FC_FIELD_##id] = sizeof(text) - 1,
#include "dialect/field.def"
#undef FC_FIELD
};

// ---------------------------------------------------------------------------
// llhttp's callbacks. A whole head is parsed at once, so each span is complete or adjoins
// the previous one.

static fc_parser_t *self(llhttp_t *llhttp) { return llhttp->data; }

static void extend(fc_str_t *span, const char *at, size_t size) {
  if (span->data && span->data + span->size == at) span->size += size;
  else *span = fc_str_make(at, size);
}

static int on_url(llhttp_t *llhttp, const char *at, size_t size) {
  extend(&self(llhttp)->head->target, at, size);
  return 0;
}

static int on_name(llhttp_t *llhttp, const char *at, size_t size) {
  fc_parser_t *parser = self(llhttp);
  if (parser->head) extend(&parser->name, at, size);
  return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t size) {
  fc_parser_t *parser = self(llhttp);
  if (parser->head) extend(&parser->value, at, size);
  return 0;
}

// Returns the field of this name; FC_FIELD_COUNT: nobody reads it.
static size_t field_of(fc_str_t name) {
  if (name.size > UINT8_MAX) return FC_FIELD_COUNT;
  const uint8_t *at = kSizes, *end = kSizes + FC_FIELD_COUNT;
  while ((at = memchr(at, (int)name.size, (size_t)(end - at)))) {
    const size_t field = (size_t)(at++ - kSizes);
    if (fc_request_same_text(name, kFields[field].name)) return field;
  }
  return FC_FIELD_COUNT;
}

bool fc_parser_take_field(fc_request_t *request, fc_str_t name, fc_str_t value,
                          fc_error_t *err) {
  const size_t i = field_of(name);
  if (i == FC_FIELD_COUNT) return true;
  fc_str_t *field = &request->fields[i];
  if (!field->data) {
    *field = fc_str_make(value.data ? value.data : "", value.size);
  } else if (kFields[i].once) {
    (void)fc_fail(err, FC_CODE_HTTP_SYNTAX, "two '%.*s' fields",
                  FC_STR_ARG(kFields[i].name));
    return false;
  } else if (i == FC_FIELD_TRACEPARENT) {
    *field = FC_STR("");
  }
  return true;
}

static int on_value_complete(llhttp_t *llhttp) {
  fc_parser_t *parser = self(llhttp);
  if (!parser->head) return 0;  // this is a trailer, which is ignored
  const fc_str_t name = parser->name, value = fc_request_trim(parser->value);
  parser->name = parser->value = (fc_str_t){0};
  if (!fc_parser_take_field(&parser->head->request, name, value,
                            parser->failed ? NULL : parser->err)) {
    parser->failed = true;
  }
  return 0;
}

// Saves values that llhttp resets at the end of the message.
static int on_headers(llhttp_t *llhttp) {
  fc_head_t *head = self(llhttp)->head;
  head->has_length = (llhttp->flags & F_CONTENT_LENGTH) != 0;
  head->request.length = head->has_length ? llhttp->content_length : 0;
  // CONNECT and Upgrade: the server answers in HTTP/1.1 and closes.
  head->keep_alive = !llhttp->upgrade && llhttp_should_keep_alive(llhttp);
  return 0;
}

static int on_complete(llhttp_t *llhttp) {
  self(llhttp)->complete = true;
  return 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t size) {
  fc_parser_t *parser = self(llhttp);
  return parser->on_body(parser->context, fc_str_make(at, size)) ? 0 : HPE_USER;
}

void fc_parser_init(fc_parser_t *parser) {
  *parser = (fc_parser_t){0};
  llhttp_settings_init(&parser->settings);
  parser->settings.on_url = on_url;
  parser->settings.on_header_field = on_name;
  parser->settings.on_header_value = on_value;
  parser->settings.on_header_value_complete = on_value_complete;
  parser->settings.on_headers_complete = on_headers;
  parser->settings.on_body = on_body;
  parser->settings.on_message_complete = on_complete;
}

// ---------------------------------------------------------------------------
// What the head means

static fc_status_t fail_llhttp(const llhttp_t *llhttp, fc_error_t *err) {
  const char *reason =
      llhttp->reason && *llhttp->reason ? llhttp->reason : "malformed message";
  return fc_fail(err, FC_CODE_HTTP_SYNTAX, "%s", reason);
}

// RFC 9112 3.2: splits the origin form, the absolute form of http, or "*". The form for
// CONNECT is not passed to this function.
static fc_status_t split_target(fc_head_t *head, fc_error_t *err) {
  fc_request_t *request = &head->request;
  fc_str_t rest = head->target;
  const bool is_origin = rest.size && rest.data[0] == '/';
  if (!is_origin &&
      fc_request_same_text(fc_str_make(rest.data, rest.size < 7 ? 0 : 7),
                           FC_STR("http://"))) {
    rest.data += 7, rest.size -= 7;
    size_t end = 0;
    while (end < rest.size && rest.data[end] != '/' && rest.data[end] != '?') {
      end++;
    }
    request->authority = fc_str_make(rest.data, end);
    rest.data += end, rest.size -= end;
    if (end == 0) return fc_fail(err, FC_CODE_HTTP_SYNTAX, "no host in target");
    if (rest.size == 0) rest = FC_STR("/");
  } else if (!is_origin && !fc_str_equal(rest, FC_STR("*"))) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "the target must begin with '/' or 'http://'");
  }
  const char *mark = memchr(rest.data, '?', rest.size);
  request->path = rest;
  request->query = FC_STR("");
  if (mark) {
    request->path.size = (size_t)(mark - rest.data);
    request->query = fc_str_make(mark + 1, rest.size - request->path.size - 1);
    if (request->path.size == 0) request->path = FC_STR("/");
  }
  if (memchr(rest.data, '#', rest.size)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "a fragment in the target");
  }
  return FC_OK;
}

// RFC 9110 7.2: is the text a name or an IP literal, with an optional port and no user?
// Only the characters are checked; the sub-delims of a reg-name are refused.
static bool is_host(fc_str_t host) {
  fc_str_t name = fc_address_host_name(host);
  if (name.size == 0) return false;
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i], low = (char)(c | 0x20);
    bool plain = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '-' || c == '_' || c == '~' || c == '%';
    bool literal = name.data[0] == '[' && (c == ':' || c == '[' || c == ']');
    if (!plain && !literal) return false;
  }
  return true;
}

static fc_status_t check_host(const fc_head_t *head, fc_error_t *err) {
  const fc_request_t *request = &head->request;
  fc_str_t host = request->fields[FC_FIELD_HOST];
  if (!host.data) {
    if (head->minor == 0) return FC_OK;
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "HTTP/1.1 needs a 'Host' field");
  }
  if (!is_host(host)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "malformed 'Host' field");
  }
  if (request->authority.size &&
      !fc_request_same_text(request->authority, host)) {
    return fc_fail(err, FC_CODE_HOST_NOT_ALLOWED,
                   "the target names another host than 'Host'");
  }
  return FC_OK;
}

static fc_status_t check_framing(fc_head_t *head, fc_error_t *err) {
  fc_str_t coding = head->request.fields[FC_FIELD_TRANSFER_ENCODING];
  if (!coding.data) return FC_OK;
  if (!fc_request_same_text(coding, FC_STR("chunked"))) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "the only transfer coding known is 'chunked'");
  }
  if (head->minor == 0) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "HTTP/1.0 has no chunked bodies");
  }
  if (head->has_length) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "both 'Content-Length' and 'Transfer-Encoding'");
  }
  head->chunked = true;
  return FC_OK;
}

static fc_status_t check_expect(const fc_head_t *head, fc_error_t *err) {
  fc_str_t expect = head->request.fields[FC_FIELD_EXPECT];
  // RFC 9110 10.1.1: Expect is ignored in HTTP/1.0.
  if (!expect.data || head->minor == 0 || head->expects_continue) return FC_OK;
  return fc_fail(err, FC_CODE_EXPECTATION_FAILED,
                 "the only expectation met is '100-continue'");
}

static void note_expect(fc_head_t *head) {
  head->expects_continue =
      head->minor && fc_request_same_text(head->request.fields[FC_FIELD_EXPECT],
                                          FC_STR("100-continue"));
}

fc_status_t fc_parser_check_head(fc_head_t *head, fc_error_t *err) {
  note_expect(head);
  FC_TRY(split_target(head, err));
  FC_TRY(check_host(head, err));
  return check_expect(head, err);
}

bool fc_parser_knows_method(fc_str_t head) {
#define METHOD(number, name, text) FC_STR(#text " "),
  static const fc_str_t kMethods[] = {HTTP_METHOD_MAP(METHOD)};
#undef METHOD
  while (head.size && (*head.data == '\r' || *head.data == '\n')) {
    head = fc_str_make(head.data + 1, head.size - 1);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kMethods); i++) {
    if (fc_str_starts(head, kMethods[i])) return true;
  }
  return false;
}

static fc_method_t method_of(uint8_t method) {
  switch (method) {
    case HTTP_GET:
      return FC_METHOD_GET;
    case HTTP_HEAD:
      return FC_METHOD_HEAD;
    case HTTP_POST:
      return FC_METHOD_POST;
    case HTTP_DELETE:
      return FC_METHOD_DELETE;
    case HTTP_PUT:
      return FC_METHOD_PUT;
    default:
      return FC_METHOD_OTHER;
  }
}

// Returns the field lines and the blank line: the bytes after the line with the target.
static fc_str_t lines_of(fc_str_t bytes, fc_str_t target) {
  const char *end = bytes.data + bytes.size;
  const char *at = target.data + target.size;
  const char *mark = memchr(at, '\n', (size_t)(end - at));
  return mark ? fc_str_make(mark + 1, (size_t)(end - mark - 1)) : FC_STR("");
}

fc_status_t fc_parser_read_head(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, fc_head_t *out_head,
                                fc_error_t *err) {
  fc_head_t *head = out_head;
  fc_request_t *request = &head->request;
  *head = (fc_head_t){0};
  request->method_name = "";
  llhttp_init(llhttp, HTTP_REQUEST, &parser->settings);
  llhttp->data = parser;
  parser->head = head;
  parser->err = err;
  parser->failed = parser->complete = false;
  parser->name = parser->value = (fc_str_t){0};

  enum llhttp_errno code = llhttp_execute(llhttp, bytes.data, bytes.size);
  parser->head = NULL;
  if (code != HPE_OK && code != HPE_PAUSED_UPGRADE) {
    return fail_llhttp(llhttp, err);
  }
  request->method = method_of(llhttp->method);
  request->method_name = llhttp_method_name((llhttp_method_t)llhttp->method);
  head->minor = llhttp->http_minor;
  if (parser->failed) return FC_INVALID_ARGUMENT;
  if (llhttp->method != HTTP_CONNECT) FC_TRY(split_target(head, err));
  else request->path = head->target;
  request->lines = lines_of(bytes, head->target);
  // Framing is checked first: the connection goes on after other errors, so the end of
  // the body must be known.
  FC_TRY(check_framing(head, err));
  request->has_body = head->has_length || head->chunked;
  // Also noted for a head that is refused, because its body may never come.
  note_expect(head);
  FC_TRY(check_host(head, err));
  // llhttp ends the message at an upgrade, so it would not read a chunked body that
  // follows.
  if (code == HPE_PAUSED_UPGRADE && head->chunked) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "an upgrade with a chunked body");
  }
  return check_expect(head, err);
}

fc_status_t fc_parser_read_body(fc_parser_t *parser, llhttp_t *llhttp,
                                fc_str_t bytes, bool *out_complete,
                                fc_error_t *err) {
  parser->complete = false;
  parser->err = err;
  enum llhttp_errno code = llhttp_execute(llhttp, bytes.data, bytes.size);
  *out_complete = parser->complete;
  if (code == HPE_OK || code == HPE_PAUSED_UPGRADE) return FC_OK;
  if (code == HPE_USER) return err->status;  // on_body said why
  return fail_llhttp(llhttp, err);
}
