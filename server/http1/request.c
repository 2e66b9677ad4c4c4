// SPDX-License-Identifier: Apache-2.0
//
// llhttp splits the head, this file decides what it means. Everything that two
// readers could understand differently is refused (RFC 9112 sections 3, 6).
#include "http1/request.h"

#include "config/limits.h"

static const struct {
  fc_str_t name;
  bool once;
} kFields[FC_FIELD_COUNT] = {
#define FC_FIELD(id, text, once_) \
  [FC_FIELD_##id] = {{text, sizeof(text) - 1}, once_},
#include "http1/field.def"
#undef FC_FIELD
};

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool fc_request_same_text(fc_str_t a, fc_str_t b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; i++) {
    char x = a.data[i], y = b.data[i];
    if (x != y && lower(x) != lower(y)) return false;
  }
  return true;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static fc_str_t trim(fc_str_t text) {
  while (text.size && is_blank(text.data[0])) text.data++, text.size--;
  while (text.size && is_blank(text.data[text.size - 1])) text.size--;
  return text;
}

// ---------------------------------------------------------------------------
// llhttp's callbacks. A whole head is parsed at once, so each span is one piece
// or adjoins the one before.

static fc_request_parser_t *self(llhttp_t *llhttp) { return llhttp->data; }

static void extend(fc_str_t *span, const char *at, size_t size) {
  if (span->data && span->data + span->size == at) span->size += size;
  else *span = fc_str_make(at, size);
}

static int on_url(llhttp_t *llhttp, const char *at, size_t size) {
  extend(&self(llhttp)->request->target, at, size);
  return 0;
}

static int on_name(llhttp_t *llhttp, const char *at, size_t size) {
  fc_request_parser_t *parser = self(llhttp);
  if (parser->request) extend(&parser->name, at, size);
  return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t size) {
  fc_request_parser_t *parser = self(llhttp);
  if (parser->request) extend(&parser->value, at, size);
  return 0;
}

static int on_value_complete(llhttp_t *llhttp) {
  fc_request_parser_t *parser = self(llhttp);
  if (!parser->request) return 0;  // a trailer
  fc_str_t name = parser->name, value = trim(parser->value);
  parser->name = parser->value = (fc_str_t){0};
  for (size_t i = 0; i < FC_FIELD_COUNT; i++) {
    if (name.size != kFields[i].name.size ||
        !fc_request_same_text(name, kFields[i].name)) {
      continue;
    }
    fc_str_t *field = &parser->request->fields[i];
    if (!field->data) {
      *field = fc_str_make(value.data ? value.data : "", value.size);
    } else if (kFields[i].once && !parser->failed) {
      parser->failed = true;
      (void)fc_fail(parser->err, FC_CODE_HTTP_SYNTAX, "two '%.*s' fields",
                    FC_STR_ARG(kFields[i].name));
    }
    break;
  }
  return 0;
}

// llhttp forgets these again at the end of the message.
static int on_headers(llhttp_t *llhttp) {
  fc_request_t *request = self(llhttp)->request;
  request->has_length = (llhttp->flags & F_CONTENT_LENGTH) != 0;
  request->length = request->has_length ? llhttp->content_length : 0;
  // CONNECT and Upgrade: we answer in HTTP/1.1 and close.
  request->keep_alive = !llhttp->upgrade && llhttp_should_keep_alive(llhttp);
  return 0;
}

static int on_complete(llhttp_t *llhttp) {
  self(llhttp)->complete = true;
  return 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t size) {
  fc_request_parser_t *parser = self(llhttp);
  return parser->on_body(parser->context, fc_str_make(at, size)) ? 0 : HPE_USER;
}

void fc_request_parser_init(fc_request_parser_t *parser) {
  *parser = (fc_request_parser_t){0};
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

// RFC 9112 3.2: origin form, absolute form, or "*".
static fc_status_t split_target(fc_request_t *request, fc_error_t *err) {
  fc_str_t rest = request->target;
  if (fc_request_same_text(fc_str_make(rest.data, rest.size < 7 ? 0 : 7),
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
  } else if (rest.size == 0 ||
             (rest.data[0] != '/' && !fc_str_equal(rest, FC_STR("*")))) {
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

// RFC 9110 7.2: reg-name or IP literal and an optional port, no user.
static bool is_host(fc_str_t host) {
  fc_str_t name = fc_request_host_name(host);
  if (name.size == 0) return false;
  for (size_t i = 0; i < name.size; i++) {
    char c = lower(name.data[i]);
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                 c == '-' || c == '_' || c == '~' || c == '%';
    bool literal = name.data[0] == '[' && (c == ':' || c == '[' || c == ']');
    if (!plain && !literal) return false;
  }
  return true;
}

static fc_status_t check_host(const fc_request_t *request, fc_error_t *err) {
  fc_str_t host = request->fields[FC_FIELD_HOST];
  if (!host.data) {
    if (request->minor == 0) return FC_OK;
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

static fc_status_t check_framing(fc_request_t *request, fc_error_t *err) {
  fc_str_t coding = request->fields[FC_FIELD_TRANSFER_ENCODING];
  if (!coding.data) return FC_OK;
  if (!fc_request_same_text(coding, FC_STR("chunked"))) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "the only transfer coding known is 'chunked'");
  }
  if (request->minor == 0) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "HTTP/1.0 has no chunked bodies");
  }
  if (request->has_length) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "both 'Content-Length' and 'Transfer-Encoding'");
  }
  request->chunked = true;
  return FC_OK;
}

static fc_status_t check_expect(fc_request_t *request, fc_error_t *err) {
  fc_str_t expect = request->fields[FC_FIELD_EXPECT];
  // RFC 9110 10.1.1: ignored when it comes with HTTP/1.0.
  if (!expect.data || request->minor == 0) return FC_OK;
  if (!fc_request_same_text(expect, FC_STR("100-continue"))) {
    return fc_fail(err, FC_CODE_EXPECTATION_FAILED,
                   "the only expectation met is '100-continue'");
  }
  request->expects_continue = true;
  return FC_OK;
}

fc_status_t fc_request_parse(fc_request_parser_t *parser, llhttp_t *llhttp,
                             fc_str_t head, fc_request_t *out_request,
                             fc_error_t *err) {
  fc_request_t *request = out_request;
  *request = (fc_request_t){.head = head};
  llhttp_init(llhttp, HTTP_REQUEST, &parser->settings);
  llhttp->data = parser;
  parser->request = request;
  parser->err = err;
  parser->failed = parser->complete = false;
  parser->name = parser->value = (fc_str_t){0};

  enum llhttp_errno code = llhttp_execute(llhttp, head.data, head.size);
  parser->request = NULL;
  if (code != HPE_OK && code != HPE_PAUSED_UPGRADE) {
    return fail_llhttp(llhttp, err);
  }
  request->method = llhttp->method;
  request->minor = llhttp->http_minor;
  if (parser->failed) return FC_INVALID_ARGUMENT;
  if (request->method != HTTP_CONNECT) FC_TRY(split_target(request, err));
  else request->path = request->target;
  // Framing first: what else is wrong is answered on a stream that goes on.
  FC_TRY(check_framing(request, err));
  FC_TRY(check_host(request, err));
  // An upgrade keeps llhttp from reading the body that may still come.
  if (code == HPE_PAUSED_UPGRADE && request->chunked) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX, "an upgrade with a chunked body");
  }
  return check_expect(request, err);
}

fc_status_t fc_request_parse_body(fc_request_parser_t *parser, llhttp_t *llhttp,
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

// ---------------------------------------------------------------------------

fc_str_t fc_request_host_name(fc_str_t host) {
  size_t end = 0;
  if (host.size && host.data[0] == '[') {
    const char *close = memchr(host.data, ']', host.size);
    if (!close) return FC_STR("");
    end = (size_t)(close - host.data) + 1;
  } else {
    while (end < host.size && host.data[end] != ':') end++;
  }
  if (end < host.size && host.data[end] != ':') return FC_STR("");
  for (size_t i = end + 1; i < host.size; i++) {
    if (host.data[i] < '0' || host.data[i] > '9') return FC_STR("");
  }
  return fc_str_make(host.data, end);
}

// "q=0", "q=0.0", …
static bool refuses(fc_str_t parameters) {
  while (parameters.size) {
    const char *mark = memchr(parameters.data, ';', parameters.size);
    size_t size = mark ? (size_t)(mark - parameters.data) : parameters.size;
    fc_str_t one = trim(fc_str_make(parameters.data, size));
    if (one.size >= 3 && lower(one.data[0]) == 'q' && one.data[1] == '=') {
      for (size_t i = 2; i < one.size; i++) {
        if (one.data[i] != '0' && one.data[i] != '.') return false;
      }
      return true;
    }
    if (!mark) break;
    parameters = fc_str_make(mark + 1, parameters.size - size - 1);
  }
  return false;
}

// How closely a media range names a type: 3 exactly, 2 its kind, 1 anything, 0
// not at all.
static int range_closeness(fc_str_t range, fc_str_t type, fc_str_t subtype) {
  const char *slash = range.size ? memchr(range.data, '/', range.size) : NULL;
  if (!slash) return 0;
  const size_t head = (size_t)(slash - range.data);
  fc_str_t left = fc_str_make(range.data, head);
  fc_str_t right = fc_str_make(slash + 1, range.size - head - 1);
  const bool any = fc_str_equal(right, FC_STR("*"));
  if (any && fc_str_equal(left, FC_STR("*"))) return 1;
  if (!fc_request_same_text(left, type)) return 0;
  if (any) return 2;
  return fc_request_same_text(right, subtype) ? 3 : 0;
}

// RFC 9110 12.5.1: of the ranges that a type is in, the closest one decides.
bool fc_request_accepts(fc_str_t accept, fc_str_t type, fc_str_t subtype) {
  if (accept.size == 0) return true;
  int closest = 0;
  bool accepted = false;
  while (accept.size) {
    fc_str_t parameters = trim(fc_str_take(&accept, ','));
    fc_str_t range = trim(fc_str_take(&parameters, ';'));
    const int closeness = range_closeness(range, type, subtype);
    if (closeness >= closest && closeness) {
      const bool also = closeness == closest && accepted;
      accepted = also || !refuses(parameters);
      closest = closeness;
    }
  }
  return accepted;
}

fc_str_t fc_request_query(fc_str_t query, fc_str_t key) {
  while (query.size) {
    const char *mark = memchr(query.data, '&', query.size);
    size_t size = mark ? (size_t)(mark - query.data) : query.size;
    fc_str_t pair = fc_str_make(query.data, size);
    if (fc_str_starts(pair, key)) {
      if (pair.size == key.size) return FC_STR("");
      if (pair.data[key.size] == '=') {
        return fc_str_make(pair.data + key.size + 1, pair.size - key.size - 1);
      }
    }
    if (!mark) break;
    query = fc_str_make(mark + 1, query.size - size - 1);
  }
  return (fc_str_t){0};
}
