// SPDX-License-Identifier: Apache-2.0
//
// Where the server listens, and what holds for each address: a member of
// "listeners" of the configuration file, with the keys of listener.def, or an
// address of --listen. Options say what holds where a key is not given. A flag or
// variable that says where to listen takes the place of the file's listeners.
//
// What the keys mean to those who connect: config/policy.h, config/socket_file.h.
#ifndef FARCALL_SERVER_CONFIG_LISTENER_H_
#define FARCALL_SERVER_CONFIG_LISTENER_H_

#include "config/table.h"

enum {
#define FC_LISTENER_KEY(field, key, kind, value, form, inherited, help) \
  FC_LISTENER_KEY_##field,
#include "config/listener.def"
#undef FC_LISTENER_KEY
  FC_LISTENER_KEYS
};

typedef struct fc_listener_policy_t {
#define FC_LISTENER_KEY(field, key, kind, value, form, inherited, help) \
  FC_OPTION_TYPE_##kind field;
#include "config/listener.def"
#undef FC_LISTENER_KEY
  fc_origin_t origin;                     // of the member
  fc_origin_t origins[FC_LISTENER_KEYS];  // where each value comes from
} fc_listener_policy_t;

// The table, with offsets in fc_listener_policy_t.
extern const fc_option_t fc_listener_keys[FC_LISTENER_KEYS];
// The option that says what holds where the key is not given, NULL: none does.
const fc_option_t *fc_listener_key_inherits(size_t key);

// Every key has its default.
void fc_listener_policy_init(fc_listener_policy_t *policy);

// Does the key speak of the file of a Unix socket?
bool fc_listener_key_is_of_file(size_t key);

// How many listeners the file has that count.
size_t fc_listeners_of_file(const fc_server_options_t *options);
// Listener `index` that is asked for, its address and what is in force for it:
// `address` of the policy is "" if --listen names it. False: there are no more.
bool fc_listener_at(const fc_server_options_t *options, uint32_t index,
                    fc_str_t *out_address, fc_listener_policy_t *out_policy);
// What holds for a listener of which nothing is said.
void fc_listener_of_all(const fc_server_options_t *options,
                        fc_listener_policy_t *out_policy);
// Is the address that of sockets which a service manager passes? *out_name: "" for
// all of them.
bool fc_listener_is_passed(fc_str_t address, fc_str_t *out_name);
// What is in force for a socket that a service manager has passed and calls `name`.
void fc_listener_of_passed(const fc_server_options_t *options, fc_str_t name,
                           fc_listener_policy_t *out_policy);

#endif  // FARCALL_SERVER_CONFIG_LISTENER_H_
