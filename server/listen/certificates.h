// SPDX-License-Identifier: Apache-2.0
//
// Certificates and keys of endpoints with TLS. They are read at the start, checked by -t,
// and read again at SIGHUP. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_CERTIFICATES_H_
#define FARCALL_SERVER_LISTEN_CERTIFICATES_H_

#include "config/listener.h"
#include "listen/endpoints.h"

// Reads the certificate and key of the endpoint, if its policy has TLS.
fc_status_t fc_certificates_open(fc_endpoint_t *endpoint,
                                 const fc_listener_policy_t *said,
                                 fc_error_t *err) FC_MUST_CHECK;
// Warns about a certificate that is not valid, or ends soon.
void fc_certificates_tell(const fc_endpoint_t *endpoint);
// Notes for /metrics the time during which all certificates are valid.
void fc_certificates_note(fc_endpoints_t *all);
// Checks the certificates with their dates, and the keys, for -t, which does not listen.
fc_status_t fc_certificates_check(const fc_server_options_t *options,
                                  fc_error_t *err) FC_MUST_CHECK;
// Reads certificates and keys again, in threads. Some milliseconds later new connections
// use them, which is logged. Where they are wrong, that is logged and the old ones are
// kept. Open connections go on unchanged.
void fc_certificates_reload(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_CERTIFICATES_H_
