// SPDX-License-Identifier: Apache-2.0
//
// The listeners and the policy of each. A listener is a member of "listeners" in the
// configuration file, with the keys of listener.def, or an address of --listen. Where a
// key is not given, the option of its row holds. If a flag or variable gives --listen,
// the file's listeners are ignored, except those of passed sockets ("systemd:NAME").
//
// config/policy.h and config/socket_file.h say what the keys do.
#ifndef FARCALL_SERVER_CONFIG_LISTENER_H_
#define FARCALL_SERVER_CONFIG_LISTENER_H_

#include "config/priority.h"
#include "config/table.h"

enum {
#define FC_LISTENER_KEY(field, ...) FC_LISTENER_KEY_##field,
#include "config/listener.def"
#undef FC_LISTENER_KEY
  FC_LISTENER_KEYS
};

typedef struct fc_listener_policy_t {
#define FC_LISTENER_KEY(field, key, kind, ...) FC_OPTION_TYPE_##kind field;
#include "config/listener.def"
#undef FC_LISTENER_KEY
  fc_origin_t origin;                     // of the member
  fc_origin_t origins[FC_LISTENER_KEYS];  // where each value comes from
} fc_listener_policy_t;

// The table, with offsets in fc_listener_policy_t.
extern const fc_option_t fc_listener_keys[FC_LISTENER_KEYS];

// Sets every key to its default.
void fc_listener_policy_init(fc_listener_policy_t *policy);

// May programs of other machines reach the address? They may if --allow-insecure-bind
// allows it, or if clients need a token or, with TLS, a certificate.
bool fc_listener_is_guarded(fc_str_t address,
                            const fc_listener_policy_t *policy);

// Is the key about the file of a Unix socket (the first function), or about TLS, which
// only TCP has (the second one)?
bool fc_listener_key_is_of_file(size_t key);
bool fc_listener_key_is_of_tls(size_t key);
// Is TLS spoken at the address? Never at a Unix socket.
bool fc_listener_has_tls(fc_str_t address, const fc_listener_policy_t *policy);

// Reads the range of --priority. FC_CODE_NOT_ACCEPTABLE: the text is no range.
fc_status_t fc_listener_priorities(const fc_listener_policy_t *policy,
                                   fc_priorities_t *out_range,
                                   fc_error_t *err) FC_MUST_CHECK;
// How many listeners of the file are in force: 0 if a flag or variable gives --listen.
size_t fc_listeners_of_file(const fc_server_options_t *options);
// Gives the address of listener `index` of those in force, and its policy with all keys
// set. If --listen names the address, out_policy->address is "". False: there are fewer
// listeners.
bool fc_listener_at(const fc_server_options_t *options, uint32_t index,
                    fc_str_t *out_address, fc_listener_policy_t *out_policy);
// Gives the policy of a listener that the file does not name: every key has its option's
// value.
void fc_listener_of_all(const fc_server_options_t *options,
                        fc_listener_policy_t *out_policy);
// Does the address mean sockets that a service manager passes ("systemd" or
// "systemd:NAME")? *out_name is NAME, or "" for all of them.
bool fc_listener_is_passed(fc_str_t address, fc_str_t *out_name);
// Gives the policy of a socket that a service manager has passed under the name `name`:
// that of "systemd:NAME", else of "systemd", else that of fc_listener_of_all.
void fc_listener_of_passed(const fc_server_options_t *options, fc_str_t name,
                           fc_listener_policy_t *out_policy);

#endif  // FARCALL_SERVER_CONFIG_LISTENER_H_
