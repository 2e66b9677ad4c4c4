// SPDX-License-Identifier: Apache-2.0
//
// A scheme that is not served yet gets an error of its own, not that of a
// mistake.
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

static fc_status_t check_scheme(const char *text, fc_error_t *err) {
  fc_str_t listen = fc_str(text);
  if (fc_str_starts(listen, FC_STR("https://"))) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'%.64s': TLS is not spoken yet: listen on "
                   "http://ADDR:PORT and have a proxy end it",
                   text);
  }
  if (!fc_str_starts(listen, FC_STR("unix:"))) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%.64s': Unix sockets are not listened on yet: listen on "
                 "http://ADDR:PORT",
                 text);
}

fc_status_t fc_address_parse(const char *listen, fc_address_t *out_address,
                             fc_error_t *err) {
  *out_address = (fc_address_t){0};
  FC_TRY(check_scheme(listen, err));
  const fc_str_t scheme = FC_STR("http://");
  const char *text =
      fc_str_starts(fc_str(listen), scheme) ? listen + scheme.size : listen;
  const char *colon = strrchr(text, ':');
  size_t size = colon ? (size_t)(colon - text) : 0;
  char host[64] = "";
  unsigned long port = 0;
  bool good = colon && colon[1] && size < sizeof host - 1;
  for (const char *p = colon ? colon + 1 : ""; *p && good; p++) {
    good = *p >= '0' && *p <= '9' &&
           (port = port * 10 + (unsigned)(*p - '0'), port <= 65535);
  }
  if (good) {
    bool brackets = size > 2 && text[0] == '[' && text[size - 1] == ']';
    if (brackets) memcpy(host, text + 1, size - 2);
    else memcpy(host, text, size);
    fc_str_t name = fc_str(host);
    if (fc_str_equal(name, FC_STR("localhost"))) {
      good = uv_ip4_addr("127.0.0.1", (int)port, &out_address->v4) == 0;
    } else if (brackets) {
      good = uv_ip6_addr(host, (int)port, &out_address->v6) == 0;
    } else {
      good = uv_ip4_addr(name.size ? host : "0.0.0.0", (int)port,
                         &out_address->v4) == 0;
    }
  }
  if (good) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%.64s' is no address to listen on: ADDR:PORT, such as "
                 "127.0.0.1:8000 or [::1]:8000",
                 listen);
}

int fc_address_print(const fc_address_t *address, char *out, size_t capacity) {
  char name[INET6_ADDRSTRLEN];
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
    while (end < host.size && host.data[end] != ':') end++;
  }
  if (end < host.size && host.data[end] != ':') return FC_STR("");
  for (size_t i = end + 1; i < host.size; i++) {
    if (host.data[i] < '0' || host.data[i] > '9') return FC_STR("");
  }
  return fc_str_make(host.data, end);
}
