// SPDX-License-Identifier: Apache-2.0
#include "config/collector.h"

#include <stdio.h>

#define PORT "4318"  // the usual one of OTLP over HTTP
#define PATH "/v1/traces"

static fc_status_t refuse(fc_str_t url, const char *why, fc_error_t *err) {
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%.*s' is no address of a collector: %s; as in "
                 "http://localhost:4318",
                 FC_STR_ARG(url), why);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_host(fc_str_t host, bool literal) {
  if (host.size == 0) return false;
  for (size_t i = 0; i < host.size; i++) {
    const char c = host.data[i], low = (char)(c | 0x20);
    const bool letter = low >= 'a' && low <= 'z';
    const bool other =
        literal ? c == ':' || c == '.' : c == '.' || c == '-' || c == '_';
    if (!letter && !is_digit(c) && !other) return false;
  }
  return true;
}

static bool is_port(fc_str_t port) {
  unsigned value = 0;
  if (port.size == 0 || port.size > 5) return false;
  for (size_t i = 0; i < port.size; i++) {
    if (!is_digit(port.data[i])) return false;
    value = value * 10 + (unsigned)(port.data[i] - '0');
  }
  return value > 0 && value <= 65535;
}

// The path is copied into the head of each export unchanged. So it must not contain a
// byte that ends the target or the head, or that begins a query or a fragment.
static bool is_path(fc_str_t path) {
  for (size_t i = 0; i < path.size; i++) {
    const char c = path.data[i];
    if (c <= ' ' || c >= 0x7F || c == '?' || c == '#') return false;
  }
  return true;
}

static void copy(char *out, fc_str_t text) {
  memcpy(out, text.data, text.size);
  out[text.size] = '\0';
}

// Takes the host from the beginning: up to ':' or '/', or the text in brackets.
static fc_str_t take_host(fc_str_t *rest, bool *out_literal) {
  *out_literal = rest->size && rest->data[0] == '[';
  if (*out_literal) {
    rest->data++, rest->size--;
    return fc_str_take(rest, ']');
  }
  size_t size = 0;
  while (size < rest->size && rest->data[size] != ':' &&
         rest->data[size] != '/') {
    size++;
  }
  const fc_str_t host = fc_str_make(rest->data, size);
  rest->data += size, rest->size -= size;
  return host;
}

fc_status_t fc_collector_parse(fc_str_t url, fc_collector_t *out_collector,
                               fc_error_t *err) {
  static const fc_str_t kScheme = FC_STR("http://");
  fc_collector_t found = {.port = PORT};
  *out_collector = (fc_collector_t){0};
  if (url.size == 0) return FC_OK;
  fc_str_t rest = url;
  if (rest.size < kScheme.size ||
      memcmp(rest.data, kScheme.data, kScheme.size) != 0) {
    return refuse(url, "it must begin with http://", err);
  }
  rest.data += kScheme.size, rest.size -= kScheme.size;
  const fc_str_t host = take_host(&rest, &found.literal);
  if (!is_host(host, found.literal) || host.size >= sizeof found.host) {
    return refuse(url, "the host is no name and no address", err);
  }
  copy(found.host, host);
  if (rest.size && rest.data[0] == ':') {
    const char *slash = memchr(rest.data, '/', rest.size);
    const size_t size = slash ? (size_t)(slash - rest.data) : rest.size;
    const fc_str_t port = fc_str_make(rest.data + 1, size - 1);
    if (!is_port(port))
      return refuse(url, "the port is no number from 1 to 65535", err);
    copy(found.port, port);
    rest.data += size, rest.size -= size;
  }
  if (rest.size && rest.data[0] != '/') {
    return refuse(url, "after the host there may be a port and a path", err);
  }
  if (rest.size && rest.data[rest.size - 1] == '/') rest.size--;
  if (!is_path(rest) || rest.size + sizeof PATH > sizeof found.path) {
    return refuse(url, "the path is too long, or has what a path has not", err);
  }
  copy(found.path, rest);
  memcpy(found.path + rest.size, PATH, sizeof PATH);
  *out_collector = found;
  return FC_OK;
}

fc_status_t fc_ratio_parse(fc_str_t text, uint32_t *out_ratio,
                           fc_error_t *err) {
  uint32_t ratio = 0, unit = FC_RATIO_ALL;
  bool good = text.size > 0 && is_digit(text.data[0]);
  if (good) ratio = (uint32_t)(text.data[0] - '0') * unit;
  if (text.size > 1) good = good && text.size > 2 && text.data[1] == '.';
  good = good && text.data[0] <= '1' && text.size <= 11;
  for (size_t i = 2; good && i < text.size; i++) {
    unit /= 10;
    good = is_digit(text.data[i]);
    if (good) ratio += (uint32_t)(text.data[i] - '0') * unit;
  }
  if (!good || ratio > FC_RATIO_ALL) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'%.*s' is no number from 0 to 1 of at most nine decimals",
                   FC_STR_ARG(text));
  }
  *out_ratio = ratio;
  return FC_OK;
}
