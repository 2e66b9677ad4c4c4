// SPDX-License-Identifier: Apache-2.0
#include "listen/passed.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/limits.h"
#include "config/listener.h"

fc_status_t fc_passed_count(uint32_t *out_count, fc_error_t *err) {
  const char *pid = getenv("LISTEN_PID");
  const char *text = getenv("LISTEN_FDS");
  *out_count = 0;
  if (!pid || !text || strtoull(pid, NULL, 10) != (uint64_t)getpid()) {
    return FC_OK;
  }
  const unsigned long long count = strtoull(text, NULL, 10);
  if (count > FC_LIMIT_PASSED) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "LISTEN_FDS promises %llu sockets; at most %d can be passed",
                   count, FC_LIMIT_PASSED);
  }
  *out_count = (uint32_t)count;
  return FC_OK;
}

bool fc_passed_listens(int socket) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size)) return false;
  size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)) {
    return false;
  }
  return type == SOCK_STREAM && listens;
}

fc_str_t fc_passed_name(uint32_t index) {
  const char *names = getenv("LISTEN_FDNAMES");
  fc_str_t rest = fc_str(names ? names : ""), name = fc_str_take(&rest, ':');
  while (index--) name = fc_str_take(&rest, ':');
  return name;
}

fc_status_t fc_passed_check(const fc_server_options_t *options, uint32_t passed,
                            fc_error_t *err) {
  const fc_config_file_t *file = &options->file;
  fc_str_t name;
  if (!passed && !fc_listeners_of_file(options)) return FC_OK;
  for (size_t i = 0; i < file->listener_count; i++) {
    const char *item = file->listeners[i].address;
    if (!fc_listener_is_passed(fc_str(item), &name)) continue;
    bool found = passed && !name.size;
    for (uint32_t k = 0; k < passed && !found; k++) {
      found = fc_str_equal(fc_passed_name(k), name);
    }
    if (found) continue;
    return fc_fail(
        err, FC_CODE_MODULE_UNAVAILABLE,
        "listener '%s': LISTEN_FDS and LISTEN_FDNAMES pass no such socket",
        item);
  }
  return FC_OK;
}
