// SPDX-License-Identifier: Apache-2.0
#include "config/guarded_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static fc_status_t check_file(int fd, const char *path, bool *out_others_read,
                              fc_error_t *err) {
  struct stat about;
  if (fstat(fd, &about) || !S_ISREG(about.st_mode)) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s: no plain file", path);
  }
  if (about.st_mode & (S_IWGRP | S_IWOTH)) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "%s: others than its owner may write it (mode %04o)", path,
                   (unsigned)about.st_mode & 07777);
  }
  if (about.st_size > FC_GUARDED_FILE_MAX) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s: more than 1 MiB", path);
  }
  *out_others_read = about.st_mode & (S_IRGRP | S_IROTH);
  return FC_OK;
}

static fc_status_t read_all(int fd, const char *path, char *text,
                            size_t *out_size, fc_error_t *err) {
  size_t size = 0;
  while (size < FC_GUARDED_FILE_MAX) {
    const ssize_t got = read(fd, text + size, FC_GUARDED_FILE_MAX - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s: %s", path,
                     strerror(errno));
    }
    if (got == 0) break;
    size += (size_t)got;
  }
  *out_size = size;
  return FC_OK;
}

fc_status_t fc_guarded_file_open(fc_guarded_file_t *out_file, const char *path,
                                 fc_error_t *err) {
  char *text = NULL;
  size_t size = 0;
  *out_file = (fc_guarded_file_t){0};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s: %s", path,
                   strerror(errno));
  }
  fc_status_t status = check_file(fd, path, &out_file->others_read, err);
  if (status == FC_OK) {
    text = fc_alloc(fc_allocator_system(), FC_GUARDED_FILE_MAX);
    status = text ? read_all(fd, path, text, &size, err) : fc_fail_memory(err);
  }
  close(fd);
  out_file->text = fc_str_make(text, size);
  if (status != FC_OK) fc_guarded_file_close(out_file);
  return status;
}

void fc_guarded_file_close(fc_guarded_file_t *file) {
  fc_free(fc_allocator_system(), (void *)(uintptr_t)file->text.data);
  *file = (fc_guarded_file_t){0};
}
