// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <sys/socket.h>
#include <unistd.h>

int fc_wire_shake(fc_wire_t *wire, const char **out_why) {
  return wire->tls ? fc_wire_tls_shake(wire, out_why) : 0;
}

ssize_t fc_wire_send(fc_wire_t *wire, const void *data, size_t size) {
  if (wire->tls) return fc_wire_tls_send(wire, data, size);
  return send(wire->file, data, size, MSG_NOSIGNAL);
}

ssize_t fc_wire_recv(fc_wire_t *wire, void *data, size_t size) {
  if (wire->tls) return fc_wire_tls_recv(wire, data, size);
  return recv(wire->file, data, size, 0);
}

bool fc_wire_has(const fc_wire_t *wire) {
  return wire->tls && fc_wire_tls_has(wire);
}

bool fc_wire_is_answered(fc_wire_t *wire) {
  return !wire->tls || fc_wire_tls_is_answered(wire);
}

void fc_wire_close(fc_wire_t *wire) {
  if (wire->tls) fc_wire_tls_close(wire);
  if (wire->file >= 0) close(wire->file);
  *wire = FC_WIRE_CLOSED;
}
