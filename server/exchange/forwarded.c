// SPDX-License-Identifier: Apache-2.0
//
// Each proxy appends an item to a field, or adds another field after the existing ones.
// So items that a client invented come before the items of proxies. For this reason items
// are read from the last to the first.
#include "exchange/forwarded.h"

#include "config/address.h"

static size_t find_last(fc_str_t text, char c) {
  size_t at = text.size;
  while (at && text.data[at - 1] != c) at--;
  return at;  // the index after the last `c`, 0 if there is no `c`
}

// Removes the last item from `text`, whose items are separated by `c`, and returns it.
static fc_str_t take_last(fc_str_t *text, char c) {
  const size_t at = find_last(*text, c);
  fc_str_t last = fc_str_make(text->data + at, text->size - at);
  text->size = at ? at - 1 : 0;
  return last;
}

typedef struct forwarded_t {
  fc_str_t lines;   // field lines that were not read yet
  fc_str_t values;  // items, of the line read last, that were not read yet
} forwarded_t;

// Finds the next item of the fields called `name`, from the last to the first. False:
// there are no more.
static bool next_forwarded(forwarded_t *at, fc_str_t name, fc_str_t *out_item) {
  while (at->values.size == 0) {
    if (at->lines.size == 0) return false;
    fc_str_t line = take_last(&at->lines, '\n');
    if (line.size <= name.size || line.data[name.size] != ':' ||
        !fc_request_same_text(fc_str_make(line.data, name.size), name)) {
      continue;
    }
    if (line.data[line.size - 1] == '\r') line.size--;
    at->values = fc_request_trim(
        fc_str_make(line.data + name.size + 1, line.size - name.size - 1));
  }
  *out_item = fc_request_trim(take_last(&at->values, ','));
  return true;
}

// Reads "10.1.2.3", "10.1.2.3:80", "2001:db8::1" or "[2001:db8::1]:80".
static bool parse_client(fc_str_t text, fc_peer_t *out_peer) {
  if (fc_peer_parse(text, out_peer)) return true;
  fc_str_t name = fc_address_host_name(text);
  if (name.size > 2 && name.data[0] == '[') {
    name = fc_str_make(name.data + 1, name.size - 2);
  }
  return fc_peer_parse(name, out_peer);
}

bool fc_forwarded_last(const fc_request_t *request, fc_str_t name,
                       fc_str_t *out_item) {
  forwarded_t at = {.lines = request->lines};
  return next_forwarded(&at, name, out_item);
}

void fc_forwarded_client(const fc_policy_t *policy, const fc_request_t *request,
                         fc_peer_t *peer) {
  forwarded_t at = {.lines = request->lines};
  fc_str_t item;
  fc_peer_t client;
  while (fc_networks_have(&policy->proxies, peer) &&
         next_forwarded(&at, FC_STR("x-forwarded-for"), &item) &&
         parse_client(item, &client)) {
    *peer = client;
  }
}

bool fc_forwarded_is_any(const fc_request_t *request) {
  static const char *const kFields[] = {
      "forwarded:",   "x-forwarded-", "via:", "x-real-ip:",
      "x-client-ip:", "x-envoy-",     "cf-",  "true-client-ip:"};
  for (fc_str_t rest = request->lines; rest.size;) {
    const fc_str_t line = fc_str_take(&rest, '\n');
    for (size_t i = 0; i < FC_ARRAY_COUNT(kFields); i++) {
      const fc_str_t field = fc_str(kFields[i]);
      if (line.size >= field.size &&
          fc_request_same_text(fc_str_make(line.data, field.size), field)) {
        return true;
      }
    }
  }
  return false;
}
