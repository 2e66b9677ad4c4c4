// SPDX-License-Identifier: Apache-2.0
//
// A module that opens another program's file. Returns the error; 0: it was not refused.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

int32_t _mlir_ciface_peek(int32_t a);
int32_t _mlir_ciface_peek(int32_t a) {
  const int fd = open("/etc/passwd", O_RDONLY);
  (void)a;
  if (fd < 0) return errno;
  close(fd);
  return 0;
}
