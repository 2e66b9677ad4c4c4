// SPDX-License-Identifier: Apache-2.0
//
// A build without TLS: no connection has TLS.
#include "wire.h"

fc_status_t fc_wire_secure(fc_wire_t *wire, const fc_wire_rules_t *rules,
                           fc_error_t *err) {
  (void)wire;
  (void)rules;
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "https: this farcall was built without TLS "
                 "(-DFARCALL_TLS=OFF)");
}

ssize_t fc_wire_tls_send(fc_wire_t *wire, const void *data, size_t size) {
  (void)wire;
  (void)data;
  (void)size;
  return -1;
}

ssize_t fc_wire_tls_recv(fc_wire_t *wire, void *data, size_t size) {
  (void)wire;
  (void)data;
  (void)size;
  return -1;
}

int fc_wire_tls_shake(fc_wire_t *wire, const char **out_why) {
  (void)wire;
  *out_why = "";
  return -1;
}

const char *fc_wire_why(void) { return ""; }

bool fc_wire_tls_has(const fc_wire_t *wire) {
  (void)wire;
  return false;
}

bool fc_wire_tls_is_answered(fc_wire_t *wire) {
  (void)wire;
  return true;
}

void fc_wire_tls_close(fc_wire_t *wire) { (void)wire; }
