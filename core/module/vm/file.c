// SPDX-License-Identifier: Apache-2.0
//
// Reads a module file. Called when a module is opened.
#include "module/vm/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static fc_status_t read_all(int fd, const char *path, fc_span_t file,
                            fc_error_t *err) {
  size_t done = 0;
  while (done < file.size) {
    ssize_t got = read(fd, file.data + done, file.size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read %s: %s", path,
                     got < 0 ? strerror(errno) : "it became shorter");
    }
    done += (size_t)got;
  }
  return FC_OK;
}

static fc_status_t read_open(int fd, const char *path, fc_allocator_t allocator,
                             fc_span_t *out, fc_error_t *err) {
  struct stat info;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "%s is no regular file", path);
  }
  fc_span_t file = {.size = info.st_size > 0 ? (size_t)info.st_size : 0};
  file.data = fc_alloc_aligned(allocator, file.size ? file.size : 1, 64);
  if (!file.data) return fc_fail_memory(err);
  fc_status_t status = read_all(fd, path, file, err);
  if (status != FC_OK) {
    fc_free(allocator, file.data);
    return status;
  }
  *out = file;
  return FC_OK;
}

fc_status_t fc_vm_file_read(const char *path, fc_allocator_t allocator,
                            fc_span_t *out, fc_error_t *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "cannot open %s: %s", path,
                   strerror(errno));
  }
  fc_status_t status = read_open(fd, path, allocator, out, err);
  close(fd);
  return status;
}
