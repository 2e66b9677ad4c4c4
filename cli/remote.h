// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that talk to a server share: which server, where things are on
// it, and how its errors are told.
#ifndef FARCALL_CLI_REMOTE_H_
#define FARCALL_CLI_REMOTE_H_

#include <yyjson.h>

#include "cli.h"
#include "client.h"

// The server of --server, FARCALL_SERVER or the default, with --timeout, and with the
// token of --token or FARCALL_TOKEN. For verbs that change a server of this machine, or
// profile it, its Unix socket, if there is one that is known (own_socket.h).
fc_status_t fc_remote_server(const fc_args_t *args, fc_remote_t *out_server,
                             fc_error_t *err);

// Whether the host is this machine by its name or address alone.
bool fc_remote_is_here(const char *host);

// "MODULE/FUNCTION" -> "/api/v1/functions/MODULE/FUNCTION", each percent-encoded; of
// "MODULE" the server is asked for its one function. Returns an exit code, and has
// complained if it isn't 0.
int fc_remote_target(const fc_args_t *args, const char *name,
                     const char **out_target);

// Complains about an error that is not an answer. Returns FC_EXIT_USAGE when the
// server's address or --timeout is malformed. Returns FC_EXIT_UNAVAILABLE for
// everything else: the server cannot be reached, no whole answer came, or there is
// no memory.
int fc_remote_complain(const fc_error_t *err);
// Complains about an answer that is an error: its code, detail and pointer. A status of 0:
// it is a line of an answer in parts.
// Returns FC_EXIT_FAILED, or FC_EXIT_UNAVAILABLE when the error is not in farcalld's
// form.
int fc_remote_refused(const fc_args_t *args, const fc_reply_t *answer);
// Complains about an answer that no farcalld gives, with its beginning. Returns
// FC_EXIT_UNAVAILABLE.
int fc_remote_strange(const fc_reply_t *answer);

#define FC_REMOTE_MODULES "/api/v1/modules"
// With all that is known of their health, and the server's.
#define FC_REMOTE_HEALTH FC_REMOTE_MODULES "?memory=1&conditions=1"

// Asks for a document. Returns an exit code, and has complained if it isn't 0.
int fc_remote_get(const fc_args_t *args, const char *target,
                  fc_reply_t *out_answer);
// An example of a function, that of --example=NAME if there is one. `target` is the
// function's. The text is in the arena and ends with a zero.
int fc_remote_example(const fc_args_t *args, const char *target,
                      fc_str_t *out_document);
// As fc_remote_get for a JSON document that must have the member `key`. The caller
// frees *out_doc.
int fc_remote_get_json(const fc_args_t *args, const char *target,
                       const char *key, fc_str_t *out_text,
                       yyjson_doc **out_doc);

#endif  // FARCALL_CLI_REMOTE_H_
