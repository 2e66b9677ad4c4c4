// SPDX-License-Identifier: Apache-2.0
#include "pool/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t fc_shared_pages(uint64_t size) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (size > UINT64_MAX - page) size = UINT64_MAX - page;
  return (size + page - 1) & ~(page - 1);
}

int fc_shared_create(const char *name, uint64_t size) {
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, (off_t)fc_shared_pages(size)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

uint64_t fc_shared_taken(int fd) {
  struct stat info;
  if (fstat(fd, &info) < 0) return 0;
  return (uint64_t)info.st_blocks * 512;
}

bool fc_shared_scrub(int fd, uint64_t begin, uint64_t used, uint64_t most,
                     uint64_t *at) {
  const uint64_t end = begin + fc_shared_pages(used);
  if (*at >= used) return false;
  const off_t data = lseek(fd, (off_t)(begin + *at), SEEK_DATA);
  if (data < 0 || (uint64_t)data >= end) return false;
  // No page after `used` is given back, because other data may be there.
  uint64_t size = end - (uint64_t)data;
  if (size > fc_shared_pages(most)) size = fc_shared_pages(most);
  (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, data,
                  (off_t)size);
  *at = (uint64_t)data - begin + size;
  return *at < used;
}
