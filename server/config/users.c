// SPDX-License-Identifier: Apache-2.0
#include "config/users.h"

#include <sys/socket.h>

#include "config/account.h"

static fc_status_t parse_rule(fc_str_t text, fc_user_rule_t *out_rule,
                              fc_error_t *err) {
  fc_str_t scopes = text, bad;
  fc_str_t group = fc_str_take(&scopes, '=');
  const fc_str_t user = fc_str_take(&group, ':');
  if (!fc_scopes_parse(scopes, '+', &out_rule->scopes, &bad)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, text);
    return fc_fail(
        err, FC_CODE_NOT_ACCEPTABLE,
        "--socket-users: '%s' is no [USER][:GROUP]=SCOPE+SCOPE of %s", shown,
        fc_scope_names());
  }
  FC_TRY(fc_account_user(user, "socket-users", &out_rule->user, err));
  return fc_account_group(group, "socket-users", &out_rule->group, err);
}

fc_status_t fc_users_parse(fc_str_t text, fc_users_t *out_users,
                           fc_error_t *err) {
  out_users->count = 0;
  bool more = text.size > 0;
  while (more) {
    more = memchr(text.data, ',', text.size) != NULL;
    const fc_str_t rule = fc_str_take(&text, ',');
    if (out_users->count == FC_USER_RULES_MAX) {
      return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                     "--socket-users: more than %d rules", FC_USER_RULES_MAX);
    }
    FC_TRY(parse_rule(rule, &out_users->items[out_users->count], err));
    out_users->count++;
  }
  return FC_OK;
}

static bool is_in(const fc_user_t *user, uint32_t group) {
  for (uint32_t i = 0; i < user->group_count; i++) {
    if (user->groups[i] == group) return true;
  }
  return false;
}

uint8_t fc_users_scopes(const fc_users_t *users, const fc_user_t *user) {
  for (uint32_t i = 0; i < users->count; i++) {
    const fc_user_rule_t *rule = &users->items[i];
    if (rule->user != FC_ACCOUNT_NONE && rule->user != user->user) continue;
    if (rule->group != FC_ACCOUNT_NONE && !is_in(user, rule->group)) continue;
    return rule->scopes;
  }
  return 0;
}

// Adds the supplementary groups of the client. If the client has FC_USER_GROUPS_MAX of
// them or more, none is added and only its main group counts: the kernel gives all groups
// or none.
static void read_groups(int socket, fc_user_t *user) {
  gid_t *groups = &user->groups[1];
  socklen_t size = sizeof user->groups - sizeof *groups;
  _Static_assert(sizeof *groups == sizeof *user->groups, "the kernel's groups");
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size)) return;
  user->group_count += (uint32_t)(size / sizeof *groups);
}

fc_known_user_t fc_users_of_socket(const fc_users_t *users, int socket) {
  struct ucred who;
  socklen_t size = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
    return (fc_known_user_t){0};
  }
  fc_known_user_t known = {.known = true, .id = who.uid};
  if (!users->count) return known;
  fc_user_t user;
  user.user = who.uid;
  user.groups[0] = who.gid;
  user.group_count = 1;
  read_groups(socket, &user);
  known.scopes = fc_users_scopes(users, &user);
  return known;
}
