// SPDX-License-Identifier: Apache-2.0
//
// Decides whether the server may be sent calls, and says why not. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_READY_H_
#define FARCALL_SERVER_DIALECT_READY_H_

#include "dialect/dialect.h"

typedef struct fc_load_counts_t {
  unsigned served;     // loaded, or loaded when they are asked for
  unsigned described;  // of these: not loaded yet
  unsigned failed;     // modules, and PATHs that could not be listed
  unsigned draining;
} fc_load_counts_t;

fc_load_counts_t fc_ready_count(const fc_server_t *server);

// May the server be sent calls? If so, sets *out_counts; if not, fails with
// FC_CODE_NOT_READY or FC_CODE_SHUTTING_DOWN.
fc_status_t fc_ready_check(const fc_server_t *server,
                           fc_load_counts_t *out_counts, fc_error_t *err);
bool fc_ready_is(const fc_server_t *server);
// Sets *facts to the facts that readiness is computed from. True: they have changed
// since, or the server drains. False: the answer is the same as before.
bool fc_ready_look(const fc_server_t *server, fc_ready_facts_t *facts);

// Writes the document of /readyz, or fails as fc_ready_check does.
fc_status_t fc_ready_write(const fc_server_t *server, fc_sink_t *sink,
                           fc_error_t *err);
// Does the query ask for the verbose form: ?verbose, as in Kubernetes' servers, or
// ?verbose=1?
bool fc_ready_is_verbose(fc_str_t query);
// Writes the verbose form, with the reason and the conditions that everybody may see.
// *out_unavailable: the status is 503.
fc_status_t fc_ready_write_verbose(const fc_server_t *server,
                                   bool *out_unavailable, fc_sink_t *sink,
                                   fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_READY_H_
