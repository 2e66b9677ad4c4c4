// SPDX-License-Identifier: Apache-2.0
//
// The counts of TLS, and of the reasons for which handshakes fail. Streams count;
// /metrics reads. Loop thread.
#ifndef FARCALL_SERVER_OBS_TLS_H_
#define FARCALL_SERVER_OBS_TLS_H_

#include <stdint.h>

typedef enum fc_tls_failure_t {
#define FC_TLS_FAILURE(id, name) FC_TLS_FAILURE_##id,
#include "obs/tls.def"
#undef FC_TLS_FAILURE
  FC_TLS_FAILURES
} fc_tls_failure_t;

typedef struct fc_tls_counts_t {
  uint64_t full;     // handshakes that were made without a ticket
  uint64_t resumed;  // handshakes with the ticket of an earlier session
  uint64_t failures[FC_TLS_FAILURES];
} fc_tls_counts_t;

#endif  // FARCALL_SERVER_OBS_TLS_H_
