// SPDX-License-Identifier: Apache-2.0
#include "listen/own_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Does only this user have access to the folder? Anybody else who could write to it could
// put another socket there.
static bool is_ours_alone(const char *folder) {
  struct stat info;
  return !lstat(folder, &info) && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && !(info.st_mode & (S_IRWXG | S_IRWXO));
}

bool fc_own_socket(const char *host, int port, char out[FC_OWN_SOCKET_MAX]) {
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  char folder[FC_OWN_SOCKET_MAX];
  if (!runtime || *runtime != '/') return false;
  int size = snprintf(folder, sizeof folder, "%s/farcall", runtime);
  if (size >= (int)sizeof folder) return false;
  (void)mkdir(folder, 0700);  // may exist already
  if (!is_ours_alone(folder)) return false;
  size = snprintf(out, FC_OWN_SOCKET_MAX, "unix:%s/%s:%d.sock", folder, host,
                  port);
  return size < FC_OWN_SOCKET_MAX;
}
