// SPDX-License-Identifier: Apache-2.0
//
// --socket-users: what each user of this machine may do through a Unix socket. The kernel
// says who has connected (SO_PEERCRED, SO_PEERGROUPS), so a client cannot claim to be
// somebody else. Loop thread.
#ifndef FARCALL_SERVER_CONFIG_USERS_H_
#define FARCALL_SERVER_CONFIG_USERS_H_

#include "config/scope.h"

#define FC_USER_RULES_MAX 32
#define FC_USER_GROUPS_MAX 256  // the most groups of a client that are read

typedef struct fc_user_rule_t {
  uint32_t user, group;  // FC_ACCOUNT_NONE: any
  uint8_t scopes;
} fc_user_rule_t;

typedef struct fc_users_t {
  uint32_t count;
  fc_user_rule_t items[FC_USER_RULES_MAX];
} fc_users_t;

typedef struct fc_user_t {
  uint32_t user;
  uint32_t group_count;
  uint32_t groups[FC_USER_GROUPS_MAX];  // the main one first
} fc_user_t;

// A client of a Unix socket, after the rules were applied.
typedef struct fc_known_user_t {
  bool known;
  uint8_t scopes;  // 0: no rule matches, or there are no rules
  uint32_t id;
} fc_known_user_t;

// Asks the kernel who has connected to a Unix socket. The groups are read only if there
// are rules.
fc_known_user_t fc_users_of_socket(const fc_users_t *users, int socket);

// Reads "root=call+admin,:ops=call+read,=read"; "": no rules. FC_CODE_NOT_ACCEPTABLE
// names the rule that can't be read.
fc_status_t fc_users_parse(fc_str_t text, fc_users_t *out_users,
                           fc_error_t *err) FC_MUST_CHECK;
// Returns the scopes of the first matching rule; 0: no rule matches.
uint8_t fc_users_scopes(const fc_users_t *users, const fc_user_t *user);

#endif  // FARCALL_SERVER_CONFIG_USERS_H_
