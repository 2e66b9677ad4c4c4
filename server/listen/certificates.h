// SPDX-License-Identifier: Apache-2.0
//
// Certificates and keys of endpoints that speak TLS: read at the start, checked by -t,
// read again for SIGHUP. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_CERTIFICATES_H_
#define FARCALL_SERVER_LISTEN_CERTIFICATES_H_

#include "config/listener.h"
#include "listen/endpoints.h"

// Reads what the endpoint needs, if its policy says that TLS is spoken there.
fc_status_t fc_certificates_open(fc_endpoint_t *endpoint,
                                 const fc_listener_policy_t *said,
                                 fc_error_t *err) FC_MUST_CHECK;
// Warns of a certificate that does not hold, or not for long.
void fc_certificates_tell(const fc_endpoint_t *endpoint);
// Notes for /metrics from when until when all certificates hold.
void fc_certificates_note(fc_endpoints_t *all);
// Checks the certificates, their dates too, and keys, for -t, which listens nowhere.
fc_status_t fc_certificates_check(const fc_server_options_t *options,
                                  fc_error_t *err) FC_MUST_CHECK;
// Has certificates and keys read again, in threads: new connections get them some
// milliseconds later, which is logged. Where they are wrong, which is logged, those read
// before are kept. Connections that are open go on as they are.
void fc_certificates_reload(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_CERTIFICATES_H_
