// SPDX-License-Identifier: Apache-2.0
#include "config/socket_file.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

// False if the text is no number of this base below FC_SOCKET_FILE_KEEP.
static bool read_number(fc_str_t text, unsigned base, uint32_t *out_number) {
  uint64_t number = 0;
  for (size_t i = 0; i < text.size; i++) {
    const unsigned digit = (unsigned)(text.data[i] - '0');
    if (digit >= base) return false;
    number = number * base + digit;
    if (number >= FC_SOCKET_FILE_KEEP) return false;
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

static fc_status_t read_id(fc_str_t text, const char *what,
                           bool (*find)(const char *name, uint32_t *out_id),
                           uint32_t *out_id, fc_error_t *err) {
  char name[NAME_MAX_BYTES];
  if (text.size == 0 || read_number(text, 10, out_id)) return FC_OK;
  if (text.size < sizeof name) {
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    if (find(name, out_id)) return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, text);
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "--socket-owner: there is no %s '%s'", what, shown);
}

fc_status_t fc_socket_file_parse(fc_str_t mode, fc_str_t owner,
                                 fc_socket_file_t *out_file, fc_error_t *err) {
  *out_file = (fc_socket_file_t){FC_SOCKET_FILE_KEEP, FC_SOCKET_FILE_KEEP,
                                 FC_SOCKET_FILE_KEEP};
  if (mode.size &&
      (!read_number(mode, 8, &out_file->mode) || out_file->mode > 0777)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, mode);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--socket-mode: '%s' is no octal number from 0 to 0777",
                   shown);
  }
  fc_str_t group = owner;
  const fc_str_t user = fc_str_take(&group, ':');
  FC_TRY(read_id(user, "user", find_user, &out_file->user, err));
  return read_id(group, "group", find_group, &out_file->group, err);
}
