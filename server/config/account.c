// SPDX-License-Identifier: Apache-2.0
#include "config/account.h"

#include <grp.h>
#include <pwd.h>

#define NAME_MAX_BYTES 64

bool fc_account_number(fc_str_t text, unsigned base, uint32_t *out_number) {
  uint64_t number = 0;
  for (size_t i = 0; i < text.size; i++) {
    const unsigned digit = (unsigned)(text.data[i] - '0');
    if (digit >= base) return false;
    number = number * base + digit;
    if (number >= FC_ACCOUNT_NONE) return false;
  }
  *out_number = (uint32_t)number;
  return text.size > 0;
}

static bool find_user(const char *name, uint32_t *out_id) {
  const struct passwd *user = getpwnam(name);
  if (user) *out_id = user->pw_uid;
  return user != NULL;
}

static bool find_group(const char *name, uint32_t *out_id) {
  const struct group *group = getgrnam(name);
  if (group) *out_id = group->gr_gid;
  return group != NULL;
}

static fc_status_t read_id(fc_str_t text, const char *option, const char *what,
                           bool (*find)(const char *name, uint32_t *out_id),
                           uint32_t *out_id, fc_error_t *err) {
  char name[NAME_MAX_BYTES];
  *out_id = FC_ACCOUNT_NONE;
  if (text.size == 0 || fc_account_number(text, 10, out_id)) return FC_OK;
  if (text.size < sizeof name) {
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    if (find(name, out_id)) return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, text);
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "--%s: there is no %s '%s'",
                 option, what, shown);
}

fc_status_t fc_account_user(fc_str_t text, const char *option, uint32_t *out_id,
                            fc_error_t *err) {
  return read_id(text, option, "user", find_user, out_id, err);
}

fc_status_t fc_account_group(fc_str_t text, const char *option,
                             uint32_t *out_id, fc_error_t *err) {
  return read_id(text, option, "group", find_group, out_id, err);
}
