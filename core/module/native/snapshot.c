// SPDX-License-Identifier: Apache-2.0
//
// Copies a file into a sealed memfd (snapshot.h).
#include "module/native/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

// Where executable memfds are off by default they must be asked for; kernels
// before 6.3 do not know the flag.
static int create_memory(void) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create("farcall-module", flags | MFD_EXEC);
  return fd < 0 && errno == EINVAL ? memfd_create("farcall-module", flags) : fd;
}

static bool copy_all(int from, int to, size_t size) {
  while (size > 0) {
    ssize_t done = sendfile(to, from, NULL, size);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENODATA;
    if (done <= 0) return false;
    size -= (size_t)done;
  }
  return true;
}

static fc_status_t copy_to_memory(int file, size_t size,
                                  fc_snapshot_t *snapshot, fc_error_t *err) {
  const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  snapshot->fd = create_memory();
  void *mapped = MAP_FAILED;
  if (snapshot->fd >= 0 && copy_all(file, snapshot->fd, size) &&
      fcntl(snapshot->fd, F_ADD_SEALS, seals) == 0) {
    mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, snapshot->fd, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    if (snapshot->fd >= 0) close(snapshot->fd);
    return fc_fail(err, FC_CODE_MODULE_PATH, "cannot copy it to memory: %s",
                   strerror(error));
  }
  snapshot->bytes = fc_str_make(mapped, size);
  return FC_OK;
}

fc_status_t fc_snapshot_open(fc_str_t path, fc_snapshot_t *out_snapshot,
                             fc_error_t *err) {
  int file = open(path.data, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read it: %s",
                   strerror(errno));
  }
  struct stat info;
  fc_status_t status;
  if (fstat(file, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    status = fc_fail(err, FC_CODE_MODULE_PATH,
                     "no module in it: not a file, "
                     "or an empty one");
  } else {
    status = copy_to_memory(file, (size_t)info.st_size, out_snapshot, err);
  }
  close(file);
  return status;
}

void fc_snapshot_close(fc_snapshot_t *snapshot) {
  if (!snapshot->bytes.data) return;
  munmap((void *)(uintptr_t)snapshot->bytes.data, snapshot->bytes.size);
  close(snapshot->fd);
  *snapshot = (fc_snapshot_t){.fd = -1};
}
