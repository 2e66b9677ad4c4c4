// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verbs that talk to a server: finds the server, and paths on it, and
// reports its errors.
#ifndef FARCALL_CLI_REMOTE_H_
#define FARCALL_CLI_REMOTE_H_

#include <yyjson.h>

#include "cli.h"
#include "client.h"

// Gives the server of --server, FARCALL_SERVER or the default, with the timeout, token
// and certificates that options and variables set. For a verb that changes or profiles a
// server of this machine, gives the server's Unix socket, if one is known (own_socket.h).
fc_status_t fc_remote_server(const fc_args_t *args, fc_remote_t *out_server,
                             fc_error_t *err);

// Is the host this machine, judged only by its name or address?
bool fc_remote_is_here(const char *host);

// Converts "MODULE/FUNCTION" to "/api/v1/functions/MODULE/FUNCTION", percent-encoding
// each name. For "MODULE", asks the server for its only function. Returns an exit code,
// after a complaint if it isn't 0.
int fc_remote_target(const fc_args_t *args, const char *name,
                     const char **out_target);

// Complains about an error for which there is no answer of the server. Returns
// FC_EXIT_USAGE if an option, or a variable in its place, cannot be used; otherwise
// FC_EXIT_UNAVAILABLE.
int fc_remote_complain(const fc_error_t *err);
// Complains about an error answer: its code, detail and pointer. Status 0: the error is a
// line of an answer in parts. Returns FC_EXIT_FAILED, or FC_EXIT_UNAVAILABLE if the error
// does not have farcalld's form.
int fc_remote_refused(const fc_args_t *args, const fc_reply_t *answer);
// Says how a token is sent, after a code which says that it is missing; otherwise "".
const char *fc_remote_token_hint(const char *code);
// Complains about an answer that farcalld never gives, and shows its beginning. Returns
// FC_EXIT_UNAVAILABLE.
int fc_remote_strange(const fc_reply_t *answer);

#define FC_REMOTE_MODULES "/api/v1/modules"
// The list of modules with all health data, and the server's health data.
#define FC_REMOTE_HEALTH FC_REMOTE_MODULES "?memory=1&conditions=1"

// Requests a document. Returns an exit code, after a complaint if it isn't 0.
int fc_remote_get(const fc_args_t *args, const char *target,
                  fc_reply_t *out_answer);
// Gets an example call of a function: the one that --example=NAME names, or the default.
// `target` is the function's path. The text is in the arena and ends with a NUL.
int fc_remote_example(const fc_args_t *args, const char *target,
                      fc_str_t *out_document);
// Like fc_remote_get, for a JSON document that must have the member `key`. The caller
// frees *out_doc.
int fc_remote_get_json(const fc_args_t *args, const char *target,
                       const char *key, fc_str_t *out_text,
                       yyjson_doc **out_doc);

#endif  // FARCALL_CLI_REMOTE_H_
