// SPDX-License-Identifier: Apache-2.0
//
// Maps archives; irpa.c and safetensors.c read their indexes. Called when a module is
// opened.
#include "parameters/parameters.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

fc_status_t fc_parameters_parse(fc_parameters_t *archive, uint8_t *data,
                                size_t size, fc_allocator_t allocator,
                                fc_error_t *err) {
  *archive =
      (fc_parameters_t){.allocator = allocator, .data = data, .size = size};
  fc_arena_init(&archive->arena, allocator, 4096, SIZE_MAX);
  fc_status_t status = fc_irpa_is(archive) ? fc_irpa_read(archive, err)
                                           : fc_safetensors_index(archive, err);
  if (status != FC_OK) fc_parameters_close(archive);
  return status;
}

static fc_status_t map_file(int fd, const char *path, uint8_t **out_data,
                            size_t *out_size, fc_error_t *err) {
  struct stat info;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "parameters '%s': no regular file with contents", path);
  }
  *out_size = (size_t)info.st_size;
  // The mapping is writable, but hardly any page is ever written. With NORESERVE the
  // system does not set memory aside for copies of all pages.
  void *data = mmap(NULL, *out_size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "parameters '%s': %s", path,
                   strerror(errno));
  }
  *out_data = data;
  return FC_OK;
}

fc_status_t fc_parameters_open(fc_parameters_t *archive, const char *path,
                               fc_allocator_t allocator, fc_error_t *err) {
  *archive = (fc_parameters_t){0};
  // A named pipe would make a blocking open wait for its writer.
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "parameters '%s': %s", path,
                   strerror(errno));
  }
  uint8_t *data = NULL;
  size_t size = 0;
  fc_status_t status = map_file(fd, path, &data, &size, err);
  close(fd);
  if (status != FC_OK) return status;
  fc_error_t why = {0};
  status = fc_parameters_parse(archive, data, size, allocator, &why);
  archive->mapped = status == FC_OK;
  if (status == FC_OK) return FC_OK;
  munmap(data, size);
  if (why.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(err);
  return fc_fail(err, FC_CODE_MODULE_LOAD, "parameters '%s': %s", path,
                 why.message);
}

void fc_parameters_close(fc_parameters_t *archive) {
  if (archive->items) fc_free(archive->allocator, archive->items);
  if (archive->mapped) munmap(archive->data, archive->size);
  fc_arena_deinit(&archive->arena);
  *archive = (fc_parameters_t){0};
}
