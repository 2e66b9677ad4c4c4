// SPDX-License-Identifier: Apache-2.0
#include "config/address.h"

#include <stdio.h>
#include <uv.h>

bool fc_address_is_loopback(const fc_address_t *address) {
  if (address->any.sa_family == AF_INET) {
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
  }
  const struct in6_addr *v6 = &address->v6.sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(v6) ||
         (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

static fc_status_t parse_unix(fc_str_t path, fc_address_t *out_address,
                              fc_error_t *err) {
  struct sockaddr_un *local = &out_address->local;
  if (path.size == 0 || path.size >= sizeof local->sun_path) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'unix:%.*s': the path of a Unix socket has 1 to %zu bytes",
                   FC_STR_ARG(path), sizeof local->sun_path - 1);
  }
  local->sun_family = AF_UNIX;
  memcpy(local->sun_path, path.data, path.size);
  return FC_OK;
}

static bool parse_port(fc_str_t text, int *out_port) {
  unsigned long port = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    port = port * 10 + (unsigned)(text.data[i] - '0');
    if (port > 65535) return false;
  }
  *out_port = (int)port;
  return text.size > 0;
}

static bool parse_ip(fc_str_t text, fc_address_t *out_address) {
  const char *colon = text.size ? memrchr(text.data, ':', text.size) : NULL;
  char host[64] = "";
  int port;
  if (!colon) return false;
  size_t size = (size_t)(colon - text.data);
  if (size >= sizeof host - 1 ||
      !parse_port(fc_str_make(colon + 1, text.size - size - 1), &port)) {
    return false;
  }
  if (size > 2 && text.data[0] == '[' && text.data[size - 1] == ']') {
    memcpy(host, text.data + 1, size - 2);
    return uv_ip6_addr(host, port, &out_address->v6) == 0;
  }
  memcpy(host, text.data, size);
  if (size == 0) return uv_ip4_addr("0.0.0.0", port, &out_address->v4) == 0;
  if (fc_str_equal(fc_str(host), FC_STR("localhost"))) {
    return uv_ip4_addr("127.0.0.1", port, &out_address->v4) == 0;
  }
  return uv_ip4_addr(host, port, &out_address->v4) == 0;
}

static fc_str_t less(fc_str_t text, fc_str_t scheme) {
  return fc_str_make(text.data + scheme.size, text.size - scheme.size);
}

fc_status_t fc_address_parse(fc_str_t text, fc_address_t *out_address,
                             fc_error_t *err) {
  const fc_str_t http = FC_STR("http://"), https = FC_STR("https://");
  const fc_str_t local = FC_STR("unix:");
  fc_str_t rest = text;
  char shown[80];
  *out_address = (fc_address_t){0};
  if (fc_str_starts(text, local)) {
    return parse_unix(less(text, local), out_address, err);
  }
  fc_escape(shown, sizeof shown, 64, text);
  if (fc_str_starts(rest, http)) rest = less(rest, http);
  else if (fc_str_starts(rest, https)) rest = less(rest, https);
  if (parse_ip(rest, out_address)) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%s' is no address to listen on: ADDR:PORT, such as "
                 "127.0.0.1:8000 or [::1]:8000, or unix:PATH",
                 shown);
}

int fc_address_print(const fc_address_t *address, char *out, size_t capacity) {
  char name[INET6_ADDRSTRLEN];
  if (fc_address_is_unix(address)) {
    snprintf(out, capacity, "%s", address->local.sun_path);
    return 0;
  }
  if (address->any.sa_family == AF_INET) {
    uv_ip4_name(&address->v4, name, sizeof name);
    snprintf(out, capacity, "%s", name);
    return ntohs(address->v4.sin_port);
  }
  uv_ip6_name(&address->v6, name, sizeof name);
  snprintf(out, capacity, "[%s]", name);
  return ntohs(address->v6.sin6_port);
}

fc_str_t fc_address_host_name(fc_str_t host) {
  size_t end = 0;
  if (host.size && host.data[0] == '[') {
    const char *close = memchr(host.data, ']', host.size);
    if (!close) return FC_STR("");
    end = (size_t)(close - host.data) + 1;
  } else {
    const char *colon = host.size ? memchr(host.data, ':', host.size) : NULL;
    end = colon ? (size_t)(colon - host.data) : host.size;
  }
  if (end < host.size && host.data[end] != ':') return FC_STR("");
  for (size_t i = end + 1; i < host.size; i++) {
    if (host.data[i] < '0' || host.data[i] > '9') return FC_STR("");
  }
  return fc_str_make(host.data, end);
}
