// SPDX-License-Identifier: Apache-2.0
//
// Copies files into sealed memfds, or maps them (snapshot.h).
#include "module/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

// Returns the error code for an errno. When descriptors or memory are used up, the file
// is not at fault, and a later attempt may succeed.
static fc_code_t code_of(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM
             ? FC_CODE_OUT_OF_MEMORY
             : FC_CODE_MODULE_PATH;
}

// Some systems make memfds executable only on request, by MFD_EXEC. Kernels
// before 6.3 do not know that flag and fail with EINVAL.
static int create_memory(void) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create("farcall-module", flags | MFD_EXEC);
  return fd < 0 && errno == EINVAL ? memfd_create("farcall-module", flags) : fd;
}

static bool copy_all(int from, int to, size_t size) {
  off_t done = 0;
  while ((size_t)done < size) {
    ssize_t sent = sendfile(to, from, &done, size - (size_t)done);
    if (sent < 0 && errno == EINTR) continue;
    if (sent == 0) errno = ENODATA;
    if (sent <= 0) return false;
  }
  return true;
}

static bool is_sealed(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & SEALS) == SEALS;
}

// How often sealing is tried. The kernel refuses to seal memory while a page of it is in
// use elsewhere. When memory is short, the kernel itself uses pages for a while, in order
// to move them. Each attempt waits about 150 ms for such pages, then fails with EBUSY.
#define SEAL_TRIES 100

static bool add_seals(int fd) {
  for (int i = 0; i < SEAL_TRIES; i++) {
    if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0) return true;
    if (errno != EBUSY) return false;
  }
  return false;
}

// Returns a descriptor of sealed memory with the file's contents; -1 with errno
// on failure.
static int seal(int file, size_t size) {
  if (is_sealed(file)) return fcntl(file, F_DUPFD_CLOEXEC, 0);
  const int fd = create_memory();
  if (fd < 0) return -1;
  if (copy_all(file, fd, size) && add_seals(fd)) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

fc_status_t fc_snapshot_make(int file, size_t size_max, size_t sealed_max,
                             fc_snapshot_t *out_snapshot, fc_error_t *err) {
  struct stat info;
  const char *problem = NULL;
  fc_snapshot_t snapshot = FC_SNAPSHOT_NONE;
  void *mapped = MAP_FAILED;
  if (fstat(file, &info) < 0) {
    problem = strerror(errno);
  } else if (info.st_size <= 0) {
    problem = "an empty file";
  } else if ((size_t)info.st_size > size_max) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "%zu bytes, at most %zu",
                   (size_t)info.st_size, size_max);
  } else {
    snapshot.bytes.size = (size_t)info.st_size;
    const bool large = sealed_max > 0 && snapshot.bytes.size > sealed_max;
    snapshot.sealed = !large || is_sealed(file);
    snapshot.fd = snapshot.sealed ? seal(file, snapshot.bytes.size)
                                  : fcntl(file, F_DUPFD_CLOEXEC, 0);
  }
  if (problem) return fc_fail(err, FC_CODE_MODULE_PATH, "%s", problem);
  if (snapshot.fd >= 0) {
    // Private, because kernels before 6.7 refuse any other mapping of sealed
    // memory. NORESERVE, so that no memory is set aside for pages that may
    // never be written.
    mapped = mmap(NULL, snapshot.bytes.size, PROT_READ,
                  MAP_PRIVATE | MAP_NORESERVE, snapshot.fd, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    if (snapshot.fd >= 0) close(snapshot.fd);
    return fc_fail(err, code_of(error), "cannot take it into memory: %s",
                   strerror(error));
  }
  snapshot.bytes.data = mapped;
  *out_snapshot = snapshot;
  return FC_OK;
}

fc_status_t fc_snapshot_open_file(const char *path, int *out_fd,
                                  fc_error_t *err) {
  // Without O_NONBLOCK, opening a named pipe waits for its writer.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    return fc_fail(err, code_of(errno), "%s", strerror(errno));
  }
  struct stat info;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return fc_fail(err, FC_CODE_MODULE_PATH, "not a regular file");
  }
  *out_fd = fd;
  return FC_OK;
}

fc_status_t fc_snapshot_open(const char *path, fc_snapshot_t *out_snapshot,
                             fc_error_t *err) {
  int fd;
  FC_TRY(fc_snapshot_open_file(path, &fd, err));
  fc_status_t status = fc_snapshot_make(fd, SIZE_MAX, 0, out_snapshot, err);
  close(fd);
  return status;
}

bool fc_snapshot_read(const fc_snapshot_t *snapshot, size_t offset, void *out,
                      size_t size) {
  uint8_t *to = out;
  while (size > 0) {
    ssize_t got = pread(snapshot->fd, to, size, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += (size_t)got;
    size -= (size_t)got;
  }
  return true;
}

fc_status_t fc_snapshot_allow_writes(const fc_snapshot_t *snapshot,
                                     fc_error_t *err) {
  void *bytes = (void *)(uintptr_t)snapshot->bytes.data;
  if (!mprotect(bytes, snapshot->bytes.size, PROT_READ | PROT_WRITE)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_MODULE_LOAD, "cannot map its constants: %s",
                 strerror(errno));
}

void fc_snapshot_close(fc_snapshot_t *snapshot) {
  if (!snapshot->bytes.data) return;
  munmap((void *)(uintptr_t)snapshot->bytes.data, snapshot->bytes.size);
  close(snapshot->fd);
  *snapshot = FC_SNAPSHOT_NONE;
}
