// SPDX-License-Identifier: Apache-2.0
#include "config/socket_file.h"

#include "config/account.h"

fc_status_t fc_socket_file_parse(fc_str_t mode, fc_str_t owner,
                                 fc_socket_file_t *out_file, fc_error_t *err) {
  *out_file = (fc_socket_file_t){FC_SOCKET_FILE_KEEP, FC_SOCKET_FILE_KEEP,
                                 FC_SOCKET_FILE_KEEP};
  if (mode.size &&
      (!fc_account_number(mode, 8, &out_file->mode) || out_file->mode > 0777)) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, mode);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--socket-mode: '%s' is no octal number from 0 to 0777",
                   shown);
  }
  fc_str_t group = owner;
  const fc_str_t user = fc_str_take(&group, ':');
  FC_TRY(fc_account_user(user, "socket-owner", &out_file->user, err));
  return fc_account_group(group, "socket-owner", &out_file->group, err);
}
